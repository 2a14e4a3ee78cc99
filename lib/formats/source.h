/*
 * A source of traces: a bundle, the directory of a run, or one rank file; tools
 * that read traces take any of them.
 *
 * A bundle is a zip archive (zip64, members stored): MANIFEST.json first, then
 * rank-NNNNNN.ti for each rank.  One rank is found through the central
 * directory and read in place, without reading the others.
 */
#ifndef TI_SOURCE_H
#define TI_SOURCE_H

#include <jansson.h>

#include "formats/reader.h"

struct ti_source;

/*
 * Open.  TI_ERR_IO if it cannot be read, TI_ERR_INPUT if it is none of the
 * three or a damaged bundle.  A directory is taken when it holds rank-*.ti; two
 * files that claim one rank are an error that names both.
 */
ti_status ti_source_open(const char *path, struct ti_source **out, struct ti_err *err);
void ti_source_close(struct ti_source *s); /* NULL is fine */

const char *ti_source_path(const struct ti_source *s);

/* "bundle", "run directory" or "rank file". */
const char *ti_source_kind(const struct ti_source *s);

/* Ranks the run had (from the manifest, else from the traces' headers). */
int64_t ti_source_nranks(const struct ti_source *s);

/* Whether rank's trace is here; its stored bytes (-1 if not); its name. */
bool ti_source_has(const struct ti_source *s, int64_t rank);
int64_t ti_source_bytes(const struct ti_source *s, int64_t rank);
const char *ti_source_name(const struct ti_source *s, int64_t rank);

/* A reader of one rank's trace; close it before the source.  TI_ERR_INPUT "rank
 * 7 is missing" if it is not here. */
ti_status ti_source_reader(struct ti_source *s, int64_t rank, struct ti_reader **out,
                           struct ti_err *err);

/* Readers opened from now on share their lists of ranks, which are freed with the source: for a
 * program that has the readers of many ranks open at once.  TI_ERR_IO: no memory. */
ti_status ti_source_share_lists(struct ti_source *s, struct ti_err *err);

/* MANIFEST.json of a bundle or RUN.json of a run directory, borrowed; NULL if
 * there is none that can be used. */
const json_t *ti_source_manifest(const struct ti_source *s);

/* TI_OK, also if there is none; else why that of a run directory cannot be used, as
 * formats/runjson.h tells it: TI_ERR_INPUT or TI_ERR_IO. */
ti_status ti_source_manifest_status(const struct ti_source *s, struct ti_err *err);

#endif
