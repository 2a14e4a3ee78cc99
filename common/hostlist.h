/*
 * Hostlists: "graphene-[1-144]", "n[01-16,20]-ib", "a,b[1-2][x,y]"; what Slurm
 * and clush call a nodeset.
 *
 * Brackets hold numbers and ranges, whose width is kept (n[08-10] is n08, n09,
 * n10), or words; several brackets multiply, the last runs fastest.
 */
#ifndef TI_HOSTLIST_H
#define TI_HOSTLIST_H

#include <stdint.h>

#include "common/err.h"

#define TI_HOSTLIST_MAX 1000000 /* names in one list */

/*
 * Expand `text`, in the order in which it is written.  *names are *n strings in
 * one block, released by a single free().  TI_ERR_INPUT says what is wrong at which column of
 * `text` (from 1), which also goes to *column unless that is NULL.
 */
ti_status ti_hostlist_expand(const char *text, char ***names, int64_t *n, int *column,
                             struct ti_err *err);

/* The shortest text we know for `names`, in their order; free() it.  NULL when
 * memory is short. */
char *ti_hostlist_fold(const char *const *names, int64_t n);

#endif
