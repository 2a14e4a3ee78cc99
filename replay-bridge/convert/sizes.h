/*
 * How long the message is that a receive takes.
 *
 * A receive in a trace has the room it was posted with, which may be more than the message has;
 * other simulators want the size of the message on both sides.  The trace is sound, so a
 * receive's room is never too small: where the sums of both sides of a channel are equal, every
 * room is the message's size.  Else the sizes that were sent are kept in order: as one number
 * while all are equal, then in a file, so that memory grows with channels only.
 */
#ifndef TI_SIZES_H
#define TI_SIZES_H

#include "sound/walk.h"

struct ti_sizes {
    struct ti_map known; /* (communicator, tag, source, destination) -> channel */
    struct ti_size_channel *channel;
    size_t cap;
    int file;       /* of blocks of sizes */
    int64_t blocks; /* in it */
    ti_status st;   /* the first error, and what it was */
    struct ti_err err;
};

/* The file is made in the scratch directory and has no name. */
ti_status ti_sizes_open(struct ti_sizes *sizes, struct ti_err *err);
void ti_sizes_close(struct ti_sizes *sizes);

/* `rank` posted `msg`: all messages of a trace, each channel's in order. */
void ti_sizes_add(struct ti_sizes *sizes, int64_t rank, const struct ti_msg *msg);

/* All were added: whether that went well. */
ti_status ti_sizes_seal(struct ti_sizes *sizes, struct ti_err *err);

/* The size of what `rank` receives by `msg`: to be asked once of each receive, each channel's in
 * order. */
ti_status ti_sizes_of(struct ti_sizes *sizes, int64_t rank, const struct ti_msg *msg,
                      int64_t *bytes, struct ti_err *err);

#endif
