/* Hostlists: expansion, its errors and their columns, and folding as its inverse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/hostlist.h"

/* The names with blanks between them; free() it. */
static char *joined(char **names, int64_t n)
{
    size_t bytes = 1;
    char *all;

    for (int64_t i = 0; i < n; i++)
        bytes += strlen(names[i]) + 1;
    all = calloc(1, bytes);
    for (int64_t i = 0, at = 0; i < n; i++)
        at += sprintf(all + at, "%s%s", i ? " " : "", names[i]);
    return all;
}

static void lists_expand_in_order(void **state)
{
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"a", "a"},
        {"b,a,b", "b a b"},
        {"graphene-[1-3]", "graphene-1 graphene-2 graphene-3"},
        {"graphene-[9-11].nancy.grid5000.fr",
         "graphene-9.nancy.grid5000.fr graphene-10.nancy.grid5000.fr "
         "graphene-11.nancy.grid5000.fr"},
        {"n[08-10]", "n08 n09 n10"},
        {"n[098-101]", "n098 n099 n100 n101"},
        {"n[9-10,1,07]-ib", "n9-ib n10-ib n1-ib n07-ib"},
        {"a,b[1-2][x,y]", "a b1x b1y b2x b2y"},
        {"[a,b]", "a b"},
        {"[1-2]", "1 2"},
        {" a , b [1] ", NULL},
        {" a ,\tb[ 1 , 2-3 ] ", "a b1 b2 b3"},
        {"r[1-2]n[1-2]c[0-1]", "r1n1c0 r1n1c1 r1n2c0 r1n2c1 r2n1c0 r2n1c1 r2n2c0 r2n2c1"},
        {"n[0-0]", "n0"},
        {"n[999999999999999998-999999999999999999]", "n999999999999999998 n999999999999999999"},
        {"n[000000000000000000000000007]", "n000000000000000000000000007"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char **names = NULL, *all;
        int64_t n = 0;
        struct ti_err err = {"", ""};
        ti_status st = ti_hostlist_expand(cases[i].text, &names, &n, NULL, &err);

        if (!cases[i].names) {
            assert_int_equal(st, TI_ERR_INPUT);
            continue;
        }
        if (st != TI_OK)
            fail_msg("'%s': %s", cases[i].text, err.text);
        all = joined(names, n);
        assert_string_equal(all, cases[i].names);
        free(all);
        free(names);
    }
}

static void errors_have_their_column(void **state)
{
    static const struct {
        const char *text;
        int column;
        const char *says;
    } cases[] = {
        {"", 1, "no name"},
        {"  ", 3, "no name"},
        {",a", 1, "a name is missing"},
        {"a,,b", 3, "a name is missing"},
        {"a,", 3, "a name is missing"},
        {"a b", 3, "a comma is missing"},
        {"a[1] [2]", 6, "a comma is missing"},
        {"n[1-", 3, "a range is of two numbers, not '1-'"},
        {"n[1", 2, "a '[' is not closed"},
        {"n[", 2, "a '[' is not closed"},
        {"n[1,", 2, "a '[' is not closed"},
        {"n[]", 3, "missing in brackets"},
        {"n[1,,2]", 5, "missing in brackets"},
        {"n[1-3]]", 7, "without a '['"},
        {"n[1-[3]]", 3, "a range"},
        {"n[[3]]", 3, "inside of brackets"},
        {"n[3-1]", 3, "must ascend, not '3-1'"},
        {"n[a-c]", 3, "of two numbers, not 'a-c'"},
        {"n[1-2-3]", 3, "of two numbers"},
        {"n[1-010]", 3, "widths"},
        {"n[001-10]", 3, "widths"},
        {"n[1 2]", 5, "a comma is missing"},
        {"n[1-1000001]", 1, "more than 1000000 names"},
        {"a,n[1-1000000]", 3, "more than 1000000 names"},
        {"n[0-999][0-999][0-999][0-999][0-999][0-999][0-999]", 1, "more than 1000000 names"},
        {"n[0-9999999999999999999]", 5, "digits"},
        {"a,-oProxyCommand=x", 17, "'='"},
        {"a,-o", 3, "begin with '-'"},
        {"a,[-1]", 4, "range"},
        {"root@n1", 5, "~/.ssh/config"},
        {"a;b", 2, "';' cannot be"},
        {"n\xc3\xa9", 2, "'\xc3\xa9' cannot be"},
        {"n\xc3,", 2, "'\\xc3' cannot be"},
        {"n\xc2\x9b", 2, "'\\xc2' cannot be"},
        {"n\xef\xbc\xbb"
         "1-4]",
         2, "'\xef\xbc\xbb' cannot be"},
        {"a,n[1..4]", 6, "a range has a '-'"},
        {"a,n..x", 3, "in front of a '.'"},
        {"a,.x", 3, "in front of a '.'"},
        {"a\nb", 2, "'\\x0a' cannot be"},
        {"a[1][2][3][4][5][6][7][8][9][0][1][2][3][4][5][6][7]", 50, "brackets"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char **names = NULL, prefix[32];
        int64_t n = 0;
        int column = 0;
        struct ti_err err = {"", ""};
        ti_status st = ti_hostlist_expand(cases[i].text, &names, &n, &column, &err);

        if (st != TI_ERR_INPUT || column != cases[i].column || !strstr(err.text, cases[i].says))
            fail_msg("'%s': status %d, column %d, '%s'", cases[i].text, st, column, err.text);
        snprintf(prefix, sizeof prefix, "column %d: ", column);
        assert_int_equal(strncmp(err.text, prefix, strlen(prefix)), 0);
    }
}

static void names_are_not_too_long(void **state)
{
    char text[TI_HOST_NAME_MAX + 8], **names;
    struct ti_err err;
    int64_t n;

    (void)state;
    memset(text, 'n', sizeof text);
    strcpy(text + TI_HOST_NAME_MAX - 1, "[1]");
    assert_int_equal(ti_hostlist_expand(text, &names, &n, NULL, &err), TI_OK);
    assert_int_equal(strlen(names[0]), TI_HOST_NAME_MAX);
    free(names);
    strcpy(text + TI_HOST_NAME_MAX - 1, "[10]");
    assert_int_equal(ti_hostlist_expand(text, &names, &n, NULL, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "255"));
}

static void a_million_is_not_too_many(void **state)
{
    struct ti_err err;
    char **names, *text;
    int64_t n;

    (void)state;
    assert_int_equal(ti_hostlist_expand("n[1-1000000]", &names, &n, NULL, &err), TI_OK);
    assert_int_equal(n, 1000000);
    assert_string_equal(names[999999], "n1000000");
    text = ti_hostlist_fold((const char *const *)names, n);
    assert_string_equal(text, "n[1-1000000]");
    free(text);
    free(names);
}

static void elements_are_where_they_are(void **state)
{
    struct ti_err err;
    char **names;
    int64_t n;
    int *at;

    (void)state;
    assert_int_equal(ti__hostlist_expand("a, b[1-2],c", &names, &at, &n, NULL, &err), TI_OK);
    assert_int_equal(n, 4);
    assert_true(at[0] == 1 && at[1] == 4 && at[2] == 4 && at[3] == 11);
    free(at);
    free(names);
}

static void folding_is_short(void **state)
{
    static const struct {
        const char *text, *folded;
    } cases[] = {
        {"a", "a"},
        {"a,a", "a,a"},
        {"n1,n2,n3,n5", "n[1-3,5]"},
        {"n1,n2", "n[1-2]"},
        {"n08,n09,n10,n11", "n[08-11]"},
        {"n8,n9,n10,n011", "n[8-10,011]"},
        {"n3,n2,n1", "n[3,2,1]"},
        {"b,n1,n2,n3,a", "b,n[1-3],a"},
        {"g-1.grid5000.fr,g-2.grid5000.fr,g-3.grid5000.fr", "g-[1-3].grid5000.fr"},
        {"r[1-4]n[1-8]", "r[1-4]n[1-8]"},
        {"r[1-4]n[1-8]c[0-2]", "r[1-4]n[1-8]c[0-2]"},
        {"1,2,3", "[1-3]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_err err;
        char **names, *folded;
        int64_t n;

        assert_int_equal(ti_hostlist_expand(cases[i].text, &names, &n, NULL, &err), TI_OK);
        folded = ti_hostlist_fold((const char *const *)names, n);
        assert_string_equal(folded, cases[i].folded);
        free(folded);
        free(names);
    }
    {
        char *none = ti_hostlist_fold(NULL, 0);

        assert_string_equal(none, "");
        free(none);
    }
}

static unsigned draw(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % n;
}

/* Whatever the names and their order: few letters and digits, so that much is alike. */
static void expanding_what_was_folded_gives_the_same(void **state)
{
    enum { NAMES = 40, BYTES = 24 };
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[NAMES][BYTES];
        const char *name[NAMES];
        int n = 1 + (int)draw(&seed, NAMES), kind = (int)draw(&seed, 4);
        char **again, *folded;
        int64_t m;
        struct ti_err err = {"", ""};

        for (int i = 0; i < n; i++) {
            if (kind == 0) { /* by lot */
                int bytes = 1 + (int)draw(&seed, 6);

                for (int k = 0; k < bytes; k++)
                    text[i][k] = "n01289-."[draw(&seed, k && text[i][k - 1] != '.' ? 8 : 6)];
                text[i][bytes] = '\0';
            } else if (kind == 1) { /* a counter that sometimes jumps */
                snprintf(text[i], BYTES, "n%0*d", (int)(1 + draw(&seed, 20) / 18),
                         i + 90 + (draw(&seed, 10) ? 0 : (int)draw(&seed, 100)));
            } else { /* a product, with gaps */
                snprintf(text[i], BYTES, "r%dn%02dc%d", i / 12, i / 3 % 4 + 8,
                         kind == 2 || draw(&seed, 8) ? i % 3 : 7);
            }
            name[i] = text[i];
        }
        folded = ti_hostlist_fold(name, n);
        if (ti_hostlist_expand(folded, &again, &m, NULL, &err) != TI_OK)
            fail_msg("'%s': %s", folded, err.text);
        assert_int_equal(m, n);
        for (int i = 0; i < n; i++)
            if (strcmp(again[i], name[i]) != 0)
                fail_msg("'%s' has '%s', not '%s'", folded, again[i], name[i]);
        free(folded);
        free(again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_expand_in_order),
        cmocka_unit_test(errors_have_their_column),
        cmocka_unit_test(names_are_not_too_long),
        cmocka_unit_test(a_million_is_not_too_many),
        cmocka_unit_test(elements_are_where_they_are),
        cmocka_unit_test(folding_is_short),
        cmocka_unit_test(expanding_what_was_folded_gives_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
