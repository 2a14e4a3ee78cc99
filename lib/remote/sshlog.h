/*
 * What the OpenSSH client says about itself (ssh -E FILE, LogLevel DEBUG2), line
 * by line: how far it came, and what went wrong.
 */
#ifndef TI_REMOTE_SSHLOG_H
#define TI_REMOTE_SSHLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/remote.h"

struct ti__sshlog {
    char line[512]; /* the one that is not complete */
    size_t used;
    bool master;  /* of a connection that others go through; the caller's to set */
    bool greeted; /* the other side's first line was seen */
    bool login;   /* authenticated */
    bool running; /* the command was started; of a master: others can go through it */
    bool signalled;
    uint64_t taken; /* how often it was told that the other side has taken of its input */
    int status;     /* that the command ended with; the caller sets it to -1 */
    bool failed;    /* `end` and `cause` were seen */
    enum ti_channel_end end;
    char cause[512];
    char known[512];   /* "FILE:LINE" of a host key that is another one */
    char keys[512];    /* the keys that were offered, "a, b" */
    char refusal[512]; /* a master's: why a host could not be reached through it */
    char last[512];    /* the last thing said that is no debug message */
};

void ti__sshlog_add(struct ti__sshlog *l, const char *data, size_t bytes);

/* Why ssh failed (it exited with 255), as far as it is known. */
enum ti_channel_end ti__sshlog_why(const struct ti__sshlog *l, char *cause, size_t bytes);

/* What a user can do about it, for `host` (as ssh knows it). */
void ti__sshlog_hint(const struct ti__sshlog *l, enum ti_channel_end end, const char *host,
                     char *hint, size_t bytes);

#endif
