/* The capacity of a node, and of all nodes together. */
#include "acquire/plan/place_internal.h"
#include "common/order.h"

#include <stdlib.h>
#include <string.h>

struct ti_node_resources ti_node_resources(const struct ti_place_request *in, int64_t i)
{
    const struct ti_node *node = &in->sites->node[i];
    const struct ti_cluster *cluster = &in->sites->cluster[node->cluster];
    int64_t probed = in->memory_bytes ? in->memory_bytes[i] : 0;
    int cores = in->cores && in->cores[i] > 0 ? in->cores[i] : 0;
    struct ti_node_resources res = {.memory_bytes = cluster->memory_bytes};

    res.usable = (!in->use || in->use[i]) &&
                 (!in->family || !cluster->family || strcmp(in->family, cluster->family) == 0);
    if (!cores)
        cores = node->cores ? node->cores : cluster->cores;
    else if (node->cores && node->cores < cores)
        cores = node->cores;
    res.cores_known = cores > 0;
    res.cores = cores > 0 ? cores : 1;
    if (node->memory_bytes)
        res.memory_bytes = node->memory_bytes;
    if (probed > 0)
        res.memory_bytes = node->memory_bytes ? ti__place_min(probed, node->memory_bytes) : probed;
    if (cluster->reserve_bytes >= 0)
        res.reserve_bytes = cluster->reserve_bytes;
    else if (in->reserve_bytes >= 0)
        res.reserve_bytes = in->reserve_bytes;
    else
        res.reserve_bytes = TI_RESERVE_MIN_BYTES;
    if (cluster->reserve_bytes < 0 && in->reserve_bytes < 0 && probed <= 0 && !node->memory_bytes &&
        res.memory_bytes / TI_RESERVE_DIVISOR > TI_RESERVE_MIN_BYTES)
        res.reserve_bytes = res.memory_bytes / TI_RESERVE_DIVISOR;
    if (res.memory_bytes > res.reserve_bytes)
        res.available_bytes = res.memory_bytes - res.reserve_bytes;
    return res;
}

int64_t ti__place_memory_ranks(const struct ti_place_request *in,
                               const struct ti_node_resources *res)
{
    return in->rank_bytes && res->memory_bytes ? res->available_bytes / in->rank_bytes
                                               : TI__UNLIMITED;
}

int64_t ti__place_node_capacity(const struct ti_place_request *in, int64_t i)
{
    struct ti_node_resources res = ti_node_resources(in, i);
    int64_t cap;

    if (!res.usable)
        return 0;
    cap = ti__place_memory_ranks(in, &res);
    if (in->max_fold)
        cap = ti__place_min(cap, res.cores * in->max_fold);
    if (in->regular)
        cap = ti__place_min(cap, res.cores);
    if (in->fold)
        cap = in->fold * res.cores <= cap ? in->fold * res.cores : 0;
    return cap;
}

int ti__place_site_of(const struct ti_sites *s, int64_t node)
{
    return s->cluster[s->node[node].cluster].site;
}

bool ti__place_has_slots(const struct ti_place_request *in)
{
    for (int64_t i = 0; i < in->sites->nnodes; i++)
        if (in->sites->node[i].slots)
            return true;
    return false;
}

int64_t ti__place_usable_nodes(const struct ti_place_request *in)
{
    int64_t n = 0;

    for (int64_t i = 0; i < in->sites->nnodes; i++)
        n += ti_node_resources(in, i).usable;
    return n;
}

static int compare_sums(const void *a, const void *b, void *sums)
{
    const int64_t *sum = sums;
    int x = *(const int *)a, y = *(const int *)b;

    return sum[x] != sum[y] ? (sum[x] > sum[y] ? -1 : 1) : (x > y) - (x < y);
}

/* Fill pool->order from pool->sum. */
static void order_sites(struct ti__pool *pool)
{
    for (int s = 0; s < pool->nsites; s++)
        pool->order[s] = s;
    qsort_r(pool->order, (size_t)pool->nsites, sizeof *pool->order, compare_sums, pool->sum);
}

int64_t ti__place_add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? TI__UNLIMITED : sum;
}

int64_t ti__place_sum_sites(struct ti__pool *pool)
{
    int64_t all = 0;

    if (pool->wanted > pool->nsites)
        return 0;
    if (pool->wanted) {
        order_sites(pool);
        if (pool->sum[pool->order[pool->wanted - 1]] < 1)
            return 0;
    }
    for (int s = 0; s < (pool->wanted ? pool->wanted : pool->nsites); s++)
        all = ti__place_add(all, pool->sum[pool->wanted ? pool->order[s] : s]);
    return all;
}

int64_t ti__place_largest_np(const struct ti_place_request *in, struct ti__pool *pool,
                             const int64_t *capacity)
{
    memset(pool->sum, 0, (size_t)pool->nsites * sizeof *pool->sum);
    for (int64_t i = 0; i < in->sites->nnodes; i++) {
        int64_t *sum = &pool->sum[ti__place_site_of(in->sites, i)];

        if (!in->sites->node[i].slots)
            *sum = ti__place_add(*sum, capacity ? capacity[i] : ti__place_node_capacity(in, i));
    }
    return ti__place_sum_sites(pool);
}

int64_t ti__place_smallest_fold(const struct ti_place_request *in, struct ti__pool *pool)
{
    struct ti_place_request loose = *in;
    loose.fold = loose.max_fold = 0;
    loose.regular = false;
    if (ti__place_largest_np(&loose, pool, NULL) < in->np)
        return 0;
    TI_FIRST(loose.max_fold, 1, in->np, ti__place_largest_np(&loose, pool, NULL) < in->np);
    return loose.max_fold;
}
