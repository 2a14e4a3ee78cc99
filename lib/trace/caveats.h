/*
 * Caveats: warnings that a trace misses a part of the program, or depends on the machine where
 * it was taken.  The library writes the numbers into the metadata at the end of each rank's
 * trace.  The tools sum them up over ranks, and ti-acquire, ti-info and ti-replay print the
 * same sentences for the same numbers.
 */
#ifndef TI_TRACE_CAVEATS_H
#define TI_TRACE_CAVEATS_H

#include <jansson.h>

#include "common/share.h"
#include "trace/reader.h"

/* X(name, metadata key or ""): sums over ranks. */
#define TI_CAVEATS(X)                                                                              \
    X(ranks, "")                        /* ranks that were read to an end */                       \
    X(whole, "")                        /* those with MPI_Finalize */                              \
    X(events, "")                       /* events of these */                                      \
    X(threaded, "")                     /* ranks where other threads worked, too */                \
    X(caller_ns, "caller_ns")           /* CPU time from MPI_Init to MPI_Finalize: of the thread   \
                                         * that called both */                                     \
    X(other_ns, "other_ns")             /* of all others, where their work is in no volume */      \
    X(node_questions, "node_questions") /* calls whose answer is the machine's: which ranks share  \
                                         * a node, a processor's name */                           \
    X(samples, "samples")               /* samples, by CPU time, of the program between MPI calls, \
                                         * not of the library; with the counter `blocks` only */   \
    X(uncounted, "uncounted")           /* samples in code that the counter does not see */        \
    X(unknown, "unknown")               /* samples where that is not known */                      \
    X(blocks, "")                       /* ranks that `blocks` counted: it cannot sum threads */   \
    X(bounded, "")      /* ranks whose volumes are not exact, but within a bound */                \
    X(drawn, "")        /* those whose volumes are drawn from statistics */                        \
    X(drawn_extras, "") /* those whose extra values are */                                         \
    X(changed, "")      /* ranks that were changed after they were traced */                       \
    X(extrapolated, "") /* ranks that were never traced */

/* Metadata of a rank that was changed after it was traced: the commands that did so, as in
 * "ti-info --trips 'norm lu.c:291=20'". */
#define TI_INFO_CHANGED "changed"

/* Metadata of a rank of a run that nobody made: of which runs it was made, and whether that has
 * proved right, as in "from 16, 36 and 64 ranks; unproven: ..."; and the numbers of ranks of these
 * runs, with the run ids: "16 RUN_ID 36 RUN_ID". */
#define TI_INFO_EXTRAPOLATED      "extrapolated"
#define TI_INFO_EXTRAPOLATED_FROM "extrapolated_from"

/* The program or a library, and its share of the `uncounted` samples. */
struct ti_uncounted {
    char name[48];
    uint64_t samples;
};
#define TI_UNCOUNTED_MAX 32

struct ti_caveats {
#define TI_CAVEATS_MEMBER(name, key) uint64_t name;
    TI_CAVEATS(TI_CAVEATS_MEMBER)
#undef TI_CAVEATS_MEMBER
    struct ti_uncounted uncounted_in[TI_UNCOUNTED_MAX]; /* in descending order; others have no
                                                         * entry */
    uint64_t bound_ppm;      /* the largest bound, in millionths of a volume */
    char change[256];        /* TI_INFO_CHANGED of the first rank that has it, cut; "": none has */
    char extrapolation[400]; /* TI_INFO_EXTRAPOLATED of the first rank that has it, cut; "" */
    int exit_status;         /* of the application, from RUN.json; 0: success, or not known */
};

/* Add a rank, whose reader is at the end. */
void ti_caveats_add(struct ti_caveats *c, const struct ti_reader *r);

/* Add only the quality of a rank's volumes and, if wanted, of its extra values, and whether it was
 * changed or extrapolated.  The reader may be at any place. */
void ti_caveats_add_quality(struct ti_caveats *c, const struct ti_reader *r, bool with_extras);

/* Add `more` to *c. */
void ti_caveats_merge(struct ti_caveats *c, const struct ti_caveats *more);

/* Read the application's exit status from RUN.json, or from the "acquisition" of a manifest. */
void ti_caveats_run(struct ti_caveats *c, const json_t *run);

/* The numbers as a new object; NULL when memory is short.  ti_caveats_add_json() adds such an
 * object to *c and ignores values that make no sense. */
json_t *ti_caveats_json(const struct ti_caveats *c);
void ti_caveats_add_json(struct ti_caveats *c, const json_t *json);

/*
 * The share of the program that the counter `blocks` did not see, from 0 to 1: the samples in code
 * that was not compiled with ti-mpicc, of all samples between MPI calls.  -1: not known.
 */
double ti_caveats_uncounted(const struct ti_caveats *c);

/* Bounds of that share, computed from the samples by ti_share_of(). */
struct ti_share ti_caveats_bounds(const struct ti_caveats *c);

/* Whether the volumes are of all code of the program. */
enum ti_coverage {
    TI_COVERS_ALL,     /* other code took less than 1 % of the CPU time, or the counter sees it */
    TI_COVERS_UNKNOWN, /* too few samples to tell */
    TI_COVERS_PART     /* other code took more than 1 % */
};

/* Whether this counter sees only code that was compiled for it; false for NULL.  Traces have only
 * its name. */
bool ti_caveats_partial(const char *counter);

/*
 * The coverage of traces whose volumes `counter` counted.  NULL is an unknown counter, which is
 * taken for one that sees all code.  The bounds of the share decide, so that chance decides for one
 * trace of 100 at most.  If no sample is in uncounted code, 459 samples are enough to tell.
 */
enum ti_coverage ti_caveats_coverage(const struct ti_caveats *c, const char *counter);

/* A word for the volumes: "exact", "exact for that code" (if the coverage is not known),
 * "not of all code", "not exact", "an estimate", "changed", "extrapolated".  exact, estimate: what
 * the metadata says. */
const char *ti_caveats_words(const struct ti_caveats *c, const char *counter, bool exact,
                             bool estimate);

/* Whether the volumes are those of a run, and exact: JSON true or false, or null if the coverage is
 * not known. */
json_t *ti_caveats_exact(const struct ti_caveats *c, const char *counter, bool exact);

/* Whether the volumes of any rank are not exact since it was merged: bounded, or drawn. */
bool ti_caveats_approximate(const struct ti_caveats *c);

/* Write sentence `i`, from 0 on, into buf; false past the last. */
bool ti_caveats_text(const struct ti_caveats *c, int i, char *buf, size_t bytes);

#endif
