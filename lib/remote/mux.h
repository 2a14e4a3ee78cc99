/*
 * A stream to a host through an OpenSSH master's connection to a gateway, by the
 * protocol that `ssh -W` speaks to a master (OpenSSH's PROTOCOL.mux): many at a
 * time, without a process for each.
 */
#ifndef TI_REMOTE_MUX_H
#define TI_REMOTE_MUX_H

#include "common/err.h"
#include "remote/loop.h"

struct ti__mux {
    int fd; /* of the master's socket; as long as it is open, so is the stream */
    struct ti__watch watch;
    unsigned char in[2048];
    size_t used;
    bool over;                                    /* it was told what it came to */
    void (*told)(void *arg, const char *failure); /* once; NULL: it is open */
    void *arg;
};

/* `*in` and `*out`: the ends of two pipes, the caller's to close. */
ti_status ti__mux_open(struct ti__mux *m, struct ti__loop *loop, const char *socket,
                       const char *host, int port, int *in, int *out,
                       void (*told)(void *arg, const char *failure), void *arg, struct ti_err *err);
void ti__mux_close(struct ti__mux *m); /* fine on one never opened (all zero) */

/* Is there a master at that socket? */
bool ti__mux_alive(const char *socket);

#endif
