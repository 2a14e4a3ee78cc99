/*
 * Recorders of collectives; each serves the blocking, non-blocking and persistent form.
 *
 * If MPI ignores one side of the call (MPI_IN_PLACE, ranks other than the root), that side
 * is filled in from the other one, so that every rank's event has what was moved.  Counts,
 * types and operations that MPI ignores are not read, because they need not be valid.
 */
#include "minitrace/recorders/shared.h"

/* Vectors built by the recorders: bytes of the alltoallw form, and counts in another order. */
static int64_t *own[TI_VECS];
static size_t own_room[TI_VECS];

/* Begin an event on c->comm.  If it is unknown, end the recording and return NULL. */
static const struct ti_comm_entry *begin(struct ti_event *ev, const struct ti_mpi_call *c)
{
    const struct ti_comm_entry *comm = ti_comm_find(c->comm);

    if (!comm) {
        ti_stop_unknown("communicator");
        return NULL;
    }
    ti_event_begin(ev, TI_M_COMM);
    ev->arg[TI_F_COMM] = comm->index;
    return comm;
}

static void set_send(struct ti_event *ev, int64_t count, MPI_Datatype type)
{
    int64_t esize = ti_type_bytes(type);

    ti_event_set(ev, TI_F_BYTES, ti_bytes(count, esize));
    ti_event_set(ev, TI_F_ESIZE, esize);
}

static void set_recv(struct ti_event *ev, int64_t count, MPI_Datatype type)
{
    int64_t esize = ti_type_bytes(type);

    ti_event_set(ev, TI_F_BYTES2, ti_bytes(count, esize));
    ti_event_set(ev, TI_F_ESIZE2, esize);
}

static int64_t count_at(const struct ti_mpi_call *c, const int *counts, int i)
{
    return c->wide ? ((const int64_t *)(const void *)counts)[i] : counts[i];
}

static void set_vec(struct ti_event *ev, int which, const struct ti_mpi_call *c, const int *counts,
                    int len)
{
    ev->vec[which] = (struct ti_vec){counts, c->wide ? 8 : 4, len};
}

/* The number of ranks that this rank exchanges data with: those of the other group in an
 * intercommunicator. */
static int partners(const struct ti_comm_entry *comm)
{
    return comm->inter ? comm->remote_size : comm->size;
}

/* The role of this rank in a collective with a root.  NOBODY: in the root's group of an
 * intercommunicator, where the call does nothing. */
enum role { ROLE_ROOT, ROLE_OTHER, ROLE_NOBODY };

static enum role set_root(struct ti_event *ev, const struct ti_comm_entry *comm, int root)
{
    if (comm->inter && root == MPI_ROOT) {
        ti_event_set(ev, TI_F_ROOT, TI_SELF);
        return ROLE_ROOT;
    }
    if (comm->inter && root == MPI_PROC_NULL) {
        ti_event_set(ev, TI_F_ROOT, TI_NULL);
        return ROLE_NOBODY;
    }
    ti_event_set(ev, TI_F_ROOT, root);
    return !comm->inter && root == comm->rank ? ROLE_ROOT : ROLE_OTHER;
}

static void finish(struct ti_mpi_call *c, struct ti_event *ev)
{
    if (c->req)
        ti_request_emit(c, ev);
    else
        ti_emit(c, ev, false);
}

int64_t ti_redop(MPI_Op op)
{
    int commutes = 1;

    /* no switch: MPI's handles need not be constants.  No table: it would be filled at every
     * call. */
#define KNOWN(name)                                                                                \
    if (op == MPI_##name)                                                                          \
        return TI_REDOP_##name;
    KNOWN(SUM)
    KNOWN(MAX)
    KNOWN(MIN)
    KNOWN(PROD)
    KNOWN(LAND)
    KNOWN(BAND)
    KNOWN(LOR)
    KNOWN(BOR)
    KNOWN(LXOR)
    KNOWN(BXOR)
    KNOWN(MAXLOC)
    KNOWN(MINLOC)
    KNOWN(REPLACE)
    KNOWN(NO_OP)
#undef KNOWN
    if (op == MPI_OP_NULL)
        return TI_REDOP_NULL;
    PMPI_Op_commutative(op, &commutes);
    return commutes ? TI_REDOP_USER : TI_REDOP_USER_NC;
}

void ti_rec_barrier(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (begin(&ev, c))
        finish(c, &ev);
}

void ti_rec_bcast(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    if (set_root(&ev, comm, c->root) == ROLE_NOBODY)
        set_send(&ev, 0, MPI_DATATYPE_NULL);
    else
        set_send(&ev, c->count, c->type);
    finish(c, &ev);
}

void ti_rec_reduce(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    bool rooted = ti_op_base(c->op) == TI_OP_REDUCE;

    if (!comm)
        return;
    if (rooted && set_root(&ev, comm, c->root) == ROLE_NOBODY) {
        set_send(&ev, 0, MPI_DATATYPE_NULL);
        ti_event_set(&ev, TI_F_REDOP, TI_REDOP_NULL);
    } else {
        set_send(&ev, c->count, c->type);
        ti_event_set(&ev, TI_F_REDOP, ti_redop(c->redop));
    }
    finish(c, &ev);
}

void ti_rec_gather(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    switch (set_root(&ev, comm, c->root)) {
    case ROLE_ROOT:
        set_recv(&ev, c->count2, c->type2);
        if (c->in_place || comm->inter)
            set_send(&ev, c->count2, c->type2);
        else
            set_send(&ev, c->count, c->type);
        break;
    case ROLE_OTHER:
        set_send(&ev, c->count, c->type);
        set_recv(&ev, c->count, c->type);
        break;
    case ROLE_NOBODY:
        set_send(&ev, 0, MPI_DATATYPE_NULL);
        set_recv(&ev, 0, MPI_DATATYPE_NULL);
        break;
    }
    finish(c, &ev);
}

/* In an intercommunicator the root contributes nothing itself. */
void ti_rec_gatherv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    switch (set_root(&ev, comm, c->root)) {
    case ROLE_ROOT:
        ti_event_set(&ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
        set_vec(&ev, 0, c, c->counts2, partners(comm));
        if (comm->inter)
            set_send(&ev, 0, c->type2);
        else if (c->in_place)
            set_send(&ev, count_at(c, c->counts2, comm->rank), c->type2);
        else
            set_send(&ev, c->count, c->type);
        break;
    case ROLE_OTHER:
        set_send(&ev, c->count, c->type);
        break;
    case ROLE_NOBODY:
        set_send(&ev, 0, MPI_DATATYPE_NULL);
        break;
    }
    finish(c, &ev);
}

void ti_rec_scatter(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    switch (set_root(&ev, comm, c->root)) {
    case ROLE_ROOT:
        set_send(&ev, c->count, c->type);
        if (c->in_place2 || comm->inter)
            set_recv(&ev, c->count, c->type);
        else
            set_recv(&ev, c->count2, c->type2);
        break;
    case ROLE_OTHER:
        set_send(&ev, c->count2, c->type2);
        set_recv(&ev, c->count2, c->type2);
        break;
    case ROLE_NOBODY:
        set_send(&ev, 0, MPI_DATATYPE_NULL);
        set_recv(&ev, 0, MPI_DATATYPE_NULL);
        break;
    }
    finish(c, &ev);
}

void ti_rec_scatterv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    switch (set_root(&ev, comm, c->root)) {
    case ROLE_ROOT:
        ti_event_set(&ev, TI_F_ESIZE, ti_type_bytes(c->type));
        set_vec(&ev, 0, c, c->counts, partners(comm));
        if (comm->inter)
            set_recv(&ev, 0, c->type);
        else if (c->in_place2)
            set_recv(&ev, count_at(c, c->counts, comm->rank), c->type);
        else
            set_recv(&ev, c->count2, c->type2);
        break;
    case ROLE_OTHER:
        set_recv(&ev, c->count2, c->type2);
        break;
    case ROLE_NOBODY:
        set_recv(&ev, 0, MPI_DATATYPE_NULL);
        break;
    }
    finish(c, &ev);
}

void ti_rec_allgather(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!begin(&ev, c))
        return;
    set_recv(&ev, c->count2, c->type2);
    if (c->in_place)
        set_send(&ev, c->count2, c->type2);
    else
        set_send(&ev, c->count, c->type);
    finish(c, &ev);
}

void ti_rec_allgatherv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    ti_event_set(&ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
    set_vec(&ev, 0, c, c->counts2, partners(comm));
    if (c->in_place)
        set_send(&ev, count_at(c, c->counts2, comm->rank), c->type2);
    else
        set_send(&ev, c->count, c->type);
    finish(c, &ev);
}

void ti_rec_alltoallv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    int64_t esize;

    if (!comm)
        return;
    esize = ti_type_bytes(c->type2);
    ti_event_set(&ev, TI_F_ESIZE, c->in_place ? esize : ti_type_bytes(c->type));
    ti_event_set(&ev, TI_F_ESIZE2, esize);
    set_vec(&ev, 0, c, c->in_place ? c->counts2 : c->counts, partners(comm));
    set_vec(&ev, 1, c, c->counts2, partners(comm));
    finish(c, &ev);
}

static MPI_Datatype type_at(const struct ti_mpi_call *c, const void *types, int i)
{
    return c->binding == TI_BINDING_C ? ((const MPI_Datatype *)types)[i]
                                      : PMPI_Type_f2c(((const MPI_Fint *)types)[i]);
}

/* Allocate vector `which` of the event.  Without memory, end the recording and return NULL. */
static int64_t *own_vec(struct ti_event *ev, int which, int len)
{
    if (!ti_reserve((void **)&own[which], &own_room[which], (size_t)len * sizeof *own[which] + 1)) {
        ti_stop_recording("no memory for the sizes of what goes to %d ranks", len);
        return NULL;
    }
    ev->vec[which] = (struct ti_vec){own[which], 8, len};
    return own[which];
}

/* Vector `which` of the alltoallw form: the amounts in bytes, because types differ; in the order
 * of `n`, unless it is NULL.  Without memory, end the recording and return false. */
static bool set_bytes_vec(struct ti_event *ev, int which, const struct ti_mpi_call *c,
                          const int *counts, const void *types, int len,
                          const struct ti_neighbour *n)
{
    int64_t *bytes = own_vec(ev, which, len);

    for (int i = 0; bytes && i < len; i++) {
        int from = n ? n[i].place : i;
        int64_t count = count_at(c, counts, from);

        /* the type of an empty part may be invalid */
        bytes[i] = count ? ti_bytes(count, ti_type_bytes(type_at(c, types, from))) : 0;
    }
    return bytes;
}

void ti_rec_alltoallw(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm || !set_bytes_vec(&ev, 1, c, c->counts2, c->types2, partners(comm), NULL))
        return;
    ti_event_set(&ev, TI_F_ESIZE, 1);
    ti_event_set(&ev, TI_F_ESIZE2, 1);
    if (c->in_place)
        ev.vec[0] = ev.vec[1];
    else if (!set_bytes_vec(&ev, 0, c, c->counts, c->types, partners(comm), NULL))
        return;
    finish(c, &ev);
}

/* On an intercommunicator both groups have a result; the counts are the own group's. */
void ti_rec_reduce_scatter(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);

    if (!comm)
        return;
    ti_event_set(&ev, TI_F_ESIZE, ti_type_bytes(c->type));
    set_vec(&ev, 0, c, c->counts2, comm->size);
    ti_event_set(&ev, TI_F_REDOP, ti_redop(c->redop));
    finish(c, &ev);
}

/* ------------------------------------------------------- with neighbours -- */

/* *n: the communicator's neighbours, sources first, if their order in the trace differs from
 * MPI's; else NULL.  Without memory, ends the recording and returns false. */
static bool in_order(const struct ti_comm_entry *comm, const struct ti_neighbour **n)
{
    *n = comm->unordered ? ti_neighbours(comm) : NULL;
    if (*n || !comm->unordered)
        return true;
    ti_stop_recording("no memory for the %d neighbours in a graph",
                      comm->sources + comm->destinations);
    return false;
}

static const struct ti_neighbour *behind_sources(const struct ti_comm_entry *comm,
                                                 const struct ti_neighbour *n)
{
    return n ? n + comm->sources : NULL;
}

/* Vector `which`: a count per neighbour, in the order of `n`, or in the caller's if it is NULL.
 * False without memory. */
static bool set_neighbour_vec(struct ti_event *ev, int which, const struct ti_mpi_call *c,
                              const int *counts, int len, const struct ti_neighbour *n)
{
    int64_t *vec;

    if (!n) {
        set_vec(ev, which, c, counts, len);
        return true;
    }
    vec = own_vec(ev, which, len);
    for (int i = 0; vec && i < len; i++)
        vec[i] = count_at(c, counts, n[i].place);
    return vec;
}

void ti_rec_neighbor_allgather(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!begin(&ev, c))
        return;
    set_send(&ev, c->count, c->type);
    set_recv(&ev, c->count2, c->type2);
    finish(c, &ev);
}

void ti_rec_neighbor_allgatherv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    const struct ti_neighbour *n;

    if (!comm || !in_order(comm, &n))
        return;
    set_send(&ev, c->count, c->type);
    ti_event_set(&ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
    if (set_neighbour_vec(&ev, 0, c, c->counts2, comm->sources, n))
        finish(c, &ev);
}

void ti_rec_neighbor_alltoallv(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    const struct ti_neighbour *n;

    if (!comm || !in_order(comm, &n))
        return;
    ti_event_set(&ev, TI_F_ESIZE, ti_type_bytes(c->type));
    ti_event_set(&ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
    if (set_neighbour_vec(&ev, 0, c, c->counts, comm->destinations, behind_sources(comm, n)) &&
        set_neighbour_vec(&ev, 1, c, c->counts2, comm->sources, n))
        finish(c, &ev);
}

void ti_rec_neighbor_alltoallw(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct ti_comm_entry *comm = begin(&ev, c);
    const struct ti_neighbour *n;

    if (!comm || !in_order(comm, &n))
        return;
    ti_event_set(&ev, TI_F_ESIZE, 1);
    ti_event_set(&ev, TI_F_ESIZE2, 1);
    if (set_bytes_vec(&ev, 0, c, c->counts, c->types, comm->destinations,
                      behind_sources(comm, n)) &&
        set_bytes_vec(&ev, 1, c, c->counts2, c->types2, comm->sources, n))
        finish(c, &ev);
}
