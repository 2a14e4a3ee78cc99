#include "gather/gather.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/check.h"
#include "bundle/node_traces.h"
#include "bundle/scanner.h"
#include "common/args.h"
#include "common/cli.h"
#include "gather/fetch/fetch.h"
#include "gather/fetch/nodes.h"
#include "gather/report.h"
#include "gather/show.h"
#include "node/launch.h"
#include "trace/rankname.h"

/* To make a bundle of LARGE_BYTES or more may take longer than nodes wait for a sign of life.  It
 * takes no longer than at LEAST_RATE. */
#define LARGE_BYTES (64 << 20)
#define LEAST_RATE  1e6 /* bytes/s */
#define PAUSE_MAX_S 86400.0

/* State of one gather. */
struct work {
    const struct ti_gather_options *o;
    double started; /* since the epoch */
    double began;   /* ti_now() */
    struct ti_nodes nodes;
    struct ti_fetch fetched;
    struct ti_tree_cost predicted;
    struct ti_report_rate rate;
    struct ti_scanner *scanner;        /* NULL: scan after the fetch only */
    struct ti_bundle *bundle;          /* NULL: a plan */
    struct ti_node_traces *from_nodes; /* ranks that came merged; NULL: nodes send files */
    struct ti_kept *kept;
};

static void on_progress(const struct ti_fetch *f, void *arg)
{
    ti_report_tick(f, &((struct work *)arg)->rate);
}

static void on_arrival(int64_t rank, void *arg)
{
    struct work *w = arg;

    if (w->scanner)
        ti_scanner_add(w->scanner, rank);
}

/* Printed with --quiet, too. */
static void tell_of_agent(void)
{
    if (getenv("SSH_AUTH_SOCK"))
        ti_warn("your SSH agent is forwarded to relays (--forward-agent): root on these nodes can "
                "use it while ti-gather runs");
    else
        ti_warn("there is no SSH agent to forward (--forward-agent): SSH_AUTH_SOCK is not set");
}

/* Fetches traces from other nodes into the run directory; with --plan only finds out which. */
static ti_status fetch(struct work *w, struct ti_err *err)
{
    const struct ti_gather_options *o = w->o;
    struct ti_fetch_settings settings = o->fetch;
    struct ti_err ignored;
    ti_status st;

    settings.from_nodes = w->from_nodes;
    settings.progress = on_progress;
    settings.arrived = on_arrival;
    settings.arg = w;
    settings.kept = w->kept;
    st = ti_nodes_read(o->run, &w->nodes, err);
    if (st == TI_OK && o->fetch.forward_agent && w->nodes.n && !o->plan)
        tell_of_agent();
    if (st == TI_OK)
        st = ti_fetch(&w->nodes, &settings, o->plan, &w->fetched, err);
    ti_progress_end(st == TI_OK && w->fetched.fetched == w->fetched.wanted);
    if (o->dot && (st == TI_OK || w->fetched.nnodes)) {
        ti_status drawn = ti_show_dot(o->dot, &w->fetched, st == TI_OK ? err : &ignored);

        st = st == TI_OK ? drawn : st;
    }
    if (st != TI_OK || !w->fetched.nodes)
        return st;
    w->predicted = ti_show_predict(&w->fetched, &w->nodes, &o->costs);
    if (!o->plan) {
        ti_report_fetched(&w->fetched, &w->predicted, o->verbose);
        return TI_OK;
    }
    ti_say("%" PRId64 " ranks would be fetched first, from %" PRId64 " node%s", w->fetched.wanted,
           w->fetched.nodes, w->fetched.nodes == 1 ? "" : "s");
    if (!o->json)
        ti_show_plan(stdout, &w->fetched, &w->nodes, &o->costs, o->verbose);
    return TI_OK;
}

/* Copies the reasons of failures to missing ranks, for the bundle. */
static void explain_missing(struct ti_run *run, const struct ti_fetch *fetched)
{
    for (int i = 0; i < fetched->nfailures; i++) {
        const struct ti_fetch_failure *x = &fetched->failure[i];

        ti_ranges_foreach (&x->ranks, r) {
            char *why;

            if (r >= run->nranks || run->rank[r].state != TI_RANK_MISSING ||
                (x->node ? asprintf(&why, "not fetched from node '%s': %s", x->node, x->why)
                         : asprintf(&why, "not fetched: %s", x->why)) < 0)
                continue;
            free(run->rank[r].reason);
            run->rank[r].reason = why;
        }
    }
}

static void tell_left(const struct ti_fetch_failure *x)
{
    int64_t n = ti_ranges_count(&x->ranks);
    char ranks[256];

    if (n == 0)
        ti_warn("traces remain on node '%s': %s", x->node, x->why);
    else
        ti_warn("%s %s %s on node '%s': %s", n == 1 ? "rank" : "ranks",
                ti_ranges_text(&x->ranks, ranks, sizeof ranks), n == 1 ? "remains" : "remain",
                x->node, x->why);
}

/* Removes the traces from the nodes.  If some remain, that is only a warning: the bundle is there.
 */
static ti_status remove_there(const struct work *w, const struct ti_run *run, int64_t *removed,
                              struct ti_err *err)
{
    struct ti_fetch_settings settings = w->o->fetch;
    struct ti_fetch left;
    int64_t there = 0;
    ti_status st;

    settings.before = &w->fetched;
    settings.kept = w->kept;
    st = ti_fetch_remove(run, &w->nodes, &settings, &there, &left, err);
    for (int i = 0; st == TI_OK && i < left.nfailures; i++)
        tell_left(&left.failure[i]);
    if (there > *removed) /* the local traces are copies of these */
        *removed = there;
    ti_fetch_free(&left);
    return st;
}

static json_t *tree_json(const struct work *w)
{
    return w->o->json && w->fetched.nodes ? ti_show_json(&w->fetched, &w->predicted, &w->o->costs)
                                          : NULL;
}

static ti_status flush(struct ti_err *err)
{
    return fflush(stdout) != 0 || ferror(stdout)
               ? ti_err_errno(err, TI_ERR_IO, "cannot write to standard output")
               : TI_OK;
}

/* The command that resumes, for a shell; free() it.  NULL: no memory. */
static char *again(const struct ti_gather_options *o, bool force)
{
    struct ti_args args = {.n = 0};
    char *text;

    ti_args_add(&args, "ti-gather");
    if (force)
        ti_args_add(&args, "--force");
    if (o->remove)
        ti_args_add(&args, "--remove");
    if (o->fetch.trust)
        ti_args_add(&args, "--trust");
    ti_merge_options_add(&o->merge, &args);
    ti_args_add(&args, o->run, "-o", o->output);
    text = ti_args_ok(&args) ? ti_args_shell(&args) : NULL;
    ti_args_free(&args);
    return text;
}

/* Sets the hint about missing traces. */
static void hint_missing(const struct work *w, bool force, struct ti_err *err)
{
    char *command = NULL;

    if (ti_fetch_all_gone(&w->fetched))
        ti_err_hint(
            err, "no node has them any more; unless a disk there is not mounted, only another run "
                 "can give them");
    else if ((command = again(w->o, force)) != NULL)
        ti_err_hint(err, "\"%s\" fetches what is missing%s; what is here stays", command,
                    w->fetched.merged ? " and what came merged" : "");
    free(command);
}

/* No trace is in the run directory: nothing could be fetched, or it is a plan. */
static ti_status without_traces(struct work *w, ti_status st, struct ti_err *err)
{
    if (w->o->plan && w->fetched.wanted) {
        ti_say("nothing else is here yet: %s", err->text);
        ti_report_summary(NULL, w->o, 0, 0, ti_now() - w->began, &w->fetched, tree_json(w));
        return flush(err);
    }
    if (!w->fetched.nfailures || w->fetched.fetched)
        return st;
    if (w->o->json)
        ti_report_summary(NULL, w->o, 0, 0, ti_now() - w->began, &w->fetched, tree_json(w));
    if (flush(err) != TI_OK)
        return TI_ERR_IO;
    ti_err_set(err, TI_ERR_REMOTE, "no trace could be had from any node");
    hint_missing(w, w->o->force, err);
    return TI_ERR_REMOTE;
}

/* In a plan, ranks that are to be fetched are not missing. */
static void mark_away(const struct work *w, struct ti_run *run)
{
    ti_ranges_foreach (&w->fetched.away, r) {
        if (r >= run->nranks || run->rank[r].state != TI_RANK_MISSING)
            continue;
        run->rank[r].state = TI_RANK_AWAY;
        free(run->rank[r].reason);
        run->rank[r].reason = NULL;
        run->away++;
    }
}

static void tell_run(const struct work *w, struct ti_run *run)
{
    run->fetch.started = w->started;
    run->fetch.seconds = w->fetched.seconds;
    run->fetch.nodes = w->fetched.nodes;
    run->fetch.ranks = w->fetched.fetched;
    run->fetch.bytes = w->fetched.bytes;
    if (w->fetched.nodes)
        run->gathering = ti_show_gathering(&w->fetched, &w->predicted, &w->o->costs);
    explain_missing(run, &w->fetched);
}

/* Whether --remove may remove traces, with a warning if not.  As long as ranks are missing that
 * another gather may fetch, all stay: it can then complete the bundle. */
static bool may_remove(const struct work *w)
{
    const struct ti_fetch *f = &w->fetched;

    if (!w->o->remove || w->o->plan)
        return false;
    if (f->conflicts) {
        ti_warn("traces are not removed: some of the nodes have others of the same ranks");
        return false;
    }
    if (f->fetched < f->wanted && !ti_fetch_all_gone(f)) {
        ti_warn("traces are not removed: not all of them could be fetched");
        return false;
    }
    return true;
}

static ti_status bundle(struct work *w, struct ti_run *run, struct ti_err *err)
{
    const struct ti_gather_options *o = w->o;
    int64_t bytes = run->bytes, removed = 0;
    struct ti_err hint = {"", ""};
    ti_status st = TI_OK;
    bool remove;

    if (w->bundle)
        st = ti_bundle_finish(w->bundle, run, &bytes, err);
    remove = st == TI_OK && may_remove(w);
    if (remove)
        st = ti_bundle_remove_sources(run, o->output, &removed, err);
    if (st == TI_OK && remove)
        st = remove_there(w, run, &removed, err);
    if (st != TI_OK)
        return st;
    ti_report_summary(run, o, bytes, removed, ti_now() - w->began, &w->fetched, tree_json(w));
    st = flush(err);
    if (st == TI_OK &&
        (run->complete + run->away < run->nranks || run->foreign || w->fetched.conflicts))
        st = TI_ERR_PARTIAL;
    if (st == TI_ERR_PARTIAL && !o->plan && !remove && w->fetched.fetched < w->fetched.wanted) {
        hint_missing(w, true, &hint);
        if (hint.hint[0])
            ti_hint("%s", hint.hint);
    }
    return st;
}

/* Removes .part files of ranks that are complete here. */
static void tidy(const struct work *w, const struct ti_run *run)
{
    int64_t n = w->nodes.n && !w->o->plan ? ti_fetch_tidy(run) : 0;

    if (n && w->o->verbose)
        ti_say("removed %" PRId64 " .part file%s of ranks that are here", n, n == 1 ? "" : "s");
}

static ti_status gather_fetched(struct work *w, struct ti_err *err)
{
    struct ti_run *run;
    ti_status st = ti_run_check(w->o->run, w->nodes.run, w->scanner, &run, err);

    if (st == TI_OK && w->o->plan)
        mark_away(w, run);
    if (st == TI_OK)
        ti_report_ranks(run, w->o->verbose);
    ti_fetch_report(&w->fetched);
    if (st == TI_ERR_INPUT)
        return without_traces(w, st, err);
    if (st != TI_OK)
        return st;
    tidy(w, run);
    tell_run(w, run);
    st = bundle(w, run, err);
    ti_run_free(run);
    return st;
}

/* A merged trace has ranks that are gathered already; rank files beside it would be told twice. */
static ti_status refuse_merged(const char *run, struct ti_err *err)
{
    char *path = NULL;
    bool merged = asprintf(&path, "%s/" TI_MERGED_NAME, run) >= 0 && access(path, F_OK) == 0;

    free(path);
    if (!merged)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "'%s' holds a merged trace, '" TI_MERGED_NAME "'", run);
    ti_err_hint(err, "all tools read it as it is; 'ti-info --split' makes rank files of it");
    return TI_ERR_INPUT;
}

/* The nodes are to stay until their traces may be removed. */
static void announce_pause(const struct work *w)
{
    double bytes = 0, seconds;

    for (int64_t i = 0; i < w->nodes.n; i++)
        bytes += (double)w->nodes.node[i].bytes;
    if (bytes < LARGE_BYTES)
        return;
    seconds = bytes / LEAST_RATE;
    ti_conns_announce_pause(w->kept->conns, seconds < PAUSE_MAX_S ? seconds : PAUSE_MAX_S);
}

ti_status ti_gather(const struct ti_gather_options *o, struct ti_kept *kept, struct ti_err *err)
{
    struct work w = {
        .o = o, .started = ti_wall(), .began = ti_now(), .nodes = {.dir = -1}, .kept = kept};
    ti_status st = refuse_merged(o->run, err);

    if (st == TI_OK && !o->plan)
        st = ti_bundle_begin(o->output, o->force, &w.bundle, err);
    if (st != TI_OK)
        return st;
    if (w.bundle && o->merge.how == TI_MERGE_NODE)
        w.from_nodes = ti_node_traces_new(o->run);
    if (w.bundle && o->merge.how != TI_MERGE_NONE)
        ti_bundle_merge(w.bundle, &o->merge.quality, o->merge.how == TI_MERGE_AUTO, w.from_nodes);
    w.scanner = ti_scanner_new(o->run, w.bundle, w.from_nodes);
    if (w.from_nodes && !w.scanner)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read the run directory '%s'", o->run);
    if (st == TI_OK)
        st = fetch(&w, err);
    if (!o->remove)
        ti_kept_hang_up(kept);
    if (st == TI_OK && o->remove && !o->plan && kept->conns)
        announce_pause(&w);
    if (st == TI_OK)
        st = gather_fetched(&w, err);
    if (st == TI_ERR_IO && ti_gather_stop && !o->plan && !*err->hint)
        ti_err_hint(err, "the same command resumes");
    ti_scanner_free(w.scanner);
    ti_bundle_free(w.bundle);
    ti_node_traces_free(w.from_nodes);
    ti_fetch_free(&w.fetched);
    ti_nodes_free(&w.nodes);
    return st;
}
