/*
 * Options of ti-replay that cannot be given together.
 */
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "replay-bridge/options_internal.h"
#include "replay-bridge/platform/picture.h"
#include "replay-bridge/platform/platform.h"
#include "replay-bridge/simulation/engines.h"

/* Whether --no-compute makes other options of bursts pointless.  If a sweep has chosen it, they are
 * for other points. */
static bool no_compute(const struct ti_replay_options *o)
{
    return o->no_compute && !o->no_compute_chosen;
}

/* Checks --noise.  TI_CLI_END, or the exit status. */
static int check_noise(const struct ti_replay_options *o)
{
    const struct ti_noise *n = &o->noise;

    if (n->calibration && !o->calibration)
        return (int)ti_cli_usage(&ti_replay_cli, "--noise calibration needs the file: "
                                                 "--calibration FILE");
    if (n->rate && !o->rate)
        return (int)ti_cli_usage(&ti_replay_cli, "--noise rate needs the file: --rate FILE");
    if ((ti_noise_any(n) || n->calibration) && (no_compute(o) || o->times))
        return (int)ti_cli_usage(&ti_replay_cli, "--noise has no effect with --%s",
                                 o->times ? "times: bursts take their measured durations"
                                          : "no-compute: bursts take no time");
    return TI_CLI_END;
}

/* Checks --runs and --tolerance, where there is no sweep.  Returns as above. */
static int check_runs(const struct ti_replay_options *o)
{
    const char *option = o->keep        ? "keep"
                         : o->lint_only ? "lint"
                         : o->show      ? "show-platform"
                         : o->timeline  ? "timeline"
                         : o->profile   ? "profile"
                         : o->causes    ? "causes"
                         : o->links     ? "links"
                         : o->against   ? "against"
                                        : NULL;

    struct ti_err err = {0};

    if (o->sweep.runs && o->seed_given) {
        ti_err_set(&err, TI_ERR_USAGE,
                   "--runs %lld replays with the seeds 0 to %lld: --seed cannot be given too",
                   (long long)o->sweep.runs, (long long)o->sweep.runs - 1);
        ti_err_hint(&err, "--seed without --runs is one replay");
        return (int)ti_cli_reject(&ti_replay_cli, &err);
    }
    if (!option)
        return TI_CLI_END;
    ti_err_set(&err, TI_ERR_USAGE, "--%s is for one replay, not for %s", option,
               o->ntolerances ? "--tolerance" : "--runs");
    if (o->lint_only || o->show)
        ti_err_hint(&err, "leave out %s", o->ntolerances ? "--tolerance" : "--runs");
    else if (o->ntolerances)
        ti_err_hint(&err, "without --%s, find the value; then replay with it: --%s VALUE --%s",
                    option, o->tolerance[0].opt->name, option);
    else
        ti_err_hint(&err, "give the seed of one run in place of --runs, such as --seed %lld --%s",
                    (long long)(o->sweep.runs > 7 ? 7 : o->sweep.runs - 1), option);
    return (int)ti_cli_reject(&ti_replay_cli, &err);
}

/* Checks for conflicting options of generated platforms. */
static ti_status check_made(const struct ti_replay_options *o, struct ti_err *err)
{
    if (o->sites_path && (strcmp(o->topology_text, "cluster") != 0 || o->hosts))
        return ti_err_set(err, TI_ERR_USAGE,
                          "--sites names the hosts: --topology and --hosts cannot be given too");
    if (o->wan_given && !o->sites_path)
        return ti_err_set(err, TI_ERR_USAGE, "--wan connects the sites of --sites");
    if (o->picture && o->platform)
        return ti_err_set(err, TI_ERR_USAGE,
                          "--show-platform=FILE draws only generated platforms, not '%s'",
                          o->platform);
    return ti_platform_check(&o->topology, &o->speeds, err);
}

/* Checks --versus and --scaling.  TI_CLI_END, or the exit status. */
static int check_compared(const struct ti_replay_options *o)
{
    const char *mode = o->versus ? "versus" : "scaling";
    const char *option = o->copies          ? "copies"
                         : o->start_text    ? "start"
                         : o->trips.n       ? "trips"
                         : o->sweep.sweep.n ? "sweep"
                         : o->ntolerances   ? "tolerance"
                         : o->keep          ? "keep"
                         : o->lint_only     ? "lint"
                         : o->show          ? "show-platform"
                         : o->timeline      ? "timeline"
                         : o->profile       ? "profile"
                         : o->causes        ? "causes"
                         : o->links         ? "links"
                         : o->against       ? "against"
                         : o->any           ? "wildcards any"
                                            : NULL;
    struct ti_err err = {0};

    if (o->versus && o->scaling)
        return (int)ti_cli_usage(&ti_replay_cli, "--versus or --scaling, not both");
    if (o->versus && (o->ntraces != 2 || o->trace[1] != o->versus))
        return (int)ti_cli_usage(
            &ti_replay_cli,
            "--versus compares one trace with OTHER; '%s' and '%s'%s stand beside that",
            o->trace[0], o->trace[1], o->ntraces > 2 ? " and more" : "");
    for (int i = 0; o->scaling && i < o->ntraces; i++)
        if ((!strcmp(o->trace[i], "weak") || !strcmp(o->trace[i], "strong")) &&
            access(o->trace[i], F_OK) != 0)
            return (int)ti_cli_usage(&ti_replay_cli, "'%s' is no trace: write --scaling=%s",
                                     o->trace[i], o->trace[i]);
    if (o->scaling && o->ntraces < 2)
        return (int)ti_cli_usage(&ti_replay_cli, "--scaling needs traces of two or more sizes");
    if (o->ntraces > TI_SCALING_SIZES)
        return (int)ti_cli_usage(&ti_replay_cli, "--scaling: %d traces are more than %d",
                                 o->ntraces, TI_SCALING_SIZES);
    if (option) {
        ti_err_set(&err, TI_ERR_USAGE, "--%s cannot be given with --%s", option, mode);
        if (!strcmp(option, "trips"))
            ti_err_hint(&err, "change each trace first, and compare what this writes: "
                              "ti-info --trips LOOP=N TRACE -o CHANGED");
        return (int)ti_cli_reject(&ti_replay_cli, &err);
    }
    if (o->sweep.runs && o->seed_given)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--runs %lld replays with the seeds 0 to %lld: --seed cannot be "
                                 "given too",
                                 (long long)o->sweep.runs, (long long)o->sweep.runs - 1);
    if (o->sweep.dir || o->sweep.list)
        return (int)ti_cli_usage(&ti_replay_cli, "--output and --list are for a --sweep");
    return TI_CLI_END;
}

/* Checks for options that conflict with a sweep, or need one.  TI_CLI_END, or the exit status. */
static int check_sweep(const struct ti_replay_options *o)
{
    const struct ti_sweep_command *sweep = &o->sweep;

    if (!sweep->sweep.n && (sweep->dir || sweep->list ||
                            ((sweep->jobs || sweep->runner) && !sweep->runs && !o->ntolerances)))
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--output, --jobs, --runner and --list are for a --sweep%s",
                                 sweep->runs ? ", and --jobs and --runner for --runs" : "");
    if (!sweep->sweep.n || (sweep->runs && o->seed_given))
        return sweep->runs || o->ntolerances ? check_runs(o) : TI_CLI_END;
    if (o->ntolerances)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--tolerance searches values itself: --sweep cannot "
                                 "be given too");
    if (o->keep || o->lint_only || o->show || o->timeline)
        return (int)ti_cli_usage(
            &ti_replay_cli, "--keep, --lint, --show-platform and --timeline are not for a --sweep");
    if (!sweep->dir && !sweep->list)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--sweep: no folder is given for the results, -o DIR");
    return TI_CLI_END;
}

/* Checks for options that conflict with `n` traces. */
static int check_jobs(const struct ti_replay_options *o, int n)
{
    int64_t jobs = o->copies ? o->copies : n;

    if (n > TI_REPLAY_JOBS_MOST)
        return (int)ti_cli_usage(&ti_replay_cli, "%d traces are more than %d", n,
                                 TI_REPLAY_JOBS_MOST);
    if (n > 1 && o->copies)
        return (int)ti_cli_usage(&ti_replay_cli, "--copies is for one trace, not for %d", n);
    if (n > 1 && (o->sweep.sweep.n || o->sweep.runs || o->ntolerances || o->show || o->lint_only))
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--sweep, --runs, --tolerance, --show-platform and "
                                 "--lint are for one trace");
    if (n > 1 && o->trips.n)
        return (int)ti_cli_usage(&ti_replay_cli, "--trips is for one trace, not for %d", n);
    if (o->nstarts > jobs)
        return (int)ti_cli_usage(&ti_replay_cli, "--start: %d times for %lld job%s", o->nstarts,
                                 (long long)jobs, jobs == 1 ? "" : "s");
    if (jobs > 1 && o->against)
        return (int)ti_cli_usage(&ti_replay_cli, "--against compares one job with real times");
    return TI_CLI_END;
}

/* Checks for options that conflict with --steady.  TI_CLI_END, or the exit status. */
static int check_steady(const struct ti_replay_options *o, int n)
{
    if (n > 1 || o->copies > 1)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--steady is for one job: other jobs would go on meanwhile");
    if (o->links)
        return (int)ti_cli_usage(&ti_replay_cli, "--links counts each message, so --steady, which "
                                                 "leaves some out, cannot be given too");
    if (o->causes)
        return (int)ti_cli_usage(&ti_replay_cli, "--causes follows each event, so --steady, which "
                                                 "leaves some out, cannot be given too");
    if (o->speeds.watts.given)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--watts adds up the power of each moment, so --steady, which "
                                 "leaves some out, cannot be given too");
    if (o->any)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--steady needs --wildcards matched: with any, it is not known "
                                 "whether trips are alike");
    return TI_CLI_END;
}

int ti__replay_check_options(const struct ti_replay_options *o)
{
    struct ti_err err = {0};
    int n = ti_replay_compares(o) ? 1 : o->ntraces;
    char **operand = o->trace;

    if (ti_replay_compares(o) && o->ntraces && check_compared(o) != TI_CLI_END)
        return TI_ERR_USAGE;
    if (check_jobs(o, n) != TI_CLI_END)
        return TI_ERR_USAGE;
    if (!o->ntraces && o->versus)
        return (int)ti_cli_usage(&ti_replay_cli, "--versus %s: which trace is compared with it?",
                                 o->versus);
    if (!o->ntraces && !o->show)
        return (int)ti_cli_usage(&ti_replay_cli, "no trace given");
    if (o->show && !o->picture && n && ti_picture_check(operand[0], &err) == TI_OK)
        return (int)ti_cli_usage(&ti_replay_cli, "'%s' is a picture: write --show-platform=%s",
                                 operand[0], operand[0]);
    if (!ti_replay_compares(o) && check_sweep(o) != TI_CLI_END)
        return TI_ERR_USAGE;
    if (o->sweep.sweep.n) /* each replay checks its own options */
        return TI_CLI_END;
    if (o->platform && o->made)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--platform describes the whole platform: --topology, --sites, "
                                 "--hosts, --speed, --cores, --contention, --bandwidth, "
                                 "--latency, --loopback, --wan, --watts and --disk cannot be given "
                                 "too");
    if (check_made(o, &err) != TI_OK || ti_engine_check(o, &err) != TI_OK)
        return (int)ti_cli_reject(&ti_replay_cli, &err);
    if (o->steady && check_steady(o, n) != TI_CLI_END)
        return TI_ERR_USAGE;
    if (o->any && (o->profile || o->timeline || o->causes))
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "%s: with any, it is not known which rank waits for which",
                                 o->causes && !o->profile && !o->timeline
                                     ? "--causes needs --wildcards matched"
                                     : "--profile and --timeline need --wildcards matched");
    if (no_compute(o) && (o->times || o->threads || o->speed_given))
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "%s has no effect with --no-compute: bursts take no time",
                                 o->times     ? "--times"
                                 : o->threads ? "--threads"
                                              : "--speed");
    if (o->ranks_per_host && o->hostfile)
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--ranks-per-host cannot be given with --hostfile, which has the "
                                 "slots of each host");
    if (o->placement.kind == TI_PLACE_BY_SITE && !o->sites_path)
        return (int)ti_cli_usage(&ti_replay_cli, "--placement by-site is for the sites of --sites");
    if (o->times && (o->threads || o->speed_given))
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "%s has no effect with --times: bursts take their measured "
                                 "durations",
                                 o->threads ? "--threads" : "--speed");
    if (o->speeds.contention && (no_compute(o) || o->times || o->rate))
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--contention has no effect with %s: bursts take no volume",
                                 no_compute(o) ? "--no-compute"
                                 : o->times    ? "--times"
                                               : "--rate");
    if (check_noise(o) != TI_CLI_END)
        return TI_ERR_USAGE;
    if (o->rate && (o->times || no_compute(o) || o->threads))
        return (int)ti_cli_usage(&ti_replay_cli,
                                 "--rate and %s both determine how long bursts take: give one",
                                 o->times        ? "--times"
                                 : no_compute(o) ? "--no-compute"
                                                 : "--threads");
    if (o->debug_dir && !o->profile && !o->causes && !o->timeline && !o->trips.n &&
        !ti_replay_compares(o))
        return (int)ti_cli_usage(
            &ti_replay_cli,
            "--debug-dir is for --profile, --causes, --timeline, --trips, --versus and "
            "--scaling");
    if (o->hosts && o->topology.hosts && o->hosts != o->topology.hosts)
        return (int)ti_cli_usage(&ti_replay_cli, "--hosts: the topology %s has %lld hosts",
                                 o->topology_text, (long long)o->topology.hosts);
    return TI_CLI_END;
}
