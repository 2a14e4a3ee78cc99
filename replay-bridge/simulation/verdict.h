/*
 * Verdict: whether a simulation succeeded, from smpirun's output.  The exit status alone is not
 * enough, because smpirun returns 0 after a deadlock.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_VERDICT_H
#define TI_REPLAY_BRIDGE_SIMULATION_VERDICT_H

#include <stdbool.h>

#include "common/err.h"

#define TI_VERDICT_QUOTES 6

struct ti_verdict {
    char time[64];                      /* SimGrid's "Simulation time", as printed */
    char clock[64];                     /* the clock of that line, with more digits; may be "" */
    char quote[TI_VERDICT_QUOTES][240]; /* lines of the log that show the error */
    int nquotes;
    bool deadlock, crashed; /* in both cases the current event of each rank helps, see state.h */
};

/*
 * Reads the log at `path`.  TI_OK: the log has a simulated time and no error.
 * TI_ERR_INPUT: deadlock, platform refused by SimGrid, or trace refused by ti-smpi-replay.
 * TI_ERR_USAGE: option refused by SimGrid.
 * TI_ERR_IO: out of memory, ended by a signal, any other failure, or the log cannot be read.
 */
ti_status ti_verdict_read(const char *path, int exit_status, struct ti_verdict *out,
                          struct ti_err *err);

/* The simulated time in seconds, with all digits that there are. */
double ti_verdict_seconds(const struct ti_verdict *v);

#endif
