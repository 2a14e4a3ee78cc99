/* Every neighbourhood collective, in all its forms, on every kind of topology:
 * with and without neighbours, null ones at a border, the same one twice, itself,
 * and more partners on one side than on the other. */
#include "tests/mpi/forms.h"

#include <stdbool.h>
#include <unistd.h>

#define MOST  32 /* neighbours on a side */
#define APART 8  /* ints between what is for one neighbour and for the next */

static int me;
static int c; /* number of comm in the trace */
static MPI_Comm comm;
static int sources, source[MOST], destinations, destination[MOST]; /* ranks in comm */
static int weight[MOST];                                           /* zeros */
static bool any_order; /* MPI may have the neighbours in any order; the trace ascends */
static int counts[MOST], counts2[MOST], displs[MOST];
static MPI_Datatype pair; /* 2 ints of every 4: 8 bytes packed */

/* " name=[3,0,4]", nothing for a vector without elements; one for each of the
 * neighbours `of`, in the order that the trace has them in. */
static const char *vector(const char *name, const int *v, int n, const int *of, int scale)
{
    static char text[2][600];
    static int turn;
    char *t = text[turn = !turn];
    int traced[MOST] = {0};

    for (int k = 0; k < n; k++) {
        int place = any_order ? 0 : k;

        for (int other = 0; any_order && other < n; other++)
            place += of[other] < of[k];
        traced[place] = v[k];
    }
    snprintf(t, sizeof text[0], n ? " %s=[%s]" : "", name, list(traced, n, scale));
    return t;
}

/* Elements that `from` has for `to`; those of a null neighbour count for nothing. */
static int amount(int from, int to)
{
    return from == MPI_PROC_NULL || to == MPI_PROC_NULL ? 5 : (from + 2 * to) % 3;
}

/* in: for each destination APART ints that tell both ends. */
static void fill_blocks(int apart)
{
    fill(me);
    for (int k = 0; k < destinations; k++)
        for (int i = 0; i < apart; i++)
            in[apart * k + i] = value(me, 100 * destination[k] + i);
}

/* out[at...] has the n ints that source k had for us, or nothing of no source. */
static void must_have_of(int k, int at_, int n)
{
    if (source[k] == MPI_PROC_NULL)
        MUST(out[at_] == -1);
    else
        must_have(at_, n, source[k], 100 * me);
}

static void gathers(void)
{
    fill(me);
    event("neighbor_allgather comm=%d bytes=12 esize=4 rbytes=12 resize=1", c);
    CALL(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, in, 3, MPI_INT, out, 12,
         MPI_BYTE, comm);
    for (int k = 0; k < sources; k++)
        for (int i = 0; i < 3; i++)
            MUST(out[3 * k + i] == (source[k] == MPI_PROC_NULL ? -1 : value(source[k], i)));

    for (int k = 0; k < sources; k++) {
        counts[k] = source[k] == MPI_PROC_NULL ? 7 : source[k] % 3;
        displs[k] = APART * k;
    }
    fill(me);
    event("neighbor_allgatherv comm=%d bytes=%d esize=4 resize=4%s", c, 4 * (me % 3),
          vector("recvcounts", counts, sources, source, 1));
    CALL(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, in, me % 3, MPI_INT,
         out, counts, displs, MPI_INT, comm);
    for (int k = 0; k < sources; k++)
        if (source[k] != MPI_PROC_NULL)
            must_have(APART * k, counts[k], source[k], 0);
}

static void alltoall(void)
{
    fill_blocks(4);
    event("neighbor_alltoall comm=%d bytes=16 esize=8 rbytes=16 resize=4", c);
    CALL(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, in, 2, MPI_2INT, out, 4,
         MPI_INT, comm);
    for (int k = 0; k < 4 * sources; k++)
        MUST(out[k] ==
             (source[k / 4] == MPI_PROC_NULL ? -1 : value(source[k / 4], 100 * me + k % 4)));
}

static void alltoallv(void)
{
    int displs2[MOST];

    for (int k = 0; k < destinations; k++) {
        counts[k] = amount(me, destination[k]);
        displs[k] = APART * k;
    }
    for (int k = 0; k < sources; k++) {
        counts2[k] = 4 * amount(source[k], me);
        displs2[k] = 4 * APART * k;
    }
    fill_blocks(APART);
    event("neighbor_alltoallv comm=%d esize=4 resize=1%s%s", c,
          vector("sendcounts", counts, destinations, destination, 1),
          vector("recvcounts", counts2, sources, source, 1));
    CALL(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, in, counts, displs,
         MPI_INT, out, counts2, displs2, MPI_BYTE, comm);
    for (int k = 0; k < sources; k++)
        must_have_of(k, APART * k, counts2[k] / 4);
}

/* Pairs of ints: as pairs, ints or bytes. */
static void alltoallw(void)
{
    MPI_Datatype types[MOST], types2[MOST];
    MPI_Aint displs_w[MOST];
    int sent[MOST], received[MOST];

    for (int k = 0; k < destinations; k++) {
        sent[k] = amount(me, destination[k]);
        types[k] = k % 2 ? MPI_BYTE : MPI_2INT;
        counts[k] = sent[k] * (k % 2 ? 8 : 1);
    }
    for (int k = 0; k < sources; k++) {
        received[k] = amount(source[k], me);
        types2[k] = k % 2 ? pair : MPI_INT;
        counts2[k] = received[k] * (k % 2 ? 1 : 2);
    }
    for (int k = 0; k < MOST; k++)
        displs_w[k] = (MPI_Aint)sizeof *in * 2 * APART * k;
    fill_blocks(2 * APART);
    event("neighbor_alltoallw comm=%d esize=1 resize=1%s%s", c,
          vector("sendbytes", sent, destinations, destination, 8),
          vector("recvbytes", received, sources, source, 8));
    CALL(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, in, counts, displs_w,
         types, out, counts2, displs_w, types2, comm);
    for (int k = 0; k < sources; k++)
        for (int i = 0; i < 2 * received[k] && source[k] != MPI_PROC_NULL; i++)
            MUST(out[2 * APART * k + (k % 2 ? i / 2 * 4 + i % 2 : i)] ==
                 value(source[k], 100 * me + i));
}

/* On `made`, whose neighbours are in source and destination. */
static void everything(MPI_Comm made)
{
    comm = made;
    for (form = BLOCKING; form < FORMS; form++) {
        gathers();
        alltoall();
        alltoallv();
        alltoallw();
    }
    expect("comm_free comm=%d", c);
    MPI_Comm_free(&made);
    c++;
}

/* The neighbours' places relative to ours, as creations have them. */
static const char *relative(const char *name, const int *v, int n)
{
    int delta[MOST] = {0};

    for (int k = 0; k < n; k++)
        delta[k] = v[k] - me;
    return vector(name, delta, n, v, 1);
}

static void cartesian(int ndims, const int *dims, const int *periods)
{
    MPI_Comm cart;

    expect("cart_create comm=0 newcomm=%d reorder=0 dims=[%s] periods=[%s]", c,
           list(dims, ndims, 1), list(periods, ndims, 1));
    MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &cart);
    for (int k = 0; k < ndims; k++)
        MPI_Cart_shift(cart, k, 1, &source[2 * k], &source[2 * k + 1]);
    memcpy(destination, source, sizeof source);
    sources = destinations = 2 * ndims;
    everything(cart);
}

/* Rank 0 with all others; the last with itself. */
static void star(void)
{
    int index[MOST], edges[3 * MOST], n = 0;
    MPI_Comm graph;

    for (int r = 0; r < size; r++) {
        for (int other = 1; other < size && r == 0; other++)
            edges[n++] = other;
        if (r > 0)
            edges[n++] = 0;
        if (r == size - 1)
            edges[n++] = r;
        index[r] = n;
    }
    sources = destinations = index[me] - (me ? index[me - 1] : 0);
    memcpy(source, edges + index[me] - sources, (size_t)sources * sizeof *source);
    memcpy(destination, source, sizeof source);
    expect("graph_create comm=0 newcomm=%d reorder=0%s", c,
           relative("neighbours", source, sources));
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    everything(graph);
}

/* From each rank to all behind it; and from nobody to nobody. */
static void adjacent(bool with_neighbours)
{
    MPI_Comm graph;

    sources = destinations = 0;
    for (int r = 0; r < size && with_neighbours; r++) {
        if (r < me)
            source[sources++] = r;
        if (r > me)
            destination[destinations++] = r;
    }
    expect("dist_graph_create_adjacent comm=0 newcomm=%d reorder=0%s%s", c,
           relative("sources", source, sources),
           relative("destinations", destination, destinations));
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, source, weight, destinations,
                                   destination, weight, MPI_INFO_NULL, 0, &graph);
    everything(graph);
}

/* A ring of which rank 0 alone knows; a duplicate has the same neighbours. */
static void ring(void)
{
    int node[MOST], degree[MOST], target[MOST];
    MPI_Comm graph, twin;

    for (int r = 0; r < size; r++) {
        node[r] = r;
        degree[r] = 1;
        target[r] = (r + 1) % size;
    }
    sources = destinations = 1;
    source[0] = (me + size - 1) % size;
    destination[0] = target[me];
    expect("dist_graph_create comm=0 newcomm=%d reorder=0%s%s", c, relative("sources", source, 1),
           relative("destinations", destination, 1));
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, node, degree, target, weight,
                          MPI_INFO_NULL, 0, &graph);
    expect("comm_dup comm=%d newcomm=%d", c, c + 1);
    MPI_Comm_dup(graph, &twin);
    expect("comm_free comm=%d", c);
    MPI_Comm_free(&graph);
    c++;
    everything(twin);
}

/* From each rank to all, of which each says its own part when it comes by: MPI may
 * have the sources as they came. */
static void web(void)
{
    int target[MOST], weights[2][MOST];
    MPI_Comm graph;

    for (int r = 0; r < size; r++)
        target[r] = (rank + r) % size;
    usleep(20000 * (unsigned)((rank * 7 + (int)getpid()) % size));
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &size, target, weight, MPI_INFO_NULL, 0, &graph);
    sources = destinations = size;
    MPI_Dist_graph_neighbors(graph, size, source, weights[0], size, destination, weights[1]);
    any_order = true;
    expect("dist_graph_create comm=0 newcomm=%d reorder=0%s%s", c,
           relative("sources", source, size), relative("destinations", destination, size));
    everything(graph);
    any_order = false;
}

int main(int argc, char **argv)
{
    int grid[2] = {0, 0}, yes_no[2] = {1, 0}, no_yes[2] = {0, 1};

    MPI_Init(&argc, &argv);
    expect_begin(0);
    me = rank;
    MUST(size < MOST);
    MPI_Type_vector(1, 2, 4, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * (MPI_Aint)sizeof *in, &pair);
    MPI_Type_commit(&pair);
    MPI_Dims_create(size, 2, grid);
    c = 2;
    cartesian(1, &size, no_yes);
    cartesian(1, &size, yes_no);
    cartesian(2, grid, no_yes);
    star();
    adjacent(true);
    adjacent(false);
    ring();
    web();
    MPI_Type_free(&pair);
    expect_end();
    MPI_Finalize();
    return 0;
}
