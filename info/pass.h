/*
 * A pass over the ranks of a trace, for commands that sum up events: traffic.c, histogram.c and
 * rates.c.  The walk of sound/walk.h resolves partners and requests, so visitors see messages
 * instead of MPI calls.
 */
#ifndef TI_INFO_PASS_H
#define TI_INFO_PASS_H

#include <jansson.h>

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
struct info_visitor {
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
struct info_pass {
    int64_t np, ranks; /* ranks of the run; ranks read, at least in part */
    struct ti_ranges missing, incomplete, damaged;
    uint64_t unsound; /* events not sound; visitors may miss their traffic */
    char first_incomplete[600], first_damaged[1100], first_unsound[600];
    ti_status st; /* exit status that follows from the above */
};

/*
 * Read rank `only`, or all ranks if it is below 0.  Missing, incomplete or damaged ranks are no
 * error of the pass: their readable part is visited, the result is TI_OK, and p->st is
 * TI_ERR_PARTIAL or TI_ERR_INPUT.  Release *p with info_pass_free(), after errors too.
 */
ti_status info_pass(struct ti_source *s, int64_t only, const struct info_visitor *v,
                    struct info_pass *p, struct ti_err *err);
void info_pass_free(struct info_pass *p);

/* Report missing, incomplete, damaged and unsound ranks on stderr. */
void info_pass_warn(const struct info_pass *p);

/* Add the same facts to `out`, with the keys np, ranks, complete, missing, incomplete, damaged,
 * unsound_events. */
void info_pass_json(const struct info_pass *p, json_t *out);

/* Classes of sizes or volumes by powers of two.  Class n begins at info_class_from(n): 0, 1, 2, 4,
 * ...
 */
#define INFO_CLASSES 65
static inline int info_class(uint64_t v)
{
    return v ? 64 - __builtin_clzll(v) : 0;
}

static inline uint64_t info_class_from(int n)
{
    return n ? UINT64_C(1) << (n - 1) : 0;
}

#endif
