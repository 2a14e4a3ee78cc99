/* The manifest of a bundle. */
#ifndef TI_BUNDLE_MANIFEST_H
#define TI_BUNDLE_MANIFEST_H

#include "bundle/run.h"

#define TI_BUNDLE_FORMAT   "tiara-bundle"
#define TI_BUNDLE_VERSION  1

/* The manifest of `run` as text; free() it.  Returns NULL when memory is short.  If run->rank is
 * NULL, all ranks are complete and in a merged trace, and the manifest does not list them. */
char *ti_manifest_text(const struct ti_run *run, size_t *bytes);

#endif
