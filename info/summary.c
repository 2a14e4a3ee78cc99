#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "formats/differ.h"
#include "formats/ranges.h"
#include "formats/rankname.h"
#include "info/info.h"

#define PROBLEMS_SHOWN 8

/* A rank that has a trace. */
struct row {
    int64_t rank, bytes;
    uint64_t events, volume;
    enum ti_end end;
    char
        *damage; /* NULL unless the trace is damaged; the counts cover the part before the damage */
    char *reason; /* how the trace ends, and why; NULL if `end` says all */
};

struct summary {
    struct ti_source *s;
    int64_t nranks, nrows, room;
    struct row *row;
    json_t *info;  /* application, command, counter, event, unit, exact, run_id, missing, ... */
    json_t *nodes; /* names, each once */
    json_t *known; /* the same as keys, if they come from the traces */
    struct ti_differ *differing; /* only while the traces are read */
    int64_t bytes;
    uint64_t events, volume, messages, negative;
    struct ti_burst_overhead calibration;
    struct ti_caveats caveats;
    uint64_t whole, outside; /* as in formats/scan.h, over the ranks that have them */
    int64_t with_whole, with_outside;
    uint64_t blocks, blocks_own; /* the same; 0: none */
    struct ti_op_count op[TI_OP_COUNT];
    struct ti_call_count *untraced;
    int nuntraced;
    struct info_extras *extras; /* NULL: no extra columns */
};

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
    free(sum->untraced);
    json_decref(sum->info);
    json_decref(sum->nodes);
    json_decref(sum->known);
}

static bool add_row(struct summary *sum, struct row row)
{
    if (sum->nrows == sum->room) {
        int64_t room = sum->room ? sum->room * 2 : 64;
        struct row *grown = realloc(sum->row, (size_t)room * sizeof *grown);

        if (!grown)
            return false;
        sum->row = grown;
        sum->room = room;
    }
    sum->row[sum->nrows++] = row;
    sum->bytes += row.bytes;
    sum->events += row.events;
    sum->volume += row.volume;
    return true;
}

json_t *info_json_text(const char *text)
{
    json_t *json = json_string(text);

    return json ? json : json_string("?");
}

/* ------------------------------------------------------ from the manifest -- */

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

static bool take_operations(struct summary *sum, const json_t *totals)
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
        in_ops += sum->op[op].events;
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
    ti_caveats_take(&sum->caveats, json_object_get(totals, "caveats"));
    get_u64(totals, "blocks", &sum->blocks);
    get_u64(totals, "blocks_own", &sum->blocks_own);
    return get_u64(totals, "messages", &sum->messages) && in_ops == sum->events;
}

static bool take_rank(struct summary *sum, const json_t *entry)
{
    const json_t *rank = json_object_get(entry, "rank");
    struct row row = {.rank = json_integer_value(rank)};

    row.bytes = ti_source_bytes(sum->s, row.rank);
    row.end = ti_end_of_word(json_string_value(json_object_get(entry, "end")));
    return json_is_integer(rank) && row.bytes >= 0 && row.end != TI_END_COUNT &&
           (sum->nrows == 0 || sum->row[sum->nrows - 1].rank < row.rank) &&
           get_u64(entry, "events", &row.events) && get_u64(entry, "volume", &row.volume) &&
           add_row(sum, row);
}

bool info_ranges_hold(const json_t *entry, int64_t rank)
{
    const json_t *range;
    size_t i;

    json_array_foreach(json_object_get(entry, "ranks"), i, range)
        if (json_integer_value(json_array_get(range, 0)) <= rank &&
            rank <= json_integer_value(json_array_get(range, 1)))
            return true;
    return false;
}

/* Note why incomplete ranks ended. */
static void take_reasons(struct summary *sum, const json_t *incomplete)
{
    for (size_t i = 0; i < json_array_size(incomplete); i++) {
        const json_t *entry = json_array_get(incomplete, i);
        const char *reason = json_string_value(json_object_get(entry, "reason"));

        for (int64_t k = 0; reason && k < sum->nrows; k++)
            if (!sum->row[k].reason && info_ranges_hold(entry, sum->row[k].rank))
                sum->row[k].reason = strdup(reason);
    }
}

static void take_calibration(struct ti_burst_overhead *c, const json_t *from)
{
    if (get_u64(from, "least", &c->least) && get_u64(from, "most", &c->most) &&
        get_u64(from, "spread", &c->spread))
        c->ranks = 1;
}

/* Note the nodes of the ranks, and the durations of the steps of the acquisition.  `run` is the
 * content of RUN.json, which a manifest has as "acquisition". */
static void take_acquisition(struct summary *sum, const json_t *run)
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

static void take_info(struct summary *sum, const json_t *m)
{
    static const char *const as_is[] = {"application", "command", "run_id",  "cpu",   "isa",
                                        "mpi",         "mode",    "missing", "extra", "differ"};
    static const char *const of_counter[] = {"event", "unit",     "threads",
                                             "exact", "estimate", "mixed"};
    const json_t *counter = json_object_get(m, "counter");
    const json_t *nodes = json_object_get(m, "nodes");

    for (size_t i = 0; i < sizeof as_is / sizeof *as_is; i++)
        json_object_set(sum->info, as_is[i], json_object_get(m, as_is[i]));
    take_calibration(&sum->calibration, json_object_get(counter, "calibration"));
    json_object_set(sum->info, "counter", json_object_get(counter, "backend"));
    json_object_set(sum->info, "acquired", json_object_get(json_object_get(m, "plan"), "mode"));
    for (size_t i = 0; i < sizeof of_counter / sizeof *of_counter; i++)
        json_object_set(sum->info, of_counter[i], json_object_get(counter, of_counter[i]));
    for (size_t i = 0; i < json_array_size(nodes); i++)
        json_array_append(sum->nodes, json_object_get(json_array_get(nodes, i), "name"));
    take_acquisition(sum, json_object_get(m, "acquisition"));
    if (json_is_object(json_object_get(m, "gathering")))
        json_object_set(sum->info, "gathering", json_object_get(m, "gathering"));
}

/* A bundle's manifest has all facts of a summary, so the traces need not be read.  False if the
 * manifest does not match the bundle. */
static bool from_manifest(struct summary *sum)
{
    const json_t *m = ti_source_manifest(sum->s), *ranks = json_object_get(m, "ranks");
    int64_t here = 0;

    if (strcmp(ti_source_kind(sum->s), "bundle") != 0 ||
        json_integer_value(json_object_get(m, "version")) != 1)
        return false;
    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (!take_rank(sum, json_array_get(ranks, i)))
            return false;
    for (int64_t rank = 0; rank < sum->nranks; rank++)
        here += ti_source_has(sum->s, rank);
    if (here != sum->nrows || here == 0 || !take_operations(sum, json_object_get(m, "totals")))
        return false;
    take_reasons(sum, json_object_get(m, "incomplete"));
    take_info(sum, m);
    return true;
}

/* -------------------------------------------------------- from the traces -- */

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
                                       "mpi",         "mode",    "extra"};
    char hex[2 * TI_RUN_ID_BYTES + 1];
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
    for (int i = 0; i < TI_RUN_ID_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", ti_reader_run_id(r)[i]);
    if (!json_object_get(sum->info, "run_id"))
        json_object_set_new(sum->info, "run_id", json_string(hex));
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
        return add_row(sum, row) ? TI_OK : no_memory(err);
    }
    if (ti_scan_read(r, &scan, &why) != TI_OK)
        row.damage = strdup(why.text);
    else if (scan.end != TI_END_COMPLETE)
        row.reason = strdup(info_end_text(r, end, sizeof end));
    row.events = scan.events;
    row.volume = scan.volume;
    row.end = scan.end;
    note_info(sum, r);
    sum->messages += scan.messages;
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
        sum->op[op].events += scan.op[op].events;
        sum->op[op].bytes += scan.op[op].bytes;
        sum->op[op].got += scan.op[op].got;
    }
    st = TI_OK;
    for (int i = 0; i < scan.nuntraced; i++)
        if (!ti_call_count_add(&sum->untraced, &sum->nuntraced, scan.untraced[i].name,
                               scan.untraced[i].calls))
            st = no_memory(err);
    if (!add_row(sum, row))
        st = no_memory(err);
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
        if (ti_progress_on() && rank % 16 == 0)
            ti_progress("read %" PRId64 " of %" PRId64 " ranks", rank, sum->nranks);
        if (ti_source_has(sum->s, rank))
            st = read_rank(sum, rank, err);
    }
    ti_progress_clear();
    note_differences(sum);
    return st;
}

static ti_status fill(struct summary *sum, struct ti_source *s, struct ti_err *err)
{
    struct ti_err why;

    *sum = (struct summary){.s = s,
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
                            .nranks = ti_source_nranks(s),
                            .info = json_object(),
                            .nodes = json_array(),
                            .known = json_object()};
    if (strcmp(ti_source_kind(s), "bundle") != 0)
        take_acquisition(sum, ti_source_manifest(s));
    if (ti_source_manifest_status(s, &why) != TI_OK)
        ti_warn("%s; the traces alone are told of", why.text);
    return from_traces(sum, err);
}

/* -------------------------------------------------------------- questions -- */

static uint64_t message_bytes(const struct summary *sum)
{
    uint64_t bytes = 0;

    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (ti_op_is(op, TI_T_SENDS))
            bytes += sum->op[op].bytes;
    return bytes;
}

/* Totals of one-sided transfers, or of accesses to files. */
static struct ti_op_count traffic(const struct summary *sum, enum ti_op_kind kind)
{
    struct ti_op_count all = {0};

    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        if (ti_op_kind(op) != kind)
            continue;
        all.events += sum->op[op].events;
        all.bytes += sum->op[op].bytes;
        all.got += sum->op[op].got;
    }
    return all;
}

enum per_rank { EVENTS, VOLUME, BYTES, PER_RANK_COUNT };
static const char *const per_rank_text[] = {"events", "volume", "bytes"};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Minimum, median and maximum over the ranks. */
static bool spread(const struct summary *sum, enum per_rank what, uint64_t out[3])
{
    uint64_t *v = malloc((size_t)sum->nrows * sizeof *v + 1);

    if (!v || !sum->nrows) {
        free(v);
        return false;
    }
    for (int64_t i = 0; i < sum->nrows; i++)
        v[i] = what == EVENTS   ? sum->row[i].events
               : what == VOLUME ? sum->row[i].volume
                                : (uint64_t)sum->row[i].bytes;
    qsort(v, (size_t)sum->nrows, sizeof *v, by_value);
    out[0] = v[0];
    out[1] = v[(sum->nrows - 1) / 2];
    out[2] = v[sum->nrows - 1];
    free(v);
    return true;
}

static bool whole(const struct row *row)
{
    return !row->damage && row->end == TI_END_COMPLETE;
}

static const char *why_not_whole(const struct row *row)
{
    if (row->damage)
        return row->damage;
    return row->reason ? row->reason : ti_end_text(row->end);
}

/* The ranks of the run that the source lacks.  The caller frees *out. */
static int64_t missing_ranks(const struct summary *sum, int64_t **out)
{
    int64_t n = 0, row = 0;

    *out = malloc((size_t)sum->nranks * sizeof **out + 1);
    if (!*out || strcmp(ti_source_kind(sum->s), "rank file") == 0)
        return 0;
    for (int64_t rank = 0; rank < sum->nranks; rank++) {
        if (row < sum->nrows && sum->row[row].rank == rank)
            row++;
        else
            (*out)[n++] = rank;
    }
    return n;
}

/* ------------------------------------------------------------------- text -- */

static const char *info_text(const struct summary *sum, const char *key)
{
    return json_string_value(json_object_get(sum->info, key));
}

void info_put_clean(const char *text)
{
    for (; text && *text; text++)
        putchar((unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
}

static void line(const char *what, const char *value)
{
    if (!value)
        return;
    printf("%-12s ", what);
    info_put_clean(value);
    putchar('\n');
}

/* Whether the counter covers the whole program: an exact count of a part is not exact. */
static bool counts_all(const struct summary *sum)
{
    return json_is_true(json_object_get(sum->info, "exact")) && !ti_caveats_misses(&sum->caveats);
}

static void print_counter(const struct summary *sum)
{
    const char *name = info_text(sum, "counter"), *event = info_text(sum, "event");
    const char *unit = info_text(sum, "unit"), *threads = info_text(sum, "threads");

    if (!name)
        return;
    printf("%-12s ", "counter");
    info_put_clean(name);
    printf("%s", event ? ", " : "");
    info_put_clean(event);
    printf("%s", unit ? ", in " : "");
    info_put_clean(unit);
    if (threads && strcmp(threads, "sum") == 0)
        printf(" of all threads");
    printf(", %s%s\n",
           counts_all(sum)                                        ? "exact"
           : json_is_true(json_object_get(sum->info, "estimate")) ? "an estimate"
           : ti_caveats_misses(&sum->caveats)                     ? "not of all code"
                                                                  : "not exact",
           json_is_true(json_object_get(sum->info, "mixed")) ? "; NOT THE SAME ON ALL RANKS" : "");
}

/* The calibration that was subtracted from bursts, and the number of bursts below it. */
static void print_calibration(const struct summary *sum)
{
    const struct ti_burst_overhead *c = &sum->calibration;
    char n[32], negative[32];

    if (c->ranks) {
        printf("%-12s %s", "calibration", ti_format_count(c->least, n, sizeof n));
        if (c->most != c->least)
            printf(" to %s", ti_format_count(c->most, n, sizeof n));
        printf(" taken from each burst, spread %s\n", ti_format_count(c->spread, n, sizeof n));
    }
    if (sum->negative)
        printf("%-12s %s of %s bursts were shorter than that, and are 0\n", "negative",
               ti_format_count(sum->negative, negative, sizeof negative),
               ti_format_count(sum->events, n, sizeof n));
}

/* The share of the program that the counter `blocks` did not count, and the places. */
static void print_uncounted(const struct summary *sum)
{
    const struct ti_caveats *c = &sum->caveats;
    char n[32];

    if (!c->samples)
        return;
    printf("%-12s %.1f %% of %s samples between MPI calls", "uncounted",
           100 * ti_caveats_uncounted(c), ti_format_count(c->samples, n, sizeof n));
    for (int i = 0; i < TI_UNCOUNTED_MAX && c->uncounted_in[i].samples; i++) {
        printf("%s", i ? ", " : ": ");
        info_put_clean(c->uncounted_in[i].name);
        printf(" %s", ti_format_count(c->uncounted_in[i].samples, n, sizeof n));
    }
    if (c->unknown)
        printf("; not known of %s", ti_format_count(c->unknown, n, sizeof n));
    printf("\n");
}

static void print_caveats(const struct summary *sum)
{
    char text[512];

    for (int i = 0; ti_caveats_text(&sum->caveats, i, text, sizeof text); i++)
        line("CAVEAT", text);
}

static json_t *json_caveats(const struct summary *sum)
{
    json_t *list = json_array();
    char text[512];

    for (int i = 0; ti_caveats_text(&sum->caveats, i, text, sizeof text); i++)
        json_array_append_new(list, info_json_text(text));
    return list;
}

/* Print the first keys of an object. */
static void print_names(json_t *object)
{
    const char *name;
    json_t *value;
    int n = 0;

    json_object_foreach(object, name, value)
    {
        if (n++ == 8)
            break;
        printf("%s", n > 1 ? ", " : "");
        info_put_clean(name);
    }
    printf("%s\n", n > 8 ? ", ..." : "");
}

static void print_nodes(const struct summary *sum)
{
    size_t n = json_array_size(sum->nodes);

    if (!n)
        return;
    printf("%-12s %zu:", "nodes", n);
    for (size_t i = 0; i < n && i < 8; i++) {
        printf("%s ", i ? "," : "");
        info_put_clean(json_string_value(json_array_get(sum->nodes, i)));
    }
    printf("%s\n", n > 8 ? ", ..." : "");
}

static void print_sites(const struct summary *sum)
{
    size_t sites = json_object_size(json_object_get(sum->info, "sites"));
    size_t clusters = json_object_size(json_object_get(sum->info, "clusters"));

    if (!sites)
        return;
    printf("%-12s %zu, with %zu cluster%s: ", "sites", sites, clusters, clusters == 1 ? "" : "s");
    print_names(json_object_get(sum->info, "clusters"));
}

static void print_steps(const struct summary *sum)
{
    const json_t *steps = json_object_get(sum->info, "steps"), *step;
    size_t i;

    if (!json_array_size(steps))
        return;
    printf("%-12s", "steps");
    json_array_foreach(steps, i, step)
    {
        const char *name = json_string_value(json_object_get(step, "name"));

        printf("%s ", i ? "," : "");
        info_put_clean(name ? name : "?");
        printf(" %.3f s", json_number_value(json_object_get(step, "seconds")));
    }
    putchar('\n');
}

static int64_t gathering_number(const json_t *g, const char *key)
{
    return json_integer_value(json_object_get(g, key));
}

static double gathering_seconds(const json_t *g, const char *key)
{
    return json_number_value(json_object_get(g, key));
}

/* How the traces were gathered from the nodes, with lost relays, adopted nodes and repeated ranks.
 */
static void print_gathering(const struct summary *sum)
{
    const json_t *g = json_object_get(sum->info, "gathering"),
                 *predicted = json_object_get(g, "predicted");
    int64_t k = gathering_number(g, "arity"), lost = gathering_number(g, "relays_lost"),
            adopted = gathering_number(g, "adopted"), again = gathering_number(g, "ranks_again"),
            here = gathering_number(g, "resumed_bytes");
    size_t nodes = json_array_size(json_object_get(g, "links"));
    char size[32];

    if (!g)
        return;
    printf("%-12s ", "gathered");
    if (k > 0)
        printf("by a tree of arity %" PRId64 ", %" PRId64 " hop%s, ", k,
               gathering_number(g, "depth"), gathering_number(g, "depth") == 1 ? "" : "s");
    else
        fputs("by a star, ", stdout);
    printf("%zu node%s in %.1f s (predicted %.1f s)", nodes, nodes == 1 ? "" : "s",
           gathering_seconds(g, "transferred_seconds"),
           gathering_seconds(predicted, "total_seconds"));
    if (lost)
        printf(", %" PRId64 " could not pass on", lost);
    if (adopted)
        printf(", %" PRId64 " reached by another way", adopted);
    if (again)
        printf(", %" PRId64 " rank%s sent again", again, again == 1 ? "" : "s");
    if (here)
        printf(", %s from before", ti_format_size(here, size, sizeof size));
    putchar('\n');
}

/* The volume from the end of MPI_Init to the entry of MPI_Finalize, including that of MPI and of
 * the library.  Printed only if all ranks have it. */
static void print_whole(const struct summary *sum)
{
    const char *unit = info_text(sum, "unit");
    bool other = unit && strcmp(unit, "instructions") != 0;
    char n[32];

    if (!sum->nrows || sum->with_whole != sum->nrows)
        return;
    printf("%-12s %s%s", "whole run", ti_format_count(sum->whole, n, sizeof n), other ? " " : "");
    if (other)
        info_put_clean(unit);
    if (sum->with_outside == sum->nrows)
        printf(", %s outside MPI", ti_format_count(sum->outside, n, sizeof n));
    if (sum->blocks)
        printf(", %s%s by code compiled with ti-mpicc", ti_format_count(sum->blocks, n, sizeof n),
               other ? " instructions" : "");
    if (sum->blocks_own)
        printf(" and %s in counting it", ti_format_count(sum->blocks_own, n, sizeof n));
    putchar('\n');
}

/* Bytes of messages, one-sided transfers and files; the latter two only if there are any. */
static void print_volumes(const struct summary *sum)
{
    static const struct {
        enum ti_op_kind kind;
        const char *title, *there, *back;
    } kinds[] = {{TI_OP_KIND_RMA, "one-sided", "put", "got"},
                 {TI_OP_KIND_FILE, "files", "written", "read"}};
    char n[32], there[32], back[32];

    printf("%-12s %s", "messages", ti_format_count(sum->messages, n, sizeof n));
    printf(", %s bytes\n", ti_format_count(message_bytes(sum), n, sizeof n));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ti_op_count all = traffic(sum, kinds[i].kind);

        if (all.events)
            printf("%-12s %s, %s bytes %s, %s %s\n", kinds[i].title,
                   ti_format_count(all.events, n, sizeof n),
                   ti_format_count(all.bytes, there, sizeof there), kinds[i].there,
                   ti_format_count(all.got, back, sizeof back), kinds[i].back);
    }
}

/* Bytes that an operation hands over or brings back; "-" if it does neither. */
static const char *op_bytes(const struct summary *sum, uint32_t op, char *buf, size_t bytes)
{
    return ti_op_is(op, TI_T_SENDS) || sum->op[op].bytes
               ? ti_format_count(sum->op[op].bytes, buf, bytes)
               : "-";
}

static const char *op_got(const struct summary *sum, uint32_t op, char *buf, size_t bytes)
{
    return sum->op[op].got ? ti_format_count(sum->op[op].got, buf, bytes) : "-";
}

static void print_operations(const struct summary *sum)
{
    bool both = traffic(sum, TI_OP_KIND_RMA).events || traffic(sum, TI_OP_KIND_FILE).events;
    char events[32], bytes[32], got[32];

    printf("\n%-26s %12s %20s", "operation", "events", "bytes sent");
    if (both)
        printf(" %20s", "bytes got");
    putchar('\n');
    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        if (!sum->op[op].events)
            continue;
        printf("%-26s %12s %20s", ti_op_info(op)->text,
               ti_format_count(sum->op[op].events, events, sizeof events),
               op_bytes(sum, op, bytes, sizeof bytes));
        if (both)
            printf(" %20s", op_got(sum, op, got, sizeof got));
        putchar('\n');
    }
    for (int i = 0; i < sum->nuntraced; i++) {
        printf("%s", i ? ", " : "not traced: ");
        info_put_clean(sum->untraced[i].name);
        printf(" %s", ti_format_count(sum->untraced[i].calls, events, sizeof events));
    }
    if (sum->nuntraced)
        putchar('\n');
}

static void print_spread(const struct summary *sum)
{
    printf("\n%-22s %16s %16s %16s\n", "per rank", "minimum", "median", "maximum");
    for (int what = 0; what < PER_RANK_COUNT; what++) {
        uint64_t v[3];
        char text[3][32];

        if (!spread(sum, (enum per_rank)what, v))
            return;
        for (int i = 0; i < 3; i++)
            ti_format_count(v[i], text[i], sizeof text[i]);
        printf("%-22s %16s %16s %16s\n", per_rank_text[what], text[0], text[1], text[2]);
    }
}

static const char *missing_reason(const struct summary *sum, int64_t rank)
{
    const json_t *list = json_object_get(sum->info, "missing");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (info_ranges_hold(json_array_get(list, i), rank))
            return json_string_value(json_object_get(json_array_get(list, i), "reason"));
    return NULL;
}

/* Missing, incomplete and damaged ranks; prints nothing if there are none. */
static void print_problems(const struct summary *sum, const int64_t *missing, int64_t nmissing,
                           bool apart)
{
    char ranks[512], events[32], text[1024];
    int64_t shown = 0, nbad = 0;
    const char *key;
    json_t *values;

    json_object_foreach(json_object_get(sum->info, "differ"), key, values)
    {
        printf("%s%s\n", apart ? "\n" : "", ti_differ_text(key, values, text, sizeof text));
        apart = false;
    }
    if (nmissing) {
        printf("%s%" PRId64 " rank%s missing: %s\n", apart ? "\n" : "", nmissing,
               nmissing == 1 ? "" : "s", ti_ranks_text(missing, nmissing, ranks, sizeof ranks));
        for (int64_t i = 0; i < nmissing && i < PROBLEMS_SHOWN; i++) {
            const char *why = missing_reason(sum, missing[i]);

            if (why && strcmp(why, "no file") != 0)
                ti_print(stdout, "  rank %" PRId64 ": %s\n", missing[i], why);
        }
    }
    for (int64_t i = 0; i < sum->nrows; i++)
        nbad += !whole(&sum->row[i]);
    if (nbad)
        printf("%s%" PRId64 " rank%s incomplete; counted as far as %s:\n", apart ? "\n" : "", nbad,
               nbad == 1 ? "" : "s", nbad == 1 ? "it goes" : "they go");
    for (int64_t i = 0; i < sum->nrows && shown < PROBLEMS_SHOWN; i++) {
        const struct row *row = &sum->row[i];

        if (whole(row))
            continue;
        printf("  rank %" PRId64 ", after %s events: ", row->rank,
               ti_format_count(row->events, events, sizeof events));
        info_put_clean(why_not_whole(row));
        putchar('\n');
        shown++;
    }
    if (nbad > shown)
        printf("  ... and %" PRId64 " more\n", nbad - shown);
}

static void print_text(const struct summary *sum, const int64_t *missing, int64_t nmissing,
                       bool quiet)
{
    bool alone = strcmp(ti_source_kind(sum->s), "rank file") == 0;
    char n[32], size[32];

    if (quiet) {
        print_problems(sum, missing, nmissing, false);
        return;
    }
    printf("%s: ", ti_source_path(sum->s));
    if (alone)
        printf("rank file of rank %" PRId64 " of %" PRId64 "\n", sum->nrows ? sum->row[0].rank : 0,
               sum->nranks);
    else
        printf("%s of %" PRId64 " rank%s\n", ti_source_kind(sum->s), sum->nranks,
               sum->nranks == 1 ? "" : "s");
    line("run", info_text(sum, "run_id"));
    line("application", info_text(sum, "application"));
    line("command", info_text(sum, "command"));
    print_counter(sum);
    print_calibration(sum);
    print_uncounted(sum);
    print_caveats(sum);
    if (info_text(sum, "mode") && strcmp(info_text(sum, "mode"), "full") != 0)
        line("mode", info_text(sum, "mode"));
    line("cpu", info_text(sum, "cpu"));
    line("mpi", info_text(sum, "mpi"));
    print_nodes(sum);
    print_sites(sum);
    if (info_text(sum, "acquired"))
        line("acquired", info_text(sum, "acquired"));
    print_steps(sum);
    print_gathering(sum);
    line("events", ti_format_count(sum->events, n, sizeof n));
    printf("%-12s %s ", "volume", ti_format_count(sum->volume, n, sizeof n));
    info_put_clean(info_text(sum, "unit"));
    putchar('\n');
    print_whole(sum);
    print_volumes(sum);
    printf("%-12s %s", "stored", ti_format_size(sum->bytes, size, sizeof size));
    if (sum->events)
        printf(": %.4g bytes an event, %.4g an action", (double)sum->bytes / (double)sum->events,
               (double)sum->bytes / (double)sum->events / 2);
    putchar('\n');
    print_operations(sum);
    if (!alone)
        print_spread(sum);
    if (sum->extras)
        info_extras_print(sum->extras);
    print_problems(sum, missing, nmissing, true);
}

/* ------------------------------------------------------------------- JSON -- */

json_t *info_json_u64(uint64_t v)
{
    char digits[32];

    if (v <= INT64_MAX)
        return json_integer((json_int_t)v);
    snprintf(digits, sizeof digits, "%" PRIu64, v);
    return json_string(digits);
}

void info_print_json(const json_t *out)
{
    json_dumpf(out, stdout, JSON_INDENT(1));
    putchar('\n');
}

void info_print_json_open(const json_t *out)
{
    char *text = json_dumps(out, JSON_INDENT(1));

    if (!text)
        TI_BUG("the result cannot be written");
    printf("%.*s", (int)strlen(text) - 2, text); /* without the last "\n}" */
    free(text);
}

static void set(json_t *to, const char *key, json_t *value)
{
    json_object_set_new(to, key, value);
}

static json_t *json_operations(const struct summary *sum)
{
    json_t *ops = json_object();

    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (sum->op[op].events)
            set(ops, ti_op_info(op)->text,
                json_pack("{s:o, s:o, s:o}", "events", info_json_u64(sum->op[op].events), "bytes",
                          info_json_u64(sum->op[op].bytes), "got", info_json_u64(sum->op[op].got)));
    return ops;
}

static void json_volumes(json_t *out, const struct summary *sum)
{
    struct ti_op_count rma = traffic(sum, TI_OP_KIND_RMA), file = traffic(sum, TI_OP_KIND_FILE);

    set(out, "messages", info_json_u64(sum->messages));
    set(out, "message_bytes", info_json_u64(message_bytes(sum)));
    set(out, "put_bytes", info_json_u64(rma.bytes));
    set(out, "got_bytes", info_json_u64(rma.got));
    set(out, "written_bytes", info_json_u64(file.bytes));
    set(out, "read_bytes", info_json_u64(file.got));
}

static json_t *json_bad(const struct summary *sum)
{
    json_t *bad = json_array();

    for (int64_t i = 0; i < sum->nrows; i++) {
        const struct row *row = &sum->row[i];

        if (whole(row))
            continue;
        json_array_append_new(bad, json_pack("{s:I, s:o, s:b, s:o}", "rank", (json_int_t)row->rank,
                                             "events", info_json_u64(row->events), "damage",
                                             row->damage != NULL, "reason",
                                             info_json_text(why_not_whole(row))));
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
    json_t *in = json_object();

    for (int i = 0; i < TI_UNCOUNTED_MAX && c->uncounted_in[i].samples; i++)
        set(in, c->uncounted_in[i].name, info_json_u64(c->uncounted_in[i].samples));
    return json_pack("{s:o, s:o, s:o, s:o}", "samples", info_json_u64(c->samples), "uncounted",
                     info_json_u64(c->uncounted), "in", in, "unknown", info_json_u64(c->unknown));
}

static void print_json(const struct summary *sum, const int64_t *missing, int64_t nmissing)
{
    static const char *const keys[] = {"run_id",   "application", "command", "counter",  "event",
                                       "unit",     "threads",     "exact",   "estimate", "mixed",
                                       "differ",   "cpu",         "isa",     "mpi",      "mode",
                                       "acquired", "gathering"};
    json_t *out = json_object(), *ranks = json_object(), *lack = json_array();
    json_t *untraced = json_object(), *bad = json_bad(sum);

    for (int64_t i = 0; i < nmissing; i++)
        ti_ranges_add(lack, missing[i]);
    for (int i = 0; i < sum->nuntraced; i++)
        set(untraced, sum->untraced[i].name, info_json_u64(sum->untraced[i].calls));
    for (int what = 0; what < PER_RANK_COUNT; what++) {
        uint64_t v[3];

        if (spread(sum, (enum per_rank)what, v))
            set(ranks, per_rank_text[what],
                json_pack("{s:o, s:o, s:o}", "minimum", info_json_u64(v[0]), "median",
                          info_json_u64(v[1]), "maximum", info_json_u64(v[2])));
    }
    set(out, "path", info_json_text(ti_source_path(sum->s)));
    set(out, "kind", json_string(ti_source_kind(sum->s)));
    set(out, "np", json_integer(sum->nranks));
    set(out, "ranks", json_integer(sum->nrows));
    set(out, "complete", json_boolean(!nmissing && !json_array_size(bad)));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_set(out, keys[i], json_object_get(sum->info, keys[i]));
    set(out, "exact", json_boolean(counts_all(sum)));
    if (sum->caveats.samples)
        set(out, "uncounted", json_uncounted(&sum->caveats));
    set(out, "nodes", json_incref(sum->nodes));
    if (json_object_get(sum->info, "sites")) {
        set(out, "sites", names_of(json_object_get(sum->info, "sites")));
        set(out, "clusters", names_of(json_object_get(sum->info, "clusters")));
        json_object_set(out, "steps", json_object_get(sum->info, "steps"));
    }
    set(out, "events", info_json_u64(sum->events));
    set(out, "volume", info_json_u64(sum->volume));
    set(out, "negative_bursts", info_json_u64(sum->negative));
    set(out, "caveats", json_caveats(sum));
    if (sum->calibration.ranks)
        set(out, "calibration",
            json_pack("{s:o, s:o, s:o}", "least", info_json_u64(sum->calibration.least), "most",
                      info_json_u64(sum->calibration.most), "spread",
                      info_json_u64(sum->calibration.spread)));
    if (sum->nrows && sum->with_whole == sum->nrows)
        set(out, "whole", info_json_u64(sum->whole));
    if (sum->nrows && sum->with_outside == sum->nrows)
        set(out, "outside", info_json_u64(sum->outside));
    if (sum->blocks)
        set(out, "blocks", info_json_u64(sum->blocks));
    if (sum->blocks_own)
        set(out, "blocks_own", info_json_u64(sum->blocks_own));
    set(out, "bytes", json_integer(sum->bytes));
    json_volumes(out, sum);
    set(out, "operations", json_operations(sum));
    set(out, "untraced", untraced);
    set(out, "per_rank", ranks);
    if (sum->events) {
        set(out, "bytes_per_event", json_real((double)sum->bytes / (double)sum->events));
        set(out, "bytes_per_action", json_real((double)sum->bytes / (double)sum->events / 2));
    }
    if (sum->extras)
        info_extras_json(sum->extras, out);
    set(out, "missing", lack);
    set(out, "incomplete", bad);
    info_print_json(out);
    json_decref(out);
}

ti_status info_summary(struct ti_source *s, const struct info_style *style, struct ti_err *err)
{
    struct summary sum;
    int64_t *missing = NULL, nmissing;
    ti_status st = fill(&sum, s, err);

    if (st == TI_OK && info_text(&sum, "extra"))
        st = info_extras_read(s, -1, &sum.extras, err);
    if (st == TI_OK) {
        nmissing = missing_ranks(&sum, &missing);
        if (style->json)
            print_json(&sum, missing, nmissing);
        else
            print_text(&sum, missing, nmissing, style->quiet);
        for (int64_t i = 0; i < sum.nrows; i++) {
            if (sum.row[i].damage && st == TI_OK)
                st = ti_err_set(err, TI_ERR_INPUT, "%s", sum.row[i].damage);
        }
        free(missing);
    }
    free_summary(&sum);
    return st;
}

/* --------------------------------------------------------------- one rank -- */

static void print_comms(const struct ti_reader *r)
{
    char members[200];

    printf("\n%-14s %8s %8s  %s\n", "communicator", "rank", "size", "world ranks");
    for (int64_t i = 0; ti_reader_comm(r, i); i++) {
        const struct ti_comm *c = ti_reader_comm(r, i);
        int64_t *wide = malloc((size_t)c->size * sizeof *wide + 1);
        bool ascending = wide != NULL;

        for (int64_t k = 0; wide && k < c->size; k++) {
            wide[k] = c->member[k];
            ascending = ascending && (k == 0 || wide[k] > wide[k - 1]);
        }
        printf("%-14" PRId64 " %8" PRId64 " %8" PRId64 "  %s\n", i, c->rank, c->size,
               ascending ? ti_ranks_text(wide, c->size, members, sizeof members)
                         : "(in an order of their own)");
        free(wide);
    }
}

static void print_rank(struct ti_source *s, struct ti_reader *r, const struct ti_scan *scan,
                       const struct info_extras *extras)
{
    struct summary sum = {.s = s,
                          .messages = scan->messages,
                          .untraced = scan->untraced,
                          .nuntraced = scan->nuntraced};
    const char *key, *value;
    int64_t rank = ti_reader_rank(r);
    char n[32], end[1024];

    memcpy(sum.op, scan->op, sizeof sum.op);
    printf("%s: rank %" PRId64 " of %" PRId64 ", %s\n", ti_source_path(s), rank,
           ti_source_nranks(s), info_end_text(r, end, sizeof end));
    line("file", ti_source_name(s, rank));
    line("events", ti_format_count(scan->events, n, sizeof n));
    line("volume", ti_format_count(scan->volume, n, sizeof n));
    print_volumes(&sum);
    printf("%-12s %s bytes\n", "stored",
           ti_format_count((uint64_t)ti_source_bytes(s, rank), n, sizeof n));
    printf("%-12s %016" PRIx64 "\n", "hash", scan->hash);
    print_operations(&sum);
    if (extras)
        info_extras_print(extras);
    print_comms(r);
    putchar('\n');
    for (int i = 0; ti_reader_info_at(r, i, &key, &value); i++) {
        info_put_clean(key);
        printf("%*s ", strlen(key) < 16 ? 16 - (int)strlen(key) : 0, "");
        info_put_clean(value);
        putchar('\n');
    }
}

static void print_rank_json(struct ti_source *s, struct ti_reader *r, const struct ti_scan *scan,
                            const struct info_extras *extras)
{
    struct summary sum = {.s = s, .messages = scan->messages};
    json_t *out = json_object(), *info = json_object(), *untraced = json_object();
    const char *key, *value;
    char hash[24];

    memcpy(sum.op, scan->op, sizeof sum.op);
    for (int i = 0; ti_reader_info_at(r, i, &key, &value); i++)
        set(info, key, info_json_text(value));
    for (int i = 0; i < scan->nuntraced; i++)
        set(untraced, scan->untraced[i].name, info_json_u64(scan->untraced[i].calls));
    snprintf(hash, sizeof hash, "%016" PRIx64, scan->hash);
    set(out, "rank", json_integer(ti_reader_rank(r)));
    set(out, "np", json_integer(ti_source_nranks(s)));
    set(out, "end", json_string(ti_end_word(scan->end)));
    set(out, "events", info_json_u64(scan->events));
    set(out, "volume", info_json_u64(scan->volume));
    set(out, "bytes", json_integer(ti_source_bytes(s, ti_reader_rank(r))));
    set(out, "hash", json_string(hash));
    json_volumes(out, &sum);
    set(out, "operations", json_operations(&sum));
    set(out, "untraced", untraced);
    if (extras)
        info_extras_json(extras, out);
    set(out, "info", info);
    info_print_json(out);
    json_decref(out);
}

ti_status info_rank(struct ti_source *s, int64_t rank, const struct info_style *style,
                    struct ti_err *err)
{
    struct ti_scan scan = {0};
    struct info_extras *extras = NULL;
    struct ti_reader *r;
    char end[1024];
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st != TI_OK)
        return st;
    st = ti_scan_read(r, &scan, err);
    if (st == TI_OK && ti_reader_extras(r))
        st = info_extras_read(s, rank, &extras, err);
    if (style->json)
        print_rank_json(s, r, &scan, extras);
    else if (!style->quiet)
        print_rank(s, r, &scan, extras);
    else if (st == TI_OK && scan.end != TI_END_COMPLETE)
        printf("rank %" PRId64 ": %s\n", rank, info_end_text(r, end, sizeof end));
    info_extras_free(extras);
    ti_scan_free(&scan);
    ti_reader_close(r);
    return st;
}
