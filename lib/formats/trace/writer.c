#include "formats/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "common/crc32c.h"
#include "common/fds.h"
#include "formats/columns.h"

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
#define CHUNK_GROWTH   4
#define DEFLATE_BYTES  (31 * 1024) /* zlib's memory with the settings below */
#define DEFLATE_LEVEL  6
#define DEFLATE_WINDOW 11
#define DEFLATE_MEM    5

#define NONE UINT16_MAX

/* An event without vectors adds at most this much: a value of each column is
 * two varints. */
#define EVENT_COLS   (2 + TI_F_COUNT + TI_VECS)
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
    bool is_volume;          /* a column of volumes, for `before` and `symbol` */
    uint16_t before, symbol; /* as in columns.h */
};

struct symbol {
    uint32_t site, mask, kinds;
    uint16_t op;
    uint16_t col;      /* its first column; the others follow it */
    uint16_t next;     /* symbol that followed last time, or NONE */
    uint16_t vol_prev; /* the symbol before that volume column `vol_col` is for */
    uint16_t vol_col;  /* NONE: not looked up yet */
    uint8_t vecs;      /* bit v: has vector v */
    uint8_t ncols;     /* of fields and vectors */
};

struct ti_writer {
    int fd;           /* may have become another file's, see is_own() */
    dev_t dev;        /* identity of our file */
    ino_t ino;
    const char *path; /* to open the file again; the caller's */
    uint8_t header[TI_HEADER_BYTES];
    pid_t pid;                          /* of the process that opened the file */
    volatile sig_atomic_t busy;         /* between begin() and end() */
    volatile sig_atomic_t more_to_come; /* the extra values of the last event are missing */
    uint32_t rank;
    ti_status failed;
    struct ti_err err;

    uint64_t events, volume, hash;
    uint64_t flush_ns;
    uint64_t chunk_first; /* number of the first event in the columns */
    uint32_t chunk_events, chunk_limit;
    uint32_t sites, calls, files; /* strings of each kind */
    uint32_t vecs;
    uint32_t pending_bytes; /* strings that no chunk holds yet */
    uint8_t pending[PENDING_BYTES];
    bool comms_open;      /* one of the communicators is being put into a chunk */
    uint32_t comms_bytes; /* communicators that no chunk holds yet */
    uint8_t comms[COMMS_BYTES];

    /* the columns */
    uint16_t nsyms, ncols, nblocks, prev;
    uint16_t extras;                 /* columns behind each one of volumes */
    uint16_t most_cols, most_blocks; /* up to these, another event surely fits */
    bool crowded;                    /* another event may not fit */
    uint16_t sym_slot[SYM_SLOTS], vol_slot[VOL_SLOTS];
    struct symbol sym[SYMS];
    struct column col[COLS];
    uint8_t *store; /* the blocks: `own_store`, or a mapping of store_mapped bytes */
    size_t store_mapped;
    uint32_t block_bytes, blocks, block_data;
    uint32_t chunk_most, vec_inline; /* limits, at most TI_CHUNK_EVENTS_MOST and TI_VEC_INLINE */
    _Alignas(8) uint8_t own_store[TI_BUFFER_DEFAULT];
    uint16_t kept_used;
    _Alignas(8) uint8_t kept[KEPT_BYTES];

    /* the chunk being written */
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
_Static_assert(TI_VEC_INLINE *VALUE_BYTES *TI_VECS + (EVENT_BLOCKS + TI_VECS + 2 * TI_EXTRAS_MAX) *
                   BLOCK_BYTES < TI_BUFFER_DEFAULT,
               "and with vectors, unless the buffer is small");
_Static_assert(TI_BUFFER_MOST / (NONE + 1) - sizeof(struct block) <= UINT8_MAX,
               "a block's fill has 8 bits");
_Static_assert(SYMS < SYM_SLOTS && COLS < VOL_SLOTS, "hash tables must not fill up");

/* ------------------------------------------------------------------ file -- */

/*
 * The application may close all descriptors (closefrom(), a loop) and get our number for a file of
 * its own.  So each use of the descriptor is preceded by is_own(), and a lost descriptor is
 * replaced by opening the file again by name.
 */
static bool is_own(const struct ti_writer *w, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == w->dev && st.st_ino == w->ino;
}

/* Compares inode and header: the inode number of a removed file is used again. */
static bool open_again(struct ti_writer *w)
{
    uint8_t header[TI_HEADER_BYTES];
    int fd = open(w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return false;
    if (!is_own(w, fd) || pread(fd, header, sizeof header, 0) != sizeof header ||
        memcmp(header, w->header, sizeof header) != 0) {
        close(fd);
        errno = ESTALE;
        return false;
    }
    w->fd = ti_fds_high(fd);
    return true;
}

/* Cut the file to its complete chunks.  A failure here cannot be handled. */
static void cut(struct ti_writer *w)
{
    if (is_own(w, w->fd) && ftruncate(w->fd, (off_t)w->file_bytes) != 0)
        return;
}

static void fail(struct ti_writer *w, const char *what)
{
    if (w->failed)
        return;
    w->failed = ti_err_errno(&w->err, TI_ERR_IO, "cannot %s the trace of rank %u", what, w->rank);
    cut(w);
}

static __attribute__((noinline)) bool refuse(struct ti_writer *w)
{
    int saved = errno;

    if (!w->failed) {
        w->failed = ti_err_set(&w->err, TI_ERR_IO,
                               "an event of rank %u was being written when a signal handler "
                               "called MPI, or jumped out of an MPI call",
                               w->rank);
        cut(w);
    }
    errno = saved;
    return true;
}

/*
 * Whether the writer has failed.  A signal handler may call MPI, or jump out of a call, while one
 * of the functions below is in progress.  Then the memory is inconsistent, and only the chunks in
 * the file are of use.
 */
static inline bool is_over(struct ti_writer *w)
{
    return __builtin_expect(w->failed || w->busy, 0) && refuse(w);
}

/* Every function that changes the writer calls begin() first and end() last.  If a signal handler
 * calls the writer in between, the writer fails. */
static inline void begin(struct ti_writer *w)
{
    w->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void end(struct ti_writer *w)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    w->busy = 0;
}

/* Whether RLIMIT_FSIZE allows a file of `bytes`.  Writing beyond the limit raises SIGXFSZ, which
 * ends an application that does not expect it. */
static bool may_grow_to(uint64_t bytes)
{
    struct rlimit most;

    return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
           bytes <= most.rlim_cur;
}

static void put_at(struct ti_writer *w, uint64_t at, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    int saved = errno;

    if (!w->failed && w->pid != getpid())
        w->failed = ti_err_set(&w->err, TI_ERR_IO,
                               "the trace of rank %u is that of another process", w->rank);
    if (bytes && !w->failed && !may_grow_to(at + bytes)) {
        errno = EFBIG;
        fail(w, "write");
    }
    if (bytes && !w->failed && !is_own(w, w->fd) && !open_again(w))
        w->failed = ti_err_errno(&w->err, TI_ERR_IO,
                                 "the application closed our descriptor of rank %u's trace, and "
                                 "its file '%s' cannot be opened again",
                                 w->rank, w->path);
    while (bytes && !w->failed) {
        ssize_t n = pwrite(w->fd, p, bytes, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0) {
            fail(w, "write");
            break;
        }
        p += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    errno = saved;
}

static void drain_out(struct ti_writer *w)
{
    w->stored_crc = ti_crc32c(w->stored_crc, w->out, w->out_fill);
    put_at(w, w->at, w->out, w->out_fill);
    w->at += w->out_fill;
    w->out_fill = 0;
}

static void chunk_deflate(struct ti_writer *w, int flush)
{
    int rc;

    do {
        w->z.next_out = w->out + w->out_fill;
        w->z.avail_out = OUT_BYTES - w->out_fill;
        rc = deflate(&w->z, flush);
        w->out_fill = OUT_BYTES - w->z.avail_out;
        if (w->out_fill == OUT_BYTES)
            drain_out(w);
    } while (w->z.avail_in || (flush == Z_FINISH && rc == Z_OK));
}

static void chunk_begin(struct ti_writer *w, enum ti_chunk_type type, enum ti_codec codec)
{
    w->type = (uint8_t)type;
    w->codec = (uint8_t)codec;
    w->raw_bytes = 0;
    w->stored_crc = 0;
    w->out_fill = 0;
    w->at = w->file_bytes + TI_CHUNK_BYTES;
    if (codec == TI_CODEC_ZLIB)
        deflateReset(&w->z);
}

static void chunk_put(struct ti_writer *w, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    w->raw_bytes += (uint32_t)bytes;
    if (w->codec == TI_CODEC_ZLIB) {
        w->z.next_in = (Bytef *)(uintptr_t)p;
        w->z.avail_in = (uInt)bytes;
        chunk_deflate(w, Z_NO_FLUSH);
        return;
    }
    while (bytes) {
        size_t n = OUT_BYTES - w->out_fill;

        if (n > bytes)
            n = bytes;
        memcpy(w->out + w->out_fill, p, n);
        w->out_fill += (uint32_t)n;
        p += n;
        bytes -= n;
        if (w->out_fill == OUT_BYTES)
            drain_out(w);
    }
}

static void chunk_put_varint(struct ti_writer *w, uint64_t v)
{
    uint8_t buf[TI_VARINT_MAX];

    chunk_put(w, buf, (size_t)ti_put_varint(buf, v));
}

static void chunk_put_text(struct ti_writer *w, const char *text)
{
    size_t bytes = strlen(text);

    if (bytes > TI_STRING_MAX)
        bytes = TI_STRING_MAX;
    chunk_put_varint(w, bytes);
    chunk_put(w, text, bytes);
}

/* Writes the header last: until then the chunk does not exist for readers. */
static void chunk_end(struct ti_writer *w, uint64_t first, uint32_t events)
{
    uint8_t flags = w->type == TI_CHUNK_XTR ? TI_CHUNK_OPTIONAL : 0;
    uint8_t header[TI_CHUNK_BYTES] = {w->type, flags, TI_CHUNK_VERSION, w->codec};
    uint8_t crc[TI_CRC_BYTES];
    uint64_t stored;

    if (w->codec == TI_CODEC_ZLIB)
        chunk_deflate(w, Z_FINISH);
    drain_out(w);
    stored = w->at - w->file_bytes - TI_CHUNK_BYTES;
    ti_put_u32(header + 4, w->rank);
    ti_put_u64(header + 8, first);
    ti_put_u32(header + 16, events);
    ti_put_u32(header + 20, w->raw_bytes);
    ti_put_u32(header + 24, (uint32_t)stored);
    ti_put_u32(header + 28, ti_crc32c(0, header, 28));
    ti_put_u32(crc, w->stored_crc);
    put_at(w, w->at, crc, sizeof crc);
    put_at(w, w->file_bytes, header, sizeof header);
    if (w->failed)
        return;
    w->file_bytes = w->at + sizeof crc;
    w->all_crc = ti_crc32c(w->all_crc, header + 28, 4);
    w->all_crc = ti_crc32c(w->all_crc, crc, 4);
    w->nchunks++;
}

/* --------------------------------------------------------------- columns -- */

static void columns_reset(struct ti_writer *w)
{
    memset(w->sym_slot, 0xff, sizeof w->sym_slot);
    memset(w->vol_slot, 0xff, sizeof w->vol_slot);
    w->nsyms = 0;
    w->nblocks = 0;
    w->crowded = false;
    w->kept_used = 0;
    w->prev = NONE;
    w->chunk_first = w->events;
    w->chunk_events = 0;
    w->ncols = 1;
    w->col[0] = (struct column){.head = NONE, .tail = NONE};
}

/* Update `crowded`; call it after taking a symbol, a column or a block. */
static void look_for_room(struct ti_writer *w)
{
    w->crowded = w->nsyms == SYMS || w->ncols > w->most_cols || w->nblocks > w->most_blocks;
}

static inline struct block *block_at(const struct ti_writer *w, uint16_t b)
{
    return (struct block *)(w->store + (size_t)b * w->block_bytes);
}

static struct column *column_new(struct ti_writer *w)
{
    struct column *c = &w->col[w->ncols++];

    look_for_room(w);
    *c = (struct column){.head = NONE, .tail = NONE};
    return c;
}

static void column_byte(struct ti_writer *w, struct column *c, uint8_t byte)
{
    if (c->tail == NONE || c->fill == w->block_data) {
        uint16_t b = w->nblocks++;

        if (c->tail == NONE) {
            c->head = b;
        } else {
            block_at(w, c->tail)->next = b;
            c->full++;
        }
        c->tail = b;
        c->fill = 0;
        look_for_room(w);
    }
    block_at(w, c->tail)->data[c->fill++] = byte;
}

static void column_varint(struct ti_writer *w, struct column *c, uint64_t v)
{
    while (v >= 0x80) {
        column_byte(w, c, (uint8_t)(v | 0x80));
        v >>= 7;
    }
    column_byte(w, c, (uint8_t)v);
}

static __attribute__((noinline)) void column_change(struct ti_writer *w, struct column *c,
                                                    uint64_t v)
{
    column_varint(w, c, c->run);
    column_varint(w, c, ti_zigzag((int64_t)(v - c->last)));
    c->last = v;
    c->run = 0;
}

static inline void column_value(struct ti_writer *w, struct column *c, uint64_t v)
{
    if (__builtin_expect(v == c->last, 1))
        c->run++;
    else
        column_change(w, c, v);
}

static uint32_t column_bytes(const struct ti_writer *w, const struct column *c)
{
    return c->tail == NONE ? 0 : c->full * w->block_data + c->fill;
}

static void put_column(struct ti_writer *w, const struct column *c)
{
    uint16_t b = c->head;

    if (c->tail == NONE)
        return;
    for (; b != c->tail; b = block_at(w, b)->next)
        chunk_put(w, block_at(w, b)->data, w->block_data);
    chunk_put(w, block_at(w, b)->data, c->fill);
}

static void strings_write(struct ti_writer *w)
{
    if (!w->pending_bytes)
        return;
    chunk_begin(w, TI_CHUNK_STR, TI_CODEC_ZLIB);
    chunk_put(w, w->pending, w->pending_bytes);
    chunk_end(w, w->chunk_first, 0);
    w->pending_bytes = 0;
}

static void comms_open(struct ti_writer *w)
{
    chunk_begin(w, TI_CHUNK_COM, TI_CODEC_ZLIB);
    chunk_put(w, w->comms, w->comms_bytes);
    w->comms_bytes = 0;
    w->comms_open = true;
}

static void comms_close(struct ti_writer *w)
{
    if (w->comms_open)
        chunk_end(w, w->chunk_first, 0);
    w->comms_open = false;
}

static void comms_write(struct ti_writer *w)
{
    if (w->comms_bytes)
        comms_open(w);
    comms_close(w);
}

static int count_volumes(const struct ti_writer *w)
{
    int volumes = 0;

    for (const struct column *c = w->col; c < w->col + w->ncols; c++)
        volumes += c->is_volume;
    return volumes;
}

static void extras_write(struct ti_writer *w)
{
    const struct column *end = w->col + w->ncols, *c;

    if (!w->extras)
        return;
    chunk_begin(w, TI_CHUNK_XTR, TI_CODEC_ZLIB);
    chunk_put_varint(w, w->extras);
    chunk_put_varint(w, (uint64_t)count_volumes(w));
    for (c = w->col; c < end; c++)
        for (int k = 1; c->is_volume && k <= w->extras; k++)
            chunk_put_varint(w, column_bytes(w, &c[k]));
    for (c = w->col; c < end; c++)
        for (int k = 1; c->is_volume && k <= w->extras; k++)
            put_column(w, &c[k]);
    chunk_end(w, w->chunk_first, w->chunk_events);
}

static void columns_write(struct ti_writer *w)
{
    const struct column *end = w->col + w->ncols, *c;

    strings_write(w);
    comms_write(w);
    extras_write(w);
    chunk_begin(w, TI_CHUNK_EVT, TI_CODEC_ZLIB);
    chunk_put_varint(w, column_bytes(w, &w->col[0]));
    chunk_put_varint(w, w->nsyms);
    for (const struct symbol *s = w->sym; s < w->sym + w->nsyms; s++) {
        chunk_put_varint(w, s->op);
        chunk_put_varint(w, s->site);
        chunk_put_varint(w, s->mask);
        chunk_put_varint(w, s->kinds);
        for (int i = 0; i < s->ncols; i++)
            chunk_put_varint(w, column_bytes(w, &w->col[s->col + i]));
    }
    chunk_put_varint(w, (uint64_t)count_volumes(w));
    for (c = w->col; c < end; c++) {
        if (!c->is_volume)
            continue;
        chunk_put_varint(w, c->before);
        chunk_put_varint(w, c->symbol);
        chunk_put_varint(w, column_bytes(w, c));
    }
    put_column(w, &w->col[0]);
    for (const struct symbol *s = w->sym; s < w->sym + w->nsyms; s++)
        for (int i = 0; i < s->ncols; i++)
            put_column(w, &w->col[s->col + i]);
    for (c = w->col; c < end; c++)
        if (c->is_volume)
            put_column(w, c);
    chunk_end(w, w->chunk_first, w->chunk_events);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void flush(struct ti_writer *w)
{
    if (w->failed)
        return;
    if (w->chunk_events) {
        uint64_t start = now_ns();

        columns_write(w);
        w->flush_ns += now_ns() - start;
        w->chunk_limit *= CHUNK_GROWTH;
        if (w->chunk_limit > w->chunk_most)
            w->chunk_limit = w->chunk_most;
    }
    columns_reset(w);
}

void ti_writer_flush(struct ti_writer *w)
{
    if (is_over(w))
        return;
    begin(w);
    flush(w);
    end(w);
}

bool ti_writer_busy(const struct ti_writer *w)
{
    return w->busy || w->more_to_come;
}

/* The `kinds` of an event's symbol: two bits for each special field, see columns.h. */
static uint32_t event_kinds(const struct ti_event *ev)
{
    uint32_t rest = ev->mask & TI_M_SPECIAL, kinds = 0;
    int shift = 0;

    while (rest && ev->arg[__builtin_ctz(rest)] > TI_SELF)
        rest &= rest - 1;
    if (!rest)
        return 0;
#define KIND(name)                                                                                 \
    if (ev->mask & TI_M_##name && ev->arg[TI_F_##name] <= TI_SELF)                                 \
        kinds |= ((uint32_t)(ev->arg[TI_F_##name] - TI_ANY) + 1) << shift;                         \
    shift += 2;
    TI_SPECIALS(KIND)
#undef KIND
    return kinds;
}

/* The fields of `mask` that have a column: those whose kind is a number. */
static uint32_t column_fields(uint32_t mask, uint32_t kinds)
{
    int shift = 0;

    if (!kinds)
        return mask;
#define FIELD(name)                                                                                \
    if (kinds >> shift & 3)                                                                        \
        mask &= ~(uint32_t)TI_M_##name;                                                            \
    shift += 2;
    TI_SPECIALS(FIELD)
#undef FIELD
    return mask;
}

static bool is_symbol(const struct symbol *s, const struct ti_event *ev, uint32_t kinds)
{
    return s->op == ev->op && s->site == ev->site && s->mask == ev->mask && s->kinds == kinds;
}

static uint16_t symbol_of(struct ti_writer *w, const struct ti_event *ev, uint32_t kinds)
{
    uint32_t hash = (ev->op * 0x9e3779b1u) ^ (ev->site * 0x85ebca6bu) ^ (ev->mask * 0xc2b2ae35u) ^
                    kinds * 0x27d4eb2fu;
    uint32_t slot = (hash ^ hash >> 15) & (SYM_SLOTS - 1);
    struct symbol *s;

    for (; w->sym_slot[slot] != NONE; slot = (slot + 1) & (SYM_SLOTS - 1)) {
        if (is_symbol(&w->sym[w->sym_slot[slot]], ev, kinds))
            return w->sym_slot[slot];
    }
    if (w->nsyms == SYMS)
        return NONE;
    w->sym_slot[slot] = w->nsyms;
    s = &w->sym[w->nsyms];
    *s = (struct symbol){.op = (uint16_t)ev->op,
                         .site = ev->site,
                         .mask = ev->mask,
                         .kinds = kinds,
                         .col = w->ncols,
                         .next = NONE,
                         .vol_prev = NONE,
                         .vol_col = NONE};
    for (int v = 0; v < TI_VECS; v++)
        if (ti_op_info(ev->op)->vec[v][0])
            s->vecs |= (uint8_t)(1 << v);
    s->ncols =
        (uint8_t)(__builtin_popcount(column_fields(ev->mask, kinds)) + __builtin_popcount(s->vecs));
    for (int i = 0; i < s->ncols; i++)
        column_new(w);
    w->nsyms++;
    look_for_room(w);
    return (uint16_t)(w->nsyms - 1);
}

static __attribute__((noinline)) void extra_columns(struct ti_writer *w)
{
    for (int k = 0; k < w->extras; k++)
        column_new(w);
}

static struct column *volume_column(struct ti_writer *w, uint16_t prev, uint16_t symbol)
{
    struct symbol *s = &w->sym[symbol];
    uint16_t before = (uint16_t)(prev + 1);
    struct column *c;
    uint32_t slot;

    if (s->vol_prev == prev && s->vol_col != NONE)
        return &w->col[s->vol_col];
    slot = (before * 31u + symbol * 131u) & (VOL_SLOTS - 1);
    for (; w->vol_slot[slot] != NONE; slot = (slot + 1) & (VOL_SLOTS - 1)) {
        c = &w->col[w->vol_slot[slot]];
        if (c->before == before && c->symbol == symbol)
            break;
    }
    if (w->vol_slot[slot] == NONE) {
        w->vol_slot[slot] = w->ncols;
        c = column_new(w);
        c->is_volume = true;
        c->before = before;
        c->symbol = symbol;
        if (w->extras)
            extra_columns(w);
    }
    s->vol_prev = prev;
    s->vol_col = w->vol_slot[slot];
    return &w->col[s->vol_col];
}

static void write_vec(struct ti_writer *w, const struct ti_vec *vec)
{
    int64_t last = 0;

    chunk_begin(w, TI_CHUNK_VEC, TI_CODEC_ZLIB);
    chunk_put_varint(w, ++w->vecs);
    chunk_put_varint(w, (uint64_t)vec->len);
    for (int64_t i = 0; i < vec->len; i++) {
        int64_t v = ti_vec_at(vec, i);

        chunk_put_varint(w, ti_zigzag((int64_t)((uint64_t)v - (uint64_t)last)));
        last = v;
    }
    chunk_end(w, w->events, 0);
}

static void keep_vec(struct ti_writer *w, struct kept *k, const struct ti_vec *vec)
{
    size_t bytes = (size_t)(vec->len * vec->width), room = 16;

    while (room < bytes) /* powers of two, because later vectors may be longer */
        room *= 2;
    k->lost = bytes > k->room && w->kept_used + room > KEPT_BYTES;
    if (k->lost)
        return;
    if (bytes > k->room) {
        k->at = w->kept_used;
        k->room = (uint16_t)room;
        w->kept_used += (uint16_t)room;
    }
    k->len = (uint16_t)vec->len;
    k->width = (uint8_t)vec->width;
    if (bytes) /* the data of an empty vector may be NULL */
        memcpy(w->kept + k->at, vec->data, bytes);
}

static bool is_kept(const struct ti_writer *w, const struct kept *k, const struct ti_vec *vec)
{
    if (k->len != vec->len || k->lost)
        return false;
    return k->len == 0 || (k->width == vec->width &&
                           memcmp(w->kept + k->at, vec->data, (size_t)k->len * k->width) == 0);
}

static void put_elements(struct ti_writer *w, struct column *c, const struct ti_vec *vec)
{
    uint64_t run = 0;
    int64_t last = 0;

    for (int64_t i = 0; i < vec->len; i++) {
        int64_t v = ti_vec_at(vec, i);

        if (v == last) {
            run++;
            continue;
        }
        column_varint(w, c, run);
        column_varint(w, c, ti_zigzag((int64_t)((uint64_t)v - (uint64_t)last)));
        last = v;
        run = 0;
    }
    if (run)
        column_varint(w, c, run);
}

static void put_vec(struct ti_writer *w, struct column *c, const struct ti_vec *vec)
{
    if (__builtin_expect(is_kept(w, &c->kept, vec), 1)) {
        c->run++;
        return;
    }
    column_varint(w, c, c->run);
    c->run = 0;
    if (vec->len > w->vec_inline) {
        write_vec(w, vec);
        column_varint(w, c, ti_zigzag(~(int64_t)w->vecs));
        c->kept.lost = true;
        return;
    }
    column_varint(w, c, ti_zigzag(vec->len));
    put_elements(w, c, vec);
    keep_vec(w, &c->kept, vec);
}

static bool has_room_for_vecs(const struct ti_writer *w, const struct ti_event *ev)
{
    int64_t blocks = 0;

    for (int v = 0; v < TI_VECS; v++)
        if (ev->vec[v].len && ev->vec[v].len <= w->vec_inline)
            blocks += ev->vec[v].len * VALUE_BYTES / w->block_data + 1;
    return w->nblocks + blocks <= w->most_blocks;
}

/* Whether the columns surely have room for this event.  False negatives only end a chunk early. */
static inline bool has_room(const struct ti_writer *w, const struct ti_event *ev)
{
    return w->chunk_events < w->chunk_limit && !w->crowded &&
           (!(ev->vec[0].len | ev->vec[1].len) || has_room_for_vecs(w, ev));
}

/* Add the event's fields to the hash, and those of `columns` to the columns from *c on. */
static inline uint64_t put_fields(struct ti_writer *w, const struct ti_event *ev, uint32_t columns,
                                  struct column **c, uint64_t hash)
{
    struct column *next = *c;

    for (uint32_t rest = ev->mask; rest; rest &= rest - 1) {
        int f = __builtin_ctz(rest);
        uint64_t v = (uint64_t)ev->arg[f];

        hash = ti_hash_word(hash, v);
        if (columns >> f & 1)
            column_value(w, next++, v);
    }
    *c = next;
    return hash;
}

/* noinline: otherwise compilers split off a part for ti_writer_event_extra(), which costs each
 * event one more call. */
__attribute__((noinline)) ti_status ti_writer_event(struct ti_writer *w, const struct ti_event *ev)
{
    uint32_t kinds;
    struct column *c;
    uint64_t hash;
    uint16_t s;

    if (is_over(w))
        return w->failed;
    begin(w);
    if (!has_room(w, ev))
        flush(w);
    kinds = event_kinds(ev);
    s = w->prev == NONE ? NONE : w->sym[w->prev].next;
    if (__builtin_expect(s != NONE && is_symbol(&w->sym[s], ev, kinds), 1)) {
        w->col[0].run++;
    } else {
        s = symbol_of(w, ev, kinds);
        c = &w->col[0];
        column_varint(w, c, c->run);
        column_varint(w, c, s);
        c->run = 0;
        if (w->prev != NONE)
            w->sym[w->prev].next = s;
    }
    column_value(w, volume_column(w, w->prev, s), ev->volume);
    c = &w->col[w->sym[s].col];
    hash = ti_hash_begin(w->hash, ev);
    if (__builtin_expect(kinds == 0, 1))
        hash = put_fields(w, ev, UINT32_MAX, &c, hash);
    else
        hash = put_fields(w, ev, column_fields(ev->mask, kinds), &c, hash);
    w->hash = w->sym[s].vecs ? ti_hash_vecs(hash, ev) : hash;
    for (uint32_t rest = w->sym[s].vecs; rest; rest &= rest - 1)
        put_vec(w, c++, &ev->vec[__builtin_ctz(rest)]);
    w->prev = s;
    w->chunk_events++;
    w->events++;
    w->volume += ev->volume;
    end(w);
    return w->failed;
}

ti_status ti_writer_event_extra(struct ti_writer *w, const struct ti_event *ev,
                                const uint64_t *extra)
{
    struct column *c;

    w->busy |= w->more_to_come;
    w->more_to_come = 1;
    if (ti_writer_event(w, ev) == TI_OK) {
        c = &w->col[w->sym[w->prev].vol_col];
        for (int k = 0; k < w->extras; k++)
            column_value(w, ++c, extra[k]);
    }
    w->more_to_come = 0;
    return w->failed;
}

void ti_writer_extras(struct ti_writer *w, int n)
{
    w->extras = (uint16_t)n;
    w->most_cols = (uint16_t)(COLS - EVENT_COLS - n);
    w->most_blocks = (uint16_t)(w->blocks - EVENT_BLOCKS - 2 * (uint32_t)n);
}

/* Divide `bytes` of the store into blocks. */
static void divide(struct ti_writer *w, size_t bytes)
{
    uint32_t vecs;

    w->block_bytes = BLOCK_BYTES;
    while (bytes / w->block_bytes > NONE + 1)
        w->block_bytes *= 2;
    w->blocks = (uint32_t)(bytes / w->block_bytes);
    if (w->blocks > NONE) /* one too many in the largest buffer */
        w->blocks = NONE;
    w->block_data = w->block_bytes - sizeof(struct block);
    w->chunk_most = bytes > TI_BUFFER_DEFAULT ? TI_CHUNK_EVENTS_MOST : TI_CHUNK_EVENTS;
    vecs = (w->blocks - EVENT_BLOCKS - 2 * TI_EXTRAS_MAX) / TI_VECS - 1;
    w->vec_inline = vecs * w->block_data / VALUE_BYTES;
    if (w->vec_inline > TI_VEC_INLINE)
        w->vec_inline = TI_VEC_INLINE;
    ti_writer_extras(w, w->extras);
}

ti_status ti_writer_buffer(struct ti_writer *w, size_t bytes, struct ti_err *err)
{
    if (bytes < TI_BUFFER_LEAST || bytes > TI_BUFFER_MOST)
        return ti_err_set(err, TI_ERR_USAGE, "a buffer has 4K to 16M");
    if (bytes > sizeof w->own_store) {
        w->store = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (w->store == MAP_FAILED) {
            w->store = w->own_store;
            return ti_err_errno(err, TI_ERR_IO, "cannot get memory for the trace of rank %u",
                                w->rank);
        }
        w->store_mapped = bytes;
    }
    divide(w, bytes);
    return TI_OK;
}

size_t ti_writer_memory(const struct ti_writer *w)
{
    return TI_WRITER_BYTES + w->store_mapped;
}

/* ---------------------------------------------------- everything else ---- */

static voidpf arena_alloc(voidpf opaque, uInt items, uInt size)
{
    struct ti_writer *w = opaque;
    size_t bytes = ((size_t)items * size + 15) & ~(size_t)15;
    void *p = w->arena + w->arena_used;

    if (bytes > DEFLATE_BYTES - w->arena_used)
        return Z_NULL;
    w->arena_used += (uint32_t)bytes;
    return p;
}

static void arena_free(voidpf opaque, voidpf p)
{
    (void)opaque;
    (void)p;
}

ti_status ti_writer_open(const char *path, uint32_t rank, uint32_t nranks,
                         const uint8_t run_id[TI_RUN_ID_BYTES], struct ti_writer **out,
                         struct ti_err *err)
{
    struct ti_writer *w;
    struct stat file;
    ti_status st;

    w = mmap(NULL, TI_WRITER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w == MAP_FAILED)
        return ti_err_errno(err, TI_ERR_IO, "cannot get memory for the trace of rank %u", rank);
    w->z.zalloc = arena_alloc;
    w->z.zfree = arena_free;
    w->z.opaque = w;
    if (deflateInit2(&w->z, DEFLATE_LEVEL, Z_DEFLATED, -DEFLATE_WINDOW, DEFLATE_MEM,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        st = ti_err_set(err, TI_ERR_IO, "cannot set up zlib for the trace of rank %u", rank);
        goto release;
    }
    w->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", path);
        goto release;
    }
    if (fstat(w->fd, &file) != 0) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot look at '%s'", path);
        close(w->fd);
        goto release;
    }
    w->fd = ti_fds_high(w->fd);
    w->dev = file.st_dev;
    w->ino = file.st_ino;
    w->path = path;
    w->pid = getpid();
    w->rank = rank;
    w->hash = TI_HASH_START;
    w->chunk_limit = TI_CHUNK_EVENTS_FIRST;
    w->store = w->own_store;
    divide(w, sizeof w->own_store);
    columns_reset(w);
    memcpy(w->header, TI_MAGIC, TI_MAGIC_BYTES);
    ti_put_u16(w->header + 8, TI_MAJOR);
    ti_put_u16(w->header + 10, TI_MINOR);
    ti_put_u32(w->header + 20, nranks);
    memcpy(w->header + 24, run_id, TI_RUN_ID_BYTES);
    ti_put_u32(w->header + 44, ti_crc32c(0, w->header, 44));
    put_at(w, 0, w->header, sizeof w->header);
    w->file_bytes = sizeof w->header;
    if (w->failed) {
        st = ti_writer_error(w, err);
        close(w->fd);
        unlink(path);
        goto release;
    }
    *out = w;
    return TI_OK;
release:
    munmap(w, TI_WRITER_BYTES);
    return st;
}

static void put_pairs(struct ti_writer *w, const char *const *pairs, int n)
{
    for (int i = 0; i < 2 * n; i++)
        chunk_put_text(w, pairs[i]);
}

void ti_writer_info(struct ti_writer *w, const char *const *pairs, int n)
{
    if (is_over(w))
        return;
    begin(w);
    chunk_begin(w, TI_CHUNK_INF, TI_CODEC_RAW);
    put_pairs(w, pairs, n);
    chunk_end(w, w->events, 0);
    end(w);
}

/* Strings are kept until the events that may refer to them are written.  They resemble each other,
 * so one chunk of many compresses better than many chunks. */
uint32_t ti_writer_string(struct ti_writer *w, enum ti_string kind, const char *text)
{
    uint32_t *count = kind == TI_STRING_SITE   ? &w->sites
                      : kind == TI_STRING_CALL ? &w->calls
                                               : &w->files;
    size_t bytes = strlen(text);
    uint8_t *p;

    if (is_over(w))
        return 0;
    if (bytes > TI_STRING_BYTES)
        bytes = TI_STRING_BYTES;
    begin(w);
    if (w->pending_bytes + 2 * TI_VARINT_MAX + 1 + bytes > PENDING_BYTES)
        strings_write(w);
    p = w->pending + w->pending_bytes;
    p += ti_put_varint(p, ++*count);
    *p++ = (uint8_t)kind;
    p += ti_put_varint(p, bytes);
    memcpy(p, text, bytes);
    w->pending_bytes = (uint32_t)(p + bytes - w->pending);
    end(w);
    return *count;
}

/* Communicators are kept like strings.  One that finds no room goes into a chunk with those before
 * it. */
static void comm_put(struct ti_writer *w, const void *data, size_t bytes)
{
    if (!w->comms_open && w->comms_bytes + bytes > COMMS_BYTES)
        comms_open(w);
    if (w->comms_open) {
        chunk_put(w, data, bytes);
    } else {
        memcpy(w->comms + w->comms_bytes, data, bytes);
        w->comms_bytes += (uint32_t)bytes;
    }
}

static void comm_put_varint(struct ti_writer *w, uint64_t v)
{
    uint8_t buf[TI_VARINT_MAX];

    comm_put(w, buf, (size_t)ti_put_varint(buf, v));
}

static void comm_put_run(struct ti_writer *w, int64_t n, int64_t first, int64_t stride)
{
    comm_put_varint(w, (uint64_t)n);
    comm_put_varint(w, ti_zigzag(first));
    if (n > 1)
        comm_put_varint(w, ti_zigzag(stride));
}

/* Write world ranks as runs with a stride, see COM in trace.h. */
static void put_members(struct ti_writer *w, int64_t size, const int *members)
{
    int64_t last = 0;

    if (!members) {
        comm_put_run(w, size, 0, 1);
        return;
    }
    for (int64_t i = 0, n; i < size; i += n) {
        int64_t stride = i + 1 < size ? (int64_t)members[i + 1] - members[i] : 0;

        for (n = 1; i + n < size && members[i + n] - members[i + n - 1] == stride; n++)
            ;
        comm_put_run(w, n, members[i] - last, stride);
        last = members[i + n - 1];
    }
}

void ti_writer_comm(struct ti_writer *w, uint32_t index, char kind, int64_t rank, int64_t size,
                    const int *members, int64_t remote_size, const int *remote)
{
    if (is_over(w))
        return;
    begin(w);
    comm_put_varint(w, index);
    comm_put_varint(w, (uint64_t)rank);
    comm_put_varint(w, (uint64_t)size);
    comm_put(w, &kind, 1);
    put_members(w, size, members);
    if (remote_size) {
        comm_put_varint(w, (uint64_t)remote_size);
        put_members(w, remote_size, remote);
    }
    comms_close(w);
    end(w);
}

double ti_writer_flush_seconds(const struct ti_writer *w)
{
    return 1e-9 * (double)w->flush_ns;
}

uint64_t ti_writer_events(const struct ti_writer *w)
{
    return w->events;
}

ti_status ti_writer_error(const struct ti_writer *w, struct ti_err *err)
{
    if (w->failed && err)
        *err = w->err;
    return w->failed;
}

static void write_end(struct ti_writer *w, enum ti_end how, const char *const *pairs, int n)
{
    uint8_t totals[25], crc[TI_CRC_BYTES];
    uint64_t chunks, bytes;

    chunk_begin(w, TI_CHUNK_TOT, TI_CODEC_RAW);
    ti_put_u64(totals, w->volume);
    ti_put_u64(totals + 8, w->events);
    ti_put_u64(totals + 16, w->hash);
    totals[24] = (uint8_t)how;
    chunk_put(w, totals, sizeof totals);
    put_pairs(w, pairs, n);
    chunk_end(w, w->events, 0);

    chunks = w->nchunks;
    bytes = w->file_bytes;
    ti_put_u32(crc, w->all_crc);
    chunk_begin(w, TI_CHUNK_IDX, TI_CODEC_RAW);
    chunk_put_varint(w, chunks);
    chunk_put_varint(w, bytes);
    chunk_put(w, crc, sizeof crc);
    chunk_end(w, w->events, 0);
    put_at(w, w->file_bytes, TI_MAGIC_END, TI_MAGIC_BYTES);
}

ti_status ti_writer_close(struct ti_writer *w, enum ti_end how, const char *const *pairs, int n,
                          struct ti_err *err)
{
    bool interrupted = ti_writer_busy(w);
    ti_status st;

    w->busy = interrupted;
    ti_writer_flush(w);
    if (interrupted) /* the interrupted function may continue: release nothing */
        return ti_writer_error(w, err);
    begin(w);
    if (!w->failed)
        write_end(w, how, pairs, n);
    if (is_own(w, w->fd) && close(w->fd) != 0 && !w->failed)
        w->failed = ti_err_errno(&w->err, TI_ERR_IO, "cannot close the trace of rank %u", w->rank);
    st = ti_writer_error(w, err);
    if (w->store_mapped)
        munmap(w->store, w->store_mapped);
    munmap(w, TI_WRITER_BYTES);
    return st;
}
