/* The placement of an acquisition, and its table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/run/acquisition.h"
#include "acquire/plan/estimate.h"
#include "acquire/run/measure.h"

struct ti_used_node *ti__acquisition_used(struct ti_acquisition *c, int64_t node)
{
    int64_t low = 0, high = c->nused - 1;

    while (low <= high) {
        int64_t mid = (low + high) / 2;

        if (c->used[mid].node == node)
            return &c->used[mid];
        if (c->used[mid].node < node)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return NULL;
}

int64_t ti__acquisition_node_of(const struct ti_acquisition *c, int64_t rank)
{
    return c->ordered ? c->order.node[rank] : ti_rank_placement_node_of(&c->place, rank);
}

json_t *ti__acquisition_ranks(const struct ti_acquisition *c, const struct ti_used_node *u)
{
    if (c->ordered)
        return ti_order_ranks_json(&c->order, u->node);
    return json_pack("[[I, I]]", (json_int_t)u->first, (json_int_t)(u->first + u->n - 1));
}

/* --like: order the ranks by communication. */
static ti_status order_ranks(struct ti_acquisition *c, struct ti_err *err)
{
    ti_status st = ti_like_order(&c->like, c->sites, &c->place, &c->order, err);

    if (st != TI_OK)
        return st;
    c->names = calloc((size_t)c->sites->nnodes + 1, sizeof *c->names);
    if (!c->names)
        return ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
    for (int64_t i = 0; i < c->sites->nnodes; i++)
        c->names[i] = c->sites->node[i].name;
    c->ordered = !c->order.kept;
    return TI_OK;
}

/* Name the run directory of a node.  The name is unique even if several nodes share a disk. */
static void name_directory(const struct ti_acquisition *c, struct ti_used_node *u)
{
    const struct ti_node *node = &c->sites->node[u->node];

    snprintf(u->directory, sizeof u->directory, "%.2000s/tiara-%.12s.%.255s",
             ti_survey_trace_base(&c->sites->cluster[node->cluster], &c->ask), c->job->run_id,
             node->name);
    snprintf(u->tmp, sizeof u->tmp, "/tmp/ompi-%.12s.%.64s", c->job->run_id, node->name);
    snprintf(u->shm, sizeof u->shm, "/dev/shm/tiara-%.12s.%.255s", c->job->run_id, node->name);
}

static ti_status list_used(struct ti_acquisition *c, struct ti_err *err)
{
    c->used = calloc((size_t)c->place.used_nodes + 1, sizeof *c->used);
    if (!c->used)
        return ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
    for (int64_t i = 0; i < c->place.nnodes; i++) {
        struct ti_used_node *u = &c->used[c->nused];

        if (!c->place.ranks[i])
            continue;
        *u = (struct ti_used_node){.node = i, .first = c->place.first[i], .n = c->place.ranks[i]};
        name_directory(c, u);
        c->nused++;
    }
    return TI_OK;
}

void ti__acquisition_plan_free(struct ti_acquisition *c)
{
    ti_rank_placement_free(&c->place);
    ti_order_free(&c->order);
    memset(&c->order, 0, sizeof c->order);
    free(c->names);
    c->names = NULL;
    c->ordered = false;
    for (int64_t i = 0; i < c->nused; i++)
        json_decref(c->used[i].status);
    free(c->used);
    c->used = NULL;
    c->nused = 0;
}

ti_status ti__acquisition_plan(struct ti_acquisition *c, struct ti_err *err)
{
    bool surveyed = c->survey.facts != NULL;
    struct ti_place_facts facts = {.use = c->use,
                                   .memory_bytes = surveyed ? c->memory : NULL,
                                   .cores = surveyed ? c->cores : NULL,
                                   .rank_bytes = c->rank_bytes,
                                   .valgrind = c->job->choice.valgrind};
    ti_status st;

    ti__acquisition_plan_free(c);
    st = ti_place_request_from_options(c->job->o, c->sites, &facts, &c->in, err);
    if (st == TI_OK)
        st = ti_place_ranks(&c->in, &c->place, err);
    if (st == TI_OK && surveyed) {
        ti_rank_placement_settings(&c->in, &c->place, &c->job->plan);
        /* nodes may have other work, which spinning ranks would slow down */
        c->job->plan.yield = true;
        st = list_used(c, err);
        if (st == TI_OK && c->job->o->like)
            st = order_ranks(c, err);
    }
    return st;
}

void ti__acquisition_print(const struct ti_acquisition *c, FILE *out)
{
    const struct ti_job *j = c->job;
    char *program = ti_args_shell(&j->o->program), text[256];

    fprintf(out, "plan for %s\n", program ? program : j->program.given);
    ti_rank_placement_print(&c->in, &c->place, out);
    if (c->order.node)
        fprintf(out, "  order     %s\n", ti_order_text(&c->order, text, sizeof text));
    ti_estimate_start_print(ti_rank_placement_start_seconds(&c->in, &c->place, j->choice.valgrind),
                            out);
    ti_estimate_print(j->o->like, c->place.np, c->place.fold_full, program, j->choice.backend, out);
    ti_job_print_counter(j, out);
    fprintf(out, "  traces    %s on its node, for one\n", c->nused ? c->used[0].directory : "?");
    fprintf(out, "  run       %s (log: %s)\n", j->dir_name, c->log_name);
    fprintf(out, "  bundle    %s\n", j->o->no_gather ? "none (--no-gather)" : j->output);
    free(program);
}
