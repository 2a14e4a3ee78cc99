/*
 * An iterator over one rank's trace that resolves messages, requests and collectives.  For each
 * event it tells which messages it posts and which it completes.  Each message has its partner as a
 * world rank, what its wildcards matched, and its number on its channel.
 *
 * A channel is (communicator, tag, source, destination).  MPI delivers the messages of a channel in
 * order.  So the k-th send on it matches the k-th posted receive that took a message from it, even
 * if the receive had wildcards.  A matched probe takes its message when it is called.  So sender
 * and receiver find the same number k independently, and ranks can be read one after another.  Each
 * partitioned request is a channel of its own; such requests match in the order in which they were
 * made.
 *
 * The match of a non-blocking receive with a wildcard is in the trace only where the receive
 * completes.  At such a receive, a second reader runs ahead on the same trace (wildcards.h).  So
 * the memory needed is that for outstanding requests and for channels, whatever the length of the
 * trace.  The second reader leaves out the same trips of loops as the walk, unless it is ahead.  A
 * message that is cancelled is withdrawn where its request completes.
 */
#ifndef TI_SOUND_WALK_H
#define TI_SOUND_WALK_H

#include "bundle/source.h"
#include "sound/comms.h"
#include "sound/neighbours.h"

#define TI_WHY_BYTES 256

enum ti_send_mode { TI_SEND_STANDARD, TI_SEND_BUFFERED, TI_SEND_SYNCHRONOUS };

/* One side of a message: a send or a receive. */
struct ti_msg {
    bool recv;
    enum ti_send_mode mode;
    bool null;       /* MPI_PROC_NULL: no message, and the other members are unset */
    bool unknown;    /* the trace does not tell (`null` is set, too) */
    bool cancelling; /* MPI_Cancel was called for it */
    bool cancelled;  /* in `done`: it was cancelled, so there was no message */
    bool hole;       /* cancelled after others were posted on the channel: the numbers of those are
                        one too high */
    bool astray;     /* a receive out of order: matched probes took messages before it */
    int64_t peer;    /* world rank of the other side */
    int64_t gid;     /* global number of the communicator, see comms.h */
    int64_t tag;
    int64_t partitioned;   /* 1 + the number of a partitioned request among its like; else 0 */
    int64_t bytes;         /* send: size; receive: room */
    int64_t req;           /* number of the request, -1 for a blocking call */
    uint64_t seq;          /* number on its channel, from 0 */
    uint64_t posted_after; /* number of messages posted after it on its channel by this side;
                              set where the request completes */
    uint64_t event;        /* index of the event that posted it */
    uint32_t op;           /* operation of that event */
};

/* A call of a collective: all members of a communicator, window or file make it. */
struct ti_coll_call {
    const struct ti_event *ev; /* for the start of a persistent one: the event of its init */
    struct ti_local_comm on;
    const struct ti_neighbours *topology; /* for a neighbour collective; NULL: none */
};

/* One event, and what it means. */
struct ti_step {
    struct ti_event ev;          /* absent fields are 0 */
    uint64_t index;              /* 0-based in the rank's stream */
    int64_t gid;                 /* of the event's communicator, -1 if it has none */
    const struct ti_msg *posted; /* messages that it posts; a send-receive has its send first */
    size_t nposted;
    const struct ti_msg *done; /* messages whose requests it completes or frees, in order */
    size_t ndone;
    const struct ti_coll_call *call; /* collective calls that the rank makes here */
    size_t ncalls;
    bool lost;              /* it posts a receive with a wildcard, which is not in `posted` because
                               the trace does not tell what it matched */
    char why[TI_WHY_BYTES]; /* what is wrong with the event, or ""; then `posted` and `done` hold
                               the sound part */
};

/* Whether message `m` in `done` may have been cancelled: MPI_Cancel was called, but the request was
 * freed, so the trace does not tell whether the call came in time. */
static inline bool ti_may_be_cancelled(const struct ti_msg *m, const struct ti_step *step)
{
    return m->cancelling && step->ev.op == TI_OP_REQUEST_FREE;
}

struct ti_walk;

/* Open the trace of `rank`; close the walk before `s` and `comms`. */
ti_status ti_walk_open(struct ti_source *s, struct ti_comms *comms, int64_t rank,
                       struct ti_walk **out, struct ti_err *err);
void ti_walk_close(struct ti_walk *w); /* NULL is fine */

/* For a user of messages that are sent only: do not find out what non-blocking receives with
 * wildcards match, so that the trace is read once.  These receives are `unknown` then.  Call it
 * before the first event. */
void ti_walk_sends_only(struct ti_walk *w);

/* The next event: 1, 0 at the end, -1 when the trace is damaged or memory is short.  Arrays in
 * *step are borrowed until the next call.  _status: of the last failure, TI_ERR_INPUT or TI_ERR_IO.
 */
int ti_walk_next(struct ti_walk *w, struct ti_step *step, struct ti_err *err);
ti_status ti_walk_status(const struct ti_walk *w);

struct ti_reader *ti_walk_reader(struct ti_walk *w);
int64_t ti_walk_rank(const struct ti_walk *w);

/* Number of messages that this side has posted so far on the channel of `msg`. */
uint64_t ti_walk_posted(const struct ti_walk *w, const struct ti_msg *msg);

/*
 * Leaving out trips of loops that are alike (fold/trips.h).  A mark is the state of a
 * walk at the begin of a trip.  If the walk is steady after the trip, its state is that of the
 * mark, except for numbers of events and messages, which grew.  So further trips that are alike do
 * the same again, and _leave_out makes the numbers grow by as much as they would.
 */
struct ti_walk_mark;
struct ti_walk_mark *ti_walk_mark_new(void);    /* NULL: no memory */
void ti_walk_mark_free(struct ti_walk_mark *m); /* NULL is fine */
bool ti_walk_remember(const struct ti_walk *w, struct ti_walk_mark *m); /* false: no memory */
bool ti_walk_steady(const struct ti_walk *w, const struct ti_walk_mark *m);

/* Leave out `times` times the `trips` trips of the loop at `depth` since the mark; returns how many
 * events that are.  False in *fine if the record is malformed, or memory is short
 * (errno is ENOMEM). */
uint64_t ti_walk_leave_out(struct ti_walk *w, const struct ti_walk_mark *m, uint32_t depth,
                           uint64_t times, uint64_t trips, bool *fine);

/* How many messages this side has posted on the channel of `msg` since the mark. */
uint64_t ti_walk_growth(const struct ti_walk *w, const struct ti_walk_mark *m,
                        const struct ti_msg *msg);

/* How much a mark has to remember: requests and channels. */
size_t ti_walk_extent(const struct ti_walk *w);

/* An outstanding request, or a message that was probed and has not been received. */
struct ti_pending {
    int64_t number; /* of the request; of the message if `probed` */
    bool probed;
    uint64_t event; /* index of the event that posted it */
    uint32_t op;
    const struct ti_msg *msg; /* its messages; some may be `unknown` */
    int nmsgs;
};

/* Enumerate them: *at is 0 at first; false when there is no further one. */
bool ti_walk_pending(const struct ti_walk *w, size_t *at, struct ti_pending *out);

/* A message that a probe found and left in the queue, and that the rank has not received. */
struct ti_found {
    uint64_t event; /* index of the probe */
    int64_t peer;   /* world rank of the sender */
    int64_t tag;
};

/* Enumerate them, one for each channel, likewise. */
bool ti_walk_unreceived(const struct ti_walk *w, size_t *at, struct ti_found *out);

#endif
