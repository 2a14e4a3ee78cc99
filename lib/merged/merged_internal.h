/*
 * The parts of the reader of merged traces (merged.h), for its own files:
 *
 *   merged_sections.c   chunks of the file, and the sections in them
 *   merged_index.c      the index: places of chunks, groups of ranks
 *   merged_group.c      groups and their pages
 *   merged.c            records
 *   numbers.c           columns (numbers.h)
 *   view.c              groups, and their numbers as functions (view.h)
 *
 * Limits on what a malicious file can cost.  Memory: the index is one chunk; the cache holds
 * CACHE_BYTES and one chunk more; a group is one section; a record has at most TI_RECORD_MAX bytes.
 * Time: reading a record decompresses each chunk once at most.
 */
#ifndef TI_MERGED_MERGED_INTERNAL_H
#define TI_MERGED_MERGED_INTERNAL_H

#include "merged/layout.h"
#include "merged/merged.h"
#include "merged/numbers.h"

enum { CACHE_CHUNKS = 64, CACHE_BYTES = 128 << 20 };

/* A chunk. */
struct place {
    int64_t at;           /* from the start of the trace */
    uint32_t stored, raw; /* lengths of its payload */
    uint32_t sections;
    uint64_t first; /* number of its first section */
};

/* Consecutive ranks of one group. */
struct run {
    uint32_t first, n;
    uint32_t group;  /* + 1; 0: the ranks are missing */
    uint32_t member; /* number of the first in its group */
};

/* A chunk in memory. */
struct cached {
    const struct place *place; /* NULL: none */
    uint8_t *raw;
    size_t bytes;
    uint32_t *start; /* of each section in raw, and the end */
    uint64_t used;   /* when it was used last */
};

/* A group in memory. */
struct merged_group {
    bool loaded;
    uint32_t number;
    uint8_t *bytes; /* the section, a copy */
    size_t nbytes;
    struct ti_bytes pattern;
    size_t nnumbers, nblobs;
    const uint8_t *kind;   /* of each column */
    uint32_t *params;      /* where they start in bytes */
    const uint8_t *pages;  /* runs of pages, up to the end of bytes; NULL: there are no pages */
    uint64_t first_page;   /* its number */
    uint32_t *paged;       /* paged and private columns, ascending */
    size_t npaged, nfixed; /* nfixed: of these, numbers */
};

/* A page of a group. */
struct page {
    uint64_t number;
    uint32_t first, n;   /* members */
    uint64_t more;       /* pages after it with as many members */
    const uint8_t *next; /* the run of pages after these */
};

struct ti_merged {
    int fd;
    int64_t start, bytes; /* of the trace in fd */
    char *name;
    uint32_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    uint64_t counts[3]; /* of groups, pages, blobs */
    struct place *place;
    size_t nplaces;
    struct run *run;
    size_t nruns;
    struct ti_members *members; /* of each group */
    int64_t nrecords;
    struct cached cache[CACHE_CHUNKS];
    uint64_t clock;
    struct merged_group group; /* the last one */
};

/* ----------------------------------------------------- merged_sections.c -- */

/* Set the error "damaged at byte `at`: `what`"; or that memory is short, if errno is ENOMEM.  Errno
 * is 0 after a chunk or a section was read. */
ti_status ti__merged_damaged(const struct ti_merged *m, int64_t at, struct ti_err *err,
                             const char *what);
ti_status ti__merged_no_memory(const struct ti_merged *m, struct ti_err *err);

/* Read and decompress a chunk: free() *raw. */
ti_status ti__merged_chunk(const struct ti_merged *m, const struct place *place, uint8_t **raw,
                           struct ti_err *err);

/* Give section `number`: it is valid until the next call. */
ti_status ti__merged_section(struct ti_merged *m, uint64_t number, struct ti_bytes *out,
                             struct ti_err *err);

/* "damaged" at the chunk that holds section `number`. */
ti_status ti__merged_section_damaged(const struct ti_merged *m, uint64_t number, struct ti_err *err,
                                     const char *what);
void ti__merged_drop(struct cached *cached);

/* -------------------------------------------------------------- merged.c -- */

/* The run of ranks that has a rank below nranks. */
const struct run *ti__merged_run(const struct ti_merged *m, int64_t rank);

/* -------------------------------------------------------- merged_index.c -- */

ti_status ti__merged_load_index(struct ti_merged *m, struct ti_err *err);

/* -------------------------------------------------------- merged_group.c -- */

/* Read group `number` into *g, which is empty: release it by ti__merged_group_free(). */
ti_status ti__merged_read_group(struct ti_merged *m, uint32_t number, struct merged_group *g,
                                struct ti_err *err);

/* Make group `number` the one in m->group. */
ti_status ti__merged_load_group(struct ti_merged *m, uint32_t number, struct ti_err *err);
void ti__merged_group_free(struct merged_group *g);

/* Advance to the next page of a group, and from a zeroed page to the first.  False: there is
 * none. */
bool ti__merged_next_page(const struct merged_group *g, struct page *page);

/* The page of a member; false: there is none. */
bool ti__merged_find_page(const struct ti_merged *m, uint32_t member, struct page *page);

/*
 * Read member `member` of a page of the present group: the paged numbers go to number[], at their
 * place, the numbers of blobs, or UINT32_MAX, to blob[], private blobs to bytes[], at theirs.  The
 * bytes are valid until the next section is read.
 */
ti_status ti__merged_read_page(struct ti_merged *m, const struct page *page, uint32_t member,
                               int64_t *number, uint32_t *blob, struct ti_bytes *bytes,
                               struct ti_err *err);

/* Read a page of a group: the values of columns `first` to first + n - 1 that lie in pages go to
 * value[], each column at a multiple of `members`; those of blobs are their numbers, or -1. */
ti_status ti__merged_page_values(struct ti_merged *m, const struct merged_group *g,
                                 const struct page *page, size_t first, size_t n, size_t members,
                                 int64_t *value, struct ti_err *err);

#endif
