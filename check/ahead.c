#include "check/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "check/map.h"
#include "check/ops.h"

bool ti_is_wild(const struct ti_event *ev)
{
    enum ti_halves halves = ti_op_halves(ev->op);
    enum ti_field peer = halves == TI_HALF_BOTH ? TI_F_PEER2 : TI_F_PEER;
    enum ti_field tag = halves == TI_HALF_BOTH ? TI_F_TAG2 : TI_F_TAG;

    return (halves & TI_HALF_RECV) && ev->arg[peer] != TI_NULL &&
           (ev->arg[peer] == TI_ANY || ev->arg[tag] == TI_ANY);
}

/* Whether `req` may be the number of a request, which has then a place in live[]. */
static bool has_place(struct ti_ahead *a, int64_t req)
{
    if (req < 0 || (size_t)req > a->nlive) /* the lowest free one is at most that */
        return false;
    a->live = ti_more(a->live, &a->live_cap, (size_t)req + 1, sizeof a->live[0]);
    if (a->nlive == (size_t)req)
        a->nlive++;
    return true;
}

static void settle(struct ti_ahead *a, int64_t req, enum ti_match_state state, int64_t from,
                   int64_t tag)
{
    struct ti_match *m;

    if (req < 0 || (size_t)req >= a->nlive || !a->live[req].number)
        return;
    if (a->live[req].number > a->dropped) {
        m = &a->wild[a->first + (a->live[req].number - 1 - a->dropped)];
        m->state = state;
        m->from = from;
        m->tag = tag;
    }
    a->live[req].number = 0;
}

static void post(struct ti_ahead *a, int64_t req)
{
    a->wild = ti_more(a->wild, &a->cap, a->first + a->n + 1, sizeof a->wild[0]);
    a->wild[a->first + a->n++] =
        (struct ti_match){.state = TI_MATCH_OPEN, .event = a->index, .req = req};
    a->live[req].number = a->dropped + a->n;
}

static void start(struct ti_ahead *a, int64_t req)
{
    if (req < 0 || (size_t)req >= a->nlive || !a->live[req].persistent)
        return;
    settle(a, req, TI_MATCH_NEVER, 0, 0);
    post(a, req);
}

static void make(struct ti_ahead *a, const struct ti_event *ev)
{
    int64_t req = ev->arg[TI_F_REQ];

    if (!has_place(a, req))
        return;
    settle(a, req, TI_MATCH_NEVER, 0, 0); /* in use: that one never completed */
    a->live[req].persistent = ti_op_persistent(ev->op) && ti_is_wild(ev);
    if (!ti_op_persistent(ev->op) && ti_is_wild(ev))
        post(a, req);
}

static void complete(struct ti_ahead *a, const struct ti_event *ev)
{
    const struct ti_vec *reqs = &ev->vec[0], *matched = &ev->vec[1];

    if (ev->mask & TI_M_REQ) {
        settle(a, ev->arg[TI_F_REQ], ev->mask & TI_M_FROM ? TI_MATCH_KNOWN : TI_MATCH_NEVER,
               ev->arg[TI_F_FROM], ev->arg[TI_F_FROMTAG]);
        return;
    }
    for (int64_t i = 0; i + 2 < matched->len; i += 3)
        settle(a, ti_vec_at(matched, i), TI_MATCH_KNOWN, ti_vec_at(matched, i + 1),
               ti_vec_at(matched, i + 2));
    for (int64_t i = 0; i < reqs->len; i++)
        settle(a, ti_vec_at(reqs, i), TI_MATCH_NEVER, 0, 0);
    if ((ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL])
        for (size_t i = 0; i < a->nlive; i++)
            settle(a, (int64_t)i, TI_MATCH_NEVER, 0, 0);
}

static void take(struct ti_ahead *a, const struct ti_event *ev)
{
    if (ti_op_makes_request(ev->op))
        make(a, ev);
    else if (ti_op_completes(ev->op))
        complete(a, ev);
    else if (ev->op == TI_OP_START)
        start(a, ev->arg[TI_F_REQ]);
    else if (ev->op == TI_OP_STARTALL)
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            start(a, ti_vec_at(&ev->vec[0], i));
    a->index++;
}

static void read_on(struct ti_ahead *a)
{
    struct ti_event ev = {0};
    struct ti_err ignored;

    if (ti_reader_next(a->r, &ev, &ignored) == 1)
        take(a, &ev);
    else
        a->ended = true;
}

/* Forget what was posted before `event`; move down, now and then. */
static void drop(struct ti_ahead *a, uint64_t event)
{
    for (; a->n && a->wild[a->first].event < event; a->n--) {
        a->first++;
        a->dropped++;
    }
    if (a->first > 1024 && a->first > a->n) {
        memmove(a->wild, a->wild + a->first, a->n * sizeof a->wild[0]);
        a->first = 0;
    }
}

ti_status ti_ahead_ask(struct ti_ahead *a, struct ti_source *s, int64_t rank, uint64_t event,
                       int64_t req, struct ti_match *out, struct ti_err *err)
{
    ti_status st = a->r ? TI_OK : ti_source_reader(s, rank, &a->r, err);
    size_t i = 0;

    *out = (struct ti_match){.state = TI_MATCH_NEVER};
    if (st)
        return st;
    while (a->index <= event && !a->ended)
        read_on(a);
    drop(a, event);
    while (i < a->n && a->wild[a->first + i].event == event && a->wild[a->first + i].req != req)
        i++;
    if (i == a->n || a->wild[a->first + i].event != event)
        return TI_OK;
    while (a->wild[a->first + i].state == TI_MATCH_OPEN && !a->ended)
        read_on(a);
    if (a->wild[a->first + i].state == TI_MATCH_KNOWN)
        *out = a->wild[a->first + i];
    return TI_OK;
}

void ti_ahead_free(struct ti_ahead *a)
{
    ti_reader_close(a->r);
    free(a->wild);
    free(a->live);
}
