#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "session/times.h"

TAILQ_HEAD(session_list, ti_session);

struct ti_sessions {
    struct ti_sessions_config config;
    struct ti_remote *remote;
    struct ti_payload *payload; /* NULL: not needed so far */
    int payload_fd;             /* of ti_payload_begin() */
    struct session_list starting;
    int64_t taken_bytes; /* of our files, by all nodes */
    double clock;
    double ticked, checked; /* ti_now() */
};

/* --- the end ------------------------------------------------------------- */

static void leave_starting(struct ti_session *s)
{
    TAILQ_REMOVE(&s->all->starting, s, in_starting);
    ti_frame_reader_free(&s->hello);
}

void ti_session_abandon(struct ti_session *s, enum ti_channel_end end, const struct ti_err *why)
{
    if (!s->channel || s->why)
        return;
    s->end = end;
    s->why = malloc(sizeof *s->why);
    if (s->why)
        *s->why = *why;
    ti_channel_close(s->channel);
}

/* The last line that it wrote to standard error. */
static const char *last_error_line(struct ti_bootstrap *boot)
{
    char *text = boot->said, *line;
    size_t n = strlen(text);

    while (n && strchr("\n\r ", text[n - 1]))
        text[--n] = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static void why_it_ended(struct ti_session *s, const struct ti_channel_result *r,
                         struct ti_err *why)
{
    const char *line = last_error_line(s->boot);

    if (!s->ready) {
        ti_bootstrap_why(s->boot, s->name, s->hello.noise, r, why);
        ti_err_one_line(why);
    } else if (r->end == TI_CHANNEL_EXITED) {
        ti_err_set(why, TI_ERR_REMOTE, "its ti-node ended with status %d%s%s", r->status,
                   *line ? ": " : "", line);
    } else if (r->end == TI_CHANNEL_SIGNALLED) {
        ti_err_set(why, TI_ERR_REMOTE, "its ti-node was ended by %s%s", *r->signal ? "SIG" : "",
                   *r->signal ? r->signal : "a signal");
    } else {
        ti_err_set(why, TI_ERR_REMOTE, "%s%s%s", ti_channel_end_text(r->end),
                   r->cause[0] ? ": " : "", r->cause);
        if (r->err.hint[0])
            ti_err_hint(why, "%s", r->err.hint);
    }
}

static void on_ended(struct ti_channel *c, const struct ti_channel_result *r, void *arg)
{
    struct ti_session *s = arg;
    struct ti_err why = {"", ""};
    enum ti_channel_end end = s->why ? s->end : r->end;

    (void)c;
    if (s->why)
        why = *s->why;
    else
        why_it_ended(s, r, &why);
    s->channel = NULL;
    if (!s->ready)
        leave_starting(s);
    s->calls->ended(s, end, &why, s->arg);
}

void ti_session_free(struct ti_session *s)
{
    ti_frame_reader_free(&s->hello);
    free(s->boot);
    free(s->why);
    s->boot = NULL;
    s->why = NULL;
}

/* --- starting ------------------------------------------------------------ */

static void set_moved(struct ti_session *s)
{
    s->moved = s->all->clock;
}

/* Queues a little of Tiara's files, because there may be many channels. */
static void send_files(struct ti_session *s)
{
    const void *data;
    size_t bytes;

    while (ti_channel_queued(s->channel) < s->all->config.queue_bytes &&
           (data = ti_bootstrap_next(s->boot, &bytes)) != NULL)
        if (!ti_channel_write(s->channel, data, bytes))
            break;
    if (s->boot->err.text[0])
        ti_session_abandon(s, TI_CHANNEL_LOCAL, &s->boot->err);
}

static void on_connected(struct ti_channel *c, void *arg)
{
    struct ti_session *s = arg;

    (void)c;
    s->connected = true;
    set_moved(s);
    if (s->calls->connected)
        s->calls->connected(s, s->arg);
}

/* Other output before HELLO is no sign of progress: login scripts may print forever. */
static void skip_to_hello(struct ti_session *s, const char *data, size_t bytes)
{
    enum ti_payload_part part = s->boot->part;
    struct ti_frame frame;
    struct ti_err err = {"", ""};
    size_t used;
    int got;

    if (s->boot->payload)
        ti_bootstrap_output(s->boot, data, bytes);
    if (s->boot->part != part) { /* it requests our files */
        set_moved(s);
        if (s->asked_at == 0) {
            s->asked_at = s->all->clock;
            s->taken_by_all = s->all->taken_bytes;
        }
    }
    if (ti_frame_feed(&s->hello, data, bytes, &used, &frame, &got, &err) != TI_OK) {
        ti_session_abandon(s, TI_CHANNEL_NO_COMMAND, &err);
        return;
    }
    if (!got) {
        send_files(s);
        return;
    }
    s->ready = true;
    s->calls->output(s, s->hello.buf, s->hello.used, s->arg);
    leave_starting(s);
    if (used < bytes && !s->why)
        s->calls->output(s, data + used, bytes - used, s->arg);
}

static void on_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_session *s = arg;

    (void)c;
    if (s->why)
        return;
    if (s->ready)
        s->calls->output(s, data, bytes, s->arg);
    else
        skip_to_hello(s, data, bytes);
}

static void on_err_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_session *s = arg;
    struct ti_err why = {"", ""};

    (void)c;
    ti_bootstrap_err_output(s->boot, data, bytes);
    if (s->calls->err_output)
        s->calls->err_output(s, data, bytes, s->arg);
    if (!s->ready && ti_bootstrap_noisy(s->boot, &why))
        ti_session_abandon(s, TI_CHANNEL_NO_COMMAND, &why);
}

static void on_drained(struct ti_channel *c, void *arg)
{
    struct ti_session *s = arg;

    (void)c;
    if (s->ready || s->why)
        return;
    set_moved(s);
    send_files(s);
}

static const struct ti_channel_callbacks channel_calls = {.ready = on_connected,
                                                          .output = on_output,
                                                          .err_output = on_err_output,
                                                          .drained = on_drained,
                                                          .ended = on_ended};

static ti_status command_of(const struct ti_session *s, char **command, struct ti_err *err)
{
    return ti_bootstrap_command(s->all->payload, s->tiara, command, err);
}

ti_status ti_session_start(struct ti_session *s, struct ti_sessions *all,
                           const struct ti_session_target *to, const struct ti_session_calls *calls,
                           void *arg, struct ti_err *err)
{
    char *command = NULL;
    ti_status st = to->tiara ? TI_OK : ti_sessions_prepare(all, err);

    if (st != TI_OK)
        return st;
    *s = (struct ti_session){.all = all,
                             .calls = calls,
                             .arg = arg,
                             .tiara = to->tiara,
                             .name = to->name,
                             .local = to->local,
                             .start_s = to->start_s,
                             .boot = calloc(1, sizeof *s->boot)};
    if (!s->boot)
        return ti_err_errno(err, TI_ERR_IO, "cannot start ti-node");
    s->boot->payload = to->tiara ? NULL : all->payload;
    s->commanded = to->tiara || ti_payload_known(all->payload);
    if (s->commanded)
        st = command_of(s, &command, err);
    if (st == TI_OK)
        s->channel = to->local ? ti_remote_local(all->remote, command, &channel_calls, s)
                               : ti_remote_run(all->remote, to->host, to->gateway, command,
                                               &channel_calls, s);
    free(command);
    if (st == TI_OK && !s->channel) {
        errno = ENOMEM;
        st = ti_err_errno(err, TI_ERR_IO, "cannot start ti-node");
    }
    if (st != TI_OK) {
        ti_session_free(s);
        return st;
    }
    if (to->options)
        ti_channel_set_options(s->channel, to->options);
    TAILQ_INSERT_TAIL(&all->starting, s, in_starting);
    return TI_OK;
}

/* --- Tiara's files ------------------------------------------------------- */

static void give_command(struct ti_session *s)
{
    struct ti_err err = {"", ""};
    char *command = NULL;

    s->commanded = true;
    if (command_of(s, &command, &err) == TI_OK && !ti_channel_command(s->channel, command))
        ti_err_set(&err, TI_ERR_IO, "out of memory");
    if (err.text[0])
        ti_session_abandon(s, TI_CHANNEL_LOCAL, &err);
    free(command);
}

/* The checksum is known, or the files are packed: sessions that wait for it go on. */
static void on_payload(int fd, void *arg)
{
    struct ti_sessions *all = arg;
    struct ti_session *s;

    (void)fd;
    ti_payload_collect(all->payload);
    TAILQ_FOREACH(s, &all->starting, in_starting)
    {
        if (s->why)
            continue;
        if (s->commanded)
            send_files(s);
        else
            give_command(s);
    }
}

ti_status ti_sessions_prepare(struct ti_sessions *all, struct ti_err *err)
{
    static struct ti_paths paths;
    ti_status st;

    if (all->payload)
        return TI_OK;
    st = ti_paths_find(&paths, err);
    if (st == TI_OK)
        st = ti_payload_new(&paths, &all->payload, err);
    if (st != TI_OK)
        return st;
    ti_payload_trust_folder(all->payload);
    all->payload_fd = ti_payload_begin(all->payload);
    if (all->payload_fd >= 0 && ti_remote_add_fd(all->remote, all->payload_fd, on_payload, all))
        return TI_OK;
    st = ti_err_errno(err, TI_ERR_IO, "cannot prepare what nodes are sent");
    ti_payload_free(all->payload);
    all->payload = NULL;
    return st;
}

/* --- timeouts ------------------------------------------------------------ */

/* Whether files for it left us, were received there, or are still being packed. */
static bool files_moved(struct ti_session *s)
{
    size_t queued = ti_channel_queued(s->channel);
    double taken = ti_channel_taken_at(s->channel);
    bool moved = queued != s->queued || taken != s->taken || ti_bootstrap_waits(s->boot);
    int64_t taken_bytes = s->boot->sent - (int64_t)queued;

    s->queued = queued;
    s->taken = taken;
    s->all->taken_bytes += taken_bytes - s->taken_bytes;
    s->taken_bytes = taken_bytes;
    return moved;
}

/* How long the progress of a node that takes our files counts. */
static double install_s(const struct ti_session *s)
{
    return TI_INSTALL_TIMES * s->start_s +
           (double)(s->all->taken_bytes - s->taken_by_all) / TI_INSTALL_RATE;
}

static bool is_late(const struct ti_session *s)
{
    return s->all->clock - s->moved > s->start_s ||
           (s->asked_at > 0 && s->all->clock - s->asked_at > install_s(s));
}

static void abandon_late(struct ti_session *s)
{
    const char *patient = s->all->config.patient;
    char ssh[560] = "";
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE,
               "%s%s%sthe login succeeded, but ti-node did not start within "
               "%.3g s",
               s->name ? "node '" : "", s->name ? s->name : "", s->name ? "': " : "",
               s->all->clock - s->moved > s->start_s ? s->start_s : s->all->clock - s->asked_at);
    if (!s->local)
        snprintf(ssh, sizeof ssh, " does 'ssh %s true' end?", ti_channel_host(s->channel));
    ti_err_hint(&why, "do its login scripts, or its home, hang?%s%s%s%s", ssh, patient ? " " : "",
                patient ? patient : "", patient ? " waits longer" : "");
    ti_session_abandon(s, TI_CHANNEL_TIMED_OUT, &why);
}

/* While files are sent to several nodes, progress of one counts for all: the others may wait for
 * the link that they share. */
static void check_starting(struct ti_sessions *all)
{
    struct ti_session *s;
    bool moved = false;

    if (all->ticked - all->checked < TI_SESSION_CHECK_MS / 2e3)
        return;
    all->checked = all->ticked;
    if (TAILQ_EMPTY(&all->starting) && all->payload)
        ti_payload_drop(all->payload);
    TAILQ_FOREACH(s, &all->starting, in_starting)
    if (ti_session_installing(s))
        moved = files_moved(s) || moved;
    TAILQ_FOREACH(s, &all->starting, in_starting)
    {
        if (moved && ti_session_installing(s))
            set_moved(s);
        if (s->connected && !s->why && is_late(s))
            abandon_late(s);
    }
}

static void tick(struct ti_sessions *all)
{
    double now = ti_now(), passed = now - all->ticked;

    all->clock += passed < TI_SESSION_STEP_S ? passed : TI_SESSION_STEP_S;
    all->ticked = now;
}

/* --- all of them --------------------------------------------------------- */

ti_status ti_sessions_new(const struct ti_sessions_config *config, struct ti_sessions **out,
                          struct ti_err *err)
{
    struct ti_sessions *all = calloc(1, sizeof *all);
    ti_status st;

    if (!all)
        return ti_err_errno(err, TI_ERR_IO, "cannot prepare connections");
    all->config = *config;
    TAILQ_INIT(&all->starting);
    all->clock = 1; /* 0 means never */
    all->ticked = ti_now();
    st = ti_remote_new(&all->config.remote, &all->remote, err);
    if (st != TI_OK)
        ti_sessions_free(all);
    else
        *out = all;
    return st;
}

void ti_sessions_free(struct ti_sessions *all)
{
    if (!all)
        return;
    if (all->payload)
        ti_remote_drop_fd(all->remote, all->payload_fd);
    if (all->remote)
        ti_remote_free(all->remote);
    ti_payload_free(all->payload);
    free(all);
}

int ti_sessions_poll(struct ti_sessions *all, int timeout_ms)
{
    int open;

    if (timeout_ms < 0 || timeout_ms > TI_SESSION_CHECK_MS)
        timeout_ms = TI_SESSION_CHECK_MS;
    tick(all);
    open = ti_remote_poll(all->remote, timeout_ms);
    tick(all);
    check_starting(all);
    return open;
}

double ti_sessions_clock(const struct ti_sessions *all)
{
    return all->clock;
}

double ti_sessions_due(const struct ti_sessions *all)
{
    double due = ti_remote_due(all->remote), check = all->ticked + TI_SESSION_CHECK_MS / 1e3;

    return TAILQ_EMPTY(&all->starting) || due < check ? due : check;
}

struct ti_remote *ti_sessions_remote(struct ti_sessions *all)
{
    return all->remote;
}

/* --- one of them --------------------------------------------------------- */

bool ti_session_write(struct ti_session *s, const void *data, size_t bytes)
{
    return s->channel && s->ready && ti_channel_write(s->channel, data, bytes);
}

size_t ti_session_queued(const struct ti_session *s)
{
    return s->channel ? ti_channel_queued(s->channel) : 0;
}

void ti_session_eof(struct ti_session *s)
{
    if (s->channel)
        ti_channel_eof(s->channel);
}

bool ti_session_open(const struct ti_session *s)
{
    return s->channel != NULL;
}

bool ti_session_ready(const struct ti_session *s)
{
    return s->channel && s->ready;
}

bool ti_session_connected(const struct ti_session *s)
{
    return s->connected;
}

bool ti_session_installing(const struct ti_session *s)
{
    return s->channel && !s->ready && !s->why && s->boot->part != TI_PAYLOAD_NONE;
}

double ti_session_moved(const struct ti_session *s)
{
    return s->moved;
}

const char *ti_session_transport(const struct ti_session *s)
{
    return s->channel ? ti_channel_transport(s->channel) : "";
}
