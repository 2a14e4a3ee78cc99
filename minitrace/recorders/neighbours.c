/*
 * Neighbours in a distributed graph.
 *
 * After MPI_Dist_graph_create, MPI may list a rank's neighbours in any order, for example in the
 * order in which messages arrived, which depends on time.  In the trace they ascend, and the
 * counts of collectives follow the same order.
 */
#include <string.h>

#include "minitrace/recorders/shared.h"

static struct ti_neighbour *list; /* of the communicator asked for last */
static size_t list_bytes;
static uint32_t asked; /* its index; 0: none, since MPI_COMM_WORLD has no neighbours */

/* Edges between the same two ranks are ordered by weight. */
static bool before(const struct ti_neighbour *a, const struct ti_neighbour *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->weight != b->weight)
        return a->weight < b->weight;
    return a->place < b->place;
}

/* Sift n[at] down the heap. */
static void sink(struct ti_neighbour *n, int at, int len)
{
    struct ti_neighbour moved = n[at];

    for (int child; (child = 2 * at + 1) < len; at = child) {
        if (child + 1 < len && before(&n[child], &n[child + 1]))
            child++;
        if (!before(&moved, &n[child]))
            break;
        n[at] = n[child];
    }
    n[at] = moved;
}

/* Heap sort, because qsort() may allocate from the application's heap. */
static void sort(struct ti_neighbour *n, int len)
{
    for (int i = len / 2 - 1; i >= 0; i--)
        sink(n, i, len);
    for (int end = len - 1; end > 0; end--) {
        struct ti_neighbour last = n[end];

        n[end] = n[0];
        n[0] = last;
        sink(n, 0, end);
    }
}

static void fill(struct ti_neighbour *n, int len, const int *rank, const int *weight)
{
    for (int i = 0; i < len; i++)
        n[i] = (struct ti_neighbour){rank[i], weight[i], i};
}

const struct ti_neighbour *ti_neighbours(const struct ti_comm_entry *comm)
{
    static int *scratch;
    static size_t scratch_bytes;
    size_t in = (size_t)comm->sources, out = (size_t)comm->destinations, both = in + out;
    int *source, *destination;

    if (asked == comm->index && asked)
        return list;
    asked = 0;
    if (!ti_reserve((void **)&list, &list_bytes, (both + 1) * sizeof *list) ||
        !ti_reserve((void **)&scratch, &scratch_bytes, (2 * both + 1) * sizeof *scratch))
        return NULL;
    source = scratch;
    destination = source + 2 * in;
    memset(scratch, 0, 2 * both * sizeof *scratch); /* MPI may leave weights unset */
    PMPI_Dist_graph_neighbors(comm->comm, comm->sources, source, source + in, comm->destinations,
                              destination, destination + out);
    fill(list, comm->sources, source, source + in);
    fill(list + in, comm->destinations, destination, destination + out);
    if (comm->unordered) {
        sort(list, comm->sources);
        sort(list + in, comm->destinations);
    }
    asked = comm->index;
    return list;
}
