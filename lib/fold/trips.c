#include "fold/trips.h"

#include <stdlib.h>

#include "common/sums.h"
#include "fold/decode_internal.h"

#define RUNS_MOST   4096                /* of a column, that are read; trips with more differ */
#define SEARCH_MOST (UINT64_C(1) << 16) /* runs that are read to find a period */
#define PERIOD_MOST (UINT64_C(1) << 12) /* trips of a period */

uint64_t ti__arrivals(const struct ti_folded *f, const uint64_t *passes, uint32_t leaf, uint32_t a)
{
    uint64_t reached = passes[leaf - a];

    return a + 1 == f->node[leaf].arrivals ? reached : reached - passes[leaf - a - 1];
}

/* The loop whose trip begins. */
static uint32_t present_loop(const struct ti_folded *f)
{
    return f->frame[f->depth - 1].loop;
}

/* Whether all further values of a column are equal to the last one. */
static bool is_constant(const struct ti_cursor *c)
{
    return c->at == c->end && !c->again && (!c->left || !c->stride);
}

/* ------------------------------------------------------------------- passes -- */

/* Add up the next `n` values of a column of trip counts; 0 if that would take too long. */
static uint64_t sum_ahead(const struct ti_cursor *c, uint64_t n)
{
    struct ti_cursor ahead = *c;
    uint64_t sum = 0, value;

    if (is_constant(c) || (c->left >= n && !c->stride))
        return n * c->last;
    if (n > RUNS_MOST)
        return 0;
    for (; n; n--) {
        if (!ti_cursor_next(&ahead, &value))
            return 0;
        sum += value;
    }
    return sum;
}

/* Find out how often `trips` trips, from the present one on, pass each node of their loop, which
 * goes to f->passes; false if that would take too long. */
static bool count_passes(struct ti_folded *f, uint64_t trips)
{
    uint32_t loop = present_loop(f), end = f->node[loop].end, depth = 0;
    struct {
        uint32_t end;
        uint64_t passes;
    } level[TI_SHAPE_DEPTH + 1] = {{end, trips}};

    if (!f->passes)
        f->passes = calloc(f->nnodes, sizeof *f->passes);
    if (!f->passes)
        return false;
    for (uint32_t i = loop > f->depth ? loop - f->depth : 0; i <= loop; i++)
        f->passes[i] = 0; /* of the loops around it */
    for (uint32_t i = loop + 1; i < end; i++) {
        while (i == level[depth].end)
            depth--;
        f->passes[i] = level[depth].passes;
        if (f->node[i].symbol != LOOP)
            continue;
        level[depth + 1].end = f->node[i].end;
        level[depth + 1].passes = sum_ahead(&f->cursor[f->node[i].cursor], level[depth].passes);
        if (!level[++depth].passes)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- circles -- */

/* Runs that a column repeats. */
struct circle {
    uint64_t values, runs;
};

/* Read the circle in which a column is, unless it has more than `most` values or *runs runs, which
 * are subtracted.  False if there is none, or values are others each time. */
static bool circle_of(const struct ti_cursor *c, uint64_t most, uint64_t *runs, struct circle *out)
{
    struct ti_cursor once = *c;

    *out = (struct circle){0, 0};
    if (!c->again)
        return false;
    once.next = c->circle;
    do {
        once.again = 1;
        if (*runs == 0 || !ti_cursor_run(&once))
            return false;
        --*runs;
        once.last += once.left * once.stride;
        out->values += once.left;
        out->runs++;
    } while (once.next != c->circle_end && out->values <= most);
    return out->values <= most && once.last == c->last;
}

/* -------------------------------------------------------------------- alike -- */

/* Of how many stretches, each of which takes `n` values of a column, are these the same?  Within a
 * run of equal values, and at the end of a column, that is clear.  In a circle, a stretch must be
 * whole circles. */
static uint64_t alike_in(const struct ti_cursor *c, uint64_t n)
{
    uint64_t runs = RUNS_MOST, same;
    struct circle circle;

    if (is_constant(c))
        return UINT64_MAX;
    if (!c->stride && c->left / n > 1)
        return c->left / n;
    if (!circle_of(c, n, &runs, &circle) || n % circle.values)
        return 1;
    same = c->again / circle.runs / (n / circle.values);
    return same ? same : 1;
}

/* The columns of a node after those of its volumes: their first, and their number. */
static uint32_t other_columns(const struct ti_folded *f, uint32_t i, uint32_t *first)
{
    const struct node *node = &f->node[i];
    const struct symbol *s = &f->symbol[node->symbol];
    uint32_t n;

    *first = node->cursor;
    if (node->symbol == LOOP)
        return 1;
    *first += node->arrivals * f->nvolumes;
    n = (uint32_t)__builtin_popcount(s->columns);
    for (int v = 0; v < TI_VECS; v++)
        n += s->vector_is[v] == VECTOR_COLUMN;
    return n;
}

/* How many stretches of trips that pass the nodes as in f->passes are alike. */
static uint64_t alike_passes(const struct ti_folded *f, struct ti_trip_period *p)
{
    uint32_t loop = present_loop(f), first;
    uint64_t alike = f->frame[f->depth - 1].left / p->trips;

    p->events = 0;
    for (uint32_t i = loop + 1; i < f->node[loop].end; i++) {
        if (f->node[i].symbol != LOOP)
            p->events += f->passes[i];
        for (uint32_t n = other_columns(f, i, &first); n && alike > 1; n--) {
            uint64_t same = alike_in(&f->cursor[first++], f->passes[i]);

            alike = same < alike ? same : alike;
        }
    }
    return alike;
}

uint64_t ti_folded_alike(struct ti_folded *f, struct ti_trip_period *p)
{
    p->events = 0;
    if (f->frame[f->depth - 1].left / p->trips <= 1 || !count_passes(f, p->trips))
        return 1;
    return alike_passes(f, p);
}

uint64_t ti_folded_alike_volumes(struct ti_folded *f, struct ti_trip_period *p)
{
    uint64_t alike = ti_folded_alike(f, p);
    uint32_t loop = present_loop(f);

    for (uint32_t i = loop + 1; alike > 1 && i < f->node[loop].end; i++) {
        const struct node *leaf = &f->node[i];

        for (uint32_t a = 0; leaf->symbol != LOOP && a < leaf->arrivals; a++) {
            const struct ti_cursor *c = &f->cursor[leaf->cursor + a * f->nvolumes];
            uint64_t n = ti__arrivals(f, f->passes, i, a);
            uint64_t same = c->draw ? 1 : n ? alike_in(c, n) : alike;

            alike = same < alike ? same : alike;
        }
    }
    return alike;
}

/* -------------------------------------------------------------------- period -- */

/* By how much a stretch must be longer to be whole circles of a column of which it takes `n`
 * values; 0 if it cannot be. */
static uint64_t stretch_column(const struct ti_cursor *c, uint64_t n, uint64_t *runs)
{
    struct circle circle;

    if (is_constant(c))
        return 1;
    if (circle_of(c, INT64_MAX, runs, &circle))
        return circle.values / ti_common_divisor(circle.values, n);
    return !c->stride && c->left / n > 1;
}

/* The same for all columns but those of volumes: what the first one needs that needs more. */
static uint64_t stretch(const struct ti_folded *f, uint64_t *runs)
{
    uint32_t loop = present_loop(f), first;
    uint64_t longer = 1;

    for (uint32_t i = loop + 1; longer == 1 && i < f->node[loop].end; i++)
        for (uint32_t n = other_columns(f, i, &first); longer == 1 && n; n--)
            longer = stretch_column(&f->cursor[first++], f->passes[i], runs);
    return longer;
}

/* Columns of trip counts come before those of what is inside, so that a stretch has whole circles
 * of them once it is compared with these. */
uint64_t ti_folded_find_period(struct ti_folded *f, struct ti_trip_period *p, uint64_t *runs)
{
    uint64_t most = f->frame[f->depth - 1].left / 2, left = SEARCH_MOST, longer;

    most = most < PERIOD_MOST ? most : PERIOD_MOST;
    do {
        longer = p->trips <= most && count_passes(f, p->trips) ? stretch(f, &left) : 0;
        longer = longer <= most / p->trips ? longer : 0;
        p->trips *= longer ? longer : 1;
    } while (longer > 1);
    *runs = SEARCH_MOST - left;
    longer = longer ? alike_passes(f, p) : 0;
    return longer > 1 ? longer : 0;
}

/* ---------------------------------------------------------------- leave out -- */

/* Pass `n` values of a column. */
static bool skip(struct ti_cursor *c, uint64_t n)
{
    if (!c->draw)
        return ti_cursor_skip(c, n);
    ti_draw_leave_out(c->draw, n);
    return true;
}

bool ti_folded_leave_out(struct ti_folded *f, uint64_t n, const struct ti_trip_period *p)
{
    struct frame *frame = &f->frame[f->depth - 1];
    const struct node *loop = &f->node[frame->loop];

    if (!count_passes(f, p->trips))
        return false;
    for (uint32_t i = frame->loop + 1; i < loop->end; i++) {
        const struct node *node = &f->node[i];
        uint32_t column = node->cursor, others, a = 0;

        if (node->symbol != LOOP)
            for (; a < node->arrivals; a++)
                for (uint32_t k = 0; k < f->nvolumes; k++)
                    if (!skip(&f->cursor[column++], n * ti__arrivals(f, f->passes, i, a)))
                        return false;
        for (others = other_columns(f, i, &column); others; others--)
            if (!skip(&f->cursor[column++], n * f->passes[i]))
                return false;
    }
    frame->left -= n * p->trips;
    if (!frame->left) {
        f->at = loop->end;
        f->end = frame->end;
        f->depth--;
    }
    return true;
}
