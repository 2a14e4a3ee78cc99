/* The choices of a sweep: values, ranges, points; and what its picture sums up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay-bridge/sweep/interval.h"
#include "replay-bridge/sweep/plot.h"
#include "replay-bridge/sweep/sweep.h"

static const struct ti_opt opts[] = {TI_OPT_HEADING("All"),
                                     {.name = "topology", "WHAT", "has commas"},
                                     {.name = "speed", "SPEED", "has none"},
                                     {.name = "placement", "HOW", "has none"},
                                     {.name = "times", NULL, "takes no value"},
                                     {.name = "show-platform", "[=FILE]", "may take one"},
                                     {.name = "keep", "DIR", "is not for sweeps"},
                                     {.name = "output", "DIR", "nor this"},
                                     TI_OPT_END};

/* The values of one --sweep, "a;b;c", or the error. */
static const char *expand(const char *text)
{
    static char out[2000];
    struct ti_sweep sweep = {0};
    struct ti_err err;

    out[0] = '\0';
    if (ti_sweep_add(&sweep, text, opts, &err) != TI_OK)
        snprintf(out, sizeof out, "%s", err.text);
    else
        for (int v = 0; v < sweep.choice[0].value.n; v++)
            snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", v ? " & " : "",
                     sweep.choice[0].value.v[v]);
    ti_sweep_free(&sweep);
    return out;
}

static void test_values(void **state)
{
    static const char *const cases[][2] = {
        {"speed=1Gf", "1Gf"},
        {"speed=1Gf,2Gf|4Gf", "1Gf & 2Gf & 4Gf"},
        {"speed= 1Gf , 2Gf", "1Gf & 2Gf"},
        {"topology=torus:4,4|fat-tree:2;4,4;1,2;1,2", "torus:4,4 & fat-tree:2;4,4;1,2;1,2"},
        {"topology=torus:2..4,4|cluster", "torus:2,4 & torus:3,4 & torus:4,4 & cluster"},
        {"placement=block,random:1..3,random:9",
         "block & random:1 & random:2 & random:3 & random:9"},
        {"placement=random:7..7", "random:7"},
        {"placement=file:../ranks..txt", "file:../ranks..txt"},
        {"placement=file:a=b", "file:a=b"},
        {"speed=1..8x2Gf", "1Gf & 2Gf & 4Gf & 8Gf"},
        {"speed=3..20x2Gf", "3Gf & 6Gf & 12Gf"},
        {"speed=9223372036854775806..9223372036854775807",
         "9223372036854775806 & 9223372036854775807"},
        {"speed=4611686018427387904..9223372036854775807x3", "4611686018427387904"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(expand(cases[i][0]), cases[i][1]);
}

static void test_bad(void **state)
{
    static const char *const cases[][2] = {
        {"speed", "'speed' is not OPTION=VALUE|VALUE..."},
        {"=1", "'=1' is not OPTION=VALUE|VALUE..."},
        {"pace=1", "there is no option --pace"},
        {"spee=1", "there is no option --spee"},
        {"times=1", "--times has no values to choose from"},
        {"show-platform=a.svg", "--show-platform has no values"},
        {"keep=a|b", "--keep has no values"},
        {"output=a|b", "--output has no values"},
        {"speed=", "a value of speed is empty"},
        {"speed=1Gf,,2Gf", "a value of speed is empty"},
        {"speed=1Gf|", "a value of speed is empty"},
        {"speed=1Gf,2Gf,1Gf", "speed has '1Gf' twice"},
        {"speed=1..3Gf,2Gf", "speed has '2Gf' twice"},
        {"speed=5..1Gf", "the range in '5..1Gf' goes down"},
        {"speed=0.5..8Gf", "is not one range FROM..TO of whole numbers"},
        {"speed=1..2.5Gf", "is not one range FROM..TO of whole numbers"},
        {"topology=torus:1..2,1..2", "is not one range FROM..TO of whole numbers"},
        {"speed=1..8x1Gf", "goes on for ever"},
        {"speed=0..8x2Gf", "goes on for ever"},
        {"speed=1..99999999999999999999", "--sweep: a range"},
        {"placement=random:1..1000000", "more than 10000 values of placement"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!strstr(expand(cases[i][0]), cases[i][1]))
            fail_msg("--sweep %s: '%s' does not say '%s'", cases[i][0], expand(cases[i][0]),
                     cases[i][1]);
}

static void test_points(void **state)
{
    struct ti_sweep sweep = {0};
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_sweep_add(&sweep, "topology=torus:4,4|cluster", opts, &err), TI_OK);
    assert_int_equal(ti_sweep_add(&sweep, "speed=1..3Gf", opts, &err), TI_OK);
    assert_int_equal(ti_sweep_add(&sweep, "placement=block,round-robin", opts, &err), TI_OK);
    assert_int_equal(ti_sweep_points(&sweep), 12);
    assert_string_equal(ti_sweep_value(&sweep, 0, 0), "torus:4,4");
    assert_string_equal(ti_sweep_value(&sweep, 1, 1), "1Gf");
    assert_string_equal(ti_sweep_value(&sweep, 1, 2), "round-robin");
    assert_string_equal(ti_sweep_value(&sweep, 5, 1), "3Gf");
    assert_string_equal(ti_sweep_value(&sweep, 6, 0), "cluster");
    assert_int_equal(ti_sweep_index(&sweep, 11, 1), 2);
    assert_int_equal(ti_sweep_add(&sweep, "speed=8Gf", opts, &err), TI_ERR_USAGE);
    assert_string_equal(err.text, "--sweep speed is given twice");
    ti_sweep_free(&sweep);

    assert_int_equal(ti_sweep_add(&sweep, "placement=random:1..1000", opts, &err), TI_OK);
    assert_int_equal(ti_sweep_add(&sweep, "speed=1..11Gf", opts, &err), TI_ERR_USAGE);
    assert_string_equal(err.text, "--sweep: more than 10000 points");
    ti_sweep_free(&sweep);
}

/* A value of the test's options: a word, or numbers with commas between them. */
static bool is_value(const struct ti_opt *opt, const char *value, const void *arg)
{
    (void)arg;
    return !strcmp(value, opt->name) || (*value && value[strspn(value, "0123456789,")] == '\0');
}

/* The hint for a single choice. */
static const char *hint_for(const char *choice, bool judged)
{
    static struct ti_err err;
    struct ti_sweep sweep = {0};

    err = (struct ti_err){0};
    assert_int_equal(ti_sweep_add(&sweep, choice, opts, &err), TI_OK);
    ti_err_hint(&err, "as before");
    ti_sweep_hint(&sweep, judged ? &(struct ti_sweep_judge){is_value, NULL} : NULL, &err);
    ti_sweep_free(&sweep);
    return err.hint;
}

/* Commas that were meant to separate values of an option whose values may have some. */
static void test_hint(void **state)
{
    static const char bar[] = "a value of topology may have commas, so '|' separates its values: "
                              "--sweep 'topology=VALUE|VALUE'; as before";
    char many[400] = "topology=1";

    (void)state;
    assert_string_equal(hint_for("speed=1Gf,2Gf", false), "as before");
    assert_string_equal(hint_for("topology=torus:4,4|torus:2,8", false), "as before");
    assert_string_equal(hint_for("topology=torus:4,4,cluster", false), bar);
    assert_string_equal(hint_for("topology=torus", false), "as before");

    assert_string_equal(hint_for("topology=topology,topology", true), bar);
    assert_string_equal(hint_for("topology=1,2,topology,3", true), bar);
    assert_string_equal(hint_for("topology=a,b", true), bar);
    assert_string_equal(hint_for("topology=torus:1,x", true), bar);
    /* these commas do not separate values */
    assert_string_equal(hint_for("topology=1,2;3,4;x", true), "as before");
    assert_string_equal(hint_for("topology=x,2", true), "as before");
    assert_string_equal(hint_for("topology=topology,", true), "as before");
    for (int i = 0; i < 64; i++)
        strcat(many, i % 2 ? ",1" : ",2");
    assert_string_equal(hint_for(many, true), bar);
    assert_string_equal(hint_for(strcat(many, ",;"), true), "as before");
}

static void test_sums(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};
    struct ti_plot_mark m = ti_plot_sum_up(odd, 3);

    (void)state;
    assert_true(m.median == 2 && m.min == 1 && m.max == 3 && m.n == 3);
    m = ti_plot_sum_up(even, 4);
    assert_true(m.median == 2.5 && m.min == 1 && m.max == 4);
    m = ti_plot_sum_up(one, 1);
    assert_true(m.median == 7 && m.min == 7 && m.max == 7);
}

/* The intervals of the tables of books, as of W. J. Conover, "Practical Nonparametric Statistics".
 */
static void test_interval(void **state)
{
    static const struct {
        int n, r; /* the r-th smallest and largest */
        double confidence;
    } cases[] = {{1, 1, 0},         {2, 1, 0.5},       {5, 1, 0.9375},     {6, 1, 0.96875},
                 {8, 1, 0.992188},  {9, 2, 0.960938},  {10, 2, 0.978516},  {15, 4, 0.964844},
                 {20, 6, 0.958611}, {25, 8, 0.956714}, {100, 40, 0.964800}};
    double value[100];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = cases[i].n;
        struct ti_interval v;

        for (int k = 0; k < n; k++) /* 1 to n, in another order */
            value[k] = (k * 7 + 3) % n + 1;
        for (int k = 0; n % 7 == 0 && k < n; k++)
            value[k] = k + 1;
        v = ti_interval_of(value, n);
        assert_int_equal(v.n, n);
        assert_true(v.low == cases[i].r && v.high == n + 1 - cases[i].r);
        assert_true(v.confidence > cases[i].confidence - 1e-6 &&
                    v.confidence < cases[i].confidence + 1e-6);
        assert_true(v.median == (n + 1) / 2.0 && v.min == 1 && v.max == n);
    }
    assert_int_equal(ti_interval_of(value, 0).n, 0);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* A bar for each mark, a whisker where there are several values, a cross where there is none. */
static void test_drawing(void **state)
{
    static char *x[] = {"a<b", "c"}, *series[] = {"s", "t"}, *panel[] = {"one", "two"};
    struct ti_plot_mark mark[8];
    struct ti_plot plot = {"title & more",    "note",         {"x", x, 2},
                           {"of", series, 2}, {"", panel, 2}, mark};
    static char text[1 << 16];
    FILE *f;

    (void)state;
    for (int i = 0; i < 8; i++)
        mark[i] = (struct ti_plot_mark){0.001 * (i + 1), 0.001 * i, 0.001 * (i + 2), i ? i % 3 : 0};
    f = fmemopen(text, sizeof text, "w");
    ti_plot_draw(f, &plot);
    fclose(f);
    assert_int_equal(count(text, "<rect"), 1 + 2 + 5 + 2); /* paper, legend, bars, bands */
    assert_int_equal(count(text, "median"), 2);            /* marks 2 and 5 */
    assert_int_equal(count(text, "failed"), 3);            /* marks 0, 3 and 6 */
    assert_non_null(strstr(text, "a&lt;b, t: "));
    assert_non_null(strstr(text, "title &amp; more"));
    assert_non_null(strstr(text, "simulated time, ms"));
    assert_int_equal(count(text, "<g"), count(text, "</g>"));
}

/* Lines in place of many bars: a band between neighbours that have a range. */
static void test_bands(void **state)
{
    static char *x[70], label[70][8], *one[] = {""};
    static struct ti_plot_mark mark[70];
    struct ti_plot plot = {"title", "note", {"x", x, 70}, {"", one, 1}, {"", one, 1}, mark};
    static char text[1 << 17];
    FILE *f;

    (void)state;
    for (int i = 0; i < 70; i++) {
        snprintf(label[i], sizeof label[i], "%d", i);
        x[i] = label[i];
        mark[i] = (struct ti_plot_mark){2, 1, 3, i == 30 ? 0 : i < 50 ? 5 : 1};
    }
    f = fmemopen(text, sizeof text, "w");
    ti_plot_draw(f, &plot);
    fclose(f);
    assert_int_equal(count(text, "fill-opacity"), 29 + 18); /* 0 to 29 and 31 to 49 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_bad),
        cmocka_unit_test(test_points),   cmocka_unit_test(test_hint),
        cmocka_unit_test(test_sums),     cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_interval), cmocka_unit_test(test_bands)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
