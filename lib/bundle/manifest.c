#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/manifest.h"
#include "common/cli.h"
#include "common/clock.h"
#include "common/hex.h"
#include "common/json.h"
#include "trace/rankname.h"

/* The duration of the gather is known when the rest of the text was made, which may take long: a
 * number then replaces this placeholder. */
#define SECONDS "@seconds of the gather@"

/*
 * Many calls that build values do not report when memory runs out: the value then just lacks
 * something.  So jansson's allocations are watched while the text is made.
 */
static struct {
    json_malloc_t alloc; /* jansson's functions before */
    json_free_t free;
    bool failed;
} watched;

static void *watched_alloc(size_t bytes)
{
    void *p = watched.alloc(bytes);

    watched.failed = watched.failed || !p;
    return p;
}

static void watch_memory(void)
{
    json_get_alloc_funcs(&watched.alloc, &watched.free);
    watched.failed = false;
    json_set_alloc_funcs(watched_alloc, watched.free);
}

/* Stops watching.  Returns whether all allocations succeeded. */
static bool had_memory(void)
{
    json_set_alloc_funcs(watched.alloc, watched.free);
    return !watched.failed;
}

static void put_json(FILE *f, const char *key, json_t *value)
{
    if (!value)
        return;
    fprintf(f, ",\n \"%s\": ", key);
    if (json_dumpf(value, f, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) != 0)
        watched.failed = true;
    json_decref(value);
}

/* A key of RUN.json, else of the traces' metadata. */
static json_t *either(const struct ti_run *run, const char *key)
{
    json_t *value = json_object_get(run->json, key);

    return json_incref(value ? value : json_object_get(run->info, key));
}

static json_t *counter(const struct ti_run *run)
{
    json_t *c = json_object(), *from = json_object_get(run->json, "counter");

    json_object_set(c, "backend", json_object_get(run->info, "counter"));
    json_object_set(c, "event", json_object_get(run->info, "event"));
    json_object_set(c, "unit", json_object_get(run->info, "unit"));
    json_object_set(c, "threads", json_object_get(run->info, "threads"));
    json_object_set_new(c, "exact", json_boolean(run->exact));
    json_object_set_new(c, "estimate", json_boolean(run->estimate));
    if (run->counters_differ)
        json_object_set_new(c, "mixed", json_true());
    if (run->calibration.ranks)
        json_object_set_new(c, "calibration",
                            json_pack("{s:o, s:o, s:o}", "least",
                                      ti_json_u64(run->calibration.least), "most",
                                      ti_json_u64(run->calibration.most), "spread",
                                      ti_json_u64(run->calibration.spread)));
    if (json_is_object(from))
        json_object_update_missing(c, from);
    return c;
}

static void add_step(json_t *steps, const char *name, json_t *step)
{
    if (json_is_object(steps))
        json_object_set_new(steps, name, step);
    else
        json_array_append_new(steps, step);
}

static json_t *fetch_step(const struct ti_run *run)
{
    char started[32];

    return json_pack("{s:s, s:s, s:f, s:I, s:I, s:I}", "name", "fetch", "started",
                     ti_time_text(run->fetch.started, started), "seconds",
                     ti_milliseconds(run->fetch.seconds), "nodes", (json_int_t)run->fetch.nodes,
                     "ranks", (json_int_t)run->fetch.ranks, "bytes", (json_int_t)run->fetch.bytes);
}

/* RUN.json but for what stands elsewhere in the manifest, and the steps that are ours:
 * fetching, where that was needed, and this one. */
static json_t *acquisition(const struct ti_run *run)
{
    static const char *const elsewhere[] = {"np",       "run_id",  "application", "command",
                                            "programs", "counter", "plan"};
    json_t *a = run->json ? json_copy(run->json) : json_object(), *steps;
    char started[32];

    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        json_object_del(a, elsewhere[i]);
    steps = json_object_get(a, "steps");
    steps = json_is_object(steps) || json_is_array(steps) ? json_copy(steps) : json_array();
    if (run->fetch.ranks)
        add_step(steps, "fetch", fetch_step(run));
    add_step(steps, "gather",
             json_pack("{s:s, s:s, s:s, s:f}", "name", "gather", "started",
                       ti_time_text(run->started, started), "seconds", SECONDS, "check_seconds",
                       ti_milliseconds(run->check_seconds)));
    json_object_set_new(a, "steps", steps);
    return a;
}

static int by_node(const void *a, const void *b, void *arg)
{
    const struct ti_run *run = arg;
    const int64_t *x = a, *y = b;
    int nx = run->rank[*x].node, ny = run->rank[*y].node;

    if (nx != ny)
        return nx < ny ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static json_t *nodes(const struct ti_run *run)
{
    int64_t *rank = malloc((size_t)run->gathered * sizeof *rank), n = 0;
    size_t room = (size_t)run->gathered * 10 + 64;
    char *ranks = malloc(room);
    json_t *list = json_array();

    if (!rank || !ranks || !list) {
        watched.failed = true;
        goto out;
    }
    for (int64_t i = 0; i < run->nranks; i++)
        if (ti_run_gathers(run, i) && run->rank[i].node)
            rank[n++] = i;
    qsort_r(rank, (size_t)n, sizeof *rank, by_node, (void *)(uintptr_t)run);
    for (int64_t i = 0, next; i < n; i = next) {
        const char *name = run->node[run->rank[rank[i]].node - 1];
        json_t *item = json_object();

        for (next = i; next < n && run->rank[rank[next]].node == run->rank[rank[i]].node; next++)
            ;
        json_object_set_new(item, "name", ti_json_text(name));
        ti_ranks_text(rank + i, next - i, ranks, room);
        json_object_set_new(item, "ranks", json_string(ranks));
        json_array_append_new(list, item);
    }
out:
    free(rank);
    free(ranks);
    return list;
}

static json_t *totals(const struct ti_run *run)
{
    json_t *t = json_object(), *ops = json_object(), *untraced = json_object();

    json_object_set_new(t, "ranks", json_integer(run->gathered));
    json_object_set_new(t, "events", ti_json_u64(run->events));
    json_object_set_new(t, "volume", ti_json_u64(run->volume));
    json_object_set_new(t, "negative_bursts", ti_json_u64(run->negative));
    if (run->with_whole == run->gathered)
        json_object_set_new(t, "whole", ti_json_u64(run->whole));
    if (run->with_outside == run->gathered)
        json_object_set_new(t, "outside", ti_json_u64(run->outside));
    if (run->blocks)
        json_object_set_new(t, "blocks", ti_json_u64(run->blocks));
    if (run->blocks_own)
        json_object_set_new(t, "blocks_own", ti_json_u64(run->blocks_own));
    json_object_set_new(t, "caveats", ti_caveats_json(&run->caveats));
    json_object_set_new(t, "bytes", json_integer(run->bytes));
    json_object_set_new(t, "messages", ti_json_u64(run->messages));
    for (uint32_t op = 0; op < TI_OP_COUNT; op++) {
        json_t *o;

        if (!run->op[op].events)
            continue;
        o = json_pack("{s:o, s:o}", "events", ti_json_u64(run->op[op].events), "bytes",
                      ti_json_u64(run->op[op].bytes));
        if (run->op[op].got)
            json_object_set_new(o, "got", ti_json_u64(run->op[op].got));
        json_object_set_new(ops, ti_op_info(op)->text, o);
    }
    json_object_set_new(t, "operations", ops);
    for (int i = 0; i < run->nuntraced; i++)
        json_object_set_new(untraced, run->untraced[i].name, ti_json_u64(run->untraced[i].calls));
    json_object_set_new(t, "untraced", untraced);
    json_object_set_new(t, "flush_seconds", json_real(run->flush_seconds));
    json_object_set_new(t, "init_seconds_max", json_real(run->init_seconds_max));
    json_object_set_new(t, "app_seconds_max", json_real(run->app_seconds_max));
    json_object_set_new(t, "memory_bytes_max", json_integer(run->memory_bytes_max));
    return t;
}

static json_t *strays(const struct ti_run *run)
{
    json_t *list = json_array();

    for (int i = 0; i < run->nstrays; i++)
        if (run->stray[i].reason)
            json_array_append_new(list, json_string(run->stray[i].reason));
    return list;
}

/* A line for each rank, formatted by hand: there may be many. */
static void put_ranks(FILE *f, const struct ti_run *run)
{
    bool first = true;

    fprintf(f, ",\n \"ranks\": [");
    for (int64_t i = 0; i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];

        if (!ti_run_gathers(run, i))
            continue;
        fprintf(f, "%s\n  {\"rank\":%" PRId64, first ? "" : ",", i);
        first = false;
        if (rank->node) {
            json_t *name = json_string(run->node[rank->node - 1]);

            if (name) {
                fprintf(f, ",\"node\":");
                if (json_dumpf(name, f, JSON_ENCODE_ANY) != 0)
                    watched.failed = true;
                json_decref(name);
            }
        }
        fprintf(f, ",\"bytes\":%" PRId64 ",\"crc32\":\"%08" PRIx32 "\"",
                (int64_t)rank->file.st_size, rank->crc);
        fprintf(f,
                rank->volume <= INT64_MAX ? ",\"events\":%" PRIu64 ",\"volume\":%" PRIu64
                                          : ",\"events\":%" PRIu64 ",\"volume\":\"%" PRIu64 "\"",
                rank->events, rank->volume);
        fprintf(f, ",\"hash\":\"%016" PRIx64 "\",\"end\":\"%s\"}", rank->hash,
                ti_end_word(rank->end));
    }
    fprintf(f, "\n ]");
}

static void put_seconds(char *text, double seconds)
{
    char *mark = strstr(text, "\"" SECONDS "\""), number[sizeof SECONDS + 2];

    if (!mark)
        return;
    snprintf(number, sizeof number, "%*.3f", (int)strlen(SECONDS) + 2, seconds);
    memcpy(mark, number, strlen(number));
}

char *ti_manifest_text(const struct ti_run *run, size_t *bytes)
{
    static const char *const other[] = {"cpu",  "isa",      "tunables", "mpi",
                                        "mode", "language", "library",  "extra"};
    char *text = NULL, hex[TI_RUN_ID_TEXT];
    FILE *f = open_memstream(&text, bytes);
    bool failed;

    if (!f)
        return NULL;
    watch_memory();
    ti_hex(run->run_id, TI_RUN_ID_BYTES, hex);
    fprintf(f, "{\n \"format\": \"%s\",\n \"version\": %d,\n \"tiara\": \"%s\"", TI_BUNDLE_FORMAT,
            TI_BUNDLE_VERSION, ti_version());
    fprintf(f, ",\n \"run_id\": \"%s\",\n \"np\": %" PRId64 ",\n \"complete\": %s", hex,
            run->nranks, run->complete == run->nranks ? "true" : "false");
    put_json(f, "missing", run->rank ? ti_run_bad_ranks(run, false) : json_array());
    put_json(f, "incomplete", run->rank ? ti_run_bad_ranks(run, true) : json_array());
    put_json(f, "ignored", strays(run));
    put_json(f, "application", either(run, "application"));
    put_json(f, "command", either(run, "command"));
    put_json(f, "programs", json_incref(json_object_get(run->json, "programs")));
    put_json(f, "counter", counter(run));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        put_json(f, other[i], json_incref(json_object_get(run->info, other[i])));
    if (json_object_size(run->differ))
        put_json(f, "differ", json_incref(run->differ));
    put_json(f, "plan", json_incref(json_object_get(run->json, "plan")));
    put_json(f, "nodes", run->rank ? nodes(run) : NULL);
    put_json(f, "acquisition", acquisition(run));
    put_json(f, "gathering", json_incref(run->gathering));
    put_json(f, "totals", totals(run));
    if (run->rank)
        put_ranks(f, run);
    fprintf(f, "\n}\n");
    failed = !had_memory() || ferror(f);
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    put_seconds(text, ti_wall() - run->started);
    return text;
}
