#include "replay-bridge/replayer/profile/loops.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/map.h"
#include "common/ranges.h"
#include "fold/record_layout.h"
#include "fold/shape.h"

/* A loop or call of a group. */
struct node {
    uint32_t end; /* the node after it, and after its body */
    bool loop;
    uint32_t op;
    int32_t in;                    /* the innermost loop of a call; of a loop, itself; -1: none */
    char *site;                    /* of a call; "": not known */
    struct ti_column_stats trips;  /* of a loop */
    struct ti_profile_times times; /* of a call; of a loop from sum_up() */
};

struct group {
    uint64_t hash;
    struct ti_ranges ranks;
    struct node *node;
    uint32_t nnodes;
};

struct ti_profile_loops {
    struct group *group;
    size_t n, room;
    int32_t nloops; /* of all groups; the index of a loop is its place in this order */
};

void ti_profile_times_add(struct ti_profile_times *sum, const struct ti_profile_times *t)
{
    sum->calls += t->calls;
    sum->computing += t->computing;
    sum->communicating += t->communicating;
    sum->waiting += t->waiting;
}

json_t *ti_profile_times_json(const struct ti_profile_times *t)
{
    return json_pack("{s:I, s:f, s:f, s:f}", "calls", (json_int_t)t->calls, "computing_s",
                     t->computing, "communicating_s", t->communicating, "waiting_s", t->waiting);
}

struct ti_profile_loops *ti_profile_loops_new(void)
{
    size_t none = 0;

    return ti_grow(NULL, &none, 1, sizeof(struct ti_profile_loops));
}

void ti_profile_loops_free(struct ti_profile_loops *all)
{
    for (size_t i = 0; all && i < all->n; i++) {
        for (uint32_t k = 0; k < all->group[i].nnodes; k++)
            free(all->group[i].node[k].site);
        free(all->group[i].node);
        ti_ranges_free(&all->group[i].ranks);
    }
    if (all)
        free(all->group);
    free(all);
}

static const char *site_of(const struct ti_reader *r, uint32_t number)
{
    const char *text = number ? ti_reader_string(r, TI_STRING_SITE, number) : NULL;

    return text ? text : "";
}

/* Groups with equal hashes are taken to be the same. */
static uint64_t hash_of(const struct ti_folded *f, const struct ti_reader *r)
{
    uint64_t hash = TI_HASH_START;

    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        hash = ti_hash_word(hash, (uint64_t)node.end << 1 | node.loop);
        if (node.loop)
            continue;
        hash = ti_hash_word(hash, node.op);
        for (const char *p = site_of(r, node.site); *p; p++)
            hash = ti_hash_word(hash, (unsigned char)*p);
        hash = ti_hash_word(hash, 256);
    }
    return hash;
}

/* Number the loops of a group, from *n on, and find the loop of each node. */
static void number_loops(struct group *g, int32_t *n)
{
    uint32_t loop[TI_SHAPE_DEPTH];
    int depth = 0;

    for (uint32_t i = 0; i < g->nnodes; i++) {
        while (depth && i >= g->node[loop[depth - 1]].end)
            depth--;
        if (g->node[i].loop)
            g->node[i].in = (*n)++;
        else
            g->node[i].in = depth ? g->node[loop[depth - 1]].in : -1;
        if (g->node[i].loop)
            loop[depth++] = i;
    }
}

static void make_group(struct group *g, uint64_t hash, const struct ti_folded *f,
                       const struct ti_reader *r)
{
    size_t none = 0;

    *g = (struct group){.hash = hash, .nnodes = ti_shape_nodes(f)};
    g->node = ti_grow(NULL, &none, (size_t)g->nnodes + 1, sizeof *g->node);
    for (uint32_t i = 0; i < g->nnodes; i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        g->node[i] = (struct node){
            .end = node.end, .loop = node.loop, .op = node.op, .trips = {.min = INT64_MAX}};
        if (!node.loop && !(g->node[i].site = strdup(site_of(r, node.site))))
            TI_BUG("no memory for a call site");
    }
}

static void add_trips(struct group *g, const struct ti_folded *f)
{
    struct ti_column_stats trips;

    for (uint32_t i = 0; i < g->nnodes; i++) {
        struct ti_column_stats *all = &g->node[i].trips;

        if (!g->node[i].loop || !ti_shape_trips(f, i, &trips))
            continue;
        all->n += trips.n;
        all->sum += trips.sum;
        all->min = trips.min < all->min ? trips.min : all->min;
        all->max = trips.max > all->max ? trips.max : all->max;
    }
}

int64_t ti_profile_loops_begin(struct ti_profile_loops *all, const struct ti_reader *r,
                               int64_t rank)
{
    const struct ti_folded *f = ti_reader_folded(r);
    uint64_t hash;
    size_t i = 0;

    if (!f)
        return -1;
    hash = hash_of(f, r);
    while (i < all->n && (all->group[i].hash != hash || all->group[i].nnodes != ti_shape_nodes(f)))
        i++;
    if (i == all->n) {
        all->group = ti_grow(all->group, &all->room, ++all->n, sizeof *all->group);
        make_group(&all->group[i], hash, f, r);
        number_loops(&all->group[i], &all->nloops);
    }
    ti_ranges_add(&all->group[i].ranks, rank);
    add_trips(&all->group[i], f);
    return (int64_t)i;
}

void ti_profile_loops_add(struct ti_profile_loops *all, int64_t group, const struct ti_reader *r,
                          const struct ti_profile_times *t)
{
    ti_profile_times_add(&all->group[group].node[ti_folded_node(ti_reader_folded(r))].times, t);
}

int32_t ti_profile_loops_in(const struct ti_profile_loops *all, int64_t group,
                            const struct ti_reader *r)
{
    return all->group[group].node[ti_folded_node(ti_reader_folded(r))].in;
}

/* The times of a loop: the sums of its calls. */
static struct ti_profile_times sum_up(const struct group *g, uint32_t loop)
{
    struct ti_profile_times sum = {0};

    for (uint32_t i = loop + 1; i < g->node[loop].end; i++)
        ti_profile_times_add(&sum, &g->node[i].times);
    return sum;
}

static json_t *loop_json(const struct group *g, uint32_t i, int depth)
{
    const struct node *loop = &g->node[i];
    struct ti_profile_times sum = sum_up(g, i);
    json_t *j = ti_profile_times_json(&sum);
    uint32_t first = i;

    while (g->node[first].loop)
        first++;
    json_object_set_new(j, "ranks", ti_ranges_json(&g->ranks));
    json_object_set_new(j, "depth", json_integer(depth));
    json_object_set_new(j, "passes", ti_json_u64(loop->trips.n));
    json_object_set_new(j, "trips",
                        json_pack("{s:I, s:I}", "minimum", (json_int_t)loop->trips.min, "maximum",
                                  (json_int_t)loop->trips.max));
    json_object_set_new(j, "all_trips", ti_json_u64(loop->trips.sum));
    json_object_set_new(j, "operation", json_string(ti_op_info(g->node[first].op)->text));
    json_object_set_new(j, "site", ti_json_text(g->node[first].site));
    return j;
}

json_t *ti_profile_loops_json(const struct ti_profile_loops *all)
{
    json_t *list = json_array();
    uint32_t end[TI_SHAPE_DEPTH];

    for (size_t k = 0; k < all->n; k++) {
        const struct group *g = &all->group[k];
        int depth = 0;

        for (uint32_t i = 0; i < g->nnodes; i++) {
            while (depth && i >= end[depth - 1])
                depth--;
            if (!g->node[i].loop)
                continue;
            json_array_append_new(list, loop_json(g, i, depth));
            end[depth++] = g->node[i].end;
        }
    }
    return list;
}
