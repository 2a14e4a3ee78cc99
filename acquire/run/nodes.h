/*
 * An acquisition on several nodes, from the sites to the bundle.  struct ti_acquisition, which it
 * shares with a run on this machine, has program, names, run id and outcome.
 *
 *   acquisition.c            the steps, in order
 *   acquisition_plan.c       the placement on the nodes that the survey found; its table
 *   acquisition_launch.c     run directories on the nodes, mpirun's command
 *   acquisition_dry_launch.c the dry launch
 *   acquisition_watch.c      watching the run, and ending it
 *   acquisition_collect.c    what was traced, RUN.json
 */
#ifndef TI_ACQUISITION_H
#define TI_ACQUISITION_H

#include "acquire/fleet/fleet.h"
#include "acquire/fleet/rsh.h"
#include "acquire/fleet/survey.h"
#include "acquire/plan/like.h"
#include "acquire/plan/place.h"
#include "acquire/run/acquisition.h"
#include "acquire/run/forward.h"
#include "acquire/run/runlog.h"

/* X(name, text): the steps, as in the paper's figure 5, in RUN.json and the manifest */
#define TI_STEPS(X)                                                                                \
    X(SHIP, "ship")    /* connecting, and sending our files */                                     \
    X(SURVEY, "probe") /* the survey */                                                            \
    X(PILOT, "pilot")  /* measuring the memory of a rank */                                        \
    X(PLAN, "plan")                                                                                \
    X(DRY_LAUNCH, "dry launch")                                                                    \
    X(START, "start") /* from mpirun until all ranks had left MPI_Init */                          \
    X(APP, "application")                                                                          \
    X(COLLECT, "collect") /* reading the ends of the traces on their nodes */                      \
    X(GATHER, "gather")
#define TI_STEP_ENUM(name, text) TI_STEP_##name,
enum ti_step { TI_STEPS(TI_STEP_ENUM) TI_STEP_COUNT };

/* A node that has ranks. */
struct ti_used_node {
    int64_t node;     /* index in the sites */
    int64_t first, n; /* first rank, number of ranks */
    int64_t bytes;    /* of its traces, once collected; 0: unknown */
    char directory[PATH_MAX];
    char tmp[512], shm[512]; /* for Open MPI: session directory, shared memory */
    char run_file[PATH_MAX]; /* what "ti-node run" reads there */
    bool open;               /* its run directory exists */
    json_t *status;          /* its latest "status"; NULL: none yet */
    double status_at;        /* ti_now() of that */
    bool swapped;            /* a warning was given */
    bool short_of_memory;
    bool disk_full;
    bool counted;       /* one of its ranks was seen in the dry launch */
    bool daemon;        /* mpirun started its daemon there */
    int daemon_missing; /* successive checks in which the node had no process of the run, although
                           its daemon was started */
    char peer[64];      /* "ADDRESS:PORT" that does not answer mpirun's daemon there; "": none */
    double peer_since, peer_at; /* ti_now() of the first and the latest report of it */
    double warned_status_at;    /* the status_at for which silence was warned of */
};

struct ti_nodes_backend {
    struct ti_acquisition *a;
    const struct ti_sites *sites;
    struct ti_fleet *fleet;
    struct ti_survey survey;
    struct ti_survey_in ask;
    struct ti_runlog log;
    char log_name[PATH_MAX];
    char cwd[PATH_MAX]; /* ours; also of the ranks, on nodes that have it; "": not in UTF-8 */

    /* the plan */
    bool *use;       /* per node: may have ranks */
    bool *failed;    /* per node: lost in a former try */
    int64_t *memory; /* per node, for the plan; 0: unknown */
    int *cores;
    struct ti_place_request in;
    struct ti_rank_placement place;
    int64_t rank_bytes;    /* measured, of a rank; 0: not measured */
    struct ti_like like;   /* --like */
    struct ti_order order; /* of ranks, if `ordered` */
    bool ordered;
    const char **names; /* of all nodes, for the order's hostfile */

    struct ti_used_node *used;
    int64_t nused;
    struct ti_rsh *rsh;
    char session[1024]; /* buffer of session() */
    struct ti_err lost; /* of the first used node that was lost; "": none */
    int64_t nlost;
    char short_of_memory[256]; /* the node that ran short; "": none */
    json_t *tries;             /* former tries and their errors; NULL: this is the first */
    int64_t not_ended;         /* nodes on which processes could not be ended */

    double step_start[TI_STEP_COUNT]; /* seconds since the epoch; 0: skipped */
    double step_seconds[TI_STEP_COUNT];
};

/* Run the whole acquisition.  `sites` is borrowed. */
ti_status ti_nodes_run(struct ti_acquisition *a, const struct ti_sites *sites, struct ti_err *err);

/* --- between its files --- */

void ti__step_begin(struct ti_nodes_backend *b, enum ti_step step);
void ti__step_end(struct ti_nodes_backend *b, enum ti_step step);

/* Place the ranks on the nodes that may be used; before the survey, by the sites alone. */
ti_status ti__nodes_plan(struct ti_nodes_backend *b, struct ti_err *err);
void ti__nodes_plan_free(struct ti_nodes_backend *b);
void ti__nodes_print(const struct ti_nodes_backend *b, FILE *out);

/* The node of a rank; and the ranks of a node as [[FIRST, LAST], ...], a new object. */
int64_t ti__nodes_node_of(const struct ti_nodes_backend *b, int64_t rank);
json_t *ti__nodes_ranks(const struct ti_nodes_backend *b, const struct ti_used_node *u);

/* The entry of a node in b->used; NULL: it has no ranks. */
struct ti_used_node *ti__nodes_used(struct ti_nodes_backend *b, int64_t node);

/* mpirun's command, for the dry launch or for the run. */
ti_status ti__nodes_command(struct ti_nodes_backend *b, bool dry_launch, struct ti_args *out,
                            struct ti_err *err);
/* Let the nodes make their run directories. */
ti_status ti__nodes_open(struct ti_nodes_backend *b, struct ti_err *err);
ti_status ti__nodes_dry_launch(struct ti_nodes_backend *b, struct ti_err *err);
/* Launch the program and watch it until it ends or is ended; job->outcome says which. */
ti_status ti__nodes_launch(struct ti_nodes_backend *b, struct ti_err *err);

/* The process of mpirun, with our ends of its output. */
struct ti_mpirun_proc {
    struct ti_nodes_backend *backend;
    struct ti_proc proc;
    struct ti_args env;
    int out, err;              /* read ends; -1: none, or closed */
    struct ti_forward forward; /* standard output, if it is not captured */
    bool mute;                 /* mpirun's messages go to the log only */
    char *out_text;            /* captured output, ends with 0; free(); NULL: none */
    size_t out_bytes, out_room;
    bool flooded;    /* the limit was exceeded: the rest is dropped */
    size_t out_seen; /* bytes of it that were searched; ranks found in them */
    int64_t ranks_seen;
};
ti_status ti__mpirun_start(struct ti_nodes_backend *b, struct ti_args *command, bool capture,
                           struct ti_mpirun_proc *p, struct ti_err *err);
/* After it has ended: read the rest of its output. */
void ti__mpirun_close(struct ti_nodes_backend *b, struct ti_mpirun_proc *p);
/* End mpirun and the processes on the nodes.  Sets job->outcome.left and b->not_ended. */
void ti__nodes_end(struct ti_nodes_backend *b, struct ti_mpirun_proc *p);

/* The outcome as an error: interrupted (sets job->signal); nodes were lost. */
ti_status ti__nodes_interrupted(struct ti_nodes_backend *b, struct ti_err *err);
ti_status ti__nodes_lost(struct ti_nodes_backend *b, struct ti_err *err);

/* A string member of an object; "" if there is none. */
const char *ti__text(const json_t *object, const char *key);

/* Fill job->ranks from all nodes. */
ti_status ti__nodes_collect(struct ti_nodes_backend *b, struct ti_err *err);
ti_status ti__nodes_note_start(struct ti_nodes_backend *b, struct ti_err *err);
void ti__nodes_note_end(struct ti_nodes_backend *b);
/* Report the outcome and make the bundle; `st` is the status of the run. */
ti_status ti__nodes_conclude(struct ti_nodes_backend *b, ti_status st, struct ti_err *err);
/* Let the nodes remove the traces. */
void ti__nodes_remove(struct ti_nodes_backend *b);

#endif
