#include "sound/wildcards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "fold/seek.h"
#include "fold/trips.h"

bool ti_is_wild(const struct ti_event *ev)
{
    bool both = ti_op_is(ev->op, TI_T_SENDS | TI_T_RECEIVES);
    enum ti_field peer = both ? TI_F_PEER2 : TI_F_PEER;
    enum ti_field tag = both ? TI_F_TAG2 : TI_F_TAG;

    return ti_op_is(ev->op, TI_T_RECEIVES) && ev->arg[peer] != TI_NULL &&
           (ev->arg[peer] == TI_ANY || ev->arg[tag] == TI_ANY);
}

/* Whether the reader keeps what the receive of an event, or of each start of it, matched. */
static bool is_followed(const struct ti_wildcards *w, const struct ti_event *ev)
{
    return w->all ? ti_op_is(ev->op, TI_T_RECEIVES) : ti_is_wild(ev);
}

/* Whether `req` is a possible number of a request; then live[] has room for it. */
static bool has_place(struct ti_wildcards *w, int64_t req)
{
    if (req < 0 || (size_t)req > w->nlive) /* a new number is the lowest free one */
        return false;
    w->no_memory |= !TI_ROOM(w->live, &w->live_cap, (size_t)req + 1);
    if (w->no_memory)
        return false;
    if (w->nlive == (size_t)req)
        w->nlive++;
    return true;
}

static void settle(struct ti_wildcards *w, int64_t req, enum ti_match_state state, int64_t from,
                   int64_t tag)
{
    struct ti_match *m;

    if (req < 0 || (size_t)req >= w->nlive || !w->live[req].number)
        return;
    if (w->live[req].number > w->dropped) {
        m = &w->wild[w->first + (w->live[req].number - 1 - w->dropped)];
        m->state = state;
        m->from = from;
        m->tag = tag;
    }
    w->live[req].number = 0;
}

static void post(struct ti_wildcards *w, int64_t req)
{
    w->no_memory |= !TI_ROOM(w->wild, &w->cap, w->first + w->n + 1);
    if (w->no_memory)
        return;
    w->wild[w->first + w->n++] =
        (struct ti_match){.state = TI_MATCH_OPEN, .event = w->index, .req = req};
    w->live[req].number = w->dropped + w->n;
}

static void start(struct ti_wildcards *w, int64_t req)
{
    if (req < 0 || (size_t)req >= w->nlive || !w->live[req].persistent)
        return;
    settle(w, req, TI_MATCH_NEVER, 0, 0);
    post(w, req);
}

static void make(struct ti_wildcards *w, const struct ti_event *ev)
{
    int64_t req = ev->arg[TI_F_REQ];

    if (!has_place(w, req))
        return;
    settle(w, req, TI_MATCH_NEVER, 0, 0); /* the number was in use: its receive never completed */
    w->live[req].persistent = ti_op_is(ev->op, TI_T_PERSISTENT) && is_followed(w, ev);
    if (!ti_op_is(ev->op, TI_T_PERSISTENT) && is_followed(w, ev))
        post(w, req);
}

static void complete(struct ti_wildcards *w, const struct ti_event *ev)
{
    const struct ti_vec *reqs = &ev->vec[0], *matched = &ev->vec[1];

    if (ev->mask & TI_M_REQ) {
        settle(w, ev->arg[TI_F_REQ], ev->mask & TI_M_FROM ? TI_MATCH_KNOWN : TI_MATCH_NEVER,
               ev->arg[TI_F_FROM], ev->arg[TI_F_FROMTAG]);
        return;
    }
    for (int64_t i = 0; i + 2 < matched->len; i += 3)
        settle(w, ti_vec_at(matched, i), TI_MATCH_KNOWN, ti_vec_at(matched, i + 1),
               ti_vec_at(matched, i + 2));
    for (int64_t i = 0; i < reqs->len; i++)
        settle(w, ti_vec_at(reqs, i), TI_MATCH_NEVER, 0, 0);
    if ((ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL])
        for (size_t i = 0; i < w->nlive; i++)
            settle(w, (int64_t)i, TI_MATCH_NEVER, 0, 0);
}

static void add_event(struct ti_wildcards *w, const struct ti_event *ev)
{
    if (ti_op_is(ev->op, TI_T_REQUEST))
        make(w, ev);
    else if (ti_op_is(ev->op, TI_T_COMPLETES))
        complete(w, ev);
    else if (ev->op == TI_OP_START)
        start(w, ev->arg[TI_F_REQ]);
    else if (ev->op == TI_OP_STARTALL)
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            start(w, ti_vec_at(&ev->vec[0], i));
    w->index++;
}

static ti_status read_on(struct ti_wildcards *w, struct ti_err *err)
{
    struct ti_event ev = {0};
    int got = ti_reader_next(w->r, &ev, err);

    if (got == 1)
        add_event(w, &ev);
    w->ended = got == 0;
    if (w->no_memory)
        return ti_err_memory(err, "follow receives with wildcards");
    return got < 0 ? ti_reader_status(w->r) : TI_OK;
}

/* Drop the entries posted before `event`; now and then, move the others to the front. */
static void drop(struct ti_wildcards *w, uint64_t event)
{
    for (; w->n && w->wild[w->first].event < event; w->n--) {
        w->first++;
        w->dropped++;
    }
    if (w->first > 1024 && w->first > w->n) {
        memmove(w->wild, w->wild + w->first, w->n * sizeof w->wild[0]);
        w->first = 0;
    }
}

ti_status ti_wildcards_ask(struct ti_wildcards *w, struct ti_source *s, int64_t rank,
                           uint64_t event, int64_t req, struct ti_match *out, struct ti_err *err)
{
    ti_status st = w->r ? TI_OK : ti_source_reader(s, rank, &w->r, err);
    size_t i = 0;

    w->asked++;
    *out = (struct ti_match){.state = TI_MATCH_NEVER};
    while (!st && w->index <= event && !w->ended)
        st = read_on(w, err);
    if (st)
        return st;
    drop(w, event);
    while (i < w->n && w->wild[w->first + i].event == event && w->wild[w->first + i].req != req)
        i++;
    if (i == w->n || w->wild[w->first + i].event != event)
        return TI_OK;
    while (!st && w->wild[w->first + i].state == TI_MATCH_OPEN && !w->ended)
        st = read_on(w, err);
    if (!st && w->wild[w->first + i].state == TI_MATCH_KNOWN)
        *out = w->wild[w->first + i];
    return st;
}

bool ti_wildcards_leave_out(struct ti_wildcards *w, uint64_t event, uint32_t depth, uint64_t n,
                            const struct ti_trip_period *p)
{
    struct ti_trip_start trip;
    struct ti_err err;

    while (w->index < event && !w->ended)
        if (read_on(w, &err))
            return false;
    drop(w, event);
    while (ti_reader_trip(w->r, &trip))
        if (trip.depth == depth) {
            w->index += n * p->events;
            return ti_reader_leave_out(w->r, n, p);
        }
    return false;
}

ti_status ti_wildcards_begin(struct ti_wildcards *w, struct ti_source *s, int64_t rank,
                             uint64_t event, size_t nrequests, struct ti_err *err)
{
    ti_status st = ti_source_reader(s, rank, &w->r, err);
    struct ti_place place;
    bool found;

    if (st)
        return st;
    errno = 0;
    found = ti_reader_seek(w->r, 0, event, &place, err) == 1;
    if (found ? !TI_ROOM(w->live, &w->live_cap, nrequests) : errno == ENOMEM)
        return ti_err_memory(err, "follow receives with wildcards");
    if (!found) {
        ti_reader_close(w->r);
        w->r = NULL;
        return TI_OK;
    }
    w->index = event;
    w->nlive = nrequests;
    return TI_OK;
}

void ti_wildcards_free(struct ti_wildcards *w)
{
    ti_reader_close(w->r);
    free(w->wild);
    free(w->live);
}
