/*
 * Originals: whether traces may be extrapolated, and what names them.
 */
#ifndef TI_EXTRAPOLATE_ORIGINAL_H
#define TI_EXTRAPOLATE_ORIGINAL_H

#include <jansson.h>

#include "bundle/source.h"
#include "common/hex.h"
#include "trace/trace.h"

/* The names of a trace: its ranks, the run id, and the SHA-256 of the hashes of its ranks (in the
 * order of ranks, 8 bytes each, the highest first), however the trace is stored. */
struct ti_original {
    const char *path;
    int64_t np;
    char run_id[2 * TI_RUN_ID_BYTES + 1], hash[65];
};

/* Read what names each of `n` traces.  TI_ERR_INPUT: a rank is missing, incomplete or damaged;
 * volumes are not exact since ranks were merged; the trace was extrapolated itself; ranks were
 * counted by different counters, or are of different builds or programs.  TI_ERR_IO. */
ti_status ti_originals_read(struct ti_source *const *source, int n, struct ti_original *out,
                            struct ti_err *err);

/* The run id of a run of `np` ranks that is made of these. */
void ti_originals_run_id(const struct ti_original *of, int n, int64_t np,
                         uint8_t out[TI_RUN_ID_BYTES]);

/* "16, 36 and 64"; "16 RUN_ID 36 RUN_ID"; a list of objects.  Texts go to buf, which is returned.
 */
const char *ti_originals_sizes(const struct ti_original *of, int n, char *buf, size_t room);
const char *ti_originals_from(const struct ti_original *of, int n, char *buf, size_t room);
json_t *ti_originals_json(const struct ti_original *of, int n);

#endif
