/* Where ranks go: against what a placement has to be, and, where few nodes are, against
 * all placements there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acquire/options.h"
#include "acquire/plan/place.h"
#include "acquire/plan/plan.h"
#include "acquire/plan/rank_map.h"

#define MIB INT64_C(1048576)
#define GIB (1024 * MIB)

/* --- sites made by hand -------------------------------------------------- */

#define MOST_NODES    200
#define MOST_CLUSTERS 40
#define MOST_SITES    8

struct bed {
    struct ti_sites sites;
    struct ti_site site[MOST_SITES];
    struct ti_cluster cluster[MOST_CLUSTERS];
    struct ti_node node[MOST_NODES];
    char names[MOST_NODES][32];
    int64_t memory[MOST_NODES];
    int cores[MOST_NODES];
    bool use[MOST_NODES];
    struct ti_place_request in;
};

static void begin(struct bed *b)
{
    memset(b, 0, sizeof *b);
    b->sites.path = (char *)"bed.conf";
    b->sites.site = b->site;
    b->sites.cluster = b->cluster;
    b->sites.node = b->node;
    b->in.sites = &b->sites;
    b->in.reserve_bytes = 0;
}

static void add_site(struct bed *b)
{
    static const char *const names[MOST_SITES] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};

    b->site[b->sites.nsites] = (struct ti_site){.name = (char *)names[b->sites.nsites]};
    b->sites.nsites++;
}

/* Of the last site. */
static struct ti_cluster *add_cluster(struct bed *b, int nodes, int cores, int64_t memory)
{
    static char names[MOST_CLUSTERS][8];
    struct ti_cluster *c = &b->cluster[b->sites.nclusters];
    char *name = names[b->sites.nclusters];

    snprintf(name, sizeof names[0], "c%d", b->sites.nclusters);
    *c = (struct ti_cluster){.name = name,
                             .site = b->sites.nsites - 1,
                             .cores = cores,
                             .memory_bytes = memory,
                             .reserve_bytes = -1};
    for (int i = 0; i < nodes; i++) {
        int64_t n = b->sites.nnodes++;

        snprintf(b->names[n], sizeof b->names[n], "%s-%d.s%d", name, i + 1, c->site);
        b->node[n] = (struct ti_node){.name = b->names[n], .cluster = b->sites.nclusters};
        b->use[n] = true;
    }
    b->sites.nclusters++;
    return c;
}

static uint64_t state, seed_now;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* low to high, both included */
static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)(draw() % (uint64_t)(high - low + 1));
}

static bool one_in(int n)
{
    return between(1, n) == 1;
}

/* --- what a placement has to be ------------------------------------------ */

/* Capacity, told apart from the code that is tested. */
static int64_t capacity(const struct ti_place_request *in, int64_t i)
{
    const struct ti_node *n = &in->sites->node[i];
    const struct ti_cluster *c = &in->sites->cluster[n->cluster];
    int64_t memory = c->memory_bytes, reserve = in->reserve_bytes, cap = INT64_MAX;
    int64_t cores = c->cores;
    bool nominal = true;

    if (n->cores)
        cores = n->cores;
    if (in->cores && in->cores[i])
        cores = n->cores && n->cores < in->cores[i] ? n->cores : in->cores[i];
    if (!cores)
        cores = 1;
    if (n->memory_bytes) {
        memory = n->memory_bytes;
        nominal = false;
    }
    if (in->memory_bytes && in->memory_bytes[i]) {
        int64_t probed = in->memory_bytes[i];

        memory = n->memory_bytes && n->memory_bytes < probed ? n->memory_bytes : probed;
        nominal = false;
    }
    if (c->reserve_bytes >= 0)
        reserve = c->reserve_bytes;
    else if (reserve < 0)
        reserve = nominal && memory / 16 > 256 * MIB ? memory / 16 : 256 * MIB;
    if (in->use && !in->use[i])
        return 0;
    if (memory && in->rank_bytes)
        cap = memory > reserve ? (memory - reserve) / in->rank_bytes : 0;
    if (in->max_fold && cores * in->max_fold < cap)
        cap = cores * in->max_fold;
    if (in->regular && cores < cap)
        cap = cores;
    if (in->fold)
        cap = cores * in->fold <= cap ? cores * in->fold : 0;
    return cap;
}

static int site_of(const struct ti_place_request *in, int64_t i)
{
    return in->sites->cluster[in->sites->node[i].cluster].site;
}

static int cores_of(const struct ti_place_request *in, int64_t i)
{
    return ti_node_resources(in, i).cores;
}

/* The most that can be placed: over all choices of sites, if so many are wanted. */
static int64_t most(const struct ti_place_request *in)
{
    int64_t sum[MOST_SITES] = {0}, best = 0;

    for (int64_t i = 0; i < in->sites->nnodes; i++) {
        int64_t c = capacity(in, i), *s = &sum[site_of(in, i)];

        *s = c > INT64_MAX - *s ? INT64_MAX : *s + c;
    }
    for (unsigned set = 1; set < 1u << in->sites->nsites; set++) {
        int64_t total = 0;
        bool each = true;

        if (in->sites_wanted && __builtin_popcount(set) != in->sites_wanted)
            continue;
        for (int s = 0; s < in->sites->nsites; s++)
            if (set & 1u << s) {
                each &= sum[s] > 0;
                total = sum[s] > INT64_MAX - total ? INT64_MAX : total + sum[s];
            }
        if ((each || !in->sites_wanted) && total > best)
            best = total;
    }
    return best;
}

static void check_fold(const struct ti_place_request *in, const struct ti_rank_placement *p)
{
    int partial = 0, larger = 0;

    for (int64_t i = 0; i < p->nnodes; i++) {
        int64_t full = in->fold * cores_of(in, i);

        assert_true(p->ranks[i] <= full);
        if (p->ranks[i] && p->ranks[i] < full) {
            partial++;
            larger += p->ranks[i] > 1;
        }
    }
    assert_true(larger <= 1);
    /* each site but one has a single rank, as np is too small to fill a node at each */
    if (partial > 1)
        assert_int_equal(p->used_nodes, in->sites_wanted);
}

static void check_sound(const struct ti_place_request *in, const struct ti_rank_placement *p)
{
    struct ti_rank_map map = ti_rank_map_of(p, NULL);
    int64_t next = 0, nodes = 0;
    bool site[MOST_SITES] = {false}, cluster[MOST_CLUSTERS] = {false};
    int sites = 0, clusters = 0;

    for (int64_t i = 0; i < p->nnodes; i++) {
        assert_true(p->ranks[i] >= 0);
        assert_int_equal(p->capacity[i], capacity(in, i));
        assert_true(p->ranks[i] <= p->capacity[i]);
        assert_int_equal(p->first[i], next);
        next += p->ranks[i];
        nodes += p->ranks[i] > 0;
        if (p->ranks[i]) {
            assert_int_equal(ti_rank_map_node_of(&map, p->first[i]), i);
            assert_int_equal(ti_rank_map_node_of(&map, next - 1), i);
            site[site_of(in, i)] = cluster[in->sites->node[i].cluster] = true;
        }
    }
    for (int s = 0; s < MOST_SITES; s++)
        sites += site[s];
    for (int c = 0; c < MOST_CLUSTERS; c++)
        clusters += cluster[c];
    assert_int_equal(next, in->np);
    assert_int_equal(nodes, p->used_nodes);
    assert_int_equal(sites, p->used_sites);
    assert_int_equal(clusters, p->used_clusters);
    if (in->sites_wanted)
        assert_int_equal(sites, in->sites_wanted);
    if (in->fold)
        check_fold(in, p);
}

/* --- random sites -------------------------------------------------------- */

static void draw_cluster(struct bed *b, int nodes, bool alike)
{
    int64_t memory = one_in(40) ? 0 : between(1, 64) * GIB / 4;
    struct ti_cluster *c = add_cluster(b, nodes, one_in(30) ? 0 : (int)between(1, 32), memory);
    int64_t first = b->sites.nnodes - nodes;

    c->speed = one_in(3) ? 0 : (double)between(1, 64) * (1 << 27);
    c->reserve_bytes = one_in(3) ? between(0, 8) * GIB / 8 : -1;
    for (int64_t i = first; !alike && i < b->sites.nnodes; i++) {
        b->memory[i] = one_in(4) ? 0 : memory ? between(memory / 2, memory) : between(1, 16) * GIB;
        b->cores[i] = one_in(2) ? 0 : (int)between(1, 32);
        b->node[i].memory_bytes = one_in(20) ? between(1, 32) * GIB : 0;
        b->node[i].cores = one_in(20) ? (int)between(1, 16) : 0;
        b->use[i] = !one_in(10);
    }
}

static void draw_wishes(struct bed *b)
{
    b->in.policy = (enum ti_policy)between(0, TI_POLICY_COUNT - 1);
    b->in.rank_bytes = one_in(20) ? 0 : between(1, 2000) * MIB;
    b->in.reserve_bytes = one_in(2) ? -1 : between(0, 4) * GIB / 4;
    if (one_in(3))
        b->in.max_fold = between(1, 20);
    if (one_in(4))
        b->in.fold = between(1, b->in.max_fold ? b->in.max_fold : 20);
    if (one_in(6) && b->in.fold <= 1)
        b->in.regular = true;
    if (one_in(3))
        b->in.sites_wanted = (int)between(1, b->sites.nsites);
}

static void draw_bed(struct bed *b, uint64_t seed)
{
    int sites;
    bool alike;

    state = (seed + 1) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 8; i++)
        draw();
    seed_now = seed;
    begin(b);
    sites = (int)between(1, 5);
    alike = one_in(2);
    for (int s = 0; s < sites; s++) {
        int clusters = (int)between(1, 4);

        add_site(b);
        for (int c = 0; c < clusters; c++)
            draw_cluster(b, (int)between(1, 8), alike);
    }
    if (!alike) {
        b->in.memory_bytes = b->memory;
        b->in.cores = b->cores;
        b->in.use = b->use;
    }
    draw_wishes(b);
}

/* There is a limit on every node. */
static bool has_limits(const struct ti_place_request *in)
{
    for (int64_t i = 0; i < in->sites->nnodes; i++)
        if (capacity(in, i) == INT64_MAX)
            return false;
    return true;
}

static bool any_usable(const struct ti_place_request *in)
{
    for (int64_t i = 0; i < in->sites->nnodes; i++)
        if (!in->use || in->use[i])
            return true;
    return false;
}

static int64_t largest_np(const struct ti_place_request *in)
{
    struct ti_rank_placement p;
    struct ti_err err;
    int64_t n;

    ti_place_ranks(in, &p, &err);
    n = p.largest_np;
    ti_rank_placement_free(&p);
    return n;
}

/* Placed and sound, exactly if it can be. */
static void try_np(struct ti_place_request *in, int64_t np, int64_t limit)
{
    struct ti_rank_placement p, again;
    struct ti_err err = {"", ""};
    bool can = np <= limit && np >= in->sites_wanted;
    ti_status st;

    in->np = np;
    st = ti_place_ranks(in, &p, &err);
    if (st != (can ? TI_OK : TI_ERR_INPUT))
        fail_msg("seed %" PRIu64 " %d %d %d: %" PRId64 " of %" PRId64 " ranks: %d %s", seed_now,
                 (int)in->policy, (int)in->fold, in->sites_wanted, np, limit, (int)st, err.text);
    if (!can)
        assert_true(err.text[0]);
    if (any_usable(in))
        assert_int_equal(p.largest_np, limit);
    if (can) {
        check_sound(in, &p);
        assert_int_equal(ti_place_ranks(in, &again, &err), TI_OK);
        assert_memory_equal(p.ranks, again.ranks, (size_t)p.nnodes * sizeof *p.ranks);
        assert_string_equal(p.mode, again.mode);
        ti_rank_placement_free(&again);
    }
    ti_rank_placement_free(&p);
}

static void never_less(struct bed *b, int64_t limit)
{
    struct ti_place_request more = b->in;
    int64_t at = between(0, b->sites.nnodes - 1);
    int cluster = b->sites.nclusters;

    if (b->in.memory_bytes && b->memory[at]) {
        int64_t was = b->memory[at];

        b->memory[at] += between(1, 4 * GIB);
        assert_true(largest_np(&more) >= limit);
        b->memory[at] = was;
    }
    if (b->cluster[b->node[at].cluster].memory_bytes) {
        int64_t *memory = &b->cluster[b->node[at].cluster].memory_bytes, was = *memory;

        *memory += between(1, 4 * GIB);
        assert_true(largest_np(&more) >= limit);
        *memory = was;
    }
    if (b->in.max_fold) {
        more.max_fold++;
        assert_true(largest_np(&more) >= limit);
        more.max_fold--;
    }
    draw_cluster(b, 1, true);
    assert_true(largest_np(&more) >= limit);
    b->sites.nclusters = cluster;
    b->sites.nnodes--;
}

static void test_random(void **unused)
{
    static struct bed b;
    int placed = 0;

    (void)unused;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        int64_t limit;

        draw_bed(&b, seed);
        if (!any_usable(&b.in))
            continue;
        limit = most(&b.in);
        never_less(&b, limit);
        for (int i = 0; i < 3; i++)
            try_np(&b.in, between(1, limit > 20000 ? 20000 : limit + 1), limit);
        if (limit > 0 && limit <= 1 << 24) {
            try_np(&b.in, limit, limit);
            placed++;
        }
        if (limit < 1 << 24)
            try_np(&b.in, limit + 1, limit);
    }
    assert_true(placed > 3000);
}

/* --- against all placements ---------------------------------------------- */

__extension__ typedef __int128 wide;

/* The number that a policy wants to be low, as a fraction, of a node with n ranks. */
struct cost {
    wide over, under;
};

static bool less(struct cost a, struct cost b)
{
    return a.over * b.under < b.over * a.under;
}

static int64_t weight(const struct ti_place_request *in, int64_t i)
{
    const struct ti_cluster *c = &in->sites->cluster[in->sites->node[i].cluster];
    int64_t slowest = 0;

    if (in->policy == TI_POLICY_SPEED) {
        for (int k = 0; k < in->sites->nclusters; k++) {
            int64_t speed = (int64_t)in->sites->cluster[k].speed;

            if (speed && (!slowest || speed < slowest))
                slowest = speed;
        }
        return (c->speed > 0 ? (int64_t)c->speed
                : slowest    ? slowest
                             : 1) *
               (in->fold ? 1 : cores_of(in, i));
    }
    for (int64_t k = 0; k < in->sites->nnodes; k++)
        if (!ti_node_resources(in, k).memory_bytes && capacity(in, k))
            return cores_of(in, i);
    return ti_node_resources(in, i).available_bytes / in->rank_bytes;
}

static struct cost cost_of(const struct ti_place_request *in, int64_t i, int64_t n)
{
    int64_t ranks = n;

    if (in->policy == TI_POLICY_COMPACT)
        return (struct cost){n > 0, 1};
    if (in->fold && n)
        ranks = in->policy == TI_POLICY_SPEED
                    ? in->fold
                    : (capacity(in, i) < in->np ? capacity(in, i) : in->np);
    return (struct cost){ranks, n ? weight(in, i) : 1};
}

struct all {
    const struct ti_place_request *in;
    struct cost best;
    bool found;
    int64_t tried;
};

static struct cost both(const struct ti_place_request *in, struct cost a, struct cost b)
{
    if (in->policy == TI_POLICY_COMPACT)
        return (struct cost){a.over + b.over, 1};
    return less(a, b) ? b : a;
}

/* Nodes from i on; `left` ranks; `partial` nodes are not full so far. */
static void each(struct all *a, int64_t i, int64_t left, unsigned sites, int partial,
                 struct cost cost)
{
    const struct ti_place_request *in = a->in;
    int64_t cap;

    if (i == in->sites->nnodes) {
        a->tried++;
        if (left || (in->sites_wanted && __builtin_popcount(sites) != in->sites_wanted))
            return;
        if (!a->found || less(cost, a->best))
            a->best = cost;
        a->found = true;
        return;
    }
    cap = capacity(in, i);
    for (int64_t n = 0; n <= cap && n <= left; n++) {
        bool part = in->fold && n && n < cap;

        if (part && partial)
            continue;
        each(a, i + 1, left - n, n ? sites | 1u << site_of(in, i) : sites, partial + part,
             both(in, cost, cost_of(in, i, n)));
    }
}

static void draw_small(struct bed *b, uint64_t seed)
{
    int sites, left = 5;

    state = (seed + 77) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 8; i++)
        draw();
    begin(b);
    b->in.rank_bytes = 100 * MIB;
    sites = (int)between(1, 3);
    for (int s = 0; s < sites; s++) {
        int clusters = (int)between(1, 2);

        add_site(b);
        for (int c = 0; c < clusters && left; c++) {
            int nodes = (int)between(1, left > 2 ? 2 : left);

            add_cluster(b, nodes, (int)between(1, 3), one_in(30) ? 0 : between(0, 7) * 100 * MIB)
                ->speed = one_in(4) ? 0 : (double)between(1, 9) * (1 << 28);
            left -= nodes;
        }
    }
    b->in.policy = (enum ti_policy)between(0, TI_POLICY_COUNT - 1);
    if (one_in(3))
        b->in.max_fold = between(1, 4);
    if (one_in(3))
        b->in.fold = between(1, b->in.max_fold ? b->in.max_fold : 3);
    else if (one_in(2))
        b->in.sites_wanted = (int)between(1, sites);
    if (one_in(6) && b->in.fold <= 1)
        b->in.regular = true;
}

static void test_best(void **unused)
{
    static struct bed b;
    int compared = 0;

    (void)unused;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct all a = {.in = &b.in};
        struct cost cost = {0, 1};
        struct ti_rank_placement p;
        struct ti_err err;

        draw_small(&b, seed);
        if (!has_limits(&b.in) && (b.in.policy == TI_POLICY_COMPACT))
            continue;
        b.in.np = between(1, 9);
        each(&a, 0, b.in.np, 0, 0, cost);
        assert_int_equal(ti_place_ranks(&b.in, &p, &err) == TI_OK, a.found);
        if (a.found) {
            for (int64_t i = 0; i < p.nnodes; i++)
                cost = both(&b.in, cost, cost_of(&b.in, i, p.ranks[i]));
            if (less(a.best, cost) || less(cost, a.best))
                fail_msg("seed %" PRIu64 ", %s, fold %" PRId64 ", sites %d: %f, best is %f", seed,
                         ti_policy_names[b.in.policy], b.in.fold, b.in.sites_wanted,
                         (double)cost.over / (double)cost.under,
                         (double)a.best.over / (double)a.best.under);
            compared++;
        }
        ti_rank_placement_free(&p);
    }
    assert_true(compared > 1500);
}

/* --- single properties --------------------------------------------------- */

static void expect(const struct bed *b, const char *mode, const int64_t *ranks)
{
    struct ti_rank_placement p;
    struct ti_err err;

    if (ti_place_ranks(&b->in, &p, &err) != TI_OK)
        fail_msg("%s expected: %s; %s", mode, err.text, err.hint);
    for (int64_t i = 0; i < p.nnodes; i++)
        assert_int_equal(p.ranks[i], ranks[i]);
    assert_string_equal(p.mode, mode);
    ti_rank_placement_free(&p);
}

#define EXPECT(b, mode, ...) expect(b, mode, (const int64_t[]){__VA_ARGS__})

static void refuse(const struct bed *b, ti_status st, const char *text, const char *hint)
{
    struct ti_rank_placement p;
    struct ti_err err = {"", ""};

    assert_int_equal(ti_place_ranks(&b->in, &p, &err), st);
    if (!strstr(err.text, text) || !strstr(err.hint, hint))
        fail_msg("'%s' / '%s' has no '%s' / '%s'", err.text, err.hint, text, hint);
    ti_rank_placement_free(&p);
}

/* Two sites of 24 and 48 GiB nodes. */
static void two_sites(struct bed *b, int64_t np)
{
    begin(b);
    add_site(b);
    add_cluster(b, 2, 4, 24 * GIB);
    add_site(b);
    add_cluster(b, 2, 4, 48 * GIB);
    b->in.rank_bytes = GIB;
    b->in.np = np;
}

static void test_modes(void **unused)
{
    static struct bed b;

    (void)unused;
    two_sites(&b, 72);
    EXPECT(&b, "CF-(2,x)", 12, 12, 24, 24);
    b.in.np = 16;
    b.in.policy = TI_POLICY_SPEED;
    EXPECT(&b, "C-2", 4, 4, 4, 4);
    b.in.np = 32;
    EXPECT(&b, "CF-(2,2)", 8, 8, 8, 8);
    b.in.sites_wanted = 1;
    EXPECT(&b, "F-4", 16, 16, 0, 0);
    b.in.np = 8;
    EXPECT(&b, "R", 4, 4, 0, 0);
    b.in.policy = TI_POLICY_MEMORY;
    EXPECT(&b, "R", 0, 0, 4, 4);
    b.in.np = 20;
    b.in.sites_wanted = 0;
    b.in.fold = 2;
    EXPECT(&b, "CF-(2,2)", 4, 0, 8, 8);
    b.in.np = 3;
    b.in.fold = 6;
    b.in.sites_wanted = 2;
    EXPECT(&b, "C-2", 1, 0, 2, 0);
}

static void test_compact(void **unused)
{
    static struct bed b;

    (void)unused;
    two_sites(&b, 48);
    b.in.policy = TI_POLICY_COMPACT;
    EXPECT(&b, "F-12", 0, 0, 48, 0);
    b.in.np = 50;
    EXPECT(&b, "F-7", 0, 0, 25, 25);
    b.in.np = 100;
    EXPECT(&b, "CF-(2,x)", 20, 0, 40, 40);
    b.in.np = 4;
    b.in.sites_wanted = 2;
    EXPECT(&b, "C-2", 1, 0, 3, 0);
    b.in.sites_wanted = 0;
    b.in.rank_bytes = 0;
    EXPECT(&b, "R", 4, 0, 0, 0);
    b.in.np = 17;
    EXPECT(&b, "CF-(2,x)", 5, 4, 8, 0);
}

/* Nodes that a probe found to differ a little carry the same; what they have more is
 * used only when needed. */
static void test_alike(void **unused)
{
    static struct bed b;

    (void)unused;
    begin(&b);
    add_site(&b);
    add_cluster(&b, 4, 4, 0);
    b.in.memory_bytes = b.memory;
    b.in.rank_bytes = GIB;
    b.memory[0] = 32 * GIB;
    b.memory[1] = 31 * GIB;
    b.memory[2] = 30 * GIB;
    b.memory[3] = 10 * GIB;
    b.in.np = 50;
    EXPECT(&b, "F-x", 15, 15, 15, 5);
    b.in.np = 103;
    EXPECT(&b, "F-x", 32, 31, 30, 10);
}

static void test_limits(void **unused)
{
    static struct bed b;

    (void)unused;
    two_sites(&b, 145);
    refuse(&b, TI_ERR_INPUT,
           "145 ranks need 145.0 GiB of memory (1.0 GiB each); the 4 nodes hold at most 144: "
           "missing is room for 1 rank (1.0 GiB)",
           "--np 144 fits");
    b.in.np = 70;
    b.in.max_fold = 2;
    refuse(&b, TI_ERR_INPUT, "at most 2 ranks a core, hold at most 32", "--max-fold 5 instead");
    b.in.max_fold = 0;
    b.in.regular = true;
    b.in.sites_wanted = 1;
    refuse(&b, TI_ERR_INPUT, "1 site of bed.conf (4 nodes), at one rank a core, holds at most 8",
           "--max-fold 9 instead");
    b.in.regular = false;
    b.in.sites_wanted = 3;
    refuse(&b, TI_ERR_INPUT, "3 sites are asked for, and 'bed.conf' has 2", "CF-(2,x)");
    b.in.sites_wanted = 2;
    b.in.np = 1;
    refuse(&b, TI_ERR_INPUT, "1 rank cannot be at 2 sites", "");
    b.in.fold = 4;
    b.in.max_fold = 3;
    refuse(&b, TI_ERR_USAGE, "4 ranks a core are asked for, and at most 3", "");
}

static void test_families(void **unused)
{
    static struct bed b;

    (void)unused;
    two_sites(&b, 8);
    b.cluster[0].family = (char *)"aarch64";
    EXPECT(&b, "C-2", 1, 1, 3, 3);
    b.cluster[1].family = (char *)"x86_64";
    refuse(&b, TI_ERR_INPUT, "2 families: aarch64 (2 nodes of c0), x86_64 (2 nodes of c1)",
           "--family aarch64");
    b.in.family = "x86_64";
    EXPECT(&b, "R", 0, 0, 4, 4);
    b.in.family = "ppc64le";
    refuse(&b, TI_ERR_INPUT, "no node of 'bed.conf' can be used", "'ppc64le'");
}

static void test_slots(void **unused)
{
    static struct bed b;

    (void)unused;
    two_sites(&b, 10);
    for (int i = 0; i < 4; i++)
        b.node[i].slots = 4 + i;
    EXPECT(&b, "CF-(2,x)", 4, 5, 1, 0);
    b.in.np = 22;
    EXPECT(&b, "CF-(2,x)", 4, 5, 6, 7);
    b.in.np = 23;
    refuse(&b, TI_ERR_INPUT, "the 4 nodes hold at most 22", "--np 22");
    b.node[1].slots = 25;
    b.in.np = 30;
    refuse(&b, TI_ERR_INPUT, "has 25 slots on node 'c0-2.s0', which holds at most 24", "--np 28");
    assert_int_equal(largest_np(&b.in), 28);
    /* what is left goes by policy */
    b.node[1].slots = 0;
    b.node[3].slots = 0;
    b.in.np = 10 + 9;
    EXPECT(&b, "CF-(2,x)", 4, 3, 6, 6);
}

static void test_mode_text(void **unused)
{
    static const struct {
        const char *text;
        bool ok, regular;
        int sites;
        int64_t fold;
    } mode[] = {
        {"R", true, true, 1, 0},         {"F-4", true, false, 1, 4},
        {"F-x", true, false, 1, 0},      {"C-3", true, true, 3, 0},
        {"CF-(2,4)", true, false, 2, 4}, {"CF-(9,x)", true, false, 9, 0},
        {"", false, false, 0, 0},        {"F", false, false, 0, 0},
        {"F-0", false, false, 0, 0},     {"F-4 ", false, false, 0, 0},
        {"C-x", false, false, 0, 0},     {"CF-(2;4)", false, false, 0, 0},
        {"CF-2,4", false, false, 0, 0},  {"F-99999999999999999999", false, false, 0, 0},
        {"r", false, false, 0, 0},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof mode / sizeof *mode; i++) {
        struct ti_place_request in = {.np = 1};
        struct ti_err err;

        assert_int_equal(ti_place_parse_mode(mode[i].text, &in, &err),
                         mode[i].ok ? TI_OK : TI_ERR_USAGE);
        assert_int_equal(in.regular, mode[i].regular);
        assert_int_equal(in.sites_wanted, mode[i].sites);
        assert_int_equal(in.fold, mode[i].fold);
    }
}

static void test_options(void **unused)
{
    static struct bed b;
    struct ti_options o = {.np = 8, .counter = "auto", .reserve_bytes = 256 * MIB};
    struct ti_place_request in;
    struct ti_rank_placement p;
    struct ti_plan plan;
    struct ti_err err;

    (void)unused;
    two_sites(&b, 0);
    o.rank_bytes = GIB;
    o.policy = "speed";
    o.mode = "F-4";
    assert_int_equal(ti_place_request_from_options(&o, &b.sites, false, &in, &err), TI_OK);
    assert_int_equal(in.rank_bytes, GIB + TI_RANK_BYTES);
    assert_int_equal(in.reserve_bytes, -1);
    assert_int_equal(ti_place_ranks(&in, &p, &err), TI_OK);
    assert_int_equal(p.ranks[0], 8);
    ti_rank_placement_settings(&in, &p, false, &plan);
    assert_int_equal(plan.folding, 2);
    assert_true(plan.yield && plan.ob1 && !plan.idle);
    ti_rank_placement_free(&p);
    o.fold = 2;
    assert_int_equal(ti_place_request_from_options(&o, &b.sites, false, &in, &err), TI_ERR_USAGE);
    o.mode = NULL;
    o.policy = "random";
    assert_int_equal(ti_place_request_from_options(&o, &b.sites, false, &in, &err), TI_ERR_USAGE);
}

/* This machine as a node: what is asked for can be had, or not. */
static void test_here(void **unused)
{
    static const struct {
        const char *mode;
        int64_t np;
        ti_status status;
    } wish[] = {{NULL, 1000, TI_OK},           {"R", 2, TI_OK},
                {"R", 3, TI_ERR_INPUT},        {"F-4", 8, TI_OK},
                {"F-4", 9, TI_ERR_INPUT},      {"F-x", 99, TI_OK},
                {"CF-(2,4)", 8, TI_ERR_INPUT}, {"G", 1, TI_ERR_USAGE}};
    struct ti_err err;

    (void)unused;
    for (size_t i = 0; i < sizeof wish / sizeof *wish; i++) {
        struct ti_options o = {.np = wish[i].np, .counter = "auto", .mode = wish[i].mode};

        assert_int_equal(ti_place_check_local(&o, "here", 2, &err), wish[i].status);
    }
    assert_int_equal(
        ti_place_check_local(&(struct ti_options){.np = 1, .counter = "auto", .family = "z80"},
                             "here", 2, &err),
        TI_ERR_INPUT);
}

/* 10 million ranks on 100,000 nodes that all differ: done, and the time said. */
static void test_many(void **unused)
{
    int64_t n = 100000, clusters = 1000;
    struct ti_site site = {.name = (char *)"s"};
    struct ti_cluster *cluster = calloc((size_t)clusters, sizeof *cluster);
    struct ti_node *node = calloc((size_t)n, sizeof *node);
    int64_t *memory = calloc((size_t)n, sizeof *memory), sum;
    struct ti_sites sites = {.path = (char *)"many",
                             .site = &site,
                             .nsites = 1,
                             .cluster = cluster,
                             .nclusters = (int)clusters,
                             .node = node,
                             .nnodes = n};
    struct ti_place_request in = {.sites = &sites,
                                  .memory_bytes = memory,
                                  .np = 10000000,
                                  .rank_bytes = 100 * MIB,
                                  .reserve_bytes = -1};

    (void)unused;
    state = 4711;
    for (int64_t c = 0; c < clusters; c++)
        cluster[c] = (struct ti_cluster){.name = (char *)"c",
                                         .cores = (int)between(1, 64),
                                         .reserve_bytes = -1,
                                         .speed = (double)between(1, 1 << 30)};
    for (int64_t i = 0; i < n; i++) {
        node[i] = (struct ti_node){.name = (char *)"n", .cluster = (int)(i * clusters / n)};
        memory[i] = between(16 * GIB, 64 * GIB);
    }
    for (int policy = 0; policy < TI_POLICY_COUNT; policy++)
        for (int fold = 0; fold <= 4; fold += 4) {
            clock_t begun = clock();
            struct ti_rank_placement p;
            struct ti_err err;

            in.policy = (enum ti_policy)policy;
            in.fold = fold;
            in.np = fold ? 5000000 : 10000000;
            assert_int_equal(ti_place_ranks(&in, &p, &err), TI_OK);
            sum = 0;
            for (int64_t i = 0; i < n; i++) {
                assert_true(p.ranks[i] <= p.capacity[i]);
                sum += p.ranks[i];
            }
            assert_int_equal(sum, in.np);
            print_message("%s, fold %d: %.3f s\n", ti_policy_names[policy], fold,
                          (double)(clock() - begun) / CLOCKS_PER_SEC);
            ti_rank_placement_free(&p);
        }
    free(cluster);
    free(node);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),    cmocka_unit_test(test_best),
        cmocka_unit_test(test_modes),     cmocka_unit_test(test_compact),
        cmocka_unit_test(test_alike),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_families),  cmocka_unit_test(test_slots),
        cmocka_unit_test(test_mode_text), cmocka_unit_test(test_options),
        cmocka_unit_test(test_here),      cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
