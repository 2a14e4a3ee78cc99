#include "fold/online.h"

#include <string.h>

#include "event/columns.h"
#include "fold/fold.h"
#include "fold/record_layout.h"

#define CLASSES 256
#define SYMBOLS 384
#define SLOTS   1024 /* power of two */
#define VECTORS 32
#define WINDOW  256 /* nodes that may still fold */

#define NONE UINT16_MAX

/* Events with the same operation, call site, fields and kinds of fields. */
struct class
{
    uint32_t op, site, mask, kinds;
    uint32_t numbers; /* mask of the fields that are numbers */
    uint32_t columns; /* of these, those that have a column from now on */
    uint8_t vectors;  /* bit v: has vector v */
    uint8_t vector_columns;
};

struct symbol {
    uint16_t class, next; /* next: symbol that followed last time */
    uint32_t columns;     /* those of its class when it was made */
    uint8_t vector_columns, nconstants;
    int64_t constant[]; /* fields without a column, then numbers of vectors without one */
};

struct vector {
    uint64_t a, b; /* hashes of its elements */
    int64_t len;
};

/* The events since the last ti_online_clear(), folded. */
struct run {
    struct ti_fold *fold;
    uint16_t last; /* symbol of the last event */
    uint16_t nsymbols, nvectors;
    struct symbol *symbol[SYMBOLS];
    uint16_t slot[SLOTS]; /* symbol + 1; 0: empty */
    struct vector vector[VECTORS];
    struct ti_column lengths, elements; /* of the vectors */
};

struct ti_online {
    uint8_t *memory; /* for the fold and the symbols */
    size_t bytes;
    uint32_t nvolumes;
    uint16_t nclasses;
    size_t empty; /* bytes of the memory that are left before the first event */
    struct class class[CLASSES];
    struct run run;
};

/* Constants and columns of an event. */
struct split {
    uint32_t nconstants, nfields;
    int64_t constant[TI_F_COUNT + TI_VECS], field[TI_F_COUNT + TI_VECS];
};

/* ------------------------------------------------------------------ vectors -- */

/* Number of a vector, which is kept if it is new; -1 if there are too many. */
static int64_t vector_number(struct ti_online *o, const struct ti_vec *vec)
{
    struct ti_pool *pool = ti_fold_pool(o->run.fold);
    struct vector new = {TI_HASH_START, ~TI_HASH_START, vec->len};
    uint16_t i;

    for (int64_t k = 0; k < vec->len; k++) {
        uint64_t element = (uint64_t)ti_vec_at(vec, k);

        new.a = ti_hash_word(new.a, element);
        new.b = ti_hash_word(new.b, element + new.a);
    }
    for (i = 0; i < o->run.nvectors; i++) {
        const struct vector *v = &o->run.vector[i];

        if (v->a == new.a && v->b == new.b && v->len == new.len)
            return i;
    }
    if (i == VECTORS)
        return -1;
    o->run.vector[o->run.nvectors++] = new;
    ti_column_add(pool, &o->run.lengths, (uint64_t)vec->len);
    for (int64_t k = 0; k < vec->len; k++)
        ti_column_add(pool, &o->run.elements, (uint64_t)ti_vec_at(vec, k));
    return i;
}

/* ------------------------------------------------------------------ classes -- */

static bool is_class(const struct class *c, const struct ti_event *ev, uint32_t kinds)
{
    return c->op == ev->op && c->site == ev->site && c->mask == ev->mask && c->kinds == kinds;
}

/* The class of an event; NONE if there are too many. */
static uint16_t class_of(struct ti_online *o, const struct ti_event *ev, uint32_t kinds)
{
    struct class *c = o->class;

    for (; c < o->class + o->nclasses; c++)
        if (is_class(c, ev, kinds))
            return (uint16_t)(c - o->class);
    if (o->nclasses == CLASSES)
        return NONE;
    *c = (struct class){ev->op, ev->site, ev->mask, kinds, .columns = 0};
    ti_symbol_numbers(c->op, c->mask, c->kinds, &c->numbers);
    for (int v = 0; v < TI_VECS; v++)
        c->vectors |= (uint8_t)((ti_op_info(ev->op)->vec[v][0] != 0) << v);
    return o->nclasses++;
}

/* Whether more than `most` of a value and those of the symbols of a class are different: of the
 * constant at `at`.  Only symbols with the columns that the class has now are looked at; the others
 * have their constants elsewhere. */
static bool are_more(const struct ti_online *o, uint16_t class, uint32_t at, int64_t value,
                     uint32_t most)
{
    const struct class *c = &o->class[class];
    int64_t met[TI_FIELD_VALUES + 1] = {value};
    uint32_t n = 1;

    for (uint16_t i = 0; i < o->run.nsymbols && n <= most; i++) {
        const struct symbol *s = o->run.symbol[i];
        uint32_t k = 0;

        if (s->class != class || s->columns != c->columns || s->vector_columns != c->vector_columns)
            continue;
        while (k < n && met[k] != s->constant[at])
            k++;
        if (k == n)
            met[n++] = s->constant[at];
    }
    return n > most;
}

/* Before an event of a class becomes a new symbol: variables with too many values get a column.
 * Returns whether there are any. */
static bool promote(struct ti_online *o, uint16_t class, const struct split *s)
{
    struct class *c = &o->class[class];
    uint32_t at = 0, more = 0;
    uint8_t vectors = 0;

    for (uint32_t rest = c->mask & ~c->columns; rest; rest &= rest - 1, at++)
        if (c->numbers & rest & -rest && are_more(o, class, at, s->constant[at], TI_FIELD_VALUES))
            more |= rest & -rest;
    for (uint8_t v = 0; v < TI_VECS; v++) {
        uint8_t bit = (uint8_t)(1u << v);

        if (c->vectors & ~c->vector_columns & bit)
            vectors |= are_more(o, class, at, s->constant[at], 1) ? bit : 0;
        at += (c->vectors & ~c->vector_columns & bit) != 0;
    }
    c->columns |= more;
    c->vector_columns |= vectors;
    return more || vectors;
}

/* ------------------------------------------------------------------ symbols -- */

/* Split an event of a class; false if it has too many vectors. */
static bool split(struct ti_online *o, const struct class *c, const struct ti_event *ev,
                  struct split *out)
{
    out->nconstants = out->nfields = 0;
    for (uint32_t rest = c->mask; rest; rest &= rest - 1) {
        int64_t value = ev->arg[__builtin_ctz(rest)];

        if (c->columns & rest & -rest)
            out->field[out->nfields++] = value;
        else
            out->constant[out->nconstants++] = value;
    }
    for (uint8_t v = 0; v < TI_VECS; v++) {
        int64_t number;

        if (!(c->vectors >> v & 1))
            continue;
        number = vector_number(o, &ev->vec[v]);
        if (number < 0)
            return false;
        if (c->vector_columns >> v & 1)
            out->field[out->nfields++] = number;
        else
            out->constant[out->nconstants++] = number;
    }
    return true;
}

static bool is_symbol(const struct ti_online *o, const struct symbol *s, uint16_t class,
                      const struct split *event)
{
    const struct class *c = &o->class[class];

    return s->class == class && s->columns == c->columns &&
           s->vector_columns == c->vector_columns &&
           memcmp(s->constant, event->constant, s->nconstants * sizeof *s->constant) == 0;
}

/* Whether an event without vectors has that symbol; its columns then. */
static inline bool has_symbol(const struct ti_online *o, const struct symbol *s,
                              const struct ti_event *ev, struct split *out)
{
    const struct class *c = &o->class[s->class];
    const int64_t *constant = s->constant;

    if (!is_class(c, ev, ti_event_kinds(ev)) || c->vectors || s->columns != c->columns)
        return false;
    out->nfields = 0;
    for (uint32_t rest = c->mask; rest; rest &= rest - 1) {
        int64_t value = ev->arg[__builtin_ctz(rest)];

        if (c->columns & rest & -rest)
            out->field[out->nfields++] = value;
        else if (*constant++ != value)
            return false;
    }
    return true;
}

/* The slot of a symbol, or the empty one where it would be. */
static uint16_t *slot_of(struct ti_online *o, uint16_t class, const struct split *event)
{
    uint64_t hash = ti_hash_word(class, o->class[class].columns);
    uint16_t *slot;

    for (uint32_t i = 0; i < event->nconstants; i++)
        hash = ti_hash_word(hash, (uint64_t)event->constant[i]);
    for (;; hash++) {
        slot = &o->run.slot[hash % SLOTS];
        if (!*slot || is_symbol(o, o->run.symbol[*slot - 1], class, event))
            return slot;
    }
}

/* A new symbol; NONE if there are too many. */
static uint16_t new_symbol(struct ti_online *o, uint16_t class, const struct split *event)
{
    size_t values = event->nconstants * sizeof(int64_t);
    struct symbol *s;

    if (o->run.nsymbols == SYMBOLS)
        return NONE;
    s = ti_pool_take(ti_fold_pool(o->run.fold), sizeof *s + values);
    s->class = class;
    s->next = NONE;
    s->columns = o->class[class].columns;
    s->vector_columns = o->class[class].vector_columns;
    s->nconstants = (uint8_t)event->nconstants;
    memcpy(s->constant, event->constant, values);
    o->run.symbol[o->run.nsymbols] = s;
    return o->run.nsymbols++;
}

/* The symbol of an event; NONE if there are too many symbols, classes or vectors. */
static uint16_t find_symbol(struct ti_online *o, const struct ti_event *ev, uint32_t kinds,
                            struct split *event)
{
    uint16_t class = class_of(o, ev, kinds), *slot, symbol;

    if (class == NONE || !split(o, &o->class[class], ev, event))
        return NONE;
    slot = slot_of(o, class, event);
    if (*slot)
        return (uint16_t)(*slot - 1);
    while (promote(o, class, event)) {
        split(o, &o->class[class], ev, event);
        slot = slot_of(o, class, event);
    }
    if (*slot)
        return (uint16_t)(*slot - 1);
    symbol = new_symbol(o, class, event);
    if (symbol != NONE)
        *slot = (uint16_t)(symbol + 1);
    return symbol;
}

/* The symbol of an event.  The one that followed last time is tried first. */
static uint16_t symbol_of(struct ti_online *o, const struct ti_event *ev, struct split *event)
{
    uint16_t next = o->run.last == NONE ? NONE : o->run.symbol[o->run.last]->next;

    if (next != NONE && has_symbol(o, o->run.symbol[next], ev, event))
        return next;
    next = find_symbol(o, ev, ti_event_kinds(ev), event);
    if (next != NONE && o->run.last != NONE)
        o->run.symbol[o->run.last]->next = next;
    return next;
}

/* Remove the symbol that was added last, for an event that finds no room. */
static void remove_symbol(struct ti_online *o, uint16_t symbol, const struct split *event)
{
    *slot_of(o, o->run.symbol[symbol]->class, event) = 0;
    if (o->run.last != NONE && o->run.symbol[o->run.last]->next == symbol)
        o->run.symbol[o->run.last]->next = NONE;
    o->run.nsymbols--;
}

/* ------------------------------------------------------------------- events -- */

bool ti_online_add(struct ti_online *o, const struct ti_event *ev, const uint64_t *extra)
{
    size_t most = sizeof(struct symbol) + sizeof(int64_t) * (TI_F_COUNT + TI_VECS);
    int64_t volumes[1 + TI_EXTRAS_MAX];
    struct split event;
    uint16_t symbol, symbols;

    for (int v = 0; v < TI_VECS; v++) {
        if (ev->vec[v].len > TI_ONLINE_VECTOR)
            return false;
        most += ((size_t)ev->vec[v].len + 1) * sizeof(struct ti_runs);
    }
    if (most > ti_pool_left(ti_fold_pool(o->run.fold)))
        return false;
    symbols = o->run.nsymbols;
    symbol = symbol_of(o, ev, &event);
    if (symbol == NONE)
        return false;
    if (!ti_fold_has_room(o->run.fold, event.nfields)) {
        if (o->run.nsymbols > symbols)
            remove_symbol(o, symbol, &event);
        return false;
    }
    volumes[0] = (int64_t)ev->volume;
    for (uint32_t i = 1; i < o->nvolumes; i++)
        volumes[i] = (int64_t)extra[i - 1];
    ti_fold_add(o->run.fold, symbol, volumes, event.field, event.nfields);
    o->run.last = symbol;
    return true;
}

size_t ti_online_taken(const struct ti_online *o)
{
    return o->empty - ti_pool_left(ti_fold_pool(o->run.fold));
}

void ti_online_clear(struct ti_online *o)
{
    struct ti_pool pool = {.at = NULL};

    if (o->run.fold)
        ti_fold_free(o->run.fold);
    memset(&o->run, 0, sizeof o->run);
    memset(o->memory, 0, o->bytes);
    ti_pool_use(&pool, o->memory, o->bytes);
    o->run.fold = ti_fold_new(&pool, WINDOW, o->nvolumes);
    o->empty = ti_pool_left(ti_fold_pool(o->run.fold));
    o->run.last = NONE;
    if (o->nclasses == CLASSES)
        o->nclasses = 0;
}

struct ti_online *ti_online_new(void *memory, size_t bytes, uint32_t nvolumes)
{
    struct ti_online *o = memory;

    o->memory = (uint8_t *)(o + 1);
    o->bytes = bytes - sizeof *o;
    o->nvolumes = nvolumes;
    ti_online_clear(o);
    return o;
}

/* ------------------------------------------------------------------ payload -- */

static void put_varint(const struct ti_sink *sink, uint64_t value)
{
    uint8_t bytes[TI_VARINT_MAX];

    sink->put(sink->to, bytes, (size_t)ti_put_varint(bytes, value));
}

static void put_number(const struct ti_sink *sink, uint64_t value)
{
    put_varint(sink, ti_zigzag((int64_t)value));
}

static void count(void *to, const void *data, size_t bytes)
{
    (void)data;
    *(size_t *)to += bytes;
}

/* Put a column with its length; `trips` as in struct ti_fold_node. */
static void put_column(const struct ti_sink *sink, const struct ti_column *c, uint64_t trips)
{
    struct ti_tokens all = ti_column_tokens(c, trips);
    uint8_t bytes[TI_TOKEN_BYTES];
    struct ti_token token;
    size_t n = 0;

    while (ti_token_next(&all, &token))
        n += (size_t)ti_token_put(bytes, &token);
    put_varint(sink, n);
    all = ti_column_tokens(c, trips);
    while (ti_token_next(&all, &token))
        sink->put(sink->to, bytes, (size_t)ti_token_put(bytes, &token));
}

enum part { PATTERN, NUMBERS, BLOBS };

static void put_nodes(const struct ti_sink *sink, enum part part, const struct ti_fold_node *node)
{
    for (; node; node = node->next) {
        const struct ti_column *c = node->column, *end = c + node->ncolumns;
        uint64_t trips = node->child ? node->trips : 0;

        if (part == PATTERN)
            put_varint(sink, node->child ? (uint64_t)node->nchildren << 1 | 1
                                         : (uint64_t)node->symbol << 1);
        for (; part == NUMBERS && c < end; c++)
            put_number(sink, c->open.n ? ti_column_first(c) : trips);
        for (; part == BLOBS && c < end; c++)
            put_column(sink, c, trips);
        if (node->child)
            put_nodes(sink, part, node->child);
    }
}

/* Put the symbols; returns the number of their constants that are numbers. */
static uint64_t put_symbols(const struct ti_online *o, const struct ti_sink *sink, enum part part)
{
    uint64_t numbers = 0;

    if (part == PATTERN)
        put_varint(sink, o->run.nsymbols);
    for (uint16_t i = 0; i < o->run.nsymbols; i++) {
        const struct symbol *s = o->run.symbol[i];
        const struct class *c = &o->class[s->class];
        const int64_t *constant = s->constant;

        if (part == PATTERN) {
            put_varint(sink, c->op);
            put_varint(sink, c->site);
            put_varint(sink, c->mask);
            put_varint(sink, c->kinds);
            put_varint(sink, s->columns);
            put_varint(sink, s->vector_columns);
            continue;
        }
        for (uint32_t rest = c->mask & ~s->columns; rest; rest &= rest - 1, constant++) {
            if (!(c->numbers & rest & -rest))
                continue;
            if (sink)
                put_number(sink, (uint64_t)*constant);
            numbers++;
        }
        for (; constant < s->constant + s->nconstants; constant++) {
            if (sink)
                put_number(sink, (uint64_t)*constant);
            numbers++;
        }
    }
    return numbers;
}

static uint64_t count_columns(const struct ti_fold_node *node)
{
    uint64_t n = 0;

    for (; node; node = node->next)
        n += node->ncolumns + count_columns(node->child);
    return n;
}

static void put_pattern(const struct ti_online *o, const struct ti_sink *sink,
                        const struct ti_fold_node *shape, uint64_t nodes)
{
    put_varint(sink, o->nvolumes);
    put_symbols(o, sink, PATTERN);
    put_varint(sink, nodes);
    put_nodes(sink, PATTERN, shape);
}

void ti_online_put(const struct ti_online *o, const struct ti_sink *sink)
{
    const struct run *r = &o->run;
    uint64_t nodes, columns;
    const struct ti_fold_node *shape = ti_fold_shape(r->fold, &nodes);
    size_t pattern = 0;

    put_pattern(o, &(struct ti_sink){count, &pattern}, shape, nodes);
    put_varint(sink, pattern);
    put_pattern(o, sink, shape, nodes);
    columns = count_columns(shape);
    put_varint(sink, 4 + put_symbols(o, NULL, NUMBERS) + columns);
    put_number(sink, r->nvectors);
    put_number(sink, ti_column_first(&r->lengths));
    put_number(sink, 0); /* no vector has a model */
    put_number(sink, ti_column_first(&r->elements));
    put_symbols(o, sink, NUMBERS);
    put_nodes(sink, NUMBERS, shape);
    put_varint(sink, 3 + columns);
    put_column(sink, &r->lengths, 0);
    put_varint(sink, 0);
    put_column(sink, &r->elements, 0);
    put_nodes(sink, BLOBS, shape);
}
