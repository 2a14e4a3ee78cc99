/* acquire/plan/rank_map.c: which node has which ranks, and the hostfile that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/plan/rank_map.h"

#define NODES 4

static char *const names[NODES] = {"a-1", "a-2", "b-1", "b-2"};
static int64_t ranks[NODES] = {2, 0, 3, 1}, first[NODES] = {0, 2, 2, 5};

static struct ti_rank_map map_by(const struct ti_order *order)
{
    struct ti_rank_placement place = {.np = 6, .nnodes = NODES, .ranks = ranks, .first = first};

    return ti_rank_map_of(&place, order);
}

static void check_ranges(const struct ti_rank_map *m, const char *const wanted[NODES])
{
    for (int64_t i = 0; i < NODES; i++) {
        json_t *list = ti_rank_map_json(m, i);
        char *text = json_dumps(list, JSON_COMPACT);

        assert_string_equal(text, wanted[i]);
        free(text);
        json_decref(list);
    }
}

static void check_file(const struct ti_rank_map *m,
                       ti_status (*write_it)(const struct ti_rank_map *m,
                                             const struct ti_sites *sites, const char *path,
                                             struct ti_err *err),
                       const char *wanted)
{
    struct ti_node node[NODES] = {{.name = NULL}};
    struct ti_sites sites = {.node = node, .nnodes = NODES};
    char path[] = "/tmp/t-rank-map-XXXXXX", text[256] = "";
    struct ti_err err = {"", ""};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    for (int i = 0; i < NODES; i++)
        node[i].name = names[i];
    assert_int_equal(write_it(m, &sites, path, &err), TI_OK);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    assert_string_equal(text, wanted);
    close(fd);
    unlink(path);
    assert_int_equal(write_it(m, &sites, "/nowhere/hosts", &err), TI_ERR_IO);
    assert_non_null(strstr(err.text, "cannot write '/nowhere/hosts': "));
}

static void check_hostfile(const struct ti_rank_map *m, const char *wanted)
{
    check_file(m, ti_rank_map_hostfile, wanted);
}

static void test_in_order_of_nodes(void **unused)
{
    static const int64_t node_of[] = {0, 0, 2, 2, 2, 3};
    static const char *const wanted[] = {"[[0,1]]", "[]", "[[2,4]]", "[[5,5]]"};
    struct ti_rank_map m = map_by(NULL);

    (void)unused;
    for (int64_t rank = 0; rank < 6; rank++)
        assert_int_equal(ti_rank_map_node_of(&m, rank), node_of[rank]);
    assert_int_equal(ti_rank_map_node_of(&m, -1), -1);
    assert_int_equal(ti_rank_map_node_of(&m, 6), -1);
    check_ranges(&m, wanted);
    check_hostfile(&m, "a-1 slots=2\nb-1 slots=3\nb-2 slots=1\n");
    check_file(&m, ti_rank_map_hydra, "a-1:2\nb-1:3\nb-2:1\n");
}

static void test_ordered(void **unused)
{
    static int32_t node_of[] = {2, 0, 2, 2, 3, 0};
    static const char *const wanted[] = {"[[1,1],[5,5]]", "[]", "[[0,0],[2,3]]", "[[4,4]]"};
    struct ti_order order = {.np = 6, .node = node_of};
    struct ti_rank_map m = map_by(&order);

    (void)unused;
    for (int64_t rank = 0; rank < 6; rank++)
        assert_int_equal(ti_rank_map_node_of(&m, rank), node_of[rank]);
    assert_int_equal(ti_rank_map_node_of(&m, -1), -1);
    assert_int_equal(ti_rank_map_node_of(&m, 6), -1);
    check_ranges(&m, wanted);
    check_hostfile(&m, "# ranks in the order of --like: mpirun --map-by seq\n"
                       "b-1\na-1\nb-1\nb-1\nb-2\na-1\n");
    check_file(&m, ti_rank_map_slots, "a-1 slots=2\nb-1 slots=3\nb-2 slots=1\n");
    check_file(&m, ti_rank_map_rankfile,
               "rank 0=b-1 slot=0\nrank 1=a-1 slot=0\nrank 2=b-1 slot=0\n"
               "rank 3=b-1 slot=0\nrank 4=b-2 slot=0\nrank 5=a-1 slot=0\n");
    check_file(&m, ti_rank_map_hydra, "b-1:1\na-1:1\nb-1:2\nb-2:1\na-1:1\n");
    /* no better order was found: that of the nodes */
    order.kept = true;
    m = map_by(&order);
    assert_int_equal(ti_rank_map_node_of(&m, 0), 0);
}

/* Nodes that PRRTE would take for one have names without dots. */
static void test_names_for_prrte(void **unused)
{
    static const struct {
        const char *names[NODES]; /* the second one has no ranks */
        int local;                /* -1: no node */
        const char *wanted;
    } cases[] = {
        {{"n1.a", "n1.x", "n1.b", "n2.b"}, -1, "n1-a slots=2\nn1-b slots=3\nn2.b slots=1\n"},
        {{"n1.a", "n2.x", "n1.b", "n1"}, 0, "n1.a slots=2\nn1-b slots=3\nn1 slots=1\n"},
        {{"n1.a", "n3.b", "n2.a", "n3.a"}, -1, NULL},
        {{"10.0.0.1", "n2", "10.0.0.2", "n1"}, -1, NULL},
        {{"n1.a", "n2", "n1.b", "n1-a"}, -1, "n1.a slots=2\nn1-b slots=3\nn1-a slots=1\n"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ti_node node[NODES] = {{.name = NULL}};
        struct ti_sites sites = {.node = node, .nnodes = NODES};
        struct ti_rank_map m = map_by(NULL);
        bool local[NODES] = {false}, *undotted;
        char text[256] = "", path[] = "/tmp/t-rank-map-XXXXXX";
        int fd = mkstemp(path);

        for (int k = 0; k < NODES; k++) {
            node[k].name = strdup(cases[i].names[k]);
            local[k] = k == cases[i].local;
        }
        m.undotted = undotted = ti_rank_map_undot(&m, &sites, local);
        assert_int_equal(undotted != NULL, cases[i].wanted != NULL);
        if (undotted) {
            assert_int_equal(ti_rank_map_hostfile(&m, &sites, path, NULL), TI_OK);
            assert_true(read(fd, text, sizeof text - 1) > 0);
            assert_string_equal(text, cases[i].wanted);
        }
        close(fd);
        unlink(path);
        free(undotted);
        for (int k = 0; k < NODES; k++)
            free(node[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order_of_nodes),
        cmocka_unit_test(test_ordered),
        cmocka_unit_test(test_names_for_prrte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
