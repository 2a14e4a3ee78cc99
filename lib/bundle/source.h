/*
 * A source of traces: a bundle, the directory of a run, a merged trace, or one rank file.  Tools
 * that read traces accept any of them.
 *
 * A bundle is a zip archive (zip64, members stored) with rank-NNNNNN.ti for each rank and, as its
 * last member, MANIFEST.json.  A rank is located through the central directory and read in place.
 * A bundle or run directory may hold a merged trace, TI_MERGED_NAME, instead of rank files.
 *
 * Opening readers of one source is for one thread at a time.
 */
#ifndef TI_BUNDLE_SOURCE_H
#define TI_BUNDLE_SOURCE_H

#include <jansson.h>

#include "trace/reader.h"

struct ti_source;
struct ti_record;

/*
 * Open `path`.  A directory must hold rank-*.ti or a merged trace; having both, or two files that
 * claim the same rank, is an error that names both.  TI_ERR_IO if it cannot be read, TI_ERR_INPUT
 * if it is no source or a damaged bundle.
 */
ti_status ti_source_open(const char *path, struct ti_source **out, struct ti_err *err);
void ti_source_close(struct ti_source *s); /* NULL is fine */

const char *ti_source_path(const struct ti_source *s);

/* "bundle", "run directory", "rank file" or "merged trace". */
const char *ti_source_kind(const struct ti_source *s);

/* The merged trace that has the ranks, alone or in a bundle or run directory; it belongs to the
 * source.  NULL: each rank has a file. */
struct ti_merged;
struct ti_merged *ti_source_merged(const struct ti_source *s);

/* Number of ranks of the run, present or not: from a trace's header, else from the manifest. */
int64_t ti_source_nranks(const struct ti_source *s);

/* The id of the run, TI_RUN_ID_BYTES bytes; NULL if no trace has one that can be read. */
const uint8_t *ti_source_run_id(const struct ti_source *s);

/* Of a rank's trace: whether it is here; its stored bytes, -1 if it is absent or in a merged trace;
 * the name of its file or member. */
bool ti_source_has(const struct ti_source *s, int64_t rank);
int64_t ti_source_bytes(const struct ti_source *s, int64_t rank);
const char *ti_source_name(const struct ti_source *s, int64_t rank);

/* Number of ranks whose traces are here. */
int64_t ti_source_count(const struct ti_source *s);

/* Stored bytes of all traces. */
int64_t ti_source_size(const struct ti_source *s);

/* Open a reader of one rank's trace; close it before the source.  TI_ERR_INPUT "rank 7 is missing"
 * if it is not here. */
ti_status ti_source_reader(struct ti_source *s, int64_t rank, struct ti_reader **out,
                           struct ti_err *err);

/* The record of a rank (fold/record.h): the stored one of a merged trace, unless that is
 * of better quality than `q` (merged/encode.h) asks for; else its trace is read and
 * encoded. NULL: exact.  Release it by ti_record_free().  Errors as ti_source_reader(), and
 * TI_ERR_INPUT if the trace is damaged. */
struct ti_qualities;
ti_status ti_source_record(struct ti_source *s, int64_t rank, const struct ti_qualities *q,
                           struct ti_record *out, struct ti_err *err);

/* Whether the trace of `r` has the quality that `q` asks for, or a lower one, so that its record
 * need not be encoded again.  NULL: exact. */
bool ti_source_is_enough(const struct ti_reader *r, const struct ti_qualities *q);

/* Whether that is so only because the trace of `r` is a stored record of too many events to be
 * encoded again. */
#define TI_REENCODE_MOST (UINT64_C(1) << 30)
bool ti_source_is_too_long(const struct ti_reader *r, const struct ti_qualities *q);

/* Check what reading all ranks does not: all of a merged trace, and the headers of a bundle.
 * TI_ERR_INPUT, TI_ERR_IO. */
ti_status ti_source_verify(struct ti_source *s, struct ti_err *err);

/* Let readers that are opened from now on draw values by this seed (ti_reader_seed()). */
void ti_source_seed(struct ti_source *s, uint64_t seed);

/* Let readers that are opened from now on share their lists of ranks (ti_reader_share()), for a
 * program that has readers of many ranks open at once.  TI_ERR_IO: no memory. */
ti_status ti_source_share_lists(struct ti_source *s, struct ti_err *err);

/* MANIFEST.json of a bundle, or RUN.json of a run directory; borrowed.  NULL if there is none, or
 * none that can be used; if memory is short, ti_source_manifest_status() tells.  Parsed at the
 * first call. */
const json_t *ti_source_manifest(const struct ti_source *s);

/* Why the RUN.json of a run directory cannot be used: TI_ERR_INPUT or TI_ERR_IO, as in
 * bundle/runjson.h; or that memory is short, TI_ERR_IO, also of a bundle.  TI_OK if it can be used
 * or is absent. */
ti_status ti_source_manifest_status(const struct ti_source *s, struct ti_err *err);

/* Read the text of RUN.json or MANIFEST.json, unparsed: free() *text, which is NULL if the source
 * has no such file.  TI_ERR_INPUT, TI_ERR_IO. */
ti_status ti_source_text(const struct ti_source *s, const char *name, char **text, size_t *bytes,
                         struct ti_err *err);

#endif
