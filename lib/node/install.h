/*
 * The node's side of the bootstrap (node/bootstrap.h): what `ti-node install` does.
 */
#ifndef TI_INSTALL_H
#define TI_INSTALL_H

#include "common/err.h"

/*
 * Receive files on standard input, once that was asked for on standard output, into
 * `folder`, where ti-node itself is already, and make it BASE/HASH by renaming.  Another
 * node may have done that meanwhile: then its folder stays.  All input is taken whatever
 * happens, so that another place can be tried.  Removes `folder` on failure, and what is
 * old in BASE.
 *
 * Input: frames; MESSAGE {"name", "mode", "bytes", "crc32c"} of a file, its DATA,
 * compressed (zlib); ... ; MESSAGE {"done": true}.
 */
ti_status ti_install(const char *folder, const char *base, const char *hash, struct ti_err *err);

/* Remove from `base` what was not used for a week, but for the three used last, and what
 * was never finished. */
void ti_install_clean(const char *base, const char *hash);

/* `folder` is being used, if it is one that was installed so; valgrind's own files are
 * linked to where its tool looks for them. */
void ti_install_use(const char *folder);

#endif
