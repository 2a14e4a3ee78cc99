/*
 * Assembler, because the number of instructions that a compiler emits is not
 * known.  On each architecture the fixed part has FIXED instructions (call and
 * return included), an odd remainder is one nop, and every two further
 * instructions are one iteration of the loop.  The loop runs once more than its
 * counter says.
 *
 * No flag is live across a label, so tools may insert counting code at the
 * start of each basic block.
 */
#include "examples/burst.h"

#if BURST_EXACT && defined(__x86_64__)

#define BODY(FIXED)                                                                                \
    "    subq $" FIXED ", %rdi\n"                                                                  \
    "    jl 3f\n"                                                                                  \
    "    shrq $1, %rdi\n"                                                                          \
    "    jnc 2f\n"                                                                                 \
    "    nop\n"                                                                                    \
    "2:  subq $1, %rdi\n"                                                                          \
    "    jnc 2b\n"                                                                                 \
    "3:  ret\n"

#define LOAD "    movq (%rdi), %rdi\n"
#define TYPE "@function"

#elif BURST_EXACT /* aarch64 */

#define BODY(FIXED)                                                                                \
    "    subs x0, x0, #" FIXED "\n"                                                                \
    "    b.lt 3f\n"                                                                                \
    "    tbz x0, #0, 1f\n"                                                                         \
    "    nop\n"                                                                                    \
    "1:  lsr x0, x0, #1\n"                                                                         \
    "2:  subs x0, x0, #1\n"                                                                        \
    "    b.hs 2b\n"                                                                                \
    "3:  ret\n"

#define LOAD "    ldr x0, [x0]\n"
#define TYPE "%function"

#endif

#if BURST_EXACT

/* clang-format off */
__asm__(".text\n"
        "    .p2align 4\n"
        "    .globl burst\n"
        "    .type burst, " TYPE "\n"
        "burst:\n"
        BODY("8")
        "    .size burst, .-burst\n"
        "    .p2align 4\n"
        "    .globl burst_\n"
        "    .type burst_, " TYPE "\n"
        "burst_:\n"
        LOAD
        BODY("9")
        "    .size burst_, .-burst_\n");
/* clang-format on */

#else

void burst(int64_t instructions)
{
    for (volatile int64_t left = instructions / 5; left > 0; left = left - 1)
        ;
}

void burst_(const int64_t *instructions)
{
    burst(*instructions);
}

#endif
