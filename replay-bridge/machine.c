#include "replay-bridge/machine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "replay-bridge/platform/picture.h"
#include "replay-bridge/platform/platform.h"
#include "replay-bridge/platform/shape.h"
#include "replay-bridge/report.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/simulation/simulate.h"
#include "trace/foreign.h"

#define CROSSTRAFFIC 0.05 /* of SimGrid's network model */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

/* A platform file of the user: its absolute path, or a symbolic link in the scratch directory if
 * smpirun would split the path. */
static ti_status use_platform(const struct ti_replay_options *o, struct ti_replay_result *res,
                              struct ti_err *err)
{
    const char *link = ends_with(o->platform, ".so") ? "platform.so" : TI_SIM_PLATFORM;
    char real[PATH_MAX];

    if (!realpath(o->platform, real))
        return ti_err_errno(err, TI_ERR_IO, "cannot read the platform '%s'", o->platform);
    ti_replay_name_platform(o, res);
    if (!strpbrk(real, " \t\n")) {
        snprintf(res->platform_file, sizeof res->platform_file, "%s", real);
        return TI_OK;
    }
    snprintf(res->platform_file, sizeof res->platform_file, "%s", link);
    if (symlink(real, ti_scratch_path(link)) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot link to '%s'", real);
    return TI_OK;
}

/* Writes a value of the options, for people or with all its digits. */
static void put_value(FILE *f, const char *text, enum ti_unit kind, bool people)
{
    char words[TI_UNIT_BYTES_MOST];

    fprintf(f, ", %s", people ? ti_unit_format_text(text, kind, words, sizeof words) : text);
}

/* Description of a generated platform, for people or with all digits. */
static void name_made(const struct ti_replay_options *o, const struct ti_replay_result *res,
                      bool people, char *text, size_t bytes)
{
    FILE *f = fmemopen(text, bytes, "w");

    if (!f)
        return;
    fprintf(f, "%s of %lld hosts", o->sites_path ? o->sites_path : o->topology_text,
            (long long)res->made_hosts);
    if (res->sites) {
        fprintf(f, " at %d site%s", res->sites->nsites, res->sites->nsites == 1 ? "" : "s");
    } else {
        put_value(f, o->speeds.speed, TI_UNIT_SPEED, people);
        for (int i = 0; i < o->speeds.bandwidth.n; i++)
            put_value(f, o->speeds.bandwidth.text[i], TI_UNIT_BANDWIDTH, people);
        for (int i = 0; i < o->speeds.latency.n; i++)
            put_value(f, o->speeds.latency.text[i], TI_UNIT_LATENCY, people);
    }
    fclose(f);
}

void ti_replay_name_platform(const struct ti_replay_options *o, struct ti_replay_result *res)
{
    if (o->platform) {
        snprintf(res->platform, sizeof res->platform, "%s", o->platform);
        snprintf(res->platform_text, sizeof res->platform_text, "%s", o->platform);
    } else {
        name_made(o, res, false, res->platform, sizeof res->platform);
        name_made(o, res, true, res->platform_text, sizeof res->platform_text);
    }
}

/* The most ranks on a host. */
static int64_t most_ranks(const struct ti_replay_result *res)
{
    int64_t most = 1, *ranks = ti_place_count(&res->hosts, res->host_of, res->np);

    for (size_t i = 0; i < res->hosts.n; i++)
        most = ranks[i] > most ? ranks[i] : most;
    free(ranks);
    return most;
}

/* The limit of all messages within a host: from the option, else from the calibration for as many
 * ranks as there are on a host, where the topology can have one.  SimGrid lets each message use
 * CROSSTRAFFIC of its bandwidth on the way back, which is the same link here. */
static void limit_loopback(const struct ti_replay_options *o, struct ti_replay_result *res,
                           struct ti_speeds *speeds, char text[32])
{
    const char *calibrated = o->loopback_given ? NULL : o->calibrated.file.network.shared;
    double limit = speeds->loopback_shared
                       ? ti_unit_value(speeds->loopback_shared, TI_UNIT_BANDWIDTH)
                   : calibrated ? ti_ranks_value(calibrated, speeds->most_ranks)
                                : 0;
    double back = CROSSTRAFFIC;
    struct ti_err none;

    if (!(limit > 0))
        return;
    for (int i = 0; i < o->ncfg; i++)
        if (!strcmp(o->cfg[i], "network/crosstraffic:0") ||
            !strcmp(o->cfg[i], "network/crosstraffic:no"))
            back = 0;
    snprintf(text, 32, "%.15gBps", limit * (1 + back));
    speeds->loopback_shared = text;
    if (!res->sites && ti_platform_check(&o->topology, speeds, &none) != TI_OK)
        speeds->loopback_shared = NULL;
    else
        res->loopback_shared_Bps = limit;
}

/* Warns of a host of --sites with fewer cores than --ranks-per-host lets it have ranks: that of
 * most ranks for each core. */
static void warn_crowded(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    int64_t *ranks = ti_place_count(&res->hosts, res->host_of, res->np);
    const struct ti_host *worst = NULL;
    int64_t most = 0;

    for (size_t i = 0; i < res->hosts.n; i++) {
        const struct ti_host *host = &res->hosts.list[i];

        if (ranks[i] > host->cores && host->cores > 0 &&
            (!worst || ranks[i] * worst->cores > most * host->cores)) {
            worst = host;
            most = ranks[i];
        }
    }
    if (worst)
        ti_warn("%lld ranks share the %lld core%s of '%s', since --ranks-per-host %lld is for all "
                "hosts; lines NAME:SLOTS in a --hostfile give each host slots of its own",
                (long long)most, (long long)worst->cores, worst->cores == 1 ? "" : "s", worst->name,
                (long long)o->ranks_per_host);
    free(ranks);
}

static ti_status make_platform(const struct ti_replay_options *o, struct ti_replay_result *res,
                               struct ti_err *err)
{
    struct ti_speeds speeds = o->speeds;
    struct ti_sites_speeds wan = o->wan;
    char limit[32];
    FILE *f;
    ti_status st = ti_scratch_create(TI_SIM_PLATFORM, &f, err);

    if (st)
        return st;
    wan.nodes = &speeds;
    speeds.most_ranks = res->most_ranks = most_ranks(res);
    if (!(res->engine->serves & TI_SERVES_RATES)) /* a calibrated one */
        speeds.contention = NULL;
    limit_loopback(o, res, &speeds, limit);
    if (res->sites && o->ranks_per_host > 1)
        warn_crowded(o, res);
    if (res->sites)
        ti_platform_write_sites(f, res->sites, &wan);
    else
        ti_platform_write(f, &o->topology, res->made_hosts, &speeds);
    ti_replay_name_platform(o, res);
    strcpy(res->platform_file, TI_SIM_PLATFORM);
    return ti_scratch_finish(f, TI_SIM_PLATFORM, TI_OK, err);
}

/* Reads the sites file.  Warnings, and errors after the first, are printed at once. */
static ti_status read_sites(const struct ti_replay_options *o, struct ti_replay_result *res,
                            struct ti_err *err)
{
    char *more = NULL;
    ti_status st = ti_sites_read(o->sites_path, &res->sites, &more, err);

    for (char *line = more, *end; line && (end = strchr(line, '\n')); line = end + 1)
        ti_say("%.*s", (int)(end - line), line);
    free(more);
    return st;
}

/* Number of hosts of a cluster without an option that gives it. */
static int64_t hosts_needed(const struct ti_replay_options *o, int64_t np)
{
    int64_t each = o->ranks_per_host ? o->ranks_per_host : 1;

    return (np + each - 1) / each;
}

/* The hosts of the platform; *sure: there are no others. */
static ti_status platform_hosts(const struct ti_replay_options *o, struct ti_replay_result *res,
                                struct ti_hosts *hosts, bool *sure, struct ti_err *err)
{
    *sure = true;
    if (o->sites_path) {
        ti_status st = read_sites(o, res, err);

        if (!st)
            st = ti_sites_check(res->sites, &o->wan, err);
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

static ti_status write_hostfile(const struct ti_replay_result *res, struct ti_err *err)
{
    FILE *f;
    ti_status st = ti_scratch_create(TI_SIM_HOSTS, &f, err);

    if (st)
        return st;
    ti_place_write(&res->hosts, res->host_of, res->np, f);
    return ti_scratch_finish(f, TI_SIM_HOSTS, TI_OK, err);
}

/* The error if no hosts are found in the platform. */
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
                          "the platform '%s' is malformed, or cut off: it has no </platform>",
                          path);
    ti_err_set(err, TI_ERR_INPUT, "no hosts are found in the platform '%s'", path);
    ti_err_hint(err, "list them in a --hostfile");
    return TI_ERR_INPUT;
}

/* The hosts that ranks may use: from the hostfile, else from the platform. */
static ti_status use_hosts(const struct ti_replay_options *o, struct ti_replay_result *res,
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

/* Places ranks by the placement file; slots of the platform are no limit then. */
static ti_status use_placement_file(const struct ti_replay_options *o, struct ti_replay_result *res,
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

ti_status ti_replay_find_hosts(const struct ti_replay_options *o, struct ti_replay_result *res,
                               struct ti_err *err)
{
    struct ti_hosts platform = {0};
    bool sure;
    ti_status st = platform_hosts(o, res, &platform, &sure, err);

    res->made_hosts = (int64_t)platform.n;
    if (!st)
        st = use_hosts(o, res, &platform, sure, err);
    if (!st && o->placement.kind == TI_PLACE_FILE)
        st = use_placement_file(o, res, &platform, sure, err);
    ti_hosts_free(&platform);
    if (!st && !res->hosts.n)
        st = no_hosts(o->platform, err);
    if (!st)
        st = ti_hosts_enough(&res->hosts, res->np, err);
    if (!st)
        res->host_of = ti_place(&res->hosts, &o->placement, res->np);
    return st;
}

/* Describes a platform file of the user: only hosts, since links are not read. */
static ti_status show_given(const struct ti_replay_options *o, struct ti_replay_result *res,
                            struct ti_err *err)
{
    bool sure;
    ti_status st = platform_hosts(o, res, &res->hosts, &sure, err);

    if (!st && !res->hosts.n)
        st = ends_with(o->platform, ".so")
                 ? ti_err_set(err, TI_ERR_INPUT,
                              "only SimGrid knows the hosts of '%s', because it is a program",
                              o->platform)
                 : no_hosts(o->platform, err);
    if (st)
        return st;
    if (o->json)
        ti_replay_print_json(ti_shape_hosts_json(o->platform, &res->hosts));
    else
        ti_shape_print_hosts(stdout, o->platform, &res->hosts, sure);
    return TI_OK;
}

/* Describes the generated platform, sized for the ranks of the trace if there is one. */
ti_status ti_replay_show_platform(const struct ti_replay_options *o, struct ti_source *s,
                                  struct ti_replay_result *res, struct ti_err *err)
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
                          "--show-platform: the number of hosts of a cluster is not known: give "
                          "--hosts, or a trace");
    if ((st = platform_hosts(o, res, &res->hosts, &sure, err)))
        return st;
    shown.hosts = (int64_t)res->hosts.n;
    shown.sites = res->sites;
    if (o->json)
        ti_replay_print_json(ti_shape_json(&shown));
    else
        ti_shape_print(stdout, &shown);
    return o->picture ? ti_picture_draw(o->picture, &shown, err) : TI_OK;
}

ti_status ti_replay_open_scratch(const struct ti_replay_options *o, struct ti_err *err)
{
    ti_status st = ti_scratch_dir()[0] ? TI_OK : ti_scratch_open(o->keep, err);
    const char *other = !st && o->keep ? ti_foreign(o->keep) : NULL;

    if (!other)
        return st;
    return ti_err_set(err, TI_ERR_IO,
                      "the directory '%s' is not safe: '%s' belongs to another user, in a folder "
                      "that everybody can write to",
                      o->keep, other);
}

ti_status ti_replay_write_platform(const struct ti_replay_options *o, struct ti_replay_result *res,
                                   struct ti_err *err)
{
    ti_status st = ti_replay_open_scratch(o, err);

    if (!st)
        st = o->platform ? use_platform(o, res, err) : make_platform(o, res, err);
    return st ? st : write_hostfile(res, err);
}
