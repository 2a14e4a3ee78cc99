/*
 * misses LIBRARY OWN [GENERATED [CALLS]]: so many calls of libm's functions, steps of its own,
 * steps of code that is made as the program runs, and short calls of MPI, ten times, each time
 * followed by a message and by system calls that must not be interrupted.  Prints how many were. In
 * the end all signals have their default actions.
 */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile double sum;

static int interrupted(void)
{
    struct timespec pause = {.tv_nsec = 100000};
    int n = 0;

    for (int i = 0; i < 20000; i++)
        n += poll(NULL, 0, 0) < 0;
    for (int i = 0; i < 100; i++)
        n += nanosleep(&pause, NULL) != 0;
    return n;
}

/* "loop" to itself, and "ret", at the start of a page that has none before it. */
static void (*generate(void))(long)
{
    static const unsigned char code[] = {0x48, 0x89, 0xf9, 0xe2, 0xfe, 0xc3};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(long);

    at += page;
    mprotect(at, page, PROT_READ | PROT_WRITE);
    memcpy(at, code + 3, sizeof code - 3); /* the loop: rcx is set before it */
    memcpy(at + 16, code, 3);              /* movq %rdi, %rcx */
    memcpy(at + 19, "\xeb\xeb", 2);        /* jmp to the start */
    mprotect(at, page, PROT_READ | PROT_EXEC);
    at += 16;
    memcpy(&function, &at, sizeof function);
    return function;
}

int main(int argc, char **argv)
{
    void (*generated)(long) = argc > 3 && atol(argv[3]) > 0 ? generate() : NULL;
    long library, own;
    long calls = argc > 4 ? atol(argv[4]) : 0;
    double all;
    int n = 0, rank;

    MPI_Init(&argc, &argv);
    library = atol(argv[1]);
    own = atol(argv[2]);
    for (int i = 0; i < 10; i++) {
        for (long k = 0; k < library; k++)
            sum += sin((double)k) * exp(-1e-9 * (double)k);
        for (long k = 0; k < own; k++)
            sum += (double)(k % 7) * sum * 1e-9;
        if (generated)
            generated(atol(argv[3]));
        for (long k = 0; k < calls; k++)
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        all = sum;
        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        n += interrupted();
    }
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    for (long k = 0; k < own / 10; k++)
        sum += (double)(k % 7) * sum * 1e-9;
    MPI_Finalize();
    printf("interrupted %d\n", n);
    return 0;
}
