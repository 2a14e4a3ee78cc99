/*
 * Writing a bundle from a run directory that has been checked.
 */
#ifndef TI_BUNDLE_H
#define TI_BUNDLE_H

#include "gather/run.h"

#define TI_BUNDLE_FORMAT  "tiara-bundle"
#define TI_BUNDLE_VERSION 1

/*
 * Write the bundle `output`: MANIFEST.json, then every rank of `run` that can be
 * gathered, in order.  It grows as "OUTPUT.part", is read back, brought to the
 * disk and renamed; whatever goes wrong, no OUTPUT that is not whole appears,
 * and OUTPUT.part is removed.  An existing OUTPUT is replaced only with
 * `force`, and only if ti_output_check() allows it.
 *
 * A trace that changed since ti_run_check() is an error (its CRC is computed
 * again on the way).  *bytes is the bundle's size.  Memory: one block, the
 * manifest, the central directory.
 */
ti_status ti_bundle_write(struct ti_run *run, const char *output, bool force, int64_t *bytes,
                          struct ti_err *err);

/*
 * Read the whole of bundle `output` back and compare it with `run`, then delete
 * those files of `run` that are in it, complete and unchanged.  *removed is
 * their number.
 */
ti_status ti_bundle_remove_sources(struct ti_run *run, const char *output, int64_t *removed,
                                   struct ti_err *err);

/*
 * The manifest of `run` as text; free() it.  *seconds_at is where a number of
 * TI_SECONDS_BYTES characters stands that tells how long the gathering took,
 * which ti_bundle_write() fills in when it knows.  NULL when memory is short.
 */
#define TI_SECONDS_BYTES 25
char *ti_manifest_text(const struct ti_run *run, size_t *bytes, size_t *seconds_at);

/* "missing" and "incomplete", as in the manifest; NULL when memory is short. */
json_t *ti_manifest_missing(const struct ti_run *run);
json_t *ti_manifest_incomplete(const struct ti_run *run);

/* Numbers above INT64_MAX, which JSON readers refuse, become strings. */
json_t *ti_json_u64(uint64_t v);

#endif
