/*
 * The parts of a source (bundle/source.h), for its own files:
 *
 *   source.c           opens a source, answers questions, opens readers
 *   source_kinds.c     finds the traces of each kind of source
 *   source_manifest.c  RUN.json and MANIFEST.json
 *   source_record.c    records of ranks.  It needs the encoder, so only programs that merge link it
 */
#ifndef TI_BUNDLE_SOURCE_INTERNAL_H
#define TI_BUNDLE_SOURCE_INTERNAL_H

#include "bundle/source.h"
#include "bundle/zip.h"
#include "merged/merged.h"
#include "trace/rankname.h"

enum source_kind { BUNDLE, RUN_DIRECTORY, RANK_FILE, MERGED_TRACE };

struct entry {
    int64_t rank;
    int64_t member;   /* of the bundle */
    const char *name; /* owned by the source, or by the zip for a bundle */
};

/* Parsed on demand: in a large run, this takes longer than reading one rank. */
struct manifest {
    bool tried;
    json_t *json;
    ti_status st; /* of reading RUN.json; why: its error */
    struct ti_err why;
};

struct ti_source {
    enum source_kind kind;
    char *path;
    int fd; /* of the bundle, directory or file */
    struct ti_zip *zip;
    struct entry *entry; /* by rank; none with a merged trace */
    int64_t nentries;
    size_t entries_cap;
    struct ti_merged *merged; /* NULL: each rank has a file or member */
    char *merged_path;        /* as messages call it */
    int64_t merged_bytes;
    int merged_fd;           /* of a run directory's */
    int64_t manifest_member; /* of the bundle; -1: none */
    int64_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    const char *run_name; /* name of the trace that run_id is from; NULL: no run_id */
    struct manifest *manifest;
    struct ti_rank_lists *lists; /* shared by the readers; NULL: each reader has its own */
    uint64_t seed;               /* of the readers */
};

ti_status ti__source_no_memory(const struct ti_source *s, struct ti_err *err);

static inline const char *ti__base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Open s->path, and find its traces: s->entry, or s->merged. */
ti_status ti__source_find(struct ti_source *s, struct ti_err *err);

void ti__source_manifest_free(struct manifest *m);

#endif
