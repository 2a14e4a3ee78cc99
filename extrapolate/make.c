#include "extrapolate/make.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/folded.h"
#include "common/cli.h"
#include "common/scratch.h"
#include "event/symbol.h"
#include "extrapolate/making.h"
#include "merged/builder.h"
#include "merged/merger.h"
#include "sound/written.h"
#include "trace/caveats.h"

/* The hash of a rank with more events is that of its record. */
#define HASHED_EVENTS (UINT64_C(1) << 14)

#define HINT                                                                                       \
    "messages, collectives or requests of the ranks do not fit together, so the rules do not "     \
    "hold; "                                                                                       \
    "more inputs may tell them apart, and --explain shows them"

/* The members of a communicator as the last rank had them: many ranks have the same ones, and a
 * list has as many members as there are ranks. */
struct members {
    int64_t first, size;
    struct ti_buffer made;   /* as the rules gave it */
    struct ti_buffer stored; /* as it is stored */
};

/* The members of the communicators, by their index. */
struct all_members {
    struct members *of;
    size_t n, cap;
};

/* A rank in the making. */
struct rank {
    struct ti_making it;
    struct ti_builder *b;
    struct all_members *members;
    struct ti_call *symbol;
    size_t nsymbols, symbols_cap;
};

static void refuse(struct rank *r, const char *why)
{
    ti_making_refuse(&r->it, why);
}

static int64_t next(struct rank *r)
{
    return ti_making_next(&r->it);
}

/* --------------------------------------------------------------------- columns -- */

/* The `n` values of a list; release it with free(). */
static int64_t *values_of(struct rank *r, int64_t first, const struct ti_buffer *blob, int64_t n)
{
    uint64_t v = 0;
    struct ti_cursor c;
    size_t cap = 0;
    int64_t *out;

    if (n < 0 || n > INT32_MAX) {
        refuse(r, "a list has no length");
        n = 0;
    }
    out = ti_grow(NULL, &cap, (size_t)n + 1, sizeof *out);
    ti_cursor_start(&c, (uint64_t)first, blob->data, blob->n);
    for (int64_t i = 0; i < n && !r->it.why; i++) {
        if (!ti_cursor_next(&c, &v))
            refuse(r, "a list has no pattern");
        out[i] = (int64_t)v;
    }
    return out;
}

/* The tokens of a list, as its form has them. */
static struct ti_buffer tokens_of(const void *list, int64_t n,
                                  int64_t (*at)(const void *list, int64_t i))
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};
    struct ti_buffer blob = {.data = NULL};

    for (int64_t i = 0; i < n; i++)
        ti_column_add(&pool, &column, (uint64_t)at(list, i));
    ti_column_put(&blob, &column);
    ti_pool_free(&pool);
    return blob;
}

static int64_t plain(const void *list, int64_t i)
{
    return ti_vec_at(list, i);
}

static int64_t member(const void *list, int64_t i)
{
    return ((const int32_t *)list)[i];
}

static int64_t value(const void *list, int64_t i)
{
    return ((const int64_t *)list)[i];
}

/* ----------------------------------------------------------------------- calls -- */

static int64_t next_vector(struct rank *r, uint32_t i, int v)
{
    int64_t element[TI_FORM_SHORT], *list, number, n, first;
    struct ti_buffer tokens, blob = {.data = NULL};
    struct ti_vec vec;
    bool constant;

    if (!ti_shape_vector(r->it.t->f, i, v, &constant, &vec))
        refuse(r, "its record is malformed");
    if (vec.len <= TI_FORM_SHORT) {
        for (int64_t k = 0; k < vec.len; k++)
            element[k] = next(r);
        return ti_builder_vector(r->b, element, vec.len);
    }
    n = next(r);
    tokens = tokens_of(&vec, vec.len, plain);
    first = next(r);
    ti_making_blob(&r->it, &(struct ti_bytes){tokens.data, tokens.n}, &blob);
    list = values_of(r, first, &blob, n);
    number = ti_builder_vector(r->b, list, r->it.why ? 0 : n);
    free(tokens.data);
    free(blob.data);
    free(list);
    return number;
}

static uint32_t symbol_of(struct rank *r, const struct ti_call *call)
{
    for (size_t k = 0; k < r->nsymbols; k++)
        if (memcmp(&r->symbol[k], call, sizeof *call) == 0)
            return (uint32_t)k;
    r->symbol = ti_grow(r->symbol, &r->symbols_cap, r->nsymbols + 1, sizeof *r->symbol);
    r->symbol[r->nsymbols++] = *call;
    return ti_builder_symbol(r->b, call);
}

static void put_columns(struct rank *r, uint32_t i)
{
    struct ti_shape_node node = ti_shape_node(r->it.t->f, i);

    for (uint32_t k = 0; k < node.columns; k++) {
        struct ti_shape_column c = ti_shape_column(r->it.t->f, i, k);
        struct ti_buffer blob = {.data = NULL};
        int64_t first;

        if (c.part.kind == TI_PART_EXTRAS)
            continue;
        first = next(r);
        if (c.part.kind != TI_PART_VOLUMES)
            ti_making_blob(&r->it, &c.blob, &blob);
        ti_builder_encoded(r->b, first, &(struct ti_bytes){blob.data, blob.n});
        free(blob.data);
    }
}

static void put_call(struct rank *r, uint32_t i)
{
    struct ti_shape_node node = ti_shape_node(r->it.t->f, i);
    struct ti_call is, call;
    struct ti_event constant;
    uint32_t kinds;

    ti_shape_symbol(r->it.t->f, node.symbol, &is);
    memset(&call, 0, sizeof call);
    call.op = is.op;
    call.mask = is.mask;
    call.site = is.site;
    call.columns = is.columns;
    constant = (struct ti_event){.op = is.op, .mask = is.mask & ~is.columns};
    memcpy(constant.arg, is.arg, sizeof is.arg);
    kinds = ti_event_kinds(&constant);
    for (uint32_t rest = is.mask & ~is.columns; rest; rest &= rest - 1) {
        uint32_t field = (uint32_t)__builtin_ctz(rest);

        call.arg[field] = ti_kind_value(kinds, field);
        if (!call.arg[field])
            call.arg[field] = next(r);
    }
    for (uint32_t rest = ti_op_vecs(is.op); rest; rest &= rest - 1)
        call.vector[__builtin_ctz(rest)] = next_vector(r, i, __builtin_ctz(rest));
    ti_builder_call(r->b, symbol_of(r, &call));
    put_columns(r, i);
}

/* ----------------------------------------------------------------------- nodes -- */

/* Put the steps from `step` to the end of their loop; returns the step behind it. */
static size_t put_steps(struct rank *r, size_t step)
{
    for (; step < r->it.c->nsteps && !r->it.why; step++) {
        const struct ti_form_step *s = &r->it.c->step[step];
        size_t body = step + 1, slot, end = body;
        int64_t times;

        switch (s->kind) {
        case TI_STEP_CALL:
            put_call(r, s->node);
            break;
        case TI_STEP_LOOP:
            ti_builder_loop(r->b);
            put_columns(r, s->node);
            step = put_steps(r, body);
            ti_builder_end_loop(r->b);
            break;
        case TI_STEP_UNROLLED:
            times = next(r);
            slot = r->it.slot;
            if (times < 1)
                refuse(r, "calls would repeat less than once");
            for (int64_t t = 0; t < times && !r->it.why; t++) {
                r->it.slot = slot;
                r->it.at.t = t;
                end = put_steps(r, body);
            }
            r->it.at.t = 0;
            step = end;
            break;
        case TI_STEP_END:
            return step;
        }
    }
    return step;
}

static struct members *members_of(struct all_members *all, size_t comm)
{
    all->of = ti_grow(all->of, &all->cap, comm + 1, sizeof *all->of);
    while (all->n <= comm)
        all->of[all->n++] = (struct members){.size = -1};
    return &all->of[comm];
}

static void free_members(struct all_members *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->of[i].made.data);
        free(all->of[i].stored.data);
    }
    free(all->of);
}

/* Take a list of members that the rank before did not have; takes `made`. */
static void store_members(struct rank *r, struct members *to, int64_t first, int64_t size,
                          struct ti_buffer *made)
{
    int64_t *list = values_of(r, first, made, size);

    free(to->made.data);
    free(to->stored.data);
    *to = (struct members){first, r->it.why ? -1 : size, *made,
                           tokens_of(list, r->it.why ? 0 : size, value)};
    *made = (struct ti_buffer){.data = NULL};
    free(list);
}

static bool is_same(const struct ti_buffer *a, const struct ti_buffer *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->data, b->data, a->n) == 0);
}

static void put_comm(struct rank *r, const struct ti_comm *is)
{
    struct ti_comm comm = {.index = is->index, .kind = is->kind};
    struct ti_buffer tokens = tokens_of(is->member, is->size, member), made = {.data = NULL};
    struct members *last = members_of(r->members, is->index);
    int64_t first;

    comm.rank = next(r);
    comm.size = next(r);
    first = next(r);
    ti_making_blob(&r->it, &(struct ti_bytes){tokens.data, tokens.n}, &made);
    if (first != last->first || comm.size != last->size || !is_same(&made, &last->made))
        store_members(r, last, first, comm.size, &made);
    if (!r->it.why)
        ti_builder_comm_encoded(r->b, &comm, first,
                                &(struct ti_bytes){last->stored.data, last->stored.n});
    free(tokens.data);
    free(made.data);
}

static void put_comms(struct rank *r)
{
    const struct ti_comm *is;

    for (int64_t i = 0; (is = ti_reader_comm(r->it.t->r, i)); i++)
        put_comm(r, is);
}

/* Metadata that was measured of the whole run, or is of another number of ranks. */
static bool is_left_out(const char *key)
{
    static const char *const keys[] = {
        "whole", "outside", "blocks",       "blocks_own",         "app_seconds", "flush_seconds",
        "host",  "pid",     "uncounted_in", TI_INFO_EXTRAPOLATED, NULL};

    for (const char *const *k = keys; *k; k++)
        if (strcmp(*k, key) == 0)
            return true;
    return false;
}

static void put_texts(struct rank *r, const struct ti_origin *origin)
{
    static const enum ti_string kinds[] = {TI_STRING_CALL, TI_STRING_FILE, TI_STRING_SITE};
    const char *key, *value, *string;

    ti_builder_end(r->b, TI_END_COMPLETE);
    ti_builder_info(r->b, TI_INFO_EXTRAPOLATED, origin->text, false);
    ti_builder_info(r->b, TI_INFO_EXTRAPOLATED_FROM, origin->from, false);
    for (int i = 0; ti_reader_info_at(r->it.t->r, i, &key, &value); i++)
        if (!is_left_out(key))
            ti_builder_info(r->b, key, value, i >= ti_reader_info_first(r->it.t->r));
    for (int k = 0; k < 3; k++)
        for (int64_t i = 1; (string = ti_reader_string(r->it.t->r, kinds[k], i)); i++)
            ti_builder_string(r->b, kinds[k], string);
}

static ti_status make_rank(const struct ti_models *m, const struct ti_template *templates,
                           const struct ti_origin *origin, struct all_members *members,
                           int64_t rank, struct ti_record *out, struct ti_err *err)
{
    struct rank r = {.members = members};
    ti_status st;

    ti_making_start(&r.it, m, templates, rank);
    r.b = ti_builder_new((uint32_t)rank, 0);
    put_texts(&r, origin);
    put_comms(&r);
    put_steps(&r, 0);
    st = r.it.why ? ti_making_fails(&r.it, err)
                  : ti_builder_finish(r.b, (uint32_t)m->np, HASHED_EVENTS, out, err);
    ti_builder_free(r.b);
    free(r.symbol);
    return st;
}

/* ------------------------------------------------------------------------- all -- */

static ti_status make_ranks(const struct ti_models *m, const struct ti_template *templates,
                            const struct ti_origin *origin, struct ti_merger *merger,
                            struct ti_err *err)
{
    struct all_members members = {.n = 0};
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < m->np && !st; rank++) {
        struct ti_record record;

        ti_progress("making", "ranks", rank, m->np);
        st = ti_stop_check(err);
        if (!st)
            st = make_rank(m, templates, origin, &members, rank, &record, err);
        if (st)
            break;
        st = ti_merger_add(merger, &record, err);
        ti_record_free(&record);
    }
    ti_progress_end(!st);
    free_members(&members);
    return st;
}

ti_status ti_extrapolation_write(const struct ti_models *m, const struct ti_origin *origin,
                                 const char *path, struct ti_err *err)
{
    struct ti_merger *merger;
    struct ti_template *t;
    ti_status st = ti_merger_new((uint32_t)m->np, origin->run_id, NULL, &merger, err);

    if (st)
        return st;
    st = ti_templates_open(m->in, &t, err);
    if (!st)
        st = make_ranks(m, t, origin, merger, err);
    if (!st)
        st = ti_merger_create(merger, path, err);
    if (!st)
        st = ti_written_check(path, "made by these rules", HINT, err);
    ti_templates_close(m->in, t);
    ti_merger_free(merger);
    return st;
}
