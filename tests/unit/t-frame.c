/* session/frame.c: frames out of bytes that come in any pieces, after any noise, and
 * nothing out of bytes that were damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/frame.h"

static unsigned char wire[3 * TI_FRAME_MAX];
static size_t wire_bytes;

static void put(const void *data, size_t bytes)
{
    assert_true(wire_bytes + bytes <= sizeof wire);
    memcpy(wire + wire_bytes, data, bytes);
    wire_bytes += bytes;
}

static void frame(enum ti_frame_type type, uint32_t stream, const char *payload, size_t bytes)
{
    unsigned char header[TI_FRAME_HEADER];

    ti_frame_header(type, stream, payload, (uint32_t)bytes, header);
    put(header, sizeof header);
    put(payload, bytes);
}

static void text(enum ti_frame_type type, uint32_t stream, const char *payload)
{
    frame(type, stream, payload, strlen(payload));
}

/* Feed the wire in pieces of `step`; every frame as "TYPE.STREAM:PAYLOAD " to `out`. */
static ti_status feed(struct ti_frame_reader *r, size_t step, char *out, size_t room)
{
    struct ti_err err;
    size_t at = 0, n = 0;

    out[0] = '\0';
    for (size_t piece; at < wire_bytes; at += piece) {
        size_t done = 0;

        piece = step < wire_bytes - at ? step : wire_bytes - at;
        for (;;) {
            struct ti_frame f;
            size_t used;
            int got;
            ti_status st = ti_frame_feed(r, wire + at + done, piece - done, &used, &f, &got, &err);

            if (st != TI_OK) {
                assert_true(strlen(err.text) > 0);
                return st;
            }
            done += used;
            if (!got)
                break;
            n += (size_t)snprintf(out + n, room - n, "%d.%u:%.*s ", (int)f.type, f.stream,
                                  f.bytes < 100 ? (int)f.bytes : 3, (const char *)f.payload);
        }
        assert_int_equal(done, piece);
    }
    return TI_OK;
}

static void test_any_pieces(void **state)
{
    char out[1024];

    (void)state;
    wire_bytes = 0;
    text(TI_FRAME_HELLO, 0, "{}");
    text(TI_FRAME_OUTPUT, 7, "out");
    text(TI_FRAME_OUTPUT, 7, "");
    text(TI_FRAME_DATA, UINT32_MAX, "TiF1");
    for (size_t step = 1; step <= wire_bytes; step++) {
        struct ti_frame_reader r = {0};

        assert_int_equal(feed(&r, step, out, sizeof out), TI_OK);
        assert_string_equal(out, "1.0:{} 4.7:out 4.7: 6.4294967295:TiF1 ");
        assert_string_equal(r.noise, "");
        ti_frame_reader_free(&r);
    }
}

static void test_largest(void **state)
{
    static char big[TI_FRAME_MAX];
    struct ti_frame_reader r = {.started = 1};
    char out[256];

    (void)state;
    wire_bytes = 0;
    memset(big, 'x', sizeof big);
    frame(TI_FRAME_DATA, 1, big, sizeof big);
    text(TI_FRAME_DATA, 2, "y");
    assert_int_equal(feed(&r, 4096, out, sizeof out), TI_OK);
    assert_string_equal(out, "6.1:xxx 6.2:y ");
    ti_frame_reader_free(&r);
}

/* Output of a login shell, and bytes that look like frames but are none. */
static void test_noise(void **state)
{
    static const char *const noises[] = {"Welcome to n12!\n",
                                         "T",
                                         "TiF",
                                         "TiTiF1",
                                         "TiF1TiF1 no frame, TiF1\1\1\1\1\1\1\1\1\1\1\1\1",
                                         "\33[1mTi\33[0m\1\2"};
    char out[256];

    (void)state;
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++)
        for (size_t step = 1; step < 64; step++) {
            struct ti_frame_reader r = {0};

            wire_bytes = 0;
            put(noises[i], strlen(noises[i]));
            text(TI_FRAME_HELLO, 0, "{\"tiara\": \"1\"}");
            text(TI_FRAME_MESSAGE, 0, "m");
            assert_int_equal(feed(&r, step, out, sizeof out), TI_OK);
            assert_string_equal(out, "1.0:{\"tiara\": \"1\"} 2.0:m ");
            assert_int_equal(strlen(r.noise), strlen(noises[i]));
            ti_frame_reader_free(&r);
        }
}

/* Other frames before HELLO, one with a wrong sum, and one whose header promises
 * more than comes before the real one. */
static void test_false_starts(void **state)
{
    struct ti_frame_reader r = {0};
    unsigned char header[TI_FRAME_HEADER];
    char out[256];

    (void)state;
    wire_bytes = 0;
    text(TI_FRAME_MESSAGE, 0, "early");
    text(TI_FRAME_HELLO, 0, "damaged");
    wire[wire_bytes - 1] ^= 1;
    ti_frame_header(TI_FRAME_HELLO, 0, "0123456789012345678901234567890123456789", 40, header);
    put(header, sizeof header);
    text(TI_FRAME_HELLO, 0, "{}");
    text(TI_FRAME_MESSAGE, 1, "one");
    text(TI_FRAME_MESSAGE, 2, "two");
    assert_int_equal(feed(&r, 5, out, sizeof out), TI_OK);
    assert_string_equal(out, "1.0:{} 2.1:one 2.2:two ");
    ti_frame_reader_free(&r);
}

/* Room for the frame at hand, and none between frames. */
static void test_memory(void **state)
{
    static char big[TI_FRAME_MAX];
    struct ti_frame_reader r = {.started = 1};
    struct ti_frame f;
    struct ti_err err;
    size_t used, small;
    int got;

    (void)state;
    wire_bytes = 0;
    text(TI_FRAME_MESSAGE, 0, "{}");
    small = wire_bytes;
    frame(TI_FRAME_DATA, 1, big, sizeof big);
    assert_int_equal(ti_frame_feed(&r, wire, small, &used, &f, &got, &err), TI_OK);
    assert_true(got && used == small);
    assert_int_equal(r.room, small);
    assert_int_equal(ti_frame_feed(&r, wire, 0, &used, &f, &got, &err), TI_OK);
    assert_false(got);
    assert_null(r.buf);
    assert_int_equal(r.room, 0);
    /* a part of one is kept; a header that promises more gets no more than that */
    assert_int_equal(ti_frame_feed(&r, wire, 5, &used, &f, &got, &err), TI_OK);
    assert_int_equal(r.room, TI_FRAME_HEADER);
    assert_int_equal(ti_frame_feed(&r, wire + 5, small - 5, &used, &f, &got, &err), TI_OK);
    assert_true(got);
    assert_int_equal(ti_frame_feed(&r, wire + small, wire_bytes - small - 1, &used, &f, &got, &err),
                     TI_OK);
    assert_false(got);
    assert_int_equal(r.room, TI_FRAME_HEADER + TI_FRAME_MAX);
    assert_int_equal(ti_frame_feed(&r, wire + wire_bytes - 1, 1, &used, &f, &got, &err), TI_OK);
    assert_true(got);
    assert_int_equal(ti_frame_feed(&r, wire, 0, &used, &f, &got, &err), TI_OK);
    assert_null(r.buf);
    ti_frame_reader_free(&r);
}

static void test_noise_is_remembered_to_its_end(void **state)
{
    struct ti_frame_reader r = {0};
    char line[64], out[64];

    (void)state;
    wire_bytes = 0;
    for (int i = 0; i < 1000; i++) {
        snprintf(line, sizeof line, "line %d\n", i);
        put(line, strlen(line));
    }
    assert_int_equal(feed(&r, 1000, out, sizeof out), TI_OK);
    assert_int_equal(strlen(r.noise), sizeof r.noise - 1);
    assert_string_equal(r.noise + strlen(r.noise) - 18, "line 998\nline 999\n");
    ti_frame_reader_free(&r);
}

/* A login script that prints for ever is given up, one that prints much is not. */
static void test_endless_noise(void **state)
{
    static const char line[] = "TiF is not TiF1, and this is no frame\n";
    struct ti_frame_reader r = {0};
    struct ti_err err = {"", ""};
    ti_status st = TI_OK;
    size_t fed = 0, used;
    struct ti_frame f;
    int got = 0;

    (void)state;
    while (st == TI_OK && fed < 4 * (size_t)TI_FRAME_NOISE_MAX) {
        st = ti_frame_feed(&r, line, sizeof line - 1, &used, &f, &got, &err);
        assert_false(got);
        fed += sizeof line - 1;
    }
    assert_int_equal(st, TI_ERR_REMOTE);
    assert_true(fed > TI_FRAME_NOISE_MAX && fed < TI_FRAME_NOISE_MAX + 1024);
    assert_non_null(strstr(err.text, "no frame"));
    assert_true(err.hint[0]);
    assert_int_equal(ti_frame_feed(&r, line, 1, &used, &f, &got, &err), TI_ERR_REMOTE);
    ti_frame_reader_free(&r);
}

/* Every bit of a frame turned over. */
static void test_damage(void **state)
{
    char out[256];

    (void)state;
    for (size_t bit = 0;; bit++) {
        struct ti_frame_reader r = {.started = 1};
        ti_status st;

        wire_bytes = 0;
        text(TI_FRAME_MESSAGE, 3, "{\"do\":\"x\"}");
        if (bit == 8 * wire_bytes) {
            ti_frame_reader_free(&r);
            break;
        }
        wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
        st = feed(&r, 1 << 20, out, sizeof out);
        /* a length that grew: more is waited for */
        assert_true(st == TI_ERR_REMOTE ||
                    (st == TI_OK && !out[0] && bit / 8 >= 12 && bit / 8 < 16));
        if (st == TI_ERR_REMOTE) {
            struct ti_frame f;
            struct ti_err err;
            size_t used;
            int got;

            assert_int_equal(ti_frame_feed(&r, "x", 1, &used, &f, &got, &err), TI_ERR_REMOTE);
        }
        ti_frame_reader_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_pieces),    cmocka_unit_test(test_largest),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_false_starts),  cmocka_unit_test(test_noise_is_remembered_to_its_end),
        cmocka_unit_test(test_endless_noise), cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
