/*
 * Streams to hosts through the connection of an OpenSSH master to a gateway.  Speaks the protocol
 * of `ssh -W` with a master (OpenSSH's PROTOCOL.mux), so no process is needed for each stream.
 */
#ifndef TI_REMOTE_MUX_H
#define TI_REMOTE_MUX_H

#include "common/err.h"
#include "remote/loop.h"

struct ti__mux {
    int fd; /* connection to the master's socket; closing it ends the stream */
    struct ti__watch watch;
    unsigned char in[2048];
    size_t used;
    bool over; /* `done` was called */
    void (*done)(void *arg,
                 const char *failure); /* called once; failure NULL: the stream is open */
    void *arg;
};

/* Opens a stream to host:port.  *in and *out get the ends of two pipes, which the caller closes. */
ti_status ti__mux_open(struct ti__mux *m, struct ti__loop *loop, const char *socket,
                       const char *host, int port, int *in, int *out,
                       void (*done)(void *arg, const char *failure), void *arg, struct ti_err *err);
void ti__mux_close(struct ti__mux *m); /* fine on one never opened (all zero) */

/* True if a master listens on that socket. */
bool ti__mux_alive(const char *socket);

#endif
