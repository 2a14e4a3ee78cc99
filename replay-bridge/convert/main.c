/*
 * ti-convert: conversion of traces to and from the formats of other simulators.
 *
 *   options -> scratch directory beside the output -> one conversion -> rename to the output
 */
#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/scratch.h"
#include "common/units.h"
#include "replay-bridge/convert/import.h"
#include "replay-bridge/convert/target.h"
#include "replay-bridge/otf2/otf2.h"
#include "replay-bridge/trace/lower.h"

#define EAGER_BYTES 65536 /* SimGrid's default of smpi/send-is-detached-thresh */
#define OUT_NAME    "converted"

/* ---- options ---- */

struct options {
    const char *input;
    char output[PATH_MAX];
    enum { TO_NOTHING, TO_SIMGRID, TO_DIMEMAS, TO_GOAL } to;
    enum { FROM_TRACE, FROM_SIMGRID, FROM_OTF2 } from;
    enum { NOT_GIVEN, BYTES, DOUBLES } element; /* --datatype */
    bool merged, times, json, quiet;
    enum ti_progress_form progress;
    const char *speed;
    int64_t cores, eager; /* eager -1: not given */
    struct ti_import import;
};

static ti_status parse_output(void *options, const char *arg, struct ti_err *err)
{
    struct options *o = options;
    size_t n = strlen(arg);

    if (!n || n >= sizeof o->output)
        return ti_err_set(err, TI_ERR_USAGE, "--output: '%.40s' is no name", arg);
    memcpy(o->output, arg, n + 1);
    while (n > 1 && o->output[n - 1] == '/')
        o->output[--n] = '\0';
    return TI_OK;
}

#define TI_OPT_STRUCT struct options

static const struct ti_opt opts[] = {
    {0, "to", "FORMAT",
     "target: simgrid, dimemas or goal (LogGOPSim); INPUT is a\n"
     "trace",
     TI_OPT_CHOICE(to, TO_SIMGRID, "simgrid dimemas goal")},
    {0, "from", "FORMAT",
     "simgrid: INPUT is a list of action files, as for smpirun\n"
     "-replay; otf2: it is the anchor file of a trace of Score-P",
     TI_OPT_CHOICE(from, FROM_SIMGRID, "simgrid otf2")},
    {'o', "output", "OUTPUT",
     "what to make: a directory with --to simgrid (files and\n"
     "their list) and --from (rank files), else a file",
     TI_OPT_FUNCTION(parse_output)},
    TI_OPT_HEADING("Bursts"),
    {0, "speed", "SPEED",
     "speed of a host, such as 8Gf; an instruction is a flop.\n"
     "Dimemas and GOAL have only times: they need --speed or\n"
     "--times",
     TI_OPT_QUANTITY(speed, TI_UNIT_SPEED)},
    {0, "times", NULL,
     "bursts take their measured durations (needs a trace of\n"
     "ti-acquire --times)",
     TI_OPT_FLAG(times)},
    {0, "cores", "N",
     "cores that the threads of a rank share, if volumes are\n"
     "of all threads [default: 1]",
     TI_OPT_INTEGER(cores, 1, 1 << 16)},
    TI_OPT_HEADING("To SimGrid"),
    {0, "eager", "BYTES",
     "smpi/send-is-detached-thresh that smpirun will have; it\n"
     "decides which sends can be expressed [default: 65536]",
     TI_OPT_INTEGER(eager, 0, INT_MAX)},
    {0, "merged", NULL, "write one file with all ranks in turn, not one per rank",
     TI_OPT_FLAG(merged)},
    TI_OPT_HEADING("From SimGrid, if the files leave it open"),
    {0, "syntax", "WHICH",
     "tags (SimGrid 3.20 and later) or old (before)\n"
     "[default: what the lines show]",
     TI_OPT_CHOICE(import.syntax, TI_SYNTAX_TAGS, "tags old")},
    {0, "datatype", "WHICH",
     "unit of sizes without a datatype: bytes or doubles\n"
     "[default: what \"init\" says]",
     TI_OPT_CHOICE(element, BYTES, "bytes doubles")},
    {0, "wait", "WHICH",
     "request that a wait without arguments completes: last,\n"
     "last-recv, first or first-recv [default: last; if ranks\n"
     "are named p0, p1, ..., last-recv]",
     TI_OPT_CHOICE(import.wait, TI_WAIT_LAST, "last last-recv first first-recv")},
    TI_OPT_HEADING("Output"),
    {'q', "quiet", NULL, "print only errors and warnings", TI_OPT_FLAG(quiet)},
    {0, "json", NULL, "print the result, or the problems, as JSON", TI_OPT_FLAG(json)},
    TI_OPT_PROGRESS(progress),
    TI_OPT_END};

/* replay-bridge/otf2/module.mk says whether there is the OTF2 library. */
#ifdef TI_NO_OTF2
#define OTF2_TEXT "This ti-convert was built without the OTF2 library, which --from otf2 needs.\n\n"
#else
#define OTF2_TEXT ""
#endif

static const struct ti_cli cli = {
    .tool = "ti-convert",
    .what =
        "Convert a trace to the format of another simulator, or SimGrid's actions or an OTF2 trace "
        "to ours.",
    .usage = "[OPTION]... INPUT -o OUTPUT",
    .examples = "  ti-convert --to simgrid lu.tib -o lu.actions\n"
                "  ti-convert --to dimemas --speed 8Gf lu.tib -o lu.dim\n"
                "  ti-convert --to goal --times lu.tib -o lu.goal\n"
                "  ti-convert --from simgrid lu.actions/traces.txt -o lu.run\n"
                "  ti-convert --from otf2 scorep-lu/traces.otf2 -o lu.run\n",
    .opts = opts,
    .after = OTF2_TEXT
    "A trace that the target cannot express is refused, with rank, event and reason.\n"
    "\n"
    "Exit status: 0 success, 2 usage, 3 the input cannot be converted, 4 local file\n"
    "or memory trouble.  More: man ti-convert\n"};

/* The result of a conversion, for the report. */
struct result {
    int64_t np;
    uint64_t read, written; /* actions, records or events read; things named by `unit` written */
    const char *unit;
    struct ti_problems problems;
    struct ti_untimed untimed; /* what SimGrid's replay gives no time */
};

/* Why the options cannot be used together; NULL if they can. */
static const char *conflict(const struct options *o)
{
    bool decides = o->import.syntax || o->element || o->import.wait;

    if (!o->from == !o->to)
        return o->from ? "--from and --to are two conversions: do one after the other"
                       : "give --to FORMAT, or --from FORMAT";
    if (!o->output[0])
        return "give -o OUTPUT";
    if ((o->merged || o->eager >= 0) && o->to != TO_SIMGRID)
        return "--merged and --eager are for --to simgrid";
    if (decides && o->from != FROM_SIMGRID)
        return "--syntax, --datatype and --wait are for --from simgrid";
    if ((o->times || o->cores) && o->from)
        return "--times and --cores are for --to";
    if (o->times && (o->speed || o->cores))
        return "--speed and --cores have no effect with --times: bursts take their measured "
               "durations";
    if (o->from == FROM_OTF2 && o->speed)
        return "with --from otf2, --speed has no effect: bursts are as the trace has them";
    if (o->to == TO_SIMGRID && o->speed)
        return "with --to simgrid, the platform has the speed";
    if ((o->to == TO_DIMEMAS || o->to == TO_GOAL) && !o->times && !o->speed)
        return "the target has times, not volumes: give --speed, or --times";
    return NULL;
}

/* TI_CLI_END to go on, else the exit status. */
static int parse(struct options *o, int argc, char **argv)
{
    const char *why;
    int st;

    o->eager = -1;
    st = ti_cli_parse(&cli, argc, argv, o);
    if (st != TI_CLI_END)
        return st;
    o->import.element = o->element == BYTES ? 1 : o->element == DOUBLES ? 8 : 0;
    if (argc - ti_cli_operand() != 1)
        return (int)ti_cli_usage(&cli, argc == ti_cli_operand() ? "no input given"
                                                                : "more than one input given");
    if ((why = conflict(o)))
        return (int)ti_cli_usage(&cli, "%s", why);
    o->input = argv[ti_cli_operand()];
    return TI_CLI_END;
}

/* ---- trace to other formats ---- */

/* Choose the volume of bursts.  As in ti-replay, it is that of all threads if the trace has it. */
static ti_status choose_pace(const struct options *o, struct ti_source *s, struct ti_pace *pace,
                             struct ti_err *err)
{
    struct ti_err none;

    *pace = (struct ti_pace){.bursts = {.as = TI_BURSTS_THREADS, .cores = o->cores ? o->cores : 1}};
    if (o->speed)
        pace->speed = ti_speed_number(o->speed);
    if (o->times) {
        pace->bursts.as = TI_BURSTS_TIMES;
        return ti_bursts_check(s, &pace->bursts, err);
    }
    if (ti_bursts_check(s, &pace->bursts, &none) == TI_OK)
        return TI_OK;
    pace->bursts.as = TI_BURSTS_VOLUME;
    if (o->cores)
        ti_warn("--cores %lld has no effect: the trace does not have the volume of the longest "
                "thread of each burst",
                (long long)o->cores);
    return TI_OK;
}

/* The same warnings as in ti-replay about volumes that are not exact instruction counts. */
static void warn_of_volumes(const struct ti_volumes *v)
{
    if (!strcmp(v->counter, "mixed"))
        ti_warn("the ranks were not counted by one counter: their volumes cannot be compared");
    if (v->unit[0] && strcmp(v->unit, "instructions") != 0 && strcmp(v->unit, "flops") != 0)
        ti_warn("volumes are %s, not instructions; each unit becomes a flop", v->unit);
    else if (v->inexact)
        ti_warn("volumes are %s: the counter is %s", v->estimate ? "an estimate" : "not exact",
                v->counter);
}

static ti_status refuse(const struct options *o, const struct ti_problems *problems,
                        struct ti_err *err)
{
    static const char *const formats[] = {
        [TO_SIMGRID] = "simgrid", [TO_DIMEMAS] = "dimemas", [TO_GOAL] = "goal"};

    ti_err_set(err, TI_ERR_INPUT, "'%s' cannot be converted to %s: %llu problem%s", o->input,
               formats[o->to], (unsigned long long)problems->n, problems->n > 1 ? "s" : "");
    ti_err_hint(err,
                "'ti-info --verify %s' tells whether the trace is sound; to leave out a part of "
                "the program that cannot be expressed, call MPI_Pcontrol(0) before it and "
                "MPI_Pcontrol(1) after it",
                o->input);
    return TI_ERR_INPUT;
}

static ti_status to_simgrid(const struct options *o, struct ti_source *s,
                            const struct ti_pace *pace, struct result *res, struct ti_err *err)
{
    struct ti_lint lint;
    int64_t eager = o->eager >= 0 ? o->eager : EAGER_BYTES;
    ti_status st = ti_lint(s, &ti_lower_target, eager, &lint, &res->problems, err);

    res->read = lint.check.events;
    if (!st && res->problems.n)
        st = refuse(o, &res->problems, err);
    if (!st) {
        if (!o->times)
            warn_of_volumes(&lint.volumes);
        st = ti_lower(s, &lint, &pace->bursts, o->merged, &res->written, err);
        res->untimed = lint.untimed;
    }
    ti_lint_free(&lint);
    return st;
}

static ti_status to_times(const struct options *o, struct ti_source *s, const struct ti_pace *pace,
                          struct result *res, struct ti_err *err)
{
    bool goal = o->to == TO_GOAL;
    static struct ti_conversion conv;
    ti_status st =
        ti_conversion_prepare(&conv, s, pace, goal ? ti_goal_refusal : ti_dimemas_refusal, err);

    res->read = conv.lint.check.events;
    res->problems = conv.problems;
    if (!st && res->problems.n)
        st = refuse(o, &res->problems, err);
    if (!st) {
        if (!o->times)
            warn_of_volumes(&conv.lint.volumes);
        st = (goal ? ti_goal_write : ti_dimemas_write)(&conv, OUT_NAME, err);
    }
    res->written = conv.actions;
    ti_conversion_free(&conv);
    return st;
}

static ti_status convert_to(const struct options *o, struct result *res, struct ti_err *err)
{
    bool simgrid = o->to == TO_SIMGRID;
    struct ti_source *s = NULL;
    struct ti_pace pace;
    ti_status st = ti_source_open(o->input, &s, err);

    if (!st && (res->np = ti_source_nranks(s)) < 1)
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' has no ranks", o->input);
    if (!st)
        st = choose_pace(o, s, &pace, err);
    if (!st)
        st = (simgrid ? to_simgrid : to_times)(o, s, &pace, res, err);
    if (!st)
        st = ti_scratch_publish(simgrid ? NULL : OUT_NAME, o->output, err);
    res->unit = simgrid ? "actions" : o->to == TO_GOAL ? "operations" : "records";
    ti_source_close(s);
    return st;
}

/* ---- other formats to a trace ---- */

static ti_status from_simgrid(struct options *o, struct result *res, struct ti_err *err)
{
    struct ti_imported got;
    ti_status st;

    o->import.speed = o->speed ? ti_speed_number(o->speed) : 0;
    st = ti_import(o->input, &o->import, &got, &res->problems, err);
    *res = (struct result){got.np, got.lines, got.events, "events", res->problems, {0, 0}};
    return st;
}

static ti_status from_otf2(const struct options *o, struct result *res, struct ti_err *err)
{
    struct ti_otf2_imported got;
    ti_status st = ti_otf2_import(o->input, &got, err);

    if (!st)
        st = ti_import_check(o->input, &res->problems, err);
    *res = (struct result){got.np, got.records, got.events, "events", res->problems, {0, 0}};
    return st;
}

static ti_status convert_from(struct options *o, struct result *res, struct ti_err *err)
{
    ti_status st = o->from == FROM_OTF2 ? from_otf2(o, res, err) : from_simgrid(o, res, err);

    return st ? st : ti_scratch_publish(NULL, o->output, err);
}

/* ---- the report ---- */

static void report_json(const struct options *o, const struct result *res, ti_status st,
                        const struct ti_err *err)
{
    json_t *j = json_pack("{s:o, s:o, s:i, s:I}", "input", ti_json_text(o->input), "output",
                          ti_json_text(o->output), "status", (int)st, "np", (json_int_t)res->np);

    if (st)
        json_object_set_new(j, "error", ti_json_text(err->text));
    if (st && err->hint[0])
        json_object_set_new(j, "hint", ti_json_text(err->hint));
    if (!st)
        json_object_set_new(j, res->unit, json_integer((json_int_t)res->written));
    if (!st && o->to == TO_SIMGRID)
        json_object_set_new(j, "untimed",
                            json_pack("{s:I, s:I}", "communicators", (json_int_t)res->untimed.comms,
                                      "probes", (json_int_t)res->untimed.probes));
    json_object_set_new(j, "problem_count", json_integer((json_int_t)res->problems.n));
    json_object_set_new(j, "problems", ti_problems_json(&res->problems));
    json_dumpf(j, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(j);
}

static ti_status report(const struct options *o, const struct result *res, ti_status st,
                        const struct ti_err *err)
{
    char read[32], written[32], untimed[TI_UNTIMED_BYTES];

    if (st) {
        ti_cli_fail(&cli, st, err);
        ti_problems_print(&res->problems, stderr);
    } else {
        ti_say("'%s': %lld ranks, %s %s from %s %s", o->output, (long long)res->np,
               ti_format_count(res->written, written, sizeof written), res->unit,
               ti_format_count(res->read, read, sizeof read),
               o->from == FROM_OTF2 ? "records"
               : o->from            ? "actions"
                                    : "events");
        ti_untimed_text(&res->untimed, untimed);
        if (*untimed)
            ti_say("not timed: %s; SimGrid's replay has no actions for that", untimed);
    }
    if (o->json)
        report_json(o, res, st, err);
    return st ? st : (ti_status)ti_cli_shown(cli.tool);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    static struct result res;
    struct ti_err err = {0};
    ti_status st;
    int end = parse(&o, argc, argv);

    if (end != TI_CLI_END)
        return end;
    ti_talk_init(cli.tool, o.quiet, o.progress);
    ti_stop_catch();
    st = ti_scratch_open_beside(o.output, &err);
    if (!st)
        st = o.from ? convert_from(&o, &res, &err) : convert_to(&o, &res, &err);
    st = report(&o, &res, st, &err);
    ti_scratch_close();
    if (ti_stopped())
        ti_stop_die();
    return st;
}
