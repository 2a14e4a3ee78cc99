#include "info/shapes/folded.h"

#include <inttypes.h>
#include <string.h>

#include "common/cli.h"
#include "formats/folded/encode.h"
#include "formats/merged/record.h"
#include "formats/ranges.h"

#define LIST_BYTES 256

/* Fold the trace that `r` reads, and open a reader of the result. */
static ti_status fold(struct ti_reader *r, struct ti_reader **out, struct ti_err *err)
{
    struct ti_record record;
    ti_status st = ti_folded_encode_shape(r, &record, err);

    if (st)
        return st;
    return ti_reader_open_record(&record, ti_reader_nranks(r), ti_reader_run_id(r),
                                 ti_reader_name(r), out, err);
}

ti_status info_folded_open(struct ti_source *s, int64_t rank, struct ti_reader **out,
                           struct ti_err *err)
{
    struct ti_reader *r, *folded;
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (st)
        return st;
    if (!ti_reader_folded(r)) {
        st = fold(r, &folded, err);
        ti_reader_close(r);
        if (st)
            return st;
        r = folded;
    }
    if (!ti_folded_check(ti_reader_folded(r))) {
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: its record is malformed",
                        ti_reader_name(r));
        ti_reader_close(r);
        return st;
    }
    *out = r;
    return TI_OK;
}

/* Ranks with no trace, with an incomplete one, and with one that cannot be read. */
struct trouble {
    struct ti_ranges missing, incomplete, unread;
    char first[sizeof((struct ti_err *)0)->text + 32]; /* why the first was not read */
};

static ti_status read_rank(struct ti_source *s, int64_t rank,
                           ti_status (*take)(void *arg, struct ti_reader *r, struct ti_err *err),
                           void *arg, struct trouble *t, struct ti_err *err)
{
    struct ti_reader *r;
    ti_status st = info_folded_open(s, rank, &r, err);

    if (st)
        return st;
    st = take(arg, r, err);
    if (!st)
        st = ti_reader_skip(r, err);
    if (!st && ti_reader_end(r) != TI_END_COMPLETE)
        ti_ranges_add(&t->incomplete, rank);
    ti_reader_close(r);
    return st;
}

static void warn(const struct ti_ranges *ranks, const char *what, const char *why)
{
    int64_t n = ti_ranges_count(ranks);
    char list[LIST_BYTES];

    if (n)
        ti_warn("%" PRId64 " rank%s %s: %s%s%s", n, n == 1 ? "" : "s", what,
                ti_ranges_text(ranks, list, sizeof list), *why ? "; " : "", why);
}

ti_status info_folded_each(struct ti_source *s, int64_t only,
                           ti_status (*take)(void *arg, struct ti_reader *r, struct ti_err *err),
                           void *arg, struct ti_err *err)
{
    bool alone = strcmp(ti_source_kind(s), "rank file") == 0;
    struct trouble t = {.first = ""};
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < ti_source_nranks(s) && st == TI_OK; rank++) {
        if (only >= 0 && rank != only)
            continue;
        if (!ti_source_has(s, rank) && only < 0) {
            if (!alone)
                ti_ranges_add(&t.missing, rank);
            continue;
        }
        ti_progress("reading rank %" PRId64 " of %" PRId64, rank, ti_source_nranks(s));
        st = read_rank(s, rank, take, arg, &t, err);
        if (st == TI_ERR_INPUT && only < 0) {
            if (!t.unread.n)
                snprintf(t.first, sizeof t.first, "%s", err->text);
            ti_ranges_add(&t.unread, rank);
            *err = (struct ti_err){0};
            st = TI_OK;
        }
    }
    ti_progress_clear();
    warn(&t.missing, "missing", "");
    warn(&t.incomplete, "incomplete, counted as far as the trace goes", "");
    warn(&t.unread, "left out", t.first);
    if (!st)
        st = t.unread.n ? TI_ERR_INPUT : t.missing.n || t.incomplete.n ? TI_ERR_PARTIAL : TI_OK;
    ti_ranges_free(&t.missing);
    ti_ranges_free(&t.incomplete);
    ti_ranges_free(&t.unread);
    return st;
}
