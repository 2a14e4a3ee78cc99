#include "analysis/pass.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/tally.h"
#include "common/cli.h"
#include "common/ranges.h"
#include "fold/trips.h"
#include "trace/alike.h"

/* Different items that are kept at a time, outside of trips that may be repeated, and anywhere. */
#define ITEMS_MOST   (1u << 16)
#define ITEMS_AT_ALL (1u << 22)

#define PROGRESS_EVERY (1u << 20) /* events */

struct reading {
    struct ti_source *s;
    const struct ti_pass_visitor *v;
    struct ti_pass *p;
    struct ti_comms comms;
    /* of the current rank */
    struct ti_walk *walk;
    struct ti_scan scan;
    struct ti_tally tally;
    struct ti_alike alike;
    struct reading_mark {
        struct ti_walk_mark *walk;
        struct ti_scan scan;
        uint64_t unsound;
    } * mark; /* by depth of the loop */
    size_t marks, marks_cap;
};

/* ------------------------------------------------------- trips that are alike -- */

static size_t extent(void *arg)
{
    const struct reading *g = arg;

    return ti_walk_extent(g->walk) + g->tally.items.n + TI_OP_COUNT;
}

static bool remember(void *arg, uint32_t depth)
{
    struct reading *g = arg;

    if (!TI_ROOM(g->mark, &g->marks_cap, depth + 1))
        return false;
    for (; g->marks <= depth; g->marks++) {
        g->mark[g->marks].walk = ti_walk_mark_new();
        if (!g->mark[g->marks].walk)
            return false;
    }
    g->mark[depth].unsound = g->p->unsound;
    return ti_walk_remember(g->walk, g->mark[depth].walk) &&
           ti_scan_remember(&g->scan, &g->mark[depth].scan) && ti_tally_remember(&g->tally, depth);
}

static bool steady(void *arg, uint32_t depth)
{
    const struct reading *g = arg;

    return ti_walk_steady(g->walk, g->mark[depth].walk);
}

static bool repeat(void *arg, uint32_t depth, uint64_t times, const struct ti_trip_period *p)
{
    struct reading *g = arg;
    bool fine;

    ti_scan_repeat(&g->scan, &g->mark[depth].scan, times);
    ti_tally_repeat(&g->tally, depth, times);
    g->p->unsound += times * (g->p->unsound - g->mark[depth].unsound);
    ti_walk_leave_out(g->walk, g->mark[depth].walk, depth, times, p->trips, &fine);
    return fine;
}

static void forget_marks(struct reading *g)
{
    for (size_t i = 0; i < g->marks; i++) {
        ti_walk_mark_free(g->mark[i].walk);
        ti_scan_mark_free(&g->mark[i].scan);
    }
    free(g->mark);
}

/* --------------------------------------------------------------------- items -- */

/* Tell the visitor what was counted so far. */
static void tell_items(struct reading *g)
{
    const struct ti_pass_visitor *v = g->v;

    for (size_t i = 0; i < g->tally.items.n; i++) {
        enum ti_tally_kind kind;
        int64_t from, to;
        uint64_t bytes, times;
        uint32_t op;

        times = ti_tally_at(&g->tally, i, &kind, &op, &from, &to, &bytes);
        if (kind == TI_TALLY_MESSAGE)
            v->message(v->arg, from, to, bytes, times);
        else if (kind == TI_TALLY_ONE_SIDED)
            v->one_sided(v->arg, from, to, bytes, times);
        else
            v->collective(v->arg, op, bytes, times);
    }
    ti_tally_clear(&g->tally);
    ti_alike_forget(&g->alike);
}

static void tell_message(struct reading *g, int64_t from, const struct ti_msg *m)
{
    if (g->v->message && !m->recv && !m->null && !m->cancelled)
        ti_tally_add(&g->tally, TI_TALLY_MESSAGE, 0, from, m->peer, (uint64_t)m->bytes);
}

static void visit_messages(struct reading *g, int64_t rank, const struct ti_step *step)
{
    for (size_t i = 0; i < step->nposted; i++)
        if (step->posted[i].req < 0)
            tell_message(g, rank, &step->posted[i]);
    for (size_t i = 0; i < step->ndone; i++)
        tell_message(g, rank, &step->done[i]);
}

/* Report the messages whose requests did not complete in the readable part of the trace. */
static void visit_pending(struct reading *g, int64_t rank, const struct ti_walk *w)
{
    struct ti_pending left;
    size_t at = 0;

    while (ti_walk_pending(w, &at, &left))
        for (int i = 0; i < left.nmsgs; i++)
            tell_message(g, rank, &left.msg[i]);
}

/* False if the target is not a rank of the communicator. */
static bool visit_one_sided(struct reading *g, int64_t rank, const struct ti_reader *r,
                            const struct ti_event *ev)
{
    uint64_t put, got;
    bool puts = ti_rma_puts(ev, &put), gets = ti_rma_gets(ev, &got);
    int64_t target;

    if (!puts && !gets)
        return true;
    target = ti_reader_world(r, ti_reader_event_comm(r, ev), ev->arg[TI_F_PEER]);
    if (target < 0)
        return false;
    if (puts && g->v->one_sided)
        ti_tally_add(&g->tally, TI_TALLY_ONE_SIDED, 0, rank, target, put);
    if (gets && g->v->one_sided)
        ti_tally_add(&g->tally, TI_TALLY_ONE_SIDED, 0, target, rank, got);
    return true;
}

static void visit_collectives(struct reading *g, const struct ti_reader *r,
                              const struct ti_step *step)
{
    for (size_t i = 0; i < step->ncalls; i++) {
        const struct ti_event *ev = step->call[i].ev;

        if (ti_op_collective(ev->op) && g->v->collective)
            ti_tally_add(&g->tally, TI_TALLY_COLLECTIVE, ev->op, 0, 0,
                         ti_scan_collective(&g->scan, r, ev));
    }
}

static void note_unsound(const struct reading *g, int64_t rank, const struct ti_step *step)
{
    struct ti_pass *p = g->p;

    if (p->unsound++ == 0)
        snprintf(p->first_unsound, sizeof p->first_unsound,
                 "rank %" PRId64 ", event %" PRIu64 ": %s", rank, step->index,
                 step->why[0] ? step->why : "its target is no rank of the window");
}

/* -------------------------------------------------------------------- bursts -- */

static void tell_burst(const struct reading *g, const struct ti_reader *r,
                       const struct ti_event *ev)
{
    struct ti_values v = {.n = 1, .times = 1, .first = {ev->volume}};

    for (int i = 0; ev->extra && i < ti_reader_extras(r); i++)
        v.first[1 + i] = ev->extra[i];
    g->v->bursts(g->v->arg, r, ev->site, &v, ev->extra != NULL);
}

/* The bursts before a call of a folded trace. */
struct of_call {
    const struct reading *g;
    const struct ti_reader *r;
    uint32_t site;
};

static bool tell_values(void *arg, const struct ti_values *v)
{
    const struct of_call *c = arg;

    c->g->v->bursts(c->g->v->arg, c->r, c->site, v, c->g->v->extras && ti_reader_extras(c->r));
    return true;
}

static ti_status tell_folded(const struct reading *g, const struct ti_reader *r, struct ti_err *err)
{
    const struct ti_folded *f = ti_reader_folded(r);
    uint32_t columns = g->v->extras ? (2u << ti_reader_extras(r)) - 1 : 1;

    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);
        struct of_call c = {g, r, node.site};

        errno = 0;
        if (!node.loop && !ti_shape_values(f, i, columns, tell_values, &c))
            return ti_reader_malformed(r, err);
    }
    return TI_OK;
}

/* -------------------------------------------------------------------- reading -- */

/* Of a trace of which trips are not alike, say how far it is read. */
static void tell_progress(const struct reading *g, const struct ti_reader *r)
{
    char at[32], all[32], note[96];

    if (!ti_reader_folded(r) || !ti_progress_due("reading"))
        return;
    snprintf(note, sizeof note, "event %s of %s",
             ti_format_count(ti_reader_events(r), at, sizeof at),
             ti_format_count(ti_folded_events(ti_reader_folded(r)), all, sizeof all));
    ti_progress_show(&(struct ti_progress){.step = "reading",
                                           .unit = "ranks",
                                           .done = ti_reader_rank(r),
                                           .of = g->p->np,
                                           .note = note});
}

static ti_status read_events(struct reading *g, int64_t rank, struct ti_walk *w, struct ti_err *err)
{
    struct ti_reader *r = ti_walk_reader(w);
    bool events = g->v->bursts && !ti_reader_folded(r);
    struct ti_step step;
    uint64_t n = 0;
    ti_status st;
    int more;

    for (;;) {
        st = ti_alike_leave_out(&g->alike, r, err);
        if (st || (more = ti_walk_next(w, &step, err)) <= 0)
            break;
        st = ti_scan_event(&g->scan, r, &step.ev, err);
        if (st)
            return st;
        if (events)
            tell_burst(g, r, &step.ev);
        visit_messages(g, rank, &step);
        visit_collectives(g, r, &step);
        if (!visit_one_sided(g, rank, r, &step.ev) || step.why[0])
            note_unsound(g, rank, &step);
        if (g->tally.no_memory)
            return ti_err_memory(err, "sum up the trace");
        if (++n % PROGRESS_EVERY == 0)
            tell_progress(g, r);
        if (g->tally.items.n > ITEMS_MOST &&
            (g->tally.items.n > ITEMS_AT_ALL || !ti_alike_marked(&g->alike)))
            tell_items(g);
    }
    if (st)
        return st;
    return more < 0 ? ti_walk_status(w) : ti_scan_end(&g->scan, r, err);
}

static void set_status(struct ti_pass *p, ti_status st)
{
    p->st = st > p->st ? st : p->st;
}

/* Add a rank to a set, and to the status of the pass. */
static ti_status note_rank(struct ti_pass *p, struct ti_ranges *set, int64_t rank, ti_status st,
                           struct ti_err *err)
{
    set_status(p, st);
    return ti_ranges_put(set, rank, rank) ? TI_OK : ti_err_memory(err, "sum up the trace");
}

/* A rank failed for a cause, *why.  Short memory is one that ends the pass; errno tells. */
static ti_status note_damage(struct ti_pass *p, int64_t rank, ti_status st,
                             const struct ti_err *why, struct ti_err *err)
{
    if (ti_err_was_memory(st)) {
        *err = *why;
        return st;
    }
    if (!p->damaged.n)
        snprintf(p->first_damaged, sizeof p->first_damaged, "%s", why->text);
    return note_rank(p, &p->damaged, rank, st, err);
}

static ti_status note_end(struct ti_pass *p, int64_t rank, const struct ti_reader *r,
                          struct ti_err *err)
{
    char end[512];

    if (ti_reader_end(r) == TI_END_COMPLETE)
        return TI_OK;
    if (!p->incomplete.n)
        snprintf(p->first_incomplete, sizeof p->first_incomplete,
                 "rank %" PRId64 " after %" PRIu64 " events: %s", rank, ti_reader_events(r),
                 ti_reader_end_text(r, end, sizeof end));
    return note_rank(p, &p->incomplete, rank, TI_ERR_PARTIAL, err);
}

static ti_status read_rank(struct reading *g, int64_t rank, struct ti_err *err)
{
    struct ti_err why;
    struct ti_walk *w;
    ti_status st;

    errno = 0;
    st = ti_walk_open(g->s, &g->comms, rank, &w, &why);
    if (st != TI_OK)
        return note_damage(g->p, rank, st, &why, err);
    ti_walk_sends_only(w);
    if (g->v->extras)
        ti_reader_want_extras(ti_walk_reader(w));
    if (g->v->rank)
        st = g->v->rank(g->v->arg, ti_walk_reader(w), err);
    if (st == TI_OK) {
        ti_scan_begin(&g->scan);
        g->p->ranks++;
        g->walk = w;
        st = read_events(g, rank, w, &why);
        if (g->v->bursts && ti_reader_folded(ti_walk_reader(w)) && st == TI_OK)
            st = tell_folded(g, ti_walk_reader(w), &why);
        st = st != TI_OK ? note_damage(g->p, rank, st, &why, err)
                         : note_end(g->p, rank, ti_walk_reader(w), err);
        visit_pending(g, rank, w);
        tell_items(g);
        if (st == TI_OK && g->tally.no_memory)
            st = ti_err_memory(err, "sum up the trace");
        ti_scan_free(&g->scan);
    }
    ti_walk_close(w);
    return st;
}

ti_status ti_pass(struct ti_source *s, int64_t only, const struct ti_pass_visitor *v,
                  struct ti_pass *p, struct ti_err *err)
{
    static const struct ti_alike_user user = {extent, remember, steady, repeat};
    struct reading g = {.s = s, .v = v, .p = p};
    bool alone = strcmp(ti_source_kind(s), "rank file") == 0;
    ti_status st = TI_OK;

    *p = (struct ti_pass){.np = ti_source_nranks(s)};
    g.alike = (struct ti_alike){.user = &user, .arg = &g};
    if (!ti_comms_init(&g.comms, p->np))
        st = ti_err_memory(err, "sum up the trace");
    for (int64_t rank = 0; rank < p->np && st == TI_OK; rank++) {
        if (only >= 0 && rank != only)
            continue;
        if (!ti_source_has(s, rank)) {
            if (alone)
                continue;
            st = note_rank(p, &p->missing, rank, TI_ERR_PARTIAL, err);
            continue;
        }
        ti_progress("reading", "ranks", rank, p->np);
        st = read_rank(&g, rank, err);
    }
    ti_progress_end(!st);
    ti_comms_free(&g.comms);
    ti_tally_free(&g.tally);
    ti_alike_free(&g.alike);
    forget_marks(&g);
    if (p->unsound)
        set_status(p, TI_ERR_INPUT);
    return st;
}

void ti_pass_free(struct ti_pass *p)
{
    ti_ranges_free(&p->missing);
    ti_ranges_free(&p->incomplete);
    ti_ranges_free(&p->damaged);
}

ti_status ti_pass_too_large(const struct ti_source *s, const char *what, struct ti_err *err)
{
    return ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be summed up: its %s are more than 2^64 - 1",
                      ti_source_path(s), what);
}
