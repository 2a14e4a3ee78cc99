/*
 * ti-skew: how much tracing changes what a program executes, and how long it takes.
 *
 * For each np the program is run by turns
 *
 *   native   without a counter, to see how long it takes; where the counter itself
 *            slows the program down: under valgrind, or compiled to count blocks
 *   bare     counted as a whole, from the end of MPI_Init to the entry of
 *            MPI_Finalize, and not traced (TIARA_MODE=whole)
 *   traced
 *
 * and the traces' totals are compared; then with several folding factors, or with
 * another counter, and their bursts are compared one by one.
 */
#ifndef TI_SKEW_H
#define TI_SKEW_H

#include "acquire/run/job.h"
#include "acquire/skew/spread.h"

#define TI_SKEW_LIST_MAX 32 /* numbers of ranks, and folding factors */
#define TI_SKEW_RUNS_MAX 1000

struct ti_skew_options {
    struct ti_options run; /* np: the largest of the list */
    int64_t np[TI_SKEW_LIST_MAX], fold[TI_SKEW_LIST_MAX];
    int nnp, nfold;
    int64_t runs;
    const char *against, *plain, *plot; /* NULL: not wanted */
};

extern const struct ti_cli ti_skew_cli;

/* As ti_options_parse(). */
int ti_skew_options_parse(int argc, char **argv, struct ti_skew_options *o);

/* ------------------------------------------------------------------ runs -- */

enum ti_skew_kind { TI_SKEW_NATIVE, TI_SKEW_BARE, TI_SKEW_TRACED, TI_SKEW_KINDS };
extern const char *const ti_skew_kind_text[TI_SKEW_KINDS];

/* What a run's traces say, over all ranks. */
struct ti_sample {
    double seconds; /* from MPI_Init to MPI_Finalize, in the rank that took longest */
    uint64_t events, volume, whole, outside;
    uint64_t blocks, blocks_own; /* of a program compiled with ti-mpicc --tiara-audit */
    bool whole_known, outside_known, blocks_known;
    double worst; /* |volume - outside| / outside in the rank where it is most */
    int64_t bytes;
    uint64_t negative;
};

/* One run. */
struct ti_skew_run {
    enum ti_skew_kind kind;
    const struct ti_counter_choice *counter;
    int64_t np;
    int cores;     /* 0: all there are */
    char name[64]; /* of its directory, below the others' */
    char label[96];
};

struct ti_skew;

/* Do it.  Its traces stay in `path` (PATH_MAX bytes) until ti_skew_done(). */
ti_status ti_skew_do(struct ti_skew *s, const struct ti_skew_run *run, struct ti_sample *out,
                     char *path, struct ti_err *err);

/* Remove the traces, unless they are to be kept. */
void ti_skew_done(const struct ti_skew *s, const char *path);

/* --------------------------------------------------------------- compare -- */

#define TI_SKEW_CLASSES 7 /* of bursts, by their length: from 10, 100, ... 10^7 on */

/* Bursts of two runs, one by one: how the second's volumes deviate from the first's,
 * relative to these. */
struct ti_skew_bursts {
    uint64_t n, shorter; /* compared; shorter than 10 and left out */
    uint64_t volume[2];
    struct ti_deviations length[TI_SKEW_CLASSES];
    int64_t ranks, differ; /* compared; left out, for their calls are not the same */
    int64_t first_rank;    /* of those, and where */
    uint64_t first_event;
};

/* Add the bursts of the runs in directories `first` and `second`. */
ti_status ti_skew_compare(const char *first, const char *second, int64_t np,
                          struct ti_skew_bursts *sum, struct ti_err *err);

/* --------------------------------------------------------------- results -- */

struct ti_skew_fold {
    int64_t factor;
    int cores;
    struct ti_sample *sample;
    struct ti_spread slowdown; /* of the elapsed time, against the first */
    struct ti_skew_bursts *bursts;
};

struct ti_skew_np {
    int64_t np;
    int64_t folding; /* on all cores */
    struct ti_sample *sample[TI_SKEW_KINDS];
    struct ti_skew_fold fold[TI_SKEW_LIST_MAX];
    int nfold;
    struct ti_skew_bursts *against;
    struct ti_sample other; /* of the run with the other counter */
};

struct ti_skew {
    const struct ti_skew_options *o;
    struct ti_job facts; /* what holds for all runs */
    struct ti_counter_choice native, other;
    struct ti_program plain; /* --plain: for runs that count no blocks */
    struct ti_args plain_command;
    struct ti_rundir top;
    int runs, done; /* how many there are */
    struct ti_skew_np *np;
    int nnp; /* with results */
};

/* What follows from the samples of one np. */
struct ti_skew_figures {
    struct ti_spread seconds[TI_SKEW_KINDS], overhead, tracer; /* %: of native, of bare */
    struct ti_spread whole;                                    /* (a), % of bare */
    struct ti_spread own, bare; /* (b), % of what the run itself, or the bare run,
                                 * executed outside MPI */
    double worst;               /* (b) of the run itself, in the worst rank, % */
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

/* Draw it with gnuplot.  ti_skew_plot_check(): whether that can be. */
ti_status ti_skew_plot_check(const char *path, struct ti_err *err);
ti_status ti_skew_plot(const struct ti_skew *s, const char *path, struct ti_err *err);

#endif
