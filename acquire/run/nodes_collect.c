/* After the run: traces as reported by the nodes, the bundle, and what is said of them. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "acquire/run/nodes.h"
#include "acquire/run/result.h"
#include "common/hostlist.h"
#include "common/ranges.h"
#include "gather/gather.h"

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

/* Add the bytes of traces to the nodes in RUN.json, which has them in the order of b->used. */
static void note_bytes(struct ti_nodes_backend *b)
{
    json_t *nodes = json_object_get(b->a->json, "nodes"), *node;
    size_t i;

    json_array_foreach(nodes, i, node) if (b->used[i].bytes > 0)
        json_object_set_new(node, "bytes", json_integer(b->used[i].bytes));
}

ti_status ti__nodes_collect(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_nodes_backend *b = a->state;
    ti_status st = ti_ranks_new(a->o->np, &a->ranks, err);
    char name[512];

    if (st != TI_OK)
        return st;
    ti_step_begin(a, TI_STEP_COLLECT);
    ti_fleet_ask_all(b->fleet, ranks_request, b, COLLECT_LIMIT_S, "collecting");
    b->hurried = b->fleet->sig != 0;
    for (int64_t i = 0; i < b->nused; i++) {
        struct ti_used_node *u = &b->used[i];
        const json_t *answer = b->fleet->member[u->node].answer;
        json_t *own;

        if (!ti_fleet_ok(b->fleet, u->node, NULL))
            continue;
        own = ti_rank_map_json(&b->map, u->node);
        u->bytes = json_integer_value(json_object_get(answer, "bytes"));
        if (!ti_ranks_merge(&a->ranks, own, answer))
            ti_warn("node %s: its list of traces is malformed",
                    ti_fleet_name(b->fleet, u->node, name, sizeof name));
        json_decref(own);
    }
    ti_step_end(a, TI_STEP_COLLECT);
    note_bytes(b);
    return TI_OK;
}

/* --- the bundle: gathered in this process, over the connections of the run --- */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDS (sizeof ends / sizeof *ends)

static void on_signal(int number)
{
    ti_gather_stop = number;
}

/* Signals stop the gather, which does not always poll, by a handler.  One that is ignored stays so.
 */
static void catch_signals(struct sigaction *before, sigset_t *mask)
{
    const struct sigaction stop = {.sa_handler = on_signal};
    sigset_t ours;

    sigemptyset(&ours);
    for (size_t i = 0; i < ENDS; i++) {
        sigaction(ends[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_IGN)
            continue;
        sigaction(ends[i], &stop, NULL);
        sigaddset(&ours, ends[i]);
    }
    sigprocmask(SIG_UNBLOCK, &ours, mask);
}

static void restore_signals(const struct sigaction *before, const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    for (size_t i = 0; i < ENDS; i++)
        sigaction(ends[i], &before[i], NULL);
}

static struct ti_conn *take(const char *node, void *fleet)
{
    return ti_fleet_take(fleet, node);
}

static void lost(const char *name, void *fleet)
{
    int64_t node = ti_fleet_find(fleet, name);

    if (node >= 0)
        ti_fleet_abandon(fleet, node, TI_CHANNEL_LOST, "its connection ended during the gather");
}

ti_status ti__nodes_gather(struct ti_acquisition *a, bool remove, struct ti_err *err)
{
    struct ti_nodes_backend *b = a->state;
    struct ti_kept kept = {
        .conns = b->fleet->conns, .borrowed = true, .take = take, .lost = lost, .arg = b->fleet};
    struct sigaction before[ENDS];
    struct ti_gather_options o;
    struct ti_err why = {"", ""};
    sigset_t mask;
    ti_status st;

    (void)err;
    ti_gather_options_default(&o);
    o.run = a->dir.path;
    o.output = a->output;
    o.merge = a->o->merge;
    o.force = a->o->force;
    o.remove = remove;
    o.quiet = true;
    o.progress = ti_result_progress(a->o);
    o.fetch.transport = ti_fleet_transport(a->o->transport);
    o.fetch.trust = true; /* RUN.json was written just now, by us */
    ti_talk_init(ti_gather_cli.tool, o.quiet, o.progress);
    catch_signals(before, &mask);
    st = ti_gather(&o, &kept, &why);
    restore_signals(before, &mask);
    if (ti_gather_stop)
        a->signal = ti_gather_stop;
    if (st != TI_OK && st != TI_ERR_PARTIAL)
        ti_cli_fail(&ti_gather_cli, st, &why);
    ti_kept_free(&kept);
    ti_talk_init(ti_acquire_cli.tool, a->o->quiet, a->o->progress);
    if (st == TI_OK && remove) /* else the run directory stays, which --clean takes */
        ti__nodes_say_kept(b);
    return st;
}

/* --- removing ------------------------------------------------------------ */

static json_t *remove_request(struct ti_fleet *f, int64_t node, void *arg)
{
    const struct ti_used_node *u = ti__nodes_used(arg, node);

    (void)f;
    if (!u || !u->open)
        return NULL;
    return json_pack("{s:s, s:o}", "do", "remove", "ranks",
                     ti_rank_map_json(&((struct ti_nodes_backend *)arg)->map, u->node));
}

/* Name the nodes for which `keeps` holds, but none twice: they were lost with `what` of this try,
 * and may come back. */
static void say_kept(const struct ti_nodes_backend *b, const char *what,
                     bool (*keeps)(const struct ti_nodes_backend *, const struct ti_used_node *))
{
    const char **names = calloc((size_t)b->nused + 1, sizeof *names);
    const struct ti_options *o = b->a->o;
    const char *option = o->sites_path ? " --sites "
                         : o->hostfile ? " --hostfile "
                                       : "",
               *file = o->sites_path ? o->sites_path
                       : o->hostfile ? o->hostfile
                                     : "";
    char *list = NULL;
    int64_t n = 0;

    for (int64_t i = 0; names && b->fleet && i < b->nused; i++) {
        if (b->used[i].said || !keeps(b, &b->used[i]))
            continue;
        b->used[i].said = true;
        names[n++] = b->sites->node[b->used[i].node].name;
    }
    if (n)
        list = ti_hostlist_fold(names, n);
    if (list) {
        ti_warn("the %s of this try may stay on '%s': once %s back, \"ti-acquire%s%s --clean "
                "%.12s\" removes them",
                what, list, n == 1 ? "the node is" : "these nodes are", option, file, b->a->run_id);
        ti_runlog_note(&b->a->log, "%s: not told to remove %s", list, what);
    }
    free(list);
    free(names);
}

static bool is_lost(const struct ti_nodes_backend *b, const struct ti_used_node *u)
{
    return b->fleet->member[u->node].state == TI_NODE_LOST;
}

/* The node did not say that it removed its traces. */
static bool did_not_remove(const struct ti_nodes_backend *b, const struct ti_used_node *u)
{
    return u->open && !ti_fleet_ok(b->fleet, u->node, NULL);
}

void ti__nodes_say_kept(const struct ti_nodes_backend *b)
{
    say_kept(b, "folders", is_lost);
}

void ti__nodes_remove(struct ti_acquisition *a)
{
    struct ti_nodes_backend *b = a->state;

    if (!b->fleet)
        return;
    ti_fleet_ask_all(b->fleet, remove_request, b, REMOVE_LIMIT_S, "removing traces");
    say_kept(b, "traces", did_not_remove);
}

/* --- for people ---------------------------------------------------------- */

void ti__nodes_say_where(struct ti_acquisition *a, ti_status app)
{
    const struct ti_nodes_backend *b = a->state;

    (void)app;
    if (!a->ranks.with_trace && b->hurried) {
        ti_say("the nodes that '%s/%s' names were not asked for their traces", a->dir.given,
               TI_RUN_JSON);
        return;
    }
    if (!a->ranks.with_trace) {
        ti_say("no rank left a trace; the log is '%s'", a->log_name);
        ti__nodes_say_kept(b);
        /* the nodes have nothing either, so there is no run to gather or replace */
        ti_rundir_discard(&a->dir, false);
        return;
    }
    if (!ti_ranks_complete(&a->ranks))
        ti_ranks_say(&a->ranks);
    ti_say("the traces are on the nodes that '%s/%s' names: 'ti-gather %s -o %s' fetches them",
           a->dir.given, TI_RUN_JSON, a->dir.given, a->output);
}

/* The ranks of a node that left no whole trace. */
static struct ti_ranges missing(const struct ti_nodes_backend *b, const struct ti_used_node *u)
{
    struct ti_ranges own = ti_rank_map_ranges(&b->map, u->node), set = {.n = 0};

    ti_ranges_foreach (&own, rank)
        if (b->a->ranks.end[rank] != TI_END_COMPLETE)
            ti_ranges_add(&set, rank);
    ti_ranges_free(&own);
    return set;
}

/* Print the first few nodes whose ranks have no complete trace. */
void ti__nodes_say_missing(const struct ti_acquisition *a)
{
    const struct ti_nodes_backend *b = a->state;
    char ranks[256];
    int64_t said = 0;

    for (int64_t i = 0; i < b->nused; i++) {
        const struct ti_used_node *u = &b->used[i];
        struct ti_ranges set = missing(b, u);

        if (set.n && said++ < NODES_SAID)
            ti_say("node '%s': %" PRId64 " of its %" PRId64 " ranks (%s) left no whole trace%s",
                   b->sites->node[u->node].name, ti_ranges_count(&set), u->n,
                   ti_ranges_text(&set, ranks, sizeof ranks),
                   u->disk_full ? ", for its disk is full" : "");
        ti_ranges_free(&set);
    }
    if (said > NODES_SAID)
        ti_say("... and those of %" PRId64 " more nodes", said - NODES_SAID);
}
