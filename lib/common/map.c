#include "common/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/status.h"

/* `array` points to a pointer of any type; all of these have the same representation. */
bool ti_room_more(void *array, size_t *cap, size_t n, size_t size)
{
    size_t was = *cap, now = was ? was : 4;
    char *old, *more;

    memcpy(&old, array, sizeof old);
    while (now < n)
        now = now <= SIZE_MAX / 2 ? 2 * now : n;
    /* calloc() does not touch the pages of a large array */
    more = old ? reallocarray(old, now, size) : calloc(now, size);
    if (!more)
        return false;
    if (old)
        memset(more + was * size, 0, (now - was) * size);
    memcpy(array, &more, sizeof more);
    *cap = now;
    return true;
}

void ti_no_memory(size_t n, size_t size)
{
    fprintf(stderr, "%s: out of memory: cannot have %zu elements of %zu bytes\n",
            program_invocation_short_name, n, size);
    exit(TI_ERR_IO);
}

void *ti_grow(void *array, size_t *cap, size_t n, size_t size)
{
    if (!ti_room(&array, cap, n, size))
        ti_no_memory(n, size);
    return array;
}

static size_t hash(const int64_t key[4])
{
    uint64_t h = 0;

    for (int i = 0; i < 4; i++) {
        h = (h ^ (uint64_t)key[i]) * UINT64_C(0xbf58476d1ce4e5b9);
        h ^= h >> 29;
    }
    return (size_t)(h ^ h >> 32);
}

/* The slot that holds `key`, or the empty slot where it goes. */
static size_t probe(const struct ti_map *map, const int64_t key[4])
{
    size_t at = hash(key) & (map->nslots - 1);

    while (map->slot[at] && memcmp(map->key[map->slot[at] - 1], key, sizeof map->key[0]) != 0)
        at = (at + 1) & (map->nslots - 1);
    return at;
}

static bool rehash(struct ti_map *map)
{
    size_t want = map->nslots ? 2 * map->nslots : 64;
    uint32_t *slot = calloc(want, sizeof *slot);

    if (!slot)
        return false;
    free(map->slot);
    map->slot = slot;
    map->nslots = want;
    for (size_t i = 0; i < map->n; i++)
        map->slot[probe(map, map->key[i])] = (uint32_t)(i + 1);
    return true;
}

int64_t ti_map_find(const struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t key[4] = {a, b, c, d};

    if (!map->n)
        return -1;
    return (int64_t)map->slot[probe(map, key)] - 1;
}

int64_t ti_map_put(struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t key[4] = {a, b, c, d};
    size_t at;

    if (2 * (map->n + 1) > map->nslots && !rehash(map))
        return -1;
    at = probe(map, key);
    if (!map->slot[at]) {
        if (!TI_ROOM(map->key, &map->cap, map->n + 1))
            return -1;
        memcpy(map->key[map->n], key, sizeof key);
        map->slot[at] = (uint32_t)++map->n;
    }
    return (int64_t)map->slot[at] - 1;
}

int64_t ti_map_add(struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t i = ti_map_put(map, a, b, c, d);

    if (i < 0)
        ti_no_memory(map->n + 1, sizeof map->key[0]);
    return i;
}

void ti_map_clear(struct ti_map *map)
{
    map->n = 0;
    if (map->slot)
        memset(map->slot, 0, map->nslots * sizeof map->slot[0]);
}

void ti_map_free(struct ti_map *map)
{
    free(map->key);
    free(map->slot);
    *map = (struct ti_map){0};
}
