/*
 * The command ti-replay --sweep, after its options are parsed.
 */
#ifndef TI_REPLAY_BRIDGE_SWEEP_SWEEP_COMMAND_H
#define TI_REPLAY_BRIDGE_SWEEP_SWEEP_COMMAND_H

#include "bundle/source.h"
#include "replay-bridge/sweep/study.h"
#include "replay-bridge/sweep/sweep.h"

struct ti_sweep_command {
    struct ti_sweep sweep;
    struct ti_args base; /* options of every point */
    const char *dir;     /* folder of the study; may be NULL if `list` */
    int64_t jobs;        /* 0: one for each processor this process may use */
    const char *runner;  /* see study.h */
    int64_t runs;        /* the last choice is the seed of so many runs of each point; 0: no */
    bool list, json, verbose;
    ti_status (*ready)(struct ti_err *err); /* whether replays can be started; NULL: yes */
    const char *timing;                     /* name of the engine that gives time to all calls */
    int width;                              /* of lines, see common/table.h */
    char **argv; /* arguments of the program, for the command that continues the sweep */
};

/*
 * Runs the points that have no result yet, writes the files of the study and prints a summary. With
 * c->list, only lists the points.  TI_ERR_PARTIAL if any point failed.  After a signal, TI_ERR_IO
 * with the command that continues the sweep.
 */
ti_status ti_sweep_command(const struct ti_sweep_command *c, struct ti_source *trace,
                           struct ti_err *err);

/* Number of replays at a time. */
int64_t ti_sweep_jobs(const struct ti_sweep_command *c, const struct ti_study *study);

#endif
