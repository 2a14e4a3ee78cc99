/* How long a run will take, from what a former one's manifest tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "acquire/plan/estimate.h"

static bool read_text(const char *text, struct ti_former *out)
{
    json_t *json = json_loads(text, 0, NULL);
    bool told = ti_former_of(json, out);

    assert_non_null(json);
    json_decref(json);
    return told;
}

#define RUN                                                                                        \
    "\"np\": 64, \"plan\": {\"folding\": 32}, \"counter\": {\"backend\": \"papi\"}, "              \
    "\"command\": \"./lu A\""
#define STEPS                                                                                      \
    "\"steps\": [{\"name\": \"start\", \"seconds\": 7}, {\"name\": \"application\", \"seconds\": " \
    "40.5}]"

static void test_read(void **state)
{
    struct ti_former f;

    (void)state;
    assert_true(read_text("{" RUN ", \"acquisition\": {" STEPS "}}", &f));
    assert_int_equal(f.np, 64);
    assert_int_equal(f.fold, 32);
    assert_float_equal(f.seconds, 40.5, 1e-9);
    assert_true(read_text("{" RUN ", " STEPS "}", &f));
    assert_float_equal(f.seconds, 40.5, 1e-9);
    assert_true(read_text("{" RUN ", \"totals\": {\"app_seconds_max\": 3}}", &f));
    assert_float_equal(f.seconds, 3, 1e-9);
    assert_false(read_text("{" RUN "}", &f));
    assert_false(read_text("{\"np\": 64, " STEPS "}", &f));
    assert_false(read_text("{\"np\": \"x\", \"plan\": [], \"acquisition\": 7, \"totals\": 1}", &f));
    assert_false(read_text("[]", &f));
}

static void test_seconds(void **state)
{
    struct ti_former f = {.np = 64, .fold = 32, .seconds = 40};

    (void)state;
    assert_float_equal(ti_estimate_seconds(&f, 64, 32), 40, 1e-9);
    assert_float_equal(ti_estimate_seconds(&f, 64, 64), 80, 1e-9);
    assert_float_equal(ti_estimate_seconds(&f, 64, 1), 1.25, 1e-9);
    assert_float_equal(ti_estimate_seconds(&f, 64, 0), 1.25, 1e-9);
    assert_float_equal(ti_estimate_seconds(&f, 128, 64), 40, 1e-9);
}

static void expect(const struct ti_former *f, int64_t np, int64_t fold, const char *command,
                   const char *backend, const char *want)
{
    char text[256];

    assert_string_equal(
        ti_estimate_text(f, "lu.tib", np, fold, command, backend, text, sizeof text), want);
}

static void test_text(void **state)
{
    struct ti_former f;
    char tiny[8];

    (void)state;
    assert_true(read_text("{" RUN ", " STEPS "}", &f));
    expect(&f, 64, 512, "./lu A", "papi", "about 11 min: lu.tib took 40 s with 32 ranks a core");
    expect(&f, 64, 1, "bin/lu A", NULL, "about 1.3 s: lu.tib took 40 s with 32 ranks a core");
    expect(&f, 128, 32, "./lu B", "valgrind",
           "about 20 s: lu.tib took 40 s with 32 ranks a core, 64 in all, counted with papi, for "
           "'./lu A'");
    expect(&f, 64, 32 * 1000, NULL, NULL, "about 11 h: lu.tib took 40 s with 32 ranks a core");
    assert_int_equal(strlen(ti_estimate_text(&f, "lu.tib", 1, 1, "x y", "z", tiny, sizeof tiny)),
                     7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
