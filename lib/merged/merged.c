#include "merged/merged.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/order.h"
#include "merged/merged_internal.h"

bool ti_merged_is(const uint8_t header[TI_HEADER_BYTES])
{
    return memcmp(header, TI_MAGIC, TI_MAGIC_BYTES) == 0 &&
           (ti_get_u32(header + 12) & TI_INCOMPAT_MERGED);
}

ti_status ti_merged_open(int fd, int64_t offset, int64_t bytes, const char *name,
                         struct ti_merged **out, struct ti_err *err)
{
    struct ti_merged *m = calloc(1, sizeof *m);
    ti_status st;

    if (m)
        m->name = strdup(name);
    if (!m || !m->name) {
        free(m);
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", name);
    }
    m->fd = fd;
    m->start = offset;
    m->bytes = bytes;
    st = ti__merged_load_index(m, err);
    if (st)
        ti_merged_close(m);
    else
        *out = m;
    return st;
}

void ti_merged_close(struct ti_merged *m)
{
    if (!m)
        return;
    for (int i = 0; i < CACHE_CHUNKS; i++)
        ti__merged_drop(&m->cache[i]);
    ti__merged_group_free(&m->group);
    free(m->name);
    free(m->place);
    free(m->run);
    free(m->members);
    free(m);
}

/* ----------------------------------------------------------------- ranks -- */

uint32_t ti_merged_nranks(const struct ti_merged *m)
{
    return m->nranks;
}

const uint8_t *ti_merged_run_id(const struct ti_merged *m)
{
    return m->run_id;
}

int64_t ti_merged_count(const struct ti_merged *m)
{
    return m->nrecords;
}

const struct run *ti__merged_run(const struct ti_merged *m, int64_t rank)
{
    size_t i;

    TI_FIRST(i, 1, m->nruns, m->run[i].first <= rank);
    return &m->run[i - 1];
}

bool ti_merged_has(const struct ti_merged *m, int64_t rank)
{
    return rank >= 0 && rank < m->nranks && ti__merged_run(m, rank)->group;
}

/* --------------------------------------------------------------- records -- */

/* A record in the making: numbers, array of blobs, pattern, blobs. */
struct making {
    struct ti_merged *m;
    uint8_t *block;
    size_t n, cap;
    uint32_t *number; /* of each blob; UINT32_MAX: private */
    struct ti_bytes *bytes;
    size_t *at; /* of each blob in the block */
};

static ti_status append(struct making *r, const struct ti_bytes *bytes, struct ti_err *err)
{
    if (bytes->n > r->cap - r->n) {
        size_t cap = r->cap + (r->cap > bytes->n ? r->cap : bytes->n);
        uint8_t *more = realloc(r->block, cap);

        if (!more)
            return ti__merged_no_memory(r->m, err);
        r->block = more;
        r->cap = cap;
    }
    if (bytes->n)
        memcpy(r->block + r->n, bytes->data, bytes->n);
    r->n += bytes->n;
    return TI_OK;
}

static ti_status add_blob(struct making *r, size_t k, size_t most, uint64_t section,
                          struct ti_err *err)
{
    if (r->bytes[k].n > most - r->n)
        return ti__merged_section_damaged(r->m, section, err, "a record is too large");
    r->at[k] = r->n;
    return append(r, &r->bytes[k], err);
}

TI_ORDER_NUMBERS(by_number, uint64_t)

/* Add the blobs that are sections, in the order of the file: each chunk is read once. */
static ti_status add_sections(struct making *r, size_t most, struct ti_err *err)
{
    const struct ti_merged *m = r->m;
    uint64_t *order = malloc((m->group.nblobs + 1) * sizeof *order), n = 0;
    ti_status st = TI_OK;

    if (!order)
        return ti__merged_no_memory(m, err);
    for (size_t k = 0; k < m->group.nblobs; k++)
        if (r->number[k] != UINT32_MAX)
            order[n++] = (uint64_t)r->number[k] << 32 | k;
    qsort(order, n, sizeof *order, by_number);
    for (size_t i = 0; i < n && !st; i++) {
        uint64_t section = m->counts[0] + m->counts[1] + (order[i] >> 32);
        size_t k = order[i] & UINT32_MAX;

        st = ti__merged_section(r->m, section, &r->bytes[k], err);
        if (!st)
            st = add_blob(r, k, most, section, err);
    }
    free(order);
    return st;
}

static ti_status make(struct making *r, uint32_t rank, uint32_t member, struct ti_err *err)
{
    struct ti_merged *m = r->m;
    const struct merged_group *g = &m->group;
    int64_t *number = (int64_t *)(void *)r->block;
    size_t most = r->n + TI_RECORD_MAX;
    struct page page = {0};
    ti_status st = TI_OK;

    for (size_t k = 0; k < g->nnumbers + g->nblobs; k++) {
        int64_t value;

        if (ti_column_in_pages(g->kind[k]))
            continue;
        value = ti__column_at(g->kind[k], g->bytes + g->params[k], rank, member);
        if (k < g->nnumbers)
            number[k] = value;
        else
            r->number[k - g->nnumbers] = (uint32_t)value;
    }
    if (ti__merged_find_page(m, member, &page))
        st = ti__merged_read_page(m, &page, member, number, r->number, r->bytes, err);
    if (!st)
        st = append(r, &g->pattern, err);
    for (size_t k = 0; k < g->nblobs && !st; k++)
        if (r->number[k] == UINT32_MAX)
            st = add_blob(r, k, most, m->counts[0] + page.number, err);
    return st ? st : add_sections(r, most, err);
}

static void finish(const struct making *r, uint32_t rank, struct ti_record *out)
{
    const struct merged_group *g = &r->m->group;
    struct ti_bytes *blob = (struct ti_bytes *)(void *)(r->block + g->nnumbers * sizeof(int64_t));
    size_t fixed = g->nnumbers * sizeof(int64_t) + g->nblobs * sizeof *blob;

    for (size_t k = 0; k < g->nblobs; k++)
        blob[k] = (struct ti_bytes){r->block + r->at[k], r->bytes[k].n};
    *out = (struct ti_record){.rank = rank,
                              .pattern = {r->block + fixed, g->pattern.n},
                              .number = (int64_t *)(void *)r->block,
                              .nnumbers = g->nnumbers,
                              .blob = blob,
                              .nblobs = g->nblobs,
                              .memory = r->block};
}

ti_status ti_merged_record(struct ti_merged *m, int64_t rank, struct ti_record *out,
                           struct ti_err *err)
{
    struct making r = {.m = m};
    const struct run *run;
    ti_status st;

    if (!ti_merged_has(m, rank))
        return ti_err_set(err, TI_ERR_INPUT, "'%s': rank %" PRId64 " is missing", m->name, rank);
    run = ti__merged_run(m, rank);
    st = ti__merged_load_group(m, run->group - 1, err);
    if (st)
        return st;
    r.n = m->group.nnumbers * sizeof(int64_t) + m->group.nblobs * sizeof(struct ti_bytes);
    r.cap = r.n + m->group.pattern.n + 1;
    r.block = malloc(r.cap);
    r.number = malloc((m->group.nblobs + 1) * sizeof *r.number);
    r.bytes = malloc((m->group.nblobs + 1) * sizeof *r.bytes);
    r.at = malloc((m->group.nblobs + 1) * sizeof *r.at);
    if (!r.block || !r.number || !r.bytes || !r.at)
        st = ti__merged_no_memory(m, err);
    else
        st = make(&r, (uint32_t)rank, run->member + (uint32_t)rank - run->first, err);
    if (st)
        free(r.block);
    else
        finish(&r, (uint32_t)rank, out);
    free(r.number);
    free(r.bytes);
    free(r.at);
    return st;
}

/* ---------------------------------------------------------------- verify -- */

/* Check all pages of the present group.  *pages counts them. */
static ti_status verify_pages(struct ti_merged *m, uint64_t *pages, struct ti_err *err)
{
    const struct merged_group *g = &m->group;
    int64_t *number = malloc((g->nnumbers + 1) * sizeof *number);
    uint32_t *blob = malloc((g->nblobs + 1) * sizeof *blob);
    struct ti_bytes *bytes = malloc((g->nblobs + 1) * sizeof *bytes);
    struct page page = {0};
    ti_status st = TI_OK;

    if (!number || !blob || !bytes)
        st = ti__merged_no_memory(m, err);
    if (!st && g->pages && g->first_page != *pages)
        st = ti__merged_section_damaged(m, g->number, err, "the pages of a group are another's");
    while (!st && ti__merged_next_page(g, &page)) {
        st = ti__merged_read_page(m, &page, page.first, number, blob, bytes, err);
        ++*pages;
    }
    free(number);
    free(blob);
    free(bytes);
    return st;
}

ti_status ti_merged_verify(struct ti_merged *m, struct ti_err *err)
{
    uint64_t pages = 0;
    struct ti_bytes section;
    ti_status st = TI_OK;

    for (size_t i = 0; i < m->nplaces && !st; i++)
        st = ti__merged_section(m, m->place[i].first, &section, err);
    for (uint32_t i = 0; i < m->counts[0] && !st; i++) {
        st = ti__merged_load_group(m, i, err);
        if (!st)
            st = verify_pages(m, &pages, err);
    }
    if (!st && pages != m->counts[1])
        st = ti__merged_section_damaged(m, 0, err, "there are pages that no group has");
    return st;
}
