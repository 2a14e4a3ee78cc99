/*
 * Reader of one rank's trace: an iterator over its events.
 *
 * Reads a rank file, or a stretch of a bundle.  A trace that was cut off is
 * read as far as it is whole: ti_reader_next() then ends as at any end, and
 * ti_reader_end() says that it was not the end.  A trace that is damaged ends
 * with an error that names file, byte and cause.
 *
 * Memory: one chunk at a time (at most TI_CHUNK_RAW_MAX, about 100 KB in
 * practice) and the strings and communicators.
 */
#ifndef TI_READER_H
#define TI_READER_H

#include "common/err.h"
#include "formats/event.h"
#include "formats/trace.h"

struct ti_reader;

struct ti_comm {
    uint32_t index;
    char kind;    /* as in COM, formats/trace.h */
    int64_t rank; /* own rank in it */
    int64_t size;
    const int32_t *member; /* world rank of each of its ranks */
    int64_t remote_size;   /* 0, remote NULL: an intracommunicator */
    const int32_t *remote; /* world ranks of the other group */
};

/* What the header, INF and, once read, TOT say. */
struct ti_totals {
    uint64_t volume, events, hash;
};

/*
 * Open a rank file, or `bytes` bytes from `offset` of the open file `fd`, which
 * stays the caller's and must outlive the reader (pread is used, so readers
 * may share it).  `name` is used in messages.  Header and metadata are read.
 * Returns TI_OK, TI_ERR_IO, or TI_ERR_INPUT for what is not a trace.
 */
ti_status ti_reader_open(const char *path, struct ti_reader **out, struct ti_err *err);
ti_status ti_reader_open_at(int fd, int64_t offset, int64_t bytes, const char *name,
                            struct ti_reader **out, struct ti_err *err);
void ti_reader_close(struct ti_reader *r); /* NULL is fine */

/*
 * Lists of ranks that readers share: with thousands of readers open, each communicator's members
 * are in memory once.  Readers are given it right after they are opened, and are closed before it
 * is freed.  Not for several threads.
 */
struct ti_rank_lists;
struct ti_rank_lists *ti_rank_lists_new(void); /* NULL: no memory */
void ti_rank_lists_free(struct ti_rank_lists *lists);
void ti_reader_share(struct ti_reader *r, struct ti_rank_lists *lists);

uint32_t ti_reader_rank(const struct ti_reader *r);
uint32_t ti_reader_nranks(const struct ti_reader *r);
const uint8_t *ti_reader_run_id(const struct ti_reader *r);

/* Value of a metadata key (INF, then TOT once reached); NULL if not there.
 * _u64: as a number, false if it is none; _at enumerates: false when i is past the
 * last. */
const char *ti_reader_info(const struct ti_reader *r, const char *key);
bool ti_reader_info_u64(const struct ti_reader *r, const char *key, uint64_t *out);
bool ti_reader_info_at(const struct ti_reader *r, int i, const char **key, const char **value);

/*
 * Extra columns (formats/trace.h), as the metadata names them: their number, 0 if
 * there are none; name and unit of column `i` below that; and the column of that
 * name, -1 if there is none.
 */
int ti_reader_extras(const struct ti_reader *r);
const char *ti_reader_extra_name(const struct ti_reader *r, int i);
const char *ti_reader_extra_unit(const struct ti_reader *r, int i);
int ti_reader_extra(const struct ti_reader *r, const char *name);

/* Read them too, to be called before the first event: ev->extra then has the
 * event's values until the next call, NULL where the trace has none for it.  Who
 * does not ask is not told of damage there either. */
void ti_reader_want_extras(struct ti_reader *r);

/*
 * The next event: 1 and *ev filled, 0 at the end, -1 on damage (err says where;
 * the events given so far are sound).  ev->vec points into the reader until the
 * next call.  Fields that are not in ev->mask are not set.
 */
int ti_reader_next(struct ti_reader *r, struct ti_event *ev, struct ti_err *err);

/* Jump to the end without decoding events: reads chunk headers only, checks
 * their CRCs, and loads TOT, strings and communicators.  For summaries. */
ti_status ti_reader_skip(struct ti_reader *r, struct ti_err *err);

/* Once ti_reader_next() gave 0, or after ti_reader_skip(). */
enum ti_end ti_reader_end(const struct ti_reader *r);
const char *ti_end_text(enum ti_end end);
bool ti_reader_totals(const struct ti_reader *r, struct ti_totals *out); /* false: no TOT */
uint64_t ti_reader_events(const struct ti_reader *r); /* given, or skipped over */

/* Text of string `number` (an event's site, or its TI_F_CALL or TI_F_NAME) of its
 * kind, as met so far; NULL if there is none. */
const char *ti_reader_string(const struct ti_reader *r, enum ti_string kind, int64_t number);

/* Whether two events, each the last of its reader, are the same call: volumes and
 * call sites apart; calls that are not traced are compared by name. */
bool ti_reader_same_call(const struct ti_reader *ra, const struct ti_event *a,
                         const struct ti_reader *rb, const struct ti_event *b);

/* Communicator by index as met so far; NULL if there is none. */
const struct ti_comm *ti_reader_comm(const struct ti_reader *r, int64_t index);

/*
 * Read it all and check it: CRCs, structure, TOT against a sum and hash of its
 * own, IDX, extra columns.  Leaves the reader at the end.  *events is what was sound.
 */
ti_status ti_reader_verify(struct ti_reader *r, uint64_t *events, struct ti_err *err);

/* World rank of `delta` (PEER, PEER2 or FROM of an event on communicator
 * `comm`; in an intercommunicator a rank of the other group); -1 if the
 * communicator or the rank does not exist. */
int64_t ti_reader_world(const struct ti_reader *r, int64_t comm, int64_t delta);

/* The communicator that PEER and its relatives in an event that was given last
 * are ranks of: its own, the leaders', or that of its window.  -1: it does not say
 * (a wait), or its window's creation was not met. */
int64_t ti_reader_event_comm(const struct ti_reader *r, const struct ti_event *ev);

#endif
