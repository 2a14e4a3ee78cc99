#include "replay-bridge/bursts.h"

#include <inttypes.h>

/* The column that each kind of replay needs; NULL: none. */
static const char *const column_names[] = {[TI_BURSTS_THREADS] = TI_EXTRA_LONGEST,
                                           [TI_BURSTS_TIMES] = TI_EXTRA_BURST,
                                           [TI_BURSTS_NOTHING] = NULL};

static ti_status no_column(const struct ti_bursts *bursts, const struct ti_source *s, int64_t rank,
                           uint64_t index, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT,
               "the trace does not have %s: rank %" PRId64
               " of '%s' has no column '%s' at event %" PRIu64,
               bursts->as == TI_BURSTS_TIMES ? "the duration of each burst"
                                             : "what the longest thread of each burst did",
               rank, ti_source_path(s), column_names[bursts->as], index);
    ti_err_hint(err, bursts->as == TI_BURSTS_TIMES
                         ? "acquire the trace with ti-acquire --times"
                         : "acquire the trace with ti-acquire --threads sum -c valgrind; the "
                           "program must not use MPI_THREAD_SERIALIZED");
    return TI_ERR_INPUT;
}

ti_status ti_bursts_check(struct ti_source *s, const struct ti_bursts *bursts, struct ti_err *err)
{
    const char *column = column_names[bursts->as];

    for (int64_t rank = 0; column && rank < ti_source_nranks(s); rank++) {
        struct ti_reader *r;
        ti_status st = ti_source_reader(s, rank, &r, err);
        bool has;

        if (st)
            return st;
        has = ti_reader_extra(r, column) >= 0;
        ti_reader_close(r);
        if (!has)
            return no_column(bursts, s, rank, 0, err);
    }
    return TI_OK;
}

int ti_bursts_column(struct ti_reader *r, const struct ti_bursts *bursts)
{
    if (!column_names[bursts->as])
        return -1;
    ti_reader_want_extras(r);
    return ti_reader_extra(r, column_names[bursts->as]);
}

ti_status ti_bursts_take(const struct ti_bursts *bursts, int column, const struct ti_event *ev,
                         const struct ti_source *s, int64_t rank, uint64_t index, uint64_t *out,
                         struct ti_err *err)
{
    uint64_t cores = (uint64_t)bursts->cores, share;

    *out = bursts->as == TI_BURSTS_NOTHING ? 0 : ev->volume;
    if (!column_names[bursts->as])
        return TI_OK;
    if (column < 0 || !ev->extra)
        return no_column(bursts, s, rank, index, err);
    *out = ev->extra[column];
    if (bursts->as != TI_BURSTS_THREADS)
        return TI_OK;
    share = ev->volume / cores + (ev->volume % cores > 0);
    *out = *out > share ? *out : share;
    return TI_OK;
}
