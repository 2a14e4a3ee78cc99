/*
 * Hostlists: "graphene-[1-144]", "n[01-16,20]-ib", "a,b[1-2][x,y]"; what Slurm
 * and clush call a nodeset.
 *
 * Brackets hold numbers and ranges, whose width is kept (n[08-10] is n08, n09,
 * n10), or words; several brackets multiply, the last runs fastest.  Blanks may
 * stand around commas.  Names are of letters, digits, '.', '_' and '-', which
 * is not the first.
 */
#ifndef TI_HOSTLIST_H
#define TI_HOSTLIST_H

#include <stdint.h>

#include "common/err.h"

#define TI_HOSTLIST_MAX  1000000 /* names in one list */
#define TI_HOST_NAME_MAX 255     /* bytes of a name */

/*
 * Expand `text`, in the order in which it is written.  *names are *n strings in
 * one block, released by a single free().  TI_ERR_INPUT says what is wrong at which column of
 * `text` (from 1), which also goes to *column unless that is NULL.  The same name may
 * come twice.
 */
ti_status ti_hostlist_expand(const char *text, char ***names, int64_t *n, int *column,
                             struct ti_err *err);

/* The same for those who know where `text` stands: the sentence does not have the
 * column, and *at, unless NULL, is an array (free() it) of the columns of the elements
 * that the names come from. */
ti_status ti__hostlist_expand(const char *text, char ***names, int **at, int64_t *n, int *column,
                              struct ti_err *err);

/* A short text for `names`, such as above, that expands to them in their order; free()
 * it.  NULL when memory is short. */
char *ti_hostlist_fold(const char *const *names, int64_t n);

#endif
