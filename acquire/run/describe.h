/*
 * Descriptions of a whole acquisition: the plan as a table; RUN.json in the run directory,
 * which is written before the launch and again after the run; and the summary of --json.
 */
#ifndef TI_ACQUIRE_RUN_DESCRIBE_H
#define TI_ACQUIRE_RUN_DESCRIBE_H

#include <stdio.h>

#include "acquire/run/acquisition.h"

void ti_describe_print(const struct ti_acquisition *a, FILE *out);

/* Write RUN.json before the launch; it is a->json from then on. */
ti_status ti_describe_start(struct ti_acquisition *a, struct ti_err *err);
/* Write it after the run, with the outcome. */
void ti_describe_end(struct ti_acquisition *a);
/* Set its "steps" to those so far. */
void ti_describe_steps(struct ti_acquisition *a);

/* For --json, if the acquisition did not come to RUN.json: describe in a->json what is known. */
void ti_describe_json(struct ti_acquisition *a);

/* Before the next try: add this one, which failed by `err` because nodes were lost, to a->tries. */
void ti_describe_failed_try(struct ti_acquisition *a, const struct ti_err *err);

/* Print the --json summary to stdout; `st` and `err` are the result of the acquisition. */
void ti_describe_summary(const struct ti_acquisition *a, ti_status st, const struct ti_err *err);

/* A command as it is recorded: without the values of -x, and arguments of --redact replaced by
 * TI_REDACTED.  Release *out with ti_args_free(). */
void ti_describe_command(const struct ti_acquisition *a, const struct ti_args *words,
                         struct ti_args *out);
#define TI_REDACTED "[redacted]"

#endif
