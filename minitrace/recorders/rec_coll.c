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
    const struct ti_comm_entry *comm = ti_comm_known(c->comm);

    if (!comm)
        return NULL;
    ti_event_begin(ev, TI_M_COMM);
    ev->arg[TI_F_COMM] = comm->index;
    return comm;
}

/* One side of a call, and its fields in the event. */
struct side {
    int64_t count;
    MPI_Datatype type;
    int bytes, esize;
    bool parts; /* a vector of counts, in place of `count` */
    const int *counts;
};

static struct side sent(int64_t count, MPI_Datatype type)
{
    return (struct side){.count = count, .type = type, .bytes = TI_F_BYTES, .esize = TI_F_ESIZE};
}

static struct side received(int64_t count, MPI_Datatype type)
{
    return (struct side){.count = count, .type = type, .bytes = TI_F_BYTES2, .esize = TI_F_ESIZE2};
}

static struct side in_parts(struct side s, const int *counts)
{
    s.parts = true;
    s.counts = counts;
    return s;
}

static void set(struct ti_event *ev, struct side s)
{
    int64_t esize = ti_type_bytes(s.type);

    ti_event_set(ev, s.bytes, ti_bytes(s.count, esize));
    ti_event_set(ev, s.esize, esize);
}

/* Set the fields of side `s`, with what is on the side `from`. */
static void set_from(struct ti_event *ev, struct side s, struct side from)
{
    s.count = from.count;
    s.type = from.type;
    set(ev, s);
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

/* Define the recorder of a collective, around the body that follows: the body adds to the event, or
 * returns false, and then nothing is recorded. */
#define COLLECTIVE(name)                                                                           \
    static bool name(struct ti_event *ev, const struct ti_mpi_call *c,                             \
                     const struct ti_comm_entry *comm);                                            \
    void ti_rec_##name(struct ti_mpi_call *c)                                                      \
    {                                                                                              \
        struct ti_event ev;                                                                        \
        const struct ti_comm_entry *comm = begin(&ev, c);                                          \
                                                                                                   \
        if (!comm || !name(&ev, c, comm))                                                          \
            return;                                                                                \
        if (c->req)                                                                                \
            ti_request_emit(c, &ev);                                                               \
        else                                                                                       \
            ti_emit(c, &ev, false);                                                                \
    }                                                                                              \
    static bool name(struct ti_event *ev, const struct ti_mpi_call *c,                             \
                     const struct ti_comm_entry *comm)

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

COLLECTIVE(barrier)
{
    (void)ev;
    (void)c;
    (void)comm;
    return true;
}

COLLECTIVE(bcast)
{
    bool nobody = set_root(ev, comm, c->root) == ROLE_NOBODY;

    set(ev, nobody ? sent(0, MPI_DATATYPE_NULL) : sent(c->count, c->type));
    return true;
}

COLLECTIVE(reduce)
{
    bool rooted = ti_op_base(c->op) == TI_OP_REDUCE;
    bool nobody = rooted && set_root(ev, comm, c->root) == ROLE_NOBODY;

    set(ev, nobody ? sent(0, MPI_DATATYPE_NULL) : sent(c->count, c->type));
    ti_event_set(ev, TI_F_REDOP, nobody ? TI_REDOP_NULL : ti_redop(c->redop));
    return true;
}

/* Set both sides of a call: `many` parts, and `one`.  If the one is implied, it is one of the many;
 * but the root of an intercommunicator has no part itself. */
static bool set_both(struct ti_event *ev, const struct ti_mpi_call *c,
                     const struct ti_comm_entry *comm, struct side many, struct side one,
                     bool implied)
{
    if (many.parts) {
        ti_event_set(ev, many.esize, ti_type_bytes(many.type));
        set_vec(ev, 0, c, many.counts, partners(comm));
        if (implied && !comm->inter)
            many.count = count_at(c, many.counts, comm->rank);
    } else {
        set(ev, many);
    }
    set_from(ev, one, implied ? many : one);
    return true;
}

/* The same if only the root has the many. */
static bool set_rooted(struct ti_event *ev, const struct ti_mpi_call *c,
                       const struct ti_comm_entry *comm, struct side many, struct side one,
                       bool in_place)
{
    enum role role = set_root(ev, comm, c->root);

    if (role == ROLE_ROOT)
        return set_both(ev, c, comm, many, one, in_place || comm->inter);
    if (role == ROLE_NOBODY) {
        one.count = 0;
        one.type = MPI_DATATYPE_NULL;
    }
    set(ev, one);
    if (!many.parts)
        set_from(ev, many, one);
    return true;
}

COLLECTIVE(gather)
{
    return set_rooted(ev, c, comm, received(c->count2, c->type2), sent(c->count, c->type),
                      c->in_place);
}

COLLECTIVE(gatherv)
{
    return set_rooted(ev, c, comm, in_parts(received(0, c->type2), c->counts2),
                      sent(c->count, c->type), c->in_place);
}

COLLECTIVE(scatter)
{
    return set_rooted(ev, c, comm, sent(c->count, c->type), received(c->count2, c->type2),
                      c->in_place2);
}

COLLECTIVE(scatterv)
{
    return set_rooted(ev, c, comm, in_parts(sent(0, c->type), c->counts),
                      received(c->count2, c->type2), c->in_place2);
}

COLLECTIVE(allgather)
{
    return set_both(ev, c, comm, received(c->count2, c->type2), sent(c->count, c->type),
                    c->in_place);
}

COLLECTIVE(allgatherv)
{
    return set_both(ev, c, comm, in_parts(received(0, c->type2), c->counts2),
                    sent(c->count, c->type), c->in_place);
}

COLLECTIVE(alltoallv)
{
    int64_t esize = ti_type_bytes(c->type2);

    ti_event_set(ev, TI_F_ESIZE, c->in_place ? esize : ti_type_bytes(c->type));
    ti_event_set(ev, TI_F_ESIZE2, esize);
    set_vec(ev, 0, c, c->in_place ? c->counts2 : c->counts, partners(comm));
    set_vec(ev, 1, c, c->counts2, partners(comm));
    return true;
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

COLLECTIVE(alltoallw)
{
    if (!set_bytes_vec(ev, 1, c, c->counts2, c->types2, partners(comm), NULL))
        return false;
    ti_event_set(ev, TI_F_ESIZE, 1);
    ti_event_set(ev, TI_F_ESIZE2, 1);
    ev->vec[0] = ev->vec[1];
    return c->in_place || set_bytes_vec(ev, 0, c, c->counts, c->types, partners(comm), NULL);
}

/* On an intercommunicator both groups have a result; the counts are the own group's. */
COLLECTIVE(reduce_scatter)
{
    ti_event_set(ev, TI_F_ESIZE, ti_type_bytes(c->type));
    set_vec(ev, 0, c, c->counts2, comm->size);
    ti_event_set(ev, TI_F_REDOP, ti_redop(c->redop));
    return true;
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

COLLECTIVE(neighbor_allgather)
{
    return set_both(ev, c, comm, received(c->count2, c->type2), sent(c->count, c->type), false);
}

COLLECTIVE(neighbor_allgatherv)
{
    const struct ti_neighbour *n;

    if (!in_order(comm, &n))
        return false;
    set(ev, sent(c->count, c->type));
    ti_event_set(ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
    return set_neighbour_vec(ev, 0, c, c->counts2, comm->sources, n);
}

COLLECTIVE(neighbor_alltoallv)
{
    const struct ti_neighbour *n;

    if (!in_order(comm, &n))
        return false;
    ti_event_set(ev, TI_F_ESIZE, ti_type_bytes(c->type));
    ti_event_set(ev, TI_F_ESIZE2, ti_type_bytes(c->type2));
    return set_neighbour_vec(ev, 0, c, c->counts, comm->destinations, behind_sources(comm, n)) &&
           set_neighbour_vec(ev, 1, c, c->counts2, comm->sources, n);
}

COLLECTIVE(neighbor_alltoallw)
{
    const struct ti_neighbour *n;

    if (!in_order(comm, &n))
        return false;
    ti_event_set(ev, TI_F_ESIZE, 1);
    ti_event_set(ev, TI_F_ESIZE2, 1);
    return set_bytes_vec(ev, 0, c, c->counts, c->types, comm->destinations,
                         behind_sources(comm, n)) &&
           set_bytes_vec(ev, 1, c, c->counts2, c->types2, comm->sources, n);
}
