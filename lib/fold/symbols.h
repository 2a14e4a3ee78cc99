/*
 * Symbols of a trace: what folding compares.
 *
 * Events with the same symbol as event/symbol.h has it are here a class.  A field that has few
 * values in a class is part of the symbol: so the events that differ in it are different symbols,
 * and ranks that differ in it share one shape.  A field with more values gets a column, and does
 * not distinguish symbols; so does a vector that is not always the same.  Vectors are numbered.
 *
 * The trace is read twice: first ti_symbols_scan() takes each event, then ti_symbols_give().  Both
 * return false when memory is short; the symbols can only be released then.
 */
#ifndef TI_FOLD_SYMBOLS_H
#define TI_FOLD_SYMBOLS_H

#include "common/map.h"
#include "event/buffer.h"
#include "event/symbol.h"
#include "fold/column.h"
#include "fold/record_layout.h"

/* A field or vector in a class. */
struct ti_variable {
    int64_t value[TI_FIELD_VALUES]; /* the different ones */
    uint32_t n;                     /* up to TI_FIELD_VALUES + 1 */
};

struct ti_event_class {
    struct ti_event_symbol is;
    uint32_t columns; /* mask of the numbers that have a column */
    uint32_t vector_columns;
    uint32_t next;                /* class that followed last time */
    struct ti_variable *variable; /* is.ncolumns: numbers, then vectors */
};

struct ti_symbol {
    uint32_t class, next; /* next: symbol that followed last time */
    uint32_t nvalues;
    size_t value; /* of its constants: the first in ti_symbols.value */
};

struct ti_symbols {
    struct ti_map class_map;
    struct ti_event_class *class;
    size_t classes_cap;
    uint32_t last_class;
    struct ti_map site_map; /* the trace's numbers of call sites */
    struct ti_map symbol_map;
    struct ti_symbol *symbol;
    size_t symbols_cap;
    uint32_t last_symbol;
    int64_t *value;
    size_t nvalues, values_cap;
    struct ti_map vector_map;
    struct ti_pool pool;              /* of these columns: */
    struct ti_column vector_lengths;  /* of the vectors in the order of their numbers */
    struct ti_column vector_elements; /* of all these */
    int64_t elements;                 /* how many */
    bool no_memory;
};

/* The result of ti_symbols_give(). */
struct ti_symbol_event {
    uint32_t symbol, nfields;
    int64_t field[TI_F_COUNT + TI_VECS]; /* values for its columns */
};

void ti_symbols_init(struct ti_symbols *s);
bool ti_symbols_scan(struct ti_symbols *s, const struct ti_event *ev);

/* After scanning, begin to give the symbols of the events, from the first event on.  A field
 * with more than `limit` values, at most TI_FIELD_VALUES, gets a column, and a vector with more
 * than one. */
void ti_symbols_begin(struct ti_symbols *s, uint32_t limit);
bool ti_symbols_give(struct ti_symbols *s, const struct ti_event *ev, struct ti_symbol_event *out);
void ti_symbols_free(struct ti_symbols *s);

#endif
