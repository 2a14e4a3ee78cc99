#include "acquire/fleet/rsh.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/json.h"

#define BACKLOG     1024
#define PATIENCE_S  5 /* for a ti-rsh to read what it is sent */
#define INPUT_BYTES 4096
#define FILES                                                                                      \
    65536 /* limit of open files, if the node allows it: mpirun's daemon needs some per rank */

struct caller {
    struct caller *next;
    struct ti_rsh *rsh;
    int fd;
    int64_t node;    /* -1: not known yet */
    uint32_t stream; /* of its process on the node */
    bool running;
    struct ti_frame_reader reader;
};

struct ti_rsh {
    struct ti_fleet *fleet;
    ti_rsh_prefix *before;
    void *before_arg;
    int fd;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    struct caller *callers;
    int64_t asked, started;
    int64_t unanswered; /* requests to nodes without an answer yet; answers refer to this structure,
                           so it must stay */
    bool closed;
};

static void hang_up(struct caller *c)
{
    struct caller **at = &c->rsh->callers;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    ti_remote_drop_fd(c->rsh->fleet->remote, c->fd);
    close(c->fd);
    ti_frame_reader_free(&c->reader);
    free(c);
}

static void put_json(struct caller *c, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);

    if (text)
        ti_frame_write(c->fd, TI_FRAME_MESSAGE, text, strlen(text));
    free(text);
    json_decref(json);
}

/* Send an error to the caller and close its connection. */
static void refuse(struct caller *c, const char *text)
{
    put_json(c, json_pack("{s:o}", "error", ti_json_text(text)));
    hang_up(c);
}

static struct caller *find(struct ti_rsh *r, int64_t node, uint32_t stream)
{
    for (struct caller *c = r->callers; c; c = c->next)
        if (c->node == node && c->stream == stream)
            return c;
    return NULL;
}

/* --- from nodes ----------------------------------------------------------- */

struct spawned {
    struct ti_rsh *rsh;
    uint32_t stream;
};

static void on_spawned(struct ti_fleet *f, int64_t node, const json_t *answer, void *arg)
{
    struct spawned *s = arg;
    struct ti_rsh *r = s->rsh;
    struct caller *c = find(r, node, s->stream);
    const char *error = json_string_value(json_object_get(answer, "error"));

    if (c && error)
        refuse(c, error);
    else if (c && !answer)
        refuse(c, f->member[node].why.text);
    else if (c)
        r->started++;
    free(s);
    r->unanswered--;
    if (r->closed && !r->unanswered)
        free(r);
}

bool ti_rsh_on_message(struct ti_rsh *r, int64_t node, const json_t *message)
{
    const char *is = json_string_value(json_object_get(message, "is"));
    const json_t *stream = json_object_get(message, "stream");
    struct caller *c;

    if (!r || !is || strcmp(is, "ended") != 0)
        return false;
    c = find(r, node, (uint32_t)json_integer_value(stream));
    if (!c)
        return false;
    c->running = false;
    put_json(c,
             json_pack("{s:I}", "status", json_integer_value(json_object_get(message, "status"))));
    hang_up(c);
    return true;
}

bool ti_rsh_on_data(struct ti_rsh *r, int64_t node, const struct ti_frame *frame)
{
    struct caller *c = r ? find(r, node, frame->stream) : NULL;

    if (!c || (frame->type != TI_FRAME_OUTPUT && frame->type != TI_FRAME_STDERR))
        return false;
    /* A caller may read nothing because mpirun is stopped.  It is dropped after one timeout:
     * waiting again would block all others, and behind a lost part of a frame nothing can be
     * parsed. */
    if (!ti_frame_write(c->fd, frame->type, frame->payload, frame->bytes))
        hang_up(c);
    return true;
}

void ti_rsh_on_node_lost(struct ti_rsh *r, int64_t node)
{
    struct caller *next;

    for (struct caller *c = r ? r->callers : NULL; c; c = next) {
        next = c->next;
        if (c->node == node)
            refuse(c, r->fleet->member[node].why.text);
    }
}

/* --- from callers --------------------------------------------------------- */

/* Whether `given` is `name` with '-' in place of each '.' (acquire/plan/rank_map.h). */
static bool is_undotted(const char *given, const char *name)
{
    for (; *given && *name; given++, name++)
        if (*given != (*name == '.' ? '-' : *name))
            return false;
    return *given == *name;
}

/* The node that mpirun means: by its name, or by the one that it has for PRRTE. */
static int64_t find_node(const struct ti_fleet *f, const char *host)
{
    int64_t node = ti_fleet_find(f, host);

    for (int64_t i = 0; node < 0 && i < f->n; i++)
        if (is_undotted(host, f->sites->node[i].name))
            node = i;
    return node;
}

/* False, here and in the functions below: the caller was removed. */
static bool begin(struct caller *c, const json_t *hello)
{
    struct ti_rsh *r = c->rsh;
    const char *host = json_string_value(json_object_get(hello, "host"));
    const char *command = json_string_value(json_object_get(hello, "command"));
    struct spawned *s;
    char text[512];

    r->asked++;
    c->node = host && command ? find_node(r->fleet, host) : -1;
    if (c->node < 0) {
        snprintf(text, sizeof text, "'%s' is no node of this run", host ? host : "?");
        refuse(c, text);
        return false;
    }
    if (r->fleet->member[c->node].state != TI_NODE_READY) {
        refuse(c, r->fleet->member[c->node].why.text);
        return false;
    }
    c->stream = ti_fleet_new_stream(r->fleet, c->node);
    s = malloc(sizeof *s);
    if (s)
        *s = (struct spawned){r, c->stream};
    if (r->fleet->callbacks.log)
        r->fleet->callbacks.log(r->fleet->callbacks.arg, "on %s: %s", host, command);
    c->running =
        s && ti_fleet_ask(r->fleet, c->node,
                          json_pack("{s:s, s:I, s:s+, s:i}", "do", "spawn", "stream",
                                    (json_int_t)c->stream, "command",
                                    r->before(c->node, r->before_arg), command, "files", FILES),
                          on_spawned, s);
    if (!c->running) {
        free(s);
        refuse(c, "out of memory");
        return false;
    }
    r->unanswered++;
    return true;
}

static bool handle_frame(struct caller *c, const struct ti_frame *frame)
{
    json_t *json;
    bool lives;

    if (frame->type == TI_FRAME_INPUT && c->running) {
        ti_fleet_input(c->rsh->fleet, c->node, c->stream, frame->payload, frame->bytes);
        return true;
    }
    if (frame->type != TI_FRAME_HELLO || c->node >= 0)
        return true;
    json = json_loadb((const char *)frame->payload, frame->bytes, 0, NULL);
    lives = begin(c, json);
    json_decref(json);
    return lives;
}

static void on_readable(int fd, void *arg)
{
    struct caller *c = arg;
    char buf[INPUT_BYTES];
    ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
    size_t at = 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        /* No one waits for the command any more: end it.  What it leaves behind is ended with the
         * run. */
        if (c->running)
            ti_fleet_ask(c->rsh->fleet, c->node,
                         json_pack("{s:s, s:I, s:i}", "do", "kill", "stream", (json_int_t)c->stream,
                                   "signal", SIGTERM),
                         NULL, NULL);
        hang_up(c);
        return;
    }
    while (at < (size_t)n) {
        struct ti_frame frame;
        size_t used;
        int got;

        if (ti_frame_feed(&c->reader, buf + at, (size_t)n - at, &used, &frame, &got, NULL) !=
            TI_OK) {
            hang_up(c);
            return;
        }
        at += used;
        if (got && !handle_frame(c, &frame))
            return;
    }
}

static void on_caller(int fd, void *arg)
{
    struct ti_rsh *r = arg;
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    struct caller *c = conn < 0 ? NULL : calloc(1, sizeof *c);

    if (!c || !ti_remote_add_fd(r->fleet->remote, conn, on_readable, c)) {
        free(c);
        if (conn >= 0)
            close(conn);
        return;
    }
    setsockopt(conn, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    *c = (struct caller){.next = r->callers, .rsh = r, .fd = conn, .node = -1};
    r->callers = c;
}

/* --- life ---------------------------------------------------------------- */

const char *ti_rsh_path(const struct ti_rsh *r)
{
    return r->path;
}

int64_t ti_rsh_commands_requested(const struct ti_rsh *r)
{
    return r->asked;
}

int64_t ti_rsh_commands_started(const struct ti_rsh *r)
{
    return r->started;
}

ti_status ti_rsh_new(struct ti_fleet *f, const char *dir, ti_rsh_prefix *before, void *arg,
                     struct ti_rsh **out, struct ti_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ti_rsh *r = calloc(1, sizeof *r);

    if (!r)
        return ti_err_errno(err, TI_ERR_IO, "cannot make a socket for mpirun");
    r->fleet = f;
    r->before = before;
    r->before_arg = arg;
    r->fd = -1;
    if (snprintf(r->path, sizeof r->path, "%s/rsh", dir) >= (int)sizeof r->path) {
        ti_rsh_free(r);
        return ti_err_set(err, TI_ERR_IO, "the name of directory '%s' is too long for a socket",
                          dir);
    }
    strcpy(at.sun_path, r->path);
    r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* only this user may connect, as the directory is private, too */
    if (r->fd < 0 || bind(r->fd, (struct sockaddr *)&at, sizeof at) < 0 ||
        chmod(r->path, 0600) < 0 || listen(r->fd, BACKLOG) < 0 ||
        !ti_remote_add_fd(f->remote, r->fd, on_caller, r)) {
        ti_err_errno(err, TI_ERR_IO, "cannot make the socket '%s'", r->path);
        ti_rsh_free(r);
        return TI_ERR_IO;
    }
    *out = r;
    return TI_OK;
}

void ti_rsh_free(struct ti_rsh *r)
{
    if (!r)
        return;
    while (r->callers)
        hang_up(r->callers);
    if (r->fd >= 0) {
        ti_remote_drop_fd(r->fleet->remote, r->fd);
        close(r->fd);
        unlink(r->path);
    }
    r->closed = true;
    if (!r->unanswered)
        free(r);
}
