/* ti-extrapolate: traces of more ranks, from traces of fewer. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/limits.h"
#include "common/scratch.h"
#include "extrapolate/explain.h"
#include "extrapolate/make.h"
#include "extrapolate/output.h"
#include "extrapolate/report.h"
#include "extrapolate/search.h"

#define TRACE_NAME "trace.ti" /* until it is published */
#define PROOF_NAME "proof.ti"

struct settings {
    int64_t np;
    const char *output, *debug_dir;
    int64_t dims[TI_AXES + 1]; /* ends with 0; all 0: not given */
    bool no_proof, explain, all, quiet, json;
    enum ti_progress_form progress;
};

#define TI_OPT_STRUCT struct settings

/* "64x64" */
static ti_status take_dims(void *options, const char *arg, struct ti_err *err)
{
    struct settings *s = options;
    const char *p = arg;

    memset(s->dims, 0, sizeof s->dims);
    for (int i = 0; i < TI_AXES; i++) {
        char *end;
        long long n = strtoll(p, &end, 10);

        if (end == p || *p < '0' || *p > '9' || n < 1 || n > TI_RANKS_MAX || (*end && *end != 'x'))
            break;
        s->dims[i] = n;
        if (!*end)
            return TI_OK;
        p = end + 1;
    }
    return ti_err_set(err, TI_ERR_USAGE,
                      "--dims: '%s' is not a grid of 1 to %d axes, such as 64x64", arg, TI_AXES);
}

static const struct ti_opt opts[] = {
    {'n', "np", "N", "ranks of the trace that is made", TI_OPT_INTEGER(np, 1, TI_RANKS_MAX)},
    {'o', "output", "OUT",
     "the trace to write; must not exist: a bundle if OUT ends\n"
     "in .tib, else a merged trace",
     TI_OPT_NAME(output)},
    {0, "dims", "PXxPY...",
     "the grid of the new run, with the axis first along which\n"
     "ranks are neighbours [default: as the inputs grow]",
     TI_OPT_FUNCTION(take_dims)},
    {0, "no-proof", NULL, "do not hold the largest TRACE back first", TI_OPT_FLAG(no_proof)},
    TI_OPT_HEADING("Output"),
    {0, "explain", NULL,
     "print the rule of each number, by ranks and calls;\n"
     "without -o, nothing else is done",
     TI_OPT_FLAG(explain)},
    {0, "all", NULL, "with --explain: also numbers that are constants", TI_OPT_FLAG(all)},
    {0, "debug-dir", "DIR[:DIR]...",
     "look here first for the program that was traced, its\n"
     "libraries and their debug information",
     TI_OPT_NAME(debug_dir)},
    {'q', "quiet", NULL, "print only errors and problems", TI_OPT_FLAG(quiet)},
    {0, "json", NULL, "print as JSON", TI_OPT_FLAG(json)},
    TI_OPT_PROGRESS(progress),
    TI_OPT_END,
};

static const struct ti_cli cli = {
    .tool = "ti-extrapolate",
    .what = "Make the trace of a run with more ranks from traces of runs with fewer.",
    .usage = "[OPTION]... TRACE TRACE... --np N -o OUT",
    .examples = "  ti-extrapolate lu.16.tib lu.36.tib lu.64.tib --np 4096 -o lu.4096.tib\n"
                "  ti-extrapolate lu.16.tib lu.36.tib lu.64.tib --np 4096 --dims 128x32 -o lu.tib\n"
                "  ti-extrapolate lu.16.tib lu.36.tib lu.64.tib --np 4096 --explain\n",
    .opts = opts,
    .after = "Exit status: 0 made (also if it is unproven: the trace and --json say so), 2 usage,\n"
             "3 an input is damaged, or no rules are found, or what is made is not sound, 4 local "
             "I/O.\n"
             "More: man ti-extrapolate\n",
};

/* The state of main(). */
struct work {
    const struct settings *s;
    struct ti_source *source[TI_INPUTS_MOST];
    int n;
    struct ti_original of[TI_INPUTS_MOST]; /* by size */
    struct ti_inputs inputs;
    struct ti_models models;
    struct ti_proof proof;
    struct ti_target_volumes volumes;
    struct ti_symbolizer *symbolizer;
};

/* Returns an exit status, or TI_CLI_END. */
static int parse(int argc, char **argv, struct settings *s)
{
    int st = ti_cli_parse(&cli, argc, argv, s), n;
    int64_t product = 1;

    if (st != TI_CLI_END)
        return st;
    n = argc - ti_cli_operand();
    if (n < 2)
        return (int)ti_cli_usage(&cli, "traces of two runs at least are needed, and three prove "
                                       "the result");
    if (n > TI_INPUTS_MOST)
        return (int)ti_cli_usage(&cli, "%d traces at most", TI_INPUTS_MOST);
    if (!s->np)
        return (int)ti_cli_usage(&cli, "--np: how many ranks?");
    if (!s->output && !s->explain)
        return (int)ti_cli_usage(&cli,
                                 "-o: which file shall be written?  --explain alone writes none");
    if (s->all && !s->explain)
        return (int)ti_cli_usage(&cli, "--all is for --explain");
    for (int i = 0; s->dims[i]; i++)
        if (__builtin_mul_overflow(product, s->dims[i], &product))
            product = INT64_MAX;
    if (s->dims[0] && product != s->np)
        return (int)ti_cli_usage(&cli, "--dims has %" PRId64 " ranks, and --np %" PRId64, product,
                                 s->np);
    return TI_CLI_END;
}

/* -------------------------------------------------------------------- the steps -- */

/* Where the program was may tell its source lines. */
static void know_program(struct work *w, struct ti_source *s)
{
    struct ti_reader *r;

    if (!ti_source_has(s, 0) || ti_source_reader(s, 0, &r, NULL) != TI_OK)
        return;
    ti_symbolizer_add_rank(w->symbolizer, r);
    ti_reader_close(r);
}

static ti_status open_sources(struct work *w, char *const *paths, int n, struct ti_err *err)
{
    ti_status st = TI_OK;

    while (!st && w->n < n) {
        st = ti_source_open(paths[w->n], &w->source[w->n], err);
        if (!st)
            know_program(w, w->source[w->n++]);
    }
    return st;
}

static ti_status read_inputs(struct work *w, struct ti_err *err)
{
    struct ti_source *by_size[TI_INPUTS_MOST];
    ti_status st = ti_originals_read(w->source, w->n, w->of, err);

    if (!st)
        st = ti_inputs_read(w->source, w->n, &w->inputs, err);
    for (int i = 0; i < w->n && !st; i++) {
        by_size[i] = w->inputs.input[i].source;
        if (w->inputs.input[i].np == w->s->np)
            st = ti_err_set(err, TI_ERR_USAGE,
                            "'%s' has %" PRId64 " ranks: there is nothing to extrapolate",
                            ti_source_path(by_size[i]), w->s->np);
    }
    if (!st && w->s->np < w->inputs.input[0].np)
        st = ti_err_set(err, TI_ERR_USAGE,
                        "--np: '%s' has %" PRId64 " ranks already: fewer can be traced, and are "
                        "not extrapolated",
                        ti_source_path(by_size[0]), w->inputs.input[0].np);
    return st ? st : ti_originals_read(by_size, w->n, w->of, err);
}

static ti_status prove(struct work *w, struct ti_err *err)
{
    int64_t dims[TI_AXES + 1] = {0};
    ti_status st = ti_target_volumes_find(&w->models, &w->volumes, err);

    if (st)
        return st;
    if (w->s->no_proof) {
        w->proof = (struct ti_proof){.np = 0, .why = "no proof was asked for (--no-proof)"};
        return TI_OK;
    }
    for (int i = 0; i < w->models.grid.axes && w->s->dims[0]; i++)
        dims[i] = w->models.grid.p[w->n - 1][i];
    st = ti_proof_find(&w->models, w->s->dims[0] ? dims : NULL, ti_scratch_path(PROOF_NAME),
                       &w->proof, err);
    if (!st)
        ti_proof_limit(&w->proof, &w->volumes);
    return st;
}

static ti_status write_trace(struct work *w, struct ti_extrapolated *e, struct ti_err *err)
{
    char text[1400], sizes[128], proof[1000], volume[128], from[512];
    struct ti_origin origin = {.text = text, .from = from};
    json_t *about;
    ti_status st;

    snprintf(text, sizeof text, "from %s ranks; %s; %s",
             ti_originals_sizes(w->of, w->n, sizes, sizeof sizes),
             ti_proof_text(&w->proof, proof, sizeof proof),
             ti_target_volumes_text(&w->volumes, volume, sizeof volume));
    ti_originals_from(w->of, w->n, from, sizeof from);
    ti_originals_run_id(w->of, w->n, w->s->np, origin.run_id);
    st = ti_extrapolation_write(&w->models, &origin, ti_scratch_path(TRACE_NAME), err);
    if (st)
        return st;
    about = ti_extrapolated_about(e, text);
    st = ti_output_publish(TRACE_NAME, w->s->output, about, &e->bytes, err);
    json_decref(about);
    e->output = w->s->output;
    return st;
}

static ti_status extrapolate(struct work *w, char *const *paths, int n, struct ti_err *err)
{
    const struct settings *s = w->s;
    struct ti_extrapolated e = {
        .models = &w->models, .of = w->of, .proof = &w->proof, .volumes = &w->volumes};
    ti_status st = open_sources(w, paths, n, err);

    if (!st)
        st = s->output ? ti_scratch_open_beside(s->output, err) : ti_scratch_open(NULL, err);
    if (!st)
        st = read_inputs(w, err);
    if (!st)
        st = ti_models_search(&w->inputs, s->np, s->dims[0] ? s->dims : NULL, &w->models, err);
    if (!st && s->output)
        st = prove(w, err);
    ti_name_sites(w->symbolizer, w->proof.why, sizeof w->proof.why);
    if (!st && s->explain)
        st = ti_explain(&w->models, s->all, w->symbolizer, &e.rules, err);
    if (!st && s->output)
        st = write_trace(w, &e, err);
    ti_progress_end(!st);
    if (st) {
        ti_name_sites(w->symbolizer, err->text, sizeof err->text);
        return st;
    }
    if (s->output && !w->proof.holds)
        ti_warn("unproven: %s", w->proof.why);
    if (s->json)
        ti_extrapolated_print_json(&e);
    else if (!s->quiet)
        ti_extrapolated_print(&e, w->symbolizer);
    json_decref(e.rules);
    if (fflush(stdout) != 0 || ferror(stdout))
        return ti_err_errno(err, TI_ERR_IO, "cannot write to standard output");
    return TI_OK;
}

int main(int argc, char **argv)
{
    struct settings s = {.np = 0};
    struct work w = {.s = &s};
    struct ti_err err = {0};
    int st = parse(argc, argv, &s);

    if (st >= 0)
        return st;
    ti_talk_init(cli.tool, s.quiet, s.progress);
    ti_stop_catch();
    w.symbolizer = ti_symbolizer_open(s.debug_dir);
    st = extrapolate(&w, argv + ti_cli_operand(), argc - ti_cli_operand(), &err);
    ti_symbolizer_close(w.symbolizer);
    ti_proof_free(&w.proof);
    ti_target_volumes_free(&w.volumes);
    if (w.models.np)
        ti_models_free(&w.models);
    ti_inputs_free(&w.inputs);
    while (w.n > 0)
        ti_source_close(w.source[--w.n]);
    ti_scratch_close();
    if (st && err.text[0])
        ti_cli_fail(&cli, (ti_status)st, &err);
    if (ti_stopped())
        ti_stop_die();
    return st;
}
