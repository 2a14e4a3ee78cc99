/*
 * Builder: makes a record (fold/record.h) without a trace to read.
 *
 * Use it to write a merged trace of what did not run as it is: a transformed trace, or a computed
 * one.  Take what stays from a view (merged/view.h), give the builder all of it, and add the record
 * to a merger (merged/merger.h).  The encoder (merged/encode.h) makes records with it, too.
 *
 *   b = ti_builder_new(rank, 0);
 *   ti_builder_info(b, "counter", "papi", false);
 *   ti_builder_comm(b, &world);
 *   site = ti_builder_string(b, TI_STRING_SITE, "lu+0x40");
 *   barrier = ti_builder_symbol(b, &(struct ti_call){.op = TI_OP_BARRIER, .site = site, ...});
 *   ti_builder_loop(b);                      a loop ...
 *   ti_builder_column(b, &trips, NULL);      ... of so many trips, each time that it is passed
 *   arrivals = ti_builder_call(b, barrier);  a call in it: 2 arrivals
 *   ti_builder_column(b, &again, NULL);      its volumes after the end of a trip
 *   ti_builder_column(b, &before, NULL);     ... and before the loop
 *   ti_builder_end_loop(b);
 *   st = ti_builder_finish(b, nranks, TI_HASH_ALL, &record, &err);
 *
 * Order: strings and vectors before the symbols that use their numbers, symbols before their calls,
 * nodes of the shape in preorder, each followed by its columns.  All else may come in any order.
 * The builder copies its arguments, and checks nothing before ti_builder_finish().
 *
 * Memory: the record, twice at the end.  When memory is short, the builder goes on without what it
 * could not keep, and ti_builder_finish() returns TI_ERR_IO.  Calls for one builder must not
 * overlap; different builders do not share anything.
 */
#ifndef TI_MERGED_BUILDER_H
#define TI_MERGED_BUILDER_H

#include "common/err.h"
#include "event/quality.h"
#include "fold/record.h"
#include "fold/shape.h"
#include "trace/reader.h"

struct ti_builder;

/* A builder of the record of `rank` in MPI_COMM_WORLD, whose events have `extras` extra columns, at
 * most TI_EXTRAS_MAX.  Metadata "extra" must name as many (trace/trace.h).  NULL when memory is
 * short. */
struct ti_builder *ti_builder_new(uint32_t rank, uint32_t extras);
void ti_builder_free(struct ti_builder *b); /* NULL is fine */

/* ----------------------------------------------------- what a trace says once -- */

/* How the trace ended.  TI_END_KILLED, which it is without a call: the record has no totals. */
void ti_builder_end(struct ti_builder *b, enum ti_end end);

/* Add metadata.  `at_end`: as known at the end of a run, in the totals. */
void ti_builder_info(struct ti_builder *b, const char *key, const char *value, bool at_end);

/* Metadata that ti_builder_tables() and ti_builder_all_but_shape() leave out: a list of keys that
 * ends with NULL and must outlive the builder.  For what a transformation changes, or makes untrue.
 */
void ti_builder_leave_out(struct ti_builder *b, const char *const *keys);

/* Add a communicator. */
void ti_builder_comm(struct ti_builder *b, const struct ti_comm *comm);

/* The same, of one that is no intercommunicator, with its members as a column of a record: the
 * first one, and its blob.  For many ranks with one list of members; comm->member is not read. */
void ti_builder_comm_encoded(struct ti_builder *b, const struct ti_comm *comm, int64_t first,
                             const struct ti_bytes *blob);

/* Add a string; returns its number among those of its kind, from 1, for `site`, TI_F_CALL or
 * TI_F_NAME of calls. */
uint32_t ti_builder_string(struct ti_builder *b, enum ti_string kind, const char *text);

/* Add all this of a trace, and its end, but for call sites.  `r` is at the end, or reads a record
 * (ti_reader_skip()). */
void ti_builder_tables(struct ti_builder *b, const struct ti_reader *r);

/* Add all of a folded trace but its shape, so that strings, vectors and symbols keep their numbers.
 * False: a vector of it is malformed. */
bool ti_builder_all_but_shape(struct ti_builder *b, const struct ti_reader *r);

/* ------------------------------------------------------------------- symbols -- */

/* Add a vector of `n` elements; returns its number, from 0. */
int64_t ti_builder_vector(struct ti_builder *b, const int64_t *element, int64_t n);

/* Add a symbol (fold/shape.h); returns its number, from 0. */
uint32_t ti_builder_symbol(struct ti_builder *b, const struct ti_call *call);

/* --------------------------------------------------------------------- shape -- */

/* Begin a loop, of which one column follows: its trip counts.  Then its body follows. */
void ti_builder_loop(struct ti_builder *b);
void ti_builder_end_loop(struct ti_builder *b);

/* Add a call.  Its columns follow: for each arrival (fold/fold.h) the volumes, then each extra
 * column; for each field that has a column the values; for each such vector the numbers of vectors.
 * Returns the arrivals: 1 + the loops that begin with this call. */
uint32_t ti_builder_call(struct ti_builder *b, uint32_t symbol);

/* Add a column in memory (fold/runs.h), with the quality in which it is kept; NULL: exact.  The
 * last value repeats for ever, so a column that is constant needs one value. */
void ti_builder_column(struct ti_builder *b, const struct ti_column *c, const struct ti_quality *q);

/* Add a column as it is in a record: its first value, and its blob (fold/column.h). */
void ti_builder_encoded(struct ti_builder *b, int64_t first, const struct ti_bytes *blob);

/* Let ti_builder_finish() say that memory was short: it was for values that the builder gets. */
void ti_builder_no_memory(struct ti_builder *b);

/* ----------------------------------------------------------------------- end -- */

/*
 * Make the record.  It is opened as a reader would, and its totals follow from it: number of events
 * and volume from the shape, the hash from the events, if there are no more than `hash_most`; see
 * ti_record_rehash().
 *
 *   nranks  ranks of the run
 *   *out    set on success only; release it with ti_record_free()
 *
 * TI_ERR_INPUT: the record is malformed, for instance since columns are missing or members of a
 * communicator are no ranks; or it breaks a limit of merged/layout.h or fold/record_layout.h.
 * Volumes, trip counts and number of events are checked; fields are not (ti_folded_check()).
 * Whether the events make sense is found by the check of whole traces (sound/check.h).  TI_ERR_IO:
 * memory was short.  The builder can only be released afterwards.
 */
ti_status ti_builder_finish(struct ti_builder *b, uint32_t nranks, uint64_t hash_most,
                            struct ti_record *out, struct ti_err *err);

#define TI_HASH_ALL UINT64_MAX

/*
 * Set the hash in the totals of a folded record with memory of its own, after it was changed
 * (ti_record_set()).  With up to `most` events, it is that of the events, which are read: some 20
 * ns each.  With more, it is a hash of the record, so that equal records have equal hashes.
 *
 * Comparisons begin with this hash (ti-info --compare), and go on with the events where it differs.
 * A tool that reads all events accepts either hash (ti_reader_hash_is()).
 *
 * TI_ERR_INPUT: the record is malformed.  TI_ERR_IO: memory is short.
 */
ti_status ti_record_rehash(struct ti_record *record, uint32_t nranks, uint64_t most,
                           struct ti_err *err);

#endif
