/*
 * Bootstrap: starting ti-node at the far end of a channel, and sending it there if needed.
 *
 * The channel's command is a line for the login shell, of any kind: it only executes /bin/sh with
 * one quoted argument.  This script searches ti-node in ~/.cache/tiara/HASH, where HASH is the
 * checksum of all files that would be sent; or in /tmp/tiara-UID/HASH if the home is not writable
 * or not executable.  If ti-node is there, the script becomes `ti-node serve`, whose first frame is
 * HELLO. Otherwise it prints TIARA-SEND, receives ti-node and checks that it runs; then ti-node
 * receives the other files (node/install.h).  If nodes share the home, the first to finish renames
 * its complete folder to HASH, and the others use that.
 *
 * Callbacks of the channel, and the functions here that they call:
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
#include "session/paths.h"
#include "remote/remote.h"

/* The files that nodes without Tiara are sent; one payload for all nodes. */
struct ti_payload;

/*
 * Find the files: ti-node, ti-node-counter, the library with its MPI back ends, the valgrind tool.
 * They are read and compressed when they are needed.  TI_ERR_IO if ti-node or ti-node-counter is
 * missing.
 */
ti_status ti_payload_new(const struct ti_paths *paths, struct ti_payload **out, struct ti_err *err);
void ti_payload_free(struct ti_payload *p);

/* If ti_install() made the folder of the files, take the checksum from its name.  It is verified
 * when the files must be sent. */
void ti_payload_trust_folder(struct ti_payload *p);

/*
 * For a poll loop that must not block: reading and compressing take up to a second.  After
 * ti_payload_begin(), threads do this work; the first computes the checksum at once.  The result is
 * a descriptor (-1: errno).  When it is readable, call ti_payload_collect().  Then commands may be
 * ready, and nodes that wait for bytes must be pumped.
 */
int ti_payload_begin(struct ti_payload *p);
void ti_payload_collect(struct ti_payload *p);

/* Whether ti_bootstrap_command() returns at once: the checksum is known, or failed. */
bool ti_payload_known(const struct ti_payload *p);

/* Wait for the checksum; TI_ERR_IO if files cannot be read. */
ti_status ti_payload_wait(struct ti_payload *p, struct ti_err *err);
const char *ti_payload_hash(const struct ti_payload *p); /* "": not known */

/* Free the memory of the payload's contents, which are read and compressed again when needed. */
void ti_payload_drop(struct ti_payload *p);

/* Bytes that are sent to a node that lacks everything; 0 before the payload was packed. */
int64_t ti_payload_bytes(const struct ti_payload *p);

/*
 * The command for ti_remote_run() and ti_remote_local(); free() it.  `tiara` is the folder of an
 * installation on that node ("tiara" in the sites file), with or without libexec/tiara; then
 * nothing is sent.  It may be NULL.  TI_ERR_INPUT if the folder has characters that are special to
 * some shell, TI_ERR_IO if the payload cannot be read.
 */
ti_status ti_bootstrap_command(struct ti_payload *p, const char *tiara, char **command,
                               struct ti_err *err);

/* The bootstrap of one node.  Starts zeroed except for `payload`, which is shared. */
struct ti_bootstrap {
    struct ti_payload *payload;
    char window[128]; /* the end of the shell's output */
    int part;         /* being sent: 0 none, 1 ti-node, 2 the other files */
    size_t at;
    int asked; /* so often for a part */
    int64_t sent;      /* bytes, in all; for progress */
    char said[1024];   /* the end of what it said to standard error */
    size_t said_bytes; /* all of that */
    struct ti_err err; /* the payload could not be read */
};

void ti_bootstrap_output(struct ti_bootstrap *b, const void *data, size_t bytes);
void ti_bootstrap_errput(struct ti_bootstrap *b, const void *data, size_t bytes);

/* Whether there was too much output on standard error before HELLO, as in ti_frame_feed(). */
bool ti_bootstrap_noisy(const struct ti_bootstrap *b, struct ti_err *err);

/* Whether the node waits for our threads to pack the files. */
bool ti_bootstrap_waits(const struct ti_bootstrap *b);

/* The next bytes to write to the channel, at most 256 KiB.  NULL: none now, or an error in b->err.
 */
const void *ti_bootstrap_next(struct ti_bootstrap *b, size_t *bytes);

/* Write the next bytes to the channel.  Little is queued in advance, because there are many
 * channels. */
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
 * The reason why there was no HELLO, from the end of the channel, the output and the frame reader's
 * `noise`.  Always an error.  It names `node` unless that is NULL; errors of the transport name the
 * host.
 */
ti_status ti_bootstrap_why(const struct ti_bootstrap *b, const char *node, const char *noise,
                           const struct ti_channel_result *r, struct ti_err *err);

#endif
