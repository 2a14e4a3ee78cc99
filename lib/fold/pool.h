/*
 * Memory of a fold: pieces of many sizes.  A piece that is given back is taken again for a piece of
 * the same size.  A zeroed struct is an empty pool.  The pool maps memory when it has none left.
 * When that fails, it sets `no_memory`, which stays set until ti_pool_free().
 */
#ifndef TI_FOLD_POOL_H
#define TI_FOLD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TI_POOL_GRAIN 8   /* sizes are multiples of it */
#define TI_POOL_SIZES 128 /* sizes with a list of their own; larger pieces share one */

struct ti_pool_piece;
struct ti_pool_slab;

struct ti_pool {
    uint8_t *at, *end; /* what was not used so far */
    struct ti_pool_piece *free[TI_POOL_SIZES];
    struct ti_pool_slab *slabs; /* that the pool has mapped */
    size_t slab_bytes;
    bool no_memory; /* memory was short: what was made of pieces is not valid */
};

/* A zeroed piece; NULL when memory is short. */
void *ti_pool_take(struct ti_pool *p, size_t bytes);

/* A piece with any content; NULL when memory is short. */
void *ti_pool_take_any(struct ti_pool *p, size_t bytes);

/* Give back a piece of `bytes` bytes.  NULL is fine. */
void ti_pool_give(struct ti_pool *p, void *piece, size_t bytes);

/* Give back everything; the pool is empty then. */
void ti_pool_free(struct ti_pool *p);

#endif
