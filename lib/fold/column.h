/*
 * Columns: lists of 64-bit integers, one value for each time that the program passes a position.
 *
 * In memory, a column is a list of runs (runs.h).  In a record (fold/record.h), it is a
 * number, its first value, and a blob, the rest:
 *
 *   column   tokens; after the last one, the last value repeats for ever.  So the blob of a
 *            constant column is empty
 *   token    varint n << 1, zigzag difference, zigzag stride if n > 1: a run.  Its first value is
 *            the last one of the run before, or the column's first value, plus `difference`; each
 *            next one is larger by `stride`
 *   token    varint n << 1 | 1, varint bytes: the runs of the `bytes` bytes before this token
 *            again, in a circle, until there are n runs.  No token of this kind is among
 *            them
 *
 * All arithmetic is modulo 2^64.
 */
#ifndef TI_FOLD_COLUMN_H
#define TI_FOLD_COLUMN_H

#include "event/buffer.h"
#include "fold/runs.h"

struct ti_draw;

/* Append the column's blob.  b->no_memory is set when memory is short (event/buffer.h). */
void ti_column_put(struct ti_buffer *b, const struct ti_column *c);

/* Limits for ti_column_sum(): each value must be from `low` to `high`, as a signed integer. */
struct ti_bounds {
    int64_t low, high;
};

/*
 * Add up the first `n` values of an encoded column modulo 2^64, without going through repeated runs
 * and values one by one.  If no value may be below 0, a sum above 2^62 becomes UINT64_MAX.  The
 * runs that were read are subtracted from *runs.  False if the blob is malformed, a value breaks
 * the bounds, or more than *runs runs would have to be read.
 */
bool ti_column_sum(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                   const struct ti_bounds *bounds, uint64_t *runs, uint64_t *sum);

/* Runs that the functions below read at most. */
#define TI_RUNS_MAX (1u << 26)

/* Of a list of values: how many, their sum modulo 2^64, and as signed integers the least and the
 * greatest.  Where values wrap around 2^64, these are INT64_MIN and INT64_MAX. */
struct ti_column_stats {
    uint64_t n, sum;
    int64_t min, max; /* of no values: INT64_MAX and INT64_MIN */
};

/* The same for the first `n` values of an encoded column, at the same cost. */
bool ti_column_stats(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                     struct ti_column_stats *out);

/* A place in an encoded column. */
struct ti_cursor {
    const uint8_t *start, *at, *end;           /* of the blob; `at` is the next token */
    const uint8_t *circle, *circle_end, *next; /* runs being repeated, and the next of them */
    uint64_t again;                            /* of these, how many are to come */
    uint64_t last, stride, left;               /* left: values of the present run to come */
    struct ti_draw *draw; /* of a histogram (event/quality.h): values come from there; else NULL */
};

/* Go to the start of a column.  The blob must outlive the cursor; NULL if it is empty. */
void ti_cursor_start(struct ti_cursor *c, uint64_t first, const uint8_t *blob, size_t bytes);

/* Pass the next `n` values, without going through repeated runs and values one by one; false if the
 * blob is malformed, or more than TI_RUNS_MAX runs would have to be read.  Values of a histogram:
 * call it for a new cursor only, see ti_draw_skip(). */
bool ti_cursor_skip(struct ti_cursor *c, uint64_t n);

/* The same for a list of tokens, and add up the values modulo 2^64. */
bool ti_cursor_sum(struct ti_cursor *c, uint64_t n, uint64_t *sum);

/* Append the next `n` values to a column in memory, run by run, with the memory of `pool`.  The
 * runs that were read are subtracted from *runs; false if the blob is malformed, or there would be
 * more. Not for values of a histogram. */
bool ti_cursor_take(struct ti_cursor *c, uint64_t n, uint64_t *runs, struct ti_pool *pool,
                    struct ti_column *to);

/* Read the next run; false if the blob is malformed.  For ti_cursor_next() only. */
bool ti_cursor_run(struct ti_cursor *c);

/* The next value; false if the blob is malformed. */
static inline bool ti_cursor_next(struct ti_cursor *c, uint64_t *out)
{
    if (c->left == 0 && (c->at < c->end || c->again) && !ti_cursor_run(c))
        return false;
    if (c->left) {
        c->left--;
        c->last += c->stride;
    }
    *out = c->last;
    return true;
}

#endif
