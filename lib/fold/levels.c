#include "fold/levels.h"

#include <stdlib.h>

#include "common/order.h"

__extension__ typedef unsigned __int128 u128;

/* 2^t is about 1 + (A t + B t^2) / 2^16, for t from 0 to 1. */
enum { A = 43024, B = 22512 };

/* Levels that no octave above 2^61 has. */
static uint64_t levels_most(uint64_t linear, uint64_t steps)
{
    return linear + steps * (uint64_t)(__builtin_clzll(linear) - 2);
}

/* The value of a level, which is below levels_most(). */
static uint64_t value_of(uint64_t linear, uint64_t steps, uint64_t level)
{
    uint64_t octave, m, low, f;

    if (level < linear)
        return level;
    octave = (level - linear) / steps;
    m = (level - linear) % steps;
    low = linear << octave;
    f = (m * (A * steps + B * m) << 8) / (steps * steps);
    return low + (uint64_t)((u128)low * f >> 24);
}

/* ----------------------------------------------------------------- decoding -- */

bool ti_levels_open(struct ti_levels *l, int64_t first, const uint8_t *p, const uint8_t *end)
{
    uint64_t n, v;

    *l = (struct ti_levels){.first = first, .end = end};
    if (!ti_get_varint(&p, end, &l->linear) || !ti_get_varint(&p, end, &l->steps) ||
        !ti_get_varint(&p, end, &n) || l->linear == 0 || l->linear > TI_LEVELS_LINEAR ||
        l->steps == 0 || l->steps > TI_LEVELS_STEPS)
        return false;
    l->most = levels_most(l->linear, l->steps);
    if (first < 0 || (uint64_t)first >= l->most)
        return false;
    l->ncorrections = n;
    l->corrections = p;
    for (uint64_t i = 0; i < n; i++)
        if (!ti_get_varint(&p, end, &v) || !ti_get_varint(&p, end, &v))
            return false;
    l->symbols = p;
    ti_levels_start(l);
    return true;
}

/* Find the next correction. */
static void next_correction(struct ti_levels *l)
{
    l->gap = UINT64_MAX;
    if (l->left)
        ti_get_varint(&l->correction, l->symbols, &l->gap);
}

void ti_levels_start(struct ti_levels *l)
{
    l->correction = l->corrections;
    l->symbol = l->symbols;
    l->left = l->ncorrections;
    next_correction(l);
}

bool ti_levels_next(struct ti_levels *l, uint64_t *out)
{
    uint64_t symbol, level, difference;

    if (!ti_get_varint(&l->symbol, l->end, &symbol))
        return false;
    level = (uint64_t)l->first + (uint64_t)ti_unzigzag(symbol);
    if (level >= l->most)
        return false;
    *out = value_of(l->linear, l->steps, level);
    if (l->gap--)
        return true;
    if (!ti_get_varint(&l->correction, l->symbols, &difference))
        return false;
    *out += (uint64_t)ti_unzigzag(difference);
    l->left--;
    next_correction(l);
    return true;
}

/* ----------------------------------------------------------------- encoding -- */

/* A value that becomes a level. */
struct item {
    uint64_t value, slack, level;
    int64_t off; /* what it becomes minus `value` */
    int64_t correction;
};

struct items {
    struct item *item;
    size_t n;
    uint64_t linear, steps;
    int64_t off; /* of all */
};

/* Read the values; false if there are too many, or too large ones, or memory is short. */
static bool read_values(struct items *s, const struct ti_column *c, const struct ti_quality *q,
                        bool *no_memory)
{
    struct ti_run_iterator at = ti_column_runs(c);
    uint64_t n = ti_column_values(c);
    const struct ti_column_run *r;
    size_t cap = 0;

    if (n > TI_LEVELS_VALUES)
        return false;
    if (!TI_ROOM(s->item, &cap, n + 1)) {
        *no_memory = true;
        return false;
    }
    while ((r = ti_run_next(&at))) {
        for (uint64_t i = 0; i < r->n; i++) {
            uint64_t value = r->first + i * r->stride;

            if (value >= TI_LEVELS_SUM / 4 / n)
                return false;
            s->item[s->n++] = (struct item){.value = value, .slack = ti_quality_slack(q, value)};
        }
    }
    return true;
}

/* The highest level whose value is at most `value`. */
static uint64_t level_below(const struct items *s, uint64_t value)
{
    uint64_t low = s->linear, level;

    if (value < s->linear)
        return value;
    while (value_of(s->linear, s->steps, low + s->steps) <= value)
        low += s->steps;
    TI_FIRST(level, low + 1, low + s->steps, value_of(s->linear, s->steps, level) <= value);
    return level - 1;
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Choose the level of a value: of the two around it, the one that brings the sum of all so far
 * nearer to what it is to be. */
static void choose_level(struct items *s, struct item *item)
{
    uint64_t below = level_below(s, item->value);
    int64_t down = (int64_t)(value_of(s->linear, s->steps, below) - item->value);
    int64_t up = (int64_t)(value_of(s->linear, s->steps, below + 1) - item->value);
    bool can_down = magnitude(down) <= (int64_t)item->slack, can_up = up <= (int64_t)item->slack;
    bool upwards = can_up && (!can_down || magnitude(s->off + up) < magnitude(s->off + down));

    item->level = below + upwards;
    item->off = upwards ? up : down;
    if (!upwards && !can_down) {
        item->correction = -down;
        item->off = 0;
    }
    s->off += item->off;
}

/* How far a value can still go towards a sum that is less by `off`. */
static int64_t room(const struct item *item, int64_t off)
{
    return (int64_t)item->slack + (off > 0 ? item->off : -item->off);
}

/* Correct values until the sum is exact, those with most room first, about; false if that cannot
 * be. */
static bool correct_sum(struct items *s)
{
    int64_t most = 0;

    for (size_t i = 0; i < s->n; i++)
        most = room(&s->item[i], s->off) > most ? room(&s->item[i], s->off) : most;
    for (; s->off && most; most /= 2) {
        for (struct item *item = s->item; s->off && item < s->item + s->n; item++) {
            int64_t by = room(item, s->off);

            if (by < most)
                continue;
            by = by < magnitude(s->off) ? by : magnitude(s->off);
            by = s->off > 0 ? -by : by;
            item->correction += by;
            item->off += by;
            s->off += by;
        }
    }
    return s->off == 0;
}

static void put_items(struct ti_buffer *b, const struct items *s, int64_t first)
{
    uint64_t n = 0, gap = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->item[i].correction != 0;
    ti_buffer_varint(b, s->linear);
    ti_buffer_varint(b, s->steps);
    ti_buffer_varint(b, n);
    for (size_t i = 0; i < s->n; i++, gap++) {
        if (!s->item[i].correction)
            continue;
        ti_buffer_varint(b, gap);
        ti_buffer_varint(b, ti_zigzag(s->item[i].correction));
        gap = UINT64_MAX; /* 0 at the next value */
    }
    for (size_t i = 0; i < s->n; i++)
        ti_buffer_varint(b, ti_zigzag((int64_t)s->item[i].level - first));
}

bool ti_levels_put(struct ti_buffer *b, const struct ti_column *c, const struct ti_quality *q,
                   int64_t *first)
{
    /* Levels are at most twice the bound apart, less a tenth so that some values have a choice of
     * two.  Below 2 / bound, where a bound has few integers, all values are levels. */
    struct items s = {.linear = 2000000 / q->ppm + 1, .steps = 389000 / q->ppm + 1};
    uint64_t sum = 0;
    bool ok = read_values(&s, c, q, &b->no_memory);

    for (size_t i = 0; ok && i < s.n; i++) {
        choose_level(&s, &s.item[i]);
        sum += s.item[i].level;
    }
    ok = ok && s.n && correct_sum(&s);
    if (ok) {
        *first = (int64_t)(sum / s.n);
        put_items(b, &s, *first);
    }
    free(s.item);
    return ok;
}
