/*
 * How ti-node comes to be at the far end of a channel.
 *
 * The channel's command is a line for the login shell (any: it only executes /bin/sh with
 * one quoted argument) that looks for ti-node in ~/.cache/tiara/HASH, HASH standing for the
 * contents of all that would be sent, or in /tmp/tiara-UID/HASH where the home cannot be
 * written to or executed from.  If it is there, it becomes `ti-node serve`, whose HELLO is
 * the first frame.  Else it says TIARA-SEND, receives ti-node, checks that it runs, and
 * ti-node receives the rest (node/install.h).  Nodes may share the home: who comes first
 * puts its folder there, whole, the others take that.
 *
 *   on output   ti_bootstrap_output(b, data, bytes) as long as the frame reader has not
 *               started, then ti_frame_feed(); then ti_bootstrap_pump()
 *   on drained  ti_bootstrap_pump()
 *   on errput   ti_bootstrap_errput()
 *   on ended    ti_bootstrap_why()
 */
#ifndef TI_BOOTSTRAP_H
#define TI_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "node/paths.h"
#include "remote/remote.h"

/* What nodes without Tiara are sent; one for all of them. */
struct ti_payload;

/*
 * Look at the files: ti-node, ti-node-counter, the library with its MPI back ends, the valgrind
 * tool.  They are read, and compressed, when somebody needs them.  TI_ERR_IO when ti-node
 * or ti-node-counter is missing.
 */
ti_status ti_payload_new(const struct ti_paths *paths, struct ti_payload **out, struct ti_err *err);
void ti_payload_free(struct ti_payload *p);

/* The files are those that ti_install() put into the folder where they are, whose name is their
 * checksum, unless that is no such folder.  It is believed until they are to be sent. */
void ti_payload_trust_folder(struct ti_payload *p);

/*
 * For a loop that others wait for: reading all of it and compressing take a second where the
 * processor is busy.  Threads do that after ti_payload_begin(), the first of them at once, for the
 * checksum.  When the descriptor that it returns (-1: errno) can be read, ti_payload_collect()
 * takes what is done: commands can be had that could not, and those that wait for bytes are to be
 * pumped.
 */
int ti_payload_begin(struct ti_payload *p);
void ti_payload_collect(struct ti_payload *p);

/* The checksum is known, or cannot be: ti_bootstrap_command() does not wait for it. */
bool ti_payload_known(const struct ti_payload *p);

/* Wait for it; TI_ERR_IO when files cannot be read. */
ti_status ti_payload_wait(struct ti_payload *p, struct ti_err *err);
const char *ti_payload_hash(const struct ti_payload *p); /* "": not known */

/* Nobody needs it for now; what was read and compressed can be so again. */
void ti_payload_drop(struct ti_payload *p);

/* What a node that needs all of it is sent; 0 before somebody did. */
int64_t ti_payload_bytes(const struct ti_payload *p);

/*
 * The command for ti_remote_run() and ti_remote_local(); free() it.  `tiara` is the folder
 * where Tiara is installed on that node ("tiara" in the sites file), with or without
 * libexec/tiara behind it, and then nothing is sent; or NULL.  TI_ERR_INPUT for a folder
 * with characters that not all shells leave alone, TI_ERR_IO when the payload cannot be read.
 */
ti_status ti_bootstrap_command(struct ti_payload *p, const char *tiara, char **command,
                               struct ti_err *err);

/* One node's.  Starts zeroed but for `payload`, which is shared. */
struct ti_bootstrap {
    struct ti_payload *payload;
    char window[128]; /* the end of what the shell said */
    int part;         /* being sent: 0 none, 1 ti-node, 2 the rest */
    size_t at;
    int asked; /* so often for a part */
    int64_t sent;      /* bytes, in all; for progress */
    char said[1024];   /* the end of what it said to standard error */
    size_t said_bytes; /* all of that */
    struct ti_err err; /* the payload could not be read */
};

void ti_bootstrap_output(struct ti_bootstrap *b, const void *data, size_t bytes);
void ti_bootstrap_errput(struct ti_bootstrap *b, const void *data, size_t bytes);

/* Before its HELLO: what it says to standard error goes on for ever, as in ti_frame_feed(). */
bool ti_bootstrap_noisy(const struct ti_bootstrap *b, struct ti_err *err);

/* It waits for what is being packed here. */
bool ti_bootstrap_waits(const struct ti_bootstrap *b);

/* The next bytes to be written, at most 256 KiB; NULL: none for now, or b->err. */
const void *ti_bootstrap_next(struct ti_bootstrap *b, size_t *bytes);

/* Write what the channel should have, little of it in advance: there are many. */
static inline void ti_bootstrap_pump(struct ti_bootstrap *b, struct ti_channel *c)
{
    const void *data;
    size_t bytes;

    while (ti_channel_queued(c) < 1024 * 1024 && (data = ti_bootstrap_next(b, &bytes)) != NULL)
        if (!ti_channel_write(c, data, bytes))
            break;
    if (b->err.text[0])
        ti_channel_close(c);
}

/*
 * Why there was no HELLO, from how the channel ended and what was said; `noise` is the
 * frame reader's.  Always an error, naming `node` unless
 * that is NULL, or the transport's, which names the host.
 */
ti_status ti_bootstrap_why(const struct ti_bootstrap *b, const char *node, const char *noise,
                           const struct ti_channel_result *r, struct ti_err *err);

#endif
