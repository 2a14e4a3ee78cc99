/*
 * Engine: the functions that differ between a simulation (engine_smpi.c) and a live run
 * (engine_live.c).
 *
 * SIMULATED is 1 in the program for SMPI.  The operations test it only where SMPI lacks a function;
 * each such case is a LOWERED row of operations.h.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_ENGINE_H
#define TI_REPLAY_BRIDGE_REPLAYER_ENGINE_H

#include "replay-bridge/replayer/replayer.h"

#ifdef TI_SIMULATED
#define SIMULATED 1
#else
#define SIMULATED 0
#endif

/* Name of the program. */
extern const char ti_engine_name[];

/* The setup of this process, shared by all its ranks.  *made is true for the first caller, which
 * must fill it in. */
struct ti_replay_setup *ti_engine_setup(bool *made);

/* Prepares the engine for `p`, whose rank and number of ranks must be set. */
void ti_engine_start(struct ti_replayer *p);

/* In a live run every process parses the same command line, and only one may print errors.
 * hush == true: discards the output of this process, unless it is rank 0; returns whether it did.
 * hush == false: restores the output. */
bool ti_engine_hush(bool hush);

/* Called for each communicator that the replay uses. */
void ti_engine_comm(MPI_Comm comm);

/* The lowest rank on which `here` is true; -1: none.  Collective over all ranks. */
int ti_engine_first(const struct ti_replayer *p, bool here);

/* Returns the `status` of rank `root` on all ranks.  Collective over all ranks. */
int ti_engine_agree(int root, int status);

/* A rank has ended at p->end.  Returns true on the rank that reports for all.  There *end is the
 * latest end of all ranks: on the simulated clock, or in a live run the longest duration. */
bool ti_engine_end(struct ti_replayer *p, double *end);

/* Ends the replay of all ranks with `status`. */
_Noreturn void ti_engine_abort(int status);

/* Seconds on the clock of the replay; reading it takes no simulated time. */
double ti_engine_clock(void);

/* Seconds by which a time on this clock may be wrong because it is rounded; 0: not known. */
double ti_engine_resolution(void);

/* The name of the simulated host of this rank; "" in a live run. */
const char *ti_engine_host_name(void);

/* Spends a burst of `amount` instructions, or nanoseconds if `nanoseconds` is true. */
void ti_engine_burst(const struct ti_replay_setup *setup, uint64_t amount, bool nanoseconds);

/* Spends the processor time of combining `bytes` bytes in a reduction: bytes / setup->reduce_rate
 * seconds, or none if the rate is 0.  There is no struct ti_replayer argument, because MPI calls
 * this from within a collective.  Does nothing in a live run, where MPI does the arithmetic. */
void ti_engine_combine(int64_t bytes);

/* The same for the copy of `bytes` bytes that a rank sends to itself, at setup->copy_rate. */
void ti_engine_copy(const struct ti_replay_setup *setup, int64_t bytes);

/*
 * A buffer of at least `bytes` bytes for messages that are sent, or received.  All requests share
 * it and its contents have no meaning.  The memory is valid until the program ends, so pending
 * requests may keep using it.
 */
void *ti_engine_send_buffer(struct ti_replayer *p, size_t bytes);
void *ti_engine_recv_buffer(struct ti_replayer *p, size_t bytes);

/* The same for point-to-point messages.  In a simulation a sent message is at MPI_BOTTOM, which
 * SMPI does not read, and a received one at a shared buffer of any size, which SMPI does not write:
 * no payload is allocated or copied, and the simulated times are the same. */
const void *ti_engine_sent(struct ti_replayer *p, size_t bytes);
void *ti_engine_received(struct ti_replayer *p, size_t bytes);

/* The size in bytes from which a send waits for its receiver; 0: not known. */
size_t ti_engine_eager_bytes(void);

#if SIMULATED

/* The state of a simulated host (ti_engine_of_host()); zeros at first. */
struct ti_engine_host {
    int64_t computing;    /* ranks in a burst, if their number determines the speed */
    double unseen_core_s; /* for energy.c: seconds of cores in bursts that SimGrid does not see */
    int64_t ranks;        /* for energy.c: those that have ended */
};

struct ti_engine_host *ti_engine_of_host(void *host);

#endif

/* ---- disks of a simulation; files of a live run are real ---- */

#if SIMULATED

/* The disk of this rank's host (config/host_values.h), or NULL if it has none. */
void *ti_engine_disk(void);

/* Reads or writes `bytes` bytes of the disk. */
void ti_engine_access(void *disk, int64_t bytes);

/* Begins to do so beside the rank.  The access must be ended once: that waits for it, and frees
 * it. */
struct ti_engine_access *ti_engine_begin_access(void *disk, int64_t bytes);
void ti_engine_end_access(struct ti_engine_access *access);

#endif

/* ---- the simulated network, for critical.h; a live run knows nothing of it ---- */

/* The size in bytes from which a message is not sent before its receive is posted. */
size_t ti_engine_early_bytes(void);

/* The host of this rank. */
void *ti_engine_host(void);

/* Latency in seconds and bandwidth in bytes per second of the route between two hosts. */
void ti_engine_route(void *from, void *to, double *latency, double *bandwidth);

/* How long a message of `bytes` takes if there are no others: the seconds that are in inverse
 * proportion to bandwidth, and the rest, which are in proportion to latency.  Sends such messages,
 * so it spends simulated time; no other messages may be under way. */
void ti_engine_transfer(void *from, void *to, int64_t bytes, double *latency, double *bandwidth);

/* Waits until a time on the engine's clock. */
void ti_engine_wait_until(double seconds);

/* Attaches a buffer for buffered sends. */
void ti_engine_buffer_sends(struct ti_replayer *p);

#endif
