/*
 * The matrix of waiting: which rank waits for which, at which call site, and what the other rank
 * did meanwhile.  The latest activities of each rank are kept for that.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PROFILE_WAITING_H
#define TI_REPLAY_BRIDGE_REPLAYER_PROFILE_WAITING_H

#include <jansson.h>
#include <stdint.h>

#include "common/map.h"

struct ti_waiting;

/* Text of a call site, "" if none is known, and the operation that is called there. */
struct ti_call_site {
    char *text;
    uint32_t op;
};

/* The call sites of all ranks, by number.  A zeroed struct has none. */
struct ti_call_sites {
    struct ti_map keys; /* two hashes of the text, operation -> index */
    struct ti_call_site *list;
    size_t room;
};

/* The number of a call site, which is added if it is new. */
int32_t ti_call_sites_number(struct ti_call_sites *sites, const char *text, uint32_t op);
void ti_call_sites_free(struct ti_call_sites *sites);

/* Adds the names of call site `site` to a JSON object, as "operation" and "site" after `prefix`. */
void ti_call_site_json(json_t *j, const char *prefix, const struct ti_call_site *site);

/* Activities of a rank: its burst before a call, or the parts of a call. */
enum ti_doing { TI_DOING_COMPUTING, TI_DOING_COMMUNICATING, TI_DOING_WAITING, TI_DOING_UNKNOWN };

/* For `np` ranks.  Ends the program if out of memory, as all functions here do. */
struct ti_waiting *ti_waiting_new(int64_t np);
void ti_waiting_free(struct ti_waiting *w); /* NULL is fine */

/* Rank `rank` has done this from `begin` to `end`, in seconds, at call site number `site`.
 * `partner`: the rank that it waited for.  Activities of a rank come in the order of time. */
void ti_waiting_did(struct ti_waiting *w, int64_t rank, double begin, double end,
                    enum ti_doing doing, int32_t site, int64_t partner);

/* Rank `rank` has waited for `partner`, whose activities until `end` have been given.  The time
 * counts `times` times, see ti_steady_weight(). */
void ti_waiting_waited(struct ti_waiting *w, int64_t rank, double begin, double end, int32_t site,
                       int64_t partner, double times);

/* A list of all waiting (a new reference), the longest first: objects with rank, for, operation,
 * site, seconds, doing (computing, communicating, waiting or unknown), and doing_operation and
 * doing_site where that is known, and third, the rank that the other one waits for. */
json_t *ti_waiting_json(const struct ti_waiting *w, const struct ti_call_site *site);

#endif
