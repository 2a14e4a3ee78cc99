/* acquire/plan/common_isa.c: the common instruction set of nodes that differ, and its warnings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "acquire/plan/isa.h"
#include "acquire/plan/common_isa.h"

#define INTEL "Xeon E5-2630"
#define AMD   "EPYC 7301"

static struct ti_common_isa_node nodes(const char *name, const char *isa, const char *cpu)
{
    return (struct ti_common_isa_node){name, "x86_64", isa, cpu, "2.36", "4.1.4"};
}

static struct ti_common_isa level;
static struct ti_err err;

static void make(const struct ti_common_isa_node *node, int64_t n, const char *asked, bool native,
                 bool counted, ti_status want)
{
    ti_common_isa_free(&level);
    err = (struct ti_err){"", ""};
    assert_int_equal(ti_common_isa_choose(node, n, asked, native, counted, &level, &err), want);
}

static void test_levels(void **state)
{
    (void)state;
    for (int i = 1; i <= 4; i++) {
        assert_int_equal(ti_isa_level(ti_isa_name(i)), i);
        assert_int_equal(ti_isa_tunables(ti_isa_name(i)) != NULL, i <= TI_ISA_MAX);
    }
    assert_int_equal(ti_isa_level("x86-64-v1"), 1);
    assert_int_equal(ti_isa_level("x86-64-v5"), 0);
    assert_int_equal(ti_isa_level("aarch64"), 0);
}

static void test_alike(void **state)
{
    struct ti_common_isa_node node[] = {nodes("a-1", "x86-64-v4", INTEL),
                                        nodes("a-2", "x86-64-v4", INTEL)};

    (void)state;
    make(node, 2, NULL, false, true, TI_OK);
    assert_null(level.isa);
    assert_null(level.said);
    assert_int_equal(level.nwarnings, 0);
    /* what is not known differs from nothing */
    node[1].isa = node[1].cpu = node[1].glibc = node[1].mpi = node[1].family = NULL;
    make(node, 2, NULL, false, true, TI_OK);
    assert_null(level.isa);
    assert_int_equal(level.nwarnings, 0);
}

static void test_levelled(void **state)
{
    struct ti_common_isa_node node[] = {nodes("a-1", "x86-64-v4", INTEL),
                                        nodes("a-2", "x86-64-v4", INTEL),
                                        nodes("b-1", "x86-64-v2", AMD)};

    (void)state;
    make(node, 3, NULL, false, true, TI_OK);
    assert_string_equal(level.isa, "x86-64-v2");
    assert_true(level.chosen);
    assert_non_null(strstr(level.said, "x86-64-v4 on a-[1-2], x86-64-v2 on b-1"));
    assert_int_equal(level.nwarnings, 0);
    /* another model of the same level has other caches; v4 has no tunables */
    node[2].isa = "x86-64-v4";
    make(node, 3, NULL, false, true, TI_OK);
    assert_string_equal(level.isa, "x86-64-v3");
    assert_non_null(strstr(level.said, INTEL " on a-[1-2], " AMD " on b-1"));
    /* not asked for: warned; not instructions: neither */
    make(node, 3, NULL, true, true, TI_OK);
    assert_null(level.isa);
    assert_int_equal(level.nwarnings, 1);
    make(node, 3, NULL, false, false, TI_OK);
    assert_null(level.isa);
    assert_int_equal(level.nwarnings, 0);
    /* v1 by its other name is no difference */
    node[0].isa = "x86-64";
    node[1].isa = node[2].isa = "x86-64-v1";
    node[2].cpu = INTEL;
    make(node, 3, NULL, false, true, TI_OK);
    assert_null(level.isa);
}

static void test_asked(void **state)
{
    struct ti_common_isa_node node[] = {nodes("a-1", "x86-64-v4", INTEL),
                                        nodes("b-1", "x86-64-v2", AMD)};

    (void)state;
    make(node, 2, "x86-64", false, true, TI_OK);
    assert_string_equal(level.isa, "x86-64");
    assert_false(level.chosen);
    make(node, 2, "x86-64-v3", false, true, TI_ERR_INPUT);
    assert_string_equal(err.text, "--isa x86-64-v3 is more than 'b-1' has, which is x86-64-v2");
}

static void test_no_level(void **state)
{
    struct ti_common_isa_node node[] = {{"a-1", "aarch64", NULL, "Neoverse N1", "2.36", "4.1.4"},
                                        {"a-2", "aarch64", NULL, "Cortex A72", "2.31", "4.1.0"}};

    (void)state;
    make(node, 2, NULL, false, true, TI_OK);
    assert_null(level.isa);
    assert_int_equal(level.nwarnings, 3);
    assert_non_null(strstr(level.warning[0], "Neoverse N1 on a-1, Cortex A72 on a-2"));
    assert_non_null(strstr(level.warning[1], "glibc differs (2.36 on a-1, 2.31 on a-2)"));
    assert_non_null(strstr(level.warning[2], "Open MPI differs (4.1.4 on a-1, 4.1.0 on a-2)"));
    node[1].family = "x86_64";
    make(node, 2, NULL, false, true, TI_OK);
    assert_non_null(strstr(level.warning[0], "families of processors differ"));
}

static void test_facts(void **state)
{
    json_t *facts =
        json_pack("{s:s, s:s, s:s, s:s, s:{s:s}}", "family", "x86_64", "isa", "x86-64-v3", "cpu",
                  INTEL, "glibc", "2.36", "mpi", "version", "4.1.4");
    struct ti_common_isa_node node = ti_common_isa_node_of_facts("a-1", facts),
                              none = ti_common_isa_node_of_facts("a-2", NULL);

    (void)state;
    assert_string_equal(node.isa, "x86-64-v3");
    assert_string_equal(node.mpi, "4.1.4");
    assert_null(none.isa);
    json_decref(facts);
}

static int done(void **state)
{
    (void)state;
    ti_common_isa_free(&level);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),   cmocka_unit_test(test_alike),
        cmocka_unit_test(test_levelled), cmocka_unit_test(test_asked),
        cmocka_unit_test(test_no_level), cmocka_unit_test(test_facts),
    };

    return cmocka_run_group_tests(tests, NULL, done);
}
