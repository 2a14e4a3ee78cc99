/*
 * The commands of ti-info that write traces.  Output is written beside its final name, and gets
 * that name when it is complete.
 */
#ifndef TI_INFO_MERGE_H
#define TI_INFO_MERGE_H

#include "event/quality.h"
#include "info/info.h"
#include "trips/trips.h"

/*
 * Merge the ranks of n sources into `output`, which must not exist: a bundle if its name ends in
 * ".tib", else a merged trace.  Volumes and extra values are kept as `q` says.  TI_ERR_INPUT if
 * sources are of different runs or have the same ranks, or if a trace is damaged; and if there is
 * no manifest for the bundle.
 */
ti_status info_merge(char *const *sources, int n, const char *output, const struct ti_qualities *q,
                     const struct info_style *style, struct ti_err *err);

/* Write the traces of a source as rank files into the new folder `output`, with its RUN.json and
 * MANIFEST.json. */
ti_status info_split(struct ti_source *s, const char *output, const struct info_style *style,
                     struct ti_err *err);

/* Write the traces of a source, changed so that loops have other trips, into the merged trace
 * `output`, which must not exist.  TI_ERR_INPUT as of ti_trips_write(). */
ti_status info_trips(struct ti_source *s, struct ti_trips *trips, const char *output,
                     const struct info_style *style, struct ti_err *err);

#endif
