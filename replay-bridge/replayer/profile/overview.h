/*
 * Overview: the actions of groups of ranks, in equal pieces of the time, for a picture.  The
 * memory is bounded: there are up to 32 groups, and pieces are joined in pairs when they would be
 * more than 1024.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PROFILE_OVERVIEW_H
#define TI_REPLAY_BRIDGE_REPLAYER_PROFILE_OVERVIEW_H

#include <jansson.h>
#include <stdint.h>

struct ti_overview;

/* In the order in which ti-replay draws them (terminal/pictures.h). */
enum ti_overview_kind {
    TI_OVERVIEW_COMPUTING,
    TI_OVERVIEW_MESSAGES, /* and whatever is none of the others */
    TI_OVERVIEW_COLLECTIVES,
    TI_OVERVIEW_WAITING,
    TI_OVERVIEW_KINDS
};

/* For `np` ranks.  Ends the program if out of memory. */
struct ti_overview *ti_overview_new(int64_t np);
void ti_overview_free(struct ti_overview *o); /* NULL is fine */

/* A rank has done this from `begin` to `end`, in seconds. */
void ti_overview_add(struct ti_overview *o, int64_t rank, enum ti_overview_kind kind, double begin,
                     double end);

/* An object (a new reference): group, the number of ranks in a group; bin_s, the length of a piece;
 * end_s, the latest time; spent, for each group a list of seconds, TI_OVERVIEW_KINDS for each
 * piece. */
json_t *ti_overview_json(const struct ti_overview *o);

#endif
