#include "acquire/plan/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/plan/bisect.h"
#include "common/cli.h"
#include "common/map.h"
#include "common/order.h"

/* --- the graph ------------------------------------------------------------ */

void ti_pair_add(struct ti_pair_list *l, int64_t a, int64_t b, int64_t weight)
{
    if (a == b || weight <= 0)
        return;
    l->pair = ti_grow(l->pair, &l->cap, l->n + 1, sizeof *l->pair);
    l->pair[l->n++] = (struct ti_pair_weight){(int32_t)a, (int32_t)b, weight};
}

TI_ORDER_BY_2(by_ranks, struct ti_pair_weight, a, b)

/* Merge equal pairs; afterwards a < b, ascending. */
static void merge_pairs(struct ti_pair_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        struct ti_pair_weight *p = &l->pair[i];

        if (p->a > p->b) {
            int32_t a = p->a;

            p->a = p->b;
            p->b = a;
        }
    }
    if (l->n)
        qsort(l->pair, l->n, sizeof *l->pair, by_ranks);
    for (size_t i = 0; i < l->n; i++) {
        if (n && by_ranks(&l->pair[n - 1], &l->pair[i]) == 0)
            l->pair[n - 1].weight += l->pair[i].weight;
        else
            l->pair[n++] = l->pair[i];
    }
    l->n = n;
}

static void put(struct ti_graph *g, int64_t *at, int32_t v, int32_t to, int64_t weight)
{
    g->to[at[v]] = to;
    g->weight[at[v]++] = weight;
}

ti_status ti_graph_make(struct ti_pair_list *l, int64_t np, struct ti_graph *out,
                        struct ti_err *err)
{
    struct ti_graph g = {.np = np};
    int64_t *at = NULL;
    ti_status st = TI_ERR_IO;

    merge_pairs(l);
    g.start = calloc((size_t)np + 1, sizeof *g.start);
    at = calloc((size_t)np + 1, sizeof *at);
    g.to = malloc((2 * l->n + 1) * sizeof *g.to);
    g.weight = malloc((2 * l->n + 1) * sizeof *g.weight);
    if (!g.start || !at || !g.to || !g.weight) {
        ti_err_set(err, TI_ERR_IO, "no memory for the traffic between ranks");
        ti_graph_free(&g);
        goto out;
    }
    for (size_t i = 0; i < l->n; i++) {
        g.start[l->pair[i].a + 1]++;
        g.start[l->pair[i].b + 1]++;
    }
    for (int64_t v = 0; v < np; v++)
        g.start[v + 1] += g.start[v];
    memcpy(at, g.start, (size_t)np * sizeof *at);
    /* Lower neighbours first, then higher ones: the list is sorted by a, then b, so each vertex
     * gets its neighbours in ascending order. */
    for (size_t i = 0; i < l->n; i++)
        put(&g, at, l->pair[i].b, l->pair[i].a, l->pair[i].weight);
    for (size_t i = 0; i < l->n; i++) {
        put(&g, at, l->pair[i].a, l->pair[i].b, l->pair[i].weight);
        g.total += l->pair[i].weight;
    }
    *out = g;
    st = TI_OK;
out:
    free(at);
    free(l->pair);
    memset(l, 0, sizeof *l);
    return st;
}

void ti_graph_free(struct ti_graph *g)
{
    free(g->start);
    free(g->to);
    free(g->weight);
    memset(g, 0, sizeof *g);
}

struct ti_cut ti_order_cut(const struct ti_graph *g, const int32_t *node, const int *site)
{
    struct ti_cut cut = {0, 0};

    for (int64_t v = 0; v < g->np; v++)
        for (int64_t e = g->start[v]; e < g->start[v + 1] && g->to[e] < v; e++) {
            int32_t u = g->to[e];

            if (node[v] != node[u])
                cut.nodes += g->weight[e];
            if (site[node[v]] != site[node[u]])
                cut.sites += g->weight[e];
        }
    return cut;
}

/* --- the order ------------------------------------------------------------ */

struct work {
    const struct ti_order_in *in;
    int32_t *used; /* nodes that have ranks */
    int64_t nused;
    int32_t *rank; /* a permutation; each range of it belongs to a range of `used` */
    int32_t *node; /* the result */
    struct ti_bisect *bisect;
    int32_t *renamed; /* by node */
    bool *taken;
    bool keep_sites; /* every site keeps its contiguous ranks */
};

/* Choose where to cut the used nodes [first, last): between sites if there are several, and as
 * close to half of the ranks as possible.  *left: ranks before the cut. */
static int64_t find_cut(const struct work *w, int64_t first, int64_t last, int64_t *left,
                        bool *sites)
{
    const int *site = w->in->site;
    int64_t all = 0, sum = 0, cut = first + 1, best = INT64_MAX;

    *sites = site[w->used[first]] != site[w->used[last - 1]];
    for (int64_t i = first; i < last; i++)
        all += w->in->ranks[w->used[i]];
    for (int64_t i = first + 1; i < last; i++) {
        int64_t off;

        sum += w->in->ranks[w->used[i - 1]];
        off = llabs(all - 2 * sum);
        if (*sites && site[w->used[i]] == site[w->used[i - 1]])
            continue;
        if (off < best) {
            best = off;
            cut = i;
            *left = sum;
        }
    }
    return cut;
}

/* Distribute the n ranks from rank[at] on over the used nodes [first, last). */
static void place(struct work *w, int64_t at, int64_t n, int64_t first, int64_t last)
{
    while (last - first > 1) {
        int64_t left = 0, cut;
        bool sites;

        cut = find_cut(w, first, last, &left, &sites);
        if (!sites || !w->keep_sites)
            ti_bisect(w->bisect, w->rank + at, n, left);
        place(w, at, left, first, cut);
        at += left;
        n -= left;
        first = cut;
    }
    for (int64_t i = 0; i < n; i++)
        w->node[w->rank[at + i]] = w->used[first];
}

static void put_contiguous(const struct work *w, int32_t *node)
{
    int32_t rank = 0;

    for (int64_t i = 0; i < w->nused; i++)
        for (int64_t k = 0; k < w->in->ranks[w->used[i]]; k++)
            node[rank++] = w->used[i];
}

/* Nodes of one site with equally many ranks are interchangeable: give the lowest ranks to the
 * first of them, so that rank 0 is on the node where users expect it. */
static void put_first_first(const struct work *w)
{
    const struct ti_order_in *in = w->in;
    int32_t *to = w->renamed; /* -1: not yet */

    memset(to, -1, (size_t)in->nnodes * sizeof *to);
    memset(w->taken, 0, (size_t)in->nnodes * sizeof *w->taken);
    for (int64_t r = 0; r < in->graph->np; r++) {
        int32_t from = w->node[r], i = 0;

        while (to[from] < 0) {
            if (!w->taken[i] && in->ranks[i] == in->ranks[from] && in->site[i] == in->site[from]) {
                w->taken[i] = true;
                to[from] = i;
            }
            i++;
        }
        w->node[r] = to[from];
    }
}

/* No cut is larger, and one is smaller. */
static bool is_better(const struct ti_cut *cut, const struct ti_cut *before)
{
    return cut->sites <= before->sites && cut->nodes <= before->nodes &&
           (cut->sites < before->sites || cut->nodes < before->nodes);
}

/* Order all nodes; if that makes a cut larger, order within sites only. */
static void find_order(struct work *w, struct ti_order *o)
{
    const struct ti_graph *g = w->in->graph;

    put_contiguous(w, o->node);
    o->before = o->after = ti_order_cut(g, o->node, w->in->site);
    o->kept = true;
    for (int attempt = 0; o->kept && attempt < 2; attempt++) {
        struct ti_cut cut;

        for (int64_t i = 0; i < o->np; i++)
            w->rank[i] = (int32_t)i;
        w->keep_sites = attempt == 1;
        place(w, 0, o->np, 0, w->nused);
        put_first_first(w);
        cut = ti_order_cut(g, w->node, w->in->site);
        if (is_better(&cut, &o->before)) {
            memcpy(o->node, w->node, (size_t)o->np * sizeof *o->node);
            o->after = cut;
            o->kept = false;
        }
    }
}

ti_status ti_order_make(const struct ti_order_in *in, struct ti_order *out, struct ti_err *err)
{
    const struct ti_graph *g = in->graph;
    struct work w = {.in = in};
    int64_t sum = 0;
    ti_status st = TI_OK;

    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < in->nnodes; i++)
        sum += in->ranks[i];
    if (sum != g->np || g->np < 1)
        return ti_err_set(err, TI_ERR_INPUT,
                          "an order of %" PRId64 " ranks is no order of the %" PRId64 " planned",
                          g->np, sum);
    w.used = malloc((size_t)in->nnodes * sizeof *w.used);
    w.rank = malloc((size_t)g->np * sizeof *w.rank);
    w.node = malloc((size_t)g->np * sizeof *w.node);
    w.renamed = malloc((size_t)in->nnodes * sizeof *w.renamed);
    w.taken = malloc((size_t)in->nnodes * sizeof *w.taken);
    w.bisect = ti_bisect_new(g);
    out->node = malloc((size_t)g->np * sizeof *out->node);
    if (!w.used || !w.rank || !w.node || !w.renamed || !w.taken || !w.bisect || !out->node) {
        st = ti_err_set(err, TI_ERR_IO, "there is no memory to order ranks");
        ti_order_free(out);
        goto out;
    }
    for (int64_t i = 0; i < in->nnodes; i++)
        if (in->ranks[i])
            w.used[w.nused++] = (int32_t)i;
    out->np = g->np;
    out->total = g->total;
    find_order(&w, out);
out:
    ti_bisect_free(w.bisect);
    free(w.used);
    free(w.renamed);
    free(w.taken);
    free(w.rank);
    free(w.node);
    return st;
}

void ti_order_free(struct ti_order *o)
{
    free(o->node);
    memset(o, 0, sizeof *o);
}

/* --- telling -------------------------------------------------------------- */

char *ti_order_text(const struct ti_order *o, char *buf, int buf_bytes)
{
    char total[32], was[2][32], is[2][32];

    ti_format_size(o->total, total, sizeof total);
    ti_format_size(o->before.nodes, was[0], sizeof was[0]);
    ti_format_size(o->before.sites, was[1], sizeof was[1]);
    ti_format_size(o->after.nodes, is[0], sizeof is[0]);
    ti_format_size(o->after.sites, is[1], sizeof is[1]);
    if (o->kept)
        snprintf(buf, (size_t)buf_bytes,
                 "as ranks are numbered, no better one was found: of %s, %s cross nodes and %s "
                 "sites",
                 total, was[0], was[1]);
    else
        snprintf(buf, (size_t)buf_bytes,
                 "ranks that talk to each other together: of %s, %s cross nodes (as numbered: %s) "
                 "and %s sites (%s)",
                 total, is[0], was[0], is[1], was[1]);
    return buf;
}

json_t *ti_order_json(const struct ti_order *o)
{
    return json_pack("{s:b, s:I, s:{s:I, s:I}, s:{s:I, s:I}}", "kept", o->kept, "bytes",
                     (json_int_t)o->total, "before", "nodes_bytes", (json_int_t)o->before.nodes,
                     "sites_bytes", (json_int_t)o->before.sites, "after", "nodes_bytes",
                     (json_int_t)o->after.nodes, "sites_bytes", (json_int_t)o->after.sites);
}
