/*
 * Requests: how they are made, started, completed and freed.
 *
 * A request of the trace is one request of the MPI library, or several where the operation is
 * lowered to several (struct ti_replay_request).
 */
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/functions.h"
#include "replay-bridge/replayer/profile.h"

/* ---- making ---- */

static MPI_Request *own_place(struct ti_replay_request *q)
{
    size_t none = 0;

    if (!q->own)
        q->own = ti_grow(NULL, &none, 1, sizeof *q->own);
    return q->own;
}

#if SIMULATED

static void look_ahead(struct ti_replayer *p, struct ti_replay_request *q)
{
    (void)p;
    (void)q;
}

static void finish_access(struct ti_replayer *p, struct ti_replay_request *q)
{
    ti_replay_access_end(p, &q->access);
}

#else

static void finish_access(struct ti_replayer *p, struct ti_replay_request *q)
{
    (void)p; /* the MPI library has accessed the file */
    (void)q;
}

/* Reads ahead for the request that the current event makes or starts: the place of its handle, and
 * whether it completes as cancelled. */
static void look_ahead(struct ti_replayer *p, struct ti_replay_request *q)
{
    struct ti_handle_place place;
    struct ti_err err;

    if (ti_handle_place_find(&p->places, p->source, p->rank, p->index, q - p->request, &place,
                             &err))
        ti_replay_fail(p, TI_ERR_INPUT, "%s", err.text);
    q->cancelled = place.cancelled;
    if (!q->persistent)
        q->handle = place.handle;
}

#endif

struct ti_replay_request *ti_replay_new_request(struct ti_replayer *p)
{
    int64_t number = p->ev->arg[TI_F_REQ];
    struct ti_replay_request *q;

    if (number < 0 || (size_t)number > p->nrequests) /* new requests get the lowest free number */
        ti_replay_fail(p, TI_ERR_INPUT, "request number %lld is out of range", (long long)number);
    q = TI_REPLAY_AT(p, request, nrequests, requests_room, number);
    if (q->used)
        ti_replay_fail(p, TI_ERR_INPUT, "request %lld is in use", (long long)number);
    *q = (struct ti_replay_request){.used = true,
                                    .own = q->own,
                                    .part = q->part,
                                    .parts_room = q->parts_room,
                                    .ticket = q->ticket,
                                    .tickets_room = q->tickets_room};
    q->handle = own_place(q);
    q->persistent = ti_op_is(p->ev->op, TI_T_PERSISTENT);
    q->receives = ti_op_is(p->ev->op, TI_T_RECEIVES) || ti_op_is(p->ev->op, TI_T_PROBED);
    if (!q->persistent)
        look_ahead(p, q);
    *q->handle = MPI_REQUEST_NULL;
    return q;
}

static struct ti_replay_request *request_at(struct ti_replayer *p, int64_t number)
{
    if (number < 0 || (size_t)number >= p->nrequests || !p->request[number].used)
        ti_replay_fail(p, TI_ERR_INPUT, "request %lld does not exist", (long long)number);
    return &p->request[number];
}

MPI_Request *ti_replay_part(struct ti_replay_request *q)
{
    size_t room = (size_t)q->parts_room;

    q->part = ti_grow(q->part, &room, (size_t)q->nparts + 1, sizeof *q->part);
    q->parts_room = (int)room;
    q->part[q->nparts] = MPI_REQUEST_NULL;
    return &q->part[q->nparts++];
}

static void post(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q)
{
    q->active = true;
    if (ti_op_collective(ev->op))
        ti_replay_collective(p, ev, TI_FORM_NONBLOCKING, q);
    else
        ti_replay_post(p, ev, q, q - p->request);
    ti_profile_posted(p, q);
}

void replay_nonblocking(struct ti_replayer *p, const struct ti_event *ev)
{
    post(p, ev, ti_replay_new_request(p));
}

/* ---- persistent requests ---- */

/* Keeps a copy of the event, which each start repeats. */
static void keep_init(struct ti_replay_request *q, const struct ti_event *ev)
{
    size_t none = 0;

    q->init = ti_grow(NULL, &none, 1, sizeof *q->init);
    *q->init = *ev;
    for (int v = 0; v < TI_VECS; v++) {
        size_t bytes = (size_t)ev->vec[v].len * (size_t)ev->vec[v].width;
        void *data = NULL;

        none = 0;
        if (bytes)
            data = memcpy(ti_grow(NULL, &none, bytes, 1), ev->vec[v].data, bytes);
        q->init->vec[v].data = data;
    }
}

static void forget_init(struct ti_replay_request *q)
{
    for (int v = 0; q->init && v < TI_VECS; v++)
        free((void *)(uintptr_t)q->init->vec[v].data);
    free(q->init);
    q->init = NULL;
}

/* Whether the MPI library has working persistent requests of this kind. */
static bool has_persistent(const struct ti_event *ev)
{
    if (SIMULATED)
        return false;
    return MPI_VERSION >= 4 || !(ti_op_collective(ev->op) || ti_op_is(ev->op, TI_T_PARTITIONED));
}

void replay_persistent(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = ti_replay_new_request(p);

    if (!has_persistent(ev))
        keep_init(q, ev);
    else if (ti_op_collective(ev->op))
        ti_replay_collective(p, ev, TI_FORM_PERSISTENT, q);
    else if (ti_op_is(ev->op, TI_T_PARTITIONED))
        ti_replay_prepare_partitioned(p, ev, q);
    else
        ti_replay_prepare(p, ev, q);
    q->partitioned_send = ti_op_is(ev->op, TI_T_PARTITIONED | TI_T_SENDS);
}

/* Starts a persistent request that the MPI library lacks, by its non-blocking function. */
static void start_kept(struct ti_replayer *p, struct ti_replay_request *q)
{
    q->nparts = 0;
    q->active = true;
    q->unready = q->init->arg[TI_F_PART];
    if (!q->partitioned_send || q->unready == 0)
        post(p, q->init, q);
}

void replay_start(struct ti_replayer *p, const struct ti_event *ev)
{
    int64_t n = ev->op == TI_OP_START ? 1 : ev->vec[0].len;

    p->nbatch = 0;
    for (int64_t i = 0; i < n; i++) {
        struct ti_replay_request *q =
            request_at(p, ev->op == TI_OP_START ? ev->arg[TI_F_REQ] : ti_vec_at(&ev->vec[0], i));

        if (!q->persistent || q->active)
            ti_replay_fail(p, TI_ERR_INPUT, "request %lld cannot be started",
                           (long long)(q - p->request));
        look_ahead(p, q);
        if (q->init) {
            start_kept(p, q);
            continue;
        }
        q->active = true;
        p->batch = ti_grow(p->batch, &p->batch_room, (size_t)p->nbatch + 1, sizeof *p->batch);
        p->batch[p->nbatch++] = *q->handle; /* a start leaves the handle as it is */
    }
    if (ev->op == TI_OP_START && p->nbatch)
        ti_replay_must(p, MPI_Start(p->batch));
    else if (ev->op == TI_OP_STARTALL && (p->nbatch || !n))
        ti_replay_must(p, MPI_Startall(p->nbatch, p->batch));
}

/* ---- partitioned messages ---- */

/* Partitions first to last are ready. */
static void ready(struct ti_replayer *p, struct ti_replay_request *q, int64_t first, int64_t last)
{
    q->unready -= last - first + 1;
    if (q->unready == 0)
        post(p, q->init, q);
}

void replay_pready(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = request_at(p, ev->arg[TI_F_REQ]);
    int64_t n = ev->vec[0].len;

    if (!q->init) {
        ti_replay_ready(p, ev, q);
    } else if (ev->op == TI_OP_PREADY) {
        ready(p, q, 0, 0);
    } else if (ev->op == TI_OP_PREADY_RANGE && n == 2) {
        ready(p, q, ti_vec_at(&ev->vec[0], 0), ti_vec_at(&ev->vec[0], 1));
    } else if (n) {
        ready(p, q, 1, n);
    }
}

void replay_parrived(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = request_at(p, ev->arg[TI_F_REQ]);

    if (!q->init)
        ti_replay_arrived(p, ev, q);
}

/* ---- completing ---- */

static void add_handle(struct ti_replayer *p, const struct ti_replay_request *q, MPI_Request handle)
{
    if (ti_profile_wants_done(p)) {
        p->batch_of =
            ti_grow(p->batch_of, &p->batch_of_room, (size_t)p->nbatch + 1, sizeof *p->batch_of);
        p->batch_of[p->nbatch] = (size_t)(q - p->request);
    }
    p->batch = ti_grow(p->batch, &p->batch_room, (size_t)p->nbatch + 1, sizeof *p->batch);
    p->batch[p->nbatch++] = handle;
}

/* Adds the handles of a completing request, or of its parts, to the batch. */
static void collect(struct ti_replayer *p, struct ti_replay_request *q)
{
    if (q->nparts == 0)
        add_handle(p, q, *q->handle);
    for (int i = 0; i < q->nparts; i++)
        add_handle(p, q, q->part[i]);
}

static void finish(struct ti_replayer *p, struct ti_replay_request *q)
{
    if (q->made)
        ti_replay_idup_done(p, q);
    finish_access(p, q);
    ti_profile_completed(p, q);
    q->active = false;
    if (!q->persistent) {
        q->used = false;
        return;
    }
    if (q->init)
        *q->handle = MPI_REQUEST_NULL;
    q->nparts = 0;
}

#if !SIMULATED

/* The handles of the requests that the current event completes, or of their parts. */
struct completed {
    MPI_Request *handle;
    int n;
};

/* Waits until all requests are complete, without freeing any. */
static void await(struct ti_replayer *p, const struct completed *c)
{
    for (int i = 0; i < c->n; i++)
        for (int done = 0; !done;)
            ti_replay_must(p, PMPI_Request_get_status(c->handle[i], &done, MPI_STATUS_IGNORE));
}

static void complete_some(struct ti_replayer *p, uint32_t op, const struct completed *c)
{
    int done;

    p->numbers = ti_grow(p->numbers, &p->numbers_room, (size_t)c->n + 1, sizeof *p->numbers);
    await(p, c);
    ti_replay_must(p, (op == TI_OP_WAITSOME ? MPI_Waitsome : MPI_Testsome)(
                          c->n, c->handle, &done, p->numbers, MPI_STATUSES_IGNORE));
}

/* Calls the recorded function on the requests that it completed. */
static void complete_as_recorded(struct ti_replayer *p, uint32_t op, const struct completed *c)
{
    int done = 0, index;

    if (op == TI_OP_WAIT) {
        ti_replay_must(p, MPI_Wait(c->handle, MPI_STATUS_IGNORE));
    } else if (op == TI_OP_WAITANY) {
        ti_replay_must(p, MPI_Waitany(c->n, c->handle, &index, MPI_STATUS_IGNORE));
    } else if (op == TI_OP_WAITALL) {
        ti_replay_must(p, MPI_Waitall(c->n, c->handle, MPI_STATUSES_IGNORE));
    } else if (op == TI_OP_TEST) {
        while (!done)
            ti_replay_must(p, MPI_Test(c->handle, &done, MPI_STATUS_IGNORE));
    } else if (op == TI_OP_TESTANY) {
        while (!done)
            ti_replay_must(p, MPI_Testany(c->n, c->handle, &index, &done, MPI_STATUS_IGNORE));
    } else if (op == TI_OP_TESTALL) {
        while (!done)
            ti_replay_must(p, MPI_Testall(c->n, c->handle, &done, MPI_STATUSES_IGNORE));
    } else {
        complete_some(p, op, c);
    }
}

/* Completes a generalized request that is awaited, if the program did so in a callback, whose calls
 * are no events. */
static void complete_generalized(struct ti_replayer *p, struct ti_replay_request *q)
{
    if (q->unready)
        ti_replay_must(p, PMPI_Grequest_complete(*q->handle));
    q->unready = 0;
}

/* Where several requests stand for one, in no array but this. */
static struct completed gather_parts(struct ti_replayer *p, const struct ti_handle_batch *b)
{
    p->nbatch = 0;
    for (int64_t i = 0; i < b->n; i++)
        collect(p, request_at(p, b->req[i]));
    return (struct completed){p->batch, p->nbatch};
}

void replay_complete(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_handle_batch b;
    struct ti_err err;
    struct completed c;
    uint32_t op = ev->op;

    if (ti_handle_batch_find(&p->places, p->source, p->rank, p->index, &b, &err))
        ti_replay_fail(p, TI_ERR_INPUT, "%s", err.text);
    c = (struct completed){b.handle, (int)b.n};
    for (int64_t i = 0; i < b.n; i++) {
        struct ti_replay_request *q = request_at(p, b.req[i]);

        if (q->generalized)
            complete_generalized(p, q);
        if (q->nparts)
            op = TI_OP_WAITALL;
        else if (q->handle != &b.handle[i])
            b.handle[i] = *q->handle;
    }
    if (op != ev->op)
        c = gather_parts(p, &b);
    complete_as_recorded(p, op, &c);
    for (int64_t i = 0; i < b.n; i++)
        finish(p, request_at(p, b.req[i]));
}

#else

/* Calls `on` for each request that the event completes. */
static void for_each(struct ti_replayer *p, const struct ti_event *ev,
                     void (*on)(struct ti_replayer *, struct ti_replay_request *))
{
    if (ev->mask & TI_M_REQ) {
        on(p, request_at(p, ev->arg[TI_F_REQ]));
        return;
    }
    if ((ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL]) {
        for (size_t i = 0; i < p->nrequests; i++)
            if (p->request[i].used && p->request[i].active)
                on(p, &p->request[i]);
        return;
    }
    for (int64_t i = 0; i < ev->vec[0].len; i++)
        on(p, request_at(p, ti_vec_at(&ev->vec[0], i)));
}

static void cancel(struct ti_replayer *p, int64_t req)
{
    struct ti_replay_request *q = request_at(p, req);

    if (*q->handle == MPI_REQUEST_NULL)
        return;
    ti_replay_must(p, MPI_Cancel(q->handle));
    ti_replay_must(p, MPI_Wait(q->handle, MPI_STATUS_IGNORE));
    *q->handle = MPI_REQUEST_NULL;
}

/* Cancels the requests that the event shows as cancelled. */
static void cancel_as_recorded(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_vec *matched = &ev->vec[1];

    if ((ev->mask & TI_M_FROM) && ev->arg[TI_F_FROM] == TI_NULL)
        cancel(p, ev->arg[TI_F_REQ]);
    for (int64_t i = 0; i + 2 < matched->len; i += 3)
        if (ti_vec_at(matched, i + 1) == TI_NULL)
            cancel(p, ti_vec_at(matched, i));
}

/* MPI_Waitall, which in SMPI is a loop of MPI_Waitany, with the time at which each is complete.
 * (SMPI's MPI_Waitany crashes if all handles are null.) */
static void wait_for_each(struct ti_replayer *p)
{
    int left = 0, index;

    for (int i = 0; i < p->nbatch; i++)
        left += p->batch[i] != MPI_REQUEST_NULL;
    for (; left > 0; left--) {
        ti_replay_must(p, MPI_Waitany(p->nbatch, p->batch, &index, MPI_STATUS_IGNORE));
        if (index == MPI_UNDEFINED)
            return;
        ti_profile_done(p, &p->request[p->batch_of[index]]);
    }
}

void replay_complete(struct ti_replayer *p, const struct ti_event *ev)
{
    cancel_as_recorded(p, ev);
    p->nbatch = 0;
    for_each(p, ev, collect);
    if (p->nbatch == 1)
        ti_replay_must(p, MPI_Wait(p->batch, MPI_STATUS_IGNORE));
    else if (ti_profile_wants_done(p))
        wait_for_each(p);
    else
        ti_replay_must(p, MPI_Waitall(p->nbatch, p->batch, MPI_STATUSES_IGNORE));
    for_each(p, ev, finish);
}

#endif

void replay_request_free(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = request_at(p, ev->arg[TI_F_REQ]);

    if (!SIMULATED && *q->handle != MPI_REQUEST_NULL)
        ti_replay_must(p, MPI_Request_free(q->handle));
    for (int i = 0; !SIMULATED && i < q->nparts; i++)
        ti_replay_must(p, MPI_Request_free(&q->part[i]));
    forget_init(q);
    q->used = q->active = false;
}

/* In a simulation this does nothing: a request is cancelled where the trace shows it complete as
 * cancelled.  In a live run a receive that was not cancelled in the trace is first awaited, so that
 * the call is too late here as well.  Sends are not awaited, since they may need a later receive.
 */
void replay_cancel(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = request_at(p, ev->arg[TI_F_REQ]);

    if (SIMULATED || *q->handle == MPI_REQUEST_NULL)
        return;
    for (int done = !q->receives || q->cancelled; !done;)
        ti_replay_must(p, PMPI_Request_get_status(*q->handle, &done, MPI_STATUS_IGNORE));
    ti_replay_must(p, MPI_Cancel(q->handle));
}

/* ---- generalized requests ---- */

#if !SIMULATED

/* `cancelled` is NULL unless the request completes as cancelled. */
static int tell_nothing(void *cancelled, MPI_Status *status)
{
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, cancelled != NULL);
    return MPI_SUCCESS;
}

static int free_nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

#endif

void replay_grequest_start(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = ti_replay_new_request(p);

    (void)ev;
    q->active = q->generalized = true;
    q->unready = 1;
#if !SIMULATED
    ti_replay_must(p, MPI_Grequest_start(tell_nothing, free_nothing, cancel_nothing,
                                         q->cancelled ? p : NULL, q->handle));
#endif
}

void replay_grequest_complete(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = request_at(p, ev->arg[TI_F_REQ]);

    if (!SIMULATED)
        ti_replay_must(p, MPI_Grequest_complete(*q->handle));
    q->unready = 0;
}
