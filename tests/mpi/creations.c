/*
 * Every way to make a communicator, each against its event; what is on it proves
 * whom it has.  In C; creations.inc and creations_f08.f90 are the same in Fortran.
 */
#include <stdbool.h>

#include "tests/mpi/expect.h"

#define MOST 64

static int met = 2; /* communicators this rank has met: the next one's number */
static int everybody[MOST], halves[2][MOST], half_size[2], half;
static int next, prev;           /* in the world */
static int *volatile unweighted; /* MPI_UNWEIGHTED, an address gcc warns about */

static int me_in(MPI_Comm comm)
{
    int me;

    MPI_Comm_rank(comm, &me);
    return me;
}

/* A message to the next rank of comm, whose number is c and whose n ranks are
 * `world` in the world, and from the one before. */
static void ring(MPI_Comm comm, int c, const int *world, int n)
{
    int me = me_in(comm), to_rank = (me + 1) % n, from = (me + n - 1) % n, got = -1, of;

    MPI_Comm_size(comm, &of);
    MUST(of == n && world[me] == rank);
    expect("sendrecv comm=%d peer=%s tag=3 bytes=4 esize=4 rpeer=%s rtag=3 rbytes=4 resize=4", c,
           at(to_rank - me, world[to_rank]), at(from - me, world[from]));
    MPI_Sendrecv(&rank, 1, MPI_INT, to_rank, 3, &got, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE);
    MUST(got == world[from]);
}

/* The same on an intercommunicator: to and from the rank with our number in the
 * other group, or the last one. */
static void cross(MPI_Comm comm, int c, const int *own, int n, const int *other, int m)
{
    int me = me_in(comm), peer = me < m ? me : m - 1, of, got = -1;

    MPI_Comm_remote_size(comm, &of);
    MUST(of == m && own[me] == rank);
    if (me >= n || me >= m)
        return;
    expect("sendrecv comm=%d peer=%s tag=4 bytes=4 esize=4 rpeer=%s rtag=4 rbytes=4 resize=4", c,
           at(peer - me, other[peer]), at(peer - me, other[peer]));
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 4, &got, 1, MPI_INT, peer, 4, comm, MPI_STATUS_IGNORE);
    MUST(got == other[peer]);
}

static void release(MPI_Comm *comm, int c)
{
    expect("comm_free comm=%d", c);
    MPI_Comm_free(comm);
    MUST(*comm == MPI_COMM_NULL);
}

static void duplicates(void)
{
    MPI_Comm a, b, d;
    MPI_Request requests[2];
    MPI_Info info;

    expect("comm_dup comm=0 newcomm=%d", met);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    ring(a, met, everybody, size);
    expect("comm_set_info comm=%d", met);
    MPI_Info_create(&info);
    MPI_Comm_set_info(a, info);
    MPI_Info_free(&info);
    expect("comm_disconnect comm=%d", met++);
    MPI_Comm_disconnect(&a);
    MUST(a == MPI_COMM_NULL);
    expect("comm_dup_with_info comm=0 newcomm=%d", met);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &a);
    ring(a, met, everybody, size);
    release(&a, met++);

    /* numbered as they are asked for, whenever they are there */
    expect("comm_idup comm=0 req=0 newcomm=%d", met);
    MPI_Comm_idup(MPI_COMM_WORLD, &a, &requests[0]);
    expect("wait req=0");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect("comm_idup comm=%d req=0 newcomm=%d", met, met + 1);
    MPI_Comm_idup(a, &b, &requests[0]);
    expect("comm_idup comm=0 req=1 newcomm=%d", met + 2);
    MPI_Comm_idup(MPI_COMM_WORLD, &d, &requests[1]);
    expect("waitall all=1");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    ring(d, met + 2, everybody, size);
    ring(b, met + 1, everybody, size);
    release(&d, met + 2);
    release(&a, met);
    ring(b, met + 1, everybody, size);
    release(&b, met + 1);
    met += 3;
}

static void splits(void)
{
    MPI_Comm comm, twin;
    int backwards[MOST], odd = rank % 2;

    for (int i = 0; i < half_size[half]; i++)
        backwards[i] = halves[half][half_size[half] - 1 - i];
    expect("comm_split comm=0 color=%d key=%d newcomm=%d", odd, -rank, met);
    MPI_Comm_split(MPI_COMM_WORLD, odd, -rank, &comm);
    ring(comm, met, backwards, half_size[half]);
    expect("comm_dup comm=%d newcomm=%d", met, met + 1);
    MPI_Comm_dup(comm, &twin);
    ring(twin, met + 1, backwards, half_size[half]);
    release(&comm, met);
    release(&twin, met + 1);
    met += 2;

    if (odd)
        expect("comm_split comm=0 color=null key=0 newcomm=null");
    else
        expect("comm_split comm=0 color=0 key=0 newcomm=%d", met);
    MPI_Comm_split(MPI_COMM_WORLD, odd ? MPI_UNDEFINED : 0, 0, &comm);
    MUST((comm == MPI_COMM_NULL) == odd);
    if (!odd) {
        ring(comm, met, halves[0], half_size[0]);
        release(&comm, met++);
    }

    /* this is one machine */
    expect("comm_split_type comm=0 color=0 key=%d newcomm=%d", rank, met);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
    ring(comm, met, everybody, size);
    release(&comm, met++);
    expect("comm_split_type comm=0 color=null key=0 newcomm=null");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm);
    MUST(comm == MPI_COMM_NULL);
}

static void groups(void)
{
    MPI_Group world, group;
    MPI_Comm comm;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, half_size[0], halves[0], &group);
    if (half == 0)
        expect("comm_create comm=0 newcomm=%d", met);
    else
        expect("comm_create comm=0 newcomm=null");
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    MUST((comm == MPI_COMM_NULL) == (half == 1));
    if (half == 0) {
        ring(comm, met, halves[0], half_size[0]);
        release(&comm, met++);
    }
    MPI_Group_free(&group);

    /* only its members call */
    if (half == 1) {
        MPI_Group_incl(world, half_size[1], halves[1], &group);
        expect("comm_create_group comm=0 tag=5 newcomm=%d", met);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm);
        ring(comm, met, halves[1], half_size[1]);
        release(&comm, met++);
        MPI_Group_free(&group);
    }
    MPI_Group_free(&world);
}

static void grids(void)
{
    int dims[3] = {1, size, 1}, periods[3] = {0, 1, 0}, remain[3] = {1, 1, 0}, none[3] = {0};
    MPI_Comm grid, plane, point;

    expect("cart_create comm=0 newcomm=%d reorder=0 dims=[1,%d,1] periods=[0,1,0]", met, size);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
    ring(grid, met, everybody, size);
    expect("cart_sub comm=%d newcomm=%d remain=[1,1,0]", met, met + 1);
    MPI_Cart_sub(grid, remain, &plane);
    ring(plane, met + 1, everybody, size);
    expect("cart_sub comm=%d newcomm=%d remain=[0,0,0]", met, met + 2);
    MPI_Cart_sub(grid, none, &point);
    ring(point, met + 2, &rank, 1);
    release(&point, met + 2);
    release(&plane, met + 1);
    release(&grid, met);
    met += 3;

    dims[1] = 1; /* room for one */
    if (rank == 0)
        expect("cart_create comm=0 newcomm=%d reorder=1 dims=[1,1,1] periods=[0,1,0]", met);
    else
        expect("cart_create comm=0 newcomm=null reorder=1 dims=[1,1,1] periods=[0,1,0]");
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &grid);
    MUST((grid == MPI_COMM_NULL) == (rank != 0));
    if (rank == 0)
        release(&grid, met++);
}

/* "0,1,2" for 3. */
static const char *up_to(int n)
{
    static char text[4 * MOST];
    int used = 0;

    for (int i = 0; i < n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, i ? ",%d" : "%d", i);
    return text;
}

static void graphs(void)
{
    int index[MOST], edges[2 * MOST], degree = 1, weight = 7;
    MPI_Comm graph, twin;

    /* everybody with both that are beside */
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % size;
        edges[2 * i + 1] = (i + size - 1) % size;
    }
    expect("graph_create comm=0 newcomm=%d reorder=0 neighbours=[%d,%d]", met, next - rank,
           prev - rank);
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    ring(graph, met, everybody, size);
    release(&graph, met++);
    index[0] = 0; /* alone */
    if (rank == 0)
        expect("graph_create comm=0 newcomm=%d reorder=0", met);
    else
        expect("graph_create comm=0 newcomm=null reorder=0");
    MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &graph);
    if (rank == 0)
        release(&graph, met++);

    /* from the one before to the next */
    expect("dist_graph_create_adjacent comm=0 newcomm=%d reorder=0 sources=[%d] destinations=[%d]",
           met, prev - rank, next - rank);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &prev, unweighted, 1, &next, unweighted,
                                   MPI_INFO_NULL, 0, &graph);
    ring(graph, met, everybody, size);
    expect("comm_dup comm=%d newcomm=%d", met, met + 1);
    MPI_Comm_dup(graph, &twin);
    release(&graph, met);
    ring(twin, met + 1, everybody, size);
    release(&twin, met + 1);
    met += 2;
    expect("dist_graph_create_adjacent comm=0 newcomm=%d reorder=0 sources=[%d] destinations=[%d]",
           met, prev - rank, next - rank);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &prev, &weight, 1, &next, &weight,
                                   MPI_INFO_NULL, 0, &graph);
    release(&graph, met++);
    /* the edge that goes from us is told by us; those to us we did not know */
    expect("dist_graph_create comm=0 newcomm=%d reorder=0 sources=[%d] destinations=[%d]", met,
           prev - rank, next - rank);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &next, &weight, MPI_INFO_NULL, 0,
                          &graph);
    ring(graph, met, everybody, size);
    release(&graph, met++);
    /* rank 0 tells all: everybody is before it */
    for (int i = 0; i < size; i++) {
        edges[i] = i;
        index[i] = 1;
        edges[MOST + i] = 0;
    }
    if (rank == 0)
        expect("dist_graph_create comm=0 newcomm=%d reorder=0 sources=[%s] destinations=[0]", met,
               up_to(size));
    else
        expect("dist_graph_create comm=0 newcomm=%d reorder=0 destinations=[%d]", met, -rank);
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, edges, index, edges + MOST,
                          unweighted, MPI_INFO_NULL, 0, &graph);
    release(&graph, met++);
}

/* Between the even and the odd ranks; with a single rank there is nobody else. */
static void between(void)
{
    const int *own = halves[half], *other = halves[1 - half];
    int n = half_size[half], m = half_size[1 - half], leader = n - 1, local = met, zero = 0, c;
    int all[MOST];
    MPI_Comm mine, inter, twin, part, merged;
    MPI_Group group, first;

    if (size == 1)
        return;
    expect("comm_split comm=0 color=%d key=0 newcomm=%d", half, met++);
    MPI_Comm_split(MPI_COMM_WORLD, half, 0, &mine);
    /* the last of each are its leaders; others need not know whom to talk to */
    if (rank == own[leader])
        expect("intercomm_create comm=%d peer=%s tag=12 root=%d newcomm=%d peercomm=0", local,
               to(other[m - 1]), leader, met);
    else
        expect("intercomm_create comm=%d tag=12 root=%d newcomm=%d", local, leader, met);
    MPI_Intercomm_create(mine, leader, rank == own[leader] ? MPI_COMM_WORLD : MPI_COMM_NULL,
                         rank == own[leader] ? other[m - 1] : -77, 12, &inter);
    release(&mine, local);
    cross(inter, met, own, n, other, m);
    expect("comm_dup comm=%d newcomm=%d", met, met + 1);
    MPI_Comm_dup(inter, &twin);
    cross(twin, met + 1, own, n, other, m);
    release(&twin, met + 1);

    /* the first of each group */
    if (rank == own[0])
        expect("comm_split comm=%d color=1 key=0 newcomm=%d", met, met + 2);
    else
        expect("comm_split comm=%d color=null key=0 newcomm=null", met);
    MPI_Comm_split(inter, rank == own[0] ? 1 : MPI_UNDEFINED, 0, &twin);
    MPI_Comm_group(inter, &group);
    MPI_Group_incl(group, 1, &zero, &first);
    if (rank == own[0])
        expect("comm_create comm=%d newcomm=%d", met, met + 3);
    else
        expect("comm_create comm=%d newcomm=null", met);
    MPI_Comm_create(inter, first, &part);
    MPI_Group_free(&first);
    MPI_Group_free(&group);
    if (rank == own[0]) {
        cross(twin, met + 2, own, 1, other, 1);
        cross(part, met + 3, own, 1, other, 1);
        release(&twin, met + 2);
        release(&part, met + 3);
    }
    c = met + (rank == own[0] ? 4 : 2);

    /* the odd ones before the even ones */
    for (int i = 0; i < size; i++)
        all[i] = i < half_size[1] ? halves[1][i] : halves[0][i - half_size[1]];
    expect("intercomm_merge comm=%d key=%d newcomm=%d", met, half == 0, c);
    MPI_Intercomm_merge(inter, half == 0, &merged);
    release(&inter, met);
    ring(merged, c, all, size);
    release(&merged, c);
    met = c + 1;
}

/* While nothing else is recorded, communicators are. */
static void unrecorded(void)
{
    MPI_Request request;
    MPI_Comm comm, twin;

    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    expect("comm_dup comm=0 newcomm=%d", met);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    expect("comm_idup comm=%d req=0 newcomm=%d", met, met + 1);
    MPI_Comm_idup(comm, &twin, &request);
    expect("wait req=0");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    release(&comm, met);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    ring(twin, met + 1, everybody, size);
    release(&twin, met + 1);
    met += 2;
}

/* New ones get the handles of those that were freed, never their numbers; many at
 * once are told apart. */
static void many(void)
{
    MPI_Comm comm[200];

    for (int i = 0; i < 200; i++) {
        expect("comm_dup comm=1 newcomm=%d", met);
        MPI_Comm_dup(MPI_COMM_SELF, &comm[0]);
        if (i % 2)
            release(&comm[0], met);
        else
            PMPI_Comm_free(&comm[0]); /* as a library may that looks past us */
        met++;
    }
    for (int i = 0; i < 200; i++) {
        expect("comm_split comm=0 color=%d key=0 newcomm=%d", rank, met + i);
        MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comm[i]);
    }
    for (int i = 199; i >= 0; i--) {
        ring(comm[i], met + i, &rank, 1);
        release(&comm[i], met + i);
    }
    met += 200;
}

int main(int argc, char **argv)
{
    bool sequence = argc > 1; /* no more than the Fortran programs do */

    MPI_Init(&argc, &argv);
    unweighted = MPI_UNWEIGHTED;
    expect_begin(0);
    MUST(size <= MOST);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    half = rank % 2;
    for (int i = 0; i < size; i++) {
        everybody[i] = i;
        halves[i % 2][half_size[i % 2]++] = i;
    }
    duplicates();
    splits();
    groups();
    grids();
    graphs();
    between();
    unrecorded();
    if (!sequence)
        many();
    expect_end();
    MPI_Finalize();
    return 0;
}
