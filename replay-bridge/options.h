/*
 * Options of ti-replay: from the command line, completed from a calibration file.
 */
#ifndef TI_REPLAY_BRIDGE_OPTIONS_H
#define TI_REPLAY_BRIDGE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli.h"
#include "config/rates.h"
#include "replay-bridge/platform/placement.h"
#include "replay-bridge/platform/platform.h"
#include "replay-bridge/platform/platform_sites.h"
#include "replay-bridge/simulation/calibrated.h"
#include "replay-bridge/sweep/sweep_command.h"
#include "replay-bridge/trace/lint.h"
#include "replay-bridge/trace/noise.h"
#include "trips/trips.h"

#define TI_REPLAY_JOBS_MOST 4096
#define TI_REPLAY_CFG_MAX   64
#define TI_TOLERANCE_SHARES 16
#define TI_TOLERANCES       16
#define TI_SCALING_SIZES    64 /* traces of --scaling */

extern const struct ti_cli ti_replay_cli;

/* A --tolerance: an option, and the shares by which the program may be slower; 0.01 is 1 %. */
struct ti_tolerance {
    const struct ti_opt *opt;
    double slower[TI_TOLERANCE_SHARES];
    int n;
};

struct ti_replay_options {
    char **trace; /* as given */
    int ntraces;
    int64_t copies;         /* number of jobs that replay the single trace */
    const char *start_text; /* when each job starts; NULL: not given */
    double *start_s;
    int nstarts;

    /* The simulated machine. */
    const char *platform, *hostfile; /* files; NULL: generated platform; all hosts */
    struct ti_topology topology;
    const char *topology_text; /* as given */
    int64_t hosts;             /* of a cluster; 0: not given */
    struct ti_speeds speeds;
    char loopback[128], contention[512]; /* storage for texts that `speeds` points to */
    const char *sites_path;
    struct ti_sites_speeds wan;
    char wan_text[128]; /* storage for texts that `wan` points to */
    bool made;          /* an option of generated platforms was given */
    bool wan_given, speed_given, bandwidth_given, latency_given, loopback_given, contention_given;
    bool show;           /* describe the platform, replay nothing */
    const char *picture; /* file to draw it into; NULL: none */
    const char *calibration;
    struct ti_calibrated calibrated;

    /* The replay. */
    struct ti_placement placement;
    const char *placement_text;   /* as given */
    int64_t ranks_per_host;       /* 0: not given */
    char *cfg[TI_REPLAY_CFG_MAX]; /* KEY:VALUE for SimGrid */
    int ncfg;
    int64_t eager_bytes; /* sends up to this size do not wait for a receive */
    enum { TI_THREADS_AUTO, TI_THREADS_SUM, TI_THREADS_LONGEST } threads;
    int engine;              /* 0: auto; N: the N-th of TI_ENGINES (simulation/engines.h) */
    const char *collectives; /* NULL: not given */
    int any;                 /* 1: receives with wildcards are posted with wildcards */
    bool no_compute;         /* bursts take no time */
    bool no_compute_chosen;  /* --no-compute has a value, so other options of bursts may be given */
    bool times;              /* bursts take their measured durations */
    const char *rate;        /* file of --rate; NULL: not given */
    struct ti_rates
        *rates; /* contents of `rate`; ti_replay_free() frees it; NULL: not given or not read */
    char reference[32]; /* reference speed of the rates */
    int64_t seed;       /* of what is drawn: volumes of statistics, noise */
    const char *steady; /* error up to which trips are left out; NULL: none are */
    bool seed_given;
    struct ti_noise noise;   /* of bursts; without its seed */
    struct ti_trips trips;   /* of loops; n is 0: as they are */
    const char *reduce_rate; /* bandwidth of the arithmetic of reductions; NULL: no time */
    const char *copy_rate;   /* bandwidth of the copy of a rank's own block; NULL: no time */
    bool lint_only;
    struct ti_sweep_command sweep;
    struct ti_tolerance tolerance[TI_TOLERANCES];
    int ntolerances;
    const char *versus; /* trace of --versus, the second of `trace`; NULL: not given */
    enum { TI_SCALING_NONE, TI_SCALING_AUTO, TI_SCALING_STRONG, TI_SCALING_WEAK } scaling;

    /* Output. */
    const char *against;   /* file of real times; NULL: none */
    const char *timeline;  /* file to be written; NULL: none */
    bool profile;          /* print the profile */
    bool overview;         /* the profile has what ranks do in pieces of the time, for a picture */
    bool causes;           /* print the critical path, and what would help */
    const char *debug_dir; /* folders with debug information, separated by ':'; NULL: none */
    bool links;            /* print the load of links */
    int64_t link_slices;   /* ... and in at most so many slices of time; 0: not */
    const char *keep;      /* folder for all files of the replay; NULL: none */
    int64_t width;         /* of tables; -1: not given */
    bool quiet, verbose, json;
    enum ti_progress_form progress;
};

/* Whether several traces are replayed one by one and compared. */
static inline bool ti_replay_compares(const struct ti_replay_options *o)
{
    return o->versus || o->scaling;
}

/* Parses the command line into `o`, which must be zeroed.  TI_CLI_END: continue.  Any other value
 * is the exit status; errors have been printed. */
int ti_replay_parse(struct ti_replay_options *o, int argc, char **argv);

/* Reads the file of --calibration, if given.  Its values replace defaults, but no options.
 * TI_ERR_INPUT if its noise is asked for, but not there. */
ti_status ti_replay_calibrate(struct ti_replay_options *o, struct ti_err *err);

/* Reads the file of --rate, if given.  Call it after ti_replay_calibrate(): without --speed, the
 * reference speed of the rates replaces the calibrated speed of a generated platform. */
ti_status ti_replay_read_rates(struct ti_replay_options *o, struct ti_err *err);

/* Resets the speed and the contention to the default where they were calibrated but volumes are
 * times: a calibrated speed is in instructions per second. */
void ti_replay_speed_for(struct ti_replay_options *o, const struct ti_volumes *v);

#endif
