/*
 * Decisions: the number of ranks whose trace would tell apart what the inputs do not.
 *
 * Only numbers of ranks whose grid follows from those of the inputs are named; at first those that
 * have all kinds of ranks, and new parts along each axis.  Of these, those between the smallest and
 * the largest input come first, since their traces take less than what is there; then larger ones,
 * below the target; then smaller ones, but not for volumes, which these tell little of.
 */
#ifndef TI_EXTRAPOLATE_DECIDE_H
#define TI_EXTRAPOLATE_DECIDE_H

#include "extrapolate/model.h"

/* Each returns 0 if there is no such number. */

/* Two rules of a number of class `class` give different ones. */
int64_t ti_decides_rules(const struct ti_models *m, uint32_t class, const struct ti_rule rule[2]);

/* The constants of a rule follow from `known` without the largest input, and are confirmed. */
int64_t ti_decides_terms(const struct ti_models *m, uint32_t class, const struct ti_rule *rule,
                         const struct ti_known *known, size_t n);

/* Two fits of a cell (-1: of the class) differ by more than share `apart`. */
int64_t ti_decides_fits(const struct ti_models *m, uint32_t class, int64_t cell,
                        const struct ti_fit *a, const struct ti_fit *b, double apart);

/* Ranks of class `class` have another number of parts of an axis than n. */
int64_t ti_decides_parts(const struct ti_models *m, uint32_t class, int axis, int64_t n);

/* One more input of this grid; `smaller`: also one with fewer ranks than all others. */
int64_t ti_decides_any(const struct ti_models *m, bool smaller);

#endif
