#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "formats/rankname.h"
#include "info/line.h"
#include "info/symbolizer.h"

/* The difference between two traces of a rank. */
struct difference {
    char *text; /* several lines to print; NULL: the traces are equal */
    uint64_t events;
    bool extras;      /* one of them has extra columns */
    bool estimate[2]; /* the volumes of this trace are an estimate */
    bool counters;    /* they have different counters */
};

static bool same(struct ti_reader *const r[2], const struct ti_event ev[2],
                 const struct info_style *style)
{
    uint64_t a = ev[0].volume, b = ev[1].volume;

    return (style->no_volumes || (a > b ? a - b : b - a) <= style->tolerance) &&
           ti_reader_same_call(r[0], &ev[0], r[1], &ev[1]);
}

static bool same_comms(const struct ti_reader *a, const struct ti_reader *b, int64_t *which)
{
    const struct ti_comm *x, *y;

    for (*which = 0;; ++*which) {
        x = ti_reader_comm(a, *which);
        y = ti_reader_comm(b, *which);
        if (!x && !y)
            return true;
        if (!x || !y || x->rank != y->rank || x->size != y->size ||
            memcmp(x->member, y->member, (size_t)x->size * sizeof *x->member) != 0)
            return false;
    }
}

static char *show(const struct ti_source *s, const struct ti_reader *r, const struct ti_event *ev,
                  const struct info_style *style)
{
    struct info_line line = {0};
    char *out = NULL;

    if (ev)
        info_format_event(&line, r, ev, style);
    if (asprintf(&out, "  %s: %s\n", ti_source_path(s), ev ? line.text : "(no more events)") < 0)
        out = NULL;
    info_line_free(&line);
    return out;
}

/* Compare event by event. */
static ti_status walk(struct ti_source *const s[2], int64_t rank, struct ti_reader *const r[2],
                      const struct info_style *style, struct difference *d, struct ti_err *err)
{
    struct ti_event ev[2];
    int64_t comm;

    d->events = 0;
    for (;; d->events++) {
        int more[2];

        for (int i = 0; i < 2; i++) {
            more[i] = ti_reader_next(r[i], &ev[i], err);
            if (more[i] < 0)
                return TI_ERR_INPUT;
        }
        if (!more[0] && !more[1])
            break;
        if (!more[0] || !more[1] || !same(r, ev, style)) {
            char *a = show(s[0], r[0], more[0] ? &ev[0] : NULL, style);
            char *b = show(s[1], r[1], more[1] ? &ev[1] : NULL, style);

            if (asprintf(&d->text, "rank %" PRId64 " differs at event %" PRIu64 ":\n%s%s", rank,
                         d->events, a ? a : "", b ? b : "") < 0)
                d->text = NULL;
            free(a);
            free(b);
            return TI_OK;
        }
    }
    if (!same_comms(r[0], r[1], &comm) &&
        asprintf(&d->text, "rank %" PRId64 ": communicator %" PRId64 " has other members\n", rank,
                 comm) < 0)
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
             same_comms(r[0], r[1], &comm);
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

static void note_counters(struct ti_reader *const r[2], struct difference *d)
{
    const char *counter[2];

    for (int i = 0; i < 2; i++) {
        d->estimate[i] = d->estimate[i] || ti_info_estimate(r[i]);
        counter[i] = ti_reader_info(r[i], "counter");
    }
    d->counters =
        d->counters || (counter[0] && counter[1] && strcmp(counter[0], counter[1]) != 0);
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

static ti_status compare_rank(struct ti_source *const s[2], int64_t rank,
                              const struct info_style *style, struct difference *d,
                              struct ti_err *err)
{
    struct ti_reader *r[2];
    bool equal = false;
    ti_status st;

    d->text = NULL;
    if (!style->no_volumes && !style->tolerance) {
        st = open_both(s, rank, r, err);
        if (st != TI_OK)
            return st;
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
    for (int i = 0; i < 2; i++)
        info_symbolizer_add_rank(style->symbolizer, r[i]);
    st = walk(s, rank, r, style, d, err);
    for (int i = 0; i < 2 && st == TI_OK && !d->text; i++)
        if (ti_reader_end(r[i]) == TI_END_KILLED)
            ti_warn("rank %" PRId64 " in '%s' was cut off after %" PRIu64 " events", rank,
                    ti_source_path(s[i]), d->events);
    ti_reader_close(r[0]);
    ti_reader_close(r[1]);
    return st;
}

ti_status info_compare(struct ti_source *a, struct ti_source *b, const struct info_style *style,
                       struct ti_err *err)
{
    struct ti_source *const s[2] = {a, b};
    int64_t nranks = ti_source_nranks(a), ndiffer = 0, compared = 0, *differ;
    struct difference d = {0};
    char *first = NULL, list[512], count[32];
    uint64_t events = 0;
    ti_status st = TI_OK;

    if (nranks != ti_source_nranks(b)) {
        if (!style->quiet)
            printf("different: %" PRId64 " ranks and %" PRId64 "\n", nranks, ti_source_nranks(b));
        return TI_ERR_PARTIAL;
    }
    differ = malloc((size_t)nranks * sizeof *differ);
    if (!differ)
        return ti_err_errno(err, TI_ERR_IO, "cannot compare");
    for (int64_t rank = 0; rank < nranks && st == TI_OK; rank++) {
        bool here = ti_source_has(a, rank), there = ti_source_has(b, rank);

        if (!here && !there)
            continue;
        d.text = NULL;
        if (here && there) {
            st = compare_rank(s, rank, style, &d, err);
            compared++;
            events += d.events;
        } else if (asprintf(&d.text, "rank %" PRId64 " is missing from '%s'\n", rank,
                            ti_source_path(here ? b : a)) < 0) {
            d.text = NULL;
        }
        if (d.text) {
            differ[ndiffer++] = rank;
            if (first)
                free(d.text);
            else
                first = d.text;
        }
    }
    if (d.extras)
        ti_say("extra columns, such as durations, are not compared");
    if (st == TI_OK && ndiffer) {
        st = TI_ERR_PARTIAL;
        if (!style->no_volumes)
            warn_of_counters(s, &d);
        if (!style->quiet)
            printf("different: %" PRId64 " of %" PRId64 " ranks: %s\n%s", ndiffer, nranks,
                   ti_ranks_text(differ, ndiffer, list, sizeof list), first);
    } else if (st == TI_OK) {
        if (compared == 0)
            st = ti_err_set(err, TI_ERR_INPUT, "'%s' and '%s' have no rank in common",
                            ti_source_path(a), ti_source_path(b));
        else if (!style->quiet)
            printf("equal: %" PRId64 " rank%s, %s events\n", compared, compared == 1 ? "" : "s",
                   ti_format_count(events, count, sizeof count));
    }
    free(first);
    free(differ);
    return st;
}
