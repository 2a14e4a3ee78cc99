/*
 * Sets of ranks, as ascending ranges that do not touch, so that a million consecutive ranks take as
 * much room as one.  A zeroed struct is an empty set.  In files and messages, a set is JSON:
 * [[FIRST, LAST], ...].
 */
#ifndef TI_COMMON_RANGES_H
#define TI_COMMON_RANGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ti_ranges {
    struct ti_range {
        int64_t first, last;
    } * range;
    size_t n, cap;
};

/* Add a rank, consecutive ranks, or the ranks of another set; in any order.  _put: false when
 * memory is short, and the set is as before then.  The others end the program (ti_grow()). */
bool ti_ranges_put(struct ti_ranges *set, int64_t first, int64_t last);
void ti_ranges_add(struct ti_ranges *set, int64_t rank);
void ti_ranges_add_range(struct ti_ranges *set, int64_t first, int64_t last);
void ti_ranges_add_all(struct ti_ranges *set, const struct ti_ranges *other);

void ti_ranges_clear(struct ti_ranges *set); /* keeps the memory */
void ti_ranges_free(struct ti_ranges *set);  /* the set is empty then */

int64_t ti_ranges_count(const struct ti_ranges *set); /* of ranks */
bool ti_ranges_hold(const struct ti_ranges *set, int64_t rank);

/* Loop over the ranks of a set, which must not change meanwhile.  `break` leaves only a range. */
#define ti_ranges_foreach(set, rank)                                                               \
    for (size_t rank##_range = 0; rank##_range < (set)->n; rank##_range++)                         \
        for (int64_t rank = (set)->range[rank##_range].first;                                      \
             rank <= (set)->range[rank##_range].last; rank++)

/* "8-11, 14" into buf, cut with "..." if it does not fit; returns buf. */
char *ti_ranges_text(const struct ti_ranges *set, char *buf, size_t room);

/* From text, "3" or "0,4-7", with ranks below `limit`: added to the set.  TI_ERR_USAGE. */
ti_status ti_ranges_parse(struct ti_ranges *set, const char *text, int64_t limit,
                          struct ti_err *err);

/* As JSON: a new array; NULL when memory is short. */
json_t *ti_ranges_json(const struct ti_ranges *set);

/* From JSON, in any order: set *out, to be released with ti_ranges_free().  False, and an empty
 * set, unless `list` is an array of [FIRST, LAST] with 0 <= FIRST <= LAST < limit. */
bool ti_ranges_of_json(const json_t *list, int64_t limit, struct ti_ranges *out);

#endif
