/*
 * Runs smpirun on the files in the scratch directory.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_SIMULATE_H
#define TI_REPLAY_BRIDGE_SIMULATION_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/args.h"
#include "common/err.h"
#include "common/talk.h"
#include "replay-bridge/trace/files.h"

#define TI_SIM_NOTE_BYTES 64

struct ti_sim {
    int64_t np;
    const char *platform; /* file name, absolute or relative to the scratch directory */
    char **cfg;           /* KEY:VALUE */
    int ncfg;
    const struct ti_args *replayer; /* command of the program that replays, in plain words; NULL:
                                       SimGrid's stock replay of TI_SIM_TRACES */
    const char *preload;  /* library to preload, or NULL */
    /* Says how far the replay is, all but the step; may write `note`; NULL: that is not known. */
    void (*progress)(void *arg, struct ti_progress *p, char note[TI_SIM_NOTE_BYTES]);
    void *arg; /* for `progress` and `message` */
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
 * signal; the result is TI_ERR_IO "interrupted".  The caller ends the step of progress, because the
 * exit status does not tell whether it was completed.
 */
ti_status ti_simulate(const struct ti_sim *sim, int *exit_status, double *wall_s,
                      struct ti_err *err);

/* Shows how far the simulation is; ti_simulate() calls it while smpirun runs. */
void ti_sim_show(const struct ti_sim *sim);

#endif
