/* libssh2: from a host name to a session whose keys are exchanged. */
#include "remote/libssh2_internal.h"

#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "remote/conf.h"
#include "remote/gateway.h"
#include "remote/known.h"
#include "remote/sshargs.h"

#define AGENT_MS 10000       /* for an answer of the ssh agent, which may ask the user */
#define MEMORY   (64u << 20) /* of a session: its windows are 2 MiB */

/* --- memory of libssh2 ------------------------------------------------------- */

/*
 * A packet that was changed on the way makes libssh2 1.11.1 read the same bytes again and again,
 * each time with new memory.  So a session has no more than MEMORY, and then fails.
 */

static LIBSSH2_ALLOC_FUNC(take)
{
    struct ti__libssh2 *o = *abstract;
    void *piece = o->memory < MEMORY ? malloc(count) : NULL;

    o->memory += malloc_usable_size(piece);
    return piece;
}

static LIBSSH2_FREE_FUNC(give)
{
    struct ti__libssh2 *o = *abstract;

    o->memory -= malloc_usable_size(ptr);
    free(ptr);
}

static LIBSSH2_REALLOC_FUNC(resize)
{
    struct ti__libssh2 *o = *abstract;
    size_t before = malloc_usable_size(ptr);
    void *piece = o->memory < MEMORY ? realloc(ptr, count) : NULL;

    if (piece)
        o->memory += malloc_usable_size(piece) - before;
    return piece;
}

/* --- what libssh2 sends and receives ----------------------------------------- */

static LIBSSH2_SEND_FUNC(on_send)
{
    struct ti__libssh2 *o = *abstract;

    if (socket != o->in) { /* the socket of the ssh agent */
        ssize_t n = send(socket, buffer, length, flags | MSG_NOSIGNAL);

        return n < 0 ? -errno : n;
    }
    if (o->dead)
        return -EPIPE;
    return ti__queue_add(&o->sending, buffer, length) ? (ssize_t)length : -ENOMEM;
}

static ssize_t from_agent(struct ti__libssh2 *o, int fd, void *buffer, size_t length, int flags)
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
static void scan_greeting(struct ti__libssh2 *o, const char *data, size_t bytes)
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
    struct ti__libssh2 *o = *abstract;
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
    /* sshd keeps its next message until we acknowledge (Nagle), and the kernel waits 40 ms. */
    if (o->step < TI__STEP_RUN && o->in == o->out)
        setsockopt(o->in, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
    o->heard = ti__now();
    ti__channel_heard(o->c);
    return n;
}

/* --- methods ----------------------------------------------------------------- */

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
static bool prefer(struct ti__libssh2 *o, int kind, const char *list)
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
static char *wanted_host_keys(struct ti__libssh2 *o)
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

static bool methods(struct ti__libssh2 *o)
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
static bool fail_method(struct ti__libssh2 *o, const char *why)
{
    struct ti_channel *c = o->c;

    if (!ti__channel_fall_back(c, "no method in common with libssh2"))
        ti__channel_failed(c, TI_CHANNEL_NO_METHOD, "use the OpenSSH transport",
                           "libssh2 has no method in common with it: %s", why);
    return false;
}

/* --- the byte stream --------------------------------------------------------- */

/* The byte stream is open: begins the SSH session. */
static void connected(struct ti__libssh2 *o)
{
    o->ssh = libssh2_session_init_ex(take, give, resize, o);
    if (!o->ssh) {
        ti__libssh2_fail(o, TI_CHANNEL_LOCAL, "out of memory");
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
    o->step = TI__STEP_HANDSHAKE;
    ti__libssh2_pump(o);
}

static void try_address(struct ti__libssh2 *o, int error);

static void on_connect(void *arg, uint32_t events)
{
    struct ti__libssh2 *o = arg;
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

static void try_address(struct ti__libssh2 *o, int error)
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
    struct ti__libssh2 *o = arg;

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
    struct ti__libssh2 *o = arg;
    const char *more = ti__gateway_refusal(o->c->through);

    if (!failure)
        connected(o);
    else
        ti__channel_failed(o->c, TI_CHANNEL_UNREACHABLE, NULL, "%s", more ? more : failure);
}

void ti__libssh2_connect(struct ti__libssh2 *o)
{
    struct ti_channel *c = o->c;
    const struct ti__conf *conf = c->conf;
    struct ti_err err;

    if (c->through) {
        if (ti__mux_open(&o->mux, &c->r->loop, ti__gateway_socket(c->through), conf->host,
                         conf->port, &o->in, &o->out, on_mux, o, &err) != TI_OK)
            ti__libssh2_fail(o, TI_CHANNEL_GATEWAY, err.text);
    } else {
        o->lookup = ti__lookup(&c->r->loop, conf->host, conf->port, conf->family, on_lookup, o);
        if (!o->lookup)
            ti__libssh2_fail(o, TI_CHANNEL_LOCAL, "out of memory or threads");
    }
}

/* --- the handshake ----------------------------------------------------------- */

bool ti__libssh2_fail_closed(struct ti__libssh2 *o)
{
    if (!o->greeted && o->before[0])
        ti__channel_failed(o->c, TI_CHANNEL_BUSY, NULL, "it closes the connection, saying: %s",
                           o->before);
    else if (!o->greeted)
        ti__libssh2_fail(o, TI_CHANNEL_BUSY, "it closes the connection before it says anything");
    else
        ti__libssh2_fail(o, TI_CHANNEL_LOST, "it closed the connection");
    return false;
}

bool ti__libssh2_handshake(struct ti__libssh2 *o)
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
        return ti__libssh2_fail_closed(o);
    default:
        if (o->closed && rc != LIBSSH2_ERROR_KEX_FAILURE &&
            rc != LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE)
            return ti__libssh2_fail_closed(o);
        return fail_method(o, ti__libssh2_error(o));
    }
}
