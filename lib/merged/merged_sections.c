#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/order.h"
#include "merged/dictionary.h"
#include "merged/merged_internal.h"
#include "trace/chunk.h"

ti_status ti__merged_damaged(const struct ti_merged *m, int64_t at, struct ti_err *err,
                             const char *what)
{
    if (errno == ENOMEM)
        return ti__merged_no_memory(m, err);
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged at byte %" PRId64 ": %s", m->name, at,
                      what);
}

ti_status ti__merged_no_memory(const struct ti_merged *m, struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", m->name);
}

ti_status ti__merged_chunk(const struct ti_merged *m, const struct place *place, uint8_t **out,
                           struct ti_err *err)
{
    struct ti_chunk c = {.codec = place->raw == place->stored ? TI_CODEC_RAW : TI_CODEC_ZLIB,
                         .raw = place->raw,
                         .stored = place->stored};
    const char *wrong = ti_chunk_lengths(&c);
    uint8_t *stored, *raw = NULL;
    ti_status st;

    errno = 0;
    if (wrong)
        return ti__merged_damaged(m, place->at, err, wrong);
    stored = malloc((size_t)c.stored + TI_CRC_BYTES);
    if (!stored)
        return ti__merged_no_memory(m, err);
    st = ti_read_at(m->fd, m->start + place->at, stored, (size_t)c.stored + TI_CRC_BYTES, m->name,
                    err);
    if (st)
        goto out;
    raw = malloc((size_t)c.raw + 1);
    if (!raw) {
        st = ti__merged_no_memory(m, err);
        goto out;
    }
    wrong = ti_chunk_unpack_with(&c, ti_dictionary, TI_DICTIONARY_BYTES, stored, raw);
    if (wrong) {
        st = ti__merged_damaged(m, place->at, err, wrong);
        goto out;
    }
    *out = raw;
    raw = NULL;
out:
    free(raw);
    free(stored);
    return st;
}

/* ----------------------------------------------------------------- sections -- */

static const struct place *place_of(const struct ti_merged *m, uint64_t section)
{
    size_t i;

    TI_FIRST(i, 1, m->nplaces, m->place[i].first <= section);
    return &m->place[i - 1];
}

ti_status ti__merged_section_damaged(const struct ti_merged *m, uint64_t number, struct ti_err *err,
                                     const char *what)
{
    return ti__merged_damaged(m, place_of(m, number)->at, err, what);
}

void ti__merged_drop(struct cached *cached)
{
    free(cached->raw);
    free(cached->start);
    *cached = (struct cached){0};
}

/* An entry of the cache for a chunk of `bytes` bytes. */
static struct cached *make_room(struct ti_merged *m, size_t bytes)
{
    for (;;) {
        struct cached *oldest = NULL, *empty = NULL;
        size_t all = 0;

        for (int i = 0; i < CACHE_CHUNKS; i++) {
            struct cached *c = &m->cache[i];

            all += c->bytes;
            if (!c->place)
                empty = c;
            else if (!oldest || c->used < oldest->used)
                oldest = c;
        }
        if (empty && (!oldest || all + bytes <= CACHE_BYTES))
            return empty;
        ti__merged_drop(oldest);
    }
}

/* Find where the sections of a chunk start.  False: lengths are wrong. */
static bool find_starts(struct cached *c, uint32_t sections)
{
    const uint8_t *p = c->raw, *end = c->raw + c->bytes;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < sections; i++) {
        uint64_t length;

        if (!ti_get_varint(&p, end, &length) || length > c->bytes)
            return false;
        c->start[i] = (uint32_t)sum;
        sum += length;
    }
    c->start[sections] = (uint32_t)sum;
    if (sum != (uint64_t)(end - p))
        return false;
    for (uint32_t i = 0; i <= sections; i++)
        c->start[i] += (uint32_t)(p - c->raw);
    return true;
}

static ti_status load(struct ti_merged *m, const struct place *place, struct cached **out,
                      struct ti_err *err)
{
    struct cached *cached;
    uint8_t *raw;
    ti_status st = ti__merged_chunk(m, place, &raw, err);

    if (st)
        return st;
    cached = make_room(m, place->raw);
    *cached = (struct cached){place, raw, place->raw, NULL, 0};
    cached->start = malloc(((size_t)place->sections + 1) * sizeof *cached->start);
    if (!cached->start) {
        ti__merged_drop(cached);
        return ti__merged_no_memory(m, err);
    }
    if (!find_starts(cached, place->sections)) {
        ti__merged_drop(cached);
        return ti__merged_damaged(m, place->at, err, "the lengths of sections are wrong");
    }
    *out = cached;
    return TI_OK;
}

ti_status ti__merged_section(struct ti_merged *m, uint64_t number, struct ti_bytes *out,
                             struct ti_err *err)
{
    const struct place *place = place_of(m, number);
    struct cached *cached = NULL;
    uint32_t at = (uint32_t)(number - place->first);

    errno = 0;
    for (int i = 0; i < CACHE_CHUNKS && !cached; i++)
        if (m->cache[i].place == place)
            cached = &m->cache[i];
    if (!cached) {
        ti_status st = load(m, place, &cached, err);

        if (st)
            return st;
    }
    cached->used = ++m->clock;
    out->data = cached->raw + cached->start[at];
    out->n = cached->start[at + 1] - cached->start[at];
    return TI_OK;
}
