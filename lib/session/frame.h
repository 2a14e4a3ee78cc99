/*
 * Frames: the wire format between ti-acquire or ti-gather and ti-node.
 *
 *   offset  bytes  little-endian
 *        0      4  magic "TiF1"
 *        4      1  type, as below
 *        5      3  0
 *        8      4  stream: number of a process or of a rank; 0: the node as a whole
 *       12      4  bytes of payload, at most TI_FRAME_MAX
 *       16      4  CRC-32C of the 16 bytes before and the payload
 *       20         payload
 *
 * A node's first frame is HELLO.  Everything before it is noise: output of a login shell.
 */
#ifndef TI_SESSION_FRAME_H
#define TI_SESSION_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define TI_FRAME_MAGIC  "TiF1"
#define TI_FRAME_HEADER 20
#define TI_FRAME_MAX    (128 * 1024)

/* X(name, number, meaning): numbers stay once released */
#define TI_FRAME_TYPES(X)                                                                          \
    X(HELLO, 1, "the node's first frame: JSON, see session/messages.h")                            \
    X(MESSAGE, 2, "JSON, an object with \"do\" or \"is\"")                                         \
    X(INPUT, 3, "for the standard input of process `stream`; empty: its end")                      \
    X(OUTPUT, 4, "what process `stream` wrote to standard output; empty: its end")                 \
    X(STDERR, 5, "to standard error")                                                              \
    X(DATA, 6, "the next bytes of the trace of rank `stream`")

#define TI_FRAME_ENUM(name, number, text) TI_FRAME_##name = number,
enum ti_frame_type { TI_FRAME_TYPES(TI_FRAME_ENUM) };

struct ti_frame {
    enum ti_frame_type type;
    uint32_t stream;
    uint32_t bytes;
    const unsigned char *payload;
};

/* Write the header of a frame into `header`, ready to be sent. */
void ti_frame_header(enum ti_frame_type type, uint32_t stream, const void *payload, uint32_t bytes,
                     unsigned char header[TI_FRAME_HEADER]);

/* Write a frame of stream 0 to `fd`, which must be blocking.  False: errno says why. */
bool ti_frame_write(int fd, enum ti_frame_type type, const void *payload, size_t bytes);

/* Splits a stream of bytes into frames.  It buffers at most one frame, and holds no memory between
 * frames: there are many readers.  Starts zeroed. */
struct ti_frame_reader {
    unsigned char *buf; /* NULL, or `room` bytes */
    size_t room;        /* for the current frame */
    size_t used;
    size_t given;    /* bytes at the start of `buf` that are the frame returned last */
    int started;     /* HELLO was seen; set it to 1 if no noise can come first */
    int failed;      /* something was no frame; every further call fails */
    size_t noisy;    /* bytes of noise, in all */
    char noise[256]; /* the end of the noise, for messages */
};

/* More noise than this is an error: the shell prints without end. */
#define TI_FRAME_NOISE_MAX (1024 * 1024)

/* Largest HELLO.  The limit is low so that noise that looks like a HELLO is detected soon. */
#define TI_FRAME_HELLO_MAX (16 * 1024)

/*
 * Consume up to `bytes` of `data`; *used is how many.  TI_OK with *got 1: *frame is valid until the
 * next call.  TI_OK with *got 0: everything is consumed, and the frame is not complete.
 * TI_ERR_REMOTE, from then on at each call: something is no frame (magic, type, length, checksum),
 * or there was too much noise.
 */
ti_status ti_frame_feed(struct ti_frame_reader *r, const void *data, size_t bytes, size_t *used,
                        struct ti_frame *frame, int *got, struct ti_err *err);
void ti_frame_reader_free(struct ti_frame_reader *r);

#endif
