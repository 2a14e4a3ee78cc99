/*
 * ti-replay: the simulated time of a trace.
 *
 *   options -> hosts and platform -> lint -> lower -> smpirun -> verdict -> report
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/text.h"
#include "common/cli.h"
#include "replay-bridge/against.h"
#include "replay-bridge/calibrated.h"
#include "replay-bridge/engines.h"
#include "replay-bridge/hosts.h"
#include "replay-bridge/lint.h"
#include "replay-bridge/lower.h"
#include "replay-bridge/picture.h"
#include "replay-bridge/placement.h"
#include "replay-bridge/platform.h"
#include "replay-bridge/platform_sites.h"
#include "replay-bridge/scratch.h"
#include "replay-bridge/shape.h"
#include "replay-bridge/simulate.h"
#include "replay-bridge/state.h"
#include "replay-bridge/sweep_command.h"
#include "replay-bridge/verdict.h"

#define CFG_MAX       64
#define MANY_RANKS    1024
#define WAITING_MOST  12    /* ranks named after a deadlock */
#define EAGER_DEFAULT 65536 /* smpi/send-is-detached-thresh */

enum {
    OPT_PLATFORM = TI_OPT_LONG,
    OPT_HOSTFILE,
    OPT_TOPOLOGY,
    OPT_HOSTS,
    OPT_SPEED,
    OPT_BANDWIDTH,
    OPT_LATENCY,
    OPT_LOOPBACK,
    OPT_SITES,
    OPT_WAN,
    OPT_SHOW_PLATFORM,
    OPT_PLACEMENT,
    OPT_RANKS_PER_HOST,
    OPT_KEEP,
    OPT_CFG,
    OPT_ENGINE,
    OPT_WILDCARDS,
    OPT_NO_COMPUTE,
    OPT_COLLECTIVES,
    OPT_TIMES,
    OPT_CALIBRATION,
    OPT_AGAINST,
    OPT_THREADS,
    OPT_CORES,
    OPT_JSON,
    OPT_SWEEP,
    OPT_LIST,
    OPT_NO_PROGRESS
};

static const struct ti_opt opts[] = {
    TI_OPT_HEADING("Platform, given"),
    {OPT_PLATFORM, "platform", "FILE", "SimGrid's description of it (XML, or a compiled .so)"},
    {OPT_HOSTFILE, "hostfile", "FILE",
     "hosts for the ranks, one a line, NAME:SLOTS for several\n[default: the platform's hosts, "
     "a rank on each]"},
    TI_OPT_HEADING("Platform, made"),
    {OPT_TOPOLOGY, "topology", "WHAT",
     "cluster, fat-tree:2;4,4;1,2;1,2, torus:4,4,\ndragonfly:3,4;4,3;5,1;2 or hierarchical:8,4,16\n"
     "[default: cluster]"},
    {OPT_SITES, "sites", "FILE",
     "the nodes of a sites file, its sites connected by a\nwide-area network, see "
     "tiara-sites(5)"},
    {OPT_HOSTS, "hosts", "N", "hosts of a cluster [default: one a rank]"},
    {OPT_SPEED, "speed", "SPEED",
     "of a host; an instruction is replayed as a flop, so\nthis is instructions a second "
     "[default: " TI_SPEED_DEFAULT "]"},
    {OPT_CORES, "cores", "N", "cores of a host, for the threads of ranks [default: 1]"},
    {OPT_BANDWIDTH, "bandwidth", "BW[,BW]...",
     "of a link, or one for each level of a fat-tree or\nhierarchical network, from the hosts up\n"
     "[default: " TI_BANDWIDTH_DEFAULT "]"},
    {OPT_LATENCY, "latency", "TIME[,TIME]...", "likewise [default: " TI_LATENCY_DEFAULT "]"},
    {OPT_LOOPBACK, "loopback", "BW,TIME",
     "bandwidth and latency within a host\n[default: SimGrid's, 498MBps,15us]"},
    {OPT_WAN, "wan", "BW,TIME",
     "of a site's link to the wide-area network, where the\nsites file does not say\n"
     "[default: " TI_WAN_BANDWIDTH_DEFAULT "," TI_WAN_LATENCY_DEFAULT "]"},
    {OPT_CALIBRATION, "calibration", "FILE",
     "speed, bandwidth, latency, loopback and SMPI's settings\nas ti-calibrate measured them; "
     "options and --cfg win"},
    {OPT_SHOW_PLATFORM, "show-platform", "[=FILE]",
     "describe the platform and exit; draw it into FILE.svg\nor FILE.dot; needs no TRACE"},
    TI_OPT_HEADING("Replay"),
    {OPT_PLACEMENT, "placement", "HOW",
     "ranks on slots: block, round-robin, random:SEED,\nby-site, or file:PATH, a host a line for "
     "each rank\n[default: block]"},
    {OPT_RANKS_PER_HOST, "ranks-per-host", "N",
     "slots of each host, without a hostfile [default: 1]"},
    {OPT_ENGINE, "engine", "WHICH",
     "what replays: tiara (ti-smpi-replay), stock (SimGrid's\nreplay of actions) or auto "
     "[default: auto]"},
    {OPT_WILDCARDS, "wildcards", "HOW",
     "receives with wildcards take from the source that\nmatched, or from any [default: matched]"},
    {OPT_COLLECTIVES, "collectives", "WHICH",
     "simgrid (linear algorithms), tree, or SimGrid's selector\nof this name, as ompi or mpich "
     "[default: simgrid, above\n1024 ranks tree]"},
    {OPT_NO_COMPUTE, "no-compute", NULL, "bursts take no time: infinitely fast processors"},
    {OPT_TIMES, "times", NULL,
     "bursts take as long as they were measured, on any host\n(a trace of ti-acquire --times)"},
    {OPT_THREADS, "threads", "HOW",
     "where volumes are of all threads: the threads of a rank\nshare a core (sum), have each its "
     "own "
     "(longest), or share\nthe cores that the host has for a rank [default: auto]"},
    {OPT_CFG, "cfg", "KEY:VALUE", "an option of SimGrid's; may be given again"},
    {'n', "lint", NULL, "only check whether the trace can be replayed"},
    {OPT_KEEP, "keep", "DIR",
     "leave all files in DIR, with a script \"command\" that\nruns "
     "smpirun on them"},
    TI_OPT_HEADING("Sweep"),
    {OPT_SWEEP, "sweep", "OPTION=VALUES",
     "replay with each of the values, separated by \"|\" or,\nwhere these have none, commas; again "
     "for another\n"
     "option: all combinations"},
    {'o', "output", "DIR", "where a sweep keeps its results, and finds them again"},
    {'j', "jobs", "N", "replays at once [default: one for each processor]"},
    {OPT_LIST, "list", NULL, "list the replays of a sweep, run none"},
    TI_OPT_HEADING("Output"),
    {OPT_AGAINST, "against", "FILE",
     "compare with real times, which ti-calibrate --measure\nwrites"},
    {'q', "quiet", NULL, "errors only"},
    {'v', "verbose", NULL, "show what smpirun prints"},
    {OPT_JSON, "json", NULL, "the result as JSON"},
    {OPT_NO_PROGRESS, "no-progress", NULL, "no progress line [default when stderr is no terminal]"},
    TI_OPT_END};

static const struct ti_cli cli = {
    .tool = "ti-replay",
    .what = "Tell how long a traced application would take on another platform.",
    .usage = "[OPTION]... TRACE",
    .examples = "  ti-replay lu.tib --platform cluster.xml\n"
                "  ti-replay lu.tib --topology 'fat-tree:2;4,4;1,2;1,2' --speed 8Gf --placement "
                "random:42\n"
                "  ti-replay --show-platform=tree.svg --topology 'fat-tree:2;4,4;1,2;1,2'\n"
                "  ti-replay lu.tib --sweep 'topology=cluster|torus:4,4' --sweep "
                "speed=4Gf,8Gf -o study\n"
                "  ti-replay --lint lu.tib\n",
    .opts = opts,
    .after = "TRACE is a bundle, the directory of a run, or a rank file.\n"
             "\n"
             "Exit status: 0 success, 1 some replays of a sweep failed, 2 usage,\n"
             "3 the trace or the platform cannot be used, 4 local file, memory or smpirun\n"
             "trouble.  More: man ti-replay\n"};

struct options {
    const char *trace;
    const char *platform, *hostfile, *keep;
    struct ti_topology topology;
    const char *topology_text;
    int64_t hosts;
    struct ti_speeds speeds;
    char loopback[128];
    const char *sites_path;
    struct ti_sites_speeds wan;
    char wan_text[128];
    const char *picture; /* NULL: draw none */
    bool show, wan_given;
    bool made; /* an option of a made platform was given */
    struct ti_placement placement;
    const char *placement_text;
    int64_t ranks_per_host; /* 0: not given */
    char *cfg[CFG_MAX];
    int ncfg;
    int64_t eager_bytes;
    enum { THREADS_AUTO, THREADS_SUM, THREADS_LONGEST } threads;
    enum { ENGINE_AUTO, ENGINE_STOCK, ENGINE_TIARA } engine;
    const char *collectives;
    bool any, no_compute; /* wildcards are posted as such; bursts take no time */
    struct ti_sweep_command sweep;
    const char *calibration, *against; /* NULL: not given */
    struct ti_calibrated calibrated;
    bool bandwidth_given, latency_given; /* on the command line, as `speed_given` */
    bool speed_given, times, lint_only, quiet, verbose, json, no_progress;
};

/* What the steps find out; printed at the end. */
struct result {
    int64_t np;
    struct ti_lint lint;
    struct ti_problems problems;
    struct ti_verdict verdict;
    uint64_t actions;
    struct ti_bursts bursts;
    enum ti_engine engine;
    struct ti_engine_files files;
    char *replayer; /* its command */
    struct ti_replay_state *state;
    const char *collectives;
    json_t *waiting;       /* ranks that did not come to their end */
    struct ti_against against; /* of --against */
    struct ti_hosts hosts; /* for the ranks */
    uint32_t *host_of;     /* index of the host of each rank */
    struct ti_sites *sites; /* of --sites; NULL: none */
    int64_t made_hosts;    /* of a platform that is made */
    bool linted, ran, simulated;
    bool runnable;                 /* all that smpirun needs is written */
    char platform[PATH_MAX + 256]; /* in words */
    char platform_file[PATH_MAX];  /* as smpirun is given it */
    double wall_s;
};

/* ---- options ---- */

/* "BANDWIDTH,LATENCY", which `copy` keeps. */
static ti_status take_pair(const char *text, const char *option, char copy[128],
                           const char **bandwidth, const char **latency, struct ti_err *err)
{
    char *comma;
    ti_status st;

    if (snprintf(copy, 128, "%s", text) >= 128 || !(comma = strchr(copy, ',')))
        return ti_err_set(err, TI_ERR_USAGE, "%s: '%s' is not BANDWIDTH,LATENCY", option, text);
    *comma = '\0';
    *bandwidth = copy;
    *latency = comma + 1;
    st = ti_unit_check(*bandwidth, TI_UNIT_BANDWIDTH, option, err);
    return st ? st : ti_unit_check(*latency, TI_UNIT_LATENCY, option, err);
}

/* One more --cfg; what it says of eager sends decides what can be expressed. */
static ti_status take_cfg(struct options *o, const char *text, struct ti_err *err)
{
    static char copy[CFG_MAX][256];
    const char *colon = strchr(text, ':');
    const char *value = colon ? colon + 1 : "";
    size_t key = colon ? (size_t)(colon - text) : 0;

    if (!key || !*value || strpbrk(text, " \t\n"))
        return ti_err_set(err, TI_ERR_USAGE, "--cfg: '%s' is not KEY:VALUE without blanks", text);
    if (o->ncfg == CFG_MAX || strlen(text) >= sizeof copy[0])
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

/* Which of the words in `list`, separated by blanks, `text` is; -1: none. */
static int word_of(const char *list, const char *text)
{
    for (int i = 0; *list; i++) {
        size_t n = strcspn(list, " ");

        if (strlen(text) == n && !strncmp(list, text, n))
            return i;
        list += n + (list[n] == ' ');
    }
    return -1;
}

static ti_status take_word(const char *option, const char *list, const char *text, int *out,
                           struct ti_err *err)
{
    *out = word_of(list, text);
    return *out >= 0
               ? TI_OK
               : ti_err_set(err, TI_ERR_USAGE, "%s is one of: %s; not '%s'", option, list, text);
}

static ti_status take_option(struct options *o, int id, const char *arg, struct ti_err *err);

/* One more --sweep, each value of which its option must take. */
static ti_status take_sweep(struct options *o, const char *text, struct ti_err *err)
{
    struct ti_sweep *sweep = &o->sweep.sweep;
    ti_status st = ti_sweep_add(sweep, text, opts, err);

    for (int v = 0; !st && v < sweep->choice[sweep->n - 1].value.n; v++) {
        struct options trial = *o;

        st = take_option(&trial, sweep->choice[sweep->n - 1].opt->id,
                         sweep->choice[sweep->n - 1].value.v[v], err);
    }
    return st;
}

static ti_status take_option(struct options *o, int id, const char *arg, struct ti_err *err)
{
    ti_status st;
    int word;

    switch (id) {
    case OPT_PLATFORM:
        o->platform = arg;
        return TI_OK;
    case OPT_HOSTFILE:
        o->hostfile = arg;
        return TI_OK;
    case OPT_TOPOLOGY:
        o->made = true;
        o->topology_text = arg;
        return ti_topology_parse(arg, &o->topology, err);
    case OPT_HOSTS:
        o->made = true;
        return ti_parse_int(arg, "--hosts", 1, TI_RANKS_MAX, &o->hosts, err);
    case OPT_SPEED:
        o->made = o->speed_given = true;
        o->speeds.speed = arg;
        return ti_unit_check(arg, TI_UNIT_SPEED, "--speed", err);
    case OPT_BANDWIDTH:
        o->made = o->bandwidth_given = true;
        return ti_rates_parse(arg, TI_UNIT_BANDWIDTH, "--bandwidth", &o->speeds.bandwidth, err);
    case OPT_LATENCY:
        o->made = o->latency_given = true;
        return ti_rates_parse(arg, TI_UNIT_LATENCY, "--latency", &o->speeds.latency, err);
    case OPT_LOOPBACK:
        o->made = true;
        return take_pair(arg, "--loopback", o->loopback, &o->speeds.loopback_bandwidth,
                         &o->speeds.loopback_latency, err);
    case OPT_SITES:
        o->made = true;
        o->sites_path = arg;
        return TI_OK;
    case OPT_WAN:
        o->made = o->wan_given = true;
        return take_pair(arg, "--wan", o->wan_text, &o->wan.wan_bandwidth, &o->wan.wan_latency,
                         err);
    case OPT_SHOW_PLATFORM:
        o->show = true;
        o->picture = arg;
        return arg ? ti_picture_check(arg, err) : TI_OK;
    case OPT_PLACEMENT:
        o->placement_text = arg;
        return ti_placement_parse(arg, &o->placement, err);
    case OPT_RANKS_PER_HOST:
        return ti_parse_int(arg, "--ranks-per-host", 1, 1 << 20, &o->ranks_per_host, err);
    case OPT_KEEP:
        o->keep = arg;
        return TI_OK;
    case OPT_CFG:
        return take_cfg(o, arg, err);
    case OPT_CALIBRATION:
        o->calibration = arg;
        return TI_OK;
    case OPT_AGAINST:
        o->against = arg;
        return TI_OK;
    case OPT_TIMES:
        o->times = true;
        return TI_OK;
    case OPT_THREADS:
        st = take_word("--threads", "auto sum longest", arg, &word, err);
        o->threads = word;
        return st;
    case OPT_ENGINE:
        st = take_word("--engine", "auto stock tiara", arg, &word, err);
        o->engine = word;
        return st;
    case OPT_WILDCARDS:
        st = take_word("--wildcards", "matched any", arg, &word, err);
        o->any = word == 1;
        return st;
    case OPT_COLLECTIVES:
        o->collectives = arg;
        return take_word("--collectives", "simgrid tree ompi mpich mvapich2 impi", arg, &word, err);
    case OPT_NO_COMPUTE:
        o->no_compute = true;
        return TI_OK;
    case OPT_CORES:
        o->made = true;
        return ti_parse_int(arg, "--cores", 1, 1 << 16, &o->speeds.cores, err);
    case OPT_SWEEP:
        return take_sweep(o, arg, err);
    case 'o':
        o->sweep.dir = arg;
        return TI_OK;
    case 'j':
        return ti_parse_int(arg, "--jobs", 1, 1 << 16, &o->sweep.jobs, err);
    case OPT_LIST:
        o->sweep.list = true;
        return TI_OK;
    case OPT_JSON:
        o->json = true;
        return TI_OK;
    case OPT_NO_PROGRESS:
        o->no_progress = true;
        return TI_OK;
    case 'n':
        o->lint_only = true;
        return TI_OK;
    case 'q':
        o->quiet = true;
        return TI_OK;
    case 'v':
        o->verbose = true;
        return TI_OK;
    }
    TI_BUG("an option without a case");
}

/* Options of made platforms that do not go together. */
static ti_status check_made(const struct options *o, struct ti_err *err)
{
    if (o->sites_path && (strcmp(o->topology_text, "cluster") != 0 || o->hosts))
        return ti_err_set(err, TI_ERR_USAGE,
                          "--sites says which hosts there are; --topology and --hosts make others");
    if (o->wan_given && !o->sites_path)
        return ti_err_set(err, TI_ERR_USAGE, "--wan connects the sites of --sites");
    if (o->picture && o->platform)
        return ti_err_set(err, TI_ERR_USAGE,
                          "--show-platform=FILE draws platforms that are made, not '%s'",
                          o->platform);
    return ti_platform_check(&o->topology, &o->speeds, err);
}

/* Keep an option for the replays of a sweep, unless it is about what is shown. */
static void keep_option(struct options *o, int id, const char *arg)
{
    static const int others[] = {
        OPT_SWEEP, OPT_LIST, OPT_KEEP, OPT_SHOW_PLATFORM, OPT_JSON, OPT_NO_PROGRESS, 'n', 'o',
        'j',       'q',      'v'};
    const struct ti_opt *opt = opts;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] == id)
            return;
    while (opt->id != id)
        opt++;
    ti_args_addf(&o->sweep.base, "--%s%s%s", opt->name, arg ? "=" : "", arg ? arg : "");
}

/* What does not go together with a sweep, or without: TI_CLI_END, or how the program shall end. */
static int check_sweep(const struct options *o)
{
    const struct ti_sweep_command *sweep = &o->sweep;

    if (!sweep->sweep.n)
        return sweep->dir || sweep->jobs || sweep->list
                   ? (int)ti_cli_usage(&cli, "--output, --jobs and --list are for a --sweep")
                   : TI_CLI_END;
    if (o->keep || o->lint_only || o->show)
        return (int)ti_cli_usage(&cli, "--keep, --lint and --show-platform are not for a --sweep");
    if (!sweep->dir && !sweep->list)
        return (int)ti_cli_usage(&cli, "--sweep: no folder is given for the results, -o DIR");
    return TI_CLI_END;
}

/* What does not go together: TI_CLI_END, or how the program shall end. */
static int check_options(const struct options *o, int n, char **operand)
{
    struct ti_err err = {0};

    if (n > 1)
        return (int)ti_cli_usage(&cli, "more than one trace given");
    if (!n && !o->show)
        return (int)ti_cli_usage(&cli, "no trace given");
    if (o->show && !o->picture && n && ti_picture_check(operand[0], &err) == TI_OK)
        return (int)ti_cli_usage(&cli, "'%s' is a picture: write --show-platform=%s", operand[0],
                                 operand[0]);
    if (check_sweep(o) != TI_CLI_END)
        return TI_ERR_USAGE;
    if (o->sweep.sweep.n) /* each replay checks its own options */
        return TI_CLI_END;
    if (o->platform && o->made)
        return (int)ti_cli_usage(&cli, "--platform describes all; --topology, --sites, --hosts, "
                                       "--speed, --cores, --bandwidth, --latency, --loopback and "
                                       "--wan make another");
    if (check_made(o, &err) != TI_OK)
        return (int)(err.hint[0] ? ti_cli_fail(&cli, TI_ERR_USAGE, &err)
                                 : ti_cli_usage(&cli, "%s", err.text));
    if (o->engine == ENGINE_STOCK && o->any)
        return (int)ti_cli_usage(&cli, "--wildcards any needs --engine tiara");
    if (o->no_compute && (o->times || o->threads || o->speed_given))
        return (int)ti_cli_usage(&cli, "with --no-compute, bursts take no time, whatever the %s",
                                 o->times     ? "--times"
                                 : o->threads ? "--threads"
                                              : "--speed");
    if (o->ranks_per_host && o->hostfile)
        return (int)ti_cli_usage(&cli, "--ranks-per-host: the --hostfile says how many ranks a "
                                       "host takes");
    if (o->placement.kind == TI_PLACE_BY_SITE && !o->sites_path)
        return (int)ti_cli_usage(&cli, "--placement by-site is for the sites of --sites");
    if (o->times && o->threads)
        return (int)ti_cli_usage(&cli, "with --times, bursts take as long as they did, whatever "
                                       "the --threads");
    if (o->times && o->speed_given)
        return (int)ti_cli_usage(&cli, "with --times, bursts take as long as they did, whatever "
                                       "the --speed");
    if (o->hosts && o->topology.hosts && o->hosts != o->topology.hosts)
        return (int)ti_cli_usage(&cli, "--hosts: %s has %lld", o->topology_text,
                                 (long long)o->topology.hosts);
    return TI_CLI_END;
}

/* TI_CLI_END, or how the program shall end. */
static int parse(struct options *o, int argc, char **argv)
{
    struct ti_err err = {0};
    const char *arg;
    int id, end;

    o->eager_bytes = EAGER_DEFAULT;
    o->topology.params = "";
    o->topology_text = "cluster";
    o->placement_text = "block";
    o->speeds = (struct ti_speeds){.speed = TI_SPEED_DEFAULT,
                                   .bandwidth = {1, {TI_BANDWIDTH_DEFAULT}},
                                   .latency = {1, {TI_LATENCY_DEFAULT}},
                                   .cores = 1};
    o->wan = (struct ti_sites_speeds){&o->speeds, TI_WAN_BANDWIDTH_DEFAULT, TI_WAN_LATENCY_DEFAULT};
    while ((id = ti_cli_next(&cli, argc, argv, &arg)) >= 0) {
        keep_option(o, id, arg);
        if (take_option(o, id, arg, &err) != TI_OK)
            return (int)(err.hint[0] ? ti_cli_fail(&cli, TI_ERR_USAGE, &err)
                                     : ti_cli_usage(&cli, "%s", err.text));
    }
    if (id == TI_CLI_EXIT_OK)
        return TI_OK;
    if (id == TI_CLI_EXIT_USAGE)
        return TI_ERR_USAGE;
    end = check_options(o, argc - ti_cli_operand(), argv + ti_cli_operand());
    o->trace = argv[ti_cli_operand()]; /* NULL if there is none */
    return end;
}

/* What the calibration has and no option gives. */
static ti_status calibrate(struct options *o, struct ti_err *err)
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
    if (!o->speeds.loopback_bandwidth && *c->loopback_bandwidth) {
        o->speeds.loopback_bandwidth = c->loopback_bandwidth;
        o->speeds.loopback_latency = c->loopback_latency;
    }
    if (c->file.network.eager >= 0 && !ti_calibrated_eager_given(o->cfg, o->ncfg))
        o->eager_bytes = c->file.network.eager < INT_MAX ? c->file.network.eager + 1 : INT_MAX;
    return TI_OK;
}

/* The calibrated speed is instructions a second: volumes that are times keep the default. */
static void speed_for(struct options *o, const struct ti_volumes *v)
{
    if (o->speeds.speed == o->calibrated.speed && strcmp(v->unit, "nanoseconds") == 0)
        o->speeds.speed = TI_SPEED_DEFAULT;
}

/* ---- platform and hosts ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

/* A platform of the user's: its absolute name, or where smpirun would split
 * that, a link to it in the scratch directory. */
static ti_status use_platform(const struct options *o, struct result *res, struct ti_err *err)
{
    const char *link = ends_with(o->platform, ".so") ? "platform.so" : TI_SIM_PLATFORM;
    char real[PATH_MAX];

    if (!realpath(o->platform, real))
        return ti_err_errno(err, TI_ERR_IO, "cannot read the platform '%s'", o->platform);
    snprintf(res->platform, sizeof res->platform, "%s", o->platform);
    if (!strpbrk(real, " \t\n")) {
        snprintf(res->platform_file, sizeof res->platform_file, "%s", real);
        return TI_OK;
    }
    snprintf(res->platform_file, sizeof res->platform_file, "%s", link);
    if (symlink(real, ti_scratch_path(link)) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot link to '%s'", real);
    return TI_OK;
}

/* A made platform in words. */
static void name_made(const struct options *o, int64_t hosts, struct result *res)
{
    FILE *f = fmemopen(res->platform, sizeof res->platform, "w");

    if (!f)
        return;
    fprintf(f, "%s of %lld hosts", o->sites_path ? o->sites_path : o->topology_text,
            (long long)hosts);
    if (res->sites) {
        fprintf(f, " at %d site%s", res->sites->nsites, res->sites->nsites == 1 ? "" : "s");
    } else {
        fprintf(f, ", %s", o->speeds.speed);
        for (int i = 0; i < o->speeds.bandwidth.n; i++)
            fprintf(f, "%s%s", i ? "," : ", ", o->speeds.bandwidth.text[i]);
        for (int i = 0; i < o->speeds.latency.n; i++)
            fprintf(f, "%s%s", i ? "," : ", ", o->speeds.latency.text[i]);
    }
    fclose(f);
}

static ti_status make_platform(const struct options *o, int64_t hosts, struct result *res,
                               struct ti_err *err)
{
    const char *path = ti_scratch_path(TI_SIM_PLATFORM);
    FILE *f = fopen(path, "we");
    bool bad;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    if (res->sites)
        ti_platform_write_sites(f, res->sites, &o->wan);
    else
        ti_platform_write(f, &o->topology, hosts, &o->speeds);
    bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    name_made(o, hosts, res);
    strcpy(res->platform_file, TI_SIM_PLATFORM);
    return TI_OK;
}

/* What else is wrong with the file, or odd, is said at once. */
static ti_status read_sites(const struct options *o, struct result *res, struct ti_err *err)
{
    char *more = NULL;
    ti_status st = ti_sites_read(o->sites_path, &res->sites, &more, err);

    for (char *line = more, *end; line && (end = strchr(line, '\n')); line = end + 1)
        ti_say("%.*s", (int)(end - line), line);
    free(more);
    return st;
}

/* Of a cluster whose hosts are not counted by an option. */
static int64_t hosts_needed(const struct options *o, int64_t np)
{
    int64_t each = o->ranks_per_host ? o->ranks_per_host : 1;

    return (np + each - 1) / each;
}

/* The hosts of the platform; *sure: it has no others. */
static ti_status platform_hosts(const struct options *o, struct result *res, struct ti_hosts *hosts,
                                bool *sure, struct ti_err *err)
{
    *sure = true;
    if (o->sites_path) {
        ti_status st = read_sites(o, res, err);

        if (!st)
            ti_hosts_of_sites(hosts, res->sites, &o->wan);
        return st;
    }
    if (!o->platform) {
        int64_t n = o->topology.hosts ? o->topology.hosts
                    : o->hosts        ? o->hosts
                                      : hosts_needed(o, res->np);

        ti_hosts_generated(hosts, n, o->speeds.cores);
        return TI_OK;
    }
    if (ends_with(o->platform, ".so")) {
        *sure = false;
        return access(o->platform, R_OK) == 0
                   ? TI_OK
                   : ti_err_errno(err, TI_ERR_IO, "cannot read the platform '%s'", o->platform);
    }
    return ti_hosts_in_platform(o->platform, hosts, sure, err);
}

static ti_status write_hostfile(const struct result *res, struct ti_err *err)
{
    const char *path = ti_scratch_path(TI_SIM_HOSTS);
    FILE *f = fopen(path, "we");
    bool bad;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    ti_place_write(&res->hosts, res->host_of, res->np, f);
    bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    return TI_OK;
}

/* Why the platform has no hosts that we can find. */
static ti_status no_hosts(const char *path, struct ti_err *err)
{
    FILE *f = fopen(path, "re");
    bool begins = false, ends = false;
    char *line = NULL;
    size_t room = 0;

    while (f && getline(&line, &room, f) >= 0) {
        begins = begins || strstr(line, "<platform");
        ends = ends || strstr(line, "</platform>");
    }
    free(line);
    if (f)
        fclose(f);
    if (!begins)
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' is no platform of SimGrid: there is no <platform> in it", path);
    if (!ends)
        return ti_err_set(err, TI_ERR_INPUT,
                          "the platform '%s' is malformed, or cut off: it has no </platform>", path);
    ti_err_set(err, TI_ERR_INPUT, "no hosts are found in the platform '%s'", path);
    ti_err_hint(err, "list them in a --hostfile");
    return TI_ERR_INPUT;
}

/* The hosts that ranks may use: those of the platform, or of the hostfile. */
static ti_status take_hosts(const struct options *o, struct result *res,
                            const struct ti_hosts *platform, bool sure, struct ti_err *err)
{
    ti_status st;

    if (o->hostfile) {
        st = ti_hosts_read(o->hostfile, &res->hosts, err);
        return st || !sure || !platform->n
                   ? st
                   : ti_hosts_known(&res->hosts, platform, o->hostfile, err);
    }
    for (size_t i = 0; i < platform->n; i++) {
        const struct ti_host *host = &platform->list[i];

        ti_hosts_add(&res->hosts, host->name, host->cores);
        res->hosts.list[i].site = host->site;
        res->hosts.list[i].slots = o->ranks_per_host ? o->ranks_per_host : 1;
    }
    return TI_OK;
}

/* Ranks go where the placement file says; the platform's own slots are no limit then. */
static ti_status take_placement_file(const struct options *o, struct result *res,
                                     const struct ti_hosts *platform, bool sure, struct ti_err *err)
{
    bool limited = o->hostfile || o->ranks_per_host;
    struct ti_hosts placed;
    ti_status st = ti_placement_read(
        o->placement.path, res->np, sure && platform->n ? platform : NULL,
        limited ? &res->hosts : NULL, o->hostfile ? o->hostfile : "--ranks-per-host", &placed, err);

    if (st)
        return st;
    ti_hosts_free(&res->hosts);
    res->hosts = placed;
    return TI_OK;
}

/* Before the trace is read: are there hosts for it? */
static ti_status find_hosts(const struct options *o, struct result *res, struct ti_err *err)
{
    struct ti_hosts platform = {0};
    bool sure;
    ti_status st = platform_hosts(o, res, &platform, &sure, err);

    res->made_hosts = (int64_t)platform.n;
    if (!st)
        st = take_hosts(o, res, &platform, sure, err);
    if (!st && o->placement.kind == TI_PLACE_FILE)
        st = take_placement_file(o, res, &platform, sure, err);
    ti_hosts_free(&platform);
    if (!st && !res->hosts.n)
        st = no_hosts(o->platform, err);
    if (!st)
        st = ti_hosts_enough(&res->hosts, res->np, err);
    if (!st)
        res->host_of = ti_place(&res->hosts, &o->placement, res->np);
    return st;
}

static void print_json(json_t *j)
{
    json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(j);
}

/* Describes a platform of the user's: its hosts, as its links are not read. */
static ti_status show_given(const struct options *o, struct result *res, struct ti_err *err)
{
    bool sure;
    ti_status st = platform_hosts(o, res, &res->hosts, &sure, err);

    if (!st && !res->hosts.n)
        st = ends_with(o->platform, ".so")
                 ? ti_err_set(err, TI_ERR_INPUT, "only SimGrid knows the hosts of '%s', a program",
                              o->platform)
                 : no_hosts(o->platform, err);
    if (st)
        return st;
    if (o->json)
        print_json(ti_shape_hosts_json(o->platform, &res->hosts));
    else
        ti_shape_print_hosts(stdout, o->platform, &res->hosts, sure);
    return TI_OK;
}

/* Describes the platform that would be made, for the ranks of the trace if there is one. */
static ti_status show_platform(const struct options *o, struct ti_source *s, struct result *res,
                               struct ti_err *err)
{
    struct ti_shown shown = {.name = o->sites_path ? o->sites_path : o->topology_text,
                             .topology = &o->topology,
                             .speeds = &o->speeds,
                             .wan = &o->wan};
    bool sure;
    ti_status st;

    if (o->platform)
        return show_given(o, res, err);
    res->np = s ? ti_source_nranks(s) : 1;
    if (!s && !o->sites_path && !o->hosts && !o->topology.hosts)
        return ti_err_set(err, TI_ERR_USAGE,
                          "--show-platform: how many hosts a cluster has must be said by --hosts, "
                          "or by a trace");
    if ((st = platform_hosts(o, res, &res->hosts, &sure, err)))
        return st;
    shown.hosts = (int64_t)res->hosts.n;
    shown.sites = res->sites;
    if (o->json)
        print_json(ti_shape_json(&shown));
    else
        ti_shape_print(stdout, &shown);
    return o->picture ? ti_picture_draw(o->picture, &shown, err) : TI_OK;
}

static ti_status write_platform(const struct options *o, struct result *res, struct ti_err *err)
{
    ti_status st = ti_scratch_open(o->keep, err);

    if (!st)
        st = o->platform ? use_platform(o, res, err) : make_platform(o, res->made_hosts, res, err);
    return st ? st : write_hostfile(res, err);
}

/* ---- what the volumes are ---- */

/* Whether a speed, checked already, is 1Gf, however it is written. */
static bool is_gigaflop(const char *speed)
{
    char *unit;
    double value = strtod(speed, &unit);

    for (const char *p = "kMGTPE"; unit[0] != 'f' && *p; p++) {
        value *= 1e3;
        if (*p == unit[0])
            break;
    }
    return value == 1e9;
}

/* Say where a volume is no exact number of instructions. */
static void warn_of_volumes(const struct options *o, const struct ti_volumes *v)
{
    bool time = !strcmp(v->unit, "nanoseconds");

    if (!strcmp(v->counter, "mixed"))
        ti_warn("the ranks were not counted by one counter: their volumes cannot be compared, and "
                "what is simulated means nothing");
    if (time && (o->platform || o->sites_path))
        ti_warn("volumes are nanoseconds of CPU time, an estimate; a host of 1Gf in '%s' replays "
                "them as such, another speed scales the measured time",
                o->platform ? o->platform : o->sites_path);
    else if (time && !is_gigaflop(o->speeds.speed))
        ti_warn("volumes are nanoseconds of CPU time, an estimate; --speed %s scales the measured "
                "time, --speed 1Gf replays it as such",
                o->speeds.speed);
    else if (time)
        ti_warn("volumes are nanoseconds of CPU time, an estimate; --speed 1Gf replays them as "
                "such");
    else if (v->unit[0] && strcmp(v->unit, "instructions") != 0 && strcmp(v->unit, "flops") != 0)
        ti_warn("volumes are not instructions (counter %s, unit %s%s); each unit is replayed as a "
                "flop",
                v->counter, v->unit, v->inexact ? ", not exact" : "");
    else if (v->inexact)
        ti_warn("volumes are %s: the counter is %s", v->estimate ? "an estimate" : "not exact",
                v->counter);
}

/* Say where durations are not those that the program has by itself. */
static void warn_of_times(struct ti_source *s, const struct ti_volumes *v)
{
    const json_t *plan = json_object_get(ti_source_manifest(s), "plan");
    int64_t folding = json_integer_value(json_object_get(plan, "folding"));
    struct ti_err why;

    if (ti_source_manifest_status(s, &why) != TI_OK)
        ti_warn("%s; whether bursts waited for a core is not known", why.text);
    if (!strcmp(v->counter, "valgrind"))
        ti_warn("the durations were measured under valgrind, which is several times slower");
    if (folding > 1)
        ti_warn(
            "the durations include time in which ranks waited for a core (up to %lld ranks a core)",
            (long long)folding);
}

/* Say what the trace does not tell of the program. */
static void warn_of_caveats(struct ti_source *s, struct ti_caveats *c)
{
    const json_t *run = ti_source_manifest(s), *own = json_object_get(run, "acquisition");
    char text[512];

    ti_caveats_run(c, own ? own : run);
    for (int i = 0; ti_caveats_text(c, i, text, sizeof text); i++)
        ti_warn("%s", text);
}

/* Advice to the user of a trace that cannot be replayed. */
static void hint_at_next(const struct options *o, const struct result *res, struct ti_err *err)
{
    const struct ti_lint *lint = &res->lint;

    if (lint->missing)
        ti_err_hint(err, "only whole traces can be replayed: 'ti-info %s' tells what is missing; "
                         "if nodes still have it, ti-gather fetches it, else trace again",
                    o->trace);
    else if (lint->check.unmatched && lint->check.interrupted)
        ti_err_hint(err, "the trace has MPI_Pcontrol(0): all ranks must stop and resume recording "
                         "at matching points, between the same calls");
    else if (lint->refused == res->problems.n && res->engine == TI_ENGINE_STOCK &&
             res->files.replayer[0])
        ti_err_hint(err, "SimGrid's own replay has no such calls; --engine tiara may replay them");
    else if (lint->refused == res->problems.n)
        ti_err_hint(err, "the trace is sound, and of use to ti-info; SimGrid cannot simulate such "
                         "calls.  If they are in a part of the program whose time does not "
                         "matter, MPI_Pcontrol(0) before it and MPI_Pcontrol(1) behind it, on all "
                         "ranks, leave it out");
    else if (lint->refused + lint->untraced == res->problems.n)
        ti_err_hint(err, "calls that are not traced cannot be replayed: MPI_Pcontrol(0) before "
                         "that part of the program and MPI_Pcontrol(1) behind it, on all ranks, "
                         "leave it out");
    else
        ti_err_hint(err,
                    "%s'ti-info --verify %s' tells all that is wrong with the trace; if the "
                    "program is right, that is a defect of Tiara's to be reported",
                    lint->refused + lint->untraced
                        ? "SimGrid lacks some of these calls, others are "
                          "wrong: "
                        : "",
                    o->trace);
}

/* ---- the steps ---- */

static ti_status lint(struct options *o, struct ti_source *s, struct result *res,
                      struct ti_err *err)
{
    ti_status st = TI_OK;

    if (o->times)
        st = ti_bursts_check(s, &(struct ti_bursts){.as = TI_BURSTS_TIMES}, err);
    else if (o->threads == THREADS_LONGEST)
        st = ti_bursts_check(s, &(struct ti_bursts){.as = TI_BURSTS_THREADS}, err);
    if (!st)
        st = ti_lint(s, res->engine, o->eager_bytes, &res->lint, &res->problems, err);
    res->linted = st == TI_OK;
    if (st)
        return st;
    speed_for(o, &res->lint.volumes);
    warn_of_caveats(s, &res->lint.caveats);
    if (!res->problems.n) {
        if (o->times)
            warn_of_times(s, &res->lint.volumes);
        else
            warn_of_volumes(o, &res->lint.volumes);
        return TI_OK;
    }
    ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be replayed: %llu problem%s", o->trace,
               (unsigned long long)res->problems.n, res->problems.n > 1 ? "s" : "");
    hint_at_next(o, res, err);
    return TI_ERR_INPUT;
}

/* Chooses how bursts are replayed: threads share the cores that a host has for each rank. */
static void choose_bursts(const struct options *o, struct ti_source *s, struct result *res)
{
    struct ti_bursts *b = &res->bursts;
    int64_t cores = ti_hosts_cores_a_rank(&res->hosts);
    struct ti_err none;

    b->as = o->no_compute ? TI_BURSTS_NOTHING : o->times ? TI_BURSTS_TIMES : TI_BURSTS_THREADS;
    b->cores = o->threads == THREADS_LONGEST ? INT64_MAX
               : o->threads == THREADS_SUM   ? 1
                                             : (cores > 0 ? cores : 1);
    if (b->as == TI_BURSTS_THREADS && ti_bursts_check(s, b, &none) != TI_OK)
        b->as = TI_BURSTS_VOLUME;
    if (b->as == TI_BURSTS_VOLUME && o->speeds.cores > 1)
        ti_warn(
            "--cores %lld has no effect: the trace does not have what the longest thread of each "
            "burst did (ti-acquire --threads sum -c valgrind), so a burst takes one core",
            (long long)o->speeds.cores);
}

/* ti-smpi-replay can replay whatever stock replay can, and is faster. */
static ti_status choose_engine(const struct options *o, struct result *res, struct ti_err *err)
{
    ti_engine_files(&res->files);
    res->engine = o->engine == ENGINE_STOCK || (o->engine == ENGINE_AUTO && !res->files.replayer[0])
                      ? TI_ENGINE_STOCK
                      : TI_ENGINE_TIARA;
    if (res->engine == TI_ENGINE_STOCK && o->any)
        return ti_err_set(err, TI_ERR_USAGE, "--wildcards any needs ti-smpi-replay");
    if (res->engine == TI_ENGINE_STOCK || res->files.replayer[0])
        return TI_OK;
    ti_err_set(err, TI_ERR_IO, "there is no ti-smpi-replay beside ti-replay");
    ti_err_hint(err, "it is built where smpicc is (Debian: apt install libsimgrid-dev)");
    return TI_ERR_IO;
}

/* Adds options of SimGrid's for collectives; above MANY_RANKS never silently. */
static void choose_collectives(struct options *o, struct result *res)
{
    const char *cfg[TI_COLLECTIVES_CFG];
    bool many = res->np > MANY_RANKS;

    res->collectives = o->collectives ? o->collectives : many ? "tree" : "simgrid";
    for (int i = 0, n = ti_collectives_cfg(res->collectives, cfg); i < n && o->ncfg < CFG_MAX; i++)
        o->cfg[o->ncfg++] = (char *)(uintptr_t)cfg[i];
    if (many && !strcmp(res->collectives, "tree"))
        ti_say("%lld ranks: collectives are replayed by tree algorithms%s; --collectives simgrid "
               "takes SimGrid's own, which may take hours",
               (long long)res->np, o->collectives ? "" : ", since there are more than 1024");
    else if (many)
        ti_say("%lld ranks: collectives are replayed as '%s' has them, which may take hours; "
               "--collectives tree is faster",
               (long long)res->np, res->collectives);
}

/* The share of all events that is replayed. */
static double share_done(void *arg)
{
    const struct result *res = arg;
    uint64_t done = 0;

    for (int64_t rank = 0; rank < res->np; rank++)
        done += ti_replay_progress(res->state, rank)->events;
    return res->lint.check.events ? (double)done / (double)res->lint.check.events : 0;
}

/* What the engine needs in the scratch directory. */
static ti_status prepare_engine(const struct options *o, struct ti_source *s, struct result *res,
                                struct ti_err *err)
{
    const char *path;
    ti_status st;

    if (res->engine == TI_ENGINE_STOCK)
        return ti_lower(s, &res->lint, &res->bursts, !ti_sim_can_open(res->np), &res->actions, err);
    res->actions = res->lint.check.events;
    path = ti_scratch_path(TI_SIM_STATE);
    st = ti_replay_state_make(path, res->np, err);
    if (!st)
        st = ti_replay_state_open(path, res->np, &res->state, err);
    return st ? st
              : ti_engine_command(&res->files, o->trace, &res->bursts, o->any, &res->replayer, err);
}

/* When each rank ended, beside when it really did. */
static void note_ends(struct result *res)
{
    struct ti_against *a = &res->against;

    if (!res->state)
        ti_against_ranks(a, ti_scratch_path(TI_SIM_LOG));
    for (int64_t rank = 0; res->state && rank < a->ranks; rank++)
        if (ti_replay_progress(res->state, rank)->ended)
            a->rank_simulated[rank] = ti_replay_progress(res->state, rank)->seconds;
}

static ti_status simulate(const struct options *o, struct result *res, struct ti_err *err)
{
    struct ti_sim sim = {.np = res->np,
                         .platform = res->platform_file,
                         .log = res->against.ranks && !res->state ? ti_against_log : NULL,
                         .verbose = o->verbose};
    int exit_status;
    ti_status st;

    if (res->replayer) {
        sim.replayer = res->replayer;
        sim.preload = res->files.clock[0] ? res->files.clock : NULL;
        sim.done = share_done;
        sim.arg = res;
    }
    sim.cfg = ti_calibrated_cfg(&o->calibrated, (char **)(uintptr_t)o->cfg, o->ncfg, &sim.ncfg);
    st = sim.cfg ? ti_sim_script(&sim, err)
                 : ti_err_errno(err, TI_ERR_IO, "cannot keep SMPI's settings");
    res->runnable = st == TI_OK;
    if (!st)
        st = ti_simulate(&sim, &exit_status, &res->wall_s, err);
    res->ran = st == TI_OK;
    if (!st)
        st = ti_verdict_read(ti_scratch_path(TI_SIM_LOG), exit_status, &res->verdict, err);
    res->simulated = st == TI_OK;
    free(sim.cfg);
    if (res->simulated)
        note_ends(res);
    return st;
}

/* The real times, before anything takes long. */
static ti_status read_against(const struct options *o, struct result *res, struct ti_err *err)
{
    ti_status st = o->against ? ti_against_read(o->against, &res->against, err) : TI_OK;
    int64_t np = res->against.np ? res->against.np : res->against.ranks;

    if (!st && np && np != res->np)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is of %lld ranks, the trace of %lld", o->against,
                        (long long)np, (long long)res->np);
    return st;
}

static double simulated_time(const struct result *res)
{
    return strtod(res->verdict.clock[0] ? res->verdict.clock : res->verdict.time, NULL);
}

static ti_status replay(struct options *o, struct ti_source *s, struct result *res,
                        struct ti_err *err)
{
    ti_status st;

    res->np = ti_source_nranks(s);
    if (res->np < 1)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' has no ranks", o->trace);
    if ((st = choose_engine(o, res, err)))
        return st;
    if (o->lint_only)
        return lint(o, s, res, err);
    if ((st = read_against(o, res, err)) || (st = ti_sim_available(err)) ||
        (st = find_hosts(o, res, err)) || (st = lint(o, s, res, err)) ||
        (st = write_platform(o, res, err)))
        return st;
    choose_collectives(o, res);
    choose_bursts(o, s, res);
    st = prepare_engine(o, s, res, err);
    return st ? st : simulate(o, res, err);
}

/* The ranks that did not come to their end, and where they are. */
static json_t *waiting(struct ti_source *s, const struct result *res)
{
    json_t *list = json_array();
    char call[TI_CALL_BYTES];

    for (int64_t rank = 0; res->state && rank < res->np; rank++) {
        const struct ti_replay_progress *at = ti_replay_progress(res->state, rank);

        if (at->ended || json_array_size(list) == WAITING_MOST)
            continue;
        json_array_append_new(list,
                              json_pack("{s:I, s:I, s:s}", "rank", (json_int_t)rank, "event",
                                        (json_int_t)at->events, "call",
                                        ti_event_text(s, rank, at->events, call, sizeof call)));
    }
    return list;
}

/* The replays of a sweep, by child processes. */
static ti_status sweep(struct options *o, struct ti_source *s, char **argv, struct ti_err *err)
{
    o->sweep.json = o->json;
    o->sweep.verbose = o->verbose;
    o->sweep.argv = argv;
    return ti_sweep_command(&o->sweep, s, err);
}

/* ---- the report ---- */

static const char *const engine_names[] = {
    [TI_ENGINE_STOCK] = "stock", [TI_ENGINE_TIARA] = "tiara"};

static void report_text(const struct options *o, const struct result *res)
{
    char a[32], b[32], c[32];

    if (o->lint_only) {
        printf("%s can be replayed: %lld ranks, %s events, %s messages, %s calls of collectives\n",
               o->trace, (long long)res->np, ti_format_count(res->lint.check.events, a, sizeof a),
               ti_format_count(res->lint.check.messages, b, sizeof b),
               ti_format_count(res->lint.check.collectives, c, sizeof c));
        return;
    }
    printf("simulated time: %s s\n", res->verdict.time);
    if (o->quiet)
        return;
    if (res->verdict.clock[0])
        printf("clock at end:   %s s\n", res->verdict.clock);
    printf("ranks:          %lld\n", (long long)res->np);
    printf("engine:         %s\n", engine_names[res->engine]);
    printf("%s %s\n", res->engine == TI_ENGINE_STOCK ? "actions:       " : "events:        ",
           ti_format_count(res->actions, a, sizeof a));
    printf("platform:       %s\n", res->platform);
    if (res->bursts.as == TI_BURSTS_THREADS && res->bursts.cores == INT64_MAX)
        printf("threads:        on cores of their own\n");
    else if (res->bursts.as == TI_BURSTS_THREADS)
        printf("threads:        on %lld core%s a rank\n", (long long)res->bursts.cores,
               res->bursts.cores == 1 ? "" : "s");
    printf("wall time:      %.2f s\n", res->wall_s);
    if (o->against)
        ti_against_print(&res->against, simulated_time(res), stdout);
}

static void report_json(const struct options *o, const struct result *res, ti_status st,
                        const struct ti_err *err)
{
    json_t *j = json_pack("{s:s?, s:i, s:I}", "trace", o->trace, "status", (int)st, "np",
                          (json_int_t)res->np);
    char wall[64];

    if (st)
        json_object_set_new(j, "error", json_string(err->text));
    if (st && err->hint[0])
        json_object_set_new(j, "hint", json_string(err->hint));
    if (res->linted) {
        json_object_set_new(j, "events", json_integer((json_int_t)res->lint.check.events));
        json_object_set_new(j, "messages", json_integer((json_int_t)res->lint.check.messages));
        json_object_set_new(j, "collectives", json_integer((json_int_t)res->lint.check.collectives));
        if (res->lint.volumes.counter[0])
            json_object_set_new(j, "counter", json_string(res->lint.volumes.counter));
        if (res->lint.volumes.unit[0]) {
            json_object_set_new(j, "unit", json_string(res->lint.volumes.unit));
            json_object_set_new(
                j, "exact",
                json_boolean(!res->lint.volumes.inexact && !ti_caveats_misses(&res->lint.caveats)));
            json_object_set_new(j, "estimate", json_boolean(res->lint.volumes.estimate));
        }
        json_object_set_new(j, "problem_count", json_integer((json_int_t)res->problems.n));
        json_object_set_new(j, "problems", ti_problems_json(&res->problems));
    }
    if (!o->show)
        json_object_set_new(j, "engine", json_string(engine_names[res->engine]));
    if (res->collectives)
        json_object_set_new(j, "collective_algorithms", json_string(res->collectives));
    if (res->waiting)
        json_object_set(j, "waiting", res->waiting);
    if (o->times)
        json_object_set_new(j, "times", json_true());
    if (o->no_compute)
        json_object_set_new(j, "no_compute", json_true());
    if (res->bursts.as == TI_BURSTS_THREADS)
        json_object_set_new(j, "cores_for_threads",
                            res->bursts.cores == INT64_MAX
                                ? json_null()
                                : json_integer((json_int_t)res->bursts.cores));
    if (res->platform[0])
        json_object_set_new(j, "platform", json_string(res->platform));
    if (res->host_of) {
        json_object_set_new(j, "placement", json_string(o->placement_text));
        json_object_set_new(j, "rank_hosts", ti_place_json(&res->hosts, res->host_of, res->np));
    }
    if (res->actions && res->engine == TI_ENGINE_STOCK)
        json_object_set_new(j, "actions", json_integer((json_int_t)res->actions));
    if (res->simulated) {
        json_object_set_new(j, "simulated_time_s", json_real(strtod(res->verdict.time, NULL)));
        json_object_set_new(j, "clock_s", json_real(simulated_time(res)));
    }
    if (res->simulated && o->against)
        json_object_set_new(j, "against", ti_against_json(&res->against, simulated_time(res)));
    if (res->wall_s > 0) {
        snprintf(wall, sizeof wall, "%.6f", res->wall_s);
        json_object_set_new(j, "wall_time_s", json_real(strtod(wall, NULL)));
    }
    print_json(j);
}

static void print_waiting(const json_t *list)
{
    const json_t *at;
    size_t i;

    json_array_foreach(list, i, at) ti_print(
        stderr, "  rank %" JSON_INTEGER_FORMAT " is at event %" JSON_INTEGER_FORMAT ", %s\n",
        json_integer_value(json_object_get(at, "rank")),
        json_integer_value(json_object_get(at, "event")),
        json_string_value(json_object_get(at, "call")));
}

static ti_status report(const struct options *o, const struct result *res, ti_status st,
                        const struct ti_err *err)
{
    if (st) {
        ti_cli_fail(&cli, st, err);
        ti_problems_print(&res->problems, stderr);
        for (int i = 0; i < res->verdict.nquotes; i++)
            fprintf(stderr, "  smpirun: %s\n", res->verdict.quote[i]);
        print_waiting(res->waiting);
    }
    if (o->sweep.sweep.n)
        return st;
    if (o->json && (st || !o->show))
        report_json(o, res, st, err);
    else if (!st && !o->show)
        report_text(o, res);
    if (o->keep && ti_scratch_dir()[0] && res->runnable)
        ti_say("files are in '%s'; '%s/" TI_SIM_COMMAND "' runs smpirun", o->keep, o->keep);
    else if (o->keep && ti_scratch_dir()[0])
        ti_say("'%s' holds what was written before that, not all that smpirun needs", o->keep);
    if (fflush(stdout) != 0 && !st) {
        fprintf(stderr, "%s: cannot write the result: %s\n", cli.tool, strerror(errno));
        st = TI_ERR_IO;
    }
    if (o->picture && !st)
        ti_say("the picture is in '%s'", o->picture);
    return st;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    static struct result res;
    struct ti_source *s = NULL;
    struct ti_err err = {0};
    ti_status st;
    int end = parse(&o, argc, argv);

    if (end != TI_CLI_END)
        return end;
    ti_talk_init(cli.tool, o.quiet, o.no_progress);
    ti_stop_catch();
    st = calibrate(&o, &err);
    if (!st && o.trace)
        st = ti_source_open(o.trace, &s, &err);
    if (!st && o.sweep.sweep.n)
        st = sweep(&o, s, argv, &err);
    else if (!st)
        st = o.show ? show_platform(&o, s, &res, &err) : replay(&o, s, &res, &err);
    if (st && res.ran)
        res.waiting = waiting(s, &res);
    st = report(&o, &res, st, &err);
    json_decref(res.waiting);
    free(res.replayer);
    ti_replay_state_close(res.state);
    ti_lint_free(&res.lint);
    ti_against_free(&res.against);
    if (o.calibration)
        ti_calibrated_free(&o.calibrated);
    ti_hosts_free(&res.hosts);
    free(res.host_of);
    ti_sites_free(res.sites);
    ti_source_close(s);
    ti_sweep_free(&o.sweep.sweep);
    ti_args_free(&o.sweep.base);
    ti_scratch_close();
    if (ti_stopped())
        ti_stop_die();
    return st;
}
