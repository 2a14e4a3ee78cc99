/*
 * What the example programs share: arguments, usage errors, the verdict.
 */
#ifndef EXAMPLES_EXAMPLE_H
#define EXAMPLES_EXAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* One positional argument; `value` holds the default before ex_args(). */
struct ex_arg {
    const char *name;
    int64_t value, min, max;
};

/*
 * Read argv[1..] into args[0..nargs-1], in order; later ones may be missing.
 * Needs no MPI.  Returns NULL, or what is wrong: static text, the same on
 * every rank.
 */
const char *ex_args(int argc, char **argv, int nargs, struct ex_arg *args);

/*
 * The end of a program that cannot run as asked.  To be called on every rank:
 * rank 0 says "PROGRAM: MESSAGE" and the usage line on stderr, then MPI is
 * finalized.  Returns 2, for main() to return.
 */
int ex_usage(int rank, const char *usage, const char *message, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The end of a program that ran.  To be called on every rank with the same
 * `ok`: rank 0 says "MESSAGE: verified" or "MESSAGE: FAILED" on stdout, then
 * MPI is finalized.  Returns 0 or 1, for main() to return.
 */
int ex_verdict(int rank, bool ok, const char *message, ...) __attribute__((format(printf, 3, 4)));

/*
 * `count` times `size` bytes of zeros, from the system; ends the run where memory
 * is short.  Not from malloc(): how many instructions that takes depends on what
 * the MPI library did with the same heap, which depends on time.
 */
void *ex_zeros(int64_t count, int64_t size);
void ex_free(void *zeros); /* NULL is fine */

/* Cut `cells` into `parts` blocks as equal as can be: the length of block
 * `part`, and in *first (where not NULL) its first cell. */
int64_t ex_block(int64_t cells, int64_t parts, int64_t part, int64_t *first);

/* The factors of `n` that are closest to each other: returns the smaller. */
int ex_most_square(int n);

#endif
