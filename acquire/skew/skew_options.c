#include <stdlib.h>
#include <string.h>

#include "acquire/run/mpirun.h"
#include "acquire/skew/skew.h"
#include "formats/trace.h"

enum { OPT_RUNS = OPT_OTHERS, OPT_AGAINST, OPT_PLAIN, OPT_PLOT };

static const struct ti_opt opts[] = {
    TI_OPT_HEADING("Measure"),
    {'n', "np", "N[,N...]", "ranks; one after the other"},
    {'r', "runs", "N", "runs of each kind, by turns [default: 5]"},
    {OPT_FOLD, "fold", "X[,X...]",
     "run with X ranks a core as well, on as many cores as\n"
     "that takes, and compare bursts with the least folded"},
    {OPT_AGAINST, "against", "COUNTER",
     "run with another counter as well, valgrind say, and\n"
     "compare bursts with it"},
    {OPT_PLAIN, "plain", "FILE",
     "the program compiled without ti-mpicc, for runs that\n"
     "do not count with blocks"},
    TI_OPT_HEADING("Run"),
    {'c', "counter", "NAME",
     "what bursts are counted with, as for ti-acquire\n"
     "[default: auto]"},
    {OPT_THREADS, "threads", "WHOSE",
     "caller: of the thread that calls MPI; or sum: of\n"
     "all threads of a rank [default: caller]"},
    {OPT_ISA, "isa", "LEVEL", "choose glibc's functions for LEVEL, as for ti-acquire"},
    {'x', "env", "VAR[=VALUE]", "hand a variable on to the ranks, as in mpirun"},
    {OPT_MCA, "mca", "KEY VALUE", "a setting of Open MPI, as in mpirun"},
    {OPT_PIN, "pin", "LIST", "run all ranks on these cores, such as 0-3,8"},
    {OPT_RESERVE, "reserve", "SIZE",
     "end a run when less than a quarter of it is free\n"
     "[default: 256M]"},
    {OPT_TIMEOUT, "timeout", "SEC", "end a run after SEC seconds [default: never]"},
    {OPT_DRY_RUN, "dry-run", NULL, "print the runs and their commands, run nothing"},
    TI_OPT_HEADING("Traces"),
    {OPT_TRACE_DIR, "trace-dir", "DIR",
     "where the ranks write meanwhile\n"
     "[default: NAME.skew]"},
    {OPT_FORCE, "force", NULL, "replace runs that are in DIR"},
    {OPT_KEEP, "keep", NULL, "keep the traces of all runs in DIR"},
    TI_OPT_HEADING("Output"),
    {OPT_PLOT, "plot", "FILE.svg", "draw the figures as well, with gnuplot"},
    {OPT_JSON, "json", NULL, "print all figures as JSON instead of tables"},
    {'q', "quiet", NULL, "errors and warnings only, and the figures"},
    {'v', "verbose", NULL, "say more on the way"},
    {OPT_NO_PROGRESS, "no-progress", NULL, "no progress line"},
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
};

static int list(const char *text, const char *what, int64_t most, int64_t *out, int *n)
{
    char item[32];
    struct ti_err err;

    for (*n = 0;; text++) {
        size_t len = strcspn(text, ",");

        if (*n == TI_SKEW_LIST_MAX)
            return (int)ti_cli_usage(&ti_skew_cli, "%s takes %d numbers at most", what,
                                     TI_SKEW_LIST_MAX);
        /* a text that is too long is cut, and still no number */
        snprintf(item, sizeof item, "%.*s", (int)(len < sizeof item ? len : sizeof item - 1), text);
        if (ti_parse_int(item, what, 1, most, &out[*n], &err) != TI_OK)
            return (int)ti_cli_usage(&ti_skew_cli, "%s", err.text);
        ++*n;
        text += len;
        if (!*text)
            return -1;
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int take(struct ti_skew_options *o, int argc, char **argv, int id, const char *arg)
{
    struct ti_err err;
    int st;

    switch (id) {
    case 'n':
        return list(arg, "--np", TI_RANKS_MAX, o->np, &o->nnp);
    case 'r':
        return ti_parse_int(arg, "--runs", 1, TI_SKEW_RUNS_MAX, &o->runs, &err)
                   ? (int)ti_cli_usage(&ti_skew_cli, "%s", err.text)
                   : -1;
    case OPT_FOLD:
        st = list(arg, "--fold", TI_RANKS_MAX, o->fold, &o->nfold);
        qsort(o->fold, (size_t)o->nfold, sizeof *o->fold, by_size);
        return st;
    case OPT_AGAINST:
        o->against = arg;
        return -1;
    case OPT_PLAIN:
        o->plain = arg;
        return -1;
    case OPT_PLOT:
        o->plot = arg;
        return *arg ? -1 : (int)ti_cli_usage(&ti_skew_cli, "the plot needs a name");
    default:
        return ti_options_take(&o->run, argc, argv, id, arg);
    }
}

int ti_skew_options_parse(int argc, char **argv, struct ti_skew_options *o)
{
    const char *arg;
    int id, st;

    *o = (struct ti_skew_options){.run = {.cli = &ti_skew_cli,
                                          .counter = "auto",
                                          .silence_s = 60,
                                          .reserve_bytes = INT64_C(256) << 20,
                                          .no_gather = true,
                                          .no_pilot = true},
                                  .runs = 5};
    while ((id = ti_cli_next(&ti_skew_cli, argc, argv, &arg)) != TI_CLI_END) {
        st = take(o, argc, argv, id, arg);
        if (st >= 0)
            return st;
    }
    st = ti_options_operands(&o->run, argc, argv);
    if (st >= 0)
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
    return -1;
}
