/*
 * The parts of a merger (merger.h), for its own files:
 *
 *   merger.c      records are added, groups sorted and written
 *   blobs.c       the different blobs, in a temporary file
 *   fit.c         columns become functions (numbers.h)
 *   groups.c      groups and pages become sections
 *   sections.c    sections become chunks, and these a file
 */
#ifndef TI_MERGED_MERGER_INTERNAL_H
#define TI_MERGED_MERGER_INTERNAL_H

#include "common/ranges.h"
#include "event/buffer.h"
#include "merged/layout.h"
#include "merged/merger.h"
#include "merged/numbers.h"

#define PRIVATE UINT32_MAX /* the number of a blob that is no section */

/* --------------------------------------------------------------- blobs.c -- */

struct blob {
    uint64_t at; /* in the file */
    uint32_t uses;
    uint32_t number; /* as a section; set while a file is written */
};

struct blobs {
    int fd;
    uint64_t bytes;           /* in the file and in `pending` */
    struct ti_buffer pending; /* the last ones */
    struct ti_map map;        /* two words of its SHA-256, its length */
    struct blob *blob;        /* at the map's index */
    size_t cap;
};

/* A key for a table: equal bytes have the same, different bytes have others. */
void ti__bytes_key(const struct ti_bytes *bytes, int64_t key[2]);

ti_status ti__blobs_open(struct blobs *b, const char *folder, struct ti_err *err);

/* Index of a blob, which is stored if it is new.  Counts a use. */
ti_status ti__blobs_add(struct blobs *b, const struct ti_bytes *bytes, uint32_t *index,
                        struct ti_err *err);
size_t ti__blob_bytes(const struct blobs *b, uint32_t index);

/* Append a blob to `out`. */
ti_status ti__blobs_put(struct blobs *b, uint32_t index, struct ti_buffer *out, struct ti_err *err);
void ti__blobs_close(struct blobs *b);

/* ------------------------------------------------------------ sections.c -- */

struct sections {
    int fd;
    const char *name;
    uint64_t n;                     /* sections so far */
    uint64_t first;                 /* number of the first in the chunk being filled */
    struct ti_buffer lengths, data; /* of that chunk */
    uint64_t nchunks;
    struct ti_buffer chunks; /* for the index */
};

ti_status ti__sections_begin(struct sections *s, uint32_t nranks,
                             const uint8_t run_id[TI_RUN_ID_BYTES], struct ti_err *err);
ti_status ti__sections_put(struct sections *s, const struct ti_buffer *section, struct ti_err *err);

/* Write what is left, the index and the end.  `ranks` is the index behind the chunks. */
ti_status ti__sections_end(struct sections *s, const uint64_t counts[3],
                           const struct ti_buffer *ranks, struct ti_err *err);
void ti__sections_free(struct sections *s);

/* -------------------------------------------------------------- merger.c -- */

struct member {
    uint32_t rank;
    uint32_t *blob;   /* indices */
    int64_t number[]; /* then the indices */
};

struct group {
    struct ti_bytes pattern;
    uint32_t nnumbers, nblobs;
    struct member **member;
    size_t n, cap;
    /* while a file is written */
    uint8_t *kind;          /* of each column */
    struct ti_buffer pages; /* u32 members in each */
};

struct ti_merger {
    uint32_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    struct ti_ranges ranks;
    uint64_t count;
    struct blobs blobs;
    struct ti_map patterns; /* two words of its SHA-256, numbers, blobs: index of its group */
    struct group *group;
    size_t groups_cap;
};

/* -------------------------------------------------------------- groups.c -- */

/* Find functions and pages of a group, and append the group as a section to `out`.  `first_page` is
 * the number of its first page. */
void ti__group_put(struct ti_merger *m, struct group *g, uint64_t first_page,
                   struct ti_buffer *out);

/* Append a page to `out`, with members `first` to first + n - 1. */
ti_status ti__page_put(struct ti_merger *m, const struct group *g, size_t first, size_t n,
                       struct ti_buffer *out, struct ti_err *err);

#endif
