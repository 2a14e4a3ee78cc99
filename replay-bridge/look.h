/*
 * Inside the linter: what its one pass over the ranks (lint.c) leaves for the
 * second look (look.c) at what does not add up.
 */
#ifndef TI_LOOK_H
#define TI_LOOK_H

#include "replay-bridge/lint.h"

/* (gid, tag, source, destination) */
struct channel {
    struct side {
        uint64_t n;
        uint64_t hash; /* of the sizes in order */
    } sent, taken;
    int64_t max_sent, min_room;
};

/* Collectives on one communicator, by global number. */
struct sequence {
    bool any;
    int64_t first_rank; /* the member the others are compared with */
    uint64_t n, hash;   /* its sequence */
    int64_t now;        /* the rank that the next two are about */
    uint64_t now_n, now_hash;
    uint64_t given, expected; /* sums over all members, of vector blocks */
    uint8_t *met;             /* bits: members with collectives on it */
    int64_t nmet;
    bool bad; /* reported */
};

struct ti_lint_state {
    struct ti_source *s;
    struct ti_problems *ps;
    struct ti_lint *lint;
    struct ti_map channels;
    struct channel *channel;
    size_t channels_cap;
    struct sequence *seq;
    size_t nseq, seqs_cap;
    struct ti_map held; /* (gid, tag, peer, receiving): first message never waited for */
    struct ti_msg *held_msg;
    size_t held_cap;
    uint8_t run_id[TI_RUN_ID_BYTES];
    bool have_run_id, have_volumes;
    bool whole; /* so far nothing makes comparing ranks pointless */
};

/* A problem with an event. */
void ti__lint_report(struct ti_lint_state *st, struct ti_walk *w, int64_t rank,
                     const struct ti_step *step, const char *why);

/* Whether all members of a communicator must call it. */
bool ti__joins_all(uint32_t op);

/* What a collective must have in common on all members, as a hash. */
uint64_t ti__signature(const struct ti_event *ev);

/*
 * Blocks of the vector collectives are compared as sums: the sender of a block
 * adds a hash of (which collective, from, to, bytes) to one sum, its receiver
 * to another.  With `each`, there is a pair of sums for each sender.
 */
struct ti_sums {
    uint64_t *given, *expected;
    bool each;
};

/* Add what member `me` of `size` gives and expects in its collective `nth`. */
void ti__add_blocks(const struct ti_sums *s, uint64_t nth, const struct ti_event *ev, int64_t me,
                    int64_t size);

/* Ranks a and b disagree about collectives on gid: report where. */
ti_status ti__look_at_sequences(struct ti_lint_state *st, int64_t gid, int64_t a, int64_t b,
                                struct ti_err *err);

/* Report members without collectives where others have some, blocks that are
 * not what their receivers expect, and messages that are not matched or do not
 * fit.  Once all ranks have been read. */
void ti__look_for_absent(struct ti_lint_state *st);
ti_status ti__look_at_blocks(struct ti_lint_state *st, struct ti_err *err);
ti_status ti__look_at_channels(struct ti_lint_state *st, struct ti_err *err);

#endif
