/* libssh2: the server's host key, and our login by the keys of the agent, then by key files. */
#include "remote/libssh2_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote/conf.h"
#include "remote/known.h"

#define RSA_SHA2 0x010b00 /* libssh2 1.11 has the RSA signatures that servers require today */

/* --- the host key ------------------------------------------------------------ */

bool ti__libssh2_host_key(struct ti__libssh2 *o)
{
    struct ti_channel *c = o->c;
    size_t bytes = 0;
    int type;
    const char *key = libssh2_session_hostkey(o->ssh, &bytes, &type);
    char where[400], hint[512];

    switch (ti__known_check(c->r->known, c->conf, key, key ? bytes : 0, where, sizeof where)) {
    case TI__KNOWN_SAME:
        return true;
    case TI__KNOWN_NOT:
        snprintf(hint, sizeof hint, "check and add it by: ssh %s true", c->host);
        if (c->gateway)
            snprintf(hint, sizeof hint, "check and add it by: ssh -J %s %s true", c->gateway,
                     c->host);
        ti__channel_failed(c, TI_CHANNEL_HOST_KEY_UNKNOWN, hint,
                           "its host key is not in known_hosts");
        return false;
    case TI__KNOWN_OTHER:
        snprintf(hint, sizeof hint,
                 "if the host was installed anew, remove its old key: %s; else someone may be in "
                 "between",
                 where);
        ti__channel_failed(c, TI_CHANNEL_HOST_KEY_CHANGED, hint,
                           "its host key is not the one in known_hosts");
        return false;
    case TI__KNOWN_REVOKED:
        ti__channel_failed(c, TI_CHANNEL_HOST_KEY_CHANGED, NULL,
                           "its host key is marked as revoked in known_hosts (%s)", where);
        return false;
    }
    return false;
}

/* --- keys that libssh2 can use ----------------------------------------------- */

static void note_tried(struct ti__libssh2 *o, const char *key)
{
    size_t n = strlen(o->tried);

    snprintf(o->tried + n, sizeof o->tried - n, "%s%s", n ? ", " : "", key);
}

/* "ssh-ed25519" of a public key in its binary form. */
static bool blob_is(const unsigned char *blob, size_t bytes, const char *type)
{
    size_t n = strlen(type);

    return bytes > 4 + n && blob[3] == n && memcmp(blob + 4, type, n) == 0;
}

static bool can_use(const unsigned char *blob, size_t bytes)
{
    return blob_is(blob, bytes, "ssh-ed25519") || blob_is(blob, bytes, "ecdsa-sha2-nistp256") ||
           blob_is(blob, bytes, "ecdsa-sha2-nistp384") ||
           blob_is(blob, bytes, "ecdsa-sha2-nistp521") ||
           (blob_is(blob, bytes, "ssh-rsa") && libssh2_version(RSA_SHA2));
}

static bool rejected(int rc)
{
    return rc != LIBSSH2_ERROR_SOCKET_DISCONNECT && rc != LIBSSH2_ERROR_SOCKET_RECV &&
           rc != LIBSSH2_ERROR_SOCKET_SEND;
}

/* --- keys of the agent ------------------------------------------------------- */

/* True if the key is in an IdentityFile, by the .pub file. */
static bool is_listed(const struct ti__conf *conf, const struct libssh2_agent_publickey *key)
{
    char *text = ti__base64(key->blob, key->blob_len);
    bool found = false;

    for (int i = 0; text && i < conf->identity_count && !found; i++) {
        char name[1100], type[64], listed[4096];
        FILE *f;

        snprintf(name, sizeof name, "%s.pub", conf->identities[i]);
        f = fopen(name, "re");
        if (!f)
            continue;
        found = fscanf(f, "%63s %4095s", type, listed) == 2 && strcmp(listed, text) == 0;
        fclose(f);
    }
    free(text);
    return found;
}

/* Advances to the next usable key of the agent; false: no more.  As with ssh, keys of IdentityFile
 * come first, because servers allow few attempts. */
static bool next_agent_key(struct ti__libssh2 *o)
{
    const struct ti__conf *conf = o->c->conf;

    if (!o->agent) {
        if (!conf->agent || o->c->r->agent_is_stuck)
            return false;
        o->agent = libssh2_agent_init(o->ssh);
        if (!o->agent)
            return false;
        libssh2_agent_set_identity_path(o->agent, conf->agent);
        if (libssh2_agent_connect(o->agent) != 0 || libssh2_agent_list_identities(o->agent) != 0)
            return false;
    }
    for (;;) {
        while (libssh2_agent_get_identity(o->agent, &o->key, o->key) == 0) {
            if (is_listed(conf, o->key) == o->others)
                continue;
            if (can_use(o->key->blob, o->key->blob_len))
                return true;
            o->unfit = true;
        }
        if (o->others || conf->identities_only)
            return false;
        o->others = true;
        o->key = NULL;
    }
}

/* On success the next step is OPEN, else FILES. */
bool ti__libssh2_by_agent(struct ti__libssh2 *o)
{
    const char *user = o->c->conf->user;

    for (;;) {
        int rc;

        if (!o->have_key) {
            if (!next_agent_key(o))
                return true;
            o->have_key = true;
            note_tried(o, o->key->comment && *o->key->comment ? o->key->comment : "of the agent");
        }
        rc = libssh2_agent_userauth(o->agent, user, o->key);
        if (rc == LIBSSH2_ERROR_EAGAIN)
            return false;
        if (rc == 0) {
            o->step = TI__STEP_FILES; /* ti__libssh2_pump() advances to OPEN */
            return true;
        }
        if (!rejected(rc))
            return true; /* ti__libssh2_by_file() reports it */
        o->have_key = false;
    }
}

/* --- key files --------------------------------------------------------------- */

/* True if libssh2 cannot use the key, by its .pub file.  Without one it is tried. */
static bool file_is_unfit(const char *path)
{
    char name[1100], line[64] = "";
    FILE *f;

    snprintf(name, sizeof name, "%s.pub", path);
    f = fopen(name, "re");
    if (!f)
        return false;
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    fclose(f);
    return strncmp(line, "ssh-ed25519 ", 12) != 0 && strncmp(line, "ecdsa-sha2-", 11) != 0 &&
           (strncmp(line, "ssh-rsa ", 8) != 0 || !libssh2_version(RSA_SHA2));
}

static bool has_certificate(const char *path)
{
    char name[1100];

    snprintf(name, sizeof name, "%s-cert.pub", path);
    return access(name, F_OK) == 0;
}

static bool fail_auth(struct ti__libssh2 *o)
{
    struct ti_channel *c = o->c;
    char hint[512];

    if ((o->unfit || c->conf->other_auth) &&
        ti__channel_fall_back(c, o->unfit ? "keys that libssh2 cannot use"
                                          : "GSSAPI or host-based authentication"))
        return false;
    if (c->r->agent_is_stuck)
        snprintf(hint, sizeof hint, "the ssh agent did not answer: %s",
                 c->conf->agent ? c->conf->agent : "");
    else if (o->tried[0])
        snprintf(hint, sizeof hint,
                 "these keys were tried: %s; does 'ssh -o BatchMode=yes %s true' work?", o->tried,
                 c->host);
    else
        snprintf(hint, sizeof hint,
                 "there was no key to try: start an ssh agent, or see ssh-keygen(1)");
    ti__channel_failed(c, TI_CHANNEL_NO_AUTH, hint, "%s@%s: permission denied", c->conf->user,
                       c->conf->host);
    return false;
}

bool ti__libssh2_by_file(struct ti__libssh2 *o)
{
    const struct ti__conf *conf = o->c->conf;

    for (; o->file < conf->identity_count; o->file++) {
        const char *path = conf->identities[o->file];
        int rc;

        if (file_is_unfit(path)) {
            o->unfit = true;
            continue;
        }
        o->unfit = o->unfit || has_certificate(path); /* ssh would use it */
        rc = libssh2_userauth_publickey_fromfile_ex(o->ssh, conf->user,
                                                    (unsigned)strlen(conf->user), NULL, path, "");
        if (rc == 0)
            return true;
        if (rc == LIBSSH2_ERROR_EAGAIN)
            return false;
        if (!rejected(rc))
            break;
        note_tried(o, path);
        /* libssh2 cannot read it: it has a passphrase, or is of an unknown type. */
        if (rc != LIBSSH2_ERROR_AUTHENTICATION_FAILED && rc != LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED)
            o->unfit = true;
    }
    if (o->closed && !o->tried[0])
        return ti__libssh2_fail_closed(o);
    return fail_auth(o);
}
