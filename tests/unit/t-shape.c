/* The shape of a folded trace: statistics of its columns against the events, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "fold/record.h"
#include "fold/shape.h"
#include "merged/encode.h"
#include "tests/unit/programs.h"
#include "trace/reader.h"

#define SITES 5 /* 4 call sites and none */

/* Open a reader of the trace in `program_path`, folded; volumes and extra values as histograms if
 * `stats`, else exact. */
static struct ti_reader *folded(bool stats)
{
    static const struct ti_qualities histograms = {{TI_STATISTICS, 0}, {TI_STATISTICS, 0}};
    struct ti_record record;
    struct ti_reader *r, *out;
    struct ti_err err;

    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    assert_null(ti_reader_folded(r));
    assert_int_equal(stats ? ti_folded_encode(r, &histograms, &record, &err)
                           : ti_folded_encode_shape(r, &record, &err),
                     TI_OK);
    ti_reader_close(r);
    if (ti_record_is_copy(&record)) {
        ti_record_free(&record);
        return NULL;
    }
    assert_int_equal(ti_reader_open_record(&record, 8, program_run_id, "record", &out, &err),
                     TI_OK);
    assert_non_null(ti_reader_folded(out));
    return out;
}

/* ---------------------------------------------------------------- statistics -- */

#define VOLUMES 3

/* Values of all calls of an operation from a call site. */
struct tally {
    struct ti_column_stats volume[VOLUMES], field[TI_F_COUNT];
};

static struct tally from_events[TI_OP_COUNT][SITES], from_shape[TI_OP_COUNT][SITES];

static void start(struct tally all[TI_OP_COUNT][SITES])
{
    const struct ti_column_stats none = {0, 0, INT64_MAX, INT64_MIN};

    memset(all, 0, sizeof from_events);
    for (int op = 0; op < TI_OP_COUNT; op++)
        for (int site = 0; site < SITES; site++) {
            for (int i = 0; i < VOLUMES; i++)
                all[op][site].volume[i] = none;
            for (int i = 0; i < TI_F_COUNT; i++)
                all[op][site].field[i] = none;
        }
}

static void add_value(struct ti_column_stats *s, int64_t value)
{
    s->n++;
    s->sum += (uint64_t)value;
    s->min = value < s->min ? value : s->min;
    s->max = value > s->max ? value : s->max;
}

static void add_stats(struct ti_column_stats *s, const struct ti_column_stats *more)
{
    s->n += more->n;
    s->sum += more->sum;
    s->min = more->min < s->min ? more->min : s->min;
    s->max = more->max > s->max ? more->max : s->max;
}

/* Call sites are numbered anew in a record. */
static int site_of(const struct ti_reader *r, uint32_t number)
{
    const char *text = ti_reader_string(r, TI_STRING_SITE, number);

    return text ? text[0] - 'a' + 1 : 0;
}

static void add_event(const struct ti_reader *r, const struct ti_event *ev, int extras)
{
    struct tally *t = &from_events[ev->op][site_of(r, ev->site)];

    add_value(&t->volume[0], (int64_t)ev->volume);
    for (int i = 0; i < extras; i++)
        add_value(&t->volume[1 + i], (int64_t)ev->extra[i]);
    for (uint32_t rest = ev->mask; rest; rest &= rest - 1)
        add_value(&t->field[__builtin_ctz(rest)], ev->arg[__builtin_ctz(rest)]);
}

static void add_call(const struct ti_reader *r, const struct ti_folded *f, uint32_t i, int extras)
{
    struct ti_shape_node node = ti_shape_node(f, i);
    struct tally *t = &from_shape[node.op][site_of(r, node.site)];
    struct ti_column_stats s;

    for (int k = 0; k <= extras; k++) {
        assert_true(ti_shape_volumes(f, i, (uint32_t)k, &s));
        assert_int_equal(s.n, node.passes);
        add_stats(&t->volume[k], &s);
    }
    for (uint32_t rest = node.mask; rest; rest &= rest - 1) {
        assert_true(ti_shape_field(f, i, (uint32_t)__builtin_ctz(rest), &s));
        add_stats(&t->field[__builtin_ctz(rest)], &s);
    }
}

/* Runs that wrap around 2^64 make the extremes those of all integers. */
static void same_stats(const struct ti_column_stats *a, const struct ti_column_stats *b)
{
    assert_true(a->n == b->n);
    assert_true(a->sum == b->sum);
    if (b->min == INT64_MIN && b->max == INT64_MAX)
        return;
    assert_true(a->min == b->min);
    assert_true(a->max == b->max);
}

static void check_loops(const struct ti_folded *f)
{
    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);
        struct ti_column_stats trips;

        assert_true(node.end > i && node.end <= ti_shape_nodes(f));
        if (!node.loop)
            continue;
        assert_true(ti_shape_trips(f, i, &trips));
        assert_int_equal(trips.n, node.passes);
        assert_true(trips.min > 0 && (uint64_t)trips.min * trips.n <= trips.sum &&
                    (uint64_t)trips.max * trips.n >= trips.sum);
        for (uint32_t k = i + 1; k < node.end; k = ti_shape_node(f, k).end)
            assert_int_equal(ti_shape_node(f, k).passes, trips.sum);
    }
}

/* Compare what was added up from events with what was added up from the shape. */
static void same_tallies(void)
{
    for (int op = 0; op < TI_OP_COUNT; op++)
        for (int site = 0; site < SITES; site++) {
            const struct tally *a = &from_events[op][site], *b = &from_shape[op][site];

            for (int k = 0; k < VOLUMES; k++)
                same_stats(&a->volume[k], &b->volume[k]);
            for (int k = 0; k < TI_F_COUNT; k++)
                same_stats(&a->field[k], &b->field[k]);
        }
}

/* Add up all calls of a shape; returns the number of loops. */
static int add_shape(const struct ti_reader *r, const struct ti_folded *f, int extras)
{
    int loops = 0;

    start(from_shape);
    for (uint32_t k = 0; k < ti_shape_nodes(f); k++) {
        if (ti_shape_node(f, k).loop)
            loops++;
        else
            add_call(r, f, k, extras);
    }
    return loops;
}

static void statistics_are_those_of_events(void **state)
{
    int loops = 0, histograms = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(6));
        int extras = i % 5 == 0 ? 2 : 0;
        struct ti_reader *r;
        struct ti_event ev;
        struct ti_err err;

        program_trace(program_path, program, 1 + (int)program_rnd(50), extras, 5000,
                      TI_END_COMPLETE);
        program_free(program);
        start(from_events);
        assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
        ti_reader_want_extras(r);
        while (ti_reader_next(r, &ev, &err) > 0)
            add_event(r, &ev, extras);
        ti_reader_close(r);
        for (int stats = 0; stats < 2; stats++) {
            r = folded(stats);
            if (!r)
                continue;
            check_loops(ti_reader_folded(r));
            loops += add_shape(r, ti_reader_folded(r), extras);
            ti_reader_close(r);
            same_tallies();
            histograms += stats;
        }
    }
    assert_true(loops > 100);
    assert_true(histograms > 50);
}

/* ------------------------------------------------------------ one shape for all -- */

static void same_shape(const struct ti_reader *ra, const struct ti_reader *rb)
{
    const struct ti_folded *a = ti_reader_folded(ra), *b = ti_reader_folded(rb);

    assert_int_equal(ti_shape_nodes(a), ti_shape_nodes(b));
    for (uint32_t i = 0; i < ti_shape_nodes(a); i++) {
        struct ti_shape_node x = ti_shape_node(a, i), y = ti_shape_node(b, i);
        struct ti_column_stats v, w;

        assert_int_equal(x.end, y.end);
        assert_int_equal(x.loop, y.loop);
        assert_true(x.passes == y.passes);
        assert_int_equal(x.op, y.op);
        assert_int_equal(x.mask, y.mask);
        assert_int_equal(site_of(ra, x.site), site_of(rb, y.site));
        assert_true(x.loop ? ti_shape_trips(a, i, &v) && ti_shape_trips(b, i, &w)
                           : ti_shape_volumes(a, i, 0, &v) && ti_shape_volumes(b, i, 0, &w));
        same_stats(&v, &w);
    }
}

/* Equal events and volumes give the same shape, whether there are durations or not, and in which
 * quality they are kept. */
static void durations_change_no_shape(void **state)
{
    int compared = 0;

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(6));
        int iterations = 1 + (int)program_rnd(50);
        struct ti_reader *r[3];
        uint64_t seed = program_seed;

        for (int extras = 0; extras < 2; extras++) {
            program_seed = seed;
            program_trace(program_path, program, iterations, extras, 5000, TI_END_COMPLETE);
            r[extras] = folded(false);
        }
        r[2] = folded(true);
        program_free(program);
        same_shape(r[0], r[1]);
        if (r[2])
            same_shape(r[0], r[2]);
        compared += r[2] != NULL;
        for (int k = 0; k < 3; k++)
            ti_reader_close(r[k]);
    }
    assert_true(compared > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_change_no_shape),
        cmocka_unit_test(statistics_are_those_of_events),
    };

    return cmocka_run_group_tests(tests, program_setup, program_cleanup);
}
