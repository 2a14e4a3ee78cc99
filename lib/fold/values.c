#include "fold/values.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/sums.h"
#include "fold/decode_internal.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

/* Values of a period of all columns together that are kept. */
#define PERIOD_MOST (1u << 22)

/* A progression of more values than can be drawn one by one is cut into so many parts. */
#define PARTS 64

bool ti_values_sum(const struct ti_values *v, uint32_t column, uint64_t *sum)
{
    uint64_t first = v->first[column], last, span;
    int64_t stride = (int64_t)v->stride[column];
    u128 twice;

    *sum = 0;
    if (v->n == 0)
        return true;
    if (__builtin_mul_overflow(stride < 0 ? -(uint64_t)stride : (uint64_t)stride, v->n - 1,
                               &span) ||
        (stride < 0 ? __builtin_sub_overflow(first, span, &last)
                    : __builtin_add_overflow(first, span, &last)))
        return false;
    twice = (u128)first + last;
    if (twice && (u128)v->n > (((u128)1 << 127) - 1) / twice)
        return false;
    twice *= v->n;
    return twice >> 65 == 0 && ti_sum_add(sum, (uint64_t)(twice >> 1), v->times);
}

bool ti_values_each(const struct ti_values *v, ti_take_values *take, void *arg)
{
    bool steady = true;
    uint64_t each, some;

    for (uint32_t i = 0; i < 1 + TI_EXTRAS_MAX; i++)
        steady &= v->stride[i] == 0;
    each = steady ? v->n : (v->n + TI_PIECES_MOST - 1) / TI_PIECES_MOST;
    for (uint64_t at = 0; at < v->n; at += some) {
        struct ti_values one = {.n = 1};

        some = v->n - at < each ? v->n - at : each;
        one.times = some * v->times;
        for (uint32_t i = 0; i < 1 + TI_EXTRAS_MAX; i++)
            one.first[i] = v->first[i] + at * v->stride[i] +
                           (uint64_t)((i128)(int64_t)v->stride[i] * (int64_t)(some - 1) / 2);
        if (!take(arg, &one))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- columns -- */

/* A column on the way through its values. */
struct way {
    uint32_t index; /* in struct ti_values */
    struct ti_cursor cursor;
    struct ti_draw *draw; /* our own; NULL: the column is a list of tokens */
    /* the period that begins here: of how many values and runs, how often, and by how much values
     * grow from one to the next */
    uint64_t values, runs, again, step;
};

struct ways {
    struct way way[1 + TI_EXTRAS_MAX];
    uint32_t n;
    bool drawn;    /* some are drawn from histograms */
    bool levels;   /* of some the record has each value, so that there are not too many */
    uint64_t left; /* values */
    ti_take_values *take;
    void *arg;
};

static bool is_over(const struct ti_cursor *c)
{
    return c->at == c->end && !c->again && !c->left;
}

/* Find the period that begins at the present place.  A run is a period of one value. */
static bool find_period(struct way *w, uint64_t left)
{
    struct ti_cursor *c = &w->cursor, circle;

    w->values = w->runs = 1;
    w->step = 0;
    w->again = left;
    if (is_over(c))
        return true;
    if (!c->left && c->again && (c->next == c->circle || c->next == c->circle_end)) {
        circle = *c;
        w->values = 0;
        do {
            if (!ti_cursor_run(&circle))
                return false;
            w->values += circle.left;
            circle.last += circle.left * circle.stride;
            circle.left = 0;
        } while (circle.again && circle.next != circle.circle_end && w->values < left);
        w->runs = c->again - circle.again;
        w->step = circle.last - c->last;
        w->again = c->again / w->runs;
        if (circle.next == circle.circle_end && w->again > 1 && w->values < left)
            return true;
        w->values = w->runs = 1;
    }
    if (!c->left && !ti_cursor_run(c))
        return false;
    w->step = c->stride;
    w->again = c->left;
    if (!c->stride && c->at == c->end && !c->again)
        w->again = left; /* the last value repeats for ever */
    return true;
}

/* Find the period of all columns together, and how often it occurs: at least once. */
static bool find_periods(struct ways *all, uint64_t *values, uint64_t *again)
{
    *values = 1;
    for (uint32_t i = 0; i < all->n; i++) {
        struct way *w = &all->way[i];

        if (w->draw)
            continue;
        if (!find_period(w, all->left))
            return false;
        if (w->values <= PERIOD_MOST && *values <= PERIOD_MOST)
            *values = *values / ti_common_divisor(*values, w->values) * w->values;
        else
            *values = PERIOD_MOST + 1;
    }
    *again = all->left / *values;
    for (uint32_t i = 0; i < all->n; i++) {
        const struct way *w = &all->way[i];
        u128 some = w->draw ? all->left : (u128)w->again * w->values;

        if (some / *values < *again)
            *again = (uint64_t)(some / *values);
    }
    return true;
}

/* The values from the present place to the end of the first run that ends; goes there. */
static bool next_run(struct ways *all, uint64_t most, struct ti_values *v)
{
    *v = (struct ti_values){.n = most, .times = 1};
    for (uint32_t i = 0; i < all->n; i++) {
        struct ti_cursor *c = &all->way[i].cursor;

        if (all->way[i].draw)
            continue;
        if (!c->left && !is_over(c) && !ti_cursor_run(c))
            return false;
        if (c->left && c->left < v->n)
            v->n = c->left;
    }
    for (uint32_t i = 0; i < all->n; i++) {
        const struct way *w = &all->way[i];
        struct ti_cursor *c = &all->way[i].cursor;

        if (w->draw)
            continue;
        v->stride[w->index] = c->left ? c->stride : 0;
        v->first[w->index] = c->last + v->stride[w->index];
        if (c->left) {
            c->left -= v->n;
            c->last += v->n * c->stride;
        }
    }
    return true;
}

/* -------------------------------------------------------------------- drawing -- */

/* The shares of a column, of which `at` is the next one. */
struct shares {
    struct ti_draw_share share[TI_SHARES_MOST];
    size_t n, at;
};

/* How many values the next shares of all columns have in common; 0 at the end. */
static uint64_t in_common(struct ways *all, struct shares *of)
{
    uint64_t n = UINT64_MAX;

    for (uint32_t i = 0; i < all->n; i++) {
        struct shares *s = &of[i];

        if (!all->way[i].draw)
            continue;
        while (s->at < s->n && !s->share[s->at].n)
            s->at++;
        if (s->at == s->n)
            return 0;
        n = s->share[s->at].n < n ? s->share[s->at].n : n;
    }
    return n;
}

/* Give `v` with drawn values, all of them by their share.  Shares of several columns go together in
 * the order of their bins: lowest with lowest. */
static bool give_shares(struct ways *all, const struct ti_values *v)
{
    struct shares of[1 + TI_EXTRAS_MAX];
    struct ti_values some = *v;
    uint64_t start = 0, n;

    for (uint32_t i = 0; i < all->n; i++)
        if (all->way[i].draw) {
            of[i].n = ti_draw_shares(all->way[i].draw, v->n * v->times, of[i].share);
            of[i].at = 0;
        }
    for (; (n = in_common(all, of)); start += n) {
        if (v->n == 1)
            some.times = n;
        else /* then v->times is 1 */
            some.n = n;
        for (uint32_t i = 0; i < all->n; i++) {
            uint32_t index = all->way[i].index;

            some.first[index] = v->first[index] + (v->n == 1 ? 0 : start * v->stride[index]);
            if (all->way[i].draw) {
                some.first[index] = of[i].share[of[i].at].value;
                of[i].share[of[i].at].n -= n;
            }
        }
        if (!all->take(all->arg, &some))
            return false;
    }
    return true;
}

/* Give values that are drawn one by one. */
static bool give_drawn(struct ways *all, const struct ti_values *v)
{
    for (uint64_t k = 0; k < v->n * v->times; k++) {
        struct ti_values one = {.n = 1, .times = 1};

        for (uint32_t i = 0; i < all->n; i++) {
            const struct way *w = &all->way[i];

            one.first[w->index] = w->draw ? ti_draw_next(w->draw)
                                          : v->first[w->index] + k % v->n * v->stride[w->index];
        }
        if (!all->take(all->arg, &one))
            return false;
    }
    return true;
}

static bool give(struct ways *all, const struct ti_values *v)
{
    struct ti_values part = *v;
    bool steady = true;
    uint64_t each;

    if (!all->drawn)
        return all->take(all->arg, v);
    if (all->levels || (v->times <= TI_DRAWN_MOST && v->n * v->times <= TI_DRAWN_MOST))
        return give_drawn(all, v);
    for (uint32_t i = 0; i < all->n; i++)
        steady &= v->stride[all->way[i].index] == 0;
    if (steady) {
        part.times *= part.n;
        part.n = 1;
        return give_shares(all, &part);
    }
    each = v->times > 1 ? 1 : (v->n + PARTS - 1) / PARTS;
    for (uint64_t at = 0; at < v->n; at += each) {
        part.n = v->n - at < each ? v->n - at : each;
        for (uint32_t i = 0; i < all->n; i++)
            part.first[all->way[i].index] =
                v->first[all->way[i].index] + at * v->stride[all->way[i].index];
        if (!give_shares(all, &part))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------------- going -- */

/* A list of joint runs. */
struct runs {
    struct ti_values *v;
    size_t n, cap;
};

/* Read the joint runs of the next `n` values. */
static bool read_runs(struct ways *all, uint64_t n, struct runs *out)
{
    out->n = 0;
    while (n) {
        if (!TI_ROOM(out->v, &out->cap, out->n + 1) || !next_run(all, n, &out->v[out->n]))
            return false;
        n -= out->v[out->n++].n;
    }
    return true;
}

/* Give a period, whose runs are known, `again` times.  Its values grow from one to the next. */
static bool give_growing(struct ways *all, const struct runs *runs, uint64_t values, uint64_t again)
{
    for (size_t r = 0; r < runs->n; r++)
        for (uint64_t k = 0; k < runs->v[r].n; k++) {
            struct ti_values v = {.n = again, .times = 1};

            for (uint32_t i = 0; i < all->n; i++) {
                const struct way *w = &all->way[i];

                v.first[w->index] = runs->v[r].first[w->index] + k * runs->v[r].stride[w->index];
                v.stride[w->index] = w->draw ? 0 : w->step * (values / w->values);
            }
            if (!give(all, &v))
                return false;
        }
    return true;
}

static bool give_period(struct ways *all, struct runs *runs, uint64_t values, uint64_t again)
{
    bool grows = false;

    if (!read_runs(all, values, runs))
        return false;
    for (uint32_t i = 0; i < all->n; i++)
        grows |= !all->way[i].draw && all->way[i].step;
    for (uint32_t i = 0; i < all->n; i++)
        if (!all->way[i].draw && !ti_cursor_skip(&all->way[i].cursor, (again - 1) * values))
            return false;
    all->left -= again * values;
    if (grows)
        return give_growing(all, runs, values, again);
    for (size_t r = 0; r < runs->n; r++) {
        runs->v[r].times = again;
        if (!give(all, &runs->v[r]))
            return false;
    }
    return true;
}

/* Whether to give a period at once.  Short traces are drawn in order. */
static bool is_worth_it(const struct ways *all, uint64_t values, uint64_t again)
{
    bool grows = false;

    for (uint32_t i = 0; i < all->n; i++)
        grows |= !all->way[i].draw && all->way[i].step;
    return values > 1 && values <= PERIOD_MOST && again > 1 && !all->levels &&
           (!all->drawn || again > TI_DRAWN_MOST / values) && (!grows || again > values);
}

static bool go(struct ways *all)
{
    struct runs runs = {.v = NULL};
    uint64_t values, again;
    bool fine = true;

    while (fine && all->left) {
        struct ti_values v;

        fine = find_periods(all, &values, &again);
        if (fine && is_worth_it(all, values, again)) {
            fine = give_period(all, &runs, values, again);
        } else if (fine) {
            fine = next_run(all, all->left, &v) && give(all, &v);
            all->left -= fine ? v.n : 0;
        }
    }
    free(runs.v);
    return fine;
}

/* Go through the values of a leaf that the program reached by one arrival. */
static bool go_arrival(const struct ti_folded *f, uint32_t i, uint32_t arrival, uint32_t columns,
                       ti_take_values *take, void *arg)
{
    const struct node *leaf = &f->node[i];
    struct ways all = {.left = ti__leaf_arrivals(leaf, arrival), .take = take, .arg = arg};
    bool fine = true;

    for (uint32_t k = 0; fine && k < f->nvolumes; k++) {
        uint32_t column = leaf->cursor + arrival * f->nvolumes + k;
        struct way *w = &all.way[all.n];

        if (!(columns & 1u << k))
            continue;
        w->index = k;
        ti_cursor_start(&w->cursor, (uint64_t)f->column_first[column], f->column_blob[column].data,
                        f->column_blob[column].n);
        if (f->cursor[column].draw) {
            w->draw = ti_draw_copy(f->cursor[column].draw);
            fine = w->draw != NULL;
            all.drawn = true;
            if (fine) {
                ti_draw_start(w->draw, ti__draw_seed(f, 0, column));
                all.levels |= ti_draw_is_levels(w->draw);
            }
        }
        all.n++;
    }
    fine = fine && go(&all);
    for (uint32_t k = 0; k < all.n; k++)
        ti_draw_free(all.way[k].draw);
    return fine;
}

bool ti_shape_values(const struct ti_folded *f, uint32_t i, uint32_t columns, ti_take_values *take,
                     void *arg)
{
    for (uint32_t a = 0; a < f->node[i].arrivals; a++)
        if (!go_arrival(f, i, a, columns, take, arg))
            return false;
    return true;
}
