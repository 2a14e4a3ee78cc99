/*
 * A hash table from keys of four integers to indices: keys are numbered 0, 1,
 * 2, ... in the order they are added, and what belongs to a key lives in an
 * array of the caller's, at that index.  Keys are never removed one by one.
 */
#ifndef TI_MAP_H
#define TI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ti_map {
    int64_t (*key)[4]; /* by index */
    size_t n, cap;
    uint32_t *slot; /* index + 1, or 0 */
    size_t nslots;
};

/* Index of a key, or -1. */
int64_t ti_map_find(const struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d);

/* Index of a key, added if it is new (then index == the n of before).  Runs out
 * of memory by ending the program, see ti_grow(). */
int64_t ti_map_add(struct ti_map *map, int64_t a, int64_t b, int64_t c, int64_t d);

/* Forget all keys, keep the memory. */
void ti_map_clear(struct ti_map *map);
void ti_map_free(struct ti_map *map);

/*
 * Room for at least `n` elements of `size` bytes in an array that has `*cap`;
 * new room is zeroed.  These tables are small beside the traces; a machine
 * without memory for them ends the program with a message and TI_ERR_IO.
 */
void *ti_grow(void *array, size_t *cap, size_t n, size_t size);

#endif
