/* Patterns: values that differ by their place in a period (quality_columns.h). */
#ifndef TI_FOLD_PATTERN_H
#define TI_FOLD_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "fold/quality_columns.h"

struct ti_pattern {
    uint32_t period, classes;
    uint8_t class[TI_PATTERN_PERIOD]; /* of each phase: phases of a class have similar values */
};

/* Find the period of `n` values, and classes of its phases.  Period and classes are 1 if values do
 * not depend on their place. */
void ti_pattern_find(const uint64_t *value, size_t n, struct ti_pattern *out);

#endif
