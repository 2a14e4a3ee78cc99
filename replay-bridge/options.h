/*
 * Options of ti-replay: what the command line, and a calibration, say.
 */
#ifndef TI_REPLAY_OPTIONS_H
#define TI_REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli.h"
#include "formats/rates.h"
#include "replay-bridge/calibrated.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/trace/lint.h"
#include "replay-bridge/platform/placement.h"
#include "replay-bridge/platform/platform.h"
#include "replay-bridge/platform/platform_sites.h"
#include "replay-bridge/sweep/sweep_command.h"

#define TI_REPLAY_CFG_MAX 64

extern const struct ti_cli ti_replay_cli;

struct ti_replay_options {
    char **trace; /* as given */
    int ntraces;
    int64_t copies;         /* of the trace, if there is one */
    const char *start_text; /* when each job starts; NULL: not given */
    double *start_s;
    int nstarts;

    /* The simulated machine. */
    const char *platform, *hostfile; /* files; NULL: a platform is made, and has all its hosts */
    struct ti_topology topology;
    const char *topology_text; /* as given */
    int64_t hosts;             /* of a cluster; 0: not given */
    struct ti_speeds speeds;
    char loopback[128]; /* keeps the text that `speeds` points to */
    const char *sites_path;
    struct ti_sites_speeds wan;
    char wan_text[128]; /* keeps the text that `wan` points to */
    bool made;          /* an option of a made platform was given */
    bool wan_given, speed_given, bandwidth_given, latency_given, loopback_given;
    bool show;           /* describe the platform, replay nothing */
    const char *picture; /* file to draw it into; NULL: none */
    const char *calibration;
    struct ti_calibrated calibrated;

    /* The replay. */
    struct ti_placement placement;
    const char *placement_text;   /* as given */
    int64_t ranks_per_host;       /* 0: not given */
    char *cfg[TI_REPLAY_CFG_MAX + TI_COLLECTIVES_CFG]; /* KEY:VALUE for SimGrid */
    int ncfg;
    int64_t eager_bytes; /* sends up to this size do not wait for a receive */
    enum { TI_THREADS_AUTO, TI_THREADS_SUM, TI_THREADS_LONGEST } threads;
    enum { TI_ENGINE_ASKED_AUTO, TI_ENGINE_ASKED_STOCK, TI_ENGINE_ASKED_TIARA } engine;
    const char *collectives; /* NULL: not given */
    bool any;                /* wildcards are posted as such */
    bool no_compute;         /* bursts take no time */
    bool times;              /* bursts take as long as they were measured */
    const char *rate;        /* file of --rate; NULL: not given */
    struct ti_rates *rates; /* its contents, which main() frees; NULL: not given, or not read yet */
    char reference[32];     /* speed of a host that has these rates */
    const char *reduce_rate; /* bandwidth of the arithmetic of reductions; NULL: it takes no time */
    bool lint_only;
    struct ti_sweep_command sweep;

    /* Output. */
    const char *against; /* file of real times; NULL: none */
    const char *timeline; /* file to be written; NULL: none */
    bool profile;         /* say what takes the time */
    bool links;           /* and what links carry */
    const char *keep;    /* folder that keeps all files; NULL: none */
    bool quiet, verbose, json, no_progress;
};

/* Reads the command line into `o`, which must be zeroed.  TI_CLI_END: go on; any other value is
 * the exit status, and what is wrong has been printed. */
int ti_replay_parse(struct ti_replay_options *o, int argc, char **argv);

/* The first option that only ti-smpi-replay can do; NULL: none was given. */
const char *ti_replay_needs_tiara(const struct ti_replay_options *o);

/* Reads the file of --calibration, if one is given, and takes from it what no option gives. */
ti_status ti_replay_calibrate(struct ti_replay_options *o, struct ti_err *err);

/* Reads the file of --rate, if one is given.  Without --speed, the speed of a made platform is then
 * its reference speed, also where ti_replay_calibrate(), which comes before, has another. */
ti_status ti_replay_read_rates(struct ti_replay_options *o, struct ti_err *err);

/* A calibrated speed is instructions a second: where volumes are times, the default speed is put
 * in its place. */
void ti_replay_speed_for(struct ti_replay_options *o, const struct ti_volumes *v);

#endif
