/*
 * Checks that the text with additions differs from the original only by the additions.
 */
#ifndef TI_WRAP_ASSEMBLER_VERIFY_H
#define TI_WRAP_ASSEMBLER_VERIFY_H

#include "wrap/assembler/flow.h"

/* Compare object `now`, from the text with the additions of `f`, with `was`, which `f` was decoded
 * from.  `own`, unless NULL, is set by addition to the number of instructions added to its block,
 * fills included.  TI_ERR_INPUT, with its line, if a statement has changed its meaning. */
ti_status ti_verify(const struct ti_text *t, const struct ti_flow *f, const struct ti_object *was,
                    const struct ti_object *now, int64_t *own, struct ti_err *err);

#endif
