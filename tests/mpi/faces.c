/*
 * Blocks in three dimensions, whose sides are not equal: in each of STEPS steps a rank computes its
 * cells, and exchanges faces with its neighbours, dimension by dimension.  A face has the halo of
 * the dimensions before its own, as where edges and corners travel with the faces.
 */
#include <mpi.h>
#include <stdlib.h>

enum { STEPS = 6 };

static const int cells[3] = {26, 33, 40};
static int dims[3], at[3], part[3];
static double *out[2], *in[2], *block;
static int side[3][2]; /* neighbours, or MPI_PROC_NULL */
static MPI_Comm grid;

static void __attribute__((noinline)) compute(void)
{
    int n = part[0] * part[1] * part[2];

    for (int i = 1; i < n; i++)
        block[i] = 0.5 * (block[i] + block[i - 1]);
}

static int face_of(int d)
{
    int n = 1;

    for (int e = 0; e < 3; e++)
        if (e != d)
            n *= part[e] + (e < d ? 2 : 0);
    return n;
}

static void __attribute__((noinline)) exchange(int d)
{
    MPI_Request request[4];
    int n = face_of(d);

    for (int s = 0; s < 2; s++)
        MPI_Irecv(in[s], n, MPI_DOUBLE, side[d][s], d, grid, &request[s]);
    for (int s = 0; s < 2; s++)
        MPI_Isend(out[s], n, MPI_DOUBLE, side[d][s], d, grid, &request[2 + s]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}

static void set_up(int np)
{
    static const int periods[3] = {0, 0, 0};
    int rank, most = 1;

    MPI_Dims_create(np, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 3, at);
    for (int d = 0; d < 3; d++) {
        part[d] = cells[d] / dims[d] + (at[d] < cells[d] % dims[d]);
        MPI_Cart_shift(grid, d, 1, &side[d][0], &side[d][1]);
    }
    for (int d = 0; d < 3; d++)
        most = face_of(d) > most ? face_of(d) : most;
    block = calloc((size_t)(part[0] * part[1] * part[2]), sizeof *block);
    for (int s = 0; s < 2; s++) {
        out[s] = calloc((size_t)most, sizeof **out);
        in[s] = calloc((size_t)most, sizeof **in);
    }
}

int main(int argc, char **argv)
{
    int np;
    double sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    set_up(np);
    for (int step = 0; step < STEPS; step++) {
        compute();
        for (int d = 0; d < 3; d++)
            exchange(d);
    }
    MPI_Allreduce(&block[0], &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
    for (int s = 0; s < 2; s++) {
        free(out[s]);
        free(in[s]);
    }
    free(block);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
