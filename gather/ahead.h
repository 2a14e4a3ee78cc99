/*
 * Traces that have arrived are read and checked while others are still on their way, by
 * other threads, so that little is left to do when the last one is here.
 *
 * What was learnt of a file counts as long as the file is the same: inode, size and time.
 */
#ifndef TI_AHEAD_H
#define TI_AHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/err.h"
#include "formats/scan.h"

struct ti_ahead;

/* `dir`: open on the run directory, duplicated.  NULL when there is no thread to be had: then
 * all is checked later, as it would be without. */
struct ti_ahead *ti_ahead_new(int dir);

/* The file of this rank is whole.  Never waits. */
void ti_ahead_add(struct ti_ahead *a, int64_t rank);

/* Waits for what was begun, drops what was not; NULL is fine. */
void ti_ahead_free(struct ti_ahead *a);

#endif
