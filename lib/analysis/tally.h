/*
 * A multiset of the items that ranks hand over to pass.c.  Equal items are counted, not listed, so
 * the items of one trip of a loop can be added again as often as there are trips.
 */
#ifndef TI_ANALYSIS_TALLY_H
#define TI_ANALYSIS_TALLY_H

#include "common/map.h"

enum ti_tally_kind { TI_TALLY_MESSAGE, TI_TALLY_ONE_SIDED, TI_TALLY_COLLECTIVE };

/* A zeroed struct is empty. */
struct ti_tally {
    struct ti_map items; /* (kind and operation, from, to, bytes) -> index in `times` */
    uint64_t *times;
    size_t cap;
    struct ti_tally_mark {
        uint64_t *times;
        size_t n, cap;
    } * mark; /* by depth of the loop */
    size_t marks, marks_cap;
    bool no_memory; /* memory was short; no count since is valid */
};

/* Count an item.  `op` is that of a collective, else 0.  When memory is short, t->no_memory is set.
 */
void ti_tally_add(struct ti_tally *t, enum ti_tally_kind kind, uint32_t op, int64_t from,
                  int64_t to, uint64_t bytes);

/* Remember all counts, false when memory is short; add `times` times what was counted since then.
 * Counts stay below 2^64, because a rank has fewer events than that (TI_RECORD_EVENTS), and an
 * event fewer items. */
bool ti_tally_remember(struct ti_tally *t, uint32_t depth);
void ti_tally_repeat(struct ti_tally *t, uint32_t depth, uint64_t times);

/* Item `i` of t->items.n, and how often it was counted. */
uint64_t ti_tally_at(const struct ti_tally *t, size_t i, enum ti_tally_kind *kind, uint32_t *op,
                     int64_t *from, int64_t *to, uint64_t *bytes);

/* Forget all items; marks are worth nothing then. */
void ti_tally_clear(struct ti_tally *t);
void ti_tally_free(struct ti_tally *t);

#endif
