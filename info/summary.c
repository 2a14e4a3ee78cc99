#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass.h"
#include "common/cli.h"
#include "common/hex.h"
#include "common/map.h"
#include "common/sums.h"
#include "fold/shape.h"
#include "info/summary.h"
#include "trace/differ.h"

static ti_status no_memory(struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot sum up");
}

static void free_summary(struct summary *sum)
{
    for (int64_t i = 0; i < sum->nrows; i++) {
        free(sum->row[i].damage);
        free(sum->row[i].reason);
    }
    for (int i = 0; i < sum->nuntraced; i++)
        free(sum->untraced[i].name);
    info_extras_free(sum->extras);
    free(sum->row);
    ti_ranges_free(&sum->missing);
    free(sum->untraced);
    json_decref(sum->info);
    json_decref(sum->nodes);
    json_decref(sum->known);
}

static void add_sum(struct summary *sum, uint64_t *of, uint64_t value)
{
    sum->overflow |= !ti_sum_add(of, value, 1);
}

static void add_row(struct summary *sum, struct row row)
{
    sum->row = ti_grow(sum->row, &sum->rows_cap, (size_t)sum->nrows + 1, sizeof row);
    sum->row[sum->nrows++] = row;
    add_sum(sum, &sum->events, row.events);
    add_sum(sum, &sum->volume, row.volume);
}

/* -------------------------------------------------------- from the manifest -- */

static bool get_u64(const json_t *from, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(from, key);
    char *end;

    if (json_is_integer(v)) {
        *out = (uint64_t)json_integer_value(v);
        return json_integer_value(v) >= 0;
    }
    if (!json_is_string(v))
        return false;
    errno = 0;
    *out = strtoull(json_string_value(v), &end, 10);
    return !errno && !*end && end != json_string_value(v);
}

static bool read_operations(struct summary *sum, const json_t *totals)
{
    const json_t *ops = json_object_get(totals, "operations");
    const json_t *untraced = json_object_get(totals, "untraced");
    uint64_t in_ops = 0;
    const char *name;
    json_t *value;

    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        const json_t *o = json_object_get(ops, ti_op_info(op)->text);

        if (o && (!get_u64(o, "events", &sum->op[op].events) ||
                  !get_u64(o, "bytes", &sum->op[op].bytes) ||
                  (json_object_get(o, "got") && !get_u64(o, "got", &sum->op[op].got))))
            return false;
        add_sum(sum, &in_ops, sum->op[op].events);
    }
    json_object_foreach((json_t *)(uintptr_t)untraced, name, value)
    {
        uint64_t calls;

        if (!get_u64(untraced, name, &calls) ||
            !ti_call_count_add(&sum->untraced, &sum->nuntraced, name, calls))
            return false;
    }
    if (json_object_get(totals, "negative_bursts") &&
        !get_u64(totals, "negative_bursts", &sum->negative))
        return false;
    if (get_u64(totals, "whole", &sum->whole))
        sum->with_whole = sum->nrows;
    if (get_u64(totals, "outside", &sum->outside))
        sum->with_outside = sum->nrows;
    ti_caveats_add_json(&sum->caveats, json_object_get(totals, "caveats"));
    get_u64(totals, "blocks", &sum->blocks);
    get_u64(totals, "blocks_own", &sum->blocks_own);
    return get_u64(totals, "messages", &sum->messages) && in_ops == sum->events;
}

static bool read_row(struct summary *sum, const json_t *entry)
{
    const json_t *rank = json_object_get(entry, "rank");
    struct row row = {.rank = json_integer_value(rank)};

    row.bytes = ti_source_bytes(sum->s, row.rank);
    row.end = ti_end_of_word(json_string_value(json_object_get(entry, "end")));
    if (!json_is_integer(rank) || !ti_source_has(sum->s, row.rank) || row.end == TI_END_COUNT ||
        (sum->nrows && sum->row[sum->nrows - 1].rank >= row.rank) ||
        !get_u64(entry, "events", &row.events) || !get_u64(entry, "volume", &row.volume))
        return false;
    add_row(sum, row);
    return true;
}

/* Note why incomplete ranks ended. */
static void read_reasons(struct summary *sum, const json_t *incomplete)
{
    for (size_t i = 0; i < json_array_size(incomplete); i++) {
        const json_t *entry = json_array_get(incomplete, i);
        const char *reason = json_string_value(json_object_get(entry, "reason"));
        struct ti_ranges ranks;

        ti_ranges_of_json(json_object_get(entry, "ranks"), sum->nranks, &ranks);
        for (int64_t k = 0; reason && k < sum->nrows; k++)
            if (!sum->row[k].reason && ti_ranges_hold(&ranks, sum->row[k].rank))
                sum->row[k].reason = strdup(reason);
        ti_ranges_free(&ranks);
    }
}

static void read_calibration(struct ti_burst_overhead *c, const json_t *from)
{
    if (get_u64(from, "least", &c->least) && get_u64(from, "most", &c->most) &&
        get_u64(from, "spread", &c->spread))
        c->ranks = 1;
}

/* Note the nodes of the ranks, and the durations of the steps of the acquisition.  `run` is the
 * content of RUN.json, which a manifest has as "acquisition". */
static void read_acquisition(struct summary *sum, const json_t *run)
{
    const json_t *nodes = json_object_get(run, "nodes"), *node;
    json_t *steps = json_object_get(run, "steps");
    json_t *sites = json_object(), *clusters = json_object();
    char name[600];
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        const char *site = json_string_value(json_object_get(node, "site"));
        const char *cluster = json_string_value(json_object_get(node, "cluster"));

        if (!site || !cluster)
            continue;
        json_object_set_new(sites, site, json_true());
        snprintf(name, sizeof name, "%s/%s", site, cluster);
        json_object_set_new(clusters, name, json_true());
    }
    if (json_object_size(sites)) {
        json_object_set(sum->info, "sites", sites);
        json_object_set(sum->info, "clusters", clusters);
        if (json_is_array(steps))
            json_object_set(sum->info, "steps", steps);
    }
    json_decref(sites);
    json_decref(clusters);
}

static void read_info(struct summary *sum, const json_t *m)
{
    static const char *const as_is[] = {"application", "command", "programs", "run_id",
                                        "cpu",         "isa",     "mpi",      "mode",
                                        "missing",     "extra",   "differ"};
    static const char *const of_counter[] = {"event", "unit",     "threads",
                                             "exact", "estimate", "mixed"};
    const json_t *counter = json_object_get(m, "counter");
    const json_t *nodes = json_object_get(m, "nodes");

    for (size_t i = 0; i < sizeof as_is / sizeof *as_is; i++)
        json_object_set(sum->info, as_is[i], json_object_get(m, as_is[i]));
    read_calibration(&sum->calibration, json_object_get(counter, "calibration"));
    json_object_set(sum->info, "counter", json_object_get(counter, "backend"));
    json_object_set(sum->info, "acquired", json_object_get(json_object_get(m, "plan"), "mode"));
    for (size_t i = 0; i < sizeof of_counter / sizeof *of_counter; i++)
        json_object_set(sum->info, of_counter[i], json_object_get(counter, of_counter[i]));
    for (size_t i = 0; i < json_array_size(nodes); i++)
        json_array_append(sum->nodes, json_object_get(json_array_get(nodes, i), "name"));
    read_acquisition(sum, json_object_get(m, "acquisition"));
    if (json_is_object(json_object_get(m, "gathering")))
        json_object_set(sum->info, "gathering", json_object_get(m, "gathering"));
}

/* The manifest of a merged trace does not list the ranks: their totals are in the trace. */
static bool add_merged_row(struct summary *sum, int64_t rank)
{
    struct row row = {.rank = rank, .bytes = ti_source_bytes(sum->s, rank)};
    struct ti_totals totals = {0, 0, 0};
    struct ti_reader *r, *again;
    struct ti_event ev;
    bool ok;

    if (ti_source_reader(sum->s, rank, &r, NULL) != TI_OK)
        return false;
    ok = ti_reader_skip(r, NULL) == TI_OK;
    if (ok && !ti_reader_totals(r, &totals) && ti_reader_folded(r)) { /* the trace was cut off */
        totals.events = ti_folded_events(ti_reader_folded(r));
        ok = ti_shape_sum(ti_reader_folded(r), 0, &totals.volume);
    } else if (ok && !ti_reader_totals(r, &totals)) {
        ok = ti_reader_again(r, &again, NULL) == TI_OK;
        for (; ok && ti_reader_next(again, &ev, NULL) > 0; totals.events++)
            totals.volume += ev.volume;
        if (ok)
            ti_reader_close(again);
    }
    row.events = totals.events;
    row.volume = totals.volume;
    row.end = ti_reader_end(r);
    ti_reader_close(r);
    if (ok)
        add_row(sum, row);
    return ok;
}

/* A bundle's manifest has all facts of a summary, so the events need not be read.  False if the
 * manifest does not match the bundle. */
static bool from_manifest(struct summary *sum)
{
    const json_t *m = ti_source_manifest(sum->s), *ranks = json_object_get(m, "ranks");
    int64_t here = 0;

    if (strcmp(ti_source_kind(sum->s), "bundle") != 0 ||
        json_integer_value(json_object_get(m, "version")) != 1)
        return false;
    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (!read_row(sum, json_array_get(ranks, i)))
            return false;
    for (int64_t rank = 0; rank < sum->nranks; rank++) {
        here += ti_source_has(sum->s, rank);
        if (!ranks && ti_source_has(sum->s, rank) && !add_merged_row(sum, rank))
            return false;
    }
    if (here != sum->nrows || here == 0 || !read_operations(sum, json_object_get(m, "totals")))
        return false;
    read_reasons(sum, json_object_get(m, "incomplete"));
    read_info(sum, m);
    return true;
}

/* ---------------------------------------------------------- from the traces -- */

static void note_node(struct summary *sum, const char *host)
{
    json_t *name = host ? info_json_text(host) : NULL;

    if (!name)
        return;
    if (!json_object_get(sum->known, json_string_value(name))) {
        json_array_append(sum->nodes, name);
        json_object_set_new(sum->known, json_string_value(name), json_true());
    }
    json_decref(name);
}

static void note_info(struct summary *sum, const struct ti_reader *r)
{
    static const char *const keys[] = {"application", "command", "counter", "event",
                                       "unit",        "threads", "cpu",     "isa",
                                       "mpi",         "mode",    "extra",   TI_INFO_CHANGED};
    char hex[TI_RUN_ID_TEXT];
    const json_t *exact = json_object_get(sum->info, "exact");
    bool is_exact = ti_info_yes(ti_reader_info(r, "exact"));

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = ti_reader_info(r, keys[i]);

        if (value && *value && !json_object_get(sum->info, keys[i]))
            json_object_set_new(sum->info, keys[i], info_json_text(value));
    }
    json_object_set_new(sum->info, "exact",
                        json_boolean((!exact || json_is_true(exact)) && is_exact));
    if (ti_info_estimate(r) || !json_object_get(sum->info, "estimate"))
        json_object_set_new(sum->info, "estimate", json_boolean(ti_info_estimate(r)));
    ti_differ_add(sum->differing, ti_reader_rank(r), r);
    if (!json_object_get(sum->info, "run_id"))
        json_object_set_new(sum->info, "run_id",
                            json_string(ti_hex(ti_reader_run_id(r), TI_RUN_ID_BYTES, hex)));
    note_node(sum, ti_reader_info(r, "host"));
}

static ti_status read_rank(struct summary *sum, int64_t rank, struct ti_err *err)
{
    struct row row = {.rank = rank, .bytes = ti_source_bytes(sum->s, rank), .end = TI_END_KILLED};
    struct ti_scan scan = {0};
    struct ti_reader *r;
    struct ti_err why;
    char end[1024];
    ti_status st = ti_source_reader(sum->s, rank, &r, &why);

    if (st != TI_OK) {
        row.damage = strdup(why.text);
        add_row(sum, row);
        return TI_OK;
    }
    if (ti_scan_read(r, &scan, &why) != TI_OK)
        row.damage = strdup(why.text);
    else if (scan.end != TI_END_COMPLETE)
        row.reason = strdup(ti_reader_end_text(r, end, sizeof end));
    row.events = scan.events;
    row.volume = scan.volume;
    row.end = scan.end;
    note_info(sum, r);
    add_sum(sum, &sum->messages, scan.messages);
    sum->negative += scan.negative;
    ti_burst_overhead_add(&sum->calibration, &scan.calibration);
    ti_caveats_merge(&sum->caveats, &scan.caveats);
    sum->whole += scan.whole;
    sum->outside += scan.outside;
    sum->blocks += scan.blocks;
    sum->blocks_own += scan.blocks_own;
    sum->with_whole += scan.whole_known;
    sum->with_outside += scan.outside_known;
    for (int op = 0; op < TI_OP_COUNT; op++) {
        add_sum(sum, &sum->op[op].events, scan.op[op].events);
        add_sum(sum, &sum->op[op].bytes, scan.op[op].bytes);
        add_sum(sum, &sum->op[op].got, scan.op[op].got);
    }
    st = TI_OK;
    for (int i = 0; i < scan.nuntraced; i++)
        if (!ti_call_count_add(&sum->untraced, &sum->nuntraced, scan.untraced[i].name,
                               scan.untraced[i].calls))
            st = no_memory(err);
    add_row(sum, row);
    ti_scan_free(&scan);
    ti_reader_close(r);
    return st;
}

static void note_differences(struct summary *sum)
{
    json_t *differ = ti_differ_json(sum->differing), *values;
    const char *key;

    json_object_foreach(differ, key, values) if (ti_differ_counter(key))
        json_object_set_new(sum->info, "mixed", json_true());
    if (json_object_size(differ))
        json_object_set(sum->info, "differ", differ);
    json_decref(differ);
    ti_differ_free(sum->differing);
}

static ti_status from_traces(struct summary *sum, struct ti_err *err)
{
    ti_status st = TI_OK;

    sum->differing = ti_differ_begin();
    for (int64_t rank = 0; rank < sum->nranks && st == TI_OK; rank++) {
        ti_progress("reading", "ranks", rank, sum->nranks);
        if (ti_source_has(sum->s, rank))
            st = read_rank(sum, rank, err);
    }
    ti_progress_end(st == TI_OK);
    note_differences(sum);
    return st;
}

static ti_status read_summary(struct summary *sum, struct ti_source *s, struct ti_err *err)
{
    struct ti_err why;

    *sum = (struct summary){.s = s,
                            .bytes = ti_source_size(s),
                            .nranks = ti_source_nranks(s),
                            .info = json_object(),
                            .nodes = json_array(),
                            .known = json_object()};
    if (from_manifest(sum))
        return TI_OK;
    if (strcmp(ti_source_kind(s), "bundle") == 0)
        ti_warn("'%s': its MANIFEST.json is missing, damaged or does not fit the traces, which are "
                "read instead; 'ti-info --verify %s' checks all",
                ti_source_path(s), ti_source_path(s));
    free_summary(sum);
    *sum = (struct summary){.s = s,
                            .bytes = ti_source_size(s),
                            .nranks = ti_source_nranks(s),
                            .info = json_object(),
                            .nodes = json_array(),
                            .known = json_object()};
    if (strcmp(ti_source_kind(s), "bundle") != 0)
        read_acquisition(sum, ti_source_manifest(s));
    if (ti_source_manifest_status(s, &why) != TI_OK)
        ti_warn("%s; the summary is of the traces alone", why.text);
    return from_traces(sum, err);
}

/* -------------------------------------------------------------- the command -- */

static void find_missing(struct summary *sum)
{
    int64_t row = 0;

    if (strcmp(ti_source_kind(sum->s), "rank file") == 0)
        return;
    for (int64_t rank = 0; rank < sum->nranks; rank++) {
        if (row < sum->nrows && sum->row[row].rank == rank)
            row++;
        else
            ti_ranges_add(&sum->missing, rank);
    }
}

ti_status info_summary(struct ti_source *s, const struct info_style *style, struct ti_err *err)
{
    struct summary sum;
    ti_status st = read_summary(&sum, s, err);

    if (st == TI_OK && sum.overflow)
        st = ti_pass_too_large(s, "volumes or bytes", err);
    if (st == TI_OK && info_fact(&sum, "extra"))
        st = info_extras_read(s, -1, &sum.extras, err);
    if (st == TI_OK) {
        find_missing(&sum);
        if (style->json)
            info_print_summary_json(&sum);
        else
            info_print_summary(&sum, style->quiet, style->width);
        for (int64_t i = 0; i < sum.nrows; i++) {
            if (sum.row[i].damage && st == TI_OK)
                st = ti_err_set(err, TI_ERR_INPUT, "%s", sum.row[i].damage);
        }
    }
    free_summary(&sum);
    return st;
}
