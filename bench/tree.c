/*
 * Cost of gathering by the model (gather/fetch/tree.h), for a star and some arities:
 * bench/tree NODES SITES [ASSUMPTIONS].
 *
 * Sites are of unlike size, each behind a gateway; nodes have 21 traces of 90 KB, as the paper's
 * 16,384 on 778 nodes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/cli.h"
#include "gather/fetch/tree.h"

#define NODE_BYTES (21 * INT64_C(90000))

/* Site s gets s + 1 parts of all nodes. */
static int site_of(int64_t node, int64_t nodes, int sites)
{
    int64_t parts = (int64_t)sites * (sites + 1) / 2, end = 0;

    for (int s = 0; s < sites; s++) {
        end += s + 1;
        if (node < nodes * end / parts)
            return s;
    }
    return sites - 1;
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static ti_status row(struct ti_tree_in *in, int arity, const struct ti_tree_costs *costs,
                     struct ti_err *err)
{
    double began = now_ms();
    struct ti_tree t;
    char name[32];
    ti_status st;

    in->arity = arity;
    st = ti_tree_make(in, costs, &t, err);
    if (st != TI_OK)
        return st;
    began = now_ms() - began;
    if (t.arity == TI_ARITY_STAR)
        snprintf(name, sizeof name, "star");
    else
        snprintf(name, sizeof name, "K = %d", t.arity);
    printf("%-4s %-7s %11" PRId64 " %6d %6d %9" PRId64 " %8.2f %8.2f %8.2f %9.1f\n",
           arity == TI_ARITY_AUTO ? "auto" : "", name, t.cost.here, t.cost.rounds, t.cost.depth,
           t.cost.most, t.cost.connect_s, t.cost.bound_s, t.cost.total_s, began);
    ti_tree_free(&t);
    return TI_OK;
}

int main(int argc, char **argv)
{
    static const int arity[] = {TI_ARITY_STAR, 1, 2, 4, 8, 16, TI_ARITY_AUTO};
    int64_t nodes = argc > 2 ? strtoll(argv[1], NULL, 10) : 0;
    int sites = argc > 2 ? atoi(argv[2]) : 0, *site = calloc((size_t)nodes + 1, sizeof *site);
    int64_t *bytes = calloc((size_t)nodes + 1, sizeof *bytes);
    bool *gateway = calloc((size_t)sites + 1, sizeof *gateway);
    struct ti_tree_in in = {
        .n = nodes, .nsites = sites, .site = site, .gateway = gateway, .bytes = bytes};
    struct ti_tree_costs costs;
    struct ti_err err;
    ti_status st = TI_OK;

    if (nodes < 1 || sites < 1 || !site || !bytes || !gateway) {
        fprintf(stderr, "usage: bench/tree NODES SITES [ASSUMPTIONS]\n");
        return TI_ERR_USAGE;
    }
    for (int64_t i = 0; i < nodes; i++) {
        site[i] = site_of(i, nodes, sites);
        bytes[i] = NODE_BYTES;
    }
    for (int s = 0; s < sites; s++)
        gateway[s] = true;
    ti_tree_costs_default(&costs);
    if (argc > 3)
        st = ti_tree_costs_parse(argv[3], &costs, &err);
    printf("%-12s %11s %6s %6s %9s %8s %8s %8s %9s\n", "", "connections", "rounds", "depth",
           "children", "connect", "bound", "total", "plan, ms");
    for (size_t i = 0; st == TI_OK && i < sizeof arity / sizeof *arity; i++)
        st = row(&in, arity[i], &costs, &err);
    if (st != TI_OK)
        fprintf(stderr, "bench/tree: %s\n", err.text);
    free(site);
    free(bytes);
    free(gateway);
    return (int)st;
}
