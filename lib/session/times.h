/*
 * The time constants of connections: one list for ti-acquire, ti-gather and ti-node's relays.
 * Names ending in _S are seconds, in _MS milliseconds.
 *
 * Timeouts of the work that goes over connections stand where that work is:
 * gather/fetch/abandon.c and connect.c, acquire/run/nodes_watch.c and the files beside it,
 * node/serve.c; and those of SSH's transports in remote/.  abandon.c also has the limit for a node
 * that makes progress: it depends on the bytes that came, and on those that the node listed and is
 * to merge.
 *
 * Options come first: `--silence` of ti-acquire and `--timeout` of ti-gather set `silence_s` of
 * struct ti_conns_config.  "Silence" is time without any byte from the other side, measured with
 * ti_sessions_clock(), so time in which this process did not listen is not counted.
 */
#ifndef TI_SESSION_TIMES_H
#define TI_SESSION_TIMES_H

/* --- connecting --- */

/* One attempt to connect, if `connect_s` is not given. */
#define TI_CONNECT_S 20.0

/* The least timeout for SSH's silence while it connects: a loaded node needs time to exchange keys.
 */
#define TI_ANSWER_MIN_S 5.0

/* The least timeout for SSH's silence later on, which keeps SSH's own keepalives rare; and the
 * default of `silence_s`. */
#define TI_SILENCE_S 30.0

/* A login that takes longer, and longer than so many times the others lately, no longer counts as
 * one of the TI_RELAY_STARTING that a relay has in progress: its host may be dead, and waiting for
 * it costs nothing.  With each login, the part TI_LOGIN_LATELY is left of the longest before. */
#define TI_LOGIN_DEAD_S     3.0
#define TI_LOGIN_DEAD_TIMES 3.0
#define TI_LOGIN_LATELY     0.9

/* A relay reports with "moved" that it still sends Tiara's files to a node. */
#define TI_MOVED_S 2.0

/* Taking Tiara's files is progress only so far: a node gets TI_INSTALL_TIMES its timeout, and the
 * time for the bytes that all nodes took meanwhile, since they may share a slow link.  What a relay
 * reports counts for TI_INSTALL_MOST_S, or as often as it opens other connections first. */
#define TI_INSTALL_TIMES  10
#define TI_INSTALL_RATE   4096.0 /* bytes/s */
#define TI_INSTALL_MOST_S 1800.0

/* --- connected --- */

/* Nodes send a heartbeat this often: a third of the silence that is allowed, within these bounds.
 */
#define TI_BEAT_MIN_S 0.5
#define TI_BEAT_MAX_S 5.0

/* A node ends itself, and all processes of the run, when it has received nothing from us for
 * `silence_s`, or for this time if that is longer. */
#define TI_LISTEN_GATHER_S  15.0
#define TI_LISTEN_ACQUIRE_S 60.0

/* A node ends itself when it has received nothing at all for this time after its HELLO. */
#define TI_LISTEN_FIRST_S 300.0

/* Heartbeats that we send to a node within its timeout. */
#define TI_BEATS_TO_NODE 4

/* --- our own loop --- */

/* Interval between checks of timeouts. */
#define TI_SESSION_CHECK_MS 250

/* The most that one round of the loop adds to ti_sessions_clock(). */
#define TI_SESSION_STEP_S 0.5

/* --- the end --- */

/* For ti-nodes to exit by themselves after their input was closed; and if they have to end the
 * processes of a run first. */
#define TI_LEAVE_S   1.0
#define TI_END_RUN_S 10.0

#endif
