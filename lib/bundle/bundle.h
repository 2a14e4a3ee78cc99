/*
 * Writes a bundle from a run directory, while traces are scanned or after.
 */
#ifndef TI_BUNDLE_BUNDLE_H
#define TI_BUNDLE_BUNDLE_H

#include "bundle/run.h"
#include "event/quality.h"

struct ti_bundle;
struct ti_rank_scan;
struct ti_node_traces;

/*
 * Begins the bundle `output`, a string that must outlive it.  It is written as "OUTPUT.part", read
 * back, synced and renamed.  On failure OUTPUT.part is removed, and OUTPUT never appears
 * incomplete.  An existing OUTPUT is replaced only with `force`, and only if ti_output_check()
 * allows it.
 *
 * Memory: two blocks, the manifest, the central directory.
 */
ti_status ti_bundle_begin(const char *output, bool force, struct ti_bundle **out,
                          struct ti_err *err);

/*
 * Merges the ranks into one member, TI_MERGED_NAME, instead of storing their files; volumes and
 * extra values are kept as `q` says.  With `whole_only`, files are stored all the same unless all
 * ranks of the run are there and complete.  Ranks of `from_nodes`, not with `whole_only`, came
 * merged already; NULL: none.  Both must outlive the bundle.  To be called before anything is
 * added.  If a rank does not fit a merged trace, there is a warning, and files are stored; with
 * ranks in `from_nodes`, that is an error.  So it is with `whole_only` if the disk is full.
 *
 * Memory: that of a merger (merged/merger.h) and, for each thread, some 12 times that of
 * one rank's trace.
 */
void ti_bundle_merge(struct ti_bundle *b, const struct ti_qualities *q, bool whole_only,
                     struct ti_node_traces *from_nodes);

/*
 * Adds the trace of a rank, file `name` in `dir`, as scanned in `r`; ignores one that is not to be
 * gathered.  Its CRC is computed again while it is copied; if that differs, the bundle is emptied.
 * Errors are not reported here: ti_bundle_finish() adds what is missing, and reports them.  Safe
 * from several threads.
 */
void ti_bundle_add(struct ti_bundle *b, int dir, const char *name, int64_t rank,
                   const struct ti_rank_scan *r);

/*
 * Adds the traces of `run` that are not in the bundle yet and, last, the manifest.  If a trace was
 * added that does not belong to `run`, writes the bundle from its start.  A trace that changed
 * since ti_run_check() is an error.  *bytes is the bundle's size.  Sets `merged` of the run.
 */
ti_status ti_bundle_finish(struct ti_bundle *b, struct ti_run *run, int64_t *bytes,
                           struct ti_err *err);

/* Removes OUTPUT.part if the bundle was not finished; NULL is fine. */
void ti_bundle_free(struct ti_bundle *b);

/*
 * Reads the whole bundle `output` back and compares it with `run`, then removes the files of `run`
 * that are in it, complete and unchanged.  Where ranks are merged, their records are compared.
 * *removed is their number.  Sets crc32c of the ranks.
 */
ti_status ti_bundle_remove_sources(struct ti_run *run, const char *output, int64_t *removed,
                                   struct ti_err *err);

#endif
