#include "extrapolate/grid.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

/* Ways to divide a number of ranks among axes. */
struct shapes {
    int64_t (*p)[TI_AXES];
    size_t n, cap;
    int64_t least; /* spread() of the most square ones */
};

/* How the parts of axes follow from the number of ranks. */
enum law { AS_SQUARE_UP, AS_SQUARE_DOWN, DEALT_UP, DEALT_DOWN, FIXED_FIRST, FIXED_LAST, LAWS };
#define ALL_LAWS ((1u << LAWS) - 1)

/* A rank that has a cell. */
struct tenant {
    int input;
    int64_t rank;
};

struct search {
    const struct ti_inputs *in;
    int64_t np;
    const int64_t *dims;
    ti_grid_fn *each;
    void *arg;
    struct shapes shapes[TI_INPUTS_MOST + 1]; /* of the inputs, and of the target */
    struct ti_grid grid;
    struct tenant first[TI_CELLS]; /* of each cell that has a class */
    int reached;                   /* inputs whose ranks had the classes of their cells, at most */
    struct ti_differing *differing;
};

struct ti_spot ti_grid_spot(const struct ti_grid *g, int input, int64_t np, int64_t rank)
{
    struct ti_spot s = {.np = np, .rank = rank, .axes = g->axes};

    for (int i = 0; i < g->axes; i++) {
        s.p[i] = g->p[input][i];
        s.x[i] = rank % s.p[i];
        rank /= s.p[i];
    }
    return s;
}

uint32_t ti_grid_cell(const struct ti_grid *g, const struct ti_spot *at)
{
    uint32_t cell = 0;

    for (int i = 0; i < at->axes; i++) {
        uint32_t place = at->x[i] == 0 ? 0 : at->x[i] + 1 == at->p[i] ? 1 : 2;

        cell = cell * 3 + place;
    }
    if (g->cells & TI_CELL_DIAGONAL)
        cell = 2 * cell + (at->axes > 1 && at->x[0] * at->p[1] / at->p[0] == at->x[1]);
    if (g->cells & TI_CELL_PARITY)
        for (int i = 0; i < at->axes && i < 2; i++)
            cell = 2 * cell + (uint32_t)(at->x[i] & 1);
    return cell;
}

/* ---------------------------------------------------------------------- shapes -- */

/* How far the parts are from each other: the least one of a number of ranks is the most square. */
static int64_t spread(const int64_t *p, int axes)
{
    int64_t sum = 0;

    for (int i = 0; i < axes; i++)
        sum += p[i];
    return sum;
}

static void divide(struct shapes *s, int64_t *p, int axis, int axes, int64_t rest)
{
    if (axis + 1 == axes) {
        p[axis] = rest;
        if (axes > 1 && rest == 1)
            return;
        s->p = ti_grow(s->p, &s->cap, s->n + 1, sizeof *s->p);
        memcpy(s->p[s->n++], p, sizeof s->p[0]);
        if (s->n == 1 || spread(p, axes) < s->least)
            s->least = spread(p, axes);
        return;
    }
    for (int64_t k = 2; k <= rest; k++)
        if (rest % k == 0) {
            p[axis] = k;
            divide(s, p, axis + 1, axes, rest / k);
        }
}

static struct shapes shapes_of(int64_t np, int axes)
{
    struct shapes s = {.n = 0};
    int64_t p[TI_AXES] = {0};

    divide(&s, p, 0, axes, np);
    return s;
}

static bool is_ordered(const int64_t *p, int axes, bool up)
{
    for (int i = 0; i + 1 < axes; i++)
        if (up ? p[i] > p[i + 1] : p[i] < p[i + 1])
            return false;
    return true;
}

/* Whether the prime factors, the largest first, were each given to the part that was the smallest,
 * as MPI_Dims_create of Open MPI does it: 240 is 20 x 12 then, and not 16 x 15. */
static bool is_dealt(const int64_t *p, int axes, bool up)
{
    int64_t dealt[TI_AXES] = {1, 1, 1, 1}, rest = 1, factor[64];
    int n = 0, found = 0;

    for (int i = 0; i < axes; i++)
        rest *= p[i];
    for (int64_t k = 2; rest > 1; k++)
        for (k = k > rest / k ? rest : k; rest % k == 0 && rest > 1; rest /= k)
            factor[n++] = k;
    while (n-- > 0) {
        int least = 0;

        for (int i = 1; i < axes; i++)
            least = dealt[i] < dealt[least] ? i : least;
        dealt[least] *= factor[n];
    }
    for (int i = 0; i < axes; i++)
        for (int k = 0; k < axes; k++)
            if (dealt[k] == p[i]) {
                dealt[k] = 0;
                found++;
                break;
            }
    return found == axes && is_ordered(p, axes, up);
}

/* Whether a way to divide follows a law; `same`: parts that the inputs have in common. */
static bool follows(const struct search *s, int which, const int64_t *p, enum law law)
{
    int axes = s->grid.axes;

    switch (law) {
    case AS_SQUARE_UP:
    case AS_SQUARE_DOWN:
        return spread(p, axes) == s->shapes[which].least &&
               is_ordered(p, axes, law == AS_SQUARE_UP);
    case DEALT_UP:
    case DEALT_DOWN:
        return is_dealt(p, axes, law == DEALT_UP);
    case FIXED_FIRST:
        return axes > 1 && p[0] == s->grid.p[0][0] && (axes == 2 || p[1] == s->grid.p[0][1]);
    case FIXED_LAST:
        return axes > 1 && p[axes - 1] == s->grid.p[0][axes - 1] &&
               (axes == 2 || p[axes - 2] == s->grid.p[0][axes - 2]);
    case LAWS:
        break;
    }
    return false;
}

/* ----------------------------------------------------------------------- cells -- */

/* Give the cells of an input their classes; false if ranks of a cell have several. */
static bool find_classes(struct search *s, int i)
{
    struct ti_grid *g = &s->grid;

    for (int64_t rank = 0; rank < s->in->input[i].np; rank++) {
        struct ti_spot at = ti_grid_spot(g, i, s->in->input[i].np, rank);
        uint32_t cell = ti_grid_cell(g, &at);
        int32_t is = (int32_t)s->in->input[i].rank[rank].class;

        if (g->class[cell] < 0) {
            g->class[cell] = is;
            s->first[cell] = (struct tenant){i, rank};
        }
        if (g->class[cell] != is) {
            if (i >= s->reached)
                *s->differing =
                    (struct ti_differing){{s->first[cell].input, i}, {s->first[cell].rank, rank}};
            s->reached = i > s->reached ? i : s->reached;
            return false;
        }
    }
    return true;
}

/* The laws of `laws` that a way to divide follows: bits. */
static unsigned laws_of(const struct search *s, int which, const int64_t *p, unsigned laws)
{
    unsigned follow = 0;

    for (int law = 0; law < LAWS; law++)
        if (laws >> law & 1 && follows(s, which, p, (enum law)law))
            follow |= 1u << law;
    return follow;
}

/* Whether the dimensions that are given are those of a grid with as many axes. */
static bool has_dims(const struct search *s)
{
    int axes = 0;

    while (axes < TI_AXES && s->dims[axes])
        axes++;
    return axes == s->grid.axes;
}

/* Set the rival of a grid of the target: another one that follows one of the laws. */
static void find_rival(struct search *s, size_t is, unsigned laws)
{
    const struct shapes *all = &s->shapes[s->in->n];

    memset(s->grid.rival, 0, sizeof s->grid.rival);
    for (size_t k = 0; k < all->n && !s->grid.rival[0]; k++)
        if (k != is && laws_of(s, s->in->n, all->p[k], laws))
            memcpy(s->grid.rival, all->p[k], sizeof s->grid.rival);
}

/* Try the grids of the target; without dimensions that are given, those that follow a law of all
 * inputs. */
static bool try_targets(struct search *s, unsigned laws)
{
    const struct shapes *all = &s->shapes[s->in->n];
    size_t bytes = sizeof(int64_t) * (size_t)s->grid.axes;

    memset(s->grid.rival, 0, sizeof s->grid.rival);
    if (s->dims) {
        memset(s->grid.p[s->in->n], 0, sizeof s->grid.p[0]);
        memcpy(s->grid.p[s->in->n], s->dims, bytes);
        return has_dims(s) && s->each(s->arg, &s->grid);
    }
    for (size_t k = 0; k < all->n; k++) {
        if (!laws_of(s, s->in->n, all->p[k], laws))
            continue;
        find_rival(s, k, laws);
        memcpy(s->grid.p[s->in->n], all->p[k], sizeof all->p[k]);
        if (s->each(s->arg, &s->grid))
            return true;
    }
    return false;
}

static void free_shapes(struct search *s)
{
    for (int i = 0; i <= s->in->n; i++)
        free(s->shapes[i].p);
}

bool ti_grid_of(const struct ti_inputs *in, const struct ti_grid *g, int64_t np, int64_t p[TI_AXES])
{
    struct search s = {.in = in, .np = np, .grid = *g};
    int64_t target = 1;
    unsigned laws;
    int found = 0;

    for (int k = 0; k < g->axes; k++)
        target *= g->p[in->n][k];
    for (int i = 0; i <= in->n; i++)
        s.shapes[i] = shapes_of(i < in->n ? in->input[i].np : target, g->axes);
    laws = laws_of(&s, in->n, g->p[in->n], ALL_LAWS);
    for (int i = 0; i < in->n; i++)
        laws = laws_of(&s, i, g->p[i], laws);
    free(s.shapes[in->n].p);
    s.shapes[in->n] = shapes_of(np, g->axes);
    for (size_t k = 0; k < s.shapes[in->n].n; k++)
        if (laws_of(&s, in->n, s.shapes[in->n].p[k], laws)) {
            memcpy(p, s.shapes[in->n].p[k], sizeof(int64_t) * TI_AXES);
            found++;
        }
    free_shapes(&s);
    return found == 1;
}

/* Try the ways to divide input `i` and those behind it.  The inputs before it follow the laws
 * `laws`; with dimensions that are given they need none. */
static bool try_inputs(struct search *s, int i, unsigned laws)
{
    int32_t class[TI_CELLS];

    if (i == s->in->n)
        return try_targets(s, laws);
    memcpy(class, s->grid.class, sizeof class);
    for (size_t k = 0; k < s->shapes[i].n; k++) {
        unsigned follow;

        memcpy(s->grid.p[i], s->shapes[i].p[k], sizeof s->grid.p[i]);
        follow = laws_of(s, i, s->grid.p[i], laws);
        if ((follow || s->dims) && find_classes(s, i) && try_inputs(s, i + 1, follow))
            return true;
        memcpy(s->grid.class, class, sizeof class);
    }
    return false;
}

bool ti_grids_try(const struct ti_inputs *in, int64_t np, const int64_t *dims, ti_grid_fn *each,
                  void *arg, struct ti_differing *out)
{
    static const int cells[] = {0, TI_CELL_DIAGONAL, TI_CELL_PARITY};
    struct search s = {
        .in = in, .np = np, .dims = dims, .each = each, .arg = arg, .differing = out};

    bool found = false;

    *out = (struct ti_differing){{0, 0}, {0, 0}};
    for (int axes = 1; axes <= TI_AXES && !found; axes++) {
        s.grid.axes = axes;
        for (int i = 0; i <= in->n; i++)
            s.shapes[i] = shapes_of(i < in->n ? in->input[i].np : np, axes);
        for (size_t c = 0; c < sizeof cells / sizeof *cells && !found; c++) {
            s.grid.cells = cells[c];
            memset(s.grid.class, -1, sizeof s.grid.class);
            found = try_inputs(&s, 0, ALL_LAWS);
        }
        free_shapes(&s);
    }
    return found;
}
