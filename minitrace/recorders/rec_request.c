/*
 * Recorders of requests: how they are made, started, cancelled and completed.
 *
 * A completion overwrites handles, so they are saved before the call.  The requests are
 * looked up after the call, when it is known which of them completed, so that an
 * unsuccessful poll costs next to nothing.
 *
 * A persistent request is inactive until it is started, and again after it completes.
 * Completing an inactive or null request is no event.  The trace shows every persistent
 * request, even one made while MPI_Pcontrol(0) holds; but if it is started then, the trace
 * shows neither that start nor its completion.
 */
#include <string.h>

#include "minitrace/recorders/shared.h"
#include "minitrace/recorders/table.h"

/* Traits of a request. */
enum {
    WILDCARD = 1, /* the event of its completion has what matched */
    PERSISTENT = 2,
    ACTIVE = 4,      /* started, or not persistent */
    CANCELLED = 8,   /* the event of its completion has whether it really was cancelled */
    UNRECORDED = 16, /* active, but its start is not in the trace */
    NEEDS_STATUS = WILDCARD | CANCELLED
};

static struct ti_table table;
static int64_t active;  /* requests that the trace shows as active */
static int64_t needing_status; /* requests whose completion needs a status */

/* Buffers of a completion, valid from ti_pre_X to ti_rec_X. */
static uint64_t *handles; /* handles of the call; then overwritten by the numbers for the event */
static size_t handles_bytes;
static int32_t *status_index; /* for each handle: index of its status, NOT_COMPLETE or NO_STATUS */
static size_t status_index_bytes;
static void *lent; /* statuses lent to the call */
static size_t lent_bytes;
static int64_t *matches; /* (request, source, tag) triples for the event */
static size_t matches_bytes;

enum { NOT_COMPLETE = -1, NO_STATUS = -2 };

/* -------------------------------------------------------------- handles -- */

static MPI_Request handle_of(const struct ti_mpi_call *c, int64_t i)
{
    return c->binding == TI_BINDING_C ? ((MPI_Request *)c->req)[i]
                                      : PMPI_Request_f2c(((MPI_Fint *)c->req)[i]);
}

static const void *place_of(const struct ti_mpi_call *c, int64_t i)
{
    return c->binding == TI_BINDING_C ? (const void *)((MPI_Request *)c->req + i)
                                      : (const void *)((MPI_Fint *)c->req + i);
}

static uint64_t bits_of(MPI_Request handle)
{
    return ti_bits(&handle, sizeof handle);
}

static bool is_null(uint64_t bits)
{
    return bits == bits_of(MPI_REQUEST_NULL);
}

/* The request with this handle, which is or was the call's i-th.  NULL if null or unknown. */
static struct ti_live *look_up(const struct ti_mpi_call *c, uint64_t bits, int64_t i)
{
    return is_null(bits) ? NULL : ti_table_find(&table, bits, place_of(c, i));
}

/* look_up() found no request: end the recording, unless the handle is null. */
static __attribute__((noinline)) void not_found(uint64_t bits)
{
    if (!is_null(bits))
        ti_stop_unknown("request");
}

/* ------------------------------------------------------------- requests -- */

static bool is_shown(const struct ti_live *r)
{
    return r->number != TI_HIDDEN;
}

/* Whether the trace shows the request as active. */
static bool is_open(const struct ti_live *r)
{
    return is_shown(r) && (r->traits & (ACTIVE | UNRECORDED)) == ACTIVE;
}

static inline struct ti_live *add(struct ti_mpi_call *c, bool hidden, bool persistent)
{
    struct ti_live *r = ti_table_add(&table, bits_of(handle_of(c, 0)), place_of(c, 0), hidden);

    if (r)
        r->traits = persistent ? PERSISTENT : ACTIVE;
    else
        ti_stop_recording("no memory to follow %u requests", table.used);
    return r;
}

int64_t ti_request_add(struct ti_mpi_call *c, bool persistent, bool wildcard, int own_rank)
{
    struct ti_live *r = add(c, false, persistent);

    if (!r)
        return 0;
    active += !persistent;
    if (wildcard) {
        r->traits |= WILDCARD;
        r->own_rank = own_rank;
        needing_status++;
    }
    return r->number;
}

void ti_request_hide(struct ti_mpi_call *c)
{
    add(c, true, ti_op_is(c->op, TI_T_PERSISTENT));
}

static inline void set_traits(struct ti_live *r, uint32_t traits)
{
    bool was_open = is_open(r), needed = r->traits & NEEDS_STATUS;

    r->traits = traits;
    active += is_open(r) - was_open;
    needing_status += ((traits & NEEDS_STATUS) != 0) - needed;
}

static void forget(struct ti_live *r)
{
    active -= is_open(r);
    needing_status -= (r->traits & NEEDS_STATUS) != 0;
    ti_table_remove(&table, r);
}

/* Complete a request: remove it, or make it inactive if it is persistent.  Returns whether the
 * event shows it. */
static bool complete(struct ti_live *r)
{
    bool show = is_open(r);

    if (r->traits & PERSISTENT) {
        set_traits(r, r->traits & (WILDCARD | PERSISTENT));
    } else {
        if (__builtin_expect(ti_comms_late != 0, 0))
            ti_comm_arrived(r->number);
        forget(r);
    }
    return show;
}

/* Write the event of a call on one request. */
static void emit_one(struct ti_mpi_call *c, const struct ti_live *r, bool always)
{
    struct ti_event ev;

    ti_event_begin(&ev, TI_M_REQ);
    ev.arg[TI_F_REQ] = r->number;
    ti_emit(c, &ev, always);
}

/* --------------------------------------------------------------- before -- */

/* Save the call's handles.  MPI itself reports invalid arguments. */
static void save_handles(struct ti_mpi_call *c, int n)
{
    c->held = 0;
    if (n <= 0 || !c->req)
        return;
    if (!ti_reserve((void **)&handles, &handles_bytes, (size_t)n * sizeof *handles)) {
        ti_stop_recording("no memory to follow the completion of %d requests", n);
        return;
    }
    for (int i = 0; i < n; i++)
        handles[i] = bits_of(handle_of(c, i));
    c->held = n;
}

static void prepare_one(struct ti_mpi_call *c)
{
    save_handles(c, 1);
    if (needing_status)
        ti_lend_status(c);
}

static bool ignored(const struct ti_mpi_call *c)
{
    return c->binding == TI_BINDING_C ? c->status == MPI_STATUSES_IGNORE
                                      : ti_fortran_ignores_all(c->status);
}

/* A Fortran status is as large as a C status in the supported MPI libraries. */
static const void *status_at(const struct ti_mpi_call *c, int64_t i)
{
    return (const char *)c->status + (size_t)i * sizeof(MPI_Status);
}

static void prepare_many(struct ti_mpi_call *c)
{
    save_handles(c, c->nreq);
    if (!needing_status || !c->held || !ignored(c))
        return;
    if (ti_reserve(&lent, &lent_bytes, (size_t)c->held * sizeof(MPI_Status)))
        c->status = lent;
    else
        ti_stop_recording("no memory for the statuses of %d requests", c->nreq);
}

/* ---------------------------------------------------------------- after -- */

/* Set what matched; or, if the request was cancelled, that nothing did. */
static void set_match(struct ti_event *ev, const struct ti_mpi_call *c, const void *status,
                      const struct ti_live *r)
{
    if (r->traits & CANCELLED && ti_was_cancelled(c, status)) {
        ev->mask |= TI_M_MATCH;
        ev->arg[TI_F_FROM] = ev->arg[TI_F_FROMTAG] = TI_NULL;
    } else if (r->traits & WILDCARD) {
        ti_match(ev, c, status, r->own_rank);
    }
}

/* Record that the call completed its i-th request.  `has_status`: c->status belongs to that
 * request.  False if the trace shows nothing of it. */
static bool completed_one(struct ti_mpi_call *c, int64_t i, bool has_status)
{
    struct ti_live *r;
    struct ti_event ev;

    if (i < 0 || i >= c->held)
        return false;
    r = look_up(c, handles[i], i);
    if (!r) {
        not_found(handles[i]);
        return false;
    }
    ti_event_begin(&ev, TI_M_REQ);
    ev.arg[TI_F_REQ] = r->number;
    if (r->traits & NEEDS_STATUS && has_status)
        set_match(&ev, c, c->status, r);
    if (!complete(r))
        return false;
    ti_emit(c, &ev, true);
    return true;
}

/* Append what matched to the event's triples; false without memory. */
static bool add_match(struct ti_event *ev, const struct ti_event *match)
{
    int64_t *triple;

    if (!(match->mask & TI_M_MATCH))
        return true;
    if (!ti_reserve((void **)&matches, &matches_bytes,
                    ((size_t)ev->vec[1].len + 3) * sizeof *matches)) {
        ti_stop_recording("no memory to follow %lld messages", (long long)ev->vec[1].len / 3);
        return false;
    }
    triple = matches + ev->vec[1].len;
    triple[0] = match->arg[TI_F_REQ];
    triple[1] = match->arg[TI_F_FROM];
    triple[2] = match->arg[TI_F_FROMTAG];
    ev->vec[1] = (struct ti_vec){matches, 8, ev->vec[1].len + 3};
    return true;
}

/*
 * Record that the call completed several requests: each request i whose at[i], the index of
 * its status, is not NOT_COMPLETE; or all requests, with statuses in the same order, if `at`
 * is NULL.  False if the trace shows nothing of it.
 *
 * An MPI library may report requests in the order of their completion, which depends on
 * time.  The event has them in the order of the call's array.
 */
static bool completed_many(struct ti_mpi_call *c, const int32_t *at)
{
    int64_t *numbers = (int64_t *)handles, count = 0;
    struct ti_event ev, match;

    ti_event_begin(&ev, 0);
    for (int64_t i = 0; i < c->held; i++) {
        int64_t status = at ? at[i] : i;
        struct ti_live *r = status == NOT_COMPLETE ? NULL : look_up(c, handles[i], i);

        if (!r) {
            if (status != NOT_COMPLETE)
                not_found(handles[i]);
            continue;
        }
        match.mask = 0;
        match.arg[TI_F_REQ] = r->number;
        if (r->traits & NEEDS_STATUS && status != NO_STATUS)
            set_match(&match, c, status_at(c, status), r);
        if (!complete(r) || !add_match(&ev, &match))
            continue;
        numbers[count++] = match.arg[TI_F_REQ]; /* overwrites handles that were read already: count
                                                 * <= i */
    }
    if (count == 0)
        return false;
    if (active == 0) {
        ev.mask = TI_M_ALL;
        ev.arg[TI_F_ALL] = 1;
    } else {
        ev.vec[0] = (struct ti_vec){numbers, 8, count};
    }
    ti_emit(c, &ev, true);
    return true;
}

/* Allocate status_index and set it to NOT_COMPLETE; false without memory. */
static bool clear_status_indices(const struct ti_mpi_call *c)
{
    if (!ti_reserve((void **)&status_index, &status_index_bytes,
                    ((size_t)c->held + 1) * sizeof *status_index)) {
        ti_stop_recording("no memory to follow the completion of %lld requests",
                          (long long)c->held);
        return false;
    }
    memset(status_index, 0xff, (size_t)c->held * sizeof *status_index);
    return true;
}

/* Set status_index from the result of a Waitsome or Testsome. */
static void set_status_indices(const struct ti_mpi_call *c)
{
    int first = c->binding == TI_BINDING_C ? 0 : 1;

    for (int k = 0; k < *c->index; k++) {
        int64_t i = (int64_t)c->indices[k] - first;

        if (i >= 0 && i < c->held)
            status_index[i] = k;
    }
}

/* A poll answered "yes".  If the trace shows nothing of it, it is no event, and the poll counts as
 * unsuccessful: it may be repeated any number of times. */
static void end_poll(bool shown)
{
    if (!shown)
        ti_poll_failed();
}

/* --------------------------------------------------------------- errors -- */

/*
 * Whether a call that failed completed its i-th request.  A persistent request that is
 * complete now is inactive: it was complete to this call, or will be to the next one, and
 * nothing else can happen to it in between.  If its handle is null, it was freed.
 */
static bool completed_despite_error(struct ti_mpi_call *c, int64_t i)
{
    MPI_Request now = handle_of(c, i);
    struct ti_live *r =
        is_null(handles[i]) ? NULL : ti_table_find(&table, handles[i], place_of(c, i));
    int flag = 0;

    if (!r || !(r->traits & PERSISTENT))
        return r && now == MPI_REQUEST_NULL;
    if (now == MPI_REQUEST_NULL) {
        uint16_t op = c->op;

        c->op = TI_OP_REQUEST_FREE;
        if (is_shown(r))
            emit_one(c, r, true);
        c->op = op;
        forget(r);
    } else if (r->traits & ACTIVE) {
        PMPI_Request_get_status(now, &flag, MPI_STATUS_IGNORE);
    }
    return flag;
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    PMPI_Error_class(rc, &class);
    return class;
}

/* Whether the call completed nothing because its arguments were wrong. */
static bool refused(int rc)
{
    int class = class_of(rc);

    return class == MPI_ERR_ARG || class == MPI_ERR_REQUEST || class == MPI_ERR_COUNT;
}

static int64_t index_of(const struct ti_mpi_call *c)
{
    return (int64_t)*c->index - (c->binding == TI_BINDING_C ? 0 : 1);
}

/* One event per request: a call that fails on one request may have completed others. */
static void fail_one(struct ti_mpi_call *c, bool any, int rc)
{
    for (int64_t i = 0; i < c->held && !refused(rc); i++)
        if (completed_despite_error(c, i))
            completed_one(c, i, !any || index_of(c) == i);
}

static void fail_many(struct ti_mpi_call *c, bool some, int rc)
{
    bool statuses = class_of(rc) == MPI_ERR_IN_STATUS;

    if (refused(rc) || !clear_status_indices(c))
        return;
    if (some && statuses && *c->index != MPI_UNDEFINED)
        set_status_indices(c);
    for (int64_t i = 0; i < c->held; i++) {
        if (!completed_despite_error(c, i))
            status_index[i] = NOT_COMPLETE;
        else if (!some && statuses)
            status_index[i] = (int32_t)i;
        else if (status_index[i] == NOT_COMPLETE)
            status_index[i] = NO_STATUS;
    }
    completed_many(c, status_index);
}

void ti_fail_wait(struct ti_mpi_call *c, int rc)
{
    fail_one(c, false, rc);
}

void ti_fail_waitall(struct ti_mpi_call *c, int rc)
{
    fail_many(c, false, rc);
}

void ti_fail_waitany(struct ti_mpi_call *c, int rc)
{
    fail_one(c, true, rc);
}

void ti_fail_waitsome(struct ti_mpi_call *c, int rc)
{
    fail_many(c, true, rc);
}

/* ---------------------------------------------------------- completions -- */

void ti_pre_wait(struct ti_mpi_call *c)
{
    prepare_one(c);
}

void ti_rec_wait(struct ti_mpi_call *c)
{
    if (c->flag)
        end_poll(*c->flag && completed_one(c, 0, true));
    else
        completed_one(c, 0, true);
}

void ti_pre_waitall(struct ti_mpi_call *c)
{
    prepare_many(c);
}

void ti_rec_waitall(struct ti_mpi_call *c)
{
    if (c->flag)
        end_poll(*c->flag && completed_many(c, NULL));
    else
        completed_many(c, NULL);
}

void ti_pre_waitany(struct ti_mpi_call *c)
{
    save_handles(c, c->nreq);
    if (needing_status)
        ti_lend_status(c);
}

void ti_rec_waitany(struct ti_mpi_call *c)
{
    bool none = (c->flag && !*c->flag) || *c->index == MPI_UNDEFINED;
    bool shown = !none && completed_one(c, index_of(c), true);

    if (c->flag)
        end_poll(shown);
}

void ti_pre_waitsome(struct ti_mpi_call *c)
{
    prepare_many(c);
}

void ti_rec_waitsome(struct ti_mpi_call *c)
{
    bool shown = false;

    if (*c->index != MPI_UNDEFINED && *c->index > 0 && clear_status_indices(c)) {
        set_status_indices(c);
        shown = completed_many(c, status_index);
    }
    if (c->op == TI_OP_TESTSOME)
        end_poll(shown);
}

/* --------------------------------------------------- all but completion -- */

void ti_pre_request_free(struct ti_mpi_call *c)
{
    save_handles(c, 1);
}

void ti_rec_request_free(struct ti_mpi_call *c)
{
    struct ti_live *r;

    if (!c->held)
        return;
    r = look_up(c, handles[0], 0);
    if (!r) {
        not_found(handles[0]);
        return;
    }
    if (is_shown(r))
        emit_one(c, r, true);
    forget(r);
}

/* Start the request.  Returns whether the event shows that. */
static bool started(struct ti_live *r)
{
    set_traits(r, r->traits | ACTIVE | (ti_state.stopped ? UNRECORDED : 0));
    return is_open(r);
}

void ti_rec_start(struct ti_mpi_call *c)
{
    uint64_t bits = bits_of(handle_of(c, 0));
    struct ti_live *r = look_up(c, bits, 0);

    if (!r)
        not_found(bits);
    else if (started(r))
        emit_one(c, r, false);
}

void ti_rec_startall(struct ti_mpi_call *c)
{
    int64_t *numbers, count = 0;
    struct ti_event ev;

    save_handles(c, c->nreq);
    numbers = (int64_t *)handles;
    for (int64_t i = 0; i < c->held; i++) {
        struct ti_live *r = look_up(c, handles[i], i);

        if (!r)
            not_found(handles[i]);
        else if (started(r))
            numbers[count++] = r->number;
    }
    if (count == 0)
        return;
    ti_event_begin(&ev, 0);
    ev.vec[0] = (struct ti_vec){numbers, 8, count};
    ti_emit(c, &ev, false);
}

void ti_rec_cancel(struct ti_mpi_call *c)
{
    uint64_t bits = bits_of(handle_of(c, 0));
    struct ti_live *r = look_up(c, bits, 0);

    if (!r)
        not_found(bits);
    if (!r || !is_open(r))
        return;
    set_traits(r, r->traits | CANCELLED);
    emit_one(c, r, true); /* its completion will show whether it was */
}

void ti_rec_grequest_start(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (ti_state.stopped) {
        ti_request_hide(c);
        return;
    }
    ti_event_begin(&ev, TI_M_REQ);
    ev.arg[TI_F_REQ] = ti_request_add(c, false, false, 0);
    ti_emit(c, &ev, false);
}

/* The request of a call that is passed it by value, so that its place is unknown.  If no traced
 * call made it, end the recording.  NULL if the trace shows nothing of it. */
static const struct ti_live *begin_given(const struct ti_mpi_call *c)
{
    const struct ti_live *r = ti_table_find(&table, bits_of(c->request), NULL);

    if (!r)
        ti_stop_unknown("request");
    return r && is_open(r) ? r : NULL;
}

void ti_rec_grequest_complete(struct ti_mpi_call *c)
{
    const struct ti_live *r = begin_given(c);

    if (r)
        emit_one(c, r, false);
}

/* ----------------------------------------------------------- partitioned -- */

static void emit_partition(struct ti_mpi_call *c, const struct ti_live *r)
{
    struct ti_event ev;

    ti_event_begin(&ev, TI_M_REQ | TI_M_PART);
    ev.arg[TI_F_REQ] = r->number;
    ev.arg[TI_F_PART] = c->part;
    ti_emit(c, &ev, false);
}

void ti_rec_pready(struct ti_mpi_call *c)
{
    const struct ti_live *r = begin_given(c);
    int32_t range[2] = {c->part, c->part2};
    struct ti_event ev;

    if (!r)
        return;
    if (c->op == TI_OP_PREADY) {
        emit_partition(c, r);
        return;
    }
    ti_event_begin(&ev, TI_M_REQ);
    ev.arg[TI_F_REQ] = r->number;
    if (c->op == TI_OP_PREADY_RANGE)
        ev.vec[0] = (struct ti_vec){range, 4, 2};
    else
        ev.vec[0] = (struct ti_vec){c->parts, 4, c->part};
    ti_emit(c, &ev, false);
}

void ti_rec_parrived(struct ti_mpi_call *c)
{
    const struct ti_live *r = *c->flag ? begin_given(c) : NULL;

    if (r)
        emit_partition(c, r);
    else
        ti_poll_failed();
}
