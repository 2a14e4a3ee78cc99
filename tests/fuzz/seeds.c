/*
 * Write seeds for the fuzzers: small traces of the present format with every
 * operation and whatever else it knows, their chunks not compressed, so that a
 * mutation changes what is in them and not whether they decompress.
 *
 *   seeds DIR     DIR/trace/NAME, rank 1 of each; DIR/run/, a run to be gathered;
 *                 DIR/merged/NAME, see fuzz-merged.c
 *                 DIR/folded/NAME, the record of each trace, see fuzz-folded.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "event/columns.h"
#include "merged/encode.h"
#include "merged/merged_internal.h"
#include "merged/merger.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/script.h"
#include "trace/metadata.h"
#include "trace/writer.h"

enum { NP = 4, MANY = 256, LONG = TI_VEC_INLINE + 20 };

static const uint8_t run_id[TI_RUN_ID_BYTES] = "fuzz fuzz fuzz!";
static const char *const info[] = {"rank",    "1",
                                   "counter", "papi",
                                   "unit",    "instructions",
                                   "extra",   "burst_ns:ns call_ns:ns A::B:events"};
static int extras; /* columns: 3, or none */
static const char *dir;

static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "seeds: %s\n", what);
    exit(1);
}

/* DIR/FOLDER/NAME; valid until the next call. */
static const char *path_of(const char *folder, const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/%s", dir, folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", dir, folder, name);
    return path;
}

/* Copy the trace at `from` to `to`, its chunks decompressed. */
static void expand(const char *from, const char *to)
{
    static uint8_t in[1 << 20], out[1 << 22];
    FILE *f = fopen(from, "rb");
    size_t bytes = f ? fread(in, 1, sizeof in, f) : 0, at = TI_HEADER_BYTES, n = at;

    check(bytes > at && fclose(f) == 0, "cannot read back");
    memcpy(out, in, at);
    while (bytes - at > TI_MAGIC_BYTES) {
        uint32_t raw = ti_get_u32(in + at + 20), stored = ti_get_u32(in + at + 24);
        uint8_t *payload = out + n + TI_CHUNK_BYTES;
        z_stream z = {.next_in = in + at + TI_CHUNK_BYTES,
                      .avail_in = stored,
                      .next_out = payload,
                      .avail_out = raw};

        memcpy(out + n, in + at, TI_CHUNK_BYTES);
        if (in[at + 3] != TI_CODEC_RAW) {
            check(inflateInit2(&z, -MAX_WBITS) == Z_OK, "does not decompress");
            if (in[at + 3] == TI_CODEC_METADATA)
                inflateSetDictionary(&z, (const Bytef *)ti_metadata_dictionary,
                                     TI_METADATA_DICTIONARY_BYTES);
            check(inflate(&z, Z_FINISH) == Z_STREAM_END, "does not decompress");
            inflateEnd(&z);
        } else {
            memcpy(payload, in + at + TI_CHUNK_BYTES, stored);
        }
        out[n + 3] = TI_CODEC_RAW;
        ti_put_u32(out + n + 24, raw);
        n += TI_CHUNK_BYTES + raw + TI_CRC_BYTES;
        at += TI_CHUNK_BYTES + stored + TI_CRC_BYTES;
    }
    memcpy(out + n, in + at, bytes - at);
    n += bytes - at;
    ti_fuzz_repair(out, n);
    f = fopen(to, "wb");
    check(f && fwrite(out, 1, n, f) == n && fclose(f) == 0, "cannot write");
}

static void put_bytes(FILE *f, const struct ti_bytes *bytes)
{
    fprintf(f, "%c%c", (int)bytes->n & 255, (int)bytes->n >> 8);
    fwrite(bytes->data, 1, bytes->n, f);
}

static struct ti_record record_of(const char *trace, const struct ti_qualities *q, uint32_t *nranks)
{
    struct ti_record record;
    struct ti_reader *r;
    struct ti_err err;

    check(ti_reader_open(trace, &r, &err) == TI_OK, "cannot read back");
    check(ti_folded_encode(r, q, &record, &err) == TI_OK, err.text);
    *nranks = ti_reader_nranks(r);
    ti_reader_close(r);
    return record;
}

/* Write the record of a trace as fuzz-folded.c reads it. */
static void fold(const char *trace, const struct ti_qualities *q, const char *name)
{
    uint32_t nranks;
    struct ti_record record = record_of(trace, q, &nranks);
    uint8_t varint[TI_VARINT_MAX];
    FILE *f = fopen(path_of("folded", name), "wb");

    check(f != NULL, "cannot write");
    fprintf(f, "%c%c", (int)nranks - 1, (int)record.rank);
    put_bytes(f, &record.pattern);
    fprintf(f, "%c%c", (int)record.nnumbers & 255, (int)record.nnumbers >> 8);
    for (size_t i = 0; i < record.nnumbers; i++)
        fwrite(varint, 1, (size_t)ti_put_varint(varint, ti_zigzag(record.number[i])), f);
    for (size_t i = 0; i < record.nblobs; i++)
        put_bytes(f, &record.blob[i]);
    check(fclose(f) == 0, "cannot write");
    ti_record_free(&record);
}

/* ------------------------------------------------------------- one rank -- */

/* The world, self, one from a split, an intercommunicator, and a copy of the world. */
static struct ti_writer *start(uint32_t nranks)
{
    static const int self[] = {1}, odd[] = {3, 1}, even[] = {2, 0};
    const char *path = path_of("trace", "tmp");
    struct ti_writer *w;
    struct ti_err err;

    unlink(path);
    check(ti_writer_open(path, 1, nranks, run_id, &w, &err) == TI_OK, err.text);
    ti_writer_info(w, info, extras ? 4 : 3);
    ti_writer_extras(w, extras);
    ti_writer_comm(w, 0, TI_KIND_WORLD, 1, nranks, NULL, 0, NULL);
    ti_writer_comm(w, 1, TI_KIND_SELF, 0, 1, self, 0, NULL);
    ti_writer_comm(w, 2, TI_KIND_SPLIT, 1, 2, odd, 0, NULL);
    ti_writer_comm(w, 3, TI_KIND_INTER, 1, 2, odd, 2, even);
    ti_writer_comm(w, 4, TI_KIND_DUP, 1, nranks, NULL, 0, NULL);
    ti_writer_string(w, TI_STRING_SITE, "app+0x1149 [cafe]");
    ti_writer_string(w, TI_STRING_CALL, "MPI_Type_size");
    ti_writer_string(w, TI_STRING_FILE, "a file's name");
    ti_writer_string(w, TI_STRING_FILE, "");
    return w;
}

static void finish(struct ti_writer *w, const char *name)
{
    static const struct ti_qualities statistics = {{TI_STATISTICS, 0}, {TI_STATISTICS, 0}};
    static const char *const pairs[] = {"memory_bytes", "122880", "untraced", "MPI_Type_size 1"};
    char tmp[4096];
    struct ti_err err;

    check(ti_writer_close(w, TI_END_COMPLETE, pairs, 2, &err) == TI_OK, "cannot close");
    snprintf(tmp, sizeof tmp, "%s", path_of("trace", "tmp"));
    expand(tmp, path_of("trace", name));
    fold(tmp, NULL, name);
    if (extras)
        fold(tmp, &statistics, "statistics");
    unlink(tmp);
}

static void event(struct ti_writer *w, uint32_t op, int turn, int64_t vec_len)
{
    static const int64_t special[] = {0, TI_ANY, TI_NULL, TI_SELF};
    static int64_t data[LONG];
    const struct ti_op_info *of = ti_op_info(op);
    struct ti_event ev = {.volume = 1000 + (uint64_t)turn % 3, .op = op, .site = 1};

    ev.mask = of->fields | (turn & 1 ? of->optional : 0);
    for (int f = 0; f < TI_F_COUNT; f++)
        ev.arg[f] = ev.mask >> f & 1 ? (turn + f) % 3 : 0;
    for (uint32_t rest = ev.mask & TI_M_SPECIAL; turn % 4 && rest; rest &= rest - 1)
        ev.arg[__builtin_ctz(rest)] = special[turn % 4];
    if (turn % 4 == 3 && ev.mask & TI_M_FROM) /* cancelled */
        ev.arg[TI_F_FROM] = ev.arg[TI_F_FROMTAG] = TI_NULL;
    if (ev.mask & TI_M_NAME)
        ev.arg[TI_F_NAME] = 1 + turn % 2;
    for (int v = 0; v < TI_VECS; v++) {
        for (int64_t i = 0; i < vec_len; i++)
            data[i] = turn == 3 && i % 3 ? TI_NULL : i * turn % 5;
        if (of->vec[v][0])
            ev.vec[v] = (struct ti_vec){data, 8, vec_len};
    }
    if (extras)
        ti_writer_event_extra(w, &ev, (const uint64_t[]){(uint64_t)(turn * turn), 0, op});
    else
        ti_writer_event(w, &ev);
}

/* A turn is one way to fill the fields: numbers, or one of the special values. */
static void every_operation(int turn, const char *name)
{
    struct ti_writer *w = start(NP);

    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        event(w, op, turn, 3);
    finish(w, name);
}

static void loop(const char *name)
{
    struct ti_writer *w = start(NP);

    for (int turn = 0; turn < 400; turn++) {
        event(w, TI_OP_IRECV, 0, 0);
        event(w, TI_OP_SEND, turn % 2, 0);
        event(w, TI_OP_WAIT, turn / 100, 0);
    }
    finish(w, name);
}

/* Two chunks, each with its extra values before it. */
static void extra_columns(const char *name)
{
    struct ti_writer *w;

    extras = 3;
    w = start(NP);
    for (int turn = 0; turn < 100; turn++) {
        event(w, TI_OP_SEND, turn % 2, 0);
        event(w, TI_OP_ALLREDUCE, 0, 0);
        if (turn == 70)
            ti_writer_flush(w);
    }
    finish(w, name);
    extras = 0;
}

/* Chunks that go on with each other, with copies and with vectors; some have new symbols. */
static void periods(const char *name, int columns)
{
    struct ti_writer *w;

    extras = columns;
    w = start(NP);
    for (int turn = 0; turn < 1000; turn++) {
        event(w, turn % 50 ? TI_OP_SEND : TI_OP_ALLTOALLV, turn % 7 * 4, turn % 50 ? 0 : 4);
        event(w, TI_OP_WAITALL, 0, turn / 200);
        if (turn % 150 == 0)
            event(w, TI_OP_BARRIER + (uint32_t)turn / 150, 0, 0);
        if (turn == 100 || turn % 300 == 299)
            ti_writer_flush(w);
    }
    finish(w, name);
    extras = 0;
}

/* Each a chunk of its own, before or between those of events. */
static void long_vectors(void)
{
    struct ti_writer *w = start(NP);

    event(w, TI_OP_ALLTOALLV, 0, LONG);
    event(w, TI_OP_NEIGHBOR_ALLTOALLW_INIT, 2, LONG);
    event(w, TI_OP_WAITALL, 3, LONG);
    finish(w, "long-vectors");
}

/* Communicators made between events, some alone in their chunk, some with others;
 * one does not fit where they wait. */
static void communicators(void)
{
    struct ti_writer *w = start(MANY);
    int mixed[MANY], n = 0;

    for (int i = 0; i < MANY; i++) /* no two of one stride: 1 is the first */
        mixed[n++] = (1 + i * (i + 1) / 2) % MANY;
    event(w, TI_OP_BARRIER, 0, 0);
    for (uint32_t c = 5; c < 12; c++) {
        if (c % 3 == 0)
            ti_writer_comm(w, c, TI_KIND_CREATE, 0, MANY, mixed, 0, NULL);
        else
            ti_writer_comm(w, c, TI_KIND_CART, 1, MANY, NULL, 0, NULL);
        ti_writer_comm(w, ++c, TI_KIND_INTER, 0, 1, (const int[]){1}, 7, mixed + 3);
        event(w, TI_OP_COMM_DUP, 0, 0);
        if (c % 2)
            ti_writer_flush(w);
    }
    finish(w, "communicators");
}

/* ----------------------------------------------------------- three ranks -- */

/* A sound run with something of every family. */
static const char sound[] =
    "* init\n"
    /* messages, wildcards, matched probes */
    "0 send peer=1 tag=1 bytes=8 esize=4\n1 recv peer=any tag=any bytes=8 from=-1 fromtag=1\n"
    "0 isend peer=1 tag=2 bytes=16 req=0\n1 irecv peer=any tag=2 bytes=20 req=0\n"
    "0-1 irecv peer=0 tag=3 bytes=4 req=1\n0-1 send peer=0 tag=3 bytes=4\n"
    "0 waitall all=1\n1 waitall v0=0,1 v1=0,-1,2\n"
    "0 send peer=1 tag=1 bytes=8\n0 send peer=1 tag=1 bytes=20\n"
    "1 mprobe peer=any tag=any msg=0 from=-1 fromtag=1\n1 improbe peer=-1 tag=1 msg=1\n"
    "1 imrecv peer=-1 tag=1 msg=1 bytes=20 req=0\n1 mrecv peer=-1 tag=1 msg=0 bytes=8\n"
    "1 wait req=0\n2 recv peer=null tag=1 bytes=8\n"
    "* isendrecv peer=0 tag=1 bytes=8 rpeer=any rtag=1 rbytes=9 req=0\n"
    "* wait req=0 from=0 fromtag=1\n"
    /* persistent, cancelled, partitioned, generalized */
    "0 send_init peer=1 tag=1 bytes=10 req=0\n1 recv_init peer=any tag=any bytes=30 req=0\n"
    "0-1 start req=0\n0 wait req=0\n1 waitall all=1 v1=0,-1,1\n0-1 startall v0=0\n"
    "0 wait req=0\n1 wait req=0 from=-1 fromtag=1\n0-1 request_free req=0\n"
    "0 isend peer=1 tag=1 bytes=10 req=0\n0 cancel req=0\n0 wait req=0 from=null fromtag=null\n"
    "1 irecv peer=any tag=1 bytes=10 req=0\n1 cancel req=0\n1 waitall all=1 v1=0,null,null\n"
    "0 psend_init peer=1 tag=1 bytes=8 part=4 req=0\n"
    "1 precv_init peer=-1 tag=1 bytes=8 part=2 req=0\n0-1 start req=0\n"
    "0 pready_range req=0 v0=0,2\n0 pready_list req=0 v0=3\n1 parrived req=0 part=0\n"
    "0-1 wait req=0\n2 grequest_start req=0\n2 grequest_complete req=0\n2 wait req=0\n"
    "0-1 request_free req=0\n"
    /* collectives in three forms */
    "* ibcast root=0 bytes=8 req=0\n* iallreduce redop=1 bytes=4 req=1\n* waitall all=1\n"
    "* barrier_init req=0\n* allgather_init bytes=2 rbytes=2 req=1\n* startall v0=1,0\n"
    "* waitall all=1\n* request_free req=0\n* request_free req=1\n"
    "* reduce_scatter redop=16 v0=1,2,3\n* alltoallv v0=1,1,1 v1=1,1,1\n"
    "0 gatherv root=0 bytes=1 resize=1 v0=1,2,3\n1 gatherv root=0 bytes=2\n"
    "2 gatherv root=0 bytes=3\n"
    /* communicators: a copy, topologies, two groups */
    "* COMM 2 d 0,1,2\n* comm_idup newcomm=2 req=0\n* wait req=0\n"
    "* COMM 3 g 0,1,2\n* cart_create newcomm=3 v0=3 v1=1\n"
    "* neighbor_alltoallv comm=3 v0=1,2 v1=2,1\n"
    "* COMM 4 p 0\n1-2 COMM 4 p 1,2\n* comm_split newcomm=4 color=0 key=0\n"
    "* COMM 5 i 0|1,2\n* intercomm_create comm=4 newcomm=5 root=0 tag=9\n"
    "0 bcast comm=5 root=self bytes=8\n1-2 bcast comm=5 root=0 bytes=8\n"
    "0 allgather comm=5 bytes=2 rbytes=4\n1-2 allgather comm=5 bytes=4 rbytes=2\n"
    "0 send comm=5 peer=1 tag=1 bytes=8\n2 recv comm=5 peer=-1 tag=1 bytes=8\n"
    "* COMM 6 m 0,1,2\n* intercomm_merge comm=5 newcomm=6 key=0\n* comm_disconnect comm=5\n"
    /* windows and files */
    "* win_allocate bytes=64 esize=8 win=0\n* win_fence win=0 mode=0\n"
    "0 put win=0 peer=1 bytes=8 esize=8 rbytes=8\n"
    "1 rget_accumulate win=0 peer=-1 redop=1 bytes=8 rbytes=8 req=0\n1 wait req=0\n"
    "* win_fence win=0 mode=16\n2 win_lock win=0 peer=null mode=32\n2 win_unlock win=0 peer=null\n"
    "0 win_post win=0 mode=0 v0=1,2\n1 win_start win=0 mode=0 v0=-1\n"
    "2 win_start win=0 mode=0 v0=-2\n1-2 win_complete win=0\n0 win_wait win=0\n* win_free win=0\n"
    "* file_open file=0 name=data mode=768\n* file_set_view file=0 offset=null bytes=8 esize=4\n"
    "* file_write_at_all file=0 offset=10 bytes=8\n0 file_iread file=0 bytes=8 req=0\n"
    "0 wait req=0\n* file_read_all file=0 bytes=8 rbytes=4\n* file_close file=0\n"
    "* file_delete name=data\n1 pcontrol level=2\n* finalize\n";

/* --------------------------------------------------------------- merged -- */

/* Write a merged trace with its container. */
static void put_file(int fd, const char *name)
{
    char other[64];
    uint8_t bytes[4096];
    FILE *f;
    ssize_t n;

    snprintf(other, sizeof other, "%s-file", name);
    f = fopen(path_of("merged", other), "wb");
    check(f && lseek(fd, 0, SEEK_SET) == 0 && fputc(1, f) == 1, "cannot write");
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        fwrite(bytes, 1, (size_t)n, f);
    check(n == 0 && fclose(f) == 0, "cannot write");
}

/* Write a merged trace as fuzz-merged.c takes it apart: what it says, without the container. */
static void take_apart(struct ti_merger *merger, const char *name)
{
    FILE *f = fopen(path_of("merged", name), "wb"), *file = tmpfile();
    struct ti_merged *m;
    struct ti_bytes section;
    struct ti_err err;
    int fd = file ? fileno(file) : -1;

    check(f && file && ti_merger_write(merger, fd, name, &err) == TI_OK, "cannot write");
    check(ti_merged_open(fd, 0, lseek(fd, 0, SEEK_END), name, &m, &err) == TI_OK, err.text);
    fprintf(f, "%c%c%c%c%c%c", 0, (int)m->nranks - 1, (int)m->counts[0], (int)m->counts[1],
            (int)m->counts[2], (int)m->nruns);
    for (size_t i = 0; i < m->nruns; i++)
        fprintf(f, "%c%c", (int)m->run[i].n, (int)m->run[i].group);
    for (uint64_t i = 0; i < m->counts[0] + m->counts[1] + m->counts[2]; i++) {
        check(ti__merged_section(m, i, &section, &err) == TI_OK, err.text);
        fprintf(f, "%c%c", (int)section.n & 255, (int)section.n >> 8);
        fwrite(section.data, 1, section.n, f);
    }
    check(fclose(f) == 0, "cannot write");
    put_file(fd, name);
    fclose(file);
    ti_merged_close(m);
}

/* Rank files, the record of one of them, and their merged trace. */
static void run(void)
{
    struct ti_merger *m;
    struct ti_record record;
    struct ti_err err;
    uint32_t nranks;

    script_trace(3, -1, sound);
    check(ti_merger_new(3, run_id, NULL, &m, &err) == TI_OK, err.text);
    for (int r = 0; r < 3; r++) {
        char name[32], from[4096];

        snprintf(name, sizeof name, "rank-%06d.ti", r);
        snprintf(from, sizeof from, "%s/%s", script_dir(), name);
        expand(from, path_of("run", name));
        record = record_of(from, NULL, &nranks);
        check(ti_merger_add(m, &record, &err) == TI_OK, err.text);
        ti_record_free(&record);
        if (r == 1)
            fold(from, NULL, "sound");
    }
    take_apart(m, "sound");
    ti_merger_free(m);
    script_forget();
}

/* Ranks of a grid of 8 x 4, those at the left edge and one more in a group of their own.  Each
 * number is a column of another kind, and so is each blob. */
static void merged(const char *name, int alike)
{
    static const uint8_t text[] = "text that many ranks have, or parts of it";
    struct ti_merger *m;
    struct ti_err err;

    check(ti_merger_new(32, run_id, NULL, &m, &err) == TI_OK, err.text);
    for (uint32_t rank = 0; rank < 32; rank++) {
        int edge = !alike && (rank % 8 == 0 || rank == 13);
        uint64_t hash = (rank + 1) * UINT64_C(0x9e3779b97f4a7c15);
        const int64_t number[] = {7,
                                  3 - 2 * (int64_t)rank,
                                  (rank ^ 5) - (int64_t)rank,
                                  rank < 20 ? INT64_MIN : INT64_MAX,
                                  rank % 4 * (rank % 4),
                                  (int64_t)hash,
                                  (int64_t)(hash >> 58)};
        const struct ti_bytes blob[] = {{text, sizeof text},
                                        {text + rank % 4, 5},
                                        {text, 0},
                                        {(const uint8_t *)&hash, 8},
                                        {rank % 3 ? text : (const uint8_t *)&hash, 7}};
        struct ti_record r = {.rank = rank,
                              .pattern = {text, edge ? 9 : 12},
                              .number = number,
                              .nnumbers = edge ? 5 : 7,
                              .blob = blob,
                              .nblobs = edge ? 2 : 5};

        if (alike || rank != 9)
            check(ti_merger_add(m, &r, &err) == TI_OK, err.text);
    }
    take_apart(m, name);
    ti_merger_free(m);
}

int main(int argc, char **argv)
{
    check(argc == 2, "usage: seeds DIR");
    dir = argv[1];
    every_operation(0, "every-operation");
    every_operation(1, "every-optional-field");
    every_operation(2, "every-null");
    every_operation(3, "every-root-self");
    loop("loop");
    extra_columns("extra-columns");
    periods("periods", 0);
    periods("periods-extra", 3);
    long_vectors();
    communicators();
    finish(start(NP), "empty");
    run();
    merged("alike", 1);
    merged("grid", 0);
    return 0;
}
