/* Other trips of loops (lib/trips), against trips that are taken apart and put together event by
 * event; and the names of loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "fold/trips.h"
#include "merged/encode.h"
#include "tests/unit/programs.h"
#include "trips/internal.h"

/* ------------------------------------------------------------------- a trace -- */

/* An event without what belongs to the burst before it. */
struct event {
    uint64_t call;      /* hash of the rest */
    uint64_t volume[3]; /* and two extra values */
};

struct events {
    struct event *e;
    size_t n, cap;
};

static void add_event(struct events *l, const struct event *e)
{
    l->e = ti_grow(l->e, &l->cap, l->n + 1, sizeof *l->e);
    l->e[l->n++] = *e;
}

/* Open a reader of a record, and go to its end. */
static struct ti_reader *open_record(struct ti_record *record)
{
    struct ti_reader *r;
    struct ti_err err;

    assert_int_equal(ti_reader_open_record(record, 8, program_run_id, "record", &r, &err), TI_OK);
    assert_int_equal(ti_reader_skip(r, &err), TI_OK);
    return r;
}

/* All events of a folded trace, whose totals must be theirs. */
static struct events events_of(const struct ti_record *record)
{
    struct ti_folded_tables tables;
    struct ti_totals totals, sums = {0, 0, TI_HASH_START};
    struct events out = {.n = 0};
    struct ti_record borrowed = *record;
    struct ti_reader *r;
    struct ti_folded *f;
    struct ti_event ev;

    borrowed.memory = NULL;
    r = open_record(&borrowed);
    assert_true(ti_folded_check(ti_reader_folded(r)));
    assert_null(ti_folded_open(record, 8, &f, &tables));
    ti_folded_want_extras(f);
    while (ti_folded_next(f, &ev) == 1) {
        struct ti_event call = ev;
        struct event e = {.volume = {ev.volume}};

        call.volume = 0;
        e.call = ti_hash_word(ti_hash_event(TI_HASH_START, &call), ev.site);
        for (uint32_t i = 0; i < ti_folded_extras(f); i++)
            e.volume[1 + i] = ev.extra[i];
        add_event(&out, &e);
        sums.hash = ti_hash_event(sums.hash, &ev);
        sums.volume += ev.volume;
        sums.events++;
    }
    assert_true(ti_reader_totals(r, &totals));
    assert_memory_equal(&totals, &sums, sizeof sums);
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    ti_reader_close(r);
    return out;
}

/* Where the trips of a loop are among the events. */
struct trip {
    size_t start, end;
    bool first; /* of its pass */
};

struct trips {
    struct ti_folded *f;
    uint32_t loop;
    struct ti_cursor *counts; /* of each loop */
    size_t at;                /* event */
    struct trip *trip;
    size_t n, cap;
};

static void walk(struct trips *t, uint32_t i, uint32_t end)
{
    for (; i < end; i = ti_shape_node(t->f, i).end) {
        struct ti_shape_node node = ti_shape_node(t->f, i);
        uint64_t trips = 0;

        if (!node.loop) {
            t->at++;
            continue;
        }
        assert_true(ti_cursor_next(&t->counts[i], &trips));
        for (uint64_t k = 0; k < trips; k++) {
            struct trip trip = {t->at, 0, k == 0};

            walk(t, i + 1, node.end);
            trip.end = t->at;
            if (i != t->loop)
                continue;
            t->trip = ti_grow(t->trip, &t->cap, t->n + 1, sizeof *t->trip);
            t->trip[t->n++] = trip;
        }
    }
}

static struct trips trips_of(struct ti_folded *f, uint32_t loop)
{
    struct trips t = {.f = f, .loop = loop};
    size_t cap = 0;

    t.counts = ti_grow(NULL, &cap, ti_shape_nodes(f), sizeof *t.counts);
    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_column c = ti_shape_column(f, i, 0);

        if (ti_shape_node(f, i).loop)
            ti_cursor_start(&t.counts[i], (uint64_t)c.first, c.blob.data, c.blob.n);
    }
    walk(&t, 0, ti_shape_nodes(f));
    free(t.counts);
    return t;
}

/* ------------------------------------------------------------------- periods -- */

/* Whether two trips are equal: in their calls; or in their volumes too, but for the first burst
 * unless `bursts`. */
static bool equal(const struct events *all, const struct trip *a, const struct trip *b,
                  bool volumes, bool bursts)
{
    if (a->end - a->start != b->end - b->start)
        return false;
    for (size_t i = 0; i < a->end - a->start; i++) {
        const struct event *x = &all->e[a->start + i], *y = &all->e[b->start + i];

        if (x->call != y->call)
            return false;
        if (volumes && (i || bursts) && x->volume[0] != y->volume[0])
            return false;
    }
    return true;
}

/* The first period of a pass of `n` trips, by its definition, with the shortest tail; false if
 * there is none.  `bursts`: the first trip, whose first burst comes from outside, is like no other.
 */
static bool period_of(const struct events *all, const struct trip *trip, uint64_t n, bool volumes,
                      bool bursts, struct ti__period *out)
{
    *out = (struct ti__period){0, 1, 0};
    if (n == 1)
        return true;
    for (out->tail = 0; out->tail <= 16; out->tail++)
        for (out->lead = 0; out->lead + out->tail <= n / 2; out->lead++)
            for (out->length = 1; out->lead + 2 * out->length + out->tail <= n; out->length++) {
                bool fits = true;

                for (uint64_t i = out->lead; i + out->length + out->tail < n && fits; i++)
                    fits = equal(all, &trip[i], &trip[i + out->length], volumes, bursts) &&
                           (i || !volumes || !bursts);
                if (fits)
                    return true;
            }
    return false;
}

/* The least common multiple. */
static uint64_t common(uint64_t a, uint64_t b)
{
    uint64_t n = a;

    while (n % b)
        n += a;
    return n;
}

/* The period of all passes that get more than they have; or of those that get fewer, if there are
 * no others. */
static struct ti__period period_of_all(const struct events *all, const struct trips *t, uint64_t to,
                                       bool volumes, bool bursts)
{
    struct ti__period out = {0, 1, 0};
    bool more = false;

    for (size_t i = 0, n; i < t->n; i += n) {
        for (n = 1; i + n < t->n && !t->trip[i + n].first; n++)
            ;
        more |= n < to;
    }
    for (size_t i = 0, n; i < t->n; i += n) {
        struct ti__period p;

        for (n = 1; i + n < t->n && !t->trip[i + n].first; n++)
            ;
        if (more ? n >= to : n <= to)
            continue;
        if (!period_of(all, &t->trip[i], n, volumes, bursts, &p))
            return (struct ti__period){0, 0, 0};
        out.lead = p.lead > out.lead ? p.lead : out.lead;
        out.tail = p.tail > out.tail ? p.tail : out.tail;
        out.length = common(out.length, p.length);
    }
    return out;
}

/* The columns of the bursts between trips: their first values, and whether the volumes are
 * constant.
 */
static bool same_bursts(struct ti_folded *f, uint32_t loop, uint64_t first[3])
{
    uint32_t call = loop + 1, volume = 0;
    bool same = false;

    while (ti_shape_node(f, call).loop)
        call++;
    for (uint32_t k = 0; k < ti_shape_node(f, call).columns; k++) {
        struct ti_shape_column c = ti_shape_column(f, call, k);

        if ((c.part.kind != TI_PART_VOLUMES && c.part.kind != TI_PART_EXTRAS) ||
            call - c.part.arrival != loop + 1)
            continue;
        first[volume++] = (uint64_t)c.first;
        same |= c.part.kind == TI_PART_VOLUMES && c.blob.n == 0;
    }
    assert_true(volume > 0);
    return same;
}

/* ------------------------------------------------------------------ expected -- */

static bool usable(struct ti__period p, uint64_t had)
{
    return p.length && p.lead + p.tail <= had / 2 && had - p.lead - p.tail >= 2 * p.length;
}

/* Which of the `had` trips of a pass is trip `i`. */
static uint64_t source_of(const struct ti__change *c, uint64_t had, uint64_t i)
{
    struct ti__period p = usable(c->alike, had) ? c->alike : c->same;
    uint64_t from, length;

    if (!usable(p, had))
        return i % had;
    if (i + p.tail >= c->trips && c->trips >= (p.lead ? p.lead : 1) + p.tail)
        return had - (c->trips - i);
    had -= p.tail;
    if (i < had)
        return i;
    length = had;
    from = p.lead ? p.lead : p.length;
    while (length > had - from || length % p.length)
        length--;
    while (i >= from + length) /* what is left of a period is not repeated */
        i -= length;
    return i;
}

/* The events of the changed trace.  A repetition of the first trip begins with the burst of the
 * last one.  If there is only one, it begins with the burst between trips that was met last, the
 * first of the trace if none was, or `between` if there is none. */
static struct events expected(const struct events *all, const struct trips *t,
                              const struct ti__change *c, struct event between)
{
    struct events out = {.n = 0};
    size_t at = 0;

    for (size_t i = t->n; i--;)
        if (!t->trip[i].first)
            between = all->e[t->trip[i].start];
    for (size_t i = 0, had; i < t->n; i += had) {
        const struct trip *pass = &t->trip[i];

        for (had = 1; i + had < t->n && !t->trip[i + had].first; had++)
            between = all->e[t->trip[i + had].start];
        while (at < pass->start)
            add_event(&out, &all->e[at++]);
        for (uint64_t k = 0; k < c->trips; k++) {
            uint64_t from = source_of(c, had, k);
            size_t begin = out.n;

            for (size_t e = pass[from].start; e < pass[from].end; e++)
                add_event(&out, &all->e[e]);
            if (k && from == 0)
                memcpy(out.e[begin].volume, between.volume, sizeof between.volume);
        }
        at = pass[had - 1].end;
    }
    while (at < all->n)
        add_event(&out, &all->e[at++]);
    return out;
}

static void must_be(const struct events *want, const struct events *got)
{
    for (size_t i = 0; i < want->n && i < got->n; i++)
        if (memcmp(&want->e[i], &got->e[i], sizeof *got->e) != 0)
            fail_msg("event %zu of %zu differs", i, want->n);
    assert_int_equal(want->n, got->n);
}

/* Numbers of cases that the random programs had. */
static struct {
    int fewer, more, whole, lead, period, tail, shorter, one_trip, nested, begins, alike;
} seen;

static void look(const struct ti__change *c, const struct trips *t, struct ti_folded *f)
{
    uint32_t call = t->loop + 1;

    while (ti_shape_node(f, call).loop)
        call++;
    seen.begins += call > t->loop + 1;
    for (uint32_t i = t->loop + 1; i < ti_shape_node(f, t->loop).end; i++)
        seen.nested += ti_shape_node(f, i).loop;
    for (size_t i = 0, had; i < t->n; i += had) {
        struct ti__pass pass;

        for (had = 1; i + had < t->n && !t->trip[i + had].first; had++)
            ;
        pass = ti__pass_of(c, had);
        seen.fewer += c->trips < had;
        seen.more += pass.length > 0;
        seen.whole += pass.length == had && had > 1;
        seen.lead += pass.length && c->same.lead > 0;
        seen.period += pass.length && c->same.length > 1;
        seen.tail += pass.length && pass.tail;
        seen.shorter += c->trips < had && pass.tail;
        seen.alike += usable(c->alike, had) && memcmp(&c->alike, &c->same, sizeof c->same) != 0;
        seen.one_trip += had == 1 && c->trips > 1;
    }
}

/* Whether some volumes of a loop are levels, which are taken to be noise. */
static bool has_levels(struct ti_folded *f, uint32_t loop)
{
    for (uint32_t i = loop + 1; i < ti_shape_node(f, loop).end; i++)
        for (uint32_t k = 0; k < ti_shape_node(f, i).columns; k++) {
            struct ti_shape_column c = ti_shape_column(f, i, k);

            if (c.part.kind == TI_PART_VOLUMES && i - c.part.arrival > loop &&
                ti__column_is_levels(&c))
                return true;
        }
    return false;
}

/* Change a loop of a record, and compare. */
static void change(struct ti_record *record, uint32_t loop, uint64_t to)
{
    struct ti_record borrowed = *record, changed;
    struct events all = events_of(record), want, got;
    struct ti__change c = {.trips = to};
    struct event between = {.call = 0};
    struct ti__period same, alike;
    struct ti_reader *r;
    struct trips t;
    bool bursts;
    struct ti_err err;

    borrowed.memory = NULL;
    r = open_record(&borrowed);
    t = trips_of(ti_reader_folded(r), loop);
    bursts = !same_bursts(ti_reader_folded(r), loop, between.volume);
    assert_true(ti__periods_find(ti_reader_folded(r), loop, to, &c.same, &c.alike));
    same = period_of_all(&all, &t, to, false, false);
    alike = same.length && !has_levels(ti_reader_folded(r), loop)
                ? period_of_all(&all, &t, to, true, bursts)
                : (struct ti__period){0, 0, 0};
    assert_memory_equal(&same, &c.same, sizeof same);
    assert_memory_equal(&alike, &c.alike, sizeof alike);
    look(&c, &t, ti_reader_folded(r));
    assert_int_equal(ti__change_rank(r, loop, &c, "a test", TI_HASH_ALL, &changed, &err), TI_OK);
    want = expected(&all, &t, &c, between);
    got = events_of(&changed);
    must_be(&want, &got);
    ti_record_free(&changed);
    free(t.trip);
    free(all.e);
    free(want.e);
    free(got.e);
    ti_reader_close(r);
}

/* The record of a random program; false if it has no loops. */
static bool random_record(int i, const struct ti_qualities *q, struct ti_record *out)
{
    struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(5));
    struct ti_reader *r;
    struct ti_err err;
    ti_status st;

    program_trace(program_path, program, 1 + (int)program_rnd(12), i % 3 == 0, 1500,
                  TI_END_COMPLETE);
    program_free(program);
    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    st = q ? ti_folded_encode(r, q, out, &err) : ti_folded_encode_shape(r, out, &err);
    ti_reader_close(r);
    if (st)
        return false;
    if (!ti_record_is_copy(out))
        return true;
    ti_record_free(out);
    return false;
}

static uint32_t random_loop(const struct ti_record *record)
{
    struct ti_folded_tables tables;
    struct ti_folded *f;
    uint32_t loop = UINT32_MAX, n = 0;

    assert_null(ti_folded_open(record, 8, &f, &tables));
    for (uint32_t i = 0; i < ti_shape_nodes(f); i++)
        if (ti_shape_node(f, i).loop && program_rnd(++n) == 0)
            loop = i;
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    return loop;
}

/* The value of a column at which its pattern ends: now and then in the second half of a pass. */
static uint64_t end_of_pattern(uint64_t trips)
{
    return program_rnd(5) ? UINT64_MAX : trips / 2 + program_rnd(trips / 2 + 1);
}

/* Add a column whose values repeat, perhaps after some others and before others. */
static void put_pattern(struct ti_builder *b, const struct ti_shape_column *c, uint64_t least,
                        uint64_t range, uint64_t end)
{
    struct ti_pool pool = {.at = NULL};
    struct ti_column column = {.head = NULL};
    uint64_t lead = program_rnd(2) ? 0 : program_rnd(4), length = 1 + program_rnd(3), pattern[3];

    for (int i = 0; i < 3; i++)
        pattern[i] = least + program_rnd(range);
    for (uint64_t i = 0; i < 3000; i++)
        ti_column_add(&pool, &column,
                      i < lead || i >= end ? least + i % range : pattern[i % length]);
    if (program_rnd(2))
        ti_builder_column(b, &column, NULL);
    else
        ti_builder_encoded(b, c->first, &(struct ti_bytes){NULL, 0});
    ti_pool_free(&pool);
}

/* Make a record of another in which all columns have patterns, and loop `loop` more trips than the
 * others. */
static struct ti_record patterned(struct ti_record *record, uint32_t loop)
{
    struct ti_reader *r = open_record(record);
    struct ti_folded *f = ti_reader_folded(r);
    struct ti_builder *b = ti_builder_new(ti_reader_rank(r), (uint32_t)ti_reader_extras(r));
    uint32_t end[TI_SHAPE_DEPTH + 1], depth = 0;
    uint64_t trips = 1 + program_rnd(30);
    struct ti_record out;
    struct ti_err err;

    assert_true(ti_builder_all_but_shape(b, r));
    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        for (; depth && end[depth - 1] == i; depth--)
            ti_builder_end_loop(b);
        if (node.loop)
            ti_builder_loop(b);
        else
            ti_builder_call(b, node.symbol);
        for (uint32_t k = 0; k < node.columns; k++) {
            struct ti_shape_column c = ti_shape_column(f, i, k);

            if (i == loop)
                put_pattern(b, &c, trips, 2, UINT64_MAX);
            else if (node.loop)
                put_pattern(b, &c, 1, 3, end_of_pattern(trips));
            else if (c.part.kind == TI_PART_VECTOR_NUMBERS)
                ti_builder_encoded(b, c.first, &c.blob);
            else
                put_pattern(b, &c, (uint64_t)(c.first > 0 ? c.first >> 8 : 5), 3,
                            end_of_pattern(trips));
        }
        if (node.loop)
            end[depth++] = node.end;
    }
    while (depth--)
        ti_builder_end_loop(b);
    assert_int_equal(ti_builder_finish(b, 8, TI_HASH_ALL, &out, &err), TI_OK);
    ti_builder_free(b);
    ti_reader_close(r);
    return out;
}

static void periods_are_found(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    for (int i = 0; i < 2500; i++) {
        struct ti_record record;
        uint32_t loop;

        if (!random_record(i, NULL, &record))
            continue;
        loop = random_loop(&record);
        if (loop == UINT32_MAX) {
            ti_record_free(&record);
            continue;
        }
        record = patterned(&record, loop);
        change(&record, loop, 1 + program_rnd(program_rnd(2) ? 60 : 20));
        ti_record_free(&record);
    }
    assert_true(seen.fewer > 150 && seen.more > 500 && seen.whole > 300 && seen.nested > 100);
    printf("# %d tails, %d in fewer trips\n", seen.tail + seen.shorter, seen.shorter);
    assert_true(seen.tail > 50 && seen.shorter > 10);
    assert_true(seen.lead > 80 && seen.period > 100 && seen.begins > 30 && seen.alike > 50);
}

/* Read a record, and leave out what is said to be periods of several trips.  Returns how many were
 * found. */
static int leave_out(struct ti_record *record)
{
    struct events all = events_of(record);
    struct ti_record borrowed = *record;
    struct ti_reader *r;
    struct ti_trip_start trip;
    struct ti_event ev;
    struct ti_err err;
    size_t at = 0;
    int found = 0;

    borrowed.memory = NULL;
    assert_int_equal(ti_reader_open_record(&borrowed, 8, program_run_id, "record", &r, &err),
                     TI_OK);
    for (int got = 1; got == 1; at += (size_t)got) {
        while (ti_reader_trip(r, &trip)) {
            struct ti_trip_period p = {1 + program_rnd(2), 0};
            uint64_t runs, n = ti_folded_find_period(ti_reader_folded(r), &p, &runs);

            assert_true(n != 1 && n <= trip.left / p.trips);
            assert_true(at + n * p.events <= all.n);
            for (size_t k = at + p.events; n && k < at + n * p.events; k++)
                assert_true(all.e[k].call == all.e[k - p.events].call);
            found += n && p.trips > 1;
            if (trip.first || !n || program_rnd(2))
                continue;
            n = 1 + program_rnd(n);
            assert_true(ti_reader_leave_out(r, n, &p));
            at += n * p.events;
        }
        got = ti_reader_next(r, &ev, &err);
        ev.volume = 0;
        assert_true(got != 1 ||
                    all.e[at].call == ti_hash_word(ti_hash_event(TI_HASH_START, &ev), ev.site));
    }
    assert_int_equal(at, all.n);
    ti_reader_close(r);
    free(all.e);
    return found;
}

static void periods_are_left_out(void **state)
{
    int found = 0;

    (void)state;
    for (int i = 0; i < 600; i++) {
        struct ti_record record;
        uint32_t loop;

        if (!random_record(i, NULL, &record))
            continue;
        loop = random_loop(&record);
        if (loop != UINT32_MAX) {
            record = patterned(&record, loop);
            found += leave_out(&record);
        }
        ti_record_free(&record);
    }
    printf("# %d periods\n", found);
    assert_true(found > 500);
}

static void trips_are_those_of_the_rule(void **state)
{
    static const struct ti_qualities bound = {{TI_BOUNDED, 100000}, {TI_BOUNDED, 200000}};
    int levels = 0;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        struct ti_record record;
        uint32_t loop;

        if (!random_record(i, i % 4 ? NULL : &bound, &record))
            continue;
        loop = random_loop(&record);
        for (size_t b = 0; b < record.nblobs; b++)
            levels += record.blob[b].n > 1 && record.blob[b].data[0] == TI_CODED;
        if (loop != UINT32_MAX)
            change(&record, loop, 1 + program_rnd(program_rnd(4) ? 12 : 300));
        ti_record_free(&record);
    }
    assert_true(seen.fewer > 500 && seen.more > 2000 && seen.whole > 2000 && seen.nested > 200);
    assert_true(seen.begins > 80 && seen.one_trip > 300 && levels > 200);
}

/* ---------------------------------------------------------------------- many -- */

/* Change a loop that is passed once, and give events and volume. */
static struct ti_totals totals_of(struct ti_record *record, uint32_t loop, uint64_t to,
                                  uint64_t *repeated)
{
    struct ti_record borrowed = *record, changed;
    struct ti__change c = {.trips = to};
    struct ti_totals totals;
    struct ti_reader *r, *is;
    struct ti_column_stats had;
    struct ti_err err;

    borrowed.memory = NULL;
    r = open_record(&borrowed);
    assert_true(ti_shape_trips(ti_reader_folded(r), loop, &had));
    assert_true(ti__periods_find(ti_reader_folded(r), loop, to, &c.same, &c.alike));
    *repeated = ti__pass_of(&c, (uint64_t)had.max).length;
    assert_int_equal(ti__change_rank(r, loop, &c, NULL, 1000, &changed, &err), TI_OK);
    assert_true(changed.nblobs == record->nblobs);
    is = open_record(&changed);
    assert_true(ti_folded_check(ti_reader_folded(is)));
    assert_true(ti_reader_totals(is, &totals));
    ti_reader_close(is);
    ti_reader_close(r);
    return totals;
}

static uint64_t passes_of(const struct ti_record *record, uint32_t loop)
{
    struct ti_folded_tables tables;
    struct ti_folded *f;
    uint64_t passes;

    assert_null(ti_folded_open(record, 8, &f, &tables));
    passes = ti_shape_node(f, loop).passes;
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    return passes;
}

/* Events and volumes grow as the trips do that are repeated, up to a billion of them. */
static void a_billion_trips_cost_nothing(void **state)
{
    static const struct ti_qualities bound = {{TI_BOUNDED, 100000}, {TI_BOUNDED, 200000}};
    int done = 0;

    (void)state;
    for (int i = 0; i < 600; i++) {
        struct ti_totals a, b, c;
        struct ti_record record;
        uint64_t n, times;
        uint32_t loop;

        if (!random_record(i, i % 4 ? NULL : &bound, &record))
            continue;
        loop = random_loop(&record);
        if (loop == UINT32_MAX || passes_of(&record, loop) > 1) {
            ti_record_free(&record);
            continue;
        }
        a = totals_of(&record, loop, 1000, &n);
        b = totals_of(&record, loop, 1000 + n, &n);
        times = 1000000000 / n;
        c = totals_of(&record, loop, 1000 + times * n, &n);
        assert_true(c.events - a.events == times * (b.events - a.events));
        assert_true(c.volume - a.volume == times * (b.volume - a.volume));
        ti_record_free(&record);
        done++;
    }
    assert_true(done > 50);
}

/* ---------------------------------------------------------------------- names -- */

#define LOOP(end_)                                                                                 \
    {                                                                                              \
        .end = (end_), .loop = true                                                                \
    }
#define CALL(i, op_, site_)                                                                        \
    {                                                                                              \
        .end = (i) + 1, .op = TI_OP_##op_, .site = (site_)                                         \
    }

static void loops_have_names(void **state)
{
    static const struct ti_named_node node[] = {
        CALL(0, BCAST, "main a.c:1"),
        LOOP(12), /* 1: the call in it is in others, too; the barrier of one in it is not */
        LOOP(6),  /* 2: its own barrier is a better name than its own send */
        CALL(3, SEND, "put a.c:5"),
        CALL(4, RECV, "take a.c:6"),
        CALL(5, BARRIER, "sync a.c:7"),
        LOOP(11), /* 6: only calls that others have */
        CALL(7, SEND, "halo a.c:9"),
        LOOP(10), /* 8 */
        CALL(9, RECV, "take a.c:6"),
        CALL(10, SEND, "halo a.c:9"),
        CALL(11, RECV, "take a.c:6"),
        LOOP(14), /* 12: an unknown call site */
        CALL(13, ALLREDUCE, ""),
        LOOP(16), /* 14 */
        CALL(15, SEND, "halo a.c:9"),
        CALL(16, FINALIZE, "main a.c:1"),
    };
    static const struct {
        uint32_t loop;
        const char *name;
    } want[] = {{1, "sync a.c:7^"},   {2, "sync a.c:7"}, {6, "halo a.c:9[1]"},
                {8, "take a.c:6[3]"}, {12, "allreduce"}, {14, "halo a.c:9[2]"}};
    struct ti_loop_names *names = ti_loop_names_new(node, sizeof node / sizeof *node);
    uint32_t found[4];
    uint64_t which;
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        size_t n;

        assert_string_equal(ti_loop_name(names, want[i].loop, text, sizeof text), want[i].name);
        n = ti_loop_find(names, want[i].name, found, 4, &which);
        assert_true(which ? which <= n : n == 1);
        assert_int_equal(found[which ? which - 1 : 0], want[i].loop);
    }
    assert_int_equal(ti_loop_find(names, "sync a.c:7^", found, 4, &which), 1);
    assert_int_equal(found[0], 1);
    assert_int_equal(ti_loop_find(names, "take a.c:6^", found, 4, &which), 2);
    assert_true(found[0] == 1 && found[1] == 6);
    assert_int_equal(ti_loop_find(names, "halo a.c:9", found, 1, &which), 2);
    assert_int_equal(ti_loop_find(names, "halo a.c:9[7]", found, 1, &which), 2);
    assert_int_equal(which, 7);
    assert_int_equal(ti_loop_find(names, "sync a.c:7^^", found, 4, &which), 0);
    assert_int_equal(ti_loop_find(names, "main a.c:1", found, 4, &which), 0);
    assert_int_equal(ti_loop_find(names, "", found, 4, &which), 0);
    assert_int_equal(ti_loop_find(names, "[1]", found, 4, &which), 0);
    assert_int_equal(ti_loop_find(names, "^", found, 4, &which), 0);
    ti_loop_names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trips_are_those_of_the_rule),
        cmocka_unit_test(periods_are_found),
        cmocka_unit_test(periods_are_left_out),
        cmocka_unit_test(a_billion_trips_cost_nothing),
        cmocka_unit_test(loops_have_names),
    };

    return cmocka_run_group_tests(tests, program_setup, program_cleanup);
}
