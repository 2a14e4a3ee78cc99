#include "examples/example.h"

#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const char *ex_args(int argc, char **argv, int nargs, struct ex_arg *args)
{
    static char wrong[256];

    if (argc - 1 > nargs) {
        snprintf(wrong, sizeof wrong, "'%s' is one argument too many", argv[nargs + 1]);
        return wrong;
    }
    for (int i = 0; i < argc - 1; i++) {
        struct ex_arg *arg = &args[i];
        const char *text = argv[i + 1];
        char *end;

        errno = 0;
        long long value = strtoll(text, &end, 10);
        if (end == text || *end || errno || value < arg->min || value > arg->max) {
            snprintf(wrong, sizeof wrong,
                     "%s must be a number from %" PRId64 " to %" PRId64 ", not '%s'", arg->name,
                     arg->min, arg->max, text);
            return wrong;
        }
        arg->value = value;
    }
    return NULL;
}

int ex_usage(int rank, const char *usage, const char *message, ...)
{
    if (rank == 0) {
        va_list ap;

        fprintf(stderr, "%.*s: ", (int)strcspn(usage, " "), usage);
        va_start(ap, message);
        vfprintf(stderr, message, ap);
        va_end(ap);
        fprintf(stderr, "\nusage: %s\n", usage);
    }
    MPI_Finalize();
    return 2;
}

/*
 * stdout gets a buffer that is not of the heap: what malloc() executes depends on what the threads
 * of the MPI library took and gave back before, and that differs from run to run.
 */
int ex_verdict(int rank, bool ok, const char *message, ...)
{
    if (rank == 0) {
        static char buffer[BUFSIZ];
        va_list ap;

        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
        va_start(ap, message);
        vprintf(message, ap);
        va_end(ap);
        puts(ok ? ": verified" : ": FAILED");
        fflush(stdout);
    }
    MPI_Finalize();
    return ok ? 0 : 1;
}

/* Bytes before the zeros, which hold the mapped size.  A cache line, for the alignment. */
#define HEAD 64

void *ex_zeros(int64_t count, int64_t size)
{
    size_t bytes = (size_t)(count * size) + HEAD;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        fprintf(stderr, "cannot get %" PRId64 " x %" PRId64 " bytes of memory\n", count, size);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    *(size_t *)p = bytes;
    return p + HEAD;
}

void ex_free(void *zeros)
{
    char *p = zeros;

    if (p)
        munmap(p - HEAD, *(size_t *)(p - HEAD));
}

int64_t ex_block(int64_t cells, int64_t parts, int64_t part, int64_t *first)
{
    int64_t length = cells / parts, longer = cells % parts;

    if (first)
        *first = part * length + (part < longer ? part : longer);
    return length + (part < longer);
}

int ex_most_square(int n)
{
    int smaller = 1;

    for (int i = 2; i <= n / i; i++)
        if (n % i == 0)
            smaller = i;
    return smaller;
}
