/*
 * Rules of products: what a face of a block in three dimensions has, or a block that is cut twice.
 */
#ifndef TI_EXTRAPOLATE_PRODUCT_H
#define TI_EXTRAPOLATE_PRODUCT_H

#include "extrapolate/rule.h"

/* Find the rule, as ti_rule_find() does.  All pairs of up to 4096 cells along two axes, or along
 * one twice, are tried. */
enum ti_rule_found ti_product_find(const struct ti_known *known, size_t n,
                                   const struct ti_spot *asked, size_t nasked, int64_t unit,
                                   struct ti_rule out[2], size_t *where);

#endif
