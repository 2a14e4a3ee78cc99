/*
 * A walk through one rank's trace with everything about messages worked out:
 * partners as world ranks, wildcards as what they matched, requests as the
 * messages they stand for, and each message's place on its channel.
 *
 * A channel is (communicator, tag, source, destination).  MPI delivers its
 * messages in order, so the k-th send on it meets the k-th receive posted that
 * took a message from it, whatever wildcards that receive had.  The number k is
 * therefore found on both sides without a word between them.
 *
 * A non-blocking receive with a wildcard is known only where it completes.  The
 * walk then sends a second reader of the same trace ahead to that place, and
 * keeps what that reader met on its way; both linting and lowering thus need
 * memory for outstanding requests and for channels, not for the trace.
 */
#ifndef TI_WALK_H
#define TI_WALK_H

#include "check/comms.h"
#include "formats/source.h"

#define TI_WHY_BYTES 256

enum ti_send_mode { TI_SEND_STANDARD, TI_SEND_BUFFERED, TI_SEND_SYNCHRONOUS };

/* One side of a message. */
struct ti_msg {
    bool recv;
    enum ti_send_mode mode;
    bool null;    /* MPI_PROC_NULL: no message, and the rest is unset */
    bool unknown; /* could not be worked out (then null too) */
    int64_t peer; /* world rank of the other side */
    int64_t gid;  /* communicator, see comms.h */
    int64_t tag;
    int64_t bytes;         /* sent, or room for */
    int64_t req;           /* the request's number, -1 for a blocking call */
    uint64_t seq;          /* on its channel, from 0 */
    uint64_t posted_after; /* how many messages followed on its channel on this
                              side; set where the request completes */
    uint64_t event;        /* where it was posted */
    uint32_t op;           /* and by which operation */
};

struct ti_step {
    struct ti_event ev; /* fields that are not there are 0 */
    uint64_t index;     /* 0-based in the rank's stream */
    int64_t gid;        /* of the event's communicator, -1 if it has none */
    int64_t me;         /* our rank in it */
    int nposted;
    struct ti_msg posted[2];   /* a send-receive has its send first */
    const struct ti_msg *done; /* requests completed (or freed), in order */
    size_t ndone;
    bool lost;              /* a receive whose wildcard the trace never shows to match; it is
                               not in `posted` */
    char why[TI_WHY_BYTES]; /* "" or what is wrong with the event; then posted
                               and done hold what was sound */
};

struct ti_walk;

/* Start on `rank`; the walk is closed before `s` and `comms`. */
ti_status ti_walk_open(struct ti_source *s, struct ti_comms *comms, int64_t rank,
                       struct ti_walk **out, struct ti_err *err);
void ti_walk_close(struct ti_walk *w); /* NULL is fine */

/* The next event: 1, 0 at the end, -1 when the trace is damaged.  What step
 * points to is the walk's until the next call. */
int ti_walk_next(struct ti_walk *w, struct ti_step *step, struct ti_err *err);

struct ti_reader *ti_walk_reader(struct ti_walk *w);
int64_t ti_walk_rank(const struct ti_walk *w);

/* Messages that this side had posted on a channel so far. */
uint64_t ti_walk_posted(const struct ti_walk *w, const struct ti_msg *msg);

/* The outstanding request with the lowest number from `i` on; NULL if none. */
const struct ti_msg *ti_walk_pending(const struct ti_walk *w, size_t i);

/* "irecv(comm 0, peer -1, tag 5, ...)" into buf. */
const char *ti_call_text(struct ti_reader *r, const struct ti_event *ev, char *buf, size_t bytes);

/* The same of event `index` of `rank`, which is read again up to it. */
const char *ti_event_text(struct ti_source *s, int64_t rank, uint64_t index, char *buf,
                          size_t bytes);

#endif
