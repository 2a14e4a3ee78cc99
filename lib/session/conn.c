#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/clock.h"
#include "session/conn_internal.h"
#include "session/messages.h"
#include "session/times.h"

#define QUEUE_BYTES (1 << 20) /* of Tiara's files, queued for one node */

const char *ti__conn_host(const struct ti_conn *conn)
{
    return conn->host ? conn->host : "this machine";
}

static void set_heard(struct ti_conn *conn)
{
    conn->heard = ti_sessions_clock(conn->all->sessions);
}

/* --- sending ------------------------------------------------------------- */

/* Sends bytes to the ti-node's standard input; through a relay in INPUT frames. */
static bool send_bytes(struct ti_conn *conn, const unsigned char *data, size_t bytes)
{
    bool ok = true;

    if (!conn->relay)
        return ti_session_write(&conn->session, data, bytes);
    if (conn->relay->state != TI__CONN_READY)
        return false;
    for (size_t at = 0, piece; ok && at < bytes; at += piece) {
        piece = bytes - at < TI_FRAME_MAX ? bytes - at : TI_FRAME_MAX;
        ok = ti__conn_send_frame(conn->relay, TI_FRAME_INPUT, conn->stream, data + at, piece);
    }
    return ok;
}

bool ti__conn_send_frame(struct ti_conn *conn, enum ti_frame_type type, uint32_t stream,
                         const void *payload, size_t bytes)
{
    unsigned char *frame = malloc(TI_FRAME_HEADER + bytes);
    bool ok;

    if (!frame)
        return false;
    ti_frame_header(type, stream, payload, (uint32_t)bytes, frame);
    if (bytes)
        memcpy(frame + TI_FRAME_HEADER, payload, bytes);
    ok = send_bytes(conn, frame, TI_FRAME_HEADER + bytes);
    free(frame);
    return ok;
}

bool ti_conn_request(struct ti_conn *conn, json_t *request)
{
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    size_t bytes = text ? strlen(text) : 0;
    bool ok = text && bytes <= TI_FRAME_MAX && conn->state == TI__CONN_READY &&
              ti__conn_send_frame(conn, TI_FRAME_MESSAGE, 0, text, bytes);

    json_decref(request);
    free(text);
    return ok;
}

uint32_t ti_conn_new_stream(struct ti_conn *conn)
{
    return ++conn->last_stream;
}

bool ti_conn_input(struct ti_conn *conn, uint32_t stream, const void *data, size_t bytes)
{
    return conn->state == TI__CONN_READY &&
           ti__conn_send_frame(conn, TI_FRAME_INPUT, stream, data, bytes);
}

/* --- the end ------------------------------------------------------------- */

void ti__conn_fail(struct ti_conn *conn, enum ti_channel_end end, bool by_relay,
                   const struct ti_err *why)
{
    struct ti_conn *child;
    struct ti_err lost;

    if (conn->state >= TI__CONN_OVER)
        return;
    ti__conn_unreach(conn);
    conn->state = TI__CONN_OVER;
    conn->end = end;
    conn->by_relay = by_relay;
    conn->why = malloc(sizeof *conn->why);
    if (conn->why)
        *conn->why = *why;
    TAILQ_INSERT_TAIL(&conn->all->over, conn, in_over);
    ti_session_abandon(&conn->session, end, why);
    ti_err_set(&lost, TI_ERR_REMOTE, "lost with its relay '%s': %s", ti__conn_host(conn),
               why->text);
    TAILQ_FOREACH(child, &conn->children, in_relay)
    ti__conn_fail(child, end, true, by_relay ? why : &lost);
}

void ti__conn_fail_text(struct ti_conn *conn, enum ti_channel_end end, const char *text,
                        const char *hint)
{
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s", text);
    if (hint)
        ti_err_hint(&why, "%s", hint);
    ti__conn_fail(conn, end, false, &why);
}

void ti__conn_protocol_error(struct ti_conn *conn, const char *what)
{
    char text[256];

    snprintf(text, sizeof text, "what ti-node sends makes no sense: %s", what);
    ti__conn_fail_text(conn, TI_CHANNEL_LOST, text, NULL);
}

static void conn_free(struct ti_conn *conn)
{
    ti_session_free(&conn->session);
    ti_frame_reader_free(&conn->in);
    json_decref(conn->hello);
    free(conn->why);
    free(conn->host);
    free(conn->tiara);
    free(conn);
}

/* Calls `ended` for connections that are OVER, and frees those that are gone. */
static void report_ended(struct ti_conns *all)
{
    static const struct ti_err no_memory = {"out of memory", ""};
    struct ti_conn *conn, *next;

    while ((conn = TAILQ_FIRST(&all->over)) != NULL) {
        TAILQ_REMOVE(&all->over, conn, in_over);
        TAILQ_REMOVE(&all->conns, conn, in_all);
        if (conn->relay)
            TAILQ_REMOVE(&conn->relay->children, conn, in_relay);
        ti__conn_leave_waiting(conn);
        ti_frame_reader_free(&conn->in); /* not before: its frames may be in use */
        conn->state = TI__CONN_ENDED;
        all->live--;
        TAILQ_INSERT_TAIL(&all->gone, conn, in_all);
        if (conn->calls.ended)
            conn->calls.ended(conn, conn->end, conn->by_relay, conn->why ? conn->why : &no_memory,
                              conn->arg);
    }
    for (conn = TAILQ_FIRST(&all->gone); conn; conn = next) {
        next = TAILQ_NEXT(conn, in_all);
        if (ti_session_open(&conn->session))
            continue; /* on_session_ended() is still to come */
        TAILQ_REMOVE(&all->gone, conn, in_all);
        conn_free(conn);
    }
}

static void drop_output(struct ti_conn *conn, const struct ti_frame *frame, void *arg)
{
    (void)conn;
    (void)frame;
    (void)arg;
}

bool ti_conn_hand_over(struct ti_conn *conn, const struct ti_conn_callbacks *calls, void *arg)
{
    bool processes = conn->calls.process != NULL;

    conn->calls = *calls;
    conn->arg = arg;
    if (processes && !calls->process)
        conn->calls.process = drop_output;
    return conn->state == TI__CONN_READY;
}

struct ti_conn *ti_conn_relay(const struct ti_conn *conn)
{
    return conn->relay;
}

void ti_conn_close(struct ti_conn *conn)
{
    struct ti_err why;

    ti_err_set(&why, TI_OK, "the connection to '%s' was closed", ti__conn_host(conn));
    ti__conn_fail(conn, TI_CHANNEL_CLOSED, false, &why);
}

/* --- receiving ----------------------------------------------------------- */

static void on_hello(struct ti_conn *conn, const struct ti_frame *f)
{
    const char *version;
    char text[256];

    if (conn->hello) {
        ti__conn_protocol_error(conn, "it begins again");
        return;
    }
    conn->hello = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    if (json_integer_value(json_object_get(conn->hello, "protocol")) != TI_PROTOCOL) {
        version = json_string_value(json_object_get(conn->hello, "tiara"));
        snprintf(text, sizeof text, "ti-node there is of Tiara %.64s, this is %s",
                 version ? version : "?", ti_version());
        ti__conn_fail_text(conn, TI_CHANNEL_NO_METHOD, text,
                           conn->tiara ? "'tiara =' in the sites file names that folder: install "
                                         "this version there, or remove the line, and Tiara is "
                                         "sent to the node"
                                       : NULL);
        return;
    }
    conn->state = TI__CONN_READY;
    conn->hello_deadline = 0;
    if (!ti__conn_heartbeat(conn))
        ti__conn_fail_text(conn, TI_CHANNEL_LOCAL, "it cannot be asked: out of memory", NULL);
    else if (conn->calls.ready)
        conn->calls.ready(conn, conn->arg);
}

static void on_message(struct ti_conn *conn, const struct ti_frame *f)
{
    json_t *m = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *is = json_string_value(json_object_get(m, "is"));

    if (!is)
        ti__conn_protocol_error(conn, "a message that is none");
    else if (strcmp(is, "beat") != 0 && !ti__conn_about_relayed(conn, is, m) && conn->calls.message)
        conn->calls.message(conn, m, conn->arg);
    json_decref(m);
}

/* Output of a connection through it, or of a process on its node. */
static void on_stream_output(struct ti_conn *conn, const struct ti_frame *f)
{
    if (f->type == TI_FRAME_OUTPUT && ti__conn_relayed_output(conn, f))
        return;
    if (!f->stream || f->stream > conn->last_stream)
        ti__conn_protocol_error(conn, "output of what nobody asked for");
    else if (conn->calls.process)
        conn->calls.process(conn, f, conn->arg);
    else if (f->type == TI_FRAME_OUTPUT) /* of a connection that was closed meanwhile */
        conn->relayed_bytes += f->bytes;
    else
        ti__conn_protocol_error(conn, "a frame that nobody asked for");
}

static void on_frame(struct ti_conn *conn, const struct ti_frame *f)
{
    switch (f->type) {
    case TI_FRAME_HELLO:
        on_hello(conn, f);
        break;
    case TI_FRAME_MESSAGE:
        on_message(conn, f);
        break;
    case TI_FRAME_OUTPUT:
    case TI_FRAME_STDERR:
        on_stream_output(conn, f);
        break;
    case TI_FRAME_DATA:
        if (conn->calls.data)
            conn->calls.data(conn, f->stream, f->payload, f->bytes, conn->arg);
        break;
    case TI_FRAME_INPUT:
        ti__conn_protocol_error(conn, "a frame that only we send");
        break;
    }
}

void ti__conn_receive(struct ti_conn *conn, const void *data, size_t bytes)
{
    const char *p = data;

    set_heard(conn);
    while (conn->state < TI__CONN_OVER) {
        struct ti_frame f;
        struct ti_err why;
        size_t used;
        int got;

        if (ti_frame_feed(&conn->in, p, bytes, &used, &f, &got, &why) != TI_OK) {
            ti__conn_fail(conn, TI_CHANNEL_LOST, false, &why);
            return;
        }
        if (!got)
            return;
        p += used;
        bytes -= used;
        on_frame(conn, &f);
    }
}

/* --- direct connections -------------------------------------------------- */

static void on_connected(struct ti_session *s, void *arg)
{
    struct ti_conn *conn = arg;

    conn->transport = ti_session_transport(s);
}

static void on_output(struct ti_session *s, const void *data, size_t bytes, void *arg)
{
    struct ti_conn *conn = arg;

    (void)s;
    conn->received += (int64_t)bytes;
    if (conn->state < TI__CONN_OVER && !conn->all->closing)
        ti__conn_receive(conn, data, bytes);
}

static void on_err_output(struct ti_session *s, const void *data, size_t bytes, void *arg)
{
    struct ti_conn *conn = arg;

    if (ti_session_ready(s))
        set_heard(conn);
    if (conn->calls.err_output && conn->state < TI__CONN_OVER)
        conn->calls.err_output(conn, data, bytes, conn->arg);
}

static void on_session_ended(struct ti_session *s, enum ti_channel_end end,
                             const struct ti_err *why, void *arg)
{
    (void)s;
    ti__conn_fail(arg, end, false, why);
}

static void open_direct(struct ti_conn *conn, const char *gateway, bool local)
{
    static const struct ti_session_calls calls = {.connected = on_connected,
                                                  .output = on_output,
                                                  .err_output = on_err_output,
                                                  .ended = on_session_ended};
    const struct ti_session_target to = {.host = conn->host,
                                         .gateway = gateway,
                                         .local = local,
                                         .tiara = conn->tiara,
                                         .name = conn->all->config.named ? conn->host : NULL,
                                         .start_s = conn->all->config.silence_s};
    struct ti_err why;

    conn->state = TI__CONN_OPENING;
    if (ti_session_start(&conn->session, conn->all->sessions, &to, &calls, conn, &why) != TI_OK)
        ti__conn_fail(conn, TI_CHANNEL_LOCAL, false, &why);
}

void ti_conn_prefetch(struct ti_conns *all, const char *host)
{
    ti_remote_prefetch(ti_conns_remote(all), host);
}

struct ti_conn *ti_conn_open(struct ti_conns *all, struct ti_conn *through, const char *host,
                             const char *gateway, const char *tiara, bool local,
                             const struct ti_conn_callbacks *calls, void *arg)
{
    struct ti_conn *conn = calloc(1, sizeof *conn);

    if (!conn)
        return NULL;
    conn->host = host ? strdup(host) : NULL;
    conn->tiara = tiara ? strdup(tiara) : NULL;
    if ((host && !conn->host) || (tiara && !conn->tiara)) {
        conn_free(conn);
        return NULL;
    }
    conn->all = all;
    conn->transport = through ? "relay" : "";
    conn->calls = *calls;
    conn->arg = arg;
    TAILQ_INIT(&conn->children);
    TAILQ_INSERT_TAIL(&all->conns, conn, in_all);
    all->live++;
    if (!through) {
        open_direct(conn, gateway, local);
    } else if (through->state != TI__CONN_READY) {
        struct ti_err why;

        ti_err_set(&why, TI_ERR_REMOTE, "lost with its relay '%s'", ti__conn_host(through));
        ti__conn_fail(conn, TI_CHANNEL_LOST, true, &why);
    } else {
        conn->relay = through;
        TAILQ_INSERT_TAIL(&through->children, conn, in_relay);
        TAILQ_INSERT_TAIL(&all->waiting, conn, in_waiting);
        conn->waiting = true;
    }
    return conn;
}

/* --- all of them --------------------------------------------------------- */

static double or_default(double seconds, double otherwise)
{
    return seconds > 0 ? seconds : otherwise;
}

ti_status ti_conns_new(const struct ti_conns_config *config, struct ti_conns **out,
                       struct ti_err *err)
{
    struct ti_conns *all = calloc(1, sizeof *all);
    double silence_s = or_default(config->silence_s, TI_SILENCE_S);
    ti_status st;

    if (!all)
        return ti_err_errno(err, TI_ERR_IO, "cannot prepare connections");
    all->config = *config;
    all->config.silence_s = silence_s;
    all->config.listen_s = or_default(config->listen_s, TI_LISTEN_GATHER_S);
    all->sessions_config = (struct ti_sessions_config){
        .remote = {.transport = config->transport,
                   .ssh_config = config->ssh_config,
                   .via = config->via,
                   .connect_s = or_default(config->connect_s, TI_CONNECT_S),
                   .answer_s = silence_s < TI_ANSWER_MIN_S ? TI_ANSWER_MIN_S : silence_s,
                   .silence_s = silence_s < TI_SILENCE_S ? TI_SILENCE_S : silence_s,
                   .forward_agent = config->forward_agent},
        .queue_bytes = QUEUE_BYTES,
        .patient = config->patient ? config->patient : "--timeout"};
    TAILQ_INIT(&all->conns);
    TAILQ_INIT(&all->waiting);
    TAILQ_INIT(&all->over);
    TAILQ_INIT(&all->gone);
    st = ti_sessions_new(&all->sessions_config, &all->sessions, err);
    if (st == TI_OK)
        st = ti_sessions_prepare(all->sessions, err);
    if (st != TI_OK)
        ti_conns_free(all);
    else
        *out = all;
    return st;
}

/* Closes the input of ti-nodes; of a relay only once no connection goes through it. */
static void leave_some(struct ti_conns *all)
{
    struct ti_conn *conn;

    TAILQ_FOREACH(conn, &all->conns, in_all)
    {
        if (conn->leaving || conn->state >= TI__CONN_OVER || !TAILQ_EMPTY(&conn->children))
            continue;
        conn->leaving = true;
        if (conn->state != TI__CONN_READY)
            ti_conn_close(conn);
        else if (conn->relay)
            ti__conn_send_frame(conn->relay, TI_FRAME_INPUT, conn->stream, NULL, 0);
        else
            ti_session_eof(&conn->session);
    }
}

void ti_conns_leave(struct ti_conns *all)
{
    all->leaving = true;
    leave_some(all);
}

static void free_list(struct ti__conn_list *list)
{
    struct ti_conn *conn;

    while ((conn = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, conn, in_all);
        conn_free(conn);
    }
}

static void hang_up(struct ti_conns *all)
{
    struct ti_conn *conn;

    if (all->closing)
        return;
    all->closing = true;
    TAILQ_FOREACH(conn, &all->conns, in_all)
    {
        if (conn->state == TI__CONN_READY)
            ti_session_eof(&conn->session);
        else
            ti_session_abandon(&conn->session, TI_CHANNEL_CLOSED, &(struct ti_err){"", ""});
    }
}

void ti_conns_hang_up(struct ti_conns *all)
{
    hang_up(all);
    ti_sessions_poll(all->sessions, 0);
}

void ti_conns_free(struct ti_conns *all)
{
    double until = ti_now() + TI_LEAVE_S;

    if (!all)
        return;
    hang_up(all);
    while (all->sessions && ti_now() < until)
        if (ti_sessions_poll(all->sessions, 50) == 0)
            break;
    ti_sessions_free(all->sessions);
    free_list(&all->conns);
    free_list(&all->gone);
    free(all);
}

struct ti_remote *ti_conns_remote(struct ti_conns *all)
{
    return ti_sessions_remote(all->sessions);
}

double ti_conns_clock(const struct ti_conns *all)
{
    return ti_sessions_clock(all->sessions);
}

int ti_conns_poll(struct ti_conns *all, int timeout_ms)
{
    ti__conns_open_waiting(all);
    report_ended(all);
    ti_sessions_poll(all->sessions, timeout_ms);
    ti__conns_check_timeouts(all);
    ti__conns_open_waiting(all);
    report_ended(all);
    if (all->leaving)
        leave_some(all);
    return all->live;
}

const json_t *ti_conn_hello(const struct ti_conn *conn)
{
    return conn->hello;
}

int64_t ti_conn_bytes(const struct ti_conn *conn)
{
    return conn->received - conn->relayed_bytes;
}

int64_t ti_conn_link_bytes(const struct ti_conn *conn)
{
    return conn->received;
}

size_t ti_conn_partial_bytes(const struct ti_conn *conn)
{
    return conn->in.used - conn->in.given;
}

const char *ti_conn_transport(const struct ti_conn *conn)
{
    return conn->transport;
}
