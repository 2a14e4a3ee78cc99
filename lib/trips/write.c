#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/scratch.h"
#include "merged/merger.h"
#include "sound/written.h"
#include "trips/internal.h"

/* The hash of a rank with more events is that of its record. */
#define HASHED_EVENTS (UINT64_C(1) << 14)

/* Events of a rank that are accepted if all of them must be read to check the result. */
#define LONG_EVENTS (UINT64_C(1) << 30)

#define CHANGED_BYTES 4096

/* ----------------------------------------------------------------- one rank -- */

/* The text for TI_INFO_CHANGED: what was done before, and now. */
static void changed_text(const struct ti_reader *r, const struct ti_trips *t, const char *tool,
                         char buf[CHANGED_BYTES])
{
    const char *before = ti_reader_info(r, TI_INFO_CHANGED);
    char text[160];
    size_t n = (size_t)snprintf(buf, CHANGED_BYTES, "%.1000s%s%s", before ? before : "",
                                before ? "; " : "", tool);

    for (int i = 0; i < t->n && n < CHANGED_BYTES; i++) {
        const char *how = ti_trips_short_text(&t->loop[i], text, sizeof text);

        n += (size_t)snprintf(buf + n, CHANGED_BYTES - n, " --trips '%s=%" PRIu64 "'%s%s%s",
                              t->loop[i].loop, t->loop[i].trips, how[0] ? " (" : "", how,
                              how[0] ? ")" : "");
    }
}

/* Whether all trips, but perhaps those at the beginning, have the same calls, so that a check reads
 * one of them only. */
static bool is_short_work(const struct ti__job *j)
{
    for (int k = 0; k < j->n; k++)
        if (!j->loop[k].asked->same)
            return false;
    return true;
}

static ti_status check_length(const struct ti_record *record, uint32_t nranks, struct ti_err *err)
{
    struct ti_folded_tables tables;
    struct ti_folded *f;
    const char *wrong = ti_folded_open(record, nranks, &f, &tables);
    uint64_t events;

    if (wrong)
        return ti_err_set(err, TI_ERR_INPUT, "rank %u: %s", record->rank, wrong);
    events = ti_folded_events(f);
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    return events <= LONG_EVENTS
               ? TI_OK
               : ti_err_set(err, TI_ERR_INPUT,
                            "rank %u would have %" PRIu64 " events.  Calls, fields or inner loops "
                            "differ from trip to trip, so that all of them would have to be read "
                            "to check the result: at most %" PRIu64 " are",
                            record->rank, events, LONG_EVENTS);
}

static ti_status change_rank(const struct ti__job *j, const struct ti_trips *t, const char *tool,
                             int64_t rank, struct ti_record *out, struct ti_err *err)
{
    const struct ti__loop_places *places = &j->places[rank];
    const struct ti__loop_place *last;
    char changed[CHANGED_BYTES];
    struct ti_reader *r;
    ti_status st;

    if (!places->n)
        return ti_source_record(j->s, rank, NULL, out, err);
    st = ti__rank_open_changed(j, rank, j->n, places->n - 1, &r, err);
    if (st)
        return st;
    last = &places->place[places->n - 1];
    changed_text(r, t, tool, changed);
    st = ti__change_rank(r, last->node, &j->loop[j->order[last->number]].change, changed,
                         HASHED_EVENTS, out, err);
    if (!st && !is_short_work(j)) {
        st = check_length(out, ti_reader_nranks(r), err);
        if (st)
            ti_record_free(out);
    }
    ti_reader_close(r);
    return st;
}

/* ----------------------------------------------------------------- all ranks -- */

static ti_status merge_ranks(const struct ti__job *j, const struct ti_trips *t, const char *tool,
                             struct ti_merger *m, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < j->np && !st; rank++) {
        struct ti_record record;

        ti_progress("changing", "ranks", rank, j->np);
        st = ti_stop_check(err);
        if (!st)
            st = change_rank(j, t, tool, rank, &record, err);
        if (st)
            return st;
        st = ti_merger_add(m, &record, err);
        ti_record_free(&record);
    }
    ti_progress_end(!st);
    return st;
}

static ti_status merge(const struct ti__job *j, const struct ti_trips *t, const char *tool,
                       const char *path, struct ti_err *err)
{
    struct ti_merger *m;
    ti_status st = ti_merger_new((uint32_t)j->np, ti_source_run_id(j->s), NULL, &m, err);

    if (st)
        return st;
    st = merge_ranks(j, t, tool, m, err);
    if (!st)
        st = ti_merger_create(m, path, err);
    ti_merger_free(m);
    return st;
}

/* ----------------------------------------------------------------------- all -- */

ti_status ti_trips_write(struct ti_trips *t, struct ti_source *s, const char *tool,
                         struct ti_symbolizer *z, const char *path, struct ti_err *err)
{
    struct ti__job j = {.s = s, .z = z, .np = ti_source_nranks(s), .n = t->n};
    size_t cap = 0;
    ti_status st;

    j.places = ti_grow(NULL, &cap, (size_t)j.np + 1, sizeof *j.places);
    for (int k = 0; k < t->n; k++)
        j.loop[k] = (struct ti__asked_loop){.asked = &t->loop[k], .number = k, .rank = -1};
    st = ti__survey(&j, err);
    if (!st)
        st = merge(&j, t, tool, path, err);
    if (!st)
        st = ti_written_check(
            path, "with these trips",
            "calls inside the loop and outside belong together, such as requests that are "
            "made in it and completed behind it, or other ranks make their part in "
            "another loop: change that one, too",
            err);
    ti_progress_end(false);
    for (int64_t rank = 0; rank < j.np; rank++)
        free(j.places[rank].place);
    free(j.places);
    return st;
}
