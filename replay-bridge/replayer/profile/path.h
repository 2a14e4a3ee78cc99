/*
 * Paths: for each point of a simulation, the chain of activities that led to it.
 *
 * The critical path of a simulation is the path of the point at which its last rank ends.  It leads
 * backwards along that rank and, where the rank has waited for a message, to the rank that sent it.
 * Which path will be the critical one is known only at the end, so each rank keeps the path to its
 * present point, and each message the path to the point at which it was sent.  Paths share their
 * beginnings: a path is a list of steps, from its end backwards, and steps count the references to
 * them.  A step that no path needs any more is freed.
 *
 * Memory is bounded.  Steps that only one path can reach are merged, which keeps sums of their
 * times by place and kind, not their order.  After a merge there are at most two steps
 * for each path that is held.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PROFILE_PATH_H
#define TI_REPLAY_BRIDGE_REPLAYER_PROFILE_PATH_H

#include <stddef.h>
#include <stdint.h>

struct ti_path_set;
struct ti_path; /* a step, and with it the path that ends there */

/* Kinds of parts of a path.  Numbers from 0 on are messages of one kind, which the caller numbers.
 */
enum { TI_PATH_COMPUTING = -1, TI_PATH_OVERHEAD = -2, TI_PATH_START = -3 };

/* Where an activity takes place.  The numbers of call sites and of loops are the caller's. */
struct ti_path_place {
    int32_t rank, site, loop;
};

/* The time that a path spends in one kind of activity at one place. */
struct ti_path_part {
    struct ti_path_place at;
    int32_t what;
    uint64_t count; /* number of parts in this sum */
    double seconds;
};

/* An empty set of paths.  Ends the program if out of memory, as all functions here do. */
struct ti_path_set *ti_path_set_new(void);
void ti_path_set_free(struct ti_path_set *paths); /* with all its paths; NULL is fine */

/* Number of steps in memory. */
size_t ti_path_set_steps(const struct ti_path_set *paths);

/* A path of no parts that ends at time `now`, in seconds as all times here; one reference. */
struct ti_path *ti_path_new(struct ti_path_set *paths, double now);

/* Adds a reference.  Returns the path; NULL is fine. */
struct ti_path *ti_path_hold(struct ti_path *path);

/* Removes a reference.  NULL is fine. */
void ti_path_release(struct ti_path_set *paths, struct ti_path *path);

/* The time at which the path ends. */
double ti_path_end(const struct ti_path *path);

/* Continues the path until time `until` with activity `what` at place `at`.  Takes the caller's
 * reference to `path`, and returns the longer path with one reference.  Other holders of `path` do
 * not see a change.  If `until` is not later than the end, the path stays as it is. */
struct ti_path *ti_path_go(struct ti_path_set *paths, struct ti_path *path,
                           const struct ti_path_place *at, int32_t what, double until);

/* Walks the path backwards to its beginning.  Returns its parts, summed by rank, site, loop and
 * kind, in ascending order of these: an array of *n, which the caller frees. */
struct ti_path_part *ti_path_parts(const struct ti_path *path, size_t *n);

#endif
