/* After the run: traces as reported by the nodes, RUN.json, the bundle. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/run/nodes.h"
#include "formats/json.h"
#include "node/watch.h"

#define NODES_SAID      8
#define COLLECT_LIMIT_S 120.0
#define REMOVE_LIMIT_S  60.0

/* --- collecting ---------------------------------------------------------- */

static json_t *ranks_request(struct ti_fleet *f, int64_t node, void *arg)
{
    const struct ti_used_node *u = ti__nodes_used(arg, node);

    (void)f;
    if (!u || !u->open)
        return NULL;
    return json_pack("{s:s}", "do", "ranks");
}

ti_status ti__nodes_collect(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    ti_status st = ti_ranks_new(a->o->np, &a->ranks, err);
    char name[512];

    if (st != TI_OK)
        return st;
    ti__step_begin(b, TI_STEP_COLLECT);
    ti_fleet_ask_all(b->fleet, ranks_request, b, COLLECT_LIMIT_S, "collecting");
    for (int64_t i = 0; i < b->nused; i++)
        if (ti_fleet_ok(b->fleet, b->used[i].node, NULL)) {
            const json_t *answer = b->fleet->member[b->used[i].node].answer;

            json_t *own = ti__nodes_ranks(b, &b->used[i]);

            b->used[i].bytes = json_integer_value(json_object_get(answer, "bytes"));
            if (!ti_ranks_merge(&a->ranks, own, answer))
                ti_warn("node %s: what it says of its traces makes no sense",
                        ti_fleet_name(b->fleet, b->used[i].node, name, sizeof name));
            json_decref(own);
        }
    ti__step_end(b, TI_STEP_COLLECT);
    return TI_OK;
}

/* --- RUN.json ------------------------------------------------------------ */

static json_t *or_null(const char *text)
{
    return text ? ti_json_text(text) : json_null();
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

/* The nodes in RUN.json: what ti-gather needs to fetch the traces (gather/fetch.h), and facts for
 * readers. */
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
            list, json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:f}", "name",
                            node->name, "site", site->name, "cluster", cluster->name, "host",
                            m->is_local ? json_null() : ti_json_text(node->name), "hostname",
                            ti__text(m->hello, "host"), "gateway", or_null(site->gateway), "via",
                            m->is_local ? json_null() : via_json(b->sites->via), "tiara",
                            or_null(cluster->tiara), "directory", u->directory, "ranks",
                            ti__nodes_ranks(b, u), "folding",
                            cores > 0 ? (double)u->n / cores : (double)u->n));
    }
    return list;
}

static json_t *run_json(const struct ti_nodes_backend *b)
{
    json_t *json = ti_acquisition_json(b->a);
    json_t *plan = ti_rank_placement_json(&b->in, &b->place);

    if (!json || !plan) {
        json_decref(json);
        json_decref(plan);
        return NULL;
    }
    json_object_set_new(json, "plan", plan);
    json_object_set_new(json, "sites", ti_json_text(b->sites->path));
    json_object_set_new(json, "nodes", nodes_json(b));
    if (b->a->o->transport)
        json_object_set_new(json, "transport", ti_json_text(b->a->o->transport));
    json_object_set_new(json, "log", ti_json_text(b->log_name));
    if (b->tries)
        json_object_set(json, "former_tries", b->tries);
    return json;
}

ti_status ti__nodes_note_start(struct ti_nodes_backend *b, struct ti_err *err)
{
    return ti_acquisition_note_start(b->a, run_json(b), err);
}

static json_t *steps_json(const struct ti_nodes_backend *b)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        TI_STEPS(NAME)
#undef NAME
    };
    json_t *ours = ti_steps_json(&b->a->outcome, &b->a->ranks), *steps = json_array(), *one;
    char text[32];
    size_t i;

    for (int s = 0; s < TI_STEP_COUNT; s++) {
        if (s == TI_STEP_START)
            json_array_foreach(ours, i, one) json_array_append(steps, one);
        else if (b->step_start[s] > 0 && s != TI_STEP_APP)
            json_array_append_new(
                steps, json_pack("{s:s, s:s, s:f}", "name", names[s], "started",
                                 ti_time_text(b->step_start[s], text), "seconds",
                                 (double)(int64_t)(b->step_seconds[s] * 1e3 + 0.5) / 1e3));
    }
    json_decref(ours);
    return steps;
}

/* Add the bytes of traces to the nodes in RUN.json, which has them in the order of b->used. */
static void note_bytes(struct ti_nodes_backend *b)
{
    json_t *nodes = json_object_get(b->a->json, "nodes"), *node;
    size_t i;

    json_array_foreach(nodes, i, node) if (b->used[i].bytes > 0)
        json_object_set_new(node, "bytes", json_integer(b->used[i].bytes));
}

void ti__nodes_note_end(struct ti_nodes_backend *b)
{
    struct ti_acquisition *a = b->a;
    struct ti_err err;

    if (!a->json)
        return;
    ti_acquisition_note_outcome(a);
    note_bytes(b);
    json_object_set_new(a->json, "steps", steps_json(b));
    json_object_set_new(a->json, "mpi",
                        json_pack("{s:s, s:s, s:o}", "name", "Open MPI", "version",
                                  a->mpirun.version, "command",
                                  ti_acquisition_list(a, &a->command)));
    if (b->lost.text[0])
        json_object_set_new(a->json, "lost", ti_json_text(b->lost.text));
    if (ti_rundir_write(&a->dir, a->json, &err) != TI_OK)
        ti_warn("%s", err.text);
}

/* --- removing ------------------------------------------------------------ */

static json_t *remove_request(struct ti_fleet *f, int64_t node, void *arg)
{
    const struct ti_used_node *u = ti__nodes_used(arg, node);

    (void)f;
    if (!u || !u->open)
        return NULL;
    return json_pack("{s:s, s:o}", "do", "remove", "ranks", ti__nodes_ranks(arg, u));
}

void ti__nodes_remove(struct ti_nodes_backend *b)
{
    if (b->fleet)
        ti_fleet_ask_all(b->fleet, remove_request, b, REMOVE_LIMIT_S, "removing traces");
}

/* --- the end ------------------------------------------------------------- */

static void say_where(struct ti_nodes_backend *b)
{
    struct ti_acquisition *a = b->a;

    if (!a->ranks.with_trace && b->fleet->sig) {
        ti_say("the nodes, which '%s/%s' names, were not asked what was traced", a->dir.given,
               TI_RUN_JSON);
        return;
    }
    if (!a->ranks.with_trace) {
        ti_say("no rank left a trace; the log is '%s'", b->log_name);
        /* the nodes have nothing either, so there is no run to gather or replace */
        ti_rundir_unscratch(&a->dir);
        ti_rundir_discard(&a->dir, false);
        return;
    }
    if (!ti_ranks_complete(&a->ranks))
        ti_ranks_say(&a->ranks);
    ti_say("what was traced is on the nodes, which '%s/%s' names: 'ti-gather %s -o %s' fetches it",
           a->dir.given, TI_RUN_JSON, a->dir.given, a->output);
}

static ti_status gather(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    bool keep = a->o->keep;
    ti_status st;

    /* the socket for mpirun would keep the directory from being removed */
    ti_rsh_free(b->rsh);
    b->rsh = NULL;
    ti_rundir_unscratch(&a->dir);
    ti__step_begin(b, TI_STEP_GATHER);
    st = ti_acquisition_gather(a, err);
    ti__step_end(b, TI_STEP_GATHER);
    if (a->json)
        json_object_set_new(a->json, "steps", steps_json(b));
    if (a->bundled)
        ti_say(st == TI_OK && !keep ? "wrote '%s'" : "wrote '%s'; the traces stay on their nodes",
               a->output);
    return st;
}

/* Print the first few nodes whose ranks have no complete trace. */
static void say_which_nodes(const struct ti_nodes_backend *b)
{
    const struct ti_ranks *r = &b->a->ranks;
    int64_t said = 0;

    for (int64_t i = 0; i < b->nused; i++) {
        const struct ti_used_node *u = &b->used[i];
        int64_t n = 0;

        for (int64_t rank = u->first; rank < u->first + u->n; rank++)
            n += r->end[rank] != TI_END_COMPLETE;
        if (n && said++ < NODES_SAID)
            ti_say("node '%s': %" PRId64 " of its ranks (%" PRId64 " to %" PRId64
                   ") left no whole trace%s",
                   b->sites->node[u->node].name, n, u->first, u->first + u->n - 1,
                   u->disk_full ? ", for its disk is full" : "");
    }
    if (said > NODES_SAID)
        ti_say("... and those of %" PRId64 " more nodes", said - NODES_SAID);
}

/* Whether to make the bundle: the run succeeded, or all traces are complete, or a node was lost
 * and --keep-going was given. */
static bool is_worth_gathering(const struct ti_nodes_backend *b, ti_status app)
{
    const struct ti_acquisition *a = b->a;

    if (a->o->no_gather || a->signal || !a->ranks.with_trace)
        return false;
    return app == TI_OK || ti_ranks_complete(&a->ranks) || (b->nlost && a->o->keep_going);
}

ti_status ti__nodes_conclude(struct ti_nodes_backend *b, ti_status st, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    ti_status app = st, bundle;

    /* interrupted after the program had ended: the traces stay where they are */
    if (st == TI_OK && !a->signal && b->fleet->sig)
        app = ti__nodes_interrupted(b, err);
    else if (st == TI_OK)
        app = ti_outcome_check(&a->outcome, &a->ranks, &a->o->program, a->choice.valgrind, err);
    if (a->outcome.out_of_memory && b->short_of_memory[0])
        ti_err_prefix(err, app, "on node '%s'", b->short_of_memory);
    ti_outcome_say(&a->outcome, &a->ranks);
    if (!is_worth_gathering(b, app)) {
        say_where(b);
        return app != TI_OK ? app : ti_ranks_complete(&a->ranks) ? TI_OK : TI_ERR_PARTIAL;
    }
    if (!ti_ranks_complete(&a->ranks)) {
        ti_ranks_say(&a->ranks);
        say_which_nodes(b);
    }
    bundle = gather(b, app == TI_OK ? err : &(struct ti_err){"", ""});
    if (b->nlost && a->o->keep_going && a->bundled)
        return TI_ERR_PARTIAL;
    return app != TI_OK ? app : bundle;
}
