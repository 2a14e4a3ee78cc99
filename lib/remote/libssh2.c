/*
 * Transport: SSH by libssh2, in this process.
 *
 * Everything is non-blocking.  libssh2 sends into a queue of ours that always takes all bytes,
 * because no other libssh2 function may be called while a packet is partly sent.  It receives from
 * a socket, or from the pipes of a gateway's master.  A session that is to be freed is marked dead
 * first, so that nothing waits for the other side.
 */
#include <libssh2.h>

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/conf.h"
#include "remote/gateway.h"
#include "remote/internal.h"
#include "remote/known.h"
#include "remote/lookup.h"
#include "remote/mux.h"
#include "remote/sshargs.h"

#define WINDOW_BYTES (2 << 20) /* more is slower */
#define PACKET_BYTES (32 << 10)
#define READ_BYTES   (32 << 10)
#define READS        16          /* at a time, so that other channels get their turn */
#define SEND_AHEAD   (256 << 10) /* bytes queued to send; more input of the command waits */
#define AGENT_MS     10000       /* for an answer of the ssh agent, which may ask the user */
#define RSA_SHA2     0x010b00 /* libssh2 1.11 has the RSA signatures that servers require today */

enum step { CONNECT, HANDSHAKE, KEYS, AGENT, FILES, OPEN, EXEC, RUN };

struct session {
    struct ti_channel *c;
    enum step step;
    bool dead, greeted, closed; /* greeted: its "SSH-" line came; closed: by the server */
    bool broken;                /* libssh2 could not decode what came */
    char before[80];            /* its last line before the greeting */
    size_t before_bytes;

    struct ti__lookup *lookup;
    struct addrinfo *list, *at; /* addresses, and the current one */
    struct ti__mux mux;
    int in, out; /* descriptors, equal for a socket; -1 */
    struct ti__watch in_watch, out_watch;
    struct ti__queue sending;
    double heard;    /* when data last came */
    double alive_at; /* time of the timer `alive` */
    struct ti__timer alive, again;

    LIBSSH2_SESSION *ssh;
    LIBSSH2_CHANNEL *channel;
    LIBSSH2_AGENT *agent;
    struct libssh2_agent_publickey *key;
    bool have_key, others; /* others: on to agent keys that IdentityFile does not name */
    int file;
    unsigned long window; /* send window of the channel after the last send */
    unsigned long left;   /* bytes buffered in libssh2 after the last read */
    bool unfit;           /* some keys cannot be used by libssh2 */
    bool input_end;       /* sent */
    char tried[256];
};

static void pump(struct session *o);

/* --- ends -------------------------------------------------------------------------- */

static void fail(struct session *o, enum ti_channel_end end, const char *cause)
{
    ti__channel_failed(o->c, end, NULL, "%s", cause);
}

/* libssh2's text for the last failure. */
static const char *last_error(struct session *o)
{
    char *text = NULL;

    libssh2_session_last_error(o->ssh, &text, NULL, 0);
    return text && *text ? text : "libssh2 does not say why";
}

/* --- what libssh2 sends and receives ------------------------------------------------- */

static LIBSSH2_SEND_FUNC(on_send)
{
    struct session *o = *abstract;

    if (socket != o->in) { /* the socket of the ssh agent */
        ssize_t n = send(socket, buffer, length, flags | MSG_NOSIGNAL);

        return n < 0 ? -errno : n;
    }
    if (o->dead)
        return -EPIPE;
    return ti__queue_add(&o->sending, buffer, length) ? (ssize_t)length : -ENOMEM;
}

static ssize_t from_agent(struct session *o, int fd, void *buffer, size_t length, int flags)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n;
    int ready;

    do
        ready = poll(&p, 1, AGENT_MS);
    while (ready < 0 && errno == EINTR);
    if (ready != 1) {
        o->c->r->agent_is_stuck = true;
        return -ETIMEDOUT;
    }
    n = recv(fd, buffer, length, flags);
    return n < 0 ? -errno : n;
}

/* Keeps the last line before the greeting: an overloaded sshd sends its reason as plain text. */
static void scan_greeting(struct session *o, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes && !o->greeted; i++) {
        if (data[i] == '\n') {
            o->before_bytes = 0;
            continue;
        }
        if (data[i] == '\r' || o->before_bytes == sizeof o->before - 1)
            continue;
        o->before[o->before_bytes++] = (char)(isprint((unsigned char)data[i]) ? data[i] : '?');
        o->before[o->before_bytes] = '\0';
        o->greeted = strcmp(o->before, "SSH-") == 0;
    }
}

static LIBSSH2_RECV_FUNC(on_recv)
{
    struct session *o = *abstract;
    ssize_t n;

    if (socket != o->in)
        return from_agent(o, socket, buffer, length, flags);
    if (o->dead)
        return -ECONNRESET;
    n = read(o->in, buffer, length);
    if (n < 0 && errno != EAGAIN)
        o->closed = true;
    if (n < 0)
        return -errno;
    if (n == 0)
        o->closed = true;
    else
        scan_greeting(o, buffer, (size_t)n);
    o->heard = ti__now();
    ti__channel_heard(o->c);
    return n;
}

/* Writes the queue; false: the connection is broken. */
static bool flush(struct session *o)
{
    while (ti__queue_bytes(&o->sending)) {
        ssize_t n = write(o->out, ti__queue_front(&o->sending), ti__queue_bytes(&o->sending));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n < 0)
            return false;
        ti__queue_drop(&o->sending, (size_t)n);
    }
    return true;
}

/* --- the connection -------------------------------------------------------------------- */

static void on_event(void *arg, uint32_t events)
{
    (void)events;
    pump(arg);
}

/* A paused channel receives nothing, unless input waits for a window adjustment. */
static bool wants_to_read(const struct session *o)
{
    return o->step != RUN || !o->c->paused || ti__queue_bytes(&o->c->input);
}

static void watch(struct session *o)
{
    uint32_t write = ti__queue_bytes(&o->sending) ? EPOLLOUT : 0;
    uint32_t read = wants_to_read(o) ? EPOLLIN : 0;
    bool same = o->in == o->out;
    uint32_t events = read | (same ? write : 0);

    /* With events 0 epoll would still report a hangup, again and again. */
    if (!events)
        ti__watch_drop(&o->in_watch);
    else if (o->in_watch.loop)
        ti__watch_events(&o->in_watch, events);
    else
        ti__watch(&o->c->r->loop, &o->in_watch, o->in, events, on_event, o);
    if (same)
        return;
    if (!write)
        ti__watch_drop(&o->out_watch);
    else if (!o->out_watch.loop)
        ti__watch(&o->c->r->loop, &o->out_watch, o->out, EPOLLOUT, on_event, o);
}

static bool in_list(const char *list, const char *word, size_t n)
{
    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || !p[n]))
            return true;
    }
    return false;
}

/* Sets the methods of one kind to those of the user's list that libssh2 supports; false: none. */
static bool prefer(struct session *o, int kind, const char *list)
{
    const char **have;
    int n = libssh2_session_supported_algs(o->ssh, kind, &have);
    char *both = calloc(1, strlen(list) + 1);
    bool ok;

    for (const char *p = list; both && n > 0 && *p;) {
        size_t bytes = strcspn(p, ",");

        for (int i = 0; i < n; i++) {
            if (strlen(have[i]) != bytes || strncmp(have[i], p, bytes) != 0)
                continue;
            sprintf(both + strlen(both), "%s%s", *both ? "," : "", have[i]);
            break;
        }
        p += bytes + (p[bytes] == ',');
    }
    ok = both && *both && libssh2_session_method_pref(o->ssh, kind, both) == 0;
    if (n > 0)
        libssh2_free(o->ssh, have);
    free(both);
    return ok;
}

/* The allowed host key types, limited to those in known_hosts, if any are, so that the server shows
 * a key that we can check. */
static char *wanted_host_keys(struct session *o)
{
    static const struct {
        const char *method, *type;
    } all[] = {{"ssh-ed25519", "ssh-ed25519"},
               {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"},
               {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384"},
               {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521"},
               {"rsa-sha2-512", "ssh-rsa"},
               {"rsa-sha2-256", "ssh-rsa"},
               {"ssh-rsa", "ssh-rsa"}};
    const struct ti__conf *conf = o->c->conf;
    struct ti__known *known = o->c->r->known;
    bool any = ti__known_has(known, conf, NULL);
    char *list = calloc(1, 256);

    for (size_t i = 0; list && i < sizeof all / sizeof *all; i++) {
        if ((any && !ti__known_has(known, conf, all[i].type)) ||
            !in_list(conf->host_keys, all[i].method, strlen(all[i].method)))
            continue;
        sprintf(list + strlen(list), "%s%s", *list ? "," : "", all[i].method);
    }
    return list;
}

static bool methods(struct session *o)
{
    static const int directions[2][2] = {{LIBSSH2_METHOD_CRYPT_CS, LIBSSH2_METHOD_MAC_CS},
                                         {LIBSSH2_METHOD_CRYPT_SC, LIBSSH2_METHOD_MAC_SC}};
    const struct ti__conf *conf = o->c->conf;
    char *keys = wanted_host_keys(o);
    char *kex = ti__put_first(conf->kex, "curve25519-sha256");
    bool ok = keys && kex && prefer(o, LIBSSH2_METHOD_HOSTKEY, keys) &&
              prefer(o, LIBSSH2_METHOD_KEX, kex);

    for (int i = 0; ok && i < 2; i++)
        ok = prefer(o, directions[i][0], conf->ciphers) && prefer(o, directions[i][1], conf->macs);
    free(keys);
    free(kex);
    return ok;
}

/* Falls back to OpenSSH, or fails.  Always false: `o` is freed. */
static bool fail_method(struct session *o, const char *why)
{
    struct ti_channel *c = o->c;

    if (!ti__channel_fall_back(c, "no method in common with libssh2"))
        ti__channel_failed(c, TI_CHANNEL_NO_METHOD, "use the OpenSSH transport",
                           "libssh2 has no method in common with it: %s", why);
    return false;
}

static void on_alive(void *arg);

static void set_keepalive(struct session *o)
{
    double in_s = o->c->r->silence_s / 3;

    o->alive_at = ti__now() + in_s;
    ti__timer_set(&o->c->r->loop, &o->alive, in_s, on_alive, o);
}

static void on_alive(void *arg)
{
    struct session *o = arg;
    struct ti_channel *c = o->c;
    double silent = ti__now() - o->heard, late = ti__now() - o->alive_at;
    int next;

    set_keepalive(o);
    /* We did not read, or not poll: there may be unread data, and no keepalive was sent. */
    if (!wants_to_read(o) || late >= c->r->silence_s / 3) {
        o->heard = ti__now();
        return;
    }
    if (silent >= c->r->silence_s) {
        ti__channel_failed(c, TI_CHANNEL_LOST, NULL, "it has said nothing for %.0f s", silent);
        return;
    }
    if (silent >= c->r->silence_s / 4 && o->step == RUN) {
        libssh2_keepalive_send(o->ssh, &next);
        pump(o);
    }
}

/* The byte stream is open: begins the SSH session. */
static void connected(struct session *o)
{
    o->ssh = libssh2_session_init_ex(NULL, NULL, NULL, o);
    if (!o->ssh) {
        fail(o, TI_CHANNEL_LOCAL, "out of memory");
        return;
    }
#if LIBSSH2_VERSION_NUM >= 0x010b01
    libssh2_session_callback_set2(o->ssh, LIBSSH2_CALLBACK_SEND, (libssh2_cb_generic *)on_send);
    libssh2_session_callback_set2(o->ssh, LIBSSH2_CALLBACK_RECV, (libssh2_cb_generic *)on_recv);
#else
    libssh2_session_callback_set(o->ssh, LIBSSH2_CALLBACK_SEND, (void *)on_send);
    libssh2_session_callback_set(o->ssh, LIBSSH2_CALLBACK_RECV, (void *)on_recv);
#endif
    libssh2_session_set_blocking(o->ssh, 0);
    if (!methods(o)) {
        fail_method(o, "of those that ssh's configuration allows");
        return;
    }
    o->heard = ti__now();
    o->step = HANDSHAKE;
    pump(o);
}

static void try_address(struct session *o, int error);

static void on_connect(void *arg, uint32_t events)
{
    struct session *o = arg;
    int error = 0;
    socklen_t bytes = sizeof error;

    (void)events;
    ti__watch_drop(&o->in_watch);
    if (getsockopt(o->in, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
        error = errno;
    if (error) {
        close(o->in);
        o->in = o->out = -1;
        o->at = o->at->ai_next;
        try_address(o, error);
        return;
    }
    setsockopt(o->in, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    connected(o);
}

static void try_address(struct session *o, int error)
{
    for (; o->at; o->at = o->at->ai_next) {
        int fd = socket(o->at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd >= 0 &&
            (connect(fd, o->at->ai_addr, o->at->ai_addrlen) == 0 || errno == EINPROGRESS) &&
            ti__watch(&o->c->r->loop, &o->in_watch, fd, EPOLLOUT, on_connect, o)) {
            o->in = o->out = fd;
            return;
        }
        error = errno;
        if (fd >= 0)
            close(fd);
    }
    ti__channel_failed(
        o->c,
        error == ECONNREFUSED                                   ? TI_CHANNEL_REFUSED
        : error == ETIMEDOUT                                    ? TI_CHANNEL_TIMED_OUT
        : error == EMFILE || error == ENFILE || error == ENOMEM ? TI_CHANNEL_LOCAL
                                                                : TI_CHANNEL_UNREACHABLE,
        error == ECONNREFUSED ? "is its sshd running?" : NULL, "connect to %s port %d: %s",
        o->c->conf->host, o->c->conf->port, strerror(error));
}

static void on_lookup(void *arg, struct addrinfo *list, const char *failure)
{
    struct session *o = arg;

    o->lookup = NULL;
    if (failure) {
        ti__channel_failed(o->c, TI_CHANNEL_NO_NAME, NULL, "'%s': %s", o->c->conf->host, failure);
        return;
    }
    o->list = o->at = list;
    try_address(o, EADDRNOTAVAIL);
}

static void on_mux(void *arg, const char *failure)
{
    struct session *o = arg;
    const char *more = ti__gateway_refusal(o->c->through);

    if (!failure)
        connected(o);
    else
        ti__channel_failed(o->c, TI_CHANNEL_UNREACHABLE, NULL, "%s", more ? more : failure);
}

static void libssh2_start(struct ti_channel *c)
{
    struct session *o = c->own;
    const struct ti__conf *conf = c->conf;
    struct ti_err err;

    memset(o, 0, sizeof *o);
    o->c = c;
    o->in = o->out = -1;
    if (!c->r->known && !(c->r->known = ti__known_new())) {
        fail(o, TI_CHANNEL_LOCAL, "out of memory");
        return;
    }
    if (!ti__known_has(c->r->known, conf, NULL) && ti__known_authority(c->r->known, conf) &&
        ti__channel_fall_back(c, "host certificates"))
        return;
    if (c->through) {
        if (ti__mux_open(&o->mux, &c->r->loop, ti__gateway_socket(c->through), conf->host,
                         conf->port, &o->in, &o->out, on_mux, o, &err) != TI_OK)
            fail(o, TI_CHANNEL_GATEWAY, err.text);
    } else {
        o->lookup = ti__lookup(&c->r->loop, conf->host, conf->port, conf->family, on_lookup, o);
        if (!o->lookup)
            fail(o, TI_CHANNEL_LOCAL, "out of memory or threads");
    }
}

/* --- up to the command ------------------------------------------------------------------- */

/* Each step returns true when it is done.  False: it waits, or has failed and `o` is freed. */

static bool fail_closed(struct session *o)
{
    if (!o->greeted && o->before[0])
        ti__channel_failed(o->c, TI_CHANNEL_BUSY, NULL, "it closes the connection, saying: %s",
                           o->before);
    else if (!o->greeted)
        fail(o, TI_CHANNEL_BUSY, "it closes the connection before it says anything");
    else
        fail(o, TI_CHANNEL_LOST, "it closed the connection");
    return false;
}

static bool handshake(struct session *o)
{
    int rc = libssh2_session_handshake(o->ssh, o->in);

    switch (rc) {
    case 0:
        return true;
    case LIBSSH2_ERROR_EAGAIN:
        return false;
    case LIBSSH2_ERROR_SOCKET_DISCONNECT:
    case LIBSSH2_ERROR_SOCKET_RECV:
    case LIBSSH2_ERROR_SOCKET_SEND:
    case LIBSSH2_ERROR_BANNER_RECV:
    case LIBSSH2_ERROR_BANNER_SEND:
        return fail_closed(o);
    default:
        if (o->closed && rc != LIBSSH2_ERROR_KEX_FAILURE &&
            rc != LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE)
            return fail_closed(o);
        return fail_method(o, last_error(o));
    }
}

static bool host_key(struct session *o)
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

static void note_tried(struct session *o, const char *key)
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
static bool next_agent_key(struct session *o)
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

static bool rejected(int rc)
{
    return rc != LIBSSH2_ERROR_SOCKET_DISCONNECT && rc != LIBSSH2_ERROR_SOCKET_RECV &&
           rc != LIBSSH2_ERROR_SOCKET_SEND;
}

/* On success the next step is OPEN, else FILES. */
static bool by_agent(struct session *o)
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
            o->step = FILES; /* pump() advances to OPEN */
            return true;
        }
        if (!rejected(rc))
            return true; /* by_file() reports it */
        o->have_key = false;
    }
}

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

static bool fail_auth(struct session *o)
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

static bool by_file(struct session *o)
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
        return fail_closed(o);
    return fail_auth(o);
}

static bool open_channel(struct session *o)
{
    o->channel = libssh2_channel_open_ex(o->ssh, "session", sizeof "session" - 1, WINDOW_BYTES,
                                         PACKET_BYTES, NULL, 0);
    if (o->channel)
        return true;
    if (libssh2_session_last_errno(o->ssh) != LIBSSH2_ERROR_EAGAIN)
        fail(o, TI_CHANNEL_NO_COMMAND, last_error(o));
    return false;
}

static bool exec_command(struct session *o)
{
    const char *command = o->c->command;
    int rc;

    if (!command)
        return false;
    rc = libssh2_channel_process_startup(o->channel, "exec", sizeof "exec" - 1, command,
                                         (unsigned)strlen(command));
    if (rc == 0)
        return true;
    if (rc != LIBSSH2_ERROR_EAGAIN)
        fail(o, TI_CHANNEL_NO_COMMAND, last_error(o));
    return false;
}

/* --- the command runs ----------------------------------------------------------------------- */

static void send_input(struct session *o)
{
    struct ti_channel *c = o->c;
    unsigned long window = libssh2_channel_window_write(o->channel);
    bool sent = false;

    if (window > o->window)
        ti__channel_input_taken(c);
    while (ti__queue_bytes(&c->input) && ti__queue_bytes(&o->sending) < SEND_AHEAD) {
        ssize_t n = libssh2_channel_write(o->channel, ti__queue_front(&c->input),
                                          ti__queue_bytes(&c->input));

        if (n == LIBSSH2_ERROR_EAGAIN || n == 0)
            break;
        if (n < 0) { /* the command takes no more input; its end is reported separately */
            ti__queue_free(&c->input);
            break;
        }
        ti__queue_drop(&c->input, (size_t)n);
        sent = true;
        /* The rest is sent on EPOLLOUT, which calls this again. */
        if (ti__queue_bytes(&o->sending) >= SEND_AHEAD && !flush(o))
            break;
    }
    o->window = libssh2_channel_window_write(o->channel);
    if (ti__queue_bytes(&c->input))
        return;
    if (c->eof && !o->input_end)
        o->input_end = libssh2_channel_send_eof(o->channel) != LIBSSH2_ERROR_EAGAIN;
    if (sent)
        ti__channel_drained(c);
}

/* Reads one stream; true: there may be more.  *taken is set if data came. */
static bool read_stream(struct session *o, int stream, bool *taken)
{
    char buf[READ_BYTES];

    for (int i = 0; i < READS; i++) {
        ssize_t n;

        if (o->c->paused || o->c->closing)
            return false;
        n = libssh2_channel_read_ex(o->channel, stream, buf, sizeof buf);
        o->broken = o->broken || (n < 0 && n != LIBSSH2_ERROR_EAGAIN);
        if (n <= 0 || o->broken)
            return false;
        *taken = true;
        if (stream)
            ti__channel_err_output(o->c, buf, (size_t)n);
        else
            ti__channel_output(o->c, buf, (size_t)n);
    }
    return true;
}

/* Reads both streams; true: there may be more.  Reading one stream makes libssh2 buffer data of the
 * other, for which no event comes.  Bytes of neither stream stay buffered for good, so `left` alone
 * does not mean that there is more. */
static bool read_all(struct session *o)
{
    unsigned long left = 0;
    bool taken = false, more = read_stream(o, 0, &taken);

    more = read_stream(o, SSH_EXTENDED_DATA_STDERR, &taken) || more;
    if (more || o->broken || o->c->paused || o->c->closing)
        return more;
    libssh2_channel_window_read_ex(o->channel, &left, NULL);
    more = left && (taken || left != o->left);
    o->left = left;
    return more;
}

static void command_ended(struct session *o)
{
    struct ti_channel *c = o->c;
    char *signal = NULL;
    size_t bytes = 0;

    libssh2_channel_get_exit_signal(o->channel, &signal, &bytes, NULL, NULL, NULL, NULL);
    if (!signal) {
        ti__channel_exited(c, W_EXITCODE(libssh2_channel_get_exit_status(o->channel) & 255, 0));
        return;
    }
    c->result.end = TI_CHANNEL_SIGNALLED;
    snprintf(c->result.signal, sizeof c->result.signal, "%.*s", (int)bytes, signal);
    ti_err_set(&c->result.err, TI_ERR_REMOTE, "the command on '%s' was ended by SIG%s", c->host,
               c->result.signal);
    libssh2_free(o->ssh, signal);
    ti__channel_end(c);
}

static void on_again(void *arg)
{
    pump(arg);
}

/* False: `o` is freed. */
static bool run(struct session *o)
{
    struct ti_channel *c = o->c;
    bool more;
    int rc;

    send_input(o);
    more = read_all(o);
    if (c->closing)
        return true;
    if (o->broken && !o->closed) { /* libssh2 would continue after the lost data */
        fail(o, TI_CHANNEL_LOST, last_error(o));
        return false;
    }
    if (c->paused)
        return true;
    if (more) {
        ti__timer_set(&c->r->loop, &o->again, 0, on_again, o);
        return true;
    }
    rc = libssh2_channel_eof(o->channel) == 1 ? libssh2_channel_wait_closed(o->channel)
                                              : LIBSSH2_ERROR_EAGAIN;
    if (rc == 0 && !o->closed) {
        command_ended(o);
        return false;
    }
    if (o->closed || rc != LIBSSH2_ERROR_EAGAIN) {
        fail(o, TI_CHANNEL_LOST, "it closed the connection");
        return false;
    }
    return true;
}

static bool step(struct session *o)
{
    switch (o->step) {
    case CONNECT:
        return false;
    case HANDSHAKE:
        return handshake(o);
    case KEYS:
        return host_key(o);
    case AGENT:
        return by_agent(o);
    case FILES:
        return by_file(o);
    case OPEN:
        return open_channel(o);
    case EXEC:
        return exec_command(o);
    case RUN:
        break;
    }
    return false;
}

/* True if `o` is still the current attempt: a step that fails frees it. */
static bool goes_on(const struct ti_channel *c, const struct session *o)
{
    return c->transport == ti__in_process && c->own == o && o->ssh &&
           (c->state == TI__OPENING || c->state == TI__READY);
}

static void pump(struct session *o)
{
    struct ti_channel *c = o->c;

    if (o->step == CONNECT)
        return;
    while (o->step != RUN) {
        if (!step(o)) {
            if (goes_on(c, o))
                break;
            return;
        }
        o->step++;
        if (o->step == RUN) {
            libssh2_keepalive_config(o->ssh, 1, 2);
            set_keepalive(o);
            ti__channel_ready(c);
        }
    }
    if (o->step == RUN && !run(o))
        return;
    if (!flush(o)) {
        fail(o, o->greeted ? TI_CHANNEL_LOST : TI_CHANNEL_BUSY, strerror(errno));
        return;
    }
    watch(o);
}

static void libssh2_input(struct ti_channel *c)
{
    pump(c->own);
}

/* In the next round of the loop, since the step may end the channel. */
static void libssh2_command(struct ti_channel *c)
{
    struct session *o = c->own;

    if (o->step == EXEC)
        ti__timer_set(&c->r->loop, &o->again, 0, on_again, o);
}

static void libssh2_pause(struct ti_channel *c)
{
    struct session *o = c->own;

    if (c->paused) {
        watch(o);
        return;
    }
    o->heard = ti__now();
    pump(o);
}

static void libssh2_stop(struct ti_channel *c)
{
    struct session *o = c->own;

    if (!o->c)
        return;
    o->dead = true; /* so nothing below waits for the other side */
    ti__timer_drop(&o->alive);
    ti__timer_drop(&o->again);
    ti__lookup_drop(o->lookup);
    if (o->agent) {
        libssh2_agent_disconnect(o->agent);
        libssh2_agent_free(o->agent);
    }
    if (o->channel)
        libssh2_channel_free(o->channel);
    if (o->ssh)
        libssh2_session_free(o->ssh);
    ti__watch_drop(&o->in_watch);
    ti__watch_drop(&o->out_watch);
    if (o->in >= 0)
        close(o->in);
    if (o->out >= 0 && o->out != o->in)
        close(o->out);
    ti__mux_close(&o->mux);
    if (o->list)
        freeaddrinfo(o->list);
    ti__queue_free(&o->sending);
    memset(o, 0, sizeof *o);
}

static void libssh2_forget(struct ti_remote *r)
{
    ti__known_free(r->known);
}

static const struct ti__transport libssh2 = {.name = "libssh2",
                                             .bytes = sizeof(struct session),
                                             .start = libssh2_start,
                                             .command = libssh2_command,
                                             .input = libssh2_input,
                                             .pause = libssh2_pause,
                                             .stop = libssh2_stop,
                                             .forget = libssh2_forget};
const struct ti__transport *const ti__in_process = &libssh2;
