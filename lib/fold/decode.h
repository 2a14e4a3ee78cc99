/*
 * Decoder: gives the events of a folded record (record_layout.h), one by one.
 *
 * The shape is not expanded: memory depends on the record, not on the number of events.  Nothing in
 * the record is trusted.  ti_folded_open() adds up the trip counts, so that a record that claims
 * more events than TI_RECORD_EVENTS is refused before the first event, and the volumes.
 *
 * Functions of this room that return "false if the record is malformed", or what is wrong, do so
 * also when memory is short.  errno is ENOMEM then; set it to 0 before the call.
 */
#ifndef TI_FOLD_DECODE_H
#define TI_FOLD_DECODE_H

#include "event/buffer.h"
#include "event/event.h"
#include "event/kinds.h"
#include "fold/record.h"

struct ti_folded;

/* Whether a record is a copy of a rank file: its blobs, one after the other. */
bool ti_record_is_copy(const struct ti_record *record);

/* Facts that a trace states once.  Each is the payload of a chunk (trace/trace.h): `info` of INF,
 * `totals` of TOT, `strings` of STR, `comms` of COM. */
struct ti_folded_tables {
    struct ti_buffer info, totals, strings, comms;
    bool have_totals;
    enum ti_end end;
};

/*
 * Open a record, which the caller keeps until ti_folded_close(); `nranks` are the ranks of the run.
 * *tables is filled: release it by ti_folded_tables_free().  Returns NULL on success, else what is
 * wrong; then there is nothing to release.
 */
const char *ti_folded_open(const struct ti_record *record, uint32_t nranks, struct ti_folded **out,
                           struct ti_folded_tables *tables);
void ti_folded_close(struct ti_folded *f); /* NULL is fine */

/* Open the payload of a FLD chunk (trace/trace.h), which the caller keeps.  The trace has call
 * sites up to number `sites`.  Returns as ti_folded_open(). */
const char *ti_folded_open_chunk(const uint8_t *payload, size_t bytes, uint64_t sites,
                                 struct ti_folded **out);
void ti_folded_tables_free(struct ti_folded_tables *tables);

/* Number of events, and number of extra columns. */
uint64_t ti_folded_events(const struct ti_folded *f);
uint32_t ti_folded_extras(const struct ti_folded *f);

/* Check all columns and vectors, without going through the events; ti_folded_open() has checked
 * trip counts and volumes.  False if the record is malformed. */
bool ti_folded_check(struct ti_folded *f);

/* Draw the values of histograms (event/quality.h) in the order of a seed; call it before the first
 * event.  The seed is 0 otherwise. */
void ti_folded_seed(struct ti_folded *f, uint64_t seed);

/* Give extra values, too; call it before the first event.  Without, ev->extra is NULL. */
void ti_folded_want_extras(struct ti_folded *f);

/* The next event: 1 and *ev is filled, 0 at the end, -1 if the record is malformed or memory is
 * short.  Vectors and extra values are valid until the next call. */
int ti_folded_next(struct ti_folded *f, struct ti_event *ev);

/* Whether memory was short for it. */
bool ti_folded_no_memory(const struct ti_folded *f);

/* The call (fold/shape.h) of the event that ti_folded_next() gave last. */
uint32_t ti_folded_node(const struct ti_folded *f);

#endif
