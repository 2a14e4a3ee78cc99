#include "trace/writer_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/crc32c.h"

ti_status ti_writer_open(const char *path, uint32_t rank, uint32_t nranks,
                         const uint8_t run_id[TI_RUN_ID_BYTES], struct ti_writer **out,
                         struct ti_err *err)
{
    struct ti_writer *w;
    ti_status st;

    w = mmap(NULL, TI_WRITER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w == MAP_FAILED)
        return ti_err_errno(err, TI_ERR_IO, "cannot get memory for the trace of rank %u", rank);
    w->path = path;
    w->rank = rank;
    w->hash = TI_HASH_START;
    w->chunk_limit = TI_CHUNK_EVENTS_FIRST;
    w->store = w->own_store;
    ti__columns_divide(w, sizeof w->own_store);
    ti__events_reset(w);
    memcpy(w->header, TI_MAGIC, TI_MAGIC_BYTES);
    ti_put_u16(w->header + 8, TI_MAJOR);
    ti_put_u16(w->header + 10, TI_MINOR);
    ti_put_u32(w->header + 20, nranks);
    memcpy(w->header + 24, run_id, TI_RUN_ID_BYTES);
    ti_put_u32(w->header + 44, ti_crc32c(0, w->header, 44));
    st = ti__chunk_init_zlib(w)
             ? ti__out_create(w, err)
             : ti_err_set(err, TI_ERR_IO, "cannot set up zlib for the trace of rank %u", rank);
    if (st)
        munmap(w, TI_WRITER_BYTES);
    else
        *out = w;
    return st;
}

uint64_t ti__now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Most events of the next chunk, by what is in the file now: 256, 1024, 4096, ... if no chunk ends
 * early. */
static uint32_t next_limit(const struct ti_writer *w)
{
    uint64_t limit = CHUNK_SHARE * w->events + TI_CHUNK_EVENTS_FIRST;
    uint64_t most = w->events / CHUNK_PART > w->chunk_most ? w->events / CHUNK_PART : w->chunk_most;

    limit = limit < most ? limit : most;
    return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

void ti__flush(struct ti_writer *w)
{
    if (w->failed)
        return;
    if (w->chunk_events) {
        uint64_t start = ti__now_ns();

        ti__strings_write(w);
        ti__comms_write(w);
        ti__events_write(w);
        w->flush_ns += ti__now_ns() - start;
        w->chunk_limit = next_limit(w);
        ti__events_go_on(w);
    }
}

void ti_writer_flush(struct ti_writer *w)
{
    if (ti__is_over(w))
        return;
    ti__begin(w);
    ti__flush(w);
    ti__end(w);
}

bool ti_writer_busy(const struct ti_writer *w)
{
    return w->busy || w->more_to_come;
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

    ti__chunk_begin(w, TI_CHUNK_TOT, TI_CODEC_METADATA);
    ti_put_u64(totals, w->volume);
    ti_put_u64(totals + 8, w->events);
    ti_put_u64(totals + 16, w->hash);
    totals[24] = (uint8_t)how;
    ti__chunk_put(w, totals, sizeof totals);
    ti__put_pairs(w, pairs, n);
    ti__chunk_end(w, w->events, 0);

    chunks = w->nchunks;
    bytes = w->file_bytes;
    ti_put_u32(crc, w->all_crc);
    ti__chunk_begin(w, TI_CHUNK_IDX, TI_CODEC_RAW);
    ti__chunk_put_varint(w, chunks);
    ti__chunk_put_varint(w, bytes);
    ti__chunk_put(w, crc, sizeof crc);
    ti__chunk_end(w, w->events, 0);
    ti__put_at(w, w->file_bytes, TI_MAGIC_END, TI_MAGIC_BYTES);
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
    ti__begin(w);
    if (!w->failed)
        write_end(w, how, pairs, n);
    ti__out_close(w);
    st = ti_writer_error(w, err);
    if (w->store_mapped)
        munmap(w->store, w->store_mapped);
    munmap(w, TI_WRITER_BYTES);
    return st;
}
