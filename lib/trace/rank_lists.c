#include <stdlib.h>
#include <string.h>

#include "common/crc32c.h"
#include "trace/reader_internal.h"

/* A set of lists of ranks: a hash table with open addressing.  The encoding of a list in a trace is
 * the key. */
struct ti_rank_lists {
    struct list {
        int32_t *rank; /* NULL: a free slot */
        int64_t n;
        uint8_t *key;
        size_t key_bytes;
    } * slot;
    size_t nslots, used;
};

struct ti_rank_lists *ti_rank_lists_new(void)
{
    return calloc(1, sizeof(struct ti_rank_lists));
}

void ti_rank_lists_free(struct ti_rank_lists *lists)
{
    for (size_t i = 0; lists && i < lists->nslots; i++) {
        free(lists->slot[i].rank);
        free(lists->slot[i].key);
    }
    if (lists)
        free(lists->slot);
    free(lists);
}

/* The slot of a list, or the free slot where it goes. */
static struct list *slot_of(struct list *slot, size_t nslots, const uint8_t *key, size_t bytes,
                            int64_t n)
{
    size_t i = (size_t)ti_crc32c((uint32_t)n, key, bytes) & (nslots - 1);

    while (slot[i].rank &&
           (slot[i].n != n || slot[i].key_bytes != bytes || memcmp(slot[i].key, key, bytes) != 0))
        i = (i + 1) & (nslots - 1);
    return &slot[i];
}

static bool double_slots(struct ti_rank_lists *lists)
{
    size_t n = lists->nslots ? 2 * lists->nslots : 64;
    struct list *slot = calloc(n, sizeof *slot), *old = lists->slot;

    if (!slot)
        return false;
    for (size_t i = 0; i < lists->nslots; i++)
        if (old[i].rank)
            *slot_of(slot, n, old[i].key, old[i].key_bytes, old[i].n) = old[i];
    free(old);
    lists->slot = slot;
    lists->nslots = n;
    return true;
}

const int32_t *ti__rank_lists_find(const struct ti_rank_lists *lists, const uint8_t *key,
                                   size_t bytes, int64_t n)
{
    return lists->nslots ? slot_of(lists->slot, lists->nslots, key, bytes, n)->rank : NULL;
}

bool ti__rank_lists_add(struct ti_rank_lists *lists, const uint8_t *key, size_t bytes,
                        int32_t *list, int64_t n)
{
    uint8_t *copy;

    if (2 * (lists->used + 1) > lists->nslots && !double_slots(lists))
        return false;
    copy = malloc(bytes + 1);
    if (!copy)
        return false;
    memcpy(copy, key, bytes);
    *slot_of(lists->slot, lists->nslots, key, bytes, n) = (struct list){list, n, copy, bytes};
    lists->used++;
    return true;
}
