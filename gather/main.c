/* ti-gather: from a run directory to a bundle. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "formats/differ.h"
#include "formats/rankname.h"
#include "gather/ahead.h"
#include "gather/bundle.h"
#include "gather/fetch.h"

#define REASONS_MAX 8 /* ranks explained one by one */

enum {
    OPT_FORCE = TI_OPT_LONG,
    OPT_REMOVE,
    OPT_TIMEOUT,
    OPT_TRANSPORT,
    OPT_JSON,
    OPT_NO_PROGRESS,
};

static const struct ti_opt opts[] = {
    {'o', "output", "BUNDLE", "the bundle to write [default: RUN with .tib for .run]"},
    {OPT_FORCE, "force", NULL, "replace BUNDLE if it exists and is a bundle"},
    {'n', "plan", NULL, "check, say what would be gathered, write nothing"},
    {OPT_REMOVE, "remove", NULL,
     "delete the complete traces from RUN, and from the nodes\nthey were fetched from, once the "
     "bundle is on disk and\nhas been compared with them"},
    TI_OPT_HEADING("Traces on other nodes (as RUN.json says)"),
    {OPT_TIMEOUT, "timeout", "SEC", "give a node up that says nothing for so long [default: 60]"},
    {OPT_TRANSPORT, "transport", "NAME", "auto, libssh2 or openssh [default: auto]"},
    {'F', "ssh-config", "FILE", "as ssh -F"},
    TI_OPT_HEADING("Output"),
    {'q', "quiet", NULL, "errors and warnings only"},
    {'v', "verbose", NULL, "a line for each rank"},
    {OPT_JSON, "json", NULL, "the summary as JSON on stdout"},
    {OPT_NO_PROGRESS, "no-progress", NULL, "no progress line"},
    TI_OPT_END,
};

static const struct ti_cli cli = {
    .tool = "ti-gather",
    .what = "Collect the traces of a run into one bundle.",
    .usage = "[OPTION]... RUN [-o BUNDLE]",
    .examples = "  ti-gather lu.E.run -o lu.E.16384.tib\n"
                "  ti-gather --plan lu.E.run\n",
    .opts = opts,
    .after = "Exit status: 0 all ranks, 1 some missing or incomplete, or files of another run,\n"
             "2 usage, 3 nothing usable, 4 local I/O, 5 no node's traces could be had.\n"
             "More: man ti-gather\n",
};

struct settings {
    const char *run;
    char *output; /* allocated */
    bool force, plan, remove, quiet, verbose, json, no_progress;
    struct ti_fetch_settings fetch;
};

static void on_signal(int number)
{
    ti_gather_stop = number;
}

/* An interrupted gather removes its .part; a file size limit is a write error. */
static void catch_signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

/* RUN's name with .run replaced by .tib, or .tib behind it. */
static char *default_output(const char *run)
{
    const char *slash = strrchr(run, '/');
    const char *base = slash && slash[1] ? slash + 1 : run;
    size_t n;
    char *path, *out = NULL;

    /* "run/" and "." do not show their names */
    path = base[strspn(base, "./")] && !(slash && !slash[1]) ? strdup(run) : realpath(run, NULL);
    if (!path)
        return NULL;
    n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".run") == 0 && path[n - 5] != '/')
        path[n - 4] = '\0';
    if (asprintf(&out, "%s.tib", path) < 0)
        out = NULL;
    free(path);
    return out;
}

static bool parse_transport(const char *name, enum ti_transport *out)
{
    static const char *const names[] = {[TI_TRANSPORT_AUTO] = "auto",
                                        [TI_TRANSPORT_LIBSSH2] = "libssh2",
                                        [TI_TRANSPORT_OPENSSH] = "openssh"};

    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum ti_transport)i;
            return true;
        }
    return false;
}

static ti_status parse_timeout(const char *text, struct settings *s)
{
    struct ti_err err;
    int64_t seconds;
    ti_status st = ti_parse_int(text, "--timeout", 1, 86400, &seconds, &err);

    if (st != TI_OK)
        return ti_cli_usage(&cli, "%s", err.text);
    s->fetch.timeout_s = (double)seconds;
    return TI_OK;
}

/* Returns a status, or -1 to go on. */
static int parse(int argc, char **argv, struct settings *s)
{
    const char *arg;
    int id;

    while ((id = ti_cli_next(&cli, argc, argv, &arg)) != TI_CLI_END) {
        switch (id) {
        case 'o':
            free(s->output);
            s->output = strdup(arg);
            break;
        case OPT_FORCE:
            s->force = true;
            break;
        case 'n':
            s->plan = true;
            break;
        case OPT_REMOVE:
            s->remove = true;
            break;
        case OPT_TIMEOUT:
            if (parse_timeout(arg, s) != TI_OK)
                return TI_ERR_USAGE;
            break;
        case OPT_TRANSPORT:
            if (!parse_transport(arg, &s->fetch.transport))
                return (int)ti_cli_usage(
                    &cli, "--transport must be auto, libssh2 or openssh, not '%s'", arg);
            break;
        case 'F':
            s->fetch.ssh_config = arg;
            break;
        case 'q':
            s->quiet = true;
            break;
        case 'v':
            s->verbose = true;
            break;
        case OPT_JSON:
            s->json = true;
            break;
        case OPT_NO_PROGRESS:
            s->no_progress = true;
            break;
        case TI_CLI_EXIT_OK:
            return TI_OK;
        default:
            return TI_ERR_USAGE;
        }
    }
    if (argc - ti_cli_operand() != 1)
        return (int)ti_cli_usage(&cli, argc == ti_cli_operand() ? "which run directory?"
                                                                : "one run directory at a time");
    s->run = argv[ti_cli_operand()];
    if (s->output && !*s->output)
        return (int)ti_cli_usage(&cli, "the bundle needs a name");
    if (!s->output)
        s->output = default_output(s->run);
    if (!s->output) {
        struct ti_err err;

        return (int)ti_cli_fail(&cli, ti_err_errno(&err, TI_ERR_IO, "cannot open '%s'", s->run),
                                &err);
    }
    return -1;
}

/* One line for all ranks of one state, then why, for the first of them. */
static void report_state(const struct ti_run *run, enum ti_rank_state state)
{
    int64_t *rank = malloc((size_t)run->nranks * sizeof *rank), n = 0, explained = 0;
    char ranks[512];

    for (int64_t i = 0; rank && i < run->nranks; i++)
        if (run->rank[i].state == state)
            rank[n++] = i;
    if (n)
        ti_warn("%" PRId64 " %s %s: %s", n, n == 1 ? "rank is" : "ranks are",
                ti_rank_state_text(state), ti_ranks_text(rank, n, ranks, sizeof ranks));
    for (int64_t i = 0; i < n; i++) {
        const char *reason = run->rank[rank[i]].reason;
        bool plain = state == TI_RANK_MISSING && reason && strcmp(reason, "no file") == 0;

        if (!reason || plain)
            continue;
        if (explained++ == REASONS_MAX) {
            ti_warn("... and more like these");
            break;
        }
        ti_warn("rank %" PRId64 ": %s", rank[i], reason);
    }
    free(rank);
}

static void report(const struct ti_run *run, const struct settings *s)
{
    char events[32], size[32], text[1024];
    const char *key;
    json_t *values;

    for (int64_t i = 0; s->verbose && i < run->nranks; i++) {
        const struct ti_run_rank *rank = &run->rank[i];

        if (ti_run_gathers(run, i))
            ti_say("rank %" PRId64 ": %s, %s events, %s%s%s", i,
                   rank->node >= 0 ? run->node[rank->node] : "unknown node",
                   ti_format_count(rank->events, events, sizeof events),
                   ti_format_size(rank->file.st_size, size, sizeof size), rank->reason ? ", " : "",
                   rank->reason ? rank->reason : "");
    }
    for (int state = TI_RANK_OK + 1; state < TI_RANK_STATE_COUNT; state++)
        report_state(run, (enum ti_rank_state)state);
    for (int i = 0; i < run->nstrays && i < REASONS_MAX; i++)
        ti_warn("ignored: %s", run->stray[i].reason ? run->stray[i].reason : run->stray[i].name);
    if (run->nstrays > REASONS_MAX)
        ti_warn("... and %d more files ignored", run->nstrays - REASONS_MAX);
    json_object_foreach(run->differ, key, values)
        ti_warn("%s", ti_differ_text(key, values, text, sizeof text));
}

static void print_summary(const struct ti_run *run, const struct settings *s, int64_t bytes,
                          int64_t removed, const struct ti_fetch *fetched)
{
    char size[32], events[32], nodes[64] = "";

    if (s->json) {
        json_t *sum = json_pack(
            "{s:s, s:b, s:b, s:I, s:I, s:i, s:o, s:o, s:b, s:O, s:I, s:f, s:I, s:o, s:o}", "bundle",
            s->output, "written", !s->plan, "complete", run->complete == run->nranks, "np",
            (json_int_t)run->nranks, "ranks", (json_int_t)run->gathered, "nodes", run->nnodes,
            "events", ti_json_u64(run->events), "volume", ti_json_u64(run->volume), "estimate",
            run->estimate, "differ", run->differ, "bytes", (json_int_t)bytes, "seconds",
            ti_run_now() - run->started, "removed", (json_int_t)removed, "missing",
            ti_manifest_missing(run), "incomplete", ti_manifest_incomplete(run));

        if (sum && fetched->nodes)
            json_object_set_new(
                sum, "fetch",
                json_pack("{s:I, s:I, s:I, s:f, s:o}", "nodes", (json_int_t)fetched->nodes, "ranks",
                          (json_int_t)fetched->fetched, "bytes", (json_int_t)fetched->bytes,
                          "seconds", fetched->seconds, "failed", ti_fetch_json(fetched)));
        if (sum) {
            json_dumpf(sum, stdout, JSON_INDENT(1));
            putchar('\n');
        }
        json_decref(sum);
        return;
    }
    if (s->quiet)
        return;
    if (run->nnodes)
        snprintf(nodes, sizeof nodes, " from %d node%s", run->nnodes, run->nnodes == 1 ? "" : "s");
    printf("%s: %s%" PRId64 " of %" PRId64 " ranks%s, %s events, %s%s\n", s->output,
           s->plan ? "would hold " : "", run->gathered, run->nranks, nodes,
           ti_format_count(run->events, events, sizeof events),
           ti_format_size(bytes, size, sizeof size),
           run->estimate ? "; volumes are an estimate" : "");
    if (s->remove && !s->plan)
        printf("%s: removed %" PRId64 " traces\n", run->path, removed);
}

/* What is on other nodes, into the run directory; a plan only counts it. */
static ti_status fetch(const struct settings *s, struct ti_fetch *fetched, struct ti_err *err)
{
    ti_status st = ti_fetch(s->run, &s->fetch, s->plan, fetched, err);
    char size[32];

    if (st != TI_OK || !fetched->nodes)
        return st;
    if (s->plan)
        ti_say("%" PRId64 " ranks would be fetched first, from %" PRId64 " node%s", fetched->wanted,
               fetched->nodes, fetched->nodes == 1 ? "" : "s");
    else
        ti_say("fetched %" PRId64 " of %" PRId64 " ranks from %" PRId64 " node%s, %s in %.1f s",
               fetched->fetched, fetched->wanted, fetched->nodes, fetched->nodes == 1 ? "" : "s",
               ti_format_size(fetched->bytes, size, sizeof size), fetched->seconds);
    ti_fetch_report(fetched);
    return TI_OK;
}

/* Why a rank that is missing could not be had is said in the bundle as well. */
static void explain_missing(struct ti_run *run, const struct ti_fetch *fetched)
{
    for (int i = 0; i < fetched->nfailures; i++) {
        const struct ti_fetch_failure *x = &fetched->failure[i];
        const json_t *range;
        size_t k;

        json_array_foreach(
            x->ranks, k,
            range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                        r <= json_integer_value(json_array_get(range, 1)) && r < run->nranks; r++)
        {
            char *why;

            if (run->rank[r].state != TI_RANK_MISSING ||
                (x->node ? asprintf(&why, "not fetched from node '%s': %s", x->node, x->why)
                         : asprintf(&why, "not fetched: %s", x->why)) < 0)
                continue;
            free(run->rank[r].reason);
            run->rank[r].reason = why;
        }
    }
}

/* The traces on the nodes; that the bundle is there, and only some of these could not be
 * removed, is no failure. */
static ti_status remove_there(const struct ti_run *run, const struct settings *s, int64_t *removed,
                              struct ti_err *err)
{
    struct ti_fetch left;
    int64_t there = 0;
    ti_status st = ti_fetch_remove(run, &s->fetch, &there, &left, err);

    for (int i = 0; st == TI_OK && i < left.nfailures; i++)
        ti_warn("traces remain on node '%s': %s", left.failure[i].node, left.failure[i].why);
    if (there > *removed) /* those that are here are copies of these */
        *removed = there;
    ti_fetch_free(&left);
    return st;
}

static ti_status gather_fetched(const struct settings *s, const struct ti_fetch *fetched,
                                double fetch_started, struct ti_ahead *ahead,
                                struct ti_bundle *bundle, struct ti_err *err)
{
    struct ti_run *run;
    int64_t bytes, removed = 0;
    ti_status st = ti_run_check(s->run, ahead, &run, err);

    if (st == TI_ERR_INPUT && fetched->nfailures && !fetched->fetched) {
        ti_err_set(err, TI_ERR_REMOTE, "no trace could be had from any node");
        ti_err_hint(err, "'ti-gather %s' tries again what is missing", s->run);
        return TI_ERR_REMOTE;
    }
    if (st == TI_ERR_INPUT && s->plan && fetched->wanted) {
        ti_say("nothing else is here yet");
        return TI_OK;
    }
    if (st != TI_OK)
        return st;
    run->fetch.started = fetch_started;
    run->fetch.seconds = fetched->seconds;
    run->fetch.nodes = fetched->nodes;
    run->fetch.ranks = fetched->fetched;
    run->fetch.bytes = fetched->bytes;
    report(run, s);
    explain_missing(run, fetched);
    bytes = run->bytes;
    if (bundle)
        st = ti_bundle_finish(bundle, run, &bytes, err);
    if (st == TI_OK && s->remove && !s->plan)
        st = ti_bundle_remove_sources(run, s->output, &removed, err);
    if (st == TI_OK && s->remove && !s->plan)
        st = remove_there(run, s, &removed, err);
    if (st == TI_OK) {
        print_summary(run, s, bytes, removed, fetched);
        if (fflush(stdout) != 0 || ferror(stdout))
            st = ti_err_errno(err, TI_ERR_IO, "cannot write to standard output");
    }
    if (st == TI_OK && (run->complete < run->nranks || run->foreign))
        st = TI_ERR_PARTIAL;
    ti_run_free(run);
    return st;
}

static void on_arrival(int64_t rank, void *ahead)
{
    ti_ahead_add(ahead, rank);
}

static ti_status gather(struct settings *s, struct ti_err *err)
{
    struct ti_fetch fetched = {0};
    struct ti_bundle *bundle = NULL;
    struct ti_ahead *ahead = NULL;
    double started = ti_run_now();
    ti_status st = TI_OK;

    if (!s->plan)
        st = ti_bundle_begin(s->output, s->force, &bundle, err);
    if (st != TI_OK)
        return st;
    ahead = ti_ahead_new(s->run, bundle);
    if (ahead) {
        s->fetch.arrived = on_arrival;
        s->fetch.arg = ahead;
    }
    st = fetch(s, &fetched, err);
    if (st == TI_OK)
        st = gather_fetched(s, &fetched, started, ahead, bundle, err);
    ti_ahead_free(ahead);
    ti_bundle_free(bundle);
    ti_fetch_free(&fetched);
    return st;
}

int main(int argc, char **argv)
{
    struct settings s = {.fetch = {.timeout_s = 60}};
    struct ti_err err;
    int st = parse(argc, argv, &s);

    if (st < 0) {
        ti_talk_init(cli.tool, s.quiet, s.no_progress);
        catch_signals();
        st = gather(&s, &err);
        if (st != TI_OK && st != TI_ERR_PARTIAL)
            ti_cli_fail(&cli, (ti_status)st, &err);
        if (ti_gather_stop) { /* so that a calling shell sees it */
            signal(ti_gather_stop, SIG_DFL);
            raise(ti_gather_stop);
        }
    }
    free(s.output);
    return st;
}
