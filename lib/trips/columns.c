#include <stdlib.h>

#include "trips/internal.h"

#define RUNS_MOST   (UINT64_C(1) << 22) /* of a column, in memory */
#define PASSES_MOST (UINT64_C(1) << 20) /* of a loop in which a column is not constant */
#define PLAIN_MOST  64                  /* runs that are written out, not repeated by a token */

static const char malformed[] = "its record is malformed";
static const char too_long[] = "too many different values would have to be repeated";

bool ti__column_is_levels(const struct ti_shape_column *c)
{
    return c->blob.n > 1 && c->blob.data[0] == TI_CODED && c->blob.data[1] == TI_CODE_LEVELS;
}

/* -------------------------------------------------------------------- output -- */

/* A column in the making: tokens (fold/column.h), and behind them values in memory.  As long as no
 * part of it is repeated by a token, all values are in memory. */
struct out {
    struct ti_pool *pool;
    struct ti_column column;
    struct ti_buffer blob;
    uint64_t first, last; /* value of the column; last value in `blob` */
    bool begun;
    uint64_t runs; /* that may still be added */
};

static void put_tokens(struct out *o, const struct ti_column *c)
{
    struct ti_run_iterator at = ti_column_runs(c);
    const struct ti_column_run *r;
    uint8_t bytes[TI_TOKEN_BYTES];

    while ((r = ti_run_next(&at))) {
        if (!o->begun)
            o->first = o->last = r->first;
        o->begun = true;
        ti_buffer_put(
            &o->blob, bytes,
            (size_t)ti_token_put(bytes, &(struct ti_token){r->n, r->first - o->last, r->stride}));
        o->last = r->first + r->stride * (r->n - 1);
    }
}

/* Add `n` values of a column, from value number `skip` on. */
static void add_part(struct out *o, const struct ti_column *c, uint64_t skip, uint64_t n)
{
    struct ti_run_iterator at = ti_column_runs(c);
    const struct ti_column_run *r;

    while (n && o->runs && (r = ti_run_next(&at))) {
        struct ti_column_run part = *r;

        if (skip >= part.n) {
            skip -= part.n;
            continue;
        }
        part.first += skip * part.stride;
        part.n -= skip;
        part.n = part.n < n ? part.n : n;
        ti_column_add_run(o->pool, &o->column, &part);
        skip = 0;
        n -= part.n;
        o->runs--;
    }
}

/* Add all values of a column `times` times: the second time as tokens, which then are repeated. */
static void add_repeated(struct out *o, const struct ti_column *c, uint64_t times)
{
    struct ti_run_iterator at = ti_column_runs(c);
    uint64_t runs = 0;
    size_t start;

    while (ti_run_next(&at))
        runs++;
    if (runs == 0)
        return;
    if (runs == 1 && !c->open.stride) {
        ti_column_add_run(o->pool, &o->column,
                          &(struct ti_column_run){c->open.first, 0, c->open.n * times});
        return;
    }
    if (times < 3 || runs <= PLAIN_MOST / times) {
        for (; times; times--)
            add_part(o, c, 0, UINT64_MAX);
        return;
    }
    put_tokens(o, &o->column);
    ti_column_free(o->pool, &o->column);
    put_tokens(o, c);
    start = o->blob.n;
    put_tokens(o, c);
    start = o->blob.n - start;
    ti_buffer_varint(&o->blob, runs * (times - 2) << 1 | 1);
    ti_buffer_varint(&o->blob, start);
}

static void put_out(struct out *o, int64_t first, struct ti_builder *b)
{
    static const struct ti_bytes empty;

    if (o->blob.n) {
        put_tokens(o, &o->column);
        ti_builder_encoded(b, (int64_t)o->first, &(struct ti_bytes){o->blob.data, o->blob.n});
    } else if (o->column.open.n) {
        ti_builder_column(b, &o->column, NULL);
    } else { /* the first value stays known to who makes the trips more again */
        ti_builder_encoded(b, first, &empty);
    }
}

/* --------------------------------------------------------------------- input -- */

/* A column that is read. */
struct in {
    struct ti_cursor cursor;
    uint64_t runs;
};

static bool take(struct in *in, uint64_t n, struct ti_pool *pool, struct ti_column *to)
{
    uint64_t value;

    if (!in->cursor.draw)
        return ti_cursor_take(&in->cursor, n, &in->runs, pool, to);
    for (; n && in->runs; n--, in->runs--) {
        if (!ti_cursor_next(&in->cursor, &value))
            return false;
        ti_column_add(pool, to, value);
    }
    return n == 0;
}

static bool leave(struct in *in, uint64_t n)
{
    uint64_t value;

    if (!in->cursor.draw)
        return ti_cursor_skip(&in->cursor, n);
    for (; n; n--)
        if (!ti_cursor_next(&in->cursor, &value))
            return false;
    return true;
}

/* ---------------------------------------------------------------------- pass -- */

/* Numbers of values before some trips of a pass. */
struct offsets {
    struct {
        uint64_t trip, value;
    } at[8];
    int n;
};

static void add_offset(struct offsets *o, uint64_t trip)
{
    int i = o->n++;

    for (; i && o->at[i - 1].trip > trip; i--)
        o->at[i] = o->at[i - 1];
    o->at[i].trip = trip;
}

static uint64_t offset_of(const struct offsets *o, uint64_t trip)
{
    int i = 0;

    while (o->at[i].trip != trip)
        i++;
    return o->at[i].value;
}

static bool find_offsets(struct ti__counter *counter, const struct ti__pass *p, struct offsets *o)
{
    uint64_t trip = 0, value = 0, more;

    *o = (struct offsets){.n = 0};
    add_offset(o, p->kept);
    add_offset(o, p->had - p->tail);
    add_offset(o, p->had);
    if (p->length) {
        add_offset(o, p->from);
        add_offset(o, p->from + p->start);
        add_offset(o, p->from + p->start + p->first);
        add_offset(o, p->from + p->last);
        add_offset(o, p->from + p->length);
    }
    for (int i = 0; i < o->n; i++) {
        if (!ti__counter_next(counter, o->at[i].trip - trip, trip == 0, &more))
            return false;
        trip = o->at[i].trip;
        o->at[i].value = value += more;
    }
    return true;
}

/* The values of a pass, and of its trips that are repeated. */
struct values {
    const struct ti__pass *pass;
    struct offsets offsets;
    bool before; /* the window has one value more: that before a repetition of the first trip */
    struct ti_column all, window, tail;
};

/* The values of the first `trips` trips that are repeated. */
static uint64_t in_window(const struct values *v, uint64_t trips)
{
    const struct ti__pass *p = v->pass;

    return offset_of(&v->offsets, p->from + trips) - offset_of(&v->offsets, p->from) +
           (v->before && trips);
}

static void add_more(const struct values *v, struct out *o)
{
    const struct ti__pass *p = v->pass;
    uint64_t start = in_window(v, p->start);

    add_part(o, &v->window, start, in_window(v, p->start + p->first) - start);
    if (p->whole)
        add_repeated(o, &v->window, p->whole);
    add_part(o, &v->window, 0, in_window(v, p->last));
}

/* Read the values of a pass, and add what they become. */
static bool change_pass(struct in *in, struct ti__counter *counter, const struct ti__pass *p,
                        struct out *o)
{
    struct values v = {.pass = p, .before = counter->back && p->length && !p->from};
    struct out window = {.pool = o->pool, .runs = o->runs};
    uint64_t kept, end, had;

    if (!find_offsets(counter, p, &v.offsets))
        return false;
    kept = offset_of(&v.offsets, p->kept);
    end = offset_of(&v.offsets, p->had - p->tail);
    had = offset_of(&v.offsets, p->had);
    if (!take(in, kept, o->pool, &v.all) || !leave(in, end - kept) ||
        !take(in, had - end, o->pool, &v.tail))
        return false;
    add_part(o, &v.all, 0, UINT64_MAX);
    if (p->length) {
        uint64_t from = offset_of(&v.offsets, p->from);

        if (v.before)
            ti_column_add(o->pool, &window.column, in->cursor.last);
        add_part(&window, &v.all, from, in_window(&v, p->length) - v.before);
        v.window = window.column;
        add_more(&v, o);
    }
    add_part(o, &v.tail, 0, UINT64_MAX);
    ti_column_free(o->pool, &v.all);
    ti_column_free(o->pool, &v.window);
    ti_column_free(o->pool, &v.tail);
    return o->runs && window.runs;
}

/* -------------------------------------------------------------------- column -- */

/* A column that changes. */
struct column {
    struct ti_folded *f;
    uint32_t loop;
    const struct ti__change *change;
    struct ti_shape_column is;
    struct ti__counter counter;
    struct ti_cursor trips; /* of the loop */
};

/* The next pass.  Values that were compared repeat with its period. */
static bool next_pass(struct column *c, struct ti__pass *out)
{
    uint64_t had;

    if (!ti_cursor_next(&c->trips, &had))
        return false;
    *out = ti__pass_of(c->change, had);
    if (c->is.tokens && c->is.part.kind != TI_PART_EXTRAS &&
        (c->is.part.kind != TI_PART_VOLUMES || out->volumes))
        ti__pass_shorten(out);
    return true;
}

static const char *change_values(struct column *c, struct ti_draw *levels, struct ti_builder *b)
{
    struct ti_pool pool = {.at = NULL};
    struct out o = {.pool = &pool, .runs = RUNS_MOST};
    struct in in = {.runs = RUNS_MOST};
    uint64_t passes = ti_shape_node(c->f, c->loop).passes;
    const char *why = passes > PASSES_MOST ? too_long : NULL;
    struct ti__pass pass;

    ti_cursor_start(&in.cursor, (uint64_t)c->is.first, c->is.blob.data, c->is.blob.n);
    in.cursor.draw = levels;
    if (levels) { /* the first number of its column is a level, not a value */
        in.cursor.last = ti_draw_next(levels);
        ti_draw_start(levels, 0);
    }
    for (; passes && !why; passes--)
        if (!next_pass(c, &pass) || !change_pass(&in, &c->counter, &pass, &o))
            why = in.runs && o.runs ? malformed : too_long;
    if (!why)
        put_out(&o, c->is.first, b);
    if (pool.no_memory || o.blob.no_memory)
        ti_builder_no_memory(b);
    free(o.blob.data);
    ti_pool_free(&pool);
    return why;
}

/* Count the values that statistics stand for afterwards.  A pattern goes on over all passes, so
 * each must have whole periods, unless there is only one. */
static const char *count_values(struct column *c, uint64_t period, uint64_t *n)
{
    uint64_t passes = ti_shape_node(c->f, c->loop).passes, rest, had;
    struct ti__pass pass;
    struct offsets at;

    *n = 0;
    for (uint64_t p = 0; p < passes; p++) {
        uint64_t more = 0;

        if (p == PASSES_MOST)
            return too_long;
        if (!next_pass(c, &pass) || !find_offsets(&c->counter, &pass, &at))
            return malformed;
        had = offset_of(&at, pass.had);
        rest = offset_of(&at, pass.kept) + had - offset_of(&at, pass.had - pass.tail);
        if (pass.length) {
            struct values v = {
                .pass = &pass, .offsets = at, .before = c->counter.back && !pass.from};

            more = in_window(&v, pass.start + pass.first) - in_window(&v, pass.start) +
                   pass.whole * in_window(&v, pass.length) + in_window(&v, pass.last);
        }
        if (passes > 1 && (had % period || (rest + more) % period))
            return "its volumes are statistics with a period that does not fit the trips";
        *n += rest + more;
    }
    return NULL;
}

static const char *change_statistics(struct column *c, struct ti_draw *d, struct ti_builder *b)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column few = {.head = NULL};
    struct ti_buffer blob = {.data = NULL};
    uint64_t n;
    const char *why = count_values(c, ti_draw_period(d), &n);

    if (why)
        return why;
    if (ti_draw_put(d, (uint64_t)c->is.first, n, &blob)) {
        ti_builder_encoded(b, c->is.first, &(struct ti_bytes){blob.data, blob.n});
    } else { /* fewer than a period */
        for (; n; n--)
            ti_column_add(&pool, &few, ti_draw_next(d));
        put_out(&(struct out){.pool = &pool, .column = few}, c->is.first, b);
    }
    if (pool.no_memory || blob.no_memory)
        ti_builder_no_memory(b);
    free(blob.data);
    ti_pool_free(&pool);
    return NULL;
}

const char *ti__change_column(struct ti_folded *f, uint32_t loop, const struct ti__change *change,
                              uint32_t i, uint32_t k, struct ti_builder *b)
{
    struct ti_shape_column trips = ti_shape_column(f, loop, 0);
    struct column c = {f, loop, change, .is = ti_shape_column(f, i, k)};
    struct ti_draw *draw = NULL;
    const char *why;

    if (!c.is.blob.n || !ti__counter_new(f, loop, i, &c.is, &c.counter)) {
        ti_builder_encoded(b, c.is.first, &c.is.blob); /* constant, or of no trip */
        return NULL;
    }
    ti_cursor_start(&c.trips, (uint64_t)trips.first, trips.blob.data, trips.blob.n);
    if (!ti_draw_new((uint64_t)c.is.first, c.is.blob.data, c.is.blob.n, c.is.n, &draw))
        why = malformed;
    else if (draw && !ti_draw_is_levels(draw))
        why = change_statistics(&c, draw, b);
    else
        why = change_values(&c, draw, b);
    ti_draw_free(draw);
    ti__counter_free(&c.counter);
    return why;
}
