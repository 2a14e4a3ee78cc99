/*
 * Shared by the files of flow.h.  decode.c finds the instructions, by insn.h.  live.c finds blocks
 * and what is live in them.  loops.c and place.c choose additions for loops and for blocks, and
 * plan.c makes the list.
 */
#ifndef TI_WRAP_ASSEMBLER_FLOW_INTERNAL_H
#define TI_WRAP_ASSEMBLER_FLOW_INTERNAL_H

#include "wrap/assembler/flow.h"

/* True if instruction i + 1 begins where instruction i ends. */
bool ti_flow_continues(const struct ti_flow *f, size_t i);

/* True if it calls one of the compiler's thunks, which preserve more registers than the ABI says.
 */
bool ti_insn_calls_thunk(const struct ti_object *o, const struct ti_insn *in);

/* Marks the first instruction of each block.  TI_ERR_INPUT if a jump goes elsewhere. */
ti_status ti_flow_find_leaders(struct ti_flow *f, const struct ti_text *t,
                               const struct ti_object *o, struct ti_err *err);

/* Sets `live` of all instructions. */
void ti_flow_find_live(struct ti_flow *f, const struct ti_object *o);

/* The lowest register of the set `dead` other than `but`; -1: none. */
int8_t ti_flow_free_reg(uint32_t dead, int8_t but);

/* Finds the place for the addition of block [from, to): the first of the cheapest ones, after what
 * must come first (endbr64).  False if there is none. */
bool ti_flow_place(struct ti_addition *best, const struct ti_flow *f, size_t from, size_t to,
                   const struct ti_blocks_options *opt);

/* Makes the additions of loops that can count in registers, and marks the loops' instructions in
 * `done`. */
void ti_flow_find_loops(struct ti_flow *f, uint8_t *done, size_t *cap,
                        const struct ti_blocks_options *opt);

/* Appends to f->adds, which has room for *cap. */
void ti_flow_add(struct ti_flow *f, size_t *cap, const struct ti_addition *a);

#endif
