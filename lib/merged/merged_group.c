#include <stdlib.h>

#include "merged/merged_internal.h"

void ti__merged_group_free(struct merged_group *g)
{
    free(g->bytes);
    free(g->params);
    free(g->paged);
    *g = (struct merged_group){0};
}

/* ----------------------------------------------------------------- group -- */

/* Pattern and counts, from *p on. */
static bool parse_head(struct merged_group *g, const uint8_t **p, const uint8_t *end)
{
    uint64_t bytes, numbers, blobs;

    if (!ti_get_varint(p, end, &bytes) || bytes > TI_PATTERN_MAX || bytes > (uint64_t)(end - *p))
        return false;
    g->pattern = (struct ti_bytes){*p, bytes};
    *p += bytes;
    if (!ti_get_varint(p, end, &numbers) || !ti_get_varint(p, end, &blobs) ||
        numbers > TI_COLUMNS_MAX || blobs > TI_COLUMNS_MAX - numbers ||
        numbers + blobs > (uint64_t)(end - *p))
        return false;
    g->nnumbers = numbers;
    g->nblobs = blobs;
    g->kind = *p;
    *p += numbers + blobs;
    return true;
}

static bool parse_columns(struct merged_group *g, const struct ti_members *members, uint64_t nblobs,
                          const uint8_t **p, const uint8_t *end)
{
    for (size_t k = 0; k < g->nnumbers + g->nblobs; k++) {
        struct ti_column_rule rule = {k >= g->nnumbers, nblobs};

        g->params[k] = (uint32_t)(*p - g->bytes);
        if (!ti__column_check(g->kind[k], p, end, members, &rule))
            return false;
        if (!ti_column_in_pages(g->kind[k]))
            continue;
        g->nfixed += k < g->nnumbers;
        g->paged[g->npaged++] = (uint32_t)k;
    }
    return true;
}

/* Runs of pages: all members are in one. */
static bool parse_pages(struct merged_group *g, uint32_t nmembers, uint64_t npages,
                        const uint8_t **p, const uint8_t *end)
{
    uint64_t left = nmembers, pages, members;

    if (!ti_get_varint(p, end, &g->first_page) || g->first_page > npages)
        return false;
    g->pages = *p;
    npages -= g->first_page;
    while (left) {
        if (!ti_get_varint(p, end, &pages) || !ti_get_varint(p, end, &members) || !pages ||
            !members || pages > npages || members > left || pages > left / members)
            return false;
        npages -= pages;
        left -= pages * members;
    }
    return true;
}

static const char *parse_group(const struct ti_merged *m, struct merged_group *g)
{
    const uint8_t *p = g->bytes, *end = g->bytes + g->nbytes;
    const struct ti_members *members = &m->members[g->number];
    static const char wrong[] = "a group is malformed";

    if (!parse_head(g, &p, end))
        return wrong;
    g->params = malloc((g->nnumbers + g->nblobs + 1) * sizeof *g->params);
    g->paged = malloc((g->nnumbers + g->nblobs + 1) * sizeof *g->paged);
    if (!g->params || !g->paged)
        return "memory is too short for a group";
    if (!parse_columns(g, members, m->counts[2], &p, end) ||
        (g->npaged && !parse_pages(g, members->n, m->counts[1], &p, end)))
        return wrong;
    return p == end ? NULL : wrong;
}

ti_status ti__merged_read_group(struct ti_merged *m, uint32_t number, struct merged_group *g,
                                struct ti_err *err)
{
    struct ti_bytes section;
    const char *wrong;
    ti_status st;

    st = ti__merged_section(m, number, &section, err);
    if (st)
        return st;
    g->bytes = calloc(section.n + TI_VARINT_MAX, 1);
    if (!g->bytes)
        return ti__merged_no_memory(m, err);
    memcpy(g->bytes, section.data, section.n);
    g->nbytes = section.n;
    g->number = number;
    wrong = parse_group(m, g);
    if (wrong) {
        ti__merged_group_free(g);
        return ti__merged_section_damaged(m, number, err, wrong);
    }
    g->loaded = true;
    return TI_OK;
}

ti_status ti__merged_load_group(struct ti_merged *m, uint32_t number, struct ti_err *err)
{
    if (m->group.loaded && m->group.number == number)
        return TI_OK;
    ti__merged_group_free(&m->group);
    return ti__merged_read_group(m, number, &m->group, err);
}

/* ----------------------------------------------------------------- pages -- */

bool ti__merged_next_page(const struct merged_group *g, struct page *page)
{
    const uint8_t *end = g->bytes + g->nbytes;
    uint64_t pages, members;

    page->number = page->next ? page->number + 1 : g->first_page;
    page->first += page->n;
    if (page->more) {
        page->more--;
        return true;
    }
    if (!page->next)
        page->next = g->pages;
    if (!page->next || !ti_get_varint(&page->next, end, &pages) ||
        !ti_get_varint(&page->next, end, &members))
        return false;
    page->more = pages - 1;
    page->n = (uint32_t)members;
    return true;
}

bool ti__merged_find_page(const struct ti_merged *m, uint32_t member, struct page *page)
{
    const struct merged_group *g = &m->group;
    const uint8_t *p = g->pages, *end = g->bytes + g->nbytes;
    uint64_t pages, members, first = 0, number = g->first_page;

    while (p && ti_get_varint(&p, end, &pages) && ti_get_varint(&p, end, &members)) {
        uint64_t at = (member - first) / members;

        if (at < pages) {
            page->number = number + at;
            page->first = (uint32_t)(first + at * members);
            page->n = (uint32_t)members;
            return true;
        }
        number += pages;
        first += pages * members;
    }
    return false;
}

/* A page while one of its members is read. */
struct reading {
    const struct ti_merged *m;
    const struct merged_group *g;
    const struct page *page;
    uint32_t at; /* the member in the page */
    const uint8_t *p, *end;
    int64_t *value;  /* of one column */
    bool *private;   /* of each member, by column of blobs */
    uint64_t *start; /* of the member's blob, by column of blobs, behind the lengths */
};

static bool read_columns(struct reading *r, int64_t *number, uint32_t *blob)
{
    const struct merged_group *g = r->g;
    uint32_t n = r->page->n;

    for (size_t k = 0; k < g->npaged; k++) {
        bool *private = k < g->nfixed ? NULL : r->private + (k - g->nfixed) * n;

        if (g->kind[g->paged[k]] == TI_COLUMN_PRIVATE) {
            memset(private, true, n);
            blob[g->paged[k] - g->nnumbers] = UINT32_MAX;
            continue;
        }
        if (!ti__values_get(&r->p, r->end, r->value, n))
            return false;
        if (!private) {
            number[g->paged[k]] = r->value[r->at];
            continue;
        }
        for (uint32_t i = 0; i < n; i++) {
            if ((uint64_t)r->value[i] > r->m->counts[2])
                return false;
            private[i] = r->value[i] == 0;
        }
        blob[g->paged[k] - g->nnumbers] = (uint32_t)(r->value[r->at] - 1);
    }
    return true;
}

/* The lengths of private blobs, behind which these follow. */
static bool read_private(struct reading *r, struct ti_bytes *bytes)
{
    const struct merged_group *g = r->g;
    uint64_t sum = 0, length;

    for (size_t k = g->nfixed; k < g->npaged; k++) {
        const bool *private = r->private + (k - g->nfixed) * r->page->n;

        for (uint32_t i = 0; i < r->page->n; i++) {
            if (!private[i])
                continue;
            if (!ti_get_varint(&r->p, r->end, &length) || length > TI_CHUNK_RAW_MAX)
                return false;
            if (i == r->at) {
                r->start[k - g->nfixed] = sum;
                bytes[g->paged[k] - g->nnumbers].n = length;
            }
            sum += length;
        }
    }
    if (sum != (uint64_t)(r->end - r->p))
        return false;
    for (size_t k = g->nfixed; k < g->npaged; k++)
        if (r->private[(k - g->nfixed) * r->page->n + r->at])
            bytes[g->paged[k] - g->nnumbers].data = r->p + r->start[k - g->nfixed];
    return true;
}

ti_status ti__merged_read_page(struct ti_merged *m, const struct page *page, uint32_t member,
                               int64_t *number, uint32_t *blob, struct ti_bytes *bytes,
                               struct ti_err *err)
{
    const struct merged_group *g = &m->group;
    struct reading r = {m, g, page, member - page->first, NULL, NULL, NULL, NULL, NULL};
    uint64_t section = m->counts[0] + page->number;
    struct ti_bytes raw;
    size_t nblobs = g->npaged - g->nfixed;
    bool good;
    ti_status st = ti__merged_section(m, section, &raw, err);

    if (st)
        return st;
    /* each value and each length takes a byte */
    if (g->npaged > raw.n / page->n)
        return ti__merged_section_damaged(m, section, err, "a page is malformed");
    r.p = raw.data;
    r.end = raw.data + raw.n;
    r.value = malloc(page->n * sizeof *r.value);
    r.private = malloc(nblobs * page->n + 1);
    r.start = malloc((nblobs + 1) * sizeof *r.start);
    if (r.value && r.private && r.start) {
        good = read_columns(&r, number, blob) && read_private(&r, bytes);
        st = good ? TI_OK : ti__merged_section_damaged(m, section, err, "a page is malformed");
    } else {
        st = ti__merged_no_memory(m, err);
    }
    free(r.value);
    free(r.private);
    free(r.start);
    return st;
}

ti_status ti__merged_page_values(struct ti_merged *m, const struct merged_group *g,
                                 const struct page *page, size_t first, size_t n, size_t members,
                                 int64_t *value, struct ti_err *err)
{
    uint64_t section = m->counts[0] + page->number;
    const uint8_t *p, *end;
    struct ti_bytes raw;
    int64_t *one;
    bool good;
    ti_status st = ti__merged_section(m, section, &raw, err);

    if (st)
        return st;
    p = raw.data;
    end = p + raw.n;
    good = page->n <= raw.n; /* each value takes a byte, and so does the length of a private blob */
    one = good ? malloc(page->n * sizeof *one) : NULL;
    if (good && !one)
        return ti__merged_no_memory(m, err);
    for (size_t i = 0; good && i < g->npaged && g->paged[i] < first + n; i++) {
        size_t k = g->paged[i];
        int64_t *to = k < first ? NULL : value + (k - first) * members + page->first;

        if (g->kind[k] == TI_COLUMN_PAGED)
            good = ti__values_get(&p, end, one, page->n);
        for (uint32_t j = 0; good && j < page->n; j++) {
            if (g->kind[k] == TI_COLUMN_PRIVATE)
                one[j] = 0;
            if (k >= g->nnumbers)
                good = (uint64_t)one[j] <= m->counts[2];
            if (good && to)
                to[j] = k < g->nnumbers ? one[j] : one[j] - 1;
        }
    }
    free(one);
    return good ? TI_OK : ti__merged_section_damaged(m, section, err, "a page is malformed");
}
