#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "merged/merger_internal.h"

ti_status ti_merger_new(uint32_t nranks, const uint8_t run_id[TI_RUN_ID_BYTES], const char *scratch,
                        struct ti_merger **out, struct ti_err *err)
{
    struct ti_merger *m;
    size_t one = 0;
    ti_status st;

    m = ti_grow(NULL, &one, 1, sizeof *m);
    m->nranks = nranks;
    memcpy(m->run_id, run_id, TI_RUN_ID_BYTES);
    st = ti__blobs_open(&m->blobs, scratch, err);
    if (st)
        free(m);
    else
        *out = m;
    return st;
}

/* ------------------------------------------------------------------- add -- */

static ti_status check(const struct ti_merger *m, const struct ti_record *r, struct ti_err *err)
{
    bool large = r->pattern.n > TI_PATTERN_MAX || r->nnumbers > TI_COLUMNS_MAX ||
                 r->nblobs > TI_COLUMNS_MAX - r->nnumbers;
    uint64_t bytes = r->pattern.n;

    if (r->rank >= m->nranks)
        return ti_err_set(err, TI_ERR_INPUT, "rank %u is not one of the run's %u", r->rank,
                          m->nranks);
    if (ti_ranges_hold(&m->ranks, r->rank))
        return ti_err_set(err, TI_ERR_INPUT, "rank %u is there twice", r->rank);
    for (size_t k = 0; k < r->nblobs && !large; k++) {
        bytes += r->blob[k].n;
        large = r->blob[k].n > TI_BLOB_MAX || bytes > TI_RECORD_MAX;
    }
    if (large)
        return ti_err_set(err, TI_ERR_INPUT, "rank %u has too much for a merged trace", r->rank);
    return TI_OK;
}

static struct group *group_of(struct ti_merger *m, const struct ti_record *r)
{
    size_t was = m->patterns.n, cap = 0;
    uint8_t *pattern;
    struct group *g;
    int64_t key[2], at;

    ti__bytes_key(&r->pattern, key);
    at = ti_map_add(&m->patterns, key[0], key[1], (int64_t)r->nnumbers, (int64_t)r->nblobs);
    if ((size_t)at < was)
        return &m->group[at];
    m->group = ti_grow(m->group, &m->groups_cap, m->patterns.n, sizeof *m->group);
    g = &m->group[at];
    pattern = ti_grow(NULL, &cap, r->pattern.n + 1, 1);
    if (r->pattern.n)
        memcpy(pattern, r->pattern.data, r->pattern.n);
    g->pattern = (struct ti_bytes){pattern, r->pattern.n};
    g->nnumbers = (uint32_t)r->nnumbers;
    g->nblobs = (uint32_t)r->nblobs;
    return g;
}

ti_status ti_merger_add(struct ti_merger *m, const struct ti_record *record, struct ti_err *err)
{
    size_t bytes = sizeof(struct member) + record->nnumbers * sizeof(int64_t) +
                   record->nblobs * sizeof(uint32_t);
    ti_status st = check(m, record, err);
    struct member *member;
    struct group *g;

    if (st)
        return st;
    member = malloc(bytes);
    if (!member)
        return ti_err_errno(err, TI_ERR_IO, "cannot keep the record of rank %u", record->rank);
    member->rank = record->rank;
    member->blob = (uint32_t *)(member->number + record->nnumbers);
    if (record->nnumbers)
        memcpy(member->number, record->number, record->nnumbers * sizeof(int64_t));
    for (size_t k = 0; k < record->nblobs && !st; k++)
        st = ti__blobs_add(&m->blobs, &record->blob[k], &member->blob[k], err);
    if (st) {
        free(member);
        return st;
    }
    g = group_of(m, record);
    g->member = ti_grow(g->member, &g->cap, g->n + 1, sizeof *g->member);
    g->member[g->n++] = member;
    ti_ranges_add(&m->ranks, record->rank);
    m->count++;
    return TI_OK;
}

uint64_t ti_merger_count(const struct ti_merger *m)
{
    return m->count;
}

uint64_t ti_merger_groups(const struct ti_merger *m)
{
    return m->patterns.n;
}

/* ----------------------------------------------------------------- write -- */

static int by_rank(const void *a, const void *b)
{
    uint32_t x = (*(struct member *const *)a)->rank, y = (*(struct member *const *)b)->rank;

    return x < y ? -1 : x > y;
}

static int by_lowest(const void *a, const void *b)
{
    return by_rank((*(struct group *const *)a)->member, (*(struct group *const *)b)->member);
}

/* The groups in the order of the file. */
static struct group **sort(struct ti_merger *m)
{
    size_t cap = 0;
    struct group **order = ti_grow(NULL, &cap, m->patterns.n, sizeof *order);

    for (size_t i = 0; i < m->patterns.n; i++) {
        order[i] = &m->group[i];
        qsort(order[i]->member, order[i]->n, sizeof order[i]->member[0], by_rank);
    }
    qsort(order, m->patterns.n, sizeof order[0], by_lowest);
    return order;
}

/* Blobs that are sections, by number. */
struct numbering {
    uint32_t *index;
    size_t n, cap;
};

static void number_blobs_of(struct ti_merger *m, const struct group *g, const struct member *member,
                            struct numbering *sections)
{
    size_t private = 0;

    for (size_t k = 0; k < g->nblobs; k++) {
        struct blob *blob = &m->blobs.blob[member->blob[k]];
        size_t bytes = ti__blob_bytes(&m->blobs, member->blob[k]);

        if (blob->number != PRIVATE)
            continue;
        if (blob->uses == 1 && bytes < TI_APART_BYTES && bytes <= TI_PRIVATE_MAX - private) {
            private += bytes;
            continue;
        }
        blob->number = (uint32_t)sections->n;
        sections->index =
            ti_grow(sections->index, &sections->cap, sections->n + 1, sizeof *sections->index);
        sections->index[sections->n++] = member->blob[k];
    }
}

static void number_blobs(struct ti_merger *m, struct group *const *order,
                         struct numbering *sections)
{
    for (size_t i = 0; i < m->blobs.map.n; i++)
        m->blobs.blob[i].number = PRIVATE;
    for (size_t i = 0; i < m->patterns.n; i++)
        for (size_t k = 0; k < order[i]->n; k++)
            number_blobs_of(m, order[i], order[i]->member[k], sections);
}

static ti_status write_groups(struct ti_merger *m, struct group *const *order,
                              struct sections *sections, uint64_t *npages, struct ti_err *err)
{
    struct ti_buffer section = {0};
    ti_status st = TI_OK;

    *npages = 0;
    for (size_t i = 0; i < m->patterns.n && !st; i++) {
        section.n = 0;
        ti__group_put(m, order[i], *npages, &section);
        *npages += order[i]->pages.n / sizeof(uint32_t);
        st = ti__sections_put(sections, &section, err);
    }
    free(section.data);
    return st;
}

static ti_status write_pages(struct ti_merger *m, const struct group *g, struct sections *sections,
                             struct ti_err *err)
{
    struct ti_buffer section = {0};
    size_t first = 0;
    ti_status st = TI_OK;

    for (size_t at = 0; at < g->pages.n && !st; at += sizeof(uint32_t)) {
        uint32_t members;

        memcpy(&members, g->pages.data + at, sizeof members);
        section.n = 0;
        st = ti__page_put(m, g, first, members, &section, err);
        if (!st)
            st = ti__sections_put(sections, &section, err);
        first += members;
    }
    free(section.data);
    return st;
}

static ti_status write_blobs(struct ti_merger *m, const struct numbering *blobs,
                             struct sections *sections, struct ti_err *err)
{
    struct ti_buffer section = {0};
    ti_status st = TI_OK;

    for (size_t i = 0; i < blobs->n && !st; i++) {
        section.n = 0;
        st = ti__blobs_put(&m->blobs, blobs->index[i], &section, err);
        if (!st)
            st = ti__sections_put(sections, &section, err);
    }
    free(section.data);
    return st;
}

static void put_run(struct ti_buffer *out, uint64_t n, uint64_t group)
{
    if (!n)
        return;
    ti_buffer_varint(out, n);
    ti_buffer_varint(out, group);
}

/* Runs of ranks for the index: 1 + the group of each rank, 0 if it is missing. */
static void put_ranks(const struct ti_merger *m, struct group *const *order, struct ti_buffer *out)
{
    size_t cap = 0;
    uint32_t *of = ti_grow(NULL, &cap, m->nranks, sizeof *of);
    uint64_t n = 0;

    for (size_t i = 0; i < m->patterns.n; i++)
        for (size_t k = 0; k < order[i]->n; k++)
            of[order[i]->member[k]->rank] = (uint32_t)i + 1;
    for (uint32_t rank = 0; rank < m->nranks; rank++) {
        if (rank && of[rank] != of[rank - 1]) {
            put_run(out, n, of[rank - 1]);
            n = 0;
        }
        n++;
    }
    put_run(out, n, of[m->nranks - 1]);
    free(of);
}

ti_status ti_merger_write(struct ti_merger *m, int fd, const char *name, struct ti_err *err)
{
    struct group **order = sort(m);
    struct numbering blobs = {0};
    struct sections sections = {.fd = fd, .name = name};
    struct ti_buffer ranks = {0};
    uint64_t counts[3] = {m->patterns.n};
    ti_status st;

    number_blobs(m, order, &blobs);
    counts[2] = blobs.n;
    put_ranks(m, order, &ranks);
    st = ti__sections_begin(&sections, m->nranks, m->run_id, err);
    if (!st)
        st = write_groups(m, order, &sections, &counts[1], err);
    for (size_t i = 0; i < m->patterns.n && !st; i++)
        st = write_pages(m, order[i], &sections, err);
    if (!st)
        st = write_blobs(m, &blobs, &sections, err);
    if (!st)
        st = ti__sections_end(&sections, counts, &ranks, err);
    ti__sections_free(&sections);
    free(ranks.data);
    free(blobs.index);
    free(order);
    return st;
}

ti_status ti_merger_create(struct ti_merger *m, const char *path, struct ti_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ti_status st;

    if (fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    st = ti_merger_write(m, fd, path, err);
    if (close(fd) != 0 && !st)
        st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    return st;
}

void ti_merger_free(struct ti_merger *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->patterns.n; i++) {
        struct group *g = &m->group[i];

        for (size_t k = 0; k < g->n; k++)
            free(g->member[k]);
        free(g->member);
        free(g->kind);
        free(g->pages.data);
        free((void *)(uintptr_t)g->pattern.data);
    }
    free(m->group);
    ti_map_free(&m->patterns);
    ti__blobs_close(&m->blobs);
    ti_ranges_free(&m->ranks);
    free(m);
}
