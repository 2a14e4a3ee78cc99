/* Command lines for the OpenSSH client. */
#ifndef TI_REMOTE_SSHARGS_H
#define TI_REMOTE_SSHARGS_H

#include "remote/internal.h"

#define TI__SSHARGS_MAX 64

struct ti__sshargs {
    const char *v[TI__SSHARGS_MAX];
    int n;
    char alive[64], connect[64];
    char *kex, *known; /* to be freed by ti__sshargs_free() */
};

void ti__ssharg(struct ti__sshargs *a, const char *s);
void ti__sshoption(struct ti__sshargs *a, const char *s); /* -o s */

/* Adds "ssh" and the common options: no prompts, no forwarding (except the agent if requested), no
 * host key added.  `conf` may be NULL.  `options` NULL: for the master of a gateway. */
void ti__sshargs_begin(struct ti__sshargs *a, const struct ti_remote *r,
                       const struct ti__conf *conf, const struct ti_channel_options *options,
                       const char *log_path);
void ti__sshargs_target(struct ti__sshargs *a, const struct ti__target *t);
void ti__sshargs_free(struct ti__sshargs *a);

/* `list` with `first` moved to its front, if it is in it; free() it, NULL: no memory. */
char *ti__put_first(const char *list, const char *first);

/* A path for a new fifo or socket; false: err. */
bool ti__next_path(struct ti_remote *r, const char *kind, char *path, size_t bytes,
                   struct ti_err *err);
void ti__remove_path(char *path);

#endif
