/*
 * Comparison of a collective call on the members of a communicator.
 */
#ifndef TI_SOUND_COLLECTIVES_H
#define TI_SOUND_COLLECTIVES_H

#include "sound/walk.h"

/* Hash of everything in a call that must be equal on all members of `g`. */
uint64_t ti_signature(const struct ti_coll_call *c, const struct ti_group *g);

/* The field with the size of an element of vector `v`. */
enum ti_field ti_counts_in(uint32_t op, int v);

/* The fault of a call, as far as one rank can tell; NULL: none. */
const char *ti_call_fault(const struct ti_coll_call *c, const struct ti_group *g);

/*
 * Sums of hashes (series.h) over the blocks that ranks give each other.  They are needed where the
 * signature does not cover the blocks: in the vector forms, among neighbours, and with a root in
 * the other group. The sender of a block adds a hash of (from, to, bytes) to `given`, its receiver
 * to `expected`.  With `each`, these are arrays with an element for each sender.
 */
struct ti_sums {
    uint64_t *given, *expected;
    bool each;
};

/* Add the blocks that this rank gives and expects in a call. */
void ti_add_blocks(const struct ti_sums *s, const struct ti_coll_call *c, const struct ti_group *g);

#endif
