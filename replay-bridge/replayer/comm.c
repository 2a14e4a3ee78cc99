/*
 * Communicators: each is made by the recorded call, and has the recorded members.
 *
 * The members may depend on the machine: which ranks share a node, how the MPI library reorders
 * ranks.  So a live run compares the members of a new communicator with those in the trace.  If
 * they differ on any rank, all ranks replace the communicator by a split.
 */
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/functions.h"
#include "replay-bridge/replayer/profile.h"

/* ---- members in the trace ---- */

/* The communicator that the current event makes; NULL: this rank is in none. */
static const struct ti_comm *made_by(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_comm *made;

    if (ev->arg[TI_F_NEWCOMM] == TI_NULL)
        return NULL;
    made = ti_reader_comm(p->r, ev->arg[TI_F_NEWCOMM]);
    if (!made)
        ti_replay_fail(p, TI_ERR_INPUT, "the trace does not say what communicator %lld is",
                       (long long)ev->arg[TI_F_NEWCOMM]);
    return made;
}

/* A group of ranks of the world. */
static MPI_Group group_of(struct ti_replayer *p, const int32_t *a, int64_t na, const int32_t *b,
                          int64_t nb)
{
    MPI_Group world, group;

    p->numbers = ti_grow(p->numbers, &p->numbers_room, (size_t)(na + nb) + 1, sizeof *p->numbers);
    for (int64_t i = 0; i < na; i++)
        p->numbers[i] = a[i];
    for (int64_t i = 0; i < nb; i++)
        p->numbers[na + i] = b[i];
    ti_replay_must(p, PMPI_Comm_group(ti_replay_comm(p, 0)->handle, &world));
    ti_replay_must(p, PMPI_Group_incl(world, (int)(na + nb), p->numbers, &group));
    ti_replay_must(p, PMPI_Group_free(&world));
    return group;
}

/* ---- new communicators ---- */

/* Whether `handle` has exactly the members in the trace, in the same order.  In a simulation the
 * arguments alone determine the members, so comparing size and own rank is enough. */
static bool as_recorded(struct ti_replayer *p, MPI_Comm handle, const struct ti_comm *made)
{
    MPI_Group found, expected;
    int same, size, rank;

    if ((handle == MPI_COMM_NULL) != !made)
        return false;
    if (!made || made->remote)
        return true;
    ti_replay_must(p, PMPI_Comm_size(handle, &size));
    ti_replay_must(p, PMPI_Comm_rank(handle, &rank));
    if (SIMULATED || size != made->size || rank != made->rank)
        return size == made->size && rank == made->rank;
    expected = group_of(p, made->member, made->size, NULL, 0);
    ti_replay_must(p, PMPI_Comm_group(handle, &found));
    ti_replay_must(p, PMPI_Group_compare(found, expected, &same));
    ti_replay_must(p, PMPI_Group_free(&found));
    ti_replay_must(p, PMPI_Group_free(&expected));
    return same == MPI_IDENT;
}

/* Registers a communicator under its number in the trace. */
static struct ti_replay_comm *keep(struct ti_replayer *p, int64_t number,
                                   const struct ti_comm *made, MPI_Comm handle)
{
    struct ti_replay_comm *c = TI_REPLAY_AT(p, comm, ncomms, comms_room, number);

    *c = (struct ti_replay_comm){.handle = handle,
                                 .rank = made->rank,
                                 .peers = made->remote ? made->remote_size : made->size};
    ti_profile_comm(p, c, made);
    if (handle != MPI_COMM_NULL)
        ti_engine_comm(handle);
    return c;
}

static void learn_topology(struct ti_replayer *p, const struct ti_event *ev,
                           const struct ti_comm *made)
{
    struct ti_local_comm local = {
        .rank = made->rank, .peers = 0, .npeers = made->remote ? made->remote_size : made->size};

    ti_neighbours_learn(&p->topologies, ev, made->index, &local);
}

/* Splits `parent` into the communicators of the trace, whichever call made them there. */
static MPI_Comm split_as_recorded(struct ti_replayer *p, MPI_Comm parent,
                                  const struct ti_comm *made)
{
    MPI_Comm handle;

    ti_replay_must(p, PMPI_Comm_split(parent, made ? made->member[0] : MPI_UNDEFINED,
                                      made ? (int)made->rank : 0, &handle));
    return handle;
}

/* Whether `good` holds on all ranks of `comm`, which may be an intercommunicator.  There the first
 * reduction returns the result of the remote group, and the second that of the own group. */
static int agreed(struct ti_replayer *p, MPI_Comm comm, int good)
{
    int inter, all;

    ti_replay_must(p, PMPI_Comm_test_inter(comm, &inter));
    ti_replay_must(p, PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, comm));
    if (!inter)
        return all;
    good = all;
    ti_replay_must(p, PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, comm));
    return good && all;
}

/* Registers the communicator `handle`, which the current event made from `parent`.  If its members
 * differ from those in the trace, it is replaced by a split of `parent`. */
static struct ti_replay_comm *register_comm(struct ti_replayer *p, const struct ti_event *ev,
                                            MPI_Comm parent, MPI_Comm handle)
{
    const struct ti_comm *made = made_by(p, ev);
    int good = as_recorded(p, handle, made);

    if (!SIMULATED && parent != MPI_COMM_NULL)
        good = agreed(p, parent, good);
    if (!good && (SIMULATED || parent == MPI_COMM_NULL))
        ti_replay_fail(p, TI_ERR_INPUT, "the communicator has other members than in the trace");
    if (!good) {
        if (handle != MPI_COMM_NULL)
            PMPI_Comm_free(&handle);
        handle = split_as_recorded(p, parent, made);
    }
    if (!made)
        return NULL;
    learn_topology(p, ev, made);
    return keep(p, made->index, made, handle);
}

#if SIMULATED

/* SMPI has no intercommunicators.  Both groups share one communicator instead; the group whose
 * first member has the lower world rank comes first. */
static void make_both(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_comm *made = made_by(p, ev);
    struct ti_replay_comm *c;
    bool first;
    MPI_Group group;
    MPI_Comm handle;

    if (!made || !made->remote)
        return;
    first = made->member[0] < made->remote[0];
    group = first ? group_of(p, made->member, made->size, made->remote, made->remote_size)
                  : group_of(p, made->remote, made->remote_size, made->member, made->size);
    ti_replay_must(p, MPI_Comm_create_group(ti_replay_comm(p, 0)->handle, group,
                                            (int)ev->arg[TI_F_TAG], &handle));
    ti_replay_must(p, PMPI_Group_free(&group));
    c = keep(p, made->index, made, handle);
    c->offset = first ? made->size : 0;
    c->one_for_two = true;
}

#endif

void ti_replay_world(struct ti_replayer *p, MPI_Comm world)
{
    struct ti_comm all = {.rank = p->rank, .size = p->np}, own = {.rank = 0, .size = 1};

    keep(p, 0, &all, world);
    keep(p, TI_REPLAY_SELF, &own, MPI_COMM_NULL); /* ti_replay_comm() finds the handle */
}

/* ---- copies and splits ---- */

void ti_replay_idup_done(struct ti_replayer *p, struct ti_replay_request *q)
{
    p->comm[q->made_number].handle = *q->made;
    ti_engine_comm(*q->made);
    free(q->made);
    q->made = NULL;
}

/* MPI writes the handle of the new communicator before the request completes, so it needs memory of
 * its own until then: p->comm may move. */
static void idup(struct ti_replayer *p, const struct ti_event *ev, MPI_Comm parent)
{
    struct ti_replay_request *q = ti_replay_new_request(p);
    const struct ti_comm *made = made_by(p, ev);
    size_t none = 0;

    q->active = true;
    q->made = ti_grow(NULL, &none, 1, sizeof *q->made);
    q->made_number = made->index;
#if SIMULATED
    ti_replay_must(p, MPI_Comm_dup(parent, q->made));
#elif MPI_VERSION >= 4
    if (ev->op == TI_OP_COMM_IDUP_WITH_INFO)
        ti_replay_must(p, MPI_Comm_idup_with_info(parent, MPI_INFO_NULL, q->made, q->handle));
    else
        ti_replay_must(p, MPI_Comm_idup(parent, q->made, q->handle));
#else
    ti_replay_must(p, MPI_Comm_idup(parent, q->made, q->handle));
#endif
    learn_topology(p, ev, made);
    keep(p, made->index, made, MPI_COMM_NULL);
}

static int *copy_of(const int *order, int64_t n)
{
    size_t none = 0;

    return order ? memcpy(ti_grow(NULL, &none, (size_t)n + 1, sizeof *order), order,
                          (size_t)n * sizeof *order)
                 : NULL;
}

void replay_comm_dup(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    const struct ti_neighbours *near;
    struct ti_replay_comm parent = *c, *made;
    MPI_Comm handle;

    if (ev->mask & TI_M_REQ) {
        idup(p, ev, parent.handle);
    } else {
        if (ev->op == TI_OP_COMM_DUP_WITH_INFO)
            ti_replay_must(p, MPI_Comm_dup_with_info(parent.handle, MPI_INFO_NULL, &handle));
        else
            ti_replay_must(p, MPI_Comm_dup(parent.handle, &handle));
        register_comm(p, ev, parent.one_for_two ? MPI_COMM_NULL : parent.handle, handle);
    }
    made = &p->comm[ev->arg[TI_F_NEWCOMM]];
    made->offset = parent.offset;
    made->one_for_two = parent.one_for_two;
    near = ti_neighbours_of(&p->topologies, ev->arg[TI_F_NEWCOMM]);
    made->sources_order = copy_of(parent.sources_order, near ? near->nsources : 0);
    made->destinations_order = copy_of(parent.destinations_order, near ? near->ndestinations : 0);
}

void replay_comm_split(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, handle;
    int64_t colour = ev->arg[TI_F_COLOR];
    int key = (int)ev->arg[TI_F_KEY];

#if SIMULATED
    if (ti_replay_comm(p, ev->arg[TI_F_COMM])->one_for_two) {
        make_both(p, ev);
        return;
    }
#endif
    if (SIMULATED) /* colours and keys take no time */
        handle = split_as_recorded(p, parent, made_by(p, ev));
    else if (ev->op == TI_OP_COMM_SPLIT)
        ti_replay_must(p, MPI_Comm_split(parent, colour == TI_NULL ? MPI_UNDEFINED : (int)colour,
                                         key, &handle));
    else /* the recorded type may be specific to an MPI library: use the standard one */
        ti_replay_must(
            p, MPI_Comm_split_type(parent, colour == TI_NULL ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED,
                                   key, MPI_INFO_NULL, &handle));
    register_comm(p, ev, parent, handle);
}

#if !SIMULATED

/* The group of members that all ranks of one side of an intercommunicator name.  Only the trace of
 * a member has them, so the two sides exchange this knowledge by broadcasts. */
static MPI_Group group_of_inter(struct ti_replayer *p, const struct ti_event *ev,
                                const struct ti_comm *made)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle;
    const struct ti_comm *both = ti_reader_comm(p->r, ev->arg[TI_F_COMM]);
    int own = made ? (int)made->rank : -1, rank, n, m, members = 0, *ours, *theirs, *ranks;
    MPI_Group all, group;

    if (!both || !both->remote)
        ti_replay_fail(p, TI_ERR_INPUT, "the trace does not say who is in both groups");
    ti_replay_must(p, PMPI_Comm_rank(parent, &rank));
    ti_replay_must(p, PMPI_Comm_size(parent, &n));
    ti_replay_must(p, PMPI_Comm_remote_size(parent, &m));
    p->numbers =
        ti_grow(p->numbers, &p->numbers_room, 2 * (size_t)n + (size_t)m, sizeof *p->numbers);
    ours = p->numbers;
    ranks = ours + n;
    theirs = ranks + n;
    ti_replay_must(p, PMPI_Allgather(&own, 1, MPI_INT, theirs, 1, MPI_INT, parent));
    for (int turn = 0; turn < 2; turn++)
        if ((both->member[0] < both->remote[0]) == (turn == 0))
            ti_replay_must(p,
                           PMPI_Bcast(theirs, m, MPI_INT, rank ? MPI_PROC_NULL : MPI_ROOT, parent));
        else
            ti_replay_must(p, PMPI_Bcast(ours, n, MPI_INT, 0, parent));
    for (int i = 0; i < n; i++)
        if (ours[i] >= 0 && ours[i] < n) {
            ranks[ours[i]] = i;
            members++;
        }
    ti_replay_must(p, PMPI_Comm_group(parent, &all));
    ti_replay_must(p, PMPI_Group_incl(all, members, ranks, &group));
    ti_replay_must(p, PMPI_Group_free(&all));
    return group;
}

#endif

/* The group argument of the rank: the members of a new communicator. */
static MPI_Group group_for(struct ti_replayer *p, const struct ti_event *ev,
                           const struct ti_comm *made)
{
#if !SIMULATED
    int inter;

    ti_replay_must(p, PMPI_Comm_test_inter(ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, &inter));
    if (inter)
        return group_of_inter(p, ev, made);
#endif
    (void)ev;
    return made ? group_of(p, made->member, made->size, NULL, 0) : MPI_GROUP_EMPTY;
}

void replay_comm_create(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, handle;
    const struct ti_comm *made = made_by(p, ev);
    MPI_Group group;

#if SIMULATED
    if (ti_replay_comm(p, ev->arg[TI_F_COMM])->one_for_two) {
        make_both(p, ev);
        return;
    }
#endif
    group = group_for(p, ev, made);
    if (ev->op == TI_OP_COMM_CREATE)
        ti_replay_must(p, MPI_Comm_create(parent, group, &handle));
    else
        ti_replay_must(p, MPI_Comm_create_group(parent, group, (int)ev->arg[TI_F_TAG], &handle));
    if (group != MPI_GROUP_EMPTY)
        ti_replay_must(p, PMPI_Group_free(&group));
    /* Only members call MPI_Comm_create_group, so ranks of the parent cannot compare results. */
    register_comm(p, ev, ev->op == TI_OP_COMM_CREATE ? parent : MPI_COMM_NULL, handle);
}

/* ---- topologies ---- */

/* A vector as ints. */
static int *ints_of(struct ti_replayer *p, const struct ti_vec *vec, size_t at, size_t all)
{
    p->numbers = ti_grow(p->numbers, &p->numbers_room, all + 1, sizeof *p->numbers);
    for (int64_t i = 0; i < vec->len; i++)
        p->numbers[at + (size_t)i] = (int)ti_vec_at(vec, i);
    return p->numbers + at;
}

void replay_cart_create(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, handle;
    size_t n = (size_t)ev->vec[0].len;
    int *dims = ints_of(p, &ev->vec[0], 0, 2 * n), *periods;

    periods = ints_of(p, &ev->vec[1], n, 2 * n);
    dims = p->numbers;
    ti_replay_must(p, MPI_Cart_create(parent, (int)n, dims, periods,
                                      SIMULATED ? 0 : (int)ev->arg[TI_F_REORDER], &handle));
    register_comm(p, ev, parent, handle);
}

void replay_cart_sub(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, handle;
    int *remain = ints_of(p, &ev->vec[0], 0, (size_t)ev->vec[0].len), ndims = 0;

    for (int64_t d = 0; d < ev->vec[0].len; d++)
        ndims += remain[d] != 0;
    if (SIMULATED && !ndims) /* SMPI gives a communicator to one of the ranks only */
        ti_replay_must(p, MPI_Comm_dup(MPI_COMM_SELF, &handle));
    else
        ti_replay_must(p, MPI_Cart_sub(parent, remain, &handle));
    register_comm(p, ev, parent, handle);
}

#if SIMULATED

void replay_graph_create(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle;

    register_comm(p, ev, parent, split_as_recorded(p, parent, made_by(p, ev)));
}

#else

/* Position in the library's order `found` of each neighbour of the trace, which are ascending. */
static int *order_of(const int64_t *recorded, const int *found, int n)
{
    size_t none = 0;
    int *order = ti_grow(NULL, &none, (size_t)n + 1, sizeof *order);
    char *taken;

    none = 0;
    taken = ti_grow(NULL, &none, (size_t)n + 1, 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (!taken[k] && found[k] == recorded[i]) {
                taken[k] = 1;
                order[i] = k;
                break;
            }
    free(taken);
    return order;
}

/* MPI libraries may list the neighbours of a distributed graph in any order. */
static void learn_orders(struct ti_replayer *p, struct ti_replay_comm *c, int64_t number)
{
    const struct ti_neighbours *near = ti_neighbours_of(&p->topologies, number);
    int nsources, ndestinations, weighted, topology, *sources, *destinations;
    size_t none = 0;

    ti_replay_must(p, PMPI_Topo_test(c->handle, &topology));
    if (topology != MPI_DIST_GRAPH || !near)
        return;
    ti_replay_must(
        p, PMPI_Dist_graph_neighbors_count(c->handle, &nsources, &ndestinations, &weighted));
    if (nsources != near->nsources || ndestinations != near->ndestinations)
        ti_replay_fail(p, TI_ERR_IO, "the graph has other neighbours than in the trace");
    sources = ti_grow(NULL, &none, 2 * (size_t)(nsources + ndestinations) + 1, sizeof *sources);
    destinations = sources + nsources;
    ti_replay_must(p, PMPI_Dist_graph_neighbors(c->handle, nsources, sources,
                                                destinations + ndestinations, ndestinations,
                                                destinations, MPI_UNWEIGHTED));
    c->sources_order = order_of(near->source, sources, nsources);
    c->destinations_order = order_of(near->destination, destinations, ndestinations);
    free(sources);
}

/* MPI_Graph_create needs the edges of all ranks, but the trace of a rank has only its own. */
static MPI_Comm graph(struct ti_replayer *p, const struct ti_event *ev, MPI_Comm parent)
{
    const struct ti_comm *made = made_by(p, ev);
    int size, n = (int)ev->vec[0].len, nodes = 0, sum = 0, *degree, *index, *places, *edges, *own;
    int place[2] = {made ? (int)made->rank : -1, n};
    size_t none = 0;
    MPI_Comm handle;

    ti_replay_must(p, PMPI_Comm_size(parent, &size));
    degree = ti_grow(NULL, &none, 5 * (size_t)size + 1, sizeof *degree);
    index = degree + 2 * size;
    places = index + size;
    ti_replay_must(p, PMPI_Allgather(place, 2, MPI_INT, degree, 2, MPI_INT, parent));
    for (int i = 0; i < size; i++) /* the trace has the members in the order of their new ranks */
        if (degree[2 * i] >= 0) {
            index[degree[2 * i]] = degree[2 * i + 1];
            nodes++;
        }
    for (int k = 0; k < nodes; k++)
        index[k] = sum += index[k];
    for (int i = 0; i < size; i++) {
        int k = degree[2 * i];

        places[i] = k > 0 ? index[k - 1] : 0;
        (places + size)[i] = k >= 0 ? degree[2 * i + 1] : 0;
    }
    none = 0;
    edges = ti_grow(NULL, &none, (size_t)(sum + n) + 1, sizeof *edges);
    own = edges + sum;
    for (int i = 0; i < n && made; i++)
        own[i] = (int)(made->rank + ti_vec_at(&ev->vec[0], i));
    ti_replay_must(p, PMPI_Allgatherv(own, made ? n : 0, MPI_INT, edges, places + size, places,
                                      MPI_INT, parent));
    ti_replay_must(
        p, MPI_Graph_create(parent, nodes, index, edges, (int)ev->arg[TI_F_REORDER], &handle));
    free(edges);
    free(degree);
    return handle;
}

static MPI_Comm dist_graph(struct ti_replayer *p, const struct ti_event *ev, MPI_Comm parent)
{
    const struct ti_comm *made = made_by(p, ev);
    const struct ti_vec *sources = &ev->vec[0], *destinations = &ev->vec[1];
    size_t n = (size_t)(sources->len + destinations->len);
    int nsources = (int)sources->len, ndestinations = (int)destinations->len, *from, *to;
    int reorder = (int)ev->arg[TI_F_REORDER], rank;
    MPI_Comm handle;

    ints_of(p, sources, 0, n);
    ints_of(p, destinations, (size_t)nsources, n);
    from = p->numbers;
    to = p->numbers + nsources;
    for (size_t i = 0; i < n && made; i++)
        p->numbers[i] += (int)made->rank;
    ti_replay_must(p, PMPI_Comm_rank(parent, &rank));
    if (ev->op == TI_OP_DIST_GRAPH_CREATE)
        ti_replay_must(p, MPI_Dist_graph_create(parent, 1, &rank, &ndestinations, to,
                                                MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &handle));
    else
        ti_replay_must(p, MPI_Dist_graph_create_adjacent(parent, nsources, from, MPI_UNWEIGHTED,
                                                         ndestinations, to, MPI_UNWEIGHTED,
                                                         MPI_INFO_NULL, reorder, &handle));
    return handle;
}

void replay_graph_create(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle;
    struct ti_replay_comm *c = register_comm(
        p, ev, parent, (ev->op == TI_OP_GRAPH_CREATE ? graph : dist_graph)(p, ev, parent));

    if (c)
        learn_orders(p, c, ev->arg[TI_F_NEWCOMM]);
}

#endif

/* ---- two groups ---- */

#if SIMULATED

void replay_intercomm_create(struct ti_replayer *p, const struct ti_event *ev)
{
    make_both(p, ev);
}

void replay_intercomm_merge(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm both = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle;

    register_comm(p, ev, both, split_as_recorded(p, both, made_by(p, ev)));
}

#else

void replay_intercomm_create(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, handle;
    struct ti_replay_comm *leaders =
        ev->mask & TI_M_COMM2 ? ti_replay_comm(p, ev->arg[TI_F_COMM2]) : NULL;

    ti_replay_must(
        p, MPI_Intercomm_create(parent, (int)ev->arg[TI_F_ROOT],
                                leaders ? leaders->handle : MPI_COMM_NULL,
                                leaders ? ti_replay_peer(p, leaders, ev->arg[TI_F_PEER]) : 0,
                                (int)ev->arg[TI_F_TAG], &handle));
    register_comm(p, ev, MPI_COMM_NULL, handle);
}

void replay_intercomm_merge(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Comm parent = ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, handle;

    ti_replay_must(p, MPI_Intercomm_merge(parent, (int)ev->arg[TI_F_KEY], &handle));
    register_comm(p, ev, MPI_COMM_NULL, handle);
}

#endif

/* ---- the rest ---- */

void replay_comm_set_info(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Info info;

    if (SIMULATED)
        return;
    ti_replay_must(p, PMPI_Info_create(&info));
    ti_replay_must(p, MPI_Comm_set_info(ti_replay_comm(p, ev->arg[TI_F_COMM])->handle, info));
    ti_replay_must(p, PMPI_Info_free(&info));
}

void replay_comm_free(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);

    ti_replay_must(p,
                   (ev->op == TI_OP_COMM_FREE ? MPI_Comm_free : MPI_Comm_disconnect)(&c->handle));
    c->handle = MPI_COMM_NULL;
    free(c->sources_order);
    free(c->destinations_order);
    c->sources_order = c->destinations_order = NULL;
}
