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
 * session.c calls these functions.
 */
#ifndef TI_SESSION_BOOTSTRAP_H
#define TI_SESSION_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "remote/remote.h"
#include "session/payload.h"

/* Whether `tiara` may be given to a shell; else TI_ERR_INPUT. */
ti_status ti_bootstrap_check_folder(const char *tiara, struct ti_err *err);

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
    char window[128];          /* the end of the shell's output */
    enum ti_payload_part part; /* being sent */
    size_t at;                 /* bytes of it that were sent */
    int asked;                 /* times that a part was requested */
    int64_t sent;              /* bytes, in all; for progress */
    char said[1024];           /* the end of what it said to standard error */
    size_t said_bytes;         /* all of that */
    struct ti_err err;         /* the payload could not be read */
};

void ti_bootstrap_output(struct ti_bootstrap *b, const void *data, size_t bytes);
void ti_bootstrap_err_output(struct ti_bootstrap *b, const void *data, size_t bytes);

/* Whether there was too much output on standard error before HELLO, as in ti_frame_feed(). */
bool ti_bootstrap_noisy(const struct ti_bootstrap *b, struct ti_err *err);

/* Whether the node waits for our threads to pack the files. */
bool ti_bootstrap_waits(const struct ti_bootstrap *b);

/* The next bytes to write to the channel, at most 256 KiB.  NULL: none now, or an error in b->err.
 */
const void *ti_bootstrap_next(struct ti_bootstrap *b, size_t *bytes);

/*
 * The reason why there was no HELLO, from the end of the channel, the output and the frame reader's
 * `noise`.  Always an error.  It names `node` unless that is NULL; errors of the transport name the
 * host.
 */
ti_status ti_bootstrap_why(const struct ti_bootstrap *b, const char *node, const char *noise,
                           const struct ti_channel_result *r, struct ti_err *err);

#endif
