#include "formats/reader.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/crc32c.h"
#include "formats/columns.h"
#include "formats/writer.h"

/*
 * Limits on what a malicious file can cost.  A chunk takes at most 64 MiB and, if compressed, no
 * more than deflate can make of its bytes.  What is kept for the whole trace (strings, metadata,
 * communicators, long vectors) takes at most KEEP_MAX.  A chunk of events yields at most EVENTS_MAX
 * events with ELEMENTS_MAX inline elements, from SYMS_MAX symbols and COLS_MAX columns, which takes
 * less than a second.  The writer stays far below these limits; of elements it may reach half.
 */
#define DEFLATE_RATIO 1032
#define KEEP_MAX      (UINT64_C(128) << 20)
#define EVENTS_MAX    (4 * TI_CHUNK_EVENTS)
#define ELEMENTS_MAX  (2 * TI_CHUNK_EVENTS * TI_VECS * TI_VEC_INLINE)
#define SYMS_MAX      4096
#define COLS_MAX      8192

/* A vector from a VEC chunk. */
struct long_vec {
    uint64_t number;
    int64_t len;
    int64_t *data;
};

struct column {
    const uint8_t *at, *end;
    uint32_t bytes;
    uint64_t last;
    uint64_t run; /* how often `last` still repeats before `step` applies */
    int64_t step;
    bool more;               /* `step` is valid; else `last` repeats for ever */
    const uint8_t *elements; /* of the last vector ... */
    int64_t len;             /* ... and their number; below 0: it is in a VEC chunk */
};

struct symbol {
    uint32_t op, site, mask, kinds, columns; /* columns: mask of the fields that have one */
    uint32_t col;                            /* number of the first column; the others follow */
    uint32_t next;                           /* predicted successor */
};

struct volume_key {
    uint32_t before, symbol, col;
};

struct pair {
    char *key, *value;
};

/* Strings of one kind. */
struct strings {
    char **text; /* [number - 1] */
    uint32_t n;
};

/* A set of lists of ranks: a hash table with open addressing. */
struct ti_rank_lists {
    struct list {
        int32_t *rank; /* NULL: a free slot */
        int64_t n;
    } * slot;
    size_t nslots, used;
};

struct ti_reader {
    struct ti_rank_lists *lists; /* shared with other readers; NULL: none */
    int fd;
    bool own_fd;
    char *name;
    int64_t start, bytes; /* of the trace in fd */
    int64_t at;           /* next chunk, from start */

    uint32_t rank, nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    struct pair *pair;
    int npairs;
    char *extra_names; /* what extra[] points into */
    struct {
        const char *name, *unit;
    } extra[TI_EXTRAS_MAX];
    int nextras;
    bool want_extras;
    struct strings sites, calls, files;
    struct ti_comm *comm; /* [index]; member is NULL if it was not met */
    uint32_t ncomms;
    int64_t *window; /* [number]: the window's communicator */
    int64_t nwindows;
    struct long_vec *vec; /* not yet used, in the order in which events refer to them */
    int nvecs, vecs_used;
    uint64_t kept; /* bytes, limited by KEEP_MAX */

    uint64_t events; /* returned or skipped */
    bool at_end, have_totals, have_index;
    struct ti_totals totals;
    enum ti_end end;
    uint64_t nchunks;
    uint32_t all_crc;

    /* the current EVT chunk */
    int64_t chunk_at;
    uint8_t *raw;
    uint32_t left;    /* events in it still to be returned */
    int64_t elements; /* inline elements that it may still yield */
    struct symbol *sym;
    uint32_t nsyms;
    struct column *col;
    uint32_t ncols, col_room;
    struct volume_key *vol; /* hash table */
    uint32_t vol_slots;
    uint32_t prev; /* symbol of the event before, or NO_SYMBOL */
    const uint8_t *seq, *seq_end;
    uint64_t seq_run;
    uint32_t seq_symbol;
    bool seq_more;
    int64_t *vec_buf[TI_VECS];
    int64_t vec_room[TI_VECS];
    const struct column *vec_of[TI_VECS]; /* whose last vector is in vec_buf */
    struct long_vec used[TI_VECS];        /* long vectors of the event returned last */

    /* the XTR chunk for the current EVT chunk, or for the next one if XTR was read already */
    uint8_t *xtr;
    uint64_t xtr_first;
    uint32_t xtr_events, xtr_bytes;
    uint32_t first_vol;    /* number of the first column of volumes */
    struct column *beside; /* the extra columns of each column of volumes; NULL: none */
    uint64_t extra_values[TI_EXTRAS_MAX];
};

#define NO_SYMBOL UINT32_MAX

struct chunk {
    uint8_t type, flags, version, codec;
    uint32_t group;
    uint64_t first;
    uint32_t events, raw, stored;
    uint8_t crc[TI_CRC_BYTES]; /* of the header, as stored */
};

static ti_status damaged(const struct ti_reader *r, int64_t at, struct ti_err *err,
                         const char *what)
{
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged at byte %" PRId64 ": %s", r->name, at,
                      what);
}

static ti_status no_memory(const struct ti_reader *r, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", r->name);
}

/* Whether `bytes` more may be kept. */
static bool keep(struct ti_reader *r, uint64_t bytes)
{
    r->kept += bytes;
    return r->kept <= KEEP_MAX;
}

static ti_status read_at(const struct ti_reader *r, int64_t at, void *buf, size_t bytes,
                         struct ti_err *err)
{
    uint8_t *p = buf;

    while (bytes) {
        ssize_t n = pread(r->fd, p, bytes, (off_t)(r->start + at));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", r->name);
        if (n == 0)
            return ti_err_set(err, TI_ERR_IO, "cannot read '%s': it became shorter meanwhile",
                              r->name);
        p += n;
        at += n;
        bytes -= (size_t)n;
    }
    return TI_OK;
}

/* ----------------------------------------------------------------- open -- */

static ti_status read_header(struct ti_reader *r, struct ti_err *err)
{
    uint8_t h[TI_HEADER_BYTES];
    ti_status st;

    if (r->bytes < TI_HEADER_BYTES) {
        return ti_err_set(err, TI_ERR_INPUT,
                          r->bytes ? "'%s' is not a Tiara trace: it is too short" : "'%s' is empty",
                          r->name);
    }
    st = read_at(r, 0, h, sizeof h, err);
    if (st)
        return st;
    if (memcmp(h, TI_MAGIC, TI_MAGIC_BYTES) != 0)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is not a Tiara trace", r->name);
    if (ti_get_u32(h + 44) != ti_crc32c(0, h, 44))
        return damaged(r, 0, err, "the header's checksum is wrong");
    if (ti_get_u16(h + 8) != TI_MAJOR || ti_get_u32(h + 12) != 0) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' is in trace format %u.%u with features %#x, which this version cannot "
                   "read",
                   r->name, ti_get_u16(h + 8), ti_get_u16(h + 10), ti_get_u32(h + 12));
        ti_err_hint(err, "use a newer Tiara; this one reads %u.%u without", TI_MAJOR, TI_MINOR);
        return TI_ERR_INPUT;
    }
    r->nranks = ti_get_u32(h + 20);
    memcpy(r->run_id, h + 24, TI_RUN_ID_BYTES);
    if (r->nranks == 0 || r->nranks > TI_RANKS_MAX)
        return damaged(r, 20, err, "the number of ranks is impossible");
    r->at = TI_HEADER_BYTES;
    return TI_OK;
}

/* Read the next chunk's header into *c.  Sets at_end where the trace was cut off. */
static ti_status read_chunk(struct ti_reader *r, struct chunk *c, struct ti_err *err)
{
    static const uint8_t zeros[TI_CHUNK_BYTES];
    uint8_t h[TI_CHUNK_BYTES];
    int64_t rest = r->bytes - r->at;
    ti_status st;

    r->at_end = rest < TI_CHUNK_BYTES;
    if (r->at_end)
        return TI_OK;
    st = read_at(r, r->at, h, sizeof h, err);
    if (st)
        return st;
    if (memcmp(h, zeros, sizeof zeros) == 0) { /* an unfinished chunk */
        r->at_end = true;
        return TI_OK;
    }
    if (ti_get_u32(h + 28) != ti_crc32c(0, h, 28))
        return damaged(r, r->at, err, "a chunk header's checksum is wrong");
    c->type = h[0];
    c->flags = h[1];
    c->version = h[2];
    c->codec = h[3];
    c->group = ti_get_u32(h + 4);
    c->first = ti_get_u64(h + 8);
    c->events = ti_get_u32(h + 16);
    c->raw = ti_get_u32(h + 20);
    c->stored = ti_get_u32(h + 24);
    memcpy(c->crc, h + 28, TI_CRC_BYTES);
    if ((int64_t)c->stored + TI_CRC_BYTES > rest - TI_CHUNK_BYTES) {
        r->at_end = true;
        return TI_OK;
    }
    if (c->raw > TI_CHUNK_RAW_MAX || c->stored > 2 * TI_CHUNK_RAW_MAX || c->events > EVENTS_MAX)
        return damaged(r, r->at, err, "a chunk is too large");
    if (c->codec == TI_CODEC_ZLIB && c->raw > DEFLATE_RATIO * (uint64_t)c->stored)
        return damaged(r, r->at, err, "a chunk's lengths are impossible");
    if (r->nchunks == 0)
        r->rank = c->group;
    if (c->group != r->rank || r->rank >= r->nranks)
        return damaged(r, r->at, err, "a chunk belongs to another rank");
    return TI_OK;
}

static void pass_chunk(struct ti_reader *r, const struct chunk *c, const uint8_t *crc)
{
    r->at += TI_CHUNK_BYTES + (int64_t)c->stored + TI_CRC_BYTES;
    r->all_crc = ti_crc32c(r->all_crc, c->crc, TI_CRC_BYTES);
    r->all_crc = ti_crc32c(r->all_crc, crc, TI_CRC_BYTES);
    r->nchunks++;
}

static ti_status inflate_payload(struct ti_reader *r, const struct chunk *c, uint8_t *stored,
                                 uint8_t *raw, struct ti_err *err)
{
    z_stream z = {.next_in = stored, .avail_in = c->stored, .next_out = raw, .avail_out = c->raw};
    int rc;

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return no_memory(r, err);
    rc = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    if (rc != Z_STREAM_END || z.avail_out || z.avail_in)
        return damaged(r, r->at, err, "a chunk does not decompress");
    return TI_OK;
}

/* Read and decompress the payload of the chunk at r->at, and advance to the next chunk.  *out has
 * one byte more, so that it is never NULL. */
static ti_status read_payload(struct ti_reader *r, const struct chunk *c, uint8_t **out,
                              struct ti_err *err)
{
    uint8_t *stored = malloc((size_t)c->stored + TI_CRC_BYTES), *raw = NULL;
    ti_status st;

    if (!stored)
        return no_memory(r, err);
    st = read_at(r, r->at + TI_CHUNK_BYTES, stored, (size_t)c->stored + TI_CRC_BYTES, err);
    if (st)
        goto out;
    if (ti_get_u32(stored + c->stored) != ti_crc32c(0, stored, c->stored)) {
        st = damaged(r, r->at, err, "a chunk's checksum is wrong");
        goto out;
    }
    raw = malloc((size_t)c->raw + 1);
    if (!raw) {
        st = no_memory(r, err);
        goto out;
    }
    if (c->codec == TI_CODEC_ZLIB)
        st = inflate_payload(r, c, stored, raw, err);
    else if (c->codec == TI_CODEC_RAW && c->raw == c->stored)
        memcpy(raw, stored, c->raw);
    else
        st = damaged(r, r->at, err, "a chunk's compression is unknown");
    if (st)
        goto out;
    pass_chunk(r, c, stored + c->stored);
    *out = raw;
    raw = NULL;
out:
    free(raw);
    free(stored);
    return st;
}

/* --------------------------------------------- strings, communicators ... -- */

static bool get_text(struct ti_reader *r, const uint8_t **p, const uint8_t *end, char **out)
{
    uint64_t bytes;

    if (!ti_get_varint(p, end, &bytes) || bytes > TI_STRING_MAX || bytes > (uint64_t)(end - *p) ||
        !keep(r, bytes + 64))
        return false;
    *out = strndup((const char *)*p, bytes);
    *p += bytes;
    return *out != NULL;
}

static bool take_pairs(struct ti_reader *r, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        struct pair *grown = realloc(r->pair, (size_t)(r->npairs + 1) * sizeof *grown);

        if (!grown)
            return false;
        r->pair = grown;
        grown += r->npairs;
        *grown = (struct pair){0};
        r->npairs++;
        if (!get_text(r, &p, end, &grown->key) || !get_text(r, &p, end, &grown->value))
            return false;
    }
    return true;
}

/* The strings of `kind`; NULL if there is no such kind. */
static struct strings *strings_of(struct ti_reader *r, uint8_t kind)
{
    switch (kind) {
    case TI_STRING_SITE:
        return &r->sites;
    case TI_STRING_CALL:
        return &r->calls;
    case TI_STRING_FILE:
        return &r->files;
    default:
        return NULL;
    }
}

static bool take_strings(struct ti_reader *r, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        struct strings *s;
        uint64_t number;
        char **grown;

        if (!ti_get_varint(&p, end, &number) || p == end)
            return false;
        s = strings_of(r, *p++);
        if (!s || number != (uint64_t)s->n + 1)
            return false;
        grown = realloc(s->text, number * sizeof *grown);
        if (!grown)
            return false;
        s->text = grown;
        if (!get_text(r, &p, end, &grown[s->n]))
            return false;
        s->n++;
    }
    return true;
}

static bool take_members(const uint8_t **pp, const uint8_t *end, int64_t size, uint32_t nranks,
                         int32_t *member)
{
    const uint8_t *p = *pp;
    int64_t last = 0;

    for (int64_t i = 0; i < size;) {
        uint64_t n, first, stride = 0;
        int64_t v, step;

        if (!ti_get_varint(&p, end, &n) || !ti_get_varint(&p, end, &first))
            return false;
        if (n == 0 || n > (uint64_t)(size - i) || (n > 1 && !ti_get_varint(&p, end, &stride)))
            return false;
        v = ti_unzigzag(first);
        step = ti_unzigzag(stride);
        if (v < -TI_RANKS_MAX || v > TI_RANKS_MAX || step < -TI_RANKS_MAX || step > TI_RANKS_MAX)
            return false;
        for (v += last; n; n--, v += step) {
            if (v < 0 || v >= nranks)
                return false;
            member[i++] = (int32_t)v;
            last = v;
        }
    }
    *pp = p;
    return true;
}

/* Read the other group of an intercommunicator. */
static bool take_remote(struct ti_reader *r, struct ti_comm *comm, const uint8_t **p,
                        const uint8_t *end)
{
    uint64_t size;
    int32_t *member;

    if (!ti_get_varint(p, end, &size) || size == 0 || size > r->nranks ||
        !keep(r, size * sizeof *member))
        return false;
    member = malloc(size * sizeof *member);
    if (!member || !take_members(p, end, (int64_t)size, r->nranks, member)) {
        free(member);
        return false;
    }
    comm->remote_size = (int64_t)size;
    comm->remote = member;
    return true;
}

/* ---- lists that readers share ---- */

struct ti_rank_lists *ti_rank_lists_new(void)
{
    return calloc(1, sizeof(struct ti_rank_lists));
}

void ti_rank_lists_free(struct ti_rank_lists *lists)
{
    for (size_t i = 0; lists && i < lists->nslots; i++)
        free(lists->slot[i].rank);
    if (lists)
        free(lists->slot);
    free(lists);
}

void ti_reader_share(struct ti_reader *r, struct ti_rank_lists *lists)
{
    r->lists = lists;
}

/* The slot of a list, or the free slot where it goes. */
static struct list *slot_of(struct list *slot, size_t nslots, const int32_t *rank, int64_t n)
{
    uint64_t hash = ti_crc32c(0, rank, (size_t)n * sizeof *rank);
    size_t i = (size_t)hash & (nslots - 1);

    while (slot[i].rank && (slot[i].n != n || memcmp(slot[i].rank, rank, (size_t)n * sizeof *rank)))
        i = (i + 1) & (nslots - 1);
    return &slot[i];
}

/* Double the slots; false, and nothing has changed, when memory is short. */
static bool double_slots(struct ti_rank_lists *lists)
{
    size_t n = lists->nslots ? 2 * lists->nslots : 64;
    struct list *slot = calloc(n, sizeof *slot);

    if (!slot)
        return false;
    for (size_t i = 0; i < lists->nslots; i++)
        if (lists->slot[i].rank)
            *slot_of(slot, n, lists->slot[i].rank, lists->slot[i].n) = lists->slot[i];
    free(lists->slot);
    lists->slot = slot;
    lists->nslots = n;
    return true;
}

/* Replace *list by the equal shared list, or make it a shared one.  False when memory is short. */
static bool share_list(struct ti_rank_lists *lists, int32_t **list, int64_t n)
{
    struct list *slot;

    if (2 * (lists->used + 1) > lists->nslots && !double_slots(lists))
        return false;
    slot = slot_of(lists->slot, lists->nslots, *list, n);
    if (slot->rank) {
        free(*list);
    } else {
        *slot = (struct list){*list, n};
        lists->used++;
    }
    *list = slot->rank;
    return true;
}

/* In some programs, many communicators have the same ranks in the same order.  They share an array
 * with the world or with the communicator before. */
static const int32_t *shared_members(const struct ti_reader *r, const struct ti_comm *comm,
                                     const int32_t *member)
{
    const struct ti_comm *same[] = {r->comm, comm > r->comm ? comm - 1 : r->comm};
    size_t bytes = (size_t)comm->size * sizeof *member;

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i] != comm && same[i]->member && same[i]->size == comm->size &&
            memcmp(same[i]->member, member, bytes) == 0)
            return same[i]->member;
    return NULL;
}

/* Whether no communicator before `i` has the same array, so that `i` frees it. */
static bool owns_members(const struct ti_reader *r, uint32_t i)
{
    const int32_t *member = r->comm[i].member;

    return !r->lists && member &&
           (i == 0 || (member != r->comm[0].member && member != r->comm[i - 1].member));
}

static bool take_comm(struct ti_reader *r, const uint8_t **pp, const uint8_t *end)
{
    const uint8_t *p = *pp;
    uint64_t index, rank, size;
    struct ti_comm *comm;
    int32_t *member;
    const int32_t *shared;

    if (!ti_get_varint(&p, end, &index) || !ti_get_varint(&p, end, &rank) ||
        !ti_get_varint(&p, end, &size) || p == end)
        return false;
    /* numbers ascend without gaps */
    if (index > r->ncomms || size == 0 || size > r->nranks || rank >= size)
        return false;
    if (index == r->ncomms) {
        comm = realloc(r->comm, (index + 1) * sizeof *comm);
        if (!comm)
            return false;
        r->comm = comm;
        comm[r->ncomms++] = (struct ti_comm){0};
    }
    comm = &r->comm[index];
    if (comm->member || !keep(r, sizeof *comm + size * sizeof *member))
        return false;
    comm->index = (uint32_t)index;
    comm->rank = (int64_t)rank;
    comm->size = (int64_t)size;
    comm->kind = (char)*p++;
    member = malloc(size * sizeof *member);
    if (!member || !take_members(&p, end, (int64_t)size, r->nranks, member) ||
        member[rank] != (int32_t)r->rank) {
        free(member);
        return false;
    }
    if (r->lists && !share_list(r->lists, &member, (int64_t)size)) {
        free(member);
        return false;
    }
    shared = r->lists ? NULL : shared_members(r, comm, member);
    if (shared) {
        free(member);
        r->kept -= size * sizeof *member;
    }
    comm->member = shared ? shared : member;
    if (comm->kind == TI_KIND_INTER && !take_remote(r, comm, &p, end))
        return false;
    *pp = p;
    return true;
}

static bool take_comms(struct ti_reader *r, const uint8_t *p, const uint8_t *end)
{
    while (p < end)
        if (!take_comm(r, &p, end))
            return false;
    return true;
}

static bool take_vec(struct ti_reader *r, const uint8_t *p, const uint8_t *end)
{
    struct long_vec *grown = realloc(r->vec, (size_t)(r->nvecs + 1) * sizeof *grown);
    uint64_t number, len, v;
    int64_t last = 0;

    if (!grown)
        return false;
    r->vec = grown;
    /* each element takes at least a byte, which limits the length */
    if (!ti_get_varint(&p, end, &number) || !ti_get_varint(&p, end, &len) ||
        len > (uint64_t)(end - p) || !keep(r, sizeof *grown + len * sizeof *grown->data))
        return false;
    grown += r->nvecs;
    *grown = (struct long_vec){number, (int64_t)len, malloc(len * sizeof *grown->data + 1)};
    if (!grown->data)
        return false;
    r->nvecs++;
    for (uint64_t i = 0; i < len; i++) {
        if (!ti_get_varint(&p, end, &v))
            return false;
        last = (int64_t)((uint64_t)last + (uint64_t)ti_unzigzag(v));
        grown->data[i] = last;
    }
    return p == end;
}

static bool take_totals(struct ti_reader *r, const uint8_t *p, const uint8_t *end)
{
    if (end - p < 25 || p[24] >= TI_END_KILLED)
        return false;
    r->totals.volume = ti_get_u64(p);
    r->totals.events = ti_get_u64(p + 8);
    r->totals.hash = ti_get_u64(p + 16);
    r->end = (enum ti_end)p[24];
    r->have_totals = true;
    return take_pairs(r, p + 25, end);
}

static bool take_index(struct ti_reader *r, const uint8_t *p, const uint8_t *end, uint64_t chunks,
                       int64_t bytes, uint32_t crc)
{
    uint64_t n, b;

    if (!ti_get_varint(&p, end, &n) || !ti_get_varint(&p, end, &b) || end - p != TI_CRC_BYTES)
        return false;
    r->have_index = true;
    return n == chunks && b == (uint64_t)bytes && ti_get_u32(p) == crc;
}

/* ----------------------------------------------------------- EVT chunks -- */

static void drop_chunk(struct ti_reader *r)
{
    free(r->raw);
    free(r->sym);
    free(r->col);
    free(r->vol);
    free(r->xtr);
    free(r->beside);
    r->xtr = NULL;
    r->beside = NULL;
    r->raw = NULL;
    r->sym = NULL;
    r->col = NULL;
    r->ncols = r->col_room = 0;
    r->vol = NULL;
    r->left = 0;
}

/* Set the mask of the fields that have a column: those whose kind is a number.  False if `kinds`
 * names a field that the symbol lacks. */
static bool symbol_columns(struct symbol *s)
{
    uint32_t kinds = s->kinds;

    s->columns = s->mask;
#define SPECIAL(name)                                                                              \
    if (kinds & 3) {                                                                               \
        if (!(s->mask & TI_M_##name))                                                              \
            return false;                                                                          \
        s->columns &= ~(uint32_t)TI_M_##name;                                                      \
    }                                                                                              \
    kinds >>= 2;
    TI_SPECIALS(SPECIAL)
#undef SPECIAL
    return kinds == 0;
}

/* Add a column, whose size is at *p.  place_columns() sets its address later. */
static bool add_column(struct ti_reader *r, const uint8_t **p, const uint8_t *end)
{
    uint64_t bytes;

    if (!ti_get_varint(p, end, &bytes) || bytes > TI_CHUNK_RAW_MAX || r->ncols == COLS_MAX)
        return false;
    if (r->ncols == r->col_room) {
        uint32_t want = r->col_room ? 2 * r->col_room : 64;
        struct column *grown = realloc(r->col, want * sizeof *grown);

        if (!grown)
            return false;
        r->col = grown;
        r->col_room = want;
    }
    r->col[r->ncols++] = (struct column){.bytes = (uint32_t)bytes};
    return true;
}

static bool load_symbol(struct ti_reader *r, struct symbol *s, const uint8_t **p,
                        const uint8_t *end)
{
    const struct ti_op_info *op;
    uint64_t v[4];
    int columns;

    for (int k = 0; k < 4; k++)
        if (!ti_get_varint(p, end, &v[k]) || v[k] > UINT32_MAX)
            return false;
    s->op = (uint32_t)v[0];
    s->site = (uint32_t)v[1];
    s->mask = (uint32_t)v[2];
    s->kinds = (uint32_t)v[3];
    s->next = NO_SYMBOL;
    s->col = r->ncols;
    op = ti_op_info(s->op);
    if (s->op >= TI_OP_COUNT || s->site > r->sites.n || (s->mask & op->fields) != op->fields ||
        s->mask & ~(op->fields | op->optional) || !symbol_columns(s))
        return false;
    columns = __builtin_popcount(s->columns);
    for (int i = 0; i < TI_VECS; i++)
        columns += op->vec[i][0] != '\0';
    for (; columns; columns--)
        if (!add_column(r, p, end))
            return false;
    return true;
}

static bool load_symbols(struct ti_reader *r, const uint8_t **p, const uint8_t *end)
{
    uint64_t n;

    if (!ti_get_varint(p, end, &n) || n > (uint64_t)(end - *p) || n > SYMS_MAX)
        return false;
    r->nsyms = (uint32_t)n;
    r->sym = calloc(n + 1, sizeof *r->sym);
    if (!r->sym)
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (!load_symbol(r, &r->sym[i], p, end))
            return false;
    return true;
}

static uint32_t volume_slot(const struct ti_reader *r, uint32_t before, uint32_t symbol)
{
    uint32_t slot = (before * 0x9e3779b1u ^ symbol * 0x85ebca6bu) >> 7 & (r->vol_slots - 1);

    while (r->vol[slot].col && (r->vol[slot].before != before || r->vol[slot].symbol != symbol))
        slot = (slot + 1) & (r->vol_slots - 1);
    return slot;
}

static bool load_volumes(struct ti_reader *r, const uint8_t **p, const uint8_t *end)
{
    uint64_t n, before, symbol;

    if (!ti_get_varint(p, end, &n) || n > COLS_MAX)
        return false;
    for (r->vol_slots = 16; r->vol_slots < 2 * n;)
        r->vol_slots *= 2;
    r->vol = calloc(r->vol_slots, sizeof *r->vol);
    if (!r->vol)
        return false;
    r->first_vol = r->ncols;
    for (; n; n--) {
        uint32_t slot;

        if (!ti_get_varint(p, end, &before) || !ti_get_varint(p, end, &symbol) ||
            before > r->nsyms || symbol >= r->nsyms)
            return false;
        slot = volume_slot(r, (uint32_t)before, (uint32_t)symbol);
        if (r->vol[slot].col) /* column 0 is the sequence */
            return false;
        r->vol[slot] = (struct volume_key){(uint32_t)before, (uint32_t)symbol, r->ncols};
        if (!add_column(r, p, end))
            return false;
    }
    return true;
}

static bool column_step(struct column *c)
{
    uint64_t step;

    c->more = c->at < c->end;
    if (!c->more)
        return true;
    if (!ti_get_varint(&c->at, c->end, &c->run) || !ti_get_varint(&c->at, c->end, &step))
        return false;
    c->step = ti_unzigzag(step);
    return true;
}

/* Set a column's data to *p, and advance *p past it. */
static bool place_column(struct column *c, const uint8_t **p, const uint8_t *end)
{
    if (c->bytes > (uint64_t)(end - *p))
        return false;
    c->at = *p;
    *p += c->bytes;
    c->end = *p;
    return true;
}

/* place_column() for all columns; their data must fill the rest of the payload. */
static bool place_columns(struct ti_reader *r, const uint8_t *p, const uint8_t *end)
{
    for (uint32_t i = 0; i < r->ncols; i++)
        if (!place_column(&r->col[i], &p, end) || (i > 0 && !column_step(&r->col[i])))
            return false;
    return p == end;
}

static bool sequence_step(struct ti_reader *r)
{
    uint64_t s;

    r->seq_more = r->seq < r->seq_end;
    if (!r->seq_more)
        return true;
    if (!ti_get_varint(&r->seq, r->seq_end, &r->seq_run) ||
        !ti_get_varint(&r->seq, r->seq_end, &s) || s >= r->nsyms)
        return false;
    r->seq_symbol = (uint32_t)s;
    return true;
}

static bool load_events(struct ti_reader *r, const struct chunk *c)
{
    const uint8_t *p = r->raw, *end = p + c->raw;

    if (c->events == 0 || c->first != r->events || !add_column(r, &p, end) ||
        !load_symbols(r, &p, end) || !load_volumes(r, &p, end) || !place_columns(r, p, end))
        return false;
    r->left = c->events;
    r->elements = ELEMENTS_MAX;
    memset(r->vec_of, 0, sizeof r->vec_of);
    r->prev = NO_SYMBOL;
    r->seq = r->col[0].at;
    r->seq_end = r->col[0].end;
    return sequence_step(r);
}

/* Load the columns of the XTR chunk, if there is one for the EVT chunk just loaded. */
static bool load_extras(struct ti_reader *r, const struct chunk *c)
{
    const uint8_t *p = r->xtr, *end;
    uint64_t extras, volumes, n, bytes;

    if (!p)
        return true;
    end = p + r->xtr_bytes;
    if (r->xtr_first != c->first || r->xtr_events != c->events ||
        !ti_get_varint(&p, end, &extras) || !ti_get_varint(&p, end, &volumes) ||
        extras != (uint64_t)r->nextras || volumes != r->ncols - r->first_vol)
        return false;
    n = extras * volumes;
    if (n > (uint64_t)(end - p)) /* each size takes at least a byte */
        return false;
    r->beside = calloc(n + 1, sizeof *r->beside);
    if (!r->beside)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!ti_get_varint(&p, end, &bytes) || bytes > TI_CHUNK_RAW_MAX)
            return false;
        r->beside[i].bytes = (uint32_t)bytes;
    }
    for (uint64_t i = 0; i < n; i++)
        if (!place_column(&r->beside[i], &p, end) || !column_step(&r->beside[i]))
            return false;
    return p == end;
}

static inline bool column_next(struct column *c, uint64_t *out)
{
    if (c->more) {
        if (c->run) {
            c->run--;
        } else {
            c->last += (uint64_t)c->step;
            *out = c->last;
            return column_step(c);
        }
    }
    *out = c->last;
    return true;
}

static bool next_symbol(struct ti_reader *r, uint32_t *out)
{
    if (!r->seq_more || r->seq_run) {
        if (r->seq_more)
            r->seq_run--;
        if (r->prev == NO_SYMBOL || r->sym[r->prev].next == NO_SYMBOL)
            return false;
        *out = r->sym[r->prev].next;
        return true;
    }
    *out = r->seq_symbol;
    if (r->prev != NO_SYMBOL)
        r->sym[r->prev].next = r->seq_symbol;
    return sequence_step(r);
}

/* Take the next long vector, which must have this number. */
static bool next_long_vec(struct ti_reader *r, uint64_t number, int which, struct ti_vec *out)
{
    struct long_vec *next;

    if (r->vecs_used == r->nvecs || r->vec[r->vecs_used].number != number)
        return false;
    next = &r->vec[r->vecs_used];
    r->used[which] = *next;
    next->data = NULL;
    r->kept -= sizeof *next + (uint64_t)next->len * sizeof *next->data;
    if (++r->vecs_used == r->nvecs)
        r->vecs_used = r->nvecs = 0;
    *out = (struct ti_vec){r->used[which].data, 8, r->used[which].len};
    return true;
}

/* Read `len` elements at *p. */
static bool get_elements(const uint8_t **p, const uint8_t *end, int64_t *out, int64_t len)
{
    uint64_t run, step, last = 0;

    for (int64_t i = 0; i < len; out[i++] = (int64_t)last) {
        if (!ti_get_varint(p, end, &run) || run > (uint64_t)(len - i))
            return false;
        while (run--)
            out[i++] = (int64_t)last;
        if (i == len)
            break;
        if (!ti_get_varint(p, end, &step))
            return false;
        last += (uint64_t)ti_unzigzag(step);
    }
    return true;
}

/* Read the vector at *p into the buffer. */
static bool get_vec(struct ti_reader *r, const struct column *c, const uint8_t **p, int which)
{
    if (c->len > r->vec_room[which]) {
        int64_t *grown = realloc(r->vec_buf[which], (size_t)c->len * sizeof *grown);

        if (!grown)
            return false;
        r->vec_buf[which] = grown;
        r->vec_room[which] = c->len;
    }
    r->vec_of[which] = c;
    return get_elements(p, c->end, r->vec_buf[which], c->len);
}

static bool next_vec(struct ti_reader *r, struct column *c, int which, struct ti_vec *out)
{
    bool fresh = c->more && c->run == 0, ok = true;
    const uint8_t *again = c->elements;

    if (fresh) {
        c->len = c->step;
        c->elements = c->at;
        if (c->len < 0)
            return next_long_vec(r, ~(uint64_t)c->len, which, out) && column_step(c);
    }
    /* a vector may repeat, so the bytes of the chunk do not limit the elements */
    if (c->len < 0 || c->len > TI_VEC_INLINE || (r->elements -= c->len) < 0)
        return false;
    if (fresh)
        ok = get_vec(r, c, &c->at, which) && column_step(c);
    else if (r->vec_of[which] != c)
        ok = get_vec(r, c, &again, which);
    if (!fresh && c->more)
        c->run--;
    *out = (struct ti_vec){r->vec_buf[which], 8, c->len};
    return ok;
}

/* Read the extra values of an event whose volume is in column `vol`. */
static bool decode_extras(struct ti_reader *r, uint32_t vol, struct ti_event *ev)
{
    struct column *c = &r->beside[(size_t)(vol - r->first_vol) * (size_t)r->nextras];

    for (int i = 0; i < r->nextras; i++)
        if (!column_next(&c[i], &r->extra_values[i]))
            return false;
    ev->extra = r->extra_values;
    return true;
}

static bool decode_event(struct ti_reader *r, struct ti_event *ev)
{
    const struct ti_op_info *op;
    struct column *c;
    struct symbol *s;
    uint32_t number, slot, before, kinds;
    uint64_t v;

    if (!next_symbol(r, &number))
        return false;
    s = &r->sym[number];
    before = r->prev == NO_SYMBOL ? 0 : r->prev + 1;
    slot = volume_slot(r, before, number);
    if (!r->vol[slot].col || !column_next(&r->col[r->vol[slot].col], &ev->volume))
        return false;
    ev->extra = NULL;
    if (r->beside && !decode_extras(r, r->vol[slot].col, ev))
        return false;
    ev->op = s->op;
    ev->site = s->site;
    ev->mask = s->mask;
    c = &r->col[s->col];
    for (uint32_t rest = s->columns; rest; rest &= rest - 1) {
        if (!column_next(c++, &v))
            return false;
        ev->arg[__builtin_ctz(rest)] = (int64_t)v;
    }
    kinds = s->kinds;
#define SPECIAL(name)                                                                              \
    if (kinds & 3)                                                                                 \
        ev->arg[TI_F_##name] = TI_ANY + (int64_t)(kinds & 3) - 1;                                  \
    kinds >>= 2;
    if (kinds) {
        TI_SPECIALS(SPECIAL)
    }
#undef SPECIAL
    op = ti_op_info(s->op);
    for (int i = 0; i < TI_VECS; i++) {
        ev->vec[i] = (struct ti_vec){NULL, 8, 0};
        if (op->vec[i][0] && !next_vec(r, c++, i, &ev->vec[i]))
            return false;
    }
    r->prev = number;
    return true;
}

/* ------------------------------------------------------------ the trace -- */

static bool end_mark(const struct ti_reader *r)
{
    char mark[TI_MAGIC_BYTES];

    return r->bytes - r->at == TI_MAGIC_BYTES &&
           read_at(r, r->at, mark, sizeof mark, NULL) == TI_OK &&
           memcmp(mark, TI_MAGIC_END, sizeof mark) == 0;
}

/* Advance past a chunk without reading its payload. */
static ti_status pass_unread(struct ti_reader *r, const struct chunk *c, struct ti_err *err)
{
    uint8_t crc[TI_CRC_BYTES];
    ti_status st = read_at(r, r->at + TI_CHUNK_BYTES + c->stored, crc, sizeof crc, err);

    if (st == TI_OK)
        pass_chunk(r, c, crc);
    return st;
}

/* Process a chunk that is no EVT; with `skip`, any chunk: then the payloads of EVT and VEC are not
 * read. */
static ti_status take_chunk(struct ti_reader *r, const struct chunk *c, bool skip,
                            struct ti_err *err)
{
    int64_t at = r->at;
    uint64_t chunks = r->nchunks;
    uint32_t crc = r->all_crc;
    uint8_t *raw;
    bool ok = true;
    ti_status st;

    if (c->type > TI_CHUNK_XTR || c->type == TI_CHUNK_NONE || c->version != TI_CHUNK_VERSION) {
        if (c->flags & TI_CHUNK_OPTIONAL)
            return pass_unread(r, c, err);
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' has a chunk of type %u, version %u, which this version cannot read",
                   r->name, c->type, c->version);
        ti_err_hint(err, "use a newer Tiara");
        return TI_ERR_INPUT;
    }
    if (skip && (c->type == TI_CHUNK_EVT || c->type == TI_CHUNK_VEC)) {
        if (c->type == TI_CHUNK_EVT && c->first != r->events)
            return damaged(r, at, err, "events are missing before a chunk");
        st = pass_unread(r, c, err);
        if (st == TI_OK && c->type == TI_CHUNK_EVT)
            r->events += c->events;
        return st;
    }
    if (c->type == TI_CHUNK_XTR && (skip || !r->want_extras))
        return pass_unread(r, c, err);
    st = read_payload(r, c, &raw, err);
    if (st)
        return st;
    switch (c->type) {
    case TI_CHUNK_INF:
        ok = take_pairs(r, raw, raw + c->raw);
        break;
    case TI_CHUNK_XTR:
        ok = !r->xtr;
        if (!ok)
            break;
        r->xtr = raw;
        r->xtr_first = c->first;
        r->xtr_events = c->events;
        r->xtr_bytes = c->raw;
        return TI_OK;
    case TI_CHUNK_STR:
        ok = take_strings(r, raw, raw + c->raw);
        break;
    case TI_CHUNK_COM:
        ok = take_comms(r, raw, raw + c->raw);
        break;
    case TI_CHUNK_VEC:
        ok = take_vec(r, raw, raw + c->raw);
        break;
    case TI_CHUNK_TOT:
        ok = !r->have_totals && take_totals(r, raw, raw + c->raw);
        break;
    case TI_CHUNK_IDX:
        ok = take_index(r, raw, raw + c->raw, chunks, at, crc);
        r->at_end = true;
        break;
    default:
        break;
    }
    free(raw);
    return ok ? TI_OK : damaged(r, at, err, "a chunk's content is malformed");
}

/* At any end: check the end mark and find out how the trace ended. */
static ti_status finish(struct ti_reader *r, struct ti_err *err)
{
    if (!r->have_index || !r->have_totals) {
        r->end = TI_END_KILLED;
        r->have_totals = false;
        return TI_OK;
    }
    if (!end_mark(r)) {
        if (r->bytes - r->at < TI_MAGIC_BYTES) {
            r->end = TI_END_KILLED;
            return TI_OK;
        }
        return damaged(r, r->at, err, "the end mark is wrong");
    }
    if (r->totals.events != r->events)
        return damaged(r, r->at, err, "the number of events is not what the totals say");
    return TI_OK;
}

/* Process chunks up to and including the next EVT, or to the end. */
static ti_status advance(struct ti_reader *r, bool skip, struct ti_err *err)
{
    struct chunk c;
    ti_status st;

    drop_chunk(r);
    while (!r->at_end) {
        st = read_chunk(r, &c, err);
        if (st)
            return st;
        if (r->at_end)
            break;
        if (c.type == TI_CHUNK_EVT && c.version == TI_CHUNK_VERSION && !skip) {
            r->chunk_at = r->at;
            st = read_payload(r, &c, &r->raw, err);
            if (st)
                return st;
            if (!load_events(r, &c))
                return damaged(r, r->chunk_at, err, "a chunk of events is malformed");
            if (!load_extras(r, &c))
                return damaged(r, r->chunk_at, err,
                               "the extra values before a chunk of events are not its own, or "
                               "malformed");
            return TI_OK;
        }
        st = take_chunk(r, &c, skip, err);
        if (st)
            return st;
    }
    return finish(r, err);
}

static void free_used(struct ti_reader *r)
{
    for (int i = 0; i < TI_VECS; i++) {
        free(r->used[i].data);
        r->used[i].data = NULL;
    }
}

/* Remember the communicator of a new window.  Nothing is kept if its number is not the next one, or
 * if there are too many windows. */
static __attribute__((noinline)) void note_window(struct ti_reader *r, const struct ti_event *ev)
{
    size_t room = (size_t)r->nwindows + 1;
    int64_t *grown;

    if (ev->arg[TI_F_WIN] != r->nwindows || !keep(r, sizeof *grown))
        return;
    if ((room & (room - 1)) == 0 || !r->window) { /* the room is the next power of two */
        grown = realloc(r->window, 2 * room * sizeof *grown);
        if (!grown)
            return;
        r->window = grown;
    }
    r->window[r->nwindows++] = ev->arg[TI_F_COMM];
}

int ti_reader_next(struct ti_reader *r, struct ti_event *ev, struct ti_err *err)
{
    if (__builtin_expect(r->left == 0, 0)) {
        if (r->at_end)
            return 0;
        if (advance(r, false, err)) {
            r->at_end = true;
            r->left = 0;
            r->end = TI_END_KILLED;
            r->have_totals = false;
            return -1;
        }
        if (r->at_end)
            return 0;
    }
    if (r->used[0].data || r->used[1].data)
        free_used(r);
    if (!decode_event(r, ev)) {
        damaged(r, r->chunk_at, err, "a chunk of events is malformed");
        r->at_end = true;
        r->left = 0;
        r->end = TI_END_KILLED;
        r->have_totals = false;
        return -1;
    }
    if (__builtin_expect((ev->mask & (TI_M_WIN | TI_M_COMM)) == (TI_M_WIN | TI_M_COMM), 0))
        note_window(r, ev);
    r->left--;
    r->events++;
    return 1;
}

ti_status ti_reader_skip(struct ti_reader *r, struct ti_err *err)
{
    r->events += r->left;
    return r->at_end ? TI_OK : advance(r, true, err);
}

ti_status ti_reader_verify(struct ti_reader *r, uint64_t *events, struct ti_err *err)
{
    struct ti_totals own = {0, 0, TI_HASH_START};
    struct ti_event ev;
    int more;

    ti_reader_want_extras(r);
    while ((more = ti_reader_next(r, &ev, err)) > 0) {
        own.volume += ev.volume;
        own.events++;
        own.hash = ti_hash_event(own.hash, &ev);
    }
    *events = own.events;
    if (more < 0)
        return TI_ERR_INPUT;
    if (r->have_totals && (own.volume != r->totals.volume || own.events != r->totals.events ||
                           own.hash != r->totals.hash))
        return ti_err_set(err, TI_ERR_INPUT,
                          "'%s' is damaged: its events do not add up to its totals", r->name);
    return TI_OK;
}

/* -------------------------------------------------------- open and close -- */

/* Parse metadata "extra": NAME:UNIT, separated by blanks.  If there are more than TI_EXTRAS_MAX,
 * the trace has no extra columns for us. */
static bool name_extras(struct ti_reader *r)
{
    const char *list = ti_reader_info(r, "extra");
    char *rest = NULL, *word;

    if (!list)
        return true;
    r->extra_names = strdup(list);
    if (!r->extra_names)
        return false;
    for (word = strtok_r(r->extra_names, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *colon = strrchr(word, ':');

        if (r->nextras == TI_EXTRAS_MAX) {
            r->nextras = 0;
            break;
        }
        if (colon)
            *colon = '\0';
        r->extra[r->nextras].name = word;
        r->extra[r->nextras].unit = colon ? colon + 1 : "";
        r->nextras++;
    }
    return true;
}

ti_status ti_reader_open_at(int fd, int64_t offset, int64_t bytes, const char *name,
                            struct ti_reader **out, struct ti_err *err)
{
    struct ti_reader *r = calloc(1, sizeof *r);
    struct chunk c;
    ti_status st;

    if (!r || !(r->name = strdup(name))) {
        free(r);
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", name);
    }
    r->fd = fd;
    r->start = offset;
    r->bytes = bytes;
    r->end = TI_END_KILLED;
    st = read_header(r, err);
    if (!st)
        st = read_chunk(r, &c, err);
    if (!st && !r->at_end && c.type != TI_CHUNK_INF)
        st = damaged(r, r->at, err, "it does not begin with metadata");
    if (!st && !r->at_end)
        st = take_chunk(r, &c, false, err);
    if (!st && r->at_end) /* cut off before the metadata */
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' was cut off before its first chunk", name);
    if (!st && !name_extras(r))
        st = no_memory(r, err);
    if (st) {
        ti_reader_close(r);
        return st;
    }
    *out = r;
    return TI_OK;
}

ti_status ti_reader_open(const char *path, struct ti_reader **out, struct ti_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    ti_status st;

    if (fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
    if (fstat(fd, &info) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    else if (!S_ISREG(info.st_mode))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is not a file", path);
    else
        st = ti_reader_open_at(fd, 0, info.st_size, path, out, err);
    if (st)
        close(fd);
    else
        (*out)->own_fd = true;
    return st;
}

static void free_strings(struct strings *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->text[i]);
    free(s->text);
}

void ti_reader_close(struct ti_reader *r)
{
    if (!r)
        return;
    drop_chunk(r);
    free_used(r);
    for (int i = 0; i < r->npairs; i++) {
        free(r->pair[i].key);
        free(r->pair[i].value);
    }
    free_strings(&r->sites);
    free_strings(&r->calls);
    free_strings(&r->files);
    for (uint32_t i = 0; i < r->ncomms; i++) {
        if (owns_members(r, i))
            free((void *)(uintptr_t)r->comm[i].member);
        free((void *)(uintptr_t)r->comm[i].remote);
    }
    for (int i = 0; i < r->nvecs; i++)
        free(r->vec[i].data);
    for (int i = 0; i < TI_VECS; i++)
        free(r->vec_buf[i]);
    free(r->pair);
    free(r->extra_names);
    free(r->comm);
    free(r->window);
    free(r->vec);
    if (r->own_fd)
        close(r->fd);
    free(r->name);
    free(r);
}

/* -------------------------------------------------------------- questions -- */

uint32_t ti_reader_rank(const struct ti_reader *r)
{
    return r->rank;
}

uint32_t ti_reader_nranks(const struct ti_reader *r)
{
    return r->nranks;
}

const uint8_t *ti_reader_run_id(const struct ti_reader *r)
{
    return r->run_id;
}

const char *ti_reader_info(const struct ti_reader *r, const char *key)
{
    for (int i = 0; i < r->npairs; i++)
        if (r->pair[i].value && strcmp(r->pair[i].key, key) == 0)
            return r->pair[i].value;
    return NULL;
}

bool ti_reader_info_u64(const struct ti_reader *r, const char *key, uint64_t *out)
{
    const char *text = ti_reader_info(r, key);
    char *end;

    if (!text || !isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && !*end;
}

bool ti_reader_info_at(const struct ti_reader *r, int i, const char **key, const char **value)
{
    if (i < 0 || i >= r->npairs || !r->pair[i].value)
        return false;
    *key = r->pair[i].key;
    *value = r->pair[i].value;
    return true;
}

int ti_reader_extras(const struct ti_reader *r)
{
    return r->nextras;
}

const char *ti_reader_extra_name(const struct ti_reader *r, int i)
{
    return r->extra[i].name;
}

const char *ti_reader_extra_unit(const struct ti_reader *r, int i)
{
    return r->extra[i].unit;
}

int ti_reader_extra(const struct ti_reader *r, const char *name)
{
    for (int i = 0; i < r->nextras; i++)
        if (strcmp(r->extra[i].name, name) == 0)
            return i;
    return -1;
}

void ti_reader_want_extras(struct ti_reader *r)
{
    r->want_extras = true;
}

enum ti_end ti_reader_end(const struct ti_reader *r)
{
    return r->end;
}

const char *ti_end_text(enum ti_end end)
{
    switch (end) {
#define TEXT(name, number, text)                                                                   \
    case TI_END_##name:                                                                            \
        return text;
        TI_ENDS(TEXT)
#undef TEXT
    case TI_END_COUNT:
        break;
    }
    return "?";
}

bool ti_reader_totals(const struct ti_reader *r, struct ti_totals *out)
{
    *out = r->totals;
    return r->have_totals;
}

uint64_t ti_reader_events(const struct ti_reader *r)
{
    return r->events;
}

const char *ti_reader_string(const struct ti_reader *r, enum ti_string kind, int64_t number)
{
    const struct strings *s = strings_of((struct ti_reader *)(uintptr_t)r, (uint8_t)kind);

    return !s || number < 1 || number > s->n ? NULL : s->text[number - 1];
}

static const char *call_name(const struct ti_reader *r, const struct ti_event *ev)
{
    const char *name = ti_reader_string(r, TI_STRING_CALL, ev->arg[TI_F_CALL]);

    return name ? name : "?";
}

static bool same_vector(const struct ti_vec *x, const struct ti_vec *y)
{
    if (x->len != y->len)
        return false;
    for (int64_t i = 0; i < x->len; i++)
        if (ti_vec_at(x, i) != ti_vec_at(y, i))
            return false;
    return true;
}

bool ti_reader_same_call(const struct ti_reader *ra, const struct ti_event *a,
                         const struct ti_reader *rb, const struct ti_event *b)
{
    if (a->op != b->op || a->mask != b->mask)
        return false;
    /* names, because strings are numbered in the order in which each rank met them */
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int f = __builtin_ctz(rest);

        if (f == TI_F_CALL ? strcmp(call_name(ra, a), call_name(rb, b)) != 0
                           : a->arg[f] != b->arg[f])
            return false;
    }
    for (int v = 0; v < TI_VECS; v++)
        if (!same_vector(&a->vec[v], &b->vec[v]))
            return false;
    return true;
}

const struct ti_comm *ti_reader_comm(const struct ti_reader *r, int64_t index)
{
    if (index < 0 || index >= r->ncomms || !r->comm[index].member)
        return NULL;
    return &r->comm[index];
}

int64_t ti_reader_world(const struct ti_reader *r, int64_t comm, int64_t delta)
{
    const struct ti_comm *c = ti_reader_comm(r, comm);
    int64_t peer;

    if (!c || delta < -TI_RANKS_MAX || delta > TI_RANKS_MAX)
        return -1;
    peer = c->rank + delta;
    if (c->remote)
        return peer >= 0 && peer < c->remote_size ? c->remote[peer] : -1;
    return peer >= 0 && peer < c->size ? c->member[peer] : -1;
}

int64_t ti_reader_event_comm(const struct ti_reader *r, const struct ti_event *ev)
{
    int64_t win;

    if (ev->mask & TI_M_COMM2)
        return ev->arg[TI_F_COMM2];
    if (ev->mask & TI_M_COMM)
        return ev->arg[TI_F_COMM];
    win = ev->mask & TI_M_WIN ? ev->arg[TI_F_WIN] : -1;
    return win >= 0 && win < r->nwindows ? r->window[win] : -1;
}
