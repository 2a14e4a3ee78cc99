#include "info/summary.h"

static void set(json_t *to, const char *key, json_t *value)
{
    json_object_set_new(to, key, value);
}

json_t *info_json_caveats(const struct ti_caveats *c)
{
    json_t *list = json_array();
    char text[512];

    for (int i = 0; ti_caveats_text(c, i, text, sizeof text); i++)
        json_array_append_new(list, info_json_text(text));
    return list;
}

json_t *info_json_operations(const struct summary *sum)
{
    json_t *ops = json_object();

    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (sum->op[op].events)
            set(ops, ti_op_info(op)->text,
                json_pack("{s:o, s:o, s:o}", "events", ti_json_u64(sum->op[op].events), "bytes",
                          ti_json_u64(sum->op[op].bytes), "got", ti_json_u64(sum->op[op].got)));
    return ops;
}

void info_json_volumes(json_t *out, const struct summary *sum)
{
    struct ti_op_count rma = info_totals_of(sum, TI_OP_KIND_RMA),
                       file = info_totals_of(sum, TI_OP_KIND_FILE);

    set(out, "messages", ti_json_u64(sum->messages));
    set(out, "message_bytes", ti_json_u64(info_message_bytes(sum)));
    set(out, "put_bytes", ti_json_u64(rma.bytes));
    set(out, "got_bytes", ti_json_u64(rma.got));
    set(out, "written_bytes", ti_json_u64(file.bytes));
    set(out, "read_bytes", ti_json_u64(file.got));
}

static json_t *json_bad(const struct summary *sum)
{
    json_t *bad = json_array();

    for (int64_t i = 0; i < sum->nrows; i++) {
        const struct row *row = &sum->row[i];

        if (info_is_whole(row))
            continue;
        json_array_append_new(bad, json_pack("{s:I, s:o, s:b, s:o}", "rank", (json_int_t)row->rank,
                                             "events", ti_json_u64(row->events), "damage",
                                             row->damage != NULL, "reason",
                                             info_json_text(info_why_not_whole(row))));
    }
    return bad;
}

/* An object's keys. */
static json_t *names_of(json_t *object)
{
    json_t *list = json_array(), *value;
    const char *name;

    json_object_foreach(object, name, value) json_array_append_new(list, json_string(name));
    return list;
}

static json_t *json_uncounted(const struct ti_caveats *c)
{
    struct ti_share share = ti_caveats_bounds(c);
    json_t *in = json_object();

    for (int i = 0; i < TI_UNCOUNTED_MAX && c->uncounted_in[i].samples; i++)
        set(in, c->uncounted_in[i].name, ti_json_u64(c->uncounted_in[i].samples));
    return json_pack("{s:o, s:o, s:o, s:o, s:f, s:f}", "samples", ti_json_u64(c->samples),
                     "uncounted", ti_json_u64(c->uncounted), "in", in, "unknown",
                     ti_json_u64(c->unknown), "least_pct", 100 * share.least, "most_pct",
                     100 * share.most);
}

void info_print_summary_json(const struct summary *sum)
{
    static const char *const keys[] = {
        "run_id",  "application", "command",  "programs",  "counter",      "event", "unit",
        "threads", "exact",       "estimate", "mixed",     "differ",       "cpu",   "isa",
        "mpi",     "mode",        "acquired", "gathering", TI_INFO_CHANGED};
    json_t *out = json_object(), *ranks = json_object();
    json_t *untraced = json_object(), *bad = json_bad(sum);

    for (int i = 0; i < sum->nuntraced; i++)
        set(untraced, sum->untraced[i].name, ti_json_u64(sum->untraced[i].calls));
    for (int what = 0; what < PER_RANK_COUNT; what++) {
        uint64_t v[3];

        if (info_spread(sum, (enum per_rank)what, v))
            set(ranks, info_per_rank_text[what],
                json_pack("{s:o, s:o, s:o}", "minimum", ti_json_u64(v[0]), "median",
                          ti_json_u64(v[1]), "maximum", ti_json_u64(v[2])));
    }
    set(out, "path", info_json_text(ti_source_path(sum->s)));
    set(out, "kind", json_string(ti_source_kind(sum->s)));
    set(out, "np", json_integer(sum->nranks));
    set(out, "ranks", json_integer(sum->nrows));
    set(out, "complete", json_boolean(!sum->missing.n && !json_array_size(bad)));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_set(out, keys[i], json_object_get(sum->info, keys[i]));
    if (sum->caveats.extrapolation[0])
        set(out, TI_INFO_EXTRAPOLATED, info_json_text(sum->caveats.extrapolation));
    set(out, "exact",
        ti_caveats_exact(&sum->caveats, info_fact(sum, "counter"),
                         json_is_true(json_object_get(sum->info, "exact"))));
    if (sum->caveats.samples)
        set(out, "uncounted", json_uncounted(&sum->caveats));
    set(out, "nodes", json_incref(sum->nodes));
    if (json_object_get(sum->info, "sites")) {
        set(out, "sites", names_of(json_object_get(sum->info, "sites")));
        set(out, "clusters", names_of(json_object_get(sum->info, "clusters")));
        json_object_set(out, "steps", json_object_get(sum->info, "steps"));
    }
    set(out, "events", ti_json_u64(sum->events));
    set(out, "volume", ti_json_u64(sum->volume));
    set(out, "negative_bursts", ti_json_u64(sum->negative));
    set(out, "caveats", info_json_caveats(&sum->caveats));
    if (sum->calibration.ranks)
        set(out, "calibration",
            json_pack("{s:o, s:o, s:o}", "least", ti_json_u64(sum->calibration.least), "most",
                      ti_json_u64(sum->calibration.most), "spread",
                      ti_json_u64(sum->calibration.spread)));
    if (sum->nrows && sum->with_whole == sum->nrows)
        set(out, "whole", ti_json_u64(sum->whole));
    if (sum->nrows && sum->with_outside == sum->nrows)
        set(out, "outside", ti_json_u64(sum->outside));
    if (sum->blocks)
        set(out, "blocks", ti_json_u64(sum->blocks));
    if (sum->blocks_own)
        set(out, "blocks_own", ti_json_u64(sum->blocks_own));
    set(out, "bytes", json_integer(sum->bytes));
    info_json_volumes(out, sum);
    set(out, "operations", info_json_operations(sum));
    set(out, "untraced", untraced);
    set(out, "per_rank", ranks);
    if (sum->events) {
        set(out, "bytes_per_event", json_real((double)sum->bytes / (double)sum->events));
        set(out, "bytes_per_action", json_real((double)sum->bytes / (double)sum->events / 2));
    }
    if (sum->extras)
        info_extras_json(sum->extras, out);
    set(out, "missing", ti_ranges_json(&sum->missing));
    set(out, "incomplete", bad);
    info_print_json(out);
    json_decref(out);
}
