#include "remote/mux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MUX_HELLO          0x00000001
#define MUX_STDIO_FORWARD  0x10000008
#define MUX_DENIED         0x80000002
#define MUX_FAILURE        0x80000003
#define MUX_SESSION_OPENED 0x80000006
#define MUX_VERSION        4

/* --- messages --------------------------------------------------------------------- */

static size_t put(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)(v >> 24);
    p[1] = (unsigned char)(v >> 16);
    p[2] = (unsigned char)(v >> 8);
    p[3] = (unsigned char)v;
    return 4;
}

static uint32_t get(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Sends HELLO and the request.  A new socket has room for both. */
static bool send_request(int fd, const char *host, int port)
{
    unsigned char buf[1024];
    size_t n = 0, bytes = strlen(host);

    if (bytes > 512)
        return false;
    n += put(buf + n, 8);
    n += put(buf + n, MUX_HELLO);
    n += put(buf + n, MUX_VERSION);
    n += put(buf + n, (uint32_t)(4 + 4 + 4 + 4 + bytes + 4));
    n += put(buf + n, MUX_STDIO_FORWARD);
    n += put(buf + n, 0); /* request */
    n += put(buf + n, 0); /* reserved, empty */
    n += put(buf + n, (uint32_t)bytes);
    memcpy(buf + n, host, bytes);
    n += bytes;
    n += put(buf + n, (uint32_t)port);
    return send(fd, buf, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool send_fd(int fd, int what)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof what);
    memcpy(CMSG_DATA(c), &what, sizeof what);
    return sendmsg(fd, &m, MSG_NOSIGNAL) == 1;
}

/* Calls `done` once; the callee may free `m`. */
static void finish(struct ti__mux *m, const char *failure)
{
    if (m->over)
        return;
    m->over = true;
    m->done(m->arg, failure);
}

static void on_master(void *arg, uint32_t events)
{
    struct ti__mux *m = arg;
    ssize_t n = read(m->fd, m->in + m->used, sizeof m->in - m->used);
    uint32_t bytes;

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        ti__watch_drop(&m->watch);
        finish(m, "its master is gone");
        return;
    }
    m->used += (size_t)n;
    while (m->used >= 4 && (bytes = get(m->in)) <= m->used - 4) {
        uint32_t type = bytes >= 4 ? get(m->in + 4) : 0;
        char text[256] = "";

        if (bytes > 12)
            snprintf(text, sizeof text, "%.*s", (int)(bytes - 12), (const char *)m->in + 16);
        m->used -= 4 + bytes;
        memmove(m->in, m->in + 4 + bytes, m->used);
        if (type == MUX_SESSION_OPENED || type == MUX_DENIED || type == MUX_FAILURE) {
            finish(m, type == MUX_SESSION_OPENED ? NULL : text);
            return; /* ignores what follows */
        }
    }
    if (m->used == sizeof m->in) { /* a master's messages are shorter */
        ti__watch_drop(&m->watch);
        finish(m, "its master does not speak as expected");
    }
}

/* --- streams ----------------------------------------------------------------------- */

static int connect_socket(const char *path, int flags)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(a.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

bool ti__mux_alive(const char *socket)
{
    int fd = connect_socket(socket, SOCK_NONBLOCK);

    if (fd < 0)
        return errno == EAGAIN;
    close(fd);
    return true;
}

ti_status ti__mux_open(struct ti__mux *m, struct ti__loop *loop, const char *socket,
                       const char *host, int port, int *in, int *out,
                       void (*done)(void *arg, const char *failure), void *arg, struct ti_err *err)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    bool ok;

    memset(m, 0, sizeof *m);
    m->done = done;
    m->arg = arg;
    m->fd = connect_socket(socket, SOCK_NONBLOCK);
    ok = m->fd >= 0 && pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0 &&
         fcntl(to[1], F_SETFL, O_NONBLOCK) == 0 && fcntl(from[0], F_SETFL, O_NONBLOCK) == 0 &&
         send_request(m->fd, host, port) && send_fd(m->fd, to[0]) && send_fd(m->fd, from[1]) &&
         ti__watch(loop, &m->watch, m->fd, EPOLLIN, on_master, m);
    if (!ok)
        ti_err_errno(err, TI_ERR_IO, "cannot use the connection at '%s'", socket);
    close(to[0]);
    close(from[1]);
    if (ok) {
        *in = from[0];
        *out = to[1];
        return TI_OK;
    }
    close(to[1]);
    close(from[0]);
    if (m->fd >= 0)
        close(m->fd);
    memset(m, 0, sizeof *m);
    return TI_ERR_IO;
}

void ti__mux_close(struct ti__mux *m)
{
    if (!m->done)
        return;
    ti__watch_drop(&m->watch);
    close(m->fd);
    memset(m, 0, sizeof *m);
}
