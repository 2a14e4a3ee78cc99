/* Reading a whole trace, for tests and benchmarks. */
#ifndef TI_TESTS_VERIFY_H
#define TI_TESTS_VERIFY_H

#include "fold/decode.h"
#include "trace/reader.h"

/*
 * Read and check the whole trace: CRCs, structure, TOT against the events, IDX, extra columns.  Of a
 * record, check the structure, and read no event.  The reader is at the end then.  *events is the
 * number of sound events.
 */
static inline ti_status verify_trace(struct ti_reader *r, uint64_t *events, struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(r);
    struct ti_totals own = {0, 0, TI_HASH_START}, totals;
    struct ti_event ev;
    ti_status st;
    int more;

    if (f) {
        *events = ti_folded_events(f);
        st = ti_reader_skip(r, err);
        return st || ti_folded_check(f) ? st
                                        : ti_err_set(err, TI_ERR_INPUT, "the record is malformed");
    }
    ti_reader_want_extras(r);
    while ((more = ti_reader_next(r, &ev, err)) > 0) {
        own.volume += ev.volume;
        own.events++;
        own.hash = ti_hash_event(own.hash, &ev);
    }
    *events = own.events;
    if (more < 0)
        return TI_ERR_INPUT;
    if (ti_reader_totals(r, &totals) && (own.volume != totals.volume ||
                                         own.events != totals.events || own.hash != totals.hash))
        return ti_err_set(err, TI_ERR_INPUT, "the events do not add up to the totals");
    return TI_OK;
}

#endif
