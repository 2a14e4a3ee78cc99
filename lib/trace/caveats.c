#include "trace/caveats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "event/quality.h"

/* Threads that take less than both belong to MPI: those of Open MPI 4.1 took at most 0.1 ms. */
#define OTHERS_SHARE 0.02
#define OTHERS_NS    UINT64_C(1000000)

#define UNCOUNTED_SHARE 0.01
#define COUNTS_ALL      "-c valgrind or -c papi counts all, of the program as mpicc compiles it"

static bool has_threads(uint64_t caller_ns, uint64_t other_ns)
{
    return other_ns > OTHERS_NS &&
           (double)other_ns > OTHERS_SHARE * ((double)caller_ns + (double)other_ns);
}

/* ------------------------------------------------------ uncounted code -- */

static void add_uncounted(struct ti_caveats *c, const char *name, uint64_t samples)
{
    struct ti_uncounted *list = c->uncounted_in, moved;
    char clean[sizeof list->name];
    int i = 0;

    snprintf(clean, sizeof clean, "%s", name);
    for (char *p = clean; *p; p++)
        if (*p == ',' || *p <= ' ' || *p > '~') /* not trusted: it may come from another machine */
            *p = '_';
    while (i < TI_UNCOUNTED_MAX && list[i].samples && strcmp(list[i].name, clean) != 0)
        i++;
    if (i == TI_UNCOUNTED_MAX || !samples)
        return;
    memcpy(list[i].name, clean, sizeof clean);
    for (list[i].samples += samples; i > 0 && list[i].samples > list[i - 1].samples; i--) {
        moved = list[i];
        list[i] = list[i - 1];
        list[i - 1] = moved;
    }
}

/* Parse "libm.so.6 31, libc.so.6 2". */
static void read_uncounted(struct ti_caveats *c, const char *text)
{
    char name[sizeof c->uncounted_in->name];
    uint64_t samples;
    int n;

    while (text && sscanf(text, "%47s %" SCNu64 "%n", name, &samples, &n) == 2) {
        add_uncounted(c, name, samples);
        text += n;
        if (strncmp(text, ", ", 2) != 0)
            break;
        text += 2;
    }
}

double ti_caveats_uncounted(const struct ti_caveats *c)
{
    return c->samples ? (double)c->uncounted / (double)c->samples : -1;
}

/* The numbers come from a file, so `samples` may exceed the number of all samples. */
static struct ti_share share_of(const struct ti_caveats *c, uint64_t samples)
{
    return ti_share_of(samples < c->samples ? samples : c->samples, c->samples);
}

struct ti_share ti_caveats_bounds(const struct ti_caveats *c)
{
    return share_of(c, c->uncounted);
}

static bool is_much(const struct ti_caveats *c, uint64_t samples)
{
    return samples > 1 && share_of(c, samples).least > UNCOUNTED_SHARE; /* one is never much */
}

/* Whether other code may have taken little and may have taken much. */
static bool is_open(const struct ti_caveats *c)
{
    return !is_much(c, c->uncounted) && !is_much(c, c->unknown) &&
           share_of(c, c->uncounted + c->unknown).most >= UNCOUNTED_SHARE;
}

bool ti_caveats_approximate(const struct ti_caveats *c)
{
    return c->bounded || c->drawn;
}

bool ti_caveats_partial(const char *counter)
{
    return counter && strcmp(counter, "blocks") == 0;
}

enum ti_coverage ti_caveats_coverage(const struct ti_caveats *c, const char *counter)
{
    if (!ti_caveats_partial(counter))
        return TI_COVERS_ALL;
    if (is_open(c))
        return TI_COVERS_UNKNOWN;
    return is_much(c, c->uncounted) || is_much(c, c->unknown) ? TI_COVERS_PART : TI_COVERS_ALL;
}

const char *ti_caveats_words(const struct ti_caveats *c, const char *counter, bool exact,
                             bool estimate)
{
    static const char *const words[] = {[TI_COVERS_ALL] = "exact",
                                        [TI_COVERS_UNKNOWN] = "exact for that code",
                                        [TI_COVERS_PART] = "not of all code"};
    enum ti_coverage covers = ti_caveats_coverage(c, counter);

    if (estimate)
        return "an estimate";
    if (c->extrapolated)
        return "extrapolated";
    if (c->changed)
        return "changed";
    if (covers != TI_COVERS_PART && (!exact || ti_caveats_approximate(c)))
        return "not exact";
    return words[covers];
}

json_t *ti_caveats_exact(const struct ti_caveats *c, const char *counter, bool exact)
{
    enum ti_coverage covers = ti_caveats_coverage(c, counter);

    if (!exact || c->changed || c->extrapolated || ti_caveats_approximate(c) ||
        covers == TI_COVERS_PART)
        return json_false();
    return covers == TI_COVERS_ALL ? json_true() : json_null();
}

/* ------------------------------------------------------------------------- */

void ti_caveats_add_quality(struct ti_caveats *c, const struct ti_reader *r, bool with_extras)
{
    const char *volumes = ti_reader_info(r, "volumes"), *extras = ti_reader_info(r, "extras");
    const char *change = ti_reader_info(r, TI_INFO_CHANGED);
    const char *extrapolation = ti_reader_info(r, TI_INFO_EXTRAPOLATED);
    struct ti_quality q = {TI_EXACT, 0};

    if (extrapolation && !c->extrapolated++)
        snprintf(c->extrapolation, sizeof c->extrapolation, "%s", extrapolation);
    if (change && !c->changed++)
        snprintf(c->change, sizeof c->change, "%s", change);
    if (volumes && ti_quality_parse(volumes, &q)) {
        c->bounded += q.kind == TI_BOUNDED;
        c->drawn += q.kind == TI_STATISTICS;
        if (q.ppm > c->bound_ppm)
            c->bound_ppm = q.ppm;
    }
    if (with_extras && extras && ti_quality_parse(extras, &q))
        c->drawn_extras += q.kind == TI_STATISTICS;
}

void ti_caveats_add(struct ti_caveats *c, const struct ti_reader *r)
{
    struct ti_caveats own = {.ranks = 1, .whole = ti_reader_end(r) == TI_END_COMPLETE};
    const char *counter = ti_reader_info(r, "counter");

#define ADD(name, key)                                                                             \
    if (key[0])                                                                                    \
        ti_reader_info_u64(r, key, &own.name);
    TI_CAVEATS(ADD)
#undef ADD
    own.blocks = counter && !strcmp(counter, "blocks");
    own.events = own.whole ? ti_reader_events(r) : 0;
    own.threaded = has_threads(own.caller_ns, own.other_ns);
    read_uncounted(&own, ti_reader_info(r, "uncounted_in"));
    ti_caveats_add_quality(&own, r, true);
    ti_caveats_merge(c, &own);
}

void ti_caveats_merge(struct ti_caveats *c, const struct ti_caveats *more)
{
#define SUM(name, key) c->name += more->name;
    TI_CAVEATS(SUM)
#undef SUM
    for (int i = 0; i < TI_UNCOUNTED_MAX; i++)
        add_uncounted(c, more->uncounted_in[i].name, more->uncounted_in[i].samples);
    if (!c->change[0])
        memcpy(c->change, more->change, sizeof c->change);
    if (!c->extrapolation[0])
        memcpy(c->extrapolation, more->extrapolation, sizeof c->extrapolation);
    if (more->bound_ppm > c->bound_ppm)
        c->bound_ppm = more->bound_ppm;
    if (more->exit_status)
        c->exit_status = more->exit_status;
}

void ti_caveats_run(struct ti_caveats *c, const json_t *run)
{
    json_int_t status = json_integer_value(json_object_get(run, "exit_status"));

    if (status > 0 && status < 256)
        c->exit_status = (int)status;
}

json_t *ti_caveats_json(const struct ti_caveats *c)
{
    json_t *j = json_object(), *in = json_object();

#define PUT(name, key) json_object_set_new(j, #name, json_integer((json_int_t)c->name));
    TI_CAVEATS(PUT)
#undef PUT
    for (int i = 0; i < TI_UNCOUNTED_MAX && c->uncounted_in[i].samples; i++)
        json_object_set_new(in, c->uncounted_in[i].name,
                            json_integer((json_int_t)c->uncounted_in[i].samples));
    json_object_set_new(j, "uncounted_in", in);
    if (c->extrapolation[0])
        json_object_set_new(j, "extrapolation", ti_json_text(c->extrapolation));
    json_object_set_new(j, "bound_ppm", json_integer((json_int_t)c->bound_ppm));
    return j;
}

static uint64_t number(const json_t *json, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(json, key));

    return value > 0 ? (uint64_t)value : 0;
}

void ti_caveats_add_json(struct ti_caveats *c, const json_t *json)
{
    const char *name;
    json_t *samples;

#define TAKE(name, key) c->name += number(json, #name);
    TI_CAVEATS(TAKE)
#undef TAKE
    if (number(json, "bound_ppm") > c->bound_ppm)
        c->bound_ppm = number(json, "bound_ppm");
    if (!c->extrapolation[0])
        snprintf(c->extrapolation, sizeof c->extrapolation, "%s",
                 ti_json_string(json, "extrapolation"));
    json_object_foreach(json_object_get(json, "uncounted_in"), name, samples)
        add_uncounted(c, name, number(json_object_get(json, "uncounted_in"), name));
}

static bool nothing_recorded(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->whole || c->events > 2 * c->whole)
        return false;
    snprintf(buf, bytes,
             "next to nothing was recorded: %" PRIu64 " events of %" PRIu64
             " rank%s, MPI_Init and MPI_Finalize at most; did the program do its work?",
             c->events, c->whole, c->whole == 1 ? "" : "s");
    return true;
}

static bool failed(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->exit_status)
        return false;
    snprintf(buf, bytes, "the program ended with status %d when it was traced", c->exit_status);
    return true;
}

static bool changed(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->changed)
        return false;
    snprintf(buf, bytes,
             "%" PRIu64 " rank%s changed after %s traced, by %s: no run had these events",
             c->changed, c->changed == 1 ? " was" : "s were",
             c->changed == 1 ? "it was" : "they were", c->change[0] ? c->change : "another tool");
    return true;
}

static bool extrapolated(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->extrapolated)
        return false;
    snprintf(buf, bytes, "no run had these events: %" PRIu64 " rank%s extrapolated %s",
             c->extrapolated, c->extrapolated == 1 ? " was" : "s were",
             c->extrapolation[0] ? c->extrapolation : "from other runs");
    return true;
}

static bool threaded(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->threaded)
        return false;
    snprintf(buf, bytes,
             "threads that do not call MPI took %.0f %% of the CPU time, in %" PRIu64 " of %" PRIu64
             " ranks, and what they executed is in no volume: trace with --threads sum%s",
             100 * (double)c->other_ns / ((double)c->caller_ns + (double)c->other_ns), c->threaded,
             c->ranks,
             c->blocks ? ", which -c valgrind, -c papi and -c cputime can and blocks cannot" : "");
    return true;
}

static bool asked_for_nodes(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->node_questions)
        return false;
    snprintf(buf, bytes,
             "the program asked which ranks share a node, or for a processor's name (%" PRIu64
             " calls), and was told of the machine it was traced on: trace with "
             "--target-ranks-per-node N, the ranks on a node of the target",
             c->node_questions);
    return true;
}

/* ": libm.so.6 31.0 %, libc.so.6 2.0 %", the first three, into buf of `bytes` bytes. */
static void put_places(const struct ti_caveats *c, char *buf, size_t bytes)
{
    size_t n = 0;

    buf[0] = '\0';
    for (int i = 0; i < 3 && c->uncounted_in[i].samples && n < bytes; i++)
        n += (size_t)snprintf(buf + n, bytes - n, "%s%s %.1f %%", i ? ", " : ": ",
                              c->uncounted_in[i].name,
                              100 * (double)c->uncounted_in[i].samples / (double)c->samples);
}

/* Said only if there is a sign of such code: most short runs have few samples, and none of it. */
static bool may_miss_code(const struct ti_caveats *c, char *buf, size_t bytes)
{
    uint64_t missed = c->uncounted + c->unknown;
    char where[256];

    if (!missed || !is_open(c))
        return false;
    put_places(c, where, sizeof where);
    snprintf(
        buf, bytes,
        "up to %.1f %% of the program's CPU time between MPI calls may be in no volume: %" PRIu64
        " of %" PRIu64 " samples were not in code that ti-mpicc compiled%s.  These are too few "
        "samples to tell; a longer run has more, and " COUNTS_ALL,
        100 * share_of(c, missed).most, missed, c->samples, where);
    return true;
}

static bool misses_code(const struct ti_caveats *c, char *buf, size_t bytes)
{
    char where[256];

    if (!is_much(c, c->uncounted))
        return false;
    put_places(c, where, sizeof where);
    snprintf(
        buf, bytes,
        "about %.1f %% of the program's CPU time between MPI calls is in no volume, since it was "
        "spent in code that ti-mpicc did not compile%s.  Compile that code with ti-mpicc; "
        "or " COUNTS_ALL,
        100 * ti_caveats_uncounted(c), where);
    return true;
}

static bool misses_unknown_code(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!is_much(c, c->unknown))
        return false;
    snprintf(
        buf, bytes,
        "about %.1f %% of the program's CPU time between MPI calls may be in no volume: it was "
        "spent in code that was made as the program ran, or in libraries that it has unloaded. "
        " " COUNTS_ALL,
        100 * (double)c->unknown / (double)c->samples);
    return true;
}

static bool within_bound(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->bounded)
        return false;
    snprintf(buf, bytes,
             "the volumes of %" PRIu64 " rank%s are not exact: each is within %g %% of the "
             "program's, and their sums are exact (--merge --volumes bound:%g%%)",
             c->bounded, c->bounded == 1 ? "" : "s", (double)c->bound_ppm / 1e4,
             (double)c->bound_ppm / 1e4);
    return true;
}

static bool from_statistics(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->drawn)
        return false;
    snprintf(buf, bytes,
             "the volumes of %" PRIu64 " rank%s are drawn from statistics: at each position in the "
             "program, number, sum, minimum and maximum are exact (--merge --volumes stats)",
             c->drawn, c->drawn == 1 ? "" : "s");
    return true;
}

static bool extras_from_statistics(const struct ti_caveats *c, char *buf, size_t bytes)
{
    if (!c->drawn_extras)
        return false;
    snprintf(buf, bytes,
             "durations and other extra values of %" PRIu64 " rank%s are drawn from statistics, "
             "as --merge --extras stats keeps them",
             c->drawn_extras, c->drawn_extras == 1 ? "" : "s");
    return true;
}

bool ti_caveats_text(const struct ti_caveats *c, int i, char *buf, size_t bytes)
{
    static bool (*const all[])(const struct ti_caveats *, char *, size_t) = {
        failed,          changed,      extrapolated,        nothing_recorded,
        threaded,        misses_code,  misses_unknown_code, may_miss_code,
        asked_for_nodes, within_bound, from_statistics,     extras_from_statistics};

    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k](c, buf, bytes) && i-- == 0)
            return true;
    return false;
}
