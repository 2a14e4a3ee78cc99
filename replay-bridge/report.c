#include "replay-bridge/report.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/scratch.h"
#include "common/table.h"
#include "event/quality.h"
#include "replay-bridge/causes.h"
#include "replay-bridge/energy.h"
#include "replay-bridge/platform/shape.h"
#include "replay-bridge/profile_report.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/trace/files.h"

#define LABEL 16 /* characters of the label of a line */

void ti_replay_print_json(json_t *j)
{
    json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(j);
}

void ti_replay_print_line(const struct ti_replay_options *o, const char *label, const char *fmt,
                          ...)
{
    char *text = NULL, *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0 || asprintf(&line, "%-*s%s", LABEL, label, text) < 0)
        TI_BUG("no memory for a line");
    va_end(ap);
    ti_print_labelled(stdout, ti_width(o->width), LABEL, line);
    free(line);
    free(text);
}

/* Number of ranks whose bursts are drawn from statistics. */
static uint64_t drawn(const struct ti_replay_options *o, const struct ti_replay_trace *t)
{
    if (!t->linted || o->no_compute)
        return 0;
    return o->times ? t->lint.caveats.drawn_extras : t->lint.caveats.drawn;
}

static uint64_t all_drawn(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    uint64_t ranks = 0;

    for (int i = 0; i < res->njobs; i++)
        ranks += drawn(o, res->job[i].trace);
    return ranks;
}

void ti_replay_print_drawn(const struct ti_replay_options *o, uint64_t ranks)
{
    if (ranks)
        ti_replay_print_line(o, "bursts:",
                             "of %llu rank%s drawn from statistics, without their order: the error "
                             "is not known (%s in tests); --%s bound:N%% keeps the order",
                             (unsigned long long)ranks, ranks == 1 ? "" : "s", TI_DRAWN_ERRORS,
                             o->times ? "extras" : "volumes");
}

void ti_replay_print_noise(const struct ti_replay_options *o)
{
    const struct ti_noise *n = &o->noise;

    char bursts[PATH_MAX + 64] = "", core[48] = "", node[48] = "", seeds[48];

    if (!ti_noise_any(n))
        return;
    if (n->rate)
        snprintf(bursts, sizeof bursts, " of bursts as in '%s',", o->rate);
    else if (n->burst > 0)
        snprintf(bursts, sizeof bursts, " of bursts %.3g %%,", 100 * n->burst);
    if (n->core > 0)
        snprintf(core, sizeof core, " of cores %.3g %%,", 100 * n->core);
    if (n->node > 0)
        snprintf(node, sizeof node, " of nodes %.3g %%,", 100 * n->node);
    if (o->sweep.runs)
        snprintf(seeds, sizeof seeds, "seeds 0 to %lld", (long long)o->sweep.runs - 1);
    else
        snprintf(seeds, sizeof seeds, "seed %lld", (long long)o->seed);
    ti_replay_print_line(o, "noise:", "standard deviation%s%s%s %s", bursts, core, node, seeds);
}

/* Start and end of each of several jobs. */
static void print_jobs(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    char label[32];

    for (int j = 0; res->njobs > 1 && j < res->njobs; j++) {
        snprintf(label, sizeof label, "job %d", j + 1);
        ti_replay_print_line(o, label, "%.6f s, from %.6f s on, %lld ranks, %s",
                             res->job[j].end_s - res->job[j].start_s, res->job[j].start_s,
                             (long long)res->job[j].np, res->job[j].trace->path);
    }
}

/* Count the calls that take time in SimGrid but not in the engine. */
static struct ti_untimed untimed(const struct ti_replay_result *res)
{
    struct ti_untimed all = {0, 0};

    for (int j = 0; res->engine->actions && j < res->njobs; j++) {
        all.comms += res->job[j].trace->lint.untimed.comms;
        all.probes += res->job[j].trace->lint.untimed.probes;
    }
    return all;
}

void ti_replay_print_untimed(const struct ti_replay_options *o, const struct ti_untimed *all,
                             const char *engine)
{
    char text[TI_UNTIMED_BYTES];

    ti_untimed_text(all, text);
    if (*text)
        ti_replay_print_line(o, "not timed:", "%s (engine %s; engine %s times them)", text, engine,
                             ti_engine_timing());
}

/* Trips that --steady left out. */
static void print_steady(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    const char *reason = json_string_value(json_object_get(res->steady, "reason"));
    double out = ti_json_number(res->steady, "trips_left_out");
    char a[32], b[32];

    if (!res->steady)
        return;
    if (reason) {
        ti_replay_print_line(o, "left out:", "nothing: %s", reason);
        return;
    }
    ti_replay_print_line(
        o, "left out:", "%s of %s trips, %.6f s; expected error %.2g %%",
        ti_format_count((uint64_t)out, a, sizeof a),
        ti_format_count((uint64_t)(out + ti_json_number(res->steady, "trips_simulated")), b,
                        sizeof b),
        ti_json_number(res->steady, "left_out_s"),
        ti_json_number(res->steady, "expected_error_pct"));
    ti_replay_print_line(
        o, "simulated:", "%s of %s events%s",
        ti_format_count((uint64_t)ti_json_number(res->steady, "events_simulated"), a, sizeof a),
        ti_format_count(res->actions, b, sizeof b),
        res->profile ? "; in the profile some stand for those that were left out" : "");
    if (o->timeline || o->overview)
        ti_replay_print_line(
            o, "timeline:", "what was simulated, on a clock without what was left out");
}

/* Whether the engine has the values of a calibration that SimGrid's own replay lacks. */
static bool serves_rates(const struct ti_replay_result *res)
{
    return res->engine && (res->engine->serves & TI_SERVES_RATES);
}

/* Whether ranks share hosts of a platform whose loopback is given or calibrated. */
static bool has_loopback(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    return res->most_ranks > 1 && (o->loopback_given || *o->calibrated.loopback_bandwidth);
}

/* Prints what ranks of a host share, as far as it is given or calibrated. */
static void print_shared(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    const struct ti_speeds *s = &o->speeds;
    char a[TI_UNIT_BYTES_MOST], b[TI_UNIT_BYTES_MOST], c[TI_UNIT_BYTES_MOST];

    if (s->contention && serves_rates(res) && res->most_ranks > 1)
        ti_replay_print_line(
            o, "contention:", "%lld ranks of a host that compute have %.3g %% of the speed each",
            (long long)res->most_ranks, 100 * ti_ranks_value(s->contention, res->most_ranks));
    if (has_loopback(o, res))
        ti_replay_print_line(
            o, "loopback:", "%s, %s%s%s%s",
            ti_unit_format_text(s->loopback_bandwidth, TI_UNIT_BANDWIDTH, a, sizeof a),
            ti_unit_format_text(s->loopback_latency, TI_UNIT_LATENCY, b, sizeof b),
            res->loopback_shared_Bps > 0 ? "; " : "",
            res->loopback_shared_Bps > 0
                ? ti_unit_format(res->loopback_shared_Bps, TI_UNIT_BANDWIDTH, c, sizeof c)
                : "",
            res->loopback_shared_Bps > 0 ? " for all messages of a host" : "");
    if (o->copy_rate && serves_rates(res))
        ti_replay_print_line(o, "copies:", "%s within a rank",
                             ti_unit_format_text(o->copy_rate, TI_UNIT_BANDWIDTH, a, sizeof a));
}

/* The lines of the result. */
static void print_summary(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    const struct ti_bursts *bursts = &res->trace->bursts;
    struct ti_untimed all = untimed(res);
    char a[32], text[2048], disk[TI_VALUES_TEXT_BYTES];

    if (res->verdict.clock[0])
        ti_replay_print_line(o, "clock at end:", "%s s", res->verdict.clock);
    print_jobs(o, res);
    ti_replay_print_line(o, "ranks:", "%lld", (long long)res->np);
    ti_replay_print_line(o, "engine:", "%s", res->engine->name);
    ti_replay_print_line(o, res->engine->actions ? "actions:" : "events:", "%s",
                         ti_format_count(res->actions, a, sizeof a));
    ti_replay_print_untimed(o, &all, res->engine->name);
    ti_replay_print_line(o, "platform:", "%s", res->platform_text);
    print_shared(o, res);
    if (o->speeds.disk.bandwidth > 0)
        ti_replay_print_line(o, "disk:", "%s%s", ti_disk_text(&o->speeds.disk, disk),
                             o->speeds.disk.shared ? "" : ", in each host");
    ti_energy_print(o, res);
    if (bursts->as == TI_BURSTS_THREADS && bursts->cores == INT64_MAX)
        ti_replay_print_line(o, "threads:", "on cores of their own");
    else if (bursts->as == TI_BURSTS_THREADS)
        ti_replay_print_line(o, "threads:", "on %lld core%s a rank", (long long)bursts->cores,
                             bursts->cores == 1 ? "" : "s");
    if (o->rates)
        ti_replay_print_line(o, "rates:", "%s, of hosts of %s", o->rate,
                             ti_unit_format_text(o->reference, TI_UNIT_SPEED, a, sizeof a));
    ti_replay_print_drawn(o, all_drawn(o, res));
    print_steady(o, res);
    ti_replay_print_noise(o);
    for (int i = 0; i < o->trips.n; i++)
        ti_replay_print_line(o, "changed:", "%s",
                             ti_trips_text(&o->trips.loop[i], text, sizeof text));
    ti_replay_print_line(o, "wall time:", "%.2f s", res->wall_s);
}

static void print_tables(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    int width = ti_width(o->width);

    if (o->against)
        ti_against_print(&res->against, ti_verdict_seconds(&res->verdict), stdout);
    if (res->energy)
        ti_energy_print_hosts(res->energy, width, stdout);
    if (res->profile)
        ti_profile_print(res->profile, res->symbolizer, width, stdout);
    if (res->profile)
        ti_waits_print(json_object_get(res->profile, "waits"), res->np, res->symbolizer, width,
                       stdout);
    if (res->causes)
        ti_causes_print(res->causes, res->symbolizer, width, stdout);
    if (res->links)
        ti_profile_print_links(res->links, width, stdout);
}

static void report_text(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    const struct ti_replay_trace *t = res->trace;
    char a[32], b[32], c[32];

    if (o->lint_only) {
        ti_print_wide(stdout, ti_width(o->width),
                      "%s can be replayed: %lld ranks, %s events, %s messages, %s calls of "
                      "collectives",
                      t->path, (long long)res->np,
                      ti_format_count(t->lint.check.events, a, sizeof a),
                      ti_format_count(t->lint.check.messages, b, sizeof b),
                      ti_format_count(t->lint.check.collectives, c, sizeof c));
        return;
    }
    printf("simulated time: %s s\n", res->verdict.time);
    if (o->quiet)
        return;
    print_summary(o, res);
    print_tables(o, res);
}

/* Result of the check of a trace. */
static void add_lint(json_t *j, const struct ti_replay_trace *t)
{
    const struct ti_volumes *volumes = &t->lint.volumes;

    json_object_set_new(j, "events", json_integer((json_int_t)t->lint.check.events));
    json_object_set_new(j, "messages", json_integer((json_int_t)t->lint.check.messages));
    json_object_set_new(j, "collectives", json_integer((json_int_t)t->lint.check.collectives));
    if (volumes->counter[0])
        json_object_set_new(j, "counter", json_string(volumes->counter));
    if (volumes->unit[0]) {
        json_object_set_new(j, "unit", json_string(volumes->unit));
        json_object_set_new(
            j, "exact", ti_caveats_exact(&t->lint.caveats, volumes->counter, !volumes->inexact));
        json_object_set_new(j, "estimate", json_boolean(volumes->estimate));
    }
    if (t->lint.caveats.change[0])
        json_object_set_new(j, "changed", ti_json_text(t->lint.caveats.change));
    if (t->lint.caveats.extrapolation[0])
        json_object_set_new(j, "extrapolated", ti_json_text(t->lint.caveats.extrapolation));
    json_object_set_new(j, "problem_count", json_integer((json_int_t)t->problems.n));
    json_object_set_new(j, "problems", ti_problems_json(&t->problems));
}

/* Treatment of the bursts of a trace. */
static void add_bursts(json_t *j, const struct ti_replay_options *o,
                       const struct ti_replay_trace *t)
{
    const struct ti_bursts *bursts = &t->bursts;

    if (drawn(o, t)) {
        json_object_set_new(j, "drawn_ranks", json_integer((json_int_t)drawn(o, t)));
        json_object_set_new(j, "expected_error_pct", json_null());
        json_object_set_new(j, "expected_error_reason",
                            json_string("statistics do not keep the order of bursts"));
    }
    if (bursts->as == TI_BURSTS_THREADS)
        json_object_set_new(j, "cores_for_threads",
                            bursts->cores == INT64_MAX ? json_null()
                                                       : json_integer((json_int_t)bursts->cores));
}

static json_t *jobs_json(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    json_t *list = json_array();

    for (int i = 0; i < res->njobs; i++) {
        const struct ti_sim_job *job = &res->job[i];
        json_t *j = json_pack("{s:o, s:I, s:I, s:f}", "trace", ti_json_text(job->trace->path), "np",
                              (json_int_t)job->np, "first_rank", (json_int_t)job->first, "start_s",
                              job->start_s);

        if (job->trace->linted)
            add_lint(j, job->trace);
        add_bursts(j, o, job->trace);
        if (res->simulated) {
            json_object_set_new(j, "end_s", json_real(job->end_s));
            json_object_set_new(j, "time_s", json_real(job->end_s - job->start_s));
        }
        json_array_append_new(list, j);
    }
    return list;
}

/* Standard deviations; null where that of each burst is in the rate file. */
static json_t *noise_json(const struct ti_noise *n)
{
    return json_pack("{s:o, s:f, s:f}", "burst",
                     n->rate ? json_null() : json_real(n->burst > 0 ? n->burst : 0), "core",
                     n->core > 0 ? n->core : 0, "node", n->node > 0 ? n->node : 0);
}

static json_t *loopback_json(const struct ti_replay_options *o, const struct ti_replay_result *res)
{
    return json_pack(
        "{s:f, s:f, s:o}", "bandwidth_bytes_per_s",
        ti_unit_value(o->speeds.loopback_bandwidth, TI_UNIT_BANDWIDTH), "latency_s",
        ti_unit_value(o->speeds.loopback_latency, TI_UNIT_LATENCY), "shared_bytes_per_s",
        res->loopback_shared_Bps > 0 ? json_real(res->loopback_shared_Bps) : json_null());
}

/* Jobs, ranks and platform of the simulation. */
static void add_simulation(json_t *j, const struct ti_replay_options *o,
                           const struct ti_replay_result *res)
{
    if (!o->show && res->np)
        json_object_set_new(j, "engine", json_string(res->engine->name));
    if (res->collectives)
        json_object_set_new(j, "collective_algorithms", json_string(res->collectives));
    if (res->waiting)
        json_object_set(j, "waiting", res->waiting);
    if (o->times)
        json_object_set_new(j, "times", json_true());
    if (o->no_compute)
        json_object_set_new(j, "no_compute", json_true());
    if (o->rates)
        json_object_set_new(
            j, "rates",
            json_pack("{s:o, s:s}", "file", ti_json_text(o->rate), "reference", o->reference));
    if (o->trips.n && res->trace[0].changed)
        json_object_set_new(j, "trips", ti_trips_json(&o->trips));
    if (ti_noise_any(&o->noise))
        json_object_set_new(j, "noise", noise_json(&o->noise));
    if (o->seed || ti_noise_any(&o->noise))
        json_object_set_new(j, "seed", json_integer(o->seed));
    if (o->reduce_rate)
        json_object_set_new(j, "reduce_rate", json_string(o->reduce_rate));
    if (o->copy_rate && serves_rates(res))
        json_object_set_new(j, "copy_rate", json_string(o->copy_rate));
    if (o->speeds.contention && serves_rates(res))
        json_object_set_new(j, "contention", json_string(o->speeds.contention));
    if (has_loopback(o, res))
        json_object_set_new(j, "loopback", loopback_json(o, res));
    if (res->platform[0])
        json_object_set_new(j, "platform", ti_json_text(res->platform));
    ti_shape_add_values(j, &o->speeds.watts, &o->speeds.disk);
    if (res->host_of) {
        json_object_set_new(j, "placement", ti_json_text(o->placement_text));
        json_object_set_new(j, "rank_hosts", ti_place_json(&res->hosts, res->host_of, res->np));
    }
    if (res->actions && res->engine->actions) {
        struct ti_untimed all = untimed(res);

        json_object_set_new(j, "actions", json_integer((json_int_t)res->actions));
        json_object_set_new(j, "untimed",
                            json_pack("{s:I, s:I}", "communicators", (json_int_t)all.comms,
                                      "probes", (json_int_t)all.probes));
    }
}

static void add_times(json_t *j, const struct ti_replay_options *o,
                      const struct ti_replay_result *res)
{
    char wall[64];

    if (res->simulated) {
        json_object_set_new(j, "simulated_time_s", json_real(strtod(res->verdict.time, NULL)));
        json_object_set_new(j, "clock_s", json_real(ti_verdict_seconds(&res->verdict)));
    }
    if (res->simulated && o->against)
        json_object_set_new(j, "against",
                            ti_against_json(&res->against, ti_verdict_seconds(&res->verdict)));
    if (res->energy)
        json_object_set(j, "energy", res->energy);
    if (res->simulated && res->no_energy) {
        json_object_set_new(j, "energy", json_null());
        json_object_set_new(j, "energy_reason", json_string(res->no_energy));
    }
    if (res->steady)
        json_object_set(j, "steady", res->steady);
    if (res->profile)
        json_object_set(j, "profile", res->profile);
    if (res->causes)
        json_object_set(j, "causes", res->causes);
    if (res->links)
        json_object_set(j, "links", res->links);
    if (res->links && res->messages.slices)
        json_object_set_new(j, "link_slice_s", json_real(res->messages.slice_s));
    if (res->wall_s > 0) {
        snprintf(wall, sizeof wall, "%.6f", res->wall_s);
        json_object_set_new(j, "wall_time_s", json_real(strtod(wall, NULL)));
    }
}

static void report_json(const struct ti_replay_options *o, const struct ti_replay_result *res,
                        ti_status st, const struct ti_err *err)
{
    const struct ti_replay_trace *t = res->njobs > 1 || ti_replay_compares(o) ? NULL : res->trace;
    json_t *j = json_pack("{s:o, s:i, s:I}", "trace", ti_json_text(t ? t->path : NULL), "status",
                          (int)st, "np", (json_int_t)res->np);

    if (st)
        json_object_set_new(j, "error", ti_json_text(err->text));
    if (st && err->hint[0])
        json_object_set_new(j, "hint", ti_json_text(err->hint));
    if (t && t->linted)
        add_lint(j, t);
    if (t)
        add_bursts(j, o, t);
    if (res->njobs > 1)
        json_object_set_new(j, "jobs", jobs_json(o, res));
    add_simulation(j, o, res);
    add_times(j, o, res);
    ti_replay_print_json(j);
}

static void print_waiting(const json_t *list)
{
    const json_t *at;
    size_t i;

    json_array_foreach(list, i, at)
    {
        if (json_object_get(at, "job"))
            ti_print(stderr, "  job %" JSON_INTEGER_FORMAT ",",
                     json_integer_value(json_object_get(at, "job")));
        ti_print(
            stderr, "%s rank %" JSON_INTEGER_FORMAT " is at event %" JSON_INTEGER_FORMAT ", %s\n",
            json_object_get(at, "job") ? "" : " ", json_integer_value(json_object_get(at, "rank")),
            json_integer_value(json_object_get(at, "event")),
            json_string_value(json_object_get(at, "call")));
    }
}

ti_status ti_replay_report(const struct ti_replay_options *o, const struct ti_replay_result *res,
                           ti_status st, const struct ti_err *err)
{
    if (st) {
        ti_cli_fail(&ti_replay_cli, st, err);
        for (int i = 0; i < res->ntraces; i++)
            ti_problems_print(&res->trace[i].problems, stderr);
        for (int i = 0; i < res->verdict.nquotes; i++)
            fprintf(stderr, "  smpirun: %s\n", res->verdict.quote[i]);
        print_waiting(res->waiting);
    }
    if (o->sweep.sweep.n || o->ntolerances || ((o->versus || o->scaling) && !(st && o->json)))
        return st;
    if (o->json && (st || !o->show))
        report_json(o, res, st, err);
    else if (!st && !o->show)
        report_text(o, res);
    if (o->keep && ti_scratch_dir()[0] && res->runnable)
        ti_say("files are in '%s'; '%s/" TI_SIM_COMMAND "' runs smpirun", o->keep, o->keep);
    else if (o->keep && ti_scratch_dir()[0])
        ti_say("'%s' has the files written before the error, not all that smpirun needs", o->keep);
    if (fflush(stdout) != 0 && !st) {
        if (!ti_stopped())
            fprintf(stderr, "%s: cannot write the result: %s\n", ti_replay_cli.tool,
                    strerror(errno));
        st = TI_ERR_IO;
    }
    if (o->timeline && !st && res->simulated)
        ti_say("the timeline is in '%s'", o->timeline);
    if (o->picture && !st)
        ti_say("the picture is in '%s'", o->picture);
    return st;
}
