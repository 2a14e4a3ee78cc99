/*
 * Messages between pairs of ranks, as sums of hashes.
 *
 * Each message adds a hash of its place (channel, number on the channel) to the sums of its side,
 * and a hash of place and size.  If the sums of both sides are equal, every message has its
 * receive.  The channels of a pair are spread over a few lanes with sums of their own, so that a
 * difference concerns one lane only.
 */
#ifndef TI_PAIRS_H
#define TI_PAIRS_H

#include "common/map.h"
#include "sound/walk.h"

#define TI_LANES 8

/* The sums of one side of a lane. */
struct ti_side {
    uint64_t n;
    uint64_t bytes;   /* sent, or room of the receives */
    uint64_t places;  /* sum of hashes of (channel, number) */
    uint64_t sizes;   /* sum of hashes of (channel, number, bytes) */
    int64_t smallest; /* message or room; INT64_MAX: none */
    int64_t largest;
    bool vague; /* a cancelled message left a hole, so the sums are not valid */
};

struct ti_lane {
    struct ti_side sent, taken;
    bool checked;                     /* the next two are valid */
    uint64_t messages, message_bytes; /* sent and received */
};

struct ti_pairs {
    struct ti_map keys; /* (source, destination, lane) */
    struct ti_lane *lane;
    size_t cap;
    /* the rank that is being read: (peer, receiving, lane) */
    struct ti_map own;
    struct ti_side *side;
    size_t sides_cap;
};

/* The lane of a message's channel. */
int64_t ti_lane_of(const struct ti_msg *m);

/* Add a message of the rank that is being read; take back one that was cancelled. */
void ti_pairs_add(struct ti_pairs *p, const struct ti_msg *m);
void ti_pairs_withdraw(struct ti_pairs *p, const struct ti_msg *m);

/* At the end of a rank: add its sums to the lanes, or drop them. */
void ti_pairs_keep(struct ti_pairs *p, int64_t rank);
void ti_pairs_forget(struct ti_pairs *p);

/* Whether both sides of a lane certainly agree. */
bool ti_lane_agrees(const struct ti_lane *lane);

/* The indices of the lanes, sorted by (source, destination); free() the array. */
size_t *ti_pairs_sorted(const struct ti_pairs *p);

/* One pair, all its lanes together. */
struct ti_pair {
    int64_t from, to;
    bool checked;       /* `received` and `delivered` are valid */
    uint64_t messages;  /* sent */
    uint64_t received;  /* messages */
    uint64_t bytes;     /* sent */
    uint64_t delivered; /* bytes */
};

/* The pair whose first lane is order[*at]; advances *at to the next pair. */
struct ti_pair ti_pairs_next(const struct ti_pairs *p, const size_t *order, size_t *at);

void ti_pairs_free(struct ti_pairs *p);

#endif
