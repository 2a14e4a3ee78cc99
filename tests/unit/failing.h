/*
 * Memory that is short.  A program that is linked with failing.c has malloc() and its like, and
 * mmap(), from there, also in the libraries that it uses.  Between failing_begin() and
 * failing_end(), allocations are counted and may fail; so may those of a test that asks
 * failing_now() itself.
 */
#ifndef TI_TESTS_UNIT_FAILING_H
#define TI_TESTS_UNIT_FAILING_H

#include <stdbool.h>
#include <stdint.h>

/* Let allocation number `at`, from 0, fail, and all later ones too unless `once`.  -1: none. */
void failing_begin(int64_t at, bool once);

/* Returns how many allocations there were.  *held, unless it is NULL: how many of them were not
 * freed. */
int64_t failing_end(int64_t *held);

/* Count an allocation, if it is between these two.  Returns whether it is to fail. */
bool failing_now(void);

#endif
