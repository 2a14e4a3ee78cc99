/* Rows of option tables: what each kind takes, where it puts it, and what it says otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cli.h"

struct options {
    bool before, flag, given, after;
    const char *text;
    int64_t number;
    uint64_t size;
    enum { FIRST = 3, SECOND, THIRD } choice;
    struct ti_args args;
};

static ti_status take(void *options, const char *arg, struct ti_err *err)
{
    ((struct options *)options)->text = arg ? arg : "none";
    return arg && !*arg ? ti_err_set(err, TI_ERR_USAGE, "empty") : TI_OK;
}

#define TI_OPT_STRUCT struct options

static const struct ti_opt opts[] = {
    {'f', "flag", NULL, "", TI_OPT_FLAG(flag)},
    {0, "text", "TEXT", "", TI_OPT_TEXT(text)},
    {0, "name", "NAME", "", TI_OPT_NAME(text)},
    {0, "bw", "BW", "", TI_OPT_QUANTITY(text, TI_UNIT_BANDWIDTH)},
    {0, "word", "WORD", "", TI_OPT_WORD(text, "one two")},
    {0, "choice", "WORD", "", TI_OPT_CHOICE(choice, FIRST, "first second third")},
    {0, "third", NULL, "", TI_OPT_VALUE(choice, THIRD)},
    {0, "number", "N", "", TI_OPT_INTEGER(number, 1, 9), TI_OPT_GIVEN(given)},
    {0, "many", "N", "", TI_OPT_INTEGER(number, 2, INT64_MAX)},
    {0, "size", "SIZE", "", TI_OPT_SIZE(size, 24, 2 << 20)},
    {0, "any-size", "SIZE", "", TI_OPT_SIZE(size, 0, INT64_MAX)},
    {0, "pass", "WORD", "", TI_OPT_ARGS(args)},
    {0, "function", "[=TEXT]", "", TI_OPT_FUNCTION(take)},
    TI_OPT_END};

static struct options o;

/* Takes one option into `o`; returns the error, "" if there is none. */
static const char *says(const char *name, const char *arg)
{
    static struct ti_err err;
    const struct ti_opt *opt = opts;
    ti_status st;

    while (strcmp(opt->name, name) != 0)
        opt++;
    err.text[0] = '\0';
    o = (struct options){.number = -1};
    st = ti_opt_parse(opt, &o, arg, &err);
    assert_int_equal(st, err.text[0] ? TI_ERR_USAGE : TI_OK);
    assert_false(o.before || o.after);
    return err.text;
}

static void takes(const char *name, const char *arg)
{
    assert_string_equal(says(name, arg), "");
}

static void test_kinds(void **state)
{
    (void)state;
    takes("flag", NULL);
    assert_true(o.flag && !o.given);
    takes("text", "");
    assert_string_equal(o.text, "");
    takes("name", "x");
    assert_string_equal(o.text, "x");
    takes("bw", "10Gbps");
    takes("word", "two");
    assert_string_equal(o.text, "two");
    takes("choice", "first");
    assert_int_equal(o.choice, FIRST);
    takes("choice", "third");
    assert_int_equal(o.choice, THIRD);
    takes("third", NULL);
    assert_int_equal(o.choice, THIRD);
    takes("number", "9");
    assert_true(o.number == 9 && o.given);
    takes("many", "9223372036854775807");
    assert_true(o.number == INT64_MAX);
    takes("size", "1.5K");
    assert_true(o.size == 1536);
    takes("size", "2MiB");
    assert_true(o.size == 2 << 20);
    takes("any-size", "0");
    assert_true(o.size == 0);
    takes("function", NULL);
    assert_string_equal(o.text, "none");
    takes("pass", "x");
    assert_int_equal(o.args.n, 2);
    assert_string_equal(o.args.v[0], "--pass");
    assert_string_equal(o.args.v[1], "x");
    ti_args_free(&o.args);
}

static void test_errors(void **state)
{
    static const char *const cases[][3] = {
        {"name", "", "--name must not be empty"},
        {"bw", "10", "--bw: '10' is not a bandwidth such as 125MBps or 10Gbps"},
        {"word", "on", "--word must be one or two, not 'on'"},
        {"word", "", "--word must be one or two, not ''"},
        {"choice", "firsts", "--choice must be first, second or third, not 'firsts'"},
        {"number", "0", "--number must be a whole number from 1 to 9, not '0'"},
        {"number", "1x", "--number must be a whole number from 1 to 9, not '1x'"},
        {"many", "1", "--many must be a whole number of 2 or more, not '1'"},
        {"size", "23", "--size must be a size from 24 to 2M, not '23'"},
        {"size", "2049K", "--size must be a size from 24 to 2M, not '2049K'"},
        {"size", "0.5", "--size must be a size from 24 to 2M, not '0.5'"},
        {"any-size", "1 GB", "--any-size must be a size such as 512M or 16GiB, not '1 GB'"},
        {"any-size", "-1", "--any-size must be a size such as 512M or 16GiB, not '-1'"},
        {"function", "", "empty"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(says(cases[i][0], cases[i][1]), cases[i][2]);
}

static void test_nearest(void **state)
{
    static const struct {
        const char *word, *words, *nearest;
    } cases[] = {{"memroy", "memory speed compact", "memory"}, /* neighbours swapped */
                 {"spede", "memory speed compact", "speed"},
                 {"Speed", "memory speed compact", ""}, /* no letter differs */
                 {"SPED", "memory speed compact", "speed"},
                 {"com", "memory speed compact", "compact"}, /* its beginning */
                 {"co", "memory speed compact", ""},
                 {"smeed", "memory speed seed", "speed"}, /* the first of two as near */
                 {"ab", "xy", ""},
                 {"ab", "xb", "xb"},
                 {"", "a ab abc", ""},
                 {"abcd", "", ""}};
    char wide[2 * TI_NEAREST_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ti_err err = {"", ""};
        char want[64] = "";

        if (cases[i].nearest[0])
            snprintf(want, sizeof want, "did you mean '%s'?", cases[i].nearest);
        ti_hint_word(&err, cases[i].word, cases[i].words);
        assert_string_equal(err.hint, want);
    }
    memset(wide, 'a', sizeof wide);
    for (int n = TI_NEAREST_BYTES - 2; n <= TI_NEAREST_BYTES + 1; n++) {
        struct ti_nearest near = {.to = wide};

        wide[n] = '\0';
        ti_nearest_try(&near, wide + 1);
        assert_int_equal(strlen(near.text), n < TI_NEAREST_BYTES ? n - 1 : 0);
        wide[n] = 'a';
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_nearest)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
