/*
 * Requests: which one a completion completes.
 *
 * A live request has a number, the lowest that no other has, so that numbers
 * follow from the order of calls alone.  It is found again by its handle and by
 * where the application keeps the handle: an MPI library may give one handle to
 * many requests that were complete at once (Open MPI does for small sends), and
 * only the place tells them apart.  An application that moved a handle is found
 * by the handle alone, oldest first.
 */
#include <string.h>

#include "minitrace/state.h"

extern MPI_Fint mpi_fortran_statuses_ignore_[] __attribute__((weak));

struct request {
    MPI_Request handle;
    const void *where;
    uint64_t age;
    uint32_t chain;  /* next number + 1 in the same bucket */
    uint32_t looked; /* the look-up that found it last */
    int own_rank;    /* in its communicator */
    bool live, wildcard;
};

#define FIRST_ROOM 128 /* requests; doubles */

static struct request *request; /* [number] */
static uint32_t *bucket;        /* [room], number + 1 */
static uint32_t room, live, free_hint;
static size_t request_bytes, bucket_bytes;
static uint64_t ages;
static uint32_t looks;

/* Scratch of a completion, from ti_pre_ to ti_rec_. */
static int64_t *found; /* number of each request of the call, or -1 */
static size_t found_bytes;
static void *lent; /* statuses */
static size_t lent_bytes;
static int64_t *list; /* numbers and matches for the event */
static size_t list_bytes;

static uint32_t hash(MPI_Request handle, const void *where)
{
    uint64_t h = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) ^
                 (uint64_t)(uintptr_t)where * UINT64_C(0xc2b2ae3d27d4eb4f);

    return (uint32_t)(h >> 33) & (room - 1);
}

static void link_request(uint32_t number)
{
    uint32_t *head = &bucket[hash(request[number].handle, request[number].where)];

    request[number].chain = *head;
    *head = number + 1;
}

static bool grow(void)
{
    uint32_t want = room ? room * 2 : FIRST_ROOM;

    if (!ti_reserve((void **)&request, &request_bytes, want * sizeof *request) ||
        !ti_reserve((void **)&bucket, &bucket_bytes, want * sizeof *bucket))
        return false;
    room = want;
    memset(bucket, 0, room * sizeof *bucket);
    for (uint32_t i = 0; i < room; i++)
        if (request[i].live)
            link_request(i);
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

int64_t ti_request_add(struct ti_call *c, bool wildcard, int own_rank)
{
    uint32_t number = free_hint;

    while (number < room && request[number].live)
        number++;
    if (number == room && !grow()) {
        ti_give_up("no memory to follow %u requests", room);
        return 0;
    }
    free_hint = number + 1;
    live++;
    request[number] = (struct request){.handle = handle_of(c, 0),
                                       .where = place_of(c, 0),
                                       .age = ++ages,
                                       .own_rank = own_rank,
                                       .live = true,
                                       .wildcard = wildcard};
    link_request(number);
    return number;
}

static void remove_request(int64_t number)
{
    uint32_t *link = &bucket[hash(request[number].handle, request[number].where)];

    while (*link != number + 1)
        link = &request[*link - 1].chain;
    *link = request[number].chain;
    request[number].live = false;
    live--;
    if (number < free_hint)
        free_hint = (uint32_t)number;
}

/* Number of a call's i-th request, or -1: null, or made by an untraced call. */
static int64_t look_up(const struct ti_call *c, int64_t i)
{
    MPI_Request handle = handle_of(c, i);
    const void *where = place_of(c, i);
    uint64_t oldest = UINT64_MAX;
    int64_t number = -1;

    if (handle == MPI_REQUEST_NULL || live == 0)
        return -1;
    for (uint32_t n = bucket[hash(handle, where)]; n; n = request[n - 1].chain) {
        struct request *r = &request[n - 1];

        /* one place can hold several that were never waited for: the last */
        if (r->handle == handle && r->where == where && r->looked != looks) {
            r->looked = looks;
            return n - 1;
        }
    }
    for (uint32_t n = 0; n < room; n++) {
        struct request *r = &request[n];

        if (r->live && r->handle == handle && r->looked != looks && r->age < oldest) {
            oldest = r->age;
            number = n;
        }
    }
    if (number >= 0)
        request[number].looked = looks;
    return number;
}

static bool ignored(const struct ti_call *c)
{
    return c->binding == TI_BINDING_C
               ? c->status == MPI_STATUSES_IGNORE
               : c->status == mpi_fortran_statuses_ignore_ || c->status == NULL;
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
        wild = wild || (found[i] >= 0 && request[found[i]].wildcard);
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

/* One request completed: Wait, Test, Waitany, Testany. */
static void completed_one(struct ti_call *c, int64_t number)
{
    struct ti_event ev = {.mask = TI_M_REQ};

    if (number < 0)
        return;
    ev.arg[TI_F_REQ] = number;
    if (request[number].wildcard)
        ti_match(&ev, c, c->status, request[number].own_rank);
    remove_request(number);
    ti_emit(c, &ev, true);
}

/* Positions 0..n-1 in the order of `indices`: an MPI library may report what
 * completed in the order of its completion, which is a matter of time. */
static void sort_positions(int64_t *order, const int *indices, int n)
{
    for (int i = 0; i < n; i++) {
        int k = i;

        for (; indices && k > 0 && indices[order[k - 1]] > indices[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* The call completed `n` requests; `indices` says which, or NULL for all it
 * has.  Statuses are one for each that completed, in that order. */
static void completed_many(struct ti_call *c, int n, const int *indices)
{
    int first = c->binding == TI_BINDING_C ? 0 : 1;
    struct ti_event ev = {0};
    int64_t *match, *order, matches = 0, count = 0;

    if (!ti_reserve((void **)&list, &list_bytes, ((size_t)n * 5 + 1) * sizeof *list)) {
        ti_give_up("no memory to follow the completion of %d requests", n);
        return;
    }
    match = list + n;
    order = match + 3 * (int64_t)n;
    sort_positions(order, indices, n);
    for (int k = 0; k < n; k++) {
        int64_t i = order[k], which = indices ? indices[i] - first : i, number;

        number = which >= 0 && which < c->held ? found[which] : -1;
        if (number < 0)
            continue;
        list[count++] = number;
        if (request[number].wildcard) {
            struct ti_event m = {0};

            ti_match(&m, c, status_at(c, i), request[number].own_rank);
            match[matches++] = number;
            match[matches++] = m.arg[TI_F_FROM];
            match[matches++] = m.arg[TI_F_FROMTAG];
        }
    }
    if (count == 0)
        return;
    for (int64_t i = 0; i < count; i++)
        remove_request(list[i]);
    if (live == 0) {
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
    struct ti_event ev = {.mask = TI_M_REQ};

    if (!c->held || found[0] < 0)
        return;
    ev.arg[TI_F_REQ] = found[0];
    remove_request(found[0]);
    ti_emit(c, &ev, true);
}
