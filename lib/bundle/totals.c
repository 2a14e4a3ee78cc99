/* Sums and metadata of a run, from the scans of its ranks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/run_internal.h"
#include "common/json.h"
#include "common/map.h"
#include "trace/differ.h"

ti_status ti__run_no_memory(const struct ti_run *run, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot check '%s'", run->path);
}

int ti__run_node(struct ti_run *run, const char *host)
{
    const json_t *known;

    if (!host || !*host)
        return -1;
    known = json_object_get(run->node_numbers, host);
    if (known)
        return (int)json_integer_value(known);
    run->node = ti_grow(run->node, &run->node_room, (size_t)run->nnodes + 1, sizeof *run->node);
    run->node[run->nnodes] = strdup(host);
    if (!run->node[run->nnodes])
        return -1;
    /* nocheck: a name may not be UTF-8 */
    json_object_set_new_nocheck(run->node_numbers, host, json_integer(run->nnodes));
    return run->nnodes++;
}

static const char *value_of(const void *reading, const char *key)
{
    return ti_rank_scan_info(reading, key);
}

static void note_info(struct ti_run *run, const struct ti_rank_scan *r)
{
    static const char *const common[] = {"application", "command", "counter", "event",    "unit",
                                         "exact",       "cpu",     "isa",     "tunables", "mpi",
                                         "language",    "library", "threads", "mode",     "extra"};

    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        const char *value = ti_rank_scan_info(r, common[i]);

        if (value && *value && !json_object_get(run->info, common[i]))
            json_object_set_new(run->info, common[i], ti_json_text(value));
    }
    run->exact = run->exact && ti_info_yes(ti_rank_scan_info(r, "exact"));
    run->estimate = run->estimate || ti_info_yes(ti_rank_scan_info(r, "estimate"));
    ti_differ_add_values(run->differing, r->rank, value_of, r);
}

static double number(const struct ti_rank_scan *r, const char *key)
{
    const char *value = ti_rank_scan_info(r, key);
    double v = value ? strtod(value, NULL) : 0;

    return v >= 0 && v < 1e18 ? v : 0;
}

ti_status ti__run_add_up(struct ti_run *run, const struct ti_rank_scan *r, struct ti_err *err)
{
    double v;

    run->gathered++;
    run->complete += r->state == TI_RANK_OK;
    run->bytes += r->file.st_size;
    run->events += r->events;
    run->volume += r->volume;
    run->negative += r->negative;
    ti_burst_overhead_add(&run->calibration, &r->calibration);
    ti_caveats_merge(&run->caveats, &r->caveats);
    run->whole += r->whole;
    run->outside += r->outside;
    run->blocks += r->blocks;
    run->blocks_own += r->blocks_own;
    run->with_whole += r->whole_known;
    run->with_outside += r->outside_known;
    run->messages += r->messages;
    for (int i = 0; i < r->nops; i++) {
        struct ti_op_count *op = &run->op[r->op[i].op];

        op->events += r->op[i].count.events;
        op->bytes += r->op[i].count.bytes;
        op->got += r->op[i].count.got;
    }
    for (int i = 0; i < r->nuntraced; i++)
        if (!ti_call_count_add(&run->untraced, &run->nuntraced, r->untraced[i].name,
                               r->untraced[i].calls))
            return ti__run_no_memory(run, err);
    run->flush_seconds += number(r, "flush_seconds");
    v = number(r, "init_seconds");
    run->init_seconds_max = v > run->init_seconds_max ? v : run->init_seconds_max;
    v = number(r, "app_seconds");
    run->app_seconds_max = v > run->app_seconds_max ? v : run->app_seconds_max;
    v = number(r, "memory_bytes");
    if (v > (double)run->memory_bytes_max)
        run->memory_bytes_max = (int64_t)v;
    note_info(run, r);
    return TI_OK;
}

void ti__run_note_differences(struct ti_run *run)
{
    const char *key;
    json_t *values;

    run->differ = ti_differ_json(run->differing);
    json_object_foreach(run->differ, key, values) run->counters_differ |= ti_differ_counter(key);
    ti_differ_free(run->differing);
    run->differing = NULL;
}
