/*
 * Caveats: warnings that a trace misses a part of the program, or depends on the machine where
 * it was taken.  The library writes the numbers into the metadata at the end of each rank's
 * trace.  The tools sum them up over ranks, and ti-acquire, ti-info and ti-replay print the
 * same sentences for the same numbers.
 */
#ifndef TI_CAVEATS_H
#define TI_CAVEATS_H

#include <jansson.h>

#include "formats/reader.h"

/* X(name, metadata key or ""): sums over ranks. */
#define TI_CAVEATS(X)                                                                              \
    X(ranks, "")                        /* that were read to an end */                             \
    X(whole, "")                        /* of them, with MPI_Finalize */                           \
    X(events, "")                       /* of these */                                             \
    X(threaded, "")                     /* ranks of which other threads took a share */            \
    X(caller_ns, "caller_ns")           /* CPU time from MPI_Init to MPI_Finalize: of the thread   \
                                         * that called both */                                     \
    X(other_ns, "other_ns")             /* of all others, where their work is in no volume */      \
    X(node_questions, "node_questions") /* calls whose answer is the machine's: which ranks share  \
                                         * a node, a processor's name */                           \
    X(samples, "samples")               /* of the program between MPI calls, by CPU time, where    \
                                         * the counter is `blocks` */                              \
    X(uncounted, "uncounted")           /* of these, in code that the counter does not see */      \
    X(unknown, "unknown")               /* of these, where that could not be told */

/* The program or a library, and the samples of `uncounted` that were in it. */
struct ti_uncounted {
    char name[48];
    uint64_t samples;
};
#define TI_UNCOUNTED_MAX 32

struct ti_caveats {
#define TI_CAVEATS_MEMBER(name, key) uint64_t name;
    TI_CAVEATS(TI_CAVEATS_MEMBER)
#undef TI_CAVEATS_MEMBER
    struct ti_uncounted uncounted_in[TI_UNCOUNTED_MAX]; /* the most samples first; those of further
                                                         * ones are in no entry */
    int exit_status; /* of the application, by RUN.json; 0: it did well, or is not known */
};

/* One more rank, read to its end or skipped over. */
void ti_caveats_add(struct ti_caveats *c, const struct ti_reader *r);

/* The sum of both in *c. */
void ti_caveats_merge(struct ti_caveats *c, const struct ti_caveats *more);

/* What RUN.json, or the "acquisition" of a manifest, says of the application's end. */
void ti_caveats_run(struct ti_caveats *c, const json_t *run);

/* The numbers as an object; NULL without memory.  The other way adds to *c; values that make
 * no sense are left out. */
json_t *ti_caveats_json(const struct ti_caveats *c);
void ti_caveats_take(struct ti_caveats *c, const json_t *json);

/*
 * The share of the program that the counter `blocks` did not see, from 0 to 1: of the samples
 * between MPI calls, those in code that was not compiled with ti-mpicc.  -1: not known.
 */
double ti_caveats_uncounted(const struct ti_caveats *c);

/* Whether that share, or the one of which it is not known, is large enough to be a caveat: 1 %,
 * and not by chance. */
bool ti_caveats_misses(const struct ti_caveats *c);

/* Sentence `i` from 0 on, into buf; false past the last. */
bool ti_caveats_text(const struct ti_caveats *c, int i, char *buf, size_t bytes);

#endif
