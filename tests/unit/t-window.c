/* gather/fetch/window.h: simulated senders share a link, which is rarely idle, with little data
 * queued.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

#include "gather/fetch/window.h"
#include "node/send.h"

#define SENDERS_MAX 200
#define PIECE       (int64_t)(64 << 10)
#define STEP_S      0.001
#define TOLD_MAX    1024

/* One that sends without end, as fast as it may and `own_rate` lets it. */
struct sender {
    struct ti_window window;
    int64_t credit;
    struct {
        double at;
        int64_t bytes;
    } told[TOLD_MAX]; /* more, on its way to it */
    int64_t told_first, told_last;
    double ready_at;
};

struct link {
    double rate, trip_s; /* bytes a second; there and back */
    double own_rate;     /* of a sender; 0: no limit */
    int senders;
    struct sender sender[SENDERS_MAX];
    struct piece {
        int sender;
        int64_t bytes;
        double at; /* when it reaches the link */
    } * queue;
    int64_t first, last, room; /* in `queue` */
    double free_at;
    int64_t queued, most_queued, carried;
};

static void push(struct link *l, int who, int64_t bytes, double at)
{
    if (l->last == l->room) {
        l->room = 2 * l->room + 64;
        l->queue = realloc(l->queue, (size_t)l->room * sizeof *l->queue);
        assert_non_null(l->queue);
    }
    l->queue[l->last++] = (struct piece){who, bytes, at};
    l->queued += bytes;
}

static void tell(struct sender *s, int64_t bytes, double at)
{
    assert_true(s->told_last - s->told_first < TOLD_MAX);
    s->told[s->told_last % TOLD_MAX].at = at;
    s->told[s->told_last++ % TOLD_MAX].bytes = bytes;
}

static void send_step(struct link *l, int who, double now)
{
    struct sender *s = &l->sender[who];

    while (s->told_first < s->told_last && now >= s->told[s->told_first % TOLD_MAX].at)
        s->credit += s->told[s->told_first++ % TOLD_MAX].bytes;
    while (s->credit && now >= s->ready_at) {
        int64_t n = ti_send_piece(s->credit, PIECE);

        push(l, who, n, now);
        s->credit -= n;
        if (l->own_rate > 0)
            s->ready_at = now + (double)n / l->own_rate;
    }
}

/* Deliver the bytes that went through the link, half a round trip later. */
static void link_step(struct link *l, double now)
{
    while (l->first < l->last) {
        struct piece *p = &l->queue[l->first];
        struct sender *s = &l->sender[p->sender];
        double begin = l->free_at > p->at ? l->free_at : p->at,
               end = begin + (double)p->bytes / l->rate;
        int64_t more;

        if (end + l->trip_s / 2 > now)
            return;
        l->free_at = end;
        l->first++;
        l->queued -= p->bytes;
        l->carried += p->bytes;
        more = ti_window_received(&s->window, p->bytes, now);
        assert_true(more >= 0 && s->window.owed <= TI_WINDOW_MAX);
        if (more)
            tell(s, more, now + l->trip_s / 2);
    }
}

/* Bytes carried, of those that it could; the queue is looked at in the second half. */
static double run(struct link *l, double seconds)
{
    int64_t half = 0;

    l->queue = NULL;
    l->first = l->last = l->room = 0;
    for (int i = 0; i < l->senders; i++) {
        l->sender[i] = (struct sender){0};
        tell(&l->sender[i], ti_window_begin(&l->sender[i].window, 1e-9), l->trip_s / 2);
    }
    for (double now = 0; now < seconds; now += STEP_S) {
        for (int i = 0; i < l->senders; i++)
            send_step(l, (i + (int)(now / STEP_S)) % l->senders, now);
        link_step(l, now);
        if (now < seconds / 2)
            half = l->carried;
        else if (l->queued > l->most_queued)
            l->most_queued = l->queued;
    }
    free(l->queue);
    return (double)(l->carried - half) / (l->rate * seconds / 2);
}

static void test_links(void **state)
{
    static const double rates[] = {125e3, 1.25e6, 12.5e6, 125e6},
                        trips[] = {0.0005, 0.02, 0.2, 0.6};
    static const int senders[] = {1, 2, 5, 32, 128};

    (void)state;
    for (size_t r = 0; r < 4; r++)
        for (size_t t = 0; t < 4; t++)
            for (size_t n = 0; n < 5; n++) {
                static struct link l;
                double share, may;

                l = (struct link){.rate = rates[r], .trip_s = trips[t], .senders = senders[n]};
                share = run(&l, 20 + 50 * l.trip_s); /* after it has begun */
                may = l.rate * (2 * l.trip_s + TI_WINDOW_TRIP_MAX + 2 * TI_WINDOW_QUEUE_S) +
                      2.0 * TI_WINDOW_MIN * l.senders;
                if (share < 0.95 || (double)l.most_queued > may)
                    print_error("%g B/s, %g s, %d senders: %.3f used, %lld bytes wait\n", l.rate,
                                l.trip_s, l.senders, share, (long long)l.most_queued);
                assert_true(share >= 0.95);
                assert_true((double)l.most_queued <= may);
            }
}

/* Alone on a fast link, with disks that are slow: each gives what it can. */
static void test_slow_senders(void **state)
{
    static struct link l;

    (void)state;
    l = (struct link){.rate = 125e6, .trip_s = 0.02, .senders = 10, .own_rate = 1e6};
    assert_true(run(&l, 10) >= 0.95 * 10 * 1e6 / 125e6);
}

/* A link that becomes slower: what waits is soon no more than is right for it. */
static void test_becomes_slower(void **state)
{
    struct ti_window f = {0};
    double now = 1;
    int64_t owed = ti_window_begin(&f, now), before;

    (void)state;
    for (int i = 0; i < 1000; i++) { /* 100 MB/s */
        now += 0.001;
        owed += ti_window_received(&f, 100 << 10, now) - (100 << 10);
    }
    before = f.bytes;
    assert_true(before > 20 << 20);
    for (int i = 0; i < 400; i++) { /* 1 MB/s */
        now += 0.1;
        ti_window_received(&f, 100 << 10, now);
    }
    assert_true(f.bytes < 1 << 20);
    assert_true(f.bytes >= TI_WINDOW_MIN);
    (void)owed;
}

/* Asked again, it keeps what was learnt; bytes that were not asked for do no harm. */
static void test_again(void **state)
{
    struct ti_window f = {0};

    (void)state;
    assert_int_equal(ti_window_begin(&f, 1), TI_WINDOW_MIN);
    for (int i = 1; i < 100; i++)
        ti_window_received(&f, 1 << 20, 1 + i * 0.01);
    assert_true(f.bytes > TI_WINDOW_MIN);
    assert_int_equal(ti_window_begin(&f, 3), f.bytes);
    assert_true(ti_window_received(&f, INT64_C(1) << 50, 4) <= TI_WINDOW_MAX);
    assert_true(f.bytes <= TI_WINDOW_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_slow_senders),
        cmocka_unit_test(test_becomes_slower),
        cmocka_unit_test(test_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
