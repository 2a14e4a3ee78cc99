/*
 * For the files of the back end for nodes:
 *
 *   nodes.c             the back end as a whole
 *   nodes_survey.c      connecting to the nodes, and the survey
 *   nodes_plan.c        the placement, by the sites alone or by the survey
 *   nodes_launch.c      run directories on the nodes, mpirun's command and its process
 *   nodes_dry_launch.c  the dry launch
 *   nodes_watch.c       watching the run, and ending it
 *   nodes_collect.c     what was traced; the nodes in RUN.json; the bundle
 */
#ifndef TI_ACQUIRE_RUN_NODES_H
#define TI_ACQUIRE_RUN_NODES_H

#include "acquire/fleet/fleet.h"
#include "acquire/fleet/rsh.h"
#include "acquire/fleet/survey.h"
#include "acquire/plan/like.h"
#include "acquire/plan/rank_map.h"
#include "acquire/run/acquisition.h"

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

/* A node that has ranks. */
struct ti_used_node {
    int64_t node;  /* index in the sites */
    int64_t n;     /* ranks */
    int64_t bytes; /* of its traces, once collected; 0: unknown */
    char directory[PATH_MAX];
    char tmp[512], shm[512];  /* for Open MPI: session directory, shared memory */
    char node_file[PATH_MAX]; /* what "ti-node run" reads there */
    bool open;                /* its run directory exists */
    json_t *status;           /* its latest "status"; NULL: none yet */
    double status_at;         /* ti_now() of that */
    bool swapped;             /* a warning was given */
    bool short_of_memory;
    bool disk_full;
    bool said;          /* a message said that something of this try may stay there */
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
    struct ti_fleet *fleet; /* NULL: not connected */
    struct ti_survey survey;
    struct ti_survey_in ask;
    char cwd[PATH_MAX]; /* ours; also of the ranks, on nodes that have it; "": not in UTF-8 */

    /* the plan */
    bool *use;       /* per node: may have ranks */
    bool *failed;    /* per node: lost in a former try */
    int64_t *memory; /* per node, for the plan; 0: unknown */
    int *cores;
    struct ti_place_request in;
    struct ti_rank_placement place;
    int64_t rank_bytes;     /* measured, of a rank; 0: not measured */
    struct ti_like like;    /* --like */
    struct ti_order order;  /* of ranks, by --like; np == 0: none */
    struct ti_rank_map map; /* by both */

    struct ti_used_node *used; /* in the order of the sites */
    int64_t nused;
    struct ti_rsh *rsh;
    struct ti_mpirun_proc mpirun;
    char session[1024]; /* buffer of session() */
    bool hurried;       /* a signal cut the collection short */
    double checked_at;  /* ti_now() of the latest check of the nodes */
};

/* Connect to the nodes in b->use and survey them: b->use, memory and cores are then by their
 * facts. */
ti_status ti__nodes_survey(struct ti_nodes_backend *b, struct ti_err *err);

/* Place the ranks on the nodes that may be used: before the survey by the sites alone. */
ti_status ti__nodes_place(struct ti_nodes_backend *b, struct ti_err *err);
/* Choose the common ISA: volumes must not depend on the node of a rank. */
ti_status ti__nodes_choose_isa(struct ti_nodes_backend *b, struct ti_err *err);
void ti__nodes_plan_free(struct ti_nodes_backend *b);

/* The entry of a node in b->used; NULL: it has no ranks. */
struct ti_used_node *ti__nodes_used(struct ti_nodes_backend *b, int64_t node);

/* Name the nodes that were lost and may keep folders of this run, with the --clean command that
 * removes them.  For runs that leave no run directory here, which --clean would take instead. */
void ti__nodes_say_kept(const struct ti_nodes_backend *b);

/* Let the nodes make their run directories. */
ti_status ti__nodes_open(struct ti_nodes_backend *b, struct ti_err *err);
/* mpirun's command, for the dry launch or for the run. */
ti_status ti__nodes_command(struct ti_nodes_backend *b, bool dry_launch, struct ti_args *out,
                            struct ti_err *err);
ti_status ti__mpirun_start(struct ti_nodes_backend *b, struct ti_args *command, bool capture,
                           struct ti_mpirun_proc *p, struct ti_err *err);
/* After it has ended, or was not started: read the rest of its output. */
void ti__mpirun_close(struct ti_nodes_backend *b, struct ti_mpirun_proc *p);
ti_status ti__nodes_dry_launch(struct ti_nodes_backend *b, struct ti_err *err);

/* Let the nodes report the progress of the run. */
ti_status ti__nodes_watch(struct ti_nodes_backend *b, struct ti_err *err);
/* End mpirun and the processes on the nodes.  Sets left and not_told of the outcome. */
void ti__nodes_end(struct ti_nodes_backend *b, struct ti_mpirun_proc *p);
/* A signal was received, or a node with ranks was lost, as an error; else TI_OK. */
ti_status ti__nodes_trouble(struct ti_nodes_backend *b, struct ti_err *err);

/* Functions of the back end that are in other files than nodes.c. */
void ti__nodes_print_ranks(const struct ti_acquisition *a, FILE *out);
void ti__nodes_print_traces(const struct ti_acquisition *a, FILE *out);
void ti__nodes_describe(const struct ti_acquisition *a, json_t *json);
int ti__nodes_wait(struct ti_acquisition *a, int ms);
void ti__nodes_update(struct ti_acquisition *a, struct ti_run_progress *progress);
void ti__nodes_sweep(struct ti_acquisition *a);
void ti__nodes_stop(struct ti_acquisition *a);
ti_status ti__nodes_collect(struct ti_acquisition *a, struct ti_err *err);
ti_status ti__nodes_gather(struct ti_acquisition *a, bool remove, struct ti_err *err);
void ti__nodes_say_missing(const struct ti_acquisition *a);
void ti__nodes_say_where(struct ti_acquisition *a, ti_status app);
void ti__nodes_remove(struct ti_acquisition *a);

#endif
