/*
 * IS-like: integer bucket sort.  In each iteration a rank changes one of its
 * keys, divides its keys into one bucket per rank, exchanges the sizes of
 * buckets (Alltoall) and the keys (Alltoallv), and sorts the received keys.
 *
 * Keys lie around the middle of their range, so bucket sizes differ a lot.
 *
 * Verification: number and sum of the keys after each iteration, their order
 * within and across ranks after the last one.
 */
#include "examples/example.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

enum { KEY_BITS = 16, KEY_RANGE = 1 << KEY_BITS };

static const char usage[] = "is [KEYS_PER_RANK [ITERATIONS]]";

enum { KEYS, ITERATIONS, NARGS };

static struct ex_arg args[NARGS] = {
    [KEYS] = {"keys per rank", 65536, 1, INT_MAX},
    [ITERATIONS] = {"iterations", 10, 1, INT_MAX},
};

static int rank, np;

/* The generator x -> a x + c of Knuth's MMIX.  Only its upper bits are random enough. */
static const uint64_t lcg_a = 6364136223846793005u, lcg_c = 1442695040888963407u;

/* The state after `steps` steps.  Ranks use disjoint parts of one sequence. */
static uint64_t lcg_jump(uint64_t state, uint64_t steps)
{
    uint64_t a = lcg_a, c = lcg_c;

    for (; steps; steps >>= 1) {
        if (steps & 1)
            state = a * state + c;
        c *= a + 1;
        a *= a;
    }
    return state;
}

/* A key is the mean of four random numbers. */
static void make_keys(int *keys, int nkeys)
{
    uint64_t state = lcg_jump(1, 4 * (uint64_t)nkeys * (uint64_t)rank);

    for (int i = 0; i < nkeys; i++) {
        uint64_t sum = 0;

        for (int k = 0; k < 4; k++) {
            state = lcg_a * state + lcg_c;
            sum += state >> (64 - KEY_BITS);
        }
        keys[i] = (int)(sum / 4);
    }
}

/* Rank `b` sorts the keys from first_key(b) to first_key(b + 1) - 1. */
static int bucket_of(int key)
{
    return (int)((int64_t)key * np >> KEY_BITS);
}

static int first_key(int bucket)
{
    return (int)((((int64_t)bucket << KEY_BITS) + np - 1) / np);
}

/* Copy keys to `out`, bucket by bucket.  counts[] and places[] are the sizes and offsets of
 * buckets. */
static void fill_buckets(const int *keys, int nkeys, int *out, int *counts, int *places)
{
    for (int b = 0; b < np; b++)
        counts[b] = 0;
    for (int i = 0; i < nkeys; i++)
        counts[bucket_of(keys[i])]++;
    for (int b = 0, place = 0; b < np; place += counts[b++])
        places[b] = place;
    for (int i = 0; i < nkeys; i++)
        out[places[bucket_of(keys[i])]++] = keys[i];
    for (int b = 0; b < np; b++)
        places[b] -= counts[b];
}

/* Counting sort.  `tally` has an element for each key value of the bucket. */
static void sort_keys(int *keys, int nkeys, int *tally)
{
    int first = first_key(rank), range = first_key(rank + 1) - first;

    for (int v = 0; v < range; v++)
        tally[v] = 0;
    for (int i = 0; i < nkeys; i++)
        tally[keys[i] - first]++;
    for (int v = 0; v < range; v++)
        for (int i = tally[v]; i > 0; i--)
            *keys++ = first + v;
}

static int64_t sum_of(const int *keys, int nkeys)
{
    int64_t sum = 0;

    for (int i = 0; i < nkeys; i++)
        sum += keys[i];
    return sum;
}

/* Whether the keys are in order, on each rank and from rank to rank. */
static bool in_order(const int *keys, int nkeys)
{
    int last = nkeys ? keys[nkeys - 1] : -1, before = -1, ok = 1, all_ok;

    MPI_Exscan(&last, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        before = -1;
    for (int i = 0; i < nkeys; i++) {
        ok &= keys[i] >= before;
        before = keys[i];
    }
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all_ok;
}

int main(int argc, char **argv)
{
    const char *wrong;
    int nkeys, got = 0, room = 0;
    int *keys, *out, *in = NULL, *tally, *counts, *places, *in_counts, *in_places;
    bool ok = true;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    wrong = ex_args(argc, argv, NARGS, args);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    if (args[KEYS].value * np > INT_MAX)
        return ex_usage(rank, usage, "more than %d keys on all %d ranks", INT_MAX, np);
    if (np > KEY_RANGE)
        return ex_usage(rank, usage, "more than %d ranks", KEY_RANGE);

    nkeys = (int)args[KEYS].value;
    keys = ex_zeros(nkeys, sizeof *keys);
    out = ex_zeros(nkeys, sizeof *out);
    tally = ex_zeros(first_key(rank + 1) - first_key(rank), sizeof *tally);
    counts = ex_zeros(np, sizeof *counts);
    places = ex_zeros(np, sizeof *places);
    in_counts = ex_zeros(np, sizeof *in_counts);
    in_places = ex_zeros(np, sizeof *in_places);
    make_keys(keys, nkeys);

    for (int64_t iteration = 0; iteration < args[ITERATIONS].value; iteration++) {
        int *key = &keys[iteration % nkeys];
        int64_t rest[2], all_rest[2];

        *key = (int)((*key + 977 * (iteration + 1)) % KEY_RANGE);
        fill_buckets(keys, nkeys, out, counts, places);
        MPI_Alltoall(counts, 1, MPI_INT, in_counts, 1, MPI_INT, MPI_COMM_WORLD);
        got = 0;
        for (int b = 0; b < np; b++) {
            in_places[b] = got;
            got += in_counts[b];
        }
        if (got > room) {
            ex_free(in);
            room = got + got / 8;
            in = ex_zeros(room, sizeof *in);
        }
        MPI_Alltoallv(out, counts, places, MPI_INT, in, in_counts, in_places, MPI_INT,
                      MPI_COMM_WORLD);
        sort_keys(in, got, tally);

        rest[0] = got - nkeys;
        rest[1] = sum_of(in, got) - sum_of(keys, nkeys);
        MPI_Allreduce(rest, all_rest, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        ok &= all_rest[0] == 0 && all_rest[1] == 0;
    }
    ok &= in_order(in, got);

    ex_free(keys);
    ex_free(out);
    ex_free(in);
    ex_free(tally);
    ex_free(counts);
    ex_free(places);
    ex_free(in_counts);
    ex_free(in_places);
    return ex_verdict(rank, ok, "is: %d keys, %d iterations, %d ranks", nkeys * np,
                      (int)args[ITERATIONS].value, np);
}
