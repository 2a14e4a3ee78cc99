/*
 * The text again, with additions, on the same lines.
 *
 * With --tiara-audit each addition also adds the number of instructions that it
 * consists of to a second thread-local word, `tiara_blocks_own`, so that
 *
 *   what hardware executes in this code == tiara_blocks + tiara_blocks_own
 *
 * exactly.  (Fills that are longer or shorter than in the text as it came are in the
 * second; those that were empty are left out, as no block could count their nops.)  The object then has a section ".tiara.blocks", not loaded, of text: a
 * line "NAME blocks N instructions N own N" for each function, N being what is in
 * the code, not what was executed; see it with readelf -p.
 */
#ifndef TI_BLOCKS_EMIT_H
#define TI_BLOCKS_EMIT_H

#include "minitrace/blocks/flow.h"

/* Write `t` to `out`: with the additions of `f` unless it is NULL, and with the
 * map of its statements (object.h) where `map`.  `own` holds, by addition, what
 * is to be added to tiara_blocks_own, NULL without audit.  TI_ERR_INPUT where a
 * statement cannot be changed as it must be. */
ti_status ti_blocks_emit(FILE *out, const struct ti_text *t, const struct ti_flow *f,
                         const struct ti_blocks_options *options, const int64_t *own, bool map,
                         struct ti_err *err);

#endif
