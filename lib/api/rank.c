#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "fold/seek.h"
#include "trace/trace.h"

struct tiara_rank {
    struct tiara_trace *trace;
    struct ti_reader *reader;
    bool extras;
    bool is_event; /* `last` is the event before the reader's place */
    bool at_end;   /* the trace was read to its end, or to damage */
    bool damaged;
    struct ti_event last;
    struct tiara_event event;
    struct ti_line line;
    char source[600], end[600];
};

API enum tiara_status tiara_rank_open(struct tiara_trace *t, int64_t rank, unsigned flags,
                                      struct tiara_rank **out, struct tiara_error *err)
{
    struct tiara_rank *r;
    struct ti_err why;
    ti_status st;

    *out = NULL;
    if (rank < 0 || rank >= ti_source_nranks(t->source))
        return ti__api_no(err, "rank", rank);
    r = calloc(1, sizeof *r);
    if (!r)
        return ti__api_no_memory(err);
    r->trace = t;
    r->extras = flags & TIARA_EXTRAS;
    st = ti_source_reader(t->source, rank, &r->reader, &why);
    if (st) {
        free(r);
        return ti__api_result(err, st, &why);
    }
    if (r->extras)
        ti_reader_want_extras(r->reader);
    if (t->symbolizer)
        ti_symbolizer_add_rank(t->symbolizer, r->reader);
    *out = r;
    return ti__api_result(err, TI_OK, NULL);
}

API void tiara_rank_close(struct tiara_rank *r)
{
    if (!r)
        return;
    ti_line_free(&r->line);
    ti_reader_close(r->reader);
    free(r);
}

API int64_t tiara_vector_at(const struct tiara_vector *v, int64_t i)
{
    return v->width == 4 ? ((const int32_t *)v->data)[i] : ((const int64_t *)v->data)[i];
}

/* As ti_reader_next(). */
static int next(struct tiara_rank *r, struct tiara_error *err)
{
    struct ti_err why;
    int more = ti_reader_next(r->reader, &r->last, &why);

    r->is_event = more > 0;
    r->at_end = more <= 0;
    r->damaged |= more < 0;
    ti__api_result(err, more < 0 ? ti_reader_status(r->reader) : TI_OK, &why);
    return more;
}

API int tiara_next(struct tiara_rank *r, const struct tiara_event **ev, struct tiara_error *err)
{
    struct tiara_event *to = &r->event;
    const struct ti_event *from = &r->last;
    int more = next(r, err);

    *ev = NULL;
    if (more <= 0)
        return more;
    to->volume = from->volume;
    to->op = from->op;
    to->site = from->site;
    to->fields = from->mask;
    for (uint32_t rest = from->mask; rest; rest &= rest - 1) {
        int field = __builtin_ctz(rest);

        to->value[field] = from->arg[field];
    }
    for (int v = 0; v < TI_VECS; v++)
        to->vector[v] =
            (struct tiara_vector){from->vec[v].data, from->vec[v].width, from->vec[v].len};
    to->extra = r->extras ? from->extra : NULL;
    *ev = to;
    return more;
}

API int tiara_seek(struct tiara_rank *r, uint64_t number, struct tiara_error *err)
{
    struct ti_reader *again;
    struct ti_place place;
    struct ti_err why;
    ti_status st;
    int found = 1;

    r->is_event = r->at_end = false;
    if (ti_reader_folded(r->reader)) {
        found = ti_reader_seek(r->reader, 0, number, &place, &why);
        ti__api_result(err, found < 0 ? TI_ERR_INPUT : TI_OK, &why);
        return found;
    }
    if (ti_reader_events(r->reader) > number) {
        st = ti_reader_again(r->reader, &again, &why);
        if (st) {
            ti__api_result(err, st, &why);
            return -1;
        }
        ti_reader_close(r->reader);
        r->reader = again;
        if (r->extras)
            ti_reader_want_extras(again);
    }
    while (found > 0 && ti_reader_events(r->reader) < number)
        found = next(r, err);
    r->is_event = false;
    return found;
}

/* --- records --------------------------------------------------------------- */

static bool is_peer(int field)
{
    return field == TI_F_PEER || field == TI_F_PEER2 || field == TI_F_FROM;
}

static bool is_member(const struct tiara_rank *r, int what)
{
    if (what >= TIARA_READ_EXTRA)
        return r->extras && what - TIARA_READ_EXTRA < ti_reader_extras(r->reader);
    if (what >= TIARA_READ_WORLD)
        return is_peer(what - TIARA_READ_WORLD);
    if (what >= TIARA_READ_FIELD)
        return what - TIARA_READ_FIELD < TI_F_COUNT;
    return what >= TIARA_READ_OP && what <= TIARA_READ_VOLUME;
}

static int64_t value_of(const struct tiara_rank *r, int what)
{
    const struct ti_event *ev = &r->last;

    if (what >= TIARA_READ_EXTRA)
        return ev->extra ? (int64_t)ev->extra[what - TIARA_READ_EXTRA] : 0;
    if (what >= TIARA_READ_WORLD)
        return tiara_rank_world(r, what - TIARA_READ_WORLD);
    if (what >= TIARA_READ_FIELD)
        return ev->mask >> (what - TIARA_READ_FIELD) & 1 ? ev->arg[what - TIARA_READ_FIELD]
                                                         : TIARA_NONE;
    return what == TIARA_READ_OP     ? (int64_t)ev->op
           : what == TIARA_READ_SITE ? (int64_t)ev->site
                                     : (int64_t)ev->volume;
}

API int64_t tiara_read(struct tiara_rank *r, const struct tiara_member *member, int members,
                       void *records, size_t stride, int64_t n, struct tiara_error *err)
{
    char *record = records;
    int64_t filled = 0;
    int more = 1;

    for (int i = 0; i < members; i++)
        if (!is_member(r, member[i].what)) {
            ti__api_no(err, "member of an event with number", member[i].what);
            return -1;
        }
    ti__api_result(err, TI_OK, NULL);
    for (; filled < n && (more = next(r, err)) > 0; filled++, record += stride)
        for (int i = 0; i < members; i++) {
            int64_t value = value_of(r, member[i].what);

            memcpy(record + member[i].offset, &value, sizeof value);
        }
    return more < 0 ? -1 : filled;
}

/* --- what belongs to an event ------------------------------------------------ */

API const char *tiara_event_text(struct tiara_rank *r)
{
    const struct ti_line_style style = {.symbolizer = r->trace->symbolizer};

    if (!r->is_event)
        return NULL;
    r->line.may_fail = true;
    r->line.no_memory = false;
    ti_line_event(&r->line, r->reader, &r->last, &style);
    return r->line.no_memory ? NULL : r->line.text;
}

API int64_t tiara_rank_world(const struct tiara_rank *r, int field)
{
    int64_t comm, value, world;

    if (!r->is_event || !is_peer(field) || !(r->last.mask >> field & 1))
        return TIARA_NONE;
    value = r->last.arg[field];
    if (value <= TI_SELF)
        return value;
    comm = ti_reader_event_comm(r->reader, &r->last);
    world = comm < 0 ? -1 : ti_reader_world(r->reader, comm, value);
    return world < 0 ? TIARA_NONE : world;
}

API enum tiara_end tiara_rank_end(const struct tiara_rank *r)
{
    if (!r->at_end)
        return TIARA_END_UNKNOWN;
    return !r->damaged && ti_reader_end(r->reader) == TI_END_COMPLETE ? TIARA_END_COMPLETE
                                                                      : TIARA_END_INCOMPLETE;
}

API const char *tiara_rank_end_text(struct tiara_rank *r)
{
    if (!r->at_end || r->damaged)
        return r->damaged ? "damaged" : "";
    return ti_reader_end_text(r->reader, r->end, sizeof r->end);
}

API enum tiara_status tiara_rank_totals(struct tiara_rank *r, uint64_t *events, uint64_t *volume,
                                        bool *complete, struct tiara_error *err)
{
    struct ti_totals totals = {0};
    struct ti_err why;
    ti_status st = ti_reader_skip(r->reader, &why);

    r->is_event = false;
    r->at_end = true;
    r->damaged |= st == TI_ERR_INPUT;
    if (st)
        return ti__api_result(err, st, &why);
    *complete = ti_reader_end(r->reader) == TI_END_COMPLETE;
    if (!ti_reader_totals(r->reader, &totals)) {
        ti_err_set(&why, TI_ERR_PARTIAL, "'%s' was cut off before its totals",
                   ti_reader_name(r->reader));
        return ti__api_result(err, TI_ERR_PARTIAL, &why);
    }
    *events = totals.events;
    *volume = totals.volume;
    return ti__api_result(err, TI_OK, NULL);
}

API int64_t tiara_rank_number(const struct tiara_rank *r)
{
    return ti_reader_rank(r->reader);
}

API const char *tiara_rank_info(const struct tiara_rank *r, const char *key)
{
    return ti_reader_info(r->reader, key);
}

API bool tiara_rank_info_at(const struct tiara_rank *r, int i, const char **key, const char **value)
{
    return i >= 0 && ti_reader_info_at(r->reader, i, key, value);
}

API int tiara_rank_extras(const struct tiara_rank *r)
{
    return ti_reader_extras(r->reader);
}

API const char *tiara_rank_extra_name(const struct tiara_rank *r, int i)
{
    return i >= 0 && i < ti_reader_extras(r->reader) ? ti_reader_extra_name(r->reader, i) : NULL;
}

API const char *tiara_rank_extra_unit(const struct tiara_rank *r, int i)
{
    return i >= 0 && i < ti_reader_extras(r->reader) ? ti_reader_extra_unit(r->reader, i) : NULL;
}

API const char *tiara_rank_site(const struct tiara_rank *r, uint32_t site)
{
    return ti_reader_string(r->reader, TI_STRING_SITE, site);
}

API const char *tiara_rank_source(struct tiara_rank *r, uint32_t site)
{
    ti__api_source(r->trace, tiara_rank_site(r, site), r->source, sizeof r->source);
    return r->source;
}

API const char *tiara_rank_name(const struct tiara_rank *r, int field, int64_t number)
{
    if (field != TI_F_CALL && field != TI_F_NAME)
        return NULL;
    return ti_reader_string(r->reader, field == TI_F_CALL ? TI_STRING_CALL : TI_STRING_FILE,
                            number);
}

API bool tiara_rank_comm(const struct tiara_rank *r, int64_t number, struct tiara_comm *out)
{
    const struct ti_comm *c = ti_reader_comm(r->reader, number);

    if (c)
        *out = (struct tiara_comm){.rank = c->rank,
                                   .size = c->size,
                                   .member = c->member,
                                   .remote_size = c->remote_size,
                                   .remote = c->remote};
    return c != NULL;
}
