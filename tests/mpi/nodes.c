/* Answers of MPI about nodes: nodes N, N ranks a node being what TIARA_RANKS_PER_NODE says,
 * or 0, as it is here (one node).  A type of MPI's own, MPI_UNDEFINED on some ranks, keys, other
 * communicators, and shared memory. */
#include "tests/mpi/expect.h"

#include <string.h>

static void check(MPI_Comm comm, int key, int want_size, int want_rank)
{
    MPI_Comm node;
    int n, r;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    MPI_Comm_rank(node, &r);
    MUST(n == want_size && r == want_rank);
    MPI_Comm_free(&node);
}

int main(int argc, char **argv)
{
    int per_node, first, here, len, *memory, *first_memory, unit;
    char name[MPI_MAX_PROCESSOR_NAME], want[64];
    MPI_Comm node, backwards;
    MPI_Aint bytes;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    expect_begin(0);
    per_node = atoi(argv[1]) ? atoi(argv[1]) : size;
    first = rank / per_node * per_node;
    here = first + per_node < size ? per_node : size - first;
    check(MPI_COMM_WORLD, 0, here, rank - first);
    check(MPI_COMM_WORLD, -rank, here, here - 1 - (rank - first));
    check(MPI_COMM_SELF, 0, 1, 0);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    check(backwards, 0, here, here - 1 - (rank - first));
    MPI_Comm_free(&backwards);

    /* rank 0 takes no part */
    MPI_Comm_split_type(MPI_COMM_WORLD, rank ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0,
                        MPI_INFO_NULL, &node);
    MUST((node == MPI_COMM_NULL) == (rank == 0));
    if (rank) {
        MPI_Comm_size(node, &len);
        MUST(len == here - (first == 0));
        MPI_Comm_free(&node);
    }

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(sizeof *memory, 1, MPI_INFO_NULL, node, &memory, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &first_memory);
    if (rank == first)
        *first_memory = 1000 + rank;
    MPI_Win_fence(0, win);
    MUST(*first_memory == 1000 + first);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);

    MPI_Get_processor_name(name, &len);
    snprintf(want, sizeof want, "node-%04d", rank / per_node);
    MUST(len == (int)strlen(name));
    MUST((strcmp(name, want) == 0) == (atoi(argv[1]) != 0));
    expect_end();
    MPI_Finalize();
    return 0;
}
