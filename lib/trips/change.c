#include <stdio.h>
#include <string.h>

#include "trips/internal.h"

/* A rank in the making. */
struct rank {
    struct ti_folded *f;
    uint32_t loop, end; /* node; the node behind its body */
    const struct ti__change *change;
    struct ti_builder *b;
    const char *why; /* it cannot be changed; NULL: nothing is known against it */
    uint32_t node;   /* of which this is said */
};

/* Put the trip counts of the loop: all passes have as many. */
static void put_trips(const struct rank *r)
{
    ti_builder_encoded(r->b, (int64_t)r->change->trips, &(struct ti_bytes){NULL, 0});
}

static void put_columns(struct rank *r, uint32_t i)
{
    for (uint32_t k = 0; k < ti_shape_node(r->f, i).columns && !r->why; k++) {
        struct ti_shape_column c = ti_shape_column(r->f, i, k);

        r->node = i;
        if (i == r->loop)
            put_trips(r);
        else if (i > r->loop && i < r->end)
            r->why = ti__change_column(r->f, r->loop, r->change, i, k, r->b);
        else
            ti_builder_encoded(r->b, c.first, &c.blob);
    }
}

static void put_nodes(struct rank *r, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end && !r->why; i = ti_shape_node(r->f, i).end) {
        struct ti_shape_node node = ti_shape_node(r->f, i);

        if (node.loop)
            ti_builder_loop(r->b);
        else
            ti_builder_call(r->b, node.symbol);
        put_columns(r, i);
        if (node.loop) {
            put_nodes(r, i + 1, node.end);
            ti_builder_end_loop(r->b);
        }
    }
}

/* Metadata that was measured of the whole run; and, in front, that which a change replaces. */
static const char *const left_out[] = {TI_INFO_CHANGED, "whole",       "outside",       "blocks",
                                       "blocks_own",    "app_seconds", "flush_seconds", NULL};

ti_status ti__change_rank(struct ti_reader *reader, uint32_t loop, const struct ti__change *change,
                          const char *changed, uint64_t hash_most, struct ti_record *out,
                          struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(reader);
    struct rank r = {.f = f, .loop = loop, .end = ti_shape_node(f, loop).end, .change = change};
    const char *site;
    ti_status st;

    r.b = ti_builder_new(ti_reader_rank(reader), ti_folded_extras(f));
    if (!r.b)
        return ti_err_memory(err, "make the record of a rank");
    ti_builder_leave_out(r.b, changed ? left_out : left_out + 1);
    if (changed)
        ti_builder_info(r.b, TI_INFO_CHANGED, changed, false);
    if (!ti_builder_all_but_shape(r.b, reader))
        r.why = "its record is malformed";
    put_nodes(&r, 0, ti_shape_nodes(f));
    site = r.why ? ti_reader_string(reader, TI_STRING_SITE, ti_shape_node(f, r.node).site) : NULL;
    st = r.why ? ti_err_set(err, TI_ERR_INPUT, "rank %u, %s: %s", ti_reader_rank(reader),
                            site ? site : "a loop", r.why)
               : ti_builder_finish(r.b, ti_reader_nranks(reader), hash_most, out, err);
    ti_builder_free(r.b);
    return st;
}
