/*
 * The engine of ti-smpi-replay: SimGrid's SMPI.
 */
#include <limits.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xbt/config.h>

#include "common/map.h"
#include "config/host_values.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/route.h"

#define SHARED_KEY   "tiara"
#define NS_PER_S     1000000000
#define BUFFER_LEAST ((size_t)1 << 20)
#define ENVELOPE     16 /* bytes that SMPI adds to each message */

const char ti_engine_name[] = "ti-smpi-replay";

/* State shared by all ranks.  Not a global variable, because smpirun may privatize these. */
struct shared {
    struct ti_replay_setup setup;
    bool made;
    void *sent, *received; /* see engine.h */
    size_t sent_bytes, received_bytes;
    int64_t running; /* ranks that have not ended */
    double end;
};

static struct shared *shared(void)
{
    size_t none = 0;

    if (smpi_shared_known_call(SHARED_KEY, ""))
        return smpi_shared_get_call(SHARED_KEY, "");
    return smpi_shared_set_call(SHARED_KEY, "", ti_grow(NULL, &none, 1, sizeof(struct shared)));
}

struct ti_replay_setup *ti_engine_setup(bool *made)
{
    struct shared *s = shared();

    *made = !s->made;
    s->made = true;
    return &s->setup;
}

void ti_engine_start(struct ti_replayer *p)
{
    struct shared *s = shared();

    p->engine = s;
    s->running = s->running ? s->running : p->all_ranks;
}

/* An error is reported with the event that it is about.  And where both sides of a message count it
 * in elements of different size (trace/elements.h), SMPI warns instead of ending the simulation; it
 * has transferred the message. */
void ti_engine_comm(MPI_Comm comm)
{
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

/* All ranks share the setup, so they have the same status without communication. */
int ti_engine_agree(int root, int status)
{
    (void)root;
    return status;
}

int ti_engine_first(const struct ti_replayer *p, bool here)
{
    (void)p; /* a process that failed to open the trace has ended */
    (void)here;
    return -1;
}

/* One rank parses for all, so no output needs to be discarded. */
bool ti_engine_hush(bool hush)
{
    (void)hush;
    return false;
}

bool ti_engine_end(struct ti_replayer *p, double *end)
{
    struct shared *s = p->engine;

    s->end = p->end > s->end ? p->end : s->end;
    *end = s->end;
    return --s->running == 0;
}

/* MPI_Abort is not used: in SMPI the simulation would end with status 0. */
void ti_engine_abort(int status)
{
    fflush(NULL);
    _exit(status);
}

double ti_engine_clock(void)
{
    return simgrid_get_clock();
}

double ti_engine_resolution(void)
{
    return sg_cfg_get_double("surf/precision");
}

const char *ti_engine_host_name(void)
{
    return sg_host_get_name(sg_host_self());
}

struct ti_engine_host *ti_engine_of_host(void *host)
{
    struct ti_engine_host *data = sg_host_get_data(host);
    size_t none = 0;

    if (data)
        return data;
    data = ti_grow(NULL, &none, 1, sizeof *data);
    *data = (struct ti_engine_host){0};
    sg_host_set_data(host, data);
    return data;
}

/* Counts the ranks of a host that compute, and gives it the speed for so many: SimGrid changes that
 * of the bursts that are under way, too. */
static void now_compute(sg_host_t host, int more)
{
    int64_t *ranks = &ti_engine_of_host(host)->computing;
    size_t speeds = sg_host_get_nb_pstates(host);

    *ranks += more;
    if (*ranks > 0 && speeds > 1)
        sg_host_set_pstate(host, (size_t)*ranks < speeds ? (size_t)*ranks - 1 : speeds - 1);
}

static void compute(const struct ti_replay_setup *setup, double flops)
{
    sg_host_t host = setup->contention ? sg_host_self() : NULL;

    if (host)
        now_compute(host, 1);
    smpi_execute_flops(flops);
    if (host)
        now_compute(host, -1);
}

void ti_engine_burst(const struct ti_replay_setup *setup, uint64_t amount, bool nanoseconds)
{
    struct timespec t = {(time_t)(amount / NS_PER_S), (long)(amount % NS_PER_S)};

    if (nanoseconds)
        smpi_nanosleep(&t, NULL);
    else
        compute(setup, (double)amount);
}

/* Uses flops, because smpi_execute() ignores durations below smpi/cpu-threshold. */
void ti_engine_combine(int64_t bytes)
{
    struct ti_replay_setup *setup = &shared()->setup;

    if (!(setup->reduce_rate > 0))
        return;
    setup->computing++;
    smpi_execute_flops((double)bytes / setup->reduce_rate * sg_host_get_speed(sg_host_self()));
    setup->computing--;
}

void ti_engine_copy(const struct ti_replay_setup *setup, int64_t bytes)
{
    if (setup->copy_rate > 0 && bytes > 0)
        smpi_execute_flops((double)bytes / setup->copy_rate * sg_host_get_speed(sg_host_self()));
}

/* A buffer of SMPI's shared memory maps one block repeatedly, so any size takes little memory. SMPI
 * does not copy messages between such buffers. */
static void *grow(void **buffer, size_t *room, size_t bytes)
{
    if (bytes > *room) {
        size_t want = *room ? *room : BUFFER_LEAST;

        while (want < bytes)
            want = want > SIZE_MAX / 2 ? bytes : 2 * want;
        *buffer = SMPI_SHARED_MALLOC(want);
        *room = want;
    }
    return *buffer;
}

void *ti_engine_send_buffer(struct ti_replayer *p, size_t bytes)
{
    struct shared *s = p->engine;

    return grow(&s->sent, &s->sent_bytes, bytes + 1);
}

void *ti_engine_recv_buffer(struct ti_replayer *p, size_t bytes)
{
    struct shared *s = p->engine;

    return grow(&s->received, &s->received_bytes, bytes + 1);
}

const void *ti_engine_sent(struct ti_replayer *p, size_t bytes)
{
    (void)p;
    (void)bytes;
    return MPI_BOTTOM;
}

void *ti_engine_received(struct ti_replayer *p, size_t bytes)
{
    (void)bytes;
    return ti_engine_recv_buffer(p, 1);
}

/* ---- disks ---- */

void *ti_engine_disk(void)
{
    sg_host_t host = sg_host_self(), disk;
    const char *shared = sg_host_get_property_value(host, TI_DISK_PROPERTY);
    char *own;

    if (shared)
        return sg_host_by_name(shared);
    if (asprintf(&own, TI_DISK_PREFIX "%s", sg_host_get_name(host)) < 0)
        TI_BUG("out of memory");
    disk = sg_host_by_name(own);
    free(own);
    return disk;
}

void ti_engine_access(void *disk, int64_t bytes)
{
    const char *latency = sg_host_get_property_value(disk, TI_LATENCY_PROPERTY);
    sg_exec_t exec;

    if (bytes <= 0)
        return;
    if (latency)
        sg_actor_sleep_for(strtod(latency, NULL));
    exec = sg_actor_exec_init((double)bytes);
    sg_exec_set_host(exec, disk);
    sg_exec_start(exec);
    sg_exec_wait(exec);
}

struct ti_engine_access {
    void *disk;
    int64_t bytes;
    sg_sem_t ended;
};

/* The actor of an access beside its rank. */
static void access_beside(int argc, char **argv)
{
    struct ti_engine_access *access = sg_actor_self_get_data();

    (void)argc;
    (void)argv;
    ti_engine_access(access->disk, access->bytes);
    sg_sem_release(access->ended);
}

struct ti_engine_access *ti_engine_begin_access(void *disk, int64_t bytes)
{
    size_t none = 0;
    struct ti_engine_access *access = ti_grow(NULL, &none, 1, sizeof *access);
    sg_actor_t actor = sg_actor_init("access", sg_host_self());

    *access = (struct ti_engine_access){disk, bytes, sg_sem_init(0)};
    sg_actor_set_data(actor, access);
    sg_actor_start(actor, access_beside, 0, NULL);
    return access;
}

void ti_engine_end_access(struct ti_engine_access *access)
{
    sg_sem_acquire(access->ended);
    sg_sem_destroy(access->ended);
    free(access);
}

/* ---- the network ---- */

size_t ti_engine_eager_bytes(void)
{
    return (size_t)sg_cfg_get_int("smpi/send-is-detached-thresh");
}

size_t ti_engine_early_bytes(void)
{
    return (size_t)sg_cfg_get_int("smpi/async-small-thresh");
}

void *ti_engine_host(void)
{
    return sg_host_self();
}

void ti_engine_route(void *from, void *to, double *latency, double *bandwidth)
{
    *latency = sg_host_get_route_latency(from, to);
    *bandwidth = sg_host_get_route_bandwidth(from, to);
}

static double transfer_s(sg_host_t from, sg_host_t to, int64_t bytes)
{
    double start = simgrid_get_clock();

    sg_host_sendto(from, to, (double)(bytes + ENVELOPE));
    return simgrid_get_clock() - start;
}

static void scale_bandwidth(const sg_link_t *route, double factor)
{
    for (size_t i = 0; route[i]; i++)
        sg_link_set_bandwidth(route[i], sg_link_get_bandwidth(route[i]) * factor);
}

/* The second message has twice the bandwidth, and so half of the seconds that depend on it. */
void ti_engine_transfer(void *from, void *to, int64_t bytes, double *latency, double *bandwidth)
{
    sg_link_t *route = ti_route_links(from, to);
    double one = transfer_s(from, to, bytes), two;

    scale_bandwidth(route, 2);
    two = transfer_s(from, to, bytes);
    scale_bandwidth(route, 0.5);
    free(route);
    *bandwidth = two < one ? 2 * (one - two) : 0;
    *latency = one > *bandwidth ? one - *bandwidth : 0;
}

void ti_engine_wait_until(double seconds)
{
    double left = seconds - simgrid_get_clock();

    if (left > 0)
        sg_actor_sleep_for(left);
}

/* SMPI checks the size of the attached buffer, but does not use it. */
void ti_engine_buffer_sends(struct ti_replayer *p)
{
    if (!p->buffered)
        ti_replay_must(p, PMPI_Buffer_attach(ti_engine_send_buffer(p, 1), INT_MAX));
    p->buffered = true;
}
