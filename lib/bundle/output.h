/*
 * Whether an existing file may be overwritten by a bundle.
 */
#ifndef TI_BUNDLE_OUTPUT_H
#define TI_BUNDLE_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/err.h"

/*
 * Returns TI_OK if a bundle may be written to `path`: nothing is there or, with `force`, a file
 * that is a bundle or empty.  Else TI_ERR_IO, with `hint` if only `force` is missing.
 */
ti_status ti_output_check(const char *path, bool force, const char *hint, struct ti_err *err);

/* Whether a name is that of a bundle: it ends in TI_BUNDLE_SUFFIX. */
#define TI_BUNDLE_SUFFIX ".tib"
bool ti_is_bundle_name(const char *name);

/* True if the file starts like a bundle (zip), or is empty. */
bool ti_output_begins(int fd, const struct stat *sb);

#endif
