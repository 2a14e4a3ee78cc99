/* One instruction, decoded by Zydis: what it reads, writes, and jumps to. */
#ifndef TI_WRAP_ASSEMBLER_INSN_H
#define TI_WRAP_ASSEMBLER_INSN_H

#include "wrap/assembler/flow.h"

/* Decodes the instruction at `at` of a section, which ends before `end`.  Fills all of *in but what
 * comes from statements.  False if these bytes are no instruction. */
bool ti_insn_decode(struct ti_insn *in, const struct ti_object *o, uint32_t section, uint64_t at,
                    uint64_t end);

#endif
