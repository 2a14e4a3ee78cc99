/*
 * One acquisition, from the facts to the commands: everything that is known of
 * it, and the steps that main() goes through.
 */
#ifndef TI_JOB_H
#define TI_JOB_H

#include <limits.h>
#include <sched.h>

#include "acquire/run/choose.h"
#include "acquire/plan/memory_model.h"
#include "acquire/run/mpirun.h"
#include "acquire/options.h"
#include "acquire/plan/plan.h"
#include "acquire/run/report.h"
#include "node/launch.h"
#include "node/machine.h"
#include "node/paths.h"
#include "node/program.h"
#include "node/rundir.h"

struct ti_job {
    const struct ti_options *o;
    char run_id[TI_RUN_ID_TEXT];
    char dir_name[PATH_MAX]; /* of the run directory */
    char output[PATH_MAX];
    struct ti_program program;
    struct ti_mpirun mpirun;
    struct ti_paths paths;
    struct ti_counter_choice choice;
    struct ti_machine machine;
    cpu_set_t pin;
    bool pinned;       /* to `pin` */
    bool whole;        /* what it counts as a whole is wanted, not its events (TIARA_MODE) */
    bool outside;      /* the counter is to tell what is executed outside MPI, if it can */
    bool repeated;     /* it reads its standard input from the start; its output goes nowhere */
    const char *isa;   /* level of the instruction set that glibc is to choose for; NULL: any */
    const char *label; /* what the progress line calls it; NULL: running */
    struct ti_memory_model model; /* of --pilot; n == 0: none */
    struct ti_plan plan;
    double pilot_started, pilot_seconds;
    bool sum;        /* volumes are of all threads of a rank */
    int overlay;     /* pilots work on an overlay: 1, no: -1; 0: not tried yet */
    bool pilot_hint; /* it was said how to do without a pilot */
    struct ti_rundir dir;
    struct ti_args command; /* mpirun's */
    json_t *json;           /* RUN.json */

    struct ti_outcome outcome;
    struct ti_ranks ranks;
    bool bundled;
    int signal; /* to die of; 0 */
};

/* Program, mpirun, library, counter, machine, names: what can be told without
 * running anything of the user's. */
ti_status ti_job_check(struct ti_job *j, struct ti_err *err);

/* After it: the bundle must not exist yet (a dry run only says so), and its directory must take
 * it.  Better told now than when the program has run. */
ti_status ti_job_check_output(struct ti_job *j, struct ti_err *err);

/* The program, which may be on nodes alone: what it is, they tell then. */
ti_status ti_job_find_program(struct ti_job *j, struct ti_err *err);

/* The part of it that is about this machine and not about ranks here; the program as above. */
ti_status ti_job_check_front(struct ti_job *j, struct ti_err *err);

/* Warn of a program that may leave no trace, or is counted by what it should not be. */
void ti_job_warn_of_program(const struct ti_job *j);

/* For each of so many ranks on another node: the user's variables with their values, and
 * what the library is told; and what stands before the program there. */
void ti_job_settings(const struct ti_job *j, int64_t ranks, struct ti_args *env);
void ti_job_wrapper(const struct ti_job *j, struct ti_args *w);

/* Another run id. */
ti_status ti_job_new_run_id(struct ti_job *j, struct ti_err *err);

/* Open the run directory, find out about memory (by the pilot, if need be), make the
 * plan and put the command together.  A dry run opens no directory, so its command
 * lacks places in it for Open MPI. */
ti_status ti_job_prepare(struct ti_job *j, struct ti_err *err);

/* Standard input for a run that must leave it to the others. */
const char *ti_job_input(void);

/* The plan as a table. */
void ti_job_print(const struct ti_job *j, FILE *out);
/* The lines of it about the counter, --times and --also. */
void ti_job_print_counter(const struct ti_job *j, FILE *out);

/* Write RUN.json, launch, watch, wait, clean up, read what was written. */
ti_status ti_job_run(struct ti_job *j, struct ti_err *err);

/* RUN.json as it is when the run starts; `json`, taken over, says what it is. */
ti_status ti_job_note_start(struct ti_job *j, json_t *json, struct ti_err *err);
/* How it went, into j->json, but for its steps. */
void ti_job_note_outcome(struct ti_job *j);

/* A JSON array of strings. */
json_t *ti_job_list(const struct ti_job *j, const struct ti_args *a);

/* Make the bundle.  TI_ERR_PARTIAL when something is missing in it. */
ti_status ti_job_gather(struct ti_job *j, struct ti_err *err);

/* replayable.c: say whether the bundle can be replayed, and why not; and note it for --json as
 * "replay": {"can", "problems", "why"}.  ti-replay --lint tells.  It reads all events, so of
 * very many of them only the command is said. */
void ti_job_say_replayable(struct ti_job *j);

/* What the job is, a new object: RUN.json before the launch. */
json_t *ti_job_json(const struct ti_job *j);

/* One object on stdout: the end of --json.  `st` and `err` are what we are going
 * to return and to say. */
/* The words of a command as they are recorded: without the values of -x, and with what
 * --redact names as TI_REDACTED.  Free *out. */
void ti_job_recorded(const struct ti_job *j, const struct ti_args *words, struct ti_args *out);
#define TI_REDACTED "[redacted]"

void ti_job_summary(const struct ti_job *j, ti_status st, const struct ti_err *err);

void ti_job_free(struct ti_job *j);

#endif
