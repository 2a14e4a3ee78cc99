#include "acquire/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"

int64_t ti_plan_rank_bytes(int64_t app_bytes, bool valgrind)
{
    int64_t more = TI_RANK_BYTES + (valgrind ? TI_VALGRIND_BYTES : 0);

    return app_bytes < INT64_MAX - more ? app_bytes + more : INT64_MAX;
}

double ti_plan_start_seconds(int64_t ranks, int cores, bool valgrind)
{
    double n = (double)ranks, each = valgrind ? TI_START_VALGRIND_S : 0;

    return (TI_START_PAIR_S * n * n + each * n) / (cores > 0 ? cores : 1);
}

int ti_plan_linger(int64_t ranks)
{
    int64_t beyond = ranks - TI_LINGER_FREE;

    if (beyond <= 0)
        return 0;
    return beyond < TI_LINGER_MAX * TI_LINGER_RANKS_PER_SECOND
               ? (int)((beyond + TI_LINGER_RANKS_PER_SECOND - 1) / TI_LINGER_RANKS_PER_SECOND)
               : TI_LINGER_MAX;
}

void ti_plan_settings(struct ti_plan *plan)
{
    plan->yield = plan->folding > 1;
    plan->ob1 = plan->folding >= TI_FOLD_OB1;
    plan->timer_slack = plan->folding >= TI_FOLD_TIMER_SLACK;
    plan->idle = plan->folding >= TI_FOLD_IDLE;
    plan->lazy_procs = plan->folding >= TI_FOLD_LAZY_PROCS;
}

void ti_plan_make(const struct ti_plan_in *in, struct ti_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->np = in->np;
    plan->cores = in->cores;
    plan->folding = (in->np + in->cores - 1) / in->cores;
    if (plan->folding <= 1)
        strcpy(plan->mode, "R");
    else
        snprintf(plan->mode, sizeof plan->mode, "F-%" PRId64, plan->folding);
    plan->start_seconds = ti_plan_start_seconds(in->np, in->cores, in->valgrind);
    ti_plan_settings(plan);

    plan->reserve_bytes = in->reserve_bytes;
    if (in->available_bytes > in->reserve_bytes)
        plan->available_bytes = in->available_bytes - in->reserve_bytes;
    plan->source = in->source;
    plan->largest_np = INT64_MAX;
    plan->fits = true;
    if (in->source == TI_MEMORY_UNKNOWN)
        return;
    plan->pilot_np = in->pilot_np;
    plan->app_bytes = in->app_bytes;
    if (in->source == TI_MEMORY_MODEL) {
        plan->model = in->model;
        plan->app_bytes = ti_memory_model_bytes(in->model, in->np);
    }
    plan->rank_bytes = ti_plan_rank_bytes(plan->app_bytes, in->valgrind);
    if (__builtin_mul_overflow(plan->rank_bytes, in->np, &plan->needed_bytes))
        plan->needed_bytes = INT64_MAX;
    plan->largest_np = plan->available_bytes / plan->rank_bytes;
    if (in->source == TI_MEMORY_MODEL)
        plan->largest_np = ti_memory_model_largest(in->model, ti_plan_rank_bytes(0, in->valgrind),
                                                   plan->available_bytes);
    plan->fits = in->np <= plan->largest_np;
}

ti_status ti_plan_check(const struct ti_plan *plan, struct ti_err *err)
{
    char needed[32], rank[32], available[32], reserve[32];

    if (plan->fits)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "%" PRId64 " ranks need %s of memory (%s each), and %s is available here (besides "
               "%s left for the system)",
               plan->np, ti_format_size(plan->needed_bytes, needed, sizeof needed),
               ti_format_size(plan->rank_bytes, rank, sizeof rank),
               ti_format_size(plan->available_bytes, available, sizeof available),
               ti_format_size(plan->reserve_bytes, reserve, sizeof reserve));
    if (plan->largest_np < 1)
        ti_err_hint(err, "not even one rank fits; a smaller problem may");
    else if (plan->source == TI_MEMORY_MEASURED)
        ti_err_hint(
            err,
            "at most %" PRId64 " rank%s fit%s; what a rank takes was measured at %" PRId64
            " rank%s and often falls with their number: if you know it, give --mem-per-rank",
            plan->largest_np, plan->largest_np == 1 ? "" : "s", plan->largest_np == 1 ? "s" : "",
            plan->pilot_np, plan->pilot_np == 1 ? "" : "s");
    else
        ti_err_hint(err, "at most %" PRId64 " rank%s fit%s", plan->largest_np,
                    plan->largest_np == 1 ? "" : "s", plan->largest_np == 1 ? "s" : "");
    return TI_ERR_INPUT;
}

/* The share of the model's margin in a rank's memory. */
static double part_pct(const struct ti_plan *plan)
{
    double margin = ti_memory_model_margin_pct(plan->model, plan->np);

    return margin / (100 + margin) * (double)plan->app_bytes / (double)plan->rank_bytes * 100;
}

char *ti_plan_memory_text(const struct ti_plan *plan, char *buf, int buf_bytes)
{
    char needed[32], rank[32], available[32];
    size_t room = (size_t)buf_bytes;

    ti_format_size(plan->needed_bytes, needed, sizeof needed);
    ti_format_size(plan->rank_bytes, rank, sizeof rank);
    ti_format_size(plan->available_bytes, available, sizeof available);
    switch (plan->source) {
    case TI_MEMORY_UNKNOWN:
        ti_format_size(plan->available_bytes / (plan->np ? plan->np : 1), rank, sizeof rank);
        snprintf(buf, room, "not measured; %s available, %s for each rank", available, rank);
        break;
    case TI_MEMORY_GIVEN:
        snprintf(buf, room, "%s needed (%s a rank), %s available", needed, rank, available);
        break;
    case TI_MEMORY_MEASURED:
        snprintf(buf, room,
                 "%s needed at most (%s a rank, probed at %" PRId64 " rank%s), %s available",
                 needed, rank, plan->pilot_np, plan->pilot_np == 1 ? "" : "s", available);
        break;
    case TI_MEMORY_MODEL:
        snprintf(buf, room, "%s needed (%s a rank, %.0f %% of it for safety), %s available", needed,
                 rank, part_pct(plan), available);
        break;
    }
    return buf;
}

json_t *ti_plan_json(const struct ti_plan *plan)
{
    static const char *const sources[] = {"unknown", "given", "probed", "pilot"};
    json_t *memory = json_pack("{s:s, s:I, s:I}", "source", sources[plan->source],
                               "available_bytes", (json_int_t)plan->available_bytes,
                               "reserve_bytes", (json_int_t)plan->reserve_bytes);

    if (memory && plan->source != TI_MEMORY_UNKNOWN) {
        json_object_set_new(memory, "program_bytes_per_rank", json_integer(plan->app_bytes));
        json_object_set_new(memory, "bytes_per_rank", json_integer(plan->rank_bytes));
        json_object_set_new(memory, "needed_bytes", json_integer(plan->needed_bytes));
        json_object_set_new(memory, "largest_np", json_integer(plan->largest_np));
        json_object_set_new(memory, "fits", json_boolean(plan->fits));
    }
    if (memory && plan->source == TI_MEMORY_MODEL)
        json_object_set_new(memory, "pilot", ti_memory_model_json(plan->model));
    if (memory && plan->source == TI_MEMORY_MEASURED)
        json_object_set_new(memory, "probe_np", json_integer(plan->pilot_np));
    return json_pack("{s:s, s:I, s:i, s:I, s:o*}", "mode", plan->mode, "np", (json_int_t)plan->np,
                     "cores", plan->cores, "folding", (json_int_t)plan->folding, "memory", memory);
}
