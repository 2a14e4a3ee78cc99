#include "replay-bridge/runs.h"

#include <stdlib.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/table.h"
#include "replay-bridge/report.h"
#include "replay-bridge/simulation/engines.h"
#include "replay-bridge/sweep/interval.h"
#include "replay-bridge/sweep/study.h"

#define A_LINE 5  /* times in a line of the text, if it is wide enough */
#define BEGIN  16 /* of these times */
#define A_TIME 16 /* characters that one takes at most */

/* The times of all runs, by seed. */
static void print_values(const struct ti_replay_options *o, const struct ti_study *study)
{
    int width = ti_width(o->width), n = width > BEGIN ? (width - BEGIN + 2) / A_TIME : A_LINE;

    n = n < 1 ? 1 : n > A_LINE ? A_LINE : n;
    for (int64_t i = 0; i < study->n; i++)
        printf("%*s%.9g%s", i % n ? 2 : BEGIN, "", ti_study_point_time(&study->point[i]),
               i % n == n - 1 || i == study->n - 1 ? "\n" : "");
}

static void print_text(const struct ti_replay_options *o, const struct ti_replay_result *res,
                       const struct ti_study *study, const struct ti_interval *all,
                       const json_t *common, double wall_s)
{
    struct ti_untimed untimed = ti_study_point_untimed(&study->point[0]);

    printf("simulated time: %.9g s, the median of %d run%s\n", all->median, all->n,
           all->n == 1 ? "" : "s");
    if (o->quiet)
        return;
    if (all->n > 1)
        ti_replay_print_line(o, "interval:",
                             "%.9g to %.9g s has the median of all possible runs with a "
                             "probability of %.1f %%",
                             all->low, all->high, 100 * all->confidence);
    ti_replay_print_line(o, "runs:", "%.9g to %.9g s, by seed:", all->min, all->max);
    print_values(o, study);
    ti_replay_print_line(o, "ranks:", "%lld", (long long)res->np);
    ti_replay_print_line(o, "engine:", "%s", res->engine->name);
    ti_replay_print_untimed(o, &untimed, res->engine->name);
    ti_replay_print_line(o, "platform:", "%s", res->platform_text);
    ti_replay_print_drawn(o, (uint64_t)json_integer_value(json_object_get(common, "drawn_ranks")));
    ti_replay_print_noise(o);
    ti_replay_print_line(o, "wall time:", "%.2f s of all runs", wall_s);
}

static void print_json(const struct ti_study *study, const struct ti_interval *all, json_t *common,
                       double wall_s)
{
    json_t *runs = ti_interval_json(all), *values = json_array();

    for (int64_t i = 0; i < study->n; i++)
        json_array_append_new(values, json_real(ti_study_point_time(&study->point[i])));
    json_object_set_new(runs, "values_s", values);
    json_object_set_new(common, "simulated_time_s", json_real(all->median));
    json_object_set_new(common, "clock_s", json_real(all->median));
    json_object_set_new(common, "wall_time_s", json_real(wall_s));
    json_object_del(common, "seed");
    json_object_set_new(common, "runs", runs);
    ti_replay_print_json(json_incref(common));
}

static void report(const struct ti_replay_options *o, const struct ti_replay_result *res,
                   const struct ti_study *study)
{
    size_t none = 0;
    double *value = ti_grow(NULL, &none, (size_t)study->n, sizeof *value), wall_s = 0;
    struct ti_interval all;
    json_t *common = ti_study_common(study);

    for (int64_t i = 0; i < study->n; i++) {
        const json_t *result = json_object_get(study->point[i].record, "result");

        value[i] = ti_study_point_time(&study->point[i]);
        wall_s += json_number_value(json_object_get(result, "wall_time_s"));
    }
    all = ti_interval_of(value, (int)study->n);
    if (all.n > 1 && all.min == all.max)
        ti_warn(
            "all runs took the same time: nothing is drawn at random; --noise lets bursts vary");
    if (o->json)
        print_json(study, &all, common, wall_s);
    else
        print_text(o, res, study, &all, common, wall_s);
    json_decref(common);
    free(value);
}

ti_status ti_runs_command(const struct ti_replay_options *o, const struct ti_replay_result *res,
                          struct ti_err *err)
{
    struct ti_study study;
    ti_status st =
        ti_study_open(&study, &o->sweep.sweep, &o->sweep.base, res->trace->source, NULL, err);

    study.all_or_none = true;
    study.step = "repeating";
    study.unit = "runs";
    study.runner = o->sweep.runner;
    if (!st)
        st = ti_study_run(&study, ti_sweep_jobs(&o->sweep, &study), o->verbose, err);
    if (!st)
        report(o, res, &study);
    ti_study_close(&study);
    return st;
}
