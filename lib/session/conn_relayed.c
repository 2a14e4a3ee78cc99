/* Connections through a relay. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session/conn_internal.h"
#include "session/times.h"

#define CONNECTING  8  /* connections that a relay opens at a time */
#define KNOWN_AHEAD 16 /* hosts whose known keys are looked up at a time */

/* --- what a relay reports ------------------------------------------------- */

static struct ti_conn *relayed_by_stream(const struct ti_conn *conn, json_int_t stream)
{
    struct ti_conn *child;

    if (stream < 1) /* 0 is of connections that were not requested yet */
        return NULL;
    TAILQ_FOREACH(child, &conn->children, in_relay)
    if (child->stream == stream && child->state < TI__CONN_OVER)
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
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s '%s' from '%s': %.500s",
               conn->state == TI__CONN_READY ? "lost" : "cannot connect to", ti__conn_host(conn),
               ti__conn_host(conn->relay),
               text ? strip_host(text, ti__conn_host(conn)) : ti_channel_end_text(end));
    if (hint && *hint)
        ti_err_hint(&why, "on '%s': %.500s", ti__conn_host(conn->relay), hint);
    ti_err_one_line(&why);
    conn->stream = 0; /* the relay has forgotten it */
    ti__conn_fail(conn, end, false, &why);
}

/* How many times its relay opens as many connections as it may, until it opens this one. */
static int turns(const struct ti_conn *conn)
{
    const struct ti_conn *other;
    int ahead = 0;

    TAILQ_FOREACH(other, &conn->relay->children, in_relay)
    ahead += other->state == TI__CONN_OPENING;
    return 1 + ahead / CONNECTING;
}

/* Timeout for HELLO through a relay.  Ample, for retries, Tiara sent over a slow link, and the
 * connections that the relay opens first: the relay itself reports failures, and this is for one
 * that does not. */
static double hello_timeout_s(const struct ti_conn *conn)
{
    const struct ti_remote_config *config = &conn->all->sessions_config.remote;

    return 10 * (fmax(config->connect_s, conn->connect_s) + config->silence_s) * turns(conn);
}

/* The relay is sending Tiara to `conn`, which may not go on for ever. */
static void moved(struct ti_conn *conn)
{
    double deadline = ti_sessions_clock(conn->all->sessions) + hello_timeout_s(conn);

    if (conn->moved_until == 0)
        conn->moved_until = deadline + TI_INSTALL_MOST_S * turns(conn);
    conn->hello_deadline = deadline < conn->moved_until ? deadline : conn->moved_until;
}

bool ti__conn_about_relayed(struct ti_conn *conn, const char *is, const json_t *m)
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
            ti__conn_protocol_error(conn, "the end of what nobody asked for");
        else
            return !conn->calls.process; /* of a process, or of what was closed meanwhile */
        return true;
    }
    if (strcmp(is, "moved") == 0) {
        child = relayed_by_stream(conn, stream);
        if (child && child->hello_deadline > 0)
            moved(child);
        return true;
    }
    child = id < 0 ? relayed_by_stream(conn, -id) : NULL;
    if (child && strcmp(is, "error") == 0)
        relay_reported_end(child, TI_CHANNEL_NO_COMMAND, m);
    return id <= 0; /* ours */
}

bool ti__conn_relayed_output(struct ti_conn *conn, const struct ti_frame *f)
{
    struct ti_conn *child = relayed_by_stream(conn, f->stream);

    if (!child)
        return false;
    conn->relayed_bytes += f->bytes;
    child->received += f->bytes;
    ti__conn_receive(child, f->payload, f->bytes);
    return true;
}

void ti__conn_unreach(struct ti_conn *conn)
{
    if (conn->relay && conn->stream && conn->relay->state == TI__CONN_READY)
        ti_conn_request(conn->relay, json_pack("{s:s, s:i, s:I}", "do", "unreach", "id", 0,
                                               "stream", (json_int_t)conn->stream));
}

/* --- opening ------------------------------------------------------------- */

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
    const struct ti_remote_config *config = &conn->all->sessions_config.remote;

    conn->state = TI__CONN_OPENING;
    conn->hello_deadline = ti_sessions_clock(conn->all->sessions) + hello_timeout_s(conn);
    conn->stream = ti_conn_new_stream(conn->relay);
    if (!ti_conn_request(
            conn->relay,
            json_pack("{s:s, s:I, s:I, s:s, s:s?, s:o, s:b, s:f, s:f, s:f}", "do", "reach", "id",
                      -(json_int_t)conn->stream, "stream", (json_int_t)conn->stream, "host",
                      conn->host, "tiara", conn->tiara, "known", lines_json(known), "forward_agent",
                      config->forward_agent, "connect_s", fmax(config->connect_s, conn->connect_s),
                      "answer_s", fmax(config->answer_s, conn->connect_s), "silence_s",
                      config->silence_s)))
        ti__conn_fail_text(conn, TI_CHANNEL_LOCAL, "its relay cannot be asked: out of memory",
                           NULL);
}

void ti__conn_leave_waiting(struct ti_conn *conn)
{
    if (conn->waiting)
        TAILQ_REMOVE(&conn->all->waiting, conn, in_waiting);
    conn->waiting = false;
}

void ti__conns_open_waiting(struct ti_conns *all)
{
    struct ti_conn *conn, *next;
    int ahead = 0;

    for (conn = TAILQ_FIRST(&all->waiting); conn && ahead < KNOWN_AHEAD; conn = next) {
        char *lines = NULL;

        next = TAILQ_NEXT(conn, in_waiting);
        if (conn->state == TI__CONN_WAITING &&
            !ti_remote_known(ti_conns_remote(all), conn->host, &lines, &conn->connect_s)) {
            ahead++;
            continue;
        }
        ti__conn_leave_waiting(conn);
        if (conn->state == TI__CONN_WAITING && lines)
            open_relayed(conn, lines);
        else
            ti__conn_fail_text(conn, TI_CHANNEL_LOCAL, "out of memory", NULL);
        free(lines);
    }
}
