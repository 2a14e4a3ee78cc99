/*
 * A pass over the ranks of a trace, for whoever sums up events.  The walk of sound/walk.h resolves
 * partners and requests, so visitors see messages instead of MPI calls.
 */
#ifndef TI_ANALYSIS_PASS_H
#define TI_ANALYSIS_PASS_H

#include "common/ranges.h"
#include "fold/values.h"
#include "sound/walk.h"
#include "trace/scan.h"

/*
 * Callbacks of a pass, which reads one rank after the other; each may be NULL.  `from` and `to` are
 * world ranks; the bytes are moved from `from` to `to`, `times` times.  Trips of loops that are
 * alike are read once (trace/alike.h), so an item may come with a large number.  The order
 * of items is not that of the events.
 */
struct ti_pass_visitor {
    void *arg;

    /* Before the first event of a rank.  A result other than TI_OK ends the pass with that status.
     */
    ti_status (*rank)(void *arg, const struct ti_reader *r, struct ti_err *err);

    /* Volumes of the bursts before calls from a call site (its string number, or 0), and, with
     * `extras`, their values in extra columns, if the rank has them: `has_extras`. */
    bool extras;
    void (*bursts)(void *arg, const struct ti_reader *r, uint32_t site, const struct ti_values *v,
                   bool has_extras);

    /* Messages, while their sender is read.  A message with a request may still be cancelled, so it
     * is reported when the request completes, or at the end of the trace. */
    void (*message)(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times);

    /* Transfers of one-sided operations.  An atomic operation may cause one in each direction. */
    void (*one_sided)(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times);

    /* A rank calls collectives, or starts persistent ones.  `bytes` as in struct ti_op_count. */
    void (*collective)(void *arg, uint32_t op, uint64_t bytes, uint64_t times);
};

/* The result of a pass: the ranks that were read, and the problems. */
struct ti_pass {
    int64_t np, ranks; /* ranks of the run; ranks read, at least in part */
    struct ti_ranges missing, incomplete, damaged;
    uint64_t unsound; /* events not sound; visitors may miss their traffic */
    char first_incomplete[600], first_damaged[1100], first_unsound[600];
    ti_status st; /* exit status that follows from the above */
};

/*
 * Read rank `only`, or all ranks if it is below 0.  Missing, incomplete or damaged ranks are no
 * error of the pass: their readable part is visited, the result is TI_OK, and p->st is
 * TI_ERR_PARTIAL or TI_ERR_INPUT.  TI_ERR_IO when memory is short.  Release *p with
 * ti_pass_free(), after errors too.
 */
ti_status ti_pass(struct ti_source *s, int64_t only, const struct ti_pass_visitor *v,
                  struct ti_pass *p, struct ti_err *err);
void ti_pass_free(struct ti_pass *p);

/* Fail because sums of `what` ("bytes") are above 2^64 - 1. */
ti_status ti_pass_too_large(const struct ti_source *s, const char *what, struct ti_err *err);

/* Classes of sizes or volumes by powers of two.  Class n begins at ti_class_from(n): 0, 1, 2, 4,
 * ...
 */
#define TI_CLASSES 65
static inline int ti_class(uint64_t v)
{
    return v ? 64 - __builtin_clzll(v) : 0;
}

static inline uint64_t ti_class_from(int n)
{
    return n ? UINT64_C(1) << (n - 1) : 0;
}

#endif
