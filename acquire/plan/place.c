/* How many ranks each node gets: the steps in order. */
#include "acquire/plan/place_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POLICY_NAME(name, text, meaning) text,
const char *const ti_policy_names[TI_POLICY_COUNT] = {TI_POLICIES(POLICY_NAME)};

/* --- slots of a hostfile ------------------------------------------------- */

/* Fill the nodes that have slots, in the order of the file, with at most np ranks in all. Writes
 * p->ranks and returns their sum. *stopped is the node that cannot hold its slots, where filling
 * ends; -1: none. */
static int64_t fill_slots(const struct ti_place_request *in, struct ti_rank_placement *p,
                          int64_t np, int64_t *stopped)
{
    int64_t placed = 0;

    *stopped = -1;
    for (int64_t i = 0; i < p->nnodes && *stopped < 0; i++) {
        int64_t slots = in->sites->node[i].slots, n;

        if (!slots || !ti_node_resources(in, i).usable)
            continue;
        n = ti__place_min(ti__place_min(slots, p->capacity[i]), np - placed);
        if (n < ti__place_min(slots, np - placed))
            *stopped = i;
        p->ranks[i] = n;
        placed += n;
    }
    return placed;
}

/* --- the placement ------------------------------------------------------- */

/* Capacities of the nodes, and the largest np with slots filled first and policies for the rest. */
static void find_limits(const struct ti_place_request *in, struct ti__pool *pool,
                        struct ti_rank_placement *p)
{
    int64_t stopped, slots;

    for (int64_t i = 0; i < p->nnodes; i++)
        p->capacity[i] = ti__place_node_capacity(in, i);
    slots = fill_slots(in, p, TI__UNLIMITED, &stopped);
    p->largest_np =
        stopped >= 0 ? slots : ti__place_add(slots, ti__place_largest_np(in, pool, p->capacity));
    memset(p->ranks, 0, (size_t)p->nnodes * sizeof *p->ranks);
}

static ti_status check_limits(const struct ti_place_request *in, struct ti__pool *pool,
                              struct ti_rank_placement *p, struct ti_err *err)
{
    int64_t stopped;
    int sites = 0;

    fill_slots(in, p, in->np, &stopped);
    if (stopped >= 0)
        return ti__place_refuse_slots(in, p, stopped, err);
    for (int s = 0; s < pool->nsites; s++)
        pool->chosen[s] = false;
    for (int64_t i = 0; i < p->nnodes; i++)
        if (ti_node_resources(in, i).usable)
            pool->chosen[ti__place_site_of(in->sites, i)] = true;
    for (int s = 0; s < pool->nsites; s++)
        sites += pool->chosen[s];
    if (in->sites_wanted > sites)
        return ti__place_refuse_sites(in, sites, err);
    if (in->np > p->largest_np)
        return ti__place_refuse_np(in, pool, p->largest_np, err);
    if (in->np < in->sites_wanted)
        return ti_err_set(err, TI_ERR_INPUT, "%" PRId64 " rank%s cannot be at %d sites", in->np,
                          in->np == 1 ? "" : "s", in->sites_wanted);
    return TI_OK;
}

static void collect_candidates(const struct ti_place_request *in, struct ti__pool *pool,
                               const struct ti_rank_placement *p)
{
    pool->n = 0;
    for (int64_t i = 0; i < p->nnodes; i++)
        if (p->capacity[i] && !in->sites->node[i].slots)
            pool->candidate[pool->n++] =
                (struct ti__candidate){.node = i,
                                       .site = ti__place_site_of(in->sites, i),
                                       .max_ranks = ti__place_min(p->capacity[i], pool->np),
                                       .capacity = p->capacity[i],
                                       .full_load = 0};
}

static ti_status place(const struct ti_place_request *in, struct ti__pool *pool,
                       struct ti_rank_placement *p, struct ti_err *err)
{
    for (int64_t i = 0; i < p->nnodes; i++)
        pool->np -= p->ranks[i];
    if (!pool->np)
        return TI_OK;
    collect_candidates(in, pool, p);
    if (!ti__place_by_policy(in, pool))
        return ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    for (int64_t i = 0; i < pool->n; i++)
        p->ranks[pool->candidate[i].node] = pool->candidate[i].ranks;
    return TI_OK;
}

/* The node that gets one more group, or -1 if no node has room. Nodes that the policy used come
 * first; among equals, the node that lost most ranks to rounding. */
static int64_t for_a_group(const struct ti_place_request *in, const struct ti_rank_placement *p,
                           const int64_t *wanted)
{
    int64_t best = -1;

    for (int64_t i = 0; i < p->nnodes; i++)
        if (!in->sites->node[i].slots && p->capacity[i] - p->ranks[i] >= in->group &&
            (best < 0 || (wanted[i] > 0) > (wanted[best] > 0) ||
             ((wanted[i] > 0) == (wanted[best] > 0) &&
              wanted[i] - p->ranks[i] > wanted[best] - p->ranks[best])))
            best = i;
    return best;
}

/* The last group may be incomplete: its ranks go to the last node that is used or to one behind
 * it, because ranks are numbered in the order of the nodes. */
static bool place_incomplete(const struct ti_place_request *in, struct ti_rank_placement *p,
                             int64_t ranks)
{
    int64_t last = p->nnodes - 1;

    while (last >= 0 && !p->ranks[last])
        last--;
    for (int64_t i = last < 0 ? 0 : last; i < p->nnodes; i++)
        if (!in->sites->node[i].slots && p->capacity[i] - p->ranks[i] >= ranks) {
            p->ranks[i] += ranks;
            return true;
        }
    return ranks == 0;
}

/* No group of ranks may span two nodes: round each node down to whole groups, then hand out the
 * groups that are left. */
static ti_status keep_groups(const struct ti_place_request *in, struct ti_rank_placement *p,
                             struct ti_err *err)
{
    int64_t *wanted = malloc(((size_t)p->nnodes + 1) * sizeof *wanted), left = 0, i;
    bool done = true;

    if (!wanted)
        return ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    for (i = 0; i < p->nnodes; i++) {
        int64_t over = in->sites->node[i].slots ? 0 : p->ranks[i] % in->group;

        done = done && (!in->sites->node[i].slots || p->ranks[i] % in->group == 0);
        wanted[i] = p->ranks[i];
        p->ranks[i] -= over;
        left += over;
    }
    for (; done && left >= in->group; left -= in->group) {
        i = for_a_group(in, p, wanted);
        done = i >= 0;
        if (done)
            p->ranks[i] += in->group;
    }
    done = done && place_incomplete(in, p, left);
    free(wanted);
    if (done)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "the ranks cannot be placed so that each %" PRId64
               " of them, a node of the target, are on one node",
               in->group);
    ti_err_hint(err, "fewer --target-ranks-per-node, more memory or a higher --max-fold; slots in a "
                     "hostfile must be multiples of it");
    return TI_ERR_INPUT;
}

/* The name of the mode; `even`: all used nodes have equally many ranks on their fullest core. */
static void name_mode(const struct ti_place_request *in, struct ti_rank_placement *p, bool even)
{
    char fold[24] = "x";

    /* with a fold that was asked for, the node with the remainder does not count */
    if (even || p->fold_full == in->fold)
        snprintf(fold, sizeof fold, "%" PRId64, p->fold_full);
    if (p->fold_full <= 1 && p->used_sites <= 1)
        strcpy(p->mode, "R");
    else if (p->fold_full <= 1)
        snprintf(p->mode, sizeof p->mode, "C-%d", p->used_sites);
    else if (p->used_sites <= 1)
        snprintf(p->mode, sizeof p->mode, "F-%s", fold);
    else
        snprintf(p->mode, sizeof p->mode, "CF-(%d,%s)", p->used_sites, fold);
}

static void summarize(const struct ti_place_request *in, struct ti_rank_placement *p)
{
    const struct ti_sites *s = in->sites;
    int64_t next = 0, lowest_full = INT64_MAX;
    int cluster = -1, site = -1;

    p->fold_min = INFINITY;
    for (int64_t i = 0; i < p->nnodes; i++) {
        int64_t n = p->ranks[i], full;
        int cores;

        p->first[i] = next;
        next += n;
        if (!n)
            continue;
        cores = ti_node_resources(in, i).cores;
        full = (n + cores - 1) / cores;
        p->used_nodes++;
        p->used_cores += cores;
        p->used_clusters += s->node[i].cluster != cluster;
        cluster = s->node[i].cluster;
        p->used_sites += s->cluster[cluster].site != site;
        site = s->cluster[cluster].site;
        p->fold_min = fmin(p->fold_min, (double)n / cores);
        p->fold_max = fmax(p->fold_max, (double)n / cores);
        p->fold_full = full > p->fold_full ? full : p->fold_full;
        lowest_full = ti__place_min(lowest_full, full);
    }
    name_mode(in, p, lowest_full == p->fold_full);
}

static void free_pool(struct ti__pool *pool)
{
    free(pool->candidate);
    free(pool->sum);
    free(pool->order);
    free(pool->chosen);
}

static bool make_pool(const struct ti_place_request *in, struct ti__pool *pool)
{
    size_t nodes = (size_t)in->sites->nnodes + 1, sites = (size_t)in->sites->nsites + 1;

    *pool =
        (struct ti__pool){.np = in->np, .nsites = in->sites->nsites, .wanted = in->sites_wanted};
    pool->candidate = calloc(nodes, sizeof *pool->candidate);
    pool->sum = calloc(sites, sizeof *pool->sum);
    pool->order = calloc(sites, sizeof *pool->order);
    pool->chosen = calloc(sites, sizeof *pool->chosen);
    return pool->candidate && pool->sum && pool->order && pool->chosen;
}

ti_status ti_place_ranks(const struct ti_place_request *in, struct ti_rank_placement *out,
                         struct ti_err *err)
{
    size_t n = (size_t)in->sites->nnodes + 1;
    ti_status st = ti__place_check_request(in, err);
    struct ti__pool pool = {.n = 0};

    *out = (struct ti_rank_placement){.np = in->np, .nnodes = in->sites->nnodes};
    out->ranks = calloc(n, sizeof *out->ranks);
    out->first = calloc(n, sizeof *out->first);
    out->capacity = calloc(n, sizeof *out->capacity);
    if (st == TI_OK)
        st = ti__place_check_family(in, err);
    if (st == TI_OK && (!out->ranks || !out->first || !out->capacity || !make_pool(in, &pool)))
        st = ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    if (st == TI_OK) {
        find_limits(in, &pool, out);
        st = check_limits(in, &pool, out, err);
    }
    if (st == TI_OK)
        st = place(in, &pool, out, err);
    if (st == TI_OK && in->group > 1)
        st = keep_groups(in, out, err);
    if (st == TI_OK) {
        summarize(in, out);
        if (in->sites_wanted && out->used_sites != in->sites_wanted)
            st = ti__place_refuse_sites(in, out->used_sites, err);
    }
    free_pool(&pool);
    return st;
}

void ti_rank_placement_free(struct ti_rank_placement *p)
{
    free(p->ranks);
    free(p->first);
    free(p->capacity);
    p->ranks = p->first = p->capacity = NULL;
}
