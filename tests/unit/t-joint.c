/*
 * Rules of several classes of ranks together: the first, middle and last parts of an axis are
 * classes, each with one number at one call site.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "extrapolate/model.h"

#define CLASSES 3
#define RANKS   64
#define FIELD(it)                                                                                  \
    {                                                                                              \
        .kind = TI_NUMBER_FIELD, .field = (it), .trip = -1, .site = 1                              \
    }

typedef int64_t number(int class, const struct ti_spot *at);

/* The bytes of a message. */
static struct ti_slot slot[] = {{.is = FIELD(TI_F_BYTES), .times = -1}};
static char *site[] = {"app+0x10"};
static struct ti_class kinds[CLASSES];
static struct ti_input_rank rank[4][RANKS];
static int64_t value[4][RANKS];
static uint32_t start[1];
static struct ti_inputs in;
static struct ti_grid grid;

/* Make inputs whose ranks have the numbers of f. */
static void make(const int64_t (*p)[2], int n, number *f)
{
    in = (struct ti_inputs){.n = n, .class = kinds, .nclasses = CLASSES};
    grid = (struct ti_grid){.axes = 2};
    memset(grid.class, -1, sizeof grid.class);
    for (int c = 0; c < CLASSES; c++)
        kinds[c] = (struct ti_class){.slot = slot, .n = 1, .site = site, .nsites = 1};
    for (int i = 0; i <= n; i++)
        memcpy(grid.p[i], p[i], sizeof p[i]);
    for (int i = 0; i < n; i++) {
        in.input[i] = (struct ti_input){.np = p[i][0] * p[i][1], .rank = rank[i]};
        for (int64_t r = 0; r < in.input[i].np; r++) {
            struct ti_spot at = ti_grid_spot(&grid, i, in.input[i].np, r);
            int c = at.x[0] == 0 ? 0 : at.x[0] + 1 == at.p[0] ? 1 : 2;

            grid.class[ti_grid_cell(&grid, &at)] = c;
            value[i][r] = f(c, &at);
            rank[i][r] = (struct ti_input_rank){(struct ti_rank_form){.n = 0}, (uint32_t)c,
                                                &value[i][r], start};
        }
    }
}

/* Whether all places of the target have a rule, which is right for f. */
static bool finds(const int64_t (*p)[2], int n, number *f)
{
    int64_t np = p[n][0] * p[n][1], is;
    struct ti_models models;
    struct ti_models_told told = {.found = 0};
    bool found;

    make(p, n, f);
    found = ti_models_find(&in, &grid, np, &models, &told);
    for (int64_t r = 0; r < np && found; r++) {
        struct ti_spot at = ti_grid_spot(&grid, n, np, r);
        uint32_t c = (uint32_t)grid.class[ti_grid_cell(&grid, &at)];

        assert_true(ti_model_value(&models, c, 0, &at, &is));
        assert_int_equal(is, f((int)c, &at));
    }
    assert_true(found || told.why[0]);
    ti_models_free(&models);
    return found;
}

/* Middle parts are there if an axis has three parts or more: here it has 3, and 4 in the target. */
static const int64_t one_shape[][2] = {{2, 3}, {3, 4}, {3, 5}, {4, 7}};

static int64_t constant(int class, const struct ti_spot *at)
{
    (void)class;
    (void)at;
    return 24;
}
static int64_t last_differs(int class, const struct ti_spot *at)
{
    return class == 1 ? 16 * at->p[1] : 24;
}
static int64_t all_differ(int class, const struct ti_spot *at)
{
    return class == 2 ? 24 : class == 1 ? 8 * at->p[0] : 12 * at->p[0] - 12;
}
static int64_t face(int class, const struct ti_spot *at)
{
    (void)class;
    return 8 * ti_block(41, at->p[0], at->x[0]) * ti_block(33, at->p[1], at->x[1]);
}

/* The middle parts have the number of the others, whose axis has 2 and 3 parts. */
static void t_agree(void **state)
{
    (void)state;
    assert_true(finds(one_shape, 3, constant));
}

/* The first parts have the number of the middle ones, and the last ones do not: it does not follow
 * what middle parts of four have. */
static void t_contradict(void **state)
{
    (void)state;
    assert_false(finds(one_shape, 3, last_differs));
    assert_false(finds(one_shape, 3, all_differ));
}

/* Products of all classes together, with rests along both axes. */
static void t_product(void **state)
{
    (void)state;
    assert_true(finds(one_shape, 3, face));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_agree),
        cmocka_unit_test(t_contradict),
        cmocka_unit_test(t_product),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
