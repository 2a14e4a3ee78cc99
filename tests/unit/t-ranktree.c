/* The tree by which ranks tell what they count: for every number of ranks up to some
 * thousands, each rank has one place, and parent and child agree on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "minitrace/ranktree.h"

#define MOST 20000

static int parent_of[MOST]; /* as the parent sees it */

/* Everything below b.first, from above; its levels. */
static int walk(struct ti_subtree b)
{
    int next = b.first + 1, n = ti_child_count(b), deepest = 0;

    assert_in_range(n, 0, TI_TREE_ARITY);
    for (int i = 0; i < n; i++) {
        struct ti_subtree c = ti_child(b, i);
        int height;

        assert_int_equal(c.first, next);
        assert_true(c.end > c.first && c.end <= b.end);
        next = c.end;
        parent_of[c.first] = b.first;
        height = 1 + walk(c);
        assert_true(i == 0 || height <= deepest);
        deepest = height > deepest ? height : deepest;
    }
    assert_int_equal(next, b.end);
    assert_int_equal(ti_height(b), deepest);
    return deepest;
}

static void check_size(int n)
{
    for (int r = 0; r < n; r++)
        parent_of[r] = -2;
    parent_of[0] = -1;
    walk((struct ti_subtree){0, n});
    for (int r = 0; r < n; r++) {
        int parent;
        struct ti_subtree b = ti_subtree_of(r, n, &parent);

        assert_int_equal(b.first, r);
        assert_int_equal(parent, parent_of[r]);
    }
}

static void every_rank_has_one_place(void **state)
{
    (void)state;
    for (int n = 1; n <= 2200; n++)
        check_size(n);
    for (int n = 2201; n <= MOST; n += 587)
        check_size(n);
}

/* A child's block, as the rank itself and as its parent has it, ends alike. */
static void blocks_are_the_same_from_both_ends(void **state)
{
    static const int sizes[] = {2, 33, 34, 40, 1024, 1057, 1058, 16384};

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int r = 0; r < sizes[k]; r++) {
            int parent, unused;
            struct ti_subtree b = ti_subtree_of(r, sizes[k], &parent), above;
            bool found = parent < 0;

            if (parent >= 0)
                above = ti_subtree_of(parent, sizes[k], &unused);
            for (int i = 0; parent >= 0 && i < ti_child_count(above); i++) {
                struct ti_subtree c = ti_child(above, i);

                found = found || (c.first == b.first && c.end == b.end);
            }
            assert_true(found);
        }
}

static void the_tree_is_flat(void **state)
{
    (void)state;
    assert_int_equal(ti_height((struct ti_subtree){0, 1}), 0);
    assert_int_equal(ti_height((struct ti_subtree){0, 33}), 1);
    assert_int_equal(ti_height((struct ti_subtree){0, 34}), 2);
    assert_int_equal(ti_height((struct ti_subtree){0, 1 + 32 + 32 * 32}), 2);
    assert_int_equal(ti_height((struct ti_subtree){0, 2 + 32 + 32 * 32}), 3);
    assert_int_equal(ti_height((struct ti_subtree){0, 16384}), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_has_one_place),
        cmocka_unit_test(blocks_are_the_same_from_both_ends),
        cmocka_unit_test(the_tree_is_flat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
