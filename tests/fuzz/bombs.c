/*
 * Write bombs: traces of few bytes that ask for much memory or time.
 *
 *   bombs DIR
 *
 * Each but "events", "elements" and "copies", which are the most that a reader grants,
 * blows up without the guard that its comment names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "event/columns.h"
#include "tests/fuzz/fuzz.h"
#include "trace/writer.h"

enum { EVENTS = 4 * TI_CHUNK_EVENTS, VALUES = TI_F_COUNT + TI_VECS };

struct bytes {
    uint8_t data[1 << 20];
    size_t n;
};

static struct bytes file;
static const char *dir;
static uint8_t version = TI_CHUNK_VERSION; /* of chunks */

static void put_varint(struct bytes *b, uint64_t v)
{
    b->n += (size_t)ti_put_varint(b->data + b->n, v);
}

static void put_chunk(enum ti_chunk_type type, uint32_t events, uint32_t raw, enum ti_codec codec,
                      const uint8_t *payload, size_t bytes)
{
    uint8_t *h = file.data + file.n;

    memset(h, 0, TI_CHUNK_BYTES);
    h[0] = (uint8_t)type;
    h[2] = version;
    h[3] = (uint8_t)codec;
    ti_put_u32(h + 16, events);
    ti_put_u32(h + 20, raw);
    ti_put_u32(h + 24, (uint32_t)bytes);
    if (bytes)
        memcpy(h + TI_CHUNK_BYTES, payload, bytes);
    file.n += TI_CHUNK_BYTES + bytes + TI_CRC_BYTES;
}

static void put_raw(enum ti_chunk_type type, uint32_t events, const struct bytes *b)
{
    put_chunk(type, events, (uint32_t)b->n, TI_CODEC_RAW, b->data, b->n);
}

static void put_deflated(enum ti_chunk_type type, uint32_t events, const struct bytes *b)
{
    static uint8_t out[1 << 16];
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)b->data,
                  .avail_in = (uInt)b->n,
                  .next_out = out,
                  .avail_out = sizeof out};

    if (deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        exit(1);
    put_chunk(type, events, (uint32_t)b->n, TI_CODEC_ZLIB, out, z.total_out);
    deflateEnd(&z);
}

static void begin(uint32_t nranks)
{
    static const uint8_t info[] = "\4rank\1"
                                  "0";

    memset(&file, 0, sizeof file);
    ti_put_u32(file.data + 20, nranks);
    file.n = TI_HEADER_BYTES;
    put_chunk(TI_CHUNK_INF, 0, sizeof info - 1, TI_CODEC_RAW, info, sizeof info - 1);
}

static void end(const char *name)
{
    char path[4096];
    FILE *f;

    ti_fuzz_repair(file.data, file.n);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    if (!f || fwrite(file.data, 1, file.n, f) != file.n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* A column of ever the same value. */
static void put_constant(struct bytes *b, int64_t v)
{
    if (!v)
        return;
    put_varint(b, 0);
    put_varint(b, ti_zigzag(v));
}

/* A column of ever the same vector: `len` zeros, or that of a VEC. */
static void put_constant_vec(struct bytes *b, int64_t len)
{
    if (!len)
        return;
    put_varint(b, 0);
    put_varint(b, ti_zigzag(len));
    if (len > 0)
        put_varint(b, (uint64_t)len);
}

/* Volumes: the first is 0, and `n` bytes say which ones the others are. */
static const uint8_t *volumes;
static size_t nvolumes;

/* A chunk of the same event over and over: fields are 0, or those in `value`, and
 * vectors have the length value[TI_F_COUNT + v]. */
static void put_events(enum ti_op op, uint32_t events, const int64_t value[VALUES])
{
    const bool copies = version >= TI_CHUNK_VERSION_COPIES;
    const uint8_t always_the_first[] = {0, copies, 0, copies};
    const struct ti_op_info *of = ti_op_info(op);
    struct bytes *b = calloc(1, sizeof *b), *data = calloc(1, sizeof *data);

    if (copies)
        put_varint(b, 0); /* goes on with none */
    put_varint(b, sizeof always_the_first);
    put_varint(b, 1);
    put_varint(b, op);
    put_varint(b, 0);
    put_varint(b, of->fields);
    put_varint(b, 0);
    for (int i = 0; i < VALUES; i++) {
        size_t before = data->n;

        if (i < TI_F_COUNT ? !(of->fields >> i & 1) : !of->vec[i - TI_F_COUNT][0])
            continue;
        if (i < TI_F_COUNT)
            put_constant(data, value[i]);
        else
            put_constant_vec(data, value[i]);
        put_varint(b, data->n - before);
    }
    put_varint(b, 2); /* volumes: after none, and after itself */
    for (uint64_t after = 0; after < 2; after++) {
        put_varint(b, after);
        put_varint(b, 0);
        put_varint(b, after ? nvolumes : 0);
    }
    memcpy(b->data + b->n, always_the_first, sizeof always_the_first);
    memcpy(b->data + b->n + sizeof always_the_first, data->data, data->n);
    b->n += sizeof always_the_first + data->n;
    if (nvolumes)
        memcpy(b->data + b->n, volumes, nvolumes);
    b->n += nvolumes;
    put_raw(TI_CHUNK_EVT, events, b);
    free(b);
    free(data);
}

/* All ranks, from `first` on, and those before behind them. */
static void put_world_from(uint64_t index, uint64_t size, char kind, uint64_t first)
{
    struct bytes *b = calloc(1, sizeof *b);

    put_varint(b, index);
    put_varint(b, first ? size - first : 0);
    put_varint(b, size);
    b->data[b->n++] = (uint8_t)kind;
    for (int group = 0; group < (kind == TI_KIND_INTER ? 2 : 1); group++) {
        if (group)
            put_varint(b, size);
        put_varint(b, size - first);
        put_varint(b, ti_zigzag((int64_t)first));
        if (size - first > 1)
            put_varint(b, ti_zigzag(1));
        if (!first)
            continue;
        put_varint(b, first);
        put_varint(b, ti_zigzag(1 - (int64_t)size));
        if (first > 1)
            put_varint(b, ti_zigzag(1));
    }
    put_raw(TI_CHUNK_COM, 0, b);
    free(b);
}

static void put_world(uint64_t index, uint64_t size, char kind)
{
    put_world_from(index, size, kind, 0);
}

/* ---------------------------------------------------------------- bombs -- */

/* Chunks of one kind of event. */
static void of_events(const char *name, int chunks, uint32_t events, enum ti_op op,
                      const int64_t value[VALUES])
{
    begin(4);
    for (int i = 0; i < chunks; i++)
        put_events(op, events, value);
    end(name);
}

/* KEEP_MAX of the reader: 64 MiB for 20 bytes, or 128 for two groups; no two alike. */
static void communicators(void)
{
    begin(TI_RANKS_MAX);
    for (uint64_t i = 0; i < 16; i++)
        put_world_from(i, TI_RANKS_MAX, i % 2 ? TI_KIND_INTER : TI_KIND_WORLD, i);
    end("communicators");
}

/* A grid of as many dimensions as the vector has elements, all 1: sound/neighbours.c
 * must not take a time that grows with their square. */
static void dimensions(void)
{
    enum { DIMENSIONS = 400 * 1000 };
    struct bytes *b = calloc(1, sizeof *b);
    int64_t value[VALUES] = {0};

    begin(1);
    put_world(0, 1, TI_KIND_WORLD);
    put_world(1, 1, TI_KIND_CART);
    for (uint64_t v = 1; v <= TI_VECS; v++) {
        b->n = 0;
        put_varint(b, v);
        put_varint(b, DIMENSIONS);
        put_varint(b, ti_zigzag(1));
        memset(b->data + b->n, 0, DIMENSIONS - 1);
        b->n += DIMENSIONS - 1;
        put_deflated(TI_CHUNK_VEC, 0, b);
        value[TI_F_COUNT + v - 1] = -1 - (int64_t)v;
    }
    value[TI_F_NEWCOMM] = 1;
    put_events(TI_OP_CART_CREATE, 1, value);
    end("dimensions");
    free(b);
}

/* One communicator is made over and over: sound/neighbours.c learns it once. */
static void topologies(void)
{
    int64_t value[VALUES] = {0};

    begin(1);
    put_world(0, 1, TI_KIND_WORLD);
    put_world(1, 1, TI_KIND_GRAPH);
    value[TI_F_NEWCOMM] = 1;
    for (int i = 0; i < 30; i++)
        put_events(TI_OP_GRAPH_CREATE, EVENTS, value);
    end("topologies");
}

/* A nest of loops with `numbers` numbers and `blobs` blobs: a barrier in a loop of `trips` trips,
 * if they are those of such a nest. */
static void nest(const char *name, int64_t trips, uint64_t numbers, uint64_t blobs)
{
    static const uint8_t pattern[] = {1, 1, TI_OP_BARRIER, 0, TI_M_COMM, 0, 0, 0, 1, 3, 0};
    struct bytes *b = calloc(1, sizeof *b);

    begin(1);
    put_world(0, 1, TI_KIND_WORLD);
    put_varint(b, sizeof pattern);
    memcpy(b->data + b->n, pattern, sizeof pattern);
    b->n += sizeof pattern;
    put_varint(b, numbers);
    for (uint64_t i = 0; i < numbers; i++)
        put_varint(b, ti_zigzag(i == 5 ? trips : 0)); /* behind vectors and the communicator */
    put_varint(b, blobs);
    b->n += blobs; /* empty ones */
    put_deflated(TI_CHUNK_FLD, (uint32_t)trips, b);
    end(name);
    free(b);
}

/* A chunk of 2^32 - 1 barriers in few bytes: its memory is limited, but not the time to read it. */
static void copies(void)
{
    static const uint8_t tokens[] = {0, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, TI_COPY_NEW + 2};
    const int64_t value[VALUES] = {0};

    volumes = tokens;
    nvolumes = sizeof tokens;
    of_events("copies", 1, UINT32_MAX, TI_OP_BARRIER, value);
    nvolumes = 0;
}

/* Chunks that go on with each other, a million bytes each: STORE_MAX. */
static void goes_on(void)
{
    enum { EVENTS_EACH = 50000, CHUNKS = 17 };
    static const uint8_t token[20] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0,
                                      0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
    const int64_t value[VALUES] = {0};
    struct bytes *b = calloc(1, sizeof *b);

    begin(1);
    put_events(TI_OP_BARRIER, 2, value);
    for (int i = 0; i < CHUNKS; i++) {
        b->n = 0;
        put_varint(b, 1);
        put_varint(b, 0); /* the sequence, the communicators, new symbols, first volumes */
        put_varint(b, 0);
        put_varint(b, 0);
        put_varint(b, 0);
        put_varint(b, sizeof token * EVENTS_EACH);
        put_varint(b, 0);
        for (int k = 0; k < EVENTS_EACH; k++, b->n += sizeof token) {
            memcpy(b->data + b->n, token, sizeof token);
            if (k == 0 && i == 0)
                b->data[b->n] |= 1; /* a volume was repeated before */
        }
        put_deflated(TI_CHUNK_EVT, EVENTS_EACH, b);
    }
    end("goes-on");
    free(b);
}

int main(int argc, char **argv)
{
    int64_t value[VALUES] = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: bombs DIR\n");
        return 2;
    }
    dir = argv[1];
    version = TI_CHUNK_VERSION_COPIES - 1; /* of the limits that chunks had before */
    of_events("events", 15, EVENTS, TI_OP_BARRIER, value);
    of_events("events-over", 1, UINT32_MAX, TI_OP_BARRIER, value); /* EVENTS_MAX */
    value[TI_F_COUNT] = value[TI_F_COUNT + 1] = TI_VEC_INLINE;
    of_events("elements", 3, EVENTS / 2, TI_OP_ALLTOALLV, value);
    of_events("elements-over", 150, EVENTS, TI_OP_ALLTOALLV, value); /* ELEMENTS_MAX */
    value[TI_F_COUNT] = value[TI_F_COUNT + 1] = 1 << 27;
    of_events("inline-length", 1, 1, TI_OP_ALLTOALLV, value); /* TI_VEC_INLINE, ELEMENTS_MAX */
    version = TI_CHUNK_VERSION;
    of_events("inline-length-4", 1, 1, TI_OP_ALLTOALLV, value); /* TI_VEC_INLINE */
    communicators();
    dimensions();
    topologies();
    copies();
    goes_on();
    nest("nest", 1000, 8, 6);
    nest("nest-trips", INT64_C(1000) << 32 | 1000, 8, 6); /* the events of its header */
    nest("nest-columns", 1000, 70000, 70000);             /* TI_CHUNK_COLUMNS */
    return 0;
}
