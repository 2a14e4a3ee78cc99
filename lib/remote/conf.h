/*
 * The user's ssh configuration of a host, as printed by `ssh -G`.  It is run once for each target
 * [USER@]HOST[:PORT], several at a time, or once for all targets of a class (hostclass.h).
 */
#ifndef TI_REMOTE_CONF_H
#define TI_REMOTE_CONF_H

#include <sys/queue.h>

#include "remote/child.h"
#include "remote/queue.h"

struct ti_remote;

#define TI__IDENTITIES 16

enum ti__conf_state { TI__CONF_WANTED, TI__CONF_ASKED, TI__CONF_KNOWN, TI__CONF_BAD };

/* Settings for interactive logins, which we override on the command line.  Only those that `ssh -G`
 * prints are passed to ssh: older versions do not know them all. */
enum { TI__OVERRIDE_DELEGATION = 3, TI__OVERRIDE_SESSION, TI__OVERRIDES };
extern const struct ti__override {
    const char *word, *usual, *option;
} ti__override[TI__OVERRIDES];

struct ti__conf {
    TAILQ_ENTRY(ti__conf) in_table, in_queue, in_asked;
    struct ti_remote *r;
    char *target; /* [USER@]HOST[:PORT] */
    enum ti__conf_state state;
    bool urgent;              /* a channel waits for it */
    bool keys;                /* only its host keys are of interest ... */
    bool keys_only;           /* ... so this may lack `control` */
    unsigned char *fingerprint; /* class of the host, once asked; NULL: none */
    const struct ti__conf
        *like; /* shared with this one, which owns all texts but `host`; or NULL */
    struct ti__child child;
    struct ti__timer limit; /* of ASKED */
    struct ti__queue output, errors; /* of `ssh -G` */
    struct ti_err err; /* BAD */

    char *user, *host, *alias; /* alias: the host's name in known_hosts, or NULL */
    int port, family;
    double connect_s; /* ConnectTimeout; 0: none */
    char *jump;    /* ProxyJump, or NULL */
    char *control; /* ControlPath, or NULL */
    char *identities[TI__IDENTITIES];
    int identity_count;
    bool identities_only;
    char *agent;       /* socket of the ssh agent, or NULL */
    char *known;       /* known_hosts files, separated by spaces */
    char *users_known; /* UserKnownHostsFile, as printed; NULL: none */
    char *kex, *host_keys, *ciphers, *macs;
    bool other_auth; /* GSSAPI or host-based login is enabled */
    const char
        *needs_openssh; /* a setting that only OpenSSH supports, except ProxyCommand; or NULL */
    unsigned overrides; /* bit i: pass ti__override[i].option */
    bool proxy;         /* has ProxyCommand, which a gateway replaces */
};

struct ti__confs;

struct ti__confs *ti__confs_new(void); /* NULL: no memory */
void ti__confs_free(struct ti__confs *all);

/* Requests the configuration of a target.  ti__confs_start() runs `ssh -G`; r->dirty is set once
 * the state is KNOWN or BAD.  Returns NULL only when memory is short. */
struct ti__conf *ti__conf_of(struct ti_remote *r, const char *target);

/* The same if only the host keys are of interest: `control` may be missing.  Unless `now`, runs
 * only while no channel waits, a few at a time. */
struct ti__conf *ti__conf_of_keys(struct ti_remote *r, const char *target, bool now);

void ti__confs_start(struct ti_remote *r);

/* Sets the members from `user` on by what `ssh -G` printed, c->output.  False: that lacks a user, a
 * host or a port, or memory is short (conf_parse.c). */
bool ti__conf_parse(struct ti__conf *c);

#endif
