/*
 * The ranks' counters must be one and the same: volumes of different ones make no
 * trace.  What the ranks count is told up a tree to rank 0, each rank adding up what
 * those below it say; rank 0 decides whether they agree, and by which id the files of
 * this run are known, and that goes down again.  A rank's children are at most ARITY,
 * each the first of a block of ranks that follow it, so that most of this stays within
 * a node, and no rank needs connections to all others.
 *
 * By messages, and with an end to all waiting, since a rank that was not preloaded
 * takes part in nothing: a collective would wait for it for ever.  The ranks of its
 * block are not traced either, then; up to ARITY + 1 ranks, that is nobody, rank 0
 * excepted.  Nothing of this is recorded.  The tag is one that an application is not
 * likely to use before all of its ranks are through MPI_Init.  Afterwards no such
 * message is left, unless a rank with children was not preloaded: MPI libraries do not
 * cancel what was sent.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "minitrace/state.h"

#define TAG       31977
#define SILENCE_S 30 /* a child's answer is waited for, and longer with many ranks */
#define ARITY     32
#define GROUPS    4  /* ranks that count alike, and are named */
#define RANGES    12 /* of ranks, for each of them */

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

struct verdict {
    bool go_on;
    uint8_t id[TI_RUN_ID_BYTES];
};

/* A rank's place in the tree. */
struct place {
    int parent; /* -1: none */
    int end;    /* its block is the ranks up to here, itself included */
    int height; /* levels below it */
    int levels; /* of the whole tree, rank 0's not counted */
};

/* Block `i` of those that the ranks first + 1 to end - 1 are divided into: the first of each
 * is a child of `first`. */
static struct range block(int first, int end, int i)
{
    int n = end - first - 1, blocks = n < ARITY ? n : ARITY;
    int size = n / blocks, longer = n % blocks;
    int from = first + 1 + i * size + (i < longer ? i : longer);

    return (struct range){from, from + size - 1 + (i < longer)};
}

static int children(int first, int end)
{
    return end - first - 1 < ARITY ? end - first - 1 : ARITY;
}

/* The first block of a rank is the largest: as deep as any. */
static int height_of(int first, int end)
{
    int height = 0;

    while (end - first > 1) {
        struct range b = block(first, end, 0);

        first = b.first;
        end = b.last + 1;
        height++;
    }
    return height;
}

static struct place place_of(int rank, int nranks)
{
    struct place p = {.parent = -1, .end = nranks, .levels = height_of(0, nranks)};
    int at = 0;

    while (at != rank) {
        int i = 0;
        struct range b = block(at, p.end, i);

        while (b.last < rank)
            b = block(at, p.end, ++i);
        p.parent = at;
        at = b.first;
        p.end = b.last + 1;
    }
    p.height = height_of(at, p.end);
    return p;
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
            for (int k = 0; k < from->ranges; k++)
                s->more += from->range[k].last - from->range[k].first + 1;
            continue;
        }
        if (g == s->group + s->groups) {
            *g = *from;
            s->groups++;
            continue;
        }
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
        snprintf(text + n, sizeof text - n, "; and %d other ranks", s->more);
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

/* Adds what the children say to *s; bit i of *heard: child i was heard. */
static void ask(const struct place *p, struct summary *s, struct summary *of, uint32_t *heard)
{
    double patience = (SILENCE_S + 0.5 * ti_state.nranks) * p->height;
    bool silent = false;

    *heard = 0;
    for (int i = 0; i < children(ti_state.rank, p->end); i++) {
        struct range b = block(ti_state.rank, p->end, i);

        if (hear(b.first, of, sizeof *of, ti_seconds() + (silent ? 0.1 : patience))) {
            *heard |= UINT32_C(1) << i;
        } else {
            silent = true;
            memset(of, 0, sizeof *of);
            of->silent = b.last - b.first + 1;
            of->first_silent = b.first;
        }
        add(s, of);
    }
}

/* Those that have not answered are told nothing: they are not there, and would take
 * it for a message of the application's. */
static void answer(const struct place *p, const struct verdict *v, uint32_t heard)
{
    for (int i = 0; i < children(ti_state.rank, p->end); i++)
        if (heard >> i & 1)
            PMPI_Send(v, sizeof *v, MPI_BYTE, block(ti_state.rank, p->end, i).first, TAG,
                      MPI_COMM_WORLD);
}

static bool tell(const struct place *p, const struct summary *s, struct verdict *v)
{
    double deadline = ti_seconds() + (4 * SILENCE_S + ti_state.nranks) * p->levels;
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
    struct place place = place_of(ti_state.rank, ti_state.nranks);
    struct summary *s = ti_map(2 * sizeof *s); /* and a child's: much for a stack */
    struct verdict v = {.go_on = go_on};
    uint32_t heard;
    bool told = true;

    if (!s) {
        ti_err_set(err, TI_ERR_IO, "no memory");
        return false;
    }
    s->groups = 1;
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
        ti_err_set(err, TI_ERR_INPUT, "rank %d is not traced", place.parent);
        ti_err_hint(err, "was LD_PRELOAD handed on to all ranks?");
    }
    ti_unmap(s, 2 * sizeof *s);
    return told && v.go_on;
}
