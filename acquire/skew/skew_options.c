#include <stdlib.h>
#include <string.h>

#include "acquire/run/mpirun.h"
#include "acquire/skew/skew.h"
#include "common/limits.h"
#include "common/order.h"

/* A list of numbers from 1 to the largest number of ranks. */
static ti_status list(const char *text, const char *what, int64_t *out, int *n, struct ti_err *err)
{
    char item[32];

    for (*n = 0;; text++) {
        size_t len = strcspn(text, ",");

        if (*n == TI_SKEW_LIST_MAX)
            return ti_err_set(err, TI_ERR_USAGE, "%s takes %d numbers at most", what,
                              TI_SKEW_LIST_MAX);
        /* a text that is too long is cut, and still no number */
        snprintf(item, sizeof item, "%.*s", (int)(len < sizeof item ? len : sizeof item - 1), text);
        if (ti_parse_int(item, what, 1, TI_RANKS_MAX, &out[*n], err) != TI_OK)
            return TI_ERR_USAGE;
        ++*n;
        text += len;
        if (!*text)
            return TI_OK;
    }
}

TI_ORDER_NUMBERS(by_size, int64_t)

static ti_status parse_np(void *options, const char *arg, struct ti_err *err)
{
    struct ti_skew_options *o = options;

    return list(arg, "--np", o->np, &o->nnp, err);
}

static ti_status parse_fold(void *options, const char *arg, struct ti_err *err)
{
    struct ti_skew_options *o = options;
    ti_status st = list(arg, "--fold", o->fold, &o->nfold, err);

    qsort(o->fold, (size_t)o->nfold, sizeof *o->fold, by_size);
    return st;
}

#define TI_OPT_STRUCT struct ti_skew_options
_Static_assert(offsetof(struct ti_skew_options, run) == 0, "rows like those of ti-acquire");

static const struct ti_opt opts[] = {
    TI_OPT_HEADING("Measure"),
    {'n', "np", "N[,N...]", "numbers of ranks, measured one after the other",
     TI_OPT_FUNCTION(parse_np)},
    {'r', "runs", "N", "runs of each kind, in turns [default: 5]",
     TI_OPT_INTEGER(runs, 1, TI_SKEW_RUNS_MAX)},
    {0, "fold", "X[,X...]",
     "also run with X ranks per core, on as many cores as\n"
     "needed, and compare bursts with the least folded run",
     TI_OPT_FUNCTION(parse_fold)},
    {0, "against", "COUNTER",
     "also run with another counter, such as valgrind, and\n"
     "compare bursts with it",
     TI_OPT_TEXT(against)},
    {0, "plain", "FILE",
     "the program compiled without ti-mpicc, for runs that\n"
     "do not count with blocks",
     TI_OPT_TEXT(plain)},
    TI_OPT_HEADING("Run"),
    TI_OPT_LIKE("counter", "counter for bursts, as for ti-acquire [default: auto]"),
    TI_OPT_LIKE("threads", "threads that count: caller (the thread that calls MPI)\n"
                           "or sum (all threads of a rank) [default: caller]"),
    TI_OPT_LIKE("isa", "let glibc select its functions for LEVEL, as for\n"
                       "ti-acquire"),
    TI_OPT_LIKE("env", NULL),
    TI_OPT_LIKE("mca", NULL),
    TI_OPT_LIKE("pin", NULL),
    TI_OPT_LIKE("reserve", "end a run when less than a quarter of SIZE is free\n"
                           "[default: 256M]"),
    TI_OPT_LIKE("timeout", "end a run after SEC seconds [default: never]"),
    TI_OPT_LIKE("dry-run", "print the runs and their commands, run nothing"),
    TI_OPT_HEADING("Traces"),
    TI_OPT_LIKE("trace-dir", "directory of the traces during the runs\n"
                             "[default: NAME.skew]"),
    TI_OPT_LIKE("force", "replace runs that are in DIR"),
    TI_OPT_LIKE("keep", "keep the traces of all runs in DIR"),
    TI_OPT_HEADING("Output"),
    {0, "plot", "FILE.svg", "draw the figures as well, with gnuplot", TI_OPT_NAME(plot)},
    TI_OPT_LIKE("json", "print all figures as JSON instead of tables"),
    TI_OPT_LIKE("quiet", "print only errors, warnings and the figures"),
    TI_OPT_LIKE("verbose", NULL),
    TI_OPT_LIKE("progress", NULL),
    TI_OPT_LIKE("no-progress", NULL),
    TI_OPT_END,
};

const struct ti_cli ti_skew_cli = {
    .tool = "ti-skew",
    .what =
        "Measure what tracing adds to an MPI program on this machine: instructions, time, bytes.",
    .usage = "--np N[,N...] [OPTION]... PROGRAM [ARGUMENT]... [-- MPIRUN-ARGUMENT...]",
    .examples = "  ti-skew --np 8,16,32 --runs 10 ./lu B\n"
                "  ti-skew --np 8 --fold 1,2,4,8 -c papi --plot noise.svg ./lu A\n"
                "  ti-skew --np 8 -c blocks --against valgrind --plain ./lu ./lu.blocks S\n",
    .opts = opts,
    .after = "What the program prints is not shown.\n"
             "Exit status: 0 all was measured, 2 usage, 3 it cannot work (program, counter),\n"
             "4 local problem, 6 the program failed.  More: man ti-skew\n",
    .stop_at_operand = true,
    .like = &ti_acquire_cli,
};

int ti_skew_options_parse(int argc, char **argv, struct ti_skew_options *o)
{
    int st;

    *o = (struct ti_skew_options){.run = {.cli = &ti_skew_cli,
                                          .counter = "auto",
                                          .silence_s = 60,
                                          .reserve_bytes = INT64_C(256) << 20,
                                          .no_gather = true,
                                          .no_pilot = true},
                                  .runs = 5};
    st = ti_cli_parse(&ti_skew_cli, argc, argv, o);
    if (st == TI_CLI_END)
        st = ti_options_operands(&o->run, argc, argv);
    if (st != TI_CLI_END)
        return st;
    if (!o->nnp)
        return (int)ti_cli_usage(&ti_skew_cli, "how many ranks? (--np N)");
    for (int i = 0; i < o->nnp; i++) {
        for (int k = 0; k < i; k++)
            if (o->np[k] == o->np[i])
                return (int)ti_cli_usage(&ti_skew_cli, "--np has %lld twice", (long long)o->np[i]);
        if (o->np[i] > o->run.np)
            o->run.np = o->np[i];
    }
    return TI_CLI_END;
}
