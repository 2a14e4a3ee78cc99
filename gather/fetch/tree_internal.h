/* Shared by tree.c and tree_cost.c. */
#ifndef TI_GATHER_FETCH_TREE_INTERNAL_H
#define TI_GATHER_FETCH_TREE_INTERNAL_H

#include <stdint.h>

/* Counting sort: `order` gets the indices below n by key, without negative keys.  first[k] is where
 * those of key k begin, first[groups] their end. */
void ti__group(const int64_t *key, int64_t n, int64_t groups, int64_t *order, int64_t *first);

#endif
