/* Requests that cannot be met: the message says what is missing, the hint what would help. */
#include "acquire/plan/place_internal.h"

#include <inttypes.h>
#include <string.h>

#include "common/cli.h"

ti_status ti__place_check_request(const struct ti_place_request *in, struct ti_err *err)
{
    if (in->regular && in->fold > 1)
        return ti_err_set(
            err, TI_ERR_USAGE,
            "a regular run has at most one rank a core, and %" PRId64 " are asked for", in->fold);
    if (in->fold && in->max_fold && in->fold > in->max_fold)
        return ti_err_set(err, TI_ERR_USAGE,
                          "%" PRId64 " ranks a core are asked for, and at most %" PRId64, in->fold,
                          in->max_fold);
    if (in->fold && ti__place_has_slots(in)) {
        ti_err_set(err, TI_ERR_USAGE, "'%s' has slots, which say how many ranks a node has",
                   in->sites->path);
        ti_err_hint(err, "leave out --fold, or the slots");
        return TI_ERR_USAGE;
    }
    if (!ti__place_usable_nodes(in)) {
        ti_err_set(err, TI_ERR_INPUT, "no node of '%s' can be used", in->sites->path);
        ti_err_hint(err,
                    in->family ? "is '%s' the family that is meant, as uname -m has it?"
                               : "see --exclude",
                    in->family);
        return TI_ERR_INPUT;
    }
    return TI_OK;
}

/* "the 1,169 nodes", "2 sites of g5k.conf (1,169 nodes), at most 4 ranks a core," */
static void say_where(const struct ti_place_request *in, const struct ti__pool *pool, char *text,
                      size_t room)
{
    int64_t nodes = ti__place_usable_nodes(in);
    char count[32], limit[64] = "";

    ti_format_count((uint64_t)nodes, count, sizeof count);
    if (in->regular)
        strcpy(limit, ", at one rank a core,");
    else if (in->fold)
        snprintf(limit, sizeof limit, ", at %" PRId64 " ranks a core,", in->fold);
    else if (in->max_fold)
        snprintf(limit, sizeof limit, ", at most %" PRId64 " ranks a core,", in->max_fold);
    if (pool->wanted)
        snprintf(text, room, "%d site%s of %s (%s node%s)%s", pool->wanted,
                 pool->wanted == 1 ? "" : "s", in->sites->path, count, nodes == 1 ? "" : "s",
                 limit);
    else
        snprintf(text, room, "the %s node%s%s", count, nodes == 1 ? "" : "s", limit);
}

ti_status ti__place_refuse_np(const struct ti_place_request *in, struct ti__pool *pool,
                              int64_t most, struct ti_err *err)
{
    char np[32], held[32], over[32], needed[32], rank[32], missing[32], where[256], memory[80] = "",
                                                                                    lack[80] = "";
    bool limited = in->fold || in->max_fold || in->regular;
    int64_t bytes, lacking, fold = limited ? ti__place_smallest_fold(in, pool) : 0;

    ti_format_count((uint64_t)in->np, np, sizeof np);
    ti_format_count((uint64_t)most, held, sizeof held);
    ti_format_count((uint64_t)(in->np - most), over, sizeof over);
    say_where(in, pool, where, sizeof where);
    if (in->rank_bytes) {
        if (__builtin_mul_overflow(in->rank_bytes, in->np, &bytes))
            bytes = INT64_MAX;
        if (__builtin_mul_overflow(in->rank_bytes, in->np - most, &lacking))
            lacking = INT64_MAX;
        snprintf(memory, sizeof memory, " need %s of memory (%s each)",
                 ti_format_size(bytes, needed, sizeof needed),
                 ti_format_size(in->rank_bytes, rank, sizeof rank));
        if (!fold)
            snprintf(lack, sizeof lack, " (%s)", ti_format_size(lacking, missing, sizeof missing));
    }
    ti_err_set(err, TI_ERR_INPUT,
               "%s ranks%s; %s hold%s at most %s: missing is room for %s rank%s%s", np,
               memory[0] ? memory : " do not fit", where,
               pool->wanted == 1 || ti__place_usable_nodes(in) == 1 ? "s" : "", held, over,
               in->np - most == 1 ? "" : "s", lack);
    if (fold && most)
        ti_err_hint(err,
                    "--max-fold %" PRId64 " instead holds them; as it is, --np %" PRId64 " fits",
                    fold, most);
    else if (fold)
        ti_err_hint(err, "--max-fold %" PRId64 " instead holds them", fold);
    else if (most)
        ti_err_hint(err,
                    "more nodes%s, a smaller problem or a smaller --reserve; --np %" PRId64 " fits",
                    ti__place_has_slots(in)                       ? " or slots"
                    : pool->wanted && pool->wanted < pool->nsites ? " or sites"
                                                                  : "",
                    most);
    else
        ti_err_hint(err, "not even one rank fits on a node: a smaller problem may");
    return TI_ERR_INPUT;
}

ti_status ti__place_refuse_slots(const struct ti_place_request *in,
                                 const struct ti_rank_placement *p, int64_t node,
                                 struct ti_err *err)
{
    const struct ti_node *n = &in->sites->node[node];
    char rank[32], room[32];

    ti_err_set(err, TI_ERR_INPUT,
               "'%s' has %" PRId64 " slots on node '%s', which holds at most %" PRId64 " ranks",
               in->sites->path, n->slots, n->name, p->capacity[node]);
    if (in->rank_bytes)
        ti_err_hint(err, "a rank takes %s, and the node has %s; fewer slots, or --np %" PRId64,
                    ti_format_size(in->rank_bytes, rank, sizeof rank),
                    ti_format_size(ti_node_resources(in, node).available_bytes, room, sizeof room),
                    p->largest_np);
    else
        ti_err_hint(err, "fewer slots, or a higher --max-fold");
    return TI_ERR_INPUT;
}

ti_status ti__place_refuse_sites(const struct ti_place_request *in, int have, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT,
               "%d site%s asked for, and '%s' has %d with nodes that can be used", in->sites_wanted,
               in->sites_wanted == 1 ? " is" : "s are", in->sites->path, have);
    if (have)
        ti_err_hint(err, "at most --mode 'CF-(%d,x)'", have);
    return TI_ERR_INPUT;
}
