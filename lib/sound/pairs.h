/*
 * Messages between pairs of ranks, as sums.
 *
 * Each message adds a hash of its place (channel, number on the channel), and
 * one of place and size, to the sums of its side.  Where the sums of both sides
 * are equal, every message has its receive.  The channels of a pair are dealt
 * to a few lanes, so that what differs is confined to one of them.
 */
#ifndef TI_PAIRS_H
#define TI_PAIRS_H

#include "common/map.h"
#include "sound/walk.h"

#define TI_LANES 8

/* What one side of a lane adds up to. */
struct ti_side {
    uint64_t n;
    uint64_t bytes;   /* sent, or room for */
    uint64_t places;  /* sum of hashes of (channel, number) */
    uint64_t sizes;   /* and with the bytes */
    int64_t smallest; /* message, or room; none: INT64_MAX */
    int64_t largest;
    bool vague; /* a cancelled message left a hole: the sums say nothing */
};

struct ti_lane {
    struct ti_side sent, taken;
    bool checked;                     /* the next two are known */
    uint64_t messages, message_bytes; /* sent and received */
};

struct ti_pairs {
    struct ti_map keys; /* (source, destination, lane) */
    struct ti_lane *lane;
    size_t cap;
    /* of the rank that is being read: (peer, receiving, lane) */
    struct ti_map own;
    struct ti_side *side;
    size_t sides_cap;
};

/* The lane of a message's channel. */
int64_t ti_lane_of(const struct ti_msg *m);

/* One message of the rank that is being read; one that was cancelled. */
void ti_pairs_add(struct ti_pairs *p, const struct ti_msg *m);
void ti_pairs_withdraw(struct ti_pairs *p, const struct ti_msg *m);

/* `rank` was read to its end: its sums go to the others', or are forgotten. */
void ti_pairs_keep(struct ti_pairs *p, int64_t rank);
void ti_pairs_forget(struct ti_pairs *p);

/* Whether both sides of a lane agree for certain. */
bool ti_lane_agrees(const struct ti_lane *lane);

/* The lanes by (source, destination): an array of indices, freed by the caller. */
size_t *ti_pairs_sorted(const struct ti_pairs *p);

/* One pair, all its lanes together. */
struct ti_pair {
    int64_t from, to;
    bool checked;      /* else `received` and `delivered` do not say anything */
    uint64_t messages; /* that `from` sends */
    uint64_t received;
    uint64_t bytes; /* that `from` sends */
    uint64_t delivered;
};

/* The pair that order[*at] begins; *at moves to the next. */
struct ti_pair ti_pairs_next(const struct ti_pairs *p, const size_t *order, size_t *at);

void ti_pairs_free(struct ti_pairs *p);

#endif
