/*
 * The instructions of an object, the basic blocks they make, and where and how
 * each block can count itself.
 */
#ifndef TI_BLOCKS_FLOW_H
#define TI_BLOCKS_FLOW_H

#include "minitrace/blocks/object.h"

/* What an instruction reads or writes, and what is live: a bit for each general
 * register, in hardware's order, and for each flag that an addition changes. */
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
    TI_INSN_COND,     /* jumps or goes on */
    TI_INSN_JUMP,     /* jumps to `target`, or to another object */
    TI_INSN_JUMP_IND, /* jumps to what it computes */
    TI_INSN_CALL,
    TI_INSN_CALL_IND,
    TI_INSN_RET,
    TI_INSN_TRAP, /* does not go on: ud2, hlt */
    TI_INSN_SYS,  /* enters the kernel and goes on */
};

struct ti_insn {
    uint64_t at;
    uint32_t section;
    uint32_t first, last;    /* statements: those of its prefixes, if apart, included */
    uint32_t use, def, live; /* live: before it */
    uint32_t writes;         /* registers of which it writes any part */
    uint16_t vectors;        /* vector registers it reads or writes, of the first 16 */
    uint32_t target_section; /* 0: none, or in another object */
    uint64_t target;
    uint32_t symbol; /* of a target in another object, 0: none */
    uint8_t length;
    uint8_t kind;
    unsigned starts : 1, ends : 1; /* its first statement begins, its last ends with it */
    unsigned leader : 1;           /* begins a block */
    unsigned label : 1;            /* has one that may be jumped to */
    unsigned taken : 1;            /* one that may be jumped to indirectly */
    unsigned fill : 1;             /* made by a TI_STMT_FILL */
    unsigned endbr : 1, nop : 1;
    unsigned vex : 1;
    unsigned near : 1; /* reaches 127 bytes only: loop, jrcxz */
};

/* What an addition does.  A loop without calls, which is entered and left at its two
 * ends alone, counts in a register that nobody needs meanwhile: a dead one, or one that
 * the loop does not touch, kept in a vector register that the object does not use. */
enum ti_addition_kind {
    TI_ADD_FLUSH, /* behind a loop: the register */
    TI_ADD_BLOCK, /* `count`, to memory */
    TI_ADD_LOOP,  /* `count`, to the register: in its blocks */
    TI_ADD_INIT,  /* before a loop */
};

/* One addition, at a statement. */
struct ti_addition {
    uint32_t stmt;
    bool after;      /* the statement, not before it */
    uint8_t kind;    /* enum ti_addition_kind; of those at one place in this order */
    int8_t sum[2];  /* of a loop: the registers for the words; the second with audit, or -1 */
    int8_t keep[2]; /* the vector registers that keep these, or -1 */
    bool vex;       /* vector instructions are encoded so in this object */
    uint32_t first;  /* insn of the block, */
    uint32_t count;  /* and how many */
    bool traps;      /* the last of these is a trap, which is not executed */
    uint32_t flags;  /* to be kept */
    int8_t scratch;  /* register for the flags, or for rax; -1: none needed */
    int8_t address;  /* register for the offset, -1: none needed */
    bool lahf, save; /* kept by lahf; registers are saved on the stack */
    int own;         /* instructions it consists of */
};

struct ti_flow {
    struct ti_insn *insns; /* by section and address */
    size_t n;
    struct ti_addition *adds; /* by statement */
    size_t nadds;
    uint8_t *stretch; /* by statement: must be given a longer reach */
    uint8_t *drop;    /* by statement: a fill that was empty, and would not be; see emit.h */
    struct ti_blocks_sum sum;
};

/* Instructions that a loop's TI_ADD_INIT and TI_ADD_FLUSH consist of together, by either. */
int ti_flow_loop_own(const struct ti_addition *a, const struct ti_blocks_options *options);

/* Decode `o`, which was made of `t`.  TI_ERR_INPUT where that is not possible. */
ti_status ti_flow_decode(struct ti_flow *out, const struct ti_text *t, const struct ti_object *o,
                         struct ti_err *err);

/* Find blocks, what is live, and fill `adds`, `stretch` and `drop`. */
ti_status ti_flow_plan(struct ti_flow *f, const struct ti_text *t, const struct ti_object *o,
                       const struct ti_blocks_options *options, struct ti_err *err);

void ti_flow_free(struct ti_flow *f);

/* The instruction at an address, or NULL. */
struct ti_insn *ti_flow_at(const struct ti_flow *f, uint32_t section, uint64_t at);

#endif
