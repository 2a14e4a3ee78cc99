/*
 * The report of ti-replay: prints the result of a replay, as text or JSON.
 */
#ifndef TI_REPLAY_BRIDGE_REPORT_H
#define TI_REPLAY_BRIDGE_REPORT_H

#include "replay-bridge/options.h"
#include "replay-bridge/simulation/result.h"

/* Prints the result in the form that the options select; where `st` is an error, prints `err`.
 * Returns `st`, or TI_ERR_IO if stdout cannot be written. */
ti_status ti_replay_report(const struct ti_replay_options *o, const struct ti_replay_result *res,
                           ti_status st, const struct ti_err *err);

/* Prints a line of the result on stdout: a label, and from column 16 on a text, in lines of
 * --width. */
void ti_replay_print_line(const struct ti_replay_options *o, const char *label, const char *fmt,
                          ...) __attribute__((format(printf, 3, 4)));

/* Print lines about results: that the bursts of `ranks` ranks are drawn from statistics; the calls
 * to which an engine gives no time; the noise of --noise.  Nothing is printed if there are none. */
void ti_replay_print_drawn(const struct ti_replay_options *o, uint64_t ranks);
void ti_replay_print_untimed(const struct ti_replay_options *o, const struct ti_untimed *all,
                             const char *engine);
void ti_replay_print_noise(const struct ti_replay_options *o);

/* Prints `j` on stdout, and drops the reference. */
void ti_replay_print_json(json_t *j);

#endif
