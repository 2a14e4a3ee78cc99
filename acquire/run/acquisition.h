/*
 * One acquisition: everything that is known of it, and the steps of a run on this machine in the
 * order in which main() calls them.  A run over several nodes (acquire/run/acquisition.h) uses
 * parts of it.
 */
#ifndef TI_JOB_H
#define TI_JOB_H

#include <limits.h>
#include <sched.h>

#include "acquire/options.h"
#include "acquire/plan/memory_model.h"
#include "acquire/plan/plan.h"
#include "acquire/run/choose.h"
#include "acquire/run/mpirun.h"
#include "acquire/run/report.h"
#include "node/launch.h"
#include "node/machine.h"
#include "session/paths.h"
#include "node/program.h"
#include "node/rundir.h"

struct ti_acquisition {
    const struct ti_options *o;
    char run_id[TI_RUN_ID_TEXT];
    char dir_name[PATH_MAX]; /* of the run directory, as given */
    char output[PATH_MAX];
    struct ti_program program;
    struct ti_mpirun mpirun;
    struct ti_paths paths;
    struct ti_counter_choice choice;
    struct ti_machine machine;
    cpu_set_t pin;
    bool pinned;   /* ranks run on the cores `pin` only */
    bool whole;    /* count the run as a whole, record no events (TIARA_MODE) */
    bool outside;  /* also count what is executed outside MPI, if the counter can */
    bool repeated; /* one of several runs: standard input is read from the start, output is dropped
                    */
    const char *isa;              /* level of the instruction set for glibc; NULL: any */
    const char *label;            /* text of the progress line; NULL: "running" */
    struct ti_memory_model model; /* of --pilot; n == 0: none */
    struct ti_plan plan;
    double pilot_started, pilot_seconds;
    bool sum;        /* volumes count all threads of a rank */
    int overlay;     /* whether pilots can work on an overlay: 1 yes, -1 no, 0 not tried yet */
    bool pilot_hint; /* the hint how to avoid a pilot was given */
    struct ti_rundir dir;
    struct ti_args command; /* mpirun's command */
    json_t *json;           /* RUN.json */

    struct ti_outcome outcome;
    struct ti_ranks ranks;
    bool bundled;
    int signal; /* received; to end with; 0: none */
};

/* Check program, mpirun, library, counter, machine and names, without running anything of the
 * user's. */
ti_status ti_acquisition_check(struct ti_acquisition *a, struct ti_err *err);

/* After ti_acquisition_check(): the bundle must not exist yet (a dry run only warns) and its
 * directory must be writable.  Checked before the program runs. */
ti_status ti_acquisition_check_output(struct ti_acquisition *a, struct ti_err *err);

/* Find the program, which may exist on the nodes only; the survey reports what it is. */
ti_status ti_acquisition_find_program(struct ti_acquisition *a, struct ti_err *err);

/* The part of ti_acquisition_check() for a run whose ranks are on other nodes; the program may be
 * missing here. */
ti_status ti_acquisition_check_front(struct ti_acquisition *a, struct ti_err *err);

/* Warn if the program may leave no trace or does not fit the counter. */
void ti_acquisition_warn_of_program(const struct ti_acquisition *a);

/* The environment of each of `ranks` ranks on another node: the user's variables with their
 * values and the settings of the library; and the command in front of the program. */
void ti_acquisition_settings(const struct ti_acquisition *a, int64_t ranks, struct ti_args *env);
void ti_acquisition_wrapper(const struct ti_acquisition *a, struct ti_args *w);

/* Draw a new run id. */
ti_status ti_acquisition_new_run_id(struct ti_acquisition *a, struct ti_err *err);

/* Open the run directory, measure memory (by a pilot if needed), plan, and build the command.  A
 * dry run opens no directory, so its command lacks Open MPI's folders. */
ti_status ti_acquisition_prepare(struct ti_acquisition *a, struct ti_err *err);

/* The path from which each of several runs reads standard input from its start: the file that it
 * is, else /dev/null. */
const char *ti_acquisition_input(void);

/* Print the plan as a table. */
void ti_acquisition_print(const struct ti_acquisition *a, FILE *out);
/* Print those lines of the plan that are about the counter, --times and --also. */
void ti_acquisition_print_counter(const struct ti_acquisition *a, FILE *out);

/* Write RUN.json, launch mpirun, watch and wait, clean up, and read the ends of the traces. */
ti_status ti_acquisition_run(struct ti_acquisition *a, struct ti_err *err);

/* Write RUN.json before the launch; `json`, taken over, describes the job. */
ti_status ti_acquisition_note_start(struct ti_acquisition *a, json_t *json, struct ti_err *err);
/* Add the outcome to a->json, except for its steps. */
void ti_acquisition_note_outcome(struct ti_acquisition *a);

/* A JSON array of strings. */
json_t *ti_acquisition_list(const struct ti_acquisition *a, const struct ti_args *words);

/* Make the bundle.  TI_ERR_PARTIAL when it is incomplete. */
ti_status ti_acquisition_gather(struct ti_acquisition *a, struct ti_err *err);

/* replayable.c: run ti-replay --lint on the bundle, print whether it can be replayed and why not,
 * and add "replay": {"can", "problems", "why"} for --json.  It reads all events; for very many of
 * them only the command is printed. */
void ti_acquisition_say_replayable(struct ti_acquisition *a);

/* A new object that describes the job: RUN.json before the launch. */
json_t *ti_acquisition_json(const struct ti_acquisition *a);

/* A command as it is recorded: without the values of -x, and arguments of --redact replaced by
 * TI_REDACTED.  Release *out with ti_args_free(). */
void ti_acquisition_recorded(const struct ti_acquisition *a, const struct ti_args *words,
                             struct ti_args *out);
#define TI_REDACTED "[redacted]"

/* Print the --json summary to stdout; `st` and `err` are the result of the run. */
void ti_acquisition_summary(const struct ti_acquisition *a, ti_status st, const struct ti_err *err);

void ti_acquisition_free(struct ti_acquisition *a);

#endif
