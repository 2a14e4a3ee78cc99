/*
 * Recorders of completions: MPI_Wait, MPI_Test and their kin.
 *
 * A completion overwrites handles, so they are saved before the call.  The requests are
 * looked up after the call, when it is known which of them completed, so that an
 * unsuccessful poll costs next to nothing.
 */
#include <string.h>

#include "minitrace/recorders/request.h"

/* Buffers of a completion, valid from ti_pre_X to ti_rec_X. */
static int32_t *status_index; /* for each handle: index of its status, NOT_COMPLETE or NO_STATUS */
static size_t status_index_bytes;
static void *lent; /* statuses lent to the call */
static size_t lent_bytes;
static int64_t *matches; /* (request, source, tag) triples for the event */
static size_t matches_bytes;

enum { NOT_COMPLETE = -1, NO_STATUS = -2 };

/* --------------------------------------------------------------- before -- */

static void prepare_one(struct ti_mpi_call *c)
{
    ti__request_save(c, 1);
    if (ti__requests.needing_status)
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
    ti__request_save(c, c->nreq);
    if (!ti__requests.needing_status || !c->held || !ignored(c))
        return;
    if (ti_reserve(&lent, &lent_bytes, (size_t)c->held * sizeof(MPI_Status)))
        c->status = lent;
    else
        ti_stop_recording("no memory for the statuses of %d requests", c->nreq);
}

/* ---------------------------------------------------------------- after -- */

/* Complete a request: remove it, or make it inactive if it is persistent.  Returns whether the
 * event shows it. */
static bool complete(struct ti_live *r)
{
    bool show = ti__request_is_open(r);

    if (r->traits & TI__PERSISTENT) {
        ti__request_set_traits(r, r->traits & (TI__WILDCARD | TI__PERSISTENT));
    } else {
        if (__builtin_expect(ti_comms_late != 0, 0))
            ti_comm_arrived(r->number);
        ti__request_forget(r);
    }
    return show;
}

/* Set what matched; or, if the request was cancelled, that nothing did. */
static void set_match(struct ti_event *ev, const struct ti_mpi_call *c, const void *status,
                      const struct ti_live *r)
{
    if (r->traits & TI__CANCELLED && ti_was_cancelled(c, status)) {
        ev->mask |= TI_M_MATCH;
        ev->arg[TI_F_FROM] = ev->arg[TI_F_FROMTAG] = TI_NULL;
    } else if (r->traits & TI__WILDCARD) {
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
    r = ti__request_look_up(c, ti__requests.handles[i], i);
    if (!r) {
        ti__request_not_found(ti__requests.handles[i]);
        return false;
    }
    ti_event_begin(&ev, TI_M_REQ);
    ev.arg[TI_F_REQ] = r->number;
    if (r->traits & TI__NEEDS_STATUS && has_status)
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
    int64_t *numbers = (int64_t *)ti__requests.handles, count = 0;
    struct ti_event ev, match;

    ti_event_begin(&ev, 0);
    for (int64_t i = 0; i < c->held; i++) {
        int64_t status = at ? at[i] : i;
        struct ti_live *r =
            status == NOT_COMPLETE ? NULL : ti__request_look_up(c, ti__requests.handles[i], i);

        if (!r) {
            if (status != NOT_COMPLETE)
                ti__request_not_found(ti__requests.handles[i]);
            continue;
        }
        match.mask = 0;
        match.arg[TI_F_REQ] = r->number;
        if (r->traits & TI__NEEDS_STATUS && status != NO_STATUS)
            set_match(&match, c, status_at(c, status), r);
        if (!complete(r) || !add_match(&ev, &match))
            continue;
        numbers[count++] = match.arg[TI_F_REQ]; /* overwrites handles that were read already: count
                                                 * <= i */
    }
    if (count == 0)
        return false;
    if (ti__requests.active == 0) {
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
    MPI_Request now = ti__request_handle(c, i);
    struct ti_live *r =
        ti__request_is_null(ti__requests.handles[i])
            ? NULL
            : ti_table_find(&ti__requests.table, ti__requests.handles[i], ti__request_place(c, i));
    int flag = 0;

    if (!r || !(r->traits & TI__PERSISTENT))
        return r && now == MPI_REQUEST_NULL;
    if (now == MPI_REQUEST_NULL) {
        uint16_t op = c->op;

        c->op = TI_OP_REQUEST_FREE;
        if (ti__request_is_shown(r))
            ti__request_emit(c, r, true);
        c->op = op;
        ti__request_forget(r);
    } else if (r->traits & TI__ACTIVE) {
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
    ti__request_save(c, c->nreq);
    if (ti__requests.needing_status)
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
