/*
 * Sets of ranks as JSON: ascending ranges [[FIRST, LAST], ...], so that a million consecutive ranks
 * take as much room as one.
 */
#ifndef TI_RANGES_H
#define TI_RANGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Add a rank, in any order. */
void ti_ranges_add(json_t *list, int64_t rank);
int64_t ti_ranges_count(const json_t *list); /* of ranks */
bool ti_ranges_hold(const json_t *list, int64_t rank);

/* The first (`which` 0) or last (1) rank of range `i`. */
json_int_t ti_ranges_edge(const json_t *list, size_t i, size_t which);

/* "8-11, 14" into buf, cut with "..." if it does not fit; returns buf. */
char *ti_ranges_text(const json_t *list, char *buf, size_t room);

#endif
