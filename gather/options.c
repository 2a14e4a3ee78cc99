#include "gather/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    OPT_FORCE = TI_OPT_LONG,
    OPT_REMOVE,
    OPT_ARITY,
    OPT_ASSUME,
    OPT_TIMEOUT,
    OPT_TRANSPORT,
    OPT_FORWARD_AGENT,
    OPT_TRUST,
    OPT_DOT,
    OPT_JSON,
    OPT_NO_PROGRESS,
};

static const struct ti_opt opts[] = {
    {'o', "output", "BUNDLE", "the bundle to write [default: RUN with .tib for .run]"},
    {OPT_FORCE, "force", NULL,
     "replace BUNDLE if it exists and is a bundle, unless it has\nranks of this run of which there "
     "is nothing else"},
    {'n', "plan", NULL, "check, say what would be gathered and who sends to whom,\nwrite nothing"},
    {OPT_REMOVE, "remove", NULL,
     "delete the complete traces from RUN, and from the nodes\nthey were fetched from, once the "
     "bundle is on disk and\nhas been compared with them"},
    TI_OPT_HEADING("Traces on other nodes (as RUN.json says)"),
    {OPT_ARITY, "arity", "K",
     "children that a node of the tree takes a round: 1 to 64,\nauto for what costs least, or star "
     "[default: 4]"},
    {OPT_ASSUME, "assume", "LIST",
     "what --plan and --arity auto reckon with, such as\nrtt=20ms,rate=100mbit,site-rate=50mbit"},
    {OPT_TIMEOUT, "timeout", "SEC", "give a node up that says nothing for so long [default: 60]"},
    {OPT_TRANSPORT, "transport", "NAME", "auto, libssh2 or openssh [default: auto]"},
    {'F', "ssh-config", "FILE", "as ssh -F"},
    {OPT_FORWARD_AGENT, "forward-agent", NULL,
     "let nodes that pass on for others log in to these with\nyour SSH agent, by OpenSSH"},
    {OPT_TRUST, "trust", NULL,
     "execute what RUN.json names to reach nodes with, or on\nthem, whatever that is"},
    TI_OPT_HEADING("Output"),
    {'q', "quiet", NULL, "errors, warnings and what was asked for only:\na plan, JSON"},
    {'v', "verbose", NULL, "a line for each rank, and for each node"},
    {OPT_JSON, "json", NULL, "the summary, and the tree, as JSON on stdout"},
    {OPT_DOT, "dot", "FILE", "write a drawing of the tree, for Graphviz"},
    {OPT_NO_PROGRESS, "no-progress", NULL, "no progress line"},
    TI_OPT_END,
};

static const struct ti_cli_absent absent[] = {
    {"resume",
     "the same command again, with --force where there is a bundle, goes on where it was"},
    {"compress", "traces are compressed already, and sent as they are"},
    {0},
};

const struct ti_cli ti_gather_cli = {
    .tool = "ti-gather",
    .what = "Collect the traces of a run into one bundle.",
    .usage = "[OPTION]... RUN [-o BUNDLE]",
    .examples = "  ti-gather lu.E.run -o lu.E.16384.tib\n"
                "  ti-gather --plan lu.E.run\n"
                "  ti-gather --arity auto --assume rate=100mbit lu.E.run\n",
    .opts = opts,
    .absent = absent,
    .after = "Exit status: 0 all ranks, 1 some missing or incomplete, or files of another run,\n"
             "2 usage, 3 nothing usable or a bad RUN.json, 4 local I/O, 5 no node's traces could\n"
             "be had.\n"
             "More: man ti-gather\n",
};

/* RUN's name with .run replaced by .tib, or .tib behind it. */
static char *default_output(const char *run)
{
    const char *slash = strrchr(run, '/');
    const char *base = slash && slash[1] ? slash + 1 : run;
    size_t n;
    char *path, *out = NULL;

    /* "run/" and "." do not contain the name */
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

static ti_status parse_transport(const char *name, enum ti_transport *out)
{
    static const char *const names[] = {[TI_TRANSPORT_AUTO] = "auto",
                                        [TI_TRANSPORT_LIBSSH2] = "libssh2",
                                        [TI_TRANSPORT_OPENSSH] = "openssh"};

    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum ti_transport)i;
            return TI_OK;
        }
    return ti_cli_usage(&ti_gather_cli, "--transport must be auto, libssh2 or openssh, not '%s'",
                        name);
}

static ti_status parse_arity(const char *text, int *out)
{
    struct ti_err err;
    int64_t k;

    if (strcmp(text, "auto") == 0) {
        *out = TI_ARITY_AUTO;
        return TI_OK;
    }
    if (strcmp(text, "star") == 0) {
        *out = TI_ARITY_STAR;
        return TI_OK;
    }
    if (ti_parse_int(text, "--arity", 1, TI_ARITY_MAX, &k, &err) != TI_OK)
        return ti_cli_usage(&ti_gather_cli, "--arity must be 1 to %d, auto or star, not '%s'",
                            TI_ARITY_MAX, text);
    *out = (int)k;
    return TI_OK;
}

static ti_status parse_assume(const char *text, struct ti_tree_costs *costs)
{
    struct ti_err err;

    if (ti_tree_costs_parse(text, costs, &err) != TI_OK)
        return ti_cli_usage(&ti_gather_cli, "--assume: %s", err.text);
    return TI_OK;
}

static ti_status parse_timeout(const char *text, double *out)
{
    struct ti_err err;
    int64_t seconds;

    if (ti_parse_int(text, "--timeout", 1, 86400, &seconds, &err) != TI_OK)
        return ti_cli_usage(&ti_gather_cli, "%s", err.text);
    *out = (double)seconds;
    return TI_OK;
}

static ti_status take(int id, const char *arg, struct ti_gather_options *o)
{
    switch (id) {
    case 'o':
        free(o->output);
        o->output = strdup(arg);
        return TI_OK;
    case OPT_FORCE:
        o->force = true;
        return TI_OK;
    case 'n':
        o->plan = true;
        return TI_OK;
    case OPT_REMOVE:
        o->remove = true;
        return TI_OK;
    case OPT_ARITY:
        return parse_arity(arg, &o->fetch.arity);
    case OPT_ASSUME:
        return parse_assume(arg, &o->costs);
    case OPT_TIMEOUT:
        return parse_timeout(arg, &o->fetch.timeout_s);
    case OPT_TRANSPORT:
        return parse_transport(arg, &o->fetch.transport);
    case 'F':
        o->fetch.ssh_config = arg;
        return TI_OK;
    case OPT_FORWARD_AGENT:
        o->fetch.forward_agent = true;
        return TI_OK;
    case OPT_TRUST:
        o->fetch.trust = true;
        return TI_OK;
    case 'q':
        o->quiet = true;
        return TI_OK;
    case 'v':
        o->verbose = true;
        return TI_OK;
    case OPT_DOT:
        o->dot = arg;
        return TI_OK;
    case OPT_JSON:
        o->json = true;
        return TI_OK;
    case OPT_NO_PROGRESS:
        o->no_progress = true;
        return TI_OK;
    default:
        return TI_ERR_USAGE;
    }
}

int ti_gather_options_parse(int argc, char **argv, struct ti_gather_options *o)
{
    const char *arg;
    struct ti_err err;
    int id;

    *o = (struct ti_gather_options){.fetch = {.timeout_s = 60, .arity = TI_ARITY_DEFAULT}};
    ti_tree_costs_default(&o->costs);
    o->fetch.costs = &o->costs;
    while ((id = ti_cli_next(&ti_gather_cli, argc, argv, &arg)) != TI_CLI_END) {
        if (id == TI_CLI_EXIT_OK)
            return TI_OK;
        if (take(id, arg, o) != TI_OK)
            return TI_ERR_USAGE;
    }
    if (argc - ti_cli_operand() != 1)
        return (int)ti_cli_usage(&ti_gather_cli, argc == ti_cli_operand()
                                                     ? "which run directory?"
                                                     : "one run directory at a time");
    o->run = argv[ti_cli_operand()];
    if (o->fetch.forward_agent && o->fetch.transport == TI_TRANSPORT_LIBSSH2)
        return (int)ti_cli_usage(&ti_gather_cli, "--forward-agent needs OpenSSH: leave out "
                                                 "--transport libssh2");
    if (o->fetch.ssh_config && strcasecmp(o->fetch.ssh_config, "none") != 0 &&
        access(o->fetch.ssh_config, R_OK) < 0)
        return (int)ti_cli_fail(&ti_gather_cli,
                                ti_err_errno(&err, TI_ERR_IO,
                                             "cannot read ssh's configuration '%s'",
                                             o->fetch.ssh_config),
                                &err);
    if (o->output && !*o->output)
        return (int)ti_cli_usage(&ti_gather_cli, "the bundle needs a name");
    if (o->dot && !*o->dot)
        return (int)ti_cli_usage(&ti_gather_cli, "the drawing needs a name");
    if (!o->output)
        o->output = default_output(o->run);
    if (!o->output)
        return (int)ti_cli_fail(&ti_gather_cli,
                                ti_err_errno(&err, TI_ERR_IO, "cannot open '%s'", o->run), &err);
    return -1;
}
