/*
 * Recorders of requests: how they are made, started, cancelled and freed, and their
 * partitions.  rec_completion.c has how they are completed.
 */
#include "minitrace/recorders/request.h"

struct ti__requests ti__requests;

void ti__request_not_found(uint64_t bits)
{
    if (!ti__request_is_null(bits))
        ti_stop_unknown("request");
}

static inline struct ti_live *add(struct ti_mpi_call *c, bool hidden, bool persistent)
{
    struct ti_live *r =
        ti_table_add(&ti__requests.table, ti__request_bits(ti__request_handle(c, 0)),
                     ti__request_place(c, 0), hidden);

    if (r)
        r->traits = persistent ? TI__PERSISTENT : TI__ACTIVE;
    else
        ti_stop_recording("no memory to follow %u requests", ti__requests.table.used);
    return r;
}

int64_t ti_request_add(struct ti_mpi_call *c, bool persistent, bool wildcard, int own_rank)
{
    struct ti_live *r = add(c, false, persistent);

    if (!r)
        return 0;
    ti__requests.active += !persistent;
    if (wildcard) {
        r->traits |= TI__WILDCARD;
        r->own_rank = own_rank;
        ti__requests.needing_status++;
    }
    return r->number;
}

void ti_request_hide(struct ti_mpi_call *c)
{
    add(c, true, ti_op_is(c->op, TI_T_PERSISTENT));
}

void ti_request_emit(struct ti_mpi_call *c, struct ti_event *ev)
{
    bool persistent = ti_op_is(c->op, TI_T_PERSISTENT);

    if (!ev || (ti_state.stopped && !persistent)) {
        ti_request_hide(c);
        ti_state.burst = 0;
        return;
    }
    ti_event_set(ev, TI_F_REQ, ti_request_add(c, persistent, false, 0));
    ti_emit(c, ev, persistent);
}

void ti__request_save(struct ti_mpi_call *c, int n)
{
    c->held = 0;
    if (n <= 0 || !c->req)
        return;
    if (!ti_reserve((void **)&ti__requests.handles, &ti__requests.handles_bytes,
                    (size_t)n * sizeof *ti__requests.handles)) {
        ti_stop_recording("no memory to follow the completion of %d requests", n);
        return;
    }
    for (int i = 0; i < n; i++)
        ti__requests.handles[i] = ti__request_bits(ti__request_handle(c, i));
    c->held = n;
}

void ti__request_emit(struct ti_mpi_call *c, const struct ti_live *r, bool always)
{
    struct ti_event ev;

    ti_event_begin(&ev, TI_M_REQ);
    ev.arg[TI_F_REQ] = r->number;
    ti_emit(c, &ev, always);
}

void ti_pre_request_free(struct ti_mpi_call *c)
{
    ti__request_save(c, 1);
}

void ti_rec_request_free(struct ti_mpi_call *c)
{
    struct ti_live *r;

    if (!c->held)
        return;
    r = ti__request_look_up(c, ti__requests.handles[0], 0);
    if (!r) {
        ti__request_not_found(ti__requests.handles[0]);
        return;
    }
    if (ti__request_is_shown(r))
        ti__request_emit(c, r, true);
    ti__request_forget(r);
}

/* Start the request.  Returns whether the event shows that. */
static bool started(struct ti_live *r)
{
    ti__request_set_traits(r, r->traits | TI__ACTIVE | (ti_state.stopped ? TI__UNRECORDED : 0));
    return ti__request_is_open(r);
}

void ti_rec_start(struct ti_mpi_call *c)
{
    uint64_t bits = ti__request_bits(ti__request_handle(c, 0));
    struct ti_live *r = ti__request_look_up(c, bits, 0);

    if (!r)
        ti__request_not_found(bits);
    else if (started(r))
        ti__request_emit(c, r, false);
}

void ti_rec_startall(struct ti_mpi_call *c)
{
    int64_t *numbers, count = 0;
    struct ti_event ev;

    ti__request_save(c, c->nreq);
    numbers = (int64_t *)ti__requests.handles;
    for (int64_t i = 0; i < c->held; i++) {
        struct ti_live *r = ti__request_look_up(c, ti__requests.handles[i], i);

        if (!r)
            ti__request_not_found(ti__requests.handles[i]);
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
    uint64_t bits = ti__request_bits(ti__request_handle(c, 0));
    struct ti_live *r = ti__request_look_up(c, bits, 0);

    if (!r)
        ti__request_not_found(bits);
    if (!r || !ti__request_is_open(r))
        return;
    ti__request_set_traits(r, r->traits | TI__CANCELLED);
    ti__request_emit(c, r, true); /* its completion will show whether it was */
}

void ti_rec_grequest_start(struct ti_mpi_call *c)
{
    struct ti_event ev;

    ti_event_begin(&ev, 0);
    ti_request_emit(c, &ev);
}

void ti_rec_local_request(struct ti_mpi_call *c)
{
    add(c, true, false);
}

/* The request of a call that is passed it by value, so that its place is unknown.  If no traced
 * call made it, end the recording.  NULL if the trace shows nothing of it. */
static const struct ti_live *begin_given(const struct ti_mpi_call *c)
{
    const struct ti_live *r =
        ti_table_find(&ti__requests.table, ti__request_bits(c->request), NULL);

    if (!r)
        ti_stop_unknown("request");
    return r && ti__request_is_open(r) ? r : NULL;
}

void ti_rec_grequest_complete(struct ti_mpi_call *c)
{
    const struct ti_live *r = begin_given(c);

    if (r)
        ti__request_emit(c, r, false);
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
