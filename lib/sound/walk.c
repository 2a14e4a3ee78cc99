#include "sound/walk_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static ti_status no_memory(int64_t rank, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot walk through rank %lld", (long long)rank);
}

ti_status ti_walk_open(struct ti_source *s, struct ti_comms *comms, int64_t rank,
                       struct ti_walk **out, struct ti_err *err)
{
    struct ti_walk *w = calloc(1, sizeof *w);
    ti_status st;

    if (!w)
        return no_memory(rank, err);
    w->source = s;
    w->rank = rank;
    st = ti_source_reader(s, rank, &w->r, err);
    if (st) {
        free(w);
        return st;
    }
    ti_comm_view_start(&w->comms, comms, rank);
    if (w->comms.no_memory) {
        ti_walk_close(w);
        return no_memory(rank, err);
    }
    *out = w;
    return TI_OK;
}

void ti_walk_sends_only(struct ti_walk *w)
{
    w->sends_only = true;
}

void ti_walk_close(struct ti_walk *w)
{
    if (!w)
        return;
    ti__walk_free_requests(w);
    ti_reader_close(w->r);
    ti_wildcards_free(&w->ahead);
    ti_comm_view_free(&w->comms);
    ti_neighbourhoods_free(&w->topologies);
    ti_map_free(&w->channels);
    ti_map_free(&w->epochs);
    free(w->open);
    free(w->count);
    free(w->probed);
    free(w->posted);
    free(w->done);
    free(w->call);
    free(w);
}

ti_status ti_walk_status(const struct ti_walk *w)
{
    return w->status;
}

struct ti_reader *ti_walk_reader(struct ti_walk *w)
{
    return w->r;
}

int64_t ti_walk_rank(const struct ti_walk *w)
{
    return w->rank;
}

void ti__walk_wrong(struct ti_step *step, const char *fmt, ...)
{
    va_list ap;

    if (step->why[0])
        return;
    va_start(ap, fmt);
    vsnprintf(step->why, sizeof step->why, fmt, ap);
    va_end(ap);
}

const struct ti_local_comm *ti__walk_comm(struct ti_walk *w, struct ti_step *step, int64_t index)
{
    const struct ti_local_comm *comm = ti_comm_view_get(&w->comms, w->r, index);

    if (!comm)
        ti__walk_wrong(step, "the trace does not say what communicator %lld is", (long long)index);
    return comm;
}

static ti_status resolve(struct ti_walk *w, struct ti_step *step, struct ti_err *err)
{
    const struct ti_event *ev = &step->ev;
    ti_status st = TI_OK;

    if (ti_op_is(ev->op, TI_T_COMPLETES)) {
        ti__walk_complete(w, step);
    } else if (ti_op_is(ev->op, TI_T_REQUEST)) {
        st = ti__walk_make_request(w, step, err);
    } else if (ti_op_is(ev->op, TI_T_STARTS)) {
        if (ev->mask & TI_M_REQ)
            st = ti__walk_start(w, step, ev->arg[TI_F_REQ], err);
        for (int64_t i = 0; i < ev->vec[0].len && !st; i++)
            st = ti__walk_start(w, step, ti_vec_at(&ev->vec[0], i), err);
    } else if (ti_op_is(ev->op, TI_T_CANCELS)) {
        ti__walk_cancel(w, step);
    } else if (ti_op_is(ev->op, TI_T_USES)) {
        ti__walk_use(w, step);
    } else if (ti_op_is(ev->op, TI_T_PROBES)) {
        ti__walk_probe(w, step);
    } else if (ti_op_is(ev->op, TI_T_PROBED)) {
        ti__walk_receive_probed(w, step, NULL);
    } else if (ev->op == TI_OP_PROBE || ev->op == TI_OP_IPROBE) {
        ti__walk_look(w, step);
    } else {
        st = ti__walk_post(w, step, ev, -1, NULL, err);
    }
    return st;
}

/* MPI's tags are ints that are not negative, those of messages to MPI_PROC_NULL, too. */
static void check_tag(struct ti_step *step, enum ti_field field)
{
    int64_t tag = step->ev.arg[field];

    if (tag != TI_ANY && (tag < 0 || tag > INT32_MAX))
        ti__walk_wrong(step, "its tag is %s", tag < 0 ? "negative" : "larger than an int");
}

int ti_walk_next(struct ti_walk *w, struct ti_step *step, struct ti_err *err)
{
    int got = ti_reader_next(w->r, &step->ev, err);

    if (got != 1) {
        w->status = ti_reader_status(w->r);
        return got;
    }
    for (unsigned f = 0; f < TI_F_COUNT; f++)
        if (!(step->ev.mask & 1u << f))
            step->ev.arg[f] = 0;
    step->index = w->index++;
    step->gid = -1;
    step->lost = false;
    step->why[0] = '\0';
    w->nposted = w->ndone = w->ncalls = 0;
    check_tag(step, TI_F_TAG);
    check_tag(step, TI_F_TAG2);
    ti__walk_meet(w, step);
    ti__walk_epoch(w, step);
    if (ti_op_is(step->ev.op, TI_T_BY_ALL))
        ti__walk_call(w, step, &step->ev);
    w->status = resolve(w, step, err);
    if (w->no_memory || w->comms.no_memory || w->topologies.no_memory)
        w->status = no_memory(w->rank, err);
    if (w->status)
        return -1;
    step->posted = w->posted;
    step->nposted = w->nposted;
    step->done = w->done;
    step->ndone = w->ndone;
    step->call = w->call;
    step->ncalls = w->ncalls;
    return 1;
}
