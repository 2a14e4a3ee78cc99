/*
 * Known hosts: OpenSSH's files, read once each.  Patterns, hashed names,
 * @revoked and @cert-authority are understood; nothing is ever added.
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
    TI__KNOWN_SAME,
    TI__KNOWN_NOT,
    TI__KNOWN_OTHER,   /* `where`: FILE:LINE */
    TI__KNOWN_REVOKED, /* the same */
};

enum ti__known_verdict ti__known_check(struct ti__known *k, const struct ti__conf *conf,
                                       const void *key, size_t bytes, char *where,
                                       size_t where_bytes);

/* Is there a key of this type ("ssh-ed25519") for the host; of any type: NULL? */
bool ti__known_has(struct ti__known *k, const struct ti__conf *conf, const char *type);

/* Is an authority for the host's certificates known? */
bool ti__known_authority(struct ti__known *k, const struct ti__conf *conf);

/* What is known of the host, marks included, as lines for another machine, which may know it by
 * the name that was given or by the one it has here.  NULL: no memory. */
char *ti__known_lines(struct ti__known *k, const struct ti__conf *conf);

/* NULL: no memory. */
char *ti__base64(const unsigned char *p, size_t n);

#endif
