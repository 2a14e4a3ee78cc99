/*
 * Linear equations with integers, of a rule's constants; inside of the search for rules (rule.c).
 */
#ifndef TI_EXTRAPOLATE_EQUATIONS_H
#define TI_EXTRAPOLATE_EQUATIONS_H

#include "extrapolate/rule.h"

#define TI_UNKNOWNS (TI_RULE_TERMS + 1)

typedef __int128 ti__wide;

/* A system in the making: rows of the reduced form, each with a pivot.  Set `unknowns` only. */
struct ti__equations {
    int unknowns, rank;
    ti__wide row[TI_UNKNOWNS][TI_UNKNOWNS + 1];
    int pivot[TI_UNKNOWNS];
};

/* Add an equation; false if it contradicts the others, or numbers become too large. */
bool ti__equations_add(struct ti__equations *s, const ti__wide *equation);

/* Solve them: the unknowns are out[i] / *d.  All must have a pivot. */
bool ti__equations_solve(const struct ti__equations *s, int64_t *out, int64_t *d);

#endif
