/*
 * The instructions of an object, their basic blocks, and where and how each block counts itself.
 */
#ifndef TI_WRAP_ASSEMBLER_FLOW_H
#define TI_WRAP_ASSEMBLER_FLOW_H

#include "wrap/assembler/object.h"

/* Sets of registers and flags: what an instruction reads or writes, and what is live.  One bit per
 * general register, in hardware's order, and per flag that an addition changes. */
enum {
    TI_RAX = 1 << 0,
    TI_RDX = 1 << 2,
    TI_RSP = 1 << 4,
    TI_RBP = 1 << 5,
    TI_R11 = 1 << 11,
    TI_REGS = 0xffff,
    TI_CF = 1 << 16,
    TI_PF = 1 << 17,
    TI_AF = 1 << 18,
    TI_ZF = 1 << 19,
    TI_SF = 1 << 20,
    TI_OF = 1 << 21,
    TI_FLAGS = 0x3f << 16,
};

enum ti_insn_kind {
    TI_INSN_PLAIN,
    TI_INSN_COND,     /* conditional jump */
    TI_INSN_JUMP,     /* jump to `target`, or to another object */
    TI_INSN_JUMP_IND, /* indirect jump */
    TI_INSN_CALL,
    TI_INSN_CALL_IND,
    TI_INSN_RET,
    TI_INSN_TRAP, /* does not continue: ud2, hlt */
    TI_INSN_SYS,  /* enters the kernel and continues */
};

struct ti_insn {
    uint64_t at;
    uint32_t section;
    uint32_t first, last;    /* its statements, including those of separate prefixes */
    uint32_t use, def, live; /* read, overwritten, live before the instruction */
    uint32_t writes;         /* registers it writes at least a part of */
    uint16_t vectors;        /* vector registers 0 to 15 that it reads or writes */
    uint32_t target_section; /* 0: none, or in another object */
    uint64_t target;
    uint32_t symbol; /* symbol of a target in another object; 0: none */
    uint8_t length;
    uint8_t kind;
    unsigned starts : 1, ends : 1; /* starts at the start of its first statement; ends at the end
                                    * of its last one */
    unsigned leader : 1;           /* first of a block */
    unsigned label : 1;            /* has a label that may be jumped to */
    unsigned taken : 1;            /* has a label that may be jumped to indirectly */
    unsigned fill : 1;             /* from a TI_STMT_FILL */
    unsigned endbr : 1, nop : 1;
    unsigned vex : 1;
    unsigned near : 1; /* can only jump 127 bytes: loop, jrcxz */
};

/* Kinds of additions.  A loop without calls, which is entered and left only at its ends, counts
 * in a register: a dead one, or one that the loop does not use and whose content is kept in a
 * vector register that the object does not use. */
enum ti_addition_kind {
    TI_ADD_FLUSH, /* after a loop: add the register to memory */
    TI_ADD_BLOCK, /* add `count` to memory */
    TI_ADD_LOOP,  /* in a loop: add `count` to the register */
    TI_ADD_INIT,  /* before a loop: clear the register */
};

/* One addition, before or after a statement. */
struct ti_addition {
    uint32_t stmt;
    bool after;      /* after the statement, not before it */
    uint8_t kind;    /* enum ti_addition_kind; several at one place are in this order */
    int8_t sum[2];   /* of a loop: registers of the two words; -1: none (the second only with
                      * audit) */
    int8_t keep[2];  /* vector registers that keep their content; -1: none */
    bool vex;        /* the object uses VEX-encoded vector instructions */
    uint32_t first;  /* index of the block's first instruction */
    uint32_t count;  /* number of its instructions */
    bool traps;      /* the last of them is a trap, which is not counted */
    uint32_t flags;  /* flags to preserve */
    int8_t scratch;  /* register for the flags, or for rax; -1: not needed */
    int8_t address;  /* register for the offset of the word; -1: not needed */
    bool lahf, save; /* save the flags by lahf; save registers on the stack */
    int own;         /* number of its own instructions */
};

struct ti_flow {
    struct ti_insn *insns; /* sorted by section and address */
    size_t n;
    struct ti_addition *adds; /* sorted by statement */
    size_t nadds;
    uint8_t *stretch; /* by statement: its jump needs a longer reach */
    uint8_t *drop;    /* by statement: leave out this empty fill, see emit.h */
    struct ti_blocks_sum sum;
};

/* The number of instructions in TI_ADD_INIT and TI_ADD_FLUSH of a loop together. */
int ti_flow_loop_own(const struct ti_addition *a, const struct ti_blocks_options *options);

/* Decode object `o`, which was assembled from `t`.  TI_ERR_INPUT if that is not possible. */
ti_status ti_flow_decode(struct ti_flow *out, const struct ti_text *t, const struct ti_object *o,
                         struct ti_err *err);

/* Find blocks and liveness, and fill `adds`, `stretch` and `drop`.  TI_ERR_INPUT if a block cannot
 * be counted. */
ti_status ti_flow_plan(struct ti_flow *f, const struct ti_text *t, const struct ti_object *o,
                       const struct ti_blocks_options *options, struct ti_err *err);

void ti_flow_free(struct ti_flow *f);

/* The instruction at an address, or NULL. */
struct ti_insn *ti_flow_at(const struct ti_flow *f, uint32_t section, uint64_t at);

#endif
