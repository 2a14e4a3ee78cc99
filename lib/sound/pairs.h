/*
 * Messages between pairs of ranks, as sums of hashes.
 *
 * Each message adds a term for its place (channel, number on the channel) to the sums of its side,
 * and one for place and size (series.h).  If the sums of both sides are equal, every message has
 * its receive.  The channels of a pair are spread over a few lanes with sums of their own, so that
 * a difference concerns one lane only.
 */
#ifndef TI_SOUND_PAIRS_H
#define TI_SOUND_PAIRS_H

#include "common/map.h"
#include "sound/walk.h"

#define TI_LANES 8

/* The sums of one side of a channel, or of the channels of a lane. */
struct ti_side {
    uint64_t n;
    uint64_t bytes;   /* sent, or room of the receives */
    uint64_t places;  /* series of 1: of a lane, times hashes of the channels */
    uint64_t sizes;   /* series of hashes of the bytes, likewise */
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
    /* the rank that is being read: (communicator, tag, peer, receiving + 2 * partitioned) */
    struct ti_map own;
    struct ti_own_side {
        struct ti_side sums;
        uint64_t last, power; /* number of the last message, and that power of the base */
    } * side;
    size_t sides_cap;
    struct ti_own_side no_side; /* takes the place of a side for which there is no memory */
    bool no_memory;             /* memory was short; no result since is valid */
};

/* The sums of the rank that is being read, at some time before.  A zeroed struct is empty. */
struct ti_pairs_mark {
    struct ti_side *side;
    size_t n, cap;
};

/* The lane of a message's channel. */
int64_t ti_lane_of(const struct ti_msg *m);

/* Add a message of the rank that is being read; take back one that was cancelled.  When memory is
 * short, this sets p->no_memory, and so does ti_pairs_keep(). */
void ti_pairs_add(struct ti_pairs *p, const struct ti_msg *m);
void ti_pairs_withdraw(struct ti_pairs *p, const struct ti_msg *m);

/* Remember the present sums.  False: no memory.  _repeat: add `times` times what was added since
 * then, with the numbers of the messages growing as they did; `walk` is the mark of the same time.
 */
bool ti_pairs_remember(const struct ti_pairs *p, struct ti_pairs_mark *mark);
void ti_pairs_repeat(struct ti_pairs *p, const struct ti_pairs_mark *mark, const struct ti_walk *w,
                     const struct ti_walk_mark *walk, uint64_t times);

/* At the end of a rank: add its sums to the lanes, or drop them. */
void ti_pairs_keep(struct ti_pairs *p, int64_t rank);
void ti_pairs_forget(struct ti_pairs *p);

/* Whether both sides of a lane certainly agree. */
bool ti_lane_agrees(const struct ti_lane *lane);

/* The indices of the lanes, sorted by (source, destination); free() the array.  NULL: no memory. */
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
