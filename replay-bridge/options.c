#include "replay-bridge/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/table.h"
#include "replay-bridge/options_internal.h"
#include "replay-bridge/platform/picture.h"
#include "replay-bridge/platform/platform.h"
#include "replay-bridge/simulation/engines.h"
#include "timeline/timeline.h"

#define EAGER_DEFAULT 65536 /* smpi/send-is-detached-thresh */

/* ---- options ---- */

static ti_status parse_topology(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->topology_text = arg;
    return ti_topology_parse(arg, &o->topology, err);
}

static ti_status parse_bandwidth(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    return ti_link_values_parse(arg, TI_UNIT_BANDWIDTH, "--bandwidth", &o->speeds.bandwidth, err);
}

static ti_status parse_latency(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    return ti_link_values_parse(arg, TI_UNIT_LATENCY, "--latency", &o->speeds.latency, err);
}

/* Parses "BANDWIDTH,LATENCY", and a second bandwidth behind it if `shared` is not NULL; `copy`
 * holds the texts. */
static ti_status parse_pair(const char *text, const char *option, char copy[128],
                            const char **bandwidth, const char **latency, const char **shared,
                            struct ti_err *err)
{
    char *comma, *second;
    ti_status st;

    if (snprintf(copy, 128, "%s", text) >= 128 || !(comma = strchr(copy, ',')))
        return ti_err_set(err, TI_ERR_USAGE, "%s: '%s' is not BANDWIDTH,LATENCY%s", option, text,
                          shared ? "[,BANDWIDTH]" : "");
    *comma = '\0';
    *bandwidth = copy;
    *latency = comma + 1;
    second = shared ? strchr(comma + 1, ',') : NULL;
    if (second)
        *second = '\0';
    st = ti_unit_check(*bandwidth, TI_UNIT_BANDWIDTH, option, err);
    if (!st)
        st = ti_unit_check(*latency, TI_UNIT_LATENCY, option, err);
    if (!st && shared) {
        *shared = second ? second + 1 : NULL;
        st = second ? ti_unit_check(*shared, TI_UNIT_BANDWIDTH, option, err) : TI_OK;
    }
    return st;
}

static ti_status parse_loopback(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    return parse_pair(arg, "--loopback", o->loopback, &o->speeds.loopback_bandwidth,
                      &o->speeds.loopback_latency, &o->speeds.loopback_shared, err);
}

/* Parses "1:1,8:0.7", or "none". */
static ti_status parse_contention(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->speeds.contention = NULL;
    if (!strcmp(arg, "none"))
        return TI_OK;
    if (snprintf(o->contention, sizeof o->contention, "%s", arg) >= (int)sizeof o->contention)
        return ti_err_set(err, TI_ERR_USAGE, "--contention: too many values");
    for (char *p = o->contention; (p = strchr(p, ','));)
        *p = ';';
    if (!ti_ranks_check(o->contention)) {
        ti_err_set(err, TI_ERR_USAGE, "--contention: '%s' is not RANKS:SHARE[,RANKS:SHARE]...",
                   arg);
        ti_err_hint(err, "numbers of ranks in ascending order from 1 on, and shares of --speed "
                         "above 0, such as 1:1,8:0.7,16:0.45");
        return TI_ERR_USAGE;
    }
    o->speeds.contention = o->contention;
    return TI_OK;
}

static ti_status parse_watts(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    return ti_watts_parse(arg, "--watts", &o->speeds.watts, err);
}

static ti_status parse_disk(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    return ti_disk_parse(arg, "--disk", &o->speeds.disk, err);
}

static ti_status parse_wan(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    return parse_pair(arg, "--wan", o->wan_text, &o->wan.wan_bandwidth, &o->wan.wan_latency, NULL,
                      err);
}

static ti_status parse_picture(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->picture = arg;
    return arg ? ti_picture_check(arg, err) : TI_OK;
}

static ti_status parse_placement(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->placement_text = arg;
    return ti_placement_parse(arg, &o->placement, err);
}

/* Adds a --cfg.  The eager limit is noted, since lint needs it. */
static ti_status parse_cfg(void *options, const char *text, struct ti_err *err)
{
    struct ti_replay_options *o = options;
    static char copy[TI_REPLAY_CFG_MAX][256];
    const char *colon = strchr(text, ':');
    const char *value = colon ? colon + 1 : "";
    size_t key = colon ? (size_t)(colon - text) : 0;

    if (!key || !*value || strpbrk(text, " \t\n"))
        return ti_err_set(err, TI_ERR_USAGE, "--cfg: '%s' is not KEY:VALUE without blanks", text);
    if (o->ncfg == TI_REPLAY_CFG_MAX || strlen(text) >= sizeof copy[0])
        return ti_err_set(err, TI_ERR_USAGE, "--cfg: too many, or '%.40s...' is too long", text);
    strcpy(copy[o->ncfg], text);
    o->cfg[o->ncfg] = copy[o->ncfg];
    o->ncfg++;
    if (key == strlen("smpi/send-is-detached-thresh") &&
        !strncmp(text, "smpi/send-is-detached-thresh", key))
        return ti_parse_int(value, "--cfg smpi/send-is-detached-thresh", 0, INT_MAX,
                            &o->eager_bytes, err);
    if (!strcmp(text, "smpi/buffering:zero"))
        o->eager_bytes = 0;
    if (!strcmp(text, "smpi/buffering:infty"))
        o->eager_bytes = INT_MAX;
    return TI_OK;
}

static ti_status parse_start(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->start_text = arg;
    return ti_unit_list(arg, TI_UNIT_LATENCY, "--start", TI_REPLAY_JOBS_MOST, o->start_s,
                        &o->nstarts, err);
}

#define LINK_SLICES 10000 /* most of --links */

static ti_status parse_steady(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->steady = arg ? arg : "0.1%";
    return ti_unit_check(o->steady, TI_UNIT_SHARE, "--steady", err);
}

static ti_status parse_links(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;
    char *end = NULL;

    o->links = true;
    o->link_slices = arg ? strtoll(arg, &end, 10) : 0;
    if (arg && (*end || o->link_slices < 2 || o->link_slices > LINK_SLICES))
        return ti_err_set(err, TI_ERR_USAGE, "--links: '%s' is not a number of slices from 2 to %d",
                          arg, LINK_SLICES);
    return TI_OK;
}

static ti_status parse_noise(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    return ti_noise_parse(arg, &o->noise, err);
}

static ti_status parse_trips(void *options, const char *arg, struct ti_err *err)
{
    return ti_trips_add(&((struct ti_replay_options *)options)->trips, arg, err);
}

static ti_status parse_timeline(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    o->timeline = arg;
    return ti_timeline_check(arg, err);
}

static ti_status parse_no_compute(void *options, const char *arg, struct ti_err *err)
{
    struct ti_replay_options *o = options;

    if (arg && strcmp(arg, "yes") != 0 && strcmp(arg, "no") != 0)
        return ti_err_set(err, TI_ERR_USAGE, "--no-compute: '%s' is neither yes nor no", arg);
    o->no_compute = !arg || !strcmp(arg, "yes");
    o->no_compute_chosen = arg != NULL;
    return TI_OK;
}

#define TI_OPT_STRUCT     struct ti_replay_options
#define ENGINE_WORD(name) " " #name

static const struct ti_opt opts[] = {
    TI_OPT_HEADING("Given platform"),
    {0, "platform", "FILE", "SimGrid's platform file (XML, or a compiled .so)",
     TI_OPT_TEXT(platform)},
    {0, "hostfile", "FILE",
     "hosts for the ranks, one per line; NAME:SLOTS for more\n"
     "ranks [default: the platform's hosts, one rank each]",
     TI_OPT_TEXT(hostfile)},
    TI_OPT_HEADING("Generated platform"),
    {0, "topology", "WHAT",
     "cluster, fat-tree:2;4,4;1,2;1,2, torus:4,4,\ndragonfly:3,4;4,3;5,1;2 or hierarchical:8,4,16\n"
     "[default: cluster]",
     TI_OPT_FUNCTION(parse_topology), TI_OPT_GIVEN(made)},
    {0, "sites", "FILE",
     "a host for each node of a sites file, the sites linked\n"
     "by a wide-area network, see tiara-sites(5)",
     TI_OPT_TEXT(sites_path), TI_OPT_GIVEN(made)},
    {0, "hosts", "N", "number of hosts of a cluster [default: one per rank]",
     TI_OPT_INTEGER(hosts, 1, TI_RANKS_MAX), TI_OPT_GIVEN(made)},
    {0, "speed", "SPEED",
     "speed of a host.  An instruction is replayed as a flop,\n"
     "so this is instructions per second [default: " TI_SPEED_DEFAULT "]",
     TI_OPT_QUANTITY(speeds.speed, TI_UNIT_SPEED), TI_OPT_GIVEN(speed_given)},
    {0, "cores", "N", "cores of a host, for the threads of ranks [default: 1]",
     TI_OPT_INTEGER(speeds.cores, 1, 1 << 16), TI_OPT_GIVEN(made)},
    {0, "bandwidth", "BW[,BW]...",
     "bandwidth of a link, or of each level of a fat-tree or\n"
     "hierarchical network, from the hosts up\n"
     "[default: " TI_BANDWIDTH_DEFAULT "]",
     TI_OPT_FUNCTION(parse_bandwidth), TI_OPT_GIVEN(bandwidth_given)},
    {0, "latency", "TIME[,TIME]...",
     "latency of a link, or of each level [default: " TI_LATENCY_DEFAULT "]",
     TI_OPT_FUNCTION(parse_latency), TI_OPT_GIVEN(latency_given)},
    {0, "contention", "RANKS:SHARE[,RANKS:SHARE]...",
     "share of --speed that a core has while so many ranks\n"
     "of its host compute, such as 1:1,8:0.7 [default: none]",
     TI_OPT_FUNCTION(parse_contention), TI_OPT_GIVEN(contention_given)},
    {0, "loopback", "BW,TIME[,BW]",
     "bandwidth and latency within a host, and the bandwidth\n"
     "of all messages within a host together\n"
     "[default: " TI_LOOPBACK_BANDWIDTH_DEFAULT "," TI_LOOPBACK_LATENCY_DEFAULT "]",
     TI_OPT_FUNCTION(parse_loopback), TI_OPT_GIVEN(loopback_given)},
    {0, "wan", "BW,TIME",
     "bandwidth and latency of a site's link to the wide-area\n"
     "network, unless the sites file has them\n"
     "[default: " TI_WAN_BANDWIDTH_DEFAULT "," TI_WAN_LATENCY_DEFAULT "]",
     TI_OPT_FUNCTION(parse_wan), TI_OPT_GIVEN(wan_given)},
    {0, "watts", "IDLE,FULL",
     "power of a host that is idle, and of one whose cores all\n"
     "compute; the result then has the energy in joules",
     TI_OPT_FUNCTION(parse_watts), TI_OPT_GIVEN(made)},
    {0, "disk", "BW,TIME[,shared]",
     "bandwidth and latency of the disk of a host, or of one\n"
     "for all hosts; without this option files take no time",
     TI_OPT_FUNCTION(parse_disk), TI_OPT_GIVEN(made)},
    {0, "calibration", "FILE",
     "speed, bandwidth, latency, loopback and SMPI's settings\n"
     "that ti-calibrate measured; options and --cfg override\n"
     "them",
     TI_OPT_TEXT(calibration)},
    {0, "show-platform", "[=FILE]",
     "describe the platform and exit; draw it into FILE.svg\n"
     "or FILE.dot; needs no TRACE",
     TI_OPT_FUNCTION(parse_picture), TI_OPT_GIVEN(show)},
    TI_OPT_HEADING("Replay"),
    {0, "placement", "HOW",
     "placement of ranks on slots: block, round-robin,\n"
     "random:SEED, by-site, or file:PATH with the host of each\n"
     "rank, one per line [default: block]",
     TI_OPT_FUNCTION(parse_placement)},
    {0, "ranks-per-host", "N", "slots of each host, without a hostfile [default: 1]",
     TI_OPT_INTEGER(ranks_per_host, 1, 1 << 20)},
    {0, "engine", "WHICH",
     "program that replays: tiara (ti-smpi-replay), stock\n"
     "(SimGrid's replay of actions) or auto [default: auto]",
     TI_OPT_CHOICE(engine, 0, "auto" TI_ENGINES(ENGINE_WORD))},
    {0, "wildcards", "HOW",
     "receives with wildcards take messages from the source\n"
     "that matched, or from any [default: matched]",
     TI_OPT_CHOICE(any, 0, "matched any")},
    {0, "collectives", "WHICH",
     "algorithms of collectives: simgrid (linear), tree, or a\n"
     "selector of SimGrid such as ompi or mpich\n"
     "[default: simgrid, above 1024 ranks tree]",
     TI_OPT_WORD(collectives, "simgrid tree ompi mpich mvapich2 impi")},
    {0, "reduce-rate", "BW",
     "bytes per second that the arithmetic of reductions\n"
     "combines, such as 4GBps [default: no limit]",
     TI_OPT_QUANTITY(reduce_rate, TI_UNIT_BANDWIDTH)},
    {0, "copy-rate", "BW",
     "bytes per second with which a rank copies the block\n"
     "that it sends to itself in a collective, such as 8GBps\n"
     "[default: no limit]",
     TI_OPT_QUANTITY(copy_rate, TI_UNIT_BANDWIDTH)},
    {0, "steady", "[=ERROR]",
     "leave out trips of loops once the time of a trip has\n"
     "converged, and add it up instead, with an error of at\n"
     "most ERROR [default: 0.1%]",
     TI_OPT_FUNCTION(parse_steady)},
    {0, "noise", "PART[,PART]...",
     "bursts vary by a standard deviation: 3%, or node:1%,\n"
     "core:2%,burst:3%; calibration or rate takes it from the\n"
     "file of that option [default: none]",
     TI_OPT_FUNCTION(parse_noise)},
    {0, "trips", "LOOP=N",
     "replay the trace as if LOOP, a name that ti-info --phases\n"
     "shows, had N trips; may be given several times",
     TI_OPT_FUNCTION(parse_trips)},
    {0, "seed", "N",
     "of what is drawn: noise, and the order of volumes in a\n"
     "trace that has only statistics of them [default: 0]",
     TI_OPT_INTEGER(seed, 0, INT64_MAX), TI_OPT_GIVEN(seed_given)},
    {0, "no-compute", "[=yes|no]",
     "bursts take no time: infinitely fast processors; a\n"
     "sweep chooses by yes and no",
     TI_OPT_FUNCTION(parse_no_compute)},
    {0, "times", NULL,
     "bursts take their measured durations, on any host\n"
     "(needs a trace of ti-acquire --times)",
     TI_OPT_FLAG(times)},
    {0, "rate", "FILE",
     "bursts take the durations that follow from a rate file,\n"
     "see tiara-rates(5), on hosts of its reference speed",
     TI_OPT_TEXT(rate)},
    {0, "threads", "HOW",
     "if volumes are of all threads: the threads of a rank\n"
     "share one core (sum), have one core each (longest), or\n"
     "share the cores of the host for a rank (auto)\n"
     "[default: auto]",
     TI_OPT_CHOICE(threads, TI_THREADS_AUTO, "auto sum longest")},
    {0, "cfg", "KEY:VALUE", "an option for SimGrid; may be given several times",
     TI_OPT_FUNCTION(parse_cfg)},
    {'n', "lint", NULL, "only check whether the trace can be replayed", TI_OPT_FLAG(lint_only)},
    {0, "keep", "DIR",
     "keep all files in DIR, with a script \"command\" that runs\n"
     "smpirun on them",
     TI_OPT_TEXT(keep)},
    TI_OPT_HEADING("Several jobs"),
    {0, "copies", "N", "replay the trace as N jobs side by side",
     TI_OPT_INTEGER(copies, 1, TI_REPLAY_JOBS_MOST)},
    {0, "start", "TIME[,TIME]...", "start of each job, such as 0s,2.5s [default: 0s]",
     TI_OPT_FUNCTION(parse_start)},
    TI_OPT_HEADING("Many replays"),
    {0, "runs", "N",
     "replay N times, with the seeds 0 to N-1; print the\n"
     "median, its interval and all times; of each point of a\n"
     "sweep, and of each trace that is compared",
     TI_OPT_INTEGER(sweep.runs, 1, TI_SWEEP_POINTS_MAX)},
    {0, "tolerance", "OPTION=X%[,X%]...",
     "find the value of an option that is a number, such as\n"
     "latency, at which the program is slower by X %",
     TI_OPT_FUNCTION(ti__replay_parse_tolerance)},
    {0, "versus", "OTHER",
     "replay the trace OTHER, too, and print in which loops and\n"
     "at which call sites TRACE takes longer or less long",
     TI_OPT_NAME(versus)},
    {0, "scaling", "[=KIND]",
     "of traces with different numbers of ranks: speedup,\n"
     "efficiency, and where time is lost; KIND is strong or weak\n"
     "[default: by the volumes]",
     TI_OPT_FUNCTION(ti__replay_parse_scaling)},
    {0, "sweep", "OPTION=VALUES",
     "replay with each of the values, separated by \"|\", or by\n"
     "commas if the values have none; with several --sweep,\n"
     "all combinations",
     TI_OPT_FUNCTION(ti__replay_parse_sweep)},
    {'o', "output", "DIR", "directory for the results of a sweep, which it resumes",
     TI_OPT_TEXT(sweep.dir)},
    {'j', "jobs", "N",
     "number of replays at a time [default: one for each\n"
     "processor]",
     TI_OPT_INTEGER(sweep.jobs, 1, 1 << 16)},
    {0, "runner", "COMMAND",
     "start each of these replays by a command of the shell,\n"
     "such as 'srun -n1', to which its own is added",
     TI_OPT_TEXT(sweep.runner)},
    {0, "list", NULL, "list the replays of a sweep and exit", TI_OPT_FLAG(sweep.list)},
    TI_OPT_HEADING("Output"),
    {0, "against", "FILE", "compare with real times, which ti-calibrate --measure\nwrites",
     TI_OPT_TEXT(against)},
    {0, "profile", NULL,
     "print how long ranks compute, communicate and wait, by\n"
     "operation and call site",
     TI_OPT_FLAG(profile)},
    {0, "causes", NULL,
     "print the critical path, what its time consists of, and\n"
     "the ten things that would help most",
     TI_OPT_FLAG(causes)},
    {0, "links", "[=SLICES]",
     "print what each link carries, the busiest first; with\n"
     "--json also in each of up to SLICES slices of time",
     TI_OPT_FUNCTION(parse_links)},
    {0, "timeline", "FILE",
     "write what ranks do when, for viewers: NAME.json (Perfetto),\n"
     "NAME.otf2 (Vampir), NAME.paje, or NAME.csv",
     TI_OPT_FUNCTION(parse_timeline)},
    {0, "debug-dir", "DIR[:DIR]...",
     "with --profile, --causes, --timeline, --trips, --versus\n"
     "and --scaling: look here first for the program that was\n"
     "traced, its libraries and their debug information",
     TI_OPT_NAME(debug_dir)},
    {0, "width", "N", TI_WIDTH_HELP, TI_OPT_INTEGER(width, 0, 1 << 16)},
    {'q', "quiet", NULL, "print only errors", TI_OPT_FLAG(quiet)},
    {'v', "verbose", NULL, "show what smpirun prints", TI_OPT_FLAG(verbose)},
    {0, "json", NULL, "print the result as JSON", TI_OPT_FLAG(json)},
    TI_OPT_PROGRESS(progress),
    TI_OPT_END};

/* Keeps an option for the replays of a sweep, unless it only affects output. */
static void keep_option(void *options, const struct ti_opt *opt, const char *arg)
{
    struct ti_replay_options *o = options;

    if (ti_sweep_passes(opt))
        ti_args_addf(&o->sweep.base, "--%s%s%s", opt->name, arg ? "=" : "", arg ? arg : "");
}

const struct ti_cli ti_replay_cli = {
    .tool = "ti-replay",
    .what = "Simulate how long a traced application would take on another platform.",
    .usage = "[OPTION]... TRACE...",
    .examples = "  ti-replay lu.tib --platform cluster.xml\n"
                "  ti-replay lu.tib --topology 'fat-tree:2;4,4;1,2;1,2' --speed 8Gf --placement "
                "random:42\n"
                "  ti-replay --show-platform=tree.svg --topology 'fat-tree:2;4,4;1,2;1,2'\n"
                "  ti-replay lu.tib --sweep 'topology=cluster|torus:4,4' --sweep "
                "speed=4Gf,8Gf -o study\n"
                "  ti-replay lu.tib cg.tib --start 0s,10s --profile\n"
                "  ti-replay new.tib --versus old.tib\n"
                "  ti-replay lu.4.tib lu.16.tib lu.64.tib --scaling\n"
                "  ti-replay --lint lu.tib\n",
    .opts = opts,
    .on_option = keep_option,
    .after = "TRACE is a bundle, the directory of a run, or a rank file.\n"
             "\n"
             "Exit status: 0 success, 1 some replays of a sweep failed, 2 usage,\n"
             "3 the trace or the platform cannot be used, 4 local file, memory or smpirun\n"
             "trouble.  More: man ti-replay\n"};

/* Makes the trace of --versus the second one. */
static void add_versus(struct ti_replay_options *o)
{
    static char *both[2];

    both[0] = o->trace[0];
    both[1] = (char *)(uintptr_t)o->versus;
    o->trace = both;
    o->ntraces = 2;
}

/* Returns TI_CLI_END, or the exit status. */
int ti_replay_parse(struct ti_replay_options *o, int argc, char **argv)
{
    static double start_s[TI_REPLAY_JOBS_MOST];
    int st;

    o->start_s = start_s;
    o->noise = TI_NOISE_NONE;
    o->width = -1;
    o->eager_bytes = EAGER_DEFAULT;
    o->topology.params = "";
    o->topology_text = "cluster";
    o->placement_text = "block";
    o->speeds = (struct ti_speeds){.speed = TI_SPEED_DEFAULT,
                                   .bandwidth = {1, {TI_BANDWIDTH_DEFAULT}},
                                   .latency = {1, {TI_LATENCY_DEFAULT}},
                                   .loopback_bandwidth = TI_LOOPBACK_BANDWIDTH_DEFAULT,
                                   .loopback_latency = TI_LOOPBACK_LATENCY_DEFAULT,
                                   .cores = 1};
    o->wan = (struct ti_sites_speeds){&o->speeds, TI_WAN_BANDWIDTH_DEFAULT, TI_WAN_LATENCY_DEFAULT};
    st = ti_cli_parse(&ti_replay_cli, argc, argv, o);
    if (st != TI_CLI_END)
        return st;
    o->made |= o->speed_given || o->bandwidth_given || o->latency_given || o->loopback_given ||
               o->wan_given || o->contention_given;
    o->trace = argv + ti_cli_operand();
    o->ntraces = argc - ti_cli_operand();
    if (o->versus && o->ntraces == 1)
        add_versus(o);
    st = ti__replay_check_options(o);
    return st == TI_CLI_END && !o->ntolerances ? ti__replay_add_runs(o) : st;
}

/* Takes values of the calibration that no option gives. */
ti_status ti_replay_calibrate(struct ti_replay_options *o, struct ti_err *err)
{
    struct ti_calibrated *c = &o->calibrated;
    ti_status st;

    if (!o->calibration)
        return TI_OK;
    st = ti_calibrated_read(o->calibration, &o->topology, c, err);
    if (st)
        return st;
    if (!o->speed_given && *c->speed)
        o->speeds.speed = c->speed;
    if (!o->bandwidth_given && *c->bandwidth)
        strcpy(o->speeds.bandwidth.text[0], c->bandwidth);
    if (!o->latency_given && *c->latency)
        strcpy(o->speeds.latency.text[0], c->latency);
    if (!o->loopback_given && *c->loopback_bandwidth) {
        o->speeds.loopback_bandwidth = c->loopback_bandwidth;
        o->speeds.loopback_latency = c->loopback_latency;
    }
    if (!o->contention_given && !o->platform && !o->times && !o->no_compute && !o->rate)
        o->speeds.contention = c->contention;
    if (!o->copy_rate && *c->copy)
        o->copy_rate = c->copy;
    if (c->file.network.eager >= 0 && !ti_calibrated_eager_given(o->cfg, o->ncfg))
        o->eager_bytes = c->file.network.eager < INT_MAX ? c->file.network.eager + 1 : INT_MAX;
    return ti__replay_calibrate_noise(o, err);
}

ti_status ti_replay_read_rates(struct ti_replay_options *o, struct ti_err *err)
{
    char *more = NULL;
    ti_status st;

    if (!o->rate)
        return TI_OK;
    st = ti_rates_read(o->rate, &o->rates, &more, err);
    for (char *line = more, *end; line && (end = strchr(line, '\n')); line = end + 1)
        ti_say("%.*s", (int)(end - line), line);
    free(more);
    if (st)
        return st;
    snprintf(o->reference, sizeof o->reference, "%.15gGf", o->rates->reference / 1e9);
    if (!o->speed_given)
        o->speeds.speed = o->reference;
    return TI_OK;
}

void ti_replay_speed_for(struct ti_replay_options *o, const struct ti_volumes *v)
{
    if (o->speeds.speed == o->calibrated.speed && strcmp(v->unit, "nanoseconds") == 0)
        o->speeds.speed = TI_SPEED_DEFAULT;
    if (o->speeds.contention && o->speeds.contention == o->calibrated.contention &&
        strcmp(v->unit, "nanoseconds") == 0)
        o->speeds.contention = NULL;
}
