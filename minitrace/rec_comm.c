/*
 * Communicators: an index for each, in the order this rank met them, and their
 * members, written once.  Duplicates and splits are events as well.
 */
#include <string.h>

#include "minitrace/state.h"

#define MAX_DIMS   64 /* of a Cartesian communicator: 2^64 ranks */
#define FIRST_ROOM 32 /* power of two, at most half full; doubles */

static struct ti_comm_entry *entry; /* hash table; comm MPI_COMM_NULL: free */
static size_t entry_bytes;
static uint32_t room, entries, next_index;
static struct ti_comm_entry last; /* found last */
static int keyval = MPI_KEYVAL_INVALID;

static uint32_t slot_of(MPI_Comm comm)
{
    uint64_t h = (uint64_t)(uintptr_t)comm * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(h >> 40) & (room - 1);

    while (entry[slot].comm != MPI_COMM_NULL && entry[slot].comm != comm)
        slot = (slot + 1) & (room - 1);
    return slot;
}

static bool insert(const struct ti_comm_entry *e)
{
    if (2 * (entries + 1) > room) {
        struct ti_comm_entry *old = entry;
        size_t old_bytes = entry_bytes;
        uint32_t old_room = room;
        void *grown = NULL;

        entry_bytes = 0;
        room = room ? 2 * room : FIRST_ROOM;
        if (!ti_reserve(&grown, &entry_bytes, room * sizeof *entry)) {
            room = old_room;
            entry_bytes = old_bytes;
            return false;
        }
        entry = grown;
        for (uint32_t i = 0; i < room; i++)
            entry[i].comm = MPI_COMM_NULL;
        for (uint32_t i = 0; i < old_room; i++)
            if (old[i].comm != MPI_COMM_NULL)
                entry[slot_of(old[i].comm)] = old[i];
        ti_unmap(old, old_bytes);
    }
    entry[slot_of(e->comm)] = *e;
    entries++;
    return true;
}

static void forget(MPI_Comm comm)
{
    uint32_t slot;

    last.comm = MPI_COMM_NULL;
    if (!room)
        return;
    slot = slot_of(comm);
    if (entry[slot].comm == MPI_COMM_NULL)
        return;
    entry[slot].comm = MPI_COMM_NULL;
    entries--;
    /* close the gap: what follows may have been pushed past it */
    for (uint32_t i = (slot + 1) & (room - 1); entry[i].comm != MPI_COMM_NULL;
         i = (i + 1) & (room - 1)) {
        struct ti_comm_entry moved = entry[i];

        entry[i].comm = MPI_COMM_NULL;
        entry[slot_of(moved.comm)] = moved;
    }
}

/* Whoever frees a communicator, and by whatever call, its handle may be given
 * to the next one: MPI tells us through an attribute. */
static int freed(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    if (ti_state.active)
        forget(comm);
    return MPI_SUCCESS;
}

/* World ranks of the members of comm, in a mapping of 2 * size ints that the
 * caller unmaps; NULL without memory. */
static int *members(MPI_Comm comm, int size)
{
    int *rank = ti_map(2 * (size_t)size * sizeof *rank);
    MPI_Group world, group;

    if (!rank)
        return NULL;
    for (int i = 0; i < size; i++)
        rank[size + i] = i;
    if (comm == MPI_COMM_WORLD) {
        memcpy(rank, rank + size, (size_t)size * sizeof *rank);
        return rank;
    }
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_group(comm, &group);
    PMPI_Group_translate_ranks(group, size, rank + size, world, rank);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    for (int i = 0; i < size; i++)
        if (rank[i] == MPI_UNDEFINED) { /* joined from another world */
            ti_unmap(rank, 2 * (size_t)size * sizeof *rank);
            ti_give_up("a communicator has members outside MPI_COMM_WORLD");
            return NULL;
        }
    return rank;
}

/* How many neighbours the topology gives this rank. */
static void count_neighbours(struct ti_comm_entry *e)
{
    int topology = MPI_UNDEFINED, n = 0, weighted;

    PMPI_Topo_test(e->comm, &topology);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(e->comm, &n);
        e->sources = e->destinations = 2 * n;
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(e->comm, e->rank, &n);
        e->sources = e->destinations = n;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(e->comm, &e->sources, &e->destinations, &weighted);
    }
}

static bool introduce(MPI_Comm comm, char kind, struct ti_comm_entry *e)
{
    int inter = 0, *rank;

    *e = (struct ti_comm_entry){.comm = comm, .index = next_index};
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &e->rank);
    PMPI_Comm_size(comm, &e->size);
    e->inter = inter != 0;
    if (inter)
        PMPI_Comm_remote_size(comm, &e->remote_size);
    else
        count_neighbours(e);
    rank = members(comm, e->size);
    if (!rank)
        return false;
    ti_writer_comm(ti_state.writer, e->index, kind, e->rank, e->size, rank, 0, NULL);
    ti_unmap(rank, 2 * (size_t)e->size * sizeof *rank);
    next_index++;
    PMPI_Comm_set_attr(comm, keyval, NULL);
    if (insert(e))
        return true;
    ti_give_up("no memory to follow %u communicators", entries);
    return false;
}

bool ti_comm_begin(void)
{
    struct ti_comm_entry e;

    last.comm = MPI_COMM_NULL;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &keyval, NULL);
    return introduce(MPI_COMM_WORLD, 'w', &e) && introduce(MPI_COMM_SELF, 's', &e);
}

const struct ti_comm_entry *ti_comm_find(MPI_Comm comm)
{
    if (last.comm == comm)
        return &last;
    last = entry[slot_of(comm)];
    if (last.comm == MPI_COMM_NULL && !introduce(comm, '?', &last)) {
        last.comm = MPI_COMM_NULL;
        return NULL;
    }
    return &last;
}

/* The new communicator of a creation that succeeded, and the event's part about
 * it; the parent's fields are the caller's.  False: nothing to record. */
static bool created(struct ti_call *c, struct ti_event *ev, char kind)
{
    const struct ti_comm_entry *parent = ti_comm_find(c->comm);
    struct ti_comm_entry e;
    MPI_Comm made;

    if (!parent)
        return false;
    if (parent->inter) {
        ti_rec_untraced(c, "a communicator made from an intercommunicator");
        return false;
    }
    ti_event_begin(ev, TI_M_COMM | TI_M_NEWCOMM);
    ev->arg[TI_F_COMM] = parent->index;
    ev->arg[TI_F_NEWCOMM] = TI_NULL;
    made = ti_comm_of(c, c->newcomm);
    if (made == MPI_COMM_NULL)
        return true;
    if (!introduce(made, kind, &e))
        return false;
    ev->arg[TI_F_NEWCOMM] = e.index;
    return true;
}

void ti_rec_comm_dup(struct ti_call *c)
{
    struct ti_event ev;

    if (created(c, &ev, 'd'))
        ti_emit(c, &ev, true);
}

void ti_rec_comm_split(struct ti_call *c)
{
    struct ti_event ev;

    if (!created(c, &ev, 'p'))
        return;
    ev.mask |= TI_M_COLOR | TI_M_KEY;
    ev.arg[TI_F_COLOR] = c->color == MPI_UNDEFINED ? TI_NULL : c->color;
    ev.arg[TI_F_KEY] = c->key;
    ti_emit(c, &ev, true);
}

void ti_rec_comm_create(struct ti_call *c)
{
    struct ti_event ev;

    if (created(c, &ev, 'c'))
        ti_emit(c, &ev, true);
}

void ti_rec_cart_create(struct ti_call *c)
{
    int periods[MAX_DIMS];
    struct ti_event ev;

    if (!created(c, &ev, 'g'))
        return;
    for (int i = 0; i < c->ndims && i < MAX_DIMS; i++)
        periods[i] = c->periods[i] != 0; /* a LOGICAL may be true as -1 */
    ev.mask |= TI_M_REORDER;
    ev.arg[TI_F_REORDER] = c->reorder;
    ev.vec[0] = (struct ti_vec){c->dims, 4, c->ndims};
    ev.vec[1] = (struct ti_vec){periods, 4, c->ndims < MAX_DIMS ? c->ndims : MAX_DIMS};
    ti_emit(c, &ev, true);
}

/* Only known ones: whether the handle is valid, the call will find out. */
void ti_pre_comm_free(struct ti_call *c)
{
    MPI_Comm comm = ti_comm_of(c, c->newcomm);
    const struct ti_comm_entry *e = &entry[slot_of(comm)];

    c->held = comm != MPI_COMM_NULL && e->comm == comm ? (int64_t)e->index : -1;
}

void ti_rec_comm_free(struct ti_call *c)
{
    struct ti_event ev = {.mask = TI_M_COMM};

    if (c->held < 0)
        return;
    ev.arg[TI_F_COMM] = c->held;
    ti_emit(c, &ev, true);
}
