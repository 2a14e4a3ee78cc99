/*
 * The engine of ti-live-replay: a real machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/map.h"
#include "examples/burst.h"
#include "replay-bridge/replayer/engine.h"

#define NS_PER_S     1000000000
#define BUFFER_LEAST ((size_t)1 << 20)
#define BSEND_BYTES  ((size_t)1 << 30) /* for buffered sends; what is not used is not touched */

const char ti_engine_name[] = "ti-live-replay";

struct buffers {
    void *sent, *received;
    size_t sent_bytes, received_bytes;
};

struct ti_replay_setup *ti_engine_setup(bool *made)
{
    static struct ti_replay_setup setup;

    *made = true;
    return &setup;
}

void ti_engine_start(struct ti_replayer *p)
{
    static struct buffers buffers;

    p->engine = &buffers;
    /* An error is reported with the event that it is about. */
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* Communicators inherit how errors are handled. */
void ti_engine_comm(MPI_Comm comm)
{
    (void)comm;
}

/* Before MPI_Init, the rank is only known from the launcher's environment. */
static bool is_rank_0(void)
{
    static const char *const names[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    const char *rank = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !rank; i++)
        rank = getenv(names[i]);
    return !rank || strcmp(rank, "0") == 0;
}

bool ti_engine_hush(bool hush)
{
    static int kept[2] = {-1, -1};
    int null;

    if (hush && is_rank_0())
        return false;
    for (int fd = 1; fd <= 2; fd++) {
        fflush(fd == 1 ? stdout : stderr);
        if (hush) {
            kept[fd - 1] = dup(fd);
            null = open("/dev/null", O_WRONLY | O_CLOEXEC);
            dup2(null, fd);
            close(null);
        } else {
            dup2(kept[fd - 1], fd);
            close(kept[fd - 1]);
        }
    }
    return true;
}

int ti_engine_first(const struct ti_replayer *p, bool here)
{
    int rank = here ? (int)p->rank : INT_MAX, first;

    PMPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return first == INT_MAX ? -1 : first;
}

int ti_engine_agree(int root, int status)
{
    PMPI_Bcast(&status, 1, MPI_INT, root, MPI_COMM_WORLD);
    return status;
}

bool ti_engine_end(struct ti_replayer *p, double *end)
{
    double took = p->end - p->start;

    PMPI_Allreduce(&took, end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return p->rank == 0;
}

void ti_engine_abort(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
    abort();
}

double ti_engine_clock(void)
{
    return PMPI_Wtime();
}

static void sleep_for(double ns)
{
    struct timespec t = {(time_t)(ns / NS_PER_S), (long)((uint64_t)ns % NS_PER_S)};

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

double ti_engine_resolution(void)
{
    return 0;
}

const char *ti_engine_host_name(void)
{
    return "";
}

void ti_engine_burst(const struct ti_replay_setup *setup, uint64_t amount, bool nanoseconds)
{
    if (setup->spend == TI_SPEND_NOTHING)
        return;
    if (nanoseconds)
        sleep_for((double)amount);
    else if (setup->spend == TI_SPEND_SLEEP)
        sleep_for((double)amount / setup->speed * NS_PER_S);
    else
        burst((int64_t)amount);
}

void ti_engine_combine(int64_t bytes)
{
    (void)bytes;
}

void ti_engine_copy(const struct ti_replay_setup *setup, int64_t bytes)
{
    (void)setup;
    (void)bytes;
}

/* The old buffer is not freed, because pending requests may still use it. */
static void *grow(void **buffer, size_t *room, size_t bytes)
{
    size_t none = 0, want = *room ? *room : BUFFER_LEAST;

    if (bytes > *room) {
        while (want < bytes)
            want = want > SIZE_MAX / 2 ? bytes : 2 * want;
        *buffer = ti_grow(NULL, &none, want, 1);
        *room = want;
    }
    return *buffer;
}

void *ti_engine_send_buffer(struct ti_replayer *p, size_t bytes)
{
    struct buffers *b = p->engine;

    return grow(&b->sent, &b->sent_bytes, bytes + 1);
}

void *ti_engine_recv_buffer(struct ti_replayer *p, size_t bytes)
{
    struct buffers *b = p->engine;

    return grow(&b->received, &b->received_bytes, bytes + 1);
}

const void *ti_engine_sent(struct ti_replayer *p, size_t bytes)
{
    return ti_engine_send_buffer(p, bytes);
}

void *ti_engine_received(struct ti_replayer *p, size_t bytes)
{
    return ti_engine_recv_buffer(p, bytes);
}

void ti_engine_buffer_sends(struct ti_replayer *p)
{
    size_t none = 0;

    if (!p->buffered)
        ti_replay_must(p, PMPI_Buffer_attach(ti_grow(NULL, &none, BSEND_BYTES, 1), BSEND_BYTES));
    p->buffered = true;
}

/* ---- functions of a simulation only: see profile.h ---- */

size_t ti_engine_eager_bytes(void)
{
    return 0;
}

size_t ti_engine_early_bytes(void)
{
    return 0;
}

void *ti_engine_host(void)
{
    return NULL;
}

void ti_engine_route(void *from, void *to, double *latency, double *bandwidth)
{
    (void)from;
    (void)to;
    *latency = *bandwidth = 0;
}

void ti_engine_transfer(void *from, void *to, int64_t bytes, double *latency, double *bandwidth)
{
    (void)bytes;
    ti_engine_route(from, to, latency, bandwidth);
}

void ti_engine_wait_until(double seconds)
{
    (void)seconds; /* there is one job, which starts at once */
}
