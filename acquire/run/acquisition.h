/*
 * A job on several nodes, from the sites to the bundle.  It shares struct ti_job
 * with the job on this machine: program, names, run id, outcome.
 *
 *   acquisition.c         the steps, in order
 *   acquisition_plan.c    the nodes as the survey found them, the placement, as a table
 *   acquisition_launch.c  run directories there, mpirun's command
 *   acquisition_dry_launch.c  the dry launch
 *   acquisition_watch.c   while it runs, and how it is ended
 *   acquisition_collect.c what was traced, RUN.json
 */
#ifndef TI_ACQUISITION_H
#define TI_ACQUISITION_H

#include "acquire/fleet/fleet.h"
#include "acquire/fleet/rsh.h"
#include "acquire/fleet/survey.h"
#include "acquire/plan/like.h"
#include "acquire/plan/place.h"
#include "acquire/run/forward.h"
#include "acquire/run/job.h"
#include "acquire/run/runlog.h"

/* X(name, text): the steps, as in the paper's figure 5, in RUN.json and the manifest */
#define TI_STEPS(X)                                                                                \
    X(SHIP, "ship")    /* connecting, and sending our files to nodes that lack them */             \
    X(SURVEY, "probe") /* what the nodes are */                                                    \
    X(PILOT, "pilot")  /* measuring the memory of a rank */                                        \
    X(PLAN, "plan")                                                                                \
    X(DRY_LAUNCH, "dry launch")                                                                    \
    X(START, "start") /* from mpirun until all ranks had left MPI_Init */                          \
    X(APP, "application")                                                                          \
    X(COLLECT, "collect") /* reading the ends of the traces on their nodes */                      \
    X(GATHER, "gather")
#define TI_STEP_ENUM(name, text) TI_STEP_##name,
enum ti_step { TI_STEPS(TI_STEP_ENUM) TI_STEP_COUNT };

/* A node that is used. */
struct ti_used_node {
    int64_t node;     /* in the sites */
    int64_t first, n; /* its ranks */
    int64_t bytes;    /* of their traces, in the end; 0: it did not say */
    char directory[PATH_MAX];
    char tmp[512], shm[512]; /* Open MPI's there: sessions, shared memory */
    char run_file[PATH_MAX]; /* what "ti-node run" there goes by */
    bool open;               /* "open" was answered */
    json_t *status;          /* its latest "status"; NULL */
    double status_at;        /* ti_now() */
    bool swapped;            /* we said so */
    bool short_of_memory;
    bool disk_full;
    bool counted;               /* one of its ranks took part in the dry launch */
    bool daemon;                /* mpirun had its daemon started there */
    int daemon_missing;         /* so often in a row nothing of the run was seen there after that */
    char peer[64];              /* "ADDRESS:PORT" that does not answer mpirun's daemon there; "" */
    double peer_since, peer_at; /* seen so first, and last */
    double warned_status_at;    /* the status_at of which we said that nothing came after it */
};

struct ti_acquisition {
    struct ti_job *job;
    const struct ti_sites *sites;
    struct ti_fleet *fleet;
    struct ti_survey survey;
    struct ti_survey_in ask;
    struct ti_runlog log;
    char log_name[PATH_MAX];
    char cwd[PATH_MAX]; /* ours; the ranks', where the nodes have it */

    /* the plan */
    bool *use;       /* per node: not excluded, not dead */
    bool *failed;    /* per node: in a former try */
    int64_t *memory; /* per node, for the plan; 0: not known */
    int *cores;
    struct ti_place_request in;
    struct ti_rank_placement place;
    int64_t rank_bytes;    /* of a rank, as measured; 0: not */
    struct ti_like like;   /* --like */
    struct ti_order order; /* of ranks, where `ordered` */
    bool ordered;
    const char **names; /* of all nodes, for it */

    struct ti_used_node *used;
    int64_t nused;
    struct ti_rsh *rsh;
    char session[1024]; /* text for rsh */
    struct ti_err lost; /* of the first used node that was lost; "" */
    int64_t nlost;
    char short_of_memory[256]; /* the node that is */
    json_t *tries;             /* former ones, and why each failed; NULL: this is the first */
    int64_t not_ended;         /* nodes whose processes we cannot have ended */

    double step_start[TI_STEP_COUNT]; /* seconds since the epoch; 0: not gone through */
    double step_seconds[TI_STEP_COUNT];
};

/* All of it, to the bundle; the sites stay the caller's. */
ti_status ti_acquisition_run(struct ti_job *j, const struct ti_sites *sites, struct ti_err *err);

/* --- between its files --- */

void ti__step_begin(struct ti_acquisition *c, enum ti_step step);
void ti__step_end(struct ti_acquisition *c, enum ti_step step);

/* Place the ranks on what is to be used; before the survey as the sites say. */
ti_status ti__acquisition_plan(struct ti_acquisition *c, struct ti_err *err);
void ti__acquisition_plan_free(struct ti_acquisition *c);
void ti__acquisition_print(const struct ti_acquisition *c, FILE *out);

/* The node that a rank is for; a node's ranks as [[FIRST, LAST], ...], a new object. */
int64_t ti__acquisition_node_of(const struct ti_acquisition *c, int64_t rank);
json_t *ti__acquisition_ranks(const struct ti_acquisition *c, const struct ti_used_node *u);

/* Which of the used nodes that is; NULL: none. */
struct ti_used_node *ti__acquisition_used(struct ti_acquisition *c, int64_t node);

/* mpirun's command, with or without what counts the ranks. */
ti_status ti__acquisition_command(struct ti_acquisition *c, bool dry_launch, struct ti_args *out,
                                  struct ti_err *err);
/* Have the nodes make their run directories. */
ti_status ti__acquisition_open(struct ti_acquisition *c, struct ti_err *err);
ti_status ti__acquisition_dry_launch(struct ti_acquisition *c, struct ti_err *err);
/* Launch and watch until it is over, one way or another; job->outcome says which. */
ti_status ti__acquisition_launch(struct ti_acquisition *c, struct ti_err *err);

/* mpirun, with our ends of its output. */
struct ti_mpirun_proc {
    struct ti_acquisition *acquisition;
    struct ti_proc proc;
    struct ti_args env;
    int out, err;   /* -1: none, or at its end */
    struct ti_forward forward; /* its standard output, where that is not captured */
    bool mute;      /* our standard error takes no more */
    char *out_text; /* what was captured, ends with 0; free() it; NULL: nothing */
    size_t out_bytes, out_room;
    bool flooded;       /* it was more than makes sense: the rest is dropped */
    size_t out_seen;    /* of it, and the ranks found in that */
    int64_t ranks_seen;
};
ti_status ti__mpirun_start(struct ti_acquisition *c, struct ti_args *command, bool capture,
                           struct ti_mpirun_proc *p, struct ti_err *err);
/* Once it ended: take what it said last. */
void ti__mpirun_close(struct ti_acquisition *c, struct ti_mpirun_proc *p);
/* End mpirun, and what runs on the nodes: job->outcome.left, c->not_ended. */
void ti__acquisition_end(struct ti_acquisition *c, struct ti_mpirun_proc *p);

/* What became of it, as an error: interrupted (job->signal); nodes were lost. */
ti_status ti__acquisition_interrupted(struct ti_acquisition *c, struct ti_err *err);
ti_status ti__acquisition_lost(struct ti_acquisition *c, struct ti_err *err);

/* A string of an object's; "" if it is not there. */
const char *ti__text(const json_t *object, const char *key);

/* job->ranks, from all nodes. */
ti_status ti__acquisition_collect(struct ti_acquisition *c, struct ti_err *err);
ti_status ti__acquisition_note_start(struct ti_acquisition *c, struct ti_err *err);
void ti__acquisition_note_end(struct ti_acquisition *c);
/* Say what became of it, and make the bundle; `st` is what the run ended with. */
ti_status ti__acquisition_conclude(struct ti_acquisition *c, ti_status st, struct ti_err *err);
/* Have the nodes remove the traces. */
void ti__acquisition_remove(struct ti_acquisition *c);

#endif
