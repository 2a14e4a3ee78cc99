/*
 * Partners: at which time the partners of a rank's call arrived.  This splits a call into waiting
 * and communicating, for profiles and times of events.
 *
 * A rank in an MPI call waits until its partner arrives, then communicates.  Scalasca calls such
 * waits late sender, late receiver and wait at a collective.  All ranks of a simulation live in one
 * process and share one table.  At each send, receive or collective, the rank registers the
 * simulated time and gets a ticket.  When the call ends, the ticket gives the last partner that
 * arrived, and when.
 *
 * Messages are matched as MPI does: in order, for each pair of ranks, communicator and tag.
 * Wildcards must be resolved by the caller.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PROFILE_PARTNERS_H
#define TI_REPLAY_BRIDGE_REPLAYER_PROFILE_PARTNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "replay-bridge/replayer/profile/path.h"

struct ti_partners;
struct ti_message;
struct ti_meeting;

/* A rank at the point where it registers a message or enters a collective. */
struct ti_arrival {
    double when;
    int64_t rank;         /* over all jobs */
    struct ti_path *path; /* to this point; one reference.  NULL: paths are not followed */
};

/* One side of a message, or one rank of a collective; all pointers NULL: no partner. */
struct ti_ticket {
    struct ti_message *sent;     /* the rank sends it, and waits for its receiver */
    struct ti_message *received; /* the rank receives it, and waits for its sender */
    struct ti_meeting *meeting;
    struct ti_arrival own; /* of a collective: the arrival of the ticket's holder */
    int64_t bytes;         /* of a collective: what the holder sends or receives, the larger */
    bool waits_for_root; /* in a collective: true: waits only for the root, false: for all ranks */
    bool waits;          /* false: the rank waits for no partner */
    double done;         /* time at which the request was complete; 0: not known */
};

/* A message or a collective when it is complete, as the holder of a ticket sees it. */
struct ti_came {
    struct ti_arrival own, other; /* `other`: of the partner, or of the last one that the holder
                                     waits for; `when` 0: none has arrived */
    int64_t bytes;
    bool waits; /* the holder waits for `other` */
    bool collective;
    bool receives; /* of a message: the holder is its receiver */
    bool eager;    /* of a message: its sender does not wait */
    int64_t far;   /* of a collective: a rank other than the holder, if there is one */
    double done;   /* from the ticket */
};

/* Identifies messages for matching.  `comm` is a number of the communicator that is the same on all
 * its ranks and that no other communicator has. */
struct ti_message_key {
    uint64_t comm;
    int from, to; /* ranks in the communicator */
    int tag;
};

/* A new table.  Ends the program if out of memory, see ti_grow(). */
struct ti_partners *ti_partners_new(struct ti_path_set *paths); /* NULL: paths are not followed */
void ti_partners_free(struct ti_partners *p);                   /* NULL is fine */

/* Registers that a message of `bytes` bytes is sent, or a receive posted.  `waits` is false for a
 * send that does not wait for its receiver.  Takes the reference in `me`.  Each ticket must be
 * given to ti_partners_came() once. */
struct ti_ticket ti_partners_send(struct ti_partners *p, const struct ti_message_key *key,
                                  int64_t bytes, bool waits, const struct ti_arrival *me);
struct ti_ticket ti_partners_receive(struct ti_partners *p, const struct ti_message_key *key,
                                     const struct ti_arrival *me);

/* The sender of the ticket's message has handed it to the network only now: `path` replaces its
 * path, and its reference is taken. */
void ti_partners_handed_over(struct ti_partners *p, const struct ti_ticket *ticket,
                             struct ti_path *path);

/* The sender of the message that the next receive with this key would get, with a borrowed path;
 * NULL: no such message was sent yet. */
const struct ti_arrival *ti_partners_sent(struct ti_partners *p, const struct ti_message_key *key);

/*
 * Registers that a rank enters collective number `call` of communicator `comm`, which has `size`
 * ranks.
 *
 *   bytes           what this rank sends or receives, the larger
 *   root            this rank is the root
 *   waits_for_root  this rank waits only for the root
 *   waits           false: this rank waits for no partner
 *
 * Takes the reference in `me`.
 */
struct ti_ticket ti_partners_meet(struct ti_partners *p, uint64_t comm, uint64_t call, int64_t size,
                                  int64_t bytes, bool root, bool waits_for_root, bool waits,
                                  const struct ti_arrival *me);

/* Releases the ticket, and fills in *came; the caller releases its two paths. */
void ti_partners_came(struct ti_partners *p, struct ti_ticket *ticket, struct ti_came *came);

#endif
