#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "formats/rankname.h"
#include "info/info.h"

struct verify {
    const struct info_style *style;
    json_t *problems, *missing;
    int64_t ranks; /* checked and sound */
    uint64_t events;
    ti_status st;
};

/* A problem: printed now, or kept for the JSON. */
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
        json_t *item = json_object(), *words = json_string(text);

        if (rank >= 0)
            json_object_set_new(item, "rank", json_integer(rank));
        json_object_set_new(item, "damage", json_boolean(st != TI_ERR_PARTIAL));
        json_object_set_new(item, "text", words ? words : json_string("?"));
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

static void check_rank(struct verify *v, struct ti_source *s, int64_t rank, const json_t *entry)
{
    struct ti_reader *r;
    struct ti_scan scan = {0};
    struct ti_err why;
    ti_status st = ti_source_reader(s, rank, &r, &why);

    if (st != TI_OK) {
        problem(v, rank, st, "%s", why.text);
        return;
    }
    st = ti_scan_read(r, &scan, &why);
    v->events += scan.events;
    if (st != TI_OK) {
        problem(v, rank, st, "%s", why.text);
    } else {
        ti_status was = v->st;

        v->st = TI_OK;
        if (entry)
            check_entry(v, rank, entry, &scan);
        if (scan.end != TI_END_COMPLETE)
            problem(v, rank, TI_ERR_PARTIAL, "incomplete after %" PRIu64 " events: %s", scan.events,
                    ti_end_text(scan.end));
        v->ranks += v->st == TI_OK;
        v->st = v->st > was ? v->st : was;
    }
    ti_scan_free(&scan);
    ti_reader_close(r);
}

/* What a bundle's manifest says of each rank, by rank; NULL if there is none. */
static const json_t **manifest_ranks(struct verify *v, const struct ti_source *s)
{
    const json_t *manifest = ti_source_manifest(s), *list, *entry;
    const json_t **by_rank;
    size_t i;

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
    for (i = 0; by_rank && i < json_array_size(list); i++) {
        json_int_t rank;

        entry = json_array_get(list, i);
        rank = json_integer_value(json_object_get(entry, "rank"));
        if (rank >= 0 && rank < ti_source_nranks(s))
            by_rank[rank] = entry;
    }
    return by_rank;
}

/* All ranks that are not there, on a line; and, from the manifest, why, unless
 * there simply was no file. */
static void report_missing(struct verify *v, const struct ti_source *s, const int64_t *rank,
                           int64_t n)
{
    const json_t *list = json_object_get(ti_source_manifest(s), "missing");
    char ranks[512];

    if (!n)
        return;
    if (v->st < TI_ERR_PARTIAL)
        v->st = TI_ERR_PARTIAL;
    for (int64_t i = 0; i < n && v->style->json; i++)
        json_array_append_new(v->missing, json_integer(rank[i]));
    if (v->style->json)
        return;
    printf("%" PRId64 " rank%s missing: %s\n", n, n == 1 ? "" : "s",
           ti_ranks_text(rank, n, ranks, sizeof ranks));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *why = json_string_value(json_object_get(item, "reason"));

        if (why && strcmp(why, "no file") != 0)
            printf("rank %lld: %s\n", (long long)json_integer_value(json_object_get(item, "rank")),
                   why);
    }
}

static void print_result(const struct verify *v, const struct ti_source *s)
{
    char count[32];

    if (v->style->json) {
        json_t *result =
            json_pack("{s:b, s:I, s:I, s:I, s:O, s:O}", "verified", v->st == TI_OK, "np",
                      (json_int_t)ti_source_nranks(s), "ranks", (json_int_t)v->ranks, "events",
                      (json_int_t)v->events, "problems", v->problems, "missing", v->missing);

        json_dumpf(result, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(result);
    } else if (v->st == TI_OK && !v->style->quiet) {
        printf("verified: %" PRId64 " rank%s, %s events\n", v->ranks, v->ranks == 1 ? "" : "s",
               ti_format_count(v->events, count, sizeof count));
    }
}

ti_status info_verify(struct ti_source *s, const struct info_style *style, struct ti_err *err)
{
    struct verify v = {.style = style, .problems = json_array(), .missing = json_array()};
    bool alone = strcmp(ti_source_kind(s), "rank file") == 0;
    const json_t **entry = manifest_ranks(&v, s);
    int64_t nranks = ti_source_nranks(s), nmissing = 0, *missing;

    missing = malloc((size_t)nranks * sizeof *missing + 1);
    if (!missing)
        return ti_err_errno(err, TI_ERR_IO, "cannot verify '%s'", ti_source_path(s));
    for (int64_t rank = 0; rank < nranks; rank++) {
        if (ti_progress_on() && rank % 16 == 0)
            ti_progress("verified %" PRId64 " of %" PRId64 " ranks", rank, nranks);
        if (ti_source_has(s, rank)) {
            check_rank(&v, s, rank, entry ? entry[rank] : NULL);
            if (entry && !entry[rank])
                problem(&v, rank, TI_ERR_INPUT, "the manifest does not know it");
        } else if (!alone) {
            missing[nmissing++] = rank;
            if (entry && entry[rank])
                problem(&v, rank, TI_ERR_INPUT, "the manifest lists it, but it is not there");
        }
    }
    ti_progress_clear();
    report_missing(&v, s, missing, nmissing);
    if (nranks == 0)
        problem(&v, -1, TI_ERR_INPUT, "'%s' holds no trace", ti_source_path(s));
    print_result(&v, s);
    json_decref(v.problems);
    json_decref(v.missing);
    free((void *)(uintptr_t)entry);
    free(missing);
    err->text[0] = err->hint[0] = '\0';
    return v.st;
}
