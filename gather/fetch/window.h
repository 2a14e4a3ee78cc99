/*
 * Flow control: how many bytes of traces a node may send before it gets more credit from us.
 *
 * Data that nodes have sent and that has not arrived waits in relays, pipes and the buffers of
 * every connection in between.  Later messages, heartbeats among them, wait behind it.  So a node
 * gets only what its path carries in one round trip, plus a small queue that keeps the link
 * busy; it does not get what the buffers would hold.  See Brakmo and Peterson, "TCP Vegas",
 * IEEE JSAC 13(8), 1995, section on congestion avoidance: bytes in flight = rate x time.
 */
#ifndef TI_GATHER_FETCH_WINDOW_H
#define TI_GATHER_FETCH_WINDOW_H

#include <stdint.h>

#define TI_WINDOW_QUEUE_S  0.4 /* of the node's own data may be queued on the path */
#define TI_WINDOW_TRIP_MAX 0.7 /* s; a longer measured round trip includes waiting */
#define TI_WINDOW_MIN      (INT64_C(32) << 10) /* bytes; also the initial window */
#define TI_WINDOW_MAX      (INT64_C(128) << 20)

/* Of one node; all 0 before the first ti_window_begin(). */
struct ti_window {
    int64_t bytes;   /* that may be in flight */
    int64_t owed;    /* credit that was granted and for which nothing arrived yet, in bytes */
    int64_t arrived; /* bytes since `since` */
    double trip;     /* s, the shortest round trip so far; 0: not known */
    double asked, since;
};

/* The node is asked to send, at `now` (seconds).  Returns its first credit in bytes. */
int64_t ti_window_begin(struct ti_window *w, double now);

/* `bytes` arrived at `now`.  Returns further credit to grant; 0: none yet. */
int64_t ti_window_received(struct ti_window *w, int64_t bytes, double now);

#endif
