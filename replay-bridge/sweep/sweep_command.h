/*
 * What ti-replay --sweep does, once its options are parsed.
 */
#ifndef TI_SWEEP_COMMAND_H
#define TI_SWEEP_COMMAND_H

#include "formats/source.h"
#include "replay-bridge/sweep/sweep.h"

struct ti_sweep_command {
    struct ti_sweep sweep;
    struct ti_args base; /* options of every point */
    const char *dir;     /* of the study; NULL: none, for a list */
    int64_t jobs;        /* 0: one for each processor this process may use */
    bool list, json, verbose;
    char **argv; /* as the program was called, to say how to go on */
};

/*
 * Run the points that have no result yet, write the files of the study and sum them up on stdout;
 * or list the points.  TI_ERR_PARTIAL if some of them failed.  After a signal, TI_ERR_IO with the
 * command that goes on.
 */
ti_status ti_sweep_command(const struct ti_sweep_command *c, struct ti_source *trace,
                           struct ti_err *err);

#endif
