#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cli.h"
#include "common/hex.h"
#include "common/json.h"
#include "common/map.h"
#include "common/ranges.h"
#include "info/info.h"
#include "sound/check.h"
#include "trace/differ.h"
#include "trace/rankname.h"

/* Sums over all traces of a bundle, for comparison with its manifest. */
struct sums {
    int64_t ranks, complete, with_whole, with_outside;
    bool unknown; /* the sums are incomplete: a trace could not be read */
    bool inexact, estimate;
    struct ti_scan of; /* of all ranks; its list of untraced calls is owned */
    struct ti_caveats caveats;
};

struct verify {
    const struct info_style *style;
    const struct ti_source *s;
    const json_t **entry; /* entries of the manifest, by rank; NULL: no manifest */
    bool listed;          /* the manifest lists ranks; that of a merged trace does not */
    json_t *problems;
    struct ti_ranges missing;
    int64_t ranks; /* number of ranks that are complete and without problems */
    uint64_t events;
    struct ti_scan scan;  /* of the current rank */
    struct ti_scan *mark; /* counts at the begin of trips of loops, by depth */
    size_t marks, marks_cap;
    bool estimate;
    struct sums sums;
    struct ti_differ *differing;
    struct ti_check check;
    struct ti_problems unsound;
    ti_status st;
};

/* Report a problem: print it, or keep it for the JSON. */
static void problem(struct verify *v, int64_t rank, ti_status st, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void problem(struct verify *v, int64_t rank, ti_status st, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (st > v->st)
        v->st = st;
    if (v->style->json) {
        json_t *item = json_object();

        if (rank >= 0)
            json_object_set_new(item, "rank", json_integer(rank));
        json_object_set_new(item, "damage", json_boolean(st != TI_ERR_PARTIAL));
        json_object_set_new(item, "text", ti_json_text(text));
        json_array_append_new(v->problems, item);
    } else if (rank >= 0) {
        printf("rank %" PRId64 ": %s\n", rank, text);
    } else {
        printf("%s\n", text);
    }
}

static bool manifest_says(const json_t *entry, const char *key, uint64_t is)
{
    const json_t *value = json_object_get(entry, key);
    char digits[32];

    if (json_is_integer(value))
        return json_integer_value(value) >= 0 && (uint64_t)json_integer_value(value) == is;
    snprintf(digits, sizeof digits, "%" PRIu64, is);
    return json_is_string(value) && strcmp(json_string_value(value), digits) == 0;
}

static void check_entry(struct verify *v, int64_t rank, const json_t *entry,
                        const struct ti_scan *scan)
{
    char hash[24];
    const char *said = json_string_value(json_object_get(entry, "hash"));

    snprintf(hash, sizeof hash, "%016" PRIx64, scan->hash);
    if (!manifest_says(entry, "events", scan->events) ||
        !manifest_says(entry, "volume", scan->volume) || !said || strcmp(said, hash) != 0)
        problem(v, rank, TI_ERR_INPUT, "the trace is not what the manifest says of it");
}

/* --- the manifest, key by key ------------------------------------------- */

static void add_to_sums(struct verify *v, const struct ti_reader *r)
{
    struct sums *s = &v->sums;
    const struct ti_scan *scan = &v->scan;

    s->ranks++;
    s->complete += scan->end == TI_END_COMPLETE;
    s->inexact = s->inexact || !ti_info_yes(ti_reader_info(r, "exact"));
    s->estimate = s->estimate || ti_info_estimate(r);
    s->of.events += scan->events;
    s->of.volume += scan->volume;
    s->of.messages += scan->messages;
    s->of.negative += scan->negative;
    s->of.whole += scan->whole;
    s->of.outside += scan->outside;
    s->of.blocks += scan->blocks;
    s->of.blocks_own += scan->blocks_own;
    s->with_whole += scan->whole_known;
    s->with_outside += scan->outside_known;
    ti_caveats_merge(&s->caveats, &scan->caveats);
    for (int op = 0; op < TI_OP_COUNT; op++) {
        s->of.op[op].events += scan->op[op].events;
        s->of.op[op].bytes += scan->op[op].bytes;
        s->of.op[op].got += scan->op[op].got;
    }
    for (int i = 0; i < scan->nuntraced; i++)
        if (!ti_call_count_add(&s->of.untraced, &s->of.nuntraced, scan->untraced[i].name,
                               scan->untraced[i].calls))
            s->unknown = true;
}

/* Compare a rank's metadata with the keys that the manifest has once for all ranks. */
static void check_common(struct verify *v, int64_t rank, const struct ti_reader *r)
{
    const json_t *m = ti_source_manifest(v->s), *counter = json_object_get(m, "counter");
    const char *said = json_string_value(json_object_get(m, "run_id"));
    static const struct {
        const char *key, *info;
    } same[] = {
        {"backend", "counter"}, {"event", "event"}, {"unit", "unit"}, {"threads", "threads"}};
    char id[TI_RUN_ID_TEXT];

    ti_hex(ti_reader_run_id(r), TI_RUN_ID_BYTES, id);
    if (!said || strcasecmp(said, id) != 0)
        problem(v, rank, TI_ERR_INPUT, "MANIFEST.json: \"run_id\" is %.64s, the trace's is %s",
                said ? said : "missing", id);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const char *is = ti_reader_info(r, same[i].info);

        said = json_string_value(json_object_get(counter, same[i].key));
        /* ranks with different counters are reported by report_differences() */
        if (strcmp(said ? said : "", is ? is : "") != 0 &&
            !json_is_true(json_object_get(counter, "mixed")))
            problem(v, rank, TI_ERR_INPUT,
                    "MANIFEST.json: \"counter.%s\" is '%.64s', the trace's is '%.64s'", same[i].key,
                    said ? said : "", is ? is : "");
    }
}

static void check_number(struct verify *v, const json_t *of, const char *prefix, const char *key,
                         uint64_t is)
{
    if (!manifest_says(of, key, is) && (is || json_object_get(of, key)))
        problem(v, -1, TI_ERR_INPUT,
                "MANIFEST.json: \"%s%s\" is not what the traces have, %" PRIu64, prefix, key, is);
}

static void check_flag(struct verify *v, const json_t *of, const char *prefix, const char *key,
                       bool is)
{
    if (json_is_true(json_object_get(of, key)) != is)
        problem(v, -1, TI_ERR_INPUT, "MANIFEST.json: \"%s%s\" has to be %s, by the traces", prefix,
                key, is ? "true" : "false");
}

static void check_operations(struct verify *v, const json_t *ops)
{
    char prefix[128];

    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        const json_t *o = json_object_get(ops, ti_op_info(op)->text);
        const struct ti_op_count *is = &v->sums.of.op[op];

        snprintf(prefix, sizeof prefix, "totals.operations.%s.", ti_op_info(op)->text);
        check_number(v, o, prefix, "events", is->events);
        check_number(v, o, prefix, "bytes", is->bytes);
        check_number(v, o, prefix, "got", is->got);
    }
}

/* After all ranks were read, compare the sums with the manifest. */
static void check_manifest(struct verify *v)
{
    const json_t *m = ti_source_manifest(v->s), *totals = json_object_get(m, "totals");
    const json_t *untraced = json_object_get(totals, "untraced");
    const struct sums *s = &v->sums;

    if (!v->entry || s->unknown)
        return;
    check_flag(v, m, "", "complete", s->complete == v->check.np);
    check_flag(v, json_object_get(m, "counter"), "counter.", "exact", s->ranks && !s->inexact);
    check_flag(v, json_object_get(m, "counter"), "counter.", "estimate", s->estimate);
    check_number(v, totals, "totals.", "ranks", (uint64_t)s->ranks);
    check_number(v, totals, "totals.", "events", s->of.events);
    check_number(v, totals, "totals.", "volume", s->of.volume);
    if (!ti_source_merged(v->s)) /* else these are the bytes of rank files */
        check_number(v, totals, "totals.", "bytes", (uint64_t)ti_source_size(v->s));
    check_number(v, totals, "totals.", "messages", s->of.messages);
    check_number(v, totals, "totals.", "negative_bursts", s->of.negative);
    check_number(v, totals, "totals.", "whole", s->with_whole == s->ranks ? s->of.whole : 0);
    check_number(v, totals, "totals.", "outside", s->with_outside == s->ranks ? s->of.outside : 0);
    check_number(v, totals, "totals.", "blocks", s->of.blocks);
    check_number(v, totals, "totals.", "blocks_own", s->of.blocks_own);
    check_operations(v, json_object_get(totals, "operations"));
    for (int i = 0; i < s->of.nuntraced; i++)
        check_number(v, untraced, "totals.untraced.", s->of.untraced[i].name,
                     s->of.untraced[i].calls);
    if (json_object_size(untraced) > (size_t)s->of.nuntraced)
        problem(v, -1, TI_ERR_INPUT,
                "MANIFEST.json: \"totals.untraced\" has calls that no trace has");
#define CAVEAT(name, key)                                                                          \
    check_number(v, json_object_get(totals, "caveats"), "totals.caveats.", #name, s->caveats.name);
    TI_CAVEATS(CAVEAT)
#undef CAVEAT
    for (int i = 0; i < TI_UNCOUNTED_MAX && s->caveats.uncounted_in[i].samples; i++)
        check_number(v, json_object_get(json_object_get(totals, "caveats"), "uncounted_in"),
                     "totals.caveats.uncounted_in.", s->caveats.uncounted_in[i].name,
                     s->caveats.uncounted_in[i].samples);
}

/* --- ranks --------------------------------------------------------------- */

/* Check a rank after its last event. */
static void check_totals(struct verify *v, int64_t rank, const struct ti_reader *r)
{
    const json_t *entry = v->entry ? v->entry[rank] : NULL;
    ti_status was = v->st;
    struct ti_err why;
    char end[1024];

    v->st = TI_OK;
    if (ti_scan_end(&v->scan, r, &why) != TI_OK) {
        problem(v, rank, TI_ERR_INPUT, "%s", why.text);
        v->sums.unknown = true;
    } else {
        if (entry)
            check_entry(v, rank, entry, &v->scan);
        if (entry || (v->entry && !v->listed))
            check_common(v, rank, r);
        add_to_sums(v, r);
        if (v->scan.end != TI_END_COMPLETE)
            problem(v, rank, TI_ERR_PARTIAL, "incomplete after %" PRIu64 " events: %s",
                    v->scan.events, ti_reader_end_text(r, end, sizeof end));
    }
    v->ranks += v->st == TI_OK;
    v->st = v->st > was ? v->st : was;
}

static ti_status see_event(void *arg, struct ti_walk *w, const struct ti_step *step, bool sound,
                           struct ti_err *err)
{
    struct verify *v = arg;

    (void)sound;
    return ti_scan_event(&v->scan, ti_walk_reader(w), &step->ev, err);
}

static bool remember(void *arg, uint32_t depth)
{
    struct verify *v = arg;

    if (!TI_ROOM(v->mark, &v->marks_cap, depth + 1))
        return false;
    v->marks = depth >= v->marks ? depth + 1 : v->marks;
    return ti_scan_remember(&v->scan, &v->mark[depth]);
}

static void repeat(void *arg, uint32_t depth, uint64_t times)
{
    struct verify *v = arg;

    ti_scan_repeat(&v->scan, &v->mark[depth], times);
}

static ti_status see_rank(void *arg, int64_t rank, struct ti_walk *w, enum ti_read_state state,
                          ti_status why, struct ti_err *err)
{
    struct verify *v = arg;
    bool alone = strcmp(ti_source_kind(v->s), "rank file") == 0;
    bool known = v->entry && v->entry[rank];

    switch (state) {
    case TI_READ_MISSING:
        if (!alone)
            ti_ranges_add(&v->missing, rank);
        if (known)
            problem(v, rank, TI_ERR_INPUT, "the manifest lists it, but it is not there");
        return TI_OK;
    case TI_READ_DAMAGED:
        problem(v, rank, why, "%s", err->text);
        v->sums.unknown = true;
        break;
    default:
        check_totals(v, rank, ti_walk_reader(w));
        v->estimate = v->estimate || ti_info_estimate(ti_walk_reader(w));
        ti_differ_add(v->differing, rank, ti_walk_reader(w));
    }
    if (v->listed && !known)
        problem(v, rank, TI_ERR_INPUT, "the manifest does not know it");
    v->events += v->scan.events;
    ti_scan_free(&v->scan);
    ti_scan_begin(&v->scan);
    return TI_OK;
}

/* The manifest's entries of ranks, by rank; NULL if there is no manifest.  The caller frees it. */
static const json_t **manifest_ranks(struct verify *v, const struct ti_source *s)
{
    const json_t *manifest = ti_source_manifest(s), *list, *entry;
    const json_t **by_rank;
    struct ti_err why;
    ti_status st = ti_source_manifest_status(s, &why);
    size_t i;

    if (st != TI_OK)
        problem(v, -1, st, "%s", why.text);
    if (strcmp(ti_source_kind(s), "bundle") != 0)
        return NULL;
    if (!manifest) {
        problem(v, -1, TI_ERR_INPUT, "'%s': MANIFEST.json is missing or damaged",
                ti_source_path(s));
        return NULL;
    }
    if (json_integer_value(json_object_get(manifest, "np")) != ti_source_nranks(s))
        problem(v, -1, TI_ERR_INPUT, "'%s': MANIFEST.json says %lld ranks, the traces say %" PRId64,
                ti_source_path(s), (long long)json_integer_value(json_object_get(manifest, "np")),
                ti_source_nranks(s));
    by_rank = calloc((size_t)ti_source_nranks(s) + 1, sizeof *by_rank);
    list = json_object_get(manifest, "ranks");
    v->listed = json_is_array(list);
    for (i = 0; by_rank && i < json_array_size(list); i++) {
        json_int_t rank;

        entry = json_array_get(list, i);
        rank = json_integer_value(json_object_get(entry, "rank"));
        if (rank >= 0 && rank < ti_source_nranks(s))
            by_rank[rank] = entry;
    }
    return by_rank;
}

/* Print the missing ranks on a line, and the reasons that the manifest has, except "no file". */
static void report_missing(struct verify *v)
{
    const json_t *list = json_object_get(ti_source_manifest(v->s), "missing");
    int64_t n = ti_ranges_count(&v->missing);
    char ranks[512];

    if (!n)
        return;
    if (v->st < TI_ERR_PARTIAL)
        v->st = TI_ERR_PARTIAL;
    if (v->style->json)
        return;
    printf("%" PRId64 " rank%s missing: %s\n", n, n == 1 ? "" : "s",
           ti_ranges_text(&v->missing, ranks, sizeof ranks));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i), *range;
        const char *why = json_string_value(json_object_get(item, "reason"));
        size_t k;

        if (!why || strcmp(why, "no file") == 0)
            continue;
        json_array_foreach(json_object_get(item, "ranks"), k, range)
        {
            json_int_t first = json_integer_value(json_array_get(range, 0)),
                       last = json_integer_value(json_array_get(range, 1));

            if (first == last)
                ti_print(stdout, "rank %lld: %s\n", first, why);
            else
                ti_print(stdout, "ranks %lld-%lld: %s\n", first, last, why);
        }
    }
}

/* ---- soundness ---- */

/* Whether ranks that switched recording off explain the problems. */
static bool excused(const struct verify *v)
{
    return v->check.interrupted && v->check.unmatched;
}

static void report_unsound(struct verify *v)
{
    ti_status st = excused(v) ? TI_ERR_PARTIAL : TI_ERR_INPUT;
    json_t *list;

    if (!v->unsound.n)
        return;
    v->st = v->st > st ? v->st : st;
    if (v->style->json) {
        list = ti_problems_json(&v->unsound);
        json_array_extend(v->problems, list);
        json_decref(list);
        return;
    }
    printf("not sound: %" PRIu64 " problem%s\n", v->unsound.n, v->unsound.n == 1 ? "" : "s");
    ti_problems_print(&v->unsound, stdout);
    if (excused(v))
        printf("  (the trace has MPI_Pcontrol(0): ranks stopped recording at points that do not "
               "match)\n");
}

/* Report differences between ranks.  Different counters are an error; other differences, such as
 * other code paths of libraries, are a warning. */
static void report_differences(struct verify *v)
{
    json_t *differ = ti_differ_json(v->differing), *values;
    const char *key;
    char text[1024];

    json_object_foreach(differ, key, values)
    {
        ti_differ_text(key, values, text, sizeof text);
        if (ti_differ_counter(key))
            problem(v, -1, TI_ERR_INPUT, "%s", text);
        else
            ti_warn("%s", text);
    }
    json_decref(differ);
}

static void report_leaks(const struct verify *v)
{
    const struct ti_problems *leaked = &v->check.leaked;

    if (!leaked->n || v->style->json || v->style->quiet)
        return;
    printf("leaked: %" PRIu64 " request%s at MPI_Finalize\n", leaked->n, leaked->n == 1 ? "" : "s");
    ti_problems_print(leaked, stdout);
}

/* ---- the result ---- */

static void print_text(const struct verify *v)
{
    const struct ti_check *c = &v->check;
    char a[32], b[32], d[32];

    printf("conserved: %s messages, %s bytes; %s collectives\n",
           ti_format_count(c->conserved.messages, a, sizeof a),
           ti_format_count(c->conserved.bytes, b, sizeof b),
           ti_format_count(c->conserved.collectives, d, sizeof d));
    if (c->unchecked.messages || c->unchecked.collectives)
        printf("not checked: %s messages, %s collectives; some rank of theirs is not here in "
               "full, or too long to be read again\n",
               ti_format_count(c->unchecked.messages, a, sizeof a),
               ti_format_count(c->unchecked.collectives, b, sizeof b));
    if (c->left_out.ranks)
        printf("loops checked once: %s of %s events of %" PRId64 " rank%s were not read, nor their "
               "hashes checked\n",
               ti_format_count(c->left_out.events, a, sizeof a),
               ti_format_count(v->events, b, sizeof b), c->left_out.ranks,
               c->left_out.ranks == 1 ? "" : "s");
    if (v->estimate)
        printf("volumes are an estimate\n");
    if (v->st == TI_OK)
        printf("verified: %" PRId64 " rank%s, %s events\n", v->ranks, v->ranks == 1 ? "" : "s",
               ti_format_count(v->events, a, sizeof a));
}

/* There may be millions of pairs, so they are not kept as JSON.  Each is a row after all other
 * keys: from, to, messages sent, bytes sent, messages received, bytes received.  The last two are
 * null if they could not be checked. */
static void print_pairs(const struct ti_pairs *pairs)
{
    size_t *order = ti_pairs_sorted(pairs), at = 0;

    if (!order)
        ti_no_memory(pairs->keys.n, sizeof *order);
    printf(",\n \"pairs\": [");
    for (const char *sep = "\n"; at < pairs->keys.n; sep = ",\n") {
        struct ti_pair p = ti_pairs_next(pairs, order, &at);

        printf("%s  [%" PRId64 ", %" PRId64 ", %" PRIu64 ", %" PRIu64, sep, p.from, p.to,
               p.messages, p.bytes);
        if (p.checked)
            printf(", %" PRIu64 ", %" PRIu64 "]", p.received, p.delivered);
        else
            printf(", null, null]");
    }
    printf("\n ]\n}\n");
    free(order);
}

static void print_json(const struct verify *v)
{
    const struct ti_check *c = &v->check;
    json_t *result = json_pack(
        "{s:b, s:b, s:I, s:I, s:I, s:O, s:o, s:{s:I, s:I, s:I}, s:{s:I, s:I}, s:{s:I, s:I}, s:I, "
        "s:o, s:I}",
        "verified", v->st == TI_OK, "estimate", v->estimate, "np", (json_int_t)c->np, "ranks",
        (json_int_t)v->ranks, "events", (json_int_t)v->events, "problems", v->problems, "missing",
        ti_ranges_json(&v->missing), "conserved", "messages", (json_int_t)c->conserved.messages,
        "bytes", (json_int_t)c->conserved.bytes, "collectives",
        (json_int_t)c->conserved.collectives, "unchecked", "messages",
        (json_int_t)c->unchecked.messages, "collectives", (json_int_t)c->unchecked.collectives,
        "left_out", "ranks", (json_int_t)c->left_out.ranks, "events",
        (json_int_t)c->left_out.events, "leaked_count", (json_int_t)c->leaked.n, "leaked",
        ti_problems_json(&c->leaked), "unsound_count", (json_int_t)v->unsound.n);
    info_print_json_open(result);
    print_pairs(&c->pairs);
    json_decref(result);
}

ti_status info_verify(struct ti_source *s, const struct info_style *style, struct ti_err *err)
{
    struct verify v = {.style = style, .s = s, .problems = json_array()};
    const struct ti_visitor visitor = {.arg = &v,
                                       .event = see_event,
                                       .rank = see_rank,
                                       .remember = remember,
                                       .repeat = repeat,
                                       .extras = true};
    struct ti_err why;
    ti_status st;

    v.entry = manifest_ranks(&v, s);
    v.differing = ti_differ_begin();
    ti_scan_begin(&v.scan);
    st = ti_check(s, &visitor, &v.check, &v.unsound, err);
    if (!st) {
        report_missing(&v);
        if (v.st != TI_ERR_INPUT && ti_source_verify(s, &why) != TI_OK)
            problem(&v, -1, TI_ERR_INPUT, "%s", why.text);
        if (ti_source_nranks(s) == 0)
            problem(&v, -1, TI_ERR_INPUT, "'%s' holds no trace", ti_source_path(s));
        check_manifest(&v);
        report_differences(&v);
        report_unsound(&v);
        report_leaks(&v);
        if (style->json)
            print_json(&v);
        else if (!style->quiet)
            print_text(&v);
        err->text[0] = err->hint[0] = '\0';
        st = v.st;
    }
    for (size_t i = 0; i < v.marks; i++)
        ti_scan_mark_free(&v.mark[i]);
    free(v.mark);
    ti_scan_free(&v.scan);
    ti_scan_free(&v.sums.of);
    ti_check_free(&v.check);
    ti_differ_free(v.differing);
    json_decref(v.problems);
    free((void *)(uintptr_t)v.entry);
    ti_ranges_free(&v.missing);
    return st;
}
