/* Functions that all batch systems need. */
#ifndef TI_ACQUIRE_WHERE_BATCH_H
#define TI_ACQUIRE_WHERE_BATCH_H

#include <stdbool.h>

#include "config/sites.h"

/* Whether `node` names this machine. */
bool ti_batch_is_here(const char *node);

/* Append the words of an argv (ends with NULL) to s->via; false when out of memory. */
bool ti_batch_via(struct ti_sites *s, const char *const *words);

#endif
