#include "replay-bridge/call_sites.h"

#include "callsite/symbolizer.h"
#include "common/json.h"
#include "fold/shape.h"
#include "trips/names.h"

/* Let the symbolizer look where the programs of all ranks were. */
static void add_programs(struct ti_symbolizer *z, const struct ti_replay_result *res)
{
    struct ti_reader *r;

    for (int i = 0; i < res->ntraces; i++)
        for (int64_t rank = 0; rank < ti_source_nranks(res->trace[i].source); rank++)
            if (ti_source_reader(res->trace[i].source, rank, &r, NULL) == TI_OK) {
                ti_symbolizer_add_rank(z, r);
                ti_reader_close(r);
            }
}

void ti_replay_name_sites(struct ti_symbolizer *z, json_t *json)
{
    const char *site = json_string_value(json_object_get(json, "site")), *key;
    json_t *value;
    size_t i;

    json_object_foreach(json, key, value) ti_replay_name_sites(z, value);
    json_array_foreach(json, i, value) ti_replay_name_sites(z, value);
    if (site)
        ti_site_line_json(*site ? ti_symbolizer_find(z, site) : NULL, json);
}

/* ---- loops ---- */

/* The reader of a rank, counted over all jobs; NULL: it cannot be read. */
static struct ti_reader *reader_of(const struct ti_replay_result *res, int64_t rank)
{
    struct ti_reader *r = NULL;

    for (int j = 0; j < res->njobs; j++) {
        const struct ti_sim_job *job = &res->job[j];

        if (rank >= job->first && rank < job->first + job->np &&
            ti_source_reader(job->trace->source, rank - job->first, &r, NULL) != TI_OK)
            r = NULL;
    }
    return r;
}

/* Name the loops of a group of ranks: those of `list` from number `i` on, in the order of the shape
 * of its first rank.  Returns the number of the first loop of the next group. */
static size_t name_group(struct ti_symbolizer *z, const struct ti_replay_result *res, json_t *list,
                         size_t i)
{
    json_t *ranks = json_object_get(json_array_get(list, i), "ranks");
    struct ti_reader *r =
        reader_of(res, json_integer_value(json_array_get(json_array_get(ranks, 0), 0)));
    const struct ti_folded *f = r ? ti_reader_folded(r) : NULL;
    struct ti_loop_names *names = f ? ti_loop_names_of(r, z) : NULL;
    uint32_t node = 0, nodes = f ? ti_shape_nodes(f) : 0;
    char name[TI_LOOP_NAME_BYTES];

    for (; json_equal(json_object_get(json_array_get(list, i), "ranks"), ranks); i++, node++) {
        while (node < nodes && !ti_shape_node(f, node).loop)
            node++;
        if (node < nodes)
            json_object_set_new(json_array_get(list, i), "name",
                                ti_json_text(ti_loop_name(names, node, name, sizeof name)));
    }
    ti_loop_names_free(names);
    if (r)
        ti_reader_close(r);
    return i;
}

static void name_loops(struct ti_symbolizer *z, const struct ti_replay_result *res, json_t *list)
{
    for (size_t i = 0; i < json_array_size(list);)
        i = name_group(z, res, list, i);
}

void ti_replay_name_call_sites(const struct ti_replay_options *o, struct ti_replay_result *res)
{
    if (!res->profile && !o->timeline)
        return;
    res->symbolizer = ti_symbolizer_open(o->debug_dir);
    add_programs(res->symbolizer, res);
    ti_replay_name_sites(res->symbolizer, res->profile);
    name_loops(res->symbolizer, res, json_object_get(res->profile, "loops"));
}
