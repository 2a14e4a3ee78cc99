#include "gather/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "common/cli.h"
#include "common/json.h"
#include "gather/fetch/nodes.h"
#include "trace/differ.h"
#include "trace/rankname.h"

#define REASONS_MAX 8   /* ranks explained one by one */
#define RATE_S      2.0 /* a rate covers the last RATE_S to 2 x RATE_S */

/* --- progress ------------------------------------------------------------ */

static double current_rate(struct ti_report_rate *r, int64_t bytes, double now)
{
    if (r->old.at == 0) {
        r->old.at = r->recent.at = now;
        r->old.bytes = r->recent.bytes = bytes;
    }
    if (now - r->recent.at > RATE_S) {
        r->old = r->recent;
        r->recent.at = now;
        r->recent.bytes = bytes;
    }
    return now - r->old.at > 0.2 ? (double)(bytes - r->old.bytes) / (now - r->old.at) : 0;
}

static bool at_work(const struct ti_fetch_node *x)
{
    return x->state != TI_FETCH_NOTHING && x->state != TI_FETCH_DONE && x->state != TI_FETCH_FAILED;
}

static int64_t top_of(const struct ti_fetch *f, int64_t i)
{
    while (f->node[i].parent >= 0)
        i = f->node[i].parent;
    return i;
}

/* The direct child with the most bytes left in its subtree; -1: fewer than two have any.  *more:
 * unfinished nodes behind it. */
static int64_t slowest_branch(const struct ti_fetch *f, int64_t *more)
{
    int64_t *left = calloc((size_t)f->nnodes + 1, sizeof *left), slowest = -1, branches = 0;

    for (int64_t i = 0; left && i < f->nnodes; i++)
        if (at_work(&f->node[i]) && f->node[i].wanted_bytes > f->node[i].bytes)
            left[top_of(f, i)] += f->node[i].wanted_bytes - f->node[i].bytes;
    for (int64_t i = 0; left && i < f->nnodes; i++) {
        branches += left[i] > 0;
        if (left[i] > 0 && (slowest < 0 || left[i] > left[slowest]))
            slowest = i;
    }
    free(left);
    *more = 0;
    for (int64_t i = 0; slowest >= 0 && i < f->nnodes; i++)
        *more += i != slowest && at_work(&f->node[i]) && top_of(f, i) == slowest;
    return branches > 1 ? slowest : -1;
}

/* Appends a part to the note. */
static __attribute__((format(printf, 3, 4))) void put(char *note, size_t room, const char *fmt, ...)
{
    size_t n = strlen(note);
    va_list ap;

    if (n)
        n += (size_t)snprintf(note + n, room - n, ", ");
    va_start(ap, fmt);
    if (n < room)
        vsnprintf(note + n, room - n, fmt, ap);
    va_end(ap);
}

void ti_report_progress(struct ti_report_rate *rate, const struct ti_fetch *f, double now,
                        struct ti_progress *out, char *note, size_t room)
{
    double speed = current_rate(rate, f->bytes, now);
    int64_t in_tree = 0, done = 0, connected = 0, slowest, more;
    char text[32];

    for (int64_t i = 0; i < f->nnodes; i++) {
        enum ti_fetch_state state = f->node[i].state;

        in_tree += state != TI_FETCH_NOTHING;
        done += state == TI_FETCH_DONE || state == TI_FETCH_FAILED;
        connected += state >= TI_FETCH_READY;
    }
    *out = (struct ti_progress){
        .step = "fetching",
        .unit = "bytes",
        .done = f->bytes,
        .of = f->total,
        .left_s = speed > 0 && f->total > f->bytes ? (double)(f->total - f->bytes) / speed : -1,
        .note = note,
        .also = {{"ranks", (double)f->fetched}, {"of_ranks", (double)f->wanted}}};
    note[0] = '\0';
    if (connected < in_tree)
        put(note, room, "%" PRId64 " of %" PRId64 " nodes connected", connected, in_tree);
    if (speed > 0)
        put(note, room, "%s/s", ti_format_size((int64_t)speed, text, sizeof text));
    put(note, room, "%" PRId64 " of %" PRId64 " ranks", f->fetched, f->wanted);
    put(note, room, "%" PRId64 " of %" PRId64 " nodes done", done, in_tree);
    slowest = f->total > 0 ? slowest_branch(f, &more) : -1;
    if (slowest >= 0 && more)
        put(note, room, "slowest: %s +%" PRId64, f->node[slowest].name, more);
    else if (slowest >= 0)
        put(note, room, "slowest: %s", f->node[slowest].name);
}

void ti_report_tick(const struct ti_fetch *f, void *arg)
{
    struct ti_progress p;
    char note[512];

    if (!ti_progress_on())
        return;
    ti_report_progress(arg, f, ti_wall(), &p, note, sizeof note);
    ti_progress_show(&p);
}

/* --- ranks --------------------------------------------------------------- */

/* Prints a line for all ranks of one state, then the reasons of the first of them. */
static void report_state(const struct ti_run *run, enum ti_rank_state state)
{
    struct ti_ranges list = {0};
    int64_t n = 0, explained = 0;
    char ranks[512];

    for (int64_t i = 0; i < run->nranks; i++)
        if (run->rank[i].state == state) {
            ti_ranges_add(&list, i);
            n++;
        }
    if (n)
        ti_warn("%" PRId64 " %s %s: %s", n, n == 1 ? "rank is" : "ranks are",
                ti_rank_state_text(state), ti_ranges_text(&list, ranks, sizeof ranks));
    ti_ranges_free(&list);
    for (int64_t i = 0; n && i < run->nranks; i++) {
        const char *reason = run->rank[i].reason;

        if (!reason || run->rank[i].state != state)
            continue;
        if (explained++ == REASONS_MAX) {
            ti_warn("... and more like these");
            break;
        }
        ti_warn("rank %" PRId64 ": %s", i, reason);
    }
}

void ti_report_ranks(const struct ti_run *run, bool verbose)
{
    char events[32], size[32], text[1024];
    const char *key;
    json_t *values;

    for (int64_t i = 0; verbose && i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];

        if (ti_run_gathers(run, i))
            ti_say("rank %" PRId64 ": %s, %s events, %s%s%s", i,
                   rank->node ? run->node[rank->node - 1] : "unknown node",
                   ti_format_count(rank->events, events, sizeof events),
                   ti_format_size(rank->file.st_size, size, sizeof size), rank->reason ? ", " : "",
                   rank->reason ? rank->reason : "");
    }
    for (int state = 0; state < TI_RANK_STATE_COUNT; state++)
        if (state != TI_RANK_OK && state != TI_RANK_AWAY) /* AWAY: the plan shows it */
            report_state(run, (enum ti_rank_state)state);
    for (int i = 0; i < run->nstrays && i < REASONS_MAX; i++)
        ti_warn("ignored: %s", run->stray[i].reason ? run->stray[i].reason : run->stray[i].name);
    if (run->nstrays > REASONS_MAX)
        ti_warn("... and %d more files ignored", run->nstrays - REASONS_MAX);
    json_object_foreach(run->differ, key, values)
        ti_warn("%s", ti_differ_text(key, values, text, sizeof text));
}

/* --- what was fetched ---------------------------------------------------- */

static void report_node(const struct ti_fetch *f, const struct ti_fetch_node *x)
{
    char size[32], of[32] = "", passed[64] = "", ready[64] = "never connected", tried[32] = "",
                   link[32];

    if (x->ranks < x->wanted)
        snprintf(of, sizeof of, " of %" PRId64, x->wanted);
    if (x->link > x->sent)
        snprintf(passed, sizeof passed, ", %s on its link",
                 ti_format_size(x->link, link, sizeof link));
    if (x->ready_s > 0)
        snprintf(ready, sizeof ready, "connected after %.1f s", x->ready_s);
    if (x->retries)
        snprintf(tried, sizeof tried, ", %d retr%s", x->retries, x->retries == 1 ? "y" : "ies");
    ti_say("node %s: %" PRId64 "%s rank%s, %s%s, %s%s, %s, %s after %.1f s%s", x->name, x->ranks,
           of, (*of ? x->wanted : x->ranks) == 1 ? "" : "s",
           ti_format_size(x->bytes, size, sizeof size), passed,
           x->parent < 0 ? "direct" : "through ", x->parent < 0 ? "" : f->node[x->parent].name,
           ready, x->state == TI_FETCH_DONE ? "done" : "given up", x->done_s, tried);
}

/* "all nodes were connected after 1.6 s, the last byte came after 2.0 s: 30 MiB/s" */
static void report_times(const struct ti_fetch *f)
{
    double ready_s = 0;
    bool all = true;
    char rate[32];

    for (int64_t i = 0; i < f->nnodes; i++) {
        const struct ti_fetch_node *x = &f->node[i];

        all = all && (x->depth == 0 || x->ready_s > 0);
        ready_s = x->ready_s > ready_s ? x->ready_s : ready_s;
    }
    ti_say("%s connected after %.1f s, the last byte came after %.1f s: %s/s from the start",
           all ? "all nodes were" : "the last node that could be reached was", ready_s,
           f->transferred_s,
           ti_format_size(f->transferred_s > 0 ? (int64_t)((double)f->bytes / f->transferred_s) : 0,
                          rate, sizeof rate));
}

static void report_other_ways(const struct ti_fetch *f)
{
    if (f->lost)
        ti_say("%" PRId64 " node%s failed as relays, at the start or later", f->lost,
               f->lost == 1 ? "" : "s");
    if (f->adopted)
        ti_say("%" PRId64 " node%s reached by another way than planned", f->adopted,
               f->adopted == 1 ? " was" : "s were");
}

void ti_report_fetched(const struct ti_fetch *f, const struct ti_tree_cost *predicted, bool verbose)
{
    char size[32], before[32], of[32] = "", merged[96] = "";
    int64_t senders = 0;

    for (int64_t i = 0; i < f->nnodes; i++)
        senders += f->node[i].ranks > 0;
    if (senders < f->nodes)
        snprintf(of, sizeof of, "%" PRId64 " of ", senders);
    if (f->merged)
        snprintf(merged, sizeof merged, "; %" PRId64 " came merged, %s before", f->merged,
                 ti_format_size(f->merged_bytes, before, sizeof before));
    ti_say("fetched %" PRId64 " of %" PRId64 " ranks from %s%" PRId64 " node%s, %s in %.1f s%s",
           f->fetched, f->wanted, of, f->nodes, f->nodes == 1 ? "" : "s",
           ti_format_size(f->bytes, size, sizeof size), f->seconds, merged);
    if (f->connected_s > 0 && f->nodes > 1 && f->bytes)
        report_times(f);
    if (f->resumed)
        ti_say("%s of these files were here from a former gather",
               ti_format_size(f->resumed, size, sizeof size));
    report_other_ways(f);
    if (f->again)
        ti_say("%" PRId64 " rank%s had to be sent again", f->again, f->again == 1 ? "" : "s");
    if (verbose && f->nodes > 1)
        ti_say("predicted for this tree: all connected after %.1f s, the last byte after %.1f s",
               predicted->connect_s, predicted->total_s);
    for (int64_t i = 0; verbose && i < f->nnodes; i++)
        if (f->node[i].depth > 0)
            report_node(f, &f->node[i]);
}

/* --- the end ------------------------------------------------------------- */

/* As "ti-info --json --merge" prints it. */
static json_t *merged_json(const struct ti_run *run)
{
    return run->merged.groups
               ? json_pack("{s:o, s:I, s:I, s:I}", "groups", ti_json_u64(run->merged.groups),
                           "copies", (json_int_t)run->merged.copies, "bytes_before",
                           (json_int_t)run->bytes, "bytes", (json_int_t)run->merged.bytes)
               : json_null();
}

static json_t *run_json(const struct ti_run *run, const struct ti_gather_options *o, int64_t bytes,
                        int64_t removed, double seconds)
{
    if (!run)
        return json_pack("{s:s, s:b, s:b, s:I, s:f}", "bundle", o->output, "written", false,
                         "complete", false, "ranks", (json_int_t)0, "seconds", seconds);
    return json_pack(
        "{s:s, s:b, s:b, s:I, s:I, s:i, s:o, s:o, s:b, s:O, s:I, s:o, s:f, s:I, s:o, "
        "s:o}",
        "bundle", o->output, "written", !o->plan, "complete", run->complete == run->nranks, "np",
        (json_int_t)run->nranks, "ranks", (json_int_t)run->gathered, "nodes", run->nnodes, "events",
        ti_json_u64(run->events), "volume", ti_json_u64(run->volume), "estimate", run->estimate,
        "differ", run->differ, "bytes", (json_int_t)bytes, "merged", merged_json(run), "seconds",
        seconds, "removed", (json_int_t)removed, "missing", ti_run_bad_ranks(run, false),
        "incomplete", ti_run_bad_ranks(run, true));
}

static void summary_json(const struct ti_run *run, const struct ti_gather_options *o, int64_t bytes,
                         int64_t removed, double seconds, const struct ti_fetch *f, json_t *tree)
{
    json_t *sum = run_json(run, o, bytes, removed, seconds);

    if (sum && f->nodes)
        json_object_set_new(sum, "fetch",
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o}", "nodes",
                                      (json_int_t)f->nodes, "wanted", (json_int_t)f->wanted,
                                      "ranks", (json_int_t)f->fetched, "bytes",
                                      (json_int_t)f->bytes, "merged", (json_int_t)f->merged,
                                      "bytes_before", (json_int_t)f->merged_bytes, "seconds",
                                      f->seconds, "failed", ti_fetch_json(f)));
    if (sum && tree)
        json_object_set(sum, "tree", tree);
    if (sum) {
        json_dumpf(sum, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        putchar('\n');
    }
    json_decref(sum);
}

void ti_report_summary(const struct ti_run *run, const struct ti_gather_options *o, int64_t bytes,
                       int64_t removed, double seconds, const struct ti_fetch *f, json_t *tree)
{
    char size[32], before[32], events[32], nodes[64] = "", away[96] = "", merged[96] = "";

    if (o->json)
        summary_json(run, o, bytes, removed, seconds, f, tree);
    json_decref(tree);
    if (o->json || (o->quiet && !o->plan) || !run)
        return;
    if (run->nnodes)
        snprintf(nodes, sizeof nodes, " from %d node%s", run->nnodes, run->nnodes == 1 ? "" : "s");
    if (run->away)
        snprintf(away, sizeof away, ", %" PRId64 " of them to be fetched; here are %" PRId64,
                 run->away, run->gathered);
    if (run->merged.groups)
        snprintf(merged, sizeof merged, " in %" PRIu64 " group%s, %s before", run->merged.groups,
                 run->merged.groups == 1 ? "" : "s",
                 ti_format_size(run->bytes, before, sizeof before));
    printf("%s: %s%" PRId64 " of %" PRId64 " ranks%s%s, %s events, %s%s%s\n", o->output,
           o->plan ? "would hold " : "", run->gathered + run->away, run->nranks, away, nodes,
           ti_format_count(run->events, events, sizeof events),
           ti_format_size(bytes, size, sizeof size), merged,
           run->estimate ? "; volumes are an estimate" : "");
    if (o->remove && !o->plan)
        printf("%s: removed %" PRId64 " traces\n", run->path, removed);
}
