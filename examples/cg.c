/*
 * CG-like: conjugate gradients with a sparse matrix that is divided by rows and columns.
 *
 * The ranks form a grid of `nrows` x `ncols`.  Both are powers of two, and ncols
 * is nrows or twice nrows.  Rank (r, c) holds the rows of block r and the columns
 * of block c.  A product with the matrix takes
 *   - the local part;
 *   - a sum over the ranks of a row, by exchanging with the rank 1, 2, 4 ...
 *     columns away (Irecv, Send, Wait); all of them then hold the whole result
 *     for the rows of block r;
 *   - an exchange with the transposed rank; (r, c) then holds the result for the
 *     columns of block c, the distribution of all vectors.
 * Inner products are an Allreduce over the ranks of a row, on a communicator
 * of their own.
 *
 * The matrix is symmetric and diagonally dominant by SHIFT.  Verification: each
 * solve has another, known solution, and its error after INNER iterations must
 * be below the theoretical bound.
 */
#include "examples/example.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

enum { INNER = 25, TAG_SUM = 1, TAG_TRANSPOSE };
static const double SHIFT = 1;

static const char usage[] = "cg [ROWS [SOLVES]], np a power of two, ROWS a multiple of its grid";

enum { ROWS, SOLVES, NARGS };

static struct ex_arg args[NARGS] = {
    [ROWS] = {"rows", 4096, 4, INT_MAX / 64},
    [SOLVES] = {"solves", 15, 1, INT_MAX},
};

static int rank, np, nrows, ncols; /* the grid */
static int row, col;               /* this rank in it */
static int transposed, half;       /* rank to exchange with, and which half (see cut_grid()) */
static MPI_Comm row_comm;
static int64_t n, rows, cols, row0, col0;

/* The local part of the matrix: entries of row i are start[i] to start[i+1]-1. */
static int64_t *start;
static int *column;
static double *entry;

static double *partial, *incoming;      /* for all rows of block `row` */
static double *x, *res, *dir, *product; /* for all columns of block `col` */

/* ---- the problem ------------------------------------------------------- */

/* The column of off-diagonal entry `which` of row i; -1 if there are no more.
 * Entries are 1, 2, 4 ... columns away on both sides, wrapping around. */
static int64_t neighbour(int64_t i, int which)
{
    int64_t away = (int64_t)1 << which / 2;

    if (away > n / 2)
        return -1;
    return which % 2 ? (i + away) % n : (i - away + n) % n;
}

static double coefficient(int64_t i, int64_t j)
{
    return -1.0 / (double)(1 + (i + j) % 5);
}

static double diagonal(int64_t i)
{
    double sum = SHIFT;

    for (int which = 0; neighbour(i, which) >= 0; which++)
        sum -= coefficient(i, neighbour(i, which));
    return sum;
}

static double solution(int64_t i, int64_t solve)
{
    return 1 + 0.1 * (double)(i * (solve + 3) % 11);
}

static double right_hand_side(int64_t i, int64_t solve)
{
    double sum = diagonal(i) * solution(i, solve);

    for (int which = 0; neighbour(i, which) >= 0; which++) {
        int64_t j = neighbour(i, which);

        sum += coefficient(i, j) * solution(j, solve);
    }
    return sum;
}

static bool mine(int64_t j)
{
    return j >= col0 && j < col0 + cols;
}

/* Store the entries of this rank.  The first pass counts them. */
static void make_matrix(void)
{
    start = ex_zeros(rows + 1, sizeof *start);
    for (int pass = 0; pass < 2; pass++) {
        int64_t next = 0;

        for (int64_t l = 0; l < rows; l++) {
            int64_t i = row0 + l, j = i;

            start[l] = next;
            for (int which = -1; j >= 0; j = neighbour(i, ++which)) {
                if (!mine(j))
                    continue;
                if (pass) {
                    column[next] = (int)(j - col0);
                    entry[next] = which < 0 ? diagonal(i) : coefficient(i, j);
                }
                next++;
            }
        }
        start[rows] = next;
        if (!pass) {
            column = ex_zeros(next, sizeof *column);
            entry = ex_zeros(next, sizeof *entry);
        }
    }
}

/* An upper bound of the condition number, from Gershgorin's circles. */
static double condition(void)
{
    double most = 0, all_most;

    for (int64_t l = 0; l < cols; l++)
        most = fmax(most, 2 * diagonal(col0 + l) - SHIFT);
    MPI_Allreduce(&most, &all_most, 1, MPI_DOUBLE, MPI_MAX, row_comm);
    return all_most / SHIFT;
}

/* ---- the method -------------------------------------------------------- */

static void cut_grid(void)
{
    for (nrows = ncols = 1; nrows * ncols < np;)
        if (ncols == nrows)
            ncols *= 2;
        else
            nrows *= 2;
    row = rank / ncols;
    col = rank % ncols;
    rows = n / nrows;
    cols = n / ncols;
    row0 = row * rows;
    col0 = col * cols;

    /* On a square grid the columns of block c are the rows of block c; else they
     * are one half of the rows of block c / 2. */
    if (nrows == ncols) {
        transposed = col * ncols + row;
        half = 0;
    } else {
        half = col % 2;
        transposed = col / 2 * ncols + 2 * row + half;
    }
    MPI_Comm_split(MPI_COMM_WORLD, row, col, &row_comm);
}

/* product = A * dir */
static void multiply(void)
{
    MPI_Request request;

    for (int64_t l = 0; l < rows; l++) {
        double sum = 0;

        for (int64_t e = start[l]; e < start[l + 1]; e++)
            sum += entry[e] * dir[column[e]];
        partial[l] = sum;
    }
    for (int away = 1; away < ncols; away *= 2) {
        int other = row * ncols + (col ^ away);

        MPI_Irecv(incoming, (int)rows, MPI_DOUBLE, other, TAG_SUM, MPI_COMM_WORLD, &request);
        MPI_Send(partial, (int)rows, MPI_DOUBLE, other, TAG_SUM, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int64_t l = 0; l < rows; l++)
            partial[l] += incoming[l];
    }
    if (transposed == rank) {
        for (int64_t l = 0; l < cols; l++)
            product[l] = partial[half * cols + l];
        return;
    }
    MPI_Irecv(product, (int)cols, MPI_DOUBLE, transposed, TAG_TRANSPOSE, MPI_COMM_WORLD, &request);
    MPI_Send(partial + half * cols, (int)cols, MPI_DOUBLE, transposed, TAG_TRANSPOSE,
             MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double inner(const double *a, const double *b)
{
    double sum = 0, all;

    for (int64_t l = 0; l < cols; l++)
        sum += a[l] * b[l];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, row_comm);
    return all;
}

/* Solve for one right-hand side.  Returns the relative error. */
static double solve_once(int64_t solve)
{
    double rho, sums[2] = {0, 0}, all[2];

    for (int64_t l = 0; l < cols; l++) {
        x[l] = 0;
        res[l] = dir[l] = right_hand_side(col0 + l, solve);
    }
    rho = inner(res, res);
    for (int k = 0; k < INNER; k++) {
        double alpha, beta, old = rho;

        multiply();
        alpha = rho / inner(dir, product);
        for (int64_t l = 0; l < cols; l++) {
            x[l] += alpha * dir[l];
            res[l] -= alpha * product[l];
        }
        rho = inner(res, res);
        beta = rho / old;
        for (int64_t l = 0; l < cols; l++)
            dir[l] = res[l] + beta * dir[l];
    }

    for (int64_t l = 0; l < cols; l++) {
        double s = solution(col0 + l, solve);

        sums[0] += (x[l] - s) * (x[l] - s);
        sums[1] += s * s;
    }
    MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, row_comm);
    return sqrt(all[0] / all[1]);
}

int main(int argc, char **argv)
{
    const char *wrong;
    double kappa, rate, bound, most = 0, all_most;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    wrong = ex_args(argc, argv, NARGS, args);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    if (np & (np - 1))
        return ex_usage(rank, usage, "%d ranks are not a power of two", np);
    n = args[ROWS].value;
    cut_grid();
    if (n % ncols)
        return ex_usage(rank, usage, "%d rows cannot be cut into %d equal blocks", (int)n, ncols);

    make_matrix();
    partial = ex_zeros(rows, sizeof *partial);
    incoming = ex_zeros(rows, sizeof *incoming);
    x = ex_zeros(cols, sizeof *x);
    res = ex_zeros(cols, sizeof *res);
    dir = ex_zeros(cols, sizeof *dir);
    product = ex_zeros(cols, sizeof *product);

    /* |error_k| <= 2 sqrt(kappa) rate^k |error_0| */
    kappa = condition();
    rate = (sqrt(kappa) - 1) / (sqrt(kappa) + 1);
    bound = 2 * sqrt(kappa);
    for (int k = 0; k < INNER; k++)
        bound *= rate;

    for (int64_t solve = 0; solve < args[SOLVES].value; solve++)
        most = fmax(most, solve_once(solve));
    MPI_Allreduce(&most, &all_most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    MPI_Comm_free(&row_comm);
    ex_free(start);
    ex_free(column);
    ex_free(entry);
    ex_free(partial);
    ex_free(incoming);
    ex_free(x);
    ex_free(res);
    ex_free(dir);
    ex_free(product);
    return ex_verdict(rank, all_most <= bound + 1e-12,
                      "cg: %d rows, %d solves, %d ranks: largest error %.3e", (int)n,
                      (int)args[SOLVES].value, np, all_most);
}
