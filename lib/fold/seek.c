#include "fold/seek.h"

#include <stdlib.h>

#include "fold/decode_internal.h"

/* A search reads at most so many runs of columns and nodes. */
#define READ_MAX (UINT64_C(64) * TI_RECORD_RUNS)

/*
 * The state of a search.  `begun` says of each node how many of its passes have begun, that is, had
 * their first event.  This is all that sums need: a leaf has begun as often as it had an event, and
 * its arrivals follow from how often the loops that begin with it have begun.
 */
struct seek {
    struct ti_folded *f;
    uint32_t columns; /* what is added up; 0: events */
    uint64_t *begun;
};

static uint32_t next_of(const struct ti_folded *f, uint32_t i)
{
    return f->node[i].symbol == LOOP ? f->node[i].end : i + 1;
}

/* ------------------------------------------------------------------- sums -- */

/* Add up the trips of the first `passes` passes of a loop. */
static bool sum_trips(struct ti_folded *f, uint32_t loop, uint64_t passes, uint64_t *trips)
{
    static const struct ti_bounds bounds = {1, TI_RECORD_EVENTS};
    uint32_t column = f->node[loop].cursor;
    const struct ti_bytes *blob = &f->column_blob[column];

    return ti_column_sum((uint64_t)f->column_first[column], blob->data, blob->n, passes, &bounds,
                         &f->runs, trips);
}

/* Account for reading `n` nodes; false if that is too much. */
static bool read_nodes(struct ti_folded *f, uint32_t n)
{
    if (f->runs < n)
        return false;
    f->runs -= n;
    return true;
}

/* Let the nodes of a body, from `i` to `end`, be passed `passes` times. */
static bool set_passes(struct seek *s, uint32_t i, uint32_t end, uint64_t passes)
{
    struct {
        uint32_t end;
        uint64_t passes;
    } level[TI_SHAPE_DEPTH + 1] = {{end, passes}};
    uint32_t depth = 0;

    if (!read_nodes(s->f, end - i))
        return false;
    for (; i < end; i++) {
        while (i == level[depth].end)
            depth--;
        s->begun[i] = level[depth].passes;
        if (s->f->node[i].symbol != LOOP)
            continue;
        level[depth + 1].end = s->f->node[i].end;
        if (!sum_trips(s->f, i, level[depth].passes, &level[depth + 1].passes))
            return false;
        depth++;
    }
    return true;
}

#define SUM_MAX (UINT64_C(1) << 62)

/* Add the values of a column of volumes of a leaf to *sum.  With `small`, false if one is negative,
 * or the sum is too large; else modulo 2^64. */
static bool add_column(const struct seek *s, uint32_t leaf, uint32_t which, bool small,
                       uint64_t *sum)
{
    const struct ti_bounds bounds = {small ? 0 : INT64_MIN, INT64_MAX};
    const struct node *node = &s->f->node[leaf];
    struct ti_folded *f = s->f;
    uint64_t more;

    for (uint32_t a = 0; a < node->arrivals; a++) {
        uint32_t column = node->cursor + a * f->nvolumes + which;
        const struct ti_bytes *blob = &f->column_blob[column];
        uint64_t n = ti__arrivals(s->f, s->begun, leaf, a);

        if (f->cursor[column].draw ? !ti_draw_sum_first(f->cursor[column].draw, n, &f->runs, &more)
                                   : !ti_column_sum((uint64_t)f->column_first[column], blob->data,
                                                    blob->n, n, &bounds, &f->runs, &more))
            return false;
        if (small && (more > SUM_MAX || *sum + more > SUM_MAX))
            return false;
        *sum += more;
    }
    return true;
}

/* Add up what the nodes from `i` to `end` have spent. */
static bool add_up(const struct seek *s, uint32_t i, uint32_t end, uint64_t *sum)
{
    *sum = 0;
    if (!read_nodes(s->f, end - i))
        return false;
    for (; i < end; i++) {
        if (s->f->node[i].symbol == LOOP)
            continue;
        if (!s->columns)
            *sum += s->begun[i];
        for (uint32_t rest = s->columns; rest; rest &= rest - 1)
            if (!add_column(s, i, (uint32_t)__builtin_ctz(rest), true, sum))
                return false;
    }
    return true;
}

/* Whether the sum over the whole trace is not too large: then no other is. */
static bool is_small(struct seek *s)
{
    uint32_t n = (uint32_t)s->f->nnodes;
    uint64_t sum;

    return set_passes(s, 0, n, 1) && add_up(s, 0, n, &sum);
}

/* ----------------------------------------------------------------- search -- */

/* A body on the way down. */
struct body {
    uint32_t first, end;
    uint64_t passes;  /* before the one that is searched */
    uint64_t outside; /* spent in the nodes that are not of it */
};

/* Find the node of a body in whose next pass the sum reaches `target`; the nodes before it have
 * begun that pass, and so has the node itself.  1, 0 if there is none, or -1. */
static int find_node(struct seek *s, struct body *b, uint64_t target, uint32_t *found)
{
    uint32_t i = b->first, next;
    uint64_t sum, old = 0, new;

    /* before its first event has begun, what the first node spent is not known */
    if (!add_up(s, next_of(s->f, i), b->end, &sum))
        return -1;
    sum += b->outside;
    for (; i < b->end; i = next) {
        next = next_of(s->f, i);
        if (i != b->first && !add_up(s, i, next, &old))
            return -1;
        if (!set_passes(s, i, next, b->passes + 1) || !add_up(s, i, next, &new))
            return -1;
        sum += new - old;
        if (sum >= target) {
            b->outside = sum - new;
            *found = i;
            return 1;
        }
    }
    return 0;
}

/* Find the trip of a loop in which the sum reaches `target`, and make its body *b. */
static bool find_trip(struct seek *s, uint32_t loop, struct body *b, uint64_t target,
                      struct ti_trip *out)
{
    uint32_t end = s->f->node[loop].end;
    uint64_t before, after, low = 0, high, sum;

    if (!sum_trips(s->f, loop, b->passes, &before) || !sum_trips(s->f, loop, b->passes + 1, &after))
        return false;
    for (high = after - before - 1; low < high;) {
        uint64_t trip = low + (high - low) / 2;

        if (!set_passes(s, loop + 1, end, before + trip + 1) || !add_up(s, loop + 1, end, &sum))
            return false;
        if (b->outside + sum >= target)
            high = trip;
        else
            low = trip + 1;
    }
    *out = (struct ti_trip){loop, low + 1, after - before};
    *b = (struct body){loop + 1, end, before + low, b->outside};
    return set_passes(s, b->first, b->end, b->passes);
}

/* Find the first event with which the sum reaches `target`, and its loops.  1, 0 if there is none,
 * or -1. */
static int search(struct seek *s, uint64_t target, struct ti_place *out, uint32_t *leaf)
{
    struct body b = {0, (uint32_t)s->f->nnodes, 0, 0};
    int found;

    out->depth = 0;
    if (b.end == 0)
        return 0;
    if (!set_passes(s, b.first, b.end, 0))
        return -1;
    for (;;) {
        found = find_node(s, &b, target, leaf);
        if (found <= 0)
            return found;
        if (s->f->node[*leaf].symbol != LOOP)
            break;
        if (!find_trip(s, *leaf, &b, target, &out->loop[out->depth++]))
            return -1;
    }
    s->begun[*leaf] = b.passes;
    return 1;
}

/* -------------------------------------------------------------------- place -- */

/* Pass the values of a column that came before. */
static bool skip(struct ti_folded *f, uint32_t column, uint64_t n)
{
    struct ti_cursor *c = &f->cursor[column];
    const struct ti_bytes *blob = &f->column_blob[column];
    struct ti_draw *draw = c->draw;

    ti_cursor_start(c, (uint64_t)f->column_first[column], blob->data, blob->n);
    c->draw = draw;
    return ti_cursor_skip(c, n);
}

static bool skip_leaf(struct seek *s, uint32_t leaf)
{
    const struct node *node = &s->f->node[leaf];
    const struct symbol *symbol = &s->f->symbol[node->symbol];
    uint32_t column = node->cursor;
    int others = __builtin_popcount(symbol->columns);

    for (uint32_t a = 0; a < node->arrivals; a++)
        for (uint32_t i = 0; i < s->f->nvolumes; i++)
            if (!skip(s->f, column++, ti__arrivals(s->f, s->begun, leaf, a)))
                return false;
    for (int v = 0; v < TI_VECS; v++)
        others += symbol->vector_is[v] == VECTOR_COLUMN;
    for (; others; others--)
        if (!skip(s->f, column++, s->begun[leaf]))
            return false;
    return true;
}

/* Let the iterator stand before a leaf, whose loops were entered.  Those that had no event yet have
 * not begun. */
static bool go(struct seek *s, uint32_t leaf, const struct ti_place *place)
{
    struct ti_folded *f = s->f;
    uint32_t inner = leaf;

    f->arrival = 0;
    for (uint32_t d = place->depth; d-- > 0; inner = place->loop[d].loop) {
        if (place->loop[d].trip != 1 || place->loop[d].loop + 1 != inner)
            break;
        s->begun[place->loop[d].loop]--;
        f->arrival++;
    }
    f->at = leaf;
    f->end = (uint32_t)f->nnodes;
    f->depth = place->depth;
    for (uint32_t d = 0; d < place->depth; d++) {
        const struct ti_trip *t = &place->loop[d];

        f->frame[d] = (struct frame){t->loop, f->end, t->trips - t->trip + 1};
        f->end = f->node[t->loop].end;
    }
    for (uint32_t i = 0; i < f->nnodes; i++) {
        bool entered = f->node[i].symbol == LOOP && i < leaf && i + f->arrival >= leaf;

        if (f->node[i].symbol == LOOP ? !skip(f, f->node[i].cursor, s->begun[i] + entered)
                                      : !skip_leaf(s, i))
            return false;
    }
    return true;
}

/* Fill in what was spent before. */
static bool add_before(struct seek *s, struct ti_place *out)
{
    out->event = 0;
    for (uint32_t k = 0; k < s->f->nvolumes; k++)
        out->before[k] = 0;
    for (uint32_t i = 0; i < s->f->nnodes; i++) {
        if (s->f->node[i].symbol == LOOP)
            continue;
        out->event += s->begun[i];
        for (uint32_t k = 0; k < s->f->nvolumes; k++)
            if (!add_column(s, i, k, false, &out->before[k]))
                return false;
    }
    return true;
}

static int seek(struct ti_folded *f, uint32_t columns, uint64_t target, struct ti_place *out)
{
    struct seek s = {f, columns, malloc((f->nnodes + 1) * sizeof *s.begun)};
    uint32_t leaf;
    int found = -1;

    f->runs = READ_MAX;
    if (s.begun && is_small(&s)) {
        found = search(&s, target, out, &leaf);
        if (found > 0 && (!go(&s, leaf, out) || !add_before(&s, out)))
            found = -1;
    }
    free(s.begun);
    return found;
}

int ti_folded_seek_event(struct ti_folded *f, uint64_t event, struct ti_place *out)
{
    return event < f->events ? seek(f, 0, event + 1, out) : 0;
}

int ti_folded_seek_sum(struct ti_folded *f, uint32_t columns, uint64_t value, struct ti_place *out)
{
    return seek(f, columns, value, out);
}
