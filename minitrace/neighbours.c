/*
 * Neighbours in a distributed graph.
 *
 * Of one that MPI_Dist_graph_create made, MPI fills in a rank's neighbours in any
 * order; that of the arrival of messages, for example, which is a matter of time.
 * In the trace they ascend, and so do the counts of collectives with them.
 */
#include <string.h>

#include "minitrace/state.h"

static struct ti_neighbour *list; /* of the communicator asked about last */
static size_t list_bytes;
static uint32_t asked; /* its index; 0: none yet, for the world has no neighbours */

/* Edges between the same two ranks are told apart by their weights. */
static bool before(const struct ti_neighbour *a, const struct ti_neighbour *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->weight != b->weight)
        return a->weight < b->weight;
    return a->place < b->place;
}

/* Let n[at] sink to where no child is behind it. */
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

/* A heap sort: qsort() may take memory of the application's heap. */
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
        !ti_reserve((void **)&scratch, &scratch_bytes, (2 * both + 1) * sizeof *scratch)) {
        ti_stop_recording("no memory for the %zu neighbours in a graph", both);
        return NULL;
    }
    source = scratch;
    destination = source + 2 * in;
    memset(scratch, 0, 2 * both * sizeof *scratch); /* of no weights nothing may be written */
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
