/* The manifest of a bundle. */
#ifndef TI_MANIFEST_H
#define TI_MANIFEST_H

#include "gather/bundle/run.h"

#define TI_BUNDLE_FORMAT   "tiara-bundle"
#define TI_BUNDLE_VERSION  1

/*
 * The manifest of `run` as text; free() it.  *seconds_at is the offset of a field of
 * TI_SECONDS_BYTES characters for the duration of the gather, which ti_bundle_finish() fills in;
 * 0: none.  Returns NULL when memory is short.
 */
#define TI_SECONDS_BYTES 25
char *ti_manifest_text(const struct ti_run *run, size_t *bytes, size_t *seconds_at);

#endif
