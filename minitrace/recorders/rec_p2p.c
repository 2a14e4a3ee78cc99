/* Recorders of point-to-point messages: sends and receives. */
#include "minitrace/recorders/shared.h"

void ti_lend_status(struct ti_mpi_call *c)
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

static MPI_Status status_of(const struct ti_mpi_call *c, const void *status)
{
    MPI_Status s;

    if (c->binding == TI_BINDING_C)
        s = *(const MPI_Status *)status;
    else
        PMPI_Status_f2c(status, &s);
    return s;
}

bool ti_was_cancelled(const struct ti_mpi_call *c, const void *status)
{
    MPI_Status s = status_of(c, status);
    int cancelled = 0;

    PMPI_Test_cancelled(&s, &cancelled);
    return cancelled;
}

void ti_match(struct ti_event *ev, const struct ti_mpi_call *c, const void *status, int own_rank)
{
    MPI_Status s = status_of(c, status);

    ev->mask |= TI_M_MATCH;
    ev->arg[TI_F_FROM] = (int64_t)s.MPI_SOURCE - own_rank;
    ev->arg[TI_F_FROMTAG] = s.MPI_TAG;
}

/* A peer relative to this rank.  On an intercommunicator: rank in the other group minus own rank
 * in the own group. */
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

bool ti_wildcard(int peer, int tag)
{
    return peer != MPI_PROC_NULL && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
}

const struct ti_comm_entry *ti_envelope(struct ti_event *ev, const struct ti_mpi_call *c)
{
    const struct ti_comm_entry *comm = ti_comm_known(c->comm);

    if (!comm)
        return NULL;
    ti_event_begin(ev, TI_M_COMM | TI_M_PEER | TI_M_TAG);
    ev->arg[TI_F_COMM] = comm->index;
    ev->arg[TI_F_PEER] = peer_of(comm, c->peer);
    ev->arg[TI_F_TAG] = tag_of(c->tag);
    return comm;
}

void ti_content(struct ti_event *ev, const struct ti_mpi_call *c)
{
    int64_t esize = ti_type_bytes(c->type);

    ev->mask |= TI_M_BYTES | TI_M_ESIZE;
    ev->arg[TI_F_BYTES] = ti_bytes(c->count, esize);
    ev->arg[TI_F_ESIZE] = esize;
}

/* Begin an event with all fields of a message; NULL if the communicator is unknown. */
static const struct ti_comm_entry *message(struct ti_event *ev, const struct ti_mpi_call *c)
{
    const struct ti_comm_entry *comm = ti_envelope(ev, c);

    if (comm)
        ti_content(ev, c);
    return comm;
}

void ti_rec_send(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (message(&ev, c))
        ti_emit(c, &ev, false);
}

void ti_pre_recv(struct ti_mpi_call *c)
{
    if (ti_wildcard(c->peer, c->tag))
        ti_lend_status(c);
}

void ti_rec_recv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = message(&ev, c);

    if (!comm)
        return;
    if (ti_wildcard(c->peer, c->tag))
        ti_match(&ev, c, c->status, comm->rank);
    ti_emit(c, &ev, false);
}

/* Write the event of a call that makes a request; `comm` is NULL if the communicator is unknown.
 * Persistent requests are recorded even while MPI_Pcontrol(0) holds, because they may be started
 * at any later time. */
static inline void emit_request(struct ti_mpi_call *c, struct ti_event *ev,
                                const struct ti_comm_entry *comm, bool persistent, bool wild)
{
    if (!comm || (ti_state.stopped && !persistent)) {
        ti_request_hide(c);
        return;
    }
    ev->arg[TI_F_REQ] = ti_request_add(c, persistent, wild, comm->rank);
    ev->mask |= TI_M_REQ;
    ti_emit(c, ev, persistent);
}

static inline void request(struct ti_mpi_call *c, bool persistent, bool wild)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = message(&ev, c);

    emit_request(c, &ev, comm, persistent, wild);
}

void ti_rec_isend(struct ti_mpi_call *c)
{
    request(c, false, false);
}

void ti_rec_irecv(struct ti_mpi_call *c)
{
    request(c, false, ti_wildcard(c->peer, c->tag));
}

void ti_rec_send_init(struct ti_mpi_call *c)
{
    request(c, true, false);
}

void ti_rec_recv_init(struct ti_mpi_call *c)
{
    request(c, true, ti_wildcard(c->peer, c->tag));
}

/* Recorded as one message, of which each partition is a part. */
void ti_rec_psend_init(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = message(&ev, c);

    if (comm) {
        ev.arg[TI_F_BYTES] *= c->part;
        ti_event_set(&ev, TI_F_PART, c->part);
    }
    emit_request(c, &ev, comm, true, false);
}

/* Begin an event with both messages of a sendrecv.  `replace`: the second has the count and type
 * of the first. */
static const struct ti_comm_entry *two_messages(struct ti_event *ev, const struct ti_mpi_call *c,
                                                bool replace)
{
    const struct ti_comm_entry *comm = message(ev, c);
    int64_t esize;

    if (!comm)
        return NULL;
    esize = replace ? ev->arg[TI_F_ESIZE] : ti_type_bytes(c->type2);
    ev->mask |= TI_M_P2P2;
    ev->arg[TI_F_PEER2] = peer_of(comm, c->peer2);
    ev->arg[TI_F_TAG2] = tag_of(c->tag2);
    ev->arg[TI_F_BYTES2] = ti_bytes(replace ? c->count : c->count2, esize);
    ev->arg[TI_F_ESIZE2] = esize;
    return comm;
}

void ti_pre_sendrecv(struct ti_mpi_call *c)
{
    if (ti_wildcard(c->peer2, c->tag2))
        ti_lend_status(c);
}

void ti_rec_sendrecv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = two_messages(&ev, c, c->op == TI_OP_SENDRECV_REPLACE);

    if (!comm)
        return;
    if (ti_wildcard(c->peer2, c->tag2))
        ti_match(&ev, c, c->status, comm->rank);
    ti_emit(c, &ev, false);
}

void ti_rec_isendrecv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = two_messages(&ev, c, c->op == TI_OP_ISENDRECV_REPLACE);

    emit_request(c, &ev, comm, false, ti_wildcard(c->peer2, c->tag2));
}
