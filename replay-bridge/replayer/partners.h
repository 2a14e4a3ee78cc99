/*
 * Partners: at which time the partners of a rank's call arrived.  This splits a call into waiting
 * and communicating, for profiles and timelines.
 *
 * A rank in an MPI call waits until its partner arrives, then communicates.  Scalasca calls such
 * waits late sender, late receiver and wait at a collective.  All ranks of a simulation live in one
 * process and share one table.  At each send, receive or collective, the rank registers the
 * simulated time and gets a ticket.  When the call ends, the ticket gives the time at which the
 * last partner arrived.
 *
 * Messages are matched as MPI does: in order, for each pair of ranks, communicator and tag.
 * Wildcards must be resolved by the caller.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_PARTNERS_H
#define TI_REPLAY_BRIDGE_REPLAYER_PARTNERS_H

#include <stdbool.h>
#include <stdint.h>

struct ti_partners;
struct ti_message;
struct ti_meeting;

/* One side of a message, or one rank of a collective; all pointers NULL: no partner. */
struct ti_ticket {
    struct ti_message *sent;     /* the rank sends it, and waits for its receiver */
    struct ti_message *received; /* the rank receives it, and waits for its sender */
    struct ti_meeting *meeting;
    bool waits_for_root; /* in a collective: true: waits only for the root, false: for all ranks */
    bool waits;          /* false: the rank waits for no partner */
};

/* Identifies messages for matching.  `comm` is a number of the communicator that is the same on all
 * its ranks and that no other communicator has. */
struct ti_message_key {
    uint64_t comm;
    int from, to; /* ranks in the communicator */
    int tag;
};

/* A new table.  Ends the program if out of memory, see ti_grow(). */
struct ti_partners *ti_partners_new(void);
void ti_partners_free(struct ti_partners *p); /* NULL is fine */

/* Registers that a message is sent, or a receive posted, at time `now`.  `waits` is false for a
 * send that does not wait for its receiver.  Each ticket must be given to ti_partners_came() once.
 */
struct ti_ticket ti_partners_send(struct ti_partners *p, const struct ti_message_key *key,
                                  bool waits, double now);
struct ti_ticket ti_partners_receive(struct ti_partners *p, const struct ti_message_key *key,
                                     double now);

/* The time at which the message was sent that the next receive with this key would get; 0: no such
 * message was sent yet. */
double ti_partners_sent(struct ti_partners *p, const struct ti_message_key *key);

/*
 * Registers that a rank enters collective number `call` of communicator `comm`, which has `size`
 * ranks.
 *
 *   root            this rank is the root
 *   waits_for_root  this rank waits only for the root
 *   waits           false: this rank waits for no partner
 */
struct ti_ticket ti_partners_meet(struct ti_partners *p, uint64_t comm, uint64_t call, int64_t size,
                                  bool root, bool waits_for_root, bool waits, double now);

/* The time at which the last partner arrived that the ticket's holder waits for; 0 if none has
 * arrived.  Releases the ticket. */
double ti_partners_came(struct ti_partners *p, struct ti_ticket *ticket);

#endif
