/*
 * The trace of the target: records of its ranks, made of the models.
 */
#ifndef TI_EXTRAPOLATE_MAKE_H
#define TI_EXTRAPOLATE_MAKE_H

#include "extrapolate/model.h"

/* The metadata of the ranks about their origin (TI_INFO_EXTRAPOLATED,
 * TI_INFO_EXTRAPOLATED_FROM), and the run id. */
struct ti_origin {
    const char *text, *from;
    uint8_t run_id[TI_RUN_ID_BYTES];
};

/* Write the trace as a merged trace to the new file `path`, and check it.  TI_ERR_INPUT: a rule
 * gives no number at a rank, or the trace is not sound; TI_ERR_IO. */
ti_status ti_extrapolation_write(const struct ti_models *m, const struct ti_origin *origin,
                                 const char *path, struct ti_err *err);

#endif
