/*
 * Records of merged traces (fold/record_layout.h), over any bytes.  A record that can be
 * read and is not too long can be encoded again, and gives the same events then.
 *
 *   u8 ranks - 1, u8 rank; u16 length and bytes of the pattern; u16 n, n zigzag numbers; then until
 *   the end of the input: u16 length and bytes of each blob
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/map.h"
#include "event/columns.h"
#include "merged/encode.h"
#include "tests/fuzz/fuzz.h"

enum { EVENTS_READ = 20000, EVENTS_ENCODED = 2000 };

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz-folded: %s\n", what);
    abort();
}

/* ---------------------------------------------------------------- record -- */

struct input {
    const uint8_t *p, *end;
};

static uint8_t next(struct input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

static size_t next_u16(struct input *in)
{
    size_t low = next(in);

    return low | (size_t)next(in) << 8;
}

static struct ti_bytes next_bytes(struct input *in)
{
    struct ti_bytes bytes = {NULL, next_u16(in)};

    if (bytes.n > (size_t)(in->end - in->p))
        bytes.n = (size_t)(in->end - in->p);
    bytes.data = in->p;
    in->p += bytes.n;
    return bytes;
}

static struct ti_record next_record(struct input *in)
{
    struct ti_record r = {.rank = next(in)};
    int64_t *number = NULL;
    struct ti_bytes *blob = NULL;
    size_t cap = 0;
    uint64_t value;

    r.pattern = next_bytes(in);
    for (size_t n = next_u16(in); n && ti_get_varint(&in->p, in->end, &value); n--) {
        number = ti_grow(number, &cap, r.nnumbers + 1, sizeof *number);
        number[r.nnumbers++] = ti_unzigzag(value);
    }
    cap = 0;
    while (in->p < in->end) {
        blob = ti_grow(blob, &cap, r.nblobs + 1, sizeof *blob);
        blob[r.nblobs++] = next_bytes(in);
    }
    r.number = number;
    r.blob = blob;
    return r;
}

/* ----------------------------------------------------------------- again -- */

struct sum {
    uint64_t events, volume, hash;
    int last; /* of ti_reader_next(); 1: there is more than EVENTS_ENCODED */
};

static struct sum read_events(struct ti_reader *r)
{
    struct sum sum = {0, 0, TI_HASH_START, 1};
    struct ti_event ev;
    struct ti_err err;
    uint64_t elements = 0;

    while (sum.events + elements < EVENTS_ENCODED && (sum.last = ti_reader_next(r, &ev, &err)) > 0) {
        sum.events++;
        sum.volume += ev.volume;
        sum.hash = ti_hash_event(sum.hash, &ev);
        elements += (uint64_t)ev.vec[0].len + (uint64_t)ev.vec[1].len;
    }
    return sum;
}

static ti_status open_record(const struct ti_record *record, uint32_t nranks, struct ti_reader **r)
{
    static const uint8_t run_id[TI_RUN_ID_BYTES] = "fuzz";
    struct ti_record borrowed = *record;
    struct ti_err err;

    borrowed.memory = NULL;
    return ti_reader_open_record(&borrowed, nranks, run_id, "fuzz", r, &err);
}

static void encode_again(const struct ti_record *record, uint32_t nranks)
{
    struct ti_record again;
    struct ti_reader *r;
    struct ti_err err;
    struct sum was, is;

    if (open_record(record, nranks, &r) != TI_OK)
        return;
    was = read_events(r);
    ti_reader_close(r);
    if (was.last != 0)
        return;
    must(open_record(record, nranks, &r) == TI_OK, "opened once, but not again");
    if (ti_folded_encode(r, NULL, &again, &err) == TI_OK) {
        struct ti_reader *copy;

        must(open_record(&again, nranks, &copy) == TI_OK, "encoded, but cannot be opened");
        is = read_events(copy);
        must(is.last == 0 && is.events == was.events && is.volume == was.volume &&
                 is.hash == was.hash,
             "encoded again, other events");
        ti_reader_close(copy);
        ti_record_free(&again);
    } else {
        must(err.text[0] != '\0', "an error without a text");
    }
    ti_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input in = {data, data + bytes};
    uint32_t nranks = next(&in) + 1u;
    struct ti_record record = next_record(&in);

    ti_fuzz_read_record(&record, nranks, EVENTS_READ);
    encode_again(&record, nranks);
    free((void *)(uintptr_t)record.number);
    free((void *)(uintptr_t)record.blob);
    return 0;
}
