/* The values of calls (fold/values.h) against those of the events, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "common/map.h"
#include "fold/record.h"
#include "fold/values.h"
#include "merged/encode.h"
#include "tests/unit/programs.h"
#include "trace/writer.h"

#define COLUMNS 3 /* volume and two extra columns */

/* The values of an event, and where it is from. */
struct item {
    uint64_t site, value[COLUMNS];
};

struct items {
    struct item *item;
    size_t n, cap;
    uint32_t op, site; /* of the next */
    uint64_t given;    /* calls of take() */
};

static void add(struct items *all, uint32_t op, uint32_t site, const uint64_t *value, uint64_t n)
{
    all->item = ti_grow(all->item, &all->cap, all->n + n, sizeof *all->item);
    for (; n; n--) {
        all->item[all->n].site = (uint64_t)op << 32 | site;
        memcpy(all->item[all->n++].value, value, sizeof all->item->value);
    }
}

static bool take(void *arg, const struct ti_values *v)
{
    struct items *all = arg;

    all->given++;
    for (uint64_t k = 0; k < v->n; k++) {
        uint64_t value[COLUMNS];

        for (int i = 0; i < COLUMNS; i++)
            value[i] = v->first[i] + k * v->stride[i];
        add(all, all->op, all->site, value, v->times);
    }
    return true;
}

static struct ti_reader *folded(const struct ti_qualities *q)
{
    struct ti_record record;
    struct ti_reader *r, *out;
    struct ti_err err;

    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    assert_int_equal(q ? ti_folded_encode(r, q, &record, &err)
                       : ti_folded_encode_shape(r, &record, &err),
                     TI_OK);
    ti_reader_close(r);
    if (ti_record_is_copy(&record)) {
        ti_record_free(&record);
        return NULL;
    }
    assert_int_equal(ti_reader_open_record(&record, 8, program_run_id, "record", &out, &err),
                     TI_OK);
    return out;
}

static void from_events(struct ti_reader *r, struct items *all)
{
    struct ti_event ev;
    struct ti_err err;

    ti_reader_want_extras(r);
    while (ti_reader_next(r, &ev, &err) > 0)
        add(all, ev.op, ev.site,
            (uint64_t[COLUMNS]){ev.volume, ev.extra ? ev.extra[0] : 0, ev.extra ? ev.extra[1] : 0},
            1);
}

static void from_shape(const struct ti_reader *r, struct items *all)
{
    const struct ti_folded *f = ti_reader_folded(r);

    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        all->op = node.op;
        all->site = node.site;
        if (!node.loop)
            assert_true(ti_shape_values(f, i, (2u << ti_reader_extras(r)) - 1, take, all));
    }
}

static int by_value(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct item));
}

static void same_items(struct items *a, struct items *b)
{
    assert_int_equal(a->n, b->n);
    qsort(a->item, a->n, sizeof *a->item, by_value);
    qsort(b->item, b->n, sizeof *b->item, by_value);
    assert_memory_equal(a->item, b->item, a->n * sizeof *a->item);
}

static const struct ti_qualities statistics = {{TI_STATISTICS, 0}, {TI_STATISTICS, 0}};
static const struct ti_qualities bounded = {{TI_BOUNDED, 50000}, {TI_BOUNDED, 50000}};

static void random_programs(void **state)
{
    uint64_t events = 0, given = 0, lossy = 0;

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(6));

        program_trace(program_path, program, 1 + (int)program_rnd(200), i % 4 != 0, 20000,
                      TI_END_COMPLETE);
        program_free(program);
        for (int quality = 0; quality < 3; quality++) {
            const struct ti_qualities *const qualities[] = {NULL, &statistics, &bounded};
            struct items a = {.n = 0}, b = {.n = 0};
            struct ti_reader *r = folded(qualities[quality]);

            if (!r)
                continue;
            from_events(r, &a);
            from_shape(r, &b);
            same_items(&a, &b);
            ti_reader_close(r);
            events += a.n;
            given += b.given;
            lossy += quality > 0;
            free(a.item);
            free(b.item);
        }
    }
    print_message("# %llu values at once, of %llu\n", (unsigned long long)given,
                  (unsigned long long)events);
    assert_true(given < events);
    assert_true(lossy > 200);
}

/* ---------------------------------------------------------------- long columns -- */

#define CALLS 200000

/* Write a loop of one call, whose values are regular in another way for each `kind`; with kind 3,
 * they are noise. */
static void write_calls(int kind)
{
    static const char *const info[] = {"extra", "burst_ns:ns call_ns:ns"};
    struct ti_event ev = {.op = TI_OP_BARRIER, .mask = TI_M_COMM};
    struct ti_writer *w;
    struct ti_err err;

    unlink(program_path);
    assert_int_equal(ti_writer_open(program_path, 3, 8, program_run_id, &w, &err), TI_OK);
    ti_writer_info(w, info, 1);
    ti_writer_extras(w, 2);
    ti_writer_comm(w, 0, TI_KIND_WORLD, 3, 8, NULL, 0, NULL);
    for (uint64_t i = 0; i < CALLS; i++) {
        const uint64_t of_kind[][COLUMNS] = {
            {5000, 100 + i * 7 % 17, 1000 * (i % 15)},
            {3 * i, 40 * (i % 10) + i, 8},
            {i / 100 % 3, i % 100 * 2, i < CALLS / 2 ? 1 : i},
            {program_rnd(1000), program_rnd(1u << 20), program_rnd(50)},
        };

        ev.volume = of_kind[kind][0];
        ti_writer_event_extra(w, &ev, &of_kind[kind][1]);
    }
    assert_int_equal(ti_writer_close(w, TI_END_COMPLETE, NULL, 0, &err), TI_OK);
}

/* Runs, circles, and circles that grow are given at once. */
static void regular_columns(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct items a = {.n = 0}, b = {.n = 0};
        struct ti_reader *r;

        write_calls(kind);
        r = folded(NULL);
        from_events(r, &a);
        from_shape(r, &b);
        assert_int_equal(a.n, CALLS);
        assert_in_range(b.given, 1, 2000);
        same_items(&a, &b);
        ti_reader_close(r);
        free(a.item);
        free(b.item);
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Values of long histograms come in another order than events have them, but each as often. */
static void long_histograms(void **state)
{
    struct items all[2] = {{.n = 0}, {.n = 0}};
    uint64_t *one[2];
    size_t cap = 0;
    struct ti_reader *r;

    (void)state;
    write_calls(3);
    r = folded(&statistics);
    from_events(r, &all[0]);
    from_shape(r, &all[1]);
    assert_in_range(all[1].given, 1, CALLS / 10);
    assert_int_equal(all[0].n, CALLS);
    assert_int_equal(all[1].n, CALLS);
    for (int column = 0; column < COLUMNS; column++) {
        for (int k = 0; k < 2; k++) {
            cap = 0;
            one[k] = ti_grow(NULL, &cap, CALLS, sizeof *one[k]);
            for (size_t i = 0; i < CALLS; i++)
                one[k][i] = all[k].item[i].value[column];
            qsort(one[k], CALLS, sizeof *one[k], by_number);
        }
        assert_memory_equal(one[0], one[1], CALLS * sizeof *one[0]);
        free(one[0]);
        free(one[1]);
    }
    ti_reader_close(r);
    free(all[0].item);
    free(all[1].item);
}

static void sums_do_not_wrap(void **state)
{
    struct ti_values v = {.n = 5, .times = 3, .first = {10}, .stride = {(uint64_t)-2}};
    uint64_t sum;

    (void)state;
    assert_true(ti_values_sum(&v, 0, &sum));
    assert_int_equal(sum, 90);
    v.n = 7; /* the last is below 0 */
    assert_false(ti_values_sum(&v, 0, &sum));
    v = (struct ti_values){.n = UINT64_C(1) << 32, .times = 2, .first = {0}, .stride = {1}};
    assert_true(ti_values_sum(&v, 0, &sum));
    assert_true(sum == (v.n - 1) * v.n);
    v.times = 3;
    assert_false(ti_values_sum(&v, 0, &sum));
    v = (struct ti_values){.n = 1, .times = 2, .first = {UINT64_C(1) << 63}};
    assert_false(ti_values_sum(&v, 0, &sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(regular_columns),
        cmocka_unit_test(long_histograms),
        cmocka_unit_test(sums_do_not_wrap),
    };

    return cmocka_run_group_tests(tests, program_setup, program_cleanup);
}
