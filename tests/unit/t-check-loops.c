/* The check of folded traces: loops are read once where that suffices, with the same result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sound.h"

static char *text;
static size_t bytes;
static FILE *script;

static void begin(void)
{
    script = open_memstream(&text, &bytes);
    assert_non_null(script);
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(script, fmt, ap);
    va_end(ap);
}

/* Check what was said. */
static void end(int np)
{
    fclose(script);
    check_of(np, -1, text);
    free(text);
}

static void must_be_sound(void)
{
    expect_problem("a loop", 0, 0, 0, "");
}

/* At most `n` events were read, of all. */
static void must_read(uint64_t n)
{
    assert_in_range(check.events - left_out(), 1, n);
}

#define REPEAT(n, ...)                                                                             \
    for (int i = 0; i < (n); i++) {                                                                \
        __VA_ARGS__;                                                                               \
    }

/* ---- loops that are read once ---- */

static void blocking_messages(void **state)
{
    (void)state;
    begin();
    REPEAT(500, say("0 send peer=1 tag=3 bytes=8\n1 recv peer=-1 tag=3 bytes=8\n"
                    "* allreduce bytes=8 redop=3\n"))
    end(2);
    must_be_sound();
    must_read(100);
    conserved(500, 4000);
    assert_int_equal(check.conserved.collectives, 500);
}

/* Probes of messages that are received, and one in the last trip of one that is not. */
static void probes_in_loops(void **state)
{
    (void)state;
    begin();
    REPEAT(500, say("0 send peer=1 tag=3 bytes=8\n1 probe peer=-1 tag=3\n"
                    "1 recv peer=-1 tag=3 bytes=8\n"))
    end(2);
    must_be_sound();
    must_read(100);
    begin();
    REPEAT(500, say("0 send peer=1 tag=3 bytes=8\n1 recv peer=-1 tag=3 bytes=8\n"
                    "1 probe peer=-1 tag=3\n"))
    end(2);
    expect_problem("a probe too many", 1, 1, 1000, "from rank 0 with tag 3 that is never received");
    assert_true(left_out() > 0);
}

/* The two sides of a channel are in loops of different shapes. */
static void sides_have_other_loops(void **state)
{
    (void)state;
    begin();
    REPEAT(600, say("0 send peer=1 tag=3 bytes=%d\n", i % 2 ? 16 : 8))
    REPEAT(300, say("1 recv peer=-1 tag=3 bytes=8\n1 recv peer=-1 tag=3 bytes=16\n"))
    end(2);
    must_be_sound();
    must_read(100);
    conserved(600, 7200);
    begin(); /* sizes in another order */
    REPEAT(600, say("0 send peer=1 tag=3 bytes=%d\n", i % 2 ? 16 : 8))
    REPEAT(300, say("1 recv peer=-1 tag=3 bytes=16\n1 recv peer=-1 tag=3 bytes=8\n"))
    end(2);
    expect_problem("sizes", 1, 1, 2, "too few");
    assert_true(left_out() > 0);
}

static void nested_loops(void **state)
{
    (void)state;
    begin();
    REPEAT(40, {
        for (int k = 0; k < 30; k++)
            say("0 isend peer=1 tag=%d bytes=8 req=0\n1 irecv peer=-1 tag=%d bytes=8 req=0\n"
                "0-1 wait req=0\n",
                k % 3, k % 3);
        say("* bcast root=1 bytes=%d\n", 8);
        for (int k = 0; k < 3; k++)
            say("* allreduce bytes=%d redop=3\n", 8 << k);
    })
    end(2);
    must_be_sound();
    must_read(800);
    conserved(1200, 9600);
}

/* Requests are completed one trip, or two, after they were made. */
static void pipelines(void **state)
{
    (void)state;
    begin();
    say("0 isend peer=1 tag=1 bytes=8 req=0\n1 irecv peer=-1 tag=1 bytes=8 req=0\n");
    REPEAT(400, say("0-1 wait req=0\n0 isend peer=1 tag=1 bytes=8 req=0\n"
                    "1 irecv peer=-1 tag=1 bytes=8 req=0\n"))
    say("0-1 waitall all=1 v0=0\n");
    end(2);
    must_be_sound();
    must_read(100);
    conserved(401, 3208);
    begin();
    REPEAT(300, say("0 isend peer=1 tag=1 bytes=8 req=0\n1 irecv peer=-1 tag=1 bytes=8 req=0\n"
                    "0 isend peer=1 tag=1 bytes=8 req=1\n1 irecv peer=-1 tag=1 bytes=8 req=1\n"
                    "0-1 waitall v0=0,1\n"))
    REPEAT(300, say("0 isend peer=1 tag=1 bytes=8 req=0\n1 irecv peer=-1 tag=1 bytes=8 req=0\n"
                    "0-1 waitall all=1\n"))
    say("0 isend peer=1 tag=1 bytes=8 req=0\n"); /* leaked */
    end(2);
    expect_problem("a message too many", 1, 0, 2 * 450 + 600 + 1, "never receives it");
    leaks(1, 0, 2 * 450 + 600 + 1, "isend");
}

/* A request that is made in the loop is leaked in its last trip; numbers of events are right. */
static void events_are_counted_on(void **state)
{
    (void)state;
    begin();
    REPEAT(300, say("0 isend peer=1 tag=1 bytes=8 req=0\n1 recv peer=-1 tag=1 bytes=8\n%s",
                    i < 299 ? "0 wait req=0\n" : ""))
    end(2);
    must_be_sound();
    leaks(1, 0, 599, "isend");
    must_read(100);
}

static void persistent_requests(void **state)
{
    (void)state;
    begin();
    say("0 send_init peer=1 tag=1 bytes=8 req=0\n1 recv_init peer=-1 tag=1 bytes=8 req=0\n");
    say("* barrier_init req=1\n");
    REPEAT(300, say("0-1 start req=0\n0-1 start req=1\n0-1 waitall v0=0,1\n"))
    say("0-1 request_free req=0\n0-1 request_free req=1\n");
    end(2);
    must_be_sound();
    must_read(100);
    conserved(300, 2400);
    assert_int_equal(check.conserved.collectives, 300);
}

static void vector_collectives(void **state)
{
    (void)state;
    begin();
    REPEAT(400, say("0 alltoallv esize=4 resize=2 v0=1,2 v1=2,6\n"
                    "1 alltoallv esize=4 resize=8 v0=3,4 v1=1,2\n"))
    end(2);
    must_be_sound();
    must_read(100);
    begin();
    REPEAT(400, say("0 alltoallv esize=4 resize=2 v0=1,2 v1=2,%d\n"
                    "1 alltoallv esize=4 resize=8 v0=3,4 v1=1,2\n",
                    i == 300 ? 7 : 6))
    end(2);
    expect_problem("a block", 1, 1, 301, "not what the others expect");
    assert_true(left_out() > 0);
}

/* ---- loops that must be read trip by trip ---- */

static void wildcards(void **state)
{
    (void)state;
    begin(); /* a blocking receive says what it took */
    REPEAT(300, say("0 recv peer=any tag=any bytes=9 from=1 fromtag=4\n"
                    "1 send peer=-1 tag=4 bytes=8\n"))
    end(2);
    must_be_sound();
    must_read(100);
    begin();
    REPEAT(300, say("0 irecv peer=any tag=any bytes=8 req=0\n1 send peer=-1 tag=4 bytes=8\n"
                    "0 wait req=0 from=1 fromtag=4\n"))
    end(2);
    must_be_sound();
    must_read(100);
    conserved(300, 2400);
    begin(); /* a persistent one, after a loop without wildcards and before one with others */
    REPEAT(1000, say("0 recv peer=1 tag=1 bytes=8\n1 send peer=-1 tag=1 bytes=8\n"))
    say("0 recv_init peer=any tag=4 bytes=8 req=0\n");
    REPEAT(1000, say("0 recv peer=1 tag=2 bytes=8\n1 send peer=-1 tag=2 bytes=8\n"))
    REPEAT(1000,
           say("0 start req=0\n1 send peer=-1 tag=4 bytes=8\n0 wait req=0 from=1 fromtag=4\n"))
    say("0 request_free req=0\n");
    REPEAT(1000, say("0 irecv peer=1 tag=any bytes=8 req=0\n0 irecv peer=any tag=6 bytes=8 req=1\n"
                     "1 send peer=-1 tag=6 bytes=8\n1 send peer=-1 tag=5 bytes=8\n"
                     "0 waitall v0=1,0 v1=1,1,6,0,1,5\n"))
    end(2);
    must_be_sound();
    must_read(200);
    conserved(5000, 40000);
    begin(); /* one is always outstanding */
    say("0 irecv peer=any tag=any bytes=8 req=0\n");
    REPEAT(300, say("0 irecv peer=any tag=any bytes=8 req=1\n0 wait req=0 from=1 fromtag=4\n"
                    "0 irecv peer=any tag=any bytes=8 req=0\n0 wait req=1 from=1 fromtag=4\n"
                    "1 send peer=-1 tag=4 bytes=8\n1 send peer=-1 tag=4 bytes=8\n"))
    say("1 send peer=-1 tag=4 bytes=8\n0 wait req=0 from=1 fromtag=4\n");
    end(2);
    must_be_sound();
    conserved(601, 4808);
    assert_true(left_out() < 700); /* of the sender only */
    begin();                       /* in a loop around, too */
    for (int k = 0; k < 60; k++) {
        REPEAT(40, say("0 irecv peer=any tag=any bytes=8 req=0\n1 send peer=-1 tag=4 bytes=8\n"
                       "0 wait req=0 from=1 fromtag=4\n"))
        say("0 irecv peer=any tag=3 bytes=8 req=0\n1 send peer=-1 tag=3 bytes=8\n"
            "0 wait req=0 from=1 fromtag=3\n");
    }
    end(2);
    must_be_sound();
    must_read(500);
    conserved(60 * 41, 60 * 41 * 8);
    begin(); /* and the last one takes another message */
    REPEAT(300, say("0 irecv peer=any tag=any bytes=8 req=0\n1 send peer=-1 tag=4 bytes=8\n"
                    "0 wait req=0 from=1 fromtag=%d\n",
                    i < 299 ? 4 : 5))
    end(2);
    expect_problem("a tag", 2, 1, 300, "rank 0 never receives it");
}

/* A receive with a wildcard that is completed after a loop makes the second reader run ahead of
 * the loop, which then asks nothing new of it. */
static void wildcards_around_loops(void **state)
{
    (void)state;
    begin(); /* the receive of the last trip takes a message of another tag than the others */
    say("0 irecv peer=any tag=any bytes=8 req=0\n0 irecv peer=1 tag=4 bytes=8 req=1\n");
    REPEAT(300, say("0 wait req=1 from=1 fromtag=4\n0 irecv peer=any tag=any bytes=8 req=1\n"
                    "1 send peer=-1 tag=4 bytes=8\n"))
    say("0 wait req=1 from=1 fromtag=5\n0 wait req=0 from=1 fromtag=6\n"
        "1 send peer=-1 tag=4 bytes=8\n1 send peer=-1 tag=6 bytes=8\n");
    end(2);
    expect_problem("a tag", 2, 1, 301, "rank 0 never receives it");
    begin(); /* receives that may have taken a message; the first is leaked */
    say("0 irecv peer=any tag=any bytes=8 req=0\n");
    REPEAT(300, say("0 irecv peer=any tag=any bytes=8 req=1\n0 request_free req=1\n"
                    "1 send peer=-1 tag=4 bytes=8\n"))
    end(2);
    must_be_sound();
    leaks(1, 0, 1, "irecv");
}

static void new_communicators(void **state)
{
    (void)state;
    begin();
    REPEAT(100,
           say("* COMM %d d 0,1\n* comm_dup newcomm=%d\n* barrier comm=%d\n", i + 2, i + 2, i + 2))
    end(2);
    must_be_sound();
    assert_int_equal(check.conserved.collectives, 200);
}

static void growing_state(void **state)
{
    (void)state;
    begin(); /* a request more with each trip */
    REPEAT(200, say("0 isend peer=1 tag=1 bytes=8 req=%d\n1 recv peer=-1 tag=1 bytes=8\n", i))
    end(2);
    must_be_sound();
    assert_int_equal(check.leaked.n, 200);
    begin(); /* a problem with each trip */
    REPEAT(200, say("0 wait req=5\n1 barrier\n"))
    end(2);
    assert_int_equal(problems.n, 200);
}

/* ---- damage ---- */

static void damage_is_found(void **state)
{
    (void)state;
    begin(); /* a receive is missing */
    REPEAT(400,
           say("0 send peer=1 tag=3 bytes=8\n%s", i == 250 ? "" : "1 recv peer=-1 tag=3 bytes=8\n"))
    end(2);
    expect_problem("a receive", 1, 0, 400, "rank 1 never receives it");
    assert_true(left_out() > 0);
    conserved(399, 3192);
    begin(); /* a size */
    REPEAT(400,
           say("0 send peer=1 tag=3 bytes=%d\n1 recv peer=-1 tag=3 bytes=8\n", i == 250 ? 9 : 8))
    end(2);
    expect_problem("a size", 1, 1, 251, "too few");
    begin(); /* a tag */
    REPEAT(400, say("0 send peer=1 tag=%d bytes=8\n1 recv peer=-1 tag=3 bytes=8\n", 3 + (i == 250)))
    end(2);
    assert_int_equal(problems.n, 2);
    begin(); /* two collectives in another order */
    REPEAT(400, say("0 barrier\n0 bcast root=0 bytes=8\n%s",
                    i == 250 ? "1 bcast root=0 bytes=8\n1 barrier\n"
                             : "1 barrier\n1 bcast root=0 bytes=8\n"))
    end(2);
    expect_problem("an order", 1, 1, 501, "on the communicator of the world, rank 0 has");
    assert_true(left_out() > 0);
    begin(); /* a trip more */
    REPEAT(401, say("%s1 barrier\n", i < 400 ? "0 barrier\n" : ""))
    end(2);
    expect_problem("a trip", 1, 1, 401, "rank 0 has");
    assert_true(left_out() > 0);
}

/* ---- traces that nobody could read event by event ---- */

static void many_trips(int64_t one, int64_t other)
{
    begin();
    REPEAT(617, {
        say("0 send peer=1 tag=3 bytes=8\n1 recv peer=-1 tag=3 bytes=8\n* barrier\n");
        say("0 isend peer=1 tag=4 bytes=16 req=0\n1 irecv peer=-1 tag=4 bytes=16 req=0\n");
        say("0-1 wait req=0\n");
    })
    fclose(script);
    check_stretched(2, text, 617, (const int64_t[]){one, other});
    free(text);
}

static void a_million_million_events(void **state)
{
    const int64_t trips = INT64_C(250000000000);

    (void)state;
    many_trips(trips, trips);
    must_be_sound();
    assert_int_equal(check.events, 2 * (4 * trips + 2));
    assert_int_equal(check.left_out.ranks, 2);
    assert_true(check.events - check.left_out.events < 100);
    conserved(2 * (uint64_t)trips, 24 * (uint64_t)trips);
    assert_int_equal(check.conserved.collectives, trips);
    many_trips(trips, trips - 1); /* the ranks are too long to find the events */
    expect_problem("a trip", 2, 1, UINT64_MAX,
                   "its collectives are not those of rank 0; the traces");
    assert_non_null(
        strstr(problems.list[1].why, "its messages to rank 1 are not those that rank 1"));
    assert_int_equal(check.conserved.messages, 0);
}

/* Two messages in each of 2^31 trips, and receives with room for `small` and `large` bytes. */
static void two_messages(const char *before, int small, int large)
{
    int req = *before ? 1 : 0;

    begin();
    say("%s", before);
    REPEAT(617, say("0 send peer=1 tag=3 bytes=8\n0 ssend peer=1 tag=3 bytes=16\n"
                    "1 recv peer=-1 tag=3 bytes=%d\n"
                    "1 irecv peer=-1 tag=3 bytes=%d req=%d\n1 wait req=%d\n",
                    small, large, req, req))
    fclose(script);
    check_stretched(2, text, 617, (const int64_t[]){INT64_C(1) << 31, INT64_C(1) << 31});
    free(text);
}

static void a_receive_is_not_finished(void **state)
{
    (void)state;
    two_messages("1 irecv peer=-1 tag=9 bytes=8 req=0\n", 8, 16);
    must_be_sound();
    leaks(1, 1, 1, "irecv");
    conserved(UINT64_C(2) << 31, UINT64_C(24) << 31);
    two_messages("1 irecv peer=-1 tag=9 bytes=8 req=0\n1 request_free req=0\n", 8, 16);
    must_be_sound();
    conserved(UINT64_C(2) << 31, UINT64_C(24) << 31);
}

static void too_long_for_sizes(void **state)
{
    const uint64_t trips = UINT64_C(1) << 31;

    (void)state;
    two_messages("", 8, 15);
    expect_problem("the largest", 1, 0, UINT64_MAX, "larger than the room that rank 1 has");
    conserved(2 * trips, 24 * trips);
    two_messages("", 7, 16);
    expect_problem("the smallest", 1, 0, UINT64_MAX, "larger than the room that rank 1 has");
    assert_false(check.unmatched);
    assert_int_equal(check.unchecked.messages, 0);
    two_messages("", 12, 16); /* only reading tells that they fit */
    must_be_sound();
    conserved(0, 0);
    assert_int_equal(check.unchecked.messages, 2 * trips);
    two_messages("", 16, 8); /* and here, that they do not */
    must_be_sound();
    assert_int_equal(check.unchecked.messages, 2 * trips);
}

/* ---- random loops ---- */

static uint64_t seed;

static int rnd(int below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)below);
}

/* A statement of a random program, and the loop that it is, if `trips` is above 0. */
struct step {
    int trips, kind, tag, size, sizes, first, n;
};

static struct step program[32];
static int nsteps;

/* Make a body of `n` steps; returns the number of the first. */
static int make_body(int depth, int n)
{
    int first = nsteps;

    nsteps += n;
    for (int i = first; i < first + n; i++) {
        struct step *s = &program[i];

        *s = (struct step){0, rnd(9), rnd(3), 8 << rnd(3), rnd(3) ? 1 : 1 + rnd(4), 0, 0};
        if (depth < 3 && nsteps < 24 && rnd(3) == 0) {
            s->trips = depth ? 2 + rnd(12) : 30 + rnd(40);
            s->n = 1 + rnd(3);
            s->first = make_body(depth + 1, s->n);
        }
    }
    return first;
}

static int damaged; /* statement that is damaged when it comes to 0; below 0: none */

static void say_step(const struct step *s, int trip)
{
    int tag = s->tag, size = s->size * (1 + trip % s->sizes), what = --damaged ? -1 : rnd(4);
    int room = what == 0 ? size - 1 : size, more = what == 1, other = tag + (what == 2);

    switch (s->kind) {
    case 0:
        say("0 send peer=1 tag=%d bytes=%d\n1 probe peer=-1 tag=%d\n", tag, size, other);
        say("1 recv peer=-1 tag=%d bytes=%d\n%s", other, room,
            what == 3 ? "1 probe peer=-1 tag=1\n" : "");
        break;
    case 1:
        say("0 send peer=1 tag=%d bytes=%d\n1 recv peer=-1 tag=%d bytes=%d\n", tag, size, other,
            room);
        break;
    case 2:
        say("0 isend peer=1 tag=%d bytes=%d req=0\n1 irecv peer=-1 tag=%d bytes=%d req=0\n"
            "0-1 wait req=0\n",
            tag, size, other, room);
        break;
    case 3:
        say("0 sendrecv peer=1 tag=%d bytes=%d rpeer=1 rtag=%d rbytes=%d\n"
            "1 sendrecv peer=-1 tag=%d bytes=%d rpeer=-1 rtag=%d rbytes=%d\n",
            tag, size, tag, room, tag, size, other, size);
        break;
    case 4:
        say("0 allreduce bytes=%d redop=3\n1 allreduce bytes=%d redop=3\n", size, room);
        break;
    case 5:
        say("0 bcast root=%d bytes=%d\n1 bcast root=%d bytes=%d\n", tag % 2, size, other % 2, room);
        break;
    case 6:
        say("0 irecv peer=any tag=%d bytes=%d req=0\n1 send peer=-1 tag=%d bytes=%d\n"
            "0 wait req=0 from=1\n",
            tag, room, other, size);
        break;
    case 7:
        say("0 mprobe peer=1 tag=%d msg=0\n0 mrecv msg=0 bytes=%d\n1 send peer=-1 tag=%d "
            "bytes=%d\n",
            tag, room, other, size);
        break;
    case 8:
        say("0 recv_init peer=any tag=any bytes=%d req=0\n0 start req=0\n"
            "1 send peer=-1 tag=%d bytes=%d\n0 wait req=0 from=1 fromtag=%d\n0 request_free "
            "req=0\n",
            room, tag, size, other);
        break;
    }
    if (more)
        say("1 send peer=-1 tag=%d bytes=8\n", tag);
}

static int say_body(int first, int n, int trip)
{
    int said = 0;

    for (const struct step *s = program + first; s < program + first + n; s++) {
        for (int i = 0; i < s->trips; i++)
            said += say_body(s->first, s->n, i);
        if (!s->trips) {
            say_step(s, trip);
            said++;
        }
    }
    return said;
}

static void random_programs(void **state)
{
    uint64_t all = 0, out = 0, unsound = 0;

    (void)state;
    for (int k = 0; k < 300; k++) {
        int said, first;

        seed = (uint64_t)k;
        nsteps = 0;
        first = make_body(0, 3);
        begin();
        damaged = 0;
        said = say_body(first, 3, 0);
        fclose(script);
        free(text);
        if (said > 4000)
            continue;
        begin();
        damaged = k % 2 ? 1 + rnd(said) : 0;
        say_body(first, 3, 0);
        end(2);
        if (k % 2 == 0)
            must_be_sound();
        unsound += problems.n > 0;
        all += check.events;
        out += left_out();
    }
    printf("# %llu of %llu events left out, %llu programs unsound\n", (unsigned long long)out,
           (unsigned long long)all, (unsigned long long)unsound);
    assert_true(out > all / 3);
    assert_true(unsound > 50);
}

static int cleanup(void **state)
{
    (void)state;
    sound_forget();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_messages),
        cmocka_unit_test(sides_have_other_loops),
        cmocka_unit_test(probes_in_loops),
        cmocka_unit_test(nested_loops),
        cmocka_unit_test(pipelines),
        cmocka_unit_test(events_are_counted_on),
        cmocka_unit_test(persistent_requests),
        cmocka_unit_test(vector_collectives),
        cmocka_unit_test(wildcards),
        cmocka_unit_test(wildcards_around_loops),
        cmocka_unit_test(new_communicators),
        cmocka_unit_test(growing_state),
        cmocka_unit_test(a_million_million_events),
        cmocka_unit_test(a_receive_is_not_finished),
        cmocka_unit_test(too_long_for_sizes),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(random_programs),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
