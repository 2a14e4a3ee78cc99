/*
 * blocks: an `as` that makes code count the instructions it executes.
 *
 * It is called as GNU as is, by the compiler (gcc -B DIR, clang
 * -fno-integrated-as -B DIR), and hands the real assembler the same text with
 * additions to the thread-local 64-bit word `tiara_blocks`: one a basic block.
 * Nothing but x86-64 is handled.
 *
 * How it works
 *
 *   text.h    The text is cut into statements.  What they mean is not read from
 *             the text: macros, both syntaxes, .byte and .insn would all have to
 *             be understood.  Only directives that move between sections, make
 *             data or fill, and labels are known by name.
 *   object.h  Instead, the text is assembled as it came, with labels around its
 *             statements, and their addresses are read back: so the bytes of
 *             every statement are known, in every section.
 *   flow.h    The bytes are decoded (Zydis), which tells what each instruction
 *             reads, writes and jumps to; blocks and what is live in them
 *             follow, and from that where and how each block can count.
 *   emit.h    The text with the additions.
 *   verify.h  That text is assembled and decoded too, and compared with the first:
 *             the same instructions in the same order, jumps to the same places,
 *             the same constants.  A difference is an error that names its line,
 *             so code that knows its own length is refused, never broken.
 *
 * What is counted
 *
 *   - Every instruction once, as hardware does: with its prefixes (also those
 *     that are statements of their own), a rep instruction once, a fill that is
 *     run through as the nops that the assembler made of it in the text as it
 *     came.  The additions themselves count nothing.
 *   - A block is added up as a whole, somewhere between its first and its last
 *     instruction.  Blocks end at jumps, labels that can be jumped to, calls
 *     (what precedes a call, and the call, is counted when the call is made),
 *     and system calls.  A block left by a signal handler that does not return
 *     was counted whole or not at all.
 *   - A child of vfork() counts into its parent's word.
 *   - Resolvers of indirect functions (STT_GNU_IFUNC) are not counted: they run
 *     before there is thread-local storage.  What they call must not be compiled
 *     this way.  Nor is a program without the C library's start-up code possible.
 *
 *   - The count is that of the same text without additions, assembled by the same
 *     assembler: clang's own makes other fills and other jumps.
 *
 * Environment: TIARA_AS is the real assembler [the first `as` on PATH but this one];
 * with TIARA_AS_VERBOSE a line on stderr says what was added to each text.
 *
 * What is assumed
 *
 *   - The ABI at the edges of an object: no flags are passed to or returned by
 *     a function in another object, and caller-saved registers other than the
 *     return values are dead when a function returns to another object.  (Within
 *     an object nothing is assumed: gcc's -fipa-ra is seen, as are hand-written
 *     functions that return flags.)  An unlabelled return point that reads flags
 *     left by another object's function is refused.
 *   - No exceptions but by calls: -fnon-call-exceptions is not supported.
 *   - Nothing jumps to code that has no label, but by jump tables and direct
 *     jumps, which are checked.
 *   - Data in code sections: .ascii and data with relocations always; other data
 *     directives when nothing runs into or jumps to them.
 *
 * What is added
 *
 *   addq $N,%fs:tiara_blocks@tpoff      where flags are dead in some place of the
 *   block, which is nearly everywhere; position-independently, the offset is
 *   loaded into a dead register first.  Where flags are live in all of the block,
 *   they are put into a dead register (setCC, lahf) and made again afterwards.
 *   Without a dead register one is saved on the stack, beyond the red zone.  The
 *   addition is always one instruction, so a signal handler that counts in between
 *   loses nothing.
 *
 *   Loops that call nothing and are entered and left at their ends alone add to a
 *   register (lea) that is dead all along, or that the loop does not touch and that a
 *   vector register unused in the object can keep, and that to memory when they end:
 *   an addition to memory takes as long as a short loop's round.  If a
 *   signal handler leaves such a loop for good, what the loop counted is lost.
 */
#ifndef TI_BLOCKS_H
#define TI_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/* How to count. */
struct ti_blocks_options {
    bool pic;       /* --tiara-pic: reach the word through the GOT (initial-exec) */
    bool audit;     /* --tiara-audit: also count what was added; see emit.h */
    bool intel;     /* -msyntax=intel: the syntax at the beginning */
    bool naked;     /* -mnaked-reg */
};

/* What was done, for the person. */
struct ti_blocks_sum {
    long blocks, instructions, added, flag_safe, spilled, loops, uncounted;
};

/* realloc() and calloc() that end the program with a message. */
void *ti_blocks_grow(void *p, size_t n, size_t size);
void *ti_blocks_zero(size_t n, size_t size);
_Noreturn void ti_blocks_out_of_memory(void);

#endif
