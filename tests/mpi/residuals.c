/*
 * The instructions that each shim adds to the bursts around it: every function of MPI that there is,
 * in every binding, is called between two barriers, by assembler of known length
 * (residuals.sh).  The MPI library behind us refuses all but the barriers
 * (loaded/refusing.c), so no arguments need to make sense: a call that fails leaves no
 * event, and the second barrier has what lies around the calls.
 *
 * The event sde:::ti_residuals::INSTRUCTIONS is ticount's count, read by a function as
 * PAPI's others are.
 *
 * To the file named by its argument the program writes "FUNCTION INSTRUCTIONS" for
 * each: what the second barrier's volume must be.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "minitrace/valgrind/ticount.h"

#if __has_include(<papi.h>) && __has_include(<sde_lib.h>) && __has_include(<valgrind/valgrind.h>)
#include <sde_lib.h>
#include <valgrind/valgrind.h>

static long long count(void *word)
{
    return *(volatile long long *)word;
}

static void make_event(void)
{
    void *word = (void *)VALGRIND_DO_CLIENT_REQUEST_EXPR(0, TI_TICOUNT_REQ_WORD,
                                                         TI_TICOUNT_VERSION, 0, 0, 0, 0);

    if (word)
        papi_sde_register_counter_cb(papi_sde_init("ti_residuals"), "INSTRUCTIONS",
                                     PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, count,
                                     word);
}
#else
static void make_event(void)
{
}
#endif

#ifndef __x86_64__
int main(void)
{
    return 77;
}
#else

static const char names[] =
#define NAME(mpi, pmpi) #mpi "\0"
#include "minitrace/mpi_names.inc"
#undef NAME
    ;

/* All arguments are this address, which loaded/refusing.c knows, too, and at which there
 * is a zero: as a pointer it can be read, as an int it is 0. */
#define REFUSAL ((char *)0x100000000)

MPI_Comm comm; /* for assembler */

/* Call `function` twice between two barriers. */
void between(void *function, const void *argument, int at_refusal, void *refusal);

/* MPI_Init and a barrier; MPI_Finalize. */
void begin(void);
void end(void);

enum {
    ROUND = 1 + 14 + 6 + 1, /* instructions before each call */
    LAST = 1 + 1            /* and before a barrier: its argument, and a jump to it */
};

__asm__(".text\n"
        "begin:\n"
        "subq $8, %rsp\n"
        "xorl %edi, %edi\n"
        "xorl %esi, %esi\n"
        "call MPI_Init@PLT\n"
        "movq comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        "addq $8, %rsp\n"
        "ret\n"
        "end:\n"
        "subq $8, %rsp\n"
        "movq comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        "nop\n"
        "call MPI_Finalize@PLT\n"
        "addq $8, %rsp\n"
        "ret\n"
        "between:\n"
        "pushq %rbx\n"
        "pushq %r12\n"
        "pushq %r13\n"
        "pushq %r14\n"
        "subq $120, %rsp\n"
        "movq %rdi, %rbx\n"
        "movq %rsi, %r12\n"
        "movl %edx, %r13d\n"
        "movq %rcx, %r14\n"
        "movq comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        ".rept 2\n"
        "movl %r13d, (%r14)\n"
        ".set place, 0\n"
        ".rept 14\n" /* arguments on the stack are the callee's to overwrite */
        "movq %r12, place(%rsp)\n"
        ".set place, place + 8\n"
        ".endr\n"
        "movq %r12, %rdi\n"
        "movq %r12, %rsi\n"
        "movq %r12, %rdx\n"
        "movq %r12, %rcx\n"
        "movq %r12, %r8\n"
        "movq %r12, %r9\n"
        "xorl %eax, %eax\n"
        "call *%rbx\n"
        ".endr\n"
        "movq comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        "addq $120, %rsp\n"
        "popq %r14\n"
        "popq %r13\n"
        "popq %r12\n"
        "popq %rbx\n"
        "ret\n");

/* Calls that begin or end, and calls that are not refused. */
static int is_left_out(const char *name)
{
    return strcmp(name, "MPI_Barrier") == 0 || strncmp(name, "MPI_Init", 8) == 0 ||
           strncmp(name, "mpi_init", 8) == 0 || strcasestr(name, "finalize") ||
           strcasestr(name, "_abort");
}

int main(int argc, char **argv)
{
    void *(*refused)(const char *) = (void *(*)(const char *))dlsym(RTLD_DEFAULT, "refused");
    char *refusal = mmap(REFUSAL, 1 << 16, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    FILE *truth = argc == 2 ? fopen(argv[1], "w") : NULL;

    if (refusal != REFUSAL || !refused || !truth) {
        fprintf(stderr, "usage: residuals FILE, with loaded/refusing.c preloaded behind us\n");
        return 2;
    }
    make_event();
    comm = MPI_COMM_WORLD;
    begin();
    for (const char *name = names; *name; name += strlen(name) + 1) {
        void *function = dlsym(RTLD_DEFAULT, name);
        /* its event has a volume of its own, and the sum is asked for; 0 stops all */
        int pcontrol = strstr(name, "control") ? 1 : 0;

        if (is_left_out(name) || !refused(name))
            continue;
        between(function, pcontrol && name[0] == 'M' ? (void *)1 : refusal, pcontrol, refusal);
        fprintf(truth, "%s %d\n", name, 2 * ROUND + LAST);
    }
    end();
    return fclose(truth) != 0;
}
#endif
