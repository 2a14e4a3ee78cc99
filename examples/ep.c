/*
 * EP-like: random numbers, which no rank needs from another one.
 *
 * Makes N pairs of numbers from -1 to 1.  Those in the unit circle become pairs of independent
 * numbers with a normal distribution, by Marsaglia's polar method, and are counted by the larger
 * magnitude of the two.  Each rank makes a block of the pairs; sums and counts are added up at the
 * end (Allreduce).
 *
 * Random numbers are those of drand48(): x' = a x + c modulo 2^48.  A rank jumps to its block, so
 * the pairs are the same on any number of ranks.
 *
 * Verification: all pairs in the circle are counted; these are pi / 4 of N, and both sums are 0,
 * within 6 standard deviations.
 */
#include "examples/example.h"

#include <inttypes.h>
#include <math.h>
#include <mpi.h>

#define A        UINT64_C(0x5DEECE66D)
#define C        UINT64_C(0xB)
#define MASK     ((UINT64_C(1) << 48) - 1)
#define SEED     UINT64_C(0x1234ABCD330E)
#define CLASSES  10 /* of magnitudes; the last one has all from 9 on */
#define SIGMAS   6
#define PI       3.14159265358979323846
#define PER_PAIR 2 /* random numbers */

static const char usage[] = "ep [PAIRS]";

enum { PAIRS, NARGS };

static struct ex_arg args[NARGS] = {
    [PAIRS] = {"pairs", 1 << 20, 1, INT64_C(1) << 40},
};

/* The random number that comes `n` steps after `x`. */
static uint64_t jump(uint64_t x, uint64_t n)
{
    uint64_t a = A, c = C;

    for (; n; n >>= 1) {
        if (n & 1)
            x = (a * x + c) & MASK;
        c = (a * c + c) & MASK;
        a = (a * a) & MASK;
    }
    return x;
}

static double next(uint64_t *x)
{
    *x = (A * *x + C) & MASK;
    return (double)*x / (double)(MASK + 1) * 2 - 1;
}

int main(int argc, char **argv)
{
    const char *wrong = ex_args(argc, argv, NARGS, args);
    int64_t pairs = args[PAIRS].value, first, mine, counts[CLASSES] = {0}, inside = 0;
    double sum[2] = {0, 0}, expected = PI / 4 * (double)pairs, off;
    uint64_t x;
    int rank, np;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    mine = ex_block(pairs, np, rank, &first);
    x = jump(SEED, (uint64_t)first * PER_PAIR);
    for (int64_t i = 0; i < mine; i++) {
        double u = next(&x), v = next(&x), s = u * u + v * v, larger;

        if (s >= 1 || s == 0)
            continue;
        s = sqrt(-2 * log(s) / s);
        u *= s;
        v *= s;
        larger = fmax(fabs(u), fabs(v));
        counts[larger < CLASSES - 1 ? (int)larger : CLASSES - 1]++;
        sum[0] += u;
        sum[1] += v;
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, counts, CLASSES, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < CLASSES; i++)
        inside += counts[i];
    off = fmax(fabs((double)inside - expected) / sqrt(expected * (1 - PI / 4)),
               fmax(fabs(sum[0]), fabs(sum[1])) / sqrt(expected));
    return ex_verdict(rank, off <= SIGMAS,
                      "ep: %" PRId64 " pairs, %d ranks: %" PRId64
                      " in the circle, sums %.3f and %.3f",
                      pairs, np, inside, sum[0], sum[1]);
}
