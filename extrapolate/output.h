/*
 * The output: a merged trace in the scratch folder, or the bundle of it, becomes the user's file.
 */
#ifndef TI_EXTRAPOLATE_OUTPUT_H
#define TI_EXTRAPOLATE_OUTPUT_H

#include <jansson.h>

#include "common/err.h"

/* Publish the merged trace `name` of the scratch folder as `output`: as a bundle if its name ends
 * in .tib.  `about` is what the manifest says of its origin.  *bytes: of the file.  TI_ERR_IO. */
ti_status ti_output_publish(const char *name, const char *output, const json_t *about,
                            int64_t *bytes, struct ti_err *err);

#endif
