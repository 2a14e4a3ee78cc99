/*
 * The parts of a reader (trace/reader.h), for its own files:
 *
 *   reader_file.c     the bytes of a trace: its header, headers and payloads of chunks, its end
 *   reader_tables.c   what a trace says once and a reader keeps: metadata, strings, communicators,
 *                     windows, long vectors
 *   rank_lists.c      lists of ranks that several readers share
 *   reader_columns.c  one chunk of events: from its payload to its events
 *   reader.c          a trace: opening, the way from chunk to chunk, the iterator
 *   reader_record.c   a record of a merged trace in the place of a rank file
 *
 * reader.c sees events through the functions of struct decoder only.
 *
 * Limits on what a malicious file can cost.  A chunk takes at most 64 MiB and, if compressed, no
 * more than deflate can make of its bytes.  Tables take at most KEEP_MAX, and the columns that a
 * chunk goes on with STORE_MAX.  A chunk of events has at most SYMS_MAX symbols and COLS_MAX
 * columns.  Before version 4 it yields at most EVENTS_MAX events with ELEMENTS_MAX inline elements,
 * which takes less than a second.  The writer stays far below these limits; of elements it may
 * reach half.  A chunk of events that repeat, in columns with copies or folded (FLD), yields up to
 * 2^32 - 1 events: its memory is limited, the time to read all its events is not.
 */
#ifndef TI_TRACE_READER_INTERNAL_H
#define TI_TRACE_READER_INTERNAL_H

#include "event/buffer.h"
#include "fold/decode.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define KEEP_MAX     (UINT64_C(128) << 20)
#define EVENTS_MAX   (4 * TI_CHUNK_EVENTS)
#define ELEMENTS_MAX (2 * TI_CHUNK_EVENTS * TI_VECS * TI_VEC_INLINE)
#define SYMS_MAX     4096
#define COLS_MAX     8192
#define STORE_MAX    TI_BUFFER_MOST

/* -------------------------------------------------------- reader_file.c -- */

struct trace_file {
    int fd;
    bool own_fd;
    const uint8_t *memory; /* the trace; NULL: it is in fd */
    uint8_t *own_memory;
    char *name;
    int64_t start, bytes; /* of the trace in fd */
    int64_t at;           /* next chunk, from start */
    bool at_end;          /* no complete chunk follows, or none is to be read any more */
    uint32_t rank, nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    uint64_t nchunks; /* before `at` */
    uint32_t all_crc; /* over their CRCs, see IDX in trace/trace.h */
};

/* Set the error "damaged at byte `at`: `what`", or that memory is short; they return the status.
 * Functions that parse a chunk return false in both cases.  The first function says that memory is
 * short if errno is ENOMEM; reading the header of the chunk has set errno to 0. */
ti_status ti__file_damaged(const struct trace_file *f, int64_t at, struct ti_err *err,
                           const char *what);
ti_status ti__file_no_memory(const struct trace_file *f, struct ti_err *err);

/* Read the header of the trace, and advance to the first chunk. */
ti_status ti__file_header(struct trace_file *f, struct ti_err *err);

/* Read the header of the next chunk into *c.  Sets at_end where the trace was cut off. */
ti_status ti__file_chunk(struct trace_file *f, struct ti_chunk *c, struct ti_err *err);

/* Advance past chunk *c, the one at f->at.  The first function reads and decompresses its payload,
 * of c->raw bytes: free() *payload, which is never NULL then. */
ti_status ti__file_payload(struct trace_file *f, const struct ti_chunk *c, uint8_t **payload,
                           struct ti_err *err);
ti_status ti__file_pass(struct trace_file *f, const struct ti_chunk *c, struct ti_err *err);

/* Whether the end mark is all that follows. */
bool ti__file_at_end_mark(const struct trace_file *f);

/* Close the descriptor if it is our own, and release the members. */
void ti__file_close(struct trace_file *f);

/* ------------------------------------------------------ reader_tables.c -- */

/* Strings of one kind. */
struct strings {
    char **text; /* [number - 1] */
    size_t n, cap;
};

/* A vector from a VEC chunk. */
struct long_vec {
    uint64_t number;
    int64_t len;
    int64_t *data;
};

struct tables {
    uint64_t kept; /* bytes, limited by KEEP_MAX */
    struct pair {
        char *key, *value;
    } * pair; /* metadata */
    size_t npairs, pairs_cap;
    char *extra_names; /* what extra[] points into */
    struct {
        const char *name, *unit;
    } extra[TI_EXTRAS_MAX];
    int nextras;
    struct strings sites, calls, files;
    struct ti_rank_lists *lists; /* shared with other readers; NULL: none */
    struct ti_comm *comm;        /* [index]; member is NULL if it was not met */
    size_t ncomms, comms_cap;
    int64_t *window; /* [number]: the window's communicator */
    size_t nwindows, windows_cap;
    struct long_vec *vec; /* not yet used, in the order in which events refer to them */
    size_t nvecs, vecs_cap, vecs_used;
};

/*
 * Add the payload of a chunk, from p to end.  False if it is malformed, asks for too much memory,
 * or memory is short.  Members of communicators are ranks below `nranks`; the member at our own
 * rank in it is `rank`.
 */
bool ti__tables_pairs(struct tables *t, const uint8_t *p, const uint8_t *end);
bool ti__tables_strings(struct tables *t, const uint8_t *p, const uint8_t *end);
bool ti__tables_comms(struct tables *t, uint32_t rank, uint32_t nranks, const uint8_t *p,
                      const uint8_t *end);
bool ti__tables_long_vec(struct tables *t, const uint8_t *p, const uint8_t *end);

/* Parse metadata "extra": NAME:UNIT, separated by blanks.  If there are more than TI_EXTRAS_MAX,
 * the trace has no extra columns for us.  False when memory is short. */
bool ti__tables_extras(struct tables *t);

/* Remember the communicator of a new window.  Nothing is kept if its number is not the next one, or
 * if there are too many windows.  False when memory is short. */
bool ti__tables_window(struct tables *t, const struct ti_event *ev);

/* Move the next long vector, which must have this number, to *out: free() out->data.  False if it
 * is another one. */
bool ti__tables_use_vec(struct tables *t, uint64_t number, struct long_vec *out);

void ti__tables_free(struct tables *t);

/* --------------------------------------------------------- rank_lists.c -- */

/* The shared list of `n` ranks that has this encoding, `key`; NULL: none. */
const int32_t *ti__rank_lists_find(const struct ti_rank_lists *lists, const uint8_t *key,
                                   size_t bytes, int64_t n);

/* Share a list, which must not be shared yet and belongs to `lists` afterwards.  False when memory
 * is short: then it is the caller's still. */
bool ti__rank_lists_add(struct ti_rank_lists *lists, const uint8_t *key, size_t bytes,
                        int32_t *list, int64_t n);

/* ----------------------------------------------------- reader_columns.c -- */

struct column {
    const uint8_t *data; /* of this chunk and those that it goes on with */
    uint32_t bytes;
    uint32_t added; /* by this chunk */
    uint32_t at;    /* the next token or copy */
    bool copied;    /* it may have copies */
    bool more;      /* a token is there; else `last` repeats for ever */
    uint64_t last;
    uint64_t run; /* of the token: how often `last` still repeats before `word` applies */
    uint64_t word;
    uint64_t repeats;           /* how often `last` was repeated without a token */
    uint64_t copies;            /* tokens still to come from a part of the column: ... */
    uint32_t begin, stop, next; /* ... where it begins and ends, and the next token of it */
    uint32_t elements;          /* of the last vector ... */
    int64_t len;                /* ... and their number; below 0: it is in a VEC chunk */
};

struct symbol {
    struct ti_event_symbol is;
    uint32_t numbers; /* mask of its fields that have a column */
    uint32_t col;     /* number of the first column; the others follow */
    uint32_t next;    /* predicted successor */
};

struct volume {
    uint32_t before, symbol, col;
};

/* An EVT chunk (event/columns.h), and the XTR chunk beside it. */
struct decoder {
    struct tables *tables; /* of the trace */
    uint8_t *data;         /* of the columns */
    uint32_t left;         /* events in it still to be returned */
    int64_t elements;      /* inline elements that it may still yield, if there are no copies */
    struct symbol *sym;
    size_t nsyms, syms_cap;
    struct column *col; /* the first one is the sequence */
    size_t ncols, cols_cap;
    struct volume *vol;
    size_t nvols, vols_cap;
    uint32_t *vol_slot; /* hash table: the number in vol[] + 1; 0: none */
    uint32_t vol_slots; /* power of two */
    uint32_t prev;      /* symbol of the event before, or NO_SYMBOL */
    bool copies;        /* its columns may have copies */
    bool goes_on;       /* with the columns of the chunk before */
    int64_t *vec_buf[TI_VECS];
    size_t vec_cap[TI_VECS];
    const struct column *vec_of[TI_VECS]; /* whose last vector is in vec_buf */
    bool no_memory;                       /* for a vector; that is why ti__decoder_next() failed */
    struct long_vec used[TI_VECS];        /* long vectors of the event returned last */

    uint8_t *xtr; /* for this EVT chunk, or for the next one if XTR was read already */
    uint64_t xtr_first;
    uint32_t xtr_events, xtr_bytes;
    struct column *beside; /* the extra columns of each column of volumes; NULL: none */
    size_t nbeside;
    uint8_t *beside_data;
    uint64_t extra_values[TI_EXTRAS_MAX];
};

/* Keep the payload of an XTR chunk for the next EVT chunk; it is ours on success.  False if there
 * is one already. */
bool ti__decoder_keep_extras(struct decoder *d, const struct ti_chunk *c, uint8_t *payload);

/* Load the payload of an EVT chunk, which is ours; false if it is malformed, or memory is short. It
 * may go on with the columns of the chunk before. */
bool ti__decoder_load(struct decoder *d, const struct ti_chunk *c, uint8_t *payload);

/* Load the XTR chunk, if there is one; false if it is malformed, or not that of EVT chunk *c, or
 * memory is short. */
bool ti__decoder_load_extras(struct decoder *d, const struct ti_chunk *c);

/* Decode the next event, while d->left is above 0; false if the chunk is malformed, or memory is
 * short (see no_memory).  Vectors and extra values are valid until the next call. */
bool ti__decoder_next(struct decoder *d, struct ti_event *ev);

/* Release what is known of chunks so far; _free: everything. */
void ti__decoder_drop(struct decoder *d);
void ti__decoder_free(struct decoder *d);

/* ------------------------------------------------------------- reader.c -- */

struct ti_reader {
    struct trace_file file; /* with `folded`, only who and whose the trace is */
    struct ti_record record;
    const struct ti_record *source; /* the record that is read: ours, or that of another reader.
                                     * NULL: a file is read */
    struct ti_folded *folded;       /* the events; NULL: they are in chunks */
    struct ti_buffer folded_end;    /* payload of TOT, for the end */
    struct tables tables;
    struct decoder decoder; /* of the current chunk of events, if it is EVT; if it is FLD: */
    struct ti_folded *folded_chunk; /* NULL: it is EVT, or there is none */
    uint8_t *folded_payload;
    uint32_t folded_left; /* events in it still to be returned */
    int64_t chunk_at;     /* the chunk's place in the file */
    bool want_extras;
    uint64_t events; /* returned or skipped */
    bool have_totals, have_index;
    struct ti_totals totals;
    int first_pairs; /* of metadata, before those of TOT */
    enum ti_end end;
    ti_status status; /* of the last failure of ti_reader_next() */
};

/* A new reader without a trace.  TI_ERR_IO. */
ti_status ti__reader_new(const char *name, struct ti_reader **out, struct ti_err *err);

/* Read what comes first: the header of the file, and metadata. */
ti_status ti__reader_start(struct ti_reader *r, struct ti_err *err);

/* Read the payload of TOT; false if it is malformed. */
bool ti__reader_totals(struct ti_reader *r, const uint8_t *p, const uint8_t *end);

/* ------------------------------------------------------ reader_record.c -- */

/* The end of a folded trace, where the totals are read. */
ti_status ti__record_end(struct ti_reader *r, struct ti_err *err);

#endif
