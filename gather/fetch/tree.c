#include "gather/fetch/tree.h"

#include <math.h>
#include <stdlib.h>

#include "gather/fetch/tree_internal.h"

#define AUTO_MAX 16
#define SAME     1e-6 /* relative: smaller differences of times do not count */

/* `i` with its last nonzero digit in base `base` set to 0; i > 0. */
static int64_t parent_of(int64_t i, int64_t base)
{
    int64_t place = 1;

    while (i / place % base == 0)
        place *= base;
    return i - i / place % base * place;
}

static void shape_site(struct ti_tree *t, const int64_t *node, int64_t n, bool gateway)
{
    int64_t shift = gateway ? 0 : 1; /* where there is none, number 0 is this machine */

    for (int64_t k = 0; k < n; k++) {
        int64_t number = k + shift, up = number ? parent_of(number, t->arity + 1) - shift : -1;

        t->parent[node[k]] = up < 0 ? -1 : node[up];
        t->depth[node[k]] = up < 0 ? 1 : t->depth[node[up]] + 1;
    }
}

static ti_status shape(const struct ti_tree_in *in, int arity, struct ti_tree *t,
                       struct ti_err *err)
{
    int64_t *key = malloc(((size_t)in->n + 1) * sizeof *key),
            *order = malloc(((size_t)in->n + 1) * sizeof *order),
            *first = malloc(((size_t)in->nsites + 1) * sizeof *first);
    ti_status st = TI_OK;

    *t = (struct ti_tree){.n = in->n, .arity = arity};
    t->parent = malloc(((size_t)in->n + 1) * sizeof *t->parent);
    t->depth = malloc(((size_t)in->n + 1) * sizeof *t->depth);
    if (!key || !order || !first || !t->parent || !t->depth) {
        ti_tree_free(t);
        st = ti_err_errno(err, TI_ERR_IO, "cannot plan a tree");
        goto out;
    }
    for (int64_t i = 0; i < in->n; i++) {
        key[i] = in->direct && in->direct[i] ? -1 : in->site[i];
        t->parent[i] = -1;
        t->depth[i] = 1;
    }
    ti__group(key, in->n, in->nsites, order, first);
    for (int s = 0; arity != TI_ARITY_STAR && s < in->nsites; s++)
        shape_site(t, order + first[s], first[s + 1] - first[s], in->gateway[s]);
out:
    free(key);
    free(order);
    free(first);
    return st;
}

void ti_tree_free(struct ti_tree *t)
{
    free(t->parent);
    free(t->depth);
    *t = (struct ti_tree){0};
}

static ti_status make(const struct ti_tree_in *in, int arity, const struct ti_tree_costs *costs,
                      struct ti_tree *out, struct ti_err *err)
{
    ti_status st = shape(in, arity, out, err);

    if (st == TI_OK)
        out->cost = ti_tree_cost(in, out, costs);
    return st;
}

/* Arities with equal total time are limited by bandwidth.  Of these takes the one that connects all
 * nodes soonest, but the star if it is among them. */
static ti_status choose(const struct ti_tree_in *in, const struct ti_tree_costs *costs, int *arity,
                        struct ti_err *err)
{
    struct ti_tree_cost cost[AUTO_MAX + 1];
    double least = INFINITY;

    for (int k = TI_ARITY_STAR; k <= AUTO_MAX; k++) {
        struct ti_tree t;
        ti_status st = make(in, k, costs, &t, err);

        if (st != TI_OK)
            return st;
        cost[k] = t.cost;
        least = t.cost.total_s < least ? t.cost.total_s : least;
        ti_tree_free(&t);
    }
    *arity = -1;
    for (int k = TI_ARITY_STAR; k <= AUTO_MAX && *arity != TI_ARITY_STAR; k++)
        if (cost[k].total_s <= least * (1 + SAME) &&
            (*arity < 0 || cost[k].connect_s < cost[*arity].connect_s))
            *arity = k;
    return TI_OK;
}

ti_status ti_tree_make(const struct ti_tree_in *in, const struct ti_tree_costs *costs,
                       struct ti_tree *out, struct ti_err *err)
{
    int arity = in->arity;

    *out = (struct ti_tree){0};
    if (arity != TI_ARITY_AUTO && (arity < 0 || arity > TI_ARITY_MAX))
        return ti_err_set(err, TI_ERR_USAGE, "the arity must be 1 to %d, not %d", TI_ARITY_MAX,
                          arity);
    if (arity == TI_ARITY_AUTO) {
        ti_status st = choose(in, costs, &arity, err);

        if (st != TI_OK)
            return st;
    }
    return make(in, arity, costs, out, err);
}
