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
__extension__ typedef unsigned __int128 level;
#define LEVEL_BITS  90
#define WEIGHT_MOST (INT64_C(1) << 41)
#define SPEED_BITS  21

/* Choices of sites x nodes that are tried one by one. */
#define TRIES_MOST 20000000

#define UNLIMITED INT64_MAX

#define POLICY_NAME(name, text) text,
const char *const ti_policy_names[TI_POLICY_COUNT] = {TI_POLICIES(POLICY_NAME)};

/* A node that may have ranks, in the order of the file. */
struct cell {
    int64_t node;
    int site;
    int64_t cap;    /* ranks it can hold, np at most; of a given fold: what it has when used */
    int64_t whole;  /* ranks it could hold, if there were as many */
    int64_t weight; /* 0: it has all of cap or nothing */
    level full;     /* where it has all of cap */
    int64_t least;  /* ranks it has at any level: 1 where its site must have one */
    int64_t n;      /* the outcome */
};

struct field {
    struct cell *cell;
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
    struct ti_node_resources look = {.memory_bytes = cluster->memory_bytes};

    look.usable = (!in->use || in->use[i]) &&
                  (!in->family || !cluster->family || strcmp(in->family, cluster->family) == 0);
    if (!cores)
        cores = node->cores ? node->cores : cluster->cores;
    else if (node->cores && node->cores < cores)
        cores = node->cores;
    look.cores_known = cores > 0;
    look.cores = cores > 0 ? cores : 1;
    if (node->memory_bytes)
        look.memory_bytes = node->memory_bytes;
    if (probed > 0)
        look.memory_bytes = node->memory_bytes ? minimum(probed, node->memory_bytes) : probed;
    if (cluster->reserve_bytes >= 0)
        look.reserve_bytes = cluster->reserve_bytes;
    else if (in->reserve_bytes >= 0)
        look.reserve_bytes = in->reserve_bytes;
    else
        look.reserve_bytes = TI_RESERVE_MIN_BYTES;
    if (cluster->reserve_bytes < 0 && in->reserve_bytes < 0 && probed <= 0 && !node->memory_bytes &&
        look.memory_bytes / TI_RESERVE_DIVISOR > TI_RESERVE_MIN_BYTES)
        look.reserve_bytes = look.memory_bytes / TI_RESERVE_DIVISOR;
    if (look.memory_bytes > look.reserve_bytes)
        look.available_bytes = look.memory_bytes - look.reserve_bytes;
    return look;
}

/* Ranks that the memory of a node allows. */
static int64_t memory_ranks(const struct ti_place_request *in, const struct ti_node_resources *look)
{
    return in->rank_bytes && look->memory_bytes ? look->available_bytes / in->rank_bytes
                                                : UNLIMITED;
}

static int64_t capacity_of(const struct ti_place_request *in, int64_t i)
{
    struct ti_node_resources look = ti_node_resources(in, i);
    int64_t cap;

    if (!look.usable)
        return 0;
    cap = memory_ranks(in, &look);
    if (in->max_fold)
        cap = minimum(cap, look.cores * in->max_fold);
    if (in->regular)
        cap = minimum(cap, look.cores);
    if (in->fold)
        cap = in->fold * look.cores <= cap ? in->fold * look.cores : 0;
    return cap;
}

static int site_of(const struct ti_sites *s, int64_t node)
{
    return s->cluster[s->node[node].cluster].site;
}

/* --- processor families -------------------------------------------------- */

struct kind {
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

static struct kind *find_kind(struct kind *kind, int *n, const char *family)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(kind[i].family, family) == 0)
            return &kind[i];
    kind[*n] = (struct kind){.family = family};
    return &kind[(*n)++];
}

/* "x86_64 (144 clusters, 700 nodes); aarch64 (pyxis of lyon, ...: 26 nodes)" */
static void say_kind(const struct ti_place_request *in, const int64_t *usable, const struct kind *k,
                     char *text, size_t room)
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

static ti_status mixed(const struct ti_place_request *in, const int64_t *usable, struct kind *kind,
                       int kinds, struct ti_err *err)
{
    const struct kind *most = kind;
    char list[900] = "", text[400];

    for (int i = 0; i < kinds; i++) {
        size_t n = strlen(list);

        say_kind(in, usable, &kind[i], text, sizeof text);
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
    struct kind *kind = calloc((size_t)s->nclusters + 1, sizeof *kind);
    ti_status st = TI_OK;
    int kinds = 0;

    if (!usable || !kind)
        st = ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    for (int c = 0; st == TI_OK && c < s->nclusters; c++)
        if (usable[c] && s->cluster[c].family) {
            struct kind *k = find_kind(kind, &kinds, s->cluster[c].family);

            k->nodes += usable[c];
            k->clusters++;
        }
    if (st == TI_OK && !in->family && kinds > 1)
        st = mixed(in, usable, kind, kinds, err);
    free(usable);
    free(kind);
    return st;
}

/* --- weights ------------------------------------------------------------- */

static int64_t clip(int64_t weight)
{
    return weight < 1 ? 1 : weight > WEIGHT_MOST ? WEIGHT_MOST : weight;
}

struct rated {
    int64_t weight, cell;
};

static int by_weight(const void *a, const void *b)
{
    const struct rated *x = a, *y = b;

    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1)
                                  : (x->cell > y->cell) - (x->cell < y->cell);
}

/* Cells [from, to) are of one cluster: what differs by less than an eighth is
 * alike, and counts as the least. */
static bool level_cluster(struct field *f, int64_t from, int64_t to)
{
    size_t n = (size_t)(to - from);
    struct rated *r;
    bool differ = false;

    for (int64_t i = from; i < to; i++)
        differ |= f->cell[i].weight != f->cell[from].weight;
    if (!differ)
        return true;
    r = malloc(n * sizeof *r);
    if (!r)
        return false;
    for (size_t i = 0; i < n; i++)
        r[i] = (struct rated){f->cell[from + (int64_t)i].weight, from + (int64_t)i};
    qsort(r, n, sizeof *r, by_weight);
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && r[end].weight > r[begin].weight - r[begin].weight / 8 - 1;)
            end++;
        for (size_t i = begin; i < end; i++)
            f->cell[r[i].cell].weight = r[end - 1].weight;
    }
    free(r);
    return true;
}

static bool weigh_by_memory(const struct ti_place_request *in, struct field *f)
{
    bool known = true;

    for (int64_t i = 0; i < f->n; i++)
        known &= ti_node_resources(in, f->cell[i].node).memory_bytes > 0;
    for (int64_t i = 0; i < f->n; i++) {
        struct ti_node_resources look = ti_node_resources(in, f->cell[i].node);

        f->cell[i].weight = clip(!known           ? look.cores
                                 : in->rank_bytes ? memory_ranks(in, &look)
                                                  : look.available_bytes >> 20);
    }
    for (int64_t i = 0, end; known && i < f->n; i = end) {
        int cluster = in->sites->node[f->cell[i].node].cluster;

        for (end = i; end < f->n && in->sites->node[f->cell[end].node].cluster == cluster;)
            end++;
        if (!level_cluster(f, i, end))
            return false;
    }
    return true;
}

static double speed_of(const struct ti_place_request *in, const struct cell *c)
{
    return in->sites->cluster[in->sites->node[c->node].cluster].speed;
}

/* Speeds to SPEED_BITS binary digits of the fastest: exact in any arithmetic, as
 * only exponents change. */
static void weigh_by_speed(const struct ti_place_request *in, struct field *f)
{
    double fastest = 0, slowest = 0;
    int exponent = 0;

    for (int c = 0; c < in->sites->nclusters; c++) {
        double s = in->sites->cluster[c].speed;

        fastest = s > fastest ? s : fastest;
        slowest = s > 0 && (slowest == 0 || s < slowest) ? s : slowest;
    }
    frexp(fastest, &exponent);
    for (int64_t i = 0; i < f->n; i++) {
        double s = speed_of(in, &f->cell[i]);
        int64_t scaled = 1;

        if (fastest > 0)
            scaled = (int64_t)ldexp(s > 0 ? s : slowest, SPEED_BITS - exponent);
        f->cell[i].weight =
            clip((scaled > 1 ? scaled : 1) * ti_node_resources(in, f->cell[i].node).cores);
    }
}

/* --- levels -------------------------------------------------------------- */

static int64_t load_at(const struct cell *c, level at)
{
    int64_t n = at >= c->full ? c->cap
                : c->weight   ? (int64_t)((at * (level)c->weight) >> LEVEL_BITS)
                              : 0;

    return n > c->least ? n : c->least;
}

static int compare_sums(const void *a, const void *b, void *sums)
{
    const int64_t *sum = sums;
    int x = *(const int *)a, y = *(const int *)b;

    return sum[x] != sum[y] ? (sum[x] > sum[y] ? -1 : 1) : (x > y) - (x < y);
}

static void order_sites(struct field *f)
{
    for (int s = 0; s < f->nsites; s++)
        f->order[s] = s;
    qsort_r(f->order, (size_t)f->nsites, sizeof *f->order, compare_sums, f->sum);
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UNLIMITED : sum;
}

/* Of sums per site: the best sites that are wanted, or all; 0 when fewer have any. */
static int64_t total(struct field *f)
{
    int64_t all = 0;

    if (f->wanted > f->nsites)
        return 0;
    if (f->wanted) {
        order_sites(f);
        if (f->sum[f->order[f->wanted - 1]] < 1)
            return 0;
    }
    for (int s = 0; s < (f->wanted ? f->wanted : f->nsites); s++)
        all = add(all, f->sum[f->wanted ? f->order[s] : s]);
    return all;
}

static int64_t total_at(struct field *f, level at)
{
    memset(f->sum, 0, (size_t)f->nsites * sizeof *f->sum);
    for (int64_t i = 0; i < f->n; i++)
        f->sum[f->cell[i].site] += load_at(&f->cell[i], at);
    return total(f);
}

/* The lowest level that holds all ranks; there is one. */
static level lowest(struct field *f)
{
    level low = 0, high = 0;

    for (int64_t i = 0; i < f->n; i++)
        high = f->cell[i].full > high ? f->cell[i].full : high;
    while (low < high) {
        level mid = low + (high - low) / 2;

        if (total_at(f, mid) >= f->np)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Only cells of chosen sites stay. */
static void keep_chosen(struct field *f)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < f->n; i++)
        if (f->chosen[f->cell[i].site])
            f->cell[kept++] = f->cell[i];
    f->n = kept;
}

static void choose_first(struct field *f)
{
    memset(f->chosen, 0, (size_t)f->nsites * sizeof *f->chosen);
    for (int s = 0; s < f->wanted; s++)
        f->chosen[f->order[s]] = true;
}

/* Each site has a rank whatever the level, on its weightiest node. */
static bool demand_one(struct field *f)
{
    int64_t *best = malloc((size_t)f->nsites * sizeof *best);

    if (!best)
        return false;
    for (int s = 0; s < f->nsites; s++)
        best[s] = -1;
    for (int64_t i = 0; i < f->n; i++) {
        int64_t *b = &best[f->cell[i].site];

        if (*b < 0 || f->cell[i].weight > f->cell[*b].weight)
            *b = i;
    }
    for (int s = 0; s < f->nsites; s++)
        if (best[s] >= 0)
            f->cell[best[s]].least = 1;
    free(best);
    return true;
}

/* Every node to the lowest level; of those that reach it with their last rank, the
 * first of the file have it. */
static bool fill_level(struct field *f)
{
    level at;
    int64_t over;

    if (f->wanted && !demand_one(f))
        return false;
    at = lowest(f);
    over = total_at(f, at) - f->np;
    for (int64_t i = f->n - 1; i >= 0; i--) {
        struct cell *c = &f->cell[i];

        c->n = load_at(c, at);
        if (over && load_at(c, at - 1) < c->n) {
            c->n--;
            over--;
        }
    }
    return true;
}

static int by_full(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;

    return x->full != y->full ? (x->full < y->full ? -1 : 1)
                              : (x->node > y->node) - (x->node < y->node);
}

/* One node after the other, each to its cap: of sites that are wanted first one each, as far
 * as a rank is left for the others, and then by the order of their levels. */
static void fill_nodes(struct field *f)
{
    int64_t left = f->np, bare = f->wanted;
    bool *reached = f->chosen;

    memset(reached, 0, (size_t)f->nsites * sizeof *reached);
    qsort(f->cell, (size_t)f->n, sizeof *f->cell, by_full);
    for (int64_t i = 0; i < f->n && bare; i++) {
        struct cell *c = &f->cell[i];

        if (reached[c->site])
            continue;
        reached[c->site] = true;
        bare--;
        c->n = minimum(c->cap, left - bare);
        left -= c->n;
    }
    for (int64_t i = 0; i < f->n; i++) {
        struct cell *c = &f->cell[i];
        int64_t more = minimum(c->cap - c->n, left);

        c->n += more;
        left -= more;
    }
}

/* --- policies ------------------------------------------------------------ */

/* The sites that are wanted: where the level is lowest. */
static void choose_by_level(struct field *f)
{
    total_at(f, lowest(f));
    choose_first(f);
    keep_chosen(f);
}

static void set_full(const struct ti_place_request *in, struct field *f)
{
    for (int64_t i = 0; i < f->n; i++) {
        struct cell *c = &f->cell[i];
        /* how fast a node's cores are, however many */
        int64_t measure = in->fold && in->policy == TI_POLICY_SPEED
                              ? clip(c->weight / ti_node_resources(in, c->node).cores)
                              : c->weight;
        int64_t ranks = in->fold && in->policy == TI_POLICY_SPEED ? in->fold : c->cap;
        level top = (level)ranks << LEVEL_BITS;

        c->full = (top + (level)measure - 1) / (level)measure;
        if (in->fold)
            c->weight = 0;
    }
}

static bool place_level(const struct ti_place_request *in, struct field *f)
{
    if (in->policy == TI_POLICY_SPEED)
        weigh_by_speed(in, f);
    else if (!weigh_by_memory(in, f))
        return false;
    set_full(in, f);
    if (f->wanted)
        choose_by_level(f);
    if (!in->fold)
        return fill_level(f);
    fill_nodes(f);
    return true;
}

/* The cells by capacity, largest first. */
static struct rated *by_capacity(const struct field *f)
{
    struct rated *r = malloc((size_t)f->n * sizeof *r);

    for (int64_t i = 0; r && i < f->n; i++)
        r[i] = (struct rated){f->cell[i].whole, i};
    if (r)
        qsort(r, (size_t)f->n, sizeof *r, by_weight);
    return r;
}

/* The largest node of each chosen site is taken; returns how many ranks they hold, -1 when a
 * site has no node.  f->sum gets where in `r` they are, plus one. */
static int64_t take_largest(struct field *f, const struct rated *r, bool mark)
{
    int64_t held = 0;
    int reached = 0;

    memset(f->sum, 0, (size_t)f->nsites * sizeof *f->sum);
    for (int64_t i = 0; i < f->n && reached < f->wanted; i++) {
        struct cell *c = &f->cell[r[i].cell];

        if (!f->chosen[c->site] || f->sum[c->site])
            continue;
        f->sum[c->site] = i + 1;
        held = add(held, c->cap);
        reached++;
        if (mark)
            c->n = 1;
    }
    return reached == f->wanted ? held : -1;
}

/*
 * How many nodes of the chosen sites hold np ranks: the largest of each site that is
 * wanted, and the largest of all the others.  -1: not even all.  With `mark`, those
 * that are taken get n = 1.
 */
static int64_t fewest(struct field *f, const struct rated *r, bool mark)
{
    int64_t held = take_largest(f, r, mark), count = f->wanted;

    if (held < 0)
        return -1;
    for (int64_t i = 0; i < f->n && held < f->np; i++) {
        struct cell *c = &f->cell[r[i].cell];

        if (!f->chosen[c->site] || f->sum[c->site] == i + 1)
            continue;
        held = add(held, c->cap);
        count++;
        if (mark)
            c->n = 1;
    }
    return held >= f->np ? count : -1;
}

/* The number of choices of k among n, or more than TRIES_MOST. */
static int64_t choices(int n, int k)
{
    int64_t c = 1;

    for (int i = 1; i <= k && c <= TRIES_MOST; i++)
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

static bool choose_for_fewest(struct field *f, const struct rated *r)
{
    int y = f->wanted, *pick = calloc(2 * (size_t)f->nsites, sizeof *pick),
        *best = pick + f->nsites;
    int64_t least = INT64_MAX;

    if (!pick)
        return false;
    for (int i = 0; i < y; i++)
        pick[i] = i;
    do {
        int64_t n;

        memset(f->chosen, 0, (size_t)f->nsites * sizeof *f->chosen);
        for (int i = 0; i < y; i++)
            f->chosen[pick[i]] = true;
        n = fewest(f, r, false);
        if (n >= 0 && n < least) {
            least = n;
            for (int i = 0; i < y; i++)
                best[i] = pick[i];
        }
    } while (next_choice(pick, y, f->nsites));
    memset(f->chosen, 0, (size_t)f->nsites * sizeof *f->chosen);
    for (int i = 0; i < y; i++)
        f->chosen[best[i]] = true;
    free(pick);
    return true;
}

static void keep_marked(struct field *f)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < f->n; i++)
        if (f->cell[i].n) {
            f->cell[kept] = f->cell[i];
            f->cell[kept++].n = 0;
        }
    f->n = kept;
}

static bool place_compact(const struct ti_place_request *in, struct field *f)
{
    struct rated *r = by_capacity(f);
    bool ok = r != NULL;

    for (int s = 0; s < f->nsites; s++)
        f->chosen[s] = true;
    if (ok && f->wanted && choices(f->nsites, f->wanted) <= TRIES_MOST / f->n)
        ok = choose_for_fewest(f, r);
    else if (ok && f->wanted) {
        total_at(f, ~(level)0);
        choose_first(f);
    }
    if (ok) {
        fewest(f, r, true);
        for (int64_t i = 0; i < f->n; i++)
            f->cell[r[i].cell].full = (level)i;
        keep_marked(f);
        if (in->fold) {
            for (int64_t i = 0; i < f->n; i++)
                f->cell[i].weight = 0;
            fill_nodes(f);
        } else {
            ok = weigh_by_memory(in, f);
            if (ok) {
                set_full(in, f);
                ok = fill_level(f);
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

static ti_status check_wishes(const struct ti_place_request *in, struct ti_err *err)
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
static int64_t largest(const struct ti_place_request *in, struct field *f, const int64_t *capacity)
{
    memset(f->sum, 0, (size_t)f->nsites * sizeof *f->sum);
    for (int64_t i = 0; i < in->sites->nnodes; i++) {
        int64_t *sum = &f->sum[site_of(in->sites, i)];

        if (!in->sites->node[i].slots)
            *sum = add(*sum, capacity ? capacity[i] : capacity_of(in, i));
    }
    return total(f);
}

/* The least number of ranks a core by which np would fit; 0: none. */
static int64_t enough_fold(const struct ti_place_request *in, struct field *f)
{
    struct ti_place_request loose = *in;
    int64_t low = 1, high = in->np;

    loose.fold = loose.max_fold = 0;
    loose.regular = false;
    if (largest(&loose, f, NULL) < in->np)
        return 0;
    while (low < high) {
        loose.max_fold = low + (high - low) / 2;
        if (largest(&loose, f, NULL) >= in->np)
            high = loose.max_fold;
        else
            low = loose.max_fold + 1;
    }
    return low;
}

/* "the 1,169 nodes", "2 of the 9 sites", " at most 4 ranks a core each" */
static void say_where(const struct ti_place_request *in, const struct field *f, char *text,
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
    if (f->wanted)
        snprintf(text, room, "%d site%s of %s (%s node%s)%s", f->wanted, f->wanted == 1 ? "" : "s",
                 in->sites->path, count, nodes == 1 ? "" : "s", limit);
    else
        snprintf(text, room, "the %s node%s%s", count, nodes == 1 ? "" : "s", limit);
}

static ti_status too_many(const struct ti_place_request *in, struct field *f, int64_t most,
                          struct ti_err *err)
{
    char np[32], held[32], over[32], needed[32], rank[32], missing[32], where[256], memory[80] = "",
                                                                                    lack[80] = "";
    bool limited = in->fold || in->max_fold || in->regular;
    int64_t bytes, lacking, fold = limited ? enough_fold(in, f) : 0;

    ti_format_count((uint64_t)in->np, np, sizeof np);
    ti_format_count((uint64_t)most, held, sizeof held);
    ti_format_count((uint64_t)(in->np - most), over, sizeof over);
    say_where(in, f, where, sizeof where);
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
               f->wanted == 1 || usable_nodes(in) == 1 ? "s" : "", held, over,
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
                    has_slots(in)                        ? " or slots"
                    : f->wanted && f->wanted < f->nsites ? " or sites"
                                                         : "",
                    most);
    else
        ti_err_hint(err, "not even one rank fits on a node: a smaller problem may");
    return TI_ERR_INPUT;
}

static ti_status too_many_slots(const struct ti_place_request *in,
                                const struct ti_rank_placement *p, int64_t node, struct ti_err *err)
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

static ti_status wrong_sites(const struct ti_place_request *in, int have, struct ti_err *err)
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
static void find_limits(const struct ti_place_request *in, struct field *f,
                        struct ti_rank_placement *p)
{
    int64_t stopped, slots;

    for (int64_t i = 0; i < p->nnodes; i++)
        p->capacity[i] = capacity_of(in, i);
    slots = fill_slots(in, p, UNLIMITED, &stopped);
    p->largest_np = stopped >= 0 ? slots : add(slots, largest(in, f, p->capacity));
    memset(p->ranks, 0, (size_t)p->nnodes * sizeof *p->ranks);
}

static ti_status check_limits(const struct ti_place_request *in, struct field *f,
                              struct ti_rank_placement *p, struct ti_err *err)
{
    int64_t stopped;
    int sites = 0;

    fill_slots(in, p, in->np, &stopped);
    if (stopped >= 0)
        return too_many_slots(in, p, stopped, err);
    for (int s = 0; s < f->nsites; s++)
        f->chosen[s] = false;
    for (int64_t i = 0; i < p->nnodes; i++)
        if (ti_node_resources(in, i).usable)
            f->chosen[site_of(in->sites, i)] = true;
    for (int s = 0; s < f->nsites; s++)
        sites += f->chosen[s];
    if (in->sites_wanted > sites)
        return wrong_sites(in, sites, err);
    if (in->np > p->largest_np)
        return too_many(in, f, p->largest_np, err);
    if (in->np < in->sites_wanted)
        return ti_err_set(err, TI_ERR_INPUT, "%" PRId64 " rank%s cannot be at %d sites", in->np,
                          in->np == 1 ? "" : "s", in->sites_wanted);
    return TI_OK;
}

static void collect(const struct ti_place_request *in, struct field *f,
                    const struct ti_rank_placement *p)
{
    f->n = 0;
    for (int64_t i = 0; i < p->nnodes; i++)
        if (p->capacity[i] && !in->sites->node[i].slots)
            f->cell[f->n++] = (struct cell){.node = i,
                                            .site = site_of(in->sites, i),
                                            .cap = minimum(p->capacity[i], f->np),
                                            .whole = p->capacity[i],
                                            .full = 0};
}

/* Where nothing limits a node, as many ranks a core as there must be when all nodes are
 * used: what is left to make them few. */
static void limit_by_cores(const struct ti_place_request *in, struct field *f)
{
    struct ti_place_request rest = *in;
    int64_t fold = 0;

    rest.np = f->np;
    for (int64_t i = 0; i < f->n; i++) {
        struct cell *c = &f->cell[i];

        if (c->whole != UNLIMITED)
            continue;
        if (!fold)
            fold = enough_fold(&rest, f);
        c->whole = fold * ti_node_resources(in, c->node).cores;
        c->cap = minimum(c->whole, f->np);
    }
}

static ti_status place(const struct ti_place_request *in, struct field *f,
                       struct ti_rank_placement *p, struct ti_err *err)
{
    bool ok;

    for (int64_t i = 0; i < p->nnodes; i++)
        f->np -= p->ranks[i];
    if (!f->np)
        return TI_OK;
    collect(in, f, p);
    if (in->policy == TI_POLICY_COMPACT)
        limit_by_cores(in, f);
    ok = in->policy == TI_POLICY_COMPACT ? place_compact(in, f) : place_level(in, f);
    if (!ok)
        return ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    for (int64_t i = 0; i < f->n; i++)
        p->ranks[f->cell[i].node] = f->cell[i].n;
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
static void sum_up(const struct ti_place_request *in, struct ti_rank_placement *p)
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

static void free_field(struct field *f)
{
    free(f->cell);
    free(f->sum);
    free(f->order);
    free(f->chosen);
}

static bool make_field(const struct ti_place_request *in, struct field *f)
{
    size_t nodes = (size_t)in->sites->nnodes + 1, sites = (size_t)in->sites->nsites + 1;

    *f = (struct field){.np = in->np, .nsites = in->sites->nsites, .wanted = in->sites_wanted};
    f->cell = calloc(nodes, sizeof *f->cell);
    f->sum = calloc(sites, sizeof *f->sum);
    f->order = calloc(sites, sizeof *f->order);
    f->chosen = calloc(sites, sizeof *f->chosen);
    return f->cell && f->sum && f->order && f->chosen;
}

ti_status ti_place_ranks(const struct ti_place_request *in, struct ti_rank_placement *out,
                         struct ti_err *err)
{
    size_t n = (size_t)in->sites->nnodes + 1;
    ti_status st = check_wishes(in, err);
    struct field f = {.n = 0};

    *out = (struct ti_rank_placement){.np = in->np, .nnodes = in->sites->nnodes};
    out->ranks = calloc(n, sizeof *out->ranks);
    out->first = calloc(n, sizeof *out->first);
    out->capacity = calloc(n, sizeof *out->capacity);
    if (st == TI_OK)
        st = check_family(in, err);
    if (st == TI_OK && (!out->ranks || !out->first || !out->capacity || !make_field(in, &f)))
        st = ti_err_set(err, TI_ERR_IO, "cannot place the ranks: out of memory");
    if (st == TI_OK) {
        find_limits(in, &f, out);
        st = check_limits(in, &f, out, err);
    }
    if (st == TI_OK)
        st = place(in, &f, out, err);
    if (st == TI_OK && in->group > 1)
        st = keep_groups(in, out, err);
    if (st == TI_OK) {
        sum_up(in, out);
        if (in->sites_wanted && out->used_sites != in->sites_wanted)
            st = wrong_sites(in, out->used_sites, err);
    }
    free_field(&f);
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
