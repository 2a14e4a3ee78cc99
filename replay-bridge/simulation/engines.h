/*
 * Engines: what replays a trace in a simulation.  An engine is a `struct ti_engine` with the name
 * ti_engine_NAME, and a row of TI_ENGINES.  HACKING.md says how to add one.
 */
#ifndef TI_REPLAY_BRIDGE_SIMULATION_ENGINES_H
#define TI_REPLAY_BRIDGE_SIMULATION_ENGINES_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* The engines.  The last one serves all options.  --engine auto takes the last one that is
 * available and serves the given options.  (A test has a table of its own.) */
#ifndef TI_ENGINES
#define TI_ENGINES(X) X(stock) X(tiara)
#endif

/* Features that an option may ask for, and that not every engine has. */
enum {
    TI_SERVES_SMPIRUN = 1 << 0, /* --links, --collectives, --cfg, --keep */
    TI_SERVES_WILDCARDS = 1 << 1,
    TI_SERVES_RATES = 1 << 2,   /* --reduce-rate, --copy-rate, --contention */
    TI_SERVES_PROFILE = 1 << 3, /* --profile, --causes, --versus, --scaling */
    TI_SERVES_TIMELINE = 1 << 4,
    TI_SERVES_JOBS = 1 << 5, /* more than one job, --start */
    TI_SERVES_STEADY = 1 << 6,
    TI_SERVES_NOISE = 1 << 7,
    TI_SERVES_DISKS = 1 << 8,
    TI_SERVES_ENERGY = 1 << 9,
    TI_SERVES_ALL = (1 << 10) - 1 /* widen it with a new feature */
};

struct ti_engine {
    const char *name;               /* as in --engine */
    const struct ti_target *target; /* which traces it can replay, see trace/lint.h */
    unsigned serves;                /* TI_SERVES_...; options that ask for more are refused */
    bool actions; /* replays the actions of trace/lower.h: counts these instead of events, and gives
                     no time to probes and to making communicators */

    /* Whether the engine's own programs are there, for --engine auto; NULL: always. */
    ti_status (*available)(const struct ti_replay_options *o, struct ti_err *err);
    /* Whether a simulation can be started; asked before anything that takes long.  NULL: always. */
    ti_status (*ready)(struct ti_err *err);
    /* Prepares the run.  The trace has passed the check; the scratch directory has the platform and
     * the hostfile.  Sets res->actions. */
    ti_status (*prepare)(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err);
    /* Runs the simulation.  After success res->simulated, res->verdict.time (and .clock, if it has
     * more digits), end_s of each job, and what the options ask for are set.  After a
     * failure res->verdict.quote and res->waiting may tell more than `err`. */
    ti_status (*run)(const struct ti_replay_options *o, struct ti_replay_result *res,
                     struct ti_err *err);
};

#define TI_ENGINE_DECLARED(name) extern const struct ti_engine ti_engine_##name;
TI_ENGINES(TI_ENGINE_DECLARED)

/* The engine that --engine names; the last one for auto. */
const struct ti_engine *ti_engine_asked(const struct ti_replay_options *o);

/* The name of the engine that gives time to all calls: the last one that replays no actions. */
const char *ti_engine_timing(void);

/* The first given option that `serves` does not cover, as messages name it; NULL: none. */
const char *ti_engine_lacks(unsigned serves, const struct ti_replay_options *o);

/* TI_ERR_USAGE if the engine that --engine names does not serve all options. */
ti_status ti_engine_check(const struct ti_replay_options *o, struct ti_err *err);

/* Chooses an available engine by --engine.  TI_ERR_IO: there is none, and *out is unchanged. */
ti_status ti_engine_choose(const struct ti_replay_options *o, const struct ti_engine **out,
                           struct ti_err *err);

#endif
