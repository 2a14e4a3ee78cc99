/*
 * State of a running replay: the progress of each rank, in a mapped file.
 *
 * ti-replay creates the file, ti-smpi-replay updates it.  ti-replay reads it for the progress line,
 * and after a deadlock to report the event at which each rank waits.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_STATE_H
#define TI_REPLAY_BRIDGE_SIMULATION_STATE_H

#include <stdint.h>

#include "common/err.h"

struct ti_replay_progress {
    uint64_t events; /* number of replayed events, which is the index of the current event */
    double seconds;  /* simulated time at which the rank ended; before, about the time by now */
    uint64_t ended;  /* 1: the rank has replayed all its events */
};

struct ti_replay_state;

/* Creates the file for `np` ranks, all at event 0.  TI_ERR_IO. */
ti_status ti_replay_state_make(const char *path, int64_t np, struct ti_err *err);

/* Maps the file.  TI_ERR_IO if it cannot be mapped, TI_ERR_INPUT if it is not for `np` ranks. */
ti_status ti_replay_state_open(const char *path, int64_t np, struct ti_replay_state **out,
                               struct ti_err *err);
void ti_replay_state_close(struct ti_replay_state *state); /* NULL is fine */

/* The entry of `rank`, which only that rank writes; NULL if `state` is NULL. */
struct ti_replay_progress *ti_replay_progress(struct ti_replay_state *state, int64_t rank);

#endif
