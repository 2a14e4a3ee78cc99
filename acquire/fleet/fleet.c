#include "acquire/fleet/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/fleet/here.h"
#include "common/cli.h"
#include "session/bootstrap.h"
#include "node/launch.h"
#include "session/messages.h"

#define POLL_MS    250
#define AWAY_S         5.0  /* a longer gap between two polls was ours: stopped, or asleep */
#define LISTEN_S       60.0 /* nodes end the run after so long without a heartbeat, at least */
#define TELL           4    /* heartbeats within that time */
#define STDERR_LOG_MAX (64 * 1024) /* bytes of a node's standard error output */

struct pending {
    struct pending *next;
    int64_t id;
    ti_fleet_answer *done;
    void *arg;
};

struct ti_fleet_node_priv {
    struct ti_fleet *fleet;
    int64_t node;
    struct ti_channel *channel; /* NULL once it has ended */
    struct ti_frame_reader reader;
    struct pending *pending;
    bool commanded; /* the command for the node has been passed to the channel */
    size_t queued;  /* ti_fleet_queued() at the latest check */
    struct ti_bootstrap boot;
};

#define LOG(f, ...)                                                                                \
    do {                                                                                           \
        if ((f)->callbacks.log)                                                                    \
            (f)->callbacks.log((f)->callbacks.arg, __VA_ARGS__);                                   \
    } while (0)

/* --- names --------------------------------------------------------------- */

static const struct ti_cluster *cluster_of(const struct ti_fleet *f, int64_t node)
{
    return &f->sites->cluster[f->sites->node[node].cluster];
}

static const struct ti_site *site_of(const struct ti_fleet *f, int64_t node)
{
    return &f->sites->site[cluster_of(f, node)->site];
}

char *ti_fleet_name(const struct ti_fleet *f, int64_t node, char *buf, size_t bytes)
{
    const struct ti_site *site = site_of(f, node);

    snprintf(buf, bytes, "'%s' of cluster %s at site %s%s%s", f->sites->node[node].name,
             cluster_of(f, node)->name, site->name, site->gateway ? ", by gateway " : "",
             site->gateway ? site->gateway : "");
    return buf;
}

const char *ti_fleet_unnamed(const struct ti_fleet *f, int64_t node, const char *text)
{
    char name[512], prefix[2][600];

    snprintf(prefix[0], sizeof prefix[0], "node %s: ", ti_fleet_name(f, node, name, sizeof name));
    snprintf(prefix[1], sizeof prefix[1], "node '%s': ", f->sites->node[node].name);
    for (int i = 0; i < 2; i++)
        if (strncmp(text, prefix[i], strlen(prefix[i])) == 0)
            return text + strlen(prefix[i]);
    return text;
}

int64_t ti_fleet_find(const struct ti_fleet *f, const char *name)
{
    for (int64_t i = 0; i < f->n; i++)
        if (strcmp(f->sites->node[i].name, name) == 0)
            return i;
    return -1;
}

/* --- lost nodes ---------------------------------------------------------- */

static void forget(struct ti_fleet_node_priv *p)
{
    ti_frame_reader_free(&p->reader);
    p->channel = NULL;
}

static void answer_all_with_nothing(struct ti_fleet *f, int64_t node)
{
    struct ti_fleet_node_priv *p = f->member[node].priv;
    struct pending *next;

    for (struct pending *q = p->pending; q; q = next) {
        next = q->next;
        p->pending = next;
        if (q->done)
            q->done(f, node, NULL, q->arg);
        free(q);
    }
}

/* The node is lost; its `why` has been set.  Only the first call has an effect. */
static void is_gone(struct ti_fleet *f, int64_t node, enum ti_channel_end end)
{
    struct ti_fleet_node *m = &f->member[node];

    if (m->state == TI_NODE_LOST)
        return;
    if (m->state == TI_NODE_READY) {
        size_t used = strlen(m->why.text);

        f->ready--;
        snprintf(m->why.text + used, sizeof m->why.text - used, "; it was last %s", m->doing);
    }
    m->state = TI_NODE_LOST;
    m->end = end;
    f->gone++;
    if (!f->closing) {
        LOG(f, "%s", m->why.text);
        if (m->why.hint[0])
            LOG(f, "  hint: %s", m->why.hint);
    }
    answer_all_with_nothing(f, node);
    if (f->callbacks.on_lost && !f->closing)
        f->callbacks.on_lost(f, node, f->callbacks.arg);
}

void ti_fleet_abandon(struct ti_fleet *f, int64_t node, enum ti_channel_end end, const char *fmt,
                      ...)
{
    struct ti_fleet_node *m = &f->member[node];
    char text[600], name[512];
    va_list ap;

    if (m->state == TI_NODE_LOST)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ti_err_set(&m->why, TI_ERR_REMOTE, "node %s: %s", ti_fleet_name(f, node, name, sizeof name),
               text);
    if (m->priv->channel)
        ti_channel_close(m->priv->channel);
    is_gone(f, node, end);
}

/* --- incoming ------------------------------------------------------------- */

static bool send_json(struct ti_fleet *f, int64_t node, const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    size_t bytes = text ? strlen(text) : 0;
    bool ok = text && bytes <= TI_FRAME_MAX &&
              ti_fleet_send(f, node, TI_FRAME_MESSAGE, 0, text, (uint32_t)bytes);

    free(text);
    return ok;
}

/* Seconds after which a node without heartbeats ends the run. */
static double listen_seconds(const struct ti_fleet *f)
{
    return f->config.silence_s > LISTEN_S ? f->config.silence_s : LISTEN_S;
}

/* Send a heartbeat.  A broken connection is not always noticed at its other end.  So ti-node ends
 * the run and itself when it has received nothing for `listen_s`. */
static void ask_to_listen(struct ti_fleet *f, int64_t node, double listen_s)
{
    json_t *request = json_pack("{s:s, s:i, s:i, s:i}", "do", "beat", "id", 0, "every_ms", 0,
                                "listen_ms", (int)(listen_s * 1000));

    if (request)
        send_json(f, node, request);
    json_decref(request);
}

static void take_hello(struct ti_fleet *f, int64_t node, json_t *hello)
{
    struct ti_fleet_node *m = &f->member[node];
    json_int_t protocol = json_integer_value(json_object_get(hello, "protocol"));

    if (protocol != TI_PROTOCOL) {
        json_decref(hello);
        ti_fleet_abandon(
            f, node, TI_CHANNEL_NO_COMMAND,
            "its ti-node speaks protocol %lld, not %d: it is of another version of Tiara", protocol,
            TI_PROTOCOL);
        ti_err_hint(&m->why, "'tiara =' in the sites file names a folder with ti-node: install the "
                             "same version there, or remove the line and have it sent");
        return;
    }
    m->hello = hello;
    m->state = TI_NODE_READY;
    m->doing = "waiting";
    f->ready++;
    if (json_is_true(json_object_get(hello, "shipped"))) {
        f->shipped++;
        f->last_shipped_at = ti_now();
    }
    LOG(f, "node %s is ready%s", f->sites->node[node].name,
        json_is_true(json_object_get(hello, "shipped")) ? ", our files were sent" : "");
    ask_to_listen(f, node,
                  listen_seconds(f)); /* now: the connection may break before the next poll */
}

/* Pass an answer to its request's function, and any other message to the callback. */
static void take_message(struct ti_fleet *f, int64_t node, const json_t *message)
{
    struct ti_fleet_node_priv *p = f->member[node].priv;
    const json_t *id = json_object_get(message, "id");
    struct pending **at = &p->pending, *q;

    if (!json_is_integer(id)) {
        if (f->callbacks.on_message)
            f->callbacks.on_message(f, node, message, f->callbacks.arg);
        return;
    }
    while (*at && (*at)->id != json_integer_value(id))
        at = &(*at)->next;
    q = *at;
    if (!q)
        return;
    *at = q->next;
    if (q->done)
        q->done(f, node, message, q->arg);
    free(q);
}

static void take_frame(struct ti_fleet *f, int64_t node, const struct ti_frame *frame)
{
    json_error_t wrong;
    json_t *json;

    if (frame->type != TI_FRAME_HELLO && frame->type != TI_FRAME_MESSAGE) {
        if (f->callbacks.on_data)
            f->callbacks.on_data(f, node, frame, f->callbacks.arg);
        return;
    }
    json = json_loadb((const char *)frame->payload, frame->bytes, 0, &wrong);
    if (!json)
        ti_fleet_abandon(f, node, TI_CHANNEL_LOST, "its ti-node sent what is no JSON: %s",
                         wrong.text);
    else if (frame->type == TI_FRAME_HELLO && f->member[node].state == TI_NODE_CONNECTING)
        take_hello(f, node, json_incref(json));
    else if (f->member[node].state == TI_NODE_READY)
        take_message(f, node, json);
    json_decref(json);
}

static void is_heard(struct ti_fleet_node_priv *p)
{
    p->fleet->member[p->node].heard_at = ti_now();
}

static void on_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_fleet_node_priv *p = arg;
    struct ti_fleet *f = p->fleet;
    const char *at = data;
    int part;

    /* Before HELLO, output is no sign of life: login scripts may print dots forever. */
    if (p->reader.started)
        is_heard(p);
    if (!p->reader.started) {
        part = p->boot.part;
        ti_bootstrap_output(&p->boot, data, bytes);
        if (p->boot.part != part)
            is_heard(p); /* it requests our files */
    }
    while (bytes && f->member[p->node].state != TI_NODE_LOST) {
        struct ti_frame frame;
        struct ti_err err = {"", ""};
        size_t used;
        int got;

        if (ti_frame_feed(&p->reader, at, bytes, &used, &frame, &got, &err) != TI_OK) {
            ti_fleet_abandon(f, p->node, TI_CHANNEL_LOST, "%s", err.text);
            if (err.hint[0])
                ti_err_hint(&f->member[p->node].why, "%s", err.hint);
            return;
        }
        at += used;
        bytes -= used;
        if (!got)
            break;
        is_heard(p);
        take_frame(f, p->node, &frame);
    }
    if (f->member[p->node].state == TI_NODE_CONNECTING)
        ti_bootstrap_pump(&p->boot, c);
}

static void on_errput(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_fleet_node_priv *p = arg;
    struct ti_fleet_node *m = &p->fleet->member[p->node];

    (void)c;
    if (p->reader.started)
        is_heard(p);
    ti_bootstrap_errput(&p->boot, data, bytes);
    if (m->stderr_logged < STDERR_LOG_MAX)
        LOG(p->fleet, "%s says: %.*s", p->fleet->sites->node[p->node].name, (int)bytes,
            (const char *)data);
    m->stderr_logged += (int64_t)bytes;
}

static void on_ready(struct ti_channel *c, void *arg)
{
    (void)c;
    is_heard(arg);
}

static void on_drained(struct ti_channel *c, void *arg)
{
    struct ti_fleet_node_priv *p = arg;
    int64_t sent = p->boot.sent;

    /* Sending our files is a sign of life.  Sending a heartbeat is none: a broken connection
     * accepts it. */
    ti_bootstrap_pump(&p->boot, c);
    if (p->fleet->member[p->node].state == TI_NODE_CONNECTING || p->boot.sent != sent)
        is_heard(p);
}

/* The last line of the node's standard error output. */
static const char *last_words(struct ti_fleet_node_priv *p)
{
    char *text = p->boot.said, *line;
    size_t n = strlen(text);

    while (n && strchr("\n\r ", text[n - 1]))
        text[--n] = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static void on_ended(struct ti_channel *c, const struct ti_channel_result *r, void *arg)
{
    struct ti_fleet_node_priv *p = arg;
    struct ti_fleet *f = p->fleet;
    struct ti_fleet_node *m = &f->member[p->node];
    bool began = m->state == TI_NODE_READY;
    const char *words = last_words(p);
    char name[512];

    (void)c;
    if (m->state != TI_NODE_LOST) {
        ti_fleet_name(f, p->node, name, sizeof name);
        if (!began)
            ti_bootstrap_why(&p->boot, f->sites->node[p->node].name, p->reader.noise, r, &m->why);
        else if (r->end == TI_CHANNEL_EXITED)
            ti_err_set(&m->why, TI_ERR_REMOTE, "node %s: its ti-node ended with status %d%s%s",
                       name, r->status, *words ? ": " : "", words);
        else if (r->end == TI_CHANNEL_SIGNALLED)
            ti_err_set(&m->why, TI_ERR_REMOTE, "node %s: its ti-node was ended by SIG%s", name,
                       r->signal);
        else {
            ti_err_set(&m->why, TI_ERR_REMOTE, "node %s: %s%s%s", name, ti_channel_end_text(r->end),
                       r->cause[0] ? ": " : "", r->cause);
            if (r->err.hint[0])
                ti_err_hint(&m->why, "%s", r->err.hint);
        }
        is_gone(f, p->node, r->end);
    }
    forget(p);
}

/* --- connecting ---------------------------------------------------------- */

static const struct ti_channel_callbacks channel_calls = {
    .ready = on_ready,
    .output = on_output,
    .errput = on_errput,
    .drained = on_drained,
    .ended = on_ended,
};

static ti_status connect_to(struct ti_fleet *f, int64_t node, struct ti_here *here,
                            struct ti_err *err)
{
    struct ti_fleet_node *m = &f->member[node];
    struct ti_fleet_node_priv *p = m->priv;
    const struct ti_site *site = site_of(f, node);
    const char *name = f->sites->node[node].name;
    char *command = NULL;
    const char *tiara = cluster_of(f, node)->tiara;
    ti_status st = TI_ERR_INPUT;

    m->is_local = ti_here_is(here, name, !site->gateway);
    /* On this machine our files need not be sent, unless a shell would change the name of their
     * folder. */
    if (m->is_local && !tiara)
        st = ti_bootstrap_command(f->payload, f->folder, &command, NULL);
    if (st != TI_OK && !tiara && !ti_payload_known(f->payload))
        st = TI_OK; /* the checksum is computed while the connection is made */
    else if (st != TI_OK)
        st = ti_bootstrap_command(f->payload, tiara, &command, err);
    if (st != TI_OK)
        return st;
    p->commanded = command != NULL;
    p->boot.payload = f->payload;
    m->doing = "connecting";
    p->channel = m->is_local
                     ? ti_remote_local(f->remote, command, &channel_calls, p)
                     : ti_remote_run(f->remote, name, site->gateway, command, &channel_calls, p);
    free(command);
    if (p->channel)
        return TI_OK;
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot connect to '%s'", name);
}

/* The checksum of our files is known, or they are packed: nodes that waited for it continue. */
static void payload_done(int fd, void *arg)
{
    struct ti_fleet *f = arg;

    (void)fd;
    ti_payload_collect(f->payload);
    for (int64_t i = 0; i < f->n; i++) {
        struct ti_fleet_node_priv *p = f->member[i].priv;
        struct ti_err err = {"", ""};
        char *command = NULL;

        if (f->member[i].state != TI_NODE_CONNECTING || !p->channel)
            continue;
        if (p->commanded) {
            ti_bootstrap_pump(&p->boot, p->channel);
            continue;
        }
        p->commanded = true;
        if (ti_bootstrap_command(f->payload, NULL, &command, &err) != TI_OK)
            ti_fleet_abandon(f, i, TI_CHANNEL_LOCAL, "%s", err.text);
        else if (!ti_channel_command(p->channel, command))
            ti_fleet_abandon(f, i, TI_CHANNEL_LOCAL, "out of memory");
        free(command);
    }
}

/* Abandon nodes whose ti-node does not start in time: login scripts or a home folder may hang.
 * The transport has its own timeouts for the connection.  Bytes that are sent count as a sign of
 * life. */
static void look_at_connecting(struct ti_fleet *f)
{
    double now = ti_now(), limit = f->config.silence_s;

    for (int64_t i = 0; i < f->n; i++) {
        struct ti_fleet_node *m = &f->member[i];
        size_t queued = ti_fleet_queued(f, i);
        double taken;

        if (m->state != TI_NODE_CONNECTING || m->heard_at <= 0)
            continue;
        taken = m->priv->channel ? ti_channel_taken_at(m->priv->channel) : 0;
        if (queued != m->priv->queued || ti_bootstrap_waits(&m->priv->boot))
            m->heard_at = now;
        else if (taken > m->heard_at)
            m->heard_at = taken;
        m->priv->queued = queued;
        if (now - m->heard_at <= limit)
            continue;
        ti_fleet_abandon(f, i, TI_CHANNEL_TIMED_OUT,
                         "the connection is there, but ti-node did not start within %.0f s", limit);
        ti_err_hint(&m->why,
                    "do its login scripts, or its home, hang? does 'ssh %s true' end? --silence "
                    "waits longer",
                    f->sites->node[i].name);
    }
}

ti_status ti_fleet_connect(struct ti_fleet *f, struct ti_err *err)
{
    struct ti_here here;
    ti_status st = TI_OK;

    ti_here_begin(&here);
    for (int64_t i = 0; i < f->n && st == TI_OK; i++)
        if (f->member[i].state == TI_NODE_CONNECTING)
            st = connect_to(f, i, &here, err);
    if (st != TI_OK)
        return st;
    while (f->ready + f->gone < f->n && !f->sig) {
        ti_fleet_poll(f, POLL_MS);
        look_at_connecting(f);
        ti_progress("connecting: %" PRId64 " of %" PRId64 " nodes are ready%s", f->ready, f->n,
                    f->gone ? ", some are not" : "");
    }
    ti_progress_clear();
    return TI_OK;
}

/* --- asking -------------------------------------------------------------- */

bool ti_fleet_send(struct ti_fleet *f, int64_t node, enum ti_frame_type type, uint32_t stream,
                   const void *data, uint32_t bytes)
{
    struct ti_fleet_node *m = &f->member[node];
    unsigned char header[TI_FRAME_HEADER];

    if (m->state != TI_NODE_READY || !m->priv->channel)
        return false;
    ti_frame_header(type, stream, data, bytes, header);
    return ti_channel_write(m->priv->channel, header, sizeof header) &&
           (!bytes || ti_channel_write(m->priv->channel, data, bytes));
}

size_t ti_fleet_queued(const struct ti_fleet *f, int64_t node)
{
    struct ti_channel *c = f->member[node].priv->channel;

    return c ? ti_channel_queued(c) : 0;
}

bool ti_fleet_ask(struct ti_fleet *f, int64_t node, json_t *request, ti_fleet_answer *done,
                  void *arg)
{
    struct pending *q = request ? calloc(1, sizeof *q) : NULL;
    bool ok = false;

    if (q) {
        struct ti_fleet_node_priv *p = f->member[node].priv;

        *q = (struct pending){p->pending, ++f->next_id, done, arg};
        json_object_set_new(request, "id", json_integer(q->id));
        p->pending = q;
        ok = send_json(f, node, request);
        if (!ok) {
            p->pending = q->next;
            free(q);
        }
    }
    json_decref(request);
    return ok;
}

struct round {
    int64_t asked, answered;
};

static void round_done(struct ti_fleet *f, int64_t node, const json_t *answer, void *arg)
{
    struct round *r = arg;

    r->answered++;
    if (answer)
        f->member[node].answer = json_incref((json_t *)answer);
}

/* Answers that arrive later must not be passed to a round that has ended. */
static void abandon(struct ti_fleet *f, const struct round *r)
{
    for (int64_t i = 0; i < f->n; i++)
        for (struct pending *q = f->member[i].priv->pending; q; q = q->next)
            if (q->arg == r)
                q->done = NULL;
}

static bool is_asked(const struct ti_fleet *f, int64_t node, const struct round *r)
{
    for (struct pending *q = f->member[node].priv->pending; q; q = q->next)
        if (q->arg == r && q->done)
            return true;
    return false;
}

void ti_fleet_ask_all(struct ti_fleet *f, ti_fleet_make_request *request, void *arg, double limit_s,
                      const char *doing)
{
    double until = ti_now() + limit_s;
    struct round r = {0, 0};

    for (int64_t i = 0; i < f->n; i++) {
        struct ti_fleet_node *m = &f->member[i];
        json_t *json;

        json_decref(m->answer);
        m->answer = NULL;
        json = m->state == TI_NODE_READY ? request(f, i, arg) : NULL;
        if (!json)
            continue;
        m->doing = doing;
        if (ti_fleet_ask(f, i, json, round_done, &r))
            r.asked++;
        else
            m->answer = json_pack("{s:s, s:s}", "is", "error", "error",
                                  "what it is asked is too large for a message");
    }
    while (r.answered < r.asked && !f->sig && ti_now() < until) {
        ti_fleet_poll(f, POLL_MS);
        ti_progress("%s: %" PRId64 " of %" PRId64 " nodes", doing, r.answered, r.asked);
    }
    ti_progress_clear();
    for (int64_t i = 0; i < f->n && r.answered < r.asked && !f->sig; i++)
        if (is_asked(f, i, &r))
            ti_fleet_abandon(f, i, TI_CHANNEL_TIMED_OUT, "no answer within %.0f s (%s)", limit_s,
                             doing);
    abandon(f, &r);
}

bool ti_fleet_ok(const struct ti_fleet *f, int64_t node, struct ti_err *err)
{
    const struct ti_fleet_node *m = &f->member[node];
    const char *text = json_string_value(json_object_get(m->answer, "error")), *hint, *is;
    char name[512];

    is = json_string_value(json_object_get(m->answer, "is"));
    if (is && strcmp(is, "error") != 0)
        return true;
    if (!err)
        return false;
    if (m->state == TI_NODE_LOST) {
        *err = m->why;
        return false;
    }
    hint = json_string_value(json_object_get(m->answer, "hint"));
    ti_err_set(err, TI_ERR_REMOTE, "node %s: %s", ti_fleet_name(f, node, name, sizeof name),
               text ? text : "no answer");
    if (hint && *hint)
        ti_err_hint(err, "%s", hint);
    return false;
}

/* --- life ---------------------------------------------------------------- */

static void on_signal(int fd, void *arg)
{
    struct ti_fleet *f = arg;
    int sig = ti_launch_sleep(0);

    (void)fd;
    if (sig)
        f->sig = sig;
}

/* If this process was stopped, or the machine slept, the silence was not the nodes': extend their
 * deadlines. */
static void forgive(struct ti_fleet *f, double now)
{
    double away = f->polled_at > 0 ? now - f->polled_at : 0;

    f->polled_at = now;
    for (int64_t i = 0; away > AWAY_S && i < f->n; i++)
        if (f->member[i].heard_at > 0)
            f->member[i].heard_at += away;
}

static void tell_to_listen(struct ti_fleet *f, double listen_s)
{
    f->heartbeat_sent_at = ti_now();
    for (int64_t i = 0; i < f->n; i++)
        if (f->member[i].state == TI_NODE_READY)
            ask_to_listen(f, i, listen_s);
}

static void keep_in_touch(struct ti_fleet *f, double now)
{
    if (now >= f->heartbeat_sent_at + listen_seconds(f) / TELL)
        tell_to_listen(f, listen_seconds(f));
}

void ti_fleet_announce_pause(struct ti_fleet *f, double seconds)
{
    tell_to_listen(f, seconds);
    for (int i = 0; i < 10; i++)
        ti_remote_poll(f->remote, POLL_MS / 10);
    f->heartbeat_sent_at = 0; /* the next poll sends a heartbeat */
}

void ti_fleet_poll(struct ti_fleet *f, int timeout_ms)
{
    forgive(f, ti_now());
    keep_in_touch(f, ti_now());
    ti_remote_poll(f->remote, timeout_ms);
}

static bool make_members(struct ti_fleet *f, const bool *use)
{
    f->member = calloc((size_t)f->n ? (size_t)f->n : 1, sizeof *f->member);
    for (int64_t i = 0; f->member && i < f->n; i++) {
        struct ti_fleet_node_priv *p = calloc(1, sizeof *p);

        if (!p)
            return false;
        p->fleet = f;
        p->node = i;
        f->member[i].priv = p;
        if (use && !use[i]) {
            f->member[i].state = TI_NODE_LOST;
            f->member[i].end = TI_CHANNEL_CLOSED;
            f->gone++;
        }
    }
    return f->member != NULL;
}

static enum ti_transport transport_of(const char *name)
{
    if (name && strcmp(name, "libssh2") == 0)
        return TI_TRANSPORT_LIBSSH2;
    if (name && strcmp(name, "openssh") == 0)
        return TI_TRANSPORT_OPENSSH;
    return TI_TRANSPORT_AUTO;
}

ti_status ti_fleet_new(const struct ti_sites *sites, const bool *use, const struct ti_paths *paths,
                       const char *transport, double silence_s,
                       const struct ti_fleet_callbacks *callbacks, struct ti_fleet **out,
                       struct ti_err *err)
{
    struct ti_fleet *f = calloc(1, sizeof *f);
    int payload = -1;
    ti_status st;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot connect to the nodes");
    f->sites = sites;
    f->callbacks = *callbacks;
    f->n = sites->nnodes;
    snprintf(f->folder, sizeof f->folder, "%s", paths->node);
    if (strrchr(f->folder, '/'))
        *strrchr(f->folder, '/') = '\0';
    f->config.transport = transport_of(transport);
    f->config.silence_s = silence_s;
    f->config.via = (const char *const *)sites->via;
    f->sigfd = ti_launch_signal_fd();
    if (!make_members(f, use) || f->sigfd < 0) {
        st = ti_err_errno(err, TI_ERR_IO, "cannot connect to the nodes");
        ti_fleet_free(f);
        return st;
    }
    st = ti_payload_new(paths, &f->payload, err);
    if (st == TI_OK)
        st = ti_remote_new(&f->config, &f->remote, err);
    if (st == TI_OK)
        payload = ti_payload_begin(f->payload);
    if (st == TI_OK && (payload < 0 || !ti_remote_add_fd(f->remote, payload, payload_done, f) ||
                        !ti_remote_add_fd(f->remote, f->sigfd, on_signal, f))) {
        errno = ENOMEM;
        st = ti_err_errno(err, TI_ERR_IO, "cannot connect to the nodes");
    }
    if (st != TI_OK)
        ti_fleet_free(f);
    else
        *out = f;
    return st;
}

/* Close all channels.  ti-nodes end their processes when their input ends, and get 10 s for that.
 */
static void hang_up(struct ti_fleet *f)
{
    double until = ti_now() + 10;

    f->closing = true;
    for (int64_t i = 0; i < f->n; i++)
        if (f->member[i].priv->channel && f->member[i].state == TI_NODE_READY)
            ti_channel_eof(f->member[i].priv->channel);
        else if (f->member[i].priv->channel)
            ti_channel_close(f->member[i].priv->channel);
    f->sig = 0;
    while (f->gone < f->n && ti_now() < until && !f->sig)
        if (ti_remote_poll(f->remote, POLL_MS) == 0)
            break;
}

void ti_fleet_free(struct ti_fleet *f)
{
    if (!f)
        return;
    if (f->remote)
        hang_up(f);
    ti_remote_free(f->remote);
    for (int64_t i = 0; f->member && i < f->n; i++) {
        struct ti_fleet_node *m = &f->member[i];

        if (m->priv) {
            f->closing = true;
            answer_all_with_nothing(f, i);
            forget(m->priv);
        }
        free(m->priv);
        json_decref(m->hello);
        json_decref(m->answer);
    }
    if (f->sigfd >= 0)
        close(f->sigfd);
    ti_payload_free(f->payload);
    free(f->member);
    free(f);
}
