/*
 * MG-like: geometric multigrid in three dimensions.
 *
 * Solves -Laplace(u) = f on a periodic grid of n x n x n cells, n a power of
 * two, by V-cycles.  A cycle smooths the error on each grid, from the finest to
 * the one of 2 x 2 x 2 cells and back, each with half as many cells a side as
 * the one before.  The smoother is Gauss-Seidel in two colours.  A coarse cell gets
 * the mean of the residuals of its eight cells.  Its correction comes back by
 * trilinear interpolation.
 *
 * The ranks form a grid, too.  Each has a part of the finest grid, and the
 * coarse cells that this part becomes.  Where parts cannot be halved any more,
 * every second rank of a dimension gets the same cells in larger parts, and the
 * others wait until the correction comes back.  So one rank has the coarsest
 * grids.  A halo is updated dimension by dimension (Irecv, Isend, Waitall), which
 * fills edges and corners, too.  Where a dimension is not divided, a rank copies
 * its own cells.
 *
 * Verification: f is made from a known solution, which has waves of all lengths.
 * The norm of the residual (Allreduce) must shrink by RATE in each cycle, and
 * the error is at most the residual divided by the smallest eigenvalue that is
 * not 0.  (The solution is known but for a constant.)
 */
#include "examples/example.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>

#define RATE       0.33  /* 0.24 after some cycles */
#define FLOOR      1e-11 /* rounding: a residual this small need not shrink further */
#define EIGENVALUE 16.0  /* of n = 2; larger ones have more, up to 4 pi^2 */

enum { COARSEST_CELLS = 2, COARSEST_SWEEPS = 4, MAX_GRIDS = 32 };
enum { TAG_HALO = 1, TAG_MOVE = 3 }; /* TAG_HALO + 1 is used, too */
enum { LOW, HIGH };

static const char usage[] = "multigrid [CELLS [CYCLES]], CELLS a power of two";

enum { CELLS, CYCLES, NARGS };

static struct ex_arg args[NARGS] = {
    [CELLS] = {"cells", 32, COARSEST_CELLS, 1024},
    [CYCLES] = {"cycles", 10, 1, 1000},
};

/* The cells from `low` to `high` - 1 in each dimension, by their number in the part of a rank. */
struct box {
    int64_t low[3], high[3];
};

/* A grid, and this rank's part of it.  The next grid has half as many cells a side and the same
 * division, or the same cells on fewer ranks. */
struct grid {
    int64_t n;
    int parts[3], step[3]; /* in each dimension; every step-th rank has a part */
    int64_t unit[3];       /* a part begins at a multiple of it */
    bool active;           /* whether this rank has a part */
    int64_t first[3];      /* its first cell */
    int64_t cells[3];
    int near[3][2];    /* ranks with the parts before and behind it */
    int64_t stride[3]; /* of u, f and r, which have a halo of one cell */
    double *u, *f, *r;
};

static int rank, np, dims[3], me[3];
static struct grid grids[MAX_GRIDS];
static int ngrids;
static double *outgoing, *incoming; /* packed cells */
static MPI_Request *requests;

static int64_t at(const struct grid *g, int64_t x, int64_t y, int64_t z)
{
    return (x + 1) * g->stride[0] + (y + 1) * g->stride[1] + (z + 1) * g->stride[2];
}

/* ---- set-up ------------------------------------------------------------ */

/* Divide a dimension into at most `parts` parts, such that coarser grids can be divided alike. */
static void divide(struct grid *g, int d, int parts)
{
    int64_t pairs = g->n / 2, units;

    g->parts[d] = parts < pairs ? parts : (int)pairs;
    units = 2 * g->parts[d] < pairs ? 2 * g->parts[d] : pairs;
    g->unit[d] = 2;
    while (g->n / (2 * g->unit[d]) >= units)
        g->unit[d] *= 2;
}

/* The rank that has part (c[0], c[1], c[2]). */
static int owner_of(const struct grid *g, const int c[3])
{
    return (c[0] * g->step[0] * dims[1] + c[1] * g->step[1]) * dims[2] + c[2] * g->step[2];
}

/* Find this rank's part and its neighbours, and allocate. */
static void settle(struct grid *g)
{
    int c[3], near[3];
    int64_t size = 1;

    g->active = true;
    for (int d = 0; d < 3; d++) {
        c[d] = me[d] / g->step[d];
        g->active &= me[d] % g->step[d] == 0 && c[d] < g->parts[d];
    }
    if (!g->active)
        return;
    for (int d = 2; d >= 0; d--) {
        g->cells[d] = g->unit[d] * ex_block(g->n / g->unit[d], g->parts[d], c[d], &g->first[d]);
        g->first[d] *= g->unit[d];
        g->stride[d] = size;
        size *= g->cells[d] + 2;
        for (int side = LOW; side <= HIGH; side++) {
            for (int e = 0; e < 3; e++)
                near[e] = c[e];
            near[d] = (c[d] + g->parts[d] + (side == LOW ? -1 : 1)) % g->parts[d];
            g->near[d][side] = owner_of(g, near);
        }
    }
    g->u = ex_zeros(size, sizeof *g->u);
    g->f = ex_zeros(size, sizeof *g->f);
    g->r = ex_zeros(size, sizeof *g->r);
}

/* Whether the parts of a grid cannot be halved in a dimension. */
static bool small(const struct grid *g, int d)
{
    return g->parts[d] > 1 && g->unit[d] == 1;
}

/* All grids, from the finest to the coarsest. */
static void make_grids(int64_t n)
{
    struct grid *g = grids;
    int64_t most = 0;

    g->n = n;
    for (int d = 0; d < 3; d++) {
        g->step[d] = 1;
        divide(g, d, dims[d]);
    }
    settle(g);
    for (;;) {
        bool again = small(g, 0) || small(g, 1) || small(g, 2);

        if (!again && g->n == COARSEST_CELLS)
            break;
        g[1] = (struct grid){.n = again ? g->n : g->n / 2};
        for (int d = 0; d < 3; d++) {
            g[1].parts[d] = g->parts[d];
            g[1].step[d] = g->step[d];
            g[1].unit[d] = again ? g->unit[d] : g->unit[d] / 2;
            if (small(g, d)) {
                g[1].step[d] *= 2;
                divide(g + 1, d, (g->parts[d] + 1) / 2);
            }
        }
        settle(++g);
    }
    ngrids = (int)(g - grids) + 1;
    for (int l = 0; l < ngrids; l++) {
        int64_t size = (grids[l].cells[0] + 2) * (grids[l].cells[1] + 2) * (grids[l].cells[2] + 2);

        most = most > size ? most : size;
    }
    /* two faces fit, too */
    outgoing = ex_zeros(2 * most, sizeof *outgoing);
    incoming = ex_zeros(2 * most, sizeof *incoming);
    requests = ex_zeros(2 * np + 4, sizeof *requests);
}

/* ---- communication ----------------------------------------------------- */

/* Copy the cells of a box between a field and a buffer. */
static void copy_box(const struct grid *g, double *field, const struct box *b, double *buffer,
                     bool pack)
{
    int64_t n = 0;

    for (int64_t x = b->low[0]; x < b->high[0]; x++)
        for (int64_t y = b->low[1]; y < b->high[1]; y++) {
            double *cells = field + at(g, x, y, 0);

            for (int64_t z = b->low[2]; z < b->high[2]; z++, n++)
                if (pack)
                    buffer[n] = cells[z];
                else
                    cells[z] = buffer[n];
        }
}

/* The layer of cells beyond (`halo`) or within a side.  In dimensions before d it has the halo. */
static struct box face(const struct grid *g, int d, int side, bool halo)
{
    struct box b;

    for (int e = 0; e < 3; e++) {
        b.low[e] = e < d ? -1 : 0;
        b.high[e] = g->cells[e] + (e < d);
    }
    b.low[d] = side == LOW ? -(int64_t)halo : g->cells[d] - !halo;
    b.high[d] = b.low[d] + 1;
    return b;
}

/* Update the halo of u in one dimension. */
static void exchange_faces(const struct grid *g, int d)
{
    int64_t size = 1;
    struct box b;

    for (int e = 0; e < 3; e++)
        size *= e == d ? 1 : g->cells[e] + 2 * (e < d);
    for (int side = LOW; side <= HIGH; side++) {
        b = face(g, d, side, false);
        copy_box(g, g->u, &b, outgoing + side * size, true);
    }
    for (int side = LOW; g->parts[d] > 1 && side <= HIGH; side++) {
        MPI_Irecv(incoming + side * size, (int)size, MPI_DOUBLE, g->near[d][side], TAG_HALO + side,
                  MPI_COMM_WORLD, &requests[side]);
        MPI_Isend(outgoing + side * size, (int)size, MPI_DOUBLE, g->near[d][side], TAG_HALO + !side,
                  MPI_COMM_WORLD, &requests[2 + side]);
    }
    if (g->parts[d] > 1)
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int side = LOW; side <= HIGH; side++) {
        b = face(g, d, side, true);
        copy_box(g, g->u, &b, g->parts[d] > 1 ? incoming + side * size : outgoing + !side * size,
                 false);
    }
}

static void exchange_halo(const struct grid *g)
{
    for (int d = 0; d < 3; d++)
        exchange_faces(g, d);
}

/* The cells of this rank's part of `g` that lie in part c of `other`, a division of the same
 * cells.  Returns their number. */
static int64_t common_cells(const struct grid *g, const struct grid *other, const int c[3],
                            struct box *b)
{
    int64_t number = 1;

    for (int d = 0; d < 3; d++) {
        int64_t first, cells;

        cells = other->unit[d] * ex_block(other->n / other->unit[d], other->parts[d], c[d], &first);
        b->low[d] = first * other->unit[d] - g->first[d];
        b->high[d] = b->low[d] + cells;
        if (b->low[d] < 0)
            b->low[d] = 0;
        if (b->high[d] > g->cells[d])
            b->high[d] = g->cells[d];
        number *= b->high[d] > b->low[d] ? b->high[d] - b->low[d] : 0;
    }
    return number;
}

/* Steps of move_cells() for the cells that this rank shares with each part of the other grid. */
enum { RECEIVE, SEND, UNPACK };

static int visit_parts(int what, const struct grid *g, double *field, const struct grid *other,
                       MPI_Request *request)
{
    double *buffer = what == SEND ? outgoing : incoming;
    int c[3], number = 0;

    if (!g->active)
        return 0;
    for (c[0] = 0; c[0] < other->parts[0]; c[0]++)
        for (c[1] = 0; c[1] < other->parts[1]; c[1]++)
            for (c[2] = 0; c[2] < other->parts[2]; c[2]++) {
                struct box b;
                int64_t size = common_cells(g, other, c, &b);
                int partner = owner_of(other, c);

                if (size == 0)
                    continue;
                if (what == RECEIVE) {
                    MPI_Irecv(buffer, (int)size, MPI_DOUBLE, partner, TAG_MOVE, MPI_COMM_WORLD,
                              &request[number]);
                } else {
                    copy_box(g, field, &b, buffer, what == SEND);
                    if (what == SEND)
                        MPI_Isend(buffer, (int)size, MPI_DOUBLE, partner, TAG_MOVE, MPI_COMM_WORLD,
                                  &request[number]);
                }
                buffer += size;
                number++;
            }
    return number;
}

/* Move a field between two grids that have the same cells, but divided among other ranks. */
static void move_cells(const struct grid *from, double *source, const struct grid *to,
                       double *target)
{
    int n = visit_parts(RECEIVE, to, target, from, requests);

    n += visit_parts(SEND, from, source, to, requests + n);
    if (n > 0)
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    visit_parts(UNPACK, to, target, from, NULL);
}

/* ---- one grid ---------------------------------------------------------- */

/* The sum of a cell's six neighbours. */
static inline double around(const struct grid *g, const double *u)
{
    return u[-g->stride[0]] + u[g->stride[0]] + u[-g->stride[1]] + u[g->stride[1]] + u[-1] + u[1];
}

/* Gauss-Seidel: first all cells of one colour, then those of the other.  The halo is up to date
 * before and after. */
static void smooth(const struct grid *g)
{
    double area = 1.0 / (double)(g->n * g->n);

    for (int colour = 0; colour < 2; colour++) {
        for (int64_t x = 0; x < g->cells[0]; x++)
            for (int64_t y = 0; y < g->cells[1]; y++) {
                int64_t row = at(g, x, y, 0);

                /* (All first cells are even.) */
                for (int64_t z = (x + y + colour) % 2; z < g->cells[2]; z += 2)
                    g->u[row + z] = (area * g->f[row + z] + around(g, g->u + row + z)) / 6;
            }
        exchange_halo(g);
    }
}

/* r = f + Laplace(u) */
static void residual(const struct grid *g)
{
    double inverse = (double)(g->n * g->n);

    for (int64_t x = 0; x < g->cells[0]; x++)
        for (int64_t y = 0; y < g->cells[1]; y++) {
            int64_t row = at(g, x, y, 0);

            for (int64_t c = row; c < row + g->cells[2]; c++)
                g->r[c] = g->f[c] - inverse * (6 * g->u[c] - around(g, g->u + c));
        }
}

/* The norm of r, or of its difference from its mean, over all ranks. */
static double norm(const struct grid *g, double mean)
{
    double sum = 0, all;

    for (int64_t x = 0; g->active && x < g->cells[0]; x++)
        for (int64_t y = 0; y < g->cells[1]; y++)
            for (int64_t z = 0; z < g->cells[2]; z++) {
                double r = g->r[at(g, x, y, z)] - mean;

                sum += r * r;
            }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all / ((double)g->n * (double)g->n * (double)g->n));
}

/* ---- two grids --------------------------------------------------------- */

/* f of the coarse grid = the means of the residuals; its u = 0. */
static void restrict_residual(const struct grid *fine, const struct grid *coarse)
{
    for (int64_t x = 0; x < coarse->cells[0]; x++)
        for (int64_t y = 0; y < coarse->cells[1]; y++)
            for (int64_t z = 0; z < coarse->cells[2]; z++) {
                double sum = 0;

                for (int i = 0; i < 8; i++)
                    sum += fine->r[at(fine, 2 * x + i / 4, 2 * y + i / 2 % 2, 2 * z + i % 2)];
                coarse->f[at(coarse, x, y, z)] = sum / 8;
            }
}

static void clear(const struct grid *g)
{
    int64_t size = (g->cells[0] + 2) * g->stride[0];

    for (int64_t c = 0; c < size; c++)
        g->u[c] = 0;
}

/* Add the correction: three quarters of the coarse cell that a cell lies in and one of the next,
 * in each dimension. */
static void correct(const struct grid *fine, const struct grid *coarse)
{
    for (int64_t x = 0; x < fine->cells[0]; x++)
        for (int64_t y = 0; y < fine->cells[1]; y++)
            for (int64_t z = 0; z < fine->cells[2]; z++) {
                const double *u = coarse->u + at(coarse, x / 2, y / 2, z / 2);
                int64_t dx = x % 2 ? coarse->stride[0] : -coarse->stride[0];
                int64_t dy = y % 2 ? coarse->stride[1] : -coarse->stride[1];
                int64_t dz = z % 2 ? 1 : -1;
                double near = 3 * (3 * u[0] + u[dz]) + 3 * u[dy] + u[dy + dz];
                double far = 3 * (3 * u[dx] + u[dx + dz]) + 3 * u[dx + dy] + u[dx + dy + dz];

                fine->u[at(fine, x, y, z)] += (3 * near + far) / 64;
            }
}

/* ---- */

/* One cycle, from grid `l` to the coarsest and back. */
static void cycle(int l)
{
    const struct grid *g = &grids[l], *next = g + 1;

    if (l == ngrids - 1) {
        for (int sweep = 0; sweep < COARSEST_SWEEPS; sweep++)
            smooth(g);
        return;
    }
    if (next->active)
        clear(next);
    if (next->n == g->n) {
        move_cells(g, g->f, next, next->f);
        if (next->active)
            cycle(l + 1);
        move_cells(next, next->u, g, g->u);
        exchange_halo(g);
        return;
    }
    smooth(g);
    residual(g);
    restrict_residual(g, next);
    cycle(l + 1);
    correct(g, next);
    exchange_halo(g);
    smooth(g);
}

/* The solution: a smooth wave, and noise from a hash of the place. */
static double exact(const struct grid *g, int64_t x, int64_t y, int64_t z)
{
    double scale = 1.0 / (double)g->n, wave = 1;
    int64_t place[3] = {x, y, z};
    uint64_t hash = 0;

    for (int d = 0; d < 3; d++) {
        double v = ((double)(g->first[d] + place[d]) + 0.5) * scale;

        wave *= 16 * v * v * (1 - v) * (1 - v);
        hash = (hash + (uint64_t)(g->first[d] + place[d]) + 1) * 6364136223846793005u;
        hash ^= hash >> 29;
    }
    return wave + 0.01 * scale * (double)(hash >> 40) / (1 << 24);
}

/* f of the finest grid = -Laplace of the solution. */
static void make_problem(const struct grid *g)
{
    for (int64_t x = 0; x < g->cells[0]; x++)
        for (int64_t y = 0; y < g->cells[1]; y++)
            for (int64_t z = 0; z < g->cells[2]; z++)
                g->u[at(g, x, y, z)] = exact(g, x, y, z);
    exchange_halo(g);
    residual(g);
    for (int64_t c = 0; c < (g->cells[0] + 2) * g->stride[0]; c++)
        g->f[c] = -g->r[c];
    clear(g);
}

/* The norm of the error, without its mean. */
static double error_norm(const struct grid *g)
{
    double sum = 0, all;

    for (int64_t x = 0; g->active && x < g->cells[0]; x++)
        for (int64_t y = 0; y < g->cells[1]; y++)
            for (int64_t z = 0; z < g->cells[2]; z++) {
                int64_t c = at(g, x, y, z);

                g->r[c] = g->u[c] - exact(g, x, y, z);
                sum += g->r[c];
            }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return norm(g, all / ((double)g->n * (double)g->n * (double)g->n));
}

int main(int argc, char **argv)
{
    const struct grid *finest = grids;
    const char *wrong;
    double first, rest, error;
    bool ok = true;
    int64_t n;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    wrong = ex_args(argc, argv, NARGS, args);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    n = args[CELLS].value;
    if (n & (n - 1))
        return ex_usage(rank, usage, "%d is no power of two", (int)n);

    MPI_Dims_create(np, 3, dims);
    me[0] = rank / (dims[1] * dims[2]);
    me[1] = rank / dims[2] % dims[1];
    me[2] = rank % dims[2];
    make_grids(n);
    if (finest->active) {
        make_problem(finest);
        residual(finest);
    }
    first = rest = norm(finest, 0);
    for (int64_t k = 0; k < args[CYCLES].value; k++) {
        double before = rest;

        if (finest->active) {
            cycle(0);
            residual(finest);
        }
        rest = norm(finest, 0);
        ok &= rest <= RATE * before || rest <= FLOOR * first;
    }
    error = error_norm(finest);
    ok &= error <= rest / EIGENVALUE + FLOOR;
    return ex_verdict(rank, ok,
                      "multigrid: %d x %d x %d cells, %d cycles, %d ranks: residual %.3e to %.3e, "
                      "error %.3e",
                      (int)n, (int)n, (int)n, (int)args[CYCLES].value, np, first, rest, error);
}
