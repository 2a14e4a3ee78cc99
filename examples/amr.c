/*
 * AMR-like: a front on a periodic square of blocks, which are refined where the
 * front is.
 *
 * The square has BLOCKS x BLOCKS base blocks, a power of two a side.  A base
 * block is one leaf of B x B cells, or, if it is refined, four leaves whose
 * cells are half as wide.  Solves Burgers' equation, u_t + (u^2 / 2)_x +
 * (u^2 / 2)_y = 0: a hump of u moves to the upper right and gets steep in front.
 *
 * The leaves are numbered along a Morton curve, and each rank has an equal share
 * of consecutive leaves.  In a step a leaf needs the edges of its neighbours: a
 * message for each leaf and neighbour on another rank (Irecv, Isend, Waitall);
 * then all ranks agree on the largest u, which limits the time step (Allreduce).
 * Every few steps ranks tell each other which base blocks are steep (Allreduce).
 * These and the blocks around them become the refined ones, leaves are numbered
 * anew, and cells move to the ranks that have them now (Alltoallv).  Every rank
 * knows all leaves, but only the cells of its own.
 *
 * Verification: the sum of u over the area stays the same, and u between the
 * smallest and the largest initial value.  Both sides of an edge compute the
 * flux through it, so the sum would change if they knew different cells.
 */
#include "examples/example.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <string.h>

#define B        8   /* cells along a leaf, even */
#define LOWEST   0.1 /* u at the start, and where the hump is */
#define HIGHEST  1.1
#define CENTRE   0.35
#define RADIUS   0.25
#define STEEP    0.03 /* a leaf is refined if two of its cells differ by more */
#define COURANT  0.4  /* at most 0.5 */
#define ROUNDING 1e-12

enum { REGRID_EVERY = 10, TAG_EDGE = 1 };
enum { WEST, EAST, SOUTH, NORTH, SIDES };
enum { MAX_EDGES = 2 * SIDES }; /* of a leaf, as coarse ones may have two on each side */

static const char usage[] = "amr [BLOCKS [STEPS]], BLOCKS a power of two";

enum { BLOCKS, STEPS, NARGS };

static struct ex_arg args[NARGS] = {
    [BLOCKS] = {"blocks", 16, 2, 256},
    [STEPS] = {"steps", 200, 1, INT_MAX},
};

/* All leaves, and this rank's share of them.  By base block, in Morton order. */
struct layout {
    int *refined; /* 0 or 1 */
    int *first;   /* its first leaf */
    int leaves;
    int low, count; /* this rank's leaves */
};

/* Where a leaf is.  Lengths are in refined leaves. */
struct place {
    int x, y, size;
};

struct leaf {
    struct place at;
    int base;
    double u[B][B]; /* by y, then x */
    /* Values beyond each edge: two for each cell, as two smaller cells may lie there. */
    double beyond[SIDES][2 * B];
};

enum { LOWER, UPPER, WHOLE }; /* parts of an edge */

/* The cells of leaf `from` beyond `side` of leaf `to`. */
struct edge {
    int from, to, side;
    int from_part, to_part;
    int partner; /* the rank that has the other leaf */
};

struct edges {
    struct edge *edge;
    int n;
};

static int rank, np, nblocks, nbases;
static struct layout now, next;
static struct leaf *leaves, *spare; /* of this rank; room for the largest share */
static struct edges receives, sends, copies;
static double *incoming, *outgoing; /* edges, or cells that move */
static MPI_Request *requests;
static int *counts, *places, *in_counts, *in_places, *steep;

/* ---- leaves ------------------------------------------------------------ */

/* Base blocks along the Morton curve: the bits of x and y by turns. */
static int base_at(int x, int y)
{
    int base = 0;

    for (int bit = 0; nblocks >> bit > 1; bit++)
        base |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << (2 * bit + 1);
    return base;
}

static void base_place(int base, int *x, int *y)
{
    *x = *y = 0;
    for (int bit = 0; nblocks >> bit > 1; bit++) {
        *x |= (base >> 2 * bit & 1) << bit;
        *y |= (base >> (2 * bit + 1) & 1) << bit;
    }
}

static int leaves_of(const struct layout *l, int base)
{
    return l->refined[base] ? 4 : 1;
}

static struct place place_of(const struct layout *l, int base, int child)
{
    struct place p = {0, 0, l->refined[base] ? 1 : 2};

    base_place(base, &p.x, &p.y);
    p.x = 2 * p.x + child % 2;
    p.y = 2 * p.y + child / 2;
    return p;
}

/* The leaf that covers a place, on the periodic square. */
static int leaf_at(const struct layout *l, int x, int y, bool *refined)
{
    int base;

    x &= 2 * nblocks - 1;
    y &= 2 * nblocks - 1;
    base = base_at(x / 2, y / 2);
    *refined = l->refined[base];
    return l->first[base] + (*refined ? y % 2 * 2 + x % 2 : 0);
}

static int owner_of(const struct layout *l, int leaf)
{
    int length = l->leaves / np, longer = l->leaves % np;

    if (leaf < longer * (length + 1))
        return leaf / (length + 1);
    return longer + (leaf - longer * (length + 1)) / length;
}

static bool mine(const struct layout *l, int leaf)
{
    return leaf >= l->low && leaf < l->low + l->count;
}

/* Number the leaves, after `refined` has changed. */
static void number_leaves(struct layout *l)
{
    int64_t low;

    l->leaves = 0;
    for (int base = 0; base < nbases; base++) {
        l->first[base] = l->leaves;
        l->leaves += leaves_of(l, base);
    }
    l->count = (int)ex_block(l->leaves, np, rank, &low);
    l->low = (int)low;
}

/* ---- edges ------------------------------------------------------------- */

/* Find the neighbours of a leaf, and note the edges that this rank sends, receives or copies. */
static void note_edges(const struct layout *l, int leaf, struct place p)
{
    for (int side = 0; side < SIDES; side++)
        for (int k = 0; k < p.size; k++) {
            bool across = side == SOUTH || side == NORTH, refined;
            int beyond = side == EAST || side == NORTH ? p.size : -1;
            int x = p.x + (across ? k : beyond), y = p.y + (across ? beyond : k);
            struct edge e = {leaf_at(l, x, y, &refined), leaf, side, WHOLE, WHOLE, rank};

            if (refined && p.size == 2)
                e.to_part = k;
            if (!refined && p.size == 1)
                e.from_part = (across ? p.x : p.y) % 2;
            if (mine(l, leaf) && mine(l, e.from)) {
                copies.edge[copies.n++] = e;
            } else if (mine(l, leaf)) {
                e.partner = owner_of(l, e.from);
                receives.edge[receives.n++] = e;
            } else if (mine(l, e.from)) {
                e.partner = owner_of(l, leaf);
                sends.edge[sends.n++] = e;
            }
            if (e.to_part == WHOLE)
                break;
        }
}

/*
 * Find where leaves and their neighbours are, after number_leaves().  All ranks go through the
 * leaves in the same order: so the k-th edge that a rank sends to another with a tag is the k-th
 * that the other receives.
 */
static void settle_leaves(const struct layout *l)
{
    receives.n = sends.n = copies.n = 0;
    for (int base = 0; base < nbases; base++)
        for (int child = 0; child < leaves_of(l, base); child++) {
            int leaf = l->first[base] + child;
            struct place p = place_of(l, base, child);

            if (mine(l, leaf)) {
                leaves[leaf - l->low].at = p;
                leaves[leaf - l->low].base = base;
            }
            note_edges(l, leaf, p);
        }
}

static int edge_length(const struct edge *e)
{
    return e->from_part == WHOLE ? B : B / 2;
}

static void pack_edge(const struct edge *e, double *buffer)
{
    /* The first cell, and the way to the next, for each side of the receiver. */
    static const struct {
        int y, x, dy, dx;
    } rims[SIDES] = {{0, B - 1, 1, 0}, {0, 0, 1, 0}, {B - 1, 0, 0, 1}, {0, 0, 0, 1}}, *rim;
    struct leaf *leaf = &leaves[e->from - now.low];
    int first = e->from_part == UPPER ? B / 2 : 0;

    rim = &rims[e->side];
    for (int i = first; i < first + edge_length(e); i++)
        *buffer++ = leaf->u[rim->y + i * rim->dy][rim->x + i * rim->dx];
}

static void unpack_edge(const struct edge *e, const double *buffer)
{
    double *beyond = leaves[e->to - now.low].beyond[e->side] + (e->to_part == UPPER ? B : 0);
    int length = e->to_part == WHOLE ? 2 * B : B, each = length / edge_length(e);

    for (int i = 0; i < length; i++)
        beyond[i] = buffer[i / each];
}

static void exchange_edges(void)
{
    struct edge *e;
    double buffer[B];
    int n = 0;

    for (int i = 0; i < receives.n; i++, n++) {
        e = &receives.edge[i];
        MPI_Irecv(incoming + i * B, edge_length(e), MPI_DOUBLE, e->partner, TAG_EDGE + e->side,
                  MPI_COMM_WORLD, &requests[n]);
    }
    for (int i = 0; i < sends.n; i++, n++) {
        e = &sends.edge[i];
        pack_edge(e, outgoing + i * B);
        MPI_Isend(outgoing + i * B, edge_length(e), MPI_DOUBLE, e->partner, TAG_EDGE + e->side,
                  MPI_COMM_WORLD, &requests[n]);
    }
    for (int i = 0; i < copies.n; i++) {
        pack_edge(&copies.edge[i], buffer);
        unpack_edge(&copies.edge[i], buffer);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < receives.n; i++)
        unpack_edge(&receives.edge[i], incoming + i * B);
}

/* ---- one step ---------------------------------------------------------- */

/* The flux from a to b, in positive direction (Rusanov); no u is larger than `most`. */
static inline double flux(double a, double b, double most)
{
    return 0.25 * (a * a + b * b) - 0.5 * most * (b - a);
}

/* The flux through an outer edge of a cell: the mean of two, as two cells may lie beyond. */
static inline double outer(double u, const double *beyond, bool inward, double most)
{
    double first = inward ? flux(beyond[0], u, most) : flux(u, beyond[0], most);
    double second = inward ? flux(beyond[1], u, most) : flux(u, beyond[1], most);

    return 0.5 * (first + second);
}

/* `factor` is the time step divided by the width of a cell. */
static void advance_leaf(struct leaf *l, double factor, double most)
{
    const double *west = l->beyond[WEST], *east = l->beyond[EAST];
    const double *south = l->beyond[SOUTH], *north = l->beyond[NORTH];
    const int last = B - 1;
    double u[B][B];

    memcpy(u, l->u, sizeof u);
    for (int y = 0; y < B; y++)
        for (int x = 0; x < B; x++) {
            double c = u[y][x], in, out;

            in = x > 0 ? flux(u[y][x - 1], c, most) : outer(c, west + 2 * y, true, most);
            out = x < last ? flux(c, u[y][x + 1], most) : outer(c, east + 2 * y, false, most);
            in += y > 0 ? flux(u[y - 1][x], c, most) : outer(c, south + 2 * x, true, most);
            out += y < last ? flux(c, u[y + 1][x], most) : outer(c, north + 2 * x, false, most);
            l->u[y][x] = c + factor * (in - out);
        }
}

/* The largest and, negated, the smallest u of all ranks. */
static void find_range(double range[2])
{
    double own[2] = {-HIGHEST, -HIGHEST};

    for (int i = 0; i < now.count; i++)
        for (int c = 0; c < B * B; c++) {
            double u = leaves[i].u[c / B][c % B];

            own[0] = u > own[0] ? u : own[0];
            own[1] = -u > own[1] ? -u : own[1];
        }
    MPI_Allreduce(own, range, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void step(void)
{
    double range[2];

    exchange_edges();
    find_range(range);
    for (int i = 0; i < now.count; i++)
        advance_leaf(&leaves[i], COURANT / range[0] / leaves[i].at.size, range[0]);
}

/* ---- regridding -------------------------------------------------------- */

static bool is_steep(const struct leaf *l)
{
    for (int y = 0; y < B; y++)
        for (int x = 1; x < B; x++)
            if (fabs(l->u[y][x] - l->u[y][x - 1]) > STEEP ||
                fabs(l->u[x][y] - l->u[x - 1][y]) > STEEP)
                return true;
    return false;
}

/* Decide which base blocks are refined, the same on all ranks.  Returns whether some changed. */
static bool choose_refined(void)
{
    bool changed = false;

    for (int base = 0; base < nbases; base++)
        steep[base] = 0;
    for (int i = 0; i < now.count; i++)
        steep[leaves[i].base] |= is_steep(&leaves[i]);
    MPI_Allreduce(MPI_IN_PLACE, steep, nbases, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int base = 0; base < nbases; base++) {
        int x, y;

        base_place(base, &x, &y);
        next.refined[base] = 0;
        for (int i = 0; i < 9; i++)
            next.refined[base] |=
                steep[base_at((x + i % 3 - 1) & (nblocks - 1), (y + i / 3 - 1) & (nblocks - 1))];
        changed |= next.refined[base] != now.refined[base];
    }
    return changed;
}

/* Pack what a new leaf gets of an old one: all cells, means of four where a block is not refined
 * any more, or a quarter (`child`) where it is now. */
static void pack_cells(const struct leaf *l, bool was, bool is, int child, double *buffer)
{
    int y0 = child / 2 * (B / 2), x0 = child % 2 * (B / 2), n = 0;

    if (was == is) {
        memcpy(buffer, l->u, sizeof l->u);
        return;
    }
    for (int y = 0; y < B / 2; y++)
        for (int x = 0; x < B / 2; x++)
            buffer[n++] = is ? l->u[y0 + y][x0 + x]
                             : 0.25 * (l->u[2 * y][2 * x] + l->u[2 * y][2 * x + 1] +
                                       l->u[2 * y + 1][2 * x] + l->u[2 * y + 1][2 * x + 1]);
}

static void unpack_cells(struct leaf *l, bool was, bool is, int child, const double *buffer)
{
    int y0 = child / 2 * (B / 2), x0 = child % 2 * (B / 2);

    if (was == is)
        memcpy(l->u, buffer, sizeof l->u);
    else if (is)
        for (int c = 0; c < B * B; c++)
            l->u[c / B][c % B] = buffer[c / B / 2 * (B / 2) + c % B / 2];
    else
        for (int c = 0; c < B * B / 4; c++)
            l->u[y0 + c / (B / 2)][x0 + c % (B / 2)] = buffer[c];
}

enum { PACK, COUNT, UNPACK };

/*
 * Go through all cells that move from the old leaves to the new: pack those of this rank and
 * count them by receiver, count those that it gets by sender, or unpack these.  The order is
 * the same on all ranks.  In it owners never decrease, so buffers are in the order of ranks.
 */
static void move_cells(int what, double *buffer, int *count)
{
    for (int r = 0; r < np && what != UNPACK; r++)
        count[r] = 0;
    for (int base = 0; base < nbases; base++) {
        bool was = now.refined[base], is = next.refined[base];

        for (int child = 0; child < (was || is ? 4 : 1); child++) {
            int from = now.first[base] + (was ? child : 0);
            int to = next.first[base] + (is ? child : 0);
            int n = was == is ? B * B : B * B / 4;

            if (!mine(what == PACK ? &now : &next, what == PACK ? from : to))
                continue;
            if (what == PACK)
                pack_cells(&leaves[from - now.low], was, is, child, buffer);
            if (what == UNPACK)
                unpack_cells(&spare[to - next.low], was, is, child, buffer);
            else
                count[what == PACK ? owner_of(&next, to) : owner_of(&now, from)] += n;
            buffer += n;
        }
    }
}

/* Refine where u is steep, and give each rank an equal share of the leaves.  Returns whether
 * anything changed. */
static bool regrid(void)
{
    struct layout layout;
    struct leaf *old = leaves;

    if (!choose_refined())
        return false;
    number_leaves(&next);
    move_cells(PACK, outgoing, counts);
    move_cells(COUNT, incoming, in_counts);
    places[0] = in_places[0] = 0;
    for (int r = 1; r < np; r++) {
        places[r] = places[r - 1] + counts[r - 1];
        in_places[r] = in_places[r - 1] + in_counts[r - 1];
    }
    MPI_Alltoallv(outgoing, counts, places, MPI_DOUBLE, incoming, in_counts, in_places, MPI_DOUBLE,
                  MPI_COMM_WORLD);
    move_cells(UNPACK, incoming, NULL);
    leaves = spare;
    spare = old;
    layout = now;
    now = next;
    next = layout;
    settle_leaves(&now);
    return true;
}

/* ---- */

static void allocate(void)
{
    int64_t most = (4 * (int64_t)nbases + np - 1) / np; /* leaves of a rank */
    struct edges *lists[] = {&receives, &sends, &copies};

    now.refined = ex_zeros(nbases, sizeof *now.refined);
    now.first = ex_zeros(nbases, sizeof *now.first);
    next.refined = ex_zeros(nbases, sizeof *next.refined);
    next.first = ex_zeros(nbases, sizeof *next.first);
    steep = ex_zeros(nbases, sizeof *steep);
    leaves = ex_zeros(most, sizeof *leaves);
    spare = ex_zeros(most, sizeof *spare);
    for (int i = 0; i < 3; i++)
        lists[i]->edge = ex_zeros(MAX_EDGES * most, sizeof *lists[i]->edge);
    requests = ex_zeros(2 * MAX_EDGES * most, sizeof *requests);
    incoming = ex_zeros(MAX_EDGES * B * most, sizeof *incoming); /* B * B a leaf are as many */
    outgoing = ex_zeros(MAX_EDGES * B * most, sizeof *outgoing);
    counts = ex_zeros(np, sizeof *counts);
    places = ex_zeros(np, sizeof *places);
    in_counts = ex_zeros(np, sizeof *in_counts);
    in_places = ex_zeros(np, sizeof *in_places);
}

/* u at the start: a hump on level ground. */
static void set_hump(void)
{
    for (int i = 0; i < now.count; i++) {
        struct place p = leaves[i].at;

        for (int c = 0; c < B * B; c++) {
            double x = (p.x * B + (c % B + 0.5) * p.size) / (2 * B * nblocks) - CENTRE;
            double y = (p.y * B + (c / B + 0.5) * p.size) / (2 * B * nblocks) - CENTRE;
            double height = 1 - (x * x + y * y) / (RADIUS * RADIUS);

            height = height > 0 ? height : 0;
            leaves[i].u[c / B][c % B] = LOWEST + (HIGHEST - LOWEST) * height * height;
        }
    }
}

/* The integral of u. */
static double find_total(void)
{
    double total = 0, all;

    for (int i = 0; i < now.count; i++) {
        double sum = 0, width = leaves[i].at.size / (2.0 * B * nblocks);

        for (int c = 0; c < B * B; c++)
            sum += leaves[i].u[c / B][c % B];
        total += sum * width * width;
    }
    MPI_Allreduce(&total, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    double range[2], first_range[2], first_total, total;
    int regrids = 0;
    const char *wrong;
    bool ok;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    wrong = ex_args(argc, argv, NARGS, args);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    nblocks = (int)args[BLOCKS].value;
    if (nblocks & (nblocks - 1))
        return ex_usage(rank, usage, "%d is no power of two", nblocks);
    nbases = nblocks * nblocks;

    allocate();
    number_leaves(&now);
    settle_leaves(&now);
    set_hump();
    regrid();
    set_hump(); /* on refined leaves, too */
    find_range(first_range);
    first_total = find_total();
    for (int64_t k = 1; k <= args[STEPS].value; k++) {
        step();
        if (k % REGRID_EVERY == 0)
            regrids += regrid();
    }
    find_range(range);
    total = find_total();

    ok = fabs(total - first_total) <= ROUNDING * first_total;
    ok &= range[0] <= first_range[0] + ROUNDING && range[1] <= first_range[1] + ROUNDING;
    return ex_verdict(rank, ok,
                      "amr: %d x %d blocks, %d steps, %d ranks: %d leaves after %d changes, "
                      "u from %.9f to %.9f, error of the sum %.1e",
                      nblocks, nblocks, (int)args[STEPS].value, np, now.leaves, regrids, -range[1],
                      range[0], fabs(total - first_total));
}
