/*
 * What collectives have in common on the ranks of a communicator, and what they
 * must not have.
 */
#ifndef TI_COLLECTIVES_H
#define TI_COLLECTIVES_H

#include "check/comms.h"

/* Whether all members of a communicator must call it. */
bool ti_joins_all(uint32_t op);

/* What a collective must have in common on all members, as a hash. */
uint64_t ti_signature(const struct ti_event *ev);

/* The field that says how many bytes an element of vector `v` has. */
enum ti_field ti_counts_in(uint32_t op, int v);

/* What is wrong with a collective seen from one rank alone, member `me` of `g`;
 * NULL if nothing. */
const char *ti_collective_fault(const struct ti_event *ev, const struct ti_group *g, int64_t me);

/*
 * Blocks of the vector collectives are compared as sums: the sender of a block
 * adds a hash of (which collective, from, to, bytes) to one sum, its receiver
 * to another.  With `each`, there is a pair of sums for each sender.
 */
struct ti_sums {
    uint64_t *given, *expected;
    bool each;
};

/* Add what member `me` of `size` gives and expects in its collective `nth`. */
void ti_add_blocks(const struct ti_sums *s, uint64_t nth, const struct ti_event *ev, int64_t me,
                   int64_t size);

#endif
