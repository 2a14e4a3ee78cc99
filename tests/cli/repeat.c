/*
 * The smallest transformation of a merged trace: repeats the trips of a loop.
 *
 *   repeat TRACE OUT SITE TIMES
 *
 * The loop is the innermost one around the calls from call site SITE.  In all ranks that have it,
 * each pass of it has TIMES times as many trips: those that it had, in order, again and again, with
 * their volumes, fields and inner loops.  The burst before the loop comes before each repetition.
 *
 * An example for "Transform a merged trace" in HACKING.md, in four parts: find the loop
 * in the view of a group; count what belongs to each pass; put nodes with their columns into a
 * builder; merge.  cli/repeat runs it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/source.h"
#include "common/map.h"
#include "fold/record_layout.h"
#include "merged/builder.h"
#include "merged/merger.h"
#include "merged/view.h"

#define PASSES_MOST (1u << 20) /* of the loop */
#define RUNS_MOST   (1u << 24) /* of a column that is read */

/* --------------------------------------------------------------- find the loop -- */

/* The innermost loop around the calls from a call site; nodes + 1 of the shape if there is none,
 * UINT32_MAX if there are several, or a call in it must not be repeated. */
static uint32_t find_loop(const struct ti_reader *r, const char *site)
{
    const struct ti_folded *f = ti_reader_folded(r);
    uint32_t nodes = ti_shape_nodes(f), found = nodes + 1, loop;

    for (uint32_t i = 0; i < nodes; i++) {
        struct ti_shape_node call = ti_shape_node(f, i);
        const char *text = call.loop ? NULL : ti_reader_string(r, TI_STRING_SITE, call.site);

        if (!text || strcmp(text, site) != 0)
            continue;
        for (loop = i; loop-- && ti_shape_node(f, loop).end <= i;)
            ;
        if (loop == UINT32_MAX || (found != nodes + 1 && found != loop))
            return UINT32_MAX;
        found = loop;
    }
    for (uint32_t i = found; i < nodes && i < ti_shape_node(f, found).end; i++) {
        uint32_t mask = ti_shape_node(f, i).mask;

        /* what makes a communicator, window or file, which have numbers */
        if (mask & TI_M_NEWCOMM || (mask & TI_M_WIN && mask & TI_M_COMM) ||
            (mask & TI_M_FILE && mask & TI_M_NAME))
            return UINT32_MAX;
    }
    return found;
}

/* ---------------------------------------------------------------------- a rank -- */

struct repeat {
    struct ti_folded *f;
    struct ti_builder *b;
    uint32_t loop, nvolumes;
    uint64_t times, passes; /* of the loop */
    uint64_t **count;       /* of nodes from the loop on in it: values that belong to each pass */
    struct ti_pool pool;    /* counts, and columns */
    uint64_t runs;          /* that may still be read */
    bool fine;
};

static struct ti_cursor start(const struct ti_shape_column *c)
{
    struct ti_cursor cursor;

    ti_cursor_start(&cursor, (uint64_t)c->first, c->blob.data, c->blob.n);
    return cursor;
}

static uint64_t next(struct repeat *r, struct ti_cursor *cursor)
{
    uint64_t value = 1;

    r->fine &= ti_cursor_next(cursor, &value);
    return value;
}

static uint64_t *counts_new(struct repeat *r)
{
    return ti_pool_take(&r->pool, r->passes * sizeof(uint64_t));
}

/* Count the values of all nodes of a body.  *of is how often each pass of the loop comes to it. */
static void count(struct repeat *r, uint32_t from, uint32_t end, uint64_t *of)
{
    for (uint32_t i = from; i < end; i = ti_shape_node(r->f, i).end) {
        struct ti_shape_node node = ti_shape_node(r->f, i);
        struct ti_shape_column trips = ti_shape_column(r->f, i, 0);
        struct ti_cursor cursor = start(&trips);
        uint64_t *body;

        r->count[i] = of;
        if (!node.loop)
            continue;
        body = counts_new(r);
        for (uint64_t p = 0; p < r->passes; p++)
            for (uint64_t k = 0; k < of[p] && r->fine; k += trips.blob.n ? 1 : of[p])
                body[p] += next(r, &cursor) * (trips.blob.n ? 1 : of[p]);
        count(r, i + 1, node.end, body);
    }
}

/* The bursts that come before the loop, pass by pass: its first call is reached from further out,
 * by an arrival above `end`. */
struct before {
    uint32_t call, end, arrivals;
    struct ti_cursor volume[TI_SHAPE_DEPTH + 1]; /* by arrival */
    struct ti_cursor trips[TI_SHAPE_DEPTH + 1];  /* of the loop at the end of which it is */
    uint64_t left[TI_SHAPE_DEPTH + 1];           /* of its trips */
};

static struct before before_start(const struct repeat *r, uint32_t call, uint32_t end,
                                  uint32_t volume)
{
    struct before w = {call, end, ti_shape_node(r->f, call).arrivals, .left = {0}};

    for (uint32_t a = end + 1; a < w.arrivals; a++) {
        struct ti_shape_column c = ti_shape_column(r->f, call, a * r->nvolumes + volume);

        w.volume[a] = start(&c);
        c = ti_shape_column(r->f, call - a - 1, 0);
        if (a + 1 < w.arrivals)
            w.trips[a] = start(&c);
    }
    return w;
}

static uint64_t before_next(struct repeat *r, struct before *w)
{
    uint32_t a = w->end + 1;

    while (a + 1 < w->arrivals && w->left[a] == 0)
        a++;
    if (a + 1 < w->arrivals)
        w->left[a]--;
    for (uint32_t b = w->end + 1; b < a; b++) /* these loops begin anew */
        w->left[b] = next(r, &w->trips[b]) - 1;
    return next(r, &w->volume[a]);
}

/* Put a column, of which the first more[p] - less[p] values belong to the first pass, and so on;
 * `w`, if it is not NULL, gives one more value in front of each repetition. */
static void put_repeated(struct repeat *r, const struct ti_shape_column *c, const uint64_t *more,
                         const uint64_t *less, struct before *w)
{
    struct ti_cursor cursor = start(c), again;
    struct ti_column out = {.head = NULL};

    if (!c->blob.n && !w) { /* it is constant */
        ti_builder_encoded(r->b, c->first, &c->blob);
        return;
    }
    r->fine &= c->tokens;
    for (uint64_t p = 0; p < r->passes && r->fine; p++) {
        uint64_t n = more[p] - (less ? less[p] : 0), front = w ? before_next(r, w) : 0;

        again = cursor;
        for (uint64_t k = 0; k < r->times && r->fine; k++) {
            if (k && w)
                ti_column_add(&r->pool, &out, front);
            cursor = again;
            r->fine = ti_cursor_take(&cursor, n, &r->runs, &r->pool, &out);
        }
    }
    ti_builder_column(r->b, &out, NULL);
    ti_column_free(&r->pool, &out);
}

/* Put column `k` of call `i` in the loop. */
static void put_column(struct repeat *r, uint32_t i, uint32_t k)
{
    struct ti_shape_node node = ti_shape_node(r->f, i);
    struct ti_shape_column c = ti_shape_column(r->f, i, k);
    uint32_t a = c.part.arrival;
    struct before w;

    if (c.part.kind != TI_PART_VOLUMES && c.part.kind != TI_PART_EXTRAS) {
        put_repeated(r, &c, r->count[i], NULL, NULL);
    } else if (i - a == r->loop + 1) { /* from the end of the loop */
        w = before_start(r, i, a, k % r->nvolumes);
        put_repeated(r, &c, r->count[i - a], r->count[r->loop], &w);
    } else if (i - a <= r->loop) { /* from further out */
        ti_builder_encoded(r->b, c.first, &c.blob);
    } else {
        put_repeated(r, &c, r->count[i - a], a + 1 < node.arrivals ? r->count[i - a - 1] : NULL,
                     NULL);
    }
}

static void put_loop_trips(struct repeat *r, const struct ti_shape_column *c)
{
    struct ti_cursor cursor = start(c);
    struct ti_column out = {.head = NULL};

    for (uint64_t p = 0; p < r->passes && r->fine; p++)
        ti_column_add(&r->pool, &out, next(r, &cursor) * r->times);
    ti_builder_column(r->b, &out, NULL);
    ti_column_free(&r->pool, &out);
}

static void put_node(struct repeat *r, uint32_t i, const struct ti_shape_node *node)
{
    for (uint32_t k = 0; k < node->columns; k++) {
        struct ti_shape_column c = ti_shape_column(r->f, i, k);

        if (i == r->loop)
            put_loop_trips(r, &c);
        else if (i > r->loop && i < ti_shape_node(r->f, r->loop).end)
            put_column(r, i, k);
        else
            ti_builder_encoded(r->b, c.first, &c.blob);
    }
}

static void put_nodes(struct repeat *r, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i = ti_shape_node(r->f, i).end) {
        struct ti_shape_node node = ti_shape_node(r->f, i);

        if (!node.loop) {
            ti_builder_call(r->b, node.symbol);
            put_node(r, i, &node);
            continue;
        }
        ti_builder_loop(r->b);
        put_node(r, i, &node);
        put_nodes(r, i + 1, node.end);
        ti_builder_end_loop(r->b);
    }
}

/* Make the record of a rank, with the loop repeated. */
static ti_status repeat_rank(struct ti_reader *reader, uint32_t loop, uint64_t times,
                             struct ti_record *out, struct ti_err *err)
{
    struct repeat r = {.f = ti_reader_folded(reader), .loop = loop, .times = times};
    uint32_t nodes = ti_shape_nodes(r.f);
    uint64_t *once;
    size_t cap = 0;
    ti_status st;

    r.passes = ti_shape_node(r.f, loop).passes;
    r.nvolumes = 1 + ti_folded_extras(r.f);
    r.runs = RUNS_MOST;
    r.fine = r.passes <= PASSES_MOST;
    if (!r.fine)
        return ti_err_set(err, TI_ERR_INPUT, "the program comes to the loop too often");
    r.count = ti_grow(NULL, &cap, nodes, sizeof *r.count);
    once = counts_new(&r);
    for (uint64_t p = 0; p < r.passes; p++)
        once[p] = 1;
    count(&r, loop, loop + 1, once);
    r.b = ti_builder_new(ti_reader_rank(reader), r.nvolumes - 1);
    r.fine &= ti_builder_all_but_shape(r.b, reader);
    put_nodes(&r, 0, nodes);
    st = r.fine ? ti_builder_finish(r.b, ti_reader_nranks(reader), TI_HASH_ALL, out, err)
                : ti_err_set(err, TI_ERR_INPUT,
                             "rank %u: a column is malformed, too long or not exact",
                             ti_reader_rank(reader));
    ti_builder_free(r.b);
    ti_pool_free(&r.pool);
    free(r.count);
    return st;
}

/* ------------------------------------------------------------------------- all -- */

static ti_status repeat_record(struct ti_view *v, int64_t rank, uint32_t loop, uint64_t times,
                               struct ti_record *out, struct ti_err *err)
{
    struct ti_reader *low = ti_view_reader(v), *r;
    struct ti_record record;
    ti_status st = ti_view_record(v, rank, &record, err);

    if (st || loop > ti_shape_nodes(ti_reader_folded(low))) { /* the loop is not there */
        *out = record;
        return st;
    }
    st = ti_reader_open_record(&record, ti_reader_nranks(low), ti_reader_run_id(low), "TRACE", &r,
                               err);
    if (st)
        return st;
    st = ti_reader_skip(r, err);
    if (!st)
        st = repeat_rank(r, loop, times, out, err);
    ti_reader_close(r);
    return st;
}

static ti_status repeat_group(struct ti_view *v, const char *site, uint64_t times,
                              struct ti_merger *m, bool *found, struct ti_err *err)
{
    struct ti_reader *low = ti_view_reader(v);
    ti_status st = TI_OK;
    uint32_t loop;

    if (!ti_reader_folded(low))
        return ti_err_set(err, TI_ERR_INPUT, "rank %u is the copy of a rank file",
                          ti_reader_rank(low));
    loop = find_loop(low, site);
    if (loop == UINT32_MAX)
        return ti_err_set(err, TI_ERR_INPUT,
                          "rank %u: '%s' is in no loop, in several, or in one that makes "
                          "communicators, windows or files",
                          ti_reader_rank(low), site);
    *found |= loop < ti_shape_nodes(ti_reader_folded(low));
    ti_ranges_foreach (ti_view_ranks(v), rank) {
        struct ti_record record;

        if (!st)
            st = repeat_record(v, rank, loop, times, &record, err);
        if (!st) {
            st = ti_merger_add(m, &record, err);
            ti_record_free(&record);
        }
    }
    return st;
}

static ti_status repeat_all(struct ti_source *s, const char *site, uint64_t times,
                            struct ti_merger *to, struct ti_err *err)
{
    struct ti_merged *m = ti_source_merged(s);
    bool found = false;
    ti_status st = TI_OK;

    for (uint32_t g = 0; g < ti_merged_groups(m) && !st; g++) {
        struct ti_view *v;

        st = ti_view_open(m, g, &v, err);
        if (st)
            break;
        st = repeat_group(v, site, times, to, &found, err);
        ti_view_close(v);
    }
    if (!st && !found)
        st = ti_err_set(err, TI_ERR_INPUT, "no rank has a call from '%s'", site);
    return st;
}

static ti_status repeat_source(struct ti_source *s, char **argv, uint64_t times, struct ti_err *err)
{
    struct ti_merger *m;
    ti_status st;
    int fd;

    if (!ti_source_merged(s))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is not merged: use ti-info --merge", argv[1]);
    st = ti_merger_new((uint32_t)ti_source_nranks(s), ti_source_run_id(s), NULL, &m, err);
    if (st)
        return st;
    st = repeat_all(s, argv[3], times, m, err);
    if (!st) {
        fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        st = ti_merger_write(m, fd, argv[2], err);
        if (fd >= 0)
            close(fd);
    }
    ti_merger_free(m);
    return st;
}

int main(int argc, char **argv)
{
    struct ti_source *s;
    struct ti_err err;
    uint64_t times = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
    ti_status st;

    if (!times) {
        fprintf(stderr, "repeat: needs TRACE OUT SITE TIMES\n");
        return TI_ERR_USAGE;
    }
    st = ti_source_open(argv[1], &s, &err);
    if (!st) {
        st = repeat_source(s, argv, times, &err);
        ti_source_close(s);
    }
    if (st)
        fprintf(stderr, "repeat: %s\n", err.text);
    return (int)st;
}
