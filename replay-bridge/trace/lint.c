#include "replay-bridge/trace/lint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "replay-bridge/trace/objects.h"
#include "sound/text.h"
#include "trace/reader.h"
#include "trace/scan.h"

#define MISSING_MOST 1024 /* ranks; see ti_lint_mostly_missing() */

struct lint_state {
    struct ti_problems *ps;
    struct ti_lint *lint;
    const struct ti_target *target;
    struct ti_map held; /* (gid, tag, peer, receiving): first message never waited for */
    struct ti_msg *held_msg;
    size_t held_cap;
    bool have_volumes;
    struct lint_counts {
        uint64_t refused, untraced, comms, probes, objects;
    } * mark; /* at the begin of trips of loops, by depth */
    size_t marks_cap;
    struct ti_objects objects; /* of the current rank */
};

/* ---- for lowering ---- */

bool ti_never_waited(const struct ti_msg *msg, int64_t eager_bytes)
{
    return !msg->recv && msg->mode == TI_SEND_BUFFERED && !ti_is_eager(msg->bytes, eager_bytes);
}

int64_t ti_lint_tag(const struct ti_lint *lint, int64_t rank, const struct ti_msg *msg)
{
    int64_t c = ti_map_find(&lint->classes, msg->gid, msg->tag, msg->peer == rank, 0);

    if (c < 0)
        TI_BUG("a message was not linted");
    return lint->tags[c].first + (int64_t)(msg->seq % lint->tags[c].window);
}

void ti_lint_free(struct ti_lint *lint)
{
    ti_check_free(&lint->check);
    ti_map_free(&lint->classes);
    free(lint->tags);
    *lint = (struct ti_lint){0};
}

void ti_untimed_text(const struct ti_untimed *u, char buf[TI_UNTIMED_BYTES])
{
    char comms[48] = "", probes[40] = "", n[24];

    if (u->comms)
        snprintf(comms, sizeof comms, "making %s communicator%s",
                 ti_format_count(u->comms, n, sizeof n), u->comms == 1 ? "" : "s");
    if (u->probes)
        snprintf(probes, sizeof probes, "%s probe%s", ti_format_count(u->probes, n, sizeof n),
                 u->probes == 1 ? "" : "s");
    snprintf(buf, TI_UNTIMED_BYTES, "%s%s%s", comms, *comms && *probes ? " and " : "", probes);
}

/* ---- messages ---- */

/* The class of the message needs at least `span` tags. */
static void widen(struct ti_lint *lint, int64_t rank, const struct ti_msg *m, uint64_t span)
{
    int64_t c = ti_map_add(&lint->classes, m->gid, m->tag, m->peer == rank, 0);

    lint->tags = ti_grow(lint->tags, &lint->tags_cap, lint->classes.n, sizeof lint->tags[0]);
    if (lint->tags[c].window < span)
        lint->tags[c].window = span;
}

/* A request that stock replay keeps to the end. */
static void hold(struct lint_state *st, const struct ti_msg *m)
{
    size_t known = st->held.n;
    int64_t h = ti_map_add(&st->held, m->gid, m->tag, m->peer, m->recv);

    st->held_msg = ti_grow(st->held_msg, &st->held_cap, st->held.n, sizeof st->held_msg[0]);
    if ((size_t)h == known || m->seq < st->held_msg[h].seq)
        st->held_msg[h] = *m;
}

static void check_messages(struct lint_state *st, int64_t rank, const struct ti_step *step)
{
    int64_t eager = st->lint->eager_bytes;

    for (size_t i = 0; i < step->nposted; i++) {
        const struct ti_msg *m = &step->posted[i];

        if (m->null)
            continue;
        widen(st->lint, rank, m, 1);
        if (m->req < 0 && ti_never_waited(m, eager))
            hold(st, m);
    }
    for (size_t i = 0; i < step->ndone; i++) {
        const struct ti_msg *m = &step->done[i];

        if (m->null)
            continue;
        if (step->ev.op == TI_OP_REQUEST_FREE || ti_never_waited(m, eager))
            hold(st, m);
        else
            widen(st->lint, rank, m, m->posted_after + 1);
    }
}

/* ---- volumes ---- */

static void add_text(char *at, size_t bytes, const char *text, bool first)
{
    if (first)
        snprintf(at, bytes, "%s", text ? text : "");
    else if (strcmp(at, text ? text : "") != 0)
        snprintf(at, bytes, "mixed");
}

/* Adds the rank's counter and unit of volumes to those of the trace. */
static void add_volumes(struct lint_state *st, const struct ti_reader *r)
{
    struct ti_volumes *v = &st->lint->volumes;
    const char *exact = ti_reader_info(r, "exact");
    bool first = !st->have_volumes;

    add_text(v->counter, sizeof v->counter, ti_reader_info(r, "counter"), first);
    add_text(v->unit, sizeof v->unit, ti_reader_info(r, "unit"), first);
    v->estimate = v->estimate || ti_info_estimate(r);
    v->inexact = v->inexact || (exact && !ti_info_yes(exact));
    st->have_volumes = true;
}

/* ---- problems ---- */

static void report(struct lint_state *st, struct ti_walk *w, const struct ti_step *step,
                   const char *why)
{
    char call[160];

    if (ti_problems_room(st->ps))
        ti_call_text(ti_walk_reader(w), &step->ev, call, sizeof call);
    else
        call[0] = '\0';
    ti_problems_add(st->ps, ti_walk_rank(w), step->index, call, "%s", why);
}

/* The message names the call, so that each MPI function is a problem of its own. */
static void report_untraced(struct lint_state *st, struct ti_walk *w, const struct ti_step *step)
{
    const char *call = ti_reader_string(ti_walk_reader(w), TI_STRING_CALL, step->ev.arg[TI_F_CALL]);
    char why[TI_WHY_BYTES];

    snprintf(why, sizeof why, "%.100s is not traced, so what it did is not known",
             call ? call : "this call");
    report(st, w, step, why);
}

/* Counts what stock replay gives no time.  Its first member counts a communicator. */
static void count_untimed(struct ti_lint *lint, struct ti_walk *w, const struct ti_event *ev)
{
    const struct ti_comm *made = (ev->mask & TI_M_NEWCOMM) && ev->arg[TI_F_NEWCOMM] >= 0
                                     ? ti_reader_comm(ti_walk_reader(w), ev->arg[TI_F_NEWCOMM])
                                     : NULL;

    if (made && made->rank == 0 && (!made->remote || made->member[0] < made->remote[0]))
        lint->untimed.comms++;
    if (ev->op == TI_OP_PROBE || ev->op == TI_OP_IPROBE || ti_op_is(ev->op, TI_T_PROBES))
        lint->untimed.probes++;
}

/* ---- the visitor ---- */

/* Why the target cannot have the event, which is sound; NULL if it can. */
static const char *refusal(struct lint_state *st, struct ti_walk *w, const struct ti_step *step,
                           char *buf, size_t bytes)
{
    const char *size = ti_negative_size(&step->ev), *why = NULL;

    if (size) {
        snprintf(buf, bytes, "its field %s is below zero", size);
        return buf;
    }
    for (size_t i = 0; st->target->repeats && i < step->ncalls; i++)
        if (ti_op_is(step->call[i].ev->op, TI_T_NEIGHBOURS) && !step->call[i].topology)
            return "its communicator has no topology";
    if (st->target->repeats)
        why = ti_objects_use(&st->objects, ti_walk_reader(w), &step->ev, buf, bytes);
    if (!why)
        why = st->target->refusal(&st->lint->check.comms, step, st->lint->eager_bytes, buf, bytes);
    return why;
}

static ti_status see_event(void *arg, struct ti_walk *w, const struct ti_step *step, bool sound,
                           struct ti_err *err)
{
    struct lint_state *st = arg;
    char buf[TI_WHY_BYTES];
    const char *why;

    (void)err;
    check_messages(st, ti_walk_rank(w), step);
    if (step->lost)
        report(st, w, step, "its wildcard never matched: the trace does not show it complete");
    if (!sound || step->lost)
        return TI_OK;
    if (step->ev.op == TI_OP_UNTRACED) {
        st->lint->untraced++;
        report_untraced(st, w, step);
        return TI_OK;
    }
    count_untimed(st->lint, w, &step->ev);
    st->lint->files |= ti_op_kind(step->ev.op) == TI_OP_KIND_FILE;
    why = refusal(st, w, step, buf, sizeof buf);
    if (why) {
        st->lint->refused++;
        report(st, w, step, why);
    } else if (st->target->see) {
        st->target->see(st->target->arg, ti_walk_rank(w), step);
    }
    return TI_OK;
}

static ti_status see_leak(void *arg, struct ti_walk *w, const struct ti_pending *leak,
                          struct ti_err *err)
{
    struct lint_state *st = arg;

    (void)err;
    for (int i = 0; i < leak->nmsgs; i++)
        if (leak->msg[i].unknown)
            return TI_OK; /* reported where it was posted */
    ti_problems_add(st->ps, ti_walk_rank(w), leak->event, ti_op_info(leak->op)->text,
                    leak->probed ? "its message %lld is never received"
                                 : "its request %lld is neither completed nor freed",
                    (long long)leak->number);
    return TI_OK;
}

static void close_held(struct lint_state *st, struct ti_walk *w, int64_t rank)
{
    for (size_t h = 0; h < st->held.n; h++) {
        const struct ti_msg *m = &st->held_msg[h];

        widen(st->lint, rank, m, ti_walk_posted(w, m) - m->seq);
    }
    ti_map_clear(&st->held);
}

static ti_status see_rank(void *arg, int64_t rank, struct ti_walk *w, enum ti_read_state state,
                          ti_status why, struct ti_err *err)
{
    struct lint_state *st = arg;

    if (why && why != TI_ERR_INPUT)
        return why;
    if (w) {
        const char *mode = ti_reader_info(ti_walk_reader(w), "mode");

        if (mode && strcmp(mode, "whole") == 0)
            ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL,
                            "its trace is of mode whole: it has no calls but the first and the "
                            "last, and is not to be replayed");
        add_volumes(st, ti_walk_reader(w));
        ti_caveats_add(&st->lint->caveats, ti_walk_reader(w));
        close_held(st, w, rank);
    }
    ti_objects_begin(&st->objects);
    st->lint->missing += state != TI_READ_WHOLE;
    switch (state) {
    case TI_READ_WHOLE:
        break;
    case TI_READ_PART:
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "its trace is not complete: %s",
                        ti_end_text(ti_reader_end(ti_walk_reader(w))));
        break;
    case TI_READ_DAMAGED:
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "%s", err->text);
        break;
    case TI_READ_MISSING:
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "its trace is missing");
        break;
    }
    return TI_OK;
}

static bool remember(void *arg, uint32_t depth)
{
    struct lint_state *st = arg;
    const struct ti_lint *l = st->lint;

    st->mark = ti_grow(st->mark, &st->marks_cap, depth + 1, sizeof *st->mark);
    st->mark[depth] = (struct lint_counts){l->refused, l->untraced, l->untimed.comms,
                                           l->untimed.probes, ti_objects_hash(&st->objects)};
    return true;
}

/* A trip that leaves other communicators, windows or files than it found is not left out. */
static bool is_steady(void *arg, uint32_t depth)
{
    const struct lint_state *st = arg;

    return ti_objects_hash(&st->objects) == st->mark[depth].objects;
}

/* Tags and held messages are the same after any number of trips; only the counts grow. */
static void repeat(void *arg, uint32_t depth, uint64_t times)
{
    const struct lint_state *st = arg;
    const struct lint_counts *was = &st->mark[depth];
    struct ti_lint *l = st->lint;

    l->refused += times * (l->refused - was->refused);
    l->untraced += times * (l->untraced - was->untraced);
    l->untimed.comms += times * (l->untimed.comms - was->comms);
    l->untimed.probes += times * (l->untimed.probes - was->probes);
}

static ti_status pause_look(void *arg, struct ti_err *err)
{
    (void)arg;
    return ti_stop_check(err);
}

/* ---- all ranks ---- */

static void give_tags(struct ti_lint *lint, struct ti_problems *ps)
{
    int64_t next = 0;

    for (size_t c = 0; c < lint->classes.n; c++) {
        lint->tags[c].first = next;
        if (lint->tags[c].window > (uint64_t)(INT_MAX - next)) {
            ti_problems_add(ps, 0, TI_NO_EVENT, NULL,
                            "the trace needs more than the %d tags that SimGrid has", INT_MAX);
            return;
        }
        next += (int64_t)lint->tags[c].window;
    }
}

bool ti_lint_mostly_missing(const struct ti_source *s)
{
    return ti_source_nranks(s) - ti_source_count(s) > MISSING_MOST + ti_source_count(s);
}

/* Reports the missing ranks as the check does. */
static void report_missing(const struct ti_source *s, struct ti_lint *lint,
                           struct ti_problems *problems)
{
    int64_t first = 0;

    lint->missing = ti_source_nranks(s) - ti_source_count(s);
    while (ti_source_has(s, first))
        first++;
    ti_problems_add(problems, first, TI_NO_EVENT, NULL, "its trace is missing");
    problems->list[0].more = (uint64_t)lint->missing - 1;
    problems->n = (uint64_t)lint->missing;
}

ti_status ti_lint(struct ti_source *s, const struct ti_target *target, int64_t eager_bytes,
                  struct ti_lint *out, struct ti_problems *problems, struct ti_err *err)
{
    struct lint_state st = {.ps = problems, .lint = out, .target = target};
    const struct ti_visitor visitor = {.arg = &st,
                                       .event = see_event,
                                       .leak = see_leak,
                                       .rank = see_rank,
                                       /* see() is called for all events */
                                       .remember = target->see ? NULL : remember,
                                       .steady = is_steady,
                                       .repeat = target->see ? NULL : repeat,
                                       .extras = true,
                                       .pause = pause_look};
    ti_status status;

    *out = (struct ti_lint){.np = ti_source_nranks(s), .eager_bytes = eager_bytes};
    *problems = (struct ti_problems){0};
    if (ti_lint_mostly_missing(s)) {
        report_missing(s, out, problems);
        return TI_OK;
    }
    ti_objects_begin(&st.objects);
    status = ti_check(s, &visitor, &out->check, problems, err);
    if (!status && !problems->n && out->check.left_out.ranks && out->check.unchecked.messages)
        ti_problems_add(problems, 0, TI_NO_EVENT, NULL,
                        "the trace is too long to find out whether all of its messages are "
                        "received");
    if (target->tags)
        give_tags(out, problems);
    free(st.mark);
    ti_objects_free(&st.objects);
    free(st.held_msg);
    ti_map_free(&st.held);
    return status;
}
