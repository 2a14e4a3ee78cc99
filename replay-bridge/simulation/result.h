/*
 * Result of a replay: each step of ti-replay fills in its part, report.h prints it.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_RESULT_H
#define TI_REPLAY_BRIDGE_SIMULATION_RESULT_H

#include <jansson.h>
#include <limits.h>

#include "common/args.h"
#include "replay-bridge/platform/hosts.h"
#include "replay-bridge/platform/platform_sites.h"
#include "replay-bridge/simulation/against.h"
#include "replay-bridge/simulation/messages.h"
#include "replay-bridge/simulation/state.h"
#include "replay-bridge/simulation/verdict.h"
#include "replay-bridge/trace/bursts.h"
#include "replay-bridge/trace/lint.h"

struct ti_symbolizer;

/* A trace of the command line; several jobs may share it. */
struct ti_replay_trace {
    const char *path; /* as given, for messages */
    char *changed;    /* file of the trace that is replayed instead (--trips); NULL: none */
    struct ti_source *source;
    bool linted;
    struct ti_lint lint; /* valid if `linted` */
    struct ti_problems problems;
    struct ti_bursts bursts;
};

/* A program that runs in the simulation. */
struct ti_sim_job {
    struct ti_replay_trace *trace;
    int64_t np, first;     /* number of ranks; rank of the simulation that is rank 0 of the job */
    double start_s, end_s; /* simulated seconds; the end is valid if `simulated` */
};

struct ti_replay_result {
    struct ti_replay_trace *trace;
    int ntraces;
    struct ti_sim_job *job;
    int njobs;
    int64_t np;                    /* ranks of all jobs */
    struct ti_hosts hosts;         /* hosts that ranks may use */
    uint32_t *host_of;             /* index of the host of each rank */
    struct ti_sites *sites;        /* of --sites; NULL: none */
    int64_t made_hosts;            /* number of hosts of a generated platform */
    char platform[PATH_MAX + 256]; /* description in words, with all digits */
    char platform_text[PATH_MAX + 256]; /* the same for people */
    char platform_file[PATH_MAX];  /* file name for smpirun */
    int64_t most_ranks;            /* on a host, of a generated platform */
    double loopback_shared_Bps;    /* limit of all messages within a host of one; 0: none */
    bool watts;                    /* the platform has the power of hosts */
    const char *no_energy;         /* why their energy is not known all the same; NULL: it is */
    const struct ti_engine *engine;
    uint64_t actions;        /* number over all jobs; or of events, see struct ti_engine */
    const char *collectives; /* algorithms of collectives; NULL: not chosen */
    char **cfg;              /* settings for SimGrid, KEY:VALUE; the texts are not owned */
    int ncfg;
    struct ti_args replayer; /* command of ti-smpi-replay; empty: SimGrid's replay of actions */
    char preload[PATH_MAX];  /* library that smpirun preloads for `replayer`; "": none */
    struct ti_replay_state *state; /* of the ranks of `replayer`; NULL: not known */
    struct ti_verdict verdict; /* valid if `simulated` */
    struct ti_against against; /* of --against */
    json_t *waiting;           /* ranks that did not finish; NULL: not known */
    json_t *profile;           /* of --profile or --causes; NULL: none */
    json_t *causes;            /* of --causes; NULL: none */
    json_t *steady;            /* of --steady: what was left out; NULL: none */
    json_t *energy;            /* joules; NULL: not known */
    struct ti_symbolizer *symbolizer; /* of call sites; NULL: none are named */
    struct ti_messages messages; /* of --links */
    json_t *links;               /* NULL: none */
    bool runnable;             /* all files that the engine needs are written */
    bool simulated;            /* the engine has found a simulated time */
    double wall_s;             /* of the simulation, real time */
};

#endif
