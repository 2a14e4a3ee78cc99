/*
 * Running smpirun on what lies in the scratch directory.
 */
#ifndef TI_SIMULATE_H
#define TI_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "replay-bridge/trace/files.h"

struct ti_sim {
    int64_t np;
    const char *platform; /* as smpirun is given it: relative to the scratch
                             directory, or absolute */
    char **cfg;           /* KEY:VALUE */
    int ncfg;
    const char *replayer; /* the program that replays, with its options, separated by blanks; NULL:
                             SimGrid's own replay of TI_SIM_TRACES */
    const char *preload;  /* a library to be preloaded, or NULL */
    double (*done)(void *arg); /* the share of the events that are replayed, for the progress line;
                                  NULL: not known */
    void *arg;
    void (*message)(void *arg, const char *line); /* each line of SimGrid's tracing; NULL: none */
    bool routes;            /* `replayer` is ti-smpi-routes: its output is in TI_SIM_ROUTES */
    const char *const *log; /* further --log=...; ends with NULL; may be NULL */
    bool verbose; /* repeat what it prints on stderr */
};

/* Whether there is an smpirun to be run; TI_ERR_IO with a hint if not. */
ti_status ti_sim_available(struct ti_err *err);

/* Whether one file a rank can be open at a time (the limit is raised as far as
 * it goes); if not, the ranks must share one file. */
bool ti_sim_can_open(int64_t np);

/* Write the script. */
ti_status ti_sim_script(const struct ti_sim *sim, struct ti_err *err);

/*
 * Run it, its output into the log.  TI_OK once it has ended, with *exit_status
 * as the shell has it (128 + signal), *wall_s seconds later.  A signal to us
 * ends it: SIGTERM to its process group, SIGKILL after 5 seconds or a second
 * signal; the result is then TI_ERR_IO "interrupted".
 */
ti_status ti_simulate(const struct ti_sim *sim, int *exit_status, double *wall_s,
                      struct ti_err *err);

#endif
