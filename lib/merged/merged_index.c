#include <errno.h>
#include <stdlib.h>

#include "common/crc32c.h"
#include "merged/merged_internal.h"
#include "trace/chunk.h"

/* The payload of the index while it is parsed. */
struct cursor {
    const uint8_t *p, *end;
};

static bool get(struct cursor *c, uint64_t below, uint64_t *out)
{
    return ti_get_varint(&c->p, c->end, out) && *out < below;
}

static const char *parse_places(struct ti_merged *m, struct cursor *c, int64_t index_at)
{
    static const char wrong[] = "the index has wrong chunks";
    int64_t at = TI_HEADER_BYTES;
    uint64_t n, stored, raw, sections, first = 0;

    if (!get(c, (uint64_t)(index_at - at) / (1 + TI_CRC_BYTES) + 1, &n))
        return wrong;
    m->place = calloc(n + 1, sizeof *m->place);
    if (!m->place)
        return "memory is too short for the index";
    m->nplaces = n;
    for (size_t i = 0; i < n; i++) {
        if (!get(c, TI_CHUNK_RAW_MAX + 1, &stored) || !get(c, TI_CHUNK_RAW_MAX + 1, &raw) ||
            !get(c, TI_SECTIONS_MAX + 1, &sections) || !sections)
            return wrong;
        m->place[i] =
            (struct place){at, (uint32_t)stored, (uint32_t)raw, (uint32_t)sections, first};
        at += (int64_t)stored + TI_CRC_BYTES;
        first += sections;
    }
    if (at != index_at || m->counts[0] > first || m->counts[1] > first - m->counts[0] ||
        m->counts[2] != first - m->counts[0] - m->counts[1])
        return wrong;
    return NULL;
}

/* Groups are numbered in the order of their first ranks. */
static bool add_run(struct ti_merged *m, struct run *run, uint64_t *groups)
{
    struct ti_members *g;

    if (!run->group)
        return true;
    if (run->group > *groups + 1 || run->group > m->counts[0])
        return false;
    g = &m->members[run->group - 1];
    if (run->group > *groups) {
        ++*groups;
        g->first = run->first;
    }
    run->member = g->n;
    g->n += run->n;
    g->last = run->first + run->n - 1;
    m->nrecords += run->n;
    return true;
}

static const char *parse_runs(struct ti_merged *m, struct cursor *c)
{
    static const char wrong[] = "the index has wrong ranks";
    uint64_t most = (uint64_t)(c->end - c->p) / 2; /* runs: each takes two bytes */
    uint64_t groups = 0, rank = 0, n, group;

    if (most > m->nranks)
        most = m->nranks;
    if (m->counts[0] == 0 || m->counts[0] > most)
        return wrong;
    m->members = calloc(m->counts[0], sizeof *m->members);
    m->run = calloc(most, sizeof *m->run);
    if (!m->members || !m->run)
        return "memory is too short for the index";
    while (c->p < c->end) {
        struct run *run = &m->run[m->nruns];

        if (m->nruns == most || !get(c, m->nranks - rank + 1, &n) || !n ||
            !get(c, m->counts[0] + 1, &group))
            return wrong;
        *run = (struct run){(uint32_t)rank, (uint32_t)n, (uint32_t)group, 0};
        if (!add_run(m, run, &groups))
            return wrong;
        m->nruns++;
        rank += n;
    }
    return rank == m->nranks && groups == m->counts[0] ? NULL : wrong;
}

static ti_status load_header(struct ti_merged *m, struct ti_err *err)
{
    uint8_t h[TI_HEADER_BYTES];
    ti_status st;

    errno = 0;
    if (m->bytes < TI_HEADER_BYTES)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is not a merged trace: it is too short",
                          m->name);
    st = ti_read_at(m->fd, m->start, h, sizeof h, m->name, err);
    if (st)
        return st;
    if (memcmp(h, TI_MAGIC, TI_MAGIC_BYTES) != 0)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is not a Tiara trace", m->name);
    if (ti_get_u32(h + 44) != ti_crc32c(0, h, 44))
        return ti__merged_damaged(m, 0, err, "the header's checksum is wrong");
    if (!ti_merged_is(h))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is a trace of one rank, not a merged one",
                          m->name);
    if (ti_get_u16(h + 8) != TI_MAJOR || ti_get_u32(h + 12) != TI_INCOMPAT_MERGED) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' is in trace format %u.%u with features %#x, which this version cannot "
                   "read",
                   m->name, ti_get_u16(h + 8), ti_get_u16(h + 10), ti_get_u32(h + 12));
        ti_err_hint(err, "use a newer Tiara; this one reads %u.%u", TI_MAJOR, TI_MINOR);
        return TI_ERR_INPUT;
    }
    if (ti_get_u32(h + TI_VERSION_AT) != TI_MERGED_VERSION) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' is a merged trace of version %u, which this Tiara cannot read", m->name,
                   ti_get_u32(h + TI_VERSION_AT));
        ti_err_hint(err, "this one reads version %d", TI_MERGED_VERSION);
        return TI_ERR_INPUT;
    }
    m->nranks = ti_get_u32(h + 20);
    memcpy(m->run_id, h + 24, TI_RUN_ID_BYTES);
    if (m->nranks == 0 || m->nranks > TI_RANKS_MAX)
        return ti__merged_damaged(m, 20, err, "the number of ranks is impossible");
    return TI_OK;
}

/* Read the end: it says where the index is. */
static ti_status find_index(const struct ti_merged *m, struct place *index, struct ti_err *err)
{
    uint8_t trailer[TI_TRAILER_BYTES];
    int64_t end = m->bytes - TI_TRAILER_BYTES;
    ti_status st = TI_OK;

    if (end >= TI_HEADER_BYTES)
        st = ti_read_at(m->fd, m->start + end, trailer, sizeof trailer, m->name, err);
    if (st)
        return st;
    if (end < TI_HEADER_BYTES || memcmp(trailer + 12, TI_MAGIC_END, TI_MAGIC_BYTES) != 0)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' was cut off: its end is missing", m->name);
    if (ti_get_u32(trailer + 8) != ti_crc32c(0, trailer, 8))
        return ti__merged_damaged(m, end, err, "the checksum of its end is wrong");
    *index = (struct place){.stored = ti_get_u32(trailer), .raw = ti_get_u32(trailer + 4)};
    index->at = end - TI_CRC_BYTES - (int64_t)index->stored;
    if (index->at < TI_HEADER_BYTES)
        return ti__merged_damaged(m, end, err, "the length of the index is impossible");
    return TI_OK;
}

ti_status ti__merged_load_index(struct ti_merged *m, struct ti_err *err)
{
    const char *wrong = NULL;
    uint8_t *raw = NULL;
    struct cursor cursor;
    struct place index;
    ti_status st = load_header(m, err);

    if (!st)
        st = find_index(m, &index, err);
    if (!st)
        st = ti__merged_chunk(m, &index, &raw, err);
    if (st)
        return st;
    cursor = (struct cursor){raw, raw + index.raw};
    for (int i = 0; i < 3 && !wrong; i++)
        if (!get(&cursor, UINT32_MAX, &m->counts[i]))
            wrong = "the index is malformed";
    if (!wrong)
        wrong = parse_places(m, &cursor, index.at);
    if (!wrong)
        wrong = parse_runs(m, &cursor);
    free(raw);
    return wrong ? ti__merged_damaged(m, index.at, err, wrong) : TI_OK;
}
