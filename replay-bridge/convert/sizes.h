/*
 * Sizes of received messages.
 *
 * A trace has the size of the buffer that a receive was posted with.  The message may be smaller.
 * Other simulators need the size of the message on both sides.
 *
 * A channel is a communicator, tag, source and destination.  In a sound trace no buffer is smaller
 * than its message.  So if the sums of both sides of a channel are equal, each buffer has the size
 * of its message.  Otherwise the sizes of the sent messages are needed in order.  The leading equal
 * sizes of a channel are kept as one number, all later sizes in a file.  Memory therefore grows
 * with the number of channels only.
 *
 * Call ti_sizes_add() for all messages of the trace, ti_sizes_seal() once, then ti_sizes_of().
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_SIZES_H
#define TI_REPLAY_BRIDGE_CONVERT_SIZES_H

#include "sound/walk.h"

struct ti_sizes {
    struct ti_map known; /* (communicator, tag, source, destination) -> index in `channel` */
    struct ti_size_channel *channel;
    size_t cap;
    int file;       /* blocks of sizes */
    int64_t blocks; /* in the file */
    ti_status st;   /* the first error of the file, reported by ti_sizes_seal() */
    struct ti_err err;
};

/* Create the file of sizes, unlinked, in the scratch directory.  TI_ERR_IO. */
ti_status ti_sizes_open(struct ti_sizes *sizes, struct ti_err *err);
void ti_sizes_close(struct ti_sizes *sizes);

/* Record that `rank` posted `msg`, a send or a receive.  The sends of a channel must come in
 * order. */
void ti_sizes_add(struct ti_sizes *sizes, int64_t rank, const struct ti_msg *msg);

/* End of the messages.  Returns the first error since ti_sizes_open(): TI_ERR_IO. */
ti_status ti_sizes_seal(struct ti_sizes *sizes, struct ti_err *err);

/* The size of the message that the receive `msg` of `rank` takes, in *bytes.  Call it exactly once
 * for each receive, for those of a channel in order.  TI_ERR_IO. */
ti_status ti_sizes_of(struct ti_sizes *sizes, int64_t rank, const struct ti_msg *msg,
                      int64_t *bytes, struct ti_err *err);

#endif
