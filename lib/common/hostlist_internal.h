/*
 * Shared by the expansion (hostlist.c) and the folding (hostlist_fold.c) of hostlists.
 */
#ifndef TI_COMMON_HOSTLIST_INTERNAL_H
#define TI_COMMON_HOSTLIST_INTERNAL_H

#include "common/hostlist.h"

#define DIGITS_MAX 18 /* of a number */

/* The number that `digits` digits at `p` write. */
static inline int64_t ti__hostlist_number(const char *p, int digits)
{
    int64_t v = 0;

    while (digits--)
        v = 10 * v + (*p++ - '0');
    return v;
}

#endif
