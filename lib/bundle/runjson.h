/*
 * Reader of RUN.json, in which ti-acquire describes the run of a run directory.  MANIFEST.json,
 * which lies there after a bundle was unpacked, has the same keys.
 */
#ifndef TI_BUNDLE_RUNJSON_H
#define TI_BUNDLE_RUNJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "common/err.h"

/*
 * Read file `name`, one of the two, in the open directory `dir`, which messages call `path`.  *out
 * is a new object, or NULL if there is no such file.  The types of "np", "run_id", "nodes" (of
 * objects), "transport", "counter" and "steps" have been checked where they are present and not
 * null.  *sb, unless NULL, is the stat of the file.  TI_ERR_IO, or TI_ERR_INPUT, whose sentence
 * tells the place in the file.
 */
ti_status ti_runjson_read(int dir, const char *path, const char *name, json_t **out,
                          struct stat *sb, struct ti_err *err);

#endif
