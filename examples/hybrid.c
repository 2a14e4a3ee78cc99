/*
 * Ranks with OpenMP threads, and communicators by node: an integer sum in rounds.
 *
 * In each round the threads of a rank hash a block of numbers and sum up.  The ranks of a node
 * reduce their sums to its first rank, the first ranks of all nodes reduce theirs among each other,
 * and the result is sent back to all.  So the trace depends on the number of ranks per node, and
 * on the threads that are counted.
 *
 * Verification: rank 0 computes the result again, without threads and messages.
 */
#include "examples/example.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

static const char usage[] = "hybrid [NUMBERS [ROUNDS]], so many numbers a rank";

enum { NUMBERS, ROUNDS, NARGS };

static struct ex_arg args[NARGS] = {
    [NUMBERS] = {"numbers", 100000, 1, INT_MAX},
    [ROUNDS] = {"rounds", 10, 1, INT_MAX},
};

/* About 20 instructions that a compiler cannot remove. */
static uint64_t hash(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t add_up(int64_t first, int64_t numbers, uint64_t seed)
{
    uint64_t sum = 0;

#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int64_t i = first; i < first + numbers; i++)
        sum += hash((uint64_t)i ^ seed);
    return sum;
}

int main(int argc, char **argv)
{
    const char *wrong = ex_args(argc, argv, NARGS, args);
    uint64_t sum = 0, own, of_node = 0, expected = 0;
    int rank, size, level, node_rank;
    MPI_Comm node, heads;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_split(MPI_COMM_WORLD, node_rank ? MPI_UNDEFINED : 0, rank, &heads);
    for (int64_t round = 0; round < args[ROUNDS].value; round++) {
        own = add_up(rank * args[NUMBERS].value, args[NUMBERS].value, sum);
        MPI_Reduce(&own, &of_node, 1, MPI_UINT64_T, MPI_SUM, 0, node);
        if (node_rank == 0)
            MPI_Allreduce(&of_node, &sum, 1, MPI_UINT64_T, MPI_SUM, heads);
        MPI_Bcast(&sum, 1, MPI_UINT64_T, 0, node);
    }
    for (int64_t round = 0; rank == 0 && round < args[ROUNDS].value; round++) {
        uint64_t next = 0;

        for (int64_t i = 0; i < size * args[NUMBERS].value; i++)
            next += hash((uint64_t)i ^ expected);
        expected = next;
    }
    MPI_Bcast(&expected, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (heads != MPI_COMM_NULL)
        MPI_Comm_free(&heads);
    MPI_Comm_free(&node);
    return ex_verdict(rank, sum == expected, "hybrid: %lld numbers, %d ranks",
                      (long long)args[NUMBERS].value, size);
}
