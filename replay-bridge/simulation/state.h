/*
 * State of a replay that runs: how far each rank is.
 *
 * ti-replay makes the file, ti-smpi-replay maps it and counts, ti-replay reads: for the progress
 * line, and to say after a deadlock at which event each rank waits.
 */
#ifndef TI_REPLAY_STATE_H
#define TI_REPLAY_STATE_H

#include <stdint.h>

#include "common/err.h"

struct ti_replay_progress {
    uint64_t events; /* that the rank has replayed; it is at the one after them */
    double seconds;  /* on the simulated clock, when it ended */
    uint64_t ended;  /* 1: the rank has replayed all its events */
};

struct ti_replay_state;

/* Makes the file for `np` ranks, all at the start. */
ti_status ti_replay_state_make(const char *path, int64_t np, struct ti_err *err);

/* Maps it.  TI_ERR_IO if it cannot be mapped, TI_ERR_INPUT if it is not for `np` ranks. */
ti_status ti_replay_state_open(const char *path, int64_t np, struct ti_replay_state **out,
                               struct ti_err *err);
void ti_replay_state_close(struct ti_replay_state *state); /* NULL is fine */

/* What `rank` writes and everybody reads; NULL without a state. */
struct ti_replay_progress *ti_replay_progress(struct ti_replay_state *state, int64_t rank);

#endif
