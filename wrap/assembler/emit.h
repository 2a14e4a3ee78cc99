/*
 * Writes the text with additions, each statement on its old line.
 *
 * With --tiara-audit, each addition also adds the number of its own instructions to a second
 * thread-local word, `tiara_blocks_own`, so that exactly
 *
 *   instructions that hardware executes in this code == tiara_blocks + tiara_blocks_own
 *
 * A fill that became longer or shorter is accounted for in the second word.  An empty fill is
 * left out, because no block could count its nops if it were no longer empty.
 *
 * The object then has a text section ".tiara.blocks", not loaded: a line "NAME blocks N
 * instructions N own N" for each function.  The numbers are those of the code, not of an
 * execution.  See it with readelf -p.
 */
#ifndef TI_WRAP_ASSEMBLER_EMIT_H
#define TI_WRAP_ASSEMBLER_EMIT_H

#include "wrap/assembler/flow.h"

/* Write `t` to `out`: with the additions of `f` unless it is NULL; with the map of its statements
 * (object.h) if `map`.  `own`, by addition, is what to add to tiara_blocks_own; NULL without
 * audit.  TI_ERR_INPUT if a statement cannot be changed as needed. */
ti_status ti_blocks_emit(FILE *out, const struct ti_text *t, const struct ti_flow *f,
                         const struct ti_blocks_options *options, const int64_t *own, bool map,
                         struct ti_err *err);

#endif
