/*
 * Columns of a group as functions of the rank (layout.h): fit.c finds them, numbers.c computes
 * them.
 */
#ifndef TI_MERGED_NUMBERS_H
#define TI_MERGED_NUMBERS_H

#include <stdbool.h>

#include "common/err.h"
#include "event/buffer.h"
#include "merged/layout.h"

/* Whether values of a column are in pages. */
static inline bool ti_column_in_pages(uint8_t kind)
{
    return kind == TI_COLUMN_PAGED || kind == TI_COLUMN_PRIVATE;
}

/* The members of a group. */
struct ti_members {
    uint32_t n, first, last; /* number, lowest rank, highest rank */
};

/* The valid values of a column: all numbers, or with `below` those from 0 to below - 1. */
struct ti_column_rule {
    bool blobs;
    uint64_t below;
};

/*
 * Fit a function to the values of the members `rank`, in ascending order.  Appends its parameters,
 * at most `most` bytes if the values differ, to `out`.  Returns TI_COLUMN_PAGED, and appends
 * nothing, if a column in pages is smaller.
 */
enum ti_column_kind ti__column_fit(const uint32_t *rank, const int64_t *value, size_t n, bool blobs,
                                   size_t most, struct ti_buffer *out);

/* Advance *p over the parameters of a column, and check them: then ti__column_at() can compute all
 * members, and follows the rule.  False: they are malformed. */
bool ti__column_check(enum ti_column_kind kind, const uint8_t **p, const uint8_t *end,
                      const struct ti_members *members, const struct ti_column_rule *rule);

/* The value for member `member`, with rank `rank`, of checked parameters. */
int64_t ti__column_at(enum ti_column_kind kind, const uint8_t *p, uint32_t rank, uint32_t member);

/* Bytes of a column of values in a page as differences, without the u8 before it. */
size_t ti__values_bytes(const int64_t *value, size_t n);

/* Append a column of values; read one at *p, and advance.  False: it is malformed. */
void ti__values_put(const int64_t *value, size_t n, struct ti_buffer *out);
bool ti__values_get(const uint8_t **p, const uint8_t *end, int64_t *value, size_t n);

#endif
