/*
 * The parts of a writer (trace/writer.h), for its own files:
 *
 *   writer_events.c   events become symbols and columns; these become EVT, XTR and VEC chunks
 *   writer_columns.c  the store of columns while a chunk of events is filled
 *   writer_periods.c  what repeats in a column
 *   writer_tables.c   metadata, strings and communicators, which become INF, STR and COM chunks
 *   writer_file.c     chunks and bytes into the file
 *   writer.c          opening, flushing, closing
 *
 * All memory is in struct ti_writer, one mapping, but for a larger column store.
 * Functions ti__X() that change the writer are called between ti__begin() and ti__end().
 */
#ifndef TI_TRACE_WRITER_INTERNAL_H
#define TI_TRACE_WRITER_INTERNAL_H

#include <signal.h>
#include <sys/types.h>
#include <zlib.h>

#include "event/columns.h"
#include "trace/writer.h"

/* Sizes of the tables; together they must fit TI_WRITER_BYTES. */
#define SYMS           256
#define SYM_SLOTS      512 /* power of two */
#define COLS           512
#define VOL_SLOTS      1024 /* power of two */
#define BLOCK_BYTES    32   /* smallest size; numbers of blocks have 16 bits */
#define OUT_BYTES      2048
#define PENDING_BYTES  1024
#define COMMS_BYTES    1024
#define KEPT_BYTES     2048
#define PERIODS        80 /* columns that are searched for periods; at most UINT8_MAX */
#define CHUNK_SHARE    3  /* events of a chunk for each one in the file, as writer.h promises ... */
#define CHUNK_PART     4  /* ... and, in a long trace, for how many in the file there is one */
#define DEFLATE_BYTES  (23 * 1024) /* zlib's memory with the settings below */
#define DEFLATE_LEVEL  6
#define DEFLATE_WINDOW 11
#define DEFLATE_MEM    4

#define NONE      UINT16_MAX
#define NO_SYMBOL SYMS /* an entry of the table that equals no event's symbol */

/* An event without vectors adds at most this much.  A value adds a token of two varints to its
 * column; before it, a copy of two varints and a byte may have to be written. */
#define EVENT_COLS   (2 + TI_F_COUNT + TI_VECS)
#define TOKEN_BYTES  (5 + TI_VARINT_MAX + 5 + 1 + 5)
#define EVENT_BLOCKS (EVENT_COLS * 2)
#define VALUE_BYTES  (2 * TI_VARINT_MAX)

struct block {
    uint16_t next;
    uint8_t data[];
};

/* The last vector of a column, to compare the next one with it. */
struct kept {
    uint16_t at, room; /* in the writer's kept[] */
    uint16_t len;
    uint8_t width;
    bool lost; /* not kept: no room, or it is in a VEC chunk */
};

struct column {
    union {
        uint64_t last;
        struct kept kept; /* of vectors */
    };
    uint32_t run;
    uint16_t head, tail;
    uint16_t full;           /* blocks before the tail */
    uint8_t fill;            /* bytes used in the tail */
    uint8_t period;          /* 1 + its number in the writer's period[]; 0: none */
    uint16_t before, symbol; /* of a column of volumes, as in columns.h; else symbol is NONE */
    uint32_t written;        /* bytes in the chunks so far */
};

/* A place in the bytes of a column. */
struct place {
    uint32_t at;    /* number of the byte */
    uint16_t block; /* where it is: the block, ... */
    uint8_t offset; /* ... and the byte in it, or the end of the block */
};

/* The search for a period of a column, and the copy of it (writer_periods.c). */
struct period {
    struct place mark;  /* searching: the token that new ones are compared with */
    struct place begin; /* of the part of the column that repeats */
    struct place next;  /* of that part, the next token; searching: after those that matched */
    uint32_t end;       /* number of the byte after the part */
    uint32_t count;     /* tokens copied since `how`, ... */
    uint32_t before;    /* ... and by this copy, in chunks before */
    uint32_t tokens;    /* searching: new tokens since the search began, ... */
    uint32_t limit;     /* ... and after how many the mark moves */
    uint8_t matched;    /* searching: last tokens that equal those from the mark on, ... */
    uint8_t need;       /* ... and how many are a period */
    uint8_t misses;     /* resuming: tokens that did not equal the next one */
    uint8_t shorts;     /* short copies in a row */
    uint8_t how;        /* of the copy, as in columns.h; TI_COPY_NEW: of another part */
    uint8_t state;      /* SEARCHING, COPYING, RESUMING */
};

struct symbol {
    struct ti_event_symbol is;
    uint16_t col;      /* its first column; the others follow it */
    uint16_t next;     /* symbol that followed last time, or NO_SYMBOL */
    uint16_t vol_prev; /* the symbol before that volume column `vol_col` is for, or NONE */
    uint16_t vol_col;
};

struct ti_writer {
    int fd;    /* may have become another file's, see is_own() in writer_file.c */
    dev_t dev; /* identity of our file */
    ino_t ino;
    const char *path; /* to open the file again; the caller's */
    uint8_t header[TI_HEADER_BYTES];
    pid_t pid;                          /* of the process that opened the file */
    volatile sig_atomic_t busy;         /* between ti__begin() and ti__end() */
    volatile sig_atomic_t more_to_come; /* the extra values of the last event are missing */
    uint32_t rank;
    ti_status failed;
    struct ti_err err;

    uint64_t events, volume, hash;
    uint64_t flush_ns;
    uint64_t chunk_first; /* number of the first event of this chunk */
    uint32_t chunk_events, chunk_limit;
    uint32_t chunk_room;          /* chunk_limit; 0: another event may not fit */
    uint32_t sites, calls, files; /* strings of each kind */
    uint32_t vecs;
    uint32_t pending_bytes; /* strings that no chunk holds yet */
    uint8_t pending[PENDING_BYTES];
    bool comms_open;      /* one of the communicators is being put into a chunk */
    uint32_t comms_bytes; /* communicators that no chunk holds yet */
    uint8_t comms[COMMS_BYTES];

    /* the chunk of events being filled */
    uint16_t nsyms, ncols, nblocks, nperiods, prev, kept_used;
    uint16_t syms_written, cols_written; /* in the chunks with which this one goes on, ... */
    uint32_t events_written;             /* ... and the events in these */
    uint16_t extras;                     /* columns behind each one of volumes */
    uint16_t most_cols, most_blocks;     /* up to these, another event surely fits */
    uint16_t sym_slot[SYM_SLOTS], vol_slot[VOL_SLOTS];
    struct symbol sym[SYMS + 1];
    struct column col[COLS];
    struct period period[PERIODS];
    uint8_t *store; /* the blocks: `own_store`, or a mapping of store_mapped bytes */
    size_t store_mapped;
    uint32_t block_bytes, blocks, block_data;
    uint32_t chunk_most, vec_inline; /* limits, at most TI_CHUNK_EVENTS_MOST and TI_VEC_INLINE */
    _Alignas(8) uint8_t own_store[TI_BUFFER_DEFAULT];
    _Alignas(8) uint8_t kept[KEPT_BYTES];

    /* the chunk being written to the file */
    uint64_t file_bytes; /* where it starts, or the next one will */
    uint64_t at;         /* where its next stored byte goes */
    uint8_t type, codec;
    uint32_t raw_bytes, stored_crc;
    uint64_t nchunks;
    uint32_t all_crc; /* over the CRCs of all chunks */
    z_stream z;
    uint32_t out_fill;
    uint8_t out[OUT_BYTES];
    uint32_t arena_used;
    _Alignas(16) uint8_t arena[DEFLATE_BYTES];
};

_Static_assert(TI_STRING_BYTES + 2 * TI_VARINT_MAX + 1 <= PENDING_BYTES, "a string must fit");
_Static_assert(sizeof(struct ti_writer) <= TI_WRITER_BYTES, "the writer outgrew its cap");
_Static_assert(EVENT_BLOCKS + TI_VECS + 2 * TI_EXTRAS_MAX < TI_BUFFER_LEAST / BLOCK_BYTES,
               "an event must fit an empty chunk");
_Static_assert(TOKEN_BYTES < BLOCK_BYTES - sizeof(struct block),
               "a column takes at most one more block for a token, and one for its period");
_Static_assert(TI_VEC_INLINE *VALUE_BYTES *TI_VECS +
                       (EVENT_BLOCKS + TI_VECS + 2 * TI_EXTRAS_MAX) * BLOCK_BYTES <
                   TI_BUFFER_DEFAULT,
               "and with vectors, unless the buffer is small");
_Static_assert(TI_BUFFER_MOST / (NONE + 1) - sizeof(struct block) <= UINT8_MAX,
               "a block's fill has 8 bits");
_Static_assert(SYMS < SYM_SLOTS && COLS < VOL_SLOTS, "hash tables must not fill up");

/* ------------------------------------------------------------- writer.c -- */

/* Write what is buffered, and begin a new chunk of events. */
void ti__flush(struct ti_writer *w);

/* The monotonic clock. */
uint64_t ti__now_ns(void);

/* -------------------------------------------------------- writer_file.c -- */

/* Create w->path, and write w->header.  TI_ERR_IO; then there is no file. */
ti_status ti__out_create(struct ti_writer *w, struct ti_err *err);

/* Close the file, unless the application did so. */
void ti__out_close(struct ti_writer *w);

/* Write `bytes` bytes at byte `at` of the file.  On errors the writer fails. */
void ti__put_at(struct ti_writer *w, uint64_t at, const void *data, size_t bytes);

/*
 * Write a chunk: begin, put its payload in pieces, end.  `first` and `events` are for its header.
 * zlib works in the writer's memory (w->arena).
 */
void ti__chunk_begin(struct ti_writer *w, enum ti_chunk_type type, enum ti_codec codec);
void ti__chunk_put(struct ti_writer *w, const void *data, size_t bytes);
void ti__chunk_put_varint(struct ti_writer *w, uint64_t v);
void ti__chunk_put_text(struct ti_writer *w, const char *text);
void ti__chunk_end(struct ti_writer *w, uint64_t first, uint32_t events);
bool ti__chunk_init_zlib(struct ti_writer *w);

/*
 * Whether the writer has failed.  A signal handler may call MPI, or jump out of a call, while a
 * function of writer.h is in progress.  Then the memory is inconsistent, and only the chunks in the
 * file are of use.
 */
bool ti__refuse(struct ti_writer *w);
static inline bool ti__is_over(struct ti_writer *w)
{
    return __builtin_expect(w->failed || w->busy, 0) && ti__refuse(w);
}

/* A function of writer.h that adds to a trace calls ti__begin() first and ti__end() last.  If a
 * signal handler calls the writer in between, the writer fails. */
static inline void ti__begin(struct ti_writer *w)
{
    w->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void ti__end(struct ti_writer *w)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    w->busy = 0;
}

/* ------------------------------------------------------ writer_tables.c -- */

/* Write metadata, keys and values alternating, into the chunk that was begun. */
void ti__put_pairs(struct ti_writer *w, const char *const *pairs, int n);

/* Write the strings or communicators that no chunk holds yet. */
void ti__strings_write(struct ti_writer *w);
void ti__comms_write(struct ti_writer *w);

/* ------------------------------------------------------ writer_events.c -- */

/* Write the chunk of events, and the chunk of extra values before it. */
void ti__events_write(struct ti_writer *w);

/* Begin a new chunk of events, with what is known of those so far, or without. */
void ti__events_go_on(struct ti_writer *w);
void ti__events_reset(struct ti_writer *w);

/* ----------------------------------------------------- writer_columns.c -- */

/* Divide `bytes` of the store into blocks, and set the limits of a chunk of events. */
void ti__columns_divide(struct ti_writer *w, size_t bytes);

/* Remove all columns but column 0, which becomes empty. */
void ti__columns_reset(struct ti_writer *w);

/* Update `chunk_room`; call it after taking a symbol, a column or a block. */
static inline void ti__look_for_room(struct ti_writer *w)
{
    if (w->nsyms == SYMS || w->ncols > w->most_cols || w->nblocks + w->nperiods > w->most_blocks)
        w->chunk_room = 0;
}

/* Add an empty column. */
struct column *ti__column_new(struct ti_writer *w);

/* Append bytes to a column; see columns.h for what they stand for.  ti__column_change() appends a
 * value that differs from the last one. */
void ti__column_byte(struct ti_writer *w, struct column *c, uint8_t byte);
void ti__column_varint(struct ti_writer *w, struct column *c, uint64_t v);
void ti__column_change(struct ti_writer *w, struct column *c, uint64_t v);
static inline struct block *ti__block(const struct ti_writer *w, uint16_t b)
{
    return (struct block *)(w->store + (size_t)b * w->block_bytes);
}
static inline uint32_t ti__column_stored(const struct ti_writer *w, const struct column *c)
{
    return c->tail == NONE ? 0 : c->full * w->block_data + c->fill;
}
static inline void ti__column_value(struct ti_writer *w, struct column *c, uint64_t v)
{
    if (__builtin_expect(v == c->last, 1))
        c->run++;
    else
        ti__column_change(w, c, v);
}

/* Bytes of a column that no chunk has yet; put them into the chunk that was begun. */
uint32_t ti__column_bytes(const struct ti_writer *w, const struct column *c);
void ti__column_put(struct ti_writer *w, const struct column *c);

/* ----------------------------------------------------- writer_periods.c -- */

/* Append a token, after the c->run repetitions of which it tells; `word` is not 0. */
void ti__column_token(struct ti_writer *w, struct column *c, uint64_t word);

/* Append what was copied so far. */
void ti__column_copied(struct ti_writer *w, struct column *c);

#endif
