#include "fold/pool.h"

#include <string.h>
#include <sys/mman.h>

#define SLAB_FIRST (64u << 10)
#define SLAB_MOST  (4u << 20)

struct ti_pool_piece {
    struct ti_pool_piece *next;
    size_t bytes; /* of a large piece only: a small one may have no room for it */
};

struct ti_pool_slab {
    struct ti_pool_slab *next;
    size_t bytes;
};

static size_t whole(size_t bytes)
{
    return (bytes + TI_POOL_GRAIN - 1) / TI_POOL_GRAIN * TI_POOL_GRAIN;
}

static bool is_large(size_t bytes)
{
    return bytes / TI_POOL_GRAIN >= TI_POOL_SIZES;
}

/* The list of free pieces of a size.  Large ones of all sizes are in list 0. */
static struct ti_pool_piece **list_of(struct ti_pool *p, size_t bytes)
{
    return &p->free[is_large(bytes) ? 0 : bytes / TI_POOL_GRAIN];
}

/* Where a free piece of that size is linked, or NULL is, if there is none. */
static struct ti_pool_piece **find(struct ti_pool *p, size_t bytes)
{
    struct ti_pool_piece **at = list_of(p, bytes);

    while (is_large(bytes) && *at && (*at)->bytes != bytes)
        at = &(*at)->next;
    return at;
}

/* Map memory for at least a piece of that size; false when memory is short. */
static bool more(struct ti_pool *p, size_t bytes)
{
    struct ti_pool_slab *slab;

    bytes += sizeof *slab;
    p->slab_bytes = p->slab_bytes ? 2 * p->slab_bytes : SLAB_FIRST;
    if (p->slab_bytes > SLAB_MOST)
        p->slab_bytes = SLAB_MOST;
    if (bytes < p->slab_bytes)
        bytes = p->slab_bytes;
    slab = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) {
        p->no_memory = true;
        return false;
    }
    *slab = (struct ti_pool_slab){p->slabs, bytes};
    p->slabs = slab;
    p->at = (uint8_t *)(slab + 1);
    p->end = (uint8_t *)slab + bytes;
    return true;
}

void *ti_pool_take_any(struct ti_pool *p, size_t bytes)
{
    struct ti_pool_piece **at, *piece;

    bytes = whole(bytes);
    at = find(p, bytes);
    piece = *at;
    if (piece) {
        *at = piece->next;
        return piece;
    }
    if (bytes > (size_t)(p->end - p->at) && !more(p, bytes))
        return NULL;
    piece = (void *)p->at;
    p->at += bytes;
    return piece;
}

void *ti_pool_take(struct ti_pool *p, size_t bytes)
{
    void *piece = ti_pool_take_any(p, bytes);

    return piece ? memset(piece, 0, bytes) : NULL;
}

void ti_pool_give(struct ti_pool *p, void *piece, size_t bytes)
{
    struct ti_pool_piece *free = piece, **list;

    if (!piece || bytes == 0)
        return;
    bytes = whole(bytes);
    list = list_of(p, bytes);
    free->next = *list;
    if (is_large(bytes))
        free->bytes = bytes;
    *list = free;
}

void ti_pool_free(struct ti_pool *p)
{
    for (struct ti_pool_slab *slab = p->slabs, *next; slab; slab = next) {
        next = slab->next;
        munmap(slab, slab->bytes);
    }
    memset(p, 0, sizeof *p);
}
