#include "merged/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "merged/merged_internal.h"

struct ti_view {
    struct ti_merged *m;
    struct merged_group group;
    struct ti_ranges ranks;
    struct ti_reader *reader;
    struct ti_record_parts parts; /* none of copies */
};

/* ------------------------------------------------------------------- groups -- */

uint32_t ti_merged_groups(const struct ti_merged *m)
{
    return (uint32_t)m->counts[0];
}

int64_t ti_merged_group_of(const struct ti_merged *m, int64_t rank)
{
    return ti_merged_has(m, rank) ? (int64_t)ti__merged_run(m, rank)->group - 1 : -1;
}

/* Open the trace of the lowest member, and find the meaning of its parts. */
static ti_status open_lowest(struct ti_view *v, struct ti_err *err)
{
    struct ti_merged *m = v->m;
    int64_t rank = m->members[v->group.number].first;
    struct ti_record record;
    const char *wrong = NULL;
    char *name;
    ti_status st = ti_merged_record(m, rank, &record, err);

    if (st)
        return st;
    if (asprintf(&name, "%s, rank %" PRId64, m->name, rank) < 0) {
        ti_record_free(&record);
        return ti__merged_no_memory(m, err);
    }
    errno = 0;
    if (!ti_record_is_copy(&record))
        wrong = ti_record_find_parts(&record, m->nranks, &v->parts);
    if (wrong && errno == ENOMEM)
        st = ti__merged_no_memory(m, err);
    else if (wrong)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: %s", name, wrong);
    if (!st)
        st = ti_reader_open_record(&record, m->nranks, m->run_id, name, &v->reader, err);
    else
        ti_record_free(&record);
    if (!st)
        st = ti_reader_skip(v->reader, err);
    free(name);
    return st;
}

ti_status ti_view_open(struct ti_merged *m, uint32_t group, struct ti_view **out,
                       struct ti_err *err)
{
    struct ti_view *v = calloc(1, sizeof *v);
    ti_status st = TI_OK;

    if (!v)
        return ti__merged_no_memory(m, err);
    v->m = m;
    for (const struct run *run = m->run; run < m->run + m->nruns; run++)
        if (!st && run->group == group + 1 &&
            !ti_ranges_put(&v->ranks, run->first, (int64_t)run->first + run->n - 1))
            st = ti__merged_no_memory(m, err);
    if (!st)
        st = ti__merged_read_group(m, group, &v->group, err);
    if (!st)
        st = open_lowest(v, err);
    if (st)
        ti_view_close(v);
    else
        *out = v;
    return st;
}

void ti_view_close(struct ti_view *v)
{
    if (!v)
        return;
    ti_reader_close(v->reader);
    ti_record_parts_free(&v->parts);
    ti__merged_group_free(&v->group);
    ti_ranges_free(&v->ranks);
    free(v);
}

const struct ti_ranges *ti_view_ranks(const struct ti_view *v)
{
    return &v->ranks;
}

struct ti_reader *ti_view_reader(const struct ti_view *v)
{
    return v->reader;
}

/* -------------------------------------------------------------------- parts -- */

size_t ti_view_numbers(const struct ti_view *v)
{
    return v->parts.nnumbers;
}

size_t ti_view_parts(const struct ti_view *v)
{
    return v->parts.nnumbers + v->parts.nblobs;
}

struct ti_record_part ti_view_part(const struct ti_view *v, size_t k)
{
    size_t numbers = v->parts.nnumbers;

    return k < numbers ? v->parts.number[k] : v->parts.blob[k - numbers];
}

int64_t ti_view_find(const struct ti_view *v, const struct ti_record_part *part, bool blob)
{
    size_t k = blob ? v->parts.nnumbers : 0, end = blob ? ti_view_parts(v) : v->parts.nnumbers;

    for (; k < end; k++) {
        struct ti_record_part is = ti_view_part(v, k);

        if (is.kind == part->kind && is.which == part->which && is.of == part->of &&
            is.arrival == part->arrival)
            return (int64_t)k;
    }
    return -1;
}

/* ----------------------------------------------------------------- formulas -- */

/* Parameters were checked when the group was read. */
static uint64_t get(const uint8_t **p)
{
    uint64_t v = 0;

    ti_get_varint(p, *p + TI_VARINT_MAX, &v);
    return v;
}

struct ti_formula ti_view_formula(const struct ti_view *v, size_t k)
{
    const uint8_t *p = v->group.bytes + v->group.params[k];
    struct ti_formula f = {.kind = v->group.kind[k]};

    switch (f.kind) {
    case TI_COLUMN_CONSTANT:
        f.a = ti_unzigzag(get(&p));
        break;
    case TI_COLUMN_LINEAR:
        f.a = ti_unzigzag(get(&p));
        f.b = ti_unzigzag(get(&p));
        break;
    case TI_COLUMN_XOR:
        f.a = (int64_t)get(&p);
        break;
    case TI_COLUMN_TABLE:
        f.q = get(&p);
        f.p = get(&p);
        break;
    case TI_COLUMN_SERIES:
    case TI_COLUMN_PAGED:
    case TI_COLUMN_PRIVATE:
        break;
    }
    return f;
}

char *ti_formula_text(const struct ti_formula *f, char *buf, size_t room)
{
    uint64_t slope = f->b < 0 ? -(uint64_t)f->b : (uint64_t)f->b;
    char index[64];

    switch (f->kind) {
    case TI_COLUMN_CONSTANT:
        snprintf(buf, room, "%" PRId64, f->a);
        break;
    case TI_COLUMN_LINEAR:
        snprintf(buf, room, "%" PRId64 " %c %" PRIu64 " * rank", f->a, f->b < 0 ? '-' : '+', slope);
        break;
    case TI_COLUMN_XOR:
        snprintf(buf, room, "(rank xor %" PRId64 ") - rank", f->a);
        break;
    case TI_COLUMN_TABLE:
        snprintf(index, sizeof index, f->q > 1 ? "rank / %" PRIu64 : "rank", f->q);
        if (f->p)
            snprintf(buf, room, "table of %s %% %" PRIu64, index, f->p);
        else
            snprintf(buf, room, "table of %s", index);
        break;
    case TI_COLUMN_SERIES:
    case TI_COLUMN_PAGED:
        snprintf(buf, room, "a list");
        break;
    case TI_COLUMN_PRIVATE:
        snprintf(buf, room, "all different");
        break;
    }
    return buf;
}

/* ------------------------------------------------------------------- values -- */

/* The values of a part that is in no page. */
static void put_function(const struct ti_view *v, size_t k, int64_t *value)
{
    const uint8_t *p = v->group.bytes + v->group.params[k];
    uint32_t member = 0;

    ti_ranges_foreach (&v->ranks, rank) {
        value[member] = ti__column_at(v->group.kind[k], p, (uint32_t)rank, member);
        member++;
    }
}

ti_status ti_view_values(struct ti_view *v, size_t first, size_t n, int64_t *value,
                         struct ti_err *err)
{
    const struct merged_group *g = &v->group;
    size_t members = v->m->members[g->number].n;
    struct page page = {0};
    bool paged = false;
    ti_status st = TI_OK;

    for (size_t k = first; k < first + n; k++) {
        if (ti_column_in_pages(g->kind[k]))
            paged = true;
        else
            put_function(v, k, value + (k - first) * members);
    }
    while (paged && !st && ti__merged_next_page(g, &page))
        st = ti__merged_page_values(v->m, g, &page, first, n, members, value, err);
    return st;
}

ti_status ti_view_record(struct ti_view *v, int64_t rank, struct ti_record *out, struct ti_err *err)
{
    return ti_merged_record(v->m, rank, out, err);
}
