/*
 * Inside the check: what its one pass over the ranks (check.c) leaves for the
 * second look (locate.c) at what does not add up.
 */
#ifndef TI_LOCATE_H
#define TI_LOCATE_H

#include "sound/check.h"

/* Collectives on one communicator, by global number. */
struct sequence {
    bool any;
    int64_t first_rank;       /* the member the others are compared with */
    uint64_t n, hash;         /* its sequence */
    uint64_t given, expected; /* sums over all members, of vector blocks */
    uint64_t most;            /* collectives of any member, also of unsound ranks */
    uint8_t *met;             /* bits: members with collectives on it */
    int64_t nmet;
    bool bad;             /* reported */
    struct {              /* of the rank that is being read */
        int64_t rank, me; /* in the world, in it */
        uint64_t n, hash, given, expected;
    } now;
};

struct ti_check_state {
    struct ti_source *s;
    struct ti_problems *ps;
    struct ti_check *check;
    const struct ti_visitor *visitor;
    struct sequence *seq;
    size_t nseq, seqs_cap;
    uint8_t *sound;   /* by rank: it can be compared with others */
    uint8_t *cancels; /* by rank: it has messages that were cancelled, or perhaps */
    /* (rank, communicator) -> receives that may have taken a message of unknown
     * source or tag: with a wildcard, and never seen to complete */
    struct ti_map open;
    uint64_t *nopen;
    size_t open_cap;
    uint8_t run_id[TI_RUN_ID_BYTES];
    bool have_run_id;
};

/* Whether to go on. */
ti_status ti__pause(const struct ti_check_state *st, struct ti_err *err);

/* A problem with an event. */
void ti__report(struct ti_check_state *st, struct ti_walk *w, const struct ti_step *step,
                const char *why);

/* Ranks a and b disagree about collectives on gid: report where. */
ti_status ti__locate_in_sequences(struct ti_check_state *st, int64_t gid, int64_t a, int64_t b,
                                  struct ti_err *err);

/* Once all ranks have been read: report members without collectives where
 * others have some, and blocks that are not what their receivers expect. */
void ti__report_absent(struct ti_check_state *st);
ti_status ti__locate_in_blocks(struct ti_check_state *st, struct ti_err *err);

/* Messages from `src` to `dst` do not add up in some lanes (bits): report those
 * without a receive, receives without a message, and messages that do not fit;
 * matched[] and bytes[] are what was received, by lane. */
ti_status ti__locate_in_pair(struct ti_check_state *st, int64_t src, int64_t dst, unsigned lanes,
                             uint64_t matched[TI_LANES], uint64_t bytes[TI_LANES],
                             struct ti_err *err);

#endif
