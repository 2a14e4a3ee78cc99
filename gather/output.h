/*
 * What may be overwritten by a bundle, for those that write one and those that
 * will.
 */
#ifndef TI_OUTPUT_H
#define TI_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/err.h"

/*
 * May a bundle be written to `path`?  Yes if nothing is there; with `force` also
 * over a file that is a bundle or empty.  Everything else is TI_ERR_IO, with
 * `hint` when all it lacks is `force`.
 */
ti_status ti_output_check(const char *path, bool force, const char *hint, struct ti_err *err);

/* Does the file begin as a bundle does, or is it empty? */
bool ti_output_begins(int fd, const struct stat *sb);

#endif
