/*
 * Timelines as trace events of Chrome, in JSON, for Perfetto.  A job is a process, a rank a thread.
 * Times are microseconds with three decimals: whole nanoseconds, so that slices do not overlap by
 * rounding.
 */
#include <inttypes.h>
#include <string.h>

#include "common/json.h"
#include "timeline/internal.h"

/* ---- values ---- */

static void put_us(FILE *f, const char *key, uint64_t ns)
{
    fprintf(f, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_text(FILE *f, const char *text)
{
    bool plain = true;
    json_t *json;

    for (const char *p = text; *p; p++)
        plain = plain && *p >= ' ' && *p <= '~' && *p != '"' && *p != '\\';
    if (plain) {
        fprintf(f, "\"%s\"", text);
        return;
    }
    json = ti_json_text(text);
    json_dumpf(json, f, JSON_ENCODE_ANY);
    json_decref(json);
}

/* Ends the line of the event before. */
static void next(struct ti_timeline *t)
{
    fputs(",\n", t->file);
}

/* ---- begin and end ---- */

static void name_rank(struct ti_timeline *t, int job, int64_t rank)
{
    const char *host = t->show->host ? t->show->host(t->show->of, rank) : "";
    char name[512];

    snprintf(name, sizeof name, "rank %" PRId64 "%s%s%s", rank - t->show->job[job].first,
             host[0] ? " (" : "", host, host[0] ? ")" : "");
    next(t);
    fprintf(t->file,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRId64
            ",\"name\":\"thread_name\",\"args\":{\"name\":",
            job, rank);
    put_text(t->file, name);
    fputs("}}", t->file);
    next(t);
    fprintf(t->file,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRId64
            ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRId64 "}}",
            job, rank, rank);
}

static ti_status begin(struct ti_timeline *t, struct ti_err *err)
{
    (void)err;
    fprintf(t->file,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"Tiara " TI_VERSION
            "\",\"times\":\"%s\"},\n\"traceEvents\":[\n",
            t->intervals ? "of a replay" : "of the traced run");
    for (int job = 0; job < t->show->njobs; job++) {
        if (job)
            next(t);
        fprintf(t->file,
                "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":", job);
        put_text(t->file, t->show->job[job].name);
        fputs("}}", t->file);
    }
    for (int64_t rank = 0; rank < t->show->np; rank++)
        name_rank(t, ti__job_of(t->show, rank), rank);
    return TI_OK;
}

static ti_status end(struct ti_timeline *t, struct ti_err *err)
{
    (void)err;
    fputs("\n]}\n", t->file);
    return TI_OK;
}

/* ---- slices ---- */

/* The begin of a slice, to where its arguments begin. */
static void open_slice(struct ti_timeline *t, const struct ti__timed *e, const char *name,
                       const char *category, double from, double to)
{
    next(t);
    fprintf(t->file, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%" PRId64 ",\"name\":\"%s\",\"cat\":\"%s\"",
            e->job, e->rank, name, category);
    put_us(t->file, "ts", ti__ns(from));
    put_us(t->file, "dur", ti__ns(to) - ti__ns(from));
    fprintf(t->file, ",\"args\":{\"event\":%" PRIu64, e->step->index);
}

static void put_source(struct ti_timeline *t, const struct ti__timed *e)
{
    char text[512];

    if (!*e->site)
        return;
    fputs(",\"source\":", t->file);
    put_text(t->file, ti_site_text(t->show->symbolizer, e->site, text, sizeof text));
}

static void put_fields(FILE *f, const struct ti_event *ev)
{
    static const enum ti_field shown[] = {TI_F_COMM, TI_F_ROOT, TI_F_WIN, TI_F_FILE, TI_F_NEWCOMM};

    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (ev->mask >> shown[i] & 1 && ev->arg[shown[i]] > TI_SELF)
            fprintf(f, ",\"%s\":%" PRId64, ti_field_text(shown[i]), ev->arg[shown[i]]);
}

/* ---- arrows ---- */

/* The identifier of an arrow: a hash of what both sides know of the message. */
static uint64_t id_of(const struct ti__timed *e, const struct ti_msg *m)
{
    int64_t me = ti_reader_rank(e->r);
    const uint64_t parts[] = {(uint64_t)e->job,
                              (uint64_t)m->gid,
                              (uint64_t)m->tag,
                              (uint64_t)(m->recv ? m->peer : me),
                              (uint64_t)(m->recv ? me : m->peer),
                              (uint64_t)m->partitioned,
                              m->seq};
    uint64_t hash = TI_HASH_START;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        hash = ti_hash_word(hash, parts[i]);
    return hash;
}

struct arrows {
    struct ti_timeline *t;
    const struct ti__timed *e;
};

/* An arrow goes from the begin of the call that sends to the end of the call that has received;
 * viewers find the slice by the time, so the end is a moment earlier. */
static void put_arrow(void *arg, const struct ti_msg *m)
{
    struct ti_timeline *t = ((struct arrows *)arg)->t;
    const struct ti__timed *e = ((struct arrows *)arg)->e;
    uint64_t from = ti__ns(e->when.call), to = ti__ns(e->when.end);

    next(t);
    fprintf(t->file,
            "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%" PRId64
            ",\"name\":\"message\",\"cat\":\"message\",\"id\":\"0x%016" PRIx64 "\"",
            m->recv ? "f\",\"bp\":\"e" : "s", e->job, e->rank, id_of(e, m));
    put_us(t->file, "ts", m->recv && to > from ? to - 1 : from);
    putc('}', t->file);
}

static void leaves(struct ti_timeline *t, const struct ti__timed *e)
{
    const struct ti_event *ev = &e->step->ev;
    struct ti__about about;

    if (e->when.call > e->when.start) {
        open_slice(t, e, "computing", "computing", e->when.start, e->when.call);
        fprintf(t->file, ",\"volume\":%" PRIu64, ev->volume);
        fputs("}}", t->file);
    }
    ti__about(t->show, e, &about);
    open_slice(t, e, ti_op_info(ev->op)->text, "mpi", e->when.call, e->when.end);
    if (about.peer >= 0)
        fprintf(t->file, ",\"peer\":%" PRId64, about.peer);
    if (about.bytes >= 0)
        fprintf(t->file, ",\"bytes\":%" PRId64, about.bytes);
    if (about.tag > TI_SELF)
        fprintf(t->file, ",\"tag\":%" PRId64, about.tag);
    put_fields(t->file, ev);
    if (e->waits)
        fprintf(t->file, ",\"waiting_us\":%.3f", e->when.waiting * 1e6);
    put_source(t, e);
    fputs("}}", t->file);
    ti__messages(e, put_arrow, &(struct arrows){t, e});
}

const struct ti__format ti__chrome = {
    .endings = ".json", .by_rank = true, .begin = begin, .leaves = leaves, .end = end};
