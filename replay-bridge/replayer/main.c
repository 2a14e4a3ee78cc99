/*
 * ti-smpi-replay and ti-live-replay: start and end.
 */
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "fold/shape.h"
#include "replay-bridge/replayer/alone.h"
#include "replay-bridge/replayer/energy.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/options.h"
#include "replay-bridge/replayer/profile.h"
#include "replay-bridge/replayer/steady.h"
#include "replay-bridge/simulation/state.h"
#include "replay-bridge/trace/lint.h"
#include "replay-bridge/trace/refusal.h"

#define EAGER_BYTES 65536 /* SMPI's smpi/send-is-detached-thresh */

/* ---- the trace ---- */

/* The rates of all jobs, if there are any; they stay until the program ends. */
static ti_status read_rates(struct ti_replay_setup *setup, struct ti_err *err)
{
    struct ti_rates *rates;
    ti_status st;

    if (!setup->bursts.rates_path)
        return TI_OK;
    st = ti_rates_read(setup->bursts.rates_path, &rates, NULL, err);
    if (st)
        return st;
    setup->bursts.as = TI_BURSTS_RATES;
    setup->bursts.rates = rates;
    for (int j = 0; j < setup->njobs; j++)
        setup->job[j].bursts = setup->bursts;
    return TI_OK;
}

/* The first job with the trace of job `j`. */
static int first_with(const struct ti_replay_setup *setup, int j)
{
    int i = 0;

    while (strcmp(setup->job[i].trace, setup->job[j].trace) != 0)
        i++;
    return i;
}

/* Whether a rank calls MPI_Cancel, by the shape of a folded trace, or by all events. */
static bool rank_cancels(struct ti_reader *r)
{
    const struct ti_folded *f = ti_reader_folded(r);
    struct ti_event ev = {0};
    bool found = false;

    for (uint32_t i = 0; f && !found && i < ti_shape_nodes(f); i++)
        found = !ti_shape_node(f, i).loop && ti_shape_node(f, i).op == TI_OP_CANCEL;
    while (!f && !found && ti_reader_next(r, &ev, NULL) == 1)
        found = ev.op == TI_OP_CANCEL;
    return found;
}

/* Whether any rank calls MPI_Cancel.  Damage is ignored here and reported by the replay. */
static bool has_cancels(struct ti_source *s)
{
    bool found = false;

    for (int64_t rank = 0; !found && rank < ti_source_nranks(s); rank++) {
        struct ti_reader *r;

        if (ti_source_reader(s, rank, &r, NULL) != TI_OK)
            return false;
        found = rank_cancels(r);
        ti_reader_close(r);
    }
    return found;
}

static ti_status open_trace(struct ti_replay_setup *setup, int j, struct ti_err *err)
{
    struct ti_replay_job *job = &setup->job[j];
    struct ti_bursts on_cores = {.as = TI_BURSTS_THREADS, .cores = setup->bursts.cores};
    int first = first_with(setup, j);
    ti_status st = TI_OK;

    if (first < j) {
        job->source = setup->job[first].source;
        job->bursts = setup->job[first].bursts;
        job->cancels = setup->job[first].cancels;
    } else {
        st = ti_source_open(job->trace, &job->source, err);
        if (!st)
            st = ti_source_share_lists(job->source, err);
        if (!st)
            ti_source_seed(job->source, (uint64_t)setup->seed);
        if (!st && job->bursts.as == TI_BURSTS_VOLUME && setup->threads_where_known &&
            on_cores.cores != INT64_MAX && ti_bursts_check(job->source, &on_cores, err) == TI_OK)
            job->bursts = on_cores;
        job->cancels = SIMULATED && !st && has_cancels(job->source);
    }
    job->np = st ? 0 : ti_source_nranks(job->source);
    job->first = j ? setup->job[j - 1].first + setup->job[j - 1].np : 0;
    return st;
}

/* Number of ranks of all jobs. */
static int64_t all_ranks(const struct ti_replay_setup *setup)
{
    const struct ti_replay_job *last = &setup->job[setup->njobs - 1];

    return last->first + last->np;
}

static ti_status open_traces(struct ti_replay_setup *setup, struct ti_err *err)
{
    ti_status st = read_rates(setup, err);

    for (int j = 0; !st && j < setup->njobs; j++)
        st = open_trace(setup, j, err);
    if (!st && setup->state_path)
        st = ti_replay_state_open(setup->state_path, all_ranks(setup), &setup->state, err);
    return st;
}

/* Whether every event of a job can be replayed; the reasons go to stderr. */
static ti_status check(const struct ti_replay_job *job)
{
    struct ti_problems problems = {0};
    struct ti_lint lint;
    struct ti_err err = {0};
    ti_status st = ti_lint(job->source, SIMULATED ? &ti_replayer_target : &ti_live_target,
                           EAGER_BYTES, &lint, &problems, &err);

    if (!st && job->bursts.as)
        st = ti_bursts_check(job->source, &job->bursts, &err);
    if (!st && problems.n)
        st = ti_err_set(&err, TI_ERR_INPUT, "'%s' cannot be replayed", job->trace);
    if (st)
        ti_cli_fail(&ti_replayer_cli, st, &err);
    ti_problems_print(&problems, stderr);
    ti_lint_free(&lint);
    return st;
}

/* A permanent copy: SMPI frees the arguments of a rank that has ended. */
static char **copy_of(char **argv, int argc)
{
    size_t none = 0;
    char **copy = ti_grow(NULL, &none, (size_t)argc + 1, sizeof *copy);

    for (int i = 0; i < argc; i++) {
        none = 0;
        copy[i] = strcpy(ti_grow(NULL, &none, strlen(argv[i]) + 1, 1), argv[i]);
    }
    return copy;
}

/* The thread level that rank 0 of the first job asked for. */
static int thread_level(const struct ti_replay_setup *setup)
{
    struct ti_reader *r;
    struct ti_event ev = {0};
    int level = 0;

    if (setup->status || ti_source_reader(setup->job[0].source, 0, &r, NULL) != TI_OK)
        return 0;
    if (ti_reader_next(r, &ev, NULL) == 1 && (ev.mask & TI_M_LEVEL))
        level = (int)ev.arg[TI_F_LEVEL];
    ti_reader_close(r);
    return level;
}

/* Done by the first rank of a process before any MPI call.  Returns the exit status, or TI_CLI_END
 * to continue; then setup->status tells whether the traces could be opened. */
static int prepare(struct ti_replay_setup *setup, int argc, char **argv)
{
    bool hushed = ti_engine_hush(true);
    int end = ti_replayer_parse(setup, argc, copy_of(argv, argc));

    if (hushed)
        ti_engine_hush(false);
    if (end != TI_CLI_END)
        return hushed ? TI_OK : end; /* on an error, a launcher may kill the rank that prints it */
    ti_talk_init(ti_replayer_cli.tool, setup->quiet, TI_PROGRESS_NONE);
    setup->status = open_traces(setup, &setup->err);
    setup->level = thread_level(setup);
    if (SIMULATED && setup->status)
        return (int)ti_cli_fail(&ti_replayer_cli, setup->status, &setup->err);
    return TI_CLI_END;
}

/* ---- a rank ---- */

/* Sets the job of this rank, and its rank there.  Excess ranks get the first job. */
static void find_job(struct ti_replayer *p)
{
    const struct ti_replay_setup *setup = p->setup;

    for (int j = 0; j < setup->njobs; j++)
        if (p->all_rank >= setup->job[j].first &&
            p->all_rank < setup->job[j].first + setup->job[j].np)
            p->job = j;
    p->source = setup->job[p->job].source;
    p->rank = p->all_rank - setup->job[p->job].first;
    p->np = setup->job[p->job].np;
}

static void initialize(struct ti_replayer *p, int *argc, char ***argv)
{
    int level = p->setup->level, provided, rank, np;

    if (level)
        MPI_Init_thread(argc, argv, level, &provided);
    else
        MPI_Init(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &np);
    p->all_rank = rank;
    p->all_ranks = np;
    find_job(p);
    p->op[0] = p->op[1] = MPI_OP_NULL;
    ti_engine_start(p);
}

/* Whether `ranks` ranks can replay all jobs. */
static ti_status check_jobs(const struct ti_replay_setup *setup, int64_t ranks)
{
    ti_status st = TI_OK;

    if (ranks != all_ranks(setup) && setup->njobs == 1)
        fprintf(stderr, "%s: '%s' is the trace of %lld ranks, it cannot be replayed by %lld\n",
                ti_replayer_cli.tool, setup->job->trace, (long long)all_ranks(setup),
                (long long)ranks);
    else if (ranks != all_ranks(setup))
        fprintf(stderr, "%s: the traces are of %lld ranks, they cannot be replayed by %lld\n",
                ti_replayer_cli.tool, (long long)all_ranks(setup), (long long)ranks);
    if (ranks != all_ranks(setup))
        return TI_ERR_INPUT;
    for (int j = 0; !setup->checked && !st && j < setup->njobs; j++)
        if (first_with(setup, j) == j)
            st = check(&setup->job[j]);
    return st;
}

/* TI_OK if the traces can be replayed, else the exit status of all ranks.  A single rank checks. If
 * some ranks could not open a trace, which may be missing on some nodes, the lowest rank prints the
 * error. */
static int may_start(struct ti_replayer *p, struct ti_replay_setup *setup)
{
    bool asks = SIMULATED ? !setup->asked : p->all_rank == 0;
    int failed = ti_engine_first(p, setup->status != TI_OK);

    if (failed == p->all_rank)
        ti_cli_fail(&ti_replayer_cli, setup->status, &setup->err);
    if (failed >= 0)
        return ti_engine_agree(failed, setup->status);
    setup->asked = true;
    if (asks)
        setup->status = check_jobs(setup, p->all_ranks);
    return ti_engine_agree(0, setup->status);
}

/* `end`: the latest end of a rank, in seconds. */
static void report(const struct ti_replay_setup *setup, double end)
{
    if (!setup->quiet && SIMULATED)
        printf("simulated time: %.6f s\nclock at end:   %.12f s\n", end, end);
    else if (!setup->quiet)
        printf("wall time: %.6f s\n", end);
    for (int j = 0; !setup->quiet && setup->njobs > 1 && j < setup->njobs; j++)
        printf("job %d: from %.12f s to %.12f s, %s\n", j + 1, setup->job[j].start_s,
               setup->job[j].end_s, setup->job[j].trace);
    fflush(stdout);
}

/*
 * With several jobs, each job gets a communicator of its own ranks as its world.  The split takes
 * simulated time, so time 0 of all jobs must be later than the end of the setup on every rank.  The
 * last step, the reduction of the latest time, is shorter than the steps before it; four times its
 * result is therefore late enough.
 */
static MPI_Comm make_world(struct ti_replayer *p)
{
    MPI_Comm world;
    double now, latest;

    if (p->setup->njobs == 1)
        return MPI_COMM_WORLD;
    ti_replay_must(p, PMPI_Comm_split(MPI_COMM_WORLD, p->job, (int)p->all_rank, &world));
    now = ti_engine_clock();
    ti_replay_must(p, PMPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    p->zero = 4 * latest;
    return world;
}

static void replay(struct ti_replayer *p)
{
    struct ti_replay_progress *progress = ti_replay_progress(p->setup->state, p->all_rank);
    struct ti_replay_job *job = &p->setup->job[p->job];
    double end;
    bool last;

    ti_profile_start(p);
    ti_steady_start(p);
    ti_replay_world(p, make_world(p));
    p->setup->computing++;
    ti_engine_wait_until(p->zero + job->start_s);
    p->setup->computing--;
    p->start = ti_engine_clock();
    ti_replay_rank(p);
    p->end = ti_engine_clock() - p->zero + ti_steady_left_out_s(p->setup);
    job->end_s = p->end > job->end_s ? p->end : job->end_s;
    if (progress) {
        progress->seconds = p->end;
        progress->ended = 1;
    }
    last = ti_engine_end(p, &end);
#if SIMULATED
    ti_energy_end(p, last);
#endif
    ti_profile_end(p, last);
    ti_steady_end(p, last, end);
    if (last)
        report(p->setup, end);
    ti_replay_remove_files(p);
}

#if SIMULATED

int ti_alone(int argc, char **argv)
{
    struct ti_replay_setup setup = {0};
    struct ti_err err;
    int end = ti_replayer_parse(&setup, argc, argv);

    if (end != TI_CLI_END)
        return end;
    ti_err_set(&err, TI_ERR_USAGE, "it replays within a simulation, so smpirun must start it");
    ti_err_hint(&err, "'ti-replay %s' makes a platform and calls smpirun", setup.job->trace);
    return (int)ti_cli_reject(&ti_replayer_cli, &err);
}

#endif

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
