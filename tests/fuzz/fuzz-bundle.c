/* Bundles, over any bytes: archive, manifest, and the traces in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/source.h"
#include "event/columns.h"
#include "tests/fuzz/fuzz.h"

#define RANKS_READ 64

enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46 };

/* The CRC of what a deflated member holds, up to 1 MiB. */
static uint32_t inflated_crc(uint8_t *data, size_t stored)
{
    static uint8_t held[1 << 20];
    z_stream z = {.next_in = data, .avail_in = (uInt)stored, .next_out = held};

    z.avail_out = sizeof held;
    if (inflateInit2(&z, -MAX_WBITS) == Z_OK) {
        inflate(&z, Z_FINISH);
        inflateEnd(&z);
    }
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), held, sizeof held - z.avail_out);
}

/* One member of the archive: its trace gets past its checksums, and the CRC of
 * any other is made right, here and, by its name, in the central directory. */
static size_t repair_member(uint8_t *zip, size_t bytes, size_t at)
{
    uint8_t *h = zip + at;
    size_t name_bytes = ti_get_u16(h + 26), stored = ti_get_u32(h + 18);
    size_t data = at + LOCAL_BYTES + name_bytes + ti_get_u16(h + 28);
    uint32_t crc;

    if (data > bytes || stored > bytes - data)
        return at + 4;
    if (stored > 4 && memcmp(zip + data + 1, "TIARA", 5 < stored ? 5 : stored) == 0)
        ti_fuzz_repair(zip + data, stored);
    if (ti_get_u16(h + 8) == 8)
        crc = inflated_crc(zip + data, stored);
    else
        crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), zip + data, stored);
    ti_put_u32(h + 14, crc);
    for (size_t c = data + stored; c + CENTRAL_BYTES + name_bytes <= bytes; c++)
        if (memcmp(zip + c, "PK\1\2", 4) == 0 && ti_get_u16(zip + c + 28) == name_bytes &&
            memcmp(zip + c + CENTRAL_BYTES, zip + at + LOCAL_BYTES, name_bytes) == 0)
            ti_put_u32(zip + c + 16, crc);
    return data + stored;
}

static void repair(uint8_t *zip, size_t bytes)
{
    size_t at = 0;

    while (at + LOCAL_BYTES <= bytes)
        at = memcmp(zip + at, "PK\3\4", 4) == 0 ? repair_member(zip, bytes, at) : at + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    struct ti_source *s;
    struct ti_err err;
    char path[64];
    int fd;

    if (!copy)
        return 0;
    if (bytes)
        memcpy(copy, data, bytes);
    repair(copy, bytes);
    fd = ti_fuzz_file(copy, bytes);
    free(copy);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ti_source_open(path, &s, &err) == TI_OK) {
        int64_t nranks = ti_source_nranks(s), rank = 0;

        ti_source_manifest(s);
        ti_source_verify(s, &err);
        for (int tried = 0; rank < nranks && tried < RANKS_READ; rank++, tried++) {
            struct ti_reader *r;

            if ((!ti_source_has(s, rank) && ti_source_bytes(s, rank) >= 0) ||
                ti_source_has(s, rank) != (ti_source_name(s, rank) != NULL))
                abort();
            if (ti_source_reader(s, rank, &r, &err) == TI_OK) {
                ti_fuzz_read_all(r);
                ti_reader_close(r);
            }
        }
        ti_source_close(s);
    }
    close(fd);
    return 0;
}
