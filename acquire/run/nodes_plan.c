/* The placement of an acquisition, and its table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/plan/estimate.h"
#include "acquire/run/measure.h"
#include "acquire/run/nodes.h"

struct ti_used_node *ti__nodes_used(struct ti_nodes_backend *b, int64_t node)
{
    int64_t low = 0, high = b->nused - 1;

    while (low <= high) {
        int64_t mid = (low + high) / 2;

        if (b->used[mid].node == node)
            return &b->used[mid];
        if (b->used[mid].node < node)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return NULL;
}

int64_t ti__nodes_node_of(const struct ti_nodes_backend *b, int64_t rank)
{
    return b->ordered ? b->order.node[rank] : ti_rank_placement_node_of(&b->place, rank);
}

json_t *ti__nodes_ranks(const struct ti_nodes_backend *b, const struct ti_used_node *u)
{
    if (b->ordered)
        return ti_order_ranks_json(&b->order, u->node);
    return json_pack("[[I, I]]", (json_int_t)u->first, (json_int_t)(u->first + u->n - 1));
}

/* --like: order the ranks by communication. */
static ti_status order_ranks(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st = ti_like_order(&b->like, b->sites, &b->place, &b->order, err);

    if (st != TI_OK)
        return st;
    b->names = calloc((size_t)b->sites->nnodes + 1, sizeof *b->names);
    if (!b->names)
        return ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
    for (int64_t i = 0; i < b->sites->nnodes; i++)
        b->names[i] = b->sites->node[i].name;
    b->ordered = !b->order.kept;
    return TI_OK;
}

/* Name the run directory of a node.  The name is unique even if several nodes share a disk. */
static void name_directory(const struct ti_nodes_backend *b, struct ti_used_node *u)
{
    const struct ti_node *node = &b->sites->node[u->node];

    snprintf(u->directory, sizeof u->directory, "%.2000s/tiara-%.12s.%.255s",
             ti_survey_trace_base(&b->sites->cluster[node->cluster], &b->ask), b->a->run_id,
             node->name);
    snprintf(u->tmp, sizeof u->tmp, "/tmp/ompi-%.12s.%.64s", b->a->run_id, node->name);
    snprintf(u->shm, sizeof u->shm, "/dev/shm/tiara-%.12s.%.255s", b->a->run_id, node->name);
}

static ti_status list_used(struct ti_nodes_backend *b, struct ti_err *err)
{
    b->used = calloc((size_t)b->place.used_nodes + 1, sizeof *b->used);
    if (!b->used)
        return ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
    for (int64_t i = 0; i < b->place.nnodes; i++) {
        struct ti_used_node *u = &b->used[b->nused];

        if (!b->place.ranks[i])
            continue;
        *u = (struct ti_used_node){.node = i, .first = b->place.first[i], .n = b->place.ranks[i]};
        name_directory(b, u);
        b->nused++;
    }
    return TI_OK;
}

void ti__nodes_plan_free(struct ti_nodes_backend *b)
{
    ti_rank_placement_free(&b->place);
    ti_order_free(&b->order);
    memset(&b->order, 0, sizeof b->order);
    free(b->names);
    b->names = NULL;
    b->ordered = false;
    for (int64_t i = 0; i < b->nused; i++)
        json_decref(b->used[i].status);
    free(b->used);
    b->used = NULL;
    b->nused = 0;
}

ti_status ti__nodes_plan(struct ti_nodes_backend *b, struct ti_err *err)
{
    bool surveyed = b->survey.facts != NULL;
    struct ti_place_facts facts = {.use = b->use,
                                   .memory_bytes = surveyed ? b->memory : NULL,
                                   .cores = surveyed ? b->cores : NULL,
                                   .rank_bytes = b->rank_bytes,
                                   .valgrind = b->a->choice.valgrind};
    ti_status st;

    ti__nodes_plan_free(b);
    st = ti_place_request_from_options(b->a->o, b->sites, &facts, &b->in, err);
    if (st == TI_OK)
        st = ti_place_ranks(&b->in, &b->place, err);
    if (st == TI_OK && surveyed) {
        ti_rank_placement_settings(&b->in, &b->place, &b->a->plan);
        /* nodes may have other work, which spinning ranks would slow down */
        b->a->plan.yield = true;
        st = list_used(b, err);
        if (st == TI_OK && b->a->o->like)
            st = order_ranks(b, err);
    }
    return st;
}

void ti__nodes_print(const struct ti_nodes_backend *b, FILE *out)
{
    const struct ti_acquisition *a = b->a;
    char *program = ti_args_shell(&a->o->program), text[256];

    fprintf(out, "plan for %s\n", program ? program : a->program.given);
    ti_rank_placement_print(&b->in, &b->place, out);
    if (b->order.node)
        fprintf(out, "  order     %s\n", ti_order_text(&b->order, text, sizeof text));
    ti_estimate_start_print(ti_rank_placement_start_seconds(&b->in, &b->place, a->choice.valgrind),
                            out);
    ti_estimate_print(a->o->like, b->place.np, b->place.fold_full, program, a->choice.backend, out);
    ti_acquisition_print_counter(a, out);
    fprintf(out, "  traces    %s on its node, for one\n", b->nused ? b->used[0].directory : "?");
    fprintf(out, "  run       %s (log: %s)\n", a->dir_name, b->log_name);
    fprintf(out, "  bundle    %s\n", a->o->no_gather ? "none (--no-gather)" : a->output);
    free(program);
}
