/*
 * What collective calls have in common on the members of a communicator, and
 * what they must not have.
 */
#ifndef TI_COLLECTIVES_H
#define TI_COLLECTIVES_H

#include "sound/walk.h"

/* What a call must have in common on all members of `g`, as a hash. */
uint64_t ti_signature(const struct ti_coll_call *c, const struct ti_group *g);

/* The field that says how many bytes an element of vector `v` has. */
enum ti_field ti_counts_in(uint32_t op, int v);

/* What is wrong with a call seen from one rank alone; NULL if nothing. */
const char *ti_call_fault(const struct ti_coll_call *c, const struct ti_group *g);

/*
 * Blocks that a rank gives to another one are compared as sums where the
 * signature does not say it all: in the vector forms, among neighbours, and
 * with a root in the other group.  The sender of a block adds a hash of (which
 * call, from, to, bytes) to one sum, its receiver to another.  With `each`,
 * there is a pair of sums for each sender.
 */
struct ti_sums {
    uint64_t *given, *expected;
    bool each;
};

/* Add what this rank gives and expects in its call number `nth`. */
void ti_add_blocks(const struct ti_sums *s, uint64_t nth, const struct ti_coll_call *c,
                   const struct ti_group *g);

#endif
