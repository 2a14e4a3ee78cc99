#include "replay-bridge/replayer/places.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

/* ---- the two queues ---- */

static struct ti_handle_place *add_place(struct ti_handle_places *p)
{
    if (p->first_place > 1024 && p->first_place > p->nplaces / 2) {
        p->nplaces -= p->first_place;
        memmove(p->place, p->place + p->first_place, p->nplaces * sizeof *p->place);
        p->dropped += p->first_place;
        p->first_place = 0;
    }
    p->place = ti_grow(p->place, &p->places_room, p->nplaces + 1, sizeof *p->place);
    return &p->place[p->nplaces++];
}

static struct ti_handle_batch *add_batch(struct ti_handle_places *p)
{
    if (p->first_batch > 1024 && p->first_batch > p->nbatches / 2) {
        p->nbatches -= p->first_batch;
        memmove(p->batch, p->batch + p->first_batch, p->nbatches * sizeof *p->batch);
        p->first_batch = 0;
    }
    p->batch = ti_grow(p->batch, &p->batches_room, p->nbatches + 1, sizeof *p->batch);
    return &p->batch[p->nbatches++];
}

static void free_batch(struct ti_handle_batch *b)
{
    free(b->req);
    free(b->handle);
    *b = (struct ti_handle_batch){0};
}

/* ---- events that the reader meets ---- */

static bool is_live(const struct ti_handle_places *p, int64_t req)
{
    return req >= 0 && (size_t)req < p->nlive;
}

static void activate(struct ti_handle_places *p, int64_t req)
{
    *add_place(p) = (struct ti_handle_place){.event = p->index, .req = req};
    p->live[req].place = p->dropped + p->nplaces;
    p->live[req].active = true;
}

static void make(struct ti_handle_places *p, const struct ti_event *ev)
{
    int64_t req = ev->arg[TI_F_REQ];
    bool persistent = ti_op_is(ev->op, TI_T_PERSISTENT);

    if (req < 0 || (size_t)req > p->nlive) /* new requests get the lowest free number */
        return;
    p->live = ti_grow(p->live, &p->live_room, (size_t)req + 1, sizeof *p->live);
    if (p->nlive == (size_t)req)
        p->nlive++;
    p->live[req].active = false;
    if (!persistent)
        activate(p, req);
}

static void start(struct ti_handle_places *p, int64_t req)
{
    if (is_live(p, req))
        activate(p, req);
}

/* The place of an active request; NULL: already dropped. */
static struct ti_handle_place *place_of(const struct ti_handle_places *p, int64_t req)
{
    uint64_t place = p->live[req].place;

    return place > p->dropped ? &p->place[place - p->dropped - 1] : NULL;
}

static void note_cancelled(struct ti_handle_places *p, const struct ti_event *ev)
{
    const struct ti_vec *matched = &ev->vec[1];
    int64_t req = ev->arg[TI_F_REQ];

    if ((ev->mask & TI_M_REQ) && (ev->mask & TI_M_FROM) && ev->arg[TI_F_FROM] == TI_NULL &&
        is_live(p, req) && place_of(p, req))
        place_of(p, req)->cancelled = true;
    for (int64_t i = 0; i + 2 < matched->len; i += 3) {
        req = ti_vec_at(matched, i);
        if (ti_vec_at(matched, i + 1) == TI_NULL && is_live(p, req) && place_of(p, req))
            place_of(p, req)->cancelled = true;
    }
}

/* Appends the request to the batch, if it is active. */
static void put(struct ti_handle_places *p, struct ti_handle_batch *b, int64_t req)
{
    if (!is_live(p, req) || !p->live[req].active)
        return;
    p->live[req].active = false;
    b->req[b->n++] = req;
}

/* Maximum number of requests that the event can complete. */
static size_t most_of(const struct ti_handle_places *p, const struct ti_event *ev)
{
    size_t n = 0;

    if (ev->mask & TI_M_REQ)
        return 1;
    if (!(ev->mask & TI_M_ALL) || !ev->arg[TI_F_ALL])
        return (size_t)ev->vec[0].len;
    for (size_t i = 0; i < p->nlive; i++)
        n += p->live[i].active;
    return n;
}

/* If a call completed all requests, the trace has the order only of those that matched a wildcard.
 * For the others the order does not matter. */
static void complete(struct ti_handle_places *p, const struct ti_event *ev)
{
    const struct ti_vec *reqs = &ev->vec[0], *matched = &ev->vec[1];
    size_t most = most_of(p, ev), none = 0;
    struct ti_handle_batch *b = add_batch(p);

    *b = (struct ti_handle_batch){.event = p->index};
    b->req = ti_grow(NULL, &none, most + 1, sizeof *b->req);
    none = 0;
    b->handle = ti_grow(NULL, &none, most + 1, sizeof *b->handle);
    if (ev->mask & TI_M_REQ) {
        put(p, b, ev->arg[TI_F_REQ]);
    } else if (ev->mask & TI_M_ALL) {
        for (int64_t i = 0; i + 2 < matched->len; i += 3)
            put(p, b, ti_vec_at(matched, i));
        for (size_t i = 0; i < p->nlive; i++)
            put(p, b, (int64_t)i);
    } else {
        for (int64_t i = 0; i < reqs->len; i++)
            put(p, b, ti_vec_at(reqs, i));
    }
    note_cancelled(p, ev);
    for (int64_t i = 0; i < b->n; i++) {
        struct ti_handle_place *place = place_of(p, b->req[i]);

        b->handle[i] = MPI_REQUEST_NULL;
        if (place)
            place->handle = &b->handle[i];
    }
}

static void read_on(struct ti_handle_places *p)
{
    struct ti_event ev = {0};
    struct ti_err ignored; /* the replay finds the same damage and reports it */

    if (ti_reader_next(p->r, &ev, &ignored) != 1) {
        p->ended = true;
        return;
    }
    if (ti_op_is(ev.op, TI_T_REQUEST))
        make(p, &ev);
    else if (ev.op == TI_OP_START)
        start(p, ev.arg[TI_F_REQ]);
    else if (ev.op == TI_OP_STARTALL)
        for (int64_t i = 0; i < ev.vec[0].len; i++)
            start(p, ti_vec_at(&ev.vec[0], i));
    else if (ti_op_is(ev.op, TI_T_COMPLETES))
        complete(p, &ev);
    p->index++;
}

static ti_status read_past(struct ti_handle_places *p, struct ti_source *s, int64_t rank,
                           uint64_t event, struct ti_err *err)
{
    ti_status st = p->r ? TI_OK : ti_source_reader(s, rank, &p->r, err);

    while (!st && p->index <= event && !p->ended)
        read_on(p);
    return st;
}

/* ---- queries ---- */

ti_status ti_handle_place_find(struct ti_handle_places *p, struct ti_source *s, int64_t rank,
                               uint64_t event, int64_t req, struct ti_handle_place *place,
                               struct ti_err *err)
{
    ti_status st = read_past(p, s, rank, event, err);
    size_t at;

    *place = (struct ti_handle_place){.event = event, .req = req, .handle = &p->lost};
    if (st)
        return st;
    while (p->first_place < p->nplaces && p->place[p->first_place].event < event)
        p->first_place++;
    at = p->first_place;
    while (at < p->nplaces && p->place[at].event == event && p->place[at].req != req)
        at++;
    if (at == p->nplaces || p->place[at].event != event)
        return TI_OK;
    at -= p->first_place; /* reading on may compact the queue */
    while (!p->place[p->first_place + at].handle && !p->ended)
        read_on(p);
    if (p->place[p->first_place + at].handle)
        *place = p->place[p->first_place + at];
    return TI_OK;
}

ti_status ti_handle_batch_find(struct ti_handle_places *p, struct ti_source *s, int64_t rank,
                               uint64_t event, struct ti_handle_batch *batch, struct ti_err *err)
{
    ti_status st = read_past(p, s, rank, event, err);

    *batch = (struct ti_handle_batch){.event = event};
    while (!st && p->first_batch < p->nbatches && p->batch[p->first_batch].event < event)
        free_batch(&p->batch[p->first_batch++]);
    if (!st && p->first_batch < p->nbatches && p->batch[p->first_batch].event == event)
        *batch = p->batch[p->first_batch];
    return st;
}

void ti_handle_places_free(struct ti_handle_places *p)
{
    ti_reader_close(p->r);
    while (p->first_batch < p->nbatches)
        free_batch(&p->batch[p->first_batch++]);
    free(p->batch);
    free(p->place);
    free(p->live);
}
