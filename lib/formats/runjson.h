/*
 * RUN.json of a run directory: what ti-acquire left of the run; and what a bundle has of it, which
 * is there as MANIFEST.json when somebody unpacked one.
 */
#ifndef TI_RUNJSON_H
#define TI_RUNJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "common/err.h"

/*
 * The file `name`, one of the two, of the open directory `dir`, which is called `path`.  *out is
 * NULL if there is none; else "np", "run_id", "nodes" (of objects), "transport", "counter" and
 * "steps", where they are there and not null, are of the types that they have to be.  sb: of the
 * file that was read; may be NULL.  TI_ERR_IO, or TI_ERR_INPUT, which tells where in the file it
 * is wrong.
 */
ti_status ti_runjson_read(int dir, const char *path, const char *name, json_t **out,
                          struct stat *sb, struct ti_err *err);

/* `hex` is a run id. */
bool ti_runjson_is_id(const char *hex);

#endif
