/*
 * Engines: finds ti-smpi-replay and its companions, and builds their command lines.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_ENGINES_H
#define TI_REPLAY_BRIDGE_SIMULATION_ENGINES_H

#include <limits.h>

#include "replay-bridge/trace/bursts.h"
#include "replay-bridge/trace/lint.h"

/* The engine that replays a trace. */
enum ti_engine { TI_ENGINE_STOCK, TI_ENGINE_TIARA };

/* Absolute paths of ti-smpi-replay and its companions; "" for a file that does not exist. */
struct ti_engine_files {
    char replayer[PATH_MAX]; /* ti-smpi-replay */
    char clock[PATH_MAX];    /* libti-smpi-clock.so, see replayer/clock.c */
    char routes[PATH_MAX];   /* ti-smpi-routes, see messages.h */
};

/* Looks for the files beside this program and in the installation folders. */
void ti_engine_files(struct ti_engine_files *out);

/* Settings of one run of ti-smpi-replay. */
struct ti_engine_replay {
    const char **trace; /* trace of each job */
    int njobs;
    const char *start;              /* start times, as on the command line; NULL: at once */
    const struct ti_bursts *bursts; /* for all jobs */
    bool any;                       /* receives with wildcards are posted with wildcards */
    const char *reduce_rate;        /* as on the command line; NULL: not given */
    uint64_t seed;                  /* of values drawn from statistics */
    const char *profile, *timeline; /* files to write; NULL: none */
};

/*
 * The command line of ti-smpi-replay, in *out; free() it.  Words are separated by blanks.  smpirun
 * is a shell script: paths that it would split or expand are replaced by symbolic links in the
 * scratch directory, files->clock too.  The timeline file must exist.
 */
ti_status ti_engine_command(struct ti_engine_files *files, const struct ti_engine_replay *what,
                            char **out, struct ti_err *err);

/* The command line of ti-smpi-routes, as above. */
ti_status ti_routes_command(const struct ti_engine_files *files, char **out, struct ti_err *err);

/*
 * SimGrid options for the algorithms of collectives.  `which` is "tree", the name of one of
 * SimGrid's selectors, or "simgrid", which needs no options.  Returns the number of options in
 * `cfg`, at most TI_COLLECTIVES_CFG; the texts are constants.
 */
#define TI_COLLECTIVES_CFG 8
int ti_collectives_cfg(const char *which, const char *cfg[TI_COLLECTIVES_CFG]);

#endif
