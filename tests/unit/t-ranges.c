/* Sets of ranks: every way to add ranges, against a table of flags; JSON and text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/ranges.h"

enum { RANKS = 40 };

/* The set has the ranks of `flag`, as ascending ranges that do not touch. */
static void must_be(const struct ti_ranges *set, const bool flag[RANKS])
{
    int64_t n = 0;

    for (int64_t r = 0; r < RANKS; r++) {
        n += flag[r];
        assert_int_equal(ti_ranges_hold(set, r), flag[r]);
    }
    assert_int_equal(ti_ranges_count(set), n);
    ti_ranges_foreach (set, rank)
        n -= flag[rank];
    assert_int_equal(n, 0);
    for (size_t i = 0; i < set->n; i++) {
        assert_true(set->range[i].first <= set->range[i].last);
        assert_true(i == 0 || set->range[i - 1].last + 1 < set->range[i].first);
    }
}

static void ranges_are_joined(void **state)
{
    (void)state;
    srand(1);
    for (int turn = 0; turn < 2000; turn++) {
        struct ti_ranges set = {0}, copy = {0};
        bool flag[RANKS] = {false};

        for (int k = 0; k < 20; k++) {
            int64_t first = rand() % RANKS, last = first + rand() % 4;

            last = last < RANKS ? last : RANKS - 1;
            for (int64_t r = first; r <= last; r++)
                flag[r] = true;
            if (first == last)
                ti_ranges_add(&set, first);
            else
                ti_ranges_add_range(&set, first, last);
            must_be(&set, flag);
        }
        ti_ranges_add_all(&copy, &set);
        must_be(&copy, flag);
        ti_ranges_clear(&copy);
        assert_int_equal(ti_ranges_count(&copy), 0);
        assert_false(ti_ranges_hold(&copy, 0));
        ti_ranges_free(&copy);
        ti_ranges_free(&set);
    }
}

static void is_read(const char *text, bool good, const char *shown)
{
    json_t *list = json_loads(text, JSON_DECODE_ANY, NULL);
    struct ti_ranges set;
    char buf[256];

    assert_int_equal(ti_ranges_of_json(list, 100, &set), good);
    assert_string_equal(ti_ranges_text(&set, buf, sizeof buf), shown);
    ti_ranges_free(&set);
    json_decref(list);
}

static void json_is_checked(void **state)
{
    struct ti_ranges set;
    json_t *list;
    char *text;

    (void)state;
    is_read("[]", true, "");
    is_read("[[0, 99]]", true, "0-99");
    is_read("[[7, 9], [0, 1], [2, 2], [8, 12]]", true, "0-2, 7-12");
    is_read("[[0, 100]]", false, "");
    is_read("[[5, 4]]", false, "");
    is_read("[[-1, 4]]", false, "");
    is_read("[[1]]", false, "");
    is_read("[[1, 2, 3]]", false, "");
    is_read("[[1, \"2\"]]", false, "");
    is_read("[3]", false, "");
    is_read("{}", false, "");
    is_read("null", false, "");
    assert_false(ti_ranges_of_json(NULL, 100, &set));

    set = (struct ti_ranges){0};
    ti_ranges_add(&set, 4);
    ti_ranges_add_range(&set, 7, 9);
    list = ti_ranges_json(&set);
    text = json_dumps(list, 0);
    assert_string_equal(text, "[[4, 4], [7, 9]]");
    free(text);
    json_decref(list);
    ti_ranges_free(&set);
}

static void is_parsed(const char *text, const char *shown)
{
    struct ti_ranges set = {0};
    struct ti_err err;
    char buf[64];
    ti_status st = ti_ranges_parse(&set, text, 100, &err);

    if (st != (shown ? TI_OK : TI_ERR_USAGE))
        fail_msg("'%s' gives status %d", text, st);
    if (shown)
        assert_string_equal(ti_ranges_text(&set, buf, sizeof buf), shown);
    ti_ranges_free(&set);
}

static void lists_are_parsed(void **state)
{
    (void)state;
    is_parsed("3", "3");
    is_parsed("0,4-7,99", "0, 4-7, 99");
    is_parsed("8,1-3,2-4", "1-4, 8");
    is_parsed("5-5", "5");
    is_parsed("", NULL);
    is_parsed("3,", NULL);
    is_parsed(",3", NULL);
    is_parsed("-3", NULL);
    is_parsed("3-", NULL);
    is_parsed("7-4", NULL);
    is_parsed("1-2-3", NULL);
    is_parsed("100", NULL);
    is_parsed("3x", NULL);
    is_parsed("1, 2", NULL);
    is_parsed("99999999999999999999", NULL);
}

static void text_is_cut(void **state)
{
    struct ti_ranges set = {0};
    char buf[64];

    (void)state;
    for (int64_t r = 0; r < 1000; r += 2)
        ti_ranges_add(&set, r);
    ti_ranges_text(&set, buf, sizeof buf);
    assert_string_equal(buf + strlen(buf) - 3, "...");
    ti_ranges_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_joined),
        cmocka_unit_test(json_is_checked),
        cmocka_unit_test(lists_are_parsed),
        cmocka_unit_test(text_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
