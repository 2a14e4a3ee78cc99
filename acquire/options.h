/* The command line of ti-acquire; ti-skew shares most of it.  All strings are borrowed from argv.
 */
#ifndef TI_ACQUIRE_OPTIONS_H
#define TI_ACQUIRE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bundle/merge_options.h"
#include "common/args.h"
#include "common/cli.h"

/* A further program of a command line that has several: "--np 2 ./a : --np 4 ./b". */
struct ti_more_program {
    int64_t np;
    struct ti_args words; /* program and its arguments */
};

struct ti_options {
    const struct ti_cli *cli; /* the tool */
    int64_t np;               /* of all programs */
    const char *counter;
    enum ti_threads { TI_THREADS_AUTO, TI_THREADS_CALLER, TI_THREADS_SUM } threads;
    int64_t ranks_per_node; /* --target-ranks-per-node; 0: not given */
    bool times;            /* record durations */
    const char *also;      /* PAPI events, separated by commas; NULL: none */
    int64_t buffer_bytes;  /* --buffer; 0: the library's default */
    const char *isa;       /* --isa; NULL: none given */
    bool isa_native;       /* --isa native: glibc selects by itself even if nodes differ */
    const char *trace_dir; /* NULL: NAME.NP.run */
    const char *output;    /* NULL: NAME.NP.tib */
    int64_t rank_bytes;    /* --mem-per-rank; 0: measure */
    int64_t reserve_bytes;
    bool reserve_given;
    const char *container; /* --container; NULL: none */
    const char *pin;   /* NULL: all cores */
    int64_t timeout_s; /* 0: none */
    bool no_pilot;     /* --pilot no: do not measure memory */

    /* several nodes */
    const char *sites_path;     /* --sites; NULL */
    const char *hostfile;       /* --hostfile; NULL */
    bool local;                 /* --local: this machine, even within a job */
    const char *policy;         /* --policy; NULL: memory */
    int64_t fold, max_fold;     /* --fold, --max-fold; 0: not given */
    const char *mode;           /* --mode R, F-4, C-2, CF-(2,4); NULL */
    const char *family;         /* --family; NULL */
    const char *exclude;        /* --exclude HOSTLIST; NULL */
    int64_t tolerate;           /* --tolerate N: so many unusable nodes may be left out */
    const char *transport;      /* --transport auto, libssh2, openssh; NULL: auto */
    bool check_sites;           /* --check-sites */
    bool list;                  /* --list: name what runs left */
    const char *clean;          /* --clean RUN: remove what it left; NULL */
    bool probe;                 /* --probe: survey the nodes, print them, run nothing */
    const char *pilot;          /* --pilot 4,8,16; NULL */
    const char *like;           /* --like BUNDLE; NULL */
    const char *write_hostfile; /* --write-hostfile FILE; NULL */
    bool no_dry_launch, keep_going;
    int64_t retries;   /* --retry N */
    const char *log;   /* --log FILE; NULL: RUN/run.log */
    int64_t silence_s; /* --silence: of a node, before it is abandoned */
    struct ti_merge_options merge; /* of the bundle */
    bool dry_run, json, no_gather, keep, force, quiet, verbose;
    enum ti_progress_form progress;
    bool record_environment;  /* record values of `env`, not only names */
    struct ti_args redact;    /* patterns of arguments that are not recorded */
    struct ti_args env;       /* -x: VAR or VAR=VALUE */
    struct ti_args mpirun;    /* arguments for mpirun */
    struct ti_args program; /* the first program and its arguments */
    struct ti_more_program *more;
    int nmore;
    size_t more_cap;
};

extern const struct ti_cli ti_acquire_cli;

/* Parse the command line.  Returns TI_CLI_END, or the exit status as ti_cli_parse() does. */
int ti_options_parse(int argc, char **argv, struct ti_options *o);

/* Ranks of the first program. */
int64_t ti_options_first_np(const struct ti_options *o);

/* The programs as words: "./a X", or "--np 2 ./a X : --np 4 ./b".  Adds to `out`. */
void ti_options_command(const struct ti_options *o, struct ti_args *out);

/* For other tools: take the operands PROGRAM ARGUMENT... [-- MPIRUN-ARGUMENT...].
 * Returns TI_CLI_END, or the exit status. */
int ti_options_operands(struct ti_options *o, int argc, char **argv);

void ti_options_free(struct ti_options *o);

#endif
