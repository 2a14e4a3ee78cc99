/*
 * Whether the text with additions is the text as it came, but for them.
 */
#ifndef TI_BLOCKS_VERIFY_H
#define TI_BLOCKS_VERIFY_H

#include "minitrace/blocks/flow.h"

/* Compare object `now`, of the text with the additions of `f`, with `was`, which
 * `f` was decoded from.  `own`: NULL, or set by addition to the instructions that
 * were added to the block, fills included.  TI_ERR_INPUT, with the line of a
 * statement that does not mean the same any more. */
ti_status ti_verify(const struct ti_text *t, const struct ti_flow *f, const struct ti_object *was,
                    const struct ti_object *now, int64_t *own, struct ti_err *err);

#endif
