/*
 * The ranks' counters must be one and the same: volumes of different ones make no
 * trace.  What the ranks count is told up a tree to rank 0, each rank adding up what
 * those below it say; rank 0 decides whether they agree, and by which id the files of
 * this run are known, and that goes down again.  Below a rank are those that follow it
 * (ranktree.h), so that most of this stays within a node, and no rank needs connections
 * to all others.
 *
 * By messages, and with an end to all waiting, since a rank that was not preloaded
 * takes part in nothing: a collective would wait for it for ever.  The ranks below it
 * are not traced either, then; among up to TI_BRANCHES + 1 ranks there are none but below
 * rank 0.  Nothing of this is recorded.  The tag is one that an application is not
 * likely to use before all of its ranks are through MPI_Init.  Afterwards no such
 * message is left, unless a rank with children was not preloaded: MPI libraries do not
 * cancel what was sent.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "minitrace/ranktree.h"
#include "minitrace/state.h"

#define TAG    31977
#define GROUPS 4  /* ranks that count alike, and are named */
#define RANGES 12 /* of ranks, for each of them */

/* How long one rank may be behind another, and longer for each rank of the run: many
 * ranks start slowly.  (There is a library for the tests that is less patient.) */
#ifndef SILENCE_S
#define SILENCE_S        30
#define SILENCE_A_RANK_S 0.5
#endif
#define LATE_S 0.1 /* for each child, when time is up */

#define SUMMARY_MOST 3072 /* bytes: sent at once, whether or not anyone receives */

/* Between two looks for a message: on an oversubscribed node, all ranks look. */
#define LOOK_NS_MIN 200000
#define LOOK_NS_MAX 20000000

struct answer {
    bool counts;
    char what[400]; /* it counts, or why it does not */
    char host[64];
};

struct range {
    int first, last;
};

/* Ranks with the same answer. */
struct group {
    struct answer answer;
    bool hosts; /* more than one */
    bool cut;   /* there are more ranges */
    int ranks;
    int ranges;
    struct range range[RANGES];
};

/* What a rank and those below it say. */
struct summary {
    int groups;
    int more;         /* ranks in none of them */
    int silent;       /* ranks that said nothing */
    int first_silent; /* if there are */
    struct group group[GROUPS];
};
_Static_assert(sizeof(struct summary) <= SUMMARY_MOST, "MPI may wait for the receiver");

struct verdict {
    bool go_on;
    uint8_t id[TI_RUN_ID_BYTES];
};

/* A rank's place in the tree. */
struct place {
    int parent;            /* -1: none */
    struct ti_block block; /* it, and what is below it */
    int levels;            /* of the whole tree, rank 0's not counted */
};

/* The most that a rank may be behind another. */
static double patience(void)
{
    return SILENCE_S + SILENCE_A_RANK_S * ti_state.nranks;
}

/* Wait for the request until `deadline`.  False: it did not come about. */
static bool wait_until(MPI_Request *req, double deadline)
{
    struct timespec pause = {.tv_nsec = LOOK_NS_MIN};
    MPI_Status status;
    int done = 0, cancelled;

    for (;;) {
        PMPI_Test(req, &done, &status);
        if (done)
            return true;
        if (ti_seconds() > deadline)
            break;
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < LOOK_NS_MAX / 2 ? 2 * pause.tv_nsec : LOOK_NS_MAX;
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

/* ---------------------------------------------------------------- adding up -- */

static void add_range(struct group *g, struct range r)
{
    if (g->ranges && g->range[g->ranges - 1].last + 1 == r.first && !g->cut)
        g->range[g->ranges - 1].last = r.last;
    else if (g->ranges < RANGES)
        g->range[g->ranges++] = r;
    else
        g->cut = true;
}

/* In the order of ranks: what a child says, of ranks that all follow those here. */
static void add(struct summary *s, const struct summary *of)
{
    s->more += of->more;
    if (!s->silent)
        s->first_silent = of->first_silent;
    s->silent += of->silent;
    for (int i = 0; i < of->groups; i++) {
        const struct group *from = &of->group[i];
        struct group *g = s->group;

        while (g < s->group + s->groups && (g->answer.counts != from->answer.counts ||
                                            strcmp(g->answer.what, from->answer.what) != 0))
            g++;
        if (g == s->group + GROUPS) {
            s->more += from->ranks;
            continue;
        }
        if (g == s->group + s->groups) {
            *g = *from;
            s->groups++;
            continue;
        }
        g->ranks += from->ranks;
        g->hosts = g->hosts || from->hosts || strcmp(g->answer.host, from->answer.host) != 0;
        for (int k = 0; k < from->ranges; k++)
            add_range(g, from->range[k]);
        g->cut = g->cut || from->cut;
    }
}

/* Ranks that count nothing all alike have each said why, or will. */
static bool alike(const struct summary *s)
{
    bool any = false;

    for (int i = 0; i < s->groups; i++)
        any = any || s->group[i].answer.counts;
    return !any || s->groups == 1;
}

static void name_groups(const struct summary *s, struct ti_err *err)
{
    char text[sizeof err->text];
    size_t n = 0;

    for (int i = 0; i < s->groups && n < sizeof text; i++) {
        const struct group *g = &s->group[i];
        bool one = g->ranges == 1 && g->range[0].first == g->range[0].last && !g->cut;

        n +=
            (size_t)snprintf(text + n, sizeof text - n, "%srank%s ", i ? "; " : "", one ? "" : "s");
        for (int k = 0; k < g->ranges && n < sizeof text; k++) {
            const struct range *r = &g->range[k];

            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", k ? "," : "", r->first);
            if (r->first != r->last && n < sizeof text)
                n += (size_t)snprintf(text + n, sizeof text - n, "-%d", r->last);
        }
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s on %s%s: %s", g->cut ? ",..." : "",
                                  g->answer.host, g->hosts ? " and other nodes" : "",
                                  g->answer.what);
    }
    if (s->more && n < sizeof text)
        snprintf(text + n, sizeof text - n, "; and %d other rank%s", s->more,
                 s->more == 1 ? "" : "s");
    ti_err_set(err, TI_ERR_INPUT, "the ranks are not counted alike: %s", text);
    ti_err_hint(err, "one TIARA_COUNTER must count on all ranks");
}

/* ----------------------------------------------------------------- the tree -- */

/* Whether the rank's message came before `deadline`. */
static bool hear(int rank, void *message, size_t bytes, double deadline)
{
    MPI_Request req;

    PMPI_Irecv(message, (int)bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &req);
    return wait_until(&req, deadline);
}

/* Adds what the children say to *s; bit i of *heard: child i was heard.  A child has as
 * long as it may itself wait for what is below it, and one rank's delay more. */
static void ask(const struct place *p, struct summary *s, struct summary *of, uint32_t *heard)
{
    double start = ti_seconds();

    *heard = 0;
    for (int i = 0; i < ti_children(p->block); i++) {
        struct ti_block b = ti_child(p->block, i);
        double deadline = start + patience() * (ti_height(b) + 1), now = ti_seconds();

        if (hear(b.first, of, sizeof *of, deadline > now + LATE_S ? deadline : now + LATE_S)) {
            *heard |= UINT32_C(1) << i;
        } else {
            memset(of, 0, sizeof *of);
            of->silent = b.end - b.first;
            of->first_silent = b.first;
        }
        add(s, of);
    }
}

/* Those that have not answered are told nothing: they are not there, and would take
 * it for a message of the application's. */
static void answer(const struct place *p, const struct verdict *v, uint32_t heard)
{
    for (int i = 0; i < ti_children(p->block); i++)
        if (heard >> i & 1)
            PMPI_Send(v, sizeof *v, MPI_BYTE, ti_child(p->block, i).first, TAG, MPI_COMM_WORLD);
}

/* Rank 0 knows after patience() for each level; it may be behind, and so may those on
 * the way back. */
static bool tell(const struct place *p, const struct summary *s, struct verdict *v)
{
    double deadline = ti_seconds() + patience() * (p->levels + 2);
    MPI_Request send, receive;

    PMPI_Irecv(v, sizeof *v, MPI_BYTE, p->parent, TAG, MPI_COMM_WORLD, &receive);
    PMPI_Isend(s, sizeof *s, MPI_BYTE, p->parent, TAG, MPI_COMM_WORLD, &send);
    if (!wait_until(&receive, deadline)) {
        wait_until(&send, deadline);
        return false;
    }
    PMPI_Wait(&send, MPI_STATUS_IGNORE);
    return true;
}

static void decide(const struct summary *s, struct verdict *v, struct ti_err *err)
{
    if (s->silent)
        ti_complain("%d of %d ranks, rank %d first, are not traced: was LD_PRELOAD handed on?",
                    s->silent, ti_state.nranks, s->first_silent);
    if (v->go_on && !alike(s)) {
        v->go_on = false;
        name_groups(s, err);
    }
}

bool ti_agree(const struct ti_err *why, bool go_on, uint8_t id[TI_RUN_ID_BYTES], struct ti_err *err)
{
    struct place place = {.levels = ti_height((struct ti_block){0, ti_state.nranks})};
    struct summary *s = ti_map(2 * sizeof *s); /* and a child's: much for a stack */
    struct verdict v = {.go_on = go_on};
    uint32_t heard;
    bool told = true;

    if (!s) {
        ti_err_set(err, TI_ERR_IO, "no memory");
        return false;
    }
    place.block = ti_block_of(ti_state.rank, ti_state.nranks, &place.parent);
    s->groups = 1;
    s->group[0].ranks = 1;
    describe(&s->group[0].answer, why);
    add_range(&s->group[0], (struct range){ti_state.rank, ti_state.rank});
    ask(&place, s, s + 1, &heard);
    if (place.parent < 0) {
        memcpy(v.id, id, sizeof v.id);
        decide(s, &v, err);
    } else {
        err->text[0] = err->hint[0] = '\0';
        told = tell(&place, s, &v);
    }
    if (told) {
        answer(&place, &v, heard);
        memcpy(id, v.id, sizeof v.id);
    } else {
        ti_state.deputy = ti_state.rank == 1;
        if (place.parent == 0)
            ti_err_set(err, TI_ERR_INPUT, "rank 0 is not traced");
        else
            ti_err_set(err, TI_ERR_INPUT, "rank %d, or one above it, is not traced", place.parent);
        ti_err_hint(err, "was LD_PRELOAD handed on to all ranks?");
    }
    ti_unmap(s, 2 * sizeof *s);
    return told && v.go_on;
}
