/*
 * Hostlists: "graphene-[1-144]", "n[01-16,20]-ib", "a,b[1-2][x,y]".  Slurm and clush call them
 * nodesets.
 *
 * Brackets hold words, numbers and ranges.  Ranges keep the width of their numbers: n[08-10] is
 * n08, n09, n10.  Several brackets multiply, and the last one varies fastest.  Blanks may stand
 * around commas.  A name consists of letters, digits, '.', '_' and '-', and does not begin with
 * '-'.
 */
#ifndef TI_COMMON_HOSTLIST_H
#define TI_COMMON_HOSTLIST_H

#include <stdint.h>

#include "common/err.h"

#define TI_HOSTLIST_MAX  1000000 /* names in one list */
#define TI_HOST_NAME_MAX 255     /* bytes of a name */

/*
 * Expand `text`, in the order in which it is written; names may repeat.  *names is an array of *n
 * strings in one block: release it with a single free().  TI_ERR_INPUT: the sentence says what is
 * wrong at which column of `text` (from 1).  The column also goes to *column unless that is NULL.
 */
ti_status ti_hostlist_expand(const char *text, char ***names, int64_t *n, int *column,
                             struct ti_err *err);

/* The same for callers that add the position in a file themselves: the sentence lacks the column.
 * *at, unless NULL, becomes an array (free() it) with the column of each name's element. */
ti_status ti__hostlist_expand(const char *text, char ***names, int **at, int64_t *n, int *column,
                              struct ti_err *err);

/* The reverse: a short hostlist that expands to `names` in their order; free() it.  NULL when
 * memory is short. */
char *ti_hostlist_fold(const char *const *names, int64_t n);

#endif
