/*
 * Recorders of communicators.  Each has an index, in the order in which this rank met them.  Its
 * members are written once, when it is made.
 */
#include "minitrace/recorders/shared.h"

#define MAX_DIMS 64 /* dimensions of a Cartesian communicator: 2^64 ranks */

static struct ti_handles comms = TI_HANDLES(struct ti_comm_entry);
static uint32_t next_index;
static int keyval = MPI_KEYVAL_INVALID;

/* Communicators from MPI_Comm_idup whose handle is not known yet.  When the request completes, the
 * handle is read from the application's variable `where`. */
static struct late {
    const void *where;
    enum ti_binding binding;
    int64_t request;
    struct ti_comm_entry entry;
} * late;
static size_t late_bytes;
uint32_t ti_comms_late;

/* Called by MPI when a communicator is freed, by whatever call.  Its handle may then be reused. */
static int freed(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    if (ti_flags.active)
        ti_handle_forget(&comms, (uintptr_t)comm);
    return MPI_SUCCESS;
}

/* World ranks of a group; false if some are not in MPI_COMM_WORLD. */
static bool translate(MPI_Group group, MPI_Group world, int size, int *member)
{
    int rank[64], n;

    for (int i = 0; i < size; i += n) {
        for (n = 0; n < 64 && i + n < size; n++)
            rank[n] = i + n;
        PMPI_Group_translate_ranks(group, n, rank, world, member + i);
    }
    for (int i = 0; i < size; i++)
        if (member[i] == MPI_UNDEFINED)
            return false;
    return true;
}

/* Write the members of *e.  `comm` has the same members: *e itself, or the communicator that *e
 * duplicates. */
static bool write_members(const struct ti_comm_entry *e, enum ti_comm_kind kind, MPI_Comm comm)
{
    size_t n = (size_t)e->size + (size_t)e->remote_size;
    MPI_Group world, group;
    int *member;
    bool ours;

    if (e->whole) {
        ti_writer_comm(ti_state.writer, e->index, (char)kind, e->rank, e->size, NULL, 0, NULL);
        return true;
    }
    member = ti_map(n * sizeof *member);
    if (!member) {
        ti_stop_recording("no memory for the members of a communicator of %d ranks", e->size);
        return false;
    }
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_group(comm, &group);
    ours = translate(group, world, e->size, member);
    PMPI_Group_free(&group);
    if (ours && e->inter) {
        PMPI_Comm_remote_group(comm, &group);
        ours = translate(group, world, e->remote_size, member + e->size);
        PMPI_Group_free(&group);
    }
    PMPI_Group_free(&world);
    if (ours)
        ti_writer_comm(ti_state.writer, e->index, (char)kind, e->rank, e->size, member,
                       e->remote_size, member + e->size);
    else /* it joined processes of another MPI_COMM_WORLD */
        ti_stop_recording("a communicator has members outside MPI_COMM_WORLD");
    ti_unmap(member, n * sizeof *member);
    return ours;
}

/* Give *e its index and write its members. */
static bool number(struct ti_comm_entry *e, enum ti_comm_kind kind, MPI_Comm like)
{
    e->index = next_index;
    if (!write_members(e, e->inter ? TI_KIND_INTER : kind, like))
        return false;
    next_index++;
    return true;
}

static inline bool follow(struct ti_comm_entry *e)
{
    e->handle.bits = (uintptr_t)e->comm;
    if (ti_handle_add(&comms, &e->handle))
        return true;
    ti_stop_recording("no memory to follow %u communicators", comms.used);
    return false;
}

static void mark(struct ti_comm_entry *e)
{
    PMPI_Comm_set_attr(e->comm, keyval, NULL);
    e->marked = true;
}

static inline bool introduce(struct ti_comm_entry *e, enum ti_comm_kind kind)
{
    if (!number(e, kind, e->comm))
        return false;
    mark(e);
    return follow(e);
}

static void ask_topology(struct ti_comm_entry *e)
{
    int kind = MPI_UNDEFINED, dims = 0, weighted;

    PMPI_Topo_test(e->comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(e->comm, &dims);
        e->sources = e->destinations = 2 * dims;
    } else if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(e->comm, e->rank, &e->sources);
        e->destinations = e->sources;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(e->comm, &e->sources, &e->destinations, &weighted);
    }
}

/* Ask MPI for everything about a communicator; the index is not set. */
static struct ti_comm_entry ask(MPI_Comm comm)
{
    struct ti_comm_entry e = {.comm = comm};
    int inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &e.rank);
    PMPI_Comm_size(comm, &e.size);
    e.inter = inter != 0;
    if (e.inter)
        PMPI_Comm_remote_size(comm, &e.remote_size);
    else
        ask_topology(&e);
    return e;
}

/* A duplicate of *e, without asking MPI. */
static struct ti_comm_entry twin_of(const struct ti_comm_entry *e, MPI_Comm comm)
{
    struct ti_comm_entry twin = *e;

    twin.comm = comm;
    twin.marked = false;
    return twin;
}

bool ti_comm_begin(void)
{
    struct ti_comm_entry world = ask(MPI_COMM_WORLD), self = ask(MPI_COMM_SELF);

    world.whole = true;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &keyval, NULL);
    return introduce(&world, TI_KIND_WORLD) && introduce(&self, TI_KIND_SELF);
}

static MPI_Comm comm_at(const void *where, enum ti_binding binding)
{
    return binding == TI_BINDING_C ? *(const MPI_Comm *)where
                                   : PMPI_Comm_f2c(*(const MPI_Fint *)where);
}

void ti_comm_arrived(int64_t request)
{
    for (uint32_t i = 0; i < ti_comms_late; i++) {
        struct late was = late[i];

        if (was.request != request)
            continue;
        late[i] = late[--ti_comms_late];
        was.entry.comm = comm_at(was.where, was.binding);
        if (was.entry.comm != MPI_COMM_NULL)
            follow(&was.entry);
        return;
    }
}

static struct ti_comm_entry *search(MPI_Comm comm)
{
    struct ti_comm_entry *e = ti_handle_search(&comms, (uintptr_t)comm);

    if (e && !e->marked)
        mark(e);
    return e;
}

const struct ti_comm_entry *ti_comm_find(MPI_Comm comm)
{
    struct ti_comm_entry *e;

    if (__builtin_expect(comms.last->bits == (uintptr_t)comm, 1))
        return (const void *)comms.last;
    e = search(comm);
    if (e)
        comms.last = &e->handle;
    return e;
}

const struct ti_comm_entry *ti_comm_known(MPI_Comm comm)
{
    const struct ti_comm_entry *e = ti_comm_find(comm);

    if (!e)
        ti_stop_unknown("communicator");
    return e;
}

/* ------------------------------------------------------------- recorders -- */

/* Begin the event of a successful creation, with the fields that all creations have.  *parent is
 * set to the communicator it was made from; *made to the new one, whose comm is MPI_COMM_NULL if
 * this rank is no member.  False: nothing to record. */
static bool created(struct ti_mpi_call *c, struct ti_event *ev, enum ti_comm_kind kind,
                    struct ti_comm_entry *parent, struct ti_comm_entry *made)
{
    const struct ti_comm_entry *found = ti_comm_known(c->comm);
    MPI_Comm comm;

    if (!found)
        return false;
    *parent = *found;
    ti_event_begin(ev, TI_M_MADE);
    ev->arg[TI_F_COMM] = parent->index;
    ev->arg[TI_F_NEWCOMM] = TI_NULL;
    comm = ti_comm_of(c, c->newcomm);
    if (comm == MPI_COMM_NULL) {
        *made = (struct ti_comm_entry){.comm = MPI_COMM_NULL};
        return true;
    }
    *made = kind == TI_KIND_DUP ? twin_of(parent, comm) : ask(comm);
    if (c->op == TI_OP_DIST_GRAPH_CREATE)
        made->unordered = true;
    if (!introduce(made, kind))
        return false;
    ev->arg[TI_F_NEWCOMM] = made->index;
    return true;
}

/* The same if neither communicator is needed for the rest of the event. */
static bool simply_created(struct ti_mpi_call *c, struct ti_event *ev, enum ti_comm_kind kind)
{
    struct ti_comm_entry parent, made;

    return created(c, ev, kind, &parent, &made);
}

void ti_rec_comm_dup(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (simply_created(c, &ev, TI_KIND_DUP))
        ti_emit(c, &ev, true);
}

/* The bits of the new handle's variable, unconverted. */
static int64_t raw_handle(const struct ti_mpi_call *c)
{
    if (!c->newcomm) /* MPI reports it */
        return 0;
    return c->binding == TI_BINDING_C ? (int64_t)(uintptr_t) * (MPI_Comm *)c->newcomm
                                      : (int64_t) * (MPI_Fint *)c->newcomm;
}

void ti_pre_comm_idup(struct ti_mpi_call *c)
{
    c->held = raw_handle(c);
}

/*
 * The new communicator must not be used before the request completes.  It is numbered here,
 * because completions come in any order.  Most MPI libraries set the handle at once; otherwise it
 * is read when the request completes.
 */
void ti_rec_comm_idup(struct ti_mpi_call *c)
{
    const struct ti_comm_entry *parent = ti_comm_known(c->comm);
    struct ti_comm_entry made;
    struct ti_event ev;

    if (!parent)
        return;
    ti_event_begin(&ev, TI_M_MADE | TI_M_REQ);
    ev.arg[TI_F_COMM] = parent->index;
    made = twin_of(parent, MPI_COMM_NULL);
    if (!number(&made, TI_KIND_DUP, c->comm))
        return;
    ev.arg[TI_F_NEWCOMM] = made.index;
    ev.arg[TI_F_REQ] = ti_request_add(c, false, false, 0);
    if (raw_handle(c) != c->held) {
        made.comm = ti_comm_of(c, c->newcomm);
        if (!follow(&made))
            return;
    } else if (ti_reserve((void **)&late, &late_bytes, (ti_comms_late + 1) * sizeof *late)) {
        late[ti_comms_late++] = (struct late){c->newcomm, c->binding, ev.arg[TI_F_REQ], made};
    } else {
        ti_stop_recording("no memory to follow %u communicators", ti_comms_late);
        return;
    }
    ti_emit(c, &ev, true);
}

void ti_rec_comm_split(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!simply_created(c, &ev, TI_KIND_SPLIT))
        return;
    ti_event_set(&ev, TI_F_COLOR, c->color == MPI_UNDEFINED ? TI_NULL : c->color);
    ti_event_set(&ev, TI_F_KEY, c->key);
    ti_emit(c, &ev, true);
}

void ti_rec_comm_split_type(struct ti_mpi_call *c)
{
    c->color = c->color == MPI_UNDEFINED ? MPI_UNDEFINED : c->color != MPI_COMM_TYPE_SHARED;
    ti_rec_comm_split(c);
}

void ti_rec_comm_create(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (simply_created(c, &ev, TI_KIND_CREATE))
        ti_emit(c, &ev, true);
}

void ti_rec_comm_create_group(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!simply_created(c, &ev, TI_KIND_CREATE))
        return;
    ti_event_set(&ev, TI_F_TAG, c->tag);
    ti_emit(c, &ev, true);
}

void ti_rec_intercomm_create(struct ti_mpi_call *c)
{
    struct ti_comm_entry local, made;
    const struct ti_comm_entry *leaders;
    struct ti_event ev;

    if (!created(c, &ev, TI_KIND_INTER, &local, &made))
        return;
    ti_event_set(&ev, TI_F_ROOT, c->root);
    ti_event_set(&ev, TI_F_TAG, c->tag);
    if (local.rank == c->root) { /* on other ranks MPI ignores the leaders */
        leaders = ti_comm_known(c->comm2);
        if (!leaders)
            return;
        ti_event_set(&ev, TI_F_COMM2, leaders->index);
        ti_event_set(&ev, TI_F_PEER, (int64_t)c->peer - leaders->rank);
    }
    ti_emit(c, &ev, true);
}

void ti_rec_intercomm_merge(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (!simply_created(c, &ev, TI_KIND_MERGED))
        return;
    ti_event_set(&ev, TI_F_KEY, c->high != 0); /* a LOGICAL may be true as -1 */
    ti_emit(c, &ev, true);
}

/* A truth value per dimension.  A LOGICAL may be true as -1. */
static struct ti_vec truths(const int *of, int n, int32_t truth[MAX_DIMS])
{
    if (n > MAX_DIMS)
        n = MAX_DIMS;
    for (int i = 0; i < n; i++)
        truth[i] = of[i] != 0;
    return (struct ti_vec){truth, 4, n};
}

void ti_rec_cart_create(struct ti_mpi_call *c)
{
    int32_t periods[MAX_DIMS];
    struct ti_event ev;

    if (!simply_created(c, &ev, TI_KIND_CART))
        return;
    ti_event_set(&ev, TI_F_REORDER, c->reorder);
    ev.vec[0] = (struct ti_vec){c->dims, 4, c->ndims};
    ev.vec[1] = truths(c->periods, c->ndims, periods);
    ti_emit(c, &ev, true);
}

void ti_rec_cart_sub(struct ti_mpi_call *c)
{
    int32_t remain[MAX_DIMS];
    struct ti_comm_entry parent, made;
    struct ti_event ev;

    if (!created(c, &ev, TI_KIND_CART, &parent, &made))
        return;
    ev.vec[0] = truths(c->dims, parent.sources / 2, remain);
    ti_emit(c, &ev, true);
}

/* Neighbours' ranks in the new communicator, minus the own one. */
static struct ti_vec relative(int *rank, int n, int own)
{
    for (int i = 0; i < n; i++)
        if (rank[i] != MPI_PROC_NULL)
            rank[i] -= own;
    return (struct ti_vec){rank, 4, n};
}

/* MPI is asked for the neighbours, here and below: only after its creation is a rank's part of a
 * distributed graph known on that rank. */
void ti_rec_graph_create(struct ti_mpi_call *c)
{
    struct ti_comm_entry parent, made;
    struct ti_event ev;
    int *rank, n;

    if (!created(c, &ev, TI_KIND_GRAPH, &parent, &made))
        return;
    ti_event_set(&ev, TI_F_REORDER, c->reorder);
    n = made.sources;
    rank = ti_map((size_t)n * sizeof *rank);
    if (!rank) {
        ti_stop_recording("no memory for the %d neighbours in a graph", n);
        return;
    }
    if (n)
        PMPI_Graph_neighbors(made.comm, made.rank, n, rank);
    ev.vec[0] = relative(rank, n, made.rank);
    ti_emit(c, &ev, true);
    ti_unmap(rank, (size_t)n * sizeof *rank);
}

static struct ti_vec relative_of(const struct ti_neighbour *n, int *delta, int len, int own)
{
    for (int i = 0; i < len; i++)
        delta[i] = n[i].rank - own;
    return (struct ti_vec){delta, 4, len};
}

void ti_rec_dist_graph_create(struct ti_mpi_call *c)
{
    struct ti_comm_entry parent, made;
    const struct ti_neighbour *n;
    struct ti_event ev;
    int *delta, in, out;
    size_t bytes;

    if (!created(c, &ev, TI_KIND_DIST_GRAPH, &parent, &made))
        return;
    ti_event_set(&ev, TI_F_REORDER, c->reorder);
    in = made.sources;
    out = made.destinations;
    n = ti_neighbours(&made);
    bytes = ((size_t)in + (size_t)out) * sizeof *delta;
    delta = ti_map(bytes);
    if (!n || !delta) {
        ti_stop_recording("no memory for the %d neighbours in a graph", in + out);
        return;
    }
    ev.vec[0] = relative_of(n, delta, in, made.rank);
    ev.vec[1] = relative_of(n + in, delta + in, out, made.rank);
    ti_emit(c, &ev, true);
    ti_unmap(delta, bytes);
}

void ti_rec_comm_set_info(struct ti_mpi_call *c)
{
    const struct ti_comm_entry *comm = ti_comm_known(c->comm);
    struct ti_event ev;

    if (!comm)
        return;
    ti_event_begin(&ev, TI_M_COMM);
    ev.arg[TI_F_COMM] = comm->index;
    ti_emit(c, &ev, false);
}

void ti_pre_comm_free(struct ti_mpi_call *c)
{
    /* an unknown handle is no failure here: MPI itself checks it */
    const struct ti_comm_entry *e = c->newcomm ? search(ti_comm_of(c, c->newcomm)) : NULL;

    c->held = e ? (int64_t)e->index : -1;
}

void ti_rec_comm_free(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (c->held < 0) { /* it joins another MPI_COMM_WORLD and was made by an untraced call */
        ti_rec_untraced(c, c->op == TI_OP_COMM_FREE ? "MPI_Comm_free" : "MPI_Comm_disconnect");
        return;
    }
    ti_event_begin(&ev, TI_M_COMM);
    ev.arg[TI_F_COMM] = c->held;
    ti_emit(c, &ev, true);
}
