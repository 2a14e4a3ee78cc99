/*
 * The reader that runs ahead of a walk: what receives with wildcards match is
 * in the trace only where they complete.  What it meets on its way is kept in a
 * queue until it is asked for.
 */
#ifndef TI_WILDCARDS_H
#define TI_WILDCARDS_H

#include "formats/source.h"

enum ti_match_state {
    TI_MATCH_OPEN,  /* not known yet; never returned */
    TI_MATCH_KNOWN, /* from and tag say it; TI_NULL: it was cancelled */
    TI_MATCH_NEVER  /* the trace does not show it complete */
};

struct ti_match {
    enum ti_match_state state;
    int64_t from, tag;
    uint64_t event; /* where it was posted */
    int64_t req;
};

struct ti_wildcards {
    bool all; /* to be set before asking: those without wildcards, too, which are known where they
                 are cancelled */
    struct ti_reader *r;
    struct ti_match *wild; /* receives with wildcards, as they were posted */
    size_t first, n, cap;
    uint64_t dropped; /* entries before them that are gone */
    struct {
        uint64_t number; /* of its entry + 1; 0: no wildcard outstanding */
        bool persistent; /* every start posts a wildcard */
    } * live;            /* by request */
    size_t nlive, live_cap;
    uint64_t index; /* events read */
    bool ended;
};

/* Whether the receive of an event, or of each start of it, has a wildcard. */
bool ti_is_wild(const struct ti_event *ev);

/* What the receive with a wildcard matched that event `event` of `rank` posted
 * with request `req`.  To be asked in the order of events. */
ti_status ti_wildcards_ask(struct ti_wildcards *w, struct ti_source *s, int64_t rank,
                           uint64_t event, int64_t req, struct ti_match *out, struct ti_err *err);
void ti_wildcards_free(struct ti_wildcards *w);

#endif
