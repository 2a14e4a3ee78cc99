/*
 * Rules of growth: numbers that are made by a rule are found again from three sizes and agree at a
 * fourth; what three sizes do not decide is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extrapolate/product.h"
#include "extrapolate/rule.h"

#define MOST 4096

typedef int64_t number(const struct ti_spot *at);

struct grid {
    int axes;
    int64_t p[TI_AXES];
};

static struct ti_known known[MOST];
static struct ti_spot asked[MOST];
static size_t nknown, nasked;

static struct ti_spot spot_of(const struct grid *g, int64_t rank)
{
    struct ti_spot s = {.np = 1, .rank = rank, .axes = g->axes};
    int64_t rest = rank;

    for (int i = 0; i < g->axes; i++) {
        s.p[i] = g->p[i];
        s.np *= g->p[i];
        s.x[i] = rest % g->p[i];
        rest /= g->p[i];
    }
    return s;
}

static int64_t size_of(const struct grid *g)
{
    int64_t np = 1;

    for (int i = 0; i < g->axes; i++)
        np *= g->p[i];
    return np;
}

/* Make what is known of `n` grids, and what is asked for of grid number n. */
static void make(const struct grid *g, int n, number *f)
{
    nknown = nasked = 0;
    for (int input = 0; input < n; input++)
        for (int64_t rank = 0; rank < size_of(&g[input]); rank++) {
            struct ti_spot at = spot_of(&g[input], rank);

            assert_true(nknown < MOST);
            known[nknown++] = (struct ti_known){at, f(&at), input};
        }
    for (int64_t rank = 0; rank < size_of(&g[n]); rank++)
        asked[nasked++] = spot_of(&g[n], rank);
}

/* The rule of these numbers is found, and gives those of the last grid. */
static void finds(const struct grid *g, int n, number *f, const char *text)
{
    struct ti_rule rule[2];
    char buf[200];
    size_t where;

    make(g, n, f);
    assert_int_equal(ti_rule_find(known, nknown, asked, nasked, 8, rule, &where), TI_FOUND_RULE);
    for (size_t i = 0; i < nasked; i++) {
        int64_t value;

        assert_true(ti_rule_value(&rule[0], &asked[i], &value));
        assert_int_equal(value, f(&asked[i]));
    }
    assert_string_equal(ti_rule_text(&rule[0], buf, sizeof buf), text);
}

static void refuses(const struct grid *g, int n, number *f, enum ti_rule_found why)
{
    struct ti_rule rule[2];
    size_t where = SIZE_MAX;

    make(g, n, f);
    assert_int_equal(ti_rule_find(known, nknown, asked, nasked, 8, rule, &where), why);
    if (why == TI_FOUND_RIVALS) {
        int64_t a = 0, b = 0;

        assert_true(where < nasked);
        assert_true(ti_rule_value(&rule[0], &asked[where], &a) !=
                        ti_rule_value(&rule[1], &asked[where], &b) ||
                    a != b);
    }
}

static const struct grid growing[] = {{2, {4, 4}}, {2, {4, 8}}, {2, {8, 8}}, {2, {8, 16}}};
static const struct grid doubled[] = {
    {2, {2, 2}}, {2, {4, 4}}, {2, {4, 8}}, {2, {8, 8}}, {2, {8, 16}}};
static const struct grid squares[] = {{2, {2, 2}}, {2, {4, 4}}, {2, {8, 8}}, {2, {16, 16}}};
static const struct grid odd[] = {{2, {3, 5}}, {2, {4, 6}}, {2, {5, 7}}, {2, {6, 11}}};

static const struct grid doubled_to_24[] = {{1, {2}}, {1, {4}}, {1, {8}}, {1, {16}}, {1, {24}}};
static const struct grid any[] = {{1, {3}}, {1, {5}}, {1, {6}}, {1, {9}}, {1, {24}}};
static const struct grid no_rests[] = {{1, {2}}, {1, {4}}, {1, {8}}, {1, {24}}};
static const struct grid divisors[] = {{1, {3}}, {1, {4}}, {1, {5}}, {1, {6}}, {1, {8}}};
static const struct grid narrow[] = {{2, {5, 5}}, {2, {6, 6}}, {2, {7, 8}}, {2, {4, 64}}};
static const struct grid weak[] = {{2, {5, 5}}, {2, {6, 6}}, {2, {7, 8}}, {2, {32, 64}}};

static int64_t eight(const struct ti_spot *at)
{
    (void)at;
    return 8;
}
static int64_t south(const struct ti_spot *at)
{
    return at->p[0];
}
static int64_t last(const struct ti_spot *at)
{
    return at->np - 1;
}
static int64_t row_start(const struct ti_spot *at)
{
    return at->x[1] * at->p[0];
}
static int64_t turned(const struct ti_spot *at)
{
    return at->x[0] * at->x[1];
}
static int64_t stages(const struct ti_spot *at)
{
    return 1 + 2 * (63 - __builtin_clzll((uint64_t)at->p[1]));
}
/* Passes of `for (d = 1; d < np; d *= 2)`. */
static int64_t log_up(const struct ti_spot *at)
{
    return at->np > 1 ? 64 - __builtin_clzll((uint64_t)at->np - 1) : 0;
}
static int64_t log_down(const struct ti_spot *at)
{
    return 8 * (63 - __builtin_clzll((uint64_t)at->np));
}
/* 3, 4, 5 and 6 parts are equal: of 240 cells, or of 60 that are four times as large. */
static int64_t even(const struct ti_spot *at)
{
    return 136 + 8 * ti_block(240, at->p[0], at->x[0]);
}
static int64_t rim(const struct ti_spot *at)
{
    return 40 * ti_block(33, at->p[1], at->x[1]);
}
static int64_t last_rim(const struct ti_spot *at)
{
    return 40 * ti_block_dealt(TI_DEAL_LAST, 100, at->p[1], at->x[1]);
}
static int64_t ceil_rim(const struct ti_spot *at)
{
    return 40 * ti_block_dealt(TI_DEAL_CEIL, 110, at->p[1], at->x[1]);
}
static int64_t even_rim(const struct ti_spot *at)
{
    return 80 + 40 * ti_block_dealt(TI_DEAL_EVEN, 100, at->p[1], at->x[1]);
}
static int64_t no_rest(const struct ti_spot *at)
{
    return 8 * ti_block(64, at->p[0], at->x[0]);
}
static int64_t first_rim(const struct ti_spot *at)
{
    return 40 * ti_block(33, at->p[0], at->x[0]);
}
static int64_t padded(const struct ti_spot *at)
{
    return 16 * (2 + ti_block(100, at->p[0], at->x[0]));
}
/* Weak scaling: all parts but the last four have 8 cells, these 7; or the first three have one
 * more. */
static int64_t last_less(const struct ti_spot *at)
{
    return 40 * ti_block(8 * at->p[0] - 4, at->p[0], at->x[0]);
}
static int64_t first_more(const struct ti_spot *at)
{
    return 100 + 40 * ti_block(8 * at->p[1] + 3, at->p[1], at->x[1]);
}
static int64_t partner(const struct ti_spot *at)
{
    return at->x[0] ^ (at->p[0] / 2);
}
static int64_t neighbour(const struct ti_spot *at)
{
    return at->x[0] ^ 1;
}
static int64_t squared(const struct ti_spot *at)
{
    return at->np * at->np;
}

static void t_grows(void **state)
{
    (void)state;
    finds(growing, 3, eight, "8");
    finds(growing, 3, south, "px");
    finds(growing, 3, last, "np - 1");
    finds(growing, 3, row_start, "rank - x");
    finds(doubled, 4, stages, "2 * log2(py) + 1");
    finds(growing, 3, rim, "40 * block(33, py, y)");
    finds(growing, 3, padded, "32 + 16 * block(100, px, x)");
    finds(odd, 2, first_more, "420 + 40 * block(3, py, y)");
    finds(weak, 3, last_less, "40 * block(8 * px - 4, px, x)");
    finds(growing, 3, partner, "x xor px / 2");
    finds(growing, 3, neighbour, "x xor 1");
    finds(odd, 3, last_rim, "40 * block_last(100, py, y)");
    finds(odd, 3, ceil_rim, "40 * block_ceil(110, py, y)");
    finds(odd, 3, even_rim, "80 + 40 * block_even(100, py, y)");
    finds(any, 4, log_up, "ceil(log2(np))");
    finds(any, 4, log_down, "8 * floor(log2(np))");
    finds(odd, 3, rim, "40 * block(33, py, y)");
    finds(odd, 3, last, "np - 1");
}

/* Each part of `n` cells is dealt once, whatever the way. */
static void t_deals(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 60; n++)
        for (int64_t p = 1; p < 20; p++)
            for (int deal = 0; deal < TI_DEAL_COUNT; deal++) {
                int64_t sum = 0, part;

                for (int64_t x = 0; x < p; x++) {
                    part = ti_block_dealt((enum ti_deal)deal, n, p, x);
                    assert_true(part >= 0 && part <= n / p + 1);
                    assert_true(deal == TI_DEAL_CEIL || part >= n / p);
                    sum += part;
                }
                assert_int_equal(sum, n);
            }
}

/* With squares only, nothing tells one axis from the other, unless the target is a square, too. */
static void t_rivals(void **state)
{
    const struct grid wide[] = {squares[0], squares[1], squares[2], {2, {8, 32}}};

    (void)state;
    refuses(wide, 3, south, TI_FOUND_RIVALS);
    finds(squares, 3, south, "px");
    refuses(doubled_to_24, 4, log_up, TI_FOUND_RIVALS); /* programs round log2(24) up or down */
    refuses(no_rests, 3, no_rest, TI_FOUND_RIVALS);     /* who gets the rest of 64 / 24? */
    finds(no_rests, 2, no_rest, "8 * block(64, px, x)");
    refuses(divisors, 4, even, TI_FOUND_RIVALS);  /* cells of 1, or of 4 */
    refuses(narrow, 3, last_less, TI_FOUND_NONE); /* 28 cells, or 4 parts with one less */
    refuses(growing, 3, squared,
            TI_FOUND_TOO_FEW); /* three numbers fit all that has three constants */
    refuses(growing, 3, stages, TI_FOUND_TOO_FEW); /* any line fits, if py is only 4 and 8 */
    refuses(doubled, 4, turned, TI_FOUND_NONE);    /* a product of two things that vary */
    refuses(growing, 1, south, TI_FOUND_TOO_FEW);
    refuses(weak, 1, last_less, TI_FOUND_TOO_FEW); /* weak scaling, or a fixed number of cells */
}

/* From the last part alone it does not follow whether there are 32 or 33 cells. */
static void t_cells(void **state)
{
    static const struct grid few[] = {{1, {2}}, {1, {4}}, {1, {8}}, {1, {32}}};
    struct ti_rule rule[2];
    size_t where, n = 0;
    int64_t a, b;

    (void)state;
    make(few, 3, first_rim);
    for (size_t i = 0; i < nknown; i++)
        if (known[i].at.x[0] + 1 == known[i].at.p[0])
            known[n++] = known[i];
    assert_int_equal(ti_rule_find(known, n, asked, nasked, 8, rule, &where), TI_FOUND_RIVALS);
    assert_true(ti_rule_value(&rule[0], &asked[where], &a));
    assert_true(ti_rule_value(&rule[1], &asked[where], &b));
    assert_true(a != b);
    /* ... and it does not matter to the last part of 32, if a cell has 40 bytes */
    assert_int_equal(ti_rule_find(known, n, &asked[nasked - 1], 1, 40, rule, &where),
                     TI_FOUND_RULE);
}

static const struct grid cubes[] = {{3, {2, 2, 2}}, {3, {2, 3, 3}}, {3, {3, 3, 4}}, {3, {4, 5, 5}}};

static int64_t face(const struct ti_spot *at)
{
    return 8 * (ti_block(33, at->p[1], at->x[1]) + 2) * ti_block(26, at->p[2], at->x[2]);
}
static int64_t transposed(const struct ti_spot *at)
{
    return 16 * ti_block(64, at->p[0], at->x[0]) * ti_block(64, at->p[0], at->x[0]);
}
static int64_t volume(const struct ti_spot *at)
{
    return face(at) * ti_block(40, at->p[0], at->x[0]) + 1;
}

/* A face of a block in three dimensions, and a square that is cut twice along one axis. */
static void t_products(void **state)
{
    static const struct grid line[] = {{1, {4}}, {1, {8}}, {1, {16}}, {1, {64}}};
    struct ti_rule rule[2];
    char buf[200];
    size_t where;
    int64_t value;

    (void)state;
    make(cubes, 3, face);
    assert_int_equal(ti_rule_find(known, nknown, asked, nasked, 8, rule, &where), TI_FOUND_NONE);
    assert_int_equal(ti_product_find(known, nknown, asked, nasked, 8, rule, &where), TI_FOUND_RULE);
    assert_string_equal(ti_rule_text(&rule[0], buf, sizeof buf),
                        "8 * (2 + block(33, py, y)) * block(26, pz, z)");
    for (size_t i = 0; i < nasked; i++)
        assert_true(ti_rule_value(&rule[0], &asked[i], &value) && value == face(&asked[i]));
    make(line, 3, transposed);
    assert_int_equal(ti_product_find(known, nknown, asked, nasked, 8, rule, &where), TI_FOUND_RULE);
    for (size_t i = 0; i < nasked; i++)
        assert_true(ti_rule_value(&rule[0], &asked[i], &value) && value == transposed(&asked[i]));
    make(cubes, 3, volume);
    assert_int_equal(ti_product_find(known, nknown, asked, nasked, 8, rule, &where), TI_FOUND_NONE);
    /* from the first place of each grid it does not follow how many cells there are */
    make(cubes, 3, face);
    for (size_t i = 0, n = 0; i < nknown; i++)
        if (known[i].at.rank == 0) {
            known[n++] = known[i];
            where = n;
        }
    assert_int_not_equal(ti_product_find(known, where, asked, nasked, 8, rule, &where),
                         TI_FOUND_RULE);
}

/* Blocks of a target that has more parts than cells. */
static void t_no_cells(void **state)
{
    static const struct grid many[] = {{1, {3}}, {1, {4}}, {1, {5}}, {1, {64}}};
    struct ti_rule rule[2];
    size_t where;

    (void)state;
    make(many, 3, first_rim);
    assert_int_equal(ti_rule_find(known, nknown, asked, nasked, 8, rule, &where),
                     TI_FOUND_NO_CELLS);
    assert_int_equal(rule[0].cells, 33);
}

/* Rules that differ are noticed, however many agree: 2^31 bytes of 64 parts that are equal, in
 * cells of 8 bytes or of any multiple.  Only the largest cells leave 48 parts that are not. */
static int64_t huge_parts(const struct ti_spot *at)
{
    return (INT64_C(1) << 37) / at->p[0];
}
static void t_many(void **state)
{
    static const struct grid powers[] = {{1, {2}}, {1, {4}}, {1, {8}}, {1, {64}}};
    static const struct grid between[] = {{1, {2}}, {1, {4}}, {1, {64}}, {1, {48}}};

    (void)state;
    finds(powers, 3, huge_parts, "8 * block(17179869184, px, x)");
    refuses(between, 3, huge_parts, TI_FOUND_RIVALS);
}

/* Numbers that no arithmetic of 64 bits holds have no rule, or a rule without a value. */
static void t_large(void **state)
{
    static const int64_t large[] = {INT64_MIN, INT64_MIN + 1, -INT64_MAX / 2, -1,
                                    1,         INT64_MAX / 2, INT64_MAX - 1,  INT64_MAX};
    static const int n = sizeof large / sizeof *large;
    struct ti_rule rule[2];
    size_t where;
    int64_t value;

    (void)state;
    make(odd, 3, eight);
    for (int seed = 0; seed < n * n * n; seed++) {
        for (size_t i = 0; i < nknown; i++) {
            int pick[] = {seed % n, seed / n % n, seed / n / n};

            known[i].value = large[pick[known[i].input]];
            if (pick[0] == 4 && known[i].value < INT64_MAX)
                known[i].value += known[i].at.x[0] % 2;
        }
        if (ti_rule_find(known, nknown, asked, nasked, 1, rule, &where) == TI_FOUND_RULE)
            for (size_t i = 0; i < nasked; i++)
                if (ti_rule_value(&rule[0], &asked[i], &value))
                    assert_true(value < INT64_C(1) << 62 && value > -(INT64_C(1) << 62));
        ti_product_find(known, nknown, asked, nasked, 1, rule, &where);
    }
}

/* 2^t beyond what ranks need has no value, rather than a wrong one. */
static void t_powers(void **state)
{
    struct ti_rule r = {.kind = TI_RULE_SUM, .terms = 1, .d = 1, .c = {1}};
    struct ti_spot at = {.np = 4, .axes = 1, .p = {4}, .t = 30};
    int64_t value;

    (void)state;
    r.term[0] = (struct ti_term){TI_TERM_POW_TRIP, 0};
    assert_true(ti_rule_value(&r, &at, &value) && value == INT64_C(1) << 30);
    at.t = 31;
    assert_false(ti_rule_value(&r, &at, &value));
}

static void t_text(void **state)
{
    struct ti_rule r = {.kind = TI_RULE_SUM, .terms = 2, .d = 3, .c0 = -1, .c = {-1, 4}};
    char buf[64], small[6];

    (void)state;
    r.term[0] = (struct ti_term){TI_TERM_COORDINATE, 1};
    r.term[1] = (struct ti_term){TI_TERM_STRIDE_POW_TRIP, 2};
    assert_string_equal(ti_rule_text(&r, buf, sizeof buf), "(-y + 4 * stride(z) * 2^t - 1) / 3");
    assert_string_equal(ti_rule_text(&r, small, sizeof small), "(-y +");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_grows), cmocka_unit_test(t_deals),    cmocka_unit_test(t_rivals),
        cmocka_unit_test(t_cells), cmocka_unit_test(t_products), cmocka_unit_test(t_no_cells),
        cmocka_unit_test(t_many),  cmocka_unit_test(t_large),    cmocka_unit_test(t_powers),
        cmocka_unit_test(t_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
