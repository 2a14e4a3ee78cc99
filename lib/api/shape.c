#include <errno.h>
#include <stdlib.h>

#include "analysis/folded.h"
#include "api/internal.h"
#include "fold/values.h"
#include "merged/view.h"
#include "trips/names.h"

/* --- the loops of a rank ----------------------------------------------------- */

struct tiara_shape {
    struct tiara_trace *trace;
    struct ti_reader *reader;
    struct ti_folded *folded;
    struct ti_loop_names *names; /* NULL: not asked for yet */
    char name[TI_LOOP_NAME_BYTES];
};

API enum tiara_status tiara_shape_open(struct tiara_trace *t, int64_t rank,
                                       struct tiara_shape **out, struct tiara_error *err)
{
    struct tiara_shape *s;
    struct ti_err why;
    ti_status st;

    *out = NULL;
    if (rank < 0 || rank >= ti_source_nranks(t->source))
        return ti__api_no(err, "rank", rank);
    s = calloc(1, sizeof *s);
    if (!s)
        return ti__api_no_memory(err);
    s->trace = t;
    st = ti_folded_open_rank(t->source, rank, &s->reader, &why);
    if (!st)
        st = ti_reader_skip(s->reader, &why);
    if (st) {
        tiara_shape_close(s);
        return ti__api_result(err, st, &why);
    }
    s->folded = ti_reader_folded(s->reader);
    if (t->symbolizer)
        ti_symbolizer_add_rank(t->symbolizer, s->reader);
    *out = s;
    return ti__api_result(err, TI_OK, NULL);
}

API void tiara_shape_close(struct tiara_shape *s)
{
    if (!s)
        return;
    ti_loop_names_free(s->names);
    ti_reader_close(s->reader);
    free(s);
}

static enum tiara_status malformed(const struct tiara_shape *s, struct tiara_error *err)
{
    struct ti_err why;
    ti_status st = ti_reader_malformed(s->reader, &why);

    return ti__api_result(err, st, &why);
}

API uint32_t tiara_shape_nodes(const struct tiara_shape *s)
{
    return ti_shape_nodes(s->folded);
}

API enum tiara_status tiara_shape_node(struct tiara_shape *s, uint32_t i, struct tiara_node *out,
                                       struct tiara_error *err)
{
    struct ti_column_stats values;
    struct ti_shape_node node;

    if (i >= ti_shape_nodes(s->folded))
        return ti__api_no(err, "node", i);
    node = ti_shape_node(s->folded, i);
    errno = 0;
    if (!(node.loop ? ti_shape_trips(s->folded, i, &values)
                    : ti_shape_volumes(s->folded, i, 0, &values)))
        return malformed(s, err);
    *out = (struct tiara_node){.end = node.end,
                               .is_loop = node.loop,
                               .op = node.op,
                               .site = node.site,
                               .fields = node.mask,
                               .passes = node.passes,
                               .values = ti__api_stats(&values)};
    return ti__api_result(err, TI_OK, NULL);
}

/* Whether node `i` is a call. */
static bool is_call(const struct tiara_shape *s, uint32_t i)
{
    return i < ti_shape_nodes(s->folded) && !ti_shape_node(s->folded, i).loop;
}

API enum tiara_status tiara_shape_field(struct tiara_shape *s, uint32_t i, int field,
                                        struct tiara_stats *out, struct tiara_error *err)
{
    struct ti_column_stats values;

    if (!is_call(s, i))
        return ti__api_no(err, "call with number", i);
    if (field < 0 || field >= TI_F_COUNT || !(ti_shape_node(s->folded, i).mask >> field & 1))
        return ti__api_no(err, "field of this call with number", field);
    errno = 0;
    if (!ti_shape_field(s->folded, i, (uint32_t)field, &values))
        return malformed(s, err);
    *out = ti__api_stats(&values);
    return ti__api_result(err, TI_OK, NULL);
}

API const char *tiara_shape_name(struct tiara_shape *s, uint32_t i)
{
    if (i >= ti_shape_nodes(s->folded))
        return "";
    if (is_call(s, i)) {
        ti__api_source(
            s->trace, ti_reader_string(s->reader, TI_STRING_SITE, ti_shape_node(s->folded, i).site),
            s->name, sizeof s->name);
        return s->name;
    }
    if (!s->names)
        s->names = ti_loop_names_of(s->reader, s->trace->symbolizer);
    if (!s->names)
        return NULL;
    return ti_loop_name(s->names, i, s->name, sizeof s->name);
}

struct taking {
    bool (*take)(void *arg, uint64_t volume, uint64_t times);
    void *arg;
    bool ended;
};

static bool take_one(void *arg, const struct ti_values *v)
{
    struct taking *t = arg;

    t->ended = !t->take(t->arg, v->first[0], v->times);
    return !t->ended;
}

static bool take_values(void *arg, const struct ti_values *v)
{
    return ti_values_each(v, take_one, arg);
}

API enum tiara_status tiara_shape_volumes(struct tiara_shape *s, uint32_t i,
                                          bool (*take)(void *arg, uint64_t volume, uint64_t times),
                                          void *arg, struct tiara_error *err)
{
    struct taking t = {take, arg, false};

    if (!is_call(s, i))
        return ti__api_no(err, "call with number", i);
    errno = 0;
    if (!ti_shape_values(s->folded, i, 1, take_values, &t) && !t.ended)
        return malformed(s, err);
    return ti__api_result(err, TI_OK, NULL);
}

/* --- groups of ranks ----------------------------------------------------------- */

struct tiara_group {
    struct ti_view *view;
};

_Static_assert(sizeof(struct tiara_range) == sizeof(struct ti_range),
               "a range of tiara.h is one of ours");

API uint32_t tiara_groups(const struct tiara_trace *t)
{
    struct ti_merged *m = ti_source_merged(t->source);

    return m ? ti_merged_groups(m) : 0;
}

API enum tiara_status tiara_group_open(struct tiara_trace *t, uint32_t group,
                                       struct tiara_group **out, struct tiara_error *err)
{
    struct tiara_group *g;
    struct ti_err why;
    ti_status st;

    *out = NULL;
    if (group >= tiara_groups(t))
        return ti__api_no(err, "group", group);
    g = calloc(1, sizeof *g);
    if (!g)
        return ti__api_no_memory(err);
    st = ti_view_open(ti_source_merged(t->source), group, &g->view, &why);
    if (st) {
        free(g);
        return ti__api_result(err, st, &why);
    }
    *out = g;
    return ti__api_result(err, TI_OK, NULL);
}

API void tiara_group_close(struct tiara_group *g)
{
    if (g)
        ti_view_close(g->view);
    free(g);
}

API const struct tiara_range *tiara_group_ranges(const struct tiara_group *g, size_t *n)
{
    const struct ti_ranges *ranks = ti_view_ranks(g->view);

    *n = ranks->n;
    return (const struct tiara_range *)ranks->range;
}

API int64_t tiara_group_size(const struct tiara_group *g)
{
    return ti_ranges_count(ti_view_ranks(g->view));
}

API size_t tiara_group_parts(const struct tiara_group *g)
{
    return ti_view_parts(g->view);
}

API bool tiara_group_part(const struct tiara_group *g, size_t i, struct tiara_part *out)
{
    struct ti_record_part part;
    struct ti_formula formula;

    if (i >= ti_view_parts(g->view))
        return false;
    part = ti_view_part(g->view, i);
    formula = ti_view_formula(g->view, i);
    *out = (struct tiara_part){.kind = ti_part_text(part.kind),
                               .of = part.of,
                               .arrival = part.arrival,
                               .which = part.which,
                               .is_list = i >= ti_view_numbers(g->view)};
    ti_formula_text(&formula, out->formula, sizeof out->formula);
    return true;
}

API enum tiara_status tiara_group_values(struct tiara_group *g, size_t first, size_t n,
                                         int64_t *value, struct tiara_error *err)
{
    struct ti_err why;
    size_t parts = ti_view_parts(g->view);

    if (first > parts || n > parts - first)
        return ti__api_no(err, "part", (int64_t)(first + n) - 1);
    return ti__api_result(err, ti_view_values(g->view, first, n, value, &why), &why);
}
