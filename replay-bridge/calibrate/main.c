/*
 * ti-calibrate: measurement of a machine for SimGrid.
 *
 *   options -> messages between two ranks -> fit -> noise of cores -> rate of instructions
 *           -> calibration file
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "common/units.h"
#include "replay-bridge/calibrate/cores.h"
#include "replay-bridge/calibrate/memory.h"
#include "replay-bridge/calibrate/network.h"
#include "replay-bridge/calibrate/rate.h"

#define RUNS_MAX    1000
#define LARGEST_MAX (INT64_C(2047) << 20) /* counts of MPI are ints */

struct options {
    struct ti_launcher launcher;
    struct ti_trial program; /* words == 0: none */
    int64_t nruns, repeats, largest, segments;
    const char *output, *measure; /* files to write, or NULL */
    bool no_network, force, json, quiet;
    enum ti_progress_form progress;
};

/* Whether a calibration file is made: always, unless --measure is given without --output. */
static bool calibrates(const struct options *o)
{
    return o->output != NULL;
}

#define TI_OPT_STRUCT struct options

static const struct ti_opt opts[] = {
    TI_OPT_HEADING("Program"),
    {'n', "np", "N",
     "number of ranks of PROGRAM; the noise is that of their\n"
     "nodes [default: 2]",
     TI_OPT_INTEGER(program.np, 1, TI_TRIAL_RANKS_MAX)},
    {'r', "runs", "N", "runs of PROGRAM, of each kind [default: 5]",
     TI_OPT_INTEGER(nruns, 1, RUNS_MAX)},
    {'c', "counter", "NAME",
     "counter for its instructions, as for ti-acquire\n"
     "[default: auto]",
     TI_OPT_TEXT(program.counter)},
    {0, "measure", "FILE",
     "time untraced runs of PROGRAM, and write FILE for\n"
     "ti-replay --against; calibrate only with --output: the\n"
     "runs of both kinds then take turns",
     TI_OPT_TEXT(measure)},
    TI_OPT_HEADING("Messages"),
    {0, "no-network", NULL,
     "measure only the rate of the program; the network and\n"
     "the noise in the output file stay as they are",
     TI_OPT_FLAG(no_network)},
    {0, "repeats", "N", "repetitions of each kind and size, and on each core\n[default: 50]",
     TI_OPT_INTEGER(repeats, 1, 10000)},
    {0, "largest", "SIZE", "size of the largest message [default: 4M]",
     TI_OPT_SIZE(largest, 2, LARGEST_MAX)},
    {0, "segments", "N", "ranges of sizes of each fit, at most [default: 8]",
     TI_OPT_INTEGER(segments, 2, TI_FIT_SEGMENTS_MAX)},
    TI_OPT_HEADING("Where"),
    {0, "hostfile", "FILE", "use two nodes of an Open MPI hostfile", TI_OPT_ARGS(launcher.where)},
    {0, "sites", "FILE", "use nodes of a sites file, see tiara-sites(5)",
     TI_OPT_ARGS(launcher.where)},
    {0, "local", NULL, "use only this machine, also in a Slurm or OAR job",
     TI_OPT_ARGS(launcher.where)},
    {'x', "env", "VAR[=VALUE]", "pass a variable to the ranks, as mpirun does",
     TI_OPT_ARGS(launcher.where)},
    TI_OPT_HEADING("Output"),
    {'o', "output", "FILE",
     "calibration file to write [default: calibration.conf,\n"
     "with --measure: none]",
     TI_OPT_TEXT(output)},
    {0, "force", NULL, "replace FILE", TI_OPT_FLAG(force)},
    {'q', "quiet", NULL, "print only errors and warnings, no tables", TI_OPT_FLAG(quiet)},
    {'v', "verbose", NULL, "show the messages of ti-acquire", TI_OPT_FLAG(launcher.verbose)},
    {0, "json", NULL, "print the result as JSON instead of tables", TI_OPT_FLAG(json)},
    TI_OPT_PROGRESS(progress),
    TI_OPT_END};

static const struct ti_cli cli = {
    .tool = "ti-calibrate",
    .what = "Measure the communication and computation of a machine for SimGrid.",
    .usage = "[OPTION]... [PROGRAM [ARGUMENT]...]",
    .examples = "  ti-calibrate ./lu S\n"
                "  ti-calibrate --hostfile two.hosts -o cluster.conf --np 16 ./lu A\n"
                "  ti-calibrate --measure real.json ./lu S\n"
                "  ti-replay lu.2.tib --calibration calibration.conf --against real.json\n",
    .opts = opts,
    .after = "Without PROGRAM, a loop in registers is timed: the rate is a first guess.\n"
             "\n"
             "Exit status: 0 success, 2 usage, 3 it cannot work (counter, program), 4 local\n"
             "problem, 5 remote problem, 6 a program failed.  More: man ti-calibrate\n",
    .stop_at_operand = true};

/* ---- options ---- */

/* TI_CLI_END to go on, else the exit status. */
static int check_options(const struct options *o)
{
    const char *written = o->output && !o->no_network ? o->output : NULL;

    if (!o->program.words && (o->measure || o->no_network))
        return (int)ti_cli_usage(&cli, "%s needs a program",
                                 o->measure ? "--measure" : "--no-network");
    if (!calibrates(o) && o->no_network)
        return (int)ti_cli_usage(&cli, "--measure does not calibrate without --output: "
                                       "--no-network has no effect");
    if (o->output && o->measure && strcmp(o->output, o->measure) == 0)
        return (int)ti_cli_usage(&cli, "--output and --measure are the same file");
    if (o->force)
        return TI_CLI_END;
    if (o->measure && access(o->measure, F_OK) == 0)
        written = o->measure;
    if (written && access(written, F_OK) == 0)
        return (int)ti_cli_usage(&cli, "'%s' is there already; --force replaces it", written);
    return TI_CLI_END;
}

static int parse(struct options *o, int argc, char **argv)
{
    int st;

    o->program = (struct ti_trial){.np = 2, .counter = "auto"};
    o->nruns = 5;
    o->repeats = 50;
    o->largest = 4 << 20;
    o->segments = 8;
    st = ti_cli_parse(&cli, argc, argv, o);
    if (st != TI_CLI_END)
        return st;
    if (!o->output && !o->measure)
        o->output = "calibration.conf";
    o->program.program = argv + ti_cli_operand();
    o->program.words = argc - ti_cli_operand();
    return check_options(o);
}

/* ---- the steps ---- */

/* Run the helper on `np` ranks; *out is what it printed. */
static ti_status run_helper(const struct options *o, const char *label, char **words, int n,
                            int64_t np, FILE **out, struct ti_err *err)
{
    struct ti_trial run = {.label = label,
                           .program = words,
                           .words = n,
                           .np = np,
                           .counter = "cputime",
                           .whole = true};
    struct ti_trial_result *ran = malloc(sizeof *ran);
    ti_status st = ran ? ti_trial_run(&o->launcher, &run, ran, err)
                       : ti_err_errno(err, TI_ERR_IO, "no %s", label);

    free(ran);
    return st ? st : ti_trial_output(out, err);
}

static ti_status measure_network(const struct options *o, struct ti_samples *s,
                                 struct ti_calibration *c, struct ti_err *err)
{
    char repeats[32], largest[32];
    char *words[] = {(char *)(uintptr_t)o->launcher.helper, repeats, largest};
    ti_status st;
    FILE *f;

    snprintf(repeats, sizeof repeats, "%" PRId64, o->repeats);
    snprintf(largest, sizeof largest, "%" PRId64, o->largest);
    st = run_helper(o, "timing messages", words, 3, 2, &f, err);
    if (st)
        return st;
    st = ti_trial_about(c, err);
    if (!st)
        st = ti_samples_read(f, s, err);
    fclose(f);
    return st;
}

static ti_status calibrate_network(const struct options *o, struct ti_samples *s,
                                   struct ti_calibration *c, json_t *json, struct ti_err *err)
{
    struct ti_network *n = malloc(sizeof *n);
    ti_status st =
        n ? measure_network(o, s, c, err) : ti_err_errno(err, TI_ERR_IO, "cannot time messages");

    if (!st)
        st = ti_network_fit(s, (int)o->segments, n, err);
    if (!st)
        st = ti_network_calibration(n, s->eager, c, err);
    if (!st)
        json_object_set_new(json, "network", ti_network_json(n));
    if (!st && !o->quiet && !o->json) {
        ti_network_print(n, stdout);
        printf("sends up to %" PRId64 " bytes wait for nobody\n", s->eager);
        if (n->cut)
            printf("or is cut where os and or together take longer than a whole message\n");
    }
    free(n);
    return st;
}

/* How many ranks of one node can use a core each: an even number of at most that of the program; 0:
 * fewer than two. */
static int64_t ranks_of_node(const struct options *o, const struct ti_calibration *c)
{
    int64_t cores = ti_trial_cores(), n = o->program.np < cores ? o->program.np : cores;

    return strcmp(c->network.within, "node") == 0 ? n - n % 2 : 0;
}

/* Times what ranks of one node do to its memory at the same time. */
static ti_status calibrate_memory(const struct options *o, struct ti_calibration *c,
                                  struct ti_err *err)
{
    char repeats[32], largest[32];
    char *words[] = {(char *)(uintptr_t)o->launcher.helper, (char *)(uintptr_t) "memory", repeats,
                     largest};
    int64_t ranks = ranks_of_node(o, c);
    ti_status st;
    FILE *f;

    if (!ranks)
        return TI_OK;
    snprintf(repeats, sizeof repeats, "%" PRId64, o->repeats);
    snprintf(largest, sizeof largest, "%" PRId64, o->largest);
    st = run_helper(o, "timing memory", words, 4, ranks, &f, err);
    if (st)
        return st;
    st = ti_memory_read(f, c, err);
    fclose(f);
    if (!st && !o->quiet && !o->json)
        ti_memory_print(c, stdout);
    return st;
}

/* Times bursts on all cores of the nodes of as many ranks as the program has. */
static ti_status calibrate_noise(const struct options *o, struct ti_calibration *c, json_t *json,
                                 struct ti_err *err)
{
    char repeats[32];
    char *words[] = {(char *)(uintptr_t)o->launcher.helper, (char *)(uintptr_t) "cores", repeats};
    ti_status st;
    FILE *f;

    snprintf(repeats, sizeof repeats, "%" PRId64, o->repeats);
    st = run_helper(o, "timing cores", words, 3, o->program.np, &f, err);
    if (st)
        return st;
    st = ti_cores_read(f, c, err);
    fclose(f);
    if (!st)
        json_object_set_new(json, "noise", ti_cores_json(c));
    if (!st && !o->quiet && !o->json)
        ti_cores_print(c, stdout);
    return st;
}

static void print_spread(double deviation, double speed)
{
    if (deviation >= 0)
        printf("spread %.2g %%", 100 * deviation / speed);
    else
        printf("spread unknown, of one run");
}

static void print_speed(const struct ti_calibration *c)
{
    char text[TI_UNIT_BYTES_MOST];

    printf("%s: %s instructions a second, ", c->host.program,
           ti_unit_format(c->host.speed, TI_UNIT_NUMBER, text, sizeof text));
    print_spread(c->host.deviation, c->host.speed);
    if (c->host.folded_speed > 0) {
        printf("; %" PRId64 " ranks on a core: %s, ", c->host.folding,
               ti_unit_format(c->host.folded_speed, TI_UNIT_NUMBER, text, sizeof text));
        print_spread(c->host.folded_deviation, c->host.folded_speed);
    }
    putchar('\n');
}

/* Null for what was not measured. */
static json_t *measured(double value)
{
    return value >= 0 ? json_real(value) : json_null();
}

static void print_json(json_t *json, const struct options *o, const struct ti_calibration *c)
{
    json_object_update_new(
        json,
        json_pack("{s:s, s:s?, s:s?, s:f, s:o, s:f, s:o, s:o, s:o, s:o, s:s?, s:s?, s:o}",
                  "calibration", o->output, "program", c->host.program, "counter", c->host.counter,
                  "speed", c->host.speed, "deviation", measured(c->host.deviation), "folded_speed",
                  c->host.folded_speed, "folded_deviation", measured(c->host.folded_deviation),
                  "latency_s", measured(c->network.latency), "bandwidth",
                  measured(c->network.bandwidth), "eager",
                  c->network.eager >= 0 ? json_integer(c->network.eager) : json_null(), "speeds",
                  c->host.speeds, "shared", c->network.shared, "copy", measured(c->network.copy)));
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
}

/* With --no-network, read the existing output file, which is updated. */
static ti_status read_former(const struct options *o, struct ti_calibration *c, struct ti_err *err)
{
    if (!o->no_network || access(o->output, F_OK) != 0)
        return TI_OK;
    ti_calibration_free(c);
    return ti_calibration_read(o->output, c, NULL, err);
}

/* `measured` gets untraced runs of the program, unless it is NULL. */
static ti_status calibrate(const struct options *o, json_t *measured, struct ti_err *err)
{
    struct ti_samples s = {0};
    struct ti_calibration c;
    json_t *json = json_object();
    ti_status st;

    ti_calibration_init(&c);
    st = read_former(o, &c, err);
    if (!st && !o->no_network)
        st = calibrate_network(o, &s, &c, json, err);
    if (!st && !o->no_network)
        st = calibrate_memory(o, &c, err);
    if (!st && !o->no_network)
        st = calibrate_noise(o, &c, json, err);
    if (!st)
        st = o->program.words
                 ? ti_rate_of_program(&o->launcher, &o->program, o->nruns, measured, &c, err)
                 : ti_rate_of_burst(&o->launcher, &s, o->repeats, &c, err);
    if (!st && !o->quiet && !o->json)
        print_speed(&c);
    if (!st)
        st = ti_calibration_write(o->output, &c,
                                  "What ti-calibrate measured, for ti-replay --calibration: see "
                                  "ti-calibrate(1).\nBytes, seconds, instructions.",
                                  err);
    if (!st && o->json)
        print_json(json, o, &c);
    json_decref(json);
    if (!st)
        ti_say("the calibration is in '%s'", o->output);
    ti_samples_free(&s);
    ti_calibration_free(&c);
    return st;
}

static ti_status measure(const struct options *o, struct ti_err *err)
{
    json_t *measured = json_array();
    bool table = !o->quiet && !o->json;
    ti_status st =
        calibrates(o) ? calibrate(o, measured, err)
                      : ti_rate_measure(&o->launcher, &o->program, o->nruns, !table, measured, err);

    if (!st)
        st = ti_rate_write(o->measure, &o->program, measured, o->json && !calibrates(o), err);
    if (!st && calibrates(o))
        ti_say("the times of untraced runs are in '%s'", o->measure);
    json_decref(measured);
    return st;
}

static ti_status check_output(const char *path, struct ti_err *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    bool there = access(path, F_OK) == 0;

    if (strcmp(path, "-") == 0)
        return TI_OK;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash > path ? slash - path : 1), path);
    return access(there ? path : folder, there ? W_OK : W_OK | X_OK) == 0
               ? TI_OK
               : ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
}

/* Measuring takes minutes, so check first that the files can be written. */
static ti_status check_outputs(const struct options *o, struct ti_err *err)
{
    ti_status st = o->output ? check_output(o->output, err) : TI_OK;

    return !st && o->measure ? check_output(o->measure, err) : st;
}

int main(int argc, char **argv)
{
    static struct options o;
    struct ti_err err = {0};
    int end = parse(&o, argc, argv);
    ti_status st;

    if (end != TI_CLI_END)
        return end;
    ti_talk_init(cli.tool, o.quiet, o.progress);
    ti_stop_catch();
    st = ti_launcher_find(&o.launcher, &err);
    if (!st)
        st = check_outputs(&o, &err);
    if (!st)
        st = ti_scratch_open(NULL, &err);
    if (!st)
        st = o.measure ? measure(&o, &err) : calibrate(&o, NULL, &err);
    ti_args_free(&o.launcher.where);
    ti_scratch_close();
    if (!st && fflush(stdout) != 0)
        st = ti_err_errno(&err, TI_ERR_IO, "cannot write the result");
    if (st)
        ti_cli_fail(&cli, st, &err);
    if (ti_stopped())
        ti_stop_die();
    return (int)st;
}
