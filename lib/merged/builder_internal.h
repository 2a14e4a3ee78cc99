/*
 * The parts of the builder (builder.h), for its own files and for the encoder:
 *
 *   builder.c           tables, symbols and the shape; a record is put together
 *   builder_vectors.c   vectors
 */
#ifndef TI_MERGED_BUILDER_INTERNAL_H
#define TI_MERGED_BUILDER_INTERNAL_H

#include "event/buffer.h"
#include "fold/record_layout.h"
#include "merged/builder.h"

/* A section of a record in the making. */
struct parts {
    struct ti_buffer pattern, blobs;
    int64_t *number;
    size_t nnumbers, numbers_cap;
    size_t *blob_end; /* in blobs */
    size_t nblobs, blobs_cap;
    bool no_memory; /* beside that of the buffers */
};

void ti__put_number(struct parts *p, int64_t number);

/* End the blob that consists of what was appended since the last one. */
void ti__end_blob(struct parts *p);

struct ti_builder {
    uint32_t rank, nvolumes;
    enum ti_end end;
    uint64_t hash;
    bool inexact;                /* a column, or metadata, has another quality */
    const char *const *left_out; /* keys; NULL: none */
    uint32_t npairs[2];          /* metadata: at the start, at the end */
    struct ti_buffer keys[2];    /* of it */
    struct parts value[2];       /* forms, numbers and texts of it */
    uint32_t ncomms, nstrings[3], nsymbols;
    struct parts comms, strings[3], symbols, shape;
    int64_t *element; /* of all vectors */
    size_t *start;    /* of each vector in element[], and the end; NULL: there is none */
    size_t nvectors, starts_cap, elements_cap;
    uint64_t *word; /* of each node, as in the pattern */
    size_t nnodes, words_cap;
    size_t open[TI_SHAPE_DEPTH + 1]; /* loops around the next node */
    uint64_t children[TI_SHAPE_DEPTH + 1];
    uint32_t depth, begun; /* begun: loops since the last call */
    bool wrong;            /* loops are too deep, or end without a beginning */
    bool no_memory;        /* beside that of the parts; all of it, after ti__builder_record() */
};

/* Put all vectors as a record has them. */
void ti__put_vectors(struct parts *p, const struct ti_builder *b);

/* Put the record together, without a look at it.  False: it breaks a limit, or memory was short, as
 * b->no_memory says.  `core`: only what follows from the events, without metadata, strings and
 * communicators; no reader takes that. */
bool ti__builder_record(struct ti_builder *b, bool core, struct ti_record *out);

#endif
