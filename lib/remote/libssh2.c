/* Transport: SSH by libssh2, in this process.  libssh2_internal.h has its state and its rules. */
#include "remote/libssh2_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote/conf.h"
#include "remote/known.h"

#define WINDOW_BYTES (2 << 20) /* more is slower */
#define PACKET_BYTES (32 << 10)
#define READ_BYTES   (32 << 10)
#define READS        16          /* at a time, so that other channels get their turn */
#define SEND_AHEAD   (256 << 10) /* bytes queued to send; more input of the command waits */

void ti__libssh2_fail(struct ti__libssh2 *o, enum ti_channel_end end, const char *cause)
{
    ti__channel_failed(o->c, end, NULL, "%s", cause);
}

const char *ti__libssh2_error(struct ti__libssh2 *o)
{
    char *text = NULL;

    libssh2_session_last_error(o->ssh, &text, NULL, 0);
    return text && *text ? text : "libssh2 does not say why";
}

/* --- the descriptors --------------------------------------------------------- */

/* Writes the queue; false: the connection is broken. */
static bool flush(struct ti__libssh2 *o)
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

static void on_event(void *arg, uint32_t events)
{
    (void)events;
    ti__libssh2_pump(arg);
}

static void watch(struct ti__libssh2 *o)
{
    uint32_t write = ti__queue_bytes(&o->sending) ? EPOLLOUT : 0;
    bool same = o->in == o->out;
    uint32_t events = EPOLLIN | (same ? write : 0);

    if (o->in_watch.loop)
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

/* --- keepalives -------------------------------------------------------------- */

static void on_alive(void *arg);

static void set_keepalive(struct ti__libssh2 *o)
{
    double in_s = o->c->r->silence_s / 3;

    o->alive_at = ti__now() + in_s;
    ti__timer_set(&o->c->r->loop, &o->alive, in_s, on_alive, o);
}

static void on_alive(void *arg)
{
    struct ti__libssh2 *o = arg;
    struct ti_channel *c = o->c;
    double silent = ti__now() - o->heard, late = ti__now() - o->alive_at;
    int next;

    set_keepalive(o);
    /* We did not poll: there may be unread data, and no keepalive was sent. */
    if (late >= c->r->silence_s / 3) {
        o->heard = ti__now();
        return;
    }
    if (silent >= c->r->silence_s) {
        ti__channel_failed(c, TI_CHANNEL_LOST, NULL, "it has said nothing for %.0f s", silent);
        return;
    }
    if (silent >= c->r->silence_s / 4 && o->step == TI__STEP_RUN) {
        libssh2_keepalive_send(o->ssh, &next);
        ti__libssh2_pump(o);
    }
}

/* --- the command begins ------------------------------------------------------ */

static bool open_channel(struct ti__libssh2 *o)
{
    o->channel = libssh2_channel_open_ex(o->ssh, "session", sizeof "session" - 1, WINDOW_BYTES,
                                         PACKET_BYTES, NULL, 0);
    if (o->channel)
        return true;
    if (libssh2_session_last_errno(o->ssh) != LIBSSH2_ERROR_EAGAIN)
        ti__libssh2_fail(o, TI_CHANNEL_NO_COMMAND, ti__libssh2_error(o));
    return false;
}

static bool exec_command(struct ti__libssh2 *o)
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
        ti__libssh2_fail(o, TI_CHANNEL_NO_COMMAND, ti__libssh2_error(o));
    return false;
}

/* --- the command runs -------------------------------------------------------- */

static void send_input(struct ti__libssh2 *o)
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
static bool read_stream(struct ti__libssh2 *o, int stream, bool *taken)
{
    char buf[READ_BYTES];

    for (int i = 0; i < READS; i++) {
        ssize_t n;

        if (o->c->closing)
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
static bool read_all(struct ti__libssh2 *o)
{
    unsigned long left = 0;
    bool taken = false, more = read_stream(o, 0, &taken);

    more = read_stream(o, SSH_EXTENDED_DATA_STDERR, &taken) || more;
    if (more || o->broken || o->c->closing)
        return more;
    libssh2_channel_window_read_ex(o->channel, &left, NULL);
    more = left && (taken || left != o->left);
    o->left = left;
    return more;
}

static void command_ended(struct ti__libssh2 *o)
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
    ti__libssh2_pump(arg);
}

/* False: `o` is freed. */
static bool run(struct ti__libssh2 *o)
{
    struct ti_channel *c = o->c;
    bool more;
    int rc;

    send_input(o);
    more = read_all(o);
    if (c->closing)
        return true;
    if (o->broken && !o->closed) { /* libssh2 would continue after the lost data */
        ti__libssh2_fail(o, TI_CHANNEL_LOST, ti__libssh2_error(o));
        return false;
    }
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
        ti__libssh2_fail(o, TI_CHANNEL_LOST, "it closed the connection");
        return false;
    }
    return true;
}

/* --- the steps --------------------------------------------------------------- */

static bool step(struct ti__libssh2 *o)
{
    switch (o->step) {
    case TI__STEP_CONNECT:
        return false;
    case TI__STEP_HANDSHAKE:
        return ti__libssh2_handshake(o);
    case TI__STEP_HOST_KEY:
        return ti__libssh2_host_key(o);
    case TI__STEP_AGENT:
        return ti__libssh2_by_agent(o);
    case TI__STEP_FILES:
        return ti__libssh2_by_file(o);
    case TI__STEP_OPEN:
        return open_channel(o);
    case TI__STEP_EXEC:
        return exec_command(o);
    case TI__STEP_RUN:
        break;
    }
    return false;
}

/* True if `o` is still the current attempt: a step that fails frees it. */
static bool goes_on(const struct ti_channel *c, const struct ti__libssh2 *o)
{
    return c->transport == ti__in_process && c->own == o && o->ssh &&
           (c->state == TI__OPENING || c->state == TI__READY);
}

void ti__libssh2_pump(struct ti__libssh2 *o)
{
    struct ti_channel *c = o->c;

    if (o->step == TI__STEP_CONNECT)
        return;
    while (o->step != TI__STEP_RUN) {
        if (!step(o)) {
            if (goes_on(c, o))
                break;
            return;
        }
        o->step++;
        if (o->step == TI__STEP_RUN) {
            libssh2_keepalive_config(o->ssh, 1, 2);
            set_keepalive(o);
            ti__channel_ready(c);
        }
    }
    if (o->step == TI__STEP_RUN && !run(o))
        return;
    if (!flush(o)) {
        ti__libssh2_fail(o, o->greeted ? TI_CHANNEL_LOST : TI_CHANNEL_BUSY, strerror(errno));
        return;
    }
    watch(o);
}

/* --- the transport ----------------------------------------------------------- */

static void libssh2_start(struct ti_channel *c)
{
    struct ti__libssh2 *o = c->own;
    const struct ti__conf *conf = c->conf;

    memset(o, 0, sizeof *o);
    o->c = c;
    o->in = o->out = -1;
    if (!c->r->known && !(c->r->known = ti__known_new())) {
        ti__libssh2_fail(o, TI_CHANNEL_LOCAL, "out of memory");
        return;
    }
    if (!ti__known_has(c->r->known, conf, NULL) && ti__known_authority(c->r->known, conf) &&
        ti__channel_fall_back(c, "host certificates"))
        return;
    ti__libssh2_connect(o);
}

static void libssh2_input(struct ti_channel *c)
{
    ti__libssh2_pump(c->own);
}

/* In the next round of the loop, since the step may end the channel. */
static void libssh2_command(struct ti_channel *c)
{
    struct ti__libssh2 *o = c->own;

    if (o->step == TI__STEP_EXEC)
        ti__timer_set(&c->r->loop, &o->again, 0, on_again, o);
}

static void libssh2_stop(struct ti_channel *c)
{
    struct ti__libssh2 *o = c->own;

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
                                             .bytes = sizeof(struct ti__libssh2),
                                             .start = libssh2_start,
                                             .command = libssh2_command,
                                             .input = libssh2_input,
                                             .stop = libssh2_stop,
                                             .forget = libssh2_forget};
const struct ti__transport *const ti__in_process = &libssh2;
