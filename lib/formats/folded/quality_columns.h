/*
 * Columns of volumes, or of extra values, that are not exact (formats/quality.h).
 *
 * A bounded column is encoded as any other.  A blob that begins with the byte TI_HISTOGRAM, with
 * which no list of tokens (column.h) begins, is a histogram:
 *
 *   histogram  u8 TI_HISTOGRAM, bins until the end of the blob, at most TI_HISTOGRAM_BINS.  The
 *              column's first value is the minimum
 *   bin        varint number of values, zigzag of their sum minus (that number times the column's
 *              first value).  It stands for values that differ by 1 at most, and have this sum
 *
 * The first bin is the minimum, the last one the maximum; in between, bins hold about equally many
 * values: a balanced histogram (Wu and Mueller, ScalaExtrap, PPoPP 2011, section 3).
 */
#ifndef TI_QUALITY_COLUMNS_H
#define TI_QUALITY_COLUMNS_H

#include "formats/folded/column.h"
#include "formats/quality.h"

/* Append the blob of a column with this quality, or the exact one if that is not larger.  *first is
 * set to the number that goes with it. */
void ti_quality_put(struct ti_buffer *b, const struct ti_column *c, const struct ti_quality *q,
                    int64_t *first);

/* Values drawn from a histogram. */
struct ti_draw;

#define TI_HISTOGRAM      1
#define TI_HISTOGRAM_BINS 16 /* at most */

/* A histogram, if the blob is one that stands for `n` values; *out is NULL if it is a list of
 * tokens.  False if it is malformed, or memory is short. */
bool ti_draw_new(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                 struct ti_draw **out);

/* Begin to draw values in the order of a seed.  Different columns need different seeds. */
void ti_draw_start(struct ti_draw *d, uint64_t seed);

/*
 * Pass the first `n` values, all at once, after ti_draw_start(): as many of each bin as its share
 * of all values asks for.  So values drawn afterwards are others than without it, but all values
 * have the same histogram still.  The second function gives the sum of the values that are passed,
 * which grows with `n`; UINT64_MAX if one is negative, or the sum is above 2^62.
 */
void ti_draw_skip(struct ti_draw *d, uint64_t n);
uint64_t ti_draw_sum_first(const struct ti_draw *d, uint64_t n);

/* A copy, at the same place; NULL: no memory. */
struct ti_draw *ti_draw_copy(const struct ti_draw *d);

/* Draw `n` values at once, of each bin its share of those that are left.  Returns how many entries
 * of `share` are set, 2 * TI_HISTOGRAM_BINS at most; their numbers add up to `n`, or to all values
 * that are left. */
struct ti_share {
    uint64_t value, n;
};
size_t ti_draw_shares(struct ti_draw *d, uint64_t n, struct ti_share *share);

/* The next value; after `n` values, the last one again. */
uint64_t ti_draw_next(struct ti_draw *d);
uint64_t ti_draw_sum(const struct ti_draw *d);
void ti_draw_stats(const struct ti_draw *d, struct ti_column_stats *out);
void ti_draw_free(struct ti_draw *d); /* NULL is fine */

#endif
