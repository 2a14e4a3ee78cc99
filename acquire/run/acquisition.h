/*
 * One acquisition, from the command line to the bundle: all that is known of it, and the interface
 * of the two back ends.  pipeline.c has the steps in their order.  What depends on where the ranks
 * run is in a back end: local.c for this machine, nodes.c for the nodes of a fleet.
 */
#ifndef TI_ACQUIRE_RUN_ACQUISITION_H
#define TI_ACQUIRE_RUN_ACQUISITION_H

#include <limits.h>
#include <sched.h>

#include "acquire/options.h"
#include "acquire/plan/estimate.h"
#include "acquire/plan/memory_model.h"
#include "acquire/plan/plan.h"
#include "acquire/run/choose.h"
#include "acquire/run/forward.h"
#include "acquire/run/mpirun.h"
#include "acquire/run/report.h"
#include "acquire/run/runlog.h"
#include "config/sites.h"
#include "node/launch.h"
#include "node/machine.h"
#include "node/rundir.h"
#include "program/program.h"
#include "session/paths.h"

/* X(name, text): the steps, in RUN.json and the manifest; as in figure 5 of the paper that README
 * names */
#define TI_STEPS(X)                                                                                \
    X(SHIP, "ship")    /* connecting, and sending our files */                                     \
    X(SURVEY, "probe") /* the survey */                                                            \
    X(PILOT, "pilot")  /* measuring the memory of a rank */                                        \
    X(PLAN, "plan")                                                                                \
    X(DRY_LAUNCH, "dry launch")                                                                    \
    X(START, "start")     /* from mpirun until all ranks had left MPI_Init; by the outcome */      \
    X(APP, "application") /* by the outcome */                                                     \
    X(COLLECT, "collect") /* reading the ends of the traces */                                     \
    X(GATHER, "gather")
#define TI_STEP_ENUM(name, text) TI_STEP_##name,
enum ti_acquire_step { TI_STEPS(TI_STEP_ENUM) TI_STEP_COUNT };

struct ti_acquisition {
    const struct ti_options *o;
    const struct ti_sites *sites; /* borrowed; NULL: the ranks run on this machine */
    const struct ti_backend *backend;
    void *state; /* the back end's; NULL: none yet */

    /* found by the checks */
    char dir_name[PATH_MAX]; /* of the run directory, as given */
    char output[PATH_MAX];
    struct ti_program program; /* the first */
    struct ti_program *more;   /* further programs, o->nmore; NULL: none yet */
    char application[256];     /* names the run: "ocean", or "ocean+air" */
    struct ti_mpirun mpirun;
    struct ti_paths paths;
    struct ti_counter_choice choice;
    struct ti_machine machine; /* this one */
    bool sum;                  /* volumes count all threads of a rank */

    /* of ti-skew */
    cpu_set_t pin;
    bool pinned;        /* ranks run on the cores `pin` only; --pin has it, too */
    bool whole;         /* count the run as a whole, record no events (TIARA_MODE) */
    bool outside;       /* also count what is executed outside MPI, if the counter can */
    bool repeated;      /* one of several runs: the plan is not printed, standard input is read from
                         * the start, output is dropped */
    const char *label;  /* for the progress line: "np 4, traced"; NULL: a run of its own */
    int64_t nth, nruns; /* with `label`: runs before this one, and all */

    /* the plan */
    char run_id[TI_RUN_ID_TEXT];
    const char *isa;              /* level of the instruction set for glibc; NULL: any */
    bool isa_chosen;              /* because nodes differ */
    struct ti_memory_model model; /* of --pilot; n == 0: none */
    struct ti_plan plan;
    struct ti_former former; /* run of the same; np == 0: none is known */
    bool planned;            /* `plan` and the back end have one that can be printed */
    int overlay;    /* whether pilots can work on an overlay: 1 yes, -1 no, 0 not tried yet */
    bool hint_said; /* the hint how to avoid a pilot */

    /* the run */
    struct ti_rundir dir;
    struct ti_runlog log;
    char log_name[PATH_MAX];
    struct ti_args command;     /* mpirun's command */
    struct ti_proc *proc;       /* mpirun, while it is watched */
    struct ti_forward *forward; /* of its output */
    json_t *json;               /* RUN.json */
    struct ti_outcome outcome;
    struct ti_ranks ranks;
    json_t *lost_nodes;        /* names of the nodes with ranks that were lost; NULL: none */
    struct ti_err lost;        /* of the first of them */
    char short_of_memory[256]; /* the node that ran short; "": none, or this machine */
    json_t *tries;             /* former tries and their errors; NULL: this is the first */
    bool bundled;
    int signal; /* received; to end with; 0: none */

    double step_start[TI_STEP_COUNT]; /* seconds since the epoch; 0: skipped */
    double step_seconds[TI_STEP_COUNT];
};

/* Progress of a run: sums over all ranks. */
struct ti_run_progress {
    int64_t started, finished; /* ranks */
    int64_t bytes;             /* of traces */
    int64_t nodes;             /* 0: this machine */
    double last_start;         /* of the latest rank that started, in seconds since the epoch */
};

/*
 * The interface of the back ends: all that differs between this machine and nodes.  They are called
 * in about this order: `plan` to `remove` and `close` in each try, `wait` and `update` many times,
 * `say_missing` and `say_where` after the last try.  `close` and `destroy` are called whatever
 * happened, `stop` if `open` was called.
 */
struct ti_backend {
    /* --probe, instead of all others: print what the nodes are; NULL: there are no nodes. */
    ti_status (*probe)(struct ti_acquisition *a, struct ti_err *err);
    /* Find program and counter, and check all that needs no run and no node. */
    ti_status (*check)(struct ti_acquisition *a, struct ti_err *err);
    /* Say where each rank runs, and fill a->plan.  Memory is measured if need be. */
    ti_status (*plan)(struct ti_acquisition *a, struct ti_err *err);
    /* Print the lines of the plan about ranks and memory. */
    void (*print_ranks)(const struct ti_acquisition *a, FILE *out);
    /* Print the lines of the plan about directories. */
    void (*print_traces)(const struct ti_acquisition *a, FILE *out);
    /* Add "plan" and whatever else the back end knows to the JSON of the run. */
    void (*describe)(const struct ti_acquisition *a, json_t *json);
    /* Make what the run needs, and mpirun's command. */
    ti_status (*open)(struct ti_acquisition *a, struct ti_err *err);
    /* Start mpirun.  Sets a->proc, a->forward and outcome.launched. */
    ti_status (*start)(struct ti_acquisition *a, struct ti_err *err);
    /* Forward output for `ms`, less if mpirun ends.  Returns a signal that came, or 0. */
    int (*wait)(struct ti_acquisition *a, int ms);
    /* Sum up the progress; note memory that runs out, and lost nodes. */
    void (*update)(struct ti_acquisition *a, struct ti_run_progress *progress);
    /* End the run: mpirun and all ranks. */
    void (*end)(struct ti_acquisition *a);
    /* End all processes that outlived mpirun. */
    void (*sweep)(struct ti_acquisition *a);
    /* Release what is only needed while mpirun runs, and folders that it uses. */
    void (*stop)(struct ti_acquisition *a);
    /* Fill a->ranks, and what RUN.json says of each node. */
    ti_status (*collect)(struct ti_acquisition *a, struct ti_err *err);
    /* Make the bundle, as ti-gather does, and print its errors; NULL: a process of it does.  Only
     * what keeps it from beginning is an error in `err`. */
    ti_status (*gather)(struct ti_acquisition *a, bool remove, struct ti_err *err);
    /* Where traces stay that are not removed: "on their nodes"; NULL: in the run directory. */
    const char *home;
    /* Say which nodes have ranks without a whole trace; NULL: there are no nodes. */
    void (*say_missing)(const struct ti_acquisition *a);
    /* Say where the traces are that are not gathered, and remove what is useless of them.  `app`
     * is the status of the application. */
    void (*say_where)(struct ti_acquisition *a, ti_status app);
    /* Remove the traces of a try that failed; NULL: there is only one try. */
    void (*remove)(struct ti_acquisition *a);
    /* Release what a try has left; NULL: `stop` does. */
    void (*close)(struct ti_acquisition *a);
    /* Release a->state; NULL: `stop` does. */
    void (*destroy)(struct ti_acquisition *a);
};

/* The back ends. */
extern const struct ti_backend ti_backend_local, ti_backend_nodes;

/* Look at all programs of the command line, by a function like ti_program_find(). */
typedef ti_status ti_find_fn(const struct ti_acquisition *a, const char *given,
                             struct ti_program *p, struct ti_err *err);
ti_status ti_acquisition_find_programs(struct ti_acquisition *a, ti_find_fn *find,
                                       struct ti_err *err);

/* Program `i` of the command line, from 0 to o->nmore. */
const struct ti_program *ti_acquisition_program(const struct ti_acquisition *a, int i);

/* Draw a new run id. */
ti_status ti_acquisition_new_run_id(struct ti_acquisition *a, struct ti_err *err);

extern const char *const ti_step_names[TI_STEP_COUNT];
/* Note when a step begins and ends, for RUN.json and the log. */
void ti_step_begin(struct ti_acquisition *a, enum ti_acquire_step step);
void ti_step_end(struct ti_acquisition *a, enum ti_acquire_step step);

/* Note that the node `name`, which has ranks, was lost. */
void ti_acquisition_add_lost(struct ti_acquisition *a, const char *name, const struct ti_err *why);

/* The state as an error: nodes were lost; or `sig` was received, which is noted. */
ti_status ti_acquisition_lost_error(const struct ti_acquisition *a, struct ti_err *err);
ti_status ti_acquisition_interrupted(struct ti_acquisition *a, int sig, struct ti_err *err);

/* Forget the outcome of a try, before the next one. */
void ti_acquisition_clear(struct ti_acquisition *a);
void ti_acquisition_free(struct ti_acquisition *a);

#endif
