/*
 * Fetches from a thousand nodes with ranks dealt out one by one, as mpirun --map-by node does.  No
 * operation for one rank or one node may pass over all hundred thousand ranks.  The nodes are
 * simulated behind session/conn.h; none sends a trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bundle/run.h"
#include "common/cli.h"
#include "gather/fetch/fetch.h"
#include "gather/fetch/kept.h"
#include "gather/fetch/nodes.h"
#include "session/conn.h"
#include "trace/rankname.h"

/* Some seconds; where each rank costs as much as there are nodes, minutes. */
#define SECONDS_MOST 60.0

volatile sig_atomic_t ti_gather_stop;

/* --- nodes ---------------------------------------------------------------- */

/* How the nodes behave; the present one is number `node` of `nodes`. */
static struct {
    int64_t np, nodes;
    bool lists;     /* what is there: else nothing */
    bool copies;    /* and what the next node has as well, in files of its own */
    bool fails;     /* every other one, when it is to send */
    int64_t crcs;   /* ranks whose checksums were asked for */
    int64_t sends;  /* ranks that were to be sent */
    int64_t listed; /* times that a node was asked what is there */
} these;

struct ti_conn {
    struct ti_conns *all;
    struct ti_conn *next, *relay;
    struct ti_conn_callbacks calls;
    void *arg;
    int64_t node;
    bool ready, closed;
    json_t *asked; /* requests */
};

struct ti_conns {
    struct ti_conn *first;
    int64_t opened;
};

ti_status ti_conns_new(const struct ti_conns_config *config, struct ti_conns **out,
                       struct ti_err *err)
{
    (void)config;
    (void)err;
    *out = calloc(1, sizeof **out);
    return *out ? TI_OK : TI_ERR_IO;
}

void ti_conns_free(struct ti_conns *all)
{
    while (all && all->first) {
        struct ti_conn *w = all->first;

        all->first = w->next;
        json_decref(w->asked);
        free(w);
    }
    free(all);
}

struct ti_conn *ti_conn_open(struct ti_conns *all, struct ti_conn *through, const char *host,
                             const char *gateway, const char *tiara, bool local,
                             const struct ti_conn_callbacks *calls, void *arg)
{
    struct ti_conn *w = calloc(1, sizeof *w);

    (void)gateway;
    (void)tiara;
    (void)local;
    assert_non_null(w);
    *w = (struct ti_conn){.all = all,
                          .next = all->first,
                          .relay = through,
                          .calls = *calls,
                          .arg = arg,
                          .node = atoll(host + 1),
                          .asked = json_array()};
    all->first = w;
    all->opened++;
    return w;
}

bool ti_conn_hand_over(struct ti_conn *w, const struct ti_conn_callbacks *calls, void *arg)
{
    w->calls = *calls;
    w->arg = arg;
    return !w->closed;
}

struct ti_conn *ti_conn_relay(const struct ti_conn *w)
{
    return w->relay;
}

void ti_conns_hang_up(struct ti_conns *all)
{
    (void)all;
}

void ti_conn_prefetch(struct ti_conns *all, const char *host)
{
    (void)all;
    (void)host;
}

bool ti_conn_request(struct ti_conn *w, json_t *request)
{
    return json_array_append_new(w->asked, request) == 0;
}

void ti_conn_close(struct ti_conn *w)
{
    w->closed = true;
}

int64_t ti_conn_bytes(const struct ti_conn *w)
{
    return w->node;
}

int64_t ti_conn_link_bytes(const struct ti_conn *w)
{
    return w->node;
}

size_t ti_conn_partial_bytes(const struct ti_conn *w)
{
    (void)w;
    return 0;
}

const char *ti_conn_transport(const struct ti_conn *w)
{
    (void)w;
    return "none";
}

const char *ti_channel_end_text(enum ti_channel_end end)
{
    (void)end;
    return "it ended";
}

static void say(struct ti_conn *w, json_t *message)
{
    assert_non_null(message);
    w->calls.message(w, message, w->arg);
    json_decref(message);
}

static bool has(int64_t node, int64_t rank)
{
    int64_t of = rank % these.nodes;

    return of == node || (these.copies && (of + 1) % these.nodes == node);
}

static void answer_list(struct ti_conn *w)
{
    json_t *traces = json_array();

    for (int64_t r = 0; these.lists && r < these.np; r += these.nodes)
        for (int64_t k = 0; k < these.nodes; k++) {
            int64_t of = (w->node + these.nodes - 1 + k) % these.nodes, rank = r + of;

            if (k > 1)
                break;
            if (!has(w->node, rank) || rank >= these.np)
                continue;
            json_array_append_new(traces, json_pack("[I, i, I, i, b]", (json_int_t)rank, 1000,
                                                    (json_int_t)(1 + w->node), 7, 1));
        }
    say(w, json_pack("{s:s, s:i, s:o}", "is", "listed", "id", 1, "traces", traces));
    these.listed++;
    say(w, json_pack("{s:s, s:i, s:b}", "is", "list", "id", 1, "exists", 1));
}

static void each_rank(struct ti_conn *w, const json_t *ranges,
                      void (*call)(struct ti_conn *w, int64_t rank, void *arg), void *arg)
{
    const json_t *range;
    size_t i;

    json_array_foreach(ranges, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++)
            call(w, r, arg);
    }
}

static void add_crc(struct ti_conn *w, int64_t rank, void *arg)
{
    assert_true(has(w->node, rank));
    json_array_append_new(arg, json_pack("[I, i, i]", (json_int_t)rank, 1000, 5));
    these.crcs++;
}

static void refuse(struct ti_conn *w, int64_t rank, void *arg)
{
    (void)arg;
    assert_true(has(w->node, rank));
    these.sends++;
    say(w, json_pack("{s:s, s:I, s:s}", "is", "sent", "rank", (json_int_t)rank, "error",
                     these.lists ? "cannot read it" : "no trace"));
}

static void answer(struct ti_conn *w, const json_t *request)
{
    const char *what = json_string_value(json_object_get(request, "do"));
    const json_t *ranks = json_object_get(request, "ranks");
    json_t *crcs;

    if (strcmp(what, "list") == 0) {
        answer_list(w);
    } else if (strcmp(what, "crc") == 0) {
        crcs = json_array();
        each_rank(w, ranks, add_crc, crcs);
        say(w, json_pack("{s:s, s:i, s:o}", "is", "crc", "id", 2, "crc", crcs));
    } else if (these.fails && w->node % 2) {
        say(w, json_pack("{s:s, s:i, s:s}", "is", "error", "id", 3, "error", "it broke"));
    } else {
        assert_string_equal(what, "send");
        each_rank(w, ranks, refuse, NULL);
        say(w, json_pack("{s:s, s:i, s:i}", "is", "send", "id", 3, "sent", 0));
    }
}

/* Each says one thing. */
int ti_conns_poll(struct ti_conns *all, int timeout_ms)
{
    int n = 0;

    for (struct ti_conn *w = all->first; w; w = w->next, n++) {
        json_t *request;

        if (!w->ready) {
            w->ready = true;
            w->calls.ready(w, w->arg);
        } else if (json_array_size(w->asked)) {
            request = json_incref(json_array_get(w->asked, 0));
            json_array_remove(w->asked, 0);
            answer(w, request);
            json_decref(request);
            timeout_ms = 0;
        }
    }
    if (timeout_ms)
        usleep(1000);
    return n;
}

/* --- tests ---------------------------------------------------------------- */

static void write_run(const char *folder)
{
    json_t *nodes = json_array(),
           *run = json_pack("{s:s, s:I, s:o}", "run_id", "5eed5eed5eed5eed5eed5eed5eed5eed", "np",
                            (json_int_t)these.np, "nodes", nodes);
    char path[128], name[32], site[32];

    for (int64_t i = 0; i < these.nodes; i++) {
        json_t *ranks = json_array();

        for (int64_t r = i; r < these.np; r += these.nodes)
            json_array_append_new(ranks, json_pack("[I, I]", (json_int_t)r, (json_int_t)r));
        snprintf(name, sizeof name, "n%" PRId64, i);
        snprintf(site, sizeof site, "s%" PRId64, i % 10);
        json_array_append_new(nodes,
                              json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "site", site,
                                        "host", name, "directory", "/there", "ranks", ranks));
    }
    snprintf(path, sizeof path, "%s/RUN.json", folder);
    assert_int_equal(json_dump_file(run, path, 0), 0);
    json_decref(run);
}

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void fetch(struct ti_fetch *f)
{
    struct ti_fetch_settings settings = {.timeout_s = 60, .arity = TI_ARITY_STAR};
    char folder[] = "/tmp/t-fetch-XXXXXX", path[64];
    struct ti_err err = {"", ""};
    struct ti_nodes nodes;
    double began;

    assert_non_null(mkdtemp(folder));
    write_run(folder);
    these.crcs = these.sends = these.listed = 0;
    began = cpu_seconds();
    assert_int_equal(ti_nodes_read(folder, &nodes, &err), TI_OK);
    assert_int_equal(ti_fetch(&nodes, &settings, false, f, &err), TI_OK);
    ti_nodes_free(&nodes);
    began = cpu_seconds() - began;
    print_message("%" PRId64 " ranks on %" PRId64 " nodes: %.2f s, %" PRId64 " MiB\n", these.np,
                  these.nodes, began, f->memory_bytes >> 20);
    assert_true(began < SECONDS_MOST);
    assert_int_equal(f->wanted, these.np);
    assert_int_equal(f->fetched, 0);
    snprintf(path, sizeof path, "%s/RUN.json", folder);
    unlink(path);
    rmdir(folder);
}

/* All that could not be had, each rank once. */
static void are_told(const struct ti_fetch *f, const char *even, const char *odd)
{
    int64_t ranks = 0;

    assert_int_equal(f->nfailures, these.nodes);
    for (int i = 0; i < f->nfailures; i++) {
        const struct ti_fetch_failure *x = &f->failure[i];
        int64_t node = atoll(x->node + 1);

        assert_string_equal(x->why, node % 2 ? odd : even);
        for (size_t k = 0; k < x->ranks.n; k++) {
            assert_int_equal(x->ranks.range[k].first % these.nodes, node);
            assert_int_equal(x->ranks.range[k].first, x->ranks.range[k].last);
        }
        ranks += ti_ranges_count(&x->ranks);
    }
    assert_int_equal(ranks, these.np);
}

static int64_t many(void)
{
    const char *np = getenv("TI_FETCH_NP"); /* to measure more */

    return np ? atoll(np) : 100000;
}

static void test_nothing_there(void **state)
{
    struct ti_fetch f;

    (void)state;
    these.np = many();
    these.nodes = 1000;
    fetch(&f);
    assert_int_equal(these.sends, these.np);
    assert_int_equal(these.listed, 2 * these.nodes); /* once more before that */
    are_told(&f, "no trace", "no trace");
    ti_fetch_free(&f);
}

static void test_half_is_lost(void **state)
{
    struct ti_fetch f;

    (void)state;
    these.np = many();
    these.nodes = 1000;
    these.lists = these.fails = true;
    fetch(&f);
    are_told(&f, "cannot read it", "it broke");
    ti_fetch_free(&f);
    these.lists = these.fails = false;
}

static void test_copies(void **state)
{
    struct ti_fetch f;

    (void)state;
    these.np = many();
    these.nodes = 1000;
    these.lists = these.copies = true;
    fetch(&f);
    assert_int_equal(f.alike, these.np);
    assert_int_equal(these.crcs, 2 * these.np);
    assert_true(these.sends >= 2 * these.np);
    ti_fetch_free(&f);
    these.lists = these.copies = false;
}

/* Few nodes with many ranges each. */
static void test_long_lists(void **state)
{
    struct ti_fetch f;

    (void)state;
    these.np = many();
    these.nodes = 2;
    these.lists = true;
    fetch(&f);
    assert_true(these.sends >= these.np);
    are_told(&f, "cannot read it", "cannot read it");
    these.copies = true;
    ti_fetch_free(&f);
    fetch(&f);
    assert_int_equal(f.alike, these.np);
    ti_fetch_free(&f);
    these.lists = these.copies = false;
}

/* A fetch uses the connections of the one before; what ended meanwhile is opened again. */
static void test_kept(void **state)
{
    struct ti_fetch_settings settings = {.timeout_s = 60, .arity = TI_ARITY_STAR};
    struct ti_kept kept = {.conns = NULL};
    struct ti_err err = {"", ""};
    struct ti_nodes nodes;
    char folder[] = "/tmp/t-fetch-XXXXXX", path[64];

    (void)state;
    these.np = 100;
    these.nodes = 10;
    settings.kept = &kept;
    assert_non_null(mkdtemp(folder));
    write_run(folder);
    assert_int_equal(ti_nodes_read(folder, &nodes, &err), TI_OK);
    for (int round = 0; round < 3; round++) {
        struct ti_fetch f;

        these.listed = 0;
        assert_int_equal(ti_fetch(&nodes, &settings, false, &f, &err), TI_OK);
        assert_int_equal(these.listed, 2 * these.nodes);
        assert_int_equal(f.kept, round == 0 ? 0 : round == 1 ? these.nodes : these.nodes - 3);
        assert_int_equal(kept.conns->opened, round < 2 ? these.nodes : these.nodes + 3);
        are_told(&f, "no trace", "no trace");
        ti_fetch_free(&f);
        for (int i = 0; round == 1 && i < 3; i++)
            kept.conn[i]->closed = true;
    }
    ti_kept_free(&kept);
    ti_nodes_free(&nodes);
    snprintf(path, sizeof path, "%s/RUN.json", folder);
    unlink(path);
    rmdir(folder);
}

/* The tree of kept connections counts, though another one would be planned. */
static void test_kept_tree(void **state)
{
    struct ti_fetch_settings settings = {.timeout_s = 60, .arity = 1};
    struct ti_kept kept = {.conns = NULL};
    struct ti_err err = {"", ""};
    struct ti_nodes nodes;
    struct ti_fetch before, f;
    char folder[] = "/tmp/t-fetch-XXXXXX", path[64];
    int64_t behind = 0;
    int children[2000] = {0}, most = 0;

    (void)state;
    these.np = these.nodes = 2000;
    settings.kept = &kept;
    assert_non_null(mkdtemp(folder));
    write_run(folder);
    assert_int_equal(ti_nodes_read(folder, &nodes, &err), TI_OK);
    assert_int_equal(ti_fetch(&nodes, &settings, false, &before, &err), TI_OK);
    settings.arity = TI_ARITY_STAR;
    assert_int_equal(ti_fetch(&nodes, &settings, false, &f, &err), TI_OK);
    assert_int_equal(f.kept, these.nodes);
    assert_int_equal(kept.conns->opened, these.nodes);
    for (int64_t i = 0; i < these.nodes; i++) {
        int64_t parent = f.node[i].parent;

        assert_int_equal(parent, before.node[i].parent);
        assert_int_equal(f.node[i].depth, parent < 0 ? 1 : 1 + f.node[parent].depth);
        behind += parent >= 0;
        if (parent >= 0 && ++children[parent] > most)
            most = children[parent];
    }
    assert_true(behind > these.nodes / 2);
    assert_int_equal(f.arity, most);
    ti_fetch_free(&f);
    ti_fetch_free(&before);
    ti_kept_free(&kept);
    ti_nodes_free(&nodes);
    snprintf(path, sizeof path, "%s/RUN.json", folder);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_there), cmocka_unit_test(test_half_is_lost),
        cmocka_unit_test(test_copies),        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_kept),          cmocka_unit_test(test_kept_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
