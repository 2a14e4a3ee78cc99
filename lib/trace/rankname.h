/*
 * Rank files in run directories and bundles: their names, what tells that a file is one, and lists
 * of ranks as text.  A rank file is "rank-000042.ti".
 */
#ifndef TI_TRACE_RANKNAME_H
#define TI_TRACE_RANKNAME_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "trace/trace.h"

#define TI_RANK_NAME_BYTES 32
#define TI_MERGED_NAME     "ranks.ti" /* the merged trace */
#define TI_MANIFEST_NAME   "MANIFEST.json"

/* The name of `rank`'s file, into buf; returns buf. */
static inline char *ti_rank_name(int64_t rank, char buf[TI_RANK_NAME_BYTES])
{
    snprintf(buf, TI_RANK_NAME_BYTES, "rank-%06" PRId64 ".ti", rank);
    return buf;
}

/* The rank in a file name; -1 if it is not the name of a rank file.  Any number of digits is
 * accepted, so that callers notice that rank-7.ti and rank-000007.ti claim the same rank. */
static inline int64_t ti_rank_of_name(const char *name)
{
    int64_t rank = 0;

    if (strncmp(name, "rank-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    for (name += 5; *name >= '0' && *name <= '9'; name++) {
        rank = rank * 10 + (*name - '0');
        if (rank >= TI_RANKS_MAX)
            return -1;
    }
    return strcmp(name, ".ti") == 0 ? rank : -1;
}

/* The same for names that ti_rank_name() makes only. */
int64_t ti_rank_of_own_name(const char *name);

/* Whether an open file begins like a trace; the run id in its header, as text. */
bool ti_rank_file_run(int fd, char id[TI_RUN_ID_TEXT]);

/* Whether an open file, of that many bytes, ends like a complete trace. */
bool ti_rank_file_ends(int fd, int64_t bytes);

/*
 * Write ascending ranks as "0-3, 7, 9-11" into buf; returns buf.  Cut with "..." if they do not
 * fit.
 */
char *ti_ranks_text(const int64_t *rank, int64_t n, char *buf, size_t buf_bytes);

#endif
