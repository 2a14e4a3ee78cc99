/*
 * Writing a bundle, from a run directory that has been checked, or while it is.
 */
#ifndef TI_BUNDLE_H
#define TI_BUNDLE_H

#include "gather/run.h"

#define TI_BUNDLE_FORMAT  "tiara-bundle"
#define TI_BUNDLE_VERSION 1

struct ti_bundle;
struct ti_rank_scan;

/*
 * Begin the bundle `output`, which must outlive it.  It grows as "OUTPUT.part", is read back,
 * brought to the disk and renamed; whatever goes wrong, no OUTPUT that is not whole appears, and
 * OUTPUT.part is removed.  An existing OUTPUT is replaced only with `force`, and only if
 * ti_output_check() allows it.
 *
 * Memory: two blocks, the manifest, the central directory.
 */
ti_status ti_bundle_begin(const char *output, bool force, struct ti_bundle **out,
                          struct ti_err *err);

/*
 * The trace of a rank, file `name` in `dir`, as it was when it was read (gather/rank_scan.h), if it
 * is one to gather: its CRC is computed again on the way, and if that differs, the bundle begins
 * anew.  That nothing can be written, or that it changed, shows in ti_bundle_finish(), which adds
 * what is lacking.  Safe from several threads.
 */
void ti_bundle_add(struct ti_bundle *b, int dir, const char *name, int64_t rank,
                   const struct ti_rank_scan *r);

/*
 * Add what of `run` is not in it yet and, last, the manifest.  What was added and is not to be in
 * it makes it begin anew.  A trace that changed since ti_run_check() is an error.  *bytes is the
 * bundle's size.
 */
ti_status ti_bundle_finish(struct ti_bundle *b, const struct ti_run *run, int64_t *bytes,
                           struct ti_err *err);

/* Removes OUTPUT.part, if it was not finished; NULL is fine. */
void ti_bundle_free(struct ti_bundle *b);

/* All at once. */
ti_status ti_bundle_write(const struct ti_run *run, const char *output, bool force, int64_t *bytes,
                          struct ti_err *err);

/*
 * Read the whole of bundle `output` back and compare it with `run`, then delete
 * those files of `run` that are in it, complete and unchanged.  *removed is
 * their number.  Ranks' crc32c is known then.
 */
ti_status ti_bundle_remove_sources(struct ti_run *run, const char *output, int64_t *removed,
                                   struct ti_err *err);

/*
 * The manifest of `run` as text; free() it.  *seconds_at is where a number of
 * TI_SECONDS_BYTES characters stands that tells how long the gathering took,
 * which ti_bundle_finish() fills in when it knows.  NULL when memory is short.
 */
#define TI_SECONDS_BYTES 25
char *ti_manifest_text(const struct ti_run *run, size_t *bytes, size_t *seconds_at);

/* Numbers above INT64_MAX, which JSON readers refuse, become strings. */
json_t *ti_json_u64(uint64_t v);

#endif
