/*
 * Common functions of the example programs: arguments, usage errors, the verdict, memory.
 */
#ifndef TI_EXAMPLES_EXAMPLE_H
#define TI_EXAMPLES_EXAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* One positional argument.  Before ex_args() `value` is the default. */
struct ex_arg {
    const char *name;
    int64_t value, min, max;
};

/*
 * Read argv[1..] into args[0..nargs-1], in order.  Trailing arguments may be
 * omitted.  May be called before MPI_Init.  Returns NULL, or an error message:
 * static text, the same on every rank.
 */
const char *ex_args(int argc, char **argv, int nargs, struct ex_arg *args);

/*
 * End a program after a usage error.  Call it on every rank.  Rank 0 prints
 * "PROGRAM: MESSAGE" and the usage line to stderr, then MPI is finalized.
 * Returns 2, the exit status for main().
 */
int ex_usage(int rank, const char *usage, const char *message, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * End a program after its computation.  Call it on every rank with the same
 * `ok`.  Rank 0 prints "MESSAGE: verified" or "MESSAGE: FAILED" to stdout, then
 * MPI is finalized.  Returns the exit status for main(): 0 or 1.
 */
int ex_verdict(int rank, bool ok, const char *message, ...) __attribute__((format(printf, 3, 4)));

/*
 * Map `count` * `size` bytes of zeros; release them with ex_free().  Ends the run
 * if there is no memory.  Not malloc(): its instruction count depends on the
 * state of the heap, which the MPI library changes in a way that depends on
 * timing.
 */
void *ex_zeros(int64_t count, int64_t size);
void ex_free(void *zeros); /* NULL is fine */

/* Divide `cells` into `parts` blocks whose lengths differ by at most one.
 * Returns the length of block `part`, and in *first its first cell (unless
 * `first` is NULL). */
int64_t ex_block(int64_t cells, int64_t parts, int64_t part, int64_t *first);

/* The smaller of the two factors of `n` that are closest to each other. */
int ex_most_square(int n);

#endif
