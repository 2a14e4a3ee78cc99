/*
 * LU-like: pipelined SSOR on five-component cells.
 *
 * Solves A u = f on a grid of nx x ny x nz cells by
 *
 *     r = f - A u;   (I + wL) (I + wU) d = w (2 - w) r;   u = u + d
 *
 * in every time step.  A couples a cell with its six neighbours through 5 x 5
 * blocks (L: the three before it, U: the three behind it; rows are scaled so
 * that the diagonal block is the identity).  A also has a fourth-difference
 * dissipation that reaches two cells far:
 *
 *     L_d = -(a I + B_d)    U_d = -(a I - B_d)    d = x, y, z;  B_d symmetric
 *     A   = I + sum over d of (L_d + U_d + e D4_d)
 *
 * x and y are divided among px x py ranks, z is not.  The sweep with L goes
 * through the planes upwards.  In each plane a rank receives the rims of its
 * northern and western neighbours, computes its part of the plane, and sends its
 * own rims to the south and the east.  The sweep with U goes the opposite way.
 * The computation of r needs two planes of cells from each side.
 *
 * Verification: f is made from a known solution.  As B_d is symmetric, central
 * differences with it are skew, and the symmetric part of A is at least
 * m = 1 - 6a.  Hence |error| <= |residual| / m after any number of steps.  The
 * error must also shrink by RATE in each step.  A sweep visits each cell after
 * its neighbours, on any division of the grid, so the solution is the same to
 * the last bit on any number of ranks.  `field` in the output is its checksum,
 * and the residual after the first step is compared with that of one rank.
 */
#include "examples/example.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NC         5     /* components of a cell */
#define HALO       2     /* cells around a rank's part; a sweep uses one of them */
#define A          0.165 /* `a` above; E is e, W is w */
#define E          0.002
#define W          1.2
#define RATE       0.96
#define MOST_CELLS 1000000 /* along an axis */

enum { NORM_EVERY = 10, TAG_LOWER = 1, TAG_UPPER, TAG_HALO };
enum { NORTH, SOUTH, WEST, EAST, SIDES };

static const char usage[] =
    "lu CLASS [STEPS], CLASS one of S W A B C D E, or cells such as 60x60x1020";

static const struct {
    char name;
    int cells, steps;
    double first; /* norm of the residual after the first step; 0: not known */
} classes[] = {
    {'S', 12, 50, 4.929996578198e-1},
    {'W', 33, 300, 3.244440779537e-1},
    {'A', 64, 250, 2.472112087757e-1},
    {'B', 102, 250, 2.072916877999e-1},
    {'C', 162, 250, 1.774466028643e-1},
    {'D', 408, 300, 1.399848895070e-1},
    {'E', 1020, 300, 0},
};

typedef double block[NC][NC]; /* column-major */

static struct {
    int rank, np, px, py;
    int at[SIDES]; /* neighbours, or MPI_PROC_NULL */
    char name[24]; /* class, or cells as they were given */
    int cells[3];  /* of the whole grid, in x, y and z */
    double h[3];   /* distance of cells */
    int steps;
    double first;       /* see `classes` */
    int64_t nx, ny, nz; /* this rank's part */
    int64_t x0, y0;     /* its first cell */
    int64_t sx, sy, sz; /* strides of the arrays, in doubles */
    double *u, *f, *r;  /* all with the same strides */
    double *out[SIDES], *in[SIDES];
    block b[3];               /* B_d */
    block lower[3], upper[3]; /* w L_d and w U_d, with their signs turned */
} g;

static int64_t at(int64_t i, int64_t j, int64_t k)
{
    return (k + HALO) * g.sz + (j + HALO) * g.sy + (i + HALO) * g.sx;
}

/* y += M x */
static inline void add_product(double y[NC], block m, const double x[NC])
{
    for (int c = 0; c < NC; c++)
        for (int l = 0; l < NC; l++)
            y[l] += m[c][l] * x[c];
}

/* ---- set-up ------------------------------------------------------------ */

static void cut_grid(void)
{
    int row, col;

    g.px = ex_most_square(g.np);
    g.py = g.np / g.px;
    row = g.rank % g.px;
    col = g.rank / g.px;
    g.at[NORTH] = row > 0 ? g.rank - 1 : MPI_PROC_NULL;
    g.at[SOUTH] = row < g.px - 1 ? g.rank + 1 : MPI_PROC_NULL;
    g.at[WEST] = col > 0 ? g.rank - g.px : MPI_PROC_NULL;
    g.at[EAST] = col < g.py - 1 ? g.rank + g.px : MPI_PROC_NULL;
    g.nx = ex_block(g.cells[0], g.px, row, &g.x0);
    g.ny = ex_block(g.cells[1], g.py, col, &g.y0);
    g.nz = g.cells[2];
    g.sx = NC;
    g.sy = (g.nx + 2 * HALO) * g.sx;
    g.sz = (g.ny + 2 * HALO) * g.sy;
}

static double number_of_cells(void)
{
    return (double)g.cells[0] * g.cells[1] * g.cells[2];
}

static void allocate(void)
{
    int64_t size = (g.nz + 2 * HALO) * g.sz;

    g.u = ex_zeros(size, sizeof *g.u);
    g.f = ex_zeros(size, sizeof *g.f);
    g.r = ex_zeros(size, sizeof *g.r);
    for (int s = 0; s < SIDES; s++) {
        int64_t face = HALO * NC * (s == NORTH || s == SOUTH ? g.ny : g.nx) * g.nz;

        g.out[s] = ex_zeros(face, sizeof(double));
        g.in[s] = ex_zeros(face, sizeof(double));
    }
}

static void make_blocks(void)
{
    for (int d = 0; d < 3; d++)
        for (int c = 0; c < NC; c++)
            for (int l = 0; l < NC; l++) {
                double sign = (c + l + d) % 3 ? 1 : -1, self = c == l ? A : 0;
                double b = sign * 0.04 / (1 + abs(c - l));

                g.b[d][c][l] = b;
                g.lower[d][c][l] = W * (self + b);
                g.upper[d][c][l] = W * (self - b);
            }
}

/* Component c of the solution, in a cell that may lie outside the grid. */
static double exact(int c, int64_t i, int64_t j, int64_t k)
{
    double x = (double)(i + 1) * g.h[0], y = (double)(j + 1) * g.h[1], z = (double)(k + 1) * g.h[2];

    return 1 + c + (5 - c) * x * (1 - y) + (c + 1) * y * y * (1.5 - z) - z * x * x + z * z * z;
}

static bool in_grid(int axis, int64_t cell)
{
    return cell >= 0 && cell < g.cells[axis];
}

/* u = the solution; with `rim`, only outside the grid, and 0 inside. */
static void set_u(bool rim)
{
    for (int64_t k = -HALO; k < g.nz + HALO; k++)
        for (int64_t j = -HALO; j < g.ny + HALO; j++)
            for (int64_t i = -HALO; i < g.nx + HALO; i++) {
                bool zero = rim && in_grid(0, g.x0 + i) && in_grid(1, g.y0 + j) && in_grid(2, k);

                for (int c = 0; c < NC; c++)
                    g.u[at(i, j, k) + c] = zero ? 0 : exact(c, g.x0 + i, g.y0 + j, k);
            }
}

/* ---- residual ---------------------------------------------------------- */

/* r = f - A u.  The halo of u must be up to date. */
static void residual(void)
{
    const int64_t stride[3] = {g.sx, g.sy, g.sz};

    for (int64_t k = 0; k < g.nz; k++)
        for (int64_t j = 0; j < g.ny; j++)
            for (int64_t i = 0; i < g.nx; i++) {
                const double *u = g.u + at(i, j, k), *f = g.f + at(i, j, k);
                double r[NC];

                for (int c = 0; c < NC; c++)
                    r[c] = f[c] - (1 + 18 * E) * u[c];
                for (int d = 0; d < 3; d++) {
                    const double *before = u - stride[d], *behind = u + stride[d];
                    double skew[NC];

                    for (int c = 0; c < NC; c++) {
                        r[c] += (A + 4 * E) * (before[c] + behind[c]);
                        r[c] -= E * (before[c - stride[d]] + behind[c + stride[d]]);
                        skew[c] = before[c] - behind[c];
                    }
                    add_product(r, g.b[d], skew);
                }
                memcpy(g.r + at(i, j, k), r, sizeof r);
            }
}

/* Compute f and the initial u: the solution outside the grid, 0 inside. */
static void make_problem(void)
{
    set_u(false);
    residual(); /* with f = 0 the residual of the solution is -f */
    for (int64_t k = 0; k < g.nz; k++)
        for (int64_t j = 0; j < g.ny; j++)
            for (int64_t l = at(0, j, k); l < at(g.nx, j, k); l++)
                g.f[l] = -g.r[l];
    set_u(true);
}

/*
 * Copy HALO layers of cells, in all planes, between u and a buffer.  The layers
 * start at cell `first` in x (side NORTH or SOUTH) or in y.
 */
static void copy_face(int side, int64_t first, double *buffer, bool pack)
{
    bool in_x = side == NORTH || side == SOUTH;
    int64_t i0 = in_x ? first : 0, i1 = in_x ? first + HALO : g.nx;
    int64_t j0 = in_x ? 0 : first, j1 = in_x ? g.ny : first + HALO;

    for (int64_t k = 0; k < g.nz; k++)
        for (int64_t j = j0; j < j1; j++) {
            double *u = g.u + at(i0, j, k);
            int64_t length = (i1 - i0) * NC;

            for (int64_t l = 0; l < length; l++)
                if (pack)
                    buffer[l] = u[l];
                else
                    u[l] = buffer[l];
            buffer += length;
        }
}

/* Update the halo of u on two opposite sides. */
static void exchange_halo(int low, int high)
{
    int64_t cells = low == NORTH ? g.nx : g.ny, across = low == NORTH ? g.ny : g.nx;
    int count = (int)(HALO * NC * across * g.nz);
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    for (int s = 0; s < 2; s++) {
        int side = s ? high : low;

        if (g.at[side] != MPI_PROC_NULL)
            MPI_Irecv(g.in[side], count, MPI_DOUBLE, g.at[side], TAG_HALO, MPI_COMM_WORLD,
                      &request[s]);
    }
    for (int s = 0; s < 2; s++) {
        int side = s ? high : low;

        if (g.at[side] == MPI_PROC_NULL)
            continue;
        copy_face(side, s ? cells - HALO : 0, g.out[side], true);
        MPI_Send(g.out[side], count, MPI_DOUBLE, g.at[side], TAG_HALO, MPI_COMM_WORLD);
    }
    for (int s = 0; s < 2; s++) {
        int side = s ? high : low;

        if (g.at[side] == MPI_PROC_NULL)
            continue;
        MPI_Wait(&request[s], MPI_STATUS_IGNORE);
        copy_face(side, s ? cells : -HALO, g.in[side], false);
    }
}

static void exchange_and_residual(void)
{
    exchange_halo(NORTH, SOUTH);
    exchange_halo(WEST, EAST);
    residual();
}

/* The norm of r, on every rank. */
static double residual_norm(void)
{
    double sum[NC] = {0}, all[NC], square = 0;

    for (int64_t k = 0; k < g.nz; k++)
        for (int64_t j = 0; j < g.ny; j++) {
            const double *r = g.r + at(0, j, k);

            for (int64_t i = 0; i < g.nx; i++, r += NC)
                for (int c = 0; c < NC; c++)
                    sum[c] += r[c] * r[c];
        }
    MPI_Allreduce(sum, all, NC, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int c = 0; c < NC; c++)
        square += all[c];
    return sqrt(square / number_of_cells());
}

/* ---- sweeps ------------------------------------------------------------ */

/* Send one row of cells of plane k of r, in x (along = NC) or in y. */
static void send_rim(int side, int64_t first, int64_t along, int64_t cells, int tag)
{
    double *buffer = g.out[side];

    if (g.at[side] == MPI_PROC_NULL)
        return;
    for (int64_t l = 0; l < cells; l++)
        for (int c = 0; c < NC; c++)
            buffer[l * NC + c] = g.r[first + l * along + c];
    MPI_Send(buffer, (int)(NC * cells), MPI_DOUBLE, g.at[side], tag, MPI_COMM_WORLD);
}

static void receive_rim(int side, int64_t first, int64_t along, int64_t cells, int tag)
{
    const double *buffer = g.in[side];

    if (g.at[side] == MPI_PROC_NULL)
        return;
    MPI_Recv(g.in[side], (int)(NC * cells), MPI_DOUBLE, g.at[side], tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    for (int64_t l = 0; l < cells; l++)
        for (int c = 0; c < NC; c++)
            g.r[first + l * along + c] = buffer[l * NC + c];
}

/* r += the products with the three neighbours that the sweep has visited. */
static inline void update_cell(double *cell, block m[3], int64_t sx, int64_t sy, int64_t sz)
{
    double r[NC];

    memcpy(r, cell, sizeof r);
    add_product(r, m[0], cell + sx);
    add_product(r, m[1], cell + sy);
    add_product(r, m[2], cell + sz);
    memcpy(cell, r, sizeof r);
}

static void lower_sweep(void)
{
    for (int64_t k = 0; k < g.nz; k++) {
        receive_rim(NORTH, at(-1, 0, k), g.sy, g.ny, TAG_LOWER);
        receive_rim(WEST, at(0, -1, k), g.sx, g.nx, TAG_LOWER);
        for (int64_t j = 0; j < g.ny; j++)
            for (int64_t i = 0; i < g.nx; i++)
                update_cell(g.r + at(i, j, k), g.lower, -g.sx, -g.sy, -g.sz);
        send_rim(SOUTH, at(g.nx - 1, 0, k), g.sy, g.ny, TAG_LOWER);
        send_rim(EAST, at(0, g.ny - 1, k), g.sx, g.nx, TAG_LOWER);
    }
}

static void upper_sweep(void)
{
    for (int64_t k = g.nz - 1; k >= 0; k--) {
        receive_rim(SOUTH, at(g.nx, 0, k), g.sy, g.ny, TAG_UPPER);
        receive_rim(EAST, at(0, g.ny, k), g.sx, g.nx, TAG_UPPER);
        for (int64_t j = g.ny - 1; j >= 0; j--)
            for (int64_t i = g.nx - 1; i >= 0; i--)
                update_cell(g.r + at(i, j, k), g.upper, g.sx, g.sy, g.sz);
        send_rim(NORTH, at(0, 0, k), g.sy, g.ny, TAG_UPPER);
        send_rim(WEST, at(0, 0, k), g.sx, g.nx, TAG_UPPER);
    }
}

/*
 * u += w (2 - w) r, except the halo.  Rims remain in the halo of r; the next
 * sweep receives them again before it reads them.
 */
static void correct(void)
{
    for (int64_t k = 0; k < g.nz; k++)
        for (int64_t j = 0; j < g.ny; j++) {
            double *u = g.u + at(0, j, k);
            const double *r = g.r + at(0, j, k);

            for (int64_t l = 0; l < g.nx * NC; l++)
                u[l] += W * (2 - W) * r[l];
        }
}

/* ---- verification ------------------------------------------------------ */

static double error_norm(void)
{
    double sum = 0, all;

    for (int64_t k = 0; k < g.nz; k++)
        for (int64_t j = 0; j < g.ny; j++)
            for (int64_t i = 0; i < g.nx; i++)
                for (int c = 0; c < NC; c++) {
                    double e = g.u[at(i, j, k) + c] - exact(c, g.x0 + i, g.y0 + j, k);

                    sum += e * e;
                }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all / number_of_cells());
}

/* A checksum over all values that depends on each bit, but not on the order. */
static uint64_t checksum(void)
{
    uint64_t sum = 0, all;

    for (int64_t k = 0; k < g.nz; k++)
        for (int64_t j = 0; j < g.ny; j++)
            for (int64_t i = 0; i < g.nx; i++)
                for (int c = 0; c < NC; c++) {
                    uint64_t row = (uint64_t)k * g.cells[1] + g.y0 + j;
                    uint64_t place = (row * g.cells[0] + g.x0 + i) * NC + c;
                    uint64_t bits;

                    memcpy(&bits, g.u + at(i, j, k) + c, sizeof bits);
                    bits = (bits ^ bits >> 31) * (2 * place + 1);
                    sum += bits ^ bits >> 29;
                }
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* ---- */

/* Read the number of cells along each axis from text such as 60x60x1020. */
static const char *read_cells(const char *text)
{
    for (int d = 0; d < 3; d++, text++) {
        char *end;
        long cells = strtol(text, &end, 10);

        if (!isdigit((unsigned char)*text) || cells < 1 || cells > MOST_CELLS)
            return "no such class, nor a number of cells in x, y and z";
        if (*end != (d < 2 ? 'x' : '\0'))
            return "cells are NXxNYxNZ";
        g.cells[d] = (int)cells;
        text = end;
    }
    return NULL;
}

/* Read cells and steps from the command line.  Returns NULL, or an error message. */
static const char *read_args(int argc, char **argv)
{
    struct ex_arg steps = {"steps", 300, 1, 1000000};
    const char *wrong;
    size_t c = 0, nclasses = sizeof classes / sizeof classes[0];

    if (argc < 2)
        return "no class";
    while (c < nclasses && (toupper((unsigned char)argv[1][0]) != classes[c].name || argv[1][1]))
        c++;
    /* byte by byte: how much strlen() and the like execute depends on where a text is */
    for (size_t i = 0; i + 1 < sizeof g.name && argv[1][i]; i++)
        g.name[i] = argv[1][i];
    if (c < nclasses) {
        g.name[0] = classes[c].name;
        for (int d = 0; d < 3; d++)
            g.cells[d] = classes[c].cells;
        steps.value = classes[c].steps;
        g.first = classes[c].first;
    } else if ((wrong = read_cells(argv[1]))) {
        return wrong;
    }
    for (int d = 0; d < 3; d++)
        g.h[d] = 1.0 / (g.cells[d] + 1);
    wrong = ex_args(argc - 1, argv + 1, 1, &steps);
    g.steps = (int)steps.value;
    return wrong;
}

int main(int argc, char **argv)
{
    const char *wrong;
    double bound, error, rest, first = 0;
    uint64_t field;
    bool ok;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g.np);
    wrong = read_args(argc, argv);
    if (wrong)
        return ex_usage(g.rank, usage, "%s", wrong);
    MPI_Bcast(g.cells, 3, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&g.steps, 1, MPI_INT, 0, MPI_COMM_WORLD);

    cut_grid();
    if (g.cells[0] / g.px < HALO || g.cells[1] / g.py < HALO)
        return ex_usage(g.rank, usage,
                        "%d ranks make %d x %d parts of %d x %d cells: "
                        "fewer than %d cells a part",
                        g.np, g.px, g.py, g.cells[0], g.cells[1], HALO);
    allocate();
    make_blocks();

    make_problem();
    bound = error_norm();

    exchange_and_residual();
    rest = residual_norm();
    for (int step = 1; step <= g.steps; step++) {
        lower_sweep();
        upper_sweep();
        correct();
        exchange_and_residual();
        bound *= RATE;
        if (step == 1 || step % NORM_EVERY == 0 || step == g.steps)
            rest = residual_norm();
        if (step == 1)
            first = rest;
    }

    error = error_norm();
    field = checksum();
    ok = error <= rest / (1 - 6 * A) + 1e-12 && error <= bound + 1e-12;
    if (g.first > 0)
        ok &= fabs(first - g.first) <= 1e-10 * g.first;
    return ex_verdict(g.rank, ok,
                      "lu: %s %s, %d steps, %d ranks: field %016" PRIx64
                      ", residual %.3e, error %.3e",
                      g.name[1] ? "cells" : "class", g.name, g.steps, g.np, field, rest, error);
}
