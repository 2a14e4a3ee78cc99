#include "fold/trips.h"

#include <stdlib.h>

#include "fold/decode_internal.h"

/* Runs of a column that are read to compare trips.  Trips with more are taken to differ. */
#define RUNS_MOST 4096

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

/* Find out how often the present trip passes each node of its loop, which goes to f->passes; false
 * if that would take too long. */
static bool count_passes(struct ti_folded *f)
{
    uint32_t loop = present_loop(f), end = f->node[loop].end, depth = 0;
    struct {
        uint32_t end;
        uint64_t passes;
    } level[TI_SHAPE_DEPTH + 1] = {{end, 1}};

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

/* -------------------------------------------------------------------- alike -- */

/*
 * Of how many trips, each of which takes `n` values of a column, are these the same?  Within a run
 * of equal values, and at the end of a column, that is clear.  In a circle, a trip must end where
 * it began: at the same value, and at the same place of the circle.
 */
static uint64_t alike_in(const struct ti_cursor *c, uint64_t n)
{
    struct ti_cursor ahead = *c;
    uint64_t left = n, runs = 0;

    if (is_constant(c))
        return UINT64_MAX;
    if (!c->stride && c->left / n > 1)
        return c->left / n;
    for (;;) {
        uint64_t some = left < ahead.left ? left : ahead.left;

        ahead.left -= some;
        ahead.last += some * ahead.stride;
        left -= some;
        if (!left)
            break;
        if (!ahead.again || runs++ == RUNS_MOST || !ti_cursor_run(&ahead))
            return 1;
    }
    if (!runs || ahead.last != c->last || ahead.left != c->left ||
        (c->left && ahead.stride != c->stride) ||
        (ahead.next != c->next && !(ahead.next == c->circle && c->next == c->circle_end) &&
         !(ahead.next == c->circle_end && c->next == c->circle)))
        return 1;
    return 1 + ahead.again / runs;
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

uint64_t ti_folded_alike(struct ti_folded *f, uint64_t *events)
{
    uint32_t loop = present_loop(f), first;
    uint64_t alike = f->frame[f->depth - 1].left;

    *events = 0;
    if (alike == 1 || !count_passes(f))
        return 1;
    for (uint32_t i = loop + 1; i < f->node[loop].end; i++) {
        if (f->node[i].symbol != LOOP)
            *events += f->passes[i];
        for (uint32_t n = other_columns(f, i, &first); n && alike > 1; n--) {
            uint64_t same = alike_in(&f->cursor[first++], f->passes[i]);

            alike = same < alike ? same : alike;
        }
    }
    return alike;
}

uint64_t ti_folded_alike_volumes(struct ti_folded *f, uint64_t *events)
{
    uint64_t alike = ti_folded_alike(f, events);
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

/* ---------------------------------------------------------------- leave out -- */

/* Pass `n` values of a column. */
static bool skip(struct ti_cursor *c, uint64_t n)
{
    if (!c->draw)
        return ti_cursor_skip(c, n);
    ti_draw_leave_out(c->draw, n);
    return true;
}

bool ti_folded_leave_out(struct ti_folded *f, uint64_t trips)
{
    struct frame *frame = &f->frame[f->depth - 1];
    const struct node *loop = &f->node[frame->loop];

    if (!count_passes(f))
        return false;
    for (uint32_t i = frame->loop + 1; i < loop->end; i++) {
        const struct node *node = &f->node[i];
        uint32_t column = node->cursor, others, a = 0;

        if (node->symbol != LOOP)
            for (; a < node->arrivals; a++)
                for (uint32_t k = 0; k < f->nvolumes; k++)
                    if (!skip(&f->cursor[column++], trips * ti__arrivals(f, f->passes, i, a)))
                        return false;
        for (others = other_columns(f, i, &column); others; others--)
            if (!skip(&f->cursor[column++], trips * f->passes[i]))
                return false;
    }
    frame->left -= trips;
    if (!frame->left) {
        f->at = loop->end;
        f->end = frame->end;
        f->depth--;
    }
    return true;
}
