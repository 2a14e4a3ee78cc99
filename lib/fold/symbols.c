#include "fold/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "fold/column.h"

#define NONE UINT32_MAX

/* ------------------------------------------------------------------ vectors -- */

/* Number of a vector, which is kept if it is new; -1 when memory is short. */
static int64_t vector_number(struct ti_symbols *s, const struct ti_vec *vec)
{
    uint64_t a = TI_HASH_START, b = ~TI_HASH_START;
    size_t n = s->vector_map.n;
    int64_t number;

    for (int64_t i = 0; i < vec->len; i++) {
        uint64_t element = (uint64_t)ti_vec_at(vec, i);

        a = ti_hash_word(a, element);
        b = ti_hash_word(b, element + a);
    }
    number = ti_map_put(&s->vector_map, (int64_t)a, (int64_t)b, vec->len, 0);
    s->no_memory |= number < 0;
    if (number < (int64_t)n)
        return number;
    ti_column_add(&s->pool, &s->vector_lengths, (uint64_t)vec->len);
    for (int64_t i = 0; i < vec->len; i++)
        ti_column_add(&s->pool, &s->vector_elements, (uint64_t)ti_vec_at(vec, i));
    s->elements += vec->len;
    s->no_memory |= s->pool.no_memory;
    return number;
}

/* ------------------------------------------------------------------ classes -- */

/* Fill the class that was added last; false when memory is short, and it is zeroed then. */
static bool new_class(struct ti_symbols *s, const struct ti_event *ev, uint32_t kinds)
{
    struct ti_event_class class = {.is = ti_symbol_of(ev, kinds), .next = NONE};
    size_t cap = 0;

    if ((ev->site && ti_map_put(&s->site_map, ev->site, 0, 0, 0) < 0) ||
        !TI_ROOM(class.variable, &cap, class.is.ncolumns + 1u))
        return false;
    s->class[s->class_map.n - 1] = class;
    return true;
}

/* The class of an event; NONE when memory is short.  The one that followed last time is tried
 * first. */
static uint32_t class_of(struct ti_symbols *s, const struct ti_event *ev)
{
    uint32_t kinds = ti_event_kinds(ev), last = s->last_class, number;
    size_t n = s->class_map.n;
    int64_t at;

    if (last != NONE && s->class[last].next != NONE) {
        number = s->class[last].next;
        if (ti_symbol_is(&s->class[number].is, ev, kinds))
            return s->last_class = number;
    }
    at = TI_ROOM(s->class, &s->classes_cap, n + 1)
             ? ti_map_put(&s->class_map, ev->op, ev->site, ev->mask, kinds)
             : -1;
    s->no_memory |= at < 0 || (at == (int64_t)n && !new_class(s, ev, kinds));
    if (s->no_memory)
        return NONE;
    number = (uint32_t)at;
    if (last != NONE)
        s->class[last].next = number;
    return s->last_class = number;
}

/* --------------------------------------------------------------------- scan -- */

static void note_value(struct ti_variable *v, int64_t value)
{
    if (v->n > TI_FIELD_VALUES)
        return;
    for (uint32_t i = v->n; i-- > 0;)
        if (v->value[i] == value)
            return;
    if (v->n < TI_FIELD_VALUES)
        v->value[v->n] = value;
    v->n++;
}

bool ti_symbols_scan(struct ti_symbols *s, const struct ti_event *ev)
{
    uint32_t class = class_of(s, ev);
    const struct ti_event_class *c;
    struct ti_variable *v;

    if (class == NONE)
        return false;
    c = &s->class[class];
    v = c->variable;
    for (uint32_t rest = ti_symbol_numbers(&c->is); rest; rest &= rest - 1)
        note_value(v++, ev->arg[__builtin_ctz(rest)]);
    for (uint32_t rest = c->is.vecs; rest; rest &= rest - 1)
        note_value(v++, vector_number(s, &ev->vec[__builtin_ctz(rest)]));
    return !s->no_memory;
}

/* --------------------------------------------------------------------- give -- */

void ti_symbols_begin(struct ti_symbols *s, uint32_t limit)
{
    s->last_class = s->last_symbol = NONE;
    ti_map_clear(&s->symbol_map);
    s->nvalues = 0;
    for (size_t i = 0; i < s->class_map.n; i++) {
        struct ti_event_class *c = &s->class[i];
        struct ti_variable *v = c->variable;

        c->columns = c->vector_columns = 0;
        for (uint32_t rest = ti_symbol_numbers(&c->is); rest; rest &= rest - 1)
            c->columns |= v++->n > limit ? rest & -rest : 0;
        for (uint32_t rest = c->is.vecs; rest; rest &= rest - 1)
            c->vector_columns |= v++->n > 1 ? rest & -rest : 0;
    }
}

/* Split the variables of an event into constants of its symbol and fields with columns. */
static uint32_t split(struct ti_symbols *s, const struct ti_event_class *c,
                      const struct ti_event *ev, int64_t *constant, struct ti_symbol_event *out)
{
    uint32_t n = 0;

    out->nfields = 0;
    for (uint32_t rest = ti_symbol_numbers(&c->is); rest; rest &= rest - 1) {
        int64_t value = ev->arg[__builtin_ctz(rest)];

        if (c->columns & rest & -rest)
            out->field[out->nfields++] = value;
        else
            constant[n++] = value;
    }
    for (uint32_t rest = c->is.vecs; rest; rest &= rest - 1) {
        int64_t value = vector_number(s, &ev->vec[__builtin_ctz(rest)]);

        if (c->vector_columns & rest & -rest)
            out->field[out->nfields++] = value;
        else
            constant[n++] = value;
    }
    return n;
}

static bool is_symbol(const struct ti_symbols *s, uint32_t symbol, uint32_t class,
                      const int64_t *constant, uint32_t n)
{
    return s->symbol[symbol].class == class &&
           memcmp(s->value + s->symbol[symbol].value, constant, n * sizeof *constant) == 0;
}

static void new_symbol(struct ti_symbols *s, uint32_t class, const int64_t *constant, uint32_t n)
{
    s->symbol[s->symbol_map.n - 1] = (struct ti_symbol){class, NONE, n, s->nvalues};
    memcpy(s->value + s->nvalues, constant, n * sizeof *constant);
    s->nvalues += n;
}

/* The symbol of a class with these constants.  Keys are hashes; the encoder compares the events of
 * the record with the trace's, so a collision has no effect but that nothing is folded.  NONE when
 * memory is short. */
static uint32_t find_symbol(struct ti_symbols *s, uint32_t class, const int64_t *constant,
                            uint32_t n)
{
    uint64_t a = TI_HASH_START, b = ~TI_HASH_START;
    size_t known = s->symbol_map.n;
    int64_t number;

    for (uint32_t i = 0; i < n; i++) {
        a = ti_hash_word(a, (uint64_t)constant[i]);
        b = ti_hash_word(b, (uint64_t)constant[i] + a);
    }
    number = TI_ROOM(s->symbol, &s->symbols_cap, known + 1) &&
                     TI_ROOM(s->value, &s->values_cap, s->nvalues + n + 1)
                 ? ti_map_put(&s->symbol_map, class, (int64_t)a, (int64_t)b, 0)
                 : -1;
    s->no_memory |= number < 0;
    if (number < 0)
        return NONE;
    if ((size_t)number == known)
        new_symbol(s, class, constant, n);
    return (uint32_t)number;
}

bool ti_symbols_give(struct ti_symbols *s, const struct ti_event *ev, struct ti_symbol_event *out)
{
    int64_t constant[TI_F_COUNT + TI_VECS];
    uint32_t class = class_of(s, ev), n, symbol, last = s->last_symbol;

    if (class == NONE)
        return false;
    n = split(s, &s->class[class], ev, constant, out);
    symbol = last == NONE ? NONE : s->symbol[last].next;
    if (symbol == NONE || !is_symbol(s, symbol, class, constant, n)) {
        symbol = find_symbol(s, class, constant, n);
        if (symbol == NONE)
            return false;
        if (last != NONE)
            s->symbol[last].next = symbol;
    }
    s->last_symbol = symbol;
    out->symbol = symbol;
    return !s->no_memory;
}

/* --------------------------------------------------------------------- ends -- */

void ti_symbols_init(struct ti_symbols *s)
{
    *s = (struct ti_symbols){.last_class = NONE, .last_symbol = NONE};
}

void ti_symbols_free(struct ti_symbols *s)
{
    for (size_t i = 0; i < s->class_map.n; i++)
        free(s->class[i].variable);
    free(s->class);
    free(s->symbol);
    free(s->value);
    ti_pool_free(&s->pool);
    ti_map_free(&s->class_map);
    ti_map_free(&s->site_map);
    ti_map_free(&s->symbol_map);
    ti_map_free(&s->vector_map);
}
