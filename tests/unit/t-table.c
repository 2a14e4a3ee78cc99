/* Tables for people: widths, rounding and shortening (common/table.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/talk.h"
#include "common/table.h"

static const struct ti_table_column columns[] = {
    {"name", TI_CELLS_TEXT, 16},   {"share", TI_CELLS_WORDS, 0}, {"rank", TI_CELLS_RANKS, 0},
    {"count", TI_CELLS_COUNTS, 0}, {"mean", TI_CELLS_MEANS, 0},  {"time", TI_CELLS_SECONDS, 0}};

static char *printed(struct ti_text_table *t, int width)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    ti_table_print(t, f, width);
    fclose(f);
    return text;
}

static void add(struct ti_text_table *t, const char *name, uint64_t count, double mean,
                double seconds)
{
    ti_table_text(t, "%s", name);
    ti_table_text(t, "%d %%", 12);
    ti_table_count(t, 16383);
    ti_table_count(t, count);
    ti_table_value(t, mean);
    ti_table_value(t, seconds);
}

static struct ti_text_table *filled(void)
{
    struct ti_text_table *t = ti_table_new(columns, 6);

    ti_table_titles(t);
    add(t, "loop of irecv at exchange multigrid.c:227", 1234567890, 1234567.25, 0.0123456);
    ti_table_line(t, "%s", "a line between");
    add(t, "short", 0, 0, 1e-6);
    return t;
}

/* As wide as needed, with all digits; times in one unit. */
static void test_wide(void **state)
{
    char *text = printed(filled(), 0);

    (void)state;
    assert_string_equal(text, "name                                       share   rank          "
                              "count       mean    time\n"
                              "loop of irecv at exchange multigrid.c:227   12 %  16383  "
                              "1,234,567,890  1234567.2  12.346\n"
                              "a line between\n"
                              "short                                       12 %  16383             "
                              " 0        0.0   0.001\n");
    free(text);
}

static void says(char *text, const char *wanted)
{
    assert_string_equal(text, wanted);
    free(text);
}

/* First the text gives way, then the widest numbers, then the text once more. */
static void test_narrow(void **state)
{
    (void)state;
    says(printed(filled(), 80),
         "name                                  share  rank         count      mean   time\n"
         "loop of irecv...hange multigrid.c:227  12 % 16383 1,234,567,890 1234567.2 12.346\n"
         "a line between\n"
         "short                                  12 % 16383             0       0.0  0.001\n");
    says(printed(filled(), 56), "name                 share  rank  count      mean   time\n"
                                "loop o...igrid.c:227  12 % 16383 1.235G 1234567.2 12.346\n"
                                "a line between\n"
                                "short                 12 % 16383      0       0.0  0.001\n");
    says(printed(filled(), 46), "name          share  rank  count   mean   time\n"
                                "loop....c:227  12 % 16383 1.235G 1.235M 12.346\n"
                                "a line between\n"
                                "short          12 % 16383      0      0  0.001\n");
}

/* No line is longer than the width, wherever that is possible. */
static void test_widths(void **state)
{
    (void)state;
    for (int width = 48; width < 100; width++) {
        char *text = printed(filled(), width), *save = NULL;
        int longest = 0;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            longest = (int)strlen(line) > longest ? (int)strlen(line) : longest;
        assert_true(longest <= width);
        assert_true(longest >= (width < 89 ? width - 8 : 89)); /* and room is used */
        free(text);
    }
}

/* The middle is cut, at characters and not at bytes; blanks at the front stay. */
static void test_shortened(void **state)
{
    static const struct ti_table_column one[] = {{"", TI_CELLS_TEXT, 0}};
    struct ti_text_table *t = ti_table_new(one, 1);

    (void)state;
    ti_table_text(t, "    allreduce comm=0 bytes=8; norm multigrid.c:363");
    ti_table_text(t,
                  "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4");
    ti_table_text(t, "a\nb\x1b[31m"); /* from a trace */
    says(printed(t, 23),
         "    allred...grid.c:363\n"
         "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\n"
         "a?b?[31m\n");
    t = ti_table_new(one, 1);
    ti_table_text(
        t, "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4");
    says(printed(t, 12), "\u00e4\u00e4\u00e4...\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\n");
}

static void test_broken(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    ti_print_wide(f, 10, "%s", "one two three four-and-more five");
    ti_print_wide(f, 0, "%s", "one two three four-and-more five");
    ti_print_wide(f, 10, "%s", "");
    fclose(f);
    assert_string_equal(text, "one two\nthree\nfour-and-more\nfive\n"
                              "one two three four-and-more five\n\n");
    free(text);
}

static void test_labelled(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    (void)state;
    ti_print_labelled(f, 12, 4, "ab: one two three four");
    ti_print_labelled(f, 0, 4, "ab: one two three four");
    ti_print_labelled(f, 12, 4, "ab: one two/with/a/long/path three");
    ti_print_labelled(f, 12, 4, "ab: a/long/path");
    ti_print_labelled(f, 12, 4, "ab: one two");
    ti_print_labelled(f, 3, 4, "ab: one two\033");
    fclose(f);
    assert_string_equal(text, "ab: one two\n    three\n    four\n"
                              "ab: one two three four\n"
                              "ab: one\n    tw...ath\n    three\n"
                              "ab:...g/path\n"
                              "ab: one two\n"
                              "ab: one two?\n");
    free(text);
}

static void test_time_units(void **state)
{
    static const struct ti_table_column one[] = {{"s", TI_CELLS_SECONDS, 0}};
    static const struct {
        double seconds;
        const char *unit, *text;
    } cases[] = {{12345.678, "s", "12346\n"}, {12.3456, "s", "12.346\n"}, {1, "s", "1.0000\n"},
                 {0.25, "ms", "250.00\n"},    {5e-6, "us", "5.0000\n"},   {0, "us", "0.0000\n"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_text_table *t = ti_table_new(one, 1);
        char *text;

        ti_table_value(t, cases[i].seconds);
        assert_string_equal(ti_table_time_unit(t), cases[i].unit);
        text = printed(t, 80);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

static void test_chosen_width(void **state)
{
    (void)state;
    setenv("COLUMNS", "97", 1);
    assert_int_equal(ti_width(-1), 97);
    assert_int_equal(ti_width(60), 60);
    assert_int_equal(ti_width(0), 0);
    unsetenv("COLUMNS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),       cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_widths),     cmocka_unit_test(test_shortened),
        cmocka_unit_test(test_broken),     cmocka_unit_test(test_labelled),
        cmocka_unit_test(test_time_units), cmocka_unit_test(test_chosen_width)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
