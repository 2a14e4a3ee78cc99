/*
 * Engines: the programs that can replay a trace in a simulation, and what is to be told to them.
 */
#ifndef TI_ENGINES_H
#define TI_ENGINES_H

#include <limits.h>

#include "replay-bridge/trace/bursts.h"
#include "replay-bridge/trace/lint.h"

/* What belongs to ti-smpi-replay, as absolute names; "" for what is not there. */
struct ti_engine_files {
    char replayer[PATH_MAX]; /* ti-smpi-replay */
    char clock[PATH_MAX];    /* libti-smpi-clock.so, see replayer/clock.c */
    char routes[PATH_MAX];   /* ti-smpi-routes, see messages.h */
};

/* Finds them beside this program, or where it was installed to. */
void ti_engine_files(struct ti_engine_files *out);

/* What ti-smpi-replay is asked for. */
struct ti_engine_replay {
    const char **trace; /* of each job */
    int njobs;
    const char *start;              /* when they start, as on the command line; NULL: at once */
    const struct ti_bursts *bursts; /* of all of them */
    bool any;                       /* wildcards are posted as such */
    const char *reduce_rate;        /* as on the command line; NULL: not given */
    const char *profile, *timeline; /* files to be written; NULL: none */
};

/*
 * The command of ti-smpi-replay, its words separated by blanks; free() it.  Names that smpirun, a
 * shell script, would split or expand are replaced by links in the scratch directory, that of
 * `files->clock` too; a timeline must be there already.
 */
ti_status ti_engine_command(struct ti_engine_files *files, const struct ti_engine_replay *what,
                            char **out, struct ti_err *err);

/* The command of ti-smpi-routes, as above. */
ti_status ti_routes_command(const struct ti_engine_files *files, char **out, struct ti_err *err);

/*
 * Options of SimGrid's for the algorithms of collectives: of "tree", or of a selector of SimGrid's
 * by name; none for "simgrid".  Returns their number, at most TI_COLLECTIVES_CFG; they are
 * constants.
 */
#define TI_COLLECTIVES_CFG 8
int ti_collectives_cfg(const char *which, const char *cfg[TI_COLLECTIVES_CFG]);

#endif
