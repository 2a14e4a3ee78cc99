/*
 * The ranks' counters must be one and the same: volumes of different ones make no
 * trace.  Each rank tells rank 0 what it counts, and rank 0 tells all whether they
 * agree, and by which id the files of this run are known.
 *
 * By messages, and with an end to all waiting, since a rank that was not preloaded
 * takes part in nothing: a collective would wait for it for ever.  Nothing of this
 * is recorded.  The tag is one that an application is not likely to use before all
 * of its ranks are through MPI_Init.  Afterwards no such message is left, unless rank
 * 0 was not preloaded: MPI libraries do not cancel what was sent.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "minitrace/state.h"

#define TAG       31977
#define SILENCE_S 30 /* rank 0 waits for an answer, and longer with many ranks */
#define GROUPS    4  /* ranks that count alike, and are named */

struct answer {
    bool counts;
    char what[400]; /* it counts, or why it does not */
    char host[64];
};

struct verdict {
    bool go_on;
    uint8_t id[TI_RUN_ID_BYTES];
};

/* Rank 0: ranks with the same answer. */
struct group {
    struct answer answer;
    bool hosts;      /* more than one */
    int first, last; /* of the range that is being extended */
    char ranks[96];  /* the ranges before it */
};

static struct group group[GROUPS];
static int groups, more; /* more: ranks in none of them */

/* Wait for the request until `deadline`.  False: it did not come about. */
static bool wait_until(MPI_Request *req, double deadline)
{
    MPI_Status status;
    int done = 0, cancelled;

    for (;;) {
        PMPI_Test(req, &done, &status);
        if (done)
            return true;
        if (ti_seconds() > deadline)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    PMPI_Cancel(req);
    PMPI_Wait(req, &status);
    PMPI_Test_cancelled(&status, &cancelled);
    return !cancelled;
}

static void describe(struct answer *a, const struct ti_err *why)
{
    const struct ti_counter *c = &ti_state.counter;
    size_t n;

    memset(a, 0, sizeof *a);
    gethostname(a->host, sizeof a->host - 1);
    a->counts = !why;
    if (why) {
        snprintf(a->what, sizeof a->what, "nothing (%.380s)", why->text);
        return;
    }
    n = (size_t)snprintf(a->what, sizeof a->what, "%s, %s, in %s, %s%s", c->backend, c->event,
                         c->unit,
                         c->estimate ? "an estimate"
                         : c->exact  ? "exact"
                                     : "not exact",
                         c->sum ? ", of all threads" : "");
    if (ti_state.extras && n < sizeof a->what)
        snprintf(a->what + n, sizeof a->what - n, "; beside it %s", ti_extra_names());
}

/* ------------------------------------------------------------------ rank 0 -- */

static void end_range(struct group *g)
{
    size_t n = strlen(g->ranks);

    if (g->first == g->last)
        snprintf(g->ranks + n, sizeof g->ranks - n, "%s%d", n ? "," : "", g->first);
    else
        snprintf(g->ranks + n, sizeof g->ranks - n, "%s%d-%d", n ? "," : "", g->first, g->last);
    if (strlen(g->ranks) == sizeof g->ranks - 1)
        strcpy(g->ranks + sizeof g->ranks - 4, "...");
}

/* In the order of ranks. */
static void note(int rank, const struct answer *a)
{
    struct group *g = group;

    while (g < group + groups &&
           (g->answer.counts != a->counts || strcmp(g->answer.what, a->what) != 0))
        g++;
    if (g == group + GROUPS) {
        more++;
        return;
    }
    if (g == group + groups) {
        *g = (struct group){.answer = *a, .first = rank, .last = rank};
        groups++;
        return;
    }
    g->hosts = g->hosts || strcmp(g->answer.host, a->host) != 0;
    if (rank != g->last + 1) {
        end_range(g);
        g->first = rank;
    }
    g->last = rank;
}

/* Ranks that count nothing all alike have each said why, or will. */
static bool alike(void)
{
    bool any = false;

    for (int i = 0; i < groups; i++)
        any = any || group[i].answer.counts;
    return !any || groups == 1;
}

static void name_groups(struct ti_err *err)
{
    char text[sizeof err->text];
    size_t n = 0;

    for (int i = 0; i < groups && n < sizeof text; i++) {
        struct group *g = &group[i];

        end_range(g);
        n += (size_t)snprintf(text + n, sizeof text - n, "%srank%s %s on %s%s: %s", i ? "; " : "",
                              strpbrk(g->ranks, ",-") ? "s" : "", g->ranks, g->answer.host,
                              g->hosts ? " and other nodes" : "", g->answer.what);
    }
    if (more && n < sizeof text)
        snprintf(text + n, sizeof text - n, "; and %d other ranks", more);
    ti_err_set(err, TI_ERR_INPUT, "the ranks are not counted alike: %s", text);
    ti_err_hint(err, "one TIARA_COUNTER must count on all ranks");
}

/* Whether the rank's answer came before `deadline`. */
static bool hear(int rank, struct answer *a, double deadline)
{
    MPI_Request req;

    PMPI_Irecv(a, sizeof *a, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &req);
    return wait_until(&req, deadline);
}

/* Those that have not answered are told nothing: they are not there, and would take
 * it for a message of the application's. */
static void ask_all(const struct answer *own, struct verdict *v, struct ti_err *err)
{
    size_t bytes = (size_t)ti_state.nranks / 8 + 1;
    double patience = SILENCE_S + 0.5 * ti_state.nranks;
    uint8_t *heard = ti_map(bytes);
    int silent = 0, first_silent = 0;
    struct answer a;

    note(0, own);
    for (int rank = 1; rank < ti_state.nranks && heard; rank++) {
        if (hear(rank, &a, ti_seconds() + (silent ? 0.1 : patience))) {
            heard[rank / 8] |= (uint8_t)(1 << rank % 8);
            note(rank, &a);
        } else if (!silent++) {
            first_silent = rank;
        }
    }
    if (silent)
        ti_complain("%d of %d ranks, rank %d first, are not traced: was LD_PRELOAD handed on?",
                    silent, ti_state.nranks, first_silent);
    if (v->go_on && !alike()) {
        v->go_on = false;
        name_groups(err);
    }
    for (int rank = 1; rank < ti_state.nranks && heard; rank++)
        if (heard[rank / 8] >> rank % 8 & 1)
            PMPI_Send(v, sizeof *v, MPI_BYTE, rank, TAG, MPI_COMM_WORLD);
    ti_unmap(heard, bytes);
}

/* ------------------------------------------------------------- other ranks -- */

static bool tell(struct answer *own, struct verdict *v)
{
    double deadline = ti_seconds() + 4 * SILENCE_S + ti_state.nranks;
    MPI_Request send, receive;

    PMPI_Irecv(v, sizeof *v, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &receive);
    PMPI_Isend(own, sizeof *own, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &send);
    if (!wait_until(&receive, deadline)) {
        wait_until(&send, deadline);
        return false;
    }
    PMPI_Wait(&send, MPI_STATUS_IGNORE);
    return true;
}

bool ti_agree(const struct ti_err *why, bool go_on, uint8_t id[TI_RUN_ID_BYTES], struct ti_err *err)
{
    struct verdict v = {.go_on = go_on};
    struct answer own;

    describe(&own, why);
    if (ti_state.rank == 0) {
        memcpy(v.id, id, sizeof v.id);
        ask_all(&own, &v, err);
    } else {
        err->text[0] = err->hint[0] = '\0';
        if (!tell(&own, &v)) {
            ti_err_set(err, TI_ERR_INPUT, "rank 0 is not traced");
            ti_err_hint(err, "was LD_PRELOAD handed on to all ranks?");
            return false;
        }
        memcpy(id, v.id, sizeof v.id);
    }
    return v.go_on;
}
