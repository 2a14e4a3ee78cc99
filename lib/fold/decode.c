#include "fold/decode_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "fold/trips.h"

/* ------------------------------------------------------------------ vectors -- */

static struct ti_cursor vector_cursor(const struct ti_folded *f, int column)
{
    struct ti_cursor cursor;

    ti_cursor_start(&cursor, (uint64_t)f->vector_first[column], f->vector_blob[column].data,
                    f->vector_blob[column].n);
    return cursor;
}

/* Find where each vector starts in element[]; false if a length is malformed. */
static bool start_vectors(const struct ti_folded *f, uint32_t *start)
{
    struct ti_cursor lengths = vector_cursor(f, VECTOR_LENGTHS);
    uint64_t length;

    for (size_t i = 0; i < f->nvectors; i++) {
        if (!ti_cursor_next(&lengths, &length))
            return false;
        start[i + 1] = start[i] + (uint32_t)length;
    }
    return true;
}

/* Add the model's elements to the differences of vector `v`. */
static bool add_model(int64_t *element, const uint32_t *start, size_t v, uint64_t model)
{
    uint32_t length = start[v + 1] - start[v];

    if (model == 0)
        return true;
    if (model > v || start[v - model + 1] - start[v - model] != length)
        return false;
    for (uint32_t i = 0; i < length; i++)
        element[start[v] + i] =
            (int64_t)((uint64_t)element[start[v] + i] + (uint64_t)element[start[v - model] + i]);
    return true;
}

/* Decode `n` elements, as they are stored. */
static bool decode_elements(const struct ti_folded *f, size_t n, int64_t *element)
{
    const struct ti_bytes *blob = &f->vector_blob[VECTOR_ELEMENTS];
    struct ti_cursor elements = vector_cursor(f, VECTOR_ELEMENTS);
    bool plain = blob->n && blob->data[0] == TI_PLAIN;
    const uint8_t *p = plain ? blob->data + 1 : NULL, *end = plain ? blob->data + blob->n : NULL;
    uint64_t value;

    for (size_t i = 0; i < n; i++) {
        if (!(plain ? ti_get_varint(&p, end, &value) : ti_cursor_next(&elements, &value)))
            return false;
        element[i] = plain ? ti_unzigzag(value) : (int64_t)value;
    }
    return p == end;
}

static bool add_models(const struct ti_folded *f, const uint32_t *start, int64_t *element)
{
    struct ti_cursor models = vector_cursor(f, VECTOR_MODELS);
    uint64_t model;

    for (size_t v = 0; v < f->nvectors; v++)
        if (!ti_cursor_next(&models, &model) || !add_model(element, start, v, model))
            return false;
    return true;
}

static bool decode_vectors(struct ti_folded *f)
{
    uint32_t *start = calloc(f->nvectors + 1, sizeof *start);
    int64_t *element = NULL;

    errno = start ? 0 : ENOMEM;
    if (start && start_vectors(f, start))
        element = malloc((start[f->nvectors] + 1) * sizeof *element);
    f->no_memory = !element && errno == ENOMEM;
    if (element && decode_elements(f, start[f->nvectors], element) &&
        add_models(f, start, element)) {
        f->vector_start = start;
        f->element = element;
        return true;
    }
    free(start);
    free(element);
    return false;
}

bool ti__folded_vector(struct ti_folded *f, uint64_t number, struct ti_vec *out)
{
    const uint32_t *start;

    if (number >= f->nvectors || (!f->element && !decode_vectors(f)))
        return false;
    start = f->vector_start + number;
    *out = (struct ti_vec){f->element + start[0], 8, start[1] - start[0]};
    return true;
}

static bool give_vectors(struct ti_folded *f, const struct symbol *s, struct ti_cursor *cursor,
                         struct ti_event *ev)
{
    for (int v = 0; v < TI_VECS; v++) {
        uint64_t number = (uint64_t)s->vector[v];

        if (s->vector_is[v] == VECTOR_COLUMN && !ti_cursor_next(cursor++, &number))
            return false;
        if (s->vector_is[v] != VECTOR_NONE && !ti__folded_vector(f, number, &ev->vec[v]))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- events -- */

/* Give the event of a leaf. */
static bool give_event(struct ti_folded *f, const struct node *leaf, struct ti_event *ev)
{
    const struct symbol *s = &f->symbol[leaf->symbol];
    const struct constant *c = f->constant + s->constants;
    struct ti_cursor *cursor = f->cursor + leaf->cursor;
    struct ti_cursor *volumes = cursor + f->arrival * f->nvolumes;
    uint64_t value;

    if (!ti_cursor_next(volumes, &ev->volume))
        return false;
    ev->extra = NULL;
    if (f->want_extras) {
        for (uint32_t i = 1; i < f->nvolumes; i++)
            if (!ti_cursor_next(volumes + i, &f->extra[i - 1]))
                return false;
        ev->extra = f->extra;
    }
    ev->op = s->is.op;
    ev->site = s->is.site;
    ev->mask = s->is.mask;
    for (uint32_t i = 0; i < s->nconstants; i++)
        ev->arg[c[i].field] = c[i].value;
    cursor += leaf->arrivals * f->nvolumes;
    for (uint32_t rest = s->columns; rest; rest &= rest - 1) {
        if (!ti_cursor_next(cursor++, &value))
            return false;
        ev->arg[__builtin_ctz(rest)] = (int64_t)value;
    }
    ev->vec[0] = ev->vec[1] = (struct ti_vec){NULL, 8, 0};
    f->arrival = 0;
    f->at++;
    return s->is.vecs == 0 || give_vectors(f, s, cursor, ev);
}

/* Begin the first trip of the loop at f->at. */
static bool enter_loop(struct ti_folded *f)
{
    const struct node *loop = &f->node[f->at];
    struct frame *frame = &f->frame[f->depth];
    uint64_t trips;

    if (!ti_cursor_next(&f->cursor[loop->cursor], &trips) || trips == 0)
        return false;
    *frame = (struct frame){f->at, f->end, trips};
    f->depth++;
    f->end = loop->end;
    f->at++;
    f->arrival++;
    return true;
}

/* At the end of a loop's body: begin the next trip, or leave the loop. */
static void end_trip(struct ti_folded *f)
{
    struct frame *frame = &f->frame[f->depth - 1];

    if (--frame->left) {
        f->at = frame->loop + 1;
        f->arrival = 0;
    } else {
        f->end = frame->end;
        f->depth--;
    }
}

bool ti_folded_trip(struct ti_folded *f, struct ti_trip_start *out)
{
    struct ti_cursor *trips, before;

    while (f->at == f->end && f->depth) {
        uint32_t depth = f->depth;

        end_trip(f);
        if (f->depth == depth) {
            *out = (struct ti_trip_start){depth - 1, false, f->frame[depth - 1].left};
            return true;
        }
    }
    if (f->at == f->end || f->node[f->at].symbol != LOOP)
        return false;
    trips = &f->cursor[f->node[f->at].cursor];
    before = *trips;
    if (!enter_loop(f)) {
        *trips = before;
        return false;
    }
    *out = (struct ti_trip_start){f->depth - 1, true, f->frame[f->depth - 1].left};
    return true;
}

int ti_folded_next(struct ti_folded *f, struct ti_event *ev)
{
    for (;;) {
        if (f->at == f->end) {
            if (f->depth == 0)
                return 0;
            end_trip(f);
        } else if (f->node[f->at].symbol == LOOP) {
            if (!enter_loop(f))
                return -1;
        } else {
            return give_event(f, &f->node[f->at], ev) ? 1 : -1;
        }
    }
}

/* ---------------------------------------------------------------- questions -- */

bool ti_folded_no_memory(const struct ti_folded *f)
{
    return f->no_memory;
}

uint32_t ti_folded_node(const struct ti_folded *f)
{
    return f->at - 1;
}

uint64_t ti_folded_events(const struct ti_folded *f)
{
    return f->events;
}

uint32_t ti_folded_extras(const struct ti_folded *f)
{
    return f->nvolumes - 1;
}

void ti_folded_want_extras(struct ti_folded *f)
{
    f->want_extras = f->nvolumes > 1;
}

uint64_t ti__draw_seed(const struct ti_folded *f, uint64_t seed, size_t column)
{
    return ti_hash_word(ti_hash_word(ti_hash_word(TI_HASH_START, seed), f->rank), column);
}

void ti_folded_seed(struct ti_folded *f, uint64_t seed)
{
    for (size_t i = 0; i < f->ncolumns; i++)
        if (f->cursor[i].draw)
            ti_draw_start(f->cursor[i].draw, ti__draw_seed(f, seed, i));
}

uint64_t ti__leaf_arrivals(const struct node *leaf, uint32_t a)
{
    const struct node *first = leaf - a; /* what the loop around the `a` innermost begins with */

    return a + 1 == leaf->arrivals ? first->passes : first->passes - first[-1].passes;
}

/* Add up a column that stands for `n` values. */
static bool add_column(struct ti_folded *f, size_t column, uint64_t n,
                       const struct ti_bounds *bounds, uint64_t *sum)
{
    const struct ti_bytes *blob = &f->column_blob[column];

    if (f->cursor[column].draw) {
        *sum = ti_draw_sum(f->cursor[column].draw);
        return true;
    }
    return ti_column_sum((uint64_t)f->column_first[column], blob->data, blob->n, n, bounds,
                         &f->runs, sum);
}

static const struct ti_bounds any = {INT64_MIN, INT64_MAX};

bool ti__sum_volumes(struct ti_folded *f, uint64_t *volume)
{
    uint64_t sum;

    *volume = 0;
    for (const struct node *leaf = f->node; leaf < f->node + f->nnodes; leaf++) {
        for (uint32_t a = 0; leaf->symbol != LOOP && a < leaf->arrivals; a++) {
            if (!add_column(f, leaf->cursor + a * f->nvolumes, ti__leaf_arrivals(leaf, a), &any,
                            &sum))
                return false;
            *volume += sum;
        }
    }
    return true;
}

/* Check the columns of a leaf that ti__sum_volumes() does not read. */
static bool check_leaf(struct ti_folded *f, const struct node *leaf)
{
    const struct ti_bounds numbers = {0, (int64_t)f->nvectors - 1};
    const struct symbol *s = &f->symbol[leaf->symbol];
    size_t column = leaf->cursor;
    int fields = __builtin_popcount(s->columns);
    uint64_t sum;

    for (uint32_t a = 0; a < leaf->arrivals; a++, column += f->nvolumes)
        for (uint32_t i = 1; i < f->nvolumes; i++)
            if (!add_column(f, column + i, ti__leaf_arrivals(leaf, a), &any, &sum))
                return false;
    for (int i = 0; i < fields; i++)
        if (!add_column(f, column++, leaf->passes, &any, &sum))
            return false;
    for (int v = 0; v < TI_VECS; v++)
        if (s->vector_is[v] == VECTOR_COLUMN &&
            !add_column(f, column++, leaf->passes, &numbers, &sum))
            return false;
    return true;
}

bool ti_folded_check(struct ti_folded *f)
{
    struct ti_vec vec;

    f->runs = TI_RECORD_RUNS;
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].symbol != LOOP && !check_leaf(f, &f->node[i]))
            return false;
    if (f->nvectors && !ti__folded_vector(f, 0, &vec))
        return false;
    return true;
}

void ti_folded_close(struct ti_folded *f)
{
    if (!f)
        return;
    for (size_t i = 0; f->cursor && i < f->ncolumns; i++)
        ti_draw_free(f->cursor[i].draw);
    free(f->parts);
    free(f->element);
    free(f->vector_start);
    free(f->symbol);
    free(f->constant);
    free(f->node);
    free(f->cursor);
    free(f->passes);
    free(f);
}
