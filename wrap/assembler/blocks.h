/*
 * blocks: an `as` that makes code count the instructions it executes.
 *
 * The compiler calls it as it calls GNU as (gcc -B DIR, clang -fno-integrated-as -B DIR).
 * The real assembler gets the same text, with additions to the thread-local 64-bit word
 * `tiara_blocks`: one per basic block.  x86-64 only.
 *
 * How it works
 *
 *   text.h    The text is split into statements.  Their meaning is not read from the text:
 *             macros, both syntaxes, .byte and .insn would all have to be understood.
 *             Only labels, and directives that change section, make data or fill, are
 *             known by name.
 *   object.h  Instead, the unchanged text is assembled with labels around its statements,
 *             and the labels' addresses are read back.  They give the bytes of every
 *             statement in every section.
 *   flow.h    The bytes are decoded (Zydis): what each instruction reads, writes and jumps
 *             to.  From that follow the basic blocks, what is live in them, and where and
 *             how each block can count itself.
 *   emit.h    The text is written with the additions.
 *   verify.h  The new text is assembled and decoded too, and compared with the first: the
 *             same instructions in the same order, jumps to the same places, the same
 *             constants.  A difference is an error that names its line.  So code that
 *             depends on its own length is refused, never broken.
 *
 * Counted instructions
 *
 *   - Every instruction once, as hardware counts: an instruction with its prefixes (even if
 *     these are statements of their own); a rep instruction once; executed fill as the
 *     nops that the assembler made of it in the unchanged text.  The additions themselves
 *     do not count.
 *   - A block is added as a whole, somewhere between its first and its last instruction.
 *     Blocks end at jumps, at labels that can be jumped to, at calls (a call, and what
 *     precedes it, is counted when the call is made), and at system calls.  A block that
 *     a signal handler leaves for good was counted whole or not at all.
 *   - A child of vfork() counts into its parent's word.
 *   - Resolvers of indirect functions (STT_GNU_IFUNC) are not counted, because they run
 *     before thread-local storage exists.  Functions that they call must not be compiled
 *     this way.  Programs without the C library's start-up code are not possible either.
 *   - The count is that of the same text without additions, from the same assembler:
 *     clang's own assembler makes other fills and other jumps.
 *
 * Environment: TIARA_AS is the real assembler [the first other `as` on PATH].  With
 * TIARA_AS_VERBOSE, a line on stderr says what was added to each text.
 *
 * Assumptions
 *
 *   - The ABI at the edges of an object: no flags are passed to or returned by a function
 *     in another object, and caller-saved registers other than the return values are dead
 *     when a function returns to another object.  Within an object nothing is assumed:
 *     gcc's -fipa-ra is handled, as are hand-written functions that return flags.  An
 *     unlabelled return point that reads flags left by a function of another object is
 *     refused.
 *   - Exceptions come from calls only: -fnon-call-exceptions is not supported.
 *   - Code without a label is reached only by jump tables and direct jumps, which are
 *     checked.
 *   - Data in code sections: .ascii and data with relocations always; other data
 *     directives if execution neither runs into nor jumps to them.
 *
 * Additions
 *
 *   addq $N,%fs:tiara_blocks@tpoff      where the flags are dead, which is possible in
 *   nearly every block.  In position-independent code, the offset is first loaded into a
 *   dead register.  If flags are live in the whole block, they are saved in a dead
 *   register (setCC, lahf) and restored afterwards.  Without a dead register, one is
 *   saved on the stack, below the red zone.  The addition itself is always one
 *   instruction, so a signal handler that counts in between loses nothing.
 *
 *   An addition to memory takes as long as one round of a short loop.  So a loop that
 *   calls nothing, and is entered and left at its ends only, adds to a register (lea), and
 *   adds that to memory when it ends.  The register is one that is dead in the whole
 *   loop; or one that the loop does not use, saved meanwhile in a vector register that
 *   the object does not use.  If a signal handler leaves such a loop for good, the
 *   loop's count is lost.
 */
#ifndef TI_WRAP_ASSEMBLER_BLOCKS_H
#define TI_WRAP_ASSEMBLER_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/* How to count.  From the command line. */
struct ti_blocks_options {
    bool pic;   /* --tiara-pic: reach the word through the GOT (initial-exec model) */
    bool audit; /* --tiara-audit: also count the added instructions, see emit.h */
    bool intel; /* -msyntax=intel: initial syntax */
    bool naked; /* -mnaked-reg: registers without % */
};

/* Statistics for TIARA_AS_VERBOSE. */
struct ti_blocks_sum {
    long blocks, instructions, added, flag_safe, spilled, loops, uncounted;
};

/* Like realloc() and calloc(), but without memory they end the program with a message. */
void *ti_blocks_grow(void *p, size_t n, size_t size);
void *ti_blocks_zero(size_t n, size_t size);
_Noreturn void ti_blocks_out_of_memory(void);

#endif
