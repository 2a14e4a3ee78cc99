/*
 * Partners: when the other side of a message or of a collective operation was there.
 *
 * A rank that is in an MPI call waits until its partner comes, and from then on communicates.
 * This is what Scalasca calls a late sender, a late receiver, and a wait at a collective
 * operation.  All ranks of a simulation live in one process and share one of these tables: each
 * rank says what it sends, receives and enters, at which simulated time, and gets a ticket.  With
 * the ticket it asks, at the end of its call, when the last of the partners came that it had to
 * wait for.
 *
 * Messages are matched as MPI matches them: those from one rank to another, in one communicator
 * and with one tag, in the order in which they are sent and received.  Wildcards must be resolved.
 */
#ifndef TI_PARTNERS_H
#define TI_PARTNERS_H

#include <stdbool.h>
#include <stdint.h>

struct ti_partners;
struct ti_message;
struct ti_meeting;

/* One side of a message, or one rank at a meeting; all NULL: of nothing. */
struct ti_ticket {
    struct ti_message *sent;     /* the rank sends it, and waits for its receiver */
    struct ti_message *received; /* the rank receives it, and waits for its sender */
    struct ti_meeting *meeting;
    bool waits_for_root; /* at the meeting; else for all of its ranks */
    bool waits;          /* false: the rank waits for nobody */
};

/* A message between two ranks of the communicator `comm`, whose number must be the same on all of
 * its ranks, and of no other communicator. */
struct ti_message_key {
    uint64_t comm;
    int from, to; /* ranks in it */
    int tag;
};

/* Ends the program when memory runs out, see ti_grow(). */
struct ti_partners *ti_partners_new(void);
void ti_partners_free(struct ti_partners *p); /* NULL is fine */

/* A message is sent, or a receive is posted, at the time `now`.  `waits` is false of a send that
 * does not wait for its receiver.  Each ticket must be given to ti_partners_came() once. */
struct ti_ticket ti_partners_send(struct ti_partners *p, const struct ti_message_key *key, bool waits,
                                  double now);
struct ti_ticket ti_partners_receive(struct ti_partners *p, const struct ti_message_key *key,
                                     double now);

/* When the message was sent that the next receive of that kind would get; 0: it was not. */
double ti_partners_sent(struct ti_partners *p, const struct ti_message_key *key);

/*
 * A rank enters a collective operation of `size` ranks: the `call`-th of those on `comm`.  `root`
 * says that it is the root, `waits_for_root` that it waits for nobody else, `waits` false that it
 * waits for nobody at all.
 */
struct ti_ticket ti_partners_meet(struct ti_partners *p, uint64_t comm, uint64_t call, int64_t size,
                                  bool root, bool waits_for_root, bool waits, double now);

/* When the last of the partners came that the holder of the ticket waits for; 0 if none of them
 * has come.  Gives the ticket up. */
double ti_partners_came(struct ti_partners *p, struct ti_ticket *ticket);

#endif
