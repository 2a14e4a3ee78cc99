/*
 * Reader of one rank's trace: an iterator over its events.
 *
 * The reader takes a rank file, or a member of a bundle in place, and trusts nothing in it.  A
 * trace that was cut off is read up to its last complete chunk: ti_reader_next() returns 0 as at
 * any end, and ti_reader_end() tells the difference.  In a damaged trace, ti_reader_next() returns
 * an error that names file, byte and cause.
 *
 * Memory: one chunk (at most TI_CHUNK_RAW_MAX, about 100 KB in practice), the columns that it goes
 * on with (at most TI_BUFFER_MOST), the tables of the trace (metadata, strings, communicators,
 * windows), and the longest vector.
 */
#ifndef TI_TRACE_READER_H
#define TI_TRACE_READER_H

#include "common/err.h"
#include "event/event.h"
#include "trace/trace.h"

struct ti_reader;

struct ti_comm {
    uint32_t index;
    char kind;    /* as in COM, trace/trace.h */
    int64_t rank; /* our rank in it */
    int64_t size;
    const int32_t *member; /* world rank of each of its ranks */
    int64_t remote_size;   /* 0, remote NULL: an intracommunicator */
    const int32_t *remote; /* world ranks of the other group */
};

/* The contents of the TOT chunk. */
struct ti_totals {
    uint64_t volume, events, hash;
};

/*
 * Open a rank file; or, with _at, `bytes` bytes from `offset` of the open file `fd`, for which
 * messages use `name`.  The caller keeps `fd` and closes it after the reader; several readers may
 * share it (pread).  Header and metadata are read.  TI_ERR_IO, or TI_ERR_INPUT if it is no trace.
 */
ti_status ti_reader_open(const char *path, struct ti_reader **out, struct ti_err *err);
ti_status ti_reader_open_at(int fd, int64_t offset, int64_t bytes, const char *name,
                            struct ti_reader **out, struct ti_err *err);
void ti_reader_close(struct ti_reader *r); /* NULL is fine */

/*
 * Open the trace that a record (fold/record.h) stands for.  The record is moved into the
 * reader: *record is empty afterwards, also on errors.  `nranks` and `run_id` are those of the
 * merged trace.  TI_ERR_INPUT if it is malformed.
 */
struct ti_record;
ti_status ti_reader_open_record(struct ti_record *record, uint32_t nranks, const uint8_t *run_id,
                                const char *name, struct ti_reader **out, struct ti_err *err);

/* The folded trace (fold/shape.h) that `r` reads; NULL if it reads a rank file or a copy
 * of one.  It belongs to `r`. */
struct ti_folded;
struct ti_folded *ti_reader_folded(const struct ti_reader *r);

/*
 * Go to an event of a folded trace, so that ti_reader_next() gives it, without reading the events
 * before.  `columns` 0: `value` is the number of the event, from 0.  Else: the first event with
 * which the sum of these columns reaches `value`, and *out what came before it
 * (fold/seek.h).  1; 0 if the trace ends before; -1 with `err` if its record is malformed,
 * values are too large to be added up, or memory is short.
 */
struct ti_place;
int ti_reader_seek(struct ti_reader *r, uint32_t columns, uint64_t value, struct ti_place *out,
                   struct ti_err *err);

/* ti_folded_trip() and ti_folded_leave_out() (fold/trips.h) for a reader.  No trip begins
 * in a trace that is not folded. */
struct ti_trip_start;
struct ti_trip_period;
bool ti_reader_trip(struct ti_reader *r, struct ti_trip_start *out);
bool ti_reader_leave_out(struct ti_reader *r, uint64_t n, const struct ti_trip_period *p);

/* Open another reader of the same trace, at its start; close it before `r`.  Errors as above. */
ti_status ti_reader_again(const struct ti_reader *r, struct ti_reader **out, struct ti_err *err);

/* The length of the rank file; 0 if `r` reads a record that is no copy of one. */
int64_t ti_reader_file_bytes(const struct ti_reader *r);

/* Read the bytes of the rank file: free() *data.  *data is NULL if `r` reads a record that is no
 * copy of one.  TI_ERR_IO. */
ti_status ti_reader_file(const struct ti_reader *r, uint8_t **data, size_t *bytes,
                         struct ti_err *err);

/*
 * Lists of ranks that readers share, so that with thousands of readers open, the members of each
 * communicator are in memory once, and are decoded once.  Call ti_reader_share() right after
 * opening a rank file.  A record has its communicators at its start, so the lists are needed for
 * opening it.  Close the readers before you free the lists.  All in one thread.
 */
struct ti_rank_lists;
struct ti_rank_lists *ti_rank_lists_new(void); /* NULL: no memory */
void ti_rank_lists_free(struct ti_rank_lists *lists);
void ti_reader_share(struct ti_reader *r, struct ti_rank_lists *lists);
ti_status ti_reader_open_record_sharing(struct ti_record *record, uint32_t nranks,
                                        const uint8_t *run_id, const char *name,
                                        struct ti_rank_lists *lists, struct ti_reader **out,
                                        struct ti_err *err);

const char *ti_reader_name(const struct ti_reader *r); /* for messages */
uint32_t ti_reader_rank(const struct ti_reader *r);
uint32_t ti_reader_nranks(const struct ti_reader *r);
const uint8_t *ti_reader_run_id(const struct ti_reader *r);

/* Value of a metadata key: those of INF, and of TOT once it was read; NULL if absent.  _u64: as a
 * number; false if it is none.  _at: pair `i`, to enumerate them; false past the last. */
const char *ti_reader_info(const struct ti_reader *r, const char *key);
bool ti_reader_info_u64(const struct ti_reader *r, const char *key, uint64_t *out);
bool ti_reader_info_at(const struct ti_reader *r, int i, const char **key, const char **value);

/* How many pairs are from INF; those of TOT follow them. */
int ti_reader_info_first(const struct ti_reader *r);

/*
 * Extra columns (trace/trace.h): their number; name and unit of column `i`; the index of the
 * column with a name, -1 if there is none.
 */
int ti_reader_extras(const struct ti_reader *r);
const char *ti_reader_extra_name(const struct ti_reader *r, int i);
const char *ti_reader_extra_unit(const struct ti_reader *r, int i);
int ti_reader_extra(const struct ti_reader *r, const char *name);

/* Read extra columns, too; call it before the first event.  ev->extra then points to the values of
 * the event until the next call; it is NULL where the trace has none for the event.  Without this
 * call, damage in extra columns is not reported. */
void ti_reader_want_extras(struct ti_reader *r);

/* Draw the values of which the trace has statistics only (event/quality.h) in the order of
 * a seed; call it before the first event.  The seed is 0 without.  The totals' hash is that of the
 * events with seed 0. */
void ti_reader_seed(struct ti_reader *r, uint64_t seed);

/*
 * The next event: 1 and *ev is filled; 0 at the end; -1 on damage: err says where, and the events
 * returned so far are sound.  Nothing after the damage is read: the next call returns 0.  So it is
 * when memory is short, or the file cannot be read.  ev->vec points into the reader until the next
 * call.  Fields that are not in ev->mask are not set.
 */
int ti_reader_next(struct ti_reader *r, struct ti_event *ev, struct ti_err *err);

/* Why it returned -1: TI_ERR_INPUT is damage, TI_ERR_IO that memory is short, or a failed read. */
ti_status ti_reader_status(const struct ti_reader *r);

/* The error of a function of lib/fold that failed for `r`: "its record is malformed", or that
 * memory is short if errno is ENOMEM.  Set errno to 0 before you call that function.  Returns the
 * status. */
ti_status ti_reader_malformed(const struct ti_reader *r, struct ti_err *err);

/* Jump to the end without decoding events, for summaries.  Of chunks of events and
 * vectors only the headers are read and their CRCs checked; TOT, strings and communicators are
 * loaded. */
ti_status ti_reader_skip(struct ti_reader *r, struct ti_err *err);

/* How the trace ended; valid once ti_reader_next() returned 0, or after ti_reader_skip(). */
enum ti_end ti_reader_end(const struct ti_reader *r);
const char *ti_end_text(enum ti_end end);

/* Write to `text` how the trace ended, with the reason if the library recorded one.  Returns
 * `text`. */
const char *ti_reader_end_text(const struct ti_reader *r, char *text, size_t bytes);

bool ti_reader_totals(const struct ti_reader *r, struct ti_totals *out); /* false: no TOT */
uint64_t ti_reader_events(const struct ti_reader *r); /* events returned or skipped so far */

/* Whether the totals, which must be there, fit a hash of all events.  A record of many events may
 * have a hash of its own there (ti_record_hash()), which then is compared instead. */
bool ti_reader_hash_is(const struct ti_reader *r, uint64_t hash);

/* Text of string `number` of a kind, among those met so far; NULL if there is none.  The number is
 * an event's site, or its field TI_F_CALL or TI_F_NAME. */
const char *ti_reader_string(const struct ti_reader *r, enum ti_string kind, int64_t number);

/* Whether two events, each the last that its reader returned, are the same call.  Volumes and call
 * sites are not compared.  Calls that are not traced are compared by name. */
bool ti_reader_same_call(const struct ti_reader *ra, const struct ti_event *a,
                         const struct ti_reader *rb, const struct ti_event *b);

/* Communicator `index`, among those met so far; NULL if there is none. */
const struct ti_comm *ti_reader_comm(const struct ti_reader *r, int64_t index);

/* World rank of `delta`, the PEER, PEER2 or FROM of an event on communicator `comm`.  In an
 * intercommunicator it is a rank of the other group.  -1: no such communicator or rank. */
int64_t ti_reader_world(const struct ti_reader *r, int64_t comm, int64_t delta);

/* The communicator whose ranks PEER, PEER2 and FROM of the last returned event are: the event's,
 * the leaders', or that of its window.  -1: the event has none (a wait), or its window is not
 * known. */
int64_t ti_reader_event_comm(const struct ti_reader *r, const struct ti_event *ev);

#endif
