#include "node/ranks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/hex.h"
#include "common/json.h"
#include "common/ranges.h"
#include "node/launch.h"
#include "trace/rankname.h"
#include "trace/reader.h"

static bool same_run(const struct ti_reader *reader, const char *run_id)
{
    char text[TI_RUN_ID_TEXT];

    return strcmp(ti_hex(ti_reader_run_id(reader), TI_RUN_ID_BYTES, text), run_id) == 0;
}

static double number(const struct ti_reader *reader, const char *key)
{
    const char *value = ti_reader_info(reader, key);

    return value ? strtod(value, NULL) : 0;
}

static void at_most(double *max, double v)
{
    if (v > *max && v < 1e10) /* larger numbers of seconds are damage */
        *max = v;
}

/* Parse "MPI_Put 12, MPI_Get 3"; names may contain blanks. */
static void add_untraced(struct ti_ranks *r, const char *list)
{
    for (const char *end; list && *list; list = *end ? end + 2 : end) {
        char name[256];
        const char *blank;
        unsigned long long calls;

        end = strstr(list, ", ");
        end = end ? end : list + strlen(list);
        blank = memrchr(list, ' ', (size_t)(end - list));
        if (!blank || (calls = strtoull(blank + 1, NULL, 10)) == 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(blank - list), list);
        ti_call_count_add(&r->untraced, &r->nuntraced, name, calls);
    }
}

static void add(struct ti_ranks *r, struct ti_reader *reader)
{
    const char *unit = ti_reader_info(reader, "unit");
    double flush = number(reader, "flush_seconds");
    double memory = number(reader, "memory_bytes");
    struct ti_totals totals;

    r->events += ti_reader_events(reader);
    r->negative += (uint64_t)number(reader, "negative_bursts");
    if (ti_reader_totals(reader, &totals))
        r->volume += totals.volume;
    ti_caveats_add(&r->caveats, reader);
    add_untraced(r, ti_reader_info(reader, "untraced"));
    at_most(&r->init_seconds_max, number(reader, "init_seconds"));
    at_most(&r->app_seconds_max, number(reader, "app_seconds"));
    at_most(&r->flush_seconds_max, flush);
    r->flush_seconds += flush;
    if (memory > 0 && memory < 1e15 && (int64_t)memory > r->memory_bytes_max)
        r->memory_bytes_max = (int64_t)memory;
    r->estimate = r->estimate || ti_info_estimate(reader);
    if (unit && !r->unit[0])
        snprintf(r->unit, sizeof r->unit, "%s", unit);
}

static void read_rank(struct ti_ranks *r, const char *path, int64_t rank, const char *run_id)
{
    char name[TI_RANK_NAME_BYTES], file[PATH_MAX + TI_RANK_NAME_BYTES];
    struct ti_reader *reader = NULL;
    struct ti_err why;
    struct stat st;

    snprintf(file, sizeof file, "%s/%s", path, ti_rank_name(rank, name));
    r->end[rank] = TI_RANK_NO_TRACE;
    if (lstat(file, &st) < 0)
        return;
    r->with_trace++;
    r->bytes += st.st_size;
    r->end[rank] = TI_RANK_BAD;
    if (S_ISREG(st.st_mode) && ti_reader_open(file, &reader, &why) == TI_OK &&
        ti_reader_rank(reader) == rank && same_run(reader, run_id) &&
        ti_reader_skip(reader, &why) == TI_OK) {
        r->end[rank] = (signed char)ti_reader_end(reader);
        r->by_end[ti_reader_end(reader)]++;
        add(r, reader);
    } else {
        r->unreadable++;
    }
    ti_reader_close(reader);
}

ti_status ti_ranks_new(int64_t np, struct ti_ranks *r, struct ti_err *err)
{
    memset(r, 0, sizeof *r);
    r->np = np;
    r->end = malloc((size_t)np);
    if (!r->end)
        return ti_err_errno(err, TI_ERR_IO, "cannot look at the traces");
    memset(r->end, TI_RANK_NO_TRACE, (size_t)np);
    return TI_OK;
}

void ti_ranks_add(struct ti_ranks *r, const char *path, int64_t first, int64_t last,
                  const char *run_id)
{
    for (int64_t rank = first; rank <= last && rank < r->np; rank++)
        read_rank(r, path, rank, run_id);
}

ti_status ti_ranks_read(const char *path, int64_t np, const char *run_id, struct ti_ranks *r,
                        struct ti_err *err)
{
    ti_status st = ti_ranks_new(np, r, err);

    if (st == TI_OK)
        ti_ranks_add(r, path, 0, np - 1, run_id);
    return st;
}

void ti_ranks_free(struct ti_ranks *r)
{
    for (int i = 0; i < r->nuntraced; i++)
        free(r->untraced[i].name);
    free(r->untraced);
    free(r->end);
    r->untraced = NULL;
    r->nuntraced = 0;
    r->end = NULL;
}

bool ti_ranks_complete(const struct ti_ranks *r)
{
    return r->by_end[TI_END_COMPLETE] == r->np;
}

/* Words for the ends of ranks; those in ti_ranks_json() come first. */
static const struct {
    const char *name;
    int end;
} ends[] = {{"complete", TI_END_COMPLETE},
            {"aborted", TI_END_ABORTED},
            {"not_finalized", TI_END_NO_FINALIZE},
            {"stopped", TI_END_STOPPED},
            {"cut_off", TI_END_KILLED},
            {"unreadable", TI_RANK_BAD}};
enum { ENDS = sizeof ends / sizeof *ends, ENDS_COUNTED = ENDS - 1 };

json_t *ti_ranks_json(const struct ti_ranks *r)
{
    json_t *j =
        json_pack("{s:I, s:I, s:I}", "with_trace", (json_int_t)r->with_trace, "missing",
                  (json_int_t)(r->np - r->with_trace), "unreadable", (json_int_t)r->unreadable);

    for (unsigned i = 0; i < ENDS_COUNTED; i++)
        json_object_set_new(j, ends[i].name, json_integer((json_int_t)r->by_end[ends[i].end]));
    return j;
}

/* --- reports ------------------------------------------------------------- */

/* Members of a report that are added up, and those of which the maximum is taken. */
#define SUMS(X)    X(events) X(volume) X(negative)
#define LARGEST(X) X(init_seconds_max) X(app_seconds_max) X(flush_seconds_max)

static struct ti_ranges ranges_of(const struct ti_ranks *r, int end)
{
    struct ti_ranges set = {0};

    for (int64_t i = 0; i < r->np; i++)
        if (r->end[i] == end)
            ti_ranges_add(&set, i);
    return set;
}

json_t *ti_ranks_report(const struct ti_ranks *r)
{
    json_t *j = ti_ranks_json(r), *by = json_object(), *calls = json_object();

    json_object_del(j, "missing"); /* ranks that other nodes report are not missing */
#define PUT_SUM(name) json_object_set_new(j, #name, json_integer((json_int_t)r->name));
    SUMS(PUT_SUM)
#undef PUT_SUM
#define PUT_LARGEST(name) json_object_set_new(j, #name, json_real(r->name));
    LARGEST(PUT_LARGEST)
#undef PUT_LARGEST
    json_object_set_new(j, "flush_seconds", json_real(r->flush_seconds));
    json_object_set_new(j, "bytes", json_integer(r->bytes));
    json_object_set_new(j, "memory_bytes_max", json_integer(r->memory_bytes_max));
    json_object_set_new(j, "unit", ti_json_text(r->unit));
    json_object_set_new(j, "estimate", json_boolean(r->estimate));
    for (int i = 0; i < r->nuntraced; i++)
        json_object_set_new(calls, r->untraced[i].name,
                            json_integer((json_int_t)r->untraced[i].calls));
    json_object_set_new(j, "untraced", calls);
    json_object_set_new(j, "caveats", ti_caveats_json(&r->caveats));
    for (unsigned i = 0; i < ENDS; i++) {
        struct ti_ranges set = ranges_of(r, ends[i].end);

        if (set.n)
            json_object_set_new(by, ends[i].name, ti_ranges_json(&set));
        ti_ranges_free(&set);
    }
    json_object_set_new(j, "ends", by);
    return j;
}

/* A number of a report, limited so that sums do not overflow. */
static int64_t count_of(const json_t *report, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(report, key));

    return v < 0 ? 0 : v > INT64_C(1) << 53 ? INT64_C(1) << 53 : v;
}

/* Parse "ends": the ranks that ended in each way.  False unless these sets are disjoint, and have
 * only ranks of `own`. */
static bool parse_ends(const struct ti_ranks *r, const json_t *by, const json_t *own,
                       struct ti_ranges set[ENDS])
{
    struct ti_ranges all = {0}, owned;
    bool ok = ti_ranges_of_json(own, r->np, &owned);
    int64_t sum = 0;

    for (unsigned i = 0; i < ENDS; i++) {
        const json_t *list = json_object_get(by, ends[i].name);

        ok = (!list || ti_ranges_of_json(list, r->np, &set[i])) && ok;
        sum += ti_ranges_count(&set[i]);
        ti_ranges_add_all(&all, &set[i]);
    }
    ok = ok && ti_ranges_count(&all) == sum;
    ti_ranges_add_all(&all, &owned);
    ok = ok && ti_ranges_count(&all) == ti_ranges_count(&owned);
    ti_ranges_free(&all);
    ti_ranges_free(&owned);
    return ok;
}

static void merge_ends(struct ti_ranks *r, const struct ti_ranges set[ENDS])
{
    for (unsigned i = 0; i < ENDS; i++) {
        int64_t n = ti_ranges_count(&set[i]);

        ti_ranges_foreach (&set[i], rank)
            r->end[rank] = (signed char)ends[i].end;
        r->with_trace += n;
        *(ends[i].end < 0 ? &r->unreadable : &r->by_end[ends[i].end]) += n;
    }
}

bool ti_ranks_merge(struct ti_ranks *r, const json_t *own, const json_t *report)
{
    const json_t *by = json_object_get(report, "ends"), *calls;
    const char *unit = json_string_value(json_object_get(report, "unit")), *name;
    struct ti_ranges set[ENDS] = {0};
    double seconds;
    void *at;
    bool ok;

    if (!json_is_object(by))
        return false;
    ok = parse_ends(r, by, own, set);
    if (ok)
        merge_ends(r, set);
    for (unsigned i = 0; i < ENDS; i++)
        ti_ranges_free(&set[i]);
    if (!ok)
        return false;
    r->bytes += count_of(report, "bytes");
#define ADD_SUM(field) r->field += (uint64_t)count_of(report, #field);
    SUMS(ADD_SUM)
#undef ADD_SUM
#define ADD_LARGEST(field)                                                                         \
    seconds = json_number_value(json_object_get(report, #field));                                  \
    at_most(&r->field, seconds);
    LARGEST(ADD_LARGEST)
#undef ADD_LARGEST
    seconds = json_number_value(json_object_get(report, "flush_seconds"));
    r->flush_seconds += seconds > 0 && seconds < 1e10 ? seconds : 0;
    if (count_of(report, "memory_bytes_max") > r->memory_bytes_max)
        r->memory_bytes_max = count_of(report, "memory_bytes_max");
    r->estimate = r->estimate || json_is_true(json_object_get(report, "estimate"));
    if (unit && *unit && !r->unit[0])
        snprintf(r->unit, sizeof r->unit, "%s", unit);
    ti_caveats_add_json(&r->caveats, json_object_get(report, "caveats"));
    json_object_foreach_safe((json_t *)(uintptr_t)json_object_get(report, "untraced"), at, name,
                             calls)
        ti_call_count_add(&r->untraced, &r->nuntraced, name, (uint64_t)json_integer_value(calls));
    return true;
}
