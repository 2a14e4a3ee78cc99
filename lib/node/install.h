/*
 * The node's side of the bootstrap (session/bootstrap.h): `ti-node install`.
 */
#ifndef TI_NODE_INSTALL_H
#define TI_NODE_INSTALL_H

#include "common/err.h"

/*
 * Ask for files on standard output, receive them on standard input into `folder`, where ti-node is
 * already, and rename `folder` to BASE/HASH.  If another node with the same home was faster, its
 * folder stays.  On failure `folder` is removed, and the input is still read to its end, so that
 * the shell can try another place.  Also removes old folders in BASE.
 *
 * The input consists of frames: for each file, MESSAGE {"name", "mode", "bytes", "crc32c"} and its
 * DATA, compressed with zlib; finally MESSAGE {"done": true}.
 */
ti_status ti_install(const char *folder, const char *base, const char *hash, struct ti_err *err);

/* Remove unfinished folders from `base`, and those not used for a week, except the three used last.
 */
void ti_install_clean(const char *base, const char *hash);

/* Note that `folder` is in use, if it was installed by ti_install().  Links valgrind's own files to
 * the place where our valgrind tool looks for them. */
void ti_install_use(const char *folder);

#endif
