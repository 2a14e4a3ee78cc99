/* The predicted cost of a tree: a simulation of its logins and of its transfers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/order.h"
#include "gather/fetch/tree.h"
#include "gather/fetch/tree_internal.h"

#define HERE_MAX 8 /* times as many connections are opened here as through one gateway */

void ti__group(const int64_t *key, int64_t n, int64_t groups, int64_t *order, int64_t *first)
{
    memset(first, 0, (size_t)(groups + 1) * sizeof *first);
    for (int64_t i = 0; i < n; i++)
        if (key[i] >= 0)
            first[key[i] + 1]++;
    for (int64_t k = 0; k < groups; k++)
        first[k + 1] += first[k];
    for (int64_t i = 0; i < n; i++)
        if (key[i] >= 0)
            order[first[key[i]]++] = i;
    memmove(first + 1, first, (size_t)groups * sizeof *first);
    first[0] = 0;
}

struct event {
    double at;
    int64_t node;
};

struct sim {
    const struct ti_tree_in *in;
    const struct ti_tree *t;
    const struct ti_tree_costs *c;
    int64_t *child; /* of this machine, then of each node: those of i begin at first[i + 1] */
    int64_t *first;
    int64_t *queue;              /* parents before children */
    int64_t *size;               /* of the node's subtree */
    int64_t *turn;               /* nodes of its site that this machine connects before it */
    int64_t *count;              /* of each site, for `turn` */
    double *connected;           /* when we know that the node is connected */
    double *busy;                /* until when its link is busy */
    double *site_busy, *gateway; /* of its link; when its gateway is connected, < 0: not begun */
    double *slot;                /* until when each slot for a new connection is taken */
    double *gateway_slot;        /* the same of each site's gateway */
    struct event *event;
};

static double path_rtt(const struct sim *s, int64_t node)
{
    return node < 0 ? 0 : s->c->rtt_s + (s->t->depth[node] - 1) * s->c->inner_rtt_s;
}

static void *array(size_t n, size_t each)
{
    return calloc(n + 2, each);
}

static bool sim_new(struct sim *s)
{
    size_t n = (size_t)s->t->n, sites = (size_t)s->in->nsites, most = (size_t)s->c->most_new;

    s->child = array(n, sizeof *s->child);
    s->first = array(n, sizeof *s->first);
    s->queue = array(n, sizeof *s->queue);
    s->size = array(n, sizeof *s->size);
    s->turn = array(n, sizeof *s->turn);
    s->count = array(sites, sizeof *s->count);
    s->connected = array(n, sizeof *s->connected);
    s->busy = array(n, sizeof *s->busy);
    s->site_busy = array(sites, sizeof *s->site_busy);
    s->gateway = array(sites, sizeof *s->gateway);
    s->slot = array(most * HERE_MAX, sizeof *s->slot);
    s->gateway_slot = array(sites * most, sizeof *s->gateway_slot);
    s->event = array(n, sizeof *s->event);
    return s->child && s->first && s->queue && s->size && s->turn && s->count && s->connected &&
           s->busy && s->site_busy && s->gateway && s->slot && s->gateway_slot && s->event;
}

static void sim_free(struct sim *s)
{
    free(s->child);
    free(s->first);
    free(s->queue);
    free(s->size);
    free(s->turn);
    free(s->count);
    free(s->connected);
    free(s->busy);
    free(s->site_busy);
    free(s->gateway);
    free(s->slot);
    free(s->gateway_slot);
    free(s->event);
}

/* Large subtrees first; of equal ones, sites take turns. */
static int by_size(const void *a, const void *b, void *arg)
{
    const struct sim *s = arg;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    if (s->size[x] != s->size[y])
        return s->size[x] > s->size[y] ? -1 : 1;
    if (s->turn[x] != s->turn[y])
        return s->turn[x] < s->turn[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Fills child, first, queue, size and turn. */
static void order_children(struct sim *s)
{
    int64_t n = s->t->n, queued;

    for (int64_t i = 0; i < n; i++)
        s->turn[i] = s->t->parent[i] + 1;
    ti__group(s->turn, n, n + 1, s->child, s->first);
    for (queued = 0; queued < s->first[1]; queued++)
        s->queue[queued] = s->child[queued];
    for (int64_t q = 0; q < queued; q++)
        for (int64_t k = s->first[s->queue[q] + 1]; k < s->first[s->queue[q] + 2]; k++)
            s->queue[queued++] = s->child[k];
    for (int64_t i = 0; i < n; i++)
        s->size[i] = 1;
    for (int64_t q = n - 1; q >= 0; q--)
        if (s->t->parent[s->queue[q]] >= 0)
            s->size[s->t->parent[s->queue[q]]] += s->size[s->queue[q]];
    memset(s->turn, 0, (size_t)n * sizeof *s->turn);
    for (int64_t k = 0; k < s->first[1]; k++)
        s->turn[s->child[k]] = s->count[s->in->site[s->child[k]]]++;
    for (int64_t p = 0; p <= n; p++)
        qsort_r(s->child + s->first[p], (size_t)(s->first[p + 1] - s->first[p]), sizeof *s->child,
                by_size, s);
}

static double *earliest(double *slot, int n)
{
    double *least = slot;

    for (int i = 1; i < n; i++)
        if (slot[i] < *least)
            least = &slot[i];
    return least;
}

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

/* Connects the site's gateway, once, and returns when it is connected. */
static double connect_gateway(struct sim *s, int site, double at, double *cpu)
{
    if (!s->in->gateway[site])
        return at;
    if (s->gateway[site] < 0) {
        *cpu = max_of(*cpu, at) + s->c->login_cpu_s;
        s->gateway[site] = *cpu + s->c->login_rtts * s->c->rtt_s;
    }
    return max_of(at, s->gateway[site]);
}

/* Connects the children of `parent` (-1: this machine): a limited number at a time, with the
 * processor time of each login in sequence.  A relay starts when we have told it to. */
static void open_children(struct sim *s, int64_t parent)
{
    const struct ti_tree_costs *c = s->c;
    bool here = parent < 0;
    int slots = here ? c->most_new * HERE_MAX : c->most_new;
    double cpu = 0, begin = here ? 0 : s->connected[parent] + path_rtt(s, parent) / 2,
           wait = c->login_rtts * (here ? c->rtt_s : c->inner_rtt_s) + c->start_s;

    for (int i = 0; i < slots; i++)
        s->slot[i] = begin;
    for (int64_t k = s->first[parent + 1]; k < s->first[parent + 2]; k++) {
        int64_t child = s->child[k];
        int site = s->in->site[child];
        bool guarded = here && s->in->gateway[site];
        double *slot = earliest(s->slot, slots), *gateway_slot = NULL, at = *slot;

        if (guarded) {
            gateway_slot =
                earliest(s->gateway_slot + (size_t)site * (size_t)c->most_new, c->most_new);
            at = connect_gateway(s, site, max_of(at, *gateway_slot), &cpu);
        }
        cpu = max_of(cpu, at) + c->login_cpu_s;
        *slot = cpu + wait;
        if (gateway_slot)
            *gateway_slot = *slot;
        s->connected[child] = *slot + path_rtt(s, parent) / 2;
    }
}

TI_ORDER_BY_2(by_time, struct event, at, node)

/* Sends over a link that is busy as long as data is queued; returns when it is done. */
static double send_over(double *busy, double at, double bytes, double rate)
{
    *busy = max_of(*busy, at) + bytes / rate;
    return *busy;
}

/* When the last byte is here: the latest time that any link is busy. */
static double transfer(struct sim *s)
{
    double end = 0, here = 0;

    for (int64_t i = 0; i < s->t->n; i++)
        s->event[i] = (struct event){s->connected[i] + path_rtt(s, i), i};
    qsort(s->event, (size_t)s->t->n, sizeof *s->event, by_time);
    for (int64_t k = 0; k < s->t->n; k++) {
        int64_t node = s->event[k].node;
        double at = s->event[k].at,
               bytes = s->in->bytes ? (1 + s->c->headers) * (double)s->in->bytes[node] : 0;

        for (int64_t i = node; i >= 0; i = s->t->parent[i])
            end = max_of(end, send_over(&s->busy[i], at, bytes, s->c->node_rate));
        end = max_of(end, send_over(&s->site_busy[s->in->site[node]], at, bytes, s->c->site_rate));
        end = max_of(end, send_over(&here, at, bytes, s->c->rate));
    }
    return end;
}

/* The same if all nodes were connected from the start, and without headers. */
static double bound(const struct sim *s)
{
    double *node = s->busy, *site = s->site_busy, here = 0, most = 0;

    if (!s->in->bytes)
        return 0;
    memset(node, 0, (size_t)s->t->n * sizeof *node);
    memset(site, 0, (size_t)s->in->nsites * sizeof *site);
    for (int64_t q = s->t->n - 1; q >= 0; q--) {
        int64_t i = s->queue[q];

        node[i] += (double)s->in->bytes[i];
        site[s->in->site[i]] += (double)s->in->bytes[i];
        here += (double)s->in->bytes[i];
        if (s->t->parent[i] >= 0)
            node[s->t->parent[i]] += node[i];
        most = max_of(most, node[i] / s->c->node_rate);
        most = max_of(most, site[s->in->site[i]] / s->c->site_rate);
    }
    return max_of(most, here / s->c->rate);
}

static int rounds_of(int64_t n, int64_t base)
{
    int rounds = 0;

    for (int64_t reached = 1; reached < n; reached *= base)
        rounds++;
    return rounds;
}

static int most_rounds(const struct ti_tree_in *in, const struct ti_tree *t, int64_t *count)
{
    int most = t->n ? 1 : 0;

    if (t->arity == TI_ARITY_STAR)
        return most;
    memset(count, 0, (size_t)in->nsites * sizeof *count);
    for (int64_t i = 0; i < in->n; i++)
        if (!in->direct || !in->direct[i])
            count[in->site[i]]++;
    for (int s = 0; s < in->nsites; s++) {
        int rounds = rounds_of(count[s] + (in->gateway[s] ? 0 : 1), t->arity + 1);

        if (rounds > most)
            most = rounds;
    }
    return most;
}

struct ti_tree_cost ti_tree_cost(const struct ti_tree_in *in, const struct ti_tree *t,
                                 const struct ti_tree_costs *costs)
{
    struct sim s = {.in = in, .t = t, .c = costs};
    struct ti_tree_cost cost = {.connect_s = INFINITY, .bound_s = INFINITY, .total_s = INFINITY};

    if (!sim_new(&s))
        goto out;
    order_children(&s);
    cost = (struct ti_tree_cost){.rounds = most_rounds(in, t, s.count), .here = s.first[1]};
    for (int i = 0; i < in->nsites; i++)
        s.gateway[i] = -1;
    open_children(&s, -1);
    for (int64_t q = 0; q < t->n; q++) {
        int64_t i = s.queue[q], children = s.first[i + 2] - s.first[i + 1];

        if (children)
            open_children(&s, i);
        if (children > cost.most)
            cost.most = children;
        if (t->depth[i] > cost.depth)
            cost.depth = t->depth[i];
        cost.connect_s = max_of(cost.connect_s, s.connected[i]);
    }
    cost.total_s = max_of(cost.connect_s, transfer(&s));
    cost.bound_s = bound(&s);
out:
    sim_free(&s);
    return cost;
}
