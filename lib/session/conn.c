#include "session/conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/cli.h"
#include "session/frame.h"
#include "common/clock.h"
#include "session/messages.h"
#include "session/paths.h"

#define CONNECT_S   20.0
#define SILENCE_S   30.0 /* minimum for SSH itself: bounds the rate of its keepalives */
#define ANSWER_S    5.0  /* minimum while connecting, which costs the node processor time */
#define CONNECTING  8    /* connections that a relay opens at a time */
#define BEAT_MIN_S  0.5
#define BEAT_MAX_S  5.0
#define LISTEN_S    15.0 /* minimum of a node's own timeout for hearing from us */
#define TELL        4    /* heartbeats that we send in that time */
#define LOOK_MS     250  /* interval of check_timeouts() */
#define STEP_S      0.5  /* most that one round of the loop adds to `clock` */
#define KNOWN_AHEAD 16   /* hosts whose known keys are looked up at a time */
#define LEAVE_S     1.0  /* for ti-nodes to exit by themselves */

/* WAITING: for the lookup of its host keys; OVER: `ended` is still to be called. */
enum state { WAITING, OPENING, READY, OVER, ENDED };

TAILQ_HEAD(conn_list, ti_conn);

struct ti_conn {
    struct ti_conns *all;
    TAILQ_ENTRY(ti_conn) in_all, in_relay, in_waiting, in_over;
    struct ti_conn *relay;    /* NULL: none */
    struct conn_list through; /* connections relayed by this one */
    uint32_t last_stream;     /* given to those */
    uint32_t stream;          /* number at its relay; 0: not requested yet */
    struct ti_conn_callbacks calls;
    void *arg;
    enum state state;
    bool waiting; /* it is in all->waiting */
    char *host, *tiara;
    const char *transport;

    struct ti_channel *channel; /* NULL: relayed, or ended */
    bool has_command;           /* the channel has its command */
    struct ti_bootstrap *bootstrap;
    /* at the last check_timeouts(): bytes queued for the channel, and when it last took some */
    size_t queued;
    double taken;

    struct ti_frame_reader in;
    double heard, ready_at;
    double heard_clock;              /* the same, in all->clock; 0: silence does not count yet */
    double heartbeat_at;             /* when we last sent one, ti_now() */
    double hello_deadline;           /* in all->clock; 0: none */
    int64_t received, relayed_bytes; /* bytes; the latter were for connections through it */

    enum ti_channel_end end; /* OVER */
    bool by_relay;
    struct ti_err *why;
};

struct ti_conns {
    struct ti_conns_config config;
    struct ti_remote_config remote_config;
    struct ti_remote *remote;
    struct ti_payload *payload;
    int payload_fd; /* ti_payload_begin() */
    struct conn_list conns, waiting, over, gone;
    int live;
    double clock;              /* seconds in which we listened */
    double ticked, checked_at; /* ti_now() */
    bool closing;              /* ti_conns_free(): ignore what comes */
};

static void fail(struct ti_conn *conn, enum ti_channel_end end, bool by_relay,
                 const struct ti_err *why);
static void receive(struct ti_conn *conn, const void *data, size_t bytes);

/* --- text ---------------------------------------------------------------- */

/* Text of another machine without control characters, for a terminal. */
static const char *printable(const char *text, char *buf, size_t room)
{
    size_t n = 0;

    for (const unsigned char *p = (const unsigned char *)text; *p && n + 1 < room; p++, n++) {
        bool c1 = n && (unsigned char)buf[n - 1] == 0xc2 && *p < 0xa0;

        buf[n] = *p < ' ' || *p == 0x7f || c1 ? '?' : (char)*p;
    }
    buf[n] = '\0';
    return buf;
}

static void printable_err(struct ti_err *err)
{
    struct ti_err said = *err;

    printable(said.text, err->text, sizeof err->text);
    printable(said.hint, err->hint, sizeof err->hint);
}

static const char *host_name(const struct ti_conn *conn)
{
    return conn->host ? conn->host : "this machine";
}

static void fail_text(struct ti_conn *conn, enum ti_channel_end end, const char *text,
                      const char *hint)
{
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s", text);
    if (hint)
        ti_err_hint(&why, "%s", hint);
    fail(conn, end, false, &why);
}

static void protocol_error(struct ti_conn *conn, const char *what)
{
    char text[256];

    snprintf(text, sizeof text, "what ti-node sends makes no sense: %s", what);
    fail_text(conn, TI_CHANNEL_LOST, text, NULL);
}

static void set_heard(struct ti_conn *conn)
{
    conn->heard = ti_now();
    conn->heard_clock = conn->all->clock;
}

/* --- sending ------------------------------------------------------------- */

static bool send_frame(struct ti_conn *conn, enum ti_frame_type type, uint32_t stream,
                       const void *payload, size_t bytes);

/* Sends bytes to the ti-node's standard input; through a relay in INPUT frames. */
static bool send_bytes(struct ti_conn *conn, const unsigned char *data, size_t bytes)
{
    bool ok = true;

    if (!conn->relay)
        return conn->channel && ti_channel_write(conn->channel, data, bytes);
    if (conn->relay->state != READY)
        return false;
    for (size_t at = 0, piece; ok && at < bytes; at += piece) {
        piece = bytes - at < TI_FRAME_MAX ? bytes - at : TI_FRAME_MAX;
        ok = send_frame(conn->relay, TI_FRAME_INPUT, conn->stream, data + at, piece);
    }
    return ok;
}

static bool send_frame(struct ti_conn *conn, enum ti_frame_type type, uint32_t stream,
                       const void *payload, size_t bytes)
{
    unsigned char *frame = malloc(TI_FRAME_HEADER + bytes);
    bool ok;

    if (!frame)
        return false;
    ti_frame_header(type, stream, payload, (uint32_t)bytes, frame);
    memcpy(frame + TI_FRAME_HEADER, payload, bytes);
    ok = send_bytes(conn, frame, TI_FRAME_HEADER + bytes);
    free(frame);
    return ok;
}

bool ti_conn_request(struct ti_conn *conn, json_t *request)
{
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    size_t bytes = text ? strlen(text) : 0;
    bool ok = text && bytes <= TI_FRAME_MAX && conn->state == READY &&
              send_frame(conn, TI_FRAME_MESSAGE, 0, text, bytes);

    json_decref(request);
    free(text);
    return ok;
}

/* --- the end ------------------------------------------------------------- */

static void send_unreach(struct ti_conn *conn)
{
    if (conn->relay && conn->stream && conn->relay->state == READY)
        ti_conn_request(conn->relay, json_pack("{s:s, s:i, s:I}", "do", "unreach", "id", 0,
                                               "stream", (json_int_t)conn->stream));
}

/* Marks it as ended, and all connections through it.  report_ended() calls `ended`, of the relay
 * first. */
static void fail(struct ti_conn *conn, enum ti_channel_end end, bool by_relay,
                 const struct ti_err *why)
{
    struct ti_conn *child;
    struct ti_err lost;

    if (conn->state >= OVER)
        return;
    send_unreach(conn);
    conn->state = OVER;
    conn->end = end;
    conn->by_relay = by_relay;
    conn->why = malloc(sizeof *conn->why);
    if (conn->why)
        *conn->why = *why;
    TAILQ_INSERT_TAIL(&conn->all->over, conn, in_over);
    if (conn->channel)
        ti_channel_close(conn->channel);
    ti_err_set(&lost, TI_ERR_REMOTE, "lost with its relay '%s': %s", host_name(conn), why->text);
    TAILQ_FOREACH(child, &conn->through, in_relay) fail(child, end, true, by_relay ? why : &lost);
}

static void leave_waiting(struct ti_conn *conn)
{
    if (conn->waiting)
        TAILQ_REMOVE(&conn->all->waiting, conn, in_waiting);
    conn->waiting = false;
}

static void conn_free(struct ti_conn *conn)
{
    ti_frame_reader_free(&conn->in);
    free(conn->bootstrap);
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
            TAILQ_REMOVE(&conn->relay->through, conn, in_relay);
        leave_waiting(conn);
        ti_frame_reader_free(&conn->in); /* not before: its frames may be in use */
        conn->state = ENDED;
        all->live--;
        TAILQ_INSERT_TAIL(&all->gone, conn, in_all);
        if (conn->calls.ended)
            conn->calls.ended(conn, conn->end, conn->by_relay, conn->why ? conn->why : &no_memory,
                              conn->arg);
    }
    for (conn = TAILQ_FIRST(&all->gone); conn; conn = next) {
        next = TAILQ_NEXT(conn, in_all);
        if (conn->channel)
            continue; /* on_ended() is still to come */
        TAILQ_REMOVE(&all->gone, conn, in_all);
        conn_free(conn);
    }
}

void ti_conn_close(struct ti_conn *conn)
{
    struct ti_err why;

    ti_err_set(&why, TI_OK, "the connection to '%s' was closed", host_name(conn));
    fail(conn, TI_CHANNEL_CLOSED, false, &why);
}

/* --- receiving ----------------------------------------------------------- */

static double heartbeat_s(const struct ti_conns *all)
{
    double s = all->config.silence_s / 3;

    return s < BEAT_MIN_S ? BEAT_MIN_S : s > BEAT_MAX_S ? BEAT_MAX_S : s;
}

/* A node's timeout for hearing from us: a broken connection does not always end there. */
static double peer_timeout_s(const struct ti_conns *all)
{
    return all->config.silence_s > LISTEN_S ? all->config.silence_s : LISTEN_S;
}

/* Requests heartbeats from the node; is itself one of ours. */
static bool send_heartbeat(struct ti_conn *conn)
{
    conn->heartbeat_at = ti_now();
    return ti_conn_request(conn, json_pack("{s:s, s:i, s:i, s:i}", "do", "beat", "id", 0,
                                           "every_ms", (int)(heartbeat_s(conn->all) * 1000),
                                           "listen_ms", (int)(peer_timeout_s(conn->all) * 1000)));
}

static void on_hello(struct ti_conn *conn, const struct ti_frame *f)
{
    json_t *hello = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *version = json_string_value(json_object_get(hello, "tiara"));
    json_int_t protocol = json_integer_value(json_object_get(hello, "protocol"));
    char text[256], clean[64];

    snprintf(text, sizeof text, "ti-node there is of Tiara %s, this is %s",
             printable(version ? version : "?", clean, sizeof clean), ti_version());
    json_decref(hello);
    if (conn->ready_at > 0) {
        protocol_error(conn, "it begins again");
        return;
    }
    if (protocol != TI_PROTOCOL) {
        fail_text(conn, TI_CHANNEL_NO_METHOD, text, NULL);
        return;
    }
    conn->state = READY;
    conn->ready_at = ti_now();
    conn->hello_deadline = 0;
    free(conn->bootstrap);
    conn->bootstrap = NULL;
    if (!send_heartbeat(conn))
        fail_text(conn, TI_CHANNEL_LOCAL, "it cannot be asked: out of memory", NULL);
    else if (conn->calls.ready)
        conn->calls.ready(conn, conn->arg);
}

static struct ti_conn *relayed_by_stream(const struct ti_conn *conn, json_int_t stream)
{
    struct ti_conn *child;

    if (stream < 1) /* 0 is of connections that were not requested yet */
        return NULL;
    TAILQ_FOREACH(child, &conn->through, in_relay)
    if (child->stream == stream && child->state < OVER)
        return child;
    return NULL;
}

static enum ti_channel_end end_by_name(const char *name)
{
    static const char *const names[] = {
#define NAME(name, text) #name,
        TI_CHANNEL_ENDS(NAME)
#undef NAME
    };

    for (int i = 0; name && i < TI_CHANNEL_END_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (enum ti_channel_end)i;
    return TI_CHANNEL_LOST;
}

/* The cause in a relay's error text: without the host's name, which we put in front ourselves. */
static const char *strip_host(const char *text, const char *host)
{
    static const char *const begins[] = {"cannot run a command on '", "node '", "'"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t n = strlen(begins[i]), m = strlen(host);

        if (strncmp(text, begins[i], n) == 0 && strncmp(text + n, host, m) == 0 &&
            strncmp(text + n + m, "': ", 3) == 0)
            return text + n + m + 3;
    }
    return text;
}

/* The relay reported the end of `conn`: `m` is {"error", "hint"}. */
static void relay_reported_end(struct ti_conn *conn, enum ti_channel_end end, const json_t *m)
{
    const char *text = json_string_value(json_object_get(m, "error")),
               *hint = json_string_value(json_object_get(m, "hint"));
    char clean[512];
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s '%s' from '%s': %s",
               conn->state == READY ? "lost" : "cannot connect to", host_name(conn),
               host_name(conn->relay),
               text ? printable(strip_host(text, host_name(conn)), clean, sizeof clean)
                    : ti_channel_end_text(end));
    if (hint && *hint)
        ti_err_hint(&why, "on '%s': %s", host_name(conn->relay),
                    printable(hint, clean, sizeof clean));
    conn->stream = 0; /* the relay has forgotten it */
    fail(conn, end, false, &why);
}

/* Timeout for HELLO through a relay.  Ample, for retries, Tiara sent over a slow link, and the
 * connections that the relay opens first: the relay itself reports failures, and this is for one
 * that does not. */
static double hello_timeout_s(const struct ti_conn *conn)
{
    double connect_s = conn->all->config.connect_s > 0 ? conn->all->config.connect_s : CONNECT_S;
    const struct ti_conn *other;
    int ahead = 0;

    TAILQ_FOREACH(other, &conn->relay->through, in_relay) ahead += other->state == OPENING;
    return 10 * (connect_s + conn->all->remote_config.silence_s) * (1 + ahead / CONNECTING);
}

/* Handles messages about connections through `conn`; false: `m` is none. */
static bool is_about_relayed(struct ti_conn *conn, const char *is, const json_t *m)
{
    const json_t *given = json_object_get(m, "id");
    json_int_t stream = json_integer_value(json_object_get(m, "stream")),
               id = given ? json_integer_value(given) : 1;
    struct ti_conn *child;

    if (strcmp(is, "ended") == 0) {
        child = relayed_by_stream(conn, stream);
        if (child)
            relay_reported_end(child, end_by_name(json_string_value(json_object_get(m, "end"))), m);
        else if (stream < 1 || stream > conn->last_stream)
            protocol_error(conn, "the end of what nobody asked for");
        return true;
    }
    if (strcmp(is, "moved") == 0) { /* the relay is sending Tiara to it */
        child = relayed_by_stream(conn, stream);
        if (child && child->hello_deadline > 0)
            child->hello_deadline = conn->all->clock + hello_timeout_s(child);
        return true;
    }
    child = id < 0 ? relayed_by_stream(conn, -id) : NULL;
    if (child && strcmp(is, "error") == 0)
        relay_reported_end(child, TI_CHANNEL_NO_COMMAND, m);
    return id <= 0; /* ours */
}

static void on_message(struct ti_conn *conn, const struct ti_frame *f)
{
    json_t *m = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *is = json_string_value(json_object_get(m, "is"));

    if (!is)
        protocol_error(conn, "a message that is none");
    else if (strcmp(is, "beat") != 0 && !is_about_relayed(conn, is, m) && conn->calls.message)
        conn->calls.message(conn, m, conn->arg);
    json_decref(m);
}

static void on_relayed_output(struct ti_conn *conn, const struct ti_frame *f)
{
    struct ti_conn *child = relayed_by_stream(conn, f->stream);

    conn->relayed_bytes += f->bytes;
    if (child) {
        child->received += f->bytes;
        receive(child, f->payload, f->bytes);
    } else if (!f->stream || f->stream > conn->last_stream) {
        protocol_error(conn, "words of a node that nobody asked for");
    }
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
        on_relayed_output(conn, f);
        break;
    case TI_FRAME_DATA:
        if (conn->calls.data)
            conn->calls.data(conn, f->stream, f->payload, f->bytes, conn->arg);
        break;
    case TI_FRAME_INPUT:
    case TI_FRAME_ERRPUT:
        protocol_error(conn, "a frame that only we send, or that nobody asked for");
        break;
    }
}

/* Until HELLO comes, output does not prove that the node works: login scripts may print forever. */
static void receive(struct ti_conn *conn, const void *data, size_t bytes)
{
    const char *p = data;

    if (conn->in.started)
        set_heard(conn);

    while (conn->state < OVER) {
        struct ti_frame f;
        struct ti_err why;
        size_t used;
        int got;

        if (ti_frame_feed(&conn->in, p, bytes, &used, &f, &got, &why) != TI_OK) {
            fail(conn, TI_CHANNEL_LOST, false, &why);
            return;
        }
        if (!got)
            return;
        p += used;
        bytes -= used;
        set_heard(conn);
        on_frame(conn, &f);
    }
}

/* --- direct connections -------------------------------------------------- */

static void on_ready(struct ti_channel *c, void *arg)
{
    struct ti_conn *conn = arg;

    conn->transport = ti_channel_transport(c);
    set_heard(conn);
}

static void on_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_conn *conn = arg;
    int part;

    conn->received += (int64_t)bytes;
    if (conn->state >= OVER || conn->all->closing)
        return;
    if (!conn->in.started) {
        part = conn->bootstrap->part;
        ti_bootstrap_output(conn->bootstrap, data, bytes);
        if (conn->bootstrap->part != part)
            set_heard(conn); /* it requests our files */
        ti_bootstrap_pump(conn->bootstrap, c);
    }
    receive(conn, data, bytes);
}

static void on_errput(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_conn *conn = arg;
    struct ti_err why = {"", ""};

    (void)c;
    if (conn->in.started)
        set_heard(conn);
    if (!conn->bootstrap || conn->state >= OVER)
        return;
    ti_bootstrap_errput(conn->bootstrap, data, bytes);
    if (ti_bootstrap_noisy(conn->bootstrap, &why))
        fail(conn, TI_CHANNEL_NO_COMMAND, false, &why);
}

static void on_drained(struct ti_channel *c, void *arg)
{
    struct ti_conn *conn = arg;

    if (conn->state < OVER && !conn->in.started) {
        set_heard(conn); /* it took data */
        ti_bootstrap_pump(conn->bootstrap, c);
    }
}

static void on_ended(struct ti_channel *c, const struct ti_channel_result *r, void *arg)
{
    struct ti_conn *conn = arg;
    struct ti_err why = {"", ""};

    (void)c;
    conn->channel = NULL;
    if (conn->state >= OVER)
        return;
    if (!conn->in.started)
        ti_bootstrap_why(conn->bootstrap, NULL, conn->in.noise, r, &why);
    else if (r->err.text[0] && !r->cause[0])
        why = r->err;
    else
        ti_err_set(&why, TI_ERR_REMOTE, "%s%s%s", ti_channel_end_text(r->end),
                   r->cause[0] ? ": " : "", r->cause);
    printable_err(&why);
    fail(conn, r->end, false, &why);
}

/* --- opening ------------------------------------------------------------- */

/* The command for the channel; NULL: `conn` has failed, or the command is not known yet. */
static char *command_of(struct ti_conn *conn)
{
    struct ti_err why;
    char *command = NULL;

    conn->has_command = conn->tiara || ti_payload_known(conn->all->payload);
    if (conn->has_command &&
        ti_bootstrap_command(conn->all->payload, conn->tiara, &command, &why) != TI_OK)
        fail(conn, TI_CHANNEL_LOCAL, false, &why);
    return command;
}

/* The payload's checksum is known, or it is packed: continue the connections that wait for it. */
static void on_payload_known(int fd, void *arg)
{
    struct ti_conns *all = arg;
    struct ti_conn *conn;

    (void)fd;
    ti_payload_collect(all->payload);
    TAILQ_FOREACH(conn, &all->conns, in_all)
    {
        char *command;

        if (!conn->channel || !conn->bootstrap || conn->state >= OVER)
            continue;
        if (conn->has_command) {
            ti_bootstrap_pump(conn->bootstrap, conn->channel);
            continue;
        }
        command = command_of(conn);
        if (command && !ti_channel_command(conn->channel, command))
            fail_text(conn, TI_CHANNEL_LOCAL, "out of memory", NULL);
        free(command);
    }
}

static void open_direct(struct ti_conn *conn, const char *gateway, bool local)
{
    static const struct ti_channel_callbacks calls = {.ready = on_ready,
                                                      .output = on_output,
                                                      .errput = on_errput,
                                                      .drained = on_drained,
                                                      .ended = on_ended};
    char *command = command_of(conn);

    if (conn->state >= OVER)
        return;
    conn->bootstrap->payload = conn->all->payload;
    conn->state = OPENING;
    conn->channel =
        local ? ti_remote_local(conn->all->remote, command, &calls, conn)
              : ti_remote_run(conn->all->remote, conn->host, gateway, command, &calls, conn);
    free(command);
    if (!conn->channel)
        fail_text(conn, TI_CHANNEL_LOCAL, "out of memory", NULL);
}

/* The lines of a text as a JSON list; overwrites `lines`. */
static json_t *lines_json(char *lines)
{
    json_t *list = json_array();
    char *rest = NULL;

    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        json_array_append_new(list, json_string(line));
    return list;
}

static void open_relayed(struct ti_conn *conn, char *known)
{
    struct ti_conns *all = conn->all;

    conn->state = OPENING;
    conn->hello_deadline = all->clock + hello_timeout_s(conn);
    conn->stream = ++conn->relay->last_stream;
    if (!ti_conn_request(
            conn->relay,
            json_pack("{s:s, s:I, s:I, s:s, s:s?, s:o, s:b, s:f, s:f, s:f}", "do", "reach", "id",
                      -(json_int_t)conn->stream, "stream", (json_int_t)conn->stream, "host",
                      conn->host, "tiara", conn->tiara, "known", lines_json(known), "forward_agent",
                      all->config.forward_agent, "connect_s",
                      all->config.connect_s > 0 ? all->config.connect_s : CONNECT_S, "answer_s",
                      all->remote_config.answer_s, "silence_s", all->remote_config.silence_s)))
        fail_text(conn, TI_CHANNEL_LOCAL, "its relay cannot be asked: out of memory", NULL);
}

/* Opens the relayed connections whose host keys were looked up. */
static void open_waiting(struct ti_conns *all)
{
    struct ti_conn *conn, *next;
    int ahead = 0;

    for (conn = TAILQ_FIRST(&all->waiting); conn && ahead < KNOWN_AHEAD; conn = next) {
        char *lines = NULL;

        next = TAILQ_NEXT(conn, in_waiting);
        if (conn->state == WAITING && !ti_remote_known(all->remote, conn->host, &lines)) {
            ahead++;
            continue;
        }
        leave_waiting(conn);
        if (conn->state == WAITING && lines)
            open_relayed(conn, lines);
        else
            fail_text(conn, TI_CHANNEL_LOCAL, "out of memory", NULL);
        free(lines);
    }
}

void ti_conn_prefetch(struct ti_conns *all, const char *host)
{
    ti_remote_prefetch(all->remote, host);
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
    conn->bootstrap = through ? NULL : calloc(1, sizeof *conn->bootstrap);
    if ((host && !conn->host) || (tiara && !conn->tiara) || (!through && !conn->bootstrap)) {
        conn_free(conn);
        return NULL;
    }
    conn->all = all;
    conn->transport = through ? "relay" : "";
    conn->calls = *calls;
    conn->arg = arg;
    TAILQ_INIT(&conn->through);
    TAILQ_INSERT_TAIL(&all->conns, conn, in_all);
    all->live++;
    if (!through) {
        open_direct(conn, gateway, local);
    } else if (through->state != READY) {
        struct ti_err why;

        ti_err_set(&why, TI_ERR_REMOTE, "lost with its relay '%s'", host_name(through));
        fail(conn, TI_CHANNEL_LOST, true, &why);
    } else {
        conn->relay = through;
        TAILQ_INSERT_TAIL(&through->through, conn, in_relay);
        TAILQ_INSERT_TAIL(&all->waiting, conn, in_waiting);
        conn->waiting = true;
    }
    return conn;
}

/* --- silence ------------------------------------------------------------- */

static void fail_silent(struct ti_conn *conn)
{
    struct ti_err why;
    char from[300] = "";

    if (conn->relay)
        snprintf(from, sizeof from, " by way of '%s'", host_name(conn->relay));
    ti_err_set(
        &why, TI_ERR_REMOTE, "'%s' said nothing%s for %.3g s: it hangs, or the network %s is down",
        host_name(conn), from, conn->all->config.silence_s, conn->relay ? "between them" : "to it");
    ti_err_hint(&why, "--timeout waits longer");
    fail(conn, TI_CHANNEL_SILENT, false, &why);
}

/* If a relay and nodes behind it are silent, the relay is the cause.  So a relayed connection is
 * silent only if its relay was heard after the timeout. */
static bool is_silent(struct ti_conn *conn)
{
    double over = conn->heard_clock + conn->all->config.silence_s;

    if (conn->heard_clock == 0 || conn->all->clock < over)
        return false;
    return !conn->relay || (conn->state == READY && conn->relay->heard_clock > over);
}

static bool is_installing(const struct ti_conn *conn)
{
    return conn->state < OVER && conn->channel && conn->bootstrap && conn->bootstrap->part &&
           conn->heard_clock > 0;
}

/* True if data for it left us, was taken there, or waits for us. */
static bool install_moved(struct ti_conn *conn)
{
    size_t queued = ti_channel_queued(conn->channel);
    double taken = ti_channel_taken_at(conn->channel);
    bool moved =
        queued != conn->queued || taken != conn->taken || ti_bootstrap_waits(conn->bootstrap);

    conn->queued = queued;
    conn->taken = taken;
    return moved;
}

/* Ends silent connections and sends heartbeats.  While Tiara is sent to several nodes, progress of
 * one counts for all: the others may wait for the link that they share. */
static void check_timeouts(struct ti_conns *all)
{
    bool moves = false;
    struct ti_conn *conn;

    if (all->ticked - all->checked_at < LOOK_MS / 2e3) /* the list is long */
        return;
    all->checked_at = all->ticked;
    TAILQ_FOREACH(conn, &all->conns, in_all)
    if (is_installing(conn))
        moves = install_moved(conn) || moves;
    TAILQ_FOREACH(conn, &all->conns, in_all)
    {
        if (conn->state >= OVER)
            continue;
        if (moves && is_installing(conn))
            set_heard(conn);
        if (conn->hello_deadline > 0 && all->clock > conn->hello_deadline)
            fail_text(conn, TI_CHANNEL_TIMED_OUT,
                      "its relay does not say whether it connects to it", NULL);
        else if (is_silent(conn))
            fail_silent(conn);
        else if (conn->state == READY &&
                 all->ticked > conn->heartbeat_at + peer_timeout_s(all) / TELL)
            send_heartbeat(conn);
    }
}

/* Time in which we did not listen does not count as silence of nodes. */
static void tick(struct ti_conns *all)
{
    double now = ti_now(), passed = now - all->ticked;

    all->clock += passed < STEP_S ? passed : STEP_S;
    all->ticked = now;
}

/* --- all of them --------------------------------------------------------- */

ti_status ti_conns_new(const struct ti_conns_config *config, struct ti_conns **out,
                       struct ti_err *err)
{
    struct ti_conns *all = calloc(1, sizeof *all);
    static struct ti_paths paths;
    ti_status st;

    if (!all)
        return ti_err_errno(err, TI_ERR_IO, "cannot prepare connections");
    all->config = *config;
    if (all->config.silence_s <= 0)
        all->config.silence_s = SILENCE_S;
    all->remote_config = (struct ti_remote_config){
        .transport = config->transport,
        .ssh_config = config->ssh_config,
        .via = config->via,
        .connect_s = config->connect_s,
        .answer_s = all->config.silence_s < ANSWER_S ? ANSWER_S : all->config.silence_s,
        .silence_s = all->config.silence_s < SILENCE_S ? SILENCE_S : all->config.silence_s,
        .forward_agent = config->forward_agent};
    TAILQ_INIT(&all->conns);
    TAILQ_INIT(&all->waiting);
    TAILQ_INIT(&all->over);
    TAILQ_INIT(&all->gone);
    all->clock = 1; /* 0 means never */
    all->ticked = ti_now();
    st = ti_paths_find(&paths, err);
    if (st == TI_OK)
        st = ti_payload_new(&paths, &all->payload, err);
    if (st == TI_OK)
        all->payload_fd = ti_payload_begin(all->payload);
    if (st == TI_OK)
        st = ti_remote_new(&all->remote_config, &all->remote, err);
    if (st == TI_OK && (all->payload_fd < 0 ||
                        !ti_remote_add_fd(all->remote, all->payload_fd, on_payload_known, all)))
        st = ti_err_errno(err, TI_ERR_IO, "cannot prepare what nodes are sent");
    if (st != TI_OK) {
        ti_conns_free(all);
        return st;
    }
    *out = all;
    return TI_OK;
}

static void free_list(struct conn_list *list)
{
    struct ti_conn *conn;

    while ((conn = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, conn, in_all);
        conn_free(conn);
    }
}

void ti_conns_free(struct ti_conns *all)
{
    double until = ti_now() + LEAVE_S;
    struct ti_conn *conn;

    if (!all)
        return;
    all->closing = true;
    TAILQ_FOREACH(conn, &all->conns, in_all)
    if (conn->channel && conn->state == READY)
        ti_channel_eof(conn->channel);
    else if (conn->channel)
        ti_channel_close(conn->channel);
    while (all->remote && ti_now() < until)
        if (ti_remote_poll(all->remote, 50) == 0)
            break;
    ti_remote_free(all->remote);
    ti_payload_free(all->payload);
    free_list(&all->conns);
    free_list(&all->gone);
    free(all);
}

int ti_conns_poll(struct ti_conns *all, int timeout_ms)
{
    open_waiting(all);
    report_ended(all);
    if (timeout_ms < 0 || timeout_ms > LOOK_MS)
        timeout_ms = LOOK_MS;
    tick(all);
    ti_remote_poll(all->remote, timeout_ms);
    tick(all);
    check_timeouts(all);
    open_waiting(all);
    report_ended(all);
    return all->live;
}

bool ti_conn_ready(const struct ti_conn *conn)
{
    return conn->state == READY;
}

double ti_conn_heard_at(const struct ti_conn *conn)
{
    return conn->heard;
}

double ti_conn_ready_at(const struct ti_conn *conn)
{
    return conn->ready_at;
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
