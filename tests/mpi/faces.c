/*
 * Cells in three dimensions, cut in all of them: each rank sends the faces of its part to up to six
 * neighbours.  For ti-extrapolate: faces are products of the cells along two axes.
 *
 *   faces CELLS_X CELLS_Y CELLS_Z
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 3
#define SIDES 6

static int cells[3]; /* of the part of this rank */

/* Cells of part `x` of `p` parts of n: the first ones have one more. */
static int block(int n, int p, int x)
{
    return n / p + (x < n % p);
}

static double sweep(double *field, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        field[i] = 0.5 * field[i] + 1;
        sum += field[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    int np, rank, dims[3] = {0, 0, 0}, periods[3] = {0, 0, 0}, me[3], side[SIDES], face[3], n = 1;
    double *field, *in[SIDES], *out, sum = 0;
    MPI_Request request[2 * SIDES];
    MPI_Comm cart;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    MPI_Dims_create(np, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
    MPI_Comm_rank(cart, &rank);
    MPI_Cart_coords(cart, rank, 3, me);
    for (int i = 0; i < 3; i++) {
        MPI_Cart_shift(cart, i, 1, &side[2 * i], &side[2 * i + 1]);
        cells[i] = block(argc == 4 ? atoi(argv[1 + i]) : 24, dims[i], me[i]);
        n *= cells[i];
    }
    field = calloc((size_t)n, sizeof *field);
    out = calloc((size_t)n, sizeof *out);
    if (!field || !out)
        return 1;
    for (int i = 0; i < SIDES; i++) {
        face[i / 2] = n / cells[i / 2];
        in[i] = calloc((size_t)face[i / 2], sizeof *in[i]);
        if (!in[i])
            return 1;
    }
    for (int step = 0; step < STEPS; step++) {
        /* each side has call sites of its own */
        MPI_Irecv(in[0], face[0], MPI_DOUBLE, side[0], 0, cart, &request[0]);
        MPI_Irecv(in[1], face[0], MPI_DOUBLE, side[1], 0, cart, &request[1]);
        MPI_Irecv(in[2], face[1], MPI_DOUBLE, side[2], 0, cart, &request[2]);
        MPI_Irecv(in[3], face[1], MPI_DOUBLE, side[3], 0, cart, &request[3]);
        MPI_Irecv(in[4], face[2], MPI_DOUBLE, side[4], 0, cart, &request[4]);
        MPI_Irecv(in[5], face[2], MPI_DOUBLE, side[5], 0, cart, &request[5]);
        MPI_Isend(out, face[0], MPI_DOUBLE, side[0], 0, cart, &request[6]);
        MPI_Isend(out, face[0], MPI_DOUBLE, side[1], 0, cart, &request[7]);
        MPI_Isend(out, face[1], MPI_DOUBLE, side[2], 0, cart, &request[8]);
        MPI_Isend(out, face[1], MPI_DOUBLE, side[3], 0, cart, &request[9]);
        MPI_Isend(out, face[2], MPI_DOUBLE, side[4], 0, cart, &request[10]);
        MPI_Isend(out, face[2], MPI_DOUBLE, side[5], 0, cart, &request[11]);
        MPI_Waitall(2 * SIDES, request, MPI_STATUSES_IGNORE);
        sum += sweep(field, n);
    }
    if (rank == 0)
        printf("faces: %d ranks, %g\n", np, sum);
    for (int i = 0; i < SIDES; i++)
        free(in[i]);
    free(field);
    free(out);
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return 0;
}
