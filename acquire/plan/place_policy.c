/* The policies: how many ranks each candidate gets. */
#include "acquire/plan/place_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/order.h"

/* Binary digits to which speeds are rounded, see weigh_by_speed(). */
#define SPEED_BITS 21

/* All choices of sites are tried while choices x nodes are no more than this. */
#define MAX_TRIES 20000000

static int64_t clip(int64_t weight)
{
    return weight < 1 ? 1 : weight > TI__WEIGHT_MAX ? TI__WEIGHT_MAX : weight;
}

struct rated {
    int64_t weight, candidate;
};

static int by_weight(const void *a, const void *b)
{
    const struct rated *x = a, *y = b;

    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1)
                                  : (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* Candidates [from, to) are of one cluster. Nodes whose weights differ by less than an eighth get
 * the smallest weight among them, so that they carry the same number of ranks up to one. */
static bool equalize_cluster(struct ti__pool *pool, int64_t from, int64_t to)
{
    size_t n = (size_t)(to - from);
    struct rated *r;
    bool differ = false;

    for (int64_t i = from; i < to; i++)
        differ |= pool->candidate[i].weight != pool->candidate[from].weight;
    if (!differ)
        return true;
    r = malloc(n * sizeof *r);
    if (!r)
        return false;
    for (size_t i = 0; i < n; i++)
        r[i] = (struct rated){pool->candidate[from + (int64_t)i].weight, from + (int64_t)i};
    qsort(r, n, sizeof *r, by_weight);
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && r[end].weight > r[begin].weight - r[begin].weight / 8 - 1;)
            end++;
        for (size_t i = begin; i < end; i++)
            pool->candidate[r[i].candidate].weight = r[end - 1].weight;
    }
    free(r);
    return true;
}

static bool weigh_by_memory(const struct ti_place_request *in, struct ti__pool *pool)
{
    bool known = true;

    for (int64_t i = 0; i < pool->n; i++)
        known &= ti_node_resources(in, pool->candidate[i].node).memory_bytes > 0;
    for (int64_t i = 0; i < pool->n; i++) {
        struct ti_node_resources res = ti_node_resources(in, pool->candidate[i].node);

        pool->candidate[i].weight = clip(!known           ? res.cores
                                         : in->rank_bytes ? ti__place_memory_ranks(in, &res)
                                                          : res.available_bytes >> 20);
    }
    for (int64_t i = 0, end; known && i < pool->n; i = end) {
        int cluster = in->sites->node[pool->candidate[i].node].cluster;

        for (end = i;
             end < pool->n && in->sites->node[pool->candidate[end].node].cluster == cluster;)
            end++;
        if (!equalize_cluster(pool, i, end))
            return false;
    }
    return true;
}

static double speed_of(const struct ti_place_request *in, const struct ti__candidate *c)
{
    return in->sites->cluster[in->sites->node[c->node].cluster].speed;
}

/* Weight: cores x speed. Speeds are scaled by a power of two, so that the fastest has SPEED_BITS
 * binary digits, and cut to integers: the result is the same with any floating-point unit. */
static void weigh_by_speed(const struct ti_place_request *in, struct ti__pool *pool)
{
    double fastest = 0, slowest = 0;
    int exponent = 0;

    for (int c = 0; c < in->sites->nclusters; c++) {
        double s = in->sites->cluster[c].speed;

        fastest = s > fastest ? s : fastest;
        slowest = s > 0 && (slowest == 0 || s < slowest) ? s : slowest;
    }
    frexp(fastest, &exponent);
    for (int64_t i = 0; i < pool->n; i++) {
        double s = speed_of(in, &pool->candidate[i]);
        int64_t scaled = 1;

        if (fastest > 0)
            scaled = (int64_t)ldexp(s > 0 ? s : slowest, SPEED_BITS - exponent);
        pool->candidate[i].weight =
            clip((scaled > 1 ? scaled : 1) * ti_node_resources(in, pool->candidate[i].node).cores);
    }
}

static int64_t ranks_at(const struct ti__candidate *c, ti__load at)
{
    int64_t n = at >= c->full_load ? c->max_ranks
                : c->weight        ? (int64_t)((at * (ti__load)c->weight) >> TI__LOAD_BITS)
                                   : 0;

    return n > c->min_ranks ? n : c->min_ranks;
}

static int64_t total_at(struct ti__pool *pool, ti__load at)
{
    memset(pool->sum, 0, (size_t)pool->nsites * sizeof *pool->sum);
    for (int64_t i = 0; i < pool->n; i++)
        pool->sum[pool->candidate[i].site] += ranks_at(&pool->candidate[i], at);
    return ti__place_sum_sites(pool);
}

/* The lowest load at which all ranks find room; the caller has checked that there is one. */
static ti__load lowest_load(struct ti__pool *pool)
{
    ti__load load, high = 0;

    for (int64_t i = 0; i < pool->n; i++)
        high = pool->candidate[i].full_load > high ? pool->candidate[i].full_load : high;
    TI_FIRST(load, 0, high, total_at(pool, load) < pool->np);
    return load;
}

/* Drop the candidates of sites that are not chosen. */
static void keep_chosen(struct ti__pool *pool)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < pool->n; i++)
        if (pool->chosen[pool->candidate[i].site])
            pool->candidate[kept++] = pool->candidate[i];
    pool->n = kept;
}

static void choose_first_sites(struct ti__pool *pool)
{
    memset(pool->chosen, 0, (size_t)pool->nsites * sizeof *pool->chosen);
    for (int s = 0; s < pool->wanted; s++)
        pool->chosen[pool->order[s]] = true;
}

/* Give the heaviest node of each site a rank at any load. */
static bool require_rank_per_site(struct ti__pool *pool)
{
    int64_t *best = malloc((size_t)pool->nsites * sizeof *best);

    if (!best)
        return false;
    for (int s = 0; s < pool->nsites; s++)
        best[s] = -1;
    for (int64_t i = 0; i < pool->n; i++) {
        int64_t *b = &best[pool->candidate[i].site];

        if (*b < 0 || pool->candidate[i].weight > pool->candidate[*b].weight)
            *b = i;
    }
    for (int s = 0; s < pool->nsites; s++)
        if (best[s] >= 0)
            pool->candidate[best[s]].min_ranks = 1;
    free(best);
    return true;
}

/* Fill every node to the lowest load that holds all ranks. If that is more than np, nodes that
 * reach the load with their last rank give it back, the last of the file first. */
static bool fill_to_load(struct ti__pool *pool)
{
    ti__load at;
    int64_t over;

    if (pool->wanted && !require_rank_per_site(pool))
        return false;
    at = lowest_load(pool);
    over = total_at(pool, at) - pool->np;
    for (int64_t i = pool->n - 1; i >= 0; i--) {
        struct ti__candidate *c = &pool->candidate[i];

        c->ranks = ranks_at(c, at);
        if (over && ranks_at(c, at - 1) < c->ranks) {
            c->ranks--;
            over--;
        }
    }
    return true;
}

TI_ORDER_BY_2(by_full_load, struct ti__candidate, full_load, node)

/* Fill one node after the other to its max_ranks, in ascending order of full_load. First the best
 * node of each wanted site, which leaves one rank for every site that has none yet; then the
 * others. */
static void fill_nodes(struct ti__pool *pool)
{
    int64_t left = pool->np, bare = pool->wanted;
    bool *reached = pool->chosen;

    memset(reached, 0, (size_t)pool->nsites * sizeof *reached);
    qsort(pool->candidate, (size_t)pool->n, sizeof *pool->candidate, by_full_load);
    for (int64_t i = 0; i < pool->n && bare; i++) {
        struct ti__candidate *c = &pool->candidate[i];

        if (reached[c->site])
            continue;
        reached[c->site] = true;
        bare--;
        c->ranks = ti__place_min(c->max_ranks, left - bare);
        left -= c->ranks;
    }
    for (int64_t i = 0; i < pool->n; i++) {
        struct ti__candidate *c = &pool->candidate[i];
        int64_t more = ti__place_min(c->max_ranks - c->ranks, left);

        c->ranks += more;
        left -= more;
    }
}

/* Choose the sites that hold most ranks at the lowest load. */
static void choose_sites_by_load(struct ti__pool *pool)
{
    total_at(pool, lowest_load(pool));
    choose_first_sites(pool);
    keep_chosen(pool);
}

static void set_full_load(const struct ti_place_request *in, struct ti__pool *pool)
{
    for (int64_t i = 0; i < pool->n; i++) {
        struct ti__candidate *c = &pool->candidate[i];
        /* With a given fold, speed orders nodes by the speed of a core, whatever their number of
         * cores. */
        int64_t measure = in->fold && in->policy == TI_POLICY_SPEED
                              ? clip(c->weight / ti_node_resources(in, c->node).cores)
                              : c->weight;
        int64_t ranks = in->fold && in->policy == TI_POLICY_SPEED ? in->fold : c->max_ranks;
        ti__load top = (ti__load)ranks << TI__LOAD_BITS;

        c->full_load = (top + (ti__load)measure - 1) / (ti__load)measure;
        if (in->fold)
            c->weight = 0;
    }
}

static bool place_by_load(const struct ti_place_request *in, struct ti__pool *pool)
{
    set_full_load(in, pool);
    if (pool->wanted)
        choose_sites_by_load(pool);
    if (!in->fold)
        return fill_to_load(pool);
    fill_nodes(pool);
    return true;
}

/* The candidates by capacity, largest first; NULL when out of memory. */
static struct rated *by_capacity(const struct ti__pool *pool)
{
    struct rated *r = malloc((size_t)pool->n * sizeof *r);

    for (int64_t i = 0; r && i < pool->n; i++)
        r[i] = (struct rated){pool->candidate[i].capacity, i};
    if (r)
        qsort(r, (size_t)pool->n, sizeof *r, by_weight);
    return r;
}

/* Take the largest node of each chosen site. Returns how many ranks they hold, or -1 when a site
 * has no node. pool->sum[site] becomes the index in `r` of the site's node, plus one. */
static int64_t choose_largest(struct ti__pool *pool, const struct rated *r, bool mark)
{
    int64_t held = 0;
    int reached = 0;

    memset(pool->sum, 0, (size_t)pool->nsites * sizeof *pool->sum);
    for (int64_t i = 0; i < pool->n && reached < pool->wanted; i++) {
        struct ti__candidate *c = &pool->candidate[r[i].candidate];

        if (!pool->chosen[c->site] || pool->sum[c->site])
            continue;
        pool->sum[c->site] = i + 1;
        held = ti__place_add(held, c->max_ranks);
        reached++;
        if (mark)
            c->ranks = 1;
    }
    return reached == pool->wanted ? held : -1;
}

/*
 * How many nodes of the chosen sites hold np ranks: the largest node of each wanted site, then
 * the largest of the rest. -1: all of them together do not. With `mark`, the nodes taken get
 * ranks = 1.
 */
static int64_t fewest_nodes(struct ti__pool *pool, const struct rated *r, bool mark)
{
    int64_t held = choose_largest(pool, r, mark), count = pool->wanted;

    if (held < 0)
        return -1;
    for (int64_t i = 0; i < pool->n && held < pool->np; i++) {
        struct ti__candidate *c = &pool->candidate[r[i].candidate];

        if (!pool->chosen[c->site] || pool->sum[c->site] == i + 1)
            continue;
        held = ti__place_add(held, c->max_ranks);
        count++;
        if (mark)
            c->ranks = 1;
    }
    return held >= pool->np ? count : -1;
}

/* n choose k, or some number above MAX_TRIES. */
static int64_t choices(int n, int k)
{
    int64_t c = 1;

    for (int i = 1; i <= k && c <= MAX_TRIES; i++)
        c = c * (n - k + i) / i;
    return c;
}

/* The next combination of k out of 0 to n - 1, in lexical order; false after the last. */
static bool next_choice(int *pick, int k, int n)
{
    int i = k - 1;

    while (i >= 0 && pick[i] == n - k + i)
        i--;
    if (i < 0)
        return false;
    pick[i]++;
    for (i++; i < k; i++)
        pick[i] = pick[i - 1] + 1;
    return true;
}

static bool choose_sites_for_fewest_nodes(struct ti__pool *pool, const struct rated *r)
{
    int y = pool->wanted, *pick = calloc(2 * (size_t)pool->nsites, sizeof *pick),
        *best = pick + pool->nsites;
    int64_t least = INT64_MAX;

    if (!pick)
        return false;
    for (int i = 0; i < y; i++)
        pick[i] = i;
    do {
        int64_t n;

        memset(pool->chosen, 0, (size_t)pool->nsites * sizeof *pool->chosen);
        for (int i = 0; i < y; i++)
            pool->chosen[pick[i]] = true;
        n = fewest_nodes(pool, r, false);
        if (n >= 0 && n < least) {
            least = n;
            for (int i = 0; i < y; i++)
                best[i] = pick[i];
        }
    } while (next_choice(pick, y, pool->nsites));
    memset(pool->chosen, 0, (size_t)pool->nsites * sizeof *pool->chosen);
    for (int i = 0; i < y; i++)
        pool->chosen[best[i]] = true;
    free(pick);
    return true;
}

static void keep_marked(struct ti__pool *pool)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < pool->n; i++)
        if (pool->candidate[i].ranks) {
            pool->candidate[kept] = pool->candidate[i];
            pool->candidate[kept++].ranks = 0;
        }
    pool->n = kept;
}

static bool place_compact(const struct ti_place_request *in, struct ti__pool *pool)
{
    struct rated *r = by_capacity(pool);
    bool ok = r != NULL;

    for (int s = 0; s < pool->nsites; s++)
        pool->chosen[s] = true;
    if (ok && pool->wanted && choices(pool->nsites, pool->wanted) <= MAX_TRIES / pool->n)
        ok = choose_sites_for_fewest_nodes(pool, r);
    else if (ok && pool->wanted) {
        total_at(pool, ~(ti__load)0);
        choose_first_sites(pool);
    }
    if (ok) {
        fewest_nodes(pool, r, true);
        for (int64_t i = 0; i < pool->n; i++)
            pool->candidate[r[i].candidate].full_load = (ti__load)i;
        keep_marked(pool);
        if (in->fold) {
            for (int64_t i = 0; i < pool->n; i++)
                pool->candidate[i].weight = 0;
            fill_nodes(pool);
        } else {
            ok = weigh_by_memory(in, pool);
            if (ok) {
                set_full_load(in, pool);
                ok = fill_to_load(pool);
            }
        }
    }
    free(r);
    return ok;
}

/* For the policy compact: a node that nothing limits could hold all ranks. Limit it to the ranks
 * a core that are needed when all nodes are used. */
static void limit_by_cores(const struct ti_place_request *in, struct ti__pool *pool)
{
    struct ti_place_request rest = *in;
    int64_t fold = 0;

    rest.np = pool->np;
    for (int64_t i = 0; i < pool->n; i++) {
        struct ti__candidate *c = &pool->candidate[i];

        if (c->capacity != TI__UNLIMITED)
            continue;
        if (!fold)
            fold = ti__place_smallest_fold(&rest, pool);
        c->capacity = fold * ti_node_resources(in, c->node).cores;
        c->max_ranks = ti__place_min(c->capacity, pool->np);
    }
}

bool ti__place_by_policy(const struct ti_place_request *in, struct ti__pool *pool)
{
    switch (in->policy) {
    case TI_POLICY_MEMORY:
        return weigh_by_memory(in, pool) && place_by_load(in, pool);
    case TI_POLICY_SPEED:
        weigh_by_speed(in, pool);
        return place_by_load(in, pool);
    case TI_POLICY_COMPACT:
        limit_by_cores(in, pool);
        return place_compact(in, pool);
    case TI_POLICY_COUNT:
        break;
    }
    TI_BUG("a policy that is none");
}
