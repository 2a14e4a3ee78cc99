/*
 * The trace of the target: records of its ranks, made of the models.
 */
#ifndef TI_EXTRAPOLATE_MAKE_H
#define TI_EXTRAPOLATE_MAKE_H

#include "extrapolate/model.h"

/* Write the trace as a merged trace to the new file `path`, and check it.  `text` is the metadata
 * "extrapolated": of what.  TI_ERR_INPUT: a rule gives no number at a rank, or the trace is not
 * sound; TI_ERR_IO. */
ti_status ti_extrapolation_write(const struct ti_models *m, const char *text, const char *path,
                                 struct ti_err *err);

#endif
