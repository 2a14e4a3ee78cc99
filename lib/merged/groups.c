#include <stdlib.h>

#include "merged/merger_internal.h"

/* A function takes at most FUNCTION_MOST bytes, and all of a group together FUNCTIONS_MOST, so that
 * a rank is opened fast. */
enum { FUNCTION_LEAST = 24, FUNCTION_MOST = 512, FUNCTIONS_MOST = 8 << 20 };

static uint32_t blob_number(const struct ti_merger *m, const struct member *member, size_t k)
{
    return m->blobs.blob[member->blob[k]].number;
}

static size_t private_bytes(const struct ti_merger *m, const struct member *member, size_t k)
{
    return ti__blob_bytes(&m->blobs, member->blob[k]);
}

/* ---------------------------------------------------------------- groups -- */

/* The columns of a group while functions are found for them. */
struct fitting {
    const struct ti_merger *m;
    const struct group *g;
    uint32_t *rank;
    int64_t *value;
    size_t most;
    struct ti_buffer *params;
};

static enum ti_column_kind fit_number(const struct fitting *f, size_t k)
{
    for (size_t i = 0; i < f->g->n; i++)
        f->value[i] = f->g->member[i]->number[k];
    return ti__column_fit(f->rank, f->value, f->g->n, false, f->most, f->params);
}

static enum ti_column_kind fit_blob(const struct fitting *f, size_t k)
{
    size_t private = 0;

    for (size_t i = 0; i < f->g->n; i++) {
        f->value[i] = blob_number(f->m, f->g->member[i], k);
        private += f->value[i] == PRIVATE;
    }
    if (private)
        return private == f->g->n ? TI_COLUMN_PRIVATE : TI_COLUMN_PAGED;
    return ti__column_fit(f->rank, f->value, f->g->n, true, f->most, f->params);
}

static void fit_columns(const struct ti_merger *m, struct group *g, struct ti_buffer *params)
{
    size_t columns = (size_t)g->nnumbers + g->nblobs, ranks = 0, values = 0, kinds = 0;
    struct fitting f = {.m = m, .g = g, .most = FUNCTION_MOST, .params = params};

    if (columns && f.most > FUNCTIONS_MOST / columns)
        f.most = FUNCTIONS_MOST / columns;
    if (f.most < FUNCTION_LEAST)
        f.most = FUNCTION_LEAST;
    f.rank = ti_grow(NULL, &ranks, g->n, sizeof *f.rank);
    f.value = ti_grow(NULL, &values, g->n, sizeof *f.value);
    for (size_t i = 0; i < g->n; i++)
        f.rank[i] = g->member[i]->rank;
    free(g->kind);
    g->kind = ti_grow(NULL, &kinds, columns, 1);
    for (size_t k = 0; k < g->nnumbers; k++)
        g->kind[k] = (uint8_t)fit_number(&f, k);
    for (size_t k = 0; k < g->nblobs; k++)
        g->kind[g->nnumbers + k] = (uint8_t)fit_blob(&f, k);
    free(f.rank);
    free(f.value);
}

/* Bytes of a member in a page, at most. */
static size_t member_bytes(const struct ti_merger *m, const struct group *g,
                           const struct member *member)
{
    const uint8_t *kind = g->kind + g->nnumbers;
    size_t bytes = 0;

    for (size_t k = 0; k < g->nnumbers; k++)
        bytes += g->kind[k] == TI_COLUMN_PAGED ? 8 : 0;
    for (size_t k = 0; k < g->nblobs; k++) {
        bytes += kind[k] == TI_COLUMN_PAGED ? 5 : 0;
        if (ti_column_in_pages(kind[k]) && blob_number(m, member, k) == PRIVATE)
            bytes += 3 + private_bytes(m, member, k);
    }
    return bytes;
}

static void page_end(struct group *g, uint32_t *members)
{
    ti_buffer_put(&g->pages, members, sizeof *members);
    *members = 0;
}

/* Divide the members into pages. */
static void divide(const struct ti_merger *m, struct group *g)
{
    size_t columns = (size_t)g->nnumbers + g->nblobs, first = 0, bytes = 0;
    uint32_t members = 0;

    g->pages.n = 0;
    while (first < columns && !ti_column_in_pages(g->kind[first]))
        first++;
    if (first == columns)
        return;
    for (size_t i = 0; i < g->n; i++) {
        size_t more = member_bytes(m, g, g->member[i]);

        if (members && bytes + more > TI_FILL_BYTES) {
            page_end(g, &members);
            bytes = 0;
        }
        bytes += more;
        members++;
    }
    page_end(g, &members);
}

static void put_pages(const struct group *g, uint64_t first_page, struct ti_buffer *out)
{
    size_t n = g->pages.n / sizeof(uint32_t), same;
    uint32_t members, next;

    out->no_memory |= g->pages.no_memory;
    if (!n)
        return;
    ti_buffer_varint(out, first_page);
    for (size_t i = 0; i < n; i += same) {
        memcpy(&members, g->pages.data + i * sizeof members, sizeof members);
        for (same = 1; i + same < n; same++) {
            memcpy(&next, g->pages.data + (i + same) * sizeof next, sizeof next);
            if (next != members)
                break;
        }
        ti_buffer_varint(out, same);
        ti_buffer_varint(out, members);
    }
}

void ti__group_put(struct ti_merger *m, struct group *g, uint64_t first_page, struct ti_buffer *out)
{
    struct ti_buffer params = {0};

    fit_columns(m, g, &params);
    divide(m, g);
    ti_buffer_varint(out, g->pattern.n);
    ti_buffer_put(out, g->pattern.data, g->pattern.n);
    ti_buffer_varint(out, g->nnumbers);
    ti_buffer_varint(out, g->nblobs);
    ti_buffer_put(out, g->kind, (size_t)g->nnumbers + g->nblobs);
    ti_buffer_join(out, &params);
    put_pages(g, first_page, out);
    free(params.data);
}

/* ----------------------------------------------------------------- pages -- */

/* Members of a page. */
struct page {
    struct ti_merger *m;
    const struct group *g;
    struct member **member;
    size_t n;
    int64_t *value;
    struct ti_buffer *out;
};

static void put_columns(const struct page *p)
{
    const struct group *g = p->g;

    for (size_t k = 0; k < g->nnumbers; k++) {
        if (g->kind[k] != TI_COLUMN_PAGED)
            continue;
        for (size_t i = 0; i < p->n; i++)
            p->value[i] = p->member[i]->number[k];
        ti__values_put(p->value, p->n, p->out);
    }
    for (size_t k = 0; k < g->nblobs; k++) {
        if (g->kind[g->nnumbers + k] != TI_COLUMN_PAGED)
            continue;
        for (size_t i = 0; i < p->n; i++) {
            uint32_t number = blob_number(p->m, p->member[i], k);

            p->value[i] = number == PRIVATE ? 0 : (int64_t)number + 1;
        }
        ti__values_put(p->value, p->n, p->out);
    }
}

/* Lengths of the private blobs, or the blobs. */
static ti_status put_private(const struct page *p, bool lengths, struct ti_err *err)
{
    const struct group *g = p->g;
    ti_status st = TI_OK;

    for (size_t k = 0; k < g->nblobs; k++) {
        if (!ti_column_in_pages(g->kind[g->nnumbers + k]))
            continue;
        for (size_t i = 0; i < p->n && !st; i++) {
            if (blob_number(p->m, p->member[i], k) != PRIVATE)
                continue;
            if (lengths)
                ti_buffer_varint(p->out, private_bytes(p->m, p->member[i], k));
            else
                st = ti__blobs_put(&p->m->blobs, p->member[i]->blob[k], p->out, err);
        }
    }
    return st;
}

ti_status ti__page_put(struct ti_merger *m, const struct group *g, size_t first, size_t n,
                       struct ti_buffer *out, struct ti_err *err)
{
    struct page p = {.m = m, .g = g, .member = g->member + first, .n = n, .out = out};
    size_t values = 0;
    ti_status st;

    p.value = ti_grow(NULL, &values, n, sizeof *p.value);
    put_columns(&p);
    st = put_private(&p, true, err);
    if (!st)
        st = put_private(&p, false, err);
    free(p.value);
    return st;
}
