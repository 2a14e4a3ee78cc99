/* Reports of ti-gather on a fetch: progress, JSON, the drawing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gather/report.h"
#include "gather/show.h"

/* Of fetch.c only what report.c has put in the summary. */
json_t *ti_fetch_json(const struct ti_fetch *f)
{
    return json_integer(f->nfailures);
}

#define MIB (INT64_C(1) << 20)

/*
 * A head behind a gateway with two children, the second of them with a child; and two nodes of
 * another site.  n2 was lost on the way, and n3 taken over by n0.
 */
static struct ti_fetch_node node[] = {
    {.name = (char *)"n0",
     .site = (char *)"s1",
     .state = TI_FETCH_DONE,
     .parent = -1,
     .first_parent = -1,
     .depth = 1,
     .wanted = 4,
     .ranks = 4,
     .wanted_bytes = 4 * MIB,
     .bytes = 4 * MIB,
     .sent = 4 * MIB + 100,
     .link = 10 * MIB,
     .ready_s = 1,
     .done_s = 3,
     .transport = "libssh2"},
    {.name = (char *)"n1",
     .site = (char *)"s1",
     .state = TI_FETCH_SENDING,
     .parent = 0,
     .first_parent = 0,
     .depth = 2,
     .wanted = 4,
     .ranks = 2,
     .wanted_bytes = 4 * MIB,
     .bytes = 2 * MIB,
     .sent = 2 * MIB,
     .link = 2 * MIB,
     .ready_s = 2,
     .transport = "relay"},
    {.name = (char *)"n2",
     .site = (char *)"s1",
     .state = TI_FETCH_FAILED,
     .parent = 0,
     .first_parent = 0,
     .depth = 2,
     .wanted = 4,
     .ranks = 1,
     .wanted_bytes = 4 * MIB,
     .bytes = 1 * MIB,
     .sent = 1 * MIB,
     .link = 2 * MIB,
     .ready_s = 2,
     .done_s = 4,
     .retries = 2,
     .transport = "relay",
     .why = (char *)"it says \"no\""},
    {.name = (char *)"n3",
     .site = (char *)"s1",
     .state = TI_FETCH_SENDING,
     .parent = 0,
     .first_parent = 2,
     .depth = 3,
     .wanted = 4,
     .wanted_bytes = 4 * MIB,
     .bytes = 3 * MIB,
     .sent = 3 * MIB,
     .link = 3 * MIB,
     .ready_s = 3,
     .done_s = 6,
     .transport = "relay"},
    {.name = (char *)"m0",
     .site = (char *)"s2",
     .site_number = 1,
     .state = TI_FETCH_SENDING,
     .parent = -1,
     .first_parent = -1,
     .depth = 1,
     .wanted = 4,
     .wanted_bytes = 9 * MIB,
     .bytes = 8 * MIB,
     .link = 8 * MIB,
     .ready_s = 1,
     .done_s = 5,
     .transport = "libssh2"},
    {.name = (char *)"idle",
     .site = (char *)"s2",
     .site_number = 1,
     .parent = -1,
     .first_parent = -1},
};
static struct ti_fetch fetched = {
    .nodes = 5,
    .wanted = 20,
    .fetched = 12,
    .bytes = 18 * MIB,
    .total = 25 * MIB,
    .seconds = 6,
    .node = node,
    .nnodes = 6,
    .nsites = 2,
    .arity = 1,
    .connected_s = 2,
    .transferred_s = 6,
    .lost = 1,
    .adopted = 1,
};
static struct ti_source_node source[] = {
    {.name = "n0", .gateway = "g"}, {.name = "n1", .gateway = "g"}, {.name = "n2", .gateway = "g"},
    {.name = "n3", .gateway = "g"}, {.name = "m0", .site = 1},      {.name = "idle", .site = 1},
};
static struct ti_nodes nodes = {.node = source, .n = 6, .nsites = 2};

static void test_progress(void **state)
{
    struct ti_report_rate rate = {0};
    struct ti_progress p;
    char note[512], cut[512];

    (void)state;
    fetched.bytes = 4 * MIB;
    ti_report_progress(&rate, &fetched, 100, &p, note, sizeof note);
    assert_null(strstr(note, "/s")); /* not known yet */
    assert_true(p.left_s < 0);
    fetched.bytes = 18 * MIB;
    ti_report_progress(&rate, &fetched, 101.75, &p, note, sizeof note);
    /* 14 MiB in 1.75 s; 7 are left; n0's branch has 3 to come and two that are not done */
    assert_string_equal(note, "8.0 MiB/s, 12 of 20 ranks, 2 of 5 nodes done, slowest: n0 +2");
    assert_ptr_equal(p.note, note);
    assert_int_equal(p.done, 18 * MIB);
    assert_int_equal(p.of, 25 * MIB);
    assert_float_equal(p.left_s, 7.0 / 8, 1e-9);
    assert_float_equal(p.also[0].value, 12, 0);
    for (size_t room = 1; room < 120; room++) {
        ti_report_progress(&rate, &fetched, 101.75, &p, cut, room);
        assert_true(strlen(cut) < room);
        assert_memory_equal(cut, note, strlen(cut));
    }
    /* the rate is that of late, not that of the beginning */
    for (int t = 2; t < 20; t++)
        ti_report_progress(&rate, &fetched, 100 + t, &p, note, sizeof note);
    assert_null(strstr(note, "/s"));
    assert_true(p.left_s < 0);
    /* before sizes are known there is nothing to compare */
    fetched.total = 0;
    node[1].state = TI_FETCH_CONNECTING;
    ti_report_progress(&rate, &fetched, 130, &p, note, sizeof note);
    assert_non_null(strstr(note, "4 of 5 nodes connected"));
    assert_null(strstr(note, "slowest"));
    node[1].state = TI_FETCH_SENDING;
    fetched.total = 25 * MIB;
}

static void test_json(void **state)
{
    struct ti_tree_costs costs;
    struct ti_tree_cost cost;
    json_t *j, *list, *x;

    (void)state;
    ti_tree_costs_default(&costs);
    costs.rate = 1e6;
    cost = ti_show_predict(&fetched, &nodes, &costs);
    assert_int_equal(cost.here, 2);
    assert_int_equal(cost.depth, 3);
    assert_int_equal(cost.most, 2);
    assert_float_equal(cost.bound_s, 25 * MIB / 1e6, 1e-6);
    /* what is on this machine passes no link */
    source[4].local = true;
    assert_float_equal(ti_show_predict(&fetched, &nodes, &costs).bound_s, 16 * MIB / 1e6, 1e-6);
    source[4].local = false;
    j = ti_show_json(&fetched, &cost, &costs);
    list = json_object_get(j, "nodes");
    assert_int_equal(json_array_size(list), 5); /* not the one that has nothing */
    x = json_array_get(list, 3);
    assert_string_equal(json_string_value(json_object_get(x, "parent")), "n0");
    assert_string_equal(json_string_value(json_object_get(x, "planned_parent")), "n2");
    x = json_array_get(list, 2);
    assert_string_equal(json_string_value(json_object_get(x, "state")), "failed");
    assert_string_equal(json_string_value(json_object_get(x, "error")), "it says \"no\"");
    assert_true(json_is_null(json_object_get(json_array_get(list, 0), "parent")));
    assert_int_equal(json_integer_value(json_object_get(j, "adopted")), 1);
    json_decref(j);
    j = ti_show_gathering(&fetched, &cost, &costs);
    list = json_object_get(j, "links");
    assert_int_equal(json_array_size(list), 5);
    x = json_array_get(list, 0); /* needed until n3 was done */
    assert_int_equal(json_integer_value(json_array_get(x, 2)), 10 * MIB);
    assert_float_equal(json_real_value(json_array_get(x, 3)), 5, 1e-9);
    x = json_object_get(j, "transports");
    assert_int_equal(json_integer_value(json_object_get(x, "relay")), 3);
    assert_int_equal(json_integer_value(json_object_get(x, "libssh2")), 2);
    json_decref(j);
}

static void test_dot(void **state)
{
    char path[] = "/tmp/t-report-XXXXXX", text[8192];
    struct ti_err err;
    FILE *f;
    size_t n;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(ti_show_dot(path, &fetched, &err), TI_OK);
    f = fopen(path, "r");
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    unlink(path);
    assert_non_null(strstr(text, "n2 [label=\"n2\\n1 of 4 ranks, 1.0 MiB\", color=red, "
                                 "fontcolor=red, tooltip=\"it says \\\"no\\\"\"];"));
    assert_non_null(strstr(text, "n0 -> here [label=\"10.0 MiB\\n2.0 MiB/s\"];"));
    assert_non_null(strstr(text, "n3 -> n0 [label=\"3.0 MiB\\n1.0 MiB/s\"];"));
    assert_non_null(strstr(text, "n3 -> n2 [style=dashed"));
    assert_null(strstr(text, "idle"));
    assert_int_equal(ti_show_dot("/no/such/folder/x.dot", &fetched, &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "/no/such/folder/x.dot"));
    assert_int_equal(ti_show_dot("/dev/full", &fetched, &err), TI_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_dot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
