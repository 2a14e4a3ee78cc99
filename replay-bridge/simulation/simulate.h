/*
 * Runs smpirun on the files in the scratch directory.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_SIMULATE_H
#define TI_REPLAY_BRIDGE_SIMULATION_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/args.h"
#include "common/err.h"
#include "replay-bridge/trace/files.h"

struct ti_sim {
    int64_t np;
    const char *platform; /* file name, absolute or relative to the scratch directory */
    char **cfg;           /* KEY:VALUE */
    int ncfg;
    const struct ti_args *replayer; /* command of the program that replays, in plain words; NULL:
                                       SimGrid's stock replay of TI_SIM_TRACES */
    const char *preload;  /* library to preload, or NULL */
    double (*done)(void *arg); /* share of the events already replayed (0 to 1), for the progress
                                  line; NULL: not known */
    void *arg;                 /* for `done` and `message` */
    void (*message)(void *arg, const char *line); /* called for each line of SimGrid's tracing;
                                                     NULL: no tracing */
    bool routes;            /* `replayer` is ti-smpi-routes: output goes to TI_SIM_ROUTES */
    const char *const *log; /* further --log=... options; ends with NULL; may be NULL */
    bool verbose;           /* copy the output of smpirun to stderr */
};

/* Checks that smpirun can be found; TI_ERR_IO with a hint if not. */
ti_status ti_sim_available(struct ti_err *err);

/* Whether a process can have one file open for each rank.  Raises the soft limit as far as
 * possible. If false, the ranks must share one file. */
bool ti_sim_can_open(int64_t np);

/* Writes TI_SIM_COMMAND, the script that runs smpirun. */
ti_status ti_sim_script(const struct ti_sim *sim, struct ti_err *err);

/*
 * Runs the script, with its output in the log.  TI_OK once smpirun has ended: *exit_status is as
 * the shell has it (128 + signal), *wall_s the wall time in seconds.  If this process gets a
 * signal, the process group of smpirun gets SIGTERM, then SIGKILL after 5 seconds or at a second
 * signal; the result is TI_ERR_IO "interrupted".
 */
ti_status ti_simulate(const struct ti_sim *sim, int *exit_status, double *wall_s,
                      struct ti_err *err);

#endif
