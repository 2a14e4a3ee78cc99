/*
 * Requests: which one a completion completes.
 *
 * A live request has a number, the lowest that no other has, so that numbers
 * follow from the order of calls alone.  It is found again by its handle and by
 * where the application keeps the handle: an MPI library may give one handle to
 * many requests that were complete at once (Open MPI does for small sends), and
 * only the place tells them apart.  An application that moved a handle is found
 * by the handle alone, oldest first.
 *
 * Requests that the trace does not show are followed as well, in a table of their
 * own, so that none of them is taken for one that it shows.
 */
#include <string.h>

#include "minitrace/state.h"

struct request {
    MPI_Request handle;
    const void *where;
    uint64_t age;
    uint32_t chain;  /* next number + 1 in the same bucket */
    uint32_t looked; /* the look-up that found it last */
    int own_rank;    /* in its communicator */
    bool live, wildcard;
};

#define FIRST_ROOM 64 /* requests; doubles */

struct table {
    struct request *request; /* [number] */
    uint32_t *bucket;        /* [room], number + 1 */
    uint32_t room, live, free_hint;
    size_t request_bytes, bucket_bytes;
};

static struct table shown, hidden;
static uint64_t ages;
static uint32_t looks;

/* Scratch of a completion, from ti_pre_ to ti_rec_. */
static struct request **found; /* each request of the call; NULL: null, or made untraced */
static size_t found_bytes;
static void *lent; /* statuses */
static size_t lent_bytes;
static int64_t *list; /* numbers and matches for the event */
static size_t list_bytes;

static uint32_t *bucket_of(const struct table *t, MPI_Request handle, const void *where)
{
    uint64_t h = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) ^
                 (uint64_t)(uintptr_t)where * UINT64_C(0xc2b2ae3d27d4eb4f);

    return &t->bucket[(uint32_t)(h >> 33) & (t->room - 1)];
}

static void link_request(struct table *t, uint32_t number)
{
    uint32_t *head = bucket_of(t, t->request[number].handle, t->request[number].where);

    t->request[number].chain = *head;
    *head = number + 1;
}

static bool grow(struct table *t)
{
    uint32_t want = t->room ? t->room * 2 : FIRST_ROOM;

    if (!ti_reserve((void **)&t->request, &t->request_bytes, want * sizeof *t->request) ||
        !ti_reserve((void **)&t->bucket, &t->bucket_bytes, want * sizeof *t->bucket))
        return false;
    t->room = want;
    memset(t->bucket, 0, want * sizeof *t->bucket);
    for (uint32_t i = 0; i < want; i++)
        if (t->request[i].live)
            link_request(t, i);
    return true;
}

static MPI_Request handle_of(const struct ti_call *c, int64_t i)
{
    return c->binding == TI_BINDING_C ? ((MPI_Request *)c->req)[i]
                                      : PMPI_Request_f2c(((MPI_Fint *)c->req)[i]);
}

static const void *place_of(const struct ti_call *c, int64_t i)
{
    return c->binding == TI_BINDING_C ? (const void *)((MPI_Request *)c->req + i)
                                      : (const void *)((MPI_Fint *)c->req + i);
}

static int64_t add(struct table *t, struct ti_call *c, bool wildcard, int own_rank)
{
    uint32_t number = t->free_hint;

    while (number < t->room && t->request[number].live)
        number++;
    if (number == t->room && !grow(t)) {
        ti_give_up("no memory to follow %u requests", t->room);
        return 0;
    }
    t->free_hint = number + 1;
    t->live++;
    t->request[number] = (struct request){.handle = handle_of(c, 0),
                                          .where = place_of(c, 0),
                                          .age = ++ages,
                                          .own_rank = own_rank,
                                          .live = true,
                                          .wildcard = wildcard};
    link_request(t, number);
    return number;
}

int64_t ti_request_add(struct ti_call *c, bool wildcard, int own_rank)
{
    return add(&shown, c, wildcard, own_rank);
}

void ti_request_hide(struct ti_call *c)
{
    add(&hidden, c, false, 0);
}

static bool is_shown(const struct request *r)
{
    return r >= shown.request && r < shown.request + shown.room;
}

/* Take the request out of its table; its number there. */
static int64_t remove_request(struct request *r)
{
    struct table *t = is_shown(r) ? &shown : &hidden;
    uint32_t *link = bucket_of(t, r->handle, r->where), number = (uint32_t)(r - t->request);

    while (*link != number + 1)
        link = &t->request[*link - 1].chain;
    *link = r->chain;
    r->live = false;
    t->live--;
    if (number < t->free_hint)
        t->free_hint = number;
    return number;
}

/* Of this handle at this place, not found by this look-up yet, and younger than
 * `best`, if there is one: a place can hold several that were never waited for
 * there, and the last is meant. */
static struct request *at_place(const struct table *t, MPI_Request handle, const void *where,
                                struct request *best)
{
    if (t->live == 0)
        return best;
    for (uint32_t n = *bucket_of(t, handle, where); n; n = t->request[n - 1].chain) {
        struct request *r = &t->request[n - 1];

        if (r->handle == handle && r->where == where && r->looked != looks &&
            (!best || r->age > best->age))
            best = r;
    }
    return best;
}

/* Of this handle wherever, not found by this look-up yet, and older than `best`. */
static struct request *anywhere(const struct table *t, MPI_Request handle, struct request *best)
{
    for (uint32_t n = 0, left = t->live; left; n++) {
        struct request *r = &t->request[n];

        left -= r->live;
        if (r->live && r->handle == handle && r->looked != looks && (!best || r->age < best->age))
            best = r;
    }
    return best;
}

/* A call's i-th request; NULL: null, or made by an untraced call. */
static struct request *look_up(const struct ti_call *c, int64_t i)
{
    MPI_Request handle = handle_of(c, i);
    const void *where = place_of(c, i);
    struct request *r;

    if (handle == MPI_REQUEST_NULL || shown.live + hidden.live == 0)
        return NULL;
    r = at_place(&hidden, handle, where, at_place(&shown, handle, where, NULL));
    if (!r)
        r = anywhere(&hidden, handle, anywhere(&shown, handle, NULL));
    if (r)
        r->looked = looks;
    return r;
}

static bool ignored(const struct ti_call *c)
{
    return c->binding == TI_BINDING_C ? c->status == MPI_STATUSES_IGNORE
                                      : ti_fortran_ignores_all(c->status);
}

static size_t status_bytes(const struct ti_call *c)
{
    /* a Fortran status is as large as the C one in every MPI we know */
    (void)c;
    return sizeof(MPI_Status);
}

static const void *status_at(const struct ti_call *c, int64_t i)
{
    return (const char *)c->status + (size_t)i * status_bytes(c);
}

/* Look up all of the call's requests; lend statuses if one needs them. */
static void look_up_all(struct ti_call *c, int n, bool many_statuses)
{
    bool wild = false;

    looks++;
    if (!ti_reserve((void **)&found, &found_bytes, ((size_t)n + 1) * sizeof *found)) {
        ti_give_up("no memory to follow the completion of %d requests", n);
        c->held = 0;
        return;
    }
    for (int i = 0; i < n; i++) {
        found[i] = look_up(c, i);
        wild = wild || (found[i] && found[i]->wildcard);
    }
    c->held = n;
    if (!wild)
        return;
    if (!many_statuses) {
        ti_lend_status(c);
    } else if (ignored(c)) {
        if (ti_reserve(&lent, &lent_bytes, (size_t)n * status_bytes(c)))
            c->status = lent;
        else
            ti_give_up("no memory for the statuses of %d requests", n);
    }
}

/* One request completed: Wait, Test, Waitany, Testany; or was freed. */
static void completed_one(struct ti_call *c, struct request *r)
{
    struct ti_event ev;
    bool show = r && is_shown(r);

    if (!r)
        return;
    ti_event_begin(&ev, TI_M_REQ);
    if (r->wildcard && c->op != TI_OP_REQUEST_FREE)
        ti_match(&ev, c, c->status, r->own_rank);
    ev.arg[TI_F_REQ] = remove_request(r);
    if (show)
        ti_emit(c, &ev, true);
}

/* Positions 0..n-1 in the order of `indices`: an MPI library may report what
 * completed in the order of its completion, which is a matter of time. */
static void sort_positions(int64_t *order, const int *indices, int n)
{
    for (int i = 0; i < n; i++) {
        int k = i;

        for (; k > 0 && indices[order[k - 1]] > indices[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* The call completed `n` requests; `indices` says which, or NULL for all it
 * has.  Statuses are one for each that completed, in that order. */
static void completed_many(struct ti_call *c, int n, const int *indices)
{
    int first = c->binding == TI_BINDING_C ? 0 : 1;
    struct ti_event ev;
    int64_t *match, *order, matches = 0, count = 0;

    if (!ti_reserve((void **)&list, &list_bytes, ((size_t)n * 5 + 1) * sizeof *list)) {
        ti_give_up("no memory to follow the completion of %d requests", n);
        return;
    }
    match = list + n;
    order = match + 3 * (int64_t)n;
    if (indices)
        sort_positions(order, indices, n);
    for (int k = 0; k < n; k++) {
        int64_t i = indices ? order[k] : k, which = indices ? indices[i] - first : i, number;
        struct request *r = which >= 0 && which < c->held ? found[which] : NULL;
        bool show = r && is_shown(r), matched = false;

        if (!r)
            continue;
        if (r->wildcard) {
            ev.mask = 0;
            ti_match(&ev, c, status_at(c, i), r->own_rank);
            matched = ev.mask != 0;
        }
        number = remove_request(r);
        if (show)
            list[count++] = number;
        if (matched) {
            match[matches++] = number;
            match[matches++] = ev.arg[TI_F_FROM];
            match[matches++] = ev.arg[TI_F_FROMTAG];
        }
    }
    if (count == 0)
        return;
    ti_event_begin(&ev, 0);
    if (shown.live == 0) {
        ev.mask |= TI_M_ALL;
        ev.arg[TI_F_ALL] = 1;
    } else {
        ev.vec[0] = (struct ti_vec){list, 8, count};
    }
    ev.vec[1] = (struct ti_vec){match, 8, matches};
    ti_emit(c, &ev, true);
}

void ti_pre_wait(struct ti_call *c)
{
    look_up_all(c, 1, false);
}

void ti_rec_wait(struct ti_call *c)
{
    if (c->op == TI_OP_TEST && !*c->flag)
        ti_poll_failed();
    else if (c->held)
        completed_one(c, found[0]);
}

void ti_pre_waitall(struct ti_call *c)
{
    look_up_all(c, c->nreq, true);
}

void ti_rec_waitall(struct ti_call *c)
{
    if (c->op == TI_OP_TESTALL && !*c->flag)
        ti_poll_failed();
    else
        completed_many(c, (int)c->held, NULL);
}

void ti_pre_waitany(struct ti_call *c)
{
    look_up_all(c, c->nreq, false);
}

void ti_rec_waitany(struct ti_call *c)
{
    int64_t which;

    if (c->op == TI_OP_TESTANY && !*c->flag) {
        ti_poll_failed();
        return;
    }
    if (*c->index == MPI_UNDEFINED)
        return;
    which = *c->index - (c->binding == TI_BINDING_C ? 0 : 1);
    if (which >= 0 && which < c->held)
        completed_one(c, found[which]);
}

void ti_pre_waitsome(struct ti_call *c)
{
    look_up_all(c, c->nreq, true);
}

void ti_rec_waitsome(struct ti_call *c)
{
    if (*c->index == MPI_UNDEFINED)
        return;
    if (c->op == TI_OP_TESTSOME && *c->index == 0)
        ti_poll_failed();
    else
        completed_many(c, *c->index, c->indices);
}

void ti_pre_request_free(struct ti_call *c)
{
    look_up_all(c, 1, false);
}

void ti_rec_request_free(struct ti_call *c)
{
    if (c->held)
        completed_one(c, found[0]);
}
