/*
 * ti-skew: how much tracing changes what a program executes, and how long it takes.
 *
 * For each np the program is run in turns:
 *
 *   native   without a counter, to measure its time; only if the counter itself slows the program
 *            down: under valgrind, or compiled to count blocks
 *   bare     counted as a whole, from the end of MPI_Init to the entry of MPI_Finalize, and not
 *            traced (TIARA_MODE=whole)
 *   traced   as by ti-acquire
 *
 * The totals of the traces are compared.  Further runs, with several folding factors or another
 * counter, are compared burst by burst.
 */
#ifndef TI_ACQUIRE_SKEW_SKEW_H
#define TI_ACQUIRE_SKEW_SKEW_H

#include "acquire/run/acquisition.h"
#include "acquire/skew/figures.h"

#define TI_SKEW_LIST_MAX 32 /* numbers of ranks; folding factors */
#define TI_SKEW_RUNS_MAX 1000

struct ti_skew_options {
    struct ti_options run; /* first: ti-skew takes its options; run.np: the largest of the list */
    int64_t np[TI_SKEW_LIST_MAX], fold[TI_SKEW_LIST_MAX];
    int nnp, nfold;
    int64_t runs;
    const char *against, *plain, *plot; /* NULL: not given */
};

extern const struct ti_cli ti_skew_cli;

/* Parse the command line.  Returns TI_CLI_END, or the exit status. */
int ti_skew_options_parse(int argc, char **argv, struct ti_skew_options *o);

/* ------------------------------------------------------------------ runs -- */

enum ti_skew_kind { TI_SKEW_NATIVE, TI_SKEW_BARE, TI_SKEW_TRACED, TI_SKEW_KINDS };
extern const char *const ti_skew_kind_text[TI_SKEW_KINDS];

/* The totals of a run's traces, over all ranks. */
struct ti_sample {
    double seconds; /* from MPI_Init to MPI_Finalize, in the slowest rank */
    uint64_t events, volume, whole, outside;
    uint64_t blocks, blocks_own; /* of a program compiled with ti-mpicc --tiara-audit */
    bool whole_known, outside_known, blocks_known;
    double worst; /* the largest |volume - outside| / outside of any rank */
    int64_t bytes;
    uint64_t negative;
};

/* One run. */
struct ti_skew_run {
    enum ti_skew_kind kind;
    const struct ti_counter_choice *counter;
    int64_t np;
    int cores;     /* 0: all */
    char name[64]; /* of its directory, within s->top */
    char what[64]; /* "np 4, traced" */
    char label[96];
};

struct ti_skew;

/* Run it.  The traces stay in `path` (PATH_MAX bytes) until ti_skew_done(). */
ti_status ti_skew_do(struct ti_skew *s, const struct ti_skew_run *run, struct ti_sample *out,
                     char *path, struct ti_err *err);

/* Remove the traces, unless --keep was given. */
void ti_skew_done(const struct ti_skew *s, const char *path);

/* --------------------------------------------------------------- compare -- */

#define TI_SKEW_CLASSES 7 /* of bursts, by length: from 10, 100, ... 10^7 instructions on */

/* Bursts of two runs compared one by one: deviations of the second run's volumes, relative to the
 * first run's. */
struct ti_skew_bursts {
    uint64_t n, shorter; /* compared; shorter than 10, not compared */
    uint64_t volume[2];
    struct ti_deviations length[TI_SKEW_CLASSES];
    int64_t ranks, differ; /* compared; not compared, because their calls differ */
    int64_t first_rank;    /* the first of these, and the event where it differs */
    uint64_t first_event;
};

/* Compare the runs in directories `first` and `second` and add the result to `sum`. */
ti_status ti_skew_compare(const char *first, const char *second, int64_t np,
                          struct ti_skew_bursts *sum, struct ti_err *err);

/* --------------------------------------------------------------- results -- */

struct ti_skew_fold {
    int64_t factor;
    int cores;
    struct ti_sample *sample;
    struct ti_spread slowdown; /* elapsed time relative to the first fold's */
    struct ti_skew_bursts *bursts;
};

struct ti_skew_np {
    int64_t np;
    int64_t folding; /* ranks on the fullest core, on all cores */
    struct ti_sample *sample[TI_SKEW_KINDS];
    struct ti_skew_fold fold[TI_SKEW_LIST_MAX];
    int nfold;
    struct ti_skew_bursts *against;
    struct ti_sample other; /* the run with the other counter */
};

struct ti_skew {
    const struct ti_skew_options *o;
    struct ti_acquisition facts; /* common to all runs */
    struct ti_counter_choice native, other;
    struct ti_program plain; /* --plain: the program for runs that count no blocks */
    struct ti_args plain_command;
    struct ti_rundir top;
    int runs, done; /* planned; finished */
    struct ti_skew_np *np;
    int nnp; /* numbers of ranks with results */
};

/* The figures of one np, computed from its samples. */
struct ti_skew_figures {
    struct ti_spread seconds[TI_SKEW_KINDS], overhead,
        tracer;             /* in %: of the native run, of the bare run */
    struct ti_spread whole; /* (a), in % of the bare run */
    struct ti_spread own,
        bare;     /* (b), in % of what the same run, or the bare run, executed outside MPI */
    double worst; /* (b) against the same run, in the worst rank, in % */
    struct ti_spread call;      /* (c), per event */
    struct ti_spread event_ns, event_count;
    struct ti_spread bytes, events;
    double whole_bare;
    bool events_differ;
};
void ti_skew_figures(const struct ti_skew *s, const struct ti_skew_np *np,
                     struct ti_skew_figures *f);

void ti_skew_print(const struct ti_skew *s);
json_t *ti_skew_json(const struct ti_skew *s);

/* Draw the figures with gnuplot; ti_skew_plot_check() tells whether that is possible. */
ti_status ti_skew_plot_check(const char *path, struct ti_err *err);
ti_status ti_skew_plot(const struct ti_skew *s, const char *path, struct ti_err *err);

#endif
