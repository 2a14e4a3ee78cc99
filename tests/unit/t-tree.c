/* The tree: which node sends to which, and the cost by the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gather/fetch/tree.h"

#define NODES_MAX 400
#define SITES_MAX 6

static uint64_t seed;

static int64_t random_below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

struct made {
    struct ti_tree_in in;
    int site[NODES_MAX];
    bool gateway[SITES_MAX], direct[NODES_MAX];
    int64_t bytes[NODES_MAX];
};

static void make_any(struct made *m)
{
    *m = (struct made){.in = {.n = 1 + random_below(random_below(3) ? 40 : NODES_MAX),
                              .nsites = 1 + (int)random_below(SITES_MAX)}};
    for (int s = 0; s < m->in.nsites; s++)
        m->gateway[s] = random_below(2);
    for (int64_t i = 0; i < m->in.n; i++) {
        m->site[i] = (int)random_below(m->in.nsites);
        m->direct[i] = random_below(10) == 0;
        m->bytes[i] = random_below(10000000);
    }
    m->in.site = m->site;
    m->in.gateway = m->gateway;
    m->in.direct = random_below(3) ? m->direct : NULL;
    m->in.bytes = random_below(4) ? m->bytes : NULL;
}

static void make(const struct made *m, int arity, struct ti_tree *t)
{
    struct ti_tree_costs costs;
    struct ti_tree_in in = m->in;
    struct ti_err err;

    in.arity = arity;
    ti_tree_costs_default(&costs);
    assert_int_equal(ti_tree_make(&in, &costs, t, &err), TI_OK);
    assert_int_equal(t->n, in.n);
}

/* By digits, as tree.h says it, and otherwise than tree.c does it. */
static int64_t expected_parent(int64_t i, int base)
{
    int64_t digit[64], n = 0, up = 0;

    for (int64_t rest = i; rest; rest /= base)
        digit[n++] = rest % base;
    for (int64_t k = 0; k < n; k++)
        if (digit[k]) {
            digit[k] = 0;
            break;
        }
    while (n--)
        up = up * base + digit[n];
    return up;
}

static void check_site(const struct made *m, const struct ti_tree *t, int s, int arity)
{
    int64_t number[NODES_MAX + 1], n = 0, reached = 1, most = 0;
    int rounds = 0;

    if (!m->gateway[s])
        number[n++] = -1;
    for (int64_t i = 0; i < m->in.n; i++)
        if (m->site[i] == s && !(m->in.direct && m->direct[i]))
            number[n++] = i;
    for (; reached < n; reached *= arity + 1)
        rounds++;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = number[k], children = 0;

        if (i < 0)
            continue;
        assert_int_equal(t->parent[i], k ? number[expected_parent(k, arity + 1)] : -1);
        assert_true(t->depth[i] <= rounds + m->gateway[s]);
        for (int64_t j = 0; j < m->in.n; j++)
            children += t->parent[j] == i;
        assert_true(children <= (int64_t)arity * rounds);
        most = children > most ? children : most;
    }
    assert_true(t->cost.rounds >= rounds);
    assert_true(t->cost.most >= most);
}

static void test_shape(void **state)
{
    (void)state;
    for (seed = 1; seed < 200;) {
        uint64_t next = seed + 1;
        struct made m;
        struct ti_tree t, again;
        int arity = 1 + (int)random_below(8), depth = 0;
        int64_t here = 0;

        make_any(&m);
        make(&m, arity, &t);
        make(&m, arity, &again);
        assert_memory_equal(t.parent, again.parent, (size_t)t.n * sizeof *t.parent);
        for (int64_t i = 0; i < t.n; i++) {
            int hops = 1;

            /* one path here, that stays in the site */
            for (int64_t at = i; t.parent[at] >= 0; at = t.parent[at]) {
                assert_true(t.parent[at] < at);
                assert_int_equal(m.site[t.parent[at]], m.site[i]);
                assert_false(m.in.direct && m.direct[t.parent[at]]);
                hops++;
            }
            assert_int_equal(t.depth[i], hops);
            if (m.in.direct && m.direct[i])
                assert_int_equal(t.parent[i], -1);
            here += t.parent[i] < 0;
            depth = hops > depth ? hops : depth;
        }
        for (int s = 0; s < m.in.nsites; s++)
            check_site(&m, &t, s, arity);
        assert_int_equal(t.cost.here, here);
        assert_int_equal(t.cost.depth, depth);
        ti_tree_free(&t);
        ti_tree_free(&again);
        seed = next;
    }
}

/* 25 nodes behind a gateway, K = 4: two rounds; the head has 8 children, those of the second
 * round, numbered 5, 10, 15 and 20, four each. */
static void test_known(void **state)
{
    struct made m = {.in = {.n = 25, .nsites = 1}, .gateway = {true}};
    struct ti_tree t;

    (void)state;
    m.in.site = m.site;
    m.in.gateway = m.gateway;
    make(&m, 4, &t);
    for (int64_t i = 0; i < 25; i++)
        assert_int_equal(t.parent[i], i == 0 ? -1 : i % 5 ? i - i % 5 : 0);
    assert_int_equal(t.cost.rounds, 2);
    assert_int_equal(t.cost.depth, 3);
    assert_int_equal(t.cost.here, 1);
    assert_int_equal(t.cost.most, 8);
    assert_true(t.cost.bound_s == 0);
    ti_tree_free(&t);
    /* no gateway: this machine is number 0, and one fewer fits two rounds */
    m.gateway[0] = false;
    make(&m, 4, &t);
    assert_int_equal(t.cost.rounds, 3);
    assert_int_equal(t.cost.here, 9);
    for (int64_t i = 0; i < 25; i++)
        assert_int_equal(t.parent[i],
                         (i + 1) % 25 == 0 || (i + 1) % 5 == 0 || i < 4 ? -1 : i - (i + 1) % 5);
    ti_tree_free(&t);
    make(&m, TI_ARITY_STAR, &t);
    for (int64_t i = 0; i < 25; i++)
        assert_true(t.parent[i] == -1 && t.depth[i] == 1);
    assert_true(t.cost.rounds == 1 && t.cost.depth == 1 && t.cost.here == 25 && t.cost.most == 0);
    ti_tree_free(&t);
    for (m.in.n = 0; m.in.n <= 1; m.in.n++)
        for (int arity = TI_ARITY_AUTO; arity <= 2; arity++) {
            make(&m, arity, &t);
            assert_true(t.cost.here == m.in.n && t.cost.depth == m.in.n);
            assert_true(t.cost.rounds == m.in.n);
            ti_tree_free(&t);
        }
}

static void test_wrong_arity(void **state)
{
    struct made m = {.in = {.n = 1, .nsites = 1}};
    struct ti_tree_costs costs;
    struct ti_tree t;
    struct ti_err err;

    (void)state;
    m.in.site = m.site;
    m.in.gateway = m.gateway;
    ti_tree_costs_default(&costs);
    m.in.arity = TI_ARITY_MAX + 1;
    assert_int_equal(ti_tree_make(&m.in, &costs, &t, &err), TI_ERR_USAGE);
    m.in.arity = -2;
    assert_int_equal(ti_tree_make(&m.in, &costs, &t, &err), TI_ERR_USAGE);
}

static void test_auto(void **state)
{
    (void)state;
    for (seed = 1000; seed < 1060;) {
        uint64_t next = seed + 1;
        struct made m;
        struct ti_tree best, t;

        make_any(&m);
        make(&m, TI_ARITY_AUTO, &best);
        assert_true(best.arity >= TI_ARITY_STAR && best.arity <= 16);
        for (int k = TI_ARITY_STAR; k <= 16; k++) {
            make(&m, k, &t);
            assert_true(best.cost.total_s <= t.cost.total_s * (1 + 1e-6));
            if (t.cost.total_s <= best.cost.total_s && best.arity != TI_ARITY_STAR)
                assert_true(k != TI_ARITY_STAR && best.cost.connect_s <= t.cost.connect_s);
            if (k == best.arity)
                assert_memory_equal(best.parent, t.parent, (size_t)t.n * sizeof *t.parent);
            ti_tree_free(&t);
        }
        ti_tree_free(&best);
        seed = next;
    }
}

/* Figures that can be had by hand. */
static void test_cost(void **state)
{
    struct made m = {.in = {.n = 3, .nsites = 1}};
    struct ti_tree_costs c = {.rtt_s = 0.1,
                              .inner_rtt_s = 0.01,
                              .rate = 1e6,
                              .site_rate = 2e6,
                              .node_rate = 4e6,
                              .login_cpu_s = 0.02,
                              .login_rtts = 5,
                              .start_s = 0.3,
                              .most_new = 8};
    struct ti_tree_cost cost;
    struct ti_tree t;
    struct ti_err err;

    (void)state;
    m.in.site = m.site;
    m.in.gateway = m.gateway;
    m.in.arity = TI_ARITY_STAR;
    assert_int_equal(ti_tree_make(&m.in, &c, &t, &err), TI_OK);
    /* three times the processor's part, one login; then one round trip */
    assert_float_equal(t.cost.connect_s, 3 * 0.02 + 0.5 + 0.3, 1e-9);
    assert_float_equal(t.cost.total_s, t.cost.connect_s + 0.1, 1e-9);
    ti_tree_free(&t);
    /* a chain of two behind a gateway: the gateway, its node, then the other one */
    m.gateway[0] = true;
    m.in.n = 2;
    m.in.arity = 1;
    assert_int_equal(ti_tree_make(&m.in, &c, &t, &err), TI_OK);
    assert_float_equal(t.cost.connect_s, 0.02 + 0.5 + 0.02 + 0.5 + 0.3 + 0.1 + 0.02 + 0.05 + 0.3,
                       1e-9);
    /* 3 MB through the head and our link: our link takes longest, from when the first is there */
    m.bytes[0] = 1000000;
    m.bytes[1] = 2000000;
    m.in.bytes = m.bytes;
    cost = ti_tree_cost(&m.in, &t, &c);
    assert_float_equal(cost.bound_s, 3, 1e-9);
    assert_float_equal(cost.total_s, 1.34 + 0.1 + 3, 1e-9);
    c.headers = 0.25;
    cost = ti_tree_cost(&m.in, &t, &c);
    assert_float_equal(cost.bound_s, 3, 1e-9);
    assert_float_equal(cost.total_s, 1.34 + 0.1 + 3.75, 1e-9);
    c.headers = 0;
    c.node_rate = 0.5e6;
    cost = ti_tree_cost(&m.in, &t, &c);
    assert_float_equal(cost.bound_s, 6, 1e-9);
    c.node_rate = 4e6;
    c.site_rate = 0.25e6;
    cost = ti_tree_cost(&m.in, &t, &c);
    assert_float_equal(cost.bound_s, 12, 1e-9);
    /* little is passed until the last is there: that counts */
    m.bytes[0] = 1;
    m.bytes[1] = 250000;
    cost = ti_tree_cost(&m.in, &t, &c);
    assert_float_equal(cost.total_s, t.cost.connect_s + 0.11 + 1, 1e-9);
    ti_tree_free(&t);
    /* two at a time through the gateway: three turns for five nodes */
    m.in.n = 5;
    m.in.bytes = NULL;
    m.in.arity = TI_ARITY_STAR;
    c.most_new = 2;
    assert_int_equal(ti_tree_make(&m.in, &c, &t, &err), TI_OK);
    assert_float_equal(t.cost.connect_s, 0.52 + 3 * (0.02 + 0.8), 1e-9);
    ti_tree_free(&t);
}

/* More of anything that slows down never makes it faster. */
static void test_monotone(void **state)
{
    static const struct {
        size_t at;
        double factor;
    } slower[] = {
        {offsetof(struct ti_tree_costs, rtt_s), 1.7},
        {offsetof(struct ti_tree_costs, inner_rtt_s), 1.7},
        {offsetof(struct ti_tree_costs, login_cpu_s), 1.7},
        {offsetof(struct ti_tree_costs, login_rtts), 1.7},
        {offsetof(struct ti_tree_costs, headers), 1.7},
        {offsetof(struct ti_tree_costs, start_s), 1.7},
        {offsetof(struct ti_tree_costs, rate), 0.6},
        {offsetof(struct ti_tree_costs, site_rate), 0.6},
        {offsetof(struct ti_tree_costs, node_rate), 0.6},
    };

    (void)state;
    for (seed = 5000; seed < 5100;) {
        uint64_t next = seed + 1;
        struct made m;
        struct ti_tree t;
        struct ti_tree_costs c, worse;
        double less;

        make_any(&m);
        m.in.bytes = m.bytes;
        make(&m, (int)random_below(9), &t);
        ti_tree_costs_default(&c);
        less = ti_tree_cost(&m.in, &t, &c).total_s;
        assert_true(less >= t.cost.bound_s && less >= t.cost.connect_s);
        for (size_t k = 0; k < sizeof slower / sizeof *slower; k++) {
            worse = c;
            *(double *)((char *)&worse + slower[k].at) *= slower[k].factor;
            assert_true(ti_tree_cost(&m.in, &t, &worse).total_s >= less - 1e-9);
        }
        worse = c;
        worse.most_new = 3;
        assert_true(ti_tree_cost(&m.in, &t, &worse).total_s >= less - 1e-9);
        m.bytes[random_below(m.in.n)] *= 3;
        assert_true(ti_tree_cost(&m.in, &t, &c).total_s >= less);
        assert_true(ti_tree_cost(&m.in, &t, &c).bound_s >= t.cost.bound_s);
        ti_tree_free(&t);
        seed = next;
    }
}

static void test_parse(void **state)
{
    static const char *const wrong[] = {
        "rtt",          "rtt=",          "rtt=20",     "rtt=-1ms",     "rtt=ms",
        "rtt=nans",     "rtt=inf",       "rtt=0x1s",   "rtt=1..2s",    "rtt=2h",
        "rtt=3601s",    "rate=0mbit",    "rate=1",     "rate=1bit",    "rate=100mbits",
        "login-rtts=x", "login-rtts=8s", "most-new=0", "most-new=1.5", "most-new=257",
        "headers=0.06", "headers=101%",  "headers=%",  "start=1%",     "headers=x%",
        "speed=1ms",    "=1ms",          "",           "rtt=1ms,x=2",  "rtt=1ms rate=1mbit",
    };
    struct ti_tree_costs c, was;
    char text[200];
    struct ti_err err;

    (void)state;
    ti_tree_costs_default(&c);
    was = c;
    assert_int_equal(ti_tree_costs_parse("rtt=5ms,rate=100Mbit,site-rate=12.5MB", &c, &err), TI_OK);
    assert_float_equal(c.rtt_s, 0.005, 1e-12);
    assert_float_equal(c.rate, 12.5e6, 1e-3);
    assert_float_equal(c.site_rate, 12.5e6, 1e-3);
    assert_float_equal(c.node_rate, was.node_rate, 1e-3);
    assert_int_equal(
        ti_tree_costs_parse("inner-rtt=300us,node-rate=2gbit,login-cpu=0.27s,login-rtts=6.5,"
                            "start=1s,most-new=16,headers=4.5%",
                            &c, &err),
        TI_OK);
    assert_float_equal(c.inner_rtt_s, 3e-4, 1e-12);
    assert_float_equal(c.node_rate, 250e6, 1e-3);
    assert_float_equal(c.login_cpu_s, 0.27, 1e-12);
    assert_float_equal(c.login_rtts, 6.5, 1e-12);
    assert_float_equal(c.start_s, 1, 1e-12);
    assert_int_equal(c.most_new, 16);
    /* what is printed is what can be read */
    ti_tree_costs_text(&c, text, sizeof text);
    assert_true(strlen(text) < sizeof text - 1);
    assert_int_equal(ti_tree_costs_parse(text, &was, &err), TI_OK);
    assert_float_equal(was.inner_rtt_s, c.inner_rtt_s, 1e-9);
    assert_float_equal(was.rate, c.rate, 1);
    assert_float_equal(was.node_rate, c.node_rate, 1);
    assert_float_equal(c.headers, 0.045, 1e-9);
    assert_float_equal(was.headers, c.headers, 1e-9);
    assert_int_equal(was.most_new, c.most_new);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        was = c;
        if (ti_tree_costs_parse(wrong[i], &c, &err) != TI_ERR_USAGE)
            fail_msg("'%s' was taken", wrong[i]);
        assert_memory_equal(&was, &c, sizeof c);
    }
    assert_int_equal(ti_tree_costs_parse("rtt=1ms,node-rate=fast", &c, &err), TI_ERR_USAGE);
    assert_non_null(strstr(err.text, "'node-rate'"));
    assert_non_null(strstr(err.text, "'fast'"));
    assert_int_equal(ti_tree_costs_parse("bandwidth=1gbit", &c, &err), TI_ERR_USAGE);
    assert_non_null(strstr(err.text, "'bandwidth'"));
    assert_non_null(strstr(err.text, "site-rate"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),       cmocka_unit_test(test_known),
        cmocka_unit_test(test_wrong_arity), cmocka_unit_test(test_auto),
        cmocka_unit_test(test_cost),        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
