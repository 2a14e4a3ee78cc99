/*
 * The steps of ti-replay, in the order of main.c.  Each fills its part of the result.
 */
#ifndef TI_REPLAY_BRIDGE_STEPS_H
#define TI_REPLAY_BRIDGE_STEPS_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* Reads the files of --calibration and --rate, and opens the traces. */
ti_status ti_replay_load(struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err);

/* Makes the jobs, chooses the engine, reads the file of --against, and places ranks on hosts: what
 * can fail before the traces are read.  With --lint no hosts are needed. */
ti_status ti_replay_plan(const struct ti_replay_options *o, struct ti_replay_result *res,
                         struct ti_err *err);

/* The same for replays that are child processes, which check the traces: describes the platform in
 * res->platform_text, and takes the speed of hosts from the options as the check would. */
ti_status ti_replay_plan_many(struct ti_replay_options *o, struct ti_replay_result *res,
                              struct ti_err *err);

/* Checks that the engine can replay the traces.  TI_ERR_INPUT: it cannot; the problems are in the
 * result. */
ti_status ti_replay_check(struct ti_replay_options *o, struct ti_replay_result *res,
                          struct ti_err *err);

/* Whether the check will refuse a trace at once (ti_lint_mostly_missing()). */
bool ti_replay_mostly_missing(const struct ti_replay_result *res);

/* Writes the files of the simulation, and runs it. */
ti_status ti_replay_act(struct ti_replay_options *o, struct ti_replay_result *res,
                        struct ti_err *err);

/* Frees what the options and the result own. */
void ti_replay_free(struct ti_replay_options *o, struct ti_replay_result *res);

#endif
