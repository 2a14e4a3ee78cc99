#include "gather/conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/cli.h"
#include "node/frame.h"
#include "node/launch.h"
#include "node/messages.h"
#include "node/paths.h"

#define CONNECT_S   20.0
#define SILENCE_S   30.0 /* of a connection: keepalives are not sent more often than that needs */
#define ANSWER_S    5.0  /* while one is being connected, which costs its processor, the same */
#define CONNECTING  8    /* by a relay, at a time */
#define BEAT_MIN_S  0.5
#define BEAT_MAX_S  5.0
#define LISTEN_S    15.0 /* nodes wait for us as long as we for them, and no less than this */
#define TELL        4    /* so many times meanwhile they hear from us */
#define LOOK_MS     250 /* how often the silent are looked for */
#define STEP_S      0.5 /* that one round of the loop may count as time in which we listened */
#define KNOWN_AHEAD 16  /* hosts whose known keys are asked for at a time */
#define LEAVE_S     1.0 /* for those that are left to end by themselves */

/* WAITING: for what is known here of its host key; OVER: `ended` is to be called. */
enum state { WAITING, OPENING, READY, OVER, ENDED };

TAILQ_HEAD(way_list, ti_conn);

struct ti_conn {
    struct ti_conns *all;
    TAILQ_ENTRY(ti_conn) in_all, in_relay, in_waiting, in_over;
    struct ti_conn *relay; /* NULL: none */
    struct way_list through;
    uint32_t last_stream; /* of those through it */
    uint32_t stream;      /* in the relay's; 0: not asked for */
    struct ti_conn_callbacks calls;
    void *arg;
    enum state state;
    bool waiting; /* is in that list */
    char *host, *tiara;
    const char *transport;

    struct ti_channel *channel; /* a direct one's */
    bool commanded;             /* what is to be executed there is known */
    struct ti_bootstrap *bootstrap;
    size_t queued; /* when it was last looked at ... */
    double taken;  /* ... and when something was taken of it */

    struct ti_frame_reader in;
    double heard, ready_at;
    double heard_clock; /* the same, in all->clock; 0: silence does not count yet */
    double told;        /* when it last heard from us that we are there, ti_now() */
    double limit;       /* for HELLO, in all->clock; 0: none */
    int64_t came, passed;

    enum ti_channel_end end; /* OVER */
    bool by_relay;
    struct ti_err *why;
};

struct ti_conns {
    struct ti_conns_config config;
    struct ti_remote_config remote_config;
    struct ti_remote *remote;
    struct ti_payload *payload;
    int payload_fd; /* ti_payload_defer() */
    struct way_list ways, waiting, over, gone;
    int live;
    double clock;          /* seconds in which we listened */
    double ticked, looked; /* ti_now() */
    bool mute;
};

static void fail(struct ti_conn *w, enum ti_channel_end end, bool by_relay,
                 const struct ti_err *why);
static void feed(struct ti_conn *w, const void *data, size_t bytes);

/* --- words --------------------------------------------------------------- */

/* What another machine says, for a terminal. */
static const char *plain(const char *text, char *buf, size_t room)
{
    size_t n = 0;

    for (const unsigned char *p = (const unsigned char *)text; *p && n + 1 < room; p++, n++) {
        bool c1 = n && (unsigned char)buf[n - 1] == 0xc2 && *p < 0xa0;

        buf[n] = *p < ' ' || *p == 0x7f || c1 ? '?' : (char)*p;
    }
    buf[n] = '\0';
    return buf;
}

static void plain_err(struct ti_err *err)
{
    struct ti_err said = *err;

    plain(said.text, err->text, sizeof err->text);
    plain(said.hint, err->hint, sizeof err->hint);
}

static const char *name_of(const struct ti_conn *w)
{
    return w->host ? w->host : "this machine";
}

static void fail_text(struct ti_conn *w, enum ti_channel_end end, const char *text,
                      const char *hint)
{
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s", text);
    if (hint)
        ti_err_hint(&why, "%s", hint);
    fail(w, end, false, &why);
}

static void makes_no_sense(struct ti_conn *w, const char *what)
{
    char text[256];

    snprintf(text, sizeof text, "what ti-node sends makes no sense: %s", what);
    fail_text(w, TI_CHANNEL_LOST, text, NULL);
}

static void heard(struct ti_conn *w)
{
    w->heard = ti_now();
    w->heard_clock = w->all->clock;
}

/* --- saying -------------------------------------------------------------- */

static bool say(struct ti_conn *w, enum ti_frame_type type, uint32_t stream, const void *payload,
                size_t bytes);

/* Bytes for its standard input; through a relay, in frames to that. */
static bool put(struct ti_conn *w, const unsigned char *data, size_t bytes)
{
    bool ok = true;

    if (!w->relay)
        return w->channel && ti_channel_write(w->channel, data, bytes);
    if (w->relay->state != READY)
        return false;
    for (size_t at = 0, piece; ok && at < bytes; at += piece) {
        piece = bytes - at < TI_FRAME_MAX ? bytes - at : TI_FRAME_MAX;
        ok = say(w->relay, TI_FRAME_INPUT, w->stream, data + at, piece);
    }
    return ok;
}

static bool say(struct ti_conn *w, enum ti_frame_type type, uint32_t stream, const void *payload,
                size_t bytes)
{
    unsigned char *frame = malloc(TI_FRAME_HEADER + bytes);
    bool ok;

    if (!frame)
        return false;
    ti_frame_header(type, stream, payload, (uint32_t)bytes, frame);
    memcpy(frame + TI_FRAME_HEADER, payload, bytes);
    ok = put(w, frame, TI_FRAME_HEADER + bytes);
    free(frame);
    return ok;
}

bool ti_conn_request(struct ti_conn *w, json_t *request)
{
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    size_t bytes = text ? strlen(text) : 0;
    bool ok = text && bytes <= TI_FRAME_MAX && w->state == READY &&
              say(w, TI_FRAME_MESSAGE, 0, text, bytes);

    json_decref(request);
    free(text);
    return ok;
}

/* --- the end ------------------------------------------------------------- */

static void unreach(struct ti_conn *w)
{
    if (w->relay && w->stream && w->relay->state == READY)
        ti_conn_request(w->relay, json_pack("{s:s, s:i, s:I}", "do", "unreach", "id", 0, "stream",
                                            (json_int_t)w->stream));
}

/* All of them hear of it from the next sweep(), the relay before those through it. */
static void fail(struct ti_conn *w, enum ti_channel_end end, bool by_relay,
                 const struct ti_err *why)
{
    struct ti_conn *child;
    struct ti_err lost;

    if (w->state >= OVER)
        return;
    unreach(w);
    w->state = OVER;
    w->end = end;
    w->by_relay = by_relay;
    w->why = malloc(sizeof *w->why);
    if (w->why)
        *w->why = *why;
    TAILQ_INSERT_TAIL(&w->all->over, w, in_over);
    if (w->channel)
        ti_channel_close(w->channel);
    ti_err_set(&lost, TI_ERR_REMOTE, "lost with its relay '%s': %s", name_of(w), why->text);
    TAILQ_FOREACH(child, &w->through, in_relay) fail(child, end, true, by_relay ? why : &lost);
}

static void not_waiting(struct ti_conn *w)
{
    if (w->waiting)
        TAILQ_REMOVE(&w->all->waiting, w, in_waiting);
    w->waiting = false;
}

static void way_free(struct ti_conn *w)
{
    ti_frame_reader_free(&w->in);
    free(w->bootstrap);
    free(w->why);
    free(w->host);
    free(w->tiara);
    free(w);
}

/* Tell of those that are over. */
static void sweep(struct ti_conns *all)
{
    static const struct ti_err no_memory = {"out of memory", ""};
    struct ti_conn *w, *next;

    while ((w = TAILQ_FIRST(&all->over)) != NULL) {
        TAILQ_REMOVE(&all->over, w, in_over);
        TAILQ_REMOVE(&all->ways, w, in_all);
        if (w->relay)
            TAILQ_REMOVE(&w->relay->through, w, in_relay);
        not_waiting(w);
        ti_frame_reader_free(&w->in); /* not before: frames of it are being looked at */
        w->state = ENDED;
        all->live--;
        TAILQ_INSERT_TAIL(&all->gone, w, in_all);
        if (w->calls.ended)
            w->calls.ended(w, w->end, w->by_relay, w->why ? w->why : &no_memory, w->arg);
    }
    for (w = TAILQ_FIRST(&all->gone); w; w = next) {
        next = TAILQ_NEXT(w, in_all);
        if (w->channel)
            continue; /* it says once more that it is gone */
        TAILQ_REMOVE(&all->gone, w, in_all);
        way_free(w);
    }
}

void ti_conn_close(struct ti_conn *w)
{
    struct ti_err why;

    ti_err_set(&why, TI_OK, "the connection to '%s' was closed", name_of(w));
    fail(w, TI_CHANNEL_CLOSED, false, &why);
}

/* --- what it says -------------------------------------------------------- */

static double beat_s(const struct ti_conns *all)
{
    double s = all->config.silence_s / 3;

    return s < BEAT_MIN_S ? BEAT_MIN_S : s > BEAT_MAX_S ? BEAT_MAX_S : s;
}

/* How long a node waits for a word from us: a connection that was cut does not always end there. */
static double listen_s(const struct ti_conns *all)
{
    return all->config.silence_s > LISTEN_S ? all->config.silence_s : LISTEN_S;
}

/* That it is to say something now and then, and that we are there. */
static bool ask_beat(struct ti_conn *w)
{
    w->told = ti_now();
    return ti_conn_request(w, json_pack("{s:s, s:i, s:i, s:i}", "do", "beat", "id", 0, "every_ms",
                                        (int)(beat_s(w->all) * 1000), "listen_ms",
                                        (int)(listen_s(w->all) * 1000)));
}

static void take_hello(struct ti_conn *w, const struct ti_frame *f)
{
    json_t *hello = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *version = json_string_value(json_object_get(hello, "tiara"));
    json_int_t protocol = json_integer_value(json_object_get(hello, "protocol"));
    char text[256], clean[64];

    snprintf(text, sizeof text, "ti-node there is of Tiara %s, this is %s",
             plain(version ? version : "?", clean, sizeof clean), ti_version());
    json_decref(hello);
    if (w->ready_at > 0) {
        makes_no_sense(w, "it begins again");
        return;
    }
    if (protocol != TI_PROTOCOL) {
        fail_text(w, TI_CHANNEL_NO_METHOD, text, NULL);
        return;
    }
    w->state = READY;
    w->ready_at = ti_now();
    w->limit = 0;
    free(w->bootstrap);
    w->bootstrap = NULL;
    if (!ask_beat(w))
        fail_text(w, TI_CHANNEL_LOCAL, "it cannot be asked: out of memory", NULL);
    else if (w->calls.ready)
        w->calls.ready(w, w->arg);
}

static struct ti_conn *on_stream(const struct ti_conn *w, json_int_t stream)
{
    struct ti_conn *child;

    if (stream < 1) /* those that are not asked for yet have 0 */
        return NULL;
    TAILQ_FOREACH(child, &w->through, in_relay)
    if (child->stream == stream && child->state < OVER)
        return child;
    return NULL;
}

static enum ti_channel_end end_named(const char *name)
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

/* A relay's sentence names the host as we do ourselves: what follows is the cause. */
static const char *cause_in(const char *text, const char *host)
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

/* `m` is what its relay says of it: {"error", "hint"}. */
static void failed_there(struct ti_conn *w, enum ti_channel_end end, const json_t *m)
{
    const char *text = json_string_value(json_object_get(m, "error")),
               *hint = json_string_value(json_object_get(m, "hint"));
    char clean[512];
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s '%s' from '%s': %s",
               w->state == READY ? "lost" : "cannot connect to", name_of(w), name_of(w->relay),
               text ? plain(cause_in(text, name_of(w)), clean, sizeof clean)
                    : ti_channel_end_text(end));
    if (hint && *hint)
        ti_err_hint(&why, "on '%s': %s", name_of(w->relay), plain(hint, clean, sizeof clean));
    w->stream = 0; /* the relay has forgotten it */
    fail(w, end, false, &why);
}

/* How long a relay may take until the child says HELLO, more than enough: its tries, Tiara
 * sent over a slow link, and those that it begins before.  It is the relay that says why a
 * connection fails; this is for one that does not. */
static double patience(const struct ti_conn *w)
{
    double connect_s = w->all->config.connect_s > 0 ? w->all->config.connect_s : CONNECT_S;
    const struct ti_conn *other;
    int ahead = 0;

    TAILQ_FOREACH(other, &w->relay->through, in_relay) ahead += other->state == OPENING;
    return 10 * (connect_s + w->all->remote_config.silence_s) * (1 + ahead / CONNECTING);
}

/* False: not about one of those through it. */
static bool about_another(struct ti_conn *w, const char *is, const json_t *m)
{
    const json_t *given = json_object_get(m, "id");
    json_int_t stream = json_integer_value(json_object_get(m, "stream")),
               id = given ? json_integer_value(given) : 1;
    struct ti_conn *child;

    if (strcmp(is, "ended") == 0) {
        child = on_stream(w, stream);
        if (child)
            failed_there(child, end_named(json_string_value(json_object_get(m, "end"))), m);
        else if (stream < 1 || stream > w->last_stream)
            makes_no_sense(w, "the end of what nobody asked for");
        return true;
    }
    if (strcmp(is, "moved") == 0) { /* Tiara is being sent to it */
        child = on_stream(w, stream);
        if (child && child->limit > 0)
            child->limit = w->all->clock + patience(child);
        return true;
    }
    child = id < 0 ? on_stream(w, -id) : NULL;
    if (child && strcmp(is, "error") == 0)
        failed_there(child, TI_CHANNEL_NO_COMMAND, m);
    return id <= 0; /* ours */
}

static void take_message(struct ti_conn *w, const struct ti_frame *f)
{
    json_t *m = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *is = json_string_value(json_object_get(m, "is"));

    if (!is)
        makes_no_sense(w, "a message that is none");
    else if (strcmp(is, "beat") != 0 && !about_another(w, is, m) && w->calls.message)
        w->calls.message(w, m, w->arg);
    json_decref(m);
}

static void take_output(struct ti_conn *w, const struct ti_frame *f)
{
    struct ti_conn *child = on_stream(w, f->stream);

    w->passed += f->bytes;
    if (child) {
        child->came += f->bytes;
        feed(child, f->payload, f->bytes);
    } else if (!f->stream || f->stream > w->last_stream) {
        makes_no_sense(w, "words of a node that nobody asked for");
    }
}

static void take_frame(struct ti_conn *w, const struct ti_frame *f)
{
    switch (f->type) {
    case TI_FRAME_HELLO:
        take_hello(w, f);
        break;
    case TI_FRAME_MESSAGE:
        take_message(w, f);
        break;
    case TI_FRAME_OUTPUT:
        take_output(w, f);
        break;
    case TI_FRAME_DATA:
        if (w->calls.data)
            w->calls.data(w, f->stream, f->payload, f->bytes, w->arg);
        break;
    case TI_FRAME_INPUT:
    case TI_FRAME_ERRPUT:
        makes_no_sense(w, "a frame that only we send, or that nobody asked for");
        break;
    }
}

/* Until HELLO comes, nothing else is a sign of life: login scripts may print dots for ever. */
static void feed(struct ti_conn *w, const void *data, size_t bytes)
{
    const char *p = data;

    if (w->in.started)
        heard(w);

    while (w->state < OVER) {
        struct ti_frame f;
        struct ti_err why;
        size_t used;
        int got;

        if (ti_frame_feed(&w->in, p, bytes, &used, &f, &got, &why) != TI_OK) {
            fail(w, TI_CHANNEL_LOST, false, &why);
            return;
        }
        if (!got)
            return;
        p += used;
        bytes -= used;
        heard(w);
        take_frame(w, &f);
    }
}

/* --- a channel of ours --------------------------------------------------- */

static void on_ready(struct ti_channel *c, void *arg)
{
    struct ti_conn *w = arg;

    w->transport = ti_channel_transport(c);
    heard(w);
}

static void on_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_conn *w = arg;
    int part;

    w->came += (int64_t)bytes;
    if (w->state >= OVER || w->all->mute)
        return;
    if (!w->in.started) {
        part = w->bootstrap->part;
        ti_bootstrap_output(w->bootstrap, data, bytes);
        if (w->bootstrap->part != part)
            heard(w); /* it asks for our files */
        ti_bootstrap_pump(w->bootstrap, c);
    }
    feed(w, data, bytes);
}

static void on_errput(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct ti_conn *w = arg;
    struct ti_err why = {"", ""};

    (void)c;
    if (w->in.started)
        heard(w);
    if (!w->bootstrap || w->state >= OVER)
        return;
    ti_bootstrap_errput(w->bootstrap, data, bytes);
    if (ti_bootstrap_noisy(w->bootstrap, &why))
        fail(w, TI_CHANNEL_NO_COMMAND, false, &why);
}

static void on_drained(struct ti_channel *c, void *arg)
{
    struct ti_conn *w = arg;

    if (w->state < OVER && !w->in.started) {
        heard(w); /* it took something */
        ti_bootstrap_pump(w->bootstrap, c);
    }
}

static void on_ended(struct ti_channel *c, const struct ti_channel_result *r, void *arg)
{
    struct ti_conn *w = arg;
    struct ti_err why = {"", ""};

    (void)c;
    w->channel = NULL;
    if (w->state >= OVER)
        return;
    if (!w->in.started)
        ti_bootstrap_why(w->bootstrap, NULL, w->in.noise, r, &why);
    else if (r->err.text[0] && !r->cause[0])
        why = r->err;
    else
        ti_err_set(&why, TI_ERR_REMOTE, "%s%s%s", ti_channel_end_text(r->end),
                   r->cause[0] ? ": " : "", r->cause);
    plain_err(&why);
    fail(w, r->end, false, &why);
}

/* --- opening ------------------------------------------------------------- */

/* NULL: `w` has failed, or is still to get it. */
static char *command_of(struct ti_conn *w)
{
    struct ti_err why;
    char *command = NULL;

    w->commanded = w->tiara || ti_payload_known(w->all->payload);
    if (w->commanded && ti_bootstrap_command(w->all->payload, w->tiara, &command, &why) != TI_OK)
        fail(w, TI_CHANNEL_LOCAL, false, &why);
    return command;
}

/* Its checksum is known, or it is packed: who waited for that goes on. */
static void payload_done(int fd, void *arg)
{
    struct ti_conns *all = arg;
    struct ti_conn *w;

    (void)fd;
    ti_payload_settle(all->payload);
    TAILQ_FOREACH(w, &all->ways, in_all)
    {
        char *command;

        if (!w->channel || !w->bootstrap || w->state >= OVER)
            continue;
        if (w->commanded) {
            ti_bootstrap_pump(w->bootstrap, w->channel);
            continue;
        }
        command = command_of(w);
        if (command && !ti_channel_command(w->channel, command))
            fail_text(w, TI_CHANNEL_LOCAL, "out of memory", NULL);
        free(command);
    }
}

static void open_direct(struct ti_conn *w, const char *gateway, bool local)
{
    static const struct ti_channel_callbacks calls = {.ready = on_ready,
                                                      .output = on_output,
                                                      .errput = on_errput,
                                                      .drained = on_drained,
                                                      .ended = on_ended};
    char *command = command_of(w);

    if (w->state >= OVER)
        return;
    w->bootstrap->payload = w->all->payload;
    w->state = OPENING;
    w->channel = local ? ti_remote_local(w->all->remote, command, &calls, w)
                       : ti_remote_run(w->all->remote, w->host, gateway, command, &calls, w);
    free(command);
    if (!w->channel)
        fail_text(w, TI_CHANNEL_LOCAL, "out of memory", NULL);
}

/* `lines`, newlines between them, as a list. */
static json_t *list_of(char *lines)
{
    json_t *list = json_array();
    char *rest = NULL;

    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        json_array_append_new(list, json_string(line));
    return list;
}

static void open_through(struct ti_conn *w, char *known)
{
    struct ti_conns *all = w->all;

    w->state = OPENING;
    w->limit = all->clock + patience(w);
    w->stream = ++w->relay->last_stream;
    if (!ti_conn_request(
            w->relay,
            json_pack("{s:s, s:I, s:I, s:s, s:s?, s:o, s:b, s:f, s:f, s:f}", "do", "reach", "id",
                      -(json_int_t)w->stream, "stream", (json_int_t)w->stream, "host", w->host,
                      "tiara", w->tiara, "known", list_of(known), "forward_agent",
                      all->config.forward_agent, "connect_s",
                      all->config.connect_s > 0 ? all->config.connect_s : CONNECT_S, "answer_s",
                      all->remote_config.answer_s, "silence_s", all->remote_config.silence_s)))
        fail_text(w, TI_CHANNEL_LOCAL, "its relay cannot be asked: out of memory", NULL);
}

/* Those whose host keys have been looked up meanwhile. */
static void open_waiting(struct ti_conns *all)
{
    struct ti_conn *w, *next;
    int ahead = 0;

    for (w = TAILQ_FIRST(&all->waiting); w && ahead < KNOWN_AHEAD; w = next) {
        char *lines = NULL;

        next = TAILQ_NEXT(w, in_waiting);
        if (w->state == WAITING && !ti_remote_known(all->remote, w->host, &lines)) {
            ahead++;
            continue;
        }
        not_waiting(w);
        if (w->state == WAITING && lines)
            open_through(w, lines);
        else
            fail_text(w, TI_CHANNEL_LOCAL, "out of memory", NULL);
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
    struct ti_conn *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->host = host ? strdup(host) : NULL;
    w->tiara = tiara ? strdup(tiara) : NULL;
    w->bootstrap = through ? NULL : calloc(1, sizeof *w->bootstrap);
    if ((host && !w->host) || (tiara && !w->tiara) || (!through && !w->bootstrap)) {
        way_free(w);
        return NULL;
    }
    w->all = all;
    w->transport = through ? "relay" : "";
    w->calls = *calls;
    w->arg = arg;
    TAILQ_INIT(&w->through);
    TAILQ_INSERT_TAIL(&all->ways, w, in_all);
    all->live++;
    if (!through) {
        open_direct(w, gateway, local);
    } else if (through->state != READY) {
        struct ti_err why;

        ti_err_set(&why, TI_ERR_REMOTE, "lost with its relay '%s'", name_of(through));
        fail(w, TI_CHANNEL_LOST, true, &why);
    } else {
        w->relay = through;
        TAILQ_INSERT_TAIL(&through->through, w, in_relay);
        TAILQ_INSERT_TAIL(&all->waiting, w, in_waiting);
        w->waiting = true;
    }
    return w;
}

/* --- silence ------------------------------------------------------------- */

static void blame(struct ti_conn *w)
{
    struct ti_err why;
    char from[300] = "";

    if (w->relay)
        snprintf(from, sizeof from, " by way of '%s'", name_of(w->relay));
    ti_err_set(&why, TI_ERR_REMOTE,
               "'%s' said nothing%s for %.3g s: it hangs, or the network %s is down", name_of(w),
               from, w->all->config.silence_s, w->relay ? "between them" : "to it");
    ti_err_hint(&why, "--timeout waits longer");
    fail(w, TI_CHANNEL_SILENT, false, &why);
}

/* Of a relay and those through it that are silent, the relay is the cause: they only count
 * once it was heard again after their time was over. */
static bool is_silent(struct ti_conn *w)
{
    double over = w->heard_clock + w->all->config.silence_s;

    if (w->heard_clock == 0 || w->all->clock < over)
        return false;
    return !w->relay || (w->state == READY && w->relay->heard_clock > over);
}

static bool is_being_sent(const struct ti_conn *w)
{
    return w->state < OVER && w->channel && w->bootstrap && w->bootstrap->part &&
           w->heard_clock > 0;
}

/* What it is sent leaves us, or is taken there, or waits for us. */
static bool has_moved(struct ti_conn *w)
{
    size_t queued = ti_channel_queued(w->channel);
    double taken = ti_channel_taken_at(w->channel);
    bool moved = queued != w->queued || taken != w->taken || ti_bootstrap_waits(w->bootstrap);

    w->queued = queued;
    w->taken = taken;
    return moved;
}

/* What one of those that are sent Tiara takes is a sign of life of all: the others may only wait
 * for the link that they share. */
static void look_for_the_silent(struct ti_conns *all)
{
    bool moves = false;
    struct ti_conn *w;

    if (all->ticked - all->looked < LOOK_MS / 2e3) /* there are many */
        return;
    all->looked = all->ticked;
    TAILQ_FOREACH(w, &all->ways, in_all) if (is_being_sent(w)) moves = has_moved(w) || moves;
    TAILQ_FOREACH(w, &all->ways, in_all)
    {
        if (w->state >= OVER)
            continue;
        if (moves && is_being_sent(w))
            heard(w);
        if (w->limit > 0 && all->clock > w->limit)
            fail_text(w, TI_CHANNEL_TIMED_OUT, "its relay does not say whether it connects to it",
                      NULL);
        else if (is_silent(w))
            blame(w);
        else if (w->state == READY && all->ticked > w->told + listen_s(all) / TELL)
            ask_beat(w);
    }
}

/* Time that we spent otherwise does not count as silence of others. */
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
    TAILQ_INIT(&all->ways);
    TAILQ_INIT(&all->waiting);
    TAILQ_INIT(&all->over);
    TAILQ_INIT(&all->gone);
    all->clock = 1; /* 0 is never */
    all->ticked = ti_now();
    st = ti_paths_find(&paths, err);
    if (st == TI_OK)
        st = ti_payload_new(&paths, &all->payload, err);
    if (st == TI_OK)
        all->payload_fd = ti_payload_defer(all->payload);
    if (st == TI_OK)
        st = ti_remote_new(&all->remote_config, &all->remote, err);
    if (st == TI_OK &&
        (all->payload_fd < 0 || !ti_remote_add_fd(all->remote, all->payload_fd, payload_done, all)))
        st = ti_err_errno(err, TI_ERR_IO, "cannot prepare what nodes are sent");
    if (st != TI_OK) {
        ti_conns_free(all);
        return st;
    }
    *out = all;
    return TI_OK;
}

static void free_list(struct way_list *list)
{
    struct ti_conn *w;

    while ((w = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, w, in_all);
        way_free(w);
    }
}

void ti_conns_free(struct ti_conns *all)
{
    double until = ti_now() + LEAVE_S;
    struct ti_conn *w;

    if (!all)
        return;
    all->mute = true;
    TAILQ_FOREACH(w, &all->ways, in_all)
    if (w->channel && w->state == READY)
        ti_channel_eof(w->channel);
    else if (w->channel)
        ti_channel_close(w->channel);
    while (all->remote && ti_now() < until)
        if (ti_remote_poll(all->remote, 50) == 0)
            break;
    ti_remote_free(all->remote);
    ti_payload_free(all->payload);
    free_list(&all->ways);
    free_list(&all->gone);
    free(all);
}

int ti_conns_poll(struct ti_conns *all, int timeout_ms)
{
    open_waiting(all);
    sweep(all);
    if (timeout_ms < 0 || timeout_ms > LOOK_MS)
        timeout_ms = LOOK_MS;
    tick(all);
    ti_remote_poll(all->remote, timeout_ms);
    tick(all);
    look_for_the_silent(all);
    open_waiting(all);
    sweep(all);
    return all->live;
}

bool ti_conn_ready(const struct ti_conn *w)
{
    return w->state == READY;
}

double ti_conn_heard_at(const struct ti_conn *w)
{
    return w->heard;
}

double ti_conn_ready_at(const struct ti_conn *w)
{
    return w->ready_at;
}

int64_t ti_conn_bytes(const struct ti_conn *w)
{
    return w->came - w->passed;
}

int64_t ti_conn_link_bytes(const struct ti_conn *w)
{
    return w->came;
}

size_t ti_conn_partial_bytes(const struct ti_conn *w)
{
    return w->in.used - w->in.given;
}

const char *ti_conn_transport(const struct ti_conn *w)
{
    return w->transport;
}
