#include "acquire/plan/composite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acquire/plan/estimate.h"
#include "formats/json.h"

/* The same default names as for a run on this machine: NAME.NP.run and NAME.NP.tib. */
static ti_status name_results(struct ti_composite *c, struct ti_err *err)
{
    const struct ti_options *o = c->o;
    const char *program = o->program.v[0], *slash = strrchr(program, '/');
    int k, n, m;

    k = snprintf(c->name, sizeof c->name, "%s", slash ? slash + 1 : program);
    n = o->trace_dir
            ? snprintf(c->dir_name, sizeof c->dir_name, "%s", o->trace_dir)
            : snprintf(c->dir_name, sizeof c->dir_name, "%s.%" PRId64 ".run", c->name, o->np);
    m = o->output ? snprintf(c->output, sizeof c->output, "%s", o->output)
                  : snprintf(c->output, sizeof c->output, "%s.%" PRId64 ".tib", c->name, o->np);
    if (k >= (int)sizeof c->name || n >= PATH_MAX || m >= PATH_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "the name of the run directory or bundle is too long");
    if (!c->name[0])
        return ti_err_set(err, TI_ERR_USAGE, "'%s' is no name of a program", program);
    return TI_OK;
}

static void write_order(const struct ti_place_request *in, const struct ti_order *order, FILE *f)
{
    fprintf(f, "# ranks in the order of --like: mpirun --map-by seq\n");
    for (int64_t r = 0; r < order->np; r++)
        fprintf(f, "%s\n", in->sites->node[order->node[r]].name);
}

ti_status ti_composite_write_hostfile(const char *path, const struct ti_place_request *in,
                                      const struct ti_rank_placement *place,
                                      const struct ti_order *order, struct ti_err *err)
{
    bool here = strcmp(path, "-") == 0;
    FILE *f = here ? stdout : fopen(path, "we");
    bool failed;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    if (order && order->np && !order->kept)
        write_order(in, order, f);
    else
        ti_rank_placement_hostfile(in, place, f);
    failed = ferror(f);
    if (here)
        failed |= fflush(f) != 0;
    else
        failed |= fclose(f) != 0;
    return failed ? ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path) : TI_OK;
}

ti_status ti_composite_order(const struct ti_options *o, const struct ti_place_request *in,
                             const struct ti_rank_placement *place, struct ti_order *out,
                             struct ti_err *err)
{
    struct ti_like like;
    ti_status st = ti_like_read(o->like, o->np, &like, err);

    if (st != TI_OK)
        return st;
    if (like.missing)
        ti_warn("%" PRId64 " ranks are missing or not whole in '%s': who talks to them is not "
                "known",
                like.missing, o->like);
    st = ti_like_order(&like, in->sites, place, out, err);
    ti_like_free(&like);
    return st;
}

/* One entry per cluster that has ranks, by what the file says of its processors. */
static ti_status choose_isa(struct ti_composite *c, struct ti_err *err)
{
    const struct ti_sites *s = c->sites;
    struct ti_common_isa_node *node = calloc((size_t)s->nclusters + 1, sizeof *node);
    int64_t n = 0;
    ti_status st;

    if (!node)
        return ti_err_errno(err, TI_ERR_IO, "cannot compare processors");
    for (int64_t i = 0, last = -1; i < s->nnodes; i++) {
        const struct ti_cluster *k = &s->cluster[s->node[i].cluster];

        if (c->place.ranks[i] && s->node[i].cluster != last)
            node[n++] = (struct ti_common_isa_node){
                .name = k->name, .family = k->family, .isa = k->isa, .cpu = k->cpu};
        last = c->place.ranks[i] ? s->node[i].cluster : last;
    }
    st = ti_common_isa_choose(node, n, c->o->isa, c->o->isa_native,
                              strcmp(c->o->counter, "cputime") != 0, &c->isa, err);
    free(node);
    return st;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ti_status ti_composite_plan(struct ti_composite *c, const struct ti_options *o,
                            const struct ti_sites *sites, const struct ti_place_facts *facts,
                            struct ti_err *err)
{
    double begun = now();
    ti_status st;

    *c = (struct ti_composite){.o = o};
    st = name_results(c, err);
    c->sites = sites;
    if (st == TI_OK)
        st = ti_place_request_from_options(o, c->sites, facts, &c->in, err);
    if (st == TI_OK)
        st = ti_place_ranks(&c->in, &c->place, err);
    if (st != TI_OK)
        return st;
    c->placed = true;
    if (o->like)
        st = ti_composite_order(o, &c->in, &c->place, &c->order, err);
    if (st != TI_OK)
        return st;
    c->seconds = now() - begun;
    st = choose_isa(c, err);
    if (st != TI_OK)
        return st;
    return o->write_hostfile
               ? ti_composite_write_hostfile(o->write_hostfile, &c->in, &c->place, &c->order, err)
               : TI_OK;
}

void ti_composite_print(const struct ti_composite *c, FILE *out)
{
    char *program = ti_args_shell(&c->o->program), text[512];

    fprintf(out, "plan for %s\n", program ? program : c->name);
    ti_rank_placement_print(&c->in, &c->place, out);
    if (c->order.np)
        fprintf(out, "  order     %s\n", ti_order_text(&c->order, text, sizeof text));
    ti_estimate_start_print(
        ti_rank_placement_start_seconds(&c->in, &c->place, strcmp(c->o->counter, "valgrind") == 0),
        out);
    ti_estimate_print(c->o->like, c->place.np, c->place.fold_full, program, NULL, out);
    fprintf(out, "  counter   %s%s\n", c->o->counter,
            strcmp(c->o->counter, "auto") == 0
                ? ": by what the nodes have; valgrind takes 48 MiB more a rank"
                : "");
    if (c->isa.isa)
        fprintf(out, "  isa       %s%s\n", c->isa.isa,
                c->isa.chosen ? ", the least level of the nodes" : "");
    fprintf(out, "  traces    on each node; run directory %s here\n", c->dir_name);
    fprintf(out, "  bundle    %s\n", c->o->no_gather ? "none (--no-gather)" : c->output);
    fprintf(out, "  basis     %s; no node was asked\n", c->sites->path);
    free(program);
}

void ti_composite_say(const struct ti_composite *c)
{
    for (int i = 0; i < c->isa.nwarnings; i++)
        ti_warn("%s", c->isa.warning[i]);
    if (c->isa.said)
        ti_say("%s", c->isa.said);
    if (c->o->verbose)
        ti_say("planned in %.3f s", c->seconds);
}

void ti_composite_summary(const struct ti_composite *c, ti_status st, const struct ti_err *err)
{
    char *command = ti_args_shell(&c->o->program);
    json_t *json =
        json_pack("{s:I, s:o, s:o}", "np", (json_int_t)c->o->np, "application",
                  ti_json_text(c->name), "command", ti_json_text(command ? command : "?"));

    free(command);
    if (!json)
        return;
    if (c->sites)
        json_object_set_new(json, "sites", ti_json_text(c->sites->path));
    if (c->order.np)
        json_object_set_new(json, "order", ti_order_json(&c->order));
    if (c->placed)
        json_object_set_new(json, "plan", ti_rank_placement_json(&c->in, &c->place));
    else if (c->place.largest_np && c->place.largest_np != INT64_MAX)
        json_object_set_new(json, "largest_np", json_integer(c->place.largest_np));
    if (c->placed && c->isa.isa)
        json_object_set_new(json, "isa", json_string(c->isa.isa));
    json_object_set_new(json, "bundle", json_null());
    json_object_set_new(json, "status", json_integer(st));
    if (err->text[0])
        json_object_set_new(json, "error", ti_json_text(err->text));
    if (err->hint[0])
        json_object_set_new(json, "hint", ti_json_text(err->hint));
    json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(json);
}

void ti_composite_free(struct ti_composite *c)
{
    ti_rank_placement_free(&c->place);
    ti_order_free(&c->order);
    ti_common_isa_free(&c->isa);
}
