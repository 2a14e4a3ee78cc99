/*
 * Writer of one rank's trace; lives in the traced process.
 *
 * All its memory is one mapping of TI_WRITER_BYTES made by ti_writer_open():
 * it allocates nothing afterwards, whatever the trace, but for a buffer of another
 * size.  Events go into columns;
 * when a table or the column store is full, or TI_CHUNK_EVENTS are in, the
 * columns are compressed into the file as one chunk.  A process that dies leaves
 * every chunk written so far readable.
 *
 * After an I/O error the writer takes no more events; the first error is kept
 * and ti_writer_error() tells it.  In a process that fork() made, its parent's
 * writer fails as soon as it would write to the file.  Opening and closing may
 * change errno, nothing else does.  No function here is safe on one writer from two
 * threads at a time.
 *
 * The application may close the writer's descriptor.  The writer never uses a descriptor
 * that is not its file's: it opens the file again by name, or fails if the file of that
 * name is another one.
 *
 * A signal handler may interrupt a function here and call another, or leave by
 * siglongjmp().  The writer then fails; the file holds the chunks that were complete.
 */
#ifndef TI_WRITER_H
#define TI_WRITER_H

#include <stddef.h>

#include "common/err.h"
#include "formats/event.h"
#include "formats/trace.h"

#define TI_WRITER_BYTES (84 * 1024) /* of the 128 KiB that the library may use */

/* Events a chunk holds at most.  Small, so that a killed rank loses little:
 * the first chunk holds TI_CHUNK_EVENTS_FIRST, each next one four times as many, up to
 * TI_CHUNK_EVENTS, or TI_CHUNK_EVENTS_MOST in a larger buffer. */
#define TI_CHUNK_EVENTS_FIRST 256
#define TI_CHUNK_EVENTS       16384
#define TI_CHUNK_EVENTS_MOST  32768

/* Vectors longer than this become a chunk of their own; in a small buffer, shorter ones
 * do. */
#define TI_VEC_INLINE 256

/* Bytes of columns before they are compressed and written. */
#define TI_BUFFER_DEFAULT (24 * 1024) /* of TI_WRITER_BYTES */
#define TI_BUFFER_LEAST   (4 * 1024)
#define TI_BUFFER_MOST    (16 * 1024 * 1024)

struct ti_writer;

/*
 * Create `path` (it must not exist) for `rank` of `nranks` and write the
 * header.  `run_id` tells which files belong together.  `path` must stay valid until
 * ti_writer_close(), and should be absolute where the working directory may change.
 * *out is set on success only; ti_writer_close() releases it.
 */
ti_status ti_writer_open(const char *path, uint32_t rank, uint32_t nranks,
                         const uint8_t run_id[TI_RUN_ID_BYTES], struct ti_writer **out,
                         struct ti_err *err);

/* Let chunks have up to `bytes` of columns, TI_BUFFER_LEAST to TI_BUFFER_MOST; to be
 * called before the first event.  More than TI_BUFFER_DEFAULT is memory beyond
 * TI_WRITER_BYTES.  Returns TI_ERR_USAGE for other sizes, TI_ERR_IO without memory. */
ti_status ti_writer_buffer(struct ti_writer *w, size_t bytes, struct ti_err *err);

/* What it has mapped. */
size_t ti_writer_memory(const struct ti_writer *w);

/* Write metadata: `n` pairs, keys and values alternating. */
void ti_writer_info(struct ti_writer *w, const char *const *pairs, int n);

/* Longer strings are cut. */
#define TI_STRING_BYTES 512

/* Introduce a string; returns its number among those of its kind, to be used in
 * `site`, TI_F_CALL or TI_F_NAME of later events.  It is the caller's task to introduce a
 * string once. */
uint32_t ti_writer_string(struct ti_writer *w, enum ti_string kind, const char *text);

/* Introduce communicator `index`.  `members` are the world ranks in order, NULL for
 * 0, 1, ... size - 1; those of the other group are `remote`, none (remote_size 0) for
 * an intracommunicator.
 * `kind` as in COM, formats/trace.h. */
void ti_writer_comm(struct ti_writer *w, uint32_t index, char kind, int64_t rank, int64_t size,
                    const int *members, int64_t remote_size, const int *remote);

/* Append one event.  `ev` and its vectors are the caller's again on return.  Not
 * TI_OK: see ti_writer_error(). */
ti_status ti_writer_event(struct ti_writer *w, const struct ti_event *ev);

/* From now on each event has `n` extra values (up to TI_EXTRAS_MAX), in the order of
 * metadata "extra".  To be called before the first event; afterwards events are
 * appended by ti_writer_event_extra() only. */
void ti_writer_extras(struct ti_writer *w, int n);
ti_status ti_writer_event_extra(struct ti_writer *w, const struct ti_event *ev,
                                const uint64_t *extra);

/* Compress and write what is buffered. */
void ti_writer_flush(struct ti_writer *w);

/* Whether a function here was interrupted: true only when asked from a signal
 * handler, or from what it called.  The file is then a readable prefix, to be
 * left as it is. */
bool ti_writer_busy(const struct ti_writer *w);

/* So far.  Seconds are those spent compressing and writing chunks of events. */
double ti_writer_flush_seconds(const struct ti_writer *w);
uint64_t ti_writer_events(const struct ti_writer *w);

/* TI_OK, or the first error (disk full, say). */
ti_status ti_writer_error(const struct ti_writer *w, struct ti_err *err);

/* Flush, write totals with `n` pairs of metadata, the index and the end mark,
 * close and release.  After an earlier error it only releases.  Called while another
 * function here is interrupted, it fails and releases nothing, since that function may
 * go on. */
ti_status ti_writer_close(struct ti_writer *w, enum ti_end end, const char *const *pairs, int n,
                          struct ti_err *err);

#endif
