/* Seeking in a folded trace against reading it from its start: each event, each sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "fold/decode_internal.h"
#include "fold/record.h"
#include "fold/seek.h"
#include "fold/trips.h"
#include "merged/encode.h"
#include "tests/unit/programs.h"
#include "tests/unit/records.h"
#include "trace/reader.h"

#define EVENTS_MOST 600

/* Open a decoder of the trace in `program_path`.  False if its record is a copy. */
static bool open_folded(const struct ti_qualities *q, struct ti_record *record,
                        struct ti_folded **out)
{
    struct ti_folded_tables tables;
    struct ti_reader *r;
    struct ti_err err;

    assert_int_equal(ti_reader_open(program_path, &r, &err), TI_OK);
    if (q)
        assert_int_equal(ti_folded_encode(r, q, record, &err), TI_OK);
    else
        assert_int_equal(ti_folded_encode_shape(r, record, &err), TI_OK);
    ti_reader_close(r);
    if (ti_record_is_copy(record)) {
        ti_record_free(record);
        return false;
    }
    assert_null(ti_folded_open(record, 8, out, &tables));
    ti_folded_tables_free(&tables);
    ti_folded_want_extras(*out);
    return true;
}

/* Make volumes small, and many of them 0. */
static void reduce(struct statement *s)
{
    for (; s; s = s->next) {
        s->ev.volume = program_rnd(3) ? s->ev.volume % 7 : 0;
        s->noise = program_rnd(2) ? 1 : 3;
        reduce(s->child);
    }
}

/* Make the calls and loops the same each time. */
static void calm(struct statement *s)
{
    for (; s; s = s->next) {
        for (unsigned k = 0; k < TI_F_COUNT; k++)
            s->values[k] = 1;
        s->vector_values = 1;
        s->varying = 0;
        calm(s->child);
    }
}

/* The result of sequential reading. */
struct seen {
    uint64_t hash;                      /* of the event, its call site and its extra values */
    uint64_t bare;                      /* of the event without its volume */
    uint64_t value[3];                  /* volume and extra values */
    uint64_t sum[3];                    /* the same over the events before it */
    struct frame frame[TI_SHAPE_DEPTH]; /* the loops around it */
    uint32_t depth;
};

static uint64_t hash_of(const struct ti_event *ev, uint32_t extras)
{
    uint64_t hash = ti_hash_word(ti_hash_event(TI_HASH_START, ev), ev->site);

    for (uint32_t i = 0; i < extras; i++)
        hash = ti_hash_word(hash, ev->extra[i]);
    return hash;
}

static uint64_t bare_hash(const struct ti_event *ev)
{
    struct ti_event bare = *ev;

    bare.volume = 0;
    return ti_hash_word(ti_hash_event(TI_HASH_START, &bare), ev->site);
}

static size_t read_all(struct ti_folded *f, struct seen *seen, size_t most)
{
    uint64_t sum[3] = {0, 0, 0};
    struct ti_event ev;
    size_t n = 0;

    for (; n < most && ti_folded_next(f, &ev) == 1; n++) {
        memcpy(seen[n].sum, sum, sizeof sum);
        seen[n].hash = hash_of(&ev, ti_folded_extras(f));
        seen[n].bare = bare_hash(&ev);
        seen[n].depth = f->depth;
        memcpy(seen[n].frame, f->frame, sizeof f->frame);
        for (uint32_t i = 0; i <= ti_folded_extras(f); i++)
            sum[i] += seen[n].value[i] = i ? ev.extra[i - 1] : ev.volume;
    }
    return n;
}

/* The place is the right one, and the events from there on are. */
static void must_be_at(struct ti_folded *f, const struct ti_place *place, const struct seen *seen,
                       size_t n, size_t at)
{
    struct ti_event ev;

    assert_int_equal(place->event, at);
    for (uint32_t i = 0; i <= ti_folded_extras(f); i++)
        assert_true(place->before[i] == seen[at].sum[i]);
    assert_int_equal(place->depth, seen[at].depth);
    for (uint32_t d = 0; d < place->depth; d++) {
        assert_int_equal(place->loop[d].loop, seen[at].frame[d].loop);
        assert_true(place->loop[d].trip >= 1);
        assert_int_equal(place->loop[d].trips - place->loop[d].trip + 1, seen[at].frame[d].left);
    }
    for (size_t end = at + program_rnd(n / 4 + 5); at <= end && at < n; at++) {
        assert_int_equal(ti_folded_next(f, &ev), 1);
        assert_true(hash_of(&ev, ti_folded_extras(f)) == seen[at].hash);
    }
    if (at == n)
        assert_int_equal(ti_folded_next(f, &ev), 0);
}

/* The first event with which the sum of columns reaches a value; n if there is none. */
static size_t expected(const struct seen *seen, size_t n, uint32_t columns, uint64_t value)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = 0;

        for (uint32_t k = 0; k < 3; k++)
            sum += columns & 1u << k ? seen[i].sum[k] + seen[i].value[k] : 0;
        if (sum >= value)
            return i;
    }
    return n;
}

static void seek_sum(struct ti_folded *f, const struct seen *seen, size_t n, uint32_t columns,
                     uint64_t value)
{
    size_t at = expected(seen, n, columns, value);
    struct ti_place place;

    assert_int_equal(ti_folded_seek_sum(f, columns, value, &place), at < n);
    if (at < n)
        must_be_at(f, &place, seen, n, at);
}

static void seek_all(struct ti_folded *f, const struct seen *seen, size_t n)
{
    struct ti_place place;

    for (size_t i = 0; i < n; i++) {
        size_t at = i % 2 ? n - i : i; /* also backwards */

        at = at < n ? at : 0;
        assert_int_equal(ti_folded_seek_event(f, at, &place), 1);
        must_be_at(f, &place, seen, n, at);
    }
    assert_int_equal(ti_folded_seek_event(f, n, &place), 0);
    assert_int_equal(ti_folded_seek_event(f, UINT64_MAX, &place), 0);
    for (uint32_t columns = 1; columns < 2u << ti_folded_extras(f); columns++) {
        for (size_t i = 0; i < n; i += 1 + n / 50) {
            uint64_t sum = 0;

            for (uint32_t k = 0; k <= ti_folded_extras(f); k++)
                sum += columns & 1u << k ? seen[i].sum[k] : 0;
            seek_sum(f, seen, n, columns, sum);
            seek_sum(f, seen, n, columns, sum + 1);
            seek_sum(f, seen, n, columns, sum ? sum - 1 : sum);
        }
        seek_sum(f, seen, n, columns, UINT64_MAX);
    }
}

static void each_event_is_found(void **state)
{
    struct seen *seen = calloc(EVENTS_MOST, sizeof *seen);
    int deep = 0;

    (void)state;
    assert_non_null(seen);
    for (int i = 0; i < 150; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(5));
        struct ti_record record;
        struct ti_folded *f;
        size_t n;

        reduce(program);
        program_trace(program_path, program, 1 + (int)program_rnd(30), i % 3 == 0,
                      1 + program_rnd(EVENTS_MOST), TI_END_COMPLETE);
        program_free(program);
        assert_true(open_folded(NULL, &record, &f));
        n = read_all(f, seen, EVENTS_MOST);
        assert_int_equal(n, ti_folded_events(f));
        for (size_t k = 0; k < n; k++)
            deep += seen[k].depth > 2;
        seek_all(f, seen, n);
        ti_folded_close(f);
        ti_record_free(&record);
    }
    assert_true(deep > 1000);
    free(seen);
}

/* Trips that are said to be alike are, and what follows trips that are left out is right. */
static void trips_are_left_out(void **state)
{
    struct seen *seen = calloc(EVENTS_MOST, sizeof *seen);
    uint64_t alike, all = 0, out = 0;
    struct ti_event ev;

    (void)state;
    assert_non_null(seen);
    for (int i = 0; i < 600; i++) {
        struct statement *program = program_random((int)program_rnd(4), 1 + program_rnd(4));
        struct ti_record record;
        struct ti_trip_start trip;
        struct ti_folded *f;
        size_t n, at = 0;

        if (i % 2)
            calm(program);
        program_trace(program_path, program, 1 + (int)program_rnd(30), i % 3 == 0,
                      1 + program_rnd(EVENTS_MOST), TI_END_COMPLETE);
        program_free(program);
        assert_true(open_folded(NULL, &record, &f));
        n = read_all(f, seen, EVENTS_MOST);
        ti_folded_close(f);
        ti_record_free(&record);
        all += n;
        assert_true(open_folded(NULL, &record, &f));
        for (int got = 1; got == 1;) {
            while (ti_folded_trip(f, &trip)) {
                assert_int_equal(trip.depth, f->depth - 1);
                struct ti_trip_period p = {1, 0};

                alike = ti_folded_alike(f, &p);
                assert_in_range(alike, 1, trip.left / p.trips);
                assert_true(alike == 1 || at + alike * p.events <= n);
                for (size_t k = p.events; alike > 1 && k < alike * p.events; k++)
                    assert_true(seen[at + k].bare == seen[at + k - p.events].bare);
                if (trip.first || alike == 1 || program_rnd(2))
                    continue;
                alike = 1 + program_rnd(alike);
                assert_true(ti_folded_leave_out(f, alike, &p));
                at += alike * p.events;
                out += alike * p.events;
            }
            got = ti_folded_next(f, &ev);
            if (got == 1)
                assert_true(hash_of(&ev, ti_folded_extras(f)) == seen[at++].hash);
        }
        assert_int_equal(at, n);
        ti_folded_close(f);
        ti_record_free(&record);
    }
    printf("# %llu of %llu events left out\n", (unsigned long long)out, (unsigned long long)all);
    assert_true(out > all / 20);
    free(seen);
}

/* Volumes of which the sum is not below 2^62 cannot be found; events can. */
static void large_volumes_are_refused(void **state)
{
    struct statement a = program_call(TI_OP_INIT, 0), b = program_call(TI_OP_FINALIZE, 0);
    struct ti_record record;
    struct ti_place place;
    struct ti_folded *f;

    (void)state;
    a.next = &b;
    for (int k = 0; k < 3; k++) {
        a.ev.volume = k ? UINT64_C(1) << 61 : 5;
        b.ev.volume = k == 2 ? UINT64_MAX - 4 : 5;
        program_seed = 3;
        program_trace(program_path, &a, 10, 0, UINT64_MAX, TI_END_COMPLETE);
        assert_true(open_folded(NULL, &record, &f));
        assert_int_equal(ti_folded_seek_event(f, 7, &place), 1);
        assert_int_equal(place.event, 7);
        assert_int_equal(ti_folded_seek_sum(f, 1, 12, &place), k ? -1 : 1);
        ti_folded_close(f);
        ti_record_free(&record);
    }
}

/* Of histograms the events are right, and values before and after the place add up to all. */
static void values_of_histograms_add_up(void **state)
{
    static const struct ti_qualities stats = {{TI_STATISTICS, 0}, {TI_STATISTICS, 0}};
    struct ti_record record;
    struct ti_event ev;
    int found = 0;

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct statement *program = program_random((int)program_rnd(3), 1 + program_rnd(3));
        struct ti_place place;
        struct ti_folded *f;
        uint64_t all = 0, n, last = 0;

        program_trace(program_path, program, 100 + (int)program_rnd(300), 2, 3000, TI_END_COMPLETE);
        program_free(program);
        if (!open_folded(&stats, &record, &f))
            continue;
        while (ti_folded_next(f, &ev) == 1)
            all += ev.extra[0];
        n = ti_folded_events(f);
        for (uint64_t at = 0; at < n; at += 1 + program_rnd(n / 8 + 1)) {
            uint64_t sum;

            assert_int_equal(ti_folded_seek_event(f, at, &place), 1);
            assert_int_equal(place.event, at);
            assert_true(place.before[1] >= last);
            sum = last = place.before[1];
            while (ti_folded_next(f, &ev) == 1)
                sum += ev.extra[0];
            assert_true(sum == all);
            /* the first event that reaches the sum of those up to here */
            assert_int_equal(ti_folded_seek_sum(f, 2, last, &place), 1);
            assert_true(place.event <= at && place.before[1] <= last);
            found++;
        }
        assert_int_equal(ti_folded_seek_sum(f, 2, all, &place), 1);
        assert_int_equal(ti_folded_seek_sum(f, 2, all + 1, &place), 0);
        ti_folded_close(f);
        ti_record_free(&record);
    }
    assert_true(found > 100);
}

/* Four loops in each other of 1,000 trips each, so 10^12 events: nothing
 * that takes time in proportion to the events would end. */
static void far_events_are_found_at_once(void **state)
{
    enum { DEPTH = 4 };
    struct ti_record record = record_nest(DEPTH, 1000, 3);
    const uint64_t events = UINT64_C(1000000000000);
    struct ti_folded_tables tables;
    struct ti_place place;
    struct ti_folded *f;
    struct ti_event ev;

    (void)state;
    assert_null(ti_folded_open(&record, 8, &f, &tables));
    assert_int_equal(ti_folded_events(f), events);
    for (uint64_t at = events - 1; at; at /= 3) {
        uint64_t rest = at;

        for (int how = 0; how < 2; how++) {
            assert_int_equal(how ? ti_folded_seek_sum(f, 1, 3 * at + 1, &place)
                                 : ti_folded_seek_event(f, at, &place),
                             1);
            assert_int_equal(place.event, at);
            assert_int_equal(place.before[0], 3 * at);
        }
        assert_int_equal(place.depth, DEPTH);
        for (int d = DEPTH; d-- > 0; rest /= 1000) {
            assert_int_equal(place.loop[d].trip, rest % 1000 + 1);
            assert_int_equal(place.loop[d].trips, 1000);
        }
        assert_int_equal(ti_folded_next(f, &ev), 1);
    }
    assert_int_equal(ti_folded_seek_event(f, events - 1, &place), 1);
    assert_int_equal(ti_folded_next(f, &ev), 1);
    assert_int_equal(ti_folded_next(f, &ev), 0);
    ti_folded_close(f);
    ti_folded_tables_free(&tables);
    ti_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_is_found),
        cmocka_unit_test(trips_are_left_out),
        cmocka_unit_test(large_volumes_are_refused),
        cmocka_unit_test(values_of_histograms_add_up),
        cmocka_unit_test(far_events_are_found_at_once),
    };

    return cmocka_run_group_tests(tests, program_setup, program_cleanup);
}
