/*
 * Frames out of any bytes.  The same frames come out however the bytes are cut
 * into pieces, and every one of them, encoded again, is what came.  The first
 * byte chooses: bit 0, whether a HELLO is waited for; the others, the pieces.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/crc32c.h"
#include "session/frame.h"
#include "tests/fuzz/fuzz.h"

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz-frame: %s\n", what);
    abort();
}

/* So that mutations get past the checksums: make them right where a frame seems to be. */
static void repair(uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at + TI_FRAME_HEADER <= bytes; at++) {
        uint32_t n, crc;

        if (memcmp(data + at, TI_FRAME_MAGIC, 4) != 0 || (data[at + 16] & 7) == 5)
            continue; /* some stay wrong */
        memcpy(&n, data + at + 12, 4);
        if (n > bytes - at - TI_FRAME_HEADER)
            continue;
        crc = ti_crc32c(ti_crc32c(0, data + at, 16), data + at + TI_FRAME_HEADER, n);
        for (int i = 0; i < 4; i++)
            data[at + 16 + (size_t)i] = (uint8_t)(crc >> 8 * i);
    }
}

struct outcome {
    int frames;
    uint32_t sum;
    ti_status st;
};

static struct outcome feed(const uint8_t *data, size_t bytes, size_t step, int started)
{
    struct ti_frame_reader r = {.started = started};
    struct outcome o = {0, 0, TI_OK};
    struct ti_err err;

    for (size_t at = 0; at < bytes && o.st == TI_OK;) {
        size_t piece = step < bytes - at ? step : bytes - at, used;
        unsigned char header[TI_FRAME_HEADER];
        struct ti_frame f;
        int got = 0;

        o.st = ti_frame_feed(&r, data + at, piece, &used, &f, &got, &err);
        must(used <= piece, "more was consumed than there was");
        must(o.st != TI_OK || got || used == piece, "nothing was given, and not all consumed");
        at += used;
        if (!got)
            continue;
        must(o.frames || started || f.type == TI_FRAME_HELLO, "the first is no HELLO");
        ti_frame_header(f.type, f.stream, f.payload, f.bytes, header);
        o.sum = ti_crc32c(ti_crc32c(o.sum, header, sizeof header), f.payload, f.bytes);
        o.frames++;
    }
    must(strlen(r.noise) < sizeof r.noise, "noise is not ended");
    ti_frame_reader_free(&r);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy;
    struct outcome whole, pieces;

    if (bytes < 1 || !(copy = malloc(bytes)))
        return 0;
    memcpy(copy, data, bytes);
    repair(copy + 1, bytes - 1);
    whole = feed(copy + 1, bytes - 1, bytes, copy[0] & 1);
    pieces = feed(copy + 1, bytes - 1, 1 + (copy[0] >> 1), copy[0] & 1);
    must(whole.frames == pieces.frames && whole.sum == pieces.sum, "pieces give other frames");
    must(whole.st == pieces.st, "pieces end otherwise");
    free(copy);
    return 0;
}
