#include "info/event_json.h"

#include "callsite/symbolizer.h"
#include "common/json.h"

static bool is_peer(unsigned field)
{
    return field == TI_F_PEER || field == TI_F_PEER2 || field == TI_F_FROM;
}

/* A number, or the word for a special value. */
static json_t *number_json(int64_t v)
{
    if (v > TI_SELF)
        return json_integer(v);
    return json_string(v == TI_ANY ? "any" : v == TI_NULL ? "null" : "self");
}

static json_t *field_json(const struct ti_reader *r, unsigned field, int64_t v)
{
    char modes[128];

    switch (field) {
    case TI_F_REDOP:
        return json_string(ti_redop_text(v));
    case TI_F_MODE:
        return json_string(ti_mode_text(v, modes, sizeof modes));
    case TI_F_NAME:
        return info_json_text(ti_reader_string(r, TI_STRING_FILE, v));
    case TI_F_CALL:
        return info_json_text(ti_reader_string(r, TI_STRING_CALL, v));
    default:
        return number_json(v);
    }
}

/* Add the fields of an event, and the world ranks of its peers where they have one. */
static void add_fields(json_t *out, const struct ti_reader *r, const struct ti_event *ev)
{
    json_t *fields = json_object(), *world = json_object();
    int64_t comm = ti_reader_event_comm(r, ev);

    for (uint32_t rest = ev->mask; rest; rest &= rest - 1) {
        unsigned field = (unsigned)__builtin_ctz(rest);
        int64_t v = ev->arg[field], rank;

        json_object_set_new(fields, ti_field_text(field), field_json(r, field, v));
        if (!is_peer(field) || v <= TI_SELF || comm < 0)
            continue;
        rank = ti_reader_world(r, comm, v);
        if (rank >= 0)
            json_object_set_new(world, ti_field_text(field), json_integer(rank));
    }
    json_object_set_new(out, "fields", fields);
    if (json_object_size(world))
        json_object_set(out, "world", world);
    json_decref(world);
}

static void add_vectors(json_t *out, const struct ti_event *ev)
{
    const struct ti_op_info *op = ti_op_info(ev->op);
    json_t *vectors = json_object();

    for (int v = 0; v < TI_VECS; v++) {
        json_t *list = ev->vec[v].len > 0 ? json_array() : NULL;

        for (int64_t i = 0; i < ev->vec[v].len; i++)
            json_array_append_new(list, number_json(ti_vec_at(&ev->vec[v], i)));
        if (list)
            json_object_set_new(vectors, op->vec[v][0] ? op->vec[v] : "?", list);
    }
    if (json_object_size(vectors))
        json_object_set(out, "vectors", vectors);
    json_decref(vectors);
}

static void add_extras(json_t *out, const struct ti_reader *r, const struct ti_event *ev)
{
    json_t *extras = json_object();

    for (int i = 0; i < ti_reader_extras(r); i++) {
        json_t *name = info_json_text(ti_reader_extra_name(r, i));

        json_object_set_new(extras, json_string_value(name), ti_json_u64(ev->extra[i]));
        json_decref(name);
    }
    json_object_set_new(out, "extra", extras);
}

json_t *info_event_json(const struct ti_reader *r, const struct ti_event *ev, uint64_t number,
                        const struct info_style *style)
{
    const char *site = ti_reader_string(r, TI_STRING_SITE, ev->site);
    json_t *out = json_object();

    json_object_set_new(out, "rank", json_integer(ti_reader_rank(r)));
    json_object_set_new(out, "event", ti_json_u64(number));
    if (!style->line.no_volumes)
        json_object_set_new(out, "volume", ti_json_u64(ev->volume));
    json_object_set_new(out, "operation", json_string(ti_op_info(ev->op)->text));
    add_fields(out, r, ev);
    add_vectors(out, ev);
    if (ev->extra && !style->line.no_volumes)
        add_extras(out, r, ev);
    if (style->line.call_sites) {
        json_object_set_new(out, "site", ti_json_text(site));
        ti_site_line_json(ti_symbolizer_find(style->line.symbolizer, site), out);
    }
    return out;
}
