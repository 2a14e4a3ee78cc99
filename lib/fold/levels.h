/*
 * Levels: numbers for values, so that a bounded column (event/quality.h) whose values all differ
 * becomes a list of small symbols.
 *
 * Below `linear`, each value is a level of its own.  From there on, the levels of an octave, which
 * is from a value to twice that value, are `steps`, about equally far apart in proportion:
 *
 *   level   linear + octave * steps + m, with m < steps
 *   value   low + (low * f >> 24), with low = linear << octave and
 *           f = (m * (43024 * steps + 22512 * m) << 8) / steps^2, rounded down
 *
 * f is close to 2^24 * (2^(m / steps) - 1), and made of integers only, so that every machine gives
 * the same value.  A value that no level is near enough to, and some values more so that the sum of
 * the column is exact, have a correction.
 *
 *   levels       varint linear, varint steps, varint corrections, each varint gap and zigzag
 *                difference; then for each value zigzag of its level minus the column's first value
 *   correction   `gap` values have none, the next one is its level's value plus `difference`
 */
#ifndef TI_FOLD_LEVELS_H
#define TI_FOLD_LEVELS_H

#include "event/buffer.h"
#include "event/quality.h"
#include "fold/runs.h"

/* More values than this are not stored as levels by the writer. */
#define TI_LEVELS_VALUES (1u << 22)

/* Limits of a reader. */
#define TI_LEVELS_STEPS  (1u << 20)
#define TI_LEVELS_LINEAR (1u << 24)
#define TI_LEVELS_SUM    (UINT64_C(1) << 62) /* of a column, at most */

/* Append the levels of a column within a bound.  *first is set to the number that goes with them.
 * False, and nothing is appended, if the column cannot be stored so; also when memory is short, and
 * b->no_memory is set then. */
bool ti_levels_put(struct ti_buffer *b, const struct ti_column *c, const struct ti_quality *q,
                   int64_t *first);

/* A place in a list of levels.  It does not own the bytes. */
struct ti_levels {
    uint64_t linear, steps;
    uint64_t most; /* levels */
    int64_t first;
    const uint8_t *corrections, *symbols, *end;
    const uint8_t *correction, *symbol; /* the next ones */
    uint64_t ncorrections;
    uint64_t left, gap; /* corrections to come, and values before the next one */
};

/* Read the head of a list from `p` to `end`; false if it is malformed. */
bool ti_levels_open(struct ti_levels *l, int64_t first, const uint8_t *p, const uint8_t *end);

void ti_levels_start(struct ti_levels *l); /* go to the first value */

/* The next value; false at the end, or if it is malformed. */
bool ti_levels_next(struct ti_levels *l, uint64_t *out);

#endif
