/*
 * Writer of one rank's trace, in the traced process.
 *
 * The writer's memory is one mapping of TI_WRITER_BYTES, made by ti_writer_open(), and what
 * ti_writer_buffer() maps beside it.  The writer allocates nothing else.  Events go into columns,
 * where values that are as before, or repeat with a period, take no memory.  The columns are
 * compressed into the file as one chunk when a table or the column store is full, or when the chunk
 * reaches its limit of events (TI_CHUNK_EVENTS, below), which grows with the trace.  So the trace
 * of a regular program hardly grows.
 *
 * When the process is killed after n events, the file lacks those of the chunk in progress: at most
 *
 *     3/4 n + 64       while chunks grow: all of the first 256, and 1,024 of 1,280
 *     TI_CHUNK_EVENTS  (TI_CHUNK_EVENTS_MOST in a larger buffer) of up to five times as many
 *     1/5 n            of more than that
 *
 * The bound is the first one, or the larger of the other two, whichever is smaller.  Smaller chunks
 * would lose less, and cost bytes in each complete trace.
 *
 * After an I/O error the writer takes no more events; ti_writer_error() returns the first error. In
 * a child made by fork(), the parent's writer fails as soon as it would write to the file.  Only
 * opening and closing may change errno.  Calls for one writer must not overlap: a lock is the
 * caller's.
 *
 * The application may close the writer's descriptor.  Before each use, the writer checks that the
 * descriptor is that of its file.  If not, it opens the file again by name, or fails if another
 * file has that name.
 *
 * If a signal handler interrupts a function here and calls another one, or leaves by siglongjmp(),
 * the writer fails; the file holds the chunks that were complete.
 */
#ifndef TI_TRACE_WRITER_H
#define TI_TRACE_WRITER_H

#include <stddef.h>

#include "common/err.h"
#include "event/event.h"
#include "trace/trace.h"

#define TI_WRITER_BYTES (84 * 1024)

/* Most events of a chunk: with F events in the file,
 *
 *     min(3 F + TI_CHUNK_EVENTS_FIRST, max(TI_CHUNK_EVENTS, F / 4))
 *
 * In a buffer above TI_BUFFER_DEFAULT, TI_CHUNK_EVENTS_MOST takes the place of TI_CHUNK_EVENTS. */
#define TI_CHUNK_EVENTS_FIRST 256
#define TI_CHUNK_EVENTS       16384
#define TI_CHUNK_EVENTS_MOST  32768

/* Vectors longer than this become a VEC chunk.  In a small buffer, shorter ones do, too. */
#define TI_VEC_INLINE 256

/* Bytes of columns before they are compressed and written. */
#define TI_BUFFER_DEFAULT (24 * 1024) /* of TI_WRITER_BYTES */
#define TI_BUFFER_LEAST   (4 * 1024)
#define TI_BUFFER_MOST    (16 * 1024 * 1024)

struct ti_writer;

/*
 * Create `path`, which must not exist, for `rank` of `nranks`, and write the header.  All files of
 * a run have the same `run_id`.  `path` is borrowed until ti_writer_close(); it should be absolute
 * if the working directory may change.  *out is set on success only; ti_writer_close() releases it.
 */
ti_status ti_writer_open(const char *path, uint32_t rank, uint32_t nranks,
                         const uint8_t run_id[TI_RUN_ID_BYTES], struct ti_writer **out,
                         struct ti_err *err);

/* Set the size of the column store, TI_BUFFER_LEAST to TI_BUFFER_MOST bytes; call it before the
 * first event.  More than TI_BUFFER_DEFAULT is mapped beside TI_WRITER_BYTES.  TI_ERR_USAGE for
 * other sizes, TI_ERR_IO when memory is short. */
ti_status ti_writer_buffer(struct ti_writer *w, size_t bytes, struct ti_err *err);

/* Bytes that the writer has mapped. */
size_t ti_writer_memory(const struct ti_writer *w);

/* Write metadata: `n` pairs, keys and values alternating. */
void ti_writer_info(struct ti_writer *w, const char *const *pairs, int n);

/* Longer strings are cut. */
#define TI_STRING_BYTES 512

/* Add a string; returns its number among those of its kind, for `site`, TI_F_CALL or TI_F_NAME of
 * later events.  The caller adds each string once. */
uint32_t ti_writer_string(struct ti_writer *w, enum ti_string kind, const char *text);

/* Add communicator `index` of `kind` (enum ti_comm_kind), in which we are `rank`.  `members` are
 * the world ranks in order; NULL means 0, 1, ... size - 1.  `remote` are those of an
 * intercommunicator's other group; for an intracommunicator remote_size is 0. */
void ti_writer_comm(struct ti_writer *w, uint32_t index, char kind, int64_t rank, int64_t size,
                    const int *members, int64_t remote_size, const int *remote);

/* Append one event, which is copied.  If the result is not TI_OK, ti_writer_error() has the error.
 */
ti_status ti_writer_event(struct ti_writer *w, const struct ti_event *ev);

/* Give each event `n` extra values, at most TI_EXTRAS_MAX, in the order of metadata "extra".  Call
 * it before the first event; then append events with ti_writer_event_extra() only. */
void ti_writer_extras(struct ti_writer *w, int n);
ti_status ti_writer_event_extra(struct ti_writer *w, const struct ti_event *ev,
                                const uint64_t *extra);

/* Compress and write what is buffered. */
void ti_writer_flush(struct ti_writer *w);

/* Whether a function here is in progress.  So it is true only in a signal handler that interrupted
 * one, and in what the handler calls.  Then leave the file as it is: a readable prefix. */
bool ti_writer_busy(const struct ti_writer *w);

/* Seconds spent so far with compressing and writing chunks of events, and events so far. */
double ti_writer_flush_seconds(const struct ti_writer *w);
uint64_t ti_writer_events(const struct ti_writer *w);

/* TI_OK, or the first error, such as a full disk. */
ti_status ti_writer_error(const struct ti_writer *w, struct ti_err *err);

/* Flush, write the totals with `n` pairs of metadata, the index and the end mark, then close and
 * release.  After an earlier error it only releases.  While another function here is interrupted,
 * it fails and releases nothing, because that function may continue. */
ti_status ti_writer_close(struct ti_writer *w, enum ti_end end, const char *const *pairs, int n,
                          struct ti_err *err);

#endif
