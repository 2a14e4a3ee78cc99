#include <stdlib.h>
#include <string.h>

#include "common/crc32c.h"
#include "common/map.h"
#include "trace/reader_internal.h"

/* A set of lists of ranks: a hash table with open addressing. */
struct ti_rank_lists {
    struct list {
        int32_t *rank; /* NULL: a free slot */
        int64_t n;
    } * slot;
    size_t nslots, used;
};

struct ti_rank_lists *ti_rank_lists_new(void)
{
    return calloc(1, sizeof(struct ti_rank_lists));
}

void ti_rank_lists_free(struct ti_rank_lists *lists)
{
    for (size_t i = 0; lists && i < lists->nslots; i++)
        free(lists->slot[i].rank);
    if (lists)
        free(lists->slot);
    free(lists);
}

/* The slot of a list, or the free slot where it goes. */
static struct list *slot_of(struct list *slot, size_t nslots, const int32_t *rank, int64_t n)
{
    uint64_t hash = ti_crc32c(0, rank, (size_t)n * sizeof *rank);
    size_t i = (size_t)hash & (nslots - 1);

    while (slot[i].rank && (slot[i].n != n || memcmp(slot[i].rank, rank, (size_t)n * sizeof *rank)))
        i = (i + 1) & (nslots - 1);
    return &slot[i];
}

static void double_slots(struct ti_rank_lists *lists)
{
    size_t n = lists->nslots ? 2 * lists->nslots : 64, cap = 0;
    struct list *slot = ti_grow(NULL, &cap, n, sizeof *slot);

    for (size_t i = 0; i < lists->nslots; i++)
        if (lists->slot[i].rank)
            *slot_of(slot, n, lists->slot[i].rank, lists->slot[i].n) = lists->slot[i];
    free(lists->slot);
    lists->slot = slot;
    lists->nslots = n;
}

int32_t *ti__rank_lists_share(struct ti_rank_lists *lists, int32_t *list, int64_t n)
{
    struct list *slot;

    if (2 * (lists->used + 1) > lists->nslots)
        double_slots(lists);
    slot = slot_of(lists->slot, lists->nslots, list, n);
    if (slot->rank) {
        free(list);
    } else {
        *slot = (struct list){list, n};
        lists->used++;
    }
    return slot->rank;
}
