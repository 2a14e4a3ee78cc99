/*
 * Encoder: makes the record (fold/record.h) of one rank's trace.
 *
 * The trace is read twice: first for the values that each field has, then to fold.  Which loops are
 * found depends on events and volumes only, not on extra columns or qualities.  The record is
 * decoded at the end, and its events and extra values compared with the trace's by their hash.
 * Where folding does not make the trace smaller, the record is a copy of the rank file; so it is
 * where folding the first part of a large one hardly makes that smaller.
 */
#ifndef TI_MERGED_ENCODE_H
#define TI_MERGED_ENCODE_H

#include "event/quality.h"
#include "fold/record.h"
#include "trace/reader.h"

/*
 * Make the record of a trace.  `r` was just opened, and no event was read from it; afterwards it is
 * at the end.  A trace that was cut off becomes a record, too, of the same end.
 *
 * `q` says with which quality volumes and extra values are kept; NULL: exact.  A trace that is not
 * exact itself keeps its quality.  Metadata "volumes" and "extras" name a quality that is not
 * exact. The hash in the totals is then that of the events that the record gives.
 *
 * Release *out by ti_record_free().  TI_ERR_INPUT if the trace is damaged; TI_ERR_IO, also when
 * memory is short, or once a signal came (ti_stop_check()).
 */
ti_status ti_folded_encode(struct ti_reader *r, const struct ti_qualities *q, struct ti_record *out,
                           struct ti_err *err);

/* The same for who wants the shape (fold/shape.h): the record is folded even if a copy is smaller.
 * TI_ERR_INPUT if the trace does not fold. */
ti_status ti_folded_encode_shape(struct ti_reader *r, struct ti_record *out, struct ti_err *err);

#endif
