/* Collectives.  Where MPI ignores a side of the call (MPI_IN_PLACE, the ranks
 * that are not the root), that side is taken from the one that counts, so that
 * every rank's event says what moved. */
#include "minitrace/state.h"

/* Begin an event on c->comm; NULL if the communicator cannot be traced. */
static const struct ti_comm_entry *begin(struct ti_event *ev, struct ti_call *c)
{
    const struct ti_comm_entry *comm = ti_comm_find(c->comm);

    if (!comm)
        return NULL;
    if (comm->inter) {
        ti_rec_untraced(c, "a collective on an intercommunicator");
        return NULL;
    }
    ti_event_begin(ev, TI_M_COMM);
    ev->arg[TI_F_COMM] = comm->index;
    return comm;
}

static void set(struct ti_event *ev, enum ti_field field, int64_t value)
{
    ev->mask |= 1u << field;
    ev->arg[field] = value;
}

static void set_send(struct ti_event *ev, int64_t count, int64_t esize)
{
    set(ev, TI_F_BYTES, count * esize);
    set(ev, TI_F_ESIZE, esize);
}

static void set_recv(struct ti_event *ev, int64_t count, int64_t esize)
{
    set(ev, TI_F_BYTES2, count * esize);
    set(ev, TI_F_ESIZE2, esize);
}

static void set_vec(struct ti_event *ev, int which, const int *counts, int len)
{
    ev->vec[which] = (struct ti_vec){counts, 4, len};
}

/* Emit the event; in its non-blocking form with its request. */
static void finish(struct ti_call *c, struct ti_event *ev)
{
    if (ti_op_form(c->op) != TI_FORM_BLOCKING) {
        if (ti_state.stopped) {
            ti_request_hide(c);
            ti_state.burst = 0;
            return;
        }
        set(ev, TI_F_REQ, ti_request_add(c, false, 0));
    }
    ti_emit(c, ev, false);
}

static int64_t redop(MPI_Op op)
{
    int commutes = 1;

    /* handles need not be constants: no switch, and a table would be filled at
     * every call */
#define KNOWN(name)                                                                                \
    if (op == MPI_##name)                                                                          \
        return TI_REDOP_##name;
    KNOWN(SUM)
    KNOWN(MAX) KNOWN(MIN) KNOWN(PROD) KNOWN(LAND) KNOWN(BAND) KNOWN(LOR) KNOWN(BOR) KNOWN(LXOR)
        KNOWN(BXOR) KNOWN(MAXLOC) KNOWN(MINLOC) KNOWN(REPLACE) KNOWN(NO_OP)
#undef KNOWN
            if (op == MPI_OP_NULL) return TI_REDOP_NULL;
    PMPI_Op_commutative(op, &commutes);
    return commutes ? TI_REDOP_USER : TI_REDOP_USER_NC;
}

void ti_rec_barrier(struct ti_call *c)
{
    struct ti_event ev;

    if (begin(&ev, c))
        finish(c, &ev);
}

void ti_rec_bcast(struct ti_call *c)
{
    struct ti_event ev;

    if (!begin(&ev, c))
        return;
    set_send(&ev, c->count, ti_type_bytes(c->type));
    set(&ev, TI_F_ROOT, c->root);
    finish(c, &ev);
}

void ti_rec_reduce(struct ti_call *c)
{
    struct ti_event ev;

    if (!begin(&ev, c))
        return;
    set_send(&ev, c->count, ti_type_bytes(c->type));
    if (c->op == TI_OP_REDUCE)
        set(&ev, TI_F_ROOT, c->root);
    set(&ev, TI_F_REDOP, redop(c->redop));
    finish(c, &ev);
}

void ti_rec_gather(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    bool root;

    if (!comm)
        return;
    root = comm->rank == c->root;
    if (root)
        set_recv(&ev, c->count2, ti_type_bytes(c->type2));
    else
        set_recv(&ev, c->count, ti_type_bytes(c->type));
    if (root && c->in_place)
        set_send(&ev, c->count2, ev.arg[TI_F_ESIZE2]);
    else
        set_send(&ev, c->count, ti_type_bytes(c->type));
    set(&ev, TI_F_ROOT, c->root);
    finish(c, &ev);
}

void ti_rec_gatherv(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    bool root;

    if (!comm)
        return;
    root = comm->rank == c->root;
    if (root) {
        set(&ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
        set_vec(&ev, 0, c->counts2, comm->size);
    }
    if (root && c->in_place)
        set_send(&ev, c->counts2[comm->rank], ev.arg[TI_F_ESIZE2]);
    else
        set_send(&ev, c->count, ti_type_bytes(c->type));
    set(&ev, TI_F_ROOT, c->root);
    finish(c, &ev);
}

void ti_rec_scatter(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    bool root;

    if (!comm)
        return;
    root = comm->rank == c->root;
    if (root)
        set_send(&ev, c->count, ti_type_bytes(c->type));
    else
        set_send(&ev, c->count2, ti_type_bytes(c->type2));
    if (root && c->in_place2)
        set_recv(&ev, c->count, ev.arg[TI_F_ESIZE]);
    else
        set_recv(&ev, c->count2, ti_type_bytes(c->type2));
    set(&ev, TI_F_ROOT, c->root);
    finish(c, &ev);
}

void ti_rec_scatterv(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    bool root;

    if (!comm)
        return;
    root = comm->rank == c->root;
    if (root) {
        set(&ev, TI_F_ESIZE, ti_type_bytes(c->type));
        set_vec(&ev, 0, c->counts, comm->size);
    }
    if (root && c->in_place2)
        set_recv(&ev, c->counts[comm->rank], ev.arg[TI_F_ESIZE]);
    else
        set_recv(&ev, c->count2, ti_type_bytes(c->type2));
    set(&ev, TI_F_ROOT, c->root);
    finish(c, &ev);
}

/* Allgather, Alltoall. */
void ti_rec_allgather(struct ti_call *c)
{
    struct ti_event ev;

    if (!begin(&ev, c))
        return;
    set_recv(&ev, c->count2, ti_type_bytes(c->type2));
    if (c->in_place)
        set_send(&ev, c->count2, ev.arg[TI_F_ESIZE2]);
    else
        set_send(&ev, c->count, ti_type_bytes(c->type));
    finish(c, &ev);
}

void ti_rec_allgatherv(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    set(&ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
    set_vec(&ev, 0, c->counts2, comm->size);
    if (c->in_place)
        set_send(&ev, c->counts2[comm->rank], ev.arg[TI_F_ESIZE2]);
    else
        set_send(&ev, c->count, ti_type_bytes(c->type));
    finish(c, &ev);
}

void ti_rec_alltoallv(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    set(&ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
    set(&ev, TI_F_ESIZE, c->in_place ? ev.arg[TI_F_ESIZE2] : ti_type_bytes(c->type));
    set_vec(&ev, 0, c->in_place ? c->counts2 : c->counts, comm->size);
    set_vec(&ev, 1, c->counts2, comm->size);
    finish(c, &ev);
}

void ti_rec_reduce_scatter(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    set(&ev, TI_F_ESIZE, ti_type_bytes(c->type));
    set_vec(&ev, 0, c->counts2, comm->size);
    set(&ev, TI_F_REDOP, redop(c->redop));
    finish(c, &ev);
}
