/* Point-to-point: sends, receives, probes. */
#include "minitrace/state.h"

/* The call ignores its status, and we need it: give it one of ours. */
void ti_lend_status(struct ti_call *c)
{
    static MPI_Status lent;
    static MPI_Fint lent_fortran[sizeof(MPI_Status) / sizeof(MPI_Fint) + 8];

    if (c->binding == TI_BINDING_C) {
        if (c->status == MPI_STATUS_IGNORE)
            c->status = &lent;
    } else if (ti_fortran_ignores(c->status)) {
        c->status = lent_fortran;
    }
}

/* Say in the event what a wildcard matched: nothing if it was cancelled. */
void ti_match(struct ti_event *ev, const struct ti_call *c, const void *status, int own_rank)
{
    int cancelled = 0;
    MPI_Status s;

    if (c->binding == TI_BINDING_C)
        s = *(const MPI_Status *)status;
    else
        PMPI_Status_f2c(status, &s);
    PMPI_Test_cancelled(&s, &cancelled);
    if (cancelled)
        return;
    ev->mask |= TI_M_MATCH;
    ev->arg[TI_F_FROM] = (int64_t)s.MPI_SOURCE - own_rank;
    ev->arg[TI_F_FROMTAG] = s.MPI_TAG;
}

static int64_t peer_of(const struct ti_comm_entry *comm, int peer)
{
    if (peer == MPI_PROC_NULL)
        return TI_NULL;
    if (peer == MPI_ANY_SOURCE)
        return TI_ANY;
    return (int64_t)peer - comm->rank;
}

static int64_t tag_of(int tag)
{
    return tag == MPI_ANY_TAG ? TI_ANY : tag;
}

static bool wildcard(int peer, int tag)
{
    return peer != MPI_PROC_NULL && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
}

/* Fields of a message; NULL if the communicator cannot be traced. */
static const struct ti_comm_entry *message(struct ti_event *ev, struct ti_call *c)
{
    const struct ti_comm_entry *comm = ti_comm_find(c->comm);
    int64_t esize;

    if (!comm)
        return NULL;
    esize = ti_type_bytes(c->type);
    ti_event_begin(ev, TI_M_P2P);
    ev->arg[TI_F_COMM] = comm->index;
    ev->arg[TI_F_PEER] = peer_of(comm, c->peer);
    ev->arg[TI_F_TAG] = tag_of(c->tag);
    ev->arg[TI_F_BYTES] = c->count * esize;
    ev->arg[TI_F_ESIZE] = esize;
    return comm;
}

void ti_rec_send(struct ti_call *c)
{
    struct ti_event ev;

    if (message(&ev, c))
        ti_emit(c, &ev, false);
}

void ti_pre_recv(struct ti_call *c)
{
    if (wildcard(c->peer, c->tag))
        ti_lend_status(c);
}

void ti_rec_recv(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = message(&ev, c);

    if (!comm)
        return;
    if (wildcard(c->peer, c->tag))
        ti_match(&ev, c, c->status, comm->rank);
    ti_emit(c, &ev, false);
}

static void immediate(struct ti_call *c, bool wild)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = message(&ev, c);

    if (!comm || ti_state.stopped) {
        ti_request_hide(c);
        ti_state.burst = 0;
        return;
    }
    ev.arg[TI_F_REQ] = ti_request_add(c, wild, comm->rank);
    ev.mask |= TI_M_REQ;
    ti_emit(c, &ev, false);
}

void ti_rec_isend(struct ti_call *c)
{
    immediate(c, false);
}

void ti_rec_irecv(struct ti_call *c)
{
    immediate(c, wildcard(c->peer, c->tag));
}

void ti_pre_sendrecv(struct ti_call *c)
{
    if (wildcard(c->peer2, c->tag2))
        ti_lend_status(c);
}

void ti_rec_sendrecv(struct ti_call *c)
{
    bool replace = c->op == TI_OP_SENDRECV_REPLACE;
    struct ti_event ev;
    const struct ti_comm_entry *comm = message(&ev, c);
    int64_t esize;

    if (!comm)
        return;
    esize = replace ? ev.arg[TI_F_ESIZE] : ti_type_bytes(c->type2);
    ev.mask |= TI_M_P2P2;
    ev.arg[TI_F_PEER2] = peer_of(comm, c->peer2);
    ev.arg[TI_F_TAG2] = tag_of(c->tag2);
    ev.arg[TI_F_BYTES2] = (replace ? c->count : c->count2) * esize;
    ev.arg[TI_F_ESIZE2] = esize;
    if (wildcard(c->peer2, c->tag2))
        ti_match(&ev, c, c->status, comm->rank);
    ti_emit(c, &ev, false);
}

void ti_pre_probe(struct ti_call *c)
{
    ti_pre_recv(c);
}

void ti_rec_probe(struct ti_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm;

    c->type = MPI_DATATYPE_NULL;
    c->count = 0;
    comm = message(&ev, c);
    if (!comm)
        return;
    ev.mask = TI_M_COMM | TI_M_PEER | TI_M_TAG;
    if (wildcard(c->peer, c->tag))
        ti_match(&ev, c, c->status, comm->rank);
    ti_emit(c, &ev, false);
}

void ti_pre_iprobe(struct ti_call *c)
{
    ti_pre_recv(c);
}

void ti_rec_iprobe(struct ti_call *c)
{
    if (*c->flag)
        ti_rec_probe(c);
    else
        ti_poll_failed();
}
