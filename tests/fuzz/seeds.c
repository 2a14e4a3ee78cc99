/*
 * Write seeds for fuzz-trace: small traces with every operation, their chunks
 * not compressed, so that a mutation changes what is in them and not whether
 * they decompress.
 *
 *   seeds DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/columns.h"
#include "formats/writer.h"
#include "tests/fuzz/fuzz.h"

static const uint8_t run_id[TI_RUN_ID_BYTES] = "fuzz fuzz fuzz!";
static const char *const info[] = {"rank", "1", "counter", "papi", "unit", "instructions"};

static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "seeds: %s\n", what);
    exit(1);
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
        z_stream z = {.next_in = in + at + TI_CHUNK_BYTES, .avail_in = stored,
                      .next_out = payload, .avail_out = raw};

        memcpy(out + n, in + at, TI_CHUNK_BYTES);
        if (in[at + 3] == TI_CODEC_ZLIB) {
            check(inflateInit2(&z, -MAX_WBITS) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END,
                  "does not decompress");
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

static struct ti_writer *start(const char *path)
{
    static const int world[4] = {0, 1, 2, 3}, self[1] = {1}, odd[2] = {3, 1};
    struct ti_writer *w;
    struct ti_err err;

    unlink(path);
    check(ti_writer_open(path, 1, 4, run_id, &w, &err) == TI_OK, err.text);
    ti_writer_info(w, info, 3);
    ti_writer_comm(w, 0, 'w', 1, 4, world, 0, NULL);
    ti_writer_comm(w, 1, 's', 0, 1, self, 0, NULL);
    ti_writer_comm(w, 2, 'p', 1, 2, odd, 0, NULL);
    ti_writer_string(w, TI_STRING_SITE, "app+0x1149 [cafe]");
    ti_writer_string(w, TI_STRING_CALL, "MPI_Put");
    return w;
}

static void finish(struct ti_writer *w)
{
    static const char *const pairs[] = {"memory_bytes", "122880", "untraced", "MPI_Put 1"};
    struct ti_err err;

    check(ti_writer_close(w, TI_END_COMPLETE, pairs, 2, &err) == TI_OK, "cannot close");
}

static void event(struct ti_writer *w, uint32_t op, int turn, int64_t vec_len)
{
    static int64_t data[2 * TI_VEC_INLINE];
    struct ti_event ev = {.volume = 1000 + (uint64_t)turn % 3, .op = op, .site = 1};
    const struct ti_op_info *info_of = ti_op_info(op);

    ev.mask = info_of->fields | (turn & 1 ? info_of->optional : 0);
    for (int f = 0; f < TI_F_COUNT; f++)
        ev.arg[f] = ev.mask >> f & 1 ? (turn + f) % 3 : 0;
    if (turn % 4 == 3 && ev.mask & TI_M_PEER)
        ev.arg[TI_F_PEER] = TI_NULL;
    if (turn % 4 == 2 && ev.mask & TI_M_TAG)
        ev.arg[TI_F_TAG] = TI_ANY;
    for (int v = 0; v < TI_VECS; v++) {
        for (int64_t i = 0; i < vec_len; i++)
            data[i] = i * turn % 5;
        if (info_of->vec[v][0])
            ev.vec[v] = (struct ti_vec){data, 8, vec_len};
    }
    ti_writer_event(w, &ev);
}

int main(int argc, char **argv)
{
    char tmp[4096], path[4096];

    check(argc == 2, "usage: seeds DIR");
    snprintf(tmp, sizeof tmp, "%s/seed.tmp", argv[1]);
    for (int kind = 0; kind < 4; kind++) {
        static const char *const name[] = {"every-operation", "loop", "long-vectors", "empty"};
        struct ti_writer *w = start(tmp);

        switch (kind) {
        case 0:
            for (int turn = 0; turn < 4; turn++)
                for (uint32_t op = 0; op < TI_OP_COUNT; op++)
                    event(w, op, turn, 3);
            break;
        case 1:
            for (int turn = 0; turn < 400; turn++) {
                event(w, TI_OP_IRECV, 0, 0);
                event(w, TI_OP_SEND, turn % 2, 0);
                event(w, TI_OP_WAIT, turn / 100, 0);
            }
            break;
        case 2:
            for (int turn = 0; turn < 2; turn++)
                event(w, TI_OP_ALLTOALLV, turn, TI_VEC_INLINE + 20);
            break;
        default:
            break;
        }
        finish(w);
        snprintf(path, sizeof path, "%s/%s", argv[1], name[kind]);
        expand(tmp, path);
    }
    unlink(tmp);
    return 0;
}
