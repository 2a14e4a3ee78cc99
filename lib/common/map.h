/*
 * A hash table that gives each key, of four integers, an index.  Keys are numbered 0, 1, 2, ... in
 * the order in which they are added.  The caller keeps the values in an array of its own, at these
 * indices.  Single keys cannot be removed.  A zeroed struct is an empty map.
 */
#ifndef TI_COMMON_MAP_H
#define TI_COMMON_MAP_H

#include <stddef.h>
#include <stdint.h>

struct ti_map {
    int64_t (*key)[4]; /* by index */
    size_t n, cap;
    uint32_t *slot; /* index + 1; 0: empty */
    size_t nslots;
};

/* Index of a key; -1 if it is not there. */
int64_t ti_map_find(const struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d);

/* Index of a key, which is added if it is new: its index is then the former map->n.  Ends the
 * program when memory is short, as ti_grow() does. */
int64_t ti_map_add(struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d);

/* Remove all keys, keep the memory. */
void ti_map_clear(struct ti_map *map);
void ti_map_free(struct ti_map *map);

/*
 * Make room for at least `n` elements of `size` bytes in `array`, which has room for *cap.  Returns
 * the array, which may have moved; new elements are zeroed.  The memory of a new large array is not
 * touched.  When memory is short, this prints a message and ends the program with TI_ERR_IO: these
 * tables are small compared with the traces.
 */
void *ti_grow(void *array, size_t *cap, size_t n, size_t size);

#endif
