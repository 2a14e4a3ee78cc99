/*
 * A walk through one rank's trace with everything about messages, requests and
 * collectives worked out: partners as world ranks, wildcards as what they
 * matched, requests as what they stand for, and each message's place on its
 * channel.
 *
 * A channel is (communicator, tag, source, destination).  MPI delivers its
 * messages in order, so the k-th send on it meets the k-th receive posted that
 * took a message from it, whatever wildcards that receive had; a matched probe
 * takes its message when it is called.  The number k is therefore found on both
 * sides without a word between them.  Each partitioned request is a channel of
 * its own, matched by the order in which they were made.
 *
 * A non-blocking receive with a wildcard is known only where it completes.  The
 * walk then sends a second reader of the same trace ahead (wildcards.h); both
 * checking and lowering thus need memory for outstanding requests and for
 * channels, not for the trace.  What is cancelled is known where it completes
 * as well, and is taken back there.
 */
#ifndef TI_WALK_H
#define TI_WALK_H

#include "formats/source.h"
#include "sound/comms.h"
#include "sound/neighbours.h"

#define TI_WHY_BYTES 256

enum ti_send_mode { TI_SEND_STANDARD, TI_SEND_BUFFERED, TI_SEND_SYNCHRONOUS };

/* One side of a message. */
struct ti_msg {
    bool recv;
    enum ti_send_mode mode;
    bool null;       /* MPI_PROC_NULL: no message, and the rest is unset */
    bool unknown;    /* could not be worked out (then null too) */
    bool cancelling; /* MPI_Cancel was called for it */
    bool cancelled;  /* in `done`: it never was.  `hole`: messages that were posted */
    bool hole;       /* after it on the channel count one too high from there on */
    bool astray;     /* a receive posted in another order than the messages came,
                        which matched probes make possible */
    int64_t peer;    /* world rank of the other side */
    int64_t gid;     /* communicator, see comms.h */
    int64_t tag;
    int64_t lot;           /* 0, or 1 + the number of a partitioned request */
    int64_t bytes;         /* sent, or room for */
    int64_t req;           /* the request's number, -1 for a blocking call */
    uint64_t seq;          /* on its channel, from 0 */
    uint64_t posted_after; /* how many messages followed on its channel on this
                              side; set where the request completes */
    uint64_t event;        /* where it was posted */
    uint32_t op;           /* and by which operation */
};

/* A call that all members of a communicator, window or file make. */
struct ti_coll_call {
    const struct ti_event *ev; /* of a persistent one that is started: its init */
    struct ti_local_comm on;
    const struct ti_neighbours *topology; /* of a neighbour collective; NULL: none */
};

struct ti_step {
    struct ti_event ev;          /* fields that are not there are 0 */
    uint64_t index;              /* 0-based in the rank's stream */
    int64_t gid;                 /* of the event's communicator, -1 if it has none */
    const struct ti_msg *posted; /* a send-receive has its send first */
    size_t nposted;
    const struct ti_msg *done; /* whose requests completed (or were freed), in order */
    size_t ndone;
    const struct ti_coll_call *call; /* collective calls that take their place here */
    size_t ncalls;
    bool lost;              /* a receive whose wildcard the trace never shows to match;
                               it is not in `posted` */
    char why[TI_WHY_BYTES]; /* "" or what is wrong with the event; then posted
                               and done hold what was sound */
};

/* Of a message in `done`: its request was freed, so the trace does not say whether
 * MPI_Cancel, which was called for it, came in time. */
static inline bool ti_may_be_cancelled(const struct ti_msg *m, const struct ti_step *step)
{
    return m->cancelling && step->ev.op == TI_OP_REQUEST_FREE;
}

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

/* A request that was made or started and has not completed, or a message that
 * was probed and has not been received. */
struct ti_pending {
    int64_t number; /* of the request; of the message if `probed` */
    bool probed;
    uint64_t event; /* where it was posted */
    uint32_t op;
    const struct ti_msg *msg; /* it stands for; `unknown` among them */
    int nmsgs;
};

/* The next of them from *at on, which is 0 at first; false when there is none. */
bool ti_walk_pending(const struct ti_walk *w, size_t *at, struct ti_pending *out);

#endif
