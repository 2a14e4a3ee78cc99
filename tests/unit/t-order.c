/*
 * The order of ranks over nodes: against all orders there are for small graphs,
 * against what is known for grids, and what must hold for any graph.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/plan/order.h"

static uint64_t dice;

static int64_t draw(int64_t n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((dice >> 33) % (uint64_t)n);
}

static struct ti_graph graph_of(struct ti_pair_list *l, int64_t np)
{
    struct ti_graph g;
    struct ti_err err;

    assert_int_equal(ti_graph_make(l, np, &g, &err), TI_OK);
    assert_int_equal(l->n, 0);
    return g;
}

static struct ti_graph random_graph(int64_t np, int64_t pairs)
{
    struct ti_pair_list l = {.n = 0};

    for (int64_t i = 0; i < pairs; i++)
        ti_pair_add(&l, draw(np), draw(np), 1 + draw(100));
    return graph_of(&l, np);
}

/* Ranks of a grid, numbered row by row; or at random. */
static struct ti_graph grid(int64_t rows, int64_t cols, bool shuffled)
{
    struct ti_pair_list l = {.n = 0};
    int64_t np = rows * cols, *number = malloc((size_t)np * sizeof *number);
    struct ti_graph g;

    for (int64_t i = 0; i < np; i++)
        number[i] = i;
    for (int64_t i = np - 1; shuffled && i > 0; i--) {
        int64_t k = draw(i + 1), n = number[i];

        number[i] = number[k];
        number[k] = n;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            if (r + 1 < rows)
                ti_pair_add(&l, number[r * cols + c], number[(r + 1) * cols + c], 10);
            if (c + 1 < cols)
                ti_pair_add(&l, number[r * cols + c], number[r * cols + c + 1], 10);
        }
    free(number);
    g = graph_of(&l, np);
    return g;
}

/* Checks that hold for every graph. */
static struct ti_order order_of(const struct ti_order_in *in)
{
    struct ti_order o, again;
    struct ti_err err;
    int64_t *count = calloc((size_t)in->nnodes, sizeof *count);
    struct ti_cut cut;

    assert_int_equal(ti_order_make(in, &o, &err), TI_OK);
    for (int64_t r = 0; r < o.np; r++)
        count[o.node[r]]++;
    for (int64_t i = 0; i < in->nnodes; i++)
        assert_int_equal(count[i], in->ranks[i]);
    free(count);
    cut = ti_order_cut(in->graph, o.node, in->site);
    assert_int_equal(cut.nodes, o.after.nodes);
    assert_int_equal(cut.sites, o.after.sites);
    assert_true(o.after.nodes <= o.before.nodes && o.after.sites <= o.before.sites);
    assert_true(o.after.sites <= o.after.nodes && o.after.nodes <= o.total);
    if (o.kept)
        for (int64_t r = 1; r < o.np; r++)
            assert_true(o.node[r - 1] <= o.node[r]);
    assert_int_equal(ti_order_make(in, &again, &err), TI_OK);
    assert_memory_equal(o.node, again.node, (size_t)o.np * sizeof *o.node);
    ti_order_free(&again);
    return o;
}

static void test_graph(void **state)
{
    struct ti_pair_list l = {.n = 0};
    struct ti_graph g;

    (void)state;
    ti_pair_add(&l, 2, 0, 5);
    ti_pair_add(&l, 0, 2, 7);
    ti_pair_add(&l, 1, 1, 99); /* itself */
    ti_pair_add(&l, 3, 1, 1);
    ti_pair_add(&l, 0, 1, 2);
    g = graph_of(&l, 4);
    assert_int_equal(g.total, 15);
    assert_int_equal(g.start[1], 2);
    assert_int_equal(g.to[0], 1);
    assert_int_equal(g.to[1], 2);
    assert_int_equal(g.weight[1], 12);
    assert_int_equal(g.start[4], 6);
    ti_graph_free(&g);
}

/* The least that can cross when `n` nodes take ranks[] each, by trying all. */
static void try_all(const struct ti_order_in *in, int32_t *node, int64_t *left, int64_t r,
                    struct ti_cut *least)
{
    if (r == in->graph->np) {
        struct ti_cut cut = ti_order_cut(in->graph, node, in->site);

        if (cut.sites < least->sites)
            least->sites = cut.sites;
        if (cut.nodes < least->nodes)
            least->nodes = cut.nodes;
        return;
    }
    for (int32_t i = 0; i < in->nnodes; i++) {
        if (!left[i])
            continue;
        left[i]--;
        node[r] = i;
        try_all(in, node, left, r + 1, least);
        left[i]++;
    }
}

/* Two nodes: the best there is, nearly always.  More: near. */
static void test_against_all_orders(void **state)
{
    int missed = 0;
    int64_t sum = 0, least_sum = 0;

    (void)state;
    dice = 7;
    for (int i = 0; i < 300; i++) {
        int64_t np = 4 + draw(6), nnodes = i % 3 ? 2 : 3, ranks[3], left[3];
        int site[] = {0, 1, 1};
        struct ti_graph g = random_graph(np, np + draw(np * 2));
        struct ti_order_in in = {&g, nnodes, ranks, site};
        struct ti_cut least = {INT64_MAX, INT64_MAX};
        struct ti_order o;
        int32_t node[16];

        ranks[0] = 1 + draw(np - 2);
        ranks[1] = nnodes == 2 ? np - ranks[0] : draw(np - ranks[0]);
        ranks[2] = np - ranks[0] - ranks[1];
        memcpy(left, ranks, sizeof left);
        o = order_of(&in);
        try_all(&in, node, left, 0, &least);
        assert_true(o.after.sites >= least.sites && o.after.nodes >= least.nodes);
        if (nnodes == 2) {
            missed += o.after.nodes != least.nodes;
            sum += o.after.nodes;
            least_sum += least.nodes;
        }
        ti_order_free(&o);
        ti_graph_free(&g);
    }
    print_message("of 200 small graphs, %d not cut best; in all %g %% above the least\n", missed,
                  100 * ((double)sum / (double)least_sum - 1));
    assert_true(missed <= 10);
}

static void test_any_graph(void **state)
{
    (void)state;
    dice = 3;
    for (int i = 0; i < 200; i++) {
        int64_t np = 1 + draw(200), nnodes = 1 + draw(12), ranks[12] = {0};
        int site[12];
        struct ti_graph g = random_graph(np, draw(np * 4));
        struct ti_order_in in = {&g, nnodes, ranks, site};
        struct ti_order o;

        for (int64_t r = 0; r < np; r++)
            ranks[draw(nnodes)]++;
        for (int64_t k = 0; k < nnodes; k++)
            site[k] = k && draw(3) ? site[k - 1] : (int)k;
        o = order_of(&in);
        ti_order_free(&o);
        ti_graph_free(&g);
    }
}

/* Of a grid that is numbered by rows, squares cut least; whatever the numbers. */
static void test_grids(void **state)
{
    int64_t ranks[64];
    int site[64];

    (void)state;
    dice = 5;
    for (int i = 0; i < 64; i++) {
        ranks[i] = 64;
        site[i] = i / 16;
    }
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        struct ti_graph g = grid(64, 64, shuffled);
        struct ti_order o = order_of(&(struct ti_order_in){&g, 64, ranks, site});
        /* rows cut 63 x 64 x 10, 3 x 64 of them between sites; squares half a quarter of it */
        int64_t nodes = 2 * 7 * 64 * 10, sites = 2 * 64 * 10;

        print_message("64 x 64 grid%s: nodes %g, sites %g of what squares cut\n",
                      shuffled ? ", shuffled" : "", (double)o.after.nodes / (double)nodes,
                      (double)o.after.sites / (double)sites);
        assert_false(o.kept);
        assert_true(o.after.nodes < nodes * 12 / 10);
        assert_true(o.after.sites < sites * 12 / 10);
        ti_order_free(&o);
        ti_graph_free(&g);
    }
}

/* A chain is best as it is numbered: kept, and said. */
static void test_nothing_better(void **state)
{
    struct ti_graph g = grid(1, 64, false);
    int64_t ranks[] = {10, 0, 22, 32};
    int site[] = {0, 0, 1, 2};
    struct ti_order o = order_of(&(struct ti_order_in){&g, 4, ranks, site});
    char text[512];

    (void)state;
    assert_true(o.kept);
    assert_int_equal(o.after.nodes, 20);
    assert_non_null(strstr(ti_order_text(&o, text, sizeof text), "as ranks are numbered"));
    ti_order_free(&o);
    ti_graph_free(&g);
}

/* Nodes that are interchangeable: rank 0 is on the first. */
static void test_first_first(void **state)
{
    static const int32_t wanted[] = {0, 1, 0, 1};
    struct ti_pair_list l = {.n = 0};
    int64_t ranks[] = {2, 2};
    int site[] = {0, 0};
    struct ti_graph g;
    struct ti_order o;

    (void)state;
    ti_pair_add(&l, 0, 2, 9);
    ti_pair_add(&l, 1, 3, 9);
    g = graph_of(&l, 4);
    o = order_of(&(struct ti_order_in){&g, 2, ranks, site});
    assert_int_equal(o.before.nodes, 18);
    assert_int_equal(o.after.nodes, 0);
    assert_memory_equal(o.node, wanted, sizeof wanted);
    ti_order_free(&o);
    ti_graph_free(&g);
}

static void test_wrong_number(void **state)
{
    struct ti_graph g = grid(2, 2, false);
    int64_t ranks[] = {2, 3};
    int site[] = {0, 0};
    struct ti_order o;
    struct ti_err err;

    (void)state;
    assert_int_equal(ti_order_make(&(struct ti_order_in){&g, 2, ranks, site}, &o, &err),
                     TI_ERR_INPUT);
    assert_string_equal(err.text, "an order of 4 ranks is no order of the 5 planned");
    ti_graph_free(&g);
}

/* As large as it gets: 16,384 ranks with ten neighbours each, 778 nodes, 9 sites. */
static void test_large(void **state)
{
    struct ti_pair_list l = {.n = 0};
    int64_t ranks[778] = {0};
    int site[778];
    struct ti_graph g;
    struct ti_order o;

    (void)state;
    dice = 11;
    for (int64_t v = 0; v < 16384; v++)
        for (int k = 0; k < 5; k++)
            ti_pair_add(&l, v, (v + (k < 3 ? 1 << (7 * (k % 2)) : 1 + draw(600))) % 16384, 1000);
    g = graph_of(&l, 16384);
    for (int64_t v = 0; v < 16384; v++)
        ranks[v % 778]++;
    for (int i = 0; i < 778; i++)
        site[i] = i / 87;
    o = order_of(&(struct ti_order_in){&g, 778, ranks, site});
    print_message("16,384 ranks: nodes %g, sites %g of the contiguous order\n",
                  (double)o.after.nodes / (double)o.before.nodes,
                  (double)o.after.sites / (double)o.before.sites);
    ti_order_free(&o);
    ti_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph),          cmocka_unit_test(test_against_all_orders),
        cmocka_unit_test(test_any_graph),      cmocka_unit_test(test_grids),
        cmocka_unit_test(test_nothing_better), cmocka_unit_test(test_first_first),
        cmocka_unit_test(test_wrong_number),   cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
