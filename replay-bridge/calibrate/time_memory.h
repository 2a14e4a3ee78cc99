/*
 * Parts of ti-calibrate-mpi: buffers of messages that are in no cache, and the times of ranks that
 * use the memory of their node at the same time.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_TIME_MEMORY_H
#define TI_REPLAY_BRIDGE_CALIBRATE_TIME_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * A large buffer whose parts hold one message after the other.  An application computes between two
 * messages, and so large messages are not in the caches of its core any more.  Messages in one and
 * the same place would be: they took half of the time in a measurement of 2 MB.
 */
struct ti_cold_ring {
    char *base;
    size_t bytes, next;
};

/* Messages of up to so many bytes always lie at the beginning: what a program has just packed is in
 * the cache. */
#define TI_COLD_LEAST 16384

/* Allocates a ring for messages of up to `largest` bytes, and touches its pages.  Without memory
 * the program is aborted.  The caller frees ring->base. */
void ti_cold_ring_make(struct ti_cold_ring *ring, int64_t largest);

/* The place of the next message. */
char *ti_cold_ring_next(struct ti_cold_ring *ring, int64_t size);

/*
 * With 2, 4, 8, ... and all ranks, which must be of one node and an even number: pairs of ranks
 * exchange messages, each rank sends and receives at the same time; and each rank copies as many
 * bytes from one place of its memory to another.  The other ranks sleep meanwhile.  Sizes are
 * `largest`, its half and its quarter.  Rank 0 prints a line for each of `repeats` times, which is
 * that of the slowest rank:
 *
 *   exchange RANKS SIZE SECONDS
 *   copy RANKS SIZE SECONDS
 *
 * Collective over MPI_COMM_WORLD.
 */
void ti_time_memory(int64_t repeats, int64_t largest);

#endif
