/* After the run: traces as reported by the nodes, RUN.json, the bundle. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/run/acquisition.h"
#include "formats/json.h"
#include "node/watch.h"

#define NODES_SAID      8
#define COLLECT_LIMIT_S 120.0
#define REMOVE_LIMIT_S  60.0

/* --- collecting ---------------------------------------------------------- */

static json_t *ranks_request(struct ti_fleet *f, int64_t node, void *arg)
{
    const struct ti_used_node *u = ti__acquisition_used(arg, node);

    (void)f;
    if (!u || !u->open)
        return NULL;
    return json_pack("{s:s}", "do", "ranks");
}

ti_status ti__acquisition_collect(struct ti_acquisition *c, struct ti_err *err)
{
    struct ti_job *j = c->job;
    ti_status st = ti_ranks_new(j->o->np, &j->ranks, err);
    char name[512];

    if (st != TI_OK)
        return st;
    ti__step_begin(c, TI_STEP_COLLECT);
    ti_fleet_ask_all(c->fleet, ranks_request, c, COLLECT_LIMIT_S, "collecting");
    for (int64_t i = 0; i < c->nused; i++)
        if (ti_fleet_ok(c->fleet, c->used[i].node, NULL)) {
            const json_t *answer = c->fleet->member[c->used[i].node].answer;

            json_t *own = ti__acquisition_ranks(c, &c->used[i]);

            c->used[i].bytes = json_integer_value(json_object_get(answer, "bytes"));
            if (!ti_ranks_merge(&j->ranks, own, answer))
                ti_warn("node %s: what it says of its traces makes no sense",
                        ti_fleet_name(c->fleet, c->used[i].node, name, sizeof name));
            json_decref(own);
        }
    ti__step_end(c, TI_STEP_COLLECT);
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

/* The nodes in RUN.json: what ti-gather needs to fetch the traces (gather/fetch/fetch.h), and facts
 * for readers. */
static json_t *nodes_json(const struct ti_acquisition *c)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < c->nused; i++) {
        const struct ti_used_node *u = &c->used[i];
        const struct ti_node *node = &c->sites->node[u->node];
        const struct ti_cluster *cluster = &c->sites->cluster[node->cluster];
        const struct ti_site *site = &c->sites->site[cluster->site];
        const struct ti_fleet_node *m = &c->fleet->member[u->node];
        int cores = c->cores[u->node];

        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:f}", "name",
                            node->name, "site", site->name, "cluster", cluster->name, "host",
                            m->is_local ? json_null() : ti_json_text(node->name), "hostname",
                            ti__text(m->hello, "host"), "gateway", or_null(site->gateway), "via",
                            m->is_local ? json_null() : via_json(c->sites->via), "tiara",
                            or_null(cluster->tiara), "directory", u->directory, "ranks",
                            ti__acquisition_ranks(c, u), "folding",
                            cores > 0 ? (double)u->n / cores : (double)u->n));
    }
    return list;
}

static json_t *run_json(const struct ti_acquisition *c)
{
    json_t *json = ti_job_json(c->job);
    json_t *plan = ti_rank_placement_json(&c->in, &c->place);

    if (!json || !plan) {
        json_decref(json);
        json_decref(plan);
        return NULL;
    }
    json_object_set_new(json, "plan", plan);
    json_object_set_new(json, "sites", ti_json_text(c->sites->path));
    json_object_set_new(json, "nodes", nodes_json(c));
    if (c->job->o->transport)
        json_object_set_new(json, "transport", ti_json_text(c->job->o->transport));
    json_object_set_new(json, "log", ti_json_text(c->log_name));
    if (c->tries)
        json_object_set(json, "former_tries", c->tries);
    return json;
}

ti_status ti__acquisition_note_start(struct ti_acquisition *c, struct ti_err *err)
{
    return ti_job_note_start(c->job, run_json(c), err);
}

static json_t *steps_json(const struct ti_acquisition *c)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        TI_STEPS(NAME)
#undef NAME
    };
    json_t *ours = ti_steps_json(&c->job->outcome, &c->job->ranks), *steps = json_array(), *one;
    char text[32];
    size_t i;

    for (int s = 0; s < TI_STEP_COUNT; s++) {
        if (s == TI_STEP_START)
            json_array_foreach(ours, i, one) json_array_append(steps, one);
        else if (c->step_start[s] > 0 && s != TI_STEP_APP)
            json_array_append_new(
                steps, json_pack("{s:s, s:s, s:f}", "name", names[s], "started",
                                 ti_time_text(c->step_start[s], text), "seconds",
                                 (double)(int64_t)(c->step_seconds[s] * 1e3 + 0.5) / 1e3));
    }
    json_decref(ours);
    return steps;
}

/* Add the bytes of traces to the nodes in RUN.json, which has them in the order of c->used. */
static void note_bytes(struct ti_acquisition *c)
{
    json_t *nodes = json_object_get(c->job->json, "nodes"), *node;
    size_t i;

    json_array_foreach(nodes, i, node) if (c->used[i].bytes > 0)
        json_object_set_new(node, "bytes", json_integer(c->used[i].bytes));
}

void ti__acquisition_note_end(struct ti_acquisition *c)
{
    struct ti_job *j = c->job;
    struct ti_err err;

    if (!j->json)
        return;
    ti_job_note_outcome(j);
    note_bytes(c);
    json_object_set_new(j->json, "steps", steps_json(c));
    json_object_set_new(j->json, "mpi",
                        json_pack("{s:s, s:s, s:o}", "name", "Open MPI", "version",
                                  j->mpirun.version, "command", ti_job_list(j, &j->command)));
    if (c->lost.text[0])
        json_object_set_new(j->json, "lost", ti_json_text(c->lost.text));
    if (ti_rundir_write(&j->dir, j->json, &err) != TI_OK)
        ti_warn("%s", err.text);
}

/* --- removing ------------------------------------------------------------ */

static json_t *remove_request(struct ti_fleet *f, int64_t node, void *arg)
{
    const struct ti_used_node *u = ti__acquisition_used(arg, node);

    (void)f;
    if (!u || !u->open)
        return NULL;
    return json_pack("{s:s, s:o}", "do", "remove", "ranks", ti__acquisition_ranks(arg, u));
}

void ti__acquisition_remove(struct ti_acquisition *c)
{
    if (c->fleet)
        ti_fleet_ask_all(c->fleet, remove_request, c, REMOVE_LIMIT_S, "removing traces");
}

/* --- the end ------------------------------------------------------------- */

static void say_where(struct ti_acquisition *c)
{
    struct ti_job *j = c->job;

    if (!j->ranks.with_trace && c->fleet->sig) {
        ti_say("the nodes, which '%s/%s' names, were not asked what was traced", j->dir.given,
               TI_RUN_JSON);
        return;
    }
    if (!j->ranks.with_trace) {
        ti_say("no rank left a trace; the log is '%s'", c->log_name);
        /* the nodes have nothing either, so there is no run to gather or replace */
        ti_rundir_unscratch(&j->dir);
        ti_rundir_discard(&j->dir, false);
        return;
    }
    if (!ti_ranks_complete(&j->ranks))
        ti_ranks_say(&j->ranks);
    ti_say("what was traced is on the nodes, which '%s/%s' names: 'ti-gather %s -o %s' fetches it",
           j->dir.given, TI_RUN_JSON, j->dir.given, j->output);
}

static ti_status gather(struct ti_acquisition *c, struct ti_err *err)
{
    struct ti_job *j = c->job;
    bool keep = j->o->keep;
    ti_status st;

    /* the socket for mpirun would keep the directory from being removed */
    ti_rsh_free(c->rsh);
    c->rsh = NULL;
    ti_rundir_unscratch(&j->dir);
    ti__step_begin(c, TI_STEP_GATHER);
    st = ti_job_gather(j, err);
    ti__step_end(c, TI_STEP_GATHER);
    if (j->json)
        json_object_set_new(j->json, "steps", steps_json(c));
    if (j->bundled)
        ti_say(st == TI_OK && !keep ? "wrote '%s'" : "wrote '%s'; the traces stay on their nodes",
               j->output);
    return st;
}

/* Print the first few nodes whose ranks have no complete trace. */
static void say_which_nodes(const struct ti_acquisition *c)
{
    const struct ti_ranks *r = &c->job->ranks;
    int64_t said = 0;

    for (int64_t i = 0; i < c->nused; i++) {
        const struct ti_used_node *u = &c->used[i];
        int64_t n = 0;

        for (int64_t rank = u->first; rank < u->first + u->n; rank++)
            n += r->end[rank] != TI_END_COMPLETE;
        if (n && said++ < NODES_SAID)
            ti_say("node '%s': %" PRId64 " of its ranks (%" PRId64 " to %" PRId64
                   ") left no whole trace%s",
                   c->sites->node[u->node].name, n, u->first, u->first + u->n - 1,
                   u->disk_full ? ", for its disk is full" : "");
    }
    if (said > NODES_SAID)
        ti_say("... and those of %" PRId64 " more nodes", said - NODES_SAID);
}

/* Whether to make the bundle: the run succeeded, or all traces are complete, or a node was lost
 * and --keep-going was given. */
static bool is_worth_gathering(const struct ti_acquisition *c, ti_status app)
{
    const struct ti_job *j = c->job;

    if (j->o->no_gather || j->signal || !j->ranks.with_trace)
        return false;
    return app == TI_OK || ti_ranks_complete(&j->ranks) || (c->nlost && j->o->keep_going);
}

ti_status ti__acquisition_conclude(struct ti_acquisition *c, ti_status st, struct ti_err *err)
{
    struct ti_job *j = c->job;
    ti_status app = st, bundle;

    /* interrupted after the program had ended: the traces stay where they are */
    if (st == TI_OK && !j->signal && c->fleet->sig)
        app = ti__acquisition_interrupted(c, err);
    else if (st == TI_OK)
        app = ti_outcome_check(&j->outcome, &j->ranks, &j->o->program, j->choice.valgrind, err);
    if (j->outcome.out_of_memory && c->short_of_memory[0])
        ti_err_prefix(err, app, "on node '%s'", c->short_of_memory);
    ti_outcome_say(&j->outcome, &j->ranks);
    if (!is_worth_gathering(c, app)) {
        say_where(c);
        return app != TI_OK ? app : ti_ranks_complete(&j->ranks) ? TI_OK : TI_ERR_PARTIAL;
    }
    if (!ti_ranks_complete(&j->ranks)) {
        ti_ranks_say(&j->ranks);
        say_which_nodes(c);
    }
    bundle = gather(c, app == TI_OK ? err : &(struct ti_err){"", ""});
    if (c->nlost && j->o->keep_going && j->bundled)
        return TI_ERR_PARTIAL;
    return app != TI_OK ? app : bundle;
}
