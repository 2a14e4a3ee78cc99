/*
 * The reader that runs ahead of a walk to find out what receives with wildcards matched, because
 * the trace tells this only where they complete.  Results that are not needed yet are kept in a
 * queue.
 */
#ifndef TI_SOUND_WILDCARDS_H
#define TI_SOUND_WILDCARDS_H

#include "bundle/source.h"

enum ti_match_state {
    TI_MATCH_OPEN,  /* not known yet; internal */
    TI_MATCH_KNOWN, /* see `from` and `tag`; TI_NULL: it was cancelled */
    TI_MATCH_NEVER  /* the trace does not show it complete */
};

struct ti_match {
    enum ti_match_state state;
    int64_t from, tag;
    uint64_t event; /* index of the event that posted it */
    int64_t req;
};

struct ti_wildcards {
    bool all; /* set it before asking: also follow receives without wildcards, to learn which of
                 them are cancelled */
    struct ti_reader *r;
    struct ti_match *wild; /* queue of receives with wildcards, in the order of posting */
    size_t first, n, cap;
    uint64_t dropped; /* entries removed from its front */
    struct {
        uint64_t number; /* 1 + number of its entry; 0: no wildcard outstanding */
        bool persistent; /* every start posts a wildcard */
    } * live;            /* by request */
    size_t nlive, live_cap;
    uint64_t asked; /* calls of ti_wildcards_ask() */
    uint64_t index; /* events read */
    bool ended;
    bool no_memory; /* memory was short; no result since is valid */
};

/* Whether the receive of an event, or of each start of it, has a wildcard. */
bool ti_is_wild(const struct ti_event *ev);

/* Find out what a receive with a wildcard matched.  Event `event` of `rank` posted it with request
 * `req`.  Call this in the order of events.  Fails as ti_reader_next() does if the trace is damaged
 * before the event that completes the receive, or when memory is short; do not ask again then. */
ti_status ti_wildcards_ask(struct ti_wildcards *w, struct ti_source *s, int64_t rank,
                           uint64_t event, int64_t req, struct ti_match *out, struct ti_err *err);

/*
 * Trips of loops that are left out (fold/trips.h).  For a reader that has not run ahead of event
 * `event`, where a trip begins in the loop at `depth`: leave out `n` times *p.  False if the record
 * is malformed, or memory is short (errno is ENOMEM).
 */
bool ti_wildcards_leave_out(struct ti_wildcards *w, uint64_t event, uint32_t depth, uint64_t n,
                            const struct ti_trip_period *p);

/* Before the first question: begin at event `event` of a folded trace.  `nrequests` numbers of
 * requests are known there.  The caller sets `persistent` of those that post wildcards.  Leaves
 * `r` NULL, to be opened at the start of the trace, if finding the event would take too long. */
ti_status ti_wildcards_begin(struct ti_wildcards *w, struct ti_source *s, int64_t rank,
                             uint64_t event, size_t nrequests, struct ti_err *err);
void ti_wildcards_free(struct ti_wildcards *w);

#endif
