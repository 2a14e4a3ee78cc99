/*
 * The part of a profile that has loops: the times that ranks spend in each loop of their traces.
 *
 * Only a folded trace (fold/shape.h) has loops.  Ranks with the same loops of the same calls from
 * the same call sites are added up, as one group.  The ranks of all jobs are in one thread.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PROFILE_LOOPS_H
#define TI_REPLAY_BRIDGE_REPLAYER_PROFILE_LOOPS_H

#include <jansson.h>
#include <stdint.h>

#include "trace/reader.h"

/* Seconds of calls, and of the bursts before them. */
struct ti_profile_times {
    uint64_t calls;
    double computing, communicating, waiting;
};

void ti_profile_times_add(struct ti_profile_times *sum, const struct ti_profile_times *t);

/* The keys calls, computing_s, communicating_s and waiting_s, in a new object. */
json_t *ti_profile_times_json(const struct ti_profile_times *t);

struct ti_profile_loops;
struct ti_profile_loops *ti_profile_loops_new(void);
void ti_profile_loops_free(struct ti_profile_loops *all); /* NULL is fine */

/* Add a rank, whose trace `r` is to be read: the number of its group.  -1: its trace has no loops,
 * or is malformed. */
int64_t ti_profile_loops_begin(struct ti_profile_loops *all, const struct ti_reader *r,
                               int64_t rank);

/* Add the last event that ti_reader_next() returned of a rank of this group. */
void ti_profile_loops_add(struct ti_profile_loops *all, int64_t group, const struct ti_reader *r,
                          const struct ti_profile_times *t);

/* The innermost loop that this event is in, by its index in the list of ti_profile_loops_json();
 * -1: it is in none. */
int32_t ti_profile_loops_in(const struct ti_profile_loops *all, int64_t group,
                            const struct ti_reader *r);

/* The loops of all groups, in a new list.  A loop stands before those in it, whose `depth` is
 * larger.  It has the operation and the call site of its first call. */
json_t *ti_profile_loops_json(const struct ti_profile_loops *all);

#endif
