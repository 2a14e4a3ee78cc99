/*
 * A hash table that gives each key, of four integers, an index.  Keys are numbered 0, 1, 2, ... in
 * the order in which they are added.  The caller keeps the values in an array of its own, at these
 * indices.  Single keys cannot be removed.  A zeroed struct is an empty map.
 */
#ifndef TI_COMMON_MAP_H
#define TI_COMMON_MAP_H

#include <stdbool.h>
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

/* Index of a key, which is added if it is new: its index is then the former map->n.  -1 when memory
 * is short; the map is as before then.  ti_map_add() ends the program instead, as ti_grow() does.
 */
int64_t ti_map_put(struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d);
int64_t ti_map_add(struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d);

/* Remove all keys, keep the memory. */
void ti_map_clear(struct ti_map *map);
void ti_map_free(struct ti_map *map);

/*
 * TI_ROOM(array, cap, n): make room for at least `n` elements in `array`, which has room for *cap.
 * The array may move; new elements are zeroed.  The memory of a new large array is not touched.
 * False when memory is short: errno is ENOMEM, and the array is as before.
 */
#define TI_ROOM(array, cap, n) ti_room(&(array), (cap), (n), sizeof *(array))

bool ti_room_more(void *array, size_t *cap, size_t n, size_t size);
static inline bool ti_room(void *array, size_t *cap, size_t n, size_t size)
{
    return n <= *cap || ti_room_more(array, cap, n, size);
}

/*
 * The same for code that only tools use.  Returns the array.  When memory is short, this prints a
 * message and ends the program with TI_ERR_IO.  Code that reads traces must not call it
 * (HACKING.md).
 */
void *ti_grow(void *array, size_t *cap, size_t n, size_t size);

/* End the program so. */
_Noreturn void ti_no_memory(size_t n, size_t size);

#endif
