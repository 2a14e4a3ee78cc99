/*
 * Collective operations, among all ranks of a communicator and among neighbours.
 */
#include <stdlib.h>

#include "common/map.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/functions.h"
#include "replay-bridge/replayer/profile.h"

/* Tag of the messages that stand for a collective among neighbours. */
#define NEIGHBOUR_TAG 32760

/* The arguments of any collective. */
struct arguments {
    MPI_Comm comm;
    int root;
    MPI_Op op;
    const void *sent;
    int nsent; /* elements of the single sent block; `ntaken`: of the received block */
    MPI_Datatype sent_type;
    int *sent_counts, *sent_places; /* for each partner that has a block of its own */
    void *taken;
    int ntaken;
    MPI_Datatype taken_type;
    int *taken_counts, *taken_places;
    MPI_Datatype *sent_types, *taken_types; /* for each partner, all the same */
    MPI_Aint *zeros; /* for each partner: all blocks are at the start of the buffer */
    MPI_Request *request;
    enum ti_form form;
    int64_t bytes; /* sent or received, the larger */
};

/* ---- the arguments ---- */

static int root_of(int64_t root)
{
    return root == TI_SELF ? MPI_ROOT : root == TI_NULL ? MPI_PROC_NULL : (int)root;
}

/* Number of partners with a block: ranks of the communicator or of the remote group, or
 * neighbours. */
static int64_t partners(const struct ti_replayer *p, const struct ti_event *ev,
                        const struct ti_replay_comm *c, bool giving)
{
    const struct ti_neighbours *near = ti_neighbours_of(&p->topologies, ev->arg[TI_F_COMM]);

    if (!ti_op_is(ev->op, TI_T_NEIGHBOURS))
        return c->peers;
    return near ? giving ? near->ndestinations : near->nsources : 0;
}

/*
 * Fills `counts` with the counts of a vector in elements of `size` bytes, followed by the
 * displacements of the blocks.  In a simulation all displacements are 0, since the data is never
 * read; else blocks are contiguous.  `order` is the position of each neighbour in the library's
 * order, or NULL.  Returns the bytes of all blocks.
 */
static int64_t place_blocks(const struct ti_vec *vec, const int *order, int *counts, int64_t esize,
                            int64_t size)
{
    int64_t n = vec->len, sum = 0;
    int *places = counts + n;

    for (int64_t i = 0; i < n; i++)
        counts[order ? order[i] : i] = size ? (int)(ti_vec_at(vec, i) * esize / size) : 0;
    for (int64_t i = 0; i < n; i++) {
        places[i] = SIMULATED ? 0 : (int)sum;
        sum += counts[i];
    }
    return sum * size;
}

/* The size of the elements of a vector's blocks, and their datatype. */
static int64_t size_of(struct ti_replayer *p, const struct ti_event *ev, const struct ti_vec *vec,
                       int64_t esize, MPI_Datatype *type)
{
    int64_t size;
    char buf[256];
    const char *why = ti_elements_of_blocks(!SIMULATED, (ev->mask & TI_M_REDOP) != 0, vec, esize,
                                            &size, buf, sizeof buf);

    if (why)
        ti_replay_fail(p, TI_ERR_INPUT, "%s", why);
    *type = ti_replay_type(p, size);
    return size;
}

static void fill_types(MPI_Datatype *types, int64_t n, MPI_Datatype type)
{
    for (int64_t i = 0; i < n; i++)
        types[i] = type;
}

/* Fills in the blocks of both vectors, if the event has them.  *sent and *taken get their sizes in
 * bytes. */
static void fill_vectors(struct ti_replayer *p, const struct ti_event *ev,
                         const struct ti_replay_comm *c, struct arguments *a, int64_t *sent,
                         int64_t *taken)
{
    bool gives = ti_op_is(ev->op, TI_T_COUNTS_GIVEN), takes = ti_op_is(ev->op, TI_T_COUNTS_TAKEN);
    bool near = ti_op_is(ev->op, TI_T_NEIGHBOURS);
    const struct ti_vec *given = &ev->vec[0], *expected = &ev->vec[ti_op_last_vec(ev->op)];
    int64_t ngiven = gives ? given->len : 0, nexpected = takes ? expected->len : 0;
    int64_t most = ngiven > nexpected ? ngiven : nexpected;
    int64_t esize = ev->arg[TI_F_ESIZE], esize2 = ev->arg[TI_F_ESIZE2];

    p->numbers = ti_grow(p->numbers, &p->numbers_room, (size_t)(2 * (ngiven + nexpected) + most),
                         sizeof *p->numbers);
    if (gives) {
        a->sent_counts = p->numbers;
        a->sent_places = p->numbers + ngiven;
        *sent = place_blocks(given, near ? c->destinations_order : NULL, a->sent_counts, esize,
                             size_of(p, ev, given, esize, &a->sent_type));
    }
    if (takes) {
        a->taken_counts = p->numbers + 2 * ngiven;
        a->taken_places = a->taken_counts + nexpected;
        *taken = place_blocks(expected, near ? c->sources_order : NULL, a->taken_counts, esize2,
                              size_of(p, ev, expected, esize2, &a->taken_type));
    }
    if (gives && takes) {
        p->types =
            ti_grow(p->types, &p->types_room, (size_t)(ngiven + nexpected) + 1, sizeof *p->types);
        p->zeros = ti_grow(p->zeros, &p->zeros_room, (size_t)most + 1, sizeof *p->zeros);
        a->sent_types = p->types;
        a->taken_types = p->types + ngiven;
        fill_types(a->sent_types, ngiven, a->sent_type);
        fill_types(a->taken_types, nexpected, a->taken_type);
        a->zeros = p->zeros;
    }
}

static struct arguments arguments(struct ti_replayer *p, const struct ti_event *ev,
                                  const struct ti_replay_comm *c)
{
    struct arguments a = {.comm = c->handle,
                          .root = root_of(ev->arg[TI_F_ROOT]),
                          .op = MPI_OP_NULL,
                          .sent_type = MPI_BYTE,
                          .taken_type = MPI_BYTE};
    int64_t sent = ev->arg[TI_F_BYTES], taken = sent, blocks;

    if (ev->mask & TI_M_BYTES)
        a.nsent = ti_replay_count(p, ev->mask & TI_M_REDOP ? TI_ELEMENTS_REDUCED : TI_ELEMENTS_DATA,
                                  sent, ev->arg[TI_F_ESIZE], &a.sent_type);
    if (ev->mask & TI_M_BYTES2) {
        taken = ev->arg[TI_F_BYTES2];
        a.ntaken = ti_replay_count(p, TI_ELEMENTS_DATA, taken, ev->arg[TI_F_ESIZE2], &a.taken_type);
    }
    /* MPI ignores the sizes of a rank that takes no part.  But with size 0, Open MPI regards the
     * call as complete, and numbers later non-blocking collectives differently on this rank. */
    if (!SIMULATED && ev->arg[TI_F_ROOT] == TI_NULL) {
        a.nsent = a.ntaken = 1;
        a.sent_type = a.taken_type = MPI_BYTE;
    }
    if (ti_op_is(ev->op, TI_T_BLOCKS) || (ev->mask & TI_M_BYTES2)) {
        blocks = partners(p, ev, c, true);
        sent *= ti_op_is(ev->op, TI_T_BLOCKS) ? blocks : 1;
        taken *= ti_op_is(ev->op, TI_T_FROM_ROOT) ? 1 : partners(p, ev, c, false);
    }
    fill_vectors(p, ev, c, &a, &sent, &taken);
    if (ev->mask & TI_M_REDOP)
        a.op = ti_replay_op(p, ev->arg[TI_F_REDOP], ev->arg[TI_F_ESIZE], &a.sent_type);
    a.bytes = taken > sent ? taken : sent;
    a.sent = ti_engine_send_buffer(p, (size_t)sent);
    a.taken = ti_engine_recv_buffer(p, (size_t)a.bytes);
    return a;
}

/* ---- the calls ---- */

#if MPI_VERSION >= 4
#define INIT(init, ...) init(__VA_ARGS__, MPI_INFO_NULL, a->request)
#else
#define INIT(init, ...) MPI_ERR_OTHER /* never: request.c keeps the event */
#endif

#define CALL(name, Name, Iname, ...)                                                               \
    static int call_##name(const struct arguments *a)                                              \
    {                                                                                              \
        return a->form == TI_FORM_BLOCKING      ? MPI_##Name(__VA_ARGS__)                          \
               : a->form == TI_FORM_NONBLOCKING ? MPI_##Iname(__VA_ARGS__, a->request)             \
                                                : INIT(MPI_##Name##_init, __VA_ARGS__);            \
    }

#define SENT      a->sent, a->nsent, a->sent_type
#define SENT_V    a->sent, a->sent_counts, a->sent_places, a->sent_type
#define SENT_W    a->sent, a->sent_counts, a->sent_places, a->sent_types
#define TAKEN     a->taken, a->ntaken, a->taken_type
#define TAKEN_V   a->taken, a->taken_counts, a->taken_places, a->taken_type
#define TAKEN_W   a->taken, a->taken_counts, a->taken_places, a->taken_types
#define REDUCED   a->sent, a->taken, a->nsent, a->sent_type, a->op
#define REDUCED_V a->sent, a->taken, a->sent_counts, a->sent_type, a->op

#if SIMULATED

/* SMPI's MPI_Ibarrier completes as soon as rank 0 has called it. */
static int call_barrier(const struct arguments *a)
{
    return a->form == TI_FORM_BLOCKING
               ? MPI_Barrier(a->comm)
               : MPI_Iallgather(a->sent, 1, MPI_BYTE, a->taken, 1, MPI_BYTE, a->comm, a->request);
}

#else
CALL(barrier, Barrier, Ibarrier, a->comm)
#endif

CALL(bcast, Bcast, Ibcast, a->taken, a->nsent, a->sent_type, a->root, a->comm)
CALL(reduce, Reduce, Ireduce, REDUCED, a->root, a->comm)
CALL(allreduce, Allreduce, Iallreduce, REDUCED, a->comm)
CALL(gather, Gather, Igather, SENT, TAKEN, a->root, a->comm)
CALL(gatherv, Gatherv, Igatherv, SENT, TAKEN_V, a->root, a->comm)
CALL(scatter, Scatter, Iscatter, SENT, TAKEN, a->root, a->comm)
CALL(scatterv, Scatterv, Iscatterv, SENT_V, TAKEN, a->root, a->comm)
CALL(allgather, Allgather, Iallgather, SENT, TAKEN, a->comm)
CALL(allgatherv, Allgatherv, Iallgatherv, SENT, TAKEN_V, a->comm)
CALL(alltoall, Alltoall, Ialltoall, SENT, TAKEN, a->comm)
CALL(alltoallv, Alltoallv, Ialltoallv, SENT_V, TAKEN_V, a->comm)
CALL(alltoallw, Alltoallw, Ialltoallw, SENT_W, TAKEN_W, a->comm)
CALL(reduce_scatter, Reduce_scatter, Ireduce_scatter, REDUCED_V, a->comm)
CALL(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block, REDUCED, a->comm)
CALL(scan, Scan, Iscan, REDUCED, a->comm)
CALL(exscan, Exscan, Iexscan, REDUCED, a->comm)

#if !SIMULATED

CALL(neighbor_allgather, Neighbor_allgather, Ineighbor_allgather, SENT, TAKEN, a->comm)
CALL(neighbor_allgatherv, Neighbor_allgatherv, Ineighbor_allgatherv, SENT, TAKEN_V, a->comm)
CALL(neighbor_alltoall, Neighbor_alltoall, Ineighbor_alltoall, SENT, TAKEN, a->comm)
CALL(neighbor_alltoallv, Neighbor_alltoallv, Ineighbor_alltoallv, SENT_V, TAKEN_V, a->comm)

/* The only collective whose displacements are addresses. */
#define NEAR_W                                                                                     \
    a->sent, a->sent_counts, a->zeros, a->sent_types, a->taken, a->taken_counts, a->zeros,         \
        a->taken_types

CALL(neighbor_alltoallw, Neighbor_alltoallw, Ineighbor_alltoallw, NEAR_W, a->comm)

#endif

/* Calls the blocking form of the operation. */
static int (*const calls[TI_OP_COUNT])(const struct arguments *) = {
    [TI_OP_BARRIER] = call_barrier,
    [TI_OP_BCAST] = call_bcast,
    [TI_OP_REDUCE] = call_reduce,
    [TI_OP_ALLREDUCE] = call_allreduce,
    [TI_OP_GATHER] = call_gather,
    [TI_OP_GATHERV] = call_gatherv,
    [TI_OP_SCATTER] = call_scatter,
    [TI_OP_SCATTERV] = call_scatterv,
    [TI_OP_ALLGATHER] = call_allgather,
    [TI_OP_ALLGATHERV] = call_allgatherv,
    [TI_OP_ALLTOALL] = call_alltoall,
    [TI_OP_ALLTOALLV] = call_alltoallv,
    [TI_OP_ALLTOALLW] = call_alltoallw,
    [TI_OP_REDUCE_SCATTER] = call_reduce_scatter,
    [TI_OP_REDUCE_SCATTER_BLOCK] = call_reduce_scatter_block,
    [TI_OP_SCAN] = call_scan,
    [TI_OP_EXSCAN] = call_exscan,
#if !SIMULATED
    [TI_OP_NEIGHBOR_ALLGATHER] = call_neighbor_allgather,
    [TI_OP_NEIGHBOR_ALLGATHERV] = call_neighbor_allgatherv,
    [TI_OP_NEIGHBOR_ALLTOALL] = call_neighbor_alltoall,
    [TI_OP_NEIGHBOR_ALLTOALLV] = call_neighbor_alltoallv,
    [TI_OP_NEIGHBOR_ALLTOALLW] = call_neighbor_alltoallw,
#endif
};

/* ---- neighbours, by messages ---- */

#if SIMULATED

/* Size in bytes of the block for, or from, neighbour `i`. */
static int64_t block_bytes(const struct ti_event *ev, bool giving, int64_t i)
{
    if (giving)
        return ti_op_is(ev->op, TI_T_COUNTS_GIVEN) ? ti_vec_at(&ev->vec[0], i) * ev->arg[TI_F_ESIZE]
                                                   : ev->arg[TI_F_BYTES];
    return ti_op_is(ev->op, TI_T_COUNTS_TAKEN)
               ? ti_vec_at(&ev->vec[ti_op_last_vec(ev->op)], i) * ev->arg[TI_F_ESIZE2]
               : ev->arg[TI_F_BYTES2];
}

/* A message from each source and to each destination, as the standard describes the operation. */
static void post_neighbours(struct ti_replayer *p, const struct ti_event *ev,
                            struct ti_replay_request *q)
{
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    const struct ti_neighbours *near = ti_neighbours_of(&p->topologies, ev->arg[TI_F_COMM]);
    MPI_Datatype type;

    if (!near)
        ti_replay_fail(p, TI_ERR_INPUT, "the communicator has no topology");
    for (int64_t i = 0; i < near->nsources; i++) {
        int64_t bytes = block_bytes(ev, false, i);
        int count = ti_replay_count(p, TI_ELEMENTS_DATA, bytes, 1, &type);

        if (near->source[i] < 0)
            continue;
        ti_profile_receive(p, c, (int)near->source[i], NEIGHBOUR_TAG);
        ti_replay_must(p, MPI_Irecv(ti_engine_received(p, (size_t)bytes), count, type,
                                    (int)near->source[i], NEIGHBOUR_TAG, c->handle,
                                    ti_replay_part(q)));
    }
    for (int64_t i = 0; i < near->ndestinations; i++) {
        int64_t bytes = block_bytes(ev, true, i);
        int count = ti_replay_count(p, TI_ELEMENTS_DATA, bytes, 1, &type);

        if (near->destination[i] < 0)
            continue;
        ti_profile_send(p, c, (int)near->destination[i], NEIGHBOUR_TAG, (size_t)bytes,
                        ti_profile_waits(p, ev->op, (size_t)bytes));
        ti_replay_must(p, MPI_Isend(ti_engine_sent(p, (size_t)bytes), count, type,
                                    (int)near->destination[i], NEIGHBOUR_TAG, c->handle,
                                    ti_replay_part(q)));
    }
}

#endif

/* ---- one event ---- */

/* Bytes of the block that this rank sends to itself, which SMPI moves in no time. */
static int64_t own_block(const struct ti_event *ev, const struct ti_replay_comm *c)
{
    if (!SIMULATED || c->one_for_two) /* MPI copies itself; between two groups nobody does */
        return 0;
    switch (ti_op_base(ev->op)) {
    case TI_OP_GATHER:
    case TI_OP_GATHERV:
    case TI_OP_SCATTER:
    case TI_OP_SCATTERV:
        if (ev->arg[TI_F_ROOT] != c->rank)
            return 0;
        break;
    case TI_OP_ALLGATHER:
    case TI_OP_ALLGATHERV:
    case TI_OP_ALLTOALL:
    case TI_OP_ALLTOALLV:
    case TI_OP_ALLTOALLW:
        break;
    default:
        return 0;
    }
    if (!ti_op_is(ev->op, TI_T_COUNTS_GIVEN))
        return ev->arg[TI_F_BYTES];
    return c->rank < (int64_t)ev->vec[0].len ? ti_vec_at(&ev->vec[0], c->rank) * ev->arg[TI_F_ESIZE]
                                             : 0;
}

void ti_replay_collective(struct ti_replayer *p, const struct ti_event *ev, enum ti_form form,
                          struct ti_replay_request *q)
{
    struct ti_replay_comm *c;
    struct arguments a;

#if SIMULATED
    if (ti_op_is(ev->op, TI_T_NEIGHBOURS)) {
        post_neighbours(p, ev, q);
        return;
    }
#endif
    c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    a = arguments(p, ev, c);
    ti_profile_collective(p, c, ev, a.bytes);
    a.form = form;
    a.request = q ? q->handle : NULL;
    ti_replay_must(p, calls[ti_op_base(ev->op)](&a));
    if (form == TI_FORM_BLOCKING)
        ti_engine_copy(p->setup, own_block(ev, c));
}

void replay_collective(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Request none = MPI_REQUEST_NULL;
    struct ti_replay_request all = {.handle = &none};

    ti_replay_collective(p, ev, TI_FORM_BLOCKING, &all);
    if (all.nparts)
        ti_replay_must(p, MPI_Waitall(all.nparts, all.part, MPI_STATUSES_IGNORE));
    free(all.part);
}
