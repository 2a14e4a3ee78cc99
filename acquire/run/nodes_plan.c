/* The plan for nodes: the placement and the common ISA, by the sites alone or by the survey. */
#include <stdlib.h>

#include "acquire/plan/common_isa.h"
#include "acquire/plan/estimate.h"
#include "acquire/run/nodes.h"
#include "common/json.h"
#include "common/names.h"
#include "common/order.h"
#include "remote/remote.h"

/* --- for all files of the back end -------------------------------------- */

ti_status ti__nodes_trouble(struct ti_nodes_backend *b, struct ti_err *err)
{
    if (b->fleet->sig)
        return ti_acquisition_interrupted(b->a, b->fleet->sig, err);
    return b->a->lost_nodes ? ti_acquisition_lost_error(b->a, err) : TI_OK;
}

struct ti_used_node *ti__nodes_used(struct ti_nodes_backend *b, int64_t node)
{
    int64_t i;

    TI_FIRST(i, 0, b->nused, b->used[i].node < node);
    return i < b->nused && b->used[i].node == node ? &b->used[i] : NULL;
}

/* --- the placement ------------------------------------------------------- */

/* Name the run directory of a node.  The name is unique even if several nodes share a disk. */
static void name_directory(const struct ti_nodes_backend *b, struct ti_used_node *u)
{
    const struct ti_node *node = &b->sites->node[u->node];

    snprintf(u->directory, sizeof u->directory, "%.2000s/tiara-%.12s.%.255s",
             ti_survey_trace_base(&b->sites->cluster[node->cluster], &b->ask), b->a->run_id,
             node->name);
    snprintf(u->tmp, sizeof u->tmp, "/tmp/ompi-%.12s.%.64s", b->a->run_id, node->name);
    snprintf(u->shm, sizeof u->shm, "/dev/shm/tiara-%.12s.%.255s", b->a->run_id, node->name);
}

static ti_status list_used(struct ti_nodes_backend *b, struct ti_err *err)
{
    b->used = calloc((size_t)b->place.used_nodes + 1, sizeof *b->used);
    if (!b->used)
        return ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
    for (int64_t i = 0; i < b->place.nnodes; i++) {
        struct ti_used_node *u = &b->used[b->nused];

        if (!b->place.ranks[i])
            continue;
        *u = (struct ti_used_node){.node = i, .n = b->place.ranks[i]};
        name_directory(b, u);
        b->nused++;
    }
    return TI_OK;
}

void ti__nodes_plan_free(struct ti_nodes_backend *b)
{
    ti_rank_placement_free(&b->place);
    ti_order_free(&b->order);
    for (int64_t i = 0; i < b->nused; i++)
        json_decref(b->used[i].status);
    free(b->used);
    b->used = NULL;
    b->nused = 0;
}

ti_status ti__nodes_place(struct ti_nodes_backend *b, struct ti_err *err)
{
    const struct ti_options *o = b->a->o;
    bool surveyed = b->survey.facts != NULL;
    const struct ti_counter_backend *wanted = ti_counter_find(o->counter, NULL);
    bool valgrind = b->a->choice.valgrind || (wanted && wanted->wrapper);
    ti_status st;

    ti__nodes_plan_free(b);
    st = ti_place_request_from_options(o, b->sites, valgrind, &b->in, err);
    b->in.use = b->use;
    b->in.memory_bytes = surveyed ? b->memory : NULL;
    b->in.cores = surveyed ? b->cores : NULL;
    b->in.rank_bytes = b->rank_bytes ? b->rank_bytes : b->in.rank_bytes;
    if (st == TI_OK)
        st = ti_place_ranks(&b->in, &b->place, err);
    if (st != TI_OK)
        return st;
    ti_rank_placement_settings(&b->in, &b->place, valgrind, &b->a->plan);
    /* nodes may have other work, which spinning ranks would slow down */
    b->a->plan.yield = true;
    if (surveyed)
        st = list_used(b, err);
    if (st == TI_OK && o->like && (surveyed || o->dry_run))
        st = ti_like_order(&b->like, b->sites, &b->place, &b->order, err);
    b->map = ti_rank_map_of(&b->place, b->order.np ? &b->order : NULL);
    return st;
}

/* --- the instruction set ------------------------------------------------- */

static int64_t list_surveyed(const struct ti_nodes_backend *b, struct ti_common_isa_node *list)
{
    int64_t n = 0;

    for (int64_t i = 0; i < b->survey.n; i++)
        if (b->survey.usable[i])
            list[n++] = ti_common_isa_node_of_facts(b->sites->node[i].name, b->survey.facts[i]);
    return n;
}

/* One entry per cluster that has ranks, by what the sites say of its processors. */
static int64_t list_clusters(const struct ti_nodes_backend *b, struct ti_common_isa_node *list)
{
    const struct ti_sites *s = b->sites;
    int64_t n = 0;

    for (int64_t i = 0, last = -1; i < s->nnodes; i++) {
        const struct ti_cluster *k = &s->cluster[s->node[i].cluster];

        if (!b->place.ranks[i] || s->node[i].cluster == last)
            continue;
        list[n++] = (struct ti_common_isa_node){
            .name = k->name, .family = k->family, .isa = k->isa, .cpu = k->cpu};
        last = s->node[i].cluster;
    }
    return n;
}

ti_status ti__nodes_choose_isa(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    struct ti_common_isa_node *list = calloc((size_t)b->sites->nnodes + 1, sizeof *list);
    bool surveyed = b->survey.facts != NULL;
    const struct ti_counter_backend *wanted = ti_counter_find(a->o->counter, NULL);
    bool counted = surveyed ? !a->choice.estimate : !wanted || !wanted->estimate;
    struct ti_common_isa made;
    int64_t n;
    ti_status st;

    if (!list)
        return ti_err_errno(err, TI_ERR_IO, "cannot compare the nodes");
    n = surveyed ? list_surveyed(b, list) : list_clusters(b, list);
    st = ti_common_isa_choose(list, n, a->o->isa, a->o->isa_native, counted, &made, err);
    if (st == TI_OK) {
        a->isa = made.isa;
        a->isa_chosen = made.chosen;
        if (made.said)
            ti_say("%s", made.said);
        for (int i = 0; i < made.nwarnings; i++)
            ti_warn("%s", made.warning[i]);
    }
    ti_common_isa_free(&made);
    free(list);
    return st;
}

/* --- for people and programs --------------------------------------------- */

static struct ti_estimate_logins count_logins(const struct ti_nodes_backend *b)
{
    struct ti_estimate_logins l = {0, 0, TI_REMOTE_OPENING_ALL, TI_REMOTE_OPENING};
    const struct ti_sites *s = b->sites;
    struct ti_names gateways = {0};
    int64_t *behind = NULL;
    size_t room = 0;

    for (int64_t i = 0; i < s->nnodes; i++) {
        const char *gateway = s->site[s->cluster[s->node[i].cluster].site].gateway;
        size_t known = gateways.map.n, g;

        if (b->place.ranks[i] == 0)
            continue;
        l.nodes++;
        if (!gateway)
            continue;
        g = ti_names_add(&gateways, gateway);
        if (g == known) {
            behind = ti_grow(behind, &room, g + 1, sizeof *behind);
            behind[g] = 0;
        }
        l.busiest = ++behind[g] > l.busiest ? behind[g] : l.busiest;
    }
    ti_names_free(&gateways);
    free(behind);
    return l;
}

void ti__nodes_print_ranks(const struct ti_acquisition *a, FILE *out)
{
    const struct ti_nodes_backend *b = a->state;
    char text[512];
    struct ti_estimate_logins logins = count_logins(b);

    ti_rank_placement_print(&b->in, &b->place, out);
    if (b->order.np)
        fprintf(out, "  order     %s\n", ti_order_text(&b->order, text, sizeof text));
    ti_estimate_connect_print(&logins, out);
}

void ti__nodes_print_traces(const struct ti_acquisition *a, FILE *out)
{
    const struct ti_nodes_backend *b = a->state;

    if (b->nused) {
        ti_print(out, "  traces    %s on its node, for one\n", b->used[0].directory);
        ti_print(out, "  run       %s (log: %s)\n", a->dir_name, a->log_name);
    } else {
        ti_print(out, "  traces    on each node; run directory %s here\n", a->dir_name);
    }
}

static json_t *via_json(char *const *via)
{
    json_t *list;

    if (!via)
        return json_null();
    list = json_array();
    for (; *via; via++)
        json_array_append_new(list, ti_json_text(*via));
    return list;
}

/* The nodes in RUN.json: what ti-gather needs to fetch the traces (gather/fetch/nodes.h), and facts
 * for readers. */
static json_t *nodes_json(const struct ti_nodes_backend *b)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < b->nused; i++) {
        const struct ti_used_node *u = &b->used[i];
        const struct ti_node *node = &b->sites->node[u->node];
        const struct ti_cluster *cluster = &b->sites->cluster[node->cluster];
        const struct ti_site *site = &b->sites->site[cluster->site];
        const struct ti_fleet_node *m = &b->fleet->member[u->node];
        int cores = b->cores[u->node];

        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:f}", "name", node->name,
                      "site", site->name, "cluster", cluster->name, "host",
                      ti_json_text(m->is_local ? NULL : node->name), "hostname",
                      ti_json_string(m->hello, "host"), "gateway", ti_json_text(site->gateway),
                      "via", m->is_local ? json_null() : via_json(b->sites->via), "tiara",
                      ti_json_text(cluster->tiara), "directory", u->directory, "ranks",
                      ti_rank_map_json(&b->map, u->node), "folding",
                      cores > 0 ? (double)u->n / cores : (double)u->n));
    }
    return list;
}

void ti__nodes_describe(const struct ti_acquisition *a, json_t *json)
{
    const struct ti_nodes_backend *b = a->state;

    json_object_set_new(json, "sites", ti_json_text(a->sites->path));
    if (a->planned)
        json_object_set_new(json, "plan", ti_rank_placement_json(&b->in, &b->place));
    else if (b && b->place.largest_np && b->place.largest_np != INT64_MAX)
        json_object_set_new(json, "largest_np", json_integer(b->place.largest_np));
    if (a->planned && b->order.np)
        json_object_set_new(json, "order", ti_order_json(&b->order));
    if (a->planned && a->isa)
        json_object_set_new(json, "isa", json_string(a->isa));
    if (b && b->nused)
        json_object_set_new(json, "nodes", nodes_json(b));
}
