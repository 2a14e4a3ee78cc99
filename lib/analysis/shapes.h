/*
 * Shapes of the ranks of a run (fold/shape.h), with the values of all ranks that have the
 * same shape.
 *
 * Shapes are the same if they have the same loops with the same calls from the same call sites.
 * Values may differ: trip counts, volumes and fields, except for fields that have a special value
 * (TI_ANY, ...) on one rank only.  Shapes with equal hashes are taken to be the same.
 */
#ifndef TI_ANALYSIS_SHAPES_H
#define TI_ANALYSIS_SHAPES_H

#include "analysis/folded.h"
#include "analysis/rank_sums.h"
#include "callsite/symbolizer.h"
#include "common/names.h"
#include "common/ranges.h"
#include "trace/scan.h"

/* A field that all the calls have, over all ranks. */
struct ti_field_range {
    int64_t low, high;
};

/* Texts that a call has beside numbers: the name of a file or call, and vectors. */
enum ti_node_text { TI_TEXT_NAME, TI_TEXT_VECTOR, TI_TEXTS = TI_TEXT_VECTOR + TI_VECS };

/* A loop or call.  For a loop, events, bytes and volume are those of its body. */
struct ti_ranks_node {
    uint32_t end; /* the node after it, and after its body */
    bool loop;
    uint32_t op, mask;
    size_t site;                   /* number in ti_shapes.sites */
    char *name;                    /* of a loop, as in trips/names.h; else NULL */
    uint64_t events, bytes;        /* bytes: of messages sent, without persistent ones */
    struct ti_column_stats values; /* of a loop its trip counts, of a call its volumes */
    struct ti_rank_sums volume;    /* of ranks */
    struct ti_field_range *field;  /* for each bit of the mask */
    int64_t world[3];              /* of peer, rpeer, from on the first rank; -1: none */
    char *text[TI_TEXTS];          /* " name=..."; "" if there is none */
    bool differs[TI_TEXTS];        /* it is that of the first rank only */
};

struct ti_shape_of_ranks {
    uint64_t hash;
    struct ti_ranges ranks;
    uint32_t nnodes;
    struct ti_ranks_node *node;
};

struct ti_shapes {
    struct ti_symbolizer *symbolizer; /* borrowed */
    struct ti_names sites;            /* texts of call sites; "": not known */
    struct ti_shape_of_ranks *shape;  /* in the order of their first ranks */
    size_t n, cap;
    struct ti_folded_ranks ranks;
    bool estimate;             /* volumes are an estimate */
    struct ti_caveats quality; /* of volumes */
    char *unit;                /* of volumes */
};

/* Read the ranks of a source, or rank `only` if it is not below 0.  Ranks that are missing,
 * incomplete or damaged: see ti_folded_each().  Release *out with ti_shapes_free() in any
 * case. */
ti_status ti_shapes_read(struct ti_source *s, int64_t only, struct ti_symbolizer *symbolizer,
                         struct ti_shapes *out, struct ti_err *err);
void ti_shapes_free(struct ti_shapes *s);

#endif
