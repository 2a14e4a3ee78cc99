/*
 * Inside of rules: rule.c finds them, rule_value.c gives their numbers, equations.c finds the
 * constants of a sum, rule_text.c has the words.
 */
#ifndef TI_EXTRAPOLATE_RULE_INTERNAL_H
#define TI_EXTRAPOLATE_RULE_INTERNAL_H

#include "extrapolate/rule.h"

#define TI_UNKNOWNS (TI_RULE_TERMS + 1)

typedef __int128 ti__wide;

#define TI_RULE_HUGE (INT64_C(1) << 62) /* no rule gives a number that is as large */

bool ti__is_power(int64_t v); /* of two */

/* The value of a term at a place, and whether it has none: a logarithm that is not rounded, or a
 * power that is too large. */
int64_t ti__term_value(struct ti_term t, const struct ti_spot *at);
bool ti__term_has_no_value(struct ti_term t, const struct ti_spot *at);

/* A system of linear equations in the making: rows of the reduced form, each with a pivot.  Set
 * `unknowns` only. */
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
