/* Call sites and loops that several traces have in common (lib/versions). */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "tests/unit/fold_script.h"
#include "tests/unit/script.h"
#include "versions/versions.h"

#define NONE TI_VERSIONS_NONE

enum { S = TI_OP_SEND, R = TI_OP_RECV, B = TI_OP_BARRIER };

/* ------------------------------------------------------------------ call sites -- */

struct call {
    uint32_t op;
    const char *text;
};

#define MOST 12

/* The call sites of a program, up to the first one without text. */
typedef struct call program[MOST];

/* Match the call sites of two programs. */
static struct ti_versions *match(const struct call *a, const struct call *b)
{
    struct ti_versions *v = ti_versions_new(2, NULL);

    for (size_t i = 0; a[i].text; i++)
        assert_int_equal(ti_versions_site(v, 0, a[i].op, a[i].text), i);
    for (size_t i = 0; b[i].text; i++)
        assert_int_equal(ti_versions_site(v, 1, b[i].op, b[i].text), i);
    ti_versions_match(v);
    return v;
}

/* Call site pair[i] of the second program is call site i of the first one; -1: none is.  All others
 * of the second one come behind those of the first one, in their order. */
static void pairs(const struct call *a, const struct call *b, const int *pair)
{
    struct ti_versions *v = match(a, b);
    bool taken[MOST] = {false};
    size_t n = 0;

    for (; a[n].text; n++) {
        assert_int_equal(ti_versions_site_of(v, 0, n), n);
        assert_int_equal(ti_versions_op(v, n), a[n].op);
        assert_string_equal(ti_versions_text(v, n, 0), a[n].text);
        if (pair[n] < 0) {
            assert_null(ti_versions_text(v, n, 1));
            continue;
        }
        assert_int_equal(ti_versions_site_of(v, 1, (size_t)pair[n]), n);
        assert_string_equal(ti_versions_text(v, n, 1), b[pair[n]].text);
        taken[pair[n]] = true;
    }
    for (size_t i = 0; b[i].text; i++) {
        if (taken[i])
            continue;
        assert_int_equal(ti_versions_site_of(v, 1, i), n);
        assert_int_equal(ti_versions_op(v, n), b[i].op);
        assert_null(ti_versions_text(v, n, 0));
        assert_string_equal(ti_versions_text(v, n, 1), b[i].text);
        n++;
    }
    assert_int_equal(ti_versions_sites(v), n);
    assert_int_equal(ti_versions_phases(v), 0);
    ti_versions_free(v);
}

#define PAIRS(a, b, ...) pairs(a, b, (const int[]){__VA_ARGS__})

static void of_one_build_are_where_they_say(void **state)
{
    const program a = {{S, "app+0x10 [aa]"}, {S, "app+0x20 [aa]"}, {R, "app+0x20 [aa]"}};

    (void)state;
    PAIRS(a, ((program){{R, "app+0x20 [aa]"}, {S, "app+0x10 [aa]"}, {S, "app+0x14 [aa]"}}), 1, -1,
          0);
    PAIRS(a, a, 0, 1, 2);
    /* the same offset in another module, or a module that only says it is the same */
    PAIRS(a, ((program){{S, "lib+0x10 [aa]"}, {R, "lib+0x20 [aa]"}}), -1, -1, -1);
}

static void of_other_builds_are_in_order(void **state)
{
    const program a = {{S, "app+0x10 [aa]"}, {R, "app+0x20 [aa]"}, {S, "app+0x30 [aa]"}};

    (void)state;
    PAIRS(a, ((program){{S, "app+0x18 [bb]"}, {R, "app+0x40 [bb]"}, {S, "app+0x44 [bb]"}}), 0, 1,
          2);
    PAIRS(a, ((program){{S, "app+0x44 [bb]"}, {R, "app+0x40 [bb]"}}), -1, 1, 0);
    PAIRS(a, ((program){{B, "app+0x18 [bb]"}, {R, "app+0x40 [bb]"}}), -1, 1, -1);
    /* where no build is known, the same text is more likely the same place */
    PAIRS(((program){{S, "app+0x10"}, {S, "app+0x20"}}), ((program){{S, "app+0x20"}}), -1, 0);
    PAIRS(((program){{S, "app+0x10"}, {S, "app+0x20"}}), ((program){{S, "app+0x10"}}), 0, -1);
}

static void of_lines_prefer_equal_ones(void **state)
{
    (void)state;
    PAIRS(((program){{S, "a.c:10"}, {S, "a.c:12"}}), ((program){{S, "a.c:12"}}), -1, 0);
    /* moved as a whole: counted from the first or the last one */
    PAIRS(((program){{S, "a.c:10"}, {S, "a.c:20"}, {S, "a.c:30"}}),
          ((program){{S, "a.c:15"}, {S, "a.c:35"}}), 0, -1, 1);
    /* order is that of the lines, not that of the trace, and no pair crosses another one */
    PAIRS(((program){{S, "a.c:30"}, {R, "a.c:10"}}), ((program){{R, "a.c:40"}, {S, "a.c:50"}}), 1,
          0);
    PAIRS(((program){{S, "a.c:10"}, {R, "a.c:20"}}), ((program){{R, "a.c:10"}, {S, "a.c:20"}}), -1,
          0);
    /* other files are other places */
    PAIRS(((program){{S, "a.c:10"}, {S, "b.c:20"}}), ((program){{S, "b.c:10"}, {S, "a.c:20"}}), 1,
          0);
}

static void of_renamed_places_are_found_if_only_one_fits(void **state)
{
    (void)state;
    PAIRS(((program){{S, "old.c:10"}, {R, "old.c:20"}, {B, "main.c:5"}}),
          ((program){{B, "main.c:7"}, {S, "new.c:3"}, {R, "new.c:9"}}), 1, 2, 0);
    PAIRS(((program){{S, "old.c:10"}, {R, "old.c:20"}}),
          ((program){{S, "new.c:3"}, {R, "new.c:9"}, {S, "other.c:3"}, {R, "other.c:9"}}), -1, -1);
    PAIRS(((program){{S, "old.c:10"}, {R, "old.c:20"}}),
          ((program){{R, "new.c:3"}, {S, "new.c:9"}}), -1, -1);
}

static void of_three_traces_are_compared_with_all_before(void **state)
{
    struct ti_versions *v = ti_versions_new(3, NULL);

    (void)state;
    ti_versions_site(v, 0, S, "a.c:1");
    ti_versions_site(v, 1, R, "a.c:2");
    ti_versions_site(v, 2, S, "a.c:1");
    ti_versions_site(v, 2, R, "a.c:3");
    assert_int_equal(ti_versions_site(v, 2, R, "a.c:3"), 1);
    ti_versions_match(v);
    assert_int_equal(ti_versions_sites(v), 2);
    assert_int_equal(ti_versions_site_of(v, 2, 0), 0);
    assert_int_equal(ti_versions_site_of(v, 2, 1), 1);
    assert_null(ti_versions_text(v, 0, 1));
    assert_null(ti_versions_text(v, 1, 0));
    assert_string_equal(ti_versions_text(v, 1, 1), "a.c:2");
    assert_string_equal(ti_versions_text(v, 1, 2), "a.c:3");
    ti_versions_free(v);
}

static void nothing_is_nothing(void **state)
{
    struct ti_versions *v = ti_versions_new(2, NULL);

    (void)state;
    ti_versions_match(v);
    assert_int_equal(ti_versions_sites(v), 0);
    assert_int_equal(ti_versions_phases(v), 0);
    ti_versions_free(v);
    ti_versions_free(ti_versions_new(1, NULL)); /* not matched */
    ti_versions_free(NULL);
}

/* ------------------------------------------------------------------- odd texts -- */

/* A trace may say anything of a call site.  All texts stay apart, and each is itself again. */
static void odd_texts_are_compared(void **state)
{
    static const char *const odd[] = {"",
                                      "?",
                                      ":",
                                      "a.c:",
                                      "a.c:-5",
                                      "a.c:x",
                                      "a.c:2147483647",
                                      "a.c:-2147483648",
                                      "a.c:99999999999999999999",
                                      "b.c:2147483647",
                                      "b.c:-2147483648",
                                      "c.c:7 [aa]",
                                      "+0x",
                                      "+0x [",
                                      "+0x [aa]",
                                      "a+0x",
                                      "a+0x10",
                                      "a+0x10 [",
                                      "a+0x10 []",
                                      "a+0x10 [aa",
                                      "[aa]",
                                      " [aa]",
                                      "a+0xzz [aa]",
                                      "a+0xffffffffffffffffffffff [aa]",
                                      "a+0x1+0x2 [aa]",
                                      "\n",
                                      "\xff",
                                      "%s%n",
                                      "a b+0x3 [c d]"};
    enum { N = sizeof odd / sizeof *odd };
    struct ti_versions *v = ti_versions_new(3, NULL);
    char *text = malloc(20001);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 20000);
    text[20000] = '\0';
    memcpy(text + 19990, "+0x10 [aa]", 10);
    for (int t = 0; t < 3; t++) {
        for (size_t i = 0; i < N; i++)
            assert_int_equal(ti_versions_site(v, t, S, odd[t == 1 ? N - 1 - i : i]), i);
        assert_int_equal(ti_versions_site(v, t, S, text), N);
        assert_int_equal(ti_versions_site(v, t, S, NULL), t == 1 ? N - 1 : 0); /* is "" */
        assert_int_equal(ti_versions_site(v, t, UINT32_MAX, text), N + 1);
    }
    ti_versions_match(v);
    assert_int_equal(ti_versions_sites(v), N + 2);
    for (size_t i = 0; i < N + 2; i++) {
        assert_int_equal(ti_versions_site_of(v, 0, i), i);
        assert_int_equal(ti_versions_site_of(v, 2, i), i);
        assert_string_equal(ti_versions_text(v, i, 1), ti_versions_text(v, i, 0));
        assert_string_equal(ti_versions_text(v, i, 2), ti_versions_text(v, i, 0));
    }
    ti_versions_free(v);
    free(text);
}

/* ------------------------------------------------- as many pairs as possible -- */

#define LONGEST 24

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* The length of the longest common subsequence. */
static size_t common(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    size_t best[LONGEST + 1][LONGEST + 1] = {{0}};

    for (size_t i = 1; i <= n; i++)
        for (size_t k = 1; k <= m; k++) {
            size_t one = best[i - 1][k] > best[i][k - 1] ? best[i - 1][k] : best[i][k - 1];
            size_t both = best[i - 1][k - 1] + 1;

            best[i][k] = a[i - 1] == b[k - 1] && both > one ? both : one;
        }
    return best[n][m];
}

/* Make a program in one file; `how` the texts are written.  Returns its length. */
static size_t random_program(struct ti_versions *v, int trace, const char *how, uint32_t *op)
{
    size_t n = below(LONGEST + 1);
    int line = 1;

    for (size_t i = 0; i < n; i++) {
        char text[64];

        line += 1 + (int)below(3);
        op[i] = S + below(3);
        snprintf(text, sizeof text, how, line);
        assert_int_equal(ti_versions_site(v, trace, op[i], text), i);
    }
    return n;
}

static void random_programs_have_the_most_pairs(void **state)
{
    static const char *const how[][2] = {
        {"a.c:%d", "a.c:%d"}, {"app+0x%x [aa]", "app+0x%x [bb]"}, {"app+0x%x", "app+0x%x"}};

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct ti_versions *v = ti_versions_new(2, NULL);
        uint32_t a[LONGEST], b[LONGEST];
        size_t n = random_program(v, 0, how[round % 3][0], a), last = 0, found = 0;
        size_t m = random_program(v, 1, how[round % 3][1], b);

        ti_versions_match(v);
        for (size_t i = 0; i < m; i++) {
            size_t is = ti_versions_site_of(v, 1, i);

            assert_int_equal(ti_versions_op(v, is), b[i]);
            if (is >= n)
                continue;
            assert_true(!found || is > last); /* in order, so none is there twice */
            assert_int_equal(a[is], b[i]);
            last = is;
            found++;
        }
        assert_int_equal(found, common(a, n, b, m));
        assert_int_equal(ti_versions_sites(v), n + m - found);
        ti_versions_free(v);
    }
}

/* A function with so many calls that only lines are compared. */
static void large_functions_are_compared_by_line(void **state)
{
    enum { N = 4200, NEW = 7 };
    struct ti_versions *v = ti_versions_new(2, NULL);

    (void)state;
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < N; i++) {
            char text[32];

            snprintf(text, sizeof text, "a.c:%d", 10 * i + (t && i == NEW));
            ti_versions_site(v, t, S, text);
        }
    ti_versions_match(v);
    assert_int_equal(ti_versions_sites(v), N + 1);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(ti_versions_site_of(v, 1, i), i == NEW ? N : i);
    ti_versions_free(v);
}

/* ---------------------------------------------------------------------- phases -- */

/* Add the calls of a program in words: "i" and "f" are MPI_Init and MPI_Finalize, other letters
 * MPI_Barrier from a.c:LETTER; "3(ab)" is a loop of three trips. */
static const char *add_calls(char *script, size_t room, const char *rank, const char *p)
{
    for (; *p && *p != ')'; p++) {
        size_t at = strlen(script);

        if (*p >= '0' && *p <= '9') {
            const char *body = strchr(p, '(') + 1;

            for (int trips = atoi(p); trips > 0; trips--)
                p = add_calls(script, room, rank, body);
        } else if (*p == 'i' || *p == 'f') {
            snprintf(script + at, room - at, "%s %s\n", rank,
                     *p == 'i' ? "init level=0" : "finalize");
        } else {
            snprintf(script + at, room - at, "%s barrier comm=0 site=a.c:%d\n", rank, *p);
        }
    }
    return p;
}

/* Add a trace, with the program of each rank; shape[rank] are the shapes. */
static void add_trace(struct ti_versions *v, int trace, const char *const *programs, int np,
                      size_t *shape)
{
    static char script[1 << 16];
    struct ti_source *s;
    struct ti_err err;

    script[0] = '\0';
    for (int r = 0; r < np; r++) {
        char rank[12];

        snprintf(rank, sizeof rank, "%d", r);
        add_calls(script, sizeof script, rank, programs[r]);
    }
    script_trace(np, -1, script);
    s = fold_script(np, 0, NULL);
    for (int r = 0; r < np; r++) {
        struct ti_reader *reader;

        assert_int_equal(ti_source_reader(s, r, &reader, &err), TI_OK);
        assert_non_null(ti_reader_folded(reader));
        shape[r] = ti_versions_add(v, trace, reader);
        ti_reader_close(reader);
    }
    ti_source_close(s);
    script_forget();
}

/* The phases of traces of one rank each. */
static struct ti_versions *phases_of(const char *const *programs, int traces)
{
    struct ti_versions *v = ti_versions_new(traces, NULL);
    size_t shape;

    for (int t = 0; t < traces; t++) {
        add_trace(v, t, &programs[t], 1, &shape);
        assert_int_equal(shape, 0);
    }
    ti_versions_match(v);
    return v;
}

#define PHASES(...)                                                                                \
    phases_of((const char *const[]){__VA_ARGS__},                                                  \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void is_phase(const struct ti_versions *v, size_t phase, size_t around, const char *first,
                     const char *second)
{
    const char *name[] = {first, second};

    assert_true(phase < ti_versions_phases(v));
    assert_int_equal(ti_versions_around(v, phase), around);
    for (int t = 0; t < 2; t++) {
        const char *is = ti_versions_name(v, phase, t);

        assert_int_equal(is != NULL, name[t] != NULL);
        if (is)
            assert_string_equal(is, name[t]);
    }
}

/* 'a' is 97. */
static void loops_with_a_common_call_are_one_phase(void **state)
{
    struct ti_versions *v = PHASES("i5(ab)c4(d)f", "i9(b)c7(d)f");
    static const size_t first[] = {NONE, 0, 0, 0, NONE, 1, 1, NONE}; /* i, loop, a, b, c, ... */
    static const size_t second[] = {NONE, 0, 0, NONE, 1, 1, NONE};

    (void)state;
    assert_int_equal(ti_versions_phases(v), 2);
    is_phase(v, 0, NONE, "a.c:97", "a.c:98");
    is_phase(v, 1, NONE, "a.c:100", "a.c:100");
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(ti_versions_phase_of(v, 0, 0, i), first[i]);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(ti_versions_phase_of(v, 1, 0, i), second[i]);
    for (int t = 0; t < 2; t++) {
        assert_int_equal(ti_versions_loop(v, t, 0, 0), 1);
        assert_int_equal(ti_versions_loop(v, t, 0, 1), t ? 4 : 5);
        assert_int_equal(ti_versions_loop(v, t, 0, 2), UINT32_MAX);
    }
    assert_int_equal(ti_versions_call_of(v, 0, 0, 3), ti_versions_call_of(v, 1, 0, 2));
    assert_string_equal(ti_versions_text(v, ti_versions_call_of(v, 0, 0, 3), 1), "a.c:98");
    ti_versions_free(v);
}

static void loops_of_one_trace_are_known_as_such(void **state)
{
    struct ti_versions *v = PHASES("i5(a)f", "i5(a)b6(c)f");

    (void)state;
    assert_int_equal(ti_versions_phases(v), 2);
    is_phase(v, 0, NONE, "a.c:97", "a.c:97");
    is_phase(v, 1, NONE, NULL, "a.c:99");
    ti_versions_free(v);
}

static void inner_loops_stand_in_theirs(void **state)
{
    struct ti_versions *v = PHASES("i6(a5(b)4(c))f", "i9(a3(b)8(c))f");

    (void)state;
    assert_int_equal(ti_versions_phases(v), 3);
    is_phase(v, 0, NONE, "a.c:97", "a.c:97");
    is_phase(v, 1, 0, "a.c:98", "a.c:98");
    is_phase(v, 2, 0, "a.c:99", "a.c:99");
    ti_versions_free(v);
    /* one trip of the outer loop leaves only the inner ones */
    v = PHASES("i6(a5(b)4(c))f", "ia5(b)4(c)f");
    assert_int_equal(ti_versions_phases(v), 3);
    is_phase(v, 0, NONE, "a.c:97", NULL);
    is_phase(v, 1, 0, "a.c:98", "a.c:98");
    is_phase(v, 2, 0, "a.c:99", "a.c:99");
    ti_versions_free(v);
}

/* Two loops around the same call are told apart if all traces have both, and else are one phase. */
static void second_loops_are_told_apart_where_all_have_them(void **state)
{
    struct ti_versions *v = PHASES("i5(a)b6(a)f", "i7(a)b8(a)f");

    (void)state;
    assert_int_equal(ti_versions_phases(v), 2);
    is_phase(v, 0, NONE, "a.c:97[1]", "a.c:97[1]");
    is_phase(v, 1, NONE, "a.c:97[2]", "a.c:97[2]");
    ti_versions_free(v);
    v = PHASES("i5(a)b6(a)f", "i7(a)bf");
    assert_int_equal(ti_versions_phases(v), 1);
    is_phase(v, 0, NONE, "a.c:97[*]", "a.c:97");
    ti_versions_free(v);
}

/* Ranks with the same calls in the same loops share a shape, whatever the trips. */
static void ranks_share_shapes(void **state)
{
    static const char *const one[] = {"i5(a)f", "i6(a)f", "i5(b)f", "i5(a)f"};
    static const char *const other[] = {"i5(b)f", "i4(a)f"};
    struct ti_versions *v = ti_versions_new(2, NULL);
    size_t shape[4];

    (void)state;
    add_trace(v, 0, one, 4, shape);
    assert_int_equal(shape[0], 0);
    assert_int_equal(shape[1], 0);
    assert_int_equal(shape[2], 1);
    assert_int_equal(shape[3], 0);
    add_trace(v, 1, other, 2, shape);
    assert_int_equal(shape[0], 0);
    assert_int_equal(shape[1], 1);
    ti_versions_match(v);
    assert_int_equal(ti_versions_phases(v), 2);
    is_phase(v, 0, NONE, "a.c:97", "a.c:97");
    is_phase(v, 1, NONE, "a.c:98", "a.c:98");
    assert_int_equal(ti_versions_phase_of(v, 1, 0, 1), 1);
    assert_int_equal(ti_versions_phase_of(v, 1, 1, 1), 0);
    ti_versions_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_build_are_where_they_say),
        cmocka_unit_test(of_other_builds_are_in_order),
        cmocka_unit_test(of_lines_prefer_equal_ones),
        cmocka_unit_test(of_renamed_places_are_found_if_only_one_fits),
        cmocka_unit_test(of_three_traces_are_compared_with_all_before),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(odd_texts_are_compared),
        cmocka_unit_test(random_programs_have_the_most_pairs),
        cmocka_unit_test(large_functions_are_compared_by_line),
        cmocka_unit_test(loops_with_a_common_call_are_one_phase),
        cmocka_unit_test(loops_of_one_trace_are_known_as_such),
        cmocka_unit_test(inner_loops_stand_in_theirs),
        cmocka_unit_test(second_loops_are_told_apart_where_all_have_them),
        cmocka_unit_test(ranks_share_shapes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
