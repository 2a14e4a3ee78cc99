/*
 * The shape of a folded trace: its loops and calls, with statistics of their values.
 *
 * Nodes are numbered in preorder from 0; a node is a loop or a call.  The body of loop `i` begins
 * with node i + 1 and ends before node `end`.  Statistics read the runs of columns, not the events:
 * the cost depends on the record, not on the length of the trace.
 *
 * Each node has columns, one value for each time that the program passed it, or reached it by one
 * arrival (fold/fold.h).  Calls that differ only in these have the same symbol.  Statistics of a
 * column, or its runs, are the way to all its values; a call's constant fields are in its symbol.
 *
 * ti_reader_folded() (trace/reader.h) gives the folded trace of a reader.  Each function with a
 * bool result returns false if the record is malformed.
 */
#ifndef TI_FOLD_SHAPE_H
#define TI_FOLD_SHAPE_H

#include "fold/column.h"
#include "fold/decode.h"
#include "fold/parts.h"

struct ti_shape_node {
    uint32_t end; /* the node after it, and after its body */
    bool loop;
    uint64_t passes;  /* how often the program passed it */
    uint32_t columns; /* how many; a loop has one, its trip counts */
    /* of a call: its symbol, 1 + the loops that begin with it, and as in struct ti_event */
    uint32_t symbol, arrivals;
    uint32_t op, site, mask;
};

uint32_t ti_shape_nodes(const struct ti_folded *f);
struct ti_shape_node ti_shape_node(const struct ti_folded *f, uint32_t i);

/* A symbol: what its calls have in common. */
struct ti_call {
    uint32_t op, site, mask; /* as in struct ti_event */
    uint32_t columns;        /* of these fields, those that have a column */
    uint32_t vector_columns; /* bit v: vector v has a column */
    int64_t arg[TI_F_COUNT]; /* the other fields; only those in mask & ~columns are set */
    int64_t vector[TI_VECS]; /* numbers of the other vectors, 0 where the operation has none */
};

uint32_t ti_shape_symbols(const struct ti_folded *f);
void ti_shape_symbol(const struct ti_folded *f, uint32_t symbol, struct ti_call *out);

/* Number of different vectors; and one of them, from 0, valid until the trace is closed. */
uint32_t ti_shape_vectors(const struct ti_folded *f);
bool ti_shape_vector_at(struct ti_folded *f, uint32_t number, struct ti_vec *out);

/* Column `k` of node `i`, below its `columns`.  Read a list of tokens by ti_cursor_start() and
 * ti_cursor_take(); its last value repeats for ever.  Values that are no list of tokens are drawn
 * from a histogram, or moved within a bound (fold/quality_columns.h): ti_shape_volumes() and
 * ti_shape_values() (fold/values.h) read these, too. */
struct ti_shape_column {
    struct ti_record_part part;
    uint64_t n;           /* values */
    int64_t first;        /* the first one */
    struct ti_bytes blob; /* the rest; belongs to the record */
    bool tokens;          /* it is a list of tokens */
};
struct ti_shape_column ti_shape_column(const struct ti_folded *f, uint32_t i, uint32_t k);

/* Trip counts of loop `i`. */
bool ti_shape_trips(const struct ti_folded *f, uint32_t i, struct ti_column_stats *out);

/* Whether two shapes have the same loops with the same trip counts, so that both come to the same
 * loop at the same event. */
bool ti_shape_same_loops(const struct ti_folded *a, const struct ti_folded *b);

/* Volumes of call `i` if `which` is 0, else its values of extra column `which` - 1. */
bool ti_shape_volumes(const struct ti_folded *f, uint32_t i, uint32_t which,
                      struct ti_column_stats *out);

/* Their sum over all calls, modulo 2^64. */
bool ti_shape_sum(const struct ti_folded *f, uint32_t which, uint64_t *sum);

/* Values of a field of call `i`, which must be in its mask. */
bool ti_shape_field(const struct ti_folded *f, uint32_t i, uint32_t field,
                    struct ti_column_stats *out);

/* The values of a field of call `i`, one for each pass, for the first `n` passes. */
bool ti_shape_field_values(const struct ti_folded *f, uint32_t i, uint32_t field, uint64_t n,
                           int64_t *out);

/* Vector `v` of call `i`, if it is the same each time: *constant says so.  Else *out is a vector of
 * length 0.  It is valid until the trace is closed. */
bool ti_shape_vector(struct ti_folded *f, uint32_t i, int v, bool *constant, struct ti_vec *out);

#endif
