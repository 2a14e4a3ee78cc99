#include "acquire/plan/place.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

/*
 * A level is what a policy wants to keep low, ranks / weight, in 2^-90ths.  Ratios of
 * numbers of ranks below 2^24 and weights up to 2^41 differ by 2^-82 at least: rounded to
 * levels they stay apart, and from one level to the next a node gains one rank at most.
 */
__extension__ typedef unsigned __int128 load;
#define LOAD_BITS   90
#define WEIGHT_MAX  (INT64_C(1) << 41)
#define SPEED_BITS  21

/* Choices of sites x nodes that are tried one by one. */
#define MAX_TRIES 20000000

#define UNLIMITED INT64_MAX

#define POLICY_NAME(name, text) text,
const char *const ti_policy_names[TI_POLICY_COUNT] = {TI_POLICIES(POLICY_NAME)};

/* A node that may have ranks, in the order of the file. */
struct candidate {
    int64_t node;
    int site;
    int64_t max_ranks; /* ranks it can hold, np at most; of a given fold: what it has when used */
    int64_t capacity;  /* ranks it could hold, if there were as many */
    int64_t weight; /* 0: it has all of cap or nothing */
    load full_load; /* where it has all of cap */
    int64_t min_ranks; /* ranks it has at any level: 1 where its site must have one */
    int64_t ranks;     /* the outcome */
};

struct pool {
    struct candidate *candidate;
    int64_t n;
    int64_t np; /* to be placed in it */
    int nsites;
    int wanted;   /* so many sites; 0: any number */
    int64_t *sum; /* per site */
    int *order;   /* sites by sum, most first, equals as in the file */
    bool *chosen; /* per site */
};

/* --- nodes --------------------------------------------------------------- */

static int64_t minimum(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

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
        res.memory_bytes = node->memory_bytes ? minimum(probed, node->memory_bytes) : probed;
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

/* Ranks that the memory of a node allows. */
static int64_t memory_ranks(const struct ti_place_request *in, const struct ti_node_resources *res)
{
    return in->rank_bytes && res->memory_bytes ? res->available_bytes / in->rank_bytes : UNLIMITED;
}

static int64_t node_capacity(const struct ti_place_request *in, int64_t i)
{
    struct ti_node_resources res = ti_node_resources(in, i);
    int64_t cap;

    if (!res.usable)
        return 0;
    cap = memory_ranks(in, &res);
    if (in->max_fold)
        cap = minimum(cap, res.cores * in->max_fold);
    if (in->regular)
        cap = minimum(cap, res.cores);
    if (in->fold)
        cap = in->fold * res.cores <= cap ? in->fold * res.cores : 0;
    return cap;
}

static int site_of(const struct ti_sites *s, int64_t node)
{
    return s->cluster[s->node[node].cluster].site;
}

/* --- processor families -------------------------------------------------- */

struct family_count {
    const char *family;
    int64_t nodes;
    int clusters;
};

/* How many usable nodes each cluster has; NULL when memory is short. */
static int64_t *count_usable(const struct ti_place_request *in)
{
    int64_t *n = calloc((size_t)in->sites->nclusters + 1, sizeof *n);

    for (int64_t i = 0; n && i < in->sites->nnodes; i++)
        n[in->sites->node[i].cluster] += ti_node_resources(in, i).usable;
    return n;
}

static struct family_count *find_family(struct family_count *kind, int *n, const char *family)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(kind[i].family, family) == 0)
            return &kind[i];
    kind[*n] = (struct family_count){.family = family};
    return &kind[(*n)++];
}

/* "x86_64 (144 clusters, 700 nodes); aarch64 (pyxis of lyon, ...: 26 nodes)" */
static void describe_family(const struct ti_place_request *in, const int64_t *usable,
                            const struct family_count *k, char *text, size_t room)
{
    const struct ti_sites *s = in->sites;
    size_t n = 0;
    char count[32];

    ti_format_count((uint64_t)k->nodes, count, sizeof count);
    if (k->clusters > 4) {
        snprintf(text, room, "%s (%s nodes of %d clusters)", k->family, count, k->clusters);
        return;
    }
    n += (size_t)snprintf(text, room, "%s (%s node%s of", k->family, count,
                          k->nodes == 1 ? "" : "s");
    for (int c = 0, told = 0; c < s->nclusters && n < room; c++)
        if (usable[c] && s->cluster[c].family && strcmp(s->cluster[c].family, k->family) == 0)
            n += (size_t)snprintf(text + n, room - n, "%s %s", told++ ? "," : "",
                                  s->cluster[c].name);
    if (n < room)
        snprintf(text + n, room - n, ")");
}

static ti_status refuse_families(const struct ti_place_request *in, const int64_t *usable,
                                 struct family_count *kind, int kinds, struct ti_err *err)
{
    const struct family_count *most = kind;
    char list[900] = "", text[400];

    for (int i = 0; i < kinds; i++) {
        size_t n = strlen(list);

        describe_family(in, usable, &kind[i], text, sizeof text);
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", text);
        if (kind[i].nodes > most->nodes)
            most = &kind[i];
    }
    ti_err_set(err, TI_ERR_INPUT, "'%s' has processors of %d families: %s", in->sites->path, kinds,
               list);
    ti_err_hint(err,
                "a program is of one family, and so are comparable instructions: --family %s takes "
                "most nodes",
                most->family);
    return TI_ERR_INPUT;
}

/* One family, as far as families are known. */
static ti_status check_family(const struct ti_place_request *in, struct ti_err *err)
{
    const struct ti_sites *s = in->sites;
    int64_t *usable = count_usable(in);
    struct family_count *kind = calloc((size_t)s->nclusters + 1, sizeof *kind);
    ti_status st = TI_OK;
    int kinds = 0;

    if (!usable || !kind)
        st = ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    for (int c = 0; st == TI_OK && c < s->nclusters; c++)
        if (usable[c] && s->cluster[c].family) {
            struct family_count *k = find_family(kind, &kinds, s->cluster[c].family);

            k->nodes += usable[c];
            k->clusters++;
        }
    if (st == TI_OK && !in->family && kinds > 1)
        st = refuse_families(in, usable, kind, kinds, err);
    free(usable);
    free(kind);
    return st;
}

/* --- weights ------------------------------------------------------------- */

static int64_t clip(int64_t weight)
{
    return weight < 1 ? 1 : weight > WEIGHT_MAX ? WEIGHT_MAX : weight;
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

/* Cells [from, to) are of one cluster: what differs by less than an eighth is
 * alike, and counts as the least. */
static bool equalize_cluster(struct pool *pool, int64_t from, int64_t to)
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

static bool weigh_by_memory(const struct ti_place_request *in, struct pool *pool)
{
    bool known = true;

    for (int64_t i = 0; i < pool->n; i++)
        known &= ti_node_resources(in, pool->candidate[i].node).memory_bytes > 0;
    for (int64_t i = 0; i < pool->n; i++) {
        struct ti_node_resources res = ti_node_resources(in, pool->candidate[i].node);

        pool->candidate[i].weight = clip(!known           ? res.cores
                                         : in->rank_bytes ? memory_ranks(in, &res)
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

static double speed_of(const struct ti_place_request *in, const struct candidate *c)
{
    return in->sites->cluster[in->sites->node[c->node].cluster].speed;
}

/* Speeds to SPEED_BITS binary digits of the fastest: exact in any arithmetic, as
 * only exponents change. */
static void weigh_by_speed(const struct ti_place_request *in, struct pool *pool)
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

/* --- levels -------------------------------------------------------------- */

static int64_t ranks_at(const struct candidate *c, load at)
{
    int64_t n = at >= c->full_load ? c->max_ranks
                : c->weight        ? (int64_t)((at * (load)c->weight) >> LOAD_BITS)
                                   : 0;

    return n > c->min_ranks ? n : c->min_ranks;
}

static int compare_sums(const void *a, const void *b, void *sums)
{
    const int64_t *sum = sums;
    int x = *(const int *)a, y = *(const int *)b;

    return sum[x] != sum[y] ? (sum[x] > sum[y] ? -1 : 1) : (x > y) - (x < y);
}

static void order_sites(struct pool *pool)
{
    for (int s = 0; s < pool->nsites; s++)
        pool->order[s] = s;
    qsort_r(pool->order, (size_t)pool->nsites, sizeof *pool->order, compare_sums, pool->sum);
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UNLIMITED : sum;
}

/* Of sums per site: the best sites that are wanted, or all; 0 when fewer have any. */
static int64_t total(struct pool *pool)
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
        all = add(all, pool->sum[pool->wanted ? pool->order[s] : s]);
    return all;
}

static int64_t total_at(struct pool *pool, load at)
{
    memset(pool->sum, 0, (size_t)pool->nsites * sizeof *pool->sum);
    for (int64_t i = 0; i < pool->n; i++)
        pool->sum[pool->candidate[i].site] += ranks_at(&pool->candidate[i], at);
    return total(pool);
}

/* The lowest level that holds all ranks; there is one. */
static load lowest_load(struct pool *pool)
{
    load low = 0, high = 0;

    for (int64_t i = 0; i < pool->n; i++)
        high = pool->candidate[i].full_load > high ? pool->candidate[i].full_load : high;
    while (low < high) {
        load mid = low + (high - low) / 2;

        if (total_at(pool, mid) >= pool->np)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Only cells of chosen sites stay. */
static void keep_chosen(struct pool *pool)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < pool->n; i++)
        if (pool->chosen[pool->candidate[i].site])
            pool->candidate[kept++] = pool->candidate[i];
    pool->n = kept;
}

static void choose_first_sites(struct pool *pool)
{
    memset(pool->chosen, 0, (size_t)pool->nsites * sizeof *pool->chosen);
    for (int s = 0; s < pool->wanted; s++)
        pool->chosen[pool->order[s]] = true;
}

/* Each site has a rank whatever the level, on its weightiest node. */
static bool require_rank_per_site(struct pool *pool)
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

/* Every node to the lowest level; of those that reach it with their last rank, the
 * first of the file have it. */
static bool fill_to_load(struct pool *pool)
{
    load at;
    int64_t over;

    if (pool->wanted && !require_rank_per_site(pool))
        return false;
    at = lowest_load(pool);
    over = total_at(pool, at) - pool->np;
    for (int64_t i = pool->n - 1; i >= 0; i--) {
        struct candidate *c = &pool->candidate[i];

        c->ranks = ranks_at(c, at);
        if (over && ranks_at(c, at - 1) < c->ranks) {
            c->ranks--;
            over--;
        }
    }
    return true;
}

static int by_full_load(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->full_load != y->full_load ? (x->full_load < y->full_load ? -1 : 1)
                                        : (x->node > y->node) - (x->node < y->node);
}

/* One node after the other, each to its cap: of sites that are wanted first one each, as far
 * as a rank is left for the others, and then by the order of their levels. */
static void fill_nodes(struct pool *pool)
{
    int64_t left = pool->np, bare = pool->wanted;
    bool *reached = pool->chosen;

    memset(reached, 0, (size_t)pool->nsites * sizeof *reached);
    qsort(pool->candidate, (size_t)pool->n, sizeof *pool->candidate, by_full_load);
    for (int64_t i = 0; i < pool->n && bare; i++) {
        struct candidate *c = &pool->candidate[i];

        if (reached[c->site])
            continue;
        reached[c->site] = true;
        bare--;
        c->ranks = minimum(c->max_ranks, left - bare);
        left -= c->ranks;
    }
    for (int64_t i = 0; i < pool->n; i++) {
        struct candidate *c = &pool->candidate[i];
        int64_t more = minimum(c->max_ranks - c->ranks, left);

        c->ranks += more;
        left -= more;
    }
}

/* --- policies ------------------------------------------------------------ */

/* The sites that are wanted: where the level is lowest. */
static void choose_sites_by_load(struct pool *pool)
{
    total_at(pool, lowest_load(pool));
    choose_first_sites(pool);
    keep_chosen(pool);
}

static void set_full_load(const struct ti_place_request *in, struct pool *pool)
{
    for (int64_t i = 0; i < pool->n; i++) {
        struct candidate *c = &pool->candidate[i];
        /* how fast a node's cores are, however many */
        int64_t measure = in->fold && in->policy == TI_POLICY_SPEED
                              ? clip(c->weight / ti_node_resources(in, c->node).cores)
                              : c->weight;
        int64_t ranks = in->fold && in->policy == TI_POLICY_SPEED ? in->fold : c->max_ranks;
        load top = (load)ranks << LOAD_BITS;

        c->full_load = (top + (load)measure - 1) / (load)measure;
        if (in->fold)
            c->weight = 0;
    }
}

static bool place_by_load(const struct ti_place_request *in, struct pool *pool)
{
    if (in->policy == TI_POLICY_SPEED)
        weigh_by_speed(in, pool);
    else if (!weigh_by_memory(in, pool))
        return false;
    set_full_load(in, pool);
    if (pool->wanted)
        choose_sites_by_load(pool);
    if (!in->fold)
        return fill_to_load(pool);
    fill_nodes(pool);
    return true;
}

/* The cells by capacity, largest first. */
static struct rated *by_capacity(const struct pool *pool)
{
    struct rated *r = malloc((size_t)pool->n * sizeof *r);

    for (int64_t i = 0; r && i < pool->n; i++)
        r[i] = (struct rated){pool->candidate[i].capacity, i};
    if (r)
        qsort(r, (size_t)pool->n, sizeof *r, by_weight);
    return r;
}

/* The largest node of each chosen site is taken; returns how many ranks they hold, -1 when a
 * site has no node.  pool->sum gets where in `r` they are, plus one. */
static int64_t take_largest(struct pool *pool, const struct rated *r, bool mark)
{
    int64_t held = 0;
    int reached = 0;

    memset(pool->sum, 0, (size_t)pool->nsites * sizeof *pool->sum);
    for (int64_t i = 0; i < pool->n && reached < pool->wanted; i++) {
        struct candidate *c = &pool->candidate[r[i].candidate];

        if (!pool->chosen[c->site] || pool->sum[c->site])
            continue;
        pool->sum[c->site] = i + 1;
        held = add(held, c->max_ranks);
        reached++;
        if (mark)
            c->ranks = 1;
    }
    return reached == pool->wanted ? held : -1;
}

/*
 * How many nodes of the chosen sites hold np ranks: the largest of each site that is
 * wanted, and the largest of all the others.  -1: not even all.  With `mark`, those
 * that are taken get n = 1.
 */
static int64_t fewest_nodes(struct pool *pool, const struct rated *r, bool mark)
{
    int64_t held = take_largest(pool, r, mark), count = pool->wanted;

    if (held < 0)
        return -1;
    for (int64_t i = 0; i < pool->n && held < pool->np; i++) {
        struct candidate *c = &pool->candidate[r[i].candidate];

        if (!pool->chosen[c->site] || pool->sum[c->site] == i + 1)
            continue;
        held = add(held, c->max_ranks);
        count++;
        if (mark)
            c->ranks = 1;
    }
    return held >= pool->np ? count : -1;
}

/* The number of choices of k among n, or more than MAX_TRIES. */
static int64_t choices(int n, int k)
{
    int64_t c = 1;

    for (int i = 1; i <= k && c <= MAX_TRIES; i++)
        c = c * (n - k + i) / i;
    return c;
}

/* The next combination of `k` of 0 to n - 1, in lexical order. */
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

static bool choose_sites_for_fewest_nodes(struct pool *pool, const struct rated *r)
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

static void keep_marked(struct pool *pool)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < pool->n; i++)
        if (pool->candidate[i].ranks) {
            pool->candidate[kept] = pool->candidate[i];
            pool->candidate[kept++].ranks = 0;
        }
    pool->n = kept;
}

static bool place_compact(const struct ti_place_request *in, struct pool *pool)
{
    struct rated *r = by_capacity(pool);
    bool ok = r != NULL;

    for (int s = 0; s < pool->nsites; s++)
        pool->chosen[s] = true;
    if (ok && pool->wanted && choices(pool->nsites, pool->wanted) <= MAX_TRIES / pool->n)
        ok = choose_sites_for_fewest_nodes(pool, r);
    else if (ok && pool->wanted) {
        total_at(pool, ~(load)0);
        choose_first_sites(pool);
    }
    if (ok) {
        fewest_nodes(pool, r, true);
        for (int64_t i = 0; i < pool->n; i++)
            pool->candidate[r[i].candidate].full_load = (load)i;
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

/* --- slots of a hostfile ------------------------------------------------- */

/* Nodes with slots are filled in their order.  What they have goes to ranks; returns
 * how many.  *stopped: one of them cannot hold its slots, and is the end. */
static int64_t fill_slots(const struct ti_place_request *in, struct ti_rank_placement *p,
                          int64_t np, int64_t *stopped)
{
    int64_t placed = 0;

    *stopped = -1;
    for (int64_t i = 0; i < p->nnodes && *stopped < 0; i++) {
        int64_t slots = in->sites->node[i].slots, n;

        if (!slots || !ti_node_resources(in, i).usable)
            continue;
        n = minimum(minimum(slots, p->capacity[i]), np - placed);
        if (n < minimum(slots, np - placed))
            *stopped = i;
        p->ranks[i] = n;
        placed += n;
    }
    return placed;
}

static bool has_slots(const struct ti_place_request *in)
{
    for (int64_t i = 0; i < in->sites->nnodes; i++)
        if (in->sites->node[i].slots)
            return true;
    return false;
}

/* --- what does not work -------------------------------------------------- */

static int64_t usable_nodes(const struct ti_place_request *in)
{
    int64_t n = 0;

    for (int64_t i = 0; i < in->sites->nnodes; i++)
        n += ti_node_resources(in, i).usable;
    return n;
}

static ti_status check_request(const struct ti_place_request *in, struct ti_err *err)
{
    if (in->regular && in->fold > 1)
        return ti_err_set(
            err, TI_ERR_USAGE,
            "a regular run has at most one rank a core, and %" PRId64 " are asked for", in->fold);
    if (in->fold && in->max_fold && in->fold > in->max_fold)
        return ti_err_set(err, TI_ERR_USAGE,
                          "%" PRId64 " ranks a core are asked for, and at most %" PRId64, in->fold,
                          in->max_fold);
    if (in->fold && has_slots(in)) {
        ti_err_set(err, TI_ERR_USAGE, "'%s' has slots, which say how many ranks a node has",
                   in->sites->path);
        ti_err_hint(err, "leave out --fold, or the slots");
        return TI_ERR_USAGE;
    }
    if (!usable_nodes(in)) {
        ti_err_set(err, TI_ERR_INPUT, "no node of '%s' can be used", in->sites->path);
        ti_err_hint(err,
                    in->family ? "is '%s' the family that is meant, as uname -m has it?"
                               : "see --exclude",
                    in->family);
        return TI_ERR_INPUT;
    }
    return TI_OK;
}

/* What the nodes can hold under the conditions of `in`, slots aside. */
static int64_t largest_np(const struct ti_place_request *in, struct pool *pool,
                          const int64_t *capacity)
{
    memset(pool->sum, 0, (size_t)pool->nsites * sizeof *pool->sum);
    for (int64_t i = 0; i < in->sites->nnodes; i++) {
        int64_t *sum = &pool->sum[site_of(in->sites, i)];

        if (!in->sites->node[i].slots)
            *sum = add(*sum, capacity ? capacity[i] : node_capacity(in, i));
    }
    return total(pool);
}

/* The least number of ranks a core by which np would fit; 0: none. */
static int64_t smallest_fold(const struct ti_place_request *in, struct pool *pool)
{
    struct ti_place_request loose = *in;
    int64_t low = 1, high = in->np;

    loose.fold = loose.max_fold = 0;
    loose.regular = false;
    if (largest_np(&loose, pool, NULL) < in->np)
        return 0;
    while (low < high) {
        loose.max_fold = low + (high - low) / 2;
        if (largest_np(&loose, pool, NULL) >= in->np)
            high = loose.max_fold;
        else
            low = loose.max_fold + 1;
    }
    return low;
}

/* "the 1,169 nodes", "2 of the 9 sites", " at most 4 ranks a core each" */
static void say_where(const struct ti_place_request *in, const struct pool *pool, char *text,
                      size_t room)
{
    int64_t nodes = usable_nodes(in);
    char count[32], limit[64] = "";

    ti_format_count((uint64_t)nodes, count, sizeof count);
    if (in->regular)
        strcpy(limit, ", at one rank a core,");
    else if (in->fold)
        snprintf(limit, sizeof limit, ", at %" PRId64 " ranks a core,", in->fold);
    else if (in->max_fold)
        snprintf(limit, sizeof limit, ", at most %" PRId64 " ranks a core,", in->max_fold);
    if (pool->wanted)
        snprintf(text, room, "%d site%s of %s (%s node%s)%s", pool->wanted,
                 pool->wanted == 1 ? "" : "s", in->sites->path, count, nodes == 1 ? "" : "s",
                 limit);
    else
        snprintf(text, room, "the %s node%s%s", count, nodes == 1 ? "" : "s", limit);
}

static ti_status refuse_np(const struct ti_place_request *in, struct pool *pool, int64_t most,
                           struct ti_err *err)
{
    char np[32], held[32], over[32], needed[32], rank[32], missing[32], where[256], memory[80] = "",
                                                                                    lack[80] = "";
    bool limited = in->fold || in->max_fold || in->regular;
    int64_t bytes, lacking, fold = limited ? smallest_fold(in, pool) : 0;

    ti_format_count((uint64_t)in->np, np, sizeof np);
    ti_format_count((uint64_t)most, held, sizeof held);
    ti_format_count((uint64_t)(in->np - most), over, sizeof over);
    say_where(in, pool, where, sizeof where);
    if (in->rank_bytes) {
        if (__builtin_mul_overflow(in->rank_bytes, in->np, &bytes))
            bytes = INT64_MAX;
        if (__builtin_mul_overflow(in->rank_bytes, in->np - most, &lacking))
            lacking = INT64_MAX;
        snprintf(memory, sizeof memory, " need %s of memory (%s each)",
                 ti_format_size(bytes, needed, sizeof needed),
                 ti_format_size(in->rank_bytes, rank, sizeof rank));
        if (!fold)
            snprintf(lack, sizeof lack, " (%s)", ti_format_size(lacking, missing, sizeof missing));
    }
    ti_err_set(err, TI_ERR_INPUT,
               "%s ranks%s; %s hold%s at most %s: missing is room for %s rank%s%s", np,
               memory[0] ? memory : " do not fit", where,
               pool->wanted == 1 || usable_nodes(in) == 1 ? "s" : "", held, over,
               in->np - most == 1 ? "" : "s", lack);
    if (fold && most)
        ti_err_hint(err,
                    "--max-fold %" PRId64 " instead holds them; as it is, --np %" PRId64 " fits",
                    fold, most);
    else if (fold)
        ti_err_hint(err, "--max-fold %" PRId64 " instead holds them", fold);
    else if (most)
        ti_err_hint(err,
                    "more nodes%s, a smaller problem or a smaller --reserve; --np %" PRId64 " fits",
                    has_slots(in)                                 ? " or slots"
                    : pool->wanted && pool->wanted < pool->nsites ? " or sites"
                                                                  : "",
                    most);
    else
        ti_err_hint(err, "not even one rank fits on a node: a smaller problem may");
    return TI_ERR_INPUT;
}

static ti_status refuse_slots(const struct ti_place_request *in, const struct ti_rank_placement *p,
                              int64_t node, struct ti_err *err)
{
    const struct ti_node *n = &in->sites->node[node];
    char rank[32], room[32];

    ti_err_set(err, TI_ERR_INPUT,
               "'%s' has %" PRId64 " slots on node '%s', which holds at most %" PRId64 " ranks",
               in->sites->path, n->slots, n->name, p->capacity[node]);
    if (in->rank_bytes)
        ti_err_hint(err, "a rank takes %s, and the node has %s; fewer slots, or --np %" PRId64,
                    ti_format_size(in->rank_bytes, rank, sizeof rank),
                    ti_format_size(ti_node_resources(in, node).available_bytes, room, sizeof room),
                    p->largest_np);
    else
        ti_err_hint(err, "fewer slots, or a higher --max-fold");
    return TI_ERR_INPUT;
}

static ti_status refuse_sites(const struct ti_place_request *in, int have, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT,
               "%d site%s asked for, and '%s' has %d with nodes that can be used", in->sites_wanted,
               in->sites_wanted == 1 ? " is" : "s are", in->sites->path, have);
    if (have)
        ti_err_hint(err, "at most --mode 'CF-(%d,x)'", have);
    return TI_ERR_INPUT;
}

/* --- the placement ------------------------------------------------------- */

/* Capacities, and the sum that a placement of slots and of others can reach. */
static void find_limits(const struct ti_place_request *in, struct pool *pool,
                        struct ti_rank_placement *p)
{
    int64_t stopped, slots;

    for (int64_t i = 0; i < p->nnodes; i++)
        p->capacity[i] = node_capacity(in, i);
    slots = fill_slots(in, p, UNLIMITED, &stopped);
    p->largest_np = stopped >= 0 ? slots : add(slots, largest_np(in, pool, p->capacity));
    memset(p->ranks, 0, (size_t)p->nnodes * sizeof *p->ranks);
}

static ti_status check_limits(const struct ti_place_request *in, struct pool *pool,
                              struct ti_rank_placement *p, struct ti_err *err)
{
    int64_t stopped;
    int sites = 0;

    fill_slots(in, p, in->np, &stopped);
    if (stopped >= 0)
        return refuse_slots(in, p, stopped, err);
    for (int s = 0; s < pool->nsites; s++)
        pool->chosen[s] = false;
    for (int64_t i = 0; i < p->nnodes; i++)
        if (ti_node_resources(in, i).usable)
            pool->chosen[site_of(in->sites, i)] = true;
    for (int s = 0; s < pool->nsites; s++)
        sites += pool->chosen[s];
    if (in->sites_wanted > sites)
        return refuse_sites(in, sites, err);
    if (in->np > p->largest_np)
        return refuse_np(in, pool, p->largest_np, err);
    if (in->np < in->sites_wanted)
        return ti_err_set(err, TI_ERR_INPUT, "%" PRId64 " rank%s cannot be at %d sites", in->np,
                          in->np == 1 ? "" : "s", in->sites_wanted);
    return TI_OK;
}

static void collect_candidates(const struct ti_place_request *in, struct pool *pool,
                               const struct ti_rank_placement *p)
{
    pool->n = 0;
    for (int64_t i = 0; i < p->nnodes; i++)
        if (p->capacity[i] && !in->sites->node[i].slots)
            pool->candidate[pool->n++] =
                (struct candidate){.node = i,
                                   .site = site_of(in->sites, i),
                                   .max_ranks = minimum(p->capacity[i], pool->np),
                                   .capacity = p->capacity[i],
                                   .full_load = 0};
}

/* Where nothing limits a node, as many ranks a core as there must be when all nodes are
 * used: what is left to make them few. */
static void limit_by_cores(const struct ti_place_request *in, struct pool *pool)
{
    struct ti_place_request rest = *in;
    int64_t fold = 0;

    rest.np = pool->np;
    for (int64_t i = 0; i < pool->n; i++) {
        struct candidate *c = &pool->candidate[i];

        if (c->capacity != UNLIMITED)
            continue;
        if (!fold)
            fold = smallest_fold(&rest, pool);
        c->capacity = fold * ti_node_resources(in, c->node).cores;
        c->max_ranks = minimum(c->capacity, pool->np);
    }
}

static ti_status place(const struct ti_place_request *in, struct pool *pool,
                       struct ti_rank_placement *p, struct ti_err *err)
{
    bool ok;

    for (int64_t i = 0; i < p->nnodes; i++)
        pool->np -= p->ranks[i];
    if (!pool->np)
        return TI_OK;
    collect_candidates(in, pool, p);
    if (in->policy == TI_POLICY_COMPACT)
        limit_by_cores(in, pool);
    ok = in->policy == TI_POLICY_COMPACT ? place_compact(in, pool) : place_by_load(in, pool);
    if (!ok)
        return ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    for (int64_t i = 0; i < pool->n; i++)
        p->ranks[pool->candidate[i].node] = pool->candidate[i].ranks;
    return TI_OK;
}

/* The node that is to have one group more: of those with room for it, the one that has lost
 * most, so an unused one only where no other has room; -1: none. */
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

/* The last group may have fewer ranks; it is on the last node used, or behind it. */
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

/* No group of ranks may lie on two nodes: whole groups move from node to node. */
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

/* The mode's name. */
static void name_mode(const struct ti_place_request *in, struct ti_rank_placement *p, bool even)
{
    char fold[24] = "x";

    /* of a fold that was asked for, the node with the remainder aside */
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

/* First ranks, counts and names. */
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
        lowest_full = minimum(lowest_full, full);
    }
    name_mode(in, p, lowest_full == p->fold_full);
}

static void free_pool(struct pool *pool)
{
    free(pool->candidate);
    free(pool->sum);
    free(pool->order);
    free(pool->chosen);
}

static bool make_pool(const struct ti_place_request *in, struct pool *pool)
{
    size_t nodes = (size_t)in->sites->nnodes + 1, sites = (size_t)in->sites->nsites + 1;

    *pool = (struct pool){.np = in->np, .nsites = in->sites->nsites, .wanted = in->sites_wanted};
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
    ti_status st = check_request(in, err);
    struct pool pool = {.n = 0};

    *out = (struct ti_rank_placement){.np = in->np, .nnodes = in->sites->nnodes};
    out->ranks = calloc(n, sizeof *out->ranks);
    out->first = calloc(n, sizeof *out->first);
    out->capacity = calloc(n, sizeof *out->capacity);
    if (st == TI_OK)
        st = check_family(in, err);
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
            st = refuse_sites(in, out->used_sites, err);
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

int64_t ti_rank_placement_node_of(const struct ti_rank_placement *p, int64_t rank)
{
    int64_t low = 0, high = p->nnodes;

    if (rank < 0 || rank >= p->np)
        return -1;
    /* the first node that begins behind it; nodes without ranks begin where the next does */
    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (p->first[mid] > rank)
            high = mid;
        else
            low = mid + 1;
    }
    return low - 1;
}
