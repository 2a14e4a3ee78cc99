/* The words that objects with counts add to, printed at the end; for steps.c, what
 * comes behind this in .text is the program. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local uint64_t tiara_blocks, tiara_blocks_own;

/* In .text, where compilers would not put it, and last: behind what atexit() runs. */
__attribute__((section(".text"), destructor)) static void report(void)
{
    fprintf(stderr, "blocks %llu\n", (unsigned long long)tiara_blocks);
    fprintf(stderr, "own %llu\n", (unsigned long long)tiara_blocks_own);
}
