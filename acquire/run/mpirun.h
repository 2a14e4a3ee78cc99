/*
 * mpirun: Open MPI's, or MPICH's, which is Hydra's mpiexec; its version and the command line it
 * needs.
 */
#ifndef TI_ACQUIRE_RUN_MPIRUN_H
#define TI_ACQUIRE_RUN_MPIRUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "acquire/plan/plan.h"
#include "common/args.h"
#include "common/err.h"

struct ti_mpirun {
    int major, minor, patch;
    char version[32];    /* "4.1.4" */
    bool hydra;          /* MPICH's */
    char name[32];       /* of the command: "mpirun", "mpiexec.hydra" */
    char path[PATH_MAX]; /* of Hydra's */
};

/* Find Open MPI's mpirun on PATH, or with `mpich` MPICH's, and read its version.  TI_ERR_INPUT: not
 * found, another one, or Open MPI's older than 4.1. */
ti_status ti_mpirun_find(bool mpich, struct ti_mpirun *m, struct ti_err *err);

/* Whether it is the mpirun of Open MPI 5 or newer, whose launcher is PRRTE. */
bool ti_mpirun_is_prrte(const struct ti_mpirun *m);

/* Settings for several nodes. */
struct ti_mpirun_nodes {
    const char *hostfile; /* with slots; if `listed`: one line per rank; or of Hydra */
    bool listed;
    const char *rankfile; /* PRRTE's, for several programs in another order; NULL */
    bool fqdn;            /* keep domains: some names in the hostfile have one */
    const char *agent;    /* path of ti-rsh */
    const char *network;  /* interfaces or CIDRs, separated by commas; NULL: any */
    const char *address;  /* for Hydra: of this machine, as nodes reach it; NULL: its host name */
};

/* A further program, whose ranks follow those of the programs before it. */
struct ti_mpirun_program {
    int64_t np;
    const struct ti_args *words; /* program and arguments */
    const char *hostfile;        /* NULL: nodes->hostfile, if there are nodes; not with PRRTE */
};

/* Settings in addition to the plan.  All pointers are borrowed. */
struct ti_mpirun_job {
    int64_t np;                 /* of the first program */
    const char *tmp;            /* for session directories; NULL: default */
    const char *shm;            /* for shared memory; NULL: default */
    const struct ti_args *env;  /* VAR=VALUE for the ranks */
    const struct ti_args *user; /* the user's arguments of mpirun */
    const struct ti_args
        *wrapper; /* command in front of the program: chrt, valgrind; may be empty */
    const struct ti_args *program; /* program and arguments */
    const struct ti_mpirun_program *more;
    int nmore;
    const struct ti_mpirun_nodes *nodes; /* NULL: all ranks are here */
};

/*
 * Build the command.  The user's settings, in `user` or in the environment (OMPI_MCA_...),
 * override ours.  TI_ERR_IO when out of memory, also earlier, for what `job` has.
 */
ti_status ti_mpirun_command(const struct ti_mpirun *m, const struct ti_plan *plan,
                            const struct ti_mpirun_job *job, struct ti_args *out,
                            struct ti_err *err);

/* TI_ERR_USAGE for arguments that conflict with ours: those that set the number of ranks or
 * choose machines. */
ti_status ti_mpirun_check_user(const struct ti_args *user, struct ti_err *err);

/* Parse the output of "mpirun --version", or "mpiexec --version"; false if it is not Open MPI's, or
 * not Hydra's. */
bool ti_mpirun_parse_version(const char *text, struct ti_mpirun *m);
bool ti_mpirun_parse_hydra(const char *text, struct ti_mpirun *m);

#endif
