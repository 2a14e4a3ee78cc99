#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "analysis/line.h"
#include "callsite/symbolizer.h"
#include "common/cli.h"
#include "info/event_json.h"
#include "info/shapes/changes.h"
#include "trace/rankname.h"

/* The difference between two traces of a rank. */
struct difference {
    char *text;   /* several lines to print; NULL: the traces are equal */
    json_t *json; /* the same, with --json; owned */
    uint64_t events;
    bool extras;                  /* one of them has extra columns */
    bool estimate[2];             /* the volumes of this trace are an estimate */
    bool counters;                /* they have different counters */
    struct ti_caveats quality[2]; /* of their volumes */
};

static char *show(const struct ti_source *s, const struct ti_reader *r, const struct ti_event *ev,
                  const struct info_style *style)
{
    struct ti_line line = {0};
    char *out = NULL;

    if (ev)
        ti_line_event(&line, r, ev, &style->line);
    if (asprintf(&out, "  %s: %s\n", ti_source_path(s), ev ? line.text : "(no more events)") < 0)
        out = NULL;
    ti_line_free(&line);
    return out;
}

/* A difference at event `number`; `ev` of a side without a further event is NULL. */
static json_t *event_difference(struct ti_reader *const r[2], const struct ti_event *const ev[2],
                                uint64_t number, const struct info_style *style)
{
    json_t *list = json_array();

    for (int i = 0; i < 2; i++)
        json_array_append_new(list,
                              ev[i] ? info_event_json(r[i], ev[i], number, style) : json_null());
    return json_pack("{s:I, s:o, s:o}", "rank", (json_int_t)ti_reader_rank(r[0]), "event",
                     ti_json_u64(number), "events", list);
}

/* Note a difference at the present event, of which `more` says for each side whether there is one.
 */
static void note_event(struct ti_source *const s[2], struct ti_reader *const r[2],
                       const struct ti_event ev[2], const int more[2],
                       const struct info_style *style, struct difference *d)
{
    const struct ti_event *is[2] = {more[0] ? &ev[0] : NULL, more[1] ? &ev[1] : NULL};
    char *a = show(s[0], r[0], is[0], style), *b = show(s[1], r[1], is[1], style);

    d->json = style->json ? event_difference(r, is, d->events, style) : NULL;
    if (asprintf(&d->text, "rank %" PRIu32 " differs at event %" PRIu64 ":\n%s%s",
                 ti_reader_rank(r[0]), d->events, a ? a : "", b ? b : "") < 0)
        d->text = NULL;
    free(a);
    free(b);
}

static ti_status walk(struct ti_source *const s[2], int64_t rank, struct ti_reader *const r[2],
                      const struct info_style *style, struct difference *d, struct ti_err *err)
{
    struct ti_compare_style how = {style->line.no_volumes, style->tolerance};
    struct ti_compared found;
    ti_status st = ti_compare_rank(r, &how, &found, err);

    d->events = found.events;
    if (st || found.differs == TI_DIFFERS_NOT)
        return st;
    if (found.differs == TI_DIFFERS_EVENT) {
        note_event(s, r, found.ev, found.more, style, d);
        return TI_OK;
    }
    if (style->json)
        d->json = json_pack("{s:I, s:I}", "rank", (json_int_t)rank, "communicator",
                            (json_int_t)found.comm);
    if (asprintf(&d->text, "rank %" PRId64 ": communicator %" PRId64 " has other members\n", rank,
                 found.comm) < 0)
        d->text = NULL;
    return TI_OK;
}

/* Compare the totals of two traces.  *equal: they prove that the traces are equal. */
static ti_status by_totals(struct ti_reader *const r[2], bool *equal, struct ti_err *err)
{
    struct ti_totals t[2];
    bool have = true;
    int64_t comm;

    *equal = false;
    for (int i = 0; i < 2; i++) {
        ti_status st = ti_reader_skip(r[i], err);

        if (st != TI_OK)
            return st;
        have = ti_reader_totals(r[i], &t[i]) && have;
    }
    *equal = have && t[0].hash == t[1].hash && t[0].events == t[1].events &&
             ti_compare_comms(r[0], r[1], &comm);
    return TI_OK;
}

static ti_status open_both(struct ti_source *const s[2], int64_t rank, struct ti_reader *r[2],
                           struct ti_err *err)
{
    ti_status st = ti_source_reader(s[0], rank, &r[0], err);

    if (st != TI_OK)
        return st;
    st = ti_source_reader(s[1], rank, &r[1], err);
    if (st != TI_OK)
        ti_reader_close(r[0]);
    return st;
}

static void note_quality(struct ti_reader *const r[2], struct difference *d)
{
    for (int i = 0; i < 2; i++)
        ti_caveats_add_quality(&d->quality[i], r[i], false);
}

static void note_counters(struct ti_reader *const r[2], struct difference *d)
{
    const char *counter[2];

    for (int i = 0; i < 2; i++) {
        d->estimate[i] = d->estimate[i] || ti_info_estimate(r[i]);
        counter[i] = ti_reader_info(r[i], "counter");
    }
    d->counters = d->counters || (counter[0] && counter[1] && strcmp(counter[0], counter[1]) != 0);
}

/* Warn of counters that make the volumes of equal runs differ. */
static void warn_of_counters(struct ti_source *const s[2], const struct difference *d)
{
    if (d->counters)
        ti_warn("the volumes of '%s' and '%s' are from different counters", ti_source_path(s[0]),
                ti_source_path(s[1]));
    for (int i = 0; i < 2; i++)
        if (d->estimate[i])
            ti_warn("volumes of '%s' are an estimate", ti_source_path(s[i]));
}

/* Warn of volumes that are not exact since ranks were merged, so that equal runs differ. */
static void warn_of_quality(struct ti_source *const s[2], const struct difference *d)
{
    char text[512];

    for (int i = 0; i < 2; i++)
        for (int k = 0; ti_caveats_text(&d->quality[i], k, text, sizeof text); k++)
            ti_warn("'%s': %s", ti_source_path(s[i]), text);
}

static ti_status compare_rank(struct ti_source *const s[2], int64_t rank,
                              const struct info_style *style, struct difference *d,
                              struct ti_err *err)
{
    struct ti_reader *r[2];
    bool equal = false;
    ti_status st;

    if (!style->line.no_volumes && !style->tolerance) {
        st = open_both(s, rank, r, err);
        if (st != TI_OK)
            return st;
        note_quality(r, d);
        d->extras = d->extras || ti_reader_extras(r[0]) || ti_reader_extras(r[1]);
        st = by_totals(r, &equal, err);
        d->events = ti_reader_events(r[0]);
        ti_reader_close(r[0]);
        ti_reader_close(r[1]);
        if (st != TI_OK || equal)
            return st;
    }
    st = open_both(s, rank, r, err);
    if (st != TI_OK)
        return st;
    d->extras = d->extras || ti_reader_extras(r[0]) || ti_reader_extras(r[1]);
    note_counters(r, d);
    if (style->tolerance)
        note_quality(r, d);
    for (int i = 0; i < 2; i++)
        ti_symbolizer_add_rank(style->line.symbolizer, r[i]);
    st = walk(s, rank, r, style, d, err);
    for (int i = 0; i < 2 && st == TI_OK && !d->text; i++)
        if (ti_reader_end(r[i]) == TI_END_KILLED)
            ti_warn("rank %" PRId64 " in '%s' was cut off after %" PRIu64 " events", rank,
                    ti_source_path(s[i]), d->events);
    ti_reader_close(r[0]);
    ti_reader_close(r[1]);
    return st;
}

/* The ranks that were compared. */
struct comparison {
    struct ti_source *s[2];
    int64_t compared, *differ, ndiffer;
    uint64_t events;
    char *first; /* the first difference */
    json_t *first_json;
    struct difference last;
};

static ti_status compare_ranks(struct comparison *c, const struct info_style *style,
                               struct ti_err *err)
{
    struct difference *d = &c->last;
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < ti_source_nranks(c->s[0]) && st == TI_OK; rank++) {
        bool here = ti_source_has(c->s[0], rank), there = ti_source_has(c->s[1], rank);
        const char *path = ti_source_path(c->s[here]);

        if (!here && !there)
            continue;
        ti_progress("comparing", "ranks", rank, ti_source_nranks(c->s[0]));
        d->text = NULL;
        d->json = NULL;
        if (here && there) {
            st = compare_rank(c->s, rank, style, d, err);
            c->compared++;
            c->events += d->events;
        } else {
            if (asprintf(&d->text, "rank %" PRId64 " is missing from '%s'\n", rank, path) < 0)
                d->text = NULL;
            if (style->json)
                d->json = json_pack("{s:I, s:o}", "rank", (json_int_t)rank, "missing",
                                    info_json_text(path));
        }
        if (!d->text)
            continue;
        c->differ[c->ndiffer++] = rank;
        if (c->first) {
            free(d->text);
            json_decref(d->json);
        } else {
            c->first = d->text;
            c->first_json = d->json;
        }
    }
    ti_progress_end(st == TI_OK);
    return st;
}

static void print_text(const struct comparison *c)
{
    char list[512], count[32];

    if (c->ndiffer)
        printf("different: %" PRId64 " of %" PRId64 " ranks: %s\n%s", c->ndiffer,
               ti_source_nranks(c->s[0]), ti_ranks_text(c->differ, c->ndiffer, list, sizeof list),
               c->first);
    else
        printf("equal: %" PRId64 " rank%s, %s events\n", c->compared, c->compared == 1 ? "" : "s",
               ti_format_count(c->events, count, sizeof count));
}

/* `equal`: whether the traces are; else `changes` has what differs. */
static void print_json(const struct comparison *c, bool equal, const struct info_changes *changes)
{
    json_t *out = json_object(), *paths = json_array(), *np = json_array(), *differ = json_array();

    for (int i = 0; i < 2; i++) {
        json_array_append_new(paths, info_json_text(ti_source_path(c->s[i])));
        json_array_append_new(np, json_integer(ti_source_nranks(c->s[i])));
    }
    for (int64_t i = 0; i < c->ndiffer; i++)
        json_array_append_new(differ, json_integer(c->differ[i]));
    json_object_set_new(out, "paths", paths);
    json_object_set_new(out, "np", np);
    json_object_set_new(out, "equal", json_boolean(equal));
    json_object_set_new(out, "ranks", json_integer(c->compared));
    json_object_set_new(out, "events", ti_json_u64(c->events));
    json_object_set_new(out, "differ", differ);
    json_object_set(out, "first", c->first_json ? c->first_json : json_null());
    json_object_set_new(out, "changes", info_changes_json(changes));
    info_print_json(out);
    json_decref(out);
}

/* Print that the traces differ, and by how much: `text` is the answer to whether they do. */
static ti_status print_difference(struct comparison *c, void (*text)(const struct comparison *c),
                                  const struct info_style *style, struct ti_err *err)
{
    struct info_changes *changes = NULL;
    ti_status st = TI_OK;

    if (!style->json && !style->quiet)
        text(c);
    if (style->json || !style->quiet)
        st = info_changes_read(c->s, style, &changes, err);
    if (!st && style->json)
        print_json(c, false, changes);
    else if (!st && !style->quiet)
        info_changes_print(changes, style);
    info_changes_free(changes);
    return st ? st : TI_ERR_PARTIAL;
}

static ti_status conclude(struct comparison *c, const struct info_style *style, struct ti_err *err)
{
    if (c->last.extras)
        ti_say("extra columns, such as durations, are not compared");
    if (!style->line.no_volumes) {
        warn_of_quality(c->s, &c->last);
        if (c->ndiffer)
            warn_of_counters(c->s, &c->last);
    }
    if (!c->ndiffer && !c->compared)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' and '%s' have no rank in common",
                          ti_source_path(c->s[0]), ti_source_path(c->s[1]));
    if (c->ndiffer)
        return print_difference(c, print_text, style, err);
    if (style->json)
        print_json(c, true, NULL);
    else if (!style->quiet)
        print_text(c);
    return TI_OK;
}

static void print_ranks(const struct comparison *c)
{
    printf("different: %" PRId64 " ranks and %" PRId64 "\n", ti_source_nranks(c->s[0]),
           ti_source_nranks(c->s[1]));
}

ti_status info_compare(struct ti_source *a, struct ti_source *b, const struct info_style *style,
                       struct ti_err *err)
{
    struct comparison c = {.s = {a, b}};
    int64_t nranks = ti_source_nranks(a);
    ti_status st;

    if (nranks != ti_source_nranks(b))
        return print_difference(&c, print_ranks, style, err);
    c.differ = malloc((size_t)nranks * sizeof *c.differ);
    if (!c.differ)
        return ti_err_errno(err, TI_ERR_IO, "cannot compare");
    st = compare_ranks(&c, style, err);
    if (st == TI_OK)
        st = conclude(&c, style, err);
    free(c.first);
    json_decref(c.first_json);
    free(c.differ);
    return st;
}
