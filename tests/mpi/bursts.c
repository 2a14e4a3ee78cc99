/*
 * Bursts of known length, to the instruction: the code between one MPI call's
 * return and the next one's entry is all assembler here, arguments included.
 *
 * Each function below does, for one burst length, a number of calls; main()
 * writes to the file named by its argument, for each event in order, what the
 * burst before it truly is: "OPERATION INSTRUCTIONS".  Instructions that C adds
 * between the functions are accounted for by resetting with a barrier, whose
 * own burst is not checked ("-").  Further arguments are lengths instead of 10,
 * 1000 and 1000000.
 *
 * A call through the procedure linkage table is the call, which the library
 * calibrates away, and the table's entry, which it does not: a jmp on x86-64, four
 * instructions on AArch64.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if !defined __x86_64__ && !defined __aarch64__
int main(void)
{
    return 77;
}
#else

void sequence(void);

/* Operands of the assembler below. */
MPI_Comm comm;
MPI_Datatype type;
MPI_Op op;
MPI_Request reqs[2];
char out[64], in[64];
int64_t rounds, peer;

/* For assembler: both addresses of ignored statuses, and where reqs[1] is. */
#ifdef MPICH_VERSION
#define IGNORE "1"
#define SECOND "4"
#else
#define IGNORE "0"
#define SECOND "8"
#endif

struct event {
    const char *op;
    int arguments; /* instructions that load them */
};

/* Bursts are of n instructions, n even and at least 4: two, and (n - 2) / 2 times two. */
#ifdef __x86_64__
#define PLT 1
#define BURST                                                                                      \
    "nop\n"                                                                                        \
    "movq rounds(%rip), %rcx\n"                                                                    \
    "1: decq %rcx\n"                                                                               \
    "jnz 1b\n"

#define MESSAGE(buf) /* 5 */                                                                       \
    "leaq " buf "(%rip), %rdi\n"                                                                   \
    "movl $8, %esi\n"                                                                              \
    "movq type(%rip), %rdx\n"                                                                      \
    "movl peer(%rip), %ecx\n"                                                                      \
    "movl $7, %r8d\n"

/* clang-format off */
__asm__(".text\n"
        ".globl sequence\n"
        "sequence:\n"
        "subq $24, %rsp\n"
        "movq comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        /* barrier: burst + 1 */
        BURST
        "movq comm(%rip), %rdi\n"
        "call MPI_Barrier@PLT\n"
        /* bcast: burst + 5 */
        BURST
        "leaq out(%rip), %rdi\n"
        "movl $8, %esi\n"
        "movq type(%rip), %rdx\n"
        "movl $0, %ecx\n"
        "movq comm(%rip), %r8\n"
        "call MPI_Bcast@PLT\n"
        /* allreduce: burst + 6 */
        BURST
        "leaq out(%rip), %rdi\n"
        "leaq in(%rip), %rsi\n"
        "movl $1, %edx\n"
        "movq type(%rip), %rcx\n"
        "movq op(%rip), %r8\n"
        "movq comm(%rip), %r9\n"
        "call MPI_Allreduce@PLT\n"
        /* irecv: burst + 8 */
        BURST
        MESSAGE("in")
        "movq comm(%rip), %r9\n"
        "leaq reqs(%rip), %rax\n"
        "movq %rax, (%rsp)\n"
        "call MPI_Irecv@PLT\n"
        /* send: burst + 6 */
        BURST
        MESSAGE("out")
        "movq comm(%rip), %r9\n"
        "call MPI_Send@PLT\n"
        /* wait: burst + 2 */
        BURST
        "leaq reqs(%rip), %rdi\n"
        "movl $" IGNORE ", %esi\n"
        "call MPI_Wait@PLT\n"
        /* isend: burst + 8 */
        BURST
        MESSAGE("out")
        "movq comm(%rip), %r9\n"
        "leaq " SECOND "+reqs(%rip), %rax\n"
        "movq %rax, (%rsp)\n"
        "call MPI_Isend@PLT\n"
        /* recv: burst + 7 */
        BURST
        MESSAGE("in")
        "movq comm(%rip), %r9\n"
        "movq $" IGNORE ", (%rsp)\n"
        "call MPI_Recv@PLT\n"
        /* waitall: burst + 3 */
        BURST
        "movl $1, %edi\n"
        "leaq " SECOND "+reqs(%rip), %rsi\n"
        "movl $" IGNORE ", %edx\n"
        "call MPI_Waitall@PLT\n"
        "addq $24, %rsp\n"
        "ret\n");
/* clang-format on */

static const struct event events[] = {
    {"barrier", 1}, {"bcast", 5}, {"allreduce", 6}, {"irecv", 8},   {"send", 6},
    {"wait", 2},    {"isend", 8}, {"recv", 7},      {"waitall", 3},
};
#else
#define PLT 4
/* Each is two instructions. */
#define VALUE(reg, name)   "adrp " reg ", " name "\n ldr " reg ", [" reg ", :lo12:" name "]\n"
#define INTEGER(reg, name) "adrp x9, " name "\n ldr " reg ", [x9, :lo12:" name "]\n"
#define ADDRESS(reg, name) "adrp " reg ", " name "\n add " reg ", " reg ", :lo12:" name "\n"

#define BURST                                                                                      \
    VALUE("x9", "rounds")                                                                          \
    "1: subs x9, x9, #1\n"                                                                         \
    "b.ne 1b\n"

#define MESSAGE(buf) /* 8 */                                                                       \
    ADDRESS("x0", buf)                                                                             \
    "mov w1, #8\n" VALUE("x2", "type") INTEGER("w3", "peer") "mov w4, #7\n"

/* clang-format off */
__asm__(".text\n"
        ".globl sequence\n"
        "sequence:\n"
        "stp x29, x30, [sp, #-16]!\n"
        "mov x29, sp\n"
        VALUE("x0", "comm")
        "bl MPI_Barrier\n"
        /* barrier: burst + 2 */
        BURST
        VALUE("x0", "comm")
        "bl MPI_Barrier\n"
        /* bcast: burst + 8 */
        BURST
        ADDRESS("x0", "out")
        "mov w1, #8\n"
        VALUE("x2", "type")
        "mov w3, #0\n"
        VALUE("x4", "comm")
        "bl MPI_Bcast\n"
        /* allreduce: burst + 11 */
        BURST
        ADDRESS("x0", "out")
        ADDRESS("x1", "in")
        "mov w2, #1\n"
        VALUE("x3", "type")
        VALUE("x4", "op")
        VALUE("x5", "comm")
        "bl MPI_Allreduce\n"
        /* irecv: burst + 12 */
        BURST
        MESSAGE("in")
        VALUE("x5", "comm")
        ADDRESS("x6", "reqs")
        "bl MPI_Irecv\n"
        /* send: burst + 10 */
        BURST
        MESSAGE("out")
        VALUE("x5", "comm")
        "bl MPI_Send\n"
        /* wait: burst + 3 */
        BURST
        ADDRESS("x0", "reqs")
        "mov x1, #" IGNORE "\n"
        "bl MPI_Wait\n"
        /* isend: burst + 12 */
        BURST
        MESSAGE("out")
        VALUE("x5", "comm")
        ADDRESS("x6", "reqs+" SECOND)
        "bl MPI_Isend\n"
        /* recv: burst + 11 */
        BURST
        MESSAGE("in")
        VALUE("x5", "comm")
        "mov x6, #" IGNORE "\n"
        "bl MPI_Recv\n"
        /* waitall: burst + 4 */
        BURST
        "mov w0, #1\n"
        ADDRESS("x1", "reqs+" SECOND)
        "mov x2, #" IGNORE "\n"
        "bl MPI_Waitall\n"
        "ldp x29, x30, [sp], #16\n"
        "ret\n");
/* clang-format on */

static const struct event events[] = {
    {"barrier", 2}, {"bcast", 8},  {"allreduce", 11}, {"irecv", 12},  {"send", 10},
    {"wait", 3},    {"isend", 12}, {"recv", 11},      {"waitall", 4},
};
#endif

int main(int argc, char **argv)
{
    static const char *const usual[] = {"10", "1000", "1000000", NULL};
    const char *const *length;
    FILE *truth = NULL;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2) {
        fprintf(stderr, "usage: bursts FILE [LENGTH]...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    comm = MPI_COMM_WORLD;
    type = MPI_LONG;
    op = MPI_SUM;
    peer = (rank ^ 1) < size ? rank ^ 1 : rank;
    if (rank == 0)
        truth = fopen(argv[1], "w");
    for (int repeat = 0; repeat < 3; repeat++)
        for (length = argc > 2 ? (const char *const *)argv + 2 : usual; *length; length++) {
            rounds = (atoll(*length) - 2) / 2;
            sequence();
            if (!truth)
                continue;
            fprintf(truth, "barrier -\n");
            for (unsigned e = 0; e < sizeof events / sizeof *events; e++)
                fprintf(truth, "%s %lld\n", events[e].op,
                        atoll(*length) + events[e].arguments + PLT);
        }
    if (truth && fclose(truth) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
#endif
