/*
 * Open MPI's mpirun: which it is, and the command line it needs.
 */
#ifndef TI_MPIRUN_H
#define TI_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "acquire/plan/plan.h"
#include "common/args.h"
#include "common/err.h"

struct ti_mpirun {
    int major, minor, patch;
    char version[32]; /* "4.1.4" */
};

/* Find it on PATH and ask for its version.  TI_ERR_INPUT if it is not there, not
 * Open MPI's, or older than 4.1. */
ti_status ti_mpirun_find(struct ti_mpirun *m, struct ti_err *err);

/* What mpirun is told of several nodes. */
struct ti_mpirun_nodes {
    const char *hostfile; /* with slots; or, if `listed`, a line a rank */
    bool listed;
    bool fqdn;           /* some names in it have a domain; else that of this machine is cut off */
    const char *agent;   /* ti-rsh */
    const char *network; /* interfaces or CIDRs, separated by commas; NULL: its choice */
};

/* What mpirun is told, apart from what the plan says. */
struct ti_mpirun_job {
    int64_t np;
    const char *tmp;                     /* for its session directories; NULL: as it likes */
    const char *shm;                     /* for its shared memory; NULL: as it likes */
    const struct ti_args *env;           /* VAR=VALUE for the ranks */
    const struct ti_args *user;          /* mpirun's arguments of the user's */
    const struct ti_args *wrapper;       /* what runs the program: chrt, valgrind; may be empty */
    const struct ti_args *program;       /* program and arguments */
    const struct ti_mpirun_nodes *nodes; /* NULL: all ranks are here */
};

/*
 * The command.  A setting of ours yields to one of the user's, be it in
 * `user` or in the environment (OMPI_MCA_...).
 */
void ti_mpirun_command(const struct ti_mpirun *m, const struct ti_plan *plan,
                       const struct ti_mpirun_job *job, struct ti_args *out);

/* TI_ERR_USAGE for arguments that cannot be passed on: those that choose the
 * number of ranks, or other machines. */
ti_status ti_mpirun_check_user(const struct ti_args *user, struct ti_err *err);

/* 4, 1, 4 from what "mpirun --version" printed; false if it is not Open MPI's. */
bool ti_mpirun_parse_version(const char *text, struct ti_mpirun *m);

#endif
