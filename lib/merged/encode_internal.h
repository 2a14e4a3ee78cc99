/*
 * The parts of an encoder (encode.h), for its own files:
 *
 *   encode.c         reads the trace, folds it, chooses the smallest record
 *   encode_record.c  gives the builder (builder.h) what the record is to have
 */
#ifndef TI_MERGED_ENCODE_INTERNAL_H
#define TI_MERGED_ENCODE_INTERNAL_H

#include "fold/fold.h"
#include "fold/quality_columns.h"
#include "fold/record_layout.h"
#include "fold/symbols.h"
#include "merged/encode.h"

/* The result of the first reading of a trace. */
struct ti_encoder {
    struct ti_reader *r; /* at the end */
    struct ti_symbols symbols;
    struct ti_totals sums;
    uint64_t extras; /* hash of all extra values */
    uint32_t nvolumes;
    bool foldable; /* it can become a folded record */
    struct ti_qualities want;
    bool exact;     /* both are */
    bool no_memory; /* memory was short: no result since is valid */
};

/* Make the folded record of a shape.  False: the record would break the limits of
 * merged/layout.h, or loops are too deep, or memory is short, as e->no_memory says. */
bool ti__record_fold(struct ti_encoder *e, const struct ti_fold_node *shape, struct ti_record *out);

/* Make the part of that record which follows from the events and their volumes: without metadata,
 * strings, communicators and extra columns, with exact volumes.  It cannot be decoded; its size
 * tells how good the shape is.  False: loops are too deep, or memory is short. */
bool ti__record_core(struct ti_encoder *e, const struct ti_fold_node *shape, struct ti_record *out);

/* Make the record that is a copy of the rank file `data`; false when memory is short. */
bool ti__record_copy(const struct ti_encoder *e, const uint8_t *data, size_t bytes,
                     struct ti_record *out);

#endif
