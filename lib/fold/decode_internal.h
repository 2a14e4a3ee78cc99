/*
 * The parts of a decoder (decode.h), for its own files:
 *
 *   decode_open.c   the record becomes symbols, nodes and cursors
 *   decode.c        the iterator over events
 *   parts.c         what numbers and blobs mean (parts.h)
 *   shape.c         the shape and its statistics (shape.h)
 *   seek.c          the iterator goes to another place (seek.h)
 *   trips.c         the iterator leaves out trips of loops (trips.h)
 *   values.c        volumes and extra values, all of a call at once (values.h)
 */
#ifndef TI_FOLD_DECODE_INTERNAL_H
#define TI_FOLD_DECODE_INTERNAL_H

#include "fold/column.h"
#include "fold/decode.h"
#include "fold/parts.h"
#include "fold/quality_columns.h"
#include "fold/record_layout.h"

#define LOOP UINT32_MAX /* in the place of a symbol */

/* A field that is the same in all events of a symbol. */
struct constant {
    int64_t value;
    uint32_t field;
};

/* Columns of the vectors of a record. */
enum { VECTOR_LENGTHS, VECTOR_MODELS, VECTOR_ELEMENTS, VECTOR_COLUMNS };

enum vector_is { VECTOR_NONE, VECTOR_CONSTANT, VECTOR_COLUMN };

struct symbol {
    struct ti_event_symbol is;
    uint32_t constants, nconstants; /* its constants: number of the first, how many */
    uint32_t columns;               /* mask of the fields that have a column */
    uint32_t vector_columns;        /* the same of vectors */
    uint8_t vector_is[TI_VECS];     /* enum vector_is */
    int64_t vector[TI_VECS];        /* number of a constant vector */
};

/* A node of the shape; nodes are in preorder. */
struct node {
    uint32_t end;      /* of a loop: the node after its body */
    uint32_t symbol;   /* of a leaf; else LOOP */
    uint32_t cursor;   /* number of its first column */
    uint32_t arrivals; /* of a leaf */
    uint64_t passes;   /* how often the program passed it */
};

/* A loop around the present place. */
struct frame {
    uint32_t loop;
    uint32_t end; /* of the body around it */
    uint64_t left;
};

struct ti_folded {
    uint32_t rank;
    void *parts;                 /* numbers and blobs of a chunk; NULL: they are the record's */
    const int64_t *vector_first; /* of the columns of vectors */
    const struct ti_bytes *vector_blob;
    size_t nvectors;
    int64_t *element;       /* of all vectors; NULL: they are not decoded yet */
    bool no_memory;         /* to decode them */
    uint32_t *vector_start; /* of each vector in element[], and the end */
    struct symbol *symbol;
    size_t nsymbols;
    struct constant *constant;
    uint32_t nconstants;
    size_t constants_cap;
    struct node *node;
    size_t nnodes;
    uint32_t nvolumes;
    const int64_t *column_first;        /* of each column: in the record's numbers ... */
    const struct ti_bytes *column_blob; /* ... and blobs */
    size_t ncolumns;
    uint64_t events;
    uint64_t runs; /* of columns, that may still be read to add them up */

    /* the place in the shape */
    struct ti_cursor *cursor; /* of each column */
    uint32_t at, end;         /* next node; end of the body that it is in */
    uint32_t arrival;         /* loops entered since the last event or the end of a trip */
    uint32_t depth;
    struct frame frame[TI_SHAPE_DEPTH];
    bool want_extras;
    uint64_t extra[TI_EXTRAS_MAX];
    uint64_t *passes; /* of each node in a trip, for trips.c; NULL: not needed yet */
};

/* ti_folded_open(), which also notes in *parts, unless it is NULL, what the numbers and blobs in
 * front of the columns of nodes mean. */
const char *ti__folded_open(const struct ti_record *record, uint32_t nranks,
                            struct ti_record_parts *parts, struct ti_folded **out,
                            struct ti_folded_tables *tables);

/* Add up the volumes of all events; false if a column of them is malformed. */
bool ti__sum_volumes(struct ti_folded *f, uint64_t *volume);

/* The seed of a column that is a histogram, for readers with a seed. */
uint64_t ti__draw_seed(const struct ti_folded *f, uint64_t seed, size_t column);

/* How often the program passed a leaf by arrival `a`. */
uint64_t ti__leaf_arrivals(const struct node *leaf, uint32_t a);

/* The same of any program, by how often it passed each node. */
uint64_t ti__arrivals(const struct ti_folded *f, const uint64_t *passes, uint32_t leaf, uint32_t a);

/* Give vector `number`; the first call decodes all.  False if one is malformed. */
bool ti__folded_vector(struct ti_folded *f, uint64_t number, struct ti_vec *out);

#endif
