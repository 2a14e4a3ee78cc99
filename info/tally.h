/*
 * A multiset of the items that ranks hand over to pass.c.  Equal items are counted, not listed, so
 * the items of one trip of a loop can be added again as often as there are trips.
 */
#ifndef TI_INFO_TALLY_H
#define TI_INFO_TALLY_H


#include "common/map.h"

enum info_item { INFO_MESSAGE, INFO_ONE_SIDED, INFO_COLLECTIVE };

/* A zeroed struct is empty. */
struct info_tally {
    struct ti_map items; /* (kind and operation, from, to, bytes) -> index in `times` */
    uint64_t *times;
    size_t cap;
    struct info_tally_mark {
        uint64_t *times;
        size_t n, cap;
    } * mark; /* by depth of the loop */
    size_t marks, marks_cap;
};

/* Count an item.  `op` is that of a collective, else 0. */
void info_tally_add(struct info_tally *t, enum info_item kind, uint32_t op, int64_t from,
                    int64_t to, uint64_t bytes);

/* Remember all counts; add `times` times what was counted since then.  Counts stay below 2^64,
 * because a rank has fewer events than that (TI_RECORD_EVENTS), and an event fewer items. */
void info_tally_remember(struct info_tally *t, uint32_t depth);
void info_tally_repeat(struct info_tally *t, uint32_t depth, uint64_t times);

/* Item `i` of t->items.n, and how often it was counted. */
uint64_t info_tally_at(const struct info_tally *t, size_t i, enum info_item *kind, uint32_t *op,
                       int64_t *from, int64_t *to, uint64_t *bytes);

/* Forget all items; marks are worth nothing then. */
void info_tally_clear(struct info_tally *t);
void info_tally_free(struct info_tally *t);

#endif
