#include "replay-bridge/causes.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/map.h"
#include "common/ranges.h"
#include "fold/record_layout.h"

#define HELPS   10
#define LEAST_S 1e-9 /* SimGrid's precision: what is shorter is rounding */

/* The kinds of time of a path; the first KINDS add up to it. */
enum { COMPUTING, LATENCY, BANDWIDTH, OVERHEAD, CONTENTION, START, COLLECTIVE, ALL };
#define KINDS COLLECTIVE

#define NO_LOOP SIZE_MAX

static const char *const keys[ALL] = {"computing_s",  "latency_s", "bandwidth_s", "overhead_s",
                                      "contention_s", "start_s",   "collective_s"};

/* A part of the path: on one rank, at one call site, or sums of these. */
struct part {
    int64_t rank;
    const char *operation, *site;
    size_t loop; /* index in the list of the profile; NO_LOOP: in none */
    double s[ALL];
    struct ti_ranges ranks;
};

struct parts {
    struct part *list;
    size_t n, room;
};

/* ---- sums ---- */

static struct parts read_parts(const json_t *list)
{
    struct parts all = {0};
    const json_t *j;
    size_t i;

    json_array_foreach(list, i, j)
    {
        struct part *part;

        all.list = ti_grow(all.list, &all.room, all.n + 1, sizeof *all.list);
        part = &all.list[all.n++];
        part->rank = json_integer_value(json_object_get(j, "rank"));
        part->operation = ti_json_string(j, "operation");
        part->site = ti_json_string(j, "site");
        part->loop = json_object_get(j, "loop") ? (size_t)ti_json_number(j, "loop") : NO_LOOP;
        for (int k = 0; k < ALL; k++)
            part->s[k] = ti_json_number(j, keys[k]);
        ti_ranges_add(&part->ranks, part->rank);
    }
    return all;
}

static void free_parts(struct parts *all)
{
    for (size_t i = 0; i < all->n; i++)
        ti_ranges_free(&all->list[i].ranks);
    free(all->list);
}

static int by_rank(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_site(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = strcmp(x->site, y->site);

    return order ? order : strcmp(x->operation, y->operation);
}

/* Sums of the parts that `order` calls equal. */
static struct parts sums(const struct parts *all, int (*order)(const void *, const void *))
{
    struct parts sum = {0};

    qsort(all->list, all->n, sizeof *all->list, order);
    for (size_t i = 0; i < all->n; i++) {
        const struct part *part = &all->list[i];
        struct part *into;

        if (!i || order(&all->list[i - 1], part) != 0) {
            sum.list = ti_grow(sum.list, &sum.room, sum.n + 1, sizeof *sum.list);
            sum.list[sum.n] = *part;
            memset(sum.list[sum.n].s, 0, sizeof part->s);
            sum.list[sum.n++].ranks = (struct ti_ranges){0};
        }
        into = &sum.list[sum.n - 1];
        for (int k = 0; k < ALL; k++)
            into->s[k] += part->s[k];
        ti_ranges_add_all(&into->ranks, &part->ranks);
    }
    return sum;
}

static void add_times(json_t *j, const double *s)
{
    for (int k = 0; k < ALL; k++)
        json_object_set_new(j, keys[k], json_real(s[k]));
}

static json_t *ranks_json(const struct parts *by)
{
    json_t *list = json_array(), *j;

    for (size_t i = 0; i < by->n; i++) {
        j = json_pack("{s:I}", "rank", (json_int_t)by->list[i].rank);
        add_times(j, by->list[i].s);
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *sites_json(const struct parts *by)
{
    json_t *list = json_array(), *j;

    for (size_t i = 0; i < by->n; i++) {
        const struct part *part = &by->list[i];

        j = json_pack("{s:s, s:s, s:o}", "operation", part->operation, "site", part->site, "ranks",
                      ti_ranges_json(&part->ranks));
        add_times(j, part->s);
        json_array_append_new(list, j);
    }
    return list;
}

/* ---- loops ---- */

/* Loops of the profile that have the same name, of different ranks, and are in one loop. */
struct loop {
    size_t in; /* NO_LOOP: in none */
    int depth;
    const json_t *like; /* one of them; NULL: outside of all loops */
    double s[ALL];
    struct ti_ranges ranks;
};

struct loops {
    struct loop *list;
    size_t n, room;
    size_t *of; /* for each loop of the profile, its index in `list` */
};

/* The index of loop number `number` of the profile, which is in loop `in`.  `known` has the indexes
 * by name; a loop of which no call site is known is only itself. */
static size_t loop_index(struct loops *l, const json_t *loop, size_t number, size_t in,
                         json_t *known)
{
    const char *site = ti_json_string(loop, "site");
    char *key = NULL;
    size_t i = l->n;

    if (asprintf(&key, "%zu %zu %s", in, *site ? 0 : number, ti_json_string(loop, "name")) < 0)
        TI_BUG("no memory for the name of a loop");
    if (json_object_get(known, key)) {
        i = (size_t)json_integer_value(json_object_get(known, key));
    } else {
        l->list = ti_grow(l->list, &l->room, ++l->n, sizeof *l->list);
        l->list[i] = (struct loop){
            .in = in, .depth = in == NO_LOOP ? 0 : l->list[in].depth + 1, .like = loop};
        json_object_set_new(known, key, json_integer((json_int_t)i));
    }
    free(key);
    return i;
}

/* The loops of a profile, and at the end what is outside of them. */
static struct loops read_loops(const json_t *profile)
{
    const json_t *list = json_object_get(profile, "loops"), *loop;
    json_t *known = json_object();
    size_t above[TI_SHAPE_DEPTH + 1], none = 0, i;
    struct loops l = {.of = ti_grow(NULL, &none, json_array_size(list) + 1, sizeof *l.of)};

    json_array_foreach(list, i, loop)
    {
        size_t depth = (size_t)ti_json_number(loop, "depth");

        l.of[i] = loop_index(&l, loop, i, depth ? above[depth - 1] : NO_LOOP, known);
        above[depth] = l.of[i];
    }
    l.list = ti_grow(l.list, &l.room, ++l.n, sizeof *l.list);
    l.list[l.n - 1] = (struct loop){.in = NO_LOOP};
    l.of[i] = l.n - 1;
    json_decref(known);
    return l;
}

/* Add the loops in loop `in` to a list, each before those in it. */
static void add_loops(json_t *list, const struct loops *l, size_t in)
{
    static const char *const names[] = {"name", "operation", "site"};

    for (size_t i = 0; i < l->n; i++) {
        const struct loop *loop = &l->list[i];
        double time_s = 0;
        json_t *j;

        for (int k = 0; k < KINDS; k++)
            time_s += loop->s[k];
        if (loop->in != in || !(time_s > 0))
            continue;
        j = json_pack("{s:i, s:o, s:f}", "depth", loop->depth, "ranks",
                      ti_ranges_json(&loop->ranks), "time_s", time_s);
        for (size_t k = 0; loop->like && k < sizeof names / sizeof *names; k++)
            json_object_set(j, names[k], json_object_get(loop->like, names[k]));
        add_times(j, loop->s);
        json_array_append_new(list, j);
        if (loop->like)
            add_loops(list, l, i);
    }
}

static json_t *loops_json(const json_t *profile, const struct parts *all)
{
    size_t n = json_array_size(json_object_get(profile, "loops"));
    json_t *list = json_array();
    struct loops l;

    if (!n)
        return list;
    l = read_loops(profile);
    for (size_t i = 0; i < all->n; i++) {
        const struct part *part = &all->list[i];

        for (size_t at = l.of[part->loop < n ? part->loop : n]; at != NO_LOOP; at = l.list[at].in) {
            for (int k = 0; k < ALL; k++)
                l.list[at].s[k] += part->s[k];
            ti_ranges_add(&l.list[at].ranks, part->rank);
        }
    }
    add_loops(list, &l, NO_LOOP);
    for (size_t i = 0; i < l.n; i++)
        ti_ranges_free(&l.list[i].ranks);
    free(l.list);
    free(l.of);
    return list;
}

/* ---- what would help ---- */

struct help {
    const char *what;
    double seconds;
    const struct part *at; /* call site; NULL: the whole path */
};

struct helps {
    struct help *list;
    size_t n, room;
};

static void propose(struct helps *h, const char *what, double seconds, const struct part *at)
{
    if (seconds < LEAST_S)
        return;
    h->list = ti_grow(h->list, &h->room, h->n + 1, sizeof *h->list);
    h->list[h->n++] = (struct help){what, seconds, at};
}

/* The share of the path's computing that goes if each rank computes as much as the mean: bursts of
 * ranks above it shrink by the same factor on each rank, those of other ranks do not shrink. */
static double balanced(const json_t *ranks, const struct parts *by_ranks)
{
    double mean = 0, gain = 0;
    const json_t *rank;
    size_t i;

    json_array_foreach(ranks, i, rank)
    {
        mean += ti_json_number(rank, "computing_s") / (double)json_array_size(ranks);
    }
    for (i = 0; i < by_ranks->n; i++) {
        const struct part *part = &by_ranks->list[i];
        double own = ti_json_number(json_array_get(ranks, (size_t)part->rank), "computing_s");

        if (own > mean)
            gain += part->s[COMPUTING] * (1 - mean / own);
    }
    return gain;
}

static int by_seconds(const void *a, const void *b)
{
    const struct help *x = a, *y = b;

    if (x->seconds < y->seconds || x->seconds > y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return strcmp(x->what, y->what);
}

static json_t *helps_json(struct helps *h, double time_s)
{
    json_t *list = json_array(), *j;

    if (h->n)
        qsort(h->list, h->n, sizeof *h->list, by_seconds);
    for (size_t i = 0; i < h->n && i < HELPS; i++) {
        const struct help *help = &h->list[i];

        j = json_pack("{s:s, s:f, s:f}", "what", help->what, "at_most_s", help->seconds, "at_most",
                      time_s > 0 ? help->seconds / time_s : 0);
        if (help->at) {
            json_object_set_new(j, "operation", json_string(help->at->operation));
            json_object_set_new(j, "site", json_string(help->at->site));
            json_object_set_new(j, "ranks", ti_ranges_json(&help->at->ranks));
        }
        json_array_append_new(list, j);
    }
    return list;
}

json_t *ti_causes(const json_t *profile, bool scales, bool balances)
{
    const json_t *path = json_object_get(profile, "path"), *ranks;
    struct parts all = read_parts(json_object_get(path, "parts"));
    struct parts by_ranks = sums(&all, by_rank), by_sites = sums(&all, by_site);
    struct helps h = {0};
    double s[ALL] = {0}, time_s = ti_json_number(path, "time_s");
    json_t *j, *times = json_object();

    ranks = json_object_get(profile, "ranks");
    for (size_t i = 0; i < by_ranks.n; i++)
        for (int k = 0; k < ALL; k++)
            s[k] += by_ranks.list[i].s[k];
    add_times(times, s);
    propose(&h, "no computing", s[COMPUTING], NULL);
    propose(&h, "balance", balances ? balanced(ranks, &by_ranks) : 0, NULL);
    propose(&h, "no latency", s[LATENCY], NULL);
    propose(&h, "unlimited bandwidth", s[BANDWIDTH] + s[CONTENTION], NULL);
    propose(&h, "no contention", s[CONTENTION], NULL);
    propose(&h, "no overhead", s[OVERHEAD], NULL);
    for (size_t i = 0; i < by_sites.n; i++) {
        const struct part *at = &by_sites.list[i];

        propose(&h, "no computing", at->s[COMPUTING], at);
        propose(&h, "no communication",
                at->s[LATENCY] + at->s[BANDWIDTH] + at->s[OVERHEAD] + at->s[CONTENTION], at);
    }
    j = json_pack("{s:f, s:O, s:o, s:o, s:o, s:o, s:{s:f, s:f, s:f}, s:o}", "time_s", time_s,
                  "last_rank", json_object_get(path, "rank"), "path", times, "ranks",
                  ranks_json(&by_ranks), "sites", sites_json(&by_sites), "loops",
                  loops_json(profile, &all), "sensitivities", "speed_s",
                  scales ? -s[COMPUTING] : 0.0, "latency_s", s[LATENCY], "bandwidth_s",
                  -s[BANDWIDTH] - s[CONTENTION], "helps", helps_json(&h, time_s));
    free(h.list);
    free_parts(&by_sites);
    free_parts(&by_ranks);
    free_parts(&all);
    return j;
}
