/*
 * Second pass of the check (check.h): locate the events at which two sides differ, of collectives
 * in locate.c, of messages in locate_pair.c.  check_pairs.c decides which pairs of ranks that
 * needs. Also the state that the first pass (check.c) leaves for it.  Internal to this folder.
 */
#ifndef TI_SOUND_LOCATE_H
#define TI_SOUND_LOCATE_H

#include "sound/check.h"

/* Collectives on one communicator. */
struct sequence {
    bool any;
    int64_t first_rank;       /* the rank that the others are compared with */
    uint64_t n, hash;         /* its sequence: number of calls, series of their signatures */
    uint64_t given, expected; /* series of the blocks of all members, see ti_sums */
    uint64_t most;            /* largest number of calls of a member, including unsound ranks */
    uint8_t *met;             /* bits: members with calls on it */
    int64_t nmet;
    bool bad;             /* reported */
    struct sequence_now { /* the rank that is being read */
        int64_t rank, me; /* its world rank, its index among the members */
        uint64_t n, hash, given, expected;
        uint64_t power; /* of the base, for call number n */
    } now;
};

struct ti_trip_levels;

struct ti_check_state {
    struct ti_source *s;
    struct ti_problems *ps;
    struct ti_check *check;
    const struct ti_visitor *visitor;
    struct sequence *seq; /* by global number of the communicator */
    size_t nseq, seqs_cap;
    uint8_t *sound;           /* by rank: it can be compared with others */
    uint8_t *huge;            /* by rank: it has too many events to be read again */
    struct ti_trip_levels *levels; /* of the rank that is being read; see trips.c */
    uint8_t *cancels;         /* by rank: it has messages that were, or may have been, cancelled */
    uint8_t *unfinished;      /* by rank: it has receives that were freed, or never completed */
    /* (rank, communicator) -> receives that may have taken a message of unknown
     * source or tag: with a wildcard, and never seen to complete */
    struct ti_map open;
    uint64_t *nopen;
    size_t open_cap;
    uint8_t run_id[TI_RUN_ID_BYTES];
    bool have_run_id;
    struct sequence no_seq; /* takes the place of one for which there is no memory */
    bool no_memory;         /* memory was short, which ends the check */
};

/* Before the next event of a rank: leave out trips that are alike.  Messages that were sent in them
 * are added to *sent.  TI_ERR_INPUT if the record is malformed, TI_ERR_IO when memory is short. */
ti_status ti__leave_out_trips(struct ti_check_state *st, struct ti_walk *w, uint64_t *sent,
                              struct ti_err *err);
void ti__levels_free(struct ti_trip_levels *levels);

/* The error that memory is short, if it was; else TI_OK. */
ti_status ti__check_memory(const struct ti_check_state *st, struct ti_err *err);

/* The same, else call the visitor's pause(). */
ti_status ti__pause(const struct ti_check_state *st, struct ti_err *err);

/* ti_event_text() of an event, for a problem. */
void ti__event_text(struct ti_check_state *st, int64_t rank, uint64_t event,
                    char call[TI_CALL_BYTES]);

/* The error of a rank that is not what it was when it was read before. */
ti_status ti__changed(const struct ti_check_state *st, struct ti_err *err);

/* Report a problem with an event. */
void ti__report(struct ti_check_state *st, struct ti_walk *w, const struct ti_step *step,
                const char *why);

/* Ranks a and b disagree about the collectives on gid: report the first difference. */
ti_status ti__locate_in_sequences(struct ti_check_state *st, int64_t gid, int64_t a, int64_t b,
                                  struct ti_err *err);

/* After the first pass: report members without collectives on a communicator where others have
 * some, and blocks that differ from what their receivers expect. */
void ti__report_absent(struct ti_check_state *st);
ti_status ti__locate_in_blocks(struct ti_check_state *st, struct ti_err *err);

/* After the first pass: compare what was sent and what was received, for each pair of ranks. */
ti_status ti__close_pairs(struct ti_check_state *st, struct ti_err *err);

/* Messages from `src` to `dst` differ in some lanes (bits).  Report messages without a receive,
 * receives without a message, and messages that do not fit.  matched[] and bytes[] become the
 * messages and bytes that were received, by lane. */
ti_status ti__locate_in_pair(struct ti_check_state *st, int64_t src, int64_t dst, unsigned lanes,
                             uint64_t matched[TI_LANES], uint64_t bytes[TI_LANES],
                             struct ti_err *err);

#endif
