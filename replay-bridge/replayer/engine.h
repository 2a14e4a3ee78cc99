/*
 * Engine: what differs between a simulation (engine_smpi.c) and a live run (engine_live.c).
 *
 * SIMULATED is 1 in the program for SMPI.  The operations ask it only where SMPI lacks a function;
 * each such place is a LOWERED row of operations.h.
 */
#ifndef TI_ENGINE_H
#define TI_ENGINE_H

#include "replay-bridge/replayer/replayer.h"

#ifdef TI_SIMULATED
#define SIMULATED 1
#else
#define SIMULATED 0
#endif

/* Name of the program. */
extern const char ti_engine_name[];

/* The setup of this process.  *made tells the first caller to fill it in; ranks that share its
 * process get the same one. */
struct ti_replay_setup *ti_engine_setup(bool *made);

/* Prepares `p`, whose rank and number of ranks are known. */
void ti_engine_start(struct ti_replayer *p);

/* Where several processes have the same command line, all but one keep silent while they parse it:
 * output is discarded (true if so) or shown again. */
bool ti_engine_hush(bool hush);

/* The first rank on which `here` is true, on all ranks; -1: none. */
int ti_engine_first(const struct ti_replayer *p, bool here);

/* What rank `who` says, on all ranks. */
int ti_engine_agree(int who, int status);

/* A rank has ended at p->end.  True on the one that reports for all, with *end the latest time at
 * which a rank ended; in a live run all ranks have ended then. */
bool ti_engine_end(struct ti_replayer *p, double *end);

/* Ends the replay of all ranks with `status`. */
_Noreturn void ti_engine_abort(int status);

/* Seconds on the clock of the replay; reading it takes no simulated time. */
double ti_engine_clock(void);

/* Spends a burst: instructions, or nanoseconds if `nanoseconds`. */
void ti_engine_burst(const struct ti_replay_setup *setup, uint64_t amount, bool nanoseconds);

/* Spends the time that combining `bytes` bytes takes in a reduction: bytes / setup->reduce_rate
 * seconds of the processor, none if that is 0.  MPI calls this from within a collective, where the
 * replayer is not known.  In a live run the arithmetic is MPI's own, and this does nothing. */
void ti_engine_combine(int64_t bytes);

/*
 * Memory of at least `bytes` bytes, for what the replayer sends and for what it receives.  Its
 * contents mean nothing.  It stays valid until the program ends, so that requests may use it as
 * long as they like; all requests share it.
 */
void *ti_engine_send_buffer(struct ti_replayer *p, size_t bytes);
void *ti_engine_recv_buffer(struct ti_replayer *p, size_t bytes);

/* The same for a message between two ranks.  In a simulation what is sent is at MPI_BOTTOM, which
 * SMPI does not read: no payload is allocated or copied, and the times are the same. */
const void *ti_engine_sent(struct ti_replayer *p, size_t bytes);
void *ti_engine_received(struct ti_replayer *p, size_t bytes);

/* From how many bytes on a send waits for its receiver; 0 if that is not known. */
size_t ti_engine_eager_bytes(void);

/* Waits until a time on the engine's clock. */
void ti_engine_wait_until(double seconds);

/* Has a buffer attached for buffered sends. */
void ti_engine_buffer_sends(struct ti_replayer *p);

#endif
