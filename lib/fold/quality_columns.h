/*
 * Columns of volumes, or of extra values, that are not exact (event/quality.h).
 *
 * A bounded column is a list of tokens (column.h) whose values were moved, or a blob of levels.  A
 * column of statistics is a blob that is a histogram or a pattern of histograms.  These three begin
 * with a byte with which no list of tokens begins:
 *
 *   histogram  u8 TI_HISTOGRAM, bins until the end of the blob, at most TI_HISTOGRAM_BINS
 *   bin        varint number of values, zigzag of their sum minus (that number times the column's
 *              first value).  It stands for values that differ by 1 at most, and have this sum
 *   pattern    u8 TI_CODED, u8 TI_CODE_PATTERN, varint lead, which is 0 or 1; if it is 1, zigzag of
 *              the value in front minus the column's first value; varint period, varint classes;
 *              for each phase of the period u8 its class; for each class varint bins, and these
 *   levels     u8 TI_CODED, u8 TI_CODE_LEVELS, and levels (levels.h)
 *
 * The first bin of a histogram is its minimum, the last one its maximum; in between, bins hold
 * about equally many values: a balanced histogram (Wu and Mueller, ScalaExtrap, PPoPP 2011,
 * section 3).  A bin ends early at a large gap between values, so that rare slow bursts keep their
 * number and duration; this makes up to three bins more.  With statistics, the column's first value
 * is its minimum.
 *
 * A pattern is for a position that means several things in turn, such as the exchange of each grid
 * of a multigrid cycle: value k behind the one in front is drawn from the histogram of the class of
 * phase k % period.  The value in front is the first one, which is often far from all others, and
 * so on all ranks.  Without it and without classes, a replay has the slow bursts of all ranks one
 * after the other, where the program had them at the same time.
 */
#ifndef TI_FOLD_QUALITY_COLUMNS_H
#define TI_FOLD_QUALITY_COLUMNS_H

#include "event/quality.h"
#include "fold/column.h"

/* Append the blob of a column with this quality, or the exact one if that is not larger.  *first is
 * set to the number that goes with it.  b->no_memory is set when memory is short. */
void ti_quality_put(struct ti_buffer *b, const struct ti_column *c, const struct ti_quality *q,
                    int64_t *first);

/* Values of a blob that is no list of tokens: drawn from histograms, or given by levels. */
struct ti_draw;

#define TI_HISTOGRAM       1
#define TI_CODED           0
#define TI_CODE_PATTERN    0 /* behind TI_CODED */
#define TI_CODE_LEVELS     1
#define TI_HISTOGRAM_BINS  16 /* at most, as the others */
#define TI_PATTERN_PERIOD  256
#define TI_PATTERN_CLASSES 8

/* The values of a blob that stands for `n` values; *out is NULL if it is a list of tokens.  False
 * if it is malformed, or memory is short.  The blob must outlive *out. */
bool ti_draw_new(uint64_t first, const uint8_t *blob, size_t bytes, uint64_t n,
                 struct ti_draw **out);

/* Go to the first value, and draw values in the order of a seed.  Different columns need different
 * seeds.  Levels do not depend on it. */
void ti_draw_start(struct ti_draw *d, uint64_t seed);

/*
 * Pass the first `n` values, all at once, wherever the place was: as many of each bin as its share
 * of all values asks for.  So values drawn afterwards are others than without it, but all values
 * have the same histogram still.  The second function gives the sum of the values that are passed,
 * which grows with `n`; UINT64_MAX if one is negative, or the sum is above 2^62.  It subtracts the
 * levels that it reads from *runs; false if there would be more.
 */
void ti_draw_skip(struct ti_draw *d, uint64_t n);
bool ti_draw_sum_first(const struct ti_draw *d, uint64_t n, uint64_t *runs, uint64_t *sum);

/* Pass the next `n` values.  What is drawn afterwards are the values that were to come. */
void ti_draw_leave_out(struct ti_draw *d, uint64_t n);

/* A copy, at the same place; NULL: no memory. */
struct ti_draw *ti_draw_copy(const struct ti_draw *d);

/* Whether each value is in the blob, which then has no fewer bytes than values. */
bool ti_draw_is_levels(const struct ti_draw *d);

/* Draw `n` values at once, of each bin its share of those that are left; not of levels.  Returns
 * how many entries of `share` are set, TI_SHARES_MOST at most; their numbers add up to `n`, or to
 * all values that are left. */
#define TI_SHARES_MOST (1 + 2 * TI_PATTERN_CLASSES * TI_HISTOGRAM_BINS)
struct ti_draw_share {
    uint64_t value, n;
};
size_t ti_draw_shares(struct ti_draw *d, uint64_t n, struct ti_draw_share *share);

/* The next value; after `n` values, the last one again. */
uint64_t ti_draw_next(struct ti_draw *d);
uint64_t ti_draw_sum(const struct ti_draw *d);

/* Append a blob of `n` values in place of those of `d`, which is not of levels: the value in front
 * stays, and the bins keep their shares.  `first` is the first value of the column.  False, and
 * nothing is appended, if `n` is so small that a class of a pattern would be empty.  b->no_memory
 * is set when memory is short. */
bool ti_draw_put(const struct ti_draw *d, uint64_t first, uint64_t n, struct ti_buffer *b);

/* Values after which the phases of a pattern repeat; 1 if there is one histogram. */
uint32_t ti_draw_period(const struct ti_draw *d);
void ti_draw_stats(const struct ti_draw *d, struct ti_column_stats *out);
void ti_draw_free(struct ti_draw *d); /* NULL is fine */

#endif
