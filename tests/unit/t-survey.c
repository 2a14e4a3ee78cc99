/* Findings about nodes from their facts: grouped, short, and fatal or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "acquire/fleet/survey.h"

#define MIB INT64_C(1048576)
#define GIB (1024 * MIB)

static const struct ti_survey_in ask = {.program = "/bin/app",
                                        .cwd = "/",
                                        .counter = "auto",
                                        .mpi_version = "4.1.4",
                                        .trace_base = "/tmp"};

static struct ti_sites *sites;
static struct ti_survey s;
static char *text;

/* `clusters` at a site each, of `each` nodes of 32 GiB and 8 cores, all as they should be. */
static void begin(int clusters, int each)
{
    char name[32];

    sites = ti_sites_new(TI_SITES_FILE, "test.conf");
    s = (struct ti_survey){.n = (int64_t)clusters * each, .asked = (int64_t)clusters * each};
    s.facts = calloc((size_t)s.n, sizeof *s.facts);
    s.usable = calloc((size_t)s.n, sizeof *s.usable);
    for (int c = 0; c < clusters; c++) {
        struct ti_cluster *cluster;

        snprintf(name, sizeof name, "site%d", c);
        assert_non_null(ti_sites_add_site(sites, name));
        snprintf(name, sizeof name, "c%d", c);
        cluster = ti_sites_add_cluster(sites, c, name);
        assert_non_null(cluster);
        cluster->memory_bytes = 32 * GIB;
        cluster->cores = 8;
        for (int i = 0; i < each; i++) {
            snprintf(name, sizeof name, "c%d-%d", c, i + 1);
            assert_non_null(ti_sites_add_node(sites, name));
        }
    }
    for (int64_t i = 0; i < s.n; i++) {
        s.usable[i] = true;
        s.facts[i] =
            json_pack("{s:I, s:i, s:s, s:{s:s, s:s}, s:{s:s, s:I}, s:{s:s}}", "memory_bytes",
                      (json_int_t)(31 * GIB), "cores", 8, "family", "x86_64", "program", "path",
                      "/bin/app", "sha256", "aaaaaaaaaaaaaaaaaaaa", "trace_dir", "path", "/tmp",
                      "free_bytes", (json_int_t)(10 * GIB), "mpi", "version", "4.1.4");
        assert_non_null(s.facts[i]);
    }
}

static void set(int64_t node, const char *object, const char *key, json_t *value)
{
    json_t *to = object ? json_object_get(s.facts[node], object) : s.facts[node];

    assert_int_equal(json_object_set_new(to, key, value), 0);
}

/* Print the findings into `text`; returns the number of lines. */
static int print(bool fatal, int most)
{
    size_t bytes;
    FILE *f;
    int lines = 0;

    free(text);
    f = open_memstream(&text, &bytes);
    assert_non_null(f);
    ti_survey_print_findings(&s, sites, fatal, most, f);
    fclose(f);
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    return lines;
}

static void says(const char *what)
{
    if (!strstr(text, what))
        fail_msg("not said: %s\nbut: %s", what, text);
}

static int end(void **state)
{
    (void)state;
    ti_survey_free(&s);
    ti_sites_free(sites);
    free(text);
    sites = NULL;
    text = NULL;
    return 0;
}

static void test_as_said(void **state)
{
    (void)state;
    begin(2, 4);
    ti_survey_compare(&s, sites, &ask);
    assert_int_equal(s.nfindings, 0);
    assert_int_equal(s.unusable, 0);
    assert_int_equal(ti_survey_check(&s, sites, 0, &(struct ti_err){"", ""}), TI_OK);
}

/* The odd ones are those that have another file than most, in their family. */
static void test_majority(void **state)
{
    struct ti_err err = {"", ""};

    (void)state;
    begin(2, 4);
    set(0, "program", "sha256", json_string("bbbbbbbbbbbbbbbbbbbb")); /* not because it is first */
    set(5, "program", "sha256", json_string("cccccccccccccccccccc"));
    set(7, "program", "sha256", json_string("dddddddddddddddddddd"));
    set(7, NULL, "family", json_string("aarch64"));
    ti_survey_compare(&s, sites, &ask);
    assert_int_equal(s.nfindings, 2);
    assert_int_equal(s.unusable, 2);
    assert_false(s.usable[0]);
    assert_false(s.usable[5]);
    assert_true(s.usable[7]);
    assert_int_equal(print(false, 0), 0);
    assert_int_equal(print(true, 0), 2);
    says("c0-1,c1-2 (2 clusters at 2 sites): its program '/bin/app' is another one: not "
         "aaaaaaaaaaaa... as on 5 nodes");
    says("hint: copy the same file");
    assert_int_equal(ti_survey_check(&s, sites, 2, &err), TI_OK);
    assert_int_equal(ti_survey_check(&s, sites, 1, &err), TI_ERR_INPUT);
    assert_non_null(strstr(err.text, "2 of 8 nodes cannot be used: 'c0-1'"));
    assert_non_null(strstr(err.hint, "--tolerate 2"));
}

/* Sizes within an eighth are one line; others are not. */
static void test_ranges(void **state)
{
    (void)state;
    begin(1, 6);
    set(0, NULL, "memory_bytes", json_integer(26 * GIB));
    set(3, NULL, "memory_bytes", json_integer(26 * GIB + 800 * MIB));
    set(2, NULL, "memory_bytes", json_integer(28 * GIB));
    set(5, NULL, "memory_bytes", json_integer(8 * GIB));
    set(4, "trace_dir", "free_bytes", json_integer(12 * MIB));
    ti_survey_compare(&s, sites, &ask);
    assert_int_equal(s.unusable, 0);
    assert_int_equal(print(true, 0), 0);
    print(false, 0);
    says("c0-[1,3-4] (cluster c0, site site0): 26.0 GiB to 28.0 GiB of memory available, not "
         "32.0 GiB\n");
    says("c0-6 (cluster c0, site site0): 8.0 GiB of memory available, not 32.0 GiB\n");
    says("c0-5 (cluster c0, site site0): 12.0 MiB is free in '/tmp'");
}

static void test_fatal(void **state)
{
    struct ti_err err = {"", ""};

    (void)state;
    begin(1, 4);
    set(0, "trace_dir", "free_bytes", json_integer(4096));
    set(1, "mpi", "version", json_string("5.0.1"));
    set(2, "program", "error", json_string("no such file"));
    set(2, "program", "hint", json_string("copy it there"));
    set(3, NULL, "cores", json_integer(4));
    ti_survey_compare(&s, sites, &ask);
    assert_int_equal(s.unusable, 3);
    assert_true(s.usable[3]);
    print(true, 0);
    says("c0-1 (cluster c0, site site0): 4.0 KiB is free in '/tmp'");
    says("c0-2 (cluster c0, site site0): its Open MPI is 5.0.1, ours is 4.1.4");
    says("c0-3 (cluster c0, site site0): no such file\n    hint: copy it there");
    print(false, 0);
    says("c0-4 (cluster c0, site site0): 4 cores, not 8");
    assert_int_equal(ti_survey_check(&s, sites, 0, &err), TI_ERR_INPUT);
    /* out of reach is another status than not fit */
    ti_survey_add(&s, 3, true, true, NULL, "no route to host");
    assert_int_equal(ti_survey_check(&s, sites, 3, &err), TI_ERR_REMOTE);
    /* however many are tolerated, one has to be left */
    assert_int_equal(ti_survey_check(&s, sites, 100, &err), TI_ERR_REMOTE);
}

static void test_mpich(void **state)
{
    struct ti_survey_in with_hydra = ask;

    (void)state;
    begin(1, 3);
    for (int i = 0; i < 3; i++)
        set(i, "program", "mpi", json_string(i ? "mpich" : "openmpi"));
    set(1, "mpi", "version", json_string("4.1.2"));
    set(2, "mpi", "version", json_string("4.0.2"));
    with_hydra.hydra = "/usr/bin/mpiexec.hydra";
    with_hydra.mpi_version = "4.0.2";
    ti_survey_compare(&s, sites, &with_hydra);
    assert_true(s.usable[2]);
    print(true, 0);
    says("c0-1 (cluster c0, site site0): its program is linked with Open MPI, that of other nodes "
         "is not");
    says("c0-2 (cluster c0, site site0): its MPICH is 4.1.2, ours is 4.0.2");
}

static void test_mpich_by_open_mpi(void **state)
{
    (void)state;
    begin(1, 1);
    set(0, "program", "mpi", json_string("mpich"));
    ti_survey_compare(&s, sites, &ask);
    print(true, 0);
    says("c0-1 (cluster c0, site site0): its program is linked with MPICH, that of other nodes is "
         "not");
}

/* 778 nodes of which each has trouble of its own, of the worst kinds. */
static void test_many(void **state)
{
    char hash[32];
    int notes, fatal;

    (void)state;
    begin(18, 44);
    for (int64_t i = 0; i < s.n; i++) {
        set(i, NULL, "memory_bytes", json_integer((json_int_t)(1 + i % 28) * GIB));
        set(i, NULL, "cores", json_integer(1 + i % 60));
        snprintf(hash, sizeof hash, "%020d", (int)i);
        if (i % 3 == 0)
            set(i, "program", "sha256", json_string(hash));
        if (i % 5 == 0)
            set(i, "trace_dir", "error", json_string(hash));
    }
    ti_survey_compare(&s, sites, &ask);
    notes = print(false, TI_SURVEY_LINES);
    says(" more findings: ");
    fatal = print(true, TI_SURVEY_LINES);
    says(" more findings: ");
    assert_in_range(notes, 1, TI_SURVEY_LINES);
    assert_in_range(fatal, 1, TI_SURVEY_LINES);
    assert_in_range(notes + fatal + 2, 3, 59); /* a headline each */
    assert_true(print(true, 0) > TI_SURVEY_LINES);

    /* the same trouble everywhere is one line */
    end(state);
    begin(18, 44);
    for (int64_t i = 0; i < s.n; i++)
        set(i, NULL, "memory_bytes", json_integer((json_int_t)(26 * GIB + i * MIB)));
    ti_survey_compare(&s, sites, &ask);
    assert_int_equal(print(false, TI_SURVEY_LINES), 1);
    says("  c[0-17]-[1-44] (18 clusters at 18 sites): 26.0 GiB to 26.8 GiB of memory available, "
         "not 32.0 GiB\n");
}

/* 40 nodes of three clusters do not answer, and another three of one cluster have another trouble.
 */
static void test_one_reason(void **state)
{
    (void)state;
    begin(4, 20);
    for (int64_t i = 10; i < 50; i++)
        ti_survey_add(&s, i, true, true, "it may be down", "it cannot be reached");
    for (int64_t i = 60; i < 63; i++)
        ti_survey_add(&s, i, true, true, NULL, "SSH does not let us in");
    assert_int_equal(s.unusable, 43);
    assert_int_equal(print(true, TI_SURVEY_LINES), 3);
    says("  c0-[11-20],c1-[1-20],c2-[1-10] (3 clusters at 3 sites): it cannot be reached\n"
         "    hint: it may be down\n"
         "  c3-[1-3] (cluster c3, site site3): SSH does not let us in\n");

    /* of many names the first are printed, in the log all */
    end(state);
    begin(40, 3);
    for (int64_t i = 0; i < s.n; i += 2)
        ti_survey_add(&s, i, true, true, NULL, "it cannot be reached");
    assert_int_equal(print(true, TI_SURVEY_LINES), 1);
    says("  60 nodes, c0-[1,3],c1-2,c2-[1,3],c3-2,");
    says(",... (40 clusters at 40 sites): it cannot be reached\n");
    assert_true(strlen(text) < 250);
    assert_int_equal(print(true, 0), 1);
    says(",c39-2 (40 clusters at 40 sites): it cannot be reached\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_as_said, end),
        cmocka_unit_test_teardown(test_majority, end),
        cmocka_unit_test_teardown(test_ranges, end),
        cmocka_unit_test_teardown(test_fatal, end),
        cmocka_unit_test_teardown(test_mpich, end),
        cmocka_unit_test_teardown(test_mpich_by_open_mpi, end),
        cmocka_unit_test_teardown(test_many, end),
        cmocka_unit_test_teardown(test_one_reason, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
