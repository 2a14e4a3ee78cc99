/*
 * Traces that have arrived are read and checked while others are still on their way, by
 * other threads, and written into the bundle, so that little is left to do when the last one
 * is here.
 *
 * What was learnt of a file counts as long as the file is the same: inode, size and times.
 */
#ifndef TI_SCANNER_H
#define TI_SCANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct ti_scanner;
struct ti_bundle;
struct ti_rank_scan;

/* On the run directory `path`; what is there already is read first.  Sound traces go into
 * `bundle` (NULL: nowhere), which must outlive it.  NULL when memory is short or it is no
 * directory that can be read: then all is checked later, as it would be without. */
struct ti_scanner *ti_scanner_new(const char *path, struct ti_bundle *bundle);

/* The file of this rank is whole, or another one than it was.  Never waits. */
void ti_scanner_add(struct ti_scanner *a, int64_t rank);

/* What is known of file `name`, the rank's.  Reads it now, or waits for who does, if that was
 * not done yet; others that wait are read meanwhile.  It is the ahead's, until it is asked for the
 * next one.  NULL without memory, or when ti_gather_stop is set. */
const struct ti_rank_scan *ti_scanner_get(struct ti_scanner *a, int64_t rank, const char *name);

/* What was begun is given up; NULL is fine. */
void ti_scanner_free(struct ti_scanner *a);

#endif
