/*
 * How much a node may send before it hears from us again.
 *
 * All that nodes have sent and that is not here yet waits somewhere: in relays, in pipes, in
 * the buffers of every connection on the way.  What is said meanwhile waits behind it: that
 * a node further down is connected, that one still lives.  So each is let send what its own
 * way carries in its round trip and a little more, so that no link runs dry, and not what
 * the buffers would hold.  The same thought as in Brakmo and Peterson, "TCP Vegas",
 * IEEE JSAC 13(8), 1995, section on congestion avoidance: bytes under way = rate x time.
 */
#ifndef TI_FLOW_H
#define TI_FLOW_H

#include <stdint.h>

#define TI_FLOW_QUEUE_S   0.4 /* of its own bytes may wait on the way */
#define TI_FLOW_TRIP_MOST 0.7 /* s; a round trip that is measured to be longer was waiting */
#define TI_FLOW_LEAST     (INT64_C(32) << 10) /* bytes under way, however slow it is; at first */
#define TI_FLOW_MOST      (INT64_C(128) << 20)

/* Of one node; all 0 before the first ti_flow_begin(). */
struct ti_flow {
    int64_t window;  /* bytes that may be under way */
    int64_t owed;    /* that it may send and that did not come yet */
    int64_t arrived; /* since `since` */
    double trip;     /* s, the shortest round trip so far; 0: not known */
    double asked, since;
};

/* It is asked to send, at `now` in seconds: how many bytes it may. */
int64_t ti_flow_begin(struct ti_flow *f, double now);

/* Bytes came: how many more it may send, 0 when it need not be told. */
int64_t ti_flow_take(struct ti_flow *f, int64_t bytes, double now);

#endif
