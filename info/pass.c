#include "info/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "formats/ranges.h"
#include "info/info.h"

struct reading {
    struct ti_source *s;
    const struct info_visitor *v;
    struct info_pass *p;
    struct ti_comms comms;
    struct ti_scan scan; /* of the current rank */
};

static void tell_message(const struct reading *g, int64_t from, const struct ti_msg *m)
{
    if (g->v->message && !m->recv && !m->null && !m->cancelled)
        g->v->message(g->v->arg, from, m->peer, (uint64_t)m->bytes);
}

static void visit_messages(const struct reading *g, int64_t rank, const struct ti_step *step)
{
    for (size_t i = 0; i < step->nposted; i++)
        if (step->posted[i].req < 0)
            tell_message(g, rank, &step->posted[i]);
    for (size_t i = 0; i < step->ndone; i++)
        tell_message(g, rank, &step->done[i]);
}

/* Report the messages whose requests did not complete in the readable part of the trace. */
static void visit_pending(const struct reading *g, int64_t rank, const struct ti_walk *w)
{
    struct ti_pending left;
    size_t at = 0;

    while (ti_walk_pending(w, &at, &left))
        for (int i = 0; i < left.nmsgs; i++)
            tell_message(g, rank, &left.msg[i]);
}

/* False if the target is not a rank of the communicator. */
static bool visit_one_sided(const struct reading *g, int64_t rank, const struct ti_reader *r,
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
        g->v->one_sided(g->v->arg, rank, target, put);
    if (gets && g->v->one_sided)
        g->v->one_sided(g->v->arg, target, rank, got);
    return true;
}

static void visit_collectives(const struct reading *g, const struct ti_reader *r,
                              const struct ti_step *step)
{
    for (size_t i = 0; i < step->ncalls; i++) {
        const struct ti_event *ev = step->call[i].ev;

        if (ti_op_collective(ev->op) && g->v->collective)
            g->v->collective(g->v->arg, ev->op, ti_scan_collective(&g->scan, r, ev));
    }
}

static void note_unsound(const struct reading *g, int64_t rank, const struct ti_step *step)
{
    struct info_pass *p = g->p;

    if (p->unsound++ == 0)
        snprintf(p->first_unsound, sizeof p->first_unsound,
                 "rank %" PRId64 ", event %" PRIu64 ": %s", rank, step->index,
                 step->why[0] ? step->why : "its target is no rank of the window");
}

static ti_status read_events(struct reading *g, int64_t rank, struct ti_walk *w, struct ti_err *err)
{
    const struct ti_reader *r = ti_walk_reader(w);
    struct ti_step step;
    int more;

    while ((more = ti_walk_next(w, &step, err)) > 0) {
        ti_status st = ti_scan_event(&g->scan, r, &step.ev, err);

        if (st != TI_OK)
            return st;
        if (g->v->event)
            g->v->event(g->v->arg, r, &step.ev);
        visit_messages(g, rank, &step);
        visit_collectives(g, r, &step);
        if (!visit_one_sided(g, rank, r, &step.ev) || step.why[0])
            note_unsound(g, rank, &step);
    }
    return more < 0 ? TI_ERR_INPUT : ti_scan_end(&g->scan, r, err);
}

static void set_status(struct info_pass *p, ti_status st)
{
    p->st = st > p->st ? st : p->st;
}

static void note_damage(struct info_pass *p, int64_t rank, ti_status st, const struct ti_err *err)
{
    if (!p->damaged.n)
        snprintf(p->first_damaged, sizeof p->first_damaged, "%s", err->text);
    ti_ranges_add(&p->damaged, rank);
    set_status(p, st);
}

static void note_end(struct info_pass *p, int64_t rank, const struct ti_reader *r)
{
    char end[512];

    if (ti_reader_end(r) == TI_END_COMPLETE)
        return;
    if (!p->incomplete.n)
        snprintf(p->first_incomplete, sizeof p->first_incomplete,
                 "rank %" PRId64 " after %" PRIu64 " events: %s", rank, ti_reader_events(r),
                 info_end_text(r, end, sizeof end));
    ti_ranges_add(&p->incomplete, rank);
    set_status(p, TI_ERR_PARTIAL);
}

static ti_status read_rank(struct reading *g, int64_t rank, struct ti_err *err)
{
    struct ti_err why;
    struct ti_walk *w;
    ti_status st = ti_walk_open(g->s, &g->comms, rank, &w, &why);

    if (st != TI_OK) {
        note_damage(g->p, rank, st, &why);
        return TI_OK;
    }
    if (g->v->extras)
        ti_reader_want_extras(ti_walk_reader(w));
    if (g->v->rank)
        st = g->v->rank(g->v->arg, ti_walk_reader(w), err);
    if (st == TI_OK) {
        ti_scan_begin(&g->scan);
        g->p->ranks++;
        st = read_events(g, rank, w, &why);
        visit_pending(g, rank, w);
        if (st != TI_OK)
            note_damage(g->p, rank, st, &why);
        else
            note_end(g->p, rank, ti_walk_reader(w));
        ti_scan_free(&g->scan);
        st = TI_OK;
    }
    ti_walk_close(w);
    return st;
}

ti_status info_pass(struct ti_source *s, int64_t only, const struct info_visitor *v,
                    struct info_pass *p, struct ti_err *err)
{
    struct reading g = {.s = s, .v = v, .p = p};
    bool alone = strcmp(ti_source_kind(s), "rank file") == 0;
    ti_status st = TI_OK;

    *p = (struct info_pass){.np = ti_source_nranks(s)};
    ti_comms_init(&g.comms, p->np);
    for (int64_t rank = 0; rank < p->np && st == TI_OK; rank++) {
        if (only >= 0 && rank != only)
            continue;
        if (!ti_source_has(s, rank)) {
            if (alone)
                continue;
            ti_ranges_add(&p->missing, rank);
            set_status(p, TI_ERR_PARTIAL);
            continue;
        }
        ti_progress("reading rank %" PRId64 " of %" PRId64, rank, p->np);
        st = read_rank(&g, rank, err);
    }
    ti_progress_clear();
    ti_comms_free(&g.comms);
    if (p->unsound)
        set_status(p, TI_ERR_INPUT);
    return st;
}

void info_pass_free(struct info_pass *p)
{
    ti_ranges_free(&p->missing);
    ti_ranges_free(&p->incomplete);
    ti_ranges_free(&p->damaged);
}

static void warn_of(const struct ti_ranges *ranks, const char *what_of_one,
                    const char *what_of_many, const char *first)
{
    int64_t n = ti_ranges_count(ranks);
    char list[256];

    if (n)
        ti_warn("%" PRId64 " %s: %s%s%s", n, n == 1 ? what_of_one : what_of_many,
                ti_ranges_text(ranks, list, sizeof list), *first ? "; " : "", first);
}

void info_pass_warn(const struct info_pass *p)
{
    warn_of(&p->missing, "rank missing", "ranks missing", "");
    warn_of(&p->incomplete, "rank incomplete, counted as far as it goes",
            "ranks incomplete, counted as far as they go", p->first_incomplete);
    warn_of(&p->damaged, "rank damaged, counted as far as it is sound",
            "ranks damaged, counted as far as they are sound", p->first_damaged);
    if (!p->unsound)
        return;
    ti_warn("%" PRIu64 " event%s not sound, so traffic may be missing; %s", p->unsound,
            p->unsound == 1 ? " is" : "s are", p->first_unsound);
    ti_hint("ti-info --verify says more");
}

void info_pass_json(const struct info_pass *p, json_t *out)
{
    json_object_set_new(out, "np", json_integer(p->np));
    json_object_set_new(out, "ranks", json_integer(p->ranks));
    json_object_set_new(out, "complete", json_boolean(p->st == TI_OK));
    json_object_set_new(out, "missing", ti_ranges_json(&p->missing));
    json_object_set_new(out, "incomplete", ti_ranges_json(&p->incomplete));
    json_object_set_new(out, "damaged", ti_ranges_json(&p->damaged));
    json_object_set_new(out, "unsound_events", ti_json_u64(p->unsound));
}
