#include "replay-bridge/simulation/against.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEFT "Process left the game" /* SimGrid's message when a rank has ended */

const char *const ti_against_log[] = {"--log=smpi_process.thres:debug",
                                      "--log=smpi_process.fmt:clock=%.12r%e%m%n", NULL};

/* ------------------------------------------------------------------ read -- */

static bool is_time(const json_t *j)
{
    return json_is_number(j) && json_number_value(j) > 0 && isfinite(json_number_value(j));
}

static ti_status check_run(const char *path, const json_t *run, int i, int64_t np,
                           struct ti_err *err)
{
    const json_t *ranks = json_object_get(run, "ranks_s");

    if (!is_time(json_object_get(run, "time_s")))
        return ti_err_set(err, TI_ERR_INPUT, "%s: run %d has no time_s above 0", path, i + 1);
    if (ranks && !json_is_array(ranks))
        return ti_err_set(err, TI_ERR_INPUT, "%s: ranks_s of run %d is no list", path, i + 1);
    if (ranks && np && (int64_t)json_array_size(ranks) != np)
        return ti_err_set(err, TI_ERR_INPUT,
                          "%s: run %d has times of %zu ranks, but there are %" PRId64, path, i + 1,
                          json_array_size(ranks), np);
    for (size_t r = 0; r < json_array_size(ranks); r++)
        if (!is_time(json_array_get(ranks, r)))
            return ti_err_set(err, TI_ERR_INPUT,
                              "%s: the time of rank %zu in run %d is not above 0", path, r, i + 1);
    return TI_OK;
}

static ti_status check(const char *path, const json_t *j, struct ti_err *err)
{
    const json_t *runs = json_object_get(j, "runs"), *np = json_object_get(j, "np");
    ti_status st = TI_OK;

    if (!json_is_array(runs) || !json_array_size(runs) || json_array_size(runs) > 1000000)
        return ti_err_set(err, TI_ERR_INPUT, "%s: there is no list \"runs\" with a run in it",
                          path);
    if (np && (!json_is_integer(np) || json_integer_value(np) < 1))
        return ti_err_set(err, TI_ERR_INPUT, "%s: np is a number of ranks", path);
    for (size_t i = 0; i < json_array_size(runs) && !st; i++)
        st = check_run(path, json_array_get(runs, i), (int)i, json_integer_value(np), err);
    return st;
}

/* Number of ranks whose times are in every run; 0: none. */
static int64_t common_ranks(const json_t *runs)
{
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < json_array_size(runs); i++) {
        size_t n = json_array_size(json_object_get(json_array_get(runs, i), "ranks_s"));

        least = n < least ? n : least;
    }
    return (int64_t)least;
}

static ti_status read_json(const json_t *j, struct ti_against *out, struct ti_err *err)
{
    const json_t *runs = json_object_get(j, "runs");
    size_t n = json_array_size(runs);
    double *value = malloc(n * sizeof *value);

    out->np = json_integer_value(json_object_get(j, "np"));
    out->ranks = common_ranks(runs);
    out->real = malloc(n * sizeof *out->real);
    out->rank_real = malloc((size_t)(out->ranks + 1) * sizeof *out->rank_real);
    out->rank_simulated = malloc((size_t)(out->ranks + 1) * sizeof *out->rank_simulated);
    if (!value || !out->real || !out->rank_real || !out->rank_simulated) {
        free(value);
        return ti_err_errno(err, TI_ERR_IO, "cannot keep the measured times");
    }
    out->runs = (int)n;
    for (size_t i = 0; i < n; i++)
        value[i] = out->real[i] =
            json_number_value(json_object_get(json_array_get(runs, i), "time_s"));
    out->all = ti_spread_of(value, out->runs);
    for (int64_t r = 0; r < out->ranks; r++) {
        for (size_t i = 0; i < n; i++)
            value[i] = json_number_value(
                json_array_get(json_object_get(json_array_get(runs, i), "ranks_s"), (size_t)r));
        out->rank_real[r] = ti_spread_of(value, out->runs).median;
        out->rank_simulated[r] = -1;
    }
    free(value);
    return TI_OK;
}

ti_status ti_against_read(const char *path, struct ti_against *out, struct ti_err *err)
{
    json_error_t why;
    FILE *f = fopen(path, "re");
    ti_status st;
    json_t *j;

    *out = (struct ti_against){0};
    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
    j = json_loadf(f, JSON_REJECT_DUPLICATES, &why);
    fclose(f);
    if (!j)
        return ti_err_set(err, TI_ERR_INPUT, "%s:%d:%d: %s", path, why.line, why.column, why.text);
    st = check(path, j, err);
    if (!st)
        st = read_json(j, out, err);
    json_decref(j);
    return st;
}

void ti_against_free(struct ti_against *a)
{
    free(a->real);
    free(a->rank_real);
    free(a->rank_simulated);
    *a = (struct ti_against){0};
}

/* "clock=0.0196 <1> Process left the game": processes count from 1. */
void ti_against_ranks(struct ti_against *a, const char *log)
{
    FILE *f = a->ranks ? fopen(log, "re") : NULL;
    char line[512];

    while (f && fgets(line, sizeof line, f)) {
        const char *clock = strstr(line, "clock=");
        double seconds;
        long long pid;

        if (clock && strstr(clock, LEFT) &&
            sscanf(clock, "clock=%lf <%lld>", &seconds, &pid) == 2 && pid >= 1 && pid <= a->ranks &&
            isfinite(seconds) && seconds >= 0)
            a->rank_simulated[pid - 1] = seconds;
    }
    if (f)
        fclose(f);
}

/* ---------------------------------------------------------------- report -- */

static double error_pct(double simulated, double real)
{
    return 100 * (simulated - real) / real;
}

static void row(FILE *out, const char *what, double real, double simulated)
{
    fprintf(out, "%-12s %12.6f %12.6f %+9.2f %%\n", what, real, simulated,
            error_pct(simulated, real));
}

void ti_against_print(const struct ti_against *a, double simulated, FILE *out)
{
    char what[32];

    fprintf(out, "\n%-12s %12s %12s %11s\n", "", "real, s", "simulated, s", "error");
    for (int i = 0; i < a->runs; i++) {
        snprintf(what, sizeof what, "run %d", i + 1);
        row(out, what, a->real[i], simulated);
    }
    /* The least is of the run that other load disturbed least. */
    row(out, "least", a->all.min, simulated);
    row(out, "median", a->all.median, simulated);
    if (ti_spread_known(&a->all))
        fprintf(out, "%-12s %12.6f %25s%.2f %%\n", "spread", a->all.half, "+-",
                100 * a->all.half / a->all.median);
    else
        fprintf(out, "%-12s %12s %s\n", "spread", "?", "one run tells none");
    for (int64_t r = 0; r < a->ranks; r++) {
        snprintf(what, sizeof what, "rank %" PRId64, r);
        if (a->rank_simulated[r] >= 0)
            row(out, what, a->rank_real[r], a->rank_simulated[r]);
        else
            fprintf(out, "%-12s %12.6f %12s\n", what, a->rank_real[r], "?");
    }
}

static json_t *compared(double real, double simulated)
{
    json_t *j = json_pack("{s:f}", "real_s", real);

    if (simulated >= 0) {
        json_object_set_new(j, "simulated_s", json_real(simulated));
        json_object_set_new(j, "error_pct", json_real(error_pct(simulated, real)));
    }
    return j;
}

json_t *ti_against_json(const struct ti_against *a, double simulated)
{
    json_t *runs = json_array(), *ranks = json_array(), *j = compared(a->all.median, simulated);

    for (int i = 0; i < a->runs; i++)
        json_array_append_new(runs, compared(a->real[i], simulated));
    for (int64_t r = 0; r < a->ranks; r++)
        json_array_append_new(ranks, compared(a->rank_real[r], a->rank_simulated[r]));
    json_object_set_new(j, "spread_s",
                        ti_spread_known(&a->all) ? json_real(a->all.half) : json_null());
    json_object_set_new(j, "least", compared(a->all.min, simulated));
    json_object_set_new(j, "runs", runs);
    json_object_set_new(j, "ranks", ranks);
    return j;
}
