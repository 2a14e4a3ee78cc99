/*
 * ti-smpi-replay and ti-live-replay: options, start and end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "replay-bridge/lint.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/state.h"

#define EAGER_BYTES 65536 /* SMPI's smpi/send-is-detached-thresh */

enum {
    OPT_WILDCARDS = TI_OPT_LONG,
    OPT_TIMES,
    OPT_THREADS,
    OPT_CORES,
    OPT_NO_COMPUTE,
    OPT_NO_CHECK,
    OPT_STATE,
    OPT_BURSTS,
    OPT_SPEED,
    OPT_FILES
};

static const struct ti_opt opts[] = {
    {OPT_WILDCARDS, "wildcards", "HOW",
     "receives with wildcards take from the source that\nmatched, or from any [default: matched]"},
    {OPT_TIMES, "times", NULL, "bursts take as long as they were measured"},
#if SIMULATED
    {OPT_CORES, "cores", "N", "cores that the threads of a rank have, at most [default: 1]"},
    {OPT_THREADS, "threads", "HOW",
     "of volumes of all threads: sum, or longest\n[default: longest if --cores is given]"},
    {OPT_NO_COMPUTE, "no-compute", NULL, "bursts take no time"},
    {OPT_STATE, "state", "FILE", "say there how far each rank is (as ti-replay has made it)"},
#else
    {OPT_BURSTS, "bursts", "HOW",
     "of a burst: loop (execute as many instructions), sleep\n(for as long as it takes at --speed) "
     "or none [default: loop]"},
    {OPT_SPEED, "speed", "N", "instructions a second, for --bursts sleep [default: 1e9]"},
    {OPT_FILES, "files", "DIR",
     "where the files that the trace reads and writes are;\nothers are not touched [default: "
     "ti-live-replay.files]"},
#endif
    {OPT_NO_CHECK, "no-check", NULL, "the trace was checked before"},
    {'q', "quiet", NULL, "errors only"},
    TI_OPT_END};

static const struct ti_cli cli = {
#if SIMULATED
    .tool = "ti-smpi-replay",
    .what = "Replay a trace within a simulation; smpirun runs it.",
    .examples = "  smpirun -np 8 -platform p.xml -hostfile hosts -no-privatize \\\n"
                "      --cfg=smpi/simulate-computation:no ti-smpi-replay lu.tib\n",
#else
    .tool = "ti-live-replay",
    .what = "Replay a trace on this machine; mpirun runs it.",
    .examples = "  mpirun -np 8 ti-live-replay lu.tib\n",
#endif
    .usage = "[OPTION]... TRACE",
    .opts = opts,
    .after = "TRACE is a bundle, or the directory of a run.\n"
             "\n"
             "Exit status: 0 success, 2 usage, 3 the trace cannot be replayed, 4 trouble.\n"
             "More: man ti-replay\n"};

/* ---- options ---- */

static ti_status take_bursts(struct ti_replay_setup *setup, const char *text, struct ti_err *err)
{
    static const char *const words[] = {"loop", "sleep", "none"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(text, words[i])) {
            setup->spend = i;
            return TI_OK;
        }
    return ti_err_set(err, TI_ERR_USAGE, "--bursts is loop, sleep or none, not '%s'", text);
}

static ti_status take_speed(struct ti_replay_setup *setup, const char *text, struct ti_err *err)
{
    char *end;

    setup->speed = strtod(text, &end);
    if (*end || end == text || !(setup->speed > 0 && setup->speed < 1e18))
        return ti_err_set(err, TI_ERR_USAGE, "--speed: '%s' is not a positive number", text);
    return TI_OK;
}

static ti_status take_option(struct ti_replay_setup *setup, int id, const char *arg,
                             struct ti_err *err)
{
    switch (id) {
    case OPT_WILDCARDS:
        setup->any = !strcmp(arg, "any");
        return setup->any || !strcmp(arg, "matched")
                   ? TI_OK
                   : ti_err_set(err, TI_ERR_USAGE, "--wildcards is matched or any, not '%s'", arg);
    case OPT_TIMES:
        setup->bursts.as = TI_BURSTS_TIMES;
        return TI_OK;
    case OPT_THREADS:
        if (strcmp(arg, "sum") && strcmp(arg, "longest"))
            return ti_err_set(err, TI_ERR_USAGE, "--threads is sum or longest, not '%s'", arg);
        setup->bursts.as = strcmp(arg, "sum") ? TI_BURSTS_THREADS : TI_BURSTS_VOLUME;
        return TI_OK;
    case OPT_CORES:
        setup->bursts.as = TI_BURSTS_THREADS;
        return ti_parse_int(arg, "--cores", 1, INT64_MAX, &setup->bursts.cores, err);
    case OPT_NO_COMPUTE:
        setup->bursts.as = TI_BURSTS_NOTHING;
        return TI_OK;
    case OPT_NO_CHECK:
        setup->checked = true;
        return TI_OK;
    case OPT_STATE:
        setup->state_path = arg;
        return TI_OK;
    case OPT_BURSTS:
        return take_bursts(setup, arg, err);
    case OPT_SPEED:
        return take_speed(setup, arg, err);
    case OPT_FILES:
        setup->files = arg;
        return TI_OK;
    case 'q':
        setup->quiet = true;
        return TI_OK;
    }
    TI_BUG("an option without a case");
}

/* TI_CLI_END, or how the program shall end. */
static int parse(struct ti_replay_setup *setup, int argc, char **argv)
{
    struct ti_err err = {0};
    const char *arg;
    int id;

    setup->bursts.cores = INT64_MAX;
    setup->speed = 1e9;
    setup->files = "ti-live-replay.files";
    while ((id = ti_cli_next(&cli, argc, argv, &arg)) >= 0)
        if (take_option(setup, id, arg, &err) != TI_OK)
            return (int)ti_cli_usage(&cli, "%s", err.text);
    if (id == TI_CLI_EXIT_OK)
        return TI_OK;
    if (id == TI_CLI_EXIT_USAGE)
        return TI_ERR_USAGE;
    if (argc - ti_cli_operand() != 1)
        return (int)ti_cli_usage(&cli, argc == ti_cli_operand() ? "no trace given"
                                                                : "more than one trace given");
    setup->trace = argv[ti_cli_operand()];
    return TI_CLI_END;
}

/* ---- the trace ---- */

static ti_status open_trace(struct ti_replay_setup *setup, struct ti_err *err)
{
    ti_status st = ti_source_open(setup->trace, &setup->source, err);

    if (!st)
        st = ti_source_share_lists(setup->source, err);
    if (!st && setup->state_path)
        st = ti_replay_state_open(setup->state_path, ti_source_nranks(setup->source), &setup->state,
                                  err);
    return st;
}

/* Whether every event can be replayed; the reasons go to stderr. */
static ti_status check(struct ti_replay_setup *setup)
{
    struct ti_problems problems = {0};
    struct ti_lint lint;
    struct ti_err err = {0};
    ti_status st = ti_lint(setup->source, SIMULATED ? TI_ENGINE_TIARA : TI_ENGINE_LIVE, EAGER_BYTES,
                           &lint, &problems, &err);

    if (!st && setup->bursts.as)
        st = ti_bursts_check(setup->source, &setup->bursts, &err);
    if (!st && problems.n)
        st = ti_err_set(&err, TI_ERR_INPUT, "'%s' cannot be replayed", setup->trace);
    if (st)
        ti_cli_fail(&cli, st, &err);
    ti_problems_print(&problems, stderr);
    ti_lint_free(&lint);
    return st;
}

/* What the first rank of a process finds out before any MPI call: how the program ends, or
 * TI_CLI_END and in setup->status whether the trace could be opened. */
static int prepare(struct ti_replay_setup *setup, int argc, char **argv)
{
    bool hushed = ti_engine_hush(true);
    int end = parse(setup, argc, argv);

    if (hushed)
        ti_engine_hush(false);
    if (end != TI_CLI_END)
        return hushed ? TI_OK : end; /* a launcher may kill the rank that talks for this one */
    ti_talk_init(cli.tool, setup->quiet, true);
    setup->status = open_trace(setup, &setup->err);
    if (SIMULATED && setup->status)
        return (int)ti_cli_fail(&cli, setup->status, &setup->err);
    return TI_CLI_END;
}

/* The thread level that rank 0 asked for. */
static int thread_level(const struct ti_replay_setup *setup)
{
    struct ti_reader *r;
    struct ti_event ev = {0};
    int level = 0;

    if (setup->status || ti_source_reader(setup->source, 0, &r, NULL) != TI_OK)
        return 0;
    if (ti_reader_next(r, &ev, NULL) == 1 && (ev.mask & TI_M_LEVEL))
        level = (int)ev.arg[TI_F_LEVEL];
    ti_reader_close(r);
    return level;
}

/* ---- a rank ---- */

static void initialize(struct ti_replayer *p, int *argc, char ***argv)
{
    int level = thread_level(p->setup), provided, rank, np;

    if (level)
        MPI_Init_thread(argc, argv, level, &provided);
    else
        MPI_Init(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &np);
    p->rank = rank;
    p->np = np;
    p->op[0] = p->op[1] = MPI_OP_NULL;
    ti_engine_start(p);
}

/* TI_OK if the trace can be replayed, else how all ranks end.  One rank of a process finds out; of
 * those that could not open the trace, which may lie on some nodes only, the first one says why. */
static int may_start(struct ti_replayer *p, struct ti_replay_setup *setup)
{
    bool asks = SIMULATED ? !setup->asked : p->rank == 0;
    int failed = ti_engine_first(p, setup->status != TI_OK);

    if (failed == p->rank)
        ti_cli_fail(&cli, setup->status, &setup->err);
    if (failed >= 0)
        return ti_engine_agree(failed, setup->status);
    setup->asked = true;
    if (asks && p->np != ti_source_nranks(setup->source)) {
        fprintf(stderr, "%s: '%s' is the trace of %lld ranks, it cannot be replayed by %lld\n",
                cli.tool, setup->trace, (long long)ti_source_nranks(setup->source),
                (long long)p->np);
        setup->status = TI_ERR_INPUT;
    } else if (asks && !setup->checked) {
        setup->status = check(setup);
    }
    return ti_engine_agree(0, setup->status);
}

static void report(const struct ti_replay_setup *setup, double end)
{
    if (!setup->quiet && SIMULATED)
        printf("simulated time: %.6f s\nclock at end:   %.12f s\n", end, end);
    else if (!setup->quiet)
        printf("wall time: %.6f s\n", end);
    fflush(stdout);
}

static void replay(struct ti_replayer *p)
{
    struct ti_replay_progress *progress = ti_replay_progress(p->setup->state, p->rank);
    double end;

    ti_replay_world(p, MPI_COMM_WORLD);
    p->start = ti_engine_clock();
    ti_replay_rank(p);
    p->end = ti_engine_clock();
    if (progress) {
        progress->seconds = p->end;
        progress->ended = 1;
    }
    if (ti_engine_end(p, &end))
        report(p->setup, end);
    ti_replay_remove_files(p);
}

int main(int argc, char **argv)
{
    bool first;
    struct ti_replay_setup *setup = ti_engine_setup(&first);
    struct ti_replayer p = {.setup = setup};
    int st;

    if (first)
        setup->end = prepare(setup, argc, argv);
    if (setup->end != TI_CLI_END)
        return setup->end;
    initialize(&p, &argc, &argv);
    st = may_start(&p, setup);
    if (!st)
        replay(&p);
    MPI_Finalize();
    ti_replay_free(&p);
    return st;
}
