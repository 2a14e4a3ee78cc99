/*
 * What `ssh -G` says about a host: the user's configuration, as OpenSSH itself
 * understands it.  Asked once for each way of naming a host, several at a time; once for
 * all hosts that are alike to it (alike.h).
 */
#ifndef TI_REMOTE_CONF_H
#define TI_REMOTE_CONF_H

#include <sys/queue.h>

#include "remote/child.h"
#include "remote/queue.h"

struct ti_remote;

#define TI__IDENTITIES 16

enum ti__conf_state { TI__CONF_WANTED, TI__CONF_ASKED, TI__CONF_KNOWN, TI__CONF_BAD };

/* What is meant for people who log in.  ssh is only told what it says itself that it knows. */
enum { TI__OVERRIDE_DELEGATION = 3, TI__OVERRIDE_SESSION, TI__OVERRIDES };
extern const struct ti__override {
    const char *word, *usual, *option;
} ti__override[TI__OVERRIDES];

struct ti__conf {
    TAILQ_ENTRY(ti__conf) in_table, in_queue, in_asked;
    struct ti_remote *r;
    char *target; /* [USER@]HOST[:PORT] */
    enum ti__conf_state state;
    bool now;                  /* somebody waits for it */
    bool keys;                 /* only what is known of its keys is of interest ... */
    bool keys_only;            /* ... and may be had here, all but `control` */
    unsigned char *mark;       /* of those that were asked for; NULL: none is like it */
    const struct ti__conf *of; /* that it is like: all texts but `host` are that one's */
    struct ti__child child;
    struct ti__timer limit; /* of ASKED */
    struct ti__queue said, complaint;
    struct ti_err err; /* BAD */

    char *user, *host, *alias; /* alias: the host's name in known_hosts, or NULL */
    int port, family;
    char *jump;    /* ProxyJump, or NULL */
    char *control; /* ControlPath, or NULL */
    char *identities[TI__IDENTITIES];
    int identity_count;
    bool identities_only;
    char *agent;       /* its socket, or NULL */
    char *known;       /* the files, spaces between them */
    char *users_known; /* UserKnownHostsFile, as it is said; NULL: none */
    char *kex, *host_keys, *ciphers, *macs;
    bool other_auth;     /* GSSAPI or by host may do where keys do not */
    const char *openssh; /* what only the OpenSSH client does, but for ProxyCommand, or NULL */
    unsigned undo;       /* bits: of ti__override */
    bool proxy;          /* ProxyCommand, in place of which there may be a gateway */
};

struct ti__confs;

struct ti__confs *ti__confs_new(void); /* NULL: no memory */
void ti__confs_free(struct ti__confs *all);

/* NULL only for lack of memory.  WANTED is asked for by ti__confs_start(), and r->look is set once
 * it is KNOWN or BAD. */
struct ti__conf *ti__conf_of(struct ti_remote *r, const char *target);

/* The same, when only what is known of its keys is wanted: not `control`.  `now`: somebody waits
 * for it; else it is asked for when nobody waits for another, a few at a time. */
struct ti__conf *ti__conf_of_keys(struct ti_remote *r, const char *target, bool now);

void ti__confs_start(struct ti_remote *r);

#endif
