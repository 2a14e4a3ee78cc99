/*
 * What goes over the wire between ti-acquire or ti-gather and ti-node: frames.
 *
 *   offset  bytes  little-endian
 *        0      4  magic "TiF1"
 *        4      1  type, as below
 *        5      3  0
 *        8      4  stream: which process or rank it belongs to; 0: the node as a whole
 *       12      4  bytes of payload, at most TI_FRAME_MAX
 *       16      4  CRC-32C of the 16 bytes before and the payload
 *       20         payload
 *
 * A stream of frames begins where the node says so: what a login shell prints
 * before the first "TiF1" frame of type HELLO is no part of it.
 */
#ifndef TI_FRAME_H
#define TI_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define TI_FRAME_MAGIC  "TiF1"
#define TI_FRAME_HEADER 20
#define TI_FRAME_MAX    (128 * 1024)

/* X(name, number, meaning): numbers stay once released */
#define TI_FRAME_TYPES(X)                                                                          \
    X(HELLO, 1, "the node's first: JSON, see node/messages.h")                                     \
    X(MESSAGE, 2, "JSON, an object with \"do\" or \"is\"")                                         \
    X(INPUT, 3, "for the standard input of process `stream`; empty: its end")                      \
    X(OUTPUT, 4, "what process `stream` wrote to standard output; empty: its end")                 \
    X(ERRPUT, 5, "to standard error")                                                              \
    X(DATA, 6, "the next bytes of the trace of rank `stream`")

#define TI_FRAME_ENUM(name, number, text) TI_FRAME_##name = number,
enum ti_frame_type { TI_FRAME_TYPES(TI_FRAME_ENUM) };

struct ti_frame {
    enum ti_frame_type type;
    uint32_t stream;
    uint32_t bytes;
    const unsigned char *payload;
};

/* The header of a frame, ready to be sent, into `header`. */
void ti_frame_header(enum ti_frame_type type, uint32_t stream, const void *payload, uint32_t bytes,
                     unsigned char header[TI_FRAME_HEADER]);

/* Takes bytes as they come, gives frames.  Holds at most one frame, and no memory between
 * frames once all that was fed is consumed: there are many readers.  Starts zeroed. */
struct ti_frame_reader {
    unsigned char *buf; /* NULL, or `room` bytes */
    size_t room;        /* for the frame at hand */
    size_t used;
    size_t given;    /* of these: the frame that was given last */
    int started;     /* the first HELLO was seen; set it where nothing can come before frames */
    int failed;      /* what came was no frame */
    size_t noisy;    /* bytes of that, in all */
    char noise[256]; /* what came before the first frame, its end; for messages */
};

/* More than this before the first frame is no greeting, but something that goes on for ever. */
#define TI_FRAME_NOISE_MAX (1024 * 1024)

/* A HELLO is no larger, so that what merely looks like one is found out soon. */
#define TI_FRAME_HELLO_MAX (16 * 1024)

/*
 * Consume up to `bytes` of `data`; *used is how many.  TI_OK with *got 1: a
 * frame, valid until the next call; 0: all consumed, more is needed.  TI_ERR_REMOTE
 * for what is no frame (bad magic, type, length, checksum) or too much noise, and from
 * then on.
 */
ti_status ti_frame_feed(struct ti_frame_reader *r, const void *data, size_t bytes, size_t *used,
                        struct ti_frame *frame, int *got, struct ti_err *err);
void ti_frame_reader_free(struct ti_frame_reader *r);

#endif
