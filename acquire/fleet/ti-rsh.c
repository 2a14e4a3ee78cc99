/*
 * ti-rsh HOST COMMAND...: mpirun's agent to start a command on a node.  It passes the command to
 * the ti-acquire that started mpirun (see rsh.h) and cannot be used alone.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acquire/fleet/rsh.h"
#include "common/args.h"
#include "common/cli.h"
#include "common/write.h"
#include "session/frame.h"

#define BUF_BYTES 16384

static int fail(const char *what, const char *why)
{
    struct ti_err err;

    ti_err_set(&err, TI_ERR_REMOTE, "%s: %s", what, why); /* removes control characters */
    fprintf(stderr, "ti-rsh: %s\n", err.text);
    return 255; /* as ssh does */
}

static int connect_to(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof to.sun_path)
        return -1;
    strcpy(to.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Join the arguments behind the host into one shell command, as ssh does. */
static char *join(int argc, char **argv)
{
    size_t bytes = 1;
    char *text, *at;

    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 1;
    at = text = malloc(bytes);
    for (int i = 0; text && i < argc; i++)
        at += sprintf(at, "%s%s", i ? " " : "", argv[i]);
    return text;
}

static bool ask(int fd, const char *host, int argc, char **argv)
{
    char *command = join(argc, argv);
    json_t *json = command ? json_pack("{s:s, s:s}", "host", host, "command", command) : NULL;
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    bool ok = text && strlen(text) <= TI_FRAME_MAX &&
              ti_frame_write(fd, TI_FRAME_HELLO, text, strlen(text));

    free(text);
    json_decref(json);
    free(command);
    return ok;
}

/* Handle a frame.  Returns the exit status of the command, or -1 while it runs. */
static int handle_frame(const struct ti_frame *frame, const char *host)
{
    json_t *json;
    const char *error;
    int status;

    if (frame->type == TI_FRAME_OUTPUT || frame->type == TI_FRAME_STDERR) {
        ti_write_all(frame->type == TI_FRAME_OUTPUT ? STDOUT_FILENO : STDERR_FILENO, frame->payload,
                     frame->bytes);
        return -1;
    }
    if (frame->type != TI_FRAME_MESSAGE)
        return -1;
    json = json_loadb((const char *)frame->payload, frame->bytes, 0, NULL);
    error = json_string_value(json_object_get(json, "error"));
    status = (int)json_integer_value(json_object_get(json, "status"));
    status = error ? fail(host, error) : WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    json_decref(json);
    return status;
}

static int handle_bytes(struct ti_frame_reader *reader, const char *data, size_t bytes,
                        const char *host)
{
    while (bytes) {
        struct ti_frame frame;
        struct ti_err err;
        size_t used;
        int got, status;

        if (ti_frame_feed(reader, data, bytes, &used, &frame, &got, &err) != TI_OK)
            return fail(host, err.text);
        data += used;
        bytes -= used;
        if (got && (status = handle_frame(&frame, host)) >= 0)
            return status;
    }
    return -1;
}

static int relay(int fd, const char *host, struct ti_frame_reader *reader)
{
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
    char buf[BUF_BYTES];

    for (;;) {
        ssize_t n;
        int status;

        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return fail(host, strerror(errno));
        if (p[1].revents) {
            n = read(STDIN_FILENO, buf, sizeof buf);
            /* if the input cannot be passed on, the reason comes as a message */
            if ((n >= 0 && !ti_frame_write(fd, TI_FRAME_INPUT, buf, (size_t)n)) || n <= 0)
                p[1].fd = -1;
        }
        if (!p[0].revents)
            continue;
        n = read(fd, buf, sizeof buf);
        if (n <= 0)
            return fail(host, "ti-acquire has ended");
        status = handle_bytes(reader, buf, (size_t)n, host);
        if (status >= 0)
            return status;
    }
}

#define USAGE "ti-rsh HOST COMMAND..."

int main(int argc, char **argv)
{
    const char *path = getenv(TI_RSH_SOCKET);
    struct ti_frame_reader reader = {.started = 1};
    int first = 1, fd, status, end = ti_cli_helper("ti-rsh", USAGE, argc, argv);

    if (end != TI_CLI_END)
        return end;
    while (first < argc && argv[first][0] == '-')
        first++; /* options that mpirun passes to ssh */
    if (argc - first < 2)
        return fail("usage", USAGE);
    if (!path)
        return fail(TI_RSH_SOCKET " is not set", "this is a part of ti-acquire's");
    signal(SIGPIPE, SIG_IGN);
    fd = connect_to(path);
    if (fd < 0)
        return fail(path, "ti-acquire cannot be reached");
    if (!ask(fd, argv[first], argc - first - 1, argv + first + 1))
        return fail(path, "ti-acquire cannot be asked");
    status = relay(fd, argv[first], &reader);
    ti_frame_reader_free(&reader);
    return status;
}
