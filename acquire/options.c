#include "acquire/options.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "acquire/plan/isa.h"
#include "acquire/run/mpirun.h"
#include "acquire/run/pilot.h"
#include "acquire/plan/place.h"
#include "formats/trace.h"
#include "formats/writer.h"

static const struct ti_opt opts[] = {
    TI_OPT_HEADING("Run"),
    {'n', "np", "N", "ranks, as many as you like; also -np N"},
    {'c', "counter", "NAME",
     "what bursts are counted with: auto, papi[:EVENT],\n"
     "valgrind, blocks or cputime [default: auto]"},
    {OPT_THREADS, "threads", "WHOSE",
     "caller: of the thread that calls MPI; sum: of all\n"
     "threads of a rank; or auto: sum of a program with\n"
     "OpenMP, caller of others [default: auto]"},
    {OPT_RANKS_PER_NODE, "target-ranks-per-node", "N",
     "ranks a node has on the machine to be foretold: so a\n"
     "program is told that asks which ranks share a node"},
    {OPT_ISA, "isa", "LEVEL",
     "let glibc choose its functions as on any machine that\n"
     "has LEVEL: " TI_ISA_LEVELS "; or\n"
     "native [default: where nodes differ, what all have]"},
    {'x', "env", "VAR[=VALUE]", "hand a variable on to the ranks, as in mpirun"},
    {OPT_TIMES, "times", NULL, "also record how long bursts and calls are"},
    {OPT_ALSO, "also", "EVENT[,EVENT]", "also record what these PAPI events count in bursts"},
    {OPT_NO_DRY_LAUNCH, "no-dry-launch", NULL, "on several nodes: do not try the placement first"},
    {OPT_KEEP_GOING, "keep-going", NULL, "gather what there is when a node fails"},
    {OPT_RETRY, "retry", "N", "run again, without the node that failed, N times"},
    {OPT_LOG, "log", "FILE", "the log of a run on several nodes [default: in DIR]"},
    {OPT_MCA, "mca", "KEY VALUE", "a setting of Open MPI, as in mpirun"},
    {OPT_TIMEOUT, "timeout", "SEC", "end the run after SEC seconds [default: never]"},
    {OPT_SILENCE, "silence", "SEC", "give a node up that says nothing for so long [default: 60]"},
    TI_OPT_HEADING("Where"),
    {OPT_SITES, "sites", "FILE", "the nodes of a sites file, see tiara-sites(5)"},
    {OPT_HOSTFILE, "hostfile", "FILE", "those of an Open MPI hostfile"},
    {OPT_LOCAL, "local", NULL,
     "this machine alone; without any of these three the\n"
     "Slurm or OAR job one is in, else this machine"},
    {OPT_EXCLUDE, "exclude", "HOSTLIST", "not these nodes, such as graphene-[1-4,7]"},
    {OPT_FAMILY, "family", "NAME", "only processors of this family, as uname -m has it"},
    {OPT_TOLERATE, "tolerate", "N",
     "go on without nodes that cannot be used, as long as\n"
     "they are no more than N [default: 0]"},
    {OPT_TRANSPORT, "transport", "NAME",
     "auto, libssh2 or openssh, to reach nodes with\n"
     "[default: auto]"},
    {OPT_CHECK_SITES, "check-sites", NULL, "read the sites file, say what is in it, and end"},
    {OPT_PROBE, "probe", NULL, "look at the nodes, say what they are, and end"},
    TI_OPT_HEADING("Plan"),
    {OPT_POLICY, "policy", "NAME",
     "ranks go by memory, by speed, or on the fewest nodes\n"
     "(compact) [default: memory]"},
    {OPT_MODE, "mode", "MODE",
     "R, F-X, C-Y or CF-(Y,X), as in the paper: X ranks a\n"
     "core, Y sites"},
    {OPT_FOLD, "fold", "X", "X ranks on each core"},
    {OPT_MAX_FOLD, "max-fold", "X", "at most so many"},
    {OPT_PILOT, "pilot", "N[,N...]",
     "measure the memory of a rank at these numbers of\n"
     "ranks, and extrapolate; no: never run the program\n"
     "for that"},
    {OPT_LIKE, "like", "BUNDLE",
     "a former run: ranks that talk to each other share a\n"
     "node, and its time is the measure of this one's"},
    {OPT_WRITE_HOSTFILE, "write-hostfile", "FILE", "write the plan as an Open MPI hostfile"},
    {OPT_MEM, "mem-per-rank", "SIZE",
     "memory of a rank, such as 300M; else, where there is\n"
     "less than 1G for each, measured by a pilot: running\n"
     "the program briefly with few ranks"},
    {OPT_RESERVE, "reserve", "SIZE", "memory left for the system [default: 256M]"},
    {OPT_PIN, "pin", "LIST", "run all ranks on these cores, such as 0-3,8"},
    {OPT_DRY_RUN, "dry-run", NULL, "print the plan on stdout and run nothing"},
    TI_OPT_HEADING("Traces"),
    {'o', "output", "BUNDLE", "the bundle to write [default: NAME.NP.tib]"},
    {OPT_TRACE_DIR, "trace-dir", "DIR",
     "where the ranks write meanwhile\n"
     "[default: NAME.NP.run]"},
    {OPT_BUFFER, "buffer", "SIZE",
     "what a rank keeps in memory before it writes: 4K to\n"
     "16M [default: 24K]"},
    {OPT_RECORD_ENVIRONMENT, "record-environment", NULL,
     "record the values of -x, not only the names"},
    {OPT_REDACT, "redact", "PATTERN",
     "record none of the program's arguments that match,\n"
     "such as '--password=*'; may be given several times"},
    {OPT_FORCE, "force", NULL, "replace the run in DIR, and BUNDLE"},
    {OPT_NO_GATHER, "no-gather", NULL, "leave the traces in DIR, make no bundle"},
    {OPT_KEEP, "keep", NULL, "make the bundle and keep DIR as well"},
    TI_OPT_HEADING("Output"),
    {'q', "quiet", NULL, "errors and warnings only"},
    {'v', "verbose", NULL, "say more on the way"},
    {OPT_JSON, "json", NULL,
     "end with a summary as JSON on stdout; what the\n"
     "program prints goes to stderr then"},
    {OPT_NO_PROGRESS, "no-progress", NULL, "no progress line"},
    TI_OPT_END,
};

const struct ti_cli ti_acquire_cli = {
    .tool = "ti-acquire",
    .what = "Run an MPI program, on as few cores as there are, and trace it.",
    .usage = "--np N [OPTION]... PROGRAM [ARGUMENT]... [-- MPIRUN-ARGUMENT...]",
    .examples = "  ti-acquire --np 64 ./lu A\n"
                "  ti-acquire --np 64 --dry-run ./lu A\n"
                "  ti-acquire --sites g5k.conf --np 16384 ./lu E\n"
                "  ti-acquire --np 4 ./ring -- --mca btl tcp,self\n",
    .opts = opts,
    .after = "Exit status: 0 all ranks traced, 1 some incomplete, 2 usage, 3 it cannot work\n"
             "(program, counter, memory), 4 local problem, 5 remote problem, 6 the program\n"
             "failed.\n"
             "More: man ti-acquire\n",
    .stop_at_operand = true,
};

/* --mca has two arguments, getopt handles one. */
static int take_mca(struct ti_options *o, int argc, char **argv, const char *key)
{
    if (optind >= argc)
        return (int)ti_cli_usage(o->cli, "--mca needs a key and a value");
    ti_args_add(&o->mpirun, "--mca");
    ti_args_add(&o->mpirun, key);
    ti_args_add(&o->mpirun, argv[optind++]);
    return -1;
}

/* Variables are kept apart from mpirun's other arguments, because some are reserved for us. */
static int take_env(struct ti_options *o, const char *var)
{
    if (!isalpha((unsigned char)var[0]) && var[0] != '_')
        return (int)ti_cli_usage(o->cli, "-x needs a variable, not '%s'", var);
    if (strncmp(var, "TIARA_", 6) == 0) {
        static const char *const ours[] = {
            "TIARA_TRACE_DIR", "TIARA_COUNTER", "TIARA_RUN_ID", "TIARA_THREADS",
            "TIARA_TIMES",     "TIARA_ALSO",    "TIARA_BUFFER", "TIARA_RANKS_PER_NODE", NULL};
        size_t len = strcspn(var, "=");

        for (int i = 0; ours[i]; i++)
            if (strlen(ours[i]) == len && strncmp(var, ours[i], len) == 0)
                return (int)ti_cli_usage(
                    o->cli,
                    "%s is set by %s; see --trace-dir, --counter, --threads, --times, --also, "
                    "--buffer and --target-ranks-per-node",
                    ours[i], o->cli->tool);
    }
    ti_args_add(&o->env, var);
    return -1;
}

static int bad(const struct ti_options *o, const struct ti_err *err)
{
    return (int)ti_cli_usage(o->cli, "%s", err->text);
}

/* Options whose argument is kept as it is. */
static const char **text_of(struct ti_options *o, int id)
{
    switch (id) {
    case 'c':
        return &o->counter;
    case OPT_PIN:
        return &o->pin;
    case OPT_SITES:
        return &o->sites_path;
    case OPT_HOSTFILE:
        return &o->hostfile;
    case OPT_EXCLUDE:
        return &o->exclude;
    case OPT_FAMILY:
        return &o->family;
    case OPT_POLICY:
        return &o->policy;
    case OPT_MODE:
        return &o->mode;
    case OPT_LIKE:
        return &o->like;
    case OPT_WRITE_HOSTFILE:
        return &o->write_hostfile;
    case OPT_LOG:
        return &o->log;
    default:
        return NULL;
    }
}

/* Options without an argument. */
static bool *flag_of(struct ti_options *o, int id)
{
    switch (id) {
    case OPT_TIMES:
        return &o->times;
    case OPT_LOCAL:
        return &o->local;
    case OPT_CHECK_SITES:
        return &o->check_sites;
    case OPT_PROBE:
        return &o->probe;
    case OPT_NO_DRY_LAUNCH:
        return &o->no_dry_launch;
    case OPT_KEEP_GOING:
        return &o->keep_going;
    case OPT_DRY_RUN:
        return &o->dry_run;
    case OPT_JSON:
        return &o->json;
    case OPT_NO_GATHER:
        return &o->no_gather;
    case OPT_KEEP:
        return &o->keep;
    case OPT_RECORD_ENVIRONMENT:
        return &o->record_environment;
    case OPT_FORCE:
        return &o->force;
    case 'q':
        return &o->quiet;
    case 'v':
        return &o->verbose;
    case OPT_NO_PROGRESS:
        return &o->no_progress;
    default:
        return NULL;
    }
}

/* An option with an integer from `min` to `max`. */
struct number {
    const char *name; /* NULL: the option takes none */
    int64_t min, max, *out;
};

static struct number number_of(struct ti_options *o, int id)
{
    switch (id) {
    case 'n':
        return (struct number){"--np", 1, TI_RANKS_MAX, &o->np};
    case OPT_RANKS_PER_NODE:
        return (struct number){"--target-ranks-per-node", 1, TI_RANKS_MAX, &o->ranks_per_node};
    case OPT_TIMEOUT:
        return (struct number){"--timeout", 1, INT64_C(1) << 31, &o->timeout_s};
    case OPT_SILENCE:
        return (struct number){"--silence", 1, 86400, &o->silence_s};
    case OPT_TOLERATE:
        return (struct number){"--tolerate", 0, INT64_C(1) << 31, &o->tolerate};
    case OPT_FOLD:
        return (struct number){"--fold", 1, TI_RANKS_MAX, &o->fold};
    case OPT_MAX_FOLD:
        return (struct number){"--max-fold", 1, TI_RANKS_MAX, &o->max_fold};
    case OPT_RETRY:
        return (struct number){"--retry", 0, 100, &o->retries};
    default:
        return (struct number){.name = NULL};
    }
}

static int take_threads(struct ti_options *o, const char *arg)
{
    o->threads = strcmp(arg, "sum") == 0      ? TI_THREADS_SUM
                 : strcmp(arg, "caller") == 0 ? TI_THREADS_CALLER
                                              : TI_THREADS_AUTO;
    return o->threads != TI_THREADS_AUTO || strcmp(arg, "auto") == 0
               ? -1
               : (int)ti_cli_usage(o->cli, "--threads is auto, caller or sum, not '%s'", arg);
}

static int take_buffer(struct ti_options *o, const char *arg)
{
    struct ti_err err;

    if (ti_parse_size(arg, "--buffer", &o->buffer_bytes, &err))
        return bad(o, &err);
    return o->buffer_bytes >= TI_BUFFER_LEAST && o->buffer_bytes <= TI_BUFFER_MOST
               ? -1
               : (int)ti_cli_usage(o->cli, "--buffer is 4K to 16M, not '%s'", arg);
}

static int take_isa(struct ti_options *o, const char *arg)
{
    o->isa_native = strcmp(arg, "native") == 0;
    o->isa = o->isa_native ? NULL : arg;
    return o->isa_native || ti_isa_tunables(arg)
               ? -1
               : (int)ti_cli_usage(o->cli, "--isa is " TI_ISA_LEVELS ", or native, not '%s'", arg);
}

static int take_reserve(struct ti_options *o, const char *arg)
{
    struct ti_err err;

    o->reserve_given = true;
    if (strcmp(arg, "0") == 0) {
        o->reserve_bytes = 0;
        return -1;
    }
    return ti_parse_size(arg, "--reserve", &o->reserve_bytes, &err) ? bad(o, &err) : -1;
}

static int take_transport(struct ti_options *o, const char *arg)
{
    o->transport = arg;
    return strcmp(arg, "auto") == 0 || strcmp(arg, "libssh2") == 0 || strcmp(arg, "openssh") == 0
               ? -1
               : (int)ti_cli_usage(o->cli, "--transport is auto, libssh2 or openssh, not '%s'",
                                   arg);
}

static int take_pilot(struct ti_options *o, const char *arg)
{
    struct ti_err err;

    o->no_pilot = strcmp(arg, "no") == 0;
    o->pilot = o->no_pilot ? NULL : arg;
    if (o->no_pilot)
        return -1;
    return ti_pilot_list(arg, (int64_t[TI_MEMORY_POINTS_MAX]){0}, &(int){0}, &err) ? bad(o, &err)
                                                                                   : -1;
}

static int take_redact(struct ti_options *o, const char *arg)
{
    if (strchr(arg, '\n'))
        return (int)ti_cli_usage(o->cli, "--redact is a pattern of one line");
    ti_args_add(&o->redact, arg);
    return -1;
}

int ti_options_take(struct ti_options *o, int argc, char **argv, int id, const char *arg)
{
    const char **text = text_of(o, id);
    bool *flag = flag_of(o, id);
    struct number number = number_of(o, id);
    struct ti_err err;

    if (text)
        *text = arg;
    if (flag)
        *flag = true;
    if (text || flag)
        return -1;
    if (number.name)
        return ti_parse_int(arg, number.name, number.min, number.max, number.out, &err)
                   ? bad(o, &err)
                   : -1;
    switch (id) {
    case OPT_THREADS:
        return take_threads(o, arg);
    case OPT_ALSO:
        o->also = arg;
        return *arg ? -1 : (int)ti_cli_usage(o->cli, "--also which events?");
    case OPT_BUFFER:
        return take_buffer(o, arg);
    case OPT_ISA:
        return take_isa(o, arg);
    case 'x':
        return take_env(o, arg);
    case OPT_MCA:
        return take_mca(o, argc, argv, arg);
    case OPT_MEM:
        return ti_parse_size(arg, "--mem-per-rank", &o->rank_bytes, &err) ? bad(o, &err) : -1;
    case OPT_RESERVE:
        return take_reserve(o, arg);
    case OPT_TRANSPORT:
        return take_transport(o, arg);
    case OPT_PILOT:
        return take_pilot(o, arg);
    case 'o':
        o->output = arg;
        return *arg ? -1 : (int)ti_cli_usage(o->cli, "the bundle needs a name");
    case OPT_TRACE_DIR:
        o->trace_dir = arg;
        return *arg ? -1 : (int)ti_cli_usage(o->cli, "the run directory needs a name");
    case OPT_REDACT:
        return take_redact(o, arg);
    case TI_CLI_EXIT_OK:
        return TI_OK;
    default:
        return TI_ERR_USAGE;
    }
}

/* The last "--" counts, so that a program can be given one of its own. */
int ti_options_operands(struct ti_options *o, int argc, char **argv)
{
    int first = ti_cli_operand(), last = argc;
    struct ti_err err;

    for (int i = first; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            last = i;
    if (first >= last)
        return (int)ti_cli_usage(o->cli, "which program?");
    for (int i = first; i < last; i++)
        ti_args_add(&o->program, argv[i]);
    for (int i = last + 1; i < argc; i++) {
        bool is_env = strcmp(argv[i], "-x") == 0 && i + 1 < argc;
        int st = is_env ? take_env(o, argv[++i]) : -1;

        if (st >= 0)
            return st;
        if (!is_env)
            ti_args_add(&o->mpirun, argv[i]);
    }
    if (ti_mpirun_check_user(&o->mpirun, &err) != TI_OK) {
        ti_cli_fail(o->cli, TI_ERR_USAGE, &err);
        return TI_ERR_USAGE;
    }
    return -1;
}

int ti_options_parse(int argc, char **argv, struct ti_options *o)
{
    struct ti_place_request unused;
    struct ti_err err;
    const char *arg;
    int id, st;

    *o = (struct ti_options){.cli = &ti_acquire_cli,
                             .counter = "auto",
                             .silence_s = 60,
                             .reserve_bytes = INT64_C(256) << 20};
    while ((id = ti_cli_next(&ti_acquire_cli, argc, argv, &arg)) != TI_CLI_END) {
        st = ti_options_take(o, argc, argv, id, arg);
        if (st >= 0)
            return st;
    }
    if (o->check_sites || (o->probe && ti_cli_operand() == argc))
        return -1; /* no program is needed */
    st = ti_options_operands(o, argc, argv);
    if (st >= 0)
        return st;
    if (!o->np && !o->probe)
        return (int)ti_cli_usage(o->cli, "how many ranks? (--np N)");
    if (o->json && o->write_hostfile && strcmp(o->write_hostfile, "-") == 0)
        return (int)ti_cli_usage(o->cli, "--json and --write-hostfile - both want stdout");
    if (o->pilot && o->rank_bytes)
        return (int)ti_cli_usage(o->cli, "--mem-per-rank tells what --pilot would measure: one of "
                                         "the two");
    return ti_place_request_from_options(o, NULL, false, &unused, &err) ? bad(o, &err) : -1;
}

void ti_options_free(struct ti_options *o)
{
    ti_args_free(&o->env);
    ti_args_free(&o->redact);
    ti_args_free(&o->mpirun);
    ti_args_free(&o->program);
}
