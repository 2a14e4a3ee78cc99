/* The command line of ti-acquire, most of which ti-skew has as well. */
#ifndef TI_OPTIONS_H
#define TI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "acquire/args.h"
#include "common/cli.h"

/* Ids of what has no letter. */
enum {
    OPT_TRACE_DIR = TI_OPT_LONG,
    OPT_MEM,
    OPT_RESERVE,
    OPT_PIN,
    OPT_DRY_RUN,
    OPT_JSON,
    OPT_MCA,
    OPT_NO_GATHER,
    OPT_KEEP,
    OPT_FORCE,
    OPT_TIMEOUT,
    OPT_NO_PROGRESS,
    OPT_THREADS,
    OPT_TIMES,
    OPT_ALSO,
    OPT_ISA,
    OPT_BUFFER,
    OPT_OTHERS, /* a tool's own begin here */
};

struct ti_options {
    const struct ti_cli *cli; /* whose they are */
    int64_t np;
    const char *counter;
    bool sum;              /* --threads sum */
    bool times;            /* record durations */
    const char *also;      /* PAPI events, separated by commas; NULL: none */
    int64_t buffer_bytes;  /* --buffer; 0: the library's own */
    const char *isa;       /* --isa; NULL: glibc chooses by itself */
    const char *trace_dir; /* NULL: NAME.NP.run */
    const char *output;    /* NULL: NAME.NP.tib */
    int64_t rank_bytes;    /* --mem-per-rank; 0: to be measured */
    int64_t reserve_bytes;
    const char *pin;   /* NULL: all cores */
    int64_t timeout_s; /* 0: none */
    bool no_probe;     /* the memory of a rank is not measured */
    bool dry_run, json, no_gather, keep, force, quiet, verbose, no_progress;
    struct ti_args env;     /* -x, VAR or VAR=VALUE */
    struct ti_args mpirun;  /* arguments of mpirun's */
    struct ti_args program; /* program and its arguments */
};

extern const struct ti_cli ti_acquire_cli;

/* Returns a status to end with, or -1 to go on. */
int ti_options_parse(int argc, char **argv, struct ti_options *o);

/* The parts of it: one option; and PROGRAM ARGUMENT... [-- MPIRUN-ARGUMENT...]. */
int ti_options_take(struct ti_options *o, int argc, char **argv, int id, const char *arg);
int ti_options_operands(struct ti_options *o, int argc, char **argv);

void ti_options_free(struct ti_options *o);

#endif
