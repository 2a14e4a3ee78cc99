/*
 * OpenSSH's known_hosts files, each read once.  Supports patterns, hashed names, @revoked and
 * @cert-authority.  Never adds a key.
 */
#ifndef TI_REMOTE_KNOWN_H
#define TI_REMOTE_KNOWN_H

#include <stdbool.h>
#include <stddef.h>

struct ti__known; /* the files read so far */
struct ti__conf;

struct ti__known *ti__known_new(void); /* NULL: no memory */
void ti__known_free(struct ti__known *k);

enum ti__known_verdict {
    TI__KNOWN_SAME,    /* the key is known */
    TI__KNOWN_NOT,     /* no key of the host is known */
    TI__KNOWN_OTHER,   /* only other keys are; `where`: FILE:LINE */
    TI__KNOWN_REVOKED, /* the same */
};

/* Checks a host key.  `where` gets FILE:LINE of the entry that decided. */
enum ti__known_verdict ti__known_check(struct ti__known *k, const struct ti__conf *conf,
                                       const void *key, size_t bytes, char *where,
                                       size_t where_bytes);

/* True if a key of this type ("ssh-ed25519") is known for the host; NULL: of any type. */
bool ti__known_has(struct ti__known *k, const struct ti__conf *conf, const char *type);

/* True if a certificate authority is known for the host. */
bool ti__known_authority(struct ti__known *k, const struct ti__conf *conf);

/* free() it; NULL: no memory. */
char *ti__base64(const unsigned char *p, size_t n);

#endif
