/*
 * One reading of the ranks of a trace, for what sums up their events: traffic.c, histogram.c and
 * rates.c.  The walk of sound/ resolves partners and requests, so that a visitor is told of
 * messages and not of calls.
 */
#ifndef TI_INFO_PASS_H
#define TI_INFO_PASS_H

#include <jansson.h>

#include "formats/scan.h"
#include "sound/walk.h"

/*
 * What is called while ranks are read, one after the other; NULL: not called.  `from` and `to` are
 * world ranks, and bytes go from the one to the other.
 */
struct info_visitor {
    void *arg;
    bool extras; /* read extra columns, too */

    /* A rank is opened; anything but TI_OK ends the pass with that. */
    ti_status (*rank)(void *arg, const struct ti_reader *r, struct ti_err *err);
    void (*event)(void *arg, const struct ti_reader *r, const struct ti_event *ev);

    /* A message, told of by its sender.  A message with a request is told of when the request
     * completes, or at the end of the trace, for until then it may be cancelled. */
    void (*message)(void *arg, int64_t from, int64_t to, uint64_t bytes);

    /* What a one-sided operation moves; an atomic one may move bytes both ways. */
    void (*one_sided)(void *arg, int64_t from, int64_t to, uint64_t bytes);

    /* A rank calls a collective, or starts a persistent one, and hands over `bytes`
     * (struct ti_op_count). */
    void (*collective)(void *arg, uint32_t op, uint64_t bytes);
};

/* What was read, and what was not. */
struct info_pass {
    int64_t np, ranks;                      /* of the run; read, if only in part */
    json_t *missing, *incomplete, *damaged; /* ranks, as formats/ranges.h has them */
    uint64_t unsound;                       /* events that fit no other; their traffic is not in */
    char first_incomplete[600], first_damaged[1100], first_unsound[600];
    ti_status st; /* the exit status that this comes to */
};

/*
 * Read all ranks, or `only` that one if it is 0 or more.  What is missing, incomplete or damaged
 * is counted as far as it goes: TI_OK, with `st` TI_ERR_PARTIAL or worse.  Release *p with
 * info_pass_free() in any case.
 */
ti_status info_pass(struct ti_source *s, int64_t only, const struct info_visitor *v,
                    struct info_pass *p, struct ti_err *err);
void info_pass_free(struct info_pass *p);

/* Tell on stderr what is missing, incomplete or damaged. */
void info_pass_warn(const struct info_pass *p);

/* Add the same to `out`: np, ranks, complete, missing, incomplete, damaged, unsound_events. */
void info_pass_json(const struct info_pass *p, json_t *out);

/* The class of a size or volume in powers of two, and where a class begins: 0, 1, 2, 4, ... */
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
