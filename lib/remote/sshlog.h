/*
 * Parses the log of the OpenSSH client (ssh -E FILE, LogLevel DEBUG2): progress of the connection,
 * and the cause of a failure.
 */
#ifndef TI_REMOTE_SSHLOG_H
#define TI_REMOTE_SSHLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/remote.h"

struct ti__sshlog {
    char line[512]; /* the incomplete last line */
    size_t used;
    bool master;  /* set by the caller: the log is of a gateway's master */
    bool greeted; /* the server's version line was seen */
    bool login;   /* authenticated */
    bool running; /* the command was started; of a master: others can go through it */
    bool signalled;
    uint64_t taken; /* number of window adjustments: the other side took input */
    int status;     /* exit status of the command; the caller sets it to -1 */
    bool failed;    /* `end` and `cause` are set */
    enum ti_channel_end end;
    char cause[512];
    char known[512];   /* "FILE:LINE" of a host key that differs */
    char keys[512];    /* the keys that were offered, "a, b" */
    char refusal[512]; /* of a master: why a host could not be reached through it */
    char last[512];    /* the last line that is not a debug message */
};

void ti__sshlog_add(struct ti__sshlog *l, const char *data, size_t bytes);

/* Why ssh failed (it exited with 255), with the text of the cause. */
enum ti_channel_end ti__sshlog_why(const struct ti__sshlog *l, char *cause, size_t bytes);

/* Hint for the user, for `host` (as an argument of ssh); "" if there is none. */
void ti__sshlog_hint(const struct ti__sshlog *l, enum ti_channel_end end, const char *host,
                     char *hint, size_t bytes);

#endif
