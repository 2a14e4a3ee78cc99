#include "analysis/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/cli.h"
#include "fold/record.h"
#include "merged/encode.h"

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

ti_status ti_folded_open_rank(struct ti_source *s, int64_t rank, struct ti_reader **out,
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
    errno = 0;
    if (!ti_folded_check(ti_reader_folded(r))) {
        st = ti_reader_malformed(r, err);
        ti_reader_close(r);
        return st;
    }
    *out = r;
    return TI_OK;
}

static ti_status note(struct ti_ranges *ranks, int64_t rank, struct ti_err *err)
{
    return ti_ranges_put(ranks, rank, rank) ? TI_OK : ti_err_memory(err, "read the ranks");
}

static ti_status read_rank(struct ti_source *s, int64_t rank,
                           ti_status (*take)(void *arg, struct ti_reader *r, struct ti_err *err),
                           void *arg, struct ti_folded_ranks *ranks, struct ti_err *err)
{
    struct ti_reader *r;
    ti_status st = ti_folded_open_rank(s, rank, &r, err);

    if (st)
        return st;
    st = ti_reader_skip(r, err);
    if (!st)
        st = take(arg, r, err);
    if (!st) {
        ranks->taken++;
        if (ti_reader_end(r) != TI_END_COMPLETE)
            st = note(&ranks->incomplete, rank, err);
    }
    ti_reader_close(r);
    return st;
}

ti_status ti_folded_each(struct ti_source *s, int64_t only,
                         ti_status (*take)(void *arg, struct ti_reader *r, struct ti_err *err),
                         void *arg, struct ti_folded_ranks *ranks, struct ti_err *err)
{
    bool alone = strcmp(ti_source_kind(s), "rank file") == 0;
    ti_status st = TI_OK;

    *ranks = (struct ti_folded_ranks){.np = ti_source_nranks(s)};
    for (int64_t rank = 0; rank < ranks->np && st == TI_OK; rank++) {
        if (only >= 0 && rank != only)
            continue;
        if (!ti_source_has(s, rank) && only < 0) {
            if (!alone)
                st = note(&ranks->missing, rank, err);
            continue;
        }
        ti_progress("reading", "ranks", rank, ranks->np);
        st = read_rank(s, rank, take, arg, ranks, err);
        if (st == TI_ERR_INPUT && only < 0) {
            if (!ranks->damaged.n)
                snprintf(ranks->first_damaged, sizeof ranks->first_damaged, "%s", err->text);
            *err = (struct ti_err){0};
            st = note(&ranks->damaged, rank, err);
        }
    }
    ti_progress_end(!st);
    if (!st)
        st = ranks->damaged.n                          ? TI_ERR_INPUT
             : ranks->missing.n || ranks->incomplete.n ? TI_ERR_PARTIAL
                                                       : TI_OK;
    return st;
}

void ti_folded_ranks_free(struct ti_folded_ranks *ranks)
{
    ti_ranges_free(&ranks->missing);
    ti_ranges_free(&ranks->incomplete);
    ti_ranges_free(&ranks->damaged);
}
