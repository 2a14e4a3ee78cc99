#include "gather/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static ti_status parse_arity(void *options, const char *arg, struct ti_err *err)
{
    struct ti_gather_options *o = options;
    int64_t k;

    if (strcmp(arg, "auto") == 0)
        k = TI_ARITY_AUTO;
    else if (strcmp(arg, "star") == 0)
        k = TI_ARITY_STAR;
    else if (ti_parse_int(arg, "--arity", 1, TI_ARITY_MAX, &k, err) != TI_OK)
        return ti_err_set(err, TI_ERR_USAGE, "--arity must be 1 to %d, auto or star, not '%s'",
                          TI_ARITY_MAX, arg);
    o->fetch.arity = (int)k;
    return TI_OK;
}

static ti_status parse_assume(void *options, const char *arg, struct ti_err *err)
{
    struct ti_gather_options *o = options;

    return ti_tree_costs_parse(arg, &o->costs, err) ? ti_err_prefix(err, TI_ERR_USAGE, "--assume")
                                                    : TI_OK;
}

#define TI_OPT_STRUCT struct ti_gather_options

static const struct ti_opt opts[] = {
    {'o', "output", "BUNDLE", "the bundle to write [default: RUN with .tib for .run]",
     TI_OPT_NAME(output)},
    {0, "force", NULL,
     "replace BUNDLE if it is a bundle, unless it has the only\n"
     "copy of some ranks of this run",
     TI_OPT_FLAG(force)},
    {'n', "plan", NULL,
     "check, print what would be gathered and who sends to\n"
     "whom, and write nothing",
     TI_OPT_FLAG(plan)},
    {0, "remove", NULL,
     "delete the complete traces from RUN, and from the nodes\n"
     "that sent them, once the bundle is on disk and has been\n"
     "compared with them",
     TI_OPT_FLAG(remove)},
    TI_OPT_HEADING("Merged traces"),
    {0, "merge", "HOW", TI_MERGE_HELP, TI_OPT_CHOICE(merge.how, TI_MERGE_AUTO, TI_MERGE_WORDS)},
    {0, "volumes", "QUALITY", TI_VOLUMES_HELP, TI_OPT_TEXT(merge.volumes)},
    {0, "extras", "QUALITY", TI_EXTRAS_HELP, TI_OPT_TEXT(merge.extras)},
    TI_OPT_HEADING("Traces on other nodes (as RUN.json says)"),
    {0, "arity", "K",
     "children of a node of the tree per round: 1 to 64, auto\n"
     "(the cheapest tree) or star [default: 4]",
     TI_OPT_FUNCTION(parse_arity)},
    {0, "assume", "LIST",
     "network that --plan and --arity auto assume, such as\n"
     "rtt=20ms,rate=100mbit,site-rate=50mbit",
     TI_OPT_FUNCTION(parse_assume)},
    {0, "timeout", "SEC",
     "abandon a node that sends nothing for SEC seconds\n"
     "[default: 60]",
     TI_OPT_INTEGER(fetch.timeout_s, 1, 86400)},
    {0, "transport", "NAME",
     "how to reach nodes: auto, libssh2 or openssh\n"
     "[default: auto]",
     TI_OPT_CHOICE(fetch.transport, TI_TRANSPORT_AUTO, "auto libssh2 openssh")},
    {'F', "ssh-config", "FILE", "configuration file, as for ssh -F", TI_OPT_TEXT(fetch.ssh_config)},
    {0, "forward-agent", NULL,
     "let relays log in to other nodes with your SSH agent;\n"
     "this needs OpenSSH",
     TI_OPT_FLAG(fetch.forward_agent)},
    {0, "trust", NULL,
     "run the commands that RUN.json names, here and on\n"
     "nodes, whatever they are",
     TI_OPT_FLAG(fetch.trust)},
    TI_OPT_HEADING("Output"),
    {'q', "quiet", NULL,
     "print only errors, warnings and what was asked for (a\n"
     "plan, JSON)",
     TI_OPT_FLAG(quiet)},
    {'v', "verbose", NULL, "print a line for each rank and each node", TI_OPT_FLAG(verbose)},
    {0, "json", NULL, "print the summary and the tree as JSON on stdout", TI_OPT_FLAG(json)},
    {0, "dot", "FILE", "write a drawing of the tree, for Graphviz", TI_OPT_NAME(dot)},
    TI_OPT_PROGRESS(progress),
    TI_OPT_END,
};

static const struct ti_cli_absent absent[] = {
    {"resume", "run the same command again, with --force if there is a bundle: it resumes"},
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

void ti_gather_options_default(struct ti_gather_options *o)
{
    *o = (struct ti_gather_options){.fetch = {.timeout_s = 60, .arity = TI_ARITY_DEFAULT}};
    ti_tree_costs_default(&o->costs);
    o->fetch.costs = &o->costs;
}

int ti_gather_options_parse(int argc, char **argv, struct ti_gather_options *o)
{
    struct ti_err err = {0};
    int st;

    ti_gather_options_default(o);
    st = ti_cli_parse(&ti_gather_cli, argc, argv, o);
    if (st != TI_CLI_END)
        return st;
    if (argc - ti_cli_operand() != 1)
        return (int)ti_cli_usage(&ti_gather_cli, argc == ti_cli_operand()
                                                     ? "which run directory?"
                                                     : "one run directory at a time");
    o->run = argv[ti_cli_operand()];
    if (ti_merge_options_check(&o->merge, &err) != TI_OK)
        return (int)ti_cli_usage(&ti_gather_cli, "%s", err.text);
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
    if (!o->output)
        o->output = o->made_output = default_output(o->run);
    if (!o->output) {
        ti_err_errno(&err, TI_ERR_IO, "cannot open '%s'", o->run);
        ti_hint_file(&err, o->run);
        return (int)ti_cli_fail(&ti_gather_cli, TI_ERR_IO, &err);
    }
    return TI_CLI_END;
}
