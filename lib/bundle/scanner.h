/*
 * Threads that scan traces (rank_scan.h) and add them to the bundle while other traces are still
 * being fetched, so that little is left to do after the last one.
 *
 * The result of a scan is valid as long as the file is unchanged: inode, size and times.
 */
#ifndef TI_BUNDLE_SCANNER_H
#define TI_BUNDLE_SCANNER_H

#include <stdint.h>

#include "common/err.h"

struct ti_scanner;
struct ti_bundle;
struct ti_node_traces;
struct ti_rank_scan;

/* Starts the threads on the run directory `path`, with the files that are there already.  Complete
 * traces go into `bundle`, and ranks of `from_nodes` are there, too; both must outlive the scanner.
 * NULL: none.  Returns NULL when memory is short or the directory cannot be read: ti_run_check()
 * then scans everything itself. */
struct ti_scanner *ti_scanner_new(const char *path, struct ti_bundle *bundle,
                                  struct ti_node_traces *from_nodes);

/* `from_nodes` of ti_scanner_new(); `a` may be NULL. */
struct ti_node_traces *ti_scanner_from_nodes(const struct ti_scanner *a);

/* The trace of this rank is complete, or was replaced: scan it.  Never waits. */
void ti_scanner_add(struct ti_scanner *a, int64_t rank);

/* Returns the scan of the rank's file `name`, or of its trace that came merged.  If it is not done
 * yet, scans it now, or waits for the thread that does and scans other queued files meanwhile.  The
 * result belongs to the scanner and is valid until the next call.  NULL when memory is short, or
 * ti_gather_stop is set. */
const struct ti_rank_scan *ti_scanner_get(struct ti_scanner *a, int64_t rank, const char *name);

/* Abandons scans under way; NULL is fine. */
void ti_scanner_free(struct ti_scanner *a);

#endif
