#include "acquire/options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/plan/isa.h"
#include "acquire/plan/place.h"
#include "acquire/run/mpirun.h"
#include "acquire/run/pilot.h"
#include "common/limits.h"
#include "common/map.h"
#include "trace/writer.h"

/* --mca has two arguments, getopt handles one. */
static ti_status parse_mca(void *options, const char *key, struct ti_err *err)
{
    struct ti_options *o = options;
    const char *value = ti_cli_second_argument();

    if (!value)
        return ti_err_set(err, TI_ERR_USAGE, "--mca needs a key and a value");
    ti_args_add(&o->mpirun, "--mca", key, value);
    return TI_OK;
}

/* Variables are kept apart from mpirun's other arguments, because some are reserved for us. */
static ti_status parse_env(void *options, const char *var, struct ti_err *err)
{
    static const char *const ours[] = {"TIARA_TRACE_DIR", "TIARA_COUNTER",        "TIARA_RUN_ID",
                                       "TIARA_THREADS",   "TIARA_TIMES",          "TIARA_ALSO",
                                       "TIARA_BUFFER",    "TIARA_RANKS_PER_NODE", NULL};
    struct ti_options *o = options;
    size_t len = strcspn(var, "=");

    if (!isalpha((unsigned char)var[0]) && var[0] != '_')
        return ti_err_set(err, TI_ERR_USAGE, "-x needs a variable, not '%s'", var);
    for (int i = 0; ours[i]; i++)
        if (strlen(ours[i]) == len && strncmp(var, ours[i], len) == 0)
            return ti_err_set(err, TI_ERR_USAGE,
                              "%s is set by %s; see --trace-dir, --counter, --threads, --times, "
                              "--also, --buffer and --target-ranks-per-node",
                              ours[i], o->cli->tool);
    ti_args_add(&o->env, var);
    return TI_OK;
}

static ti_status parse_isa(void *options, const char *arg, struct ti_err *err)
{
    struct ti_options *o = options;

    o->isa_native = strcmp(arg, "native") == 0;
    o->isa = o->isa_native ? NULL : arg;
    if (o->isa_native || ti_isa_tunables(arg))
        return TI_OK;
    ti_err_set(err, TI_ERR_USAGE, "--isa must be " TI_ISA_LEVELS ", or native, not '%s'", arg);
    ti_hint_word(err, arg, "x86-64 x86-64-v2 x86-64-v3 native");
    return TI_ERR_USAGE;
}

static ti_status parse_pilot(void *options, const char *arg, struct ti_err *err)
{
    struct ti_options *o = options;

    o->no_pilot = strcmp(arg, "no") == 0;
    o->pilot = o->no_pilot ? NULL : arg;
    return o->no_pilot ? TI_OK
                       : ti_pilot_list(arg, (int64_t[TI_MEMORY_POINTS_MAX]){0}, &(int){0}, err);
}

static ti_status parse_redact(void *options, const char *arg, struct ti_err *err)
{
    struct ti_options *o = options;

    if (strchr(arg, '\n'))
        return ti_err_set(err, TI_ERR_USAGE, "--redact is a pattern of one line");
    ti_args_add(&o->redact, arg);
    return TI_OK;
}

#define TI_OPT_STRUCT struct ti_options

static const struct ti_opt opts[] = {
    TI_OPT_HEADING("Run"),
    {'n', "np", "N", "number of ranks, which may exceed the cores; also -np N",
     TI_OPT_INTEGER(np, 1, TI_RANKS_MAX)},
    {'c', "counter", "NAME",
     "counter for bursts: auto, papi[:EVENT], valgrind,\n"
     "blocks or cputime [default: auto]",
     TI_OPT_TEXT(counter)},
    {0, "threads", "WHOSE",
     "threads that count: caller (the thread that calls MPI),\n"
     "sum (all threads of a rank) or auto (sum for programs\n"
     "with OpenMP, else caller) [default: auto]",
     TI_OPT_CHOICE(threads, TI_THREADS_AUTO, "auto caller sum")},
    {0, "target-ranks-per-node", "N",
     "ranks per node of the machine to be simulated; the\n"
     "program sees this when it asks which ranks share a node",
     TI_OPT_INTEGER(ranks_per_node, 1, TI_RANKS_MAX)},
    {0, "isa", "LEVEL",
     "let glibc select its functions as on a machine that has\n"
     "just LEVEL: " TI_ISA_LEVELS "; or\n"
     "native [default: the common level if nodes differ]",
     TI_OPT_FUNCTION(parse_isa)},
    {0, "container", "IMAGE",
     "run the program in an image: of Podman by name, of\n"
     "Apptainer by file",
     TI_OPT_TEXT(container)},
    {'x', "env", "VAR[=VALUE]", "pass a variable to the ranks, as mpirun does",
     TI_OPT_FUNCTION(parse_env)},
    {0, "times", NULL, "also record how long bursts and calls take", TI_OPT_FLAG(times)},
    {0, "also", "EVENT[,EVENT]", "also count these PAPI events in bursts", TI_OPT_NAME(also)},
    {0, "no-dry-launch", NULL, "on several nodes: do not test the placement first",
     TI_OPT_FLAG(no_dry_launch)},
    {0, "keep-going", NULL, "if a node fails, gather the traces of the others",
     TI_OPT_FLAG(keep_going)},
    {0, "retry", "N", "if a node fails, run again without it, N times at most",
     TI_OPT_INTEGER(retries, 0, 100)},
    {0, "log", "FILE", "the log of a run on several nodes [default: in DIR]", TI_OPT_TEXT(log)},
    {0, "mca", "KEY VALUE", "a parameter of Open MPI, as for mpirun", TI_OPT_FUNCTION(parse_mca)},
    {0, "timeout", "SEC", "end the run after SEC seconds [default: never]",
     TI_OPT_INTEGER(timeout_s, 1, INT64_C(1) << 31)},
    {0, "silence", "SEC",
     "abandon a node that sends nothing for SEC seconds\n"
     "[default: 60]",
     TI_OPT_INTEGER(silence_s, 1, 86400)},
    TI_OPT_HEADING("Where"),
    {0, "sites", "FILE", "use the nodes of a sites file, see tiara-sites(5)",
     TI_OPT_TEXT(sites_path)},
    {0, "hostfile", "FILE", "use the nodes of a hostfile of Open MPI or Hydra",
     TI_OPT_TEXT(hostfile)},
    {0, "local", NULL,
     "use this machine only [default without these three\n"
     "options: the nodes of the Slurm or OAR job, or this\n"
     "machine if there is no job]",
     TI_OPT_FLAG(local)},
    {0, "exclude", "HOSTLIST", "leave out these nodes, such as graphene-[1-4,7]",
     TI_OPT_TEXT(exclude)},
    {0, "family", "NAME", "use only processors of this family (uname -m)", TI_OPT_TEXT(family)},
    {0, "tolerate", "N",
     "continue without unusable nodes if they are N at most\n"
     "[default: 0]",
     TI_OPT_INTEGER(tolerate, 0, INT64_C(1) << 31)},
    {0, "transport", "NAME",
     "how to reach nodes: auto, libssh2 or openssh\n"
     "[default: auto]",
     TI_OPT_WORD(transport, "auto libssh2 openssh")},
    {0, "check-sites", NULL, "read the sites file, print a summary and exit",
     TI_OPT_FLAG(check_sites)},
    {0, "probe", NULL, "survey the nodes, print the results and exit", TI_OPT_FLAG(probe)},
    TI_OPT_HEADING("Plan"),
    {0, "policy", "NAME",
     "divide ranks by memory, by speed, or over as few nodes\n"
     "as possible (compact) [default: memory]",
     TI_OPT_TEXT(policy)},
    {0, "mode", "MODE",
     "R, F-X, C-Y or CF-(Y,X), as in the paper: X ranks per\n"
     "core, Y sites",
     TI_OPT_TEXT(mode)},
    {0, "fold", "X", "X ranks on each core", TI_OPT_INTEGER(fold, 1, TI_RANKS_MAX)},
    {0, "max-fold", "X", "at most X ranks on each core", TI_OPT_INTEGER(max_fold, 1, TI_RANKS_MAX)},
    {0, "pilot", "N[,N...]",
     "measure the memory of a rank in runs with N ranks, and\n"
     "extrapolate; no: never run the program to measure it",
     TI_OPT_FUNCTION(parse_pilot)},
    {0, "like", "BUNDLE",
     "a former run: place ranks that communicate much on one\n"
     "node, and estimate the time from the time of that run",
     TI_OPT_TEXT(like)},
    {0, "write-hostfile", "FILE", "write the plan as a hostfile of the program's launcher",
     TI_OPT_TEXT(write_hostfile)},
    {0, "mem-per-rank", "SIZE",
     "memory of a rank, such as 300M [default: if there is\n"
     "less than 1G for each, a pilot measures it: a brief run\n"
     "with few ranks]",
     TI_OPT_SIZE(rank_bytes, 1, INT64_MAX)},
    {0, "reserve", "SIZE", "memory to leave to the system [default: 256M]",
     TI_OPT_SIZE(reserve_bytes, 0, INT64_MAX), TI_OPT_GIVEN(reserve_given)},
    {0, "pin", "LIST", "run all ranks on these cores, such as 0-3,8", TI_OPT_TEXT(pin)},
    {0, "dry-run", NULL, "print the plan on stdout and run nothing", TI_OPT_FLAG(dry_run)},
    TI_OPT_HEADING("Traces"),
    {'o', "output", "BUNDLE", "the bundle to write [default: NAME.NP.tib]", TI_OPT_NAME(output)},
    {0, "trace-dir", "DIR",
     "directory of the traces during the run\n"
     "[default: NAME.NP.run]",
     TI_OPT_NAME(trace_dir)},
    {0, "buffer", "SIZE",
     "memory in which a rank collects events before it writes\n"
     "them: 4K to 16M [default: 24K]",
     TI_OPT_SIZE(buffer_bytes, TI_BUFFER_LEAST, TI_BUFFER_MOST)},
    {0, "record-environment", NULL, "record the values of -x variables, not only the names",
     TI_OPT_FLAG(record_environment)},
    {0, "redact", "PATTERN",
     "do not record arguments of the program that match, such\n"
     "as '--password=*'; may be given several times",
     TI_OPT_FUNCTION(parse_redact)},
    {0, "force", NULL, "replace the run in DIR, and BUNDLE", TI_OPT_FLAG(force)},
    {0, "no-gather", NULL, "leave the traces in DIR, do not make a bundle", TI_OPT_FLAG(no_gather)},
    {0, "keep", NULL, "make the bundle, and keep DIR", TI_OPT_FLAG(keep)},
    {0, "merge", "HOW", TI_MERGE_HELP, TI_OPT_CHOICE(merge.how, TI_MERGE_AUTO, TI_MERGE_WORDS)},
    {0, "volumes", "QUALITY", TI_VOLUMES_HELP, TI_OPT_TEXT(merge.volumes)},
    {0, "extras", "QUALITY", TI_EXTRAS_HELP, TI_OPT_TEXT(merge.extras)},
    TI_OPT_HEADING("Left by runs"),
    {0, "list", NULL,
     "name the directories, folders and processes that runs\n"
     "left, here and on nodes that are given, and exit",
     TI_OPT_FLAG(list)},
    {0, "clean", "RUN",
     "remove what a run left, and exit; RUN is its directory,\n"
     "its id, or a folder that --list names",
     TI_OPT_NAME(clean)},
    TI_OPT_HEADING("Output"),
    {'q', "quiet", NULL, "errors and warnings only", TI_OPT_FLAG(quiet)},
    {'v', "verbose", NULL, "print more details", TI_OPT_FLAG(verbose)},
    {0, "json", NULL,
     "print a summary as JSON on stdout at the end; output of\n"
     "the program goes to stderr",
     TI_OPT_FLAG(json)},
    TI_OPT_PROGRESS(progress),
    TI_OPT_END,
};

const struct ti_cli ti_acquire_cli = {
    .tool = "ti-acquire",
    .what = "Run an MPI program, on fewer cores than ranks if necessary, and trace it.",
    .usage = "--np N [OPTION]... PROGRAM [ARGUMENT]... [: --np N PROGRAM [ARGUMENT]...]...\n"
             "                  [-- MPIRUN-ARGUMENT...]",
    .examples = "  ti-acquire --np 64 ./lu A\n"
                "  ti-acquire --np 64 --dry-run ./lu A\n"
                "  ti-acquire --sites g5k.conf --np 16384 ./lu E\n"
                "  ti-acquire --np 2 ./ocean : --np 4 ./air\n"
                "  ti-acquire --np 4 ./ring -- --mca btl tcp,self\n",
    .opts = opts,
    .after = "Exit status: 0 all ranks traced, 1 some incomplete, 2 usage, 3 it cannot work\n"
             "(program, counter, memory), 4 local problem, 5 remote problem, 6 the program\n"
             "failed.\n"
             "More: man ti-acquire\n",
    .stop_at_operand = true,
};

/* ---- programs ---- */

static bool is_np(const char *word)
{
    return strcmp(word, "--np") == 0 || strcmp(word, "-np") == 0 || strcmp(word, "-n") == 0;
}

/* A program behind ":": --np N PROGRAM [ARGUMENT]..., which are `n` words.  Other options stand
 * before the first program, and are of all programs. */
static ti_status add_program(struct ti_options *o, char **word, int n, struct ti_err *err)
{
    struct ti_more_program *p;
    bool joined = n > 0 && strncmp(word[0], "--np=", 5) == 0;
    int used = joined ? 1 : 2;

    if (n == 0)
        return ti_err_set(err, TI_ERR_USAGE, "there is no program behind ':'");
    if (!joined && !is_np(word[0])) {
        ti_err_set(err, TI_ERR_USAGE, "':' is followed by '%s', not by --np N PROGRAM", word[0]);
        ti_err_hint(err, "options other than --np stand before the first program, and are of all");
        return TI_ERR_USAGE;
    }
    if (n <= used)
        return ti_err_set(err, TI_ERR_USAGE, "'%s' is followed by no program", word[0]);
    o->more = ti_grow(o->more, &o->more_cap, (size_t)o->nmore + 1, sizeof *o->more);
    p = &o->more[o->nmore++];
    *p = (struct ti_more_program){.np = 0};
    for (int i = used; i < n; i++)
        ti_args_add(&p->words, word[i]);
    return ti_parse_int(joined ? word[0] + 5 : word[1], "--np", 1, TI_RANKS_MAX, &p->np, err);
}

/* The programs of `n` words, which ":" separates. */
static ti_status take_programs(struct ti_options *o, char **word, int n, struct ti_err *err)
{
    ti_status st = TI_OK;
    int first = 0;

    for (int i = 0; i <= n && st == TI_OK; i++) {
        if (i < n && strcmp(word[i], ":") != 0)
            continue;
        if (first)
            st = add_program(o, word + first, i - first, err);
        for (int k = first; k < i && !first; k++)
            ti_args_add(&o->program, word[k]);
        first = i + 1;
    }
    if (st != TI_OK || !o->nmore)
        return st;
    if (!o->program.n)
        return ti_err_set(err, TI_ERR_USAGE, "there is no program before ':'");
    if (o->cli != &ti_acquire_cli)
        return ti_err_set(err, TI_ERR_USAGE, "one program is measured, not several together");
    if (!o->np)
        return ti_err_set(err, TI_ERR_USAGE, "how many ranks of '%s'? (--np N)", o->program.v[0]);
    if (o->pilot)
        return ti_err_set(err, TI_ERR_USAGE,
                          "--pilot runs one program with few ranks, not several together");
    o->no_pilot = true;
    for (int i = 0; i < o->nmore; i++)
        o->np += o->more[i].np;
    return o->np > TI_RANKS_MAX ? ti_err_set(err, TI_ERR_USAGE, "too many ranks: %" PRId64, o->np)
                                : TI_OK;
}

int64_t ti_options_first_np(const struct ti_options *o)
{
    int64_t np = o->np;

    for (int i = 0; i < o->nmore; i++)
        np -= o->more[i].np;
    return np;
}

void ti_options_command(const struct ti_options *o, struct ti_args *out)
{
    if (o->nmore) {
        ti_args_add(out, "--np");
        ti_args_addf(out, "%" PRId64, ti_options_first_np(o));
    }
    ti_args_add_all(out, &o->program, 0);
    for (int i = 0; i < o->nmore; i++) {
        ti_args_add(out, ":", "--np");
        ti_args_addf(out, "%" PRId64, o->more[i].np);
        ti_args_add_all(out, &o->more[i].words, 0);
    }
}

/* The last "--" counts, so that a program can be given one of its own. */
int ti_options_operands(struct ti_options *o, int argc, char **argv)
{
    int first = ti_cli_operand(), last = argc;
    struct ti_err err = {0};

    for (int i = first; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            last = i;
    if (first >= last)
        return (int)ti_cli_usage(o->cli, "which program?");
    if (take_programs(o, argv + first, last - first, &err) != TI_OK)
        return (int)ti_cli_reject(o->cli, &err);
    for (int i = last + 1; i < argc; i++) {
        bool is_env = strcmp(argv[i], "-x") == 0 && i + 1 < argc;

        if (!is_env)
            ti_args_add(&o->mpirun, argv[i]);
        else if (parse_env(o, argv[++i], &err) != TI_OK)
            return (int)ti_cli_reject(o->cli, &err);
    }
    if (ti_mpirun_check_user(&o->mpirun, &err) != TI_OK) {
        ti_cli_fail(o->cli, TI_ERR_USAGE, &err);
        return TI_ERR_USAGE;
    }
    return TI_CLI_END;
}

int ti_options_parse(int argc, char **argv, struct ti_options *o)
{
    struct ti_place_request unused;
    struct ti_err err = {0};
    int st;

    *o = (struct ti_options){.cli = &ti_acquire_cli,
                             .counter = "auto",
                             .silence_s = 60,
                             .reserve_bytes = INT64_C(256) << 20};
    st = ti_cli_parse(&ti_acquire_cli, argc, argv, o);
    if (st != TI_CLI_END)
        return st;
    if ((o->list || o->clean) && ti_cli_operand() < argc)
        return (int)ti_cli_usage(o->cli, "--list and --clean run no program, such as '%s'",
                                 argv[ti_cli_operand()]);
    if (o->check_sites || o->list || o->clean || (o->probe && ti_cli_operand() == argc))
        return TI_CLI_END; /* no program is needed */
    st = ti_options_operands(o, argc, argv);
    if (st >= 0)
        return st;
    if (!o->np && !o->probe)
        return (int)ti_cli_usage(o->cli, "how many ranks? (--np N)");
    if (o->json && o->write_hostfile && strcmp(o->write_hostfile, "-") == 0)
        return (int)ti_cli_usage(o->cli, "--json and --write-hostfile - both write to stdout");
    if (o->pilot && o->rank_bytes)
        return (int)ti_cli_usage(o->cli,
                                 "--mem-per-rank and --pilot both determine the memory of a rank: "
                                 "give one");
    if (ti_merge_options_check(&o->merge, &err) != TI_OK)
        return (int)ti_cli_reject(o->cli, &err);
    return ti_place_request_from_options(o, NULL, false, &unused, &err)
               ? (int)ti_cli_reject(o->cli, &err)
               : TI_CLI_END;
}

void ti_options_free(struct ti_options *o)
{
    ti_args_free(&o->env);
    ti_args_free(&o->redact);
    ti_args_free(&o->mpirun);
    ti_args_free(&o->program);
    for (int i = 0; i < o->nmore; i++)
        ti_args_free(&o->more[i].words);
    free(o->more);
}
