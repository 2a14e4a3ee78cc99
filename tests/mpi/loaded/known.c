/*
 * A tool that makes bursts of known length, in any program and any binding: to be
 * preloaded before us (truth.sh).
 *
 * This library takes every MPI function.  Before the call goes on, it calls
 * MPI_Pcontrol(n), whose event ends whatever the program has computed, and then
 * executes n instructions, of assembler alone, up to the first one of MPI_X of ours.
 * In the trace, an event that follows `pcontrol level=n` must have the volume n.
 *
 * KNOWN_MOST is the longest burst [100000].
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum known {
#define NAME(mpi, pmpi) KNOWN_##mpi,
#include "minitrace/mpi_names.inc"
#undef NAME
    KNOWN
};

static const char names[] =
#define NAME(mpi, pmpi) #mpi "\0"
#include "minitrace/mpi_names.inc"
#undef NAME
    ;

void *known_next[KNOWN];
uint64_t known_length(void);

static uint64_t most = 100000;

/* Instructions beside the loop, less one: this call ends in a jump, and what the
 * library takes out of every burst has a call in it. */
#define BESIDE 13

/* 10, 100, ... and odd lengths between; the longer, the rarer.  Gives the rounds of the
 * loop, of two instructions; 0 where MPI_Pcontrol cannot be called. */
uint64_t known_length(void)
{
    static _Thread_local uint64_t seed = 1;
    uint64_t length = 10, bits;
    int begun = 0, ended = 0;

    PMPI_Initialized(&begun);
    PMPI_Finalized(&ended);
    if (!begun || ended)
        return 0;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    for (bits = seed >> 33; length < most && (bits & 1); bits >>= 1)
        length *= 10;
    if (length < most)
        length += bits % (9 * length);
    return length < BESIDE + 1 ? 1 : (length - BESIDE + 1) / 2;
}

__attribute__((constructor)) static void find(void)
{
    const char *most_text = getenv("KNOWN_MOST"), *name = names;

    if (most_text)
        most = strtoull(most_text, NULL, 10);
    for (int k = 0; k < KNOWN; k++, name += strlen(name) + 1)
        known_next[k] = dlsym(RTLD_NEXT, name);
}

/* On the stack behind the saved registers: the number of the name, and the return
 * address of the program's call. */
__asm__(".hidden known_next, known_length\n"
        ".text\n"
        "known:\n"
        "pushq %rax\n"
        "pushq %rdi\n"
        "pushq %rsi\n"
        "pushq %rdx\n"
        "pushq %rcx\n"
        "pushq %r8\n"
        "pushq %r9\n"
        "subq $8, %rsp\n"
        "call known_length\n"
        "movq %rax, (%rsp)\n"
        "testq %rax, %rax\n"
        "jz 1f\n"
        "leaq 13(%rax,%rax), %rdi\n" /* BESIDE */
        "xorl %eax, %eax\n"
        "call MPI_Pcontrol@PLT\n"
        "movq (%rsp), %r10\n"
        "2: decq %r10\n"
        "jnz 2b\n"
        "1: addq $8, %rsp\n"
        "popq %r9\n"
        "popq %r8\n"
        "popq %rcx\n"
        "popq %rdx\n"
        "popq %rsi\n"
        "popq %rdi\n"
        "popq %rax\n"
        "popq %r11\n"
        "leaq known_next(%rip), %r10\n"
        "movq (%r10,%r11,8), %r10\n"
        "nop\n"
        "jmp *%r10\n"
        ".set number, 0\n"
        ".macro take name\n"
        ".ifnc \\name, MPI_Pcontrol\n"
        ".globl \\name\n"
        ".type \\name, @function\n"
        "\\name:\n"
        "pushq $number\n"
        "jmp known\n"
        ".size \\name, . - \\name\n"
        ".endif\n"
        ".set number, number + 1\n"
        ".endm\n"
#define NAME(mpi, pmpi) "take " #mpi "\n"
#include "minitrace/mpi_names.inc"
#undef NAME
);
