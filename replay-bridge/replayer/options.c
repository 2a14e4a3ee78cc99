#include "replay-bridge/replayer/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/units.h"
#include "replay-bridge/replayer/engine.h"

#if SIMULATED
#define JOBS_MOST 4096

static ti_status parse_threads(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_setup *setup = options;
    bool known = !strcmp(arg, "auto"), longest = !strcmp(arg, "longest");

    setup->bursts.as = longest ? TI_BURSTS_THREADS : TI_BURSTS_VOLUME;
    setup->threads_where_known = known;
    return known || longest || !strcmp(arg, "sum")
               ? TI_OK
               : ti_err_set(err, TI_ERR_USAGE, "--threads must be auto, sum or longest, not '%s'",
                            arg);
}

static ti_status parse_reduce_rate(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_setup *setup = options;
    ti_status st = ti_unit_check(arg, TI_UNIT_BANDWIDTH, "--reduce-rate", err);

    if (!st)
        setup->reduce_rate = ti_unit_value(arg, TI_UNIT_BANDWIDTH);
    return st;
}

static ti_status parse_copy_rate(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_setup *setup = options;
    ti_status st = ti_unit_check(arg, TI_UNIT_BANDWIDTH, "--copy-rate", err);

    if (!st)
        setup->copy_rate = ti_unit_value(arg, TI_UNIT_BANDWIDTH);
    return st;
}

/* The jobs are not known yet, so the start times are only stored. */
static ti_status parse_start(void *options, const char *arg, struct ti_err *err)
{
    static double start_s[JOBS_MOST];
    struct ti_replay_setup *setup = options;

    setup->start_s = start_s;
    return ti_unit_list(arg, TI_UNIT_LATENCY, "--start", JOBS_MOST, start_s, &setup->nstarts, err);
}

static ti_status parse_steady(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_setup *setup = options;
    ti_status st;

    arg = arg ? arg : "0.1%";
    st = ti_unit_check(arg, TI_UNIT_SHARE, "--steady", err);
    if (!st)
        setup->steady = ti_unit_value(arg, TI_UNIT_SHARE);
    return st;
}

static ti_status parse_noise(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_setup *setup = options;

    return ti_noise_parse(arg, &setup->bursts.noise, err);
}
#else
#define JOBS_MOST 1

static ti_status parse_speed(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_setup *setup = options;
    char *end;

    setup->speed = strtod(arg, &end);
    if (*end || end == arg || !(setup->speed > 0 && setup->speed < 1e18))
        return ti_err_set(err, TI_ERR_USAGE, "--speed: '%s' is not a positive number", arg);
    return TI_OK;
}
#endif

#define TI_OPT_STRUCT struct ti_replay_setup

static const struct ti_opt opts[] = {
    {0, "wildcards", "HOW",
     "receives with wildcards take messages from the source\n"
     "that matched, or from any [default: matched]",
     TI_OPT_CHOICE(any, 0, "matched any")},
    {0, "times", NULL, "bursts take their measured durations",
     TI_OPT_VALUE(bursts.as, TI_BURSTS_TIMES)},
#if SIMULATED
    {0, "rate", "FILE",
     "bursts take the durations that follow from a rate file,\n"
     "on hosts of its reference speed",
     TI_OPT_TEXT(bursts.rates_path)},
    {0, "cores", "N", "cores for the threads of a rank, at most [default: 1]",
     TI_OPT_INTEGER(bursts.cores, 1, INT64_MAX)},
    {0, "threads", "HOW",
     "for volumes of all threads: sum, longest, or auto, which\n"
     "is longest if --cores is given and the trace tells\n"
     "threads apart [default: auto]",
     TI_OPT_FUNCTION(parse_threads)},
    {0, "no-compute", NULL, "bursts take no time", TI_OPT_VALUE(bursts.as, TI_BURSTS_NOTHING)},
    {0, "noise", "PART[,PART]...",
     "bursts vary: node:X, core:X, burst:X, or rate for the\n"
     "deviations of --rate; X is a standard deviation",
     TI_OPT_FUNCTION(parse_noise)},
    {0, "start", "TIME[,TIME]...", "start of each trace, such as 2s,500ms [default: 0s]",
     TI_OPT_FUNCTION(parse_start)},
    {0, "profile", "FILE", "write into FILE what takes the time, as JSON", TI_OPT_TEXT(profile)},
    {0, "causes", NULL, "the profile has the critical path, too", TI_OPT_FLAG(causes)},
    {0, "overview", NULL, "the profile has what ranks do in pieces of the time, too",
     TI_OPT_FLAG(overview)},
    {0, "receive-overhead", "TEXT",
     "the value of SMPI's setting smpi/or, for --causes\n[default: none]",
     TI_OPT_TEXT(receive_overhead)},
    {0, "intervals", "FILE",
     "write into FILE the times of each burst and call, of\n"
     "which ti-replay --timeline makes a timeline",
     TI_OPT_NAME(intervals)},
    {0, "energy", "FILE",
     "write into FILE the joules of each host that has the\n"
     "property wattage_per_state, as JSON; SimGrid's plugin\n"
     "host_energy must be loaded",
     TI_OPT_NAME(energy)},
    {0, "steady", "[=ERROR]",
     "leave out trips of loops once their time has converged\n"
     "up to ERROR [default: 0.1%]",
     TI_OPT_FUNCTION(parse_steady)},
    {0, "left-out", "FILE", "write into FILE what --steady left out, as JSON",
     TI_OPT_TEXT(steady_file)},
    {0, "reduce-rate", "BW",
     "bytes per second that the arithmetic of reductions\n"
     "combines, such as 4GBps [default: no limit]",
     TI_OPT_FUNCTION(parse_reduce_rate)},
    {0, "copy-rate", "BW",
     "bytes per second with which a rank copies the block\n"
     "that it sends to itself in a collective, such as 8GBps\n"
     "[default: no limit]",
     TI_OPT_FUNCTION(parse_copy_rate)},
    {0, "contention", NULL,
     "a host has a speed (pstate) for each number of its\n"
     "ranks that compute",
     TI_OPT_FLAG(contention)},
    {0, "state", "FILE",
     "report the progress of each rank in FILE, which\n"
     "ti-replay has made",
     TI_OPT_TEXT(state_path)},
#else
    {0, "bursts", "HOW",
     "what a burst does: loop (execute as many instructions),\n"
     "sleep (for the time it takes at --speed) or none\n"
     "[default: loop]",
     TI_OPT_CHOICE(spend, TI_SPEND_LOOP, "loop sleep none")},
    {0, "speed", "N",
     "instructions per second, for --bursts sleep\n"
     "[default: 1e9]",
     TI_OPT_FUNCTION(parse_speed)},
    {0, "files", "DIR",
     "directory of the files that the trace reads and writes;\n"
     "no others are touched [default: ti-live-replay.files]",
     TI_OPT_TEXT(files)},
#endif
    {0, "seed", "N", "of what is drawn: the order of volumes, noise [default: 0]",
     TI_OPT_INTEGER(seed, 0, INT64_MAX)},
    {0, "no-check", NULL, "the trace has been checked before", TI_OPT_FLAG(checked)},
    {'q', "quiet", NULL, "print only errors", TI_OPT_FLAG(quiet)},
    TI_OPT_END};

const struct ti_cli ti_replayer_cli = {
#if SIMULATED
    .tool = "ti-smpi-replay",
    .what = "Replay a trace within a simulation; smpirun runs it.",
    .examples = "  smpirun -np 8 -platform p.xml -hostfile hosts -no-privatize \\\n"
                "      --cfg=smpi/simulate-computation:no $(command -v ti-smpi-replay) lu.tib\n",
#else
    .tool = "ti-live-replay",
    .what = "Replay a trace on this machine; mpirun runs it.",
    .examples = "  mpirun -np 8 ti-live-replay lu.tib\n",
#endif
#if SIMULATED
    .usage = "[OPTION]... TRACE...",
#else
    .usage = "[OPTION]... TRACE",
#endif
    .opts = opts,
    .after = "TRACE is a bundle, or the directory of a run.\n"
             "\n"
             "Exit status: 0 success, 2 usage, 3 the trace cannot be replayed, 4 trouble.\n"
             "More: man ti-replay\n"};

/* TI_CLI_END, or how the program shall end. */
static int parse_traces(struct ti_replay_setup *setup, char **trace)
{
    size_t room = 0;

    for (; trace[setup->njobs]; setup->njobs++) {
        struct ti_replay_job *job;

        if (setup->njobs == JOBS_MOST)
            return (int)ti_cli_usage(&ti_replayer_cli, "more than %d trace%s given", JOBS_MOST,
                                     JOBS_MOST == 1 ? "" : "s");
        setup->job = ti_grow(setup->job, &room, (size_t)setup->njobs + 1, sizeof *setup->job);
        job = &setup->job[setup->njobs];
        job->trace = trace[setup->njobs];
        job->bursts = setup->bursts;
        if (setup->njobs < setup->nstarts)
            job->start_s = setup->start_s[setup->njobs];
    }
    if (!setup->njobs)
        return (int)ti_cli_usage(&ti_replayer_cli, "no trace given");
    if (setup->nstarts > setup->njobs)
        return (int)ti_cli_usage(&ti_replayer_cli, "--start: %d times for %d trace%s",
                                 setup->nstarts, setup->njobs, setup->njobs == 1 ? "" : "s");
    return TI_CLI_END;
}

int ti_replayer_parse(struct ti_replay_setup *setup, int argc, char **argv)
{
    int st;

    setup->bursts.cores = INT64_MAX;
    setup->threads_where_known = true;
    setup->speed = 1e9;
    setup->files = "ti-live-replay.files";
    st = ti_cli_parse(&ti_replayer_cli, argc, argv, setup);
    if (st != TI_CLI_END)
        return st;
    if (setup->bursts.rates_path && (setup->bursts.as || setup->bursts.cores != INT64_MAX))
        return (int)ti_cli_usage(&ti_replayer_cli,
                                 "--rate determines how long bursts take: --times, --threads, "
                                 "--cores and --no-compute cannot be given too");
    if (setup->causes && !setup->profile)
        return (int)ti_cli_usage(&ti_replayer_cli, "--causes needs --profile");
    if (setup->overview && !setup->profile)
        return (int)ti_cli_usage(&ti_replayer_cli, "--overview needs --profile");
    if (ti_noise_any(&setup->bursts.noise) &&
        (setup->bursts.as == TI_BURSTS_TIMES || setup->bursts.as == TI_BURSTS_NOTHING))
        return (int)ti_cli_usage(&ti_replayer_cli, "--noise is not for --times and --no-compute");
    if (setup->bursts.noise.calibration || (setup->bursts.noise.rate && !setup->bursts.rates_path))
        return (int)ti_cli_usage(&ti_replayer_cli,
                                 "--noise: there is no file of deviations, as of --rate");
    setup->bursts.noise.seed = (uint64_t)setup->seed;
    if (setup->any && (setup->profile || setup->intervals))
        return (int)ti_cli_usage(&ti_replayer_cli,
                                 "--profile and --intervals need --wildcards matched: with any, it "
                                 "is not known which rank waits for which");
    if (setup->energy && setup->steady > 0)
        return (int)ti_cli_usage(&ti_replayer_cli,
                                 "--energy adds up the power of each moment, so --steady, which "
                                 "leaves some out, cannot be given too");
    if (setup->any && setup->steady > 0)
        return (int)ti_cli_usage(&ti_replayer_cli,
                                 "--steady needs --wildcards matched: with any, it is not "
                                 "known whether trips are alike");
    st = parse_traces(setup, argv + ti_cli_operand());
    if (st == TI_CLI_END && setup->steady > 0 && setup->njobs > 1)
        return (int)ti_cli_usage(&ti_replayer_cli,
                                 "--steady is for one job: the others go on meanwhile");
    return st;
}
