/*
 * Jacobi on an n x n grid: each cell becomes the mean of its four neighbours.
 * The halo exchange is non-blocking, on a Cartesian communicator.  Columns are
 * a vector type; the neighbours beyond the edge are MPI_PROC_NULL.
 *
 * Verification: the initial field is h + e.  The iteration converges to
 * h = (y^2 - x^2).  e is a product of two sines and shrinks everywhere by the
 * factor cos(pi / (n + 1)) in each iteration.  So the value of each cell is
 * known after any number of iterations.
 */
#include "examples/example.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

enum { NORTH, SOUTH, WEST, EAST, SIDES };
enum { CHANGE_EVERY = 10, TAG_HALO = 1 };

static const char usage[] = "stencil [CELLS [ITERATIONS]], a grid of CELLS x CELLS";

enum { CELLS, ITERATIONS, NARGS };

static struct ex_arg args[NARGS] = {
    [CELLS] = {"cells", 256, 1, 1000000},
    [ITERATIONS] = {"iterations", 100, 1, INT_MAX},
};

static int64_t n, ny, nx, first_y, first_x; /* the grid; this rank's part and where it starts */
static double *wave;                        /* the sine, for cells -1 to n */

static int64_t at(int64_t y, int64_t x)
{
    return (y + 1) * (nx + 2) + x + 1;
}

static double limit(int64_t y, int64_t x)
{
    double v = (double)(y + 1) / (double)(n + 1), w = (double)(x + 1) / (double)(n + 1);

    return v * v - w * w;
}

/* Fill `wave`; returns cos(pi / (n + 1)).  Does not use libm, whose instruction
 * counts depend on the processor model. */
static double make_wave(void)
{
    double angle = 3.14159265358979323846 / (double)(n + 1), series = 1, step, sine = 0;

    /* series = 2 - 2 cos(angle); the difference would lose digits */
    for (int k = 20; k > 1; k--)
        series = 1 - series * angle * angle / ((2 * k - 1) * (2 * k));
    series *= angle * angle;

    wave = (double *)ex_zeros(n + 2, sizeof *wave) + 1;
    step = angle;
    for (int64_t i = -1; i <= n; i++) {
        wave[i] = sine;
        sine += step;
        step -= series * sine;
    }
    return 1 - series / 2;
}

/* The largest difference between a field and the correct values. */
static double error_of(const double *field, double scale)
{
    double most = 0;

    for (int64_t y = 0; y < ny; y++)
        for (int64_t x = 0; x < nx; x++) {
            double known =
                limit(first_y + y, first_x + x) + scale * wave[first_y + y] * wave[first_x + x];

            most = fmax(most, fabs(field[at(y, x)] - known));
        }
    return most;
}

/* One iteration from `old` to `new`.  Returns the largest change. */
static double smooth(const double *old, double *new)
{
    double most = 0;

    for (int64_t y = 0; y < ny; y++)
        for (int64_t x = 0; x < nx; x++) {
            int64_t c = at(y, x);
            double change;

            new[c] = 0.25 * (old[c - nx - 2] + old[c + nx + 2] + old[c - 1] + old[c + 1]);
            change = fabs(new[c] - old[c]);
            most = change > most ? change : most;
        }
    return most;
}

int main(int argc, char **argv)
{
    int rank, np, dims[2] = {0, 0}, periods[2] = {0, 0}, me[2], side[SIDES];
    const char *wrong;
    MPI_Comm cart;
    MPI_Datatype column;
    double *old, *new, *swap, shrink, scale = 1, change = 0, all_change = 0, error, all_error;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    wrong = ex_args(argc, argv, NARGS, args);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    n = args[CELLS].value;
    MPI_Dims_create(np, 2, dims);
    if (n < dims[0] || n < dims[1])
        return ex_usage(rank, usage, "%d cells cannot be cut into %d x %d parts", (int)n, dims[0],
                        dims[1]);

    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MPI_Cart_coords(cart, rank, 2, me);
    MPI_Cart_shift(cart, 0, 1, &side[NORTH], &side[SOUTH]);
    MPI_Cart_shift(cart, 1, 1, &side[WEST], &side[EAST]);
    ny = ex_block(n, dims[0], me[0], &first_y);
    nx = ex_block(n, dims[1], me[1], &first_x);
    MPI_Type_vector((int)ny, 1, (int)nx + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);

    /* Both fields start with the limit, which stays correct outside the grid.
     * Inside, the first field is the limit plus e. */
    shrink = make_wave();
    old = ex_zeros((ny + 2) * (nx + 2), sizeof *old);
    new = ex_zeros((ny + 2) * (nx + 2), sizeof *new);
    for (int64_t y = -1; y <= ny; y++)
        for (int64_t x = -1; x <= nx; x++)
            old[at(y, x)] = new[at(y, x)] = limit(first_y + y, first_x + x);
    for (int64_t y = 0; y < ny; y++)
        for (int64_t x = 0; x < nx; x++)
            old[at(y, x)] += wave[first_y + y] * wave[first_x + x];

    for (int64_t iteration = 1; iteration <= args[ITERATIONS].value; iteration++) {
        MPI_Request requests[2 * SIDES];

        MPI_Irecv(&old[at(-1, 0)], (int)nx, MPI_DOUBLE, side[NORTH], TAG_HALO, cart, &requests[0]);
        MPI_Irecv(&old[at(ny, 0)], (int)nx, MPI_DOUBLE, side[SOUTH], TAG_HALO, cart, &requests[1]);
        MPI_Irecv(&old[at(0, -1)], 1, column, side[WEST], TAG_HALO, cart, &requests[2]);
        MPI_Irecv(&old[at(0, nx)], 1, column, side[EAST], TAG_HALO, cart, &requests[3]);
        MPI_Isend(&old[at(0, 0)], (int)nx, MPI_DOUBLE, side[NORTH], TAG_HALO, cart, &requests[4]);
        MPI_Isend(&old[at(ny - 1, 0)], (int)nx, MPI_DOUBLE, side[SOUTH], TAG_HALO, cart,
                  &requests[5]);
        MPI_Isend(&old[at(0, 0)], 1, column, side[WEST], TAG_HALO, cart, &requests[6]);
        MPI_Isend(&old[at(0, nx - 1)], 1, column, side[EAST], TAG_HALO, cart, &requests[7]);
        MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);

        change = smooth(old, new);
        scale *= shrink;
        swap = old;
        old = new;
        new = swap;
        if (iteration % CHANGE_EVERY == 0)
            MPI_Allreduce(&change, &all_change, 1, MPI_DOUBLE, MPI_MAX, cart);
    }

    error = error_of(old, scale);
    MPI_Allreduce(&error, &all_error, 1, MPI_DOUBLE, MPI_MAX, cart);
    MPI_Type_free(&column);
    MPI_Comm_free(&cart);
    ex_free(old);
    ex_free(new);
    ex_free(wave - 1);
    return ex_verdict(rank, all_error < 1e-8,
                      "stencil: %d x %d cells, %d ranks: last change %.3e, error %.3e", (int)n,
                      (int)n, np, all_change, all_error);
}
