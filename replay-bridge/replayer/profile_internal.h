/*
 * The profile of a simulation, for profile.c and profile_actions.c only.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PROFILE_INTERNAL_H
#define TI_REPLAY_BRIDGE_REPLAYER_PROFILE_INTERNAL_H

#include "common/map.h"
#include "replay-bridge/replayer/critical.h"
#include "replay-bridge/replayer/profile.h"
#include "replay-bridge/replayer/profile/loops.h"
#include "replay-bridge/replayer/profile/overview.h"
#include "replay-bridge/replayer/profile/partners.h"
#include "replay-bridge/replayer/profile/waiting.h"
#include "timeline/intervals.h"

/* Times of an operation at one call site, on one rank or on all. */
struct ti_profile_site {
    char *text; /* of the table of all ranks */
    uint32_t op;
    int32_t number; /* the same on all ranks; -1: not known yet */
    struct ti_profile_times times;
};

struct ti_profile {
    int64_t np, ranks; /* number of ranks; number of ranks that have started */
    struct ti_partners *partners;
    struct ti_interval_writer *intervals; /* NULL: none are asked for */
    struct ti_waiting *waiting;           /* NULL: not asked for */
    struct ti_critical *critical;         /* NULL: not asked for */
    struct ti_overview *overview;         /* NULL: not asked for */
    struct ti_call_sites named;
    size_t eager_bytes; /* sends of fewer bytes do not wait */
    struct ti_profile_times *rank;
    struct ti_profile_times op[TI_OP_COUNT];
    struct ti_profile_site *site;
    size_t nsites, sites_room;
    struct ti_profile_loops *loops;
};

/* The profile of one rank. */
struct ti_profile_rank {
    struct ti_profile *all;
    double event, call;          /* times at which the current event began and its MPI call began */
    double late;                 /* latest arrival of a partner that the call waits for */
    int64_t late_rank;           /* that partner */
    struct ti_path_place now_at; /* of the current event */
    struct ti_ticket *ticket;
    size_t ntickets, tickets_room; /* of what the current event has posted or completed */
    struct ti_ticket sending; /* of a message that the current event is sending, unless it waits for
                                 the receiver; .sent NULL: none */
    struct ti_map sites; /* by the number of its string in the trace of the rank, and operation: one
                            site has several where wrappers end in a jump, or none is known */
    struct ti_profile_site *site; /* by index */
    size_t sites_room;
    int64_t group; /* of its loops; -1: it has none */
};

/* Seconds since time 0 of all jobs. */
double ti__profile_clock(const struct ti_replayer *p);

/* Whether the operation only posts what others complete. */
bool ti__profile_posts_only(uint32_t op);

/* SMPI spends the overhead of a send before it hands the message to the network, so the message
 * that the current event sends, if any, starts now. */
void ti__profile_handed_over(struct ti_replayer *p);

#endif
