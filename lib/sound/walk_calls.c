#include "sound/walk_internal.h"

static enum ti_mpi_object object_of(const struct ti_event *ev, int64_t *number)
{
    if (ev->mask & TI_M_WIN) {
        *number = ev->arg[TI_F_WIN];
        return TI_OBJECT_WIN;
    }
    if (ev->mask & TI_M_FILE) {
        *number = ev->arg[TI_F_FILE];
        return TI_OBJECT_FILE;
    }
    return TI_OBJECT_COMM;
}

/* Number the communicator that the event makes, even if the trace has its members only later. */
static void meet_new(struct ti_walk *w, struct ti_step *step, const struct ti_local_comm *comm)
{
    const struct ti_event *ev = &step->ev;
    int64_t index = ev->arg[TI_F_NEWCOMM];
    bool later = ti_op_is(ev->op, TI_T_REQUEST);
    const struct ti_local_comm *made;

    if (index == TI_NULL || !comm)
        return;
    if (later) {
        struct ti_local_comm of = *comm; /* a copy, because the array may move */

        made = ti_comm_view_copy(&w->comms, index, &of);
    } else {
        made = ti__walk_comm(w, step, index);
    }
    if (made)
        ti_neighbours_learn(&w->topologies, ev, index, made);
}

void ti__walk_meet(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    const struct ti_local_comm *comm = NULL;
    int64_t number = 0;
    enum ti_mpi_object kind = object_of(ev, &number);

    if (ev->mask & TI_M_COMM)
        comm = ti__walk_comm(w, step, ev->arg[TI_F_COMM]);
    if (comm)
        step->gid = comm->gid;
    if (ev->mask & TI_M_NEWCOMM)
        meet_new(w, step, comm);
    if (kind == TI_OBJECT_COMM)
        return;
    if (comm && !ti_comm_view_make(&w->comms, kind, number, comm))
        ti__walk_wrong(step, "there was a %s %lld before",
                       kind == TI_OBJECT_WIN ? "window" : "file", (long long)number);
    else if (!(ev->mask & TI_M_COMM) && !ti_comm_view_object(&w->comms, kind, number))
        ti__walk_wrong(step, "the trace does not say what %s %lld is",
                       kind == TI_OBJECT_WIN ? "window" : "file", (long long)number);
}

/* The communicator, window or file that collective call `ev` is made on; NULL if it is not known,
 * or if this rank is no member. */
static const struct ti_local_comm *called_on(struct ti_walk *w, struct ti_step *step,
                                             const struct ti_event *ev)
{
    int64_t number = 0;
    enum ti_mpi_object kind = object_of(ev, &number);

    if (ev->op == TI_OP_COMM_CREATE_GROUP) /* only members of the new communicator call it */
        return ev->arg[TI_F_NEWCOMM] == TI_NULL ? NULL
                                                : ti__walk_comm(w, step, ev->arg[TI_F_NEWCOMM]);
    return ev->mask & TI_M_COMM ? ti__walk_comm(w, step, ev->arg[TI_F_COMM])
                                : ti_comm_view_object(&w->comms, kind, number);
}

void ti__walk_call(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev)
{
    const struct ti_local_comm *on = called_on(w, step, ev);

    if (!on)
        return;
    w->no_memory |= !TI_ROOM(w->call, &w->calls_cap, w->ncalls + 1);
    if (w->no_memory)
        return;
    w->call[w->ncalls++] = (struct ti_coll_call){
        .ev = ev, .on = *on, .topology = ti_neighbours_of(&w->topologies, ev->arg[TI_F_COMM])};
}
