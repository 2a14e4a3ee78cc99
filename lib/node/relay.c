#include "node/relay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/write.h"
#include "node/launch.h"
#include "session/messages.h"
#include "session/session.h"
#include "session/times.h"

#define KNOWN_LINES 256
#define KNOWN_BYTES (16 * 1024)
#define HOST_BYTES  512
#define SECONDS_MAX 86400.0
/* Queued bytes per child before its HELLO.  Small, because files may go to all children at once. */
#define BOOT_QUEUED (32 * 1024)

enum state { QUEUED, STARTED };

struct child {
    struct ti_relay *relay;
    struct child *next;
    uint32_t stream;
    enum state state;
    char *host, *tiara;
    struct ti_channel_options options;
    double began;    /* ti_now() when it was STARTED */
    double told;     /* ti_sessions_clock() of the latest "moved" */
    char known[128]; /* file of host keys; "": none */
    struct ti_session session;
};

struct ti_relay {
    struct ti_outbox *out;
    struct ti_sessions *sessions;
    struct child *first;
    int n, queued;
    double login_s; /* the longest that logins lately took */
    bool hold;
};

/* --- requests ------------------------------------------------------------ */

static bool is_line(const json_t *text)
{
    const char *s = json_string_value(text);
    size_t n = json_string_length(text);

    if (!s || n == 0 || n > KNOWN_BYTES || strlen(s) != n)
        return false;
    for (; *s; s++)
        if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f)
            return false;
    return true;
}

static bool are_lines(const json_t *list)
{
    const json_t *line;
    size_t i;

    if (!list || json_is_null(list))
        return true;
    if (!json_is_array(list) || json_array_size(list) > KNOWN_LINES)
        return false;
    json_array_foreach(list, i, line) if (!is_line(line)) return false;
    return true;
}

/* A number of seconds, 0 if absent; false if it is invalid. */
static bool seconds(const json_t *request, const char *key, double *value)
{
    const json_t *j = json_object_get(request, key);

    *value = json_number_value(j);
    return !j || (json_is_number(j) && *value >= 0 && *value <= SECONDS_MAX);
}

static bool text_or_null(const json_t *request, const char *key, const char **value)
{
    const json_t *j = json_object_get(request, key);

    *value = json_string_value(j);
    return !j || json_is_null(j) || *value;
}

ti_status ti_reach_parse(const json_t *request, struct ti_reach *reach, struct ti_err *err)
{
    json_int_t stream = json_integer_value(json_object_get(request, "stream"));
    const json_t *agent = json_object_get(request, "forward_agent");

    memset(reach, 0, sizeof *reach);
    reach->host = json_string_value(json_object_get(request, "host"));
    if (stream < 1 || stream > UINT32_MAX)
        return ti_err_set(err, TI_ERR_INPUT, "\"stream\" makes no sense");
    if (!reach->host || strlen(reach->host) >= HOST_BYTES || !ti_remote_is_target(reach->host))
        return ti_err_set(err, TI_ERR_INPUT, "\"host\" is no [USER@]HOST[:PORT]");
    if (!text_or_null(request, "tiara", &reach->tiara))
        return ti_err_set(err, TI_ERR_INPUT, "\"tiara\" must be a folder");
    if (!are_lines(json_object_get(request, "known")))
        return ti_err_set(err, TI_ERR_INPUT, "\"known\" must be lines of known_hosts");
    if (!seconds(request, "connect_s", &reach->connect_s) ||
        !seconds(request, "answer_s", &reach->answer_s) ||
        !seconds(request, "silence_s", &reach->silence_s))
        return ti_err_set(err, TI_ERR_INPUT,
                          "\"connect_s\", \"answer_s\" or \"silence_s\" makes no sense");
    if (agent && !json_is_boolean(agent))
        return ti_err_set(err, TI_ERR_INPUT, "\"forward_agent\" is true or false");
    reach->stream = (uint32_t)stream;
    reach->forward_agent = json_is_true(agent);
    reach->known = json_object_get(request, "known");
    return TI_OK;
}

/* --- children ------------------------------------------------------------ */

static struct child *find(const struct ti_relay *r, uint32_t stream)
{
    struct child *c = r->first;

    while (c && c->stream != stream)
        c = c->next;
    return c;
}

static void forget_known(struct child *c)
{
    if (c->known[0])
        unlink(c->known);
    c->known[0] = '\0';
}

static void child_free(struct child *c)
{
    forget_known(c);
    ti_session_free(&c->session);
    free(c->host);
    free(c->tiara);
    free(c);
}

static const char *end_name(enum ti_channel_end end)
{
    static const char *const names[] = {
#define NAME(name, text) [TI_CHANNEL_##name] = #name,
        TI_CHANNEL_ENDS(NAME)
#undef NAME
    };

    return names[end];
}

/* Send "ended" and free the child. */
static void ended(struct child *c, enum ti_channel_end end, const struct ti_err *why)
{
    struct ti_relay *r = c->relay;
    struct child **at = &r->first;
    json_t *j = json_pack("{s:s, s:I, s:s}", "is", "ended", "stream", (json_int_t)c->stream, "end",
                          end_name(end));

    json_object_set_new(j, "error", ti_json_text(why->text));
    if (why->hint[0])
        json_object_set_new(j, "hint", ti_json_text(why->hint));
    ti_outbox_json(r->out, TI_FRAME_MESSAGE, j);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    r->n--;
    r->queued -= c->state == QUEUED;
    child_free(c);
}

/* --- what sessions call --------------------------------------------------- */

static void on_connected(struct ti_session *s, void *arg)
{
    struct child *c = arg;
    double took = ti_now() - c->began, before = TI_LOGIN_LATELY * c->relay->login_s;

    (void)s;
    c->relay->login_s = took > before ? took : before;
    forget_known(c); /* ssh has read it */
}

/* Everything from HELLO on is passed on. */
static void on_output(struct ti_session *s, const void *data, size_t bytes, void *arg)
{
    struct child *c = arg;
    const char *p = data;

    (void)s;
    while (bytes) {
        size_t piece = bytes < TI_FRAME_MAX ? bytes : TI_FRAME_MAX;

        ti_outbox_frame(c->relay->out, TI_FRAME_OUTPUT, c->stream, p, piece);
        p += piece;
        bytes -= piece;
    }
}

static void on_ended(struct ti_session *s, enum ti_channel_end end, const struct ti_err *why,
                     void *arg)
{
    struct child *c = arg;
    struct ti_err err = *why;

    (void)s;
    if (!strstr(err.text, c->host)) {
        ti_err_set(&err, TI_ERR_REMOTE, "'%s': %.600s", c->host, why->text);
        if (why->hint[0])
            ti_err_hint(&err, "%s", why->hint);
    }
    /* The hint names our file of host keys, which is removed before a person reads the hint. */
    if (end == TI_CHANNEL_HOST_KEY_CHANGED && c->known[0] && strstr(err.hint, c->known))
        ti_err_hint(&err, "another key of it is known where ti-gather runs: if it was installed "
                          "anew, remove its old key there; else someone may be in between");
    ended(c, end, &err);
}

/* --- the relay ----------------------------------------------------------- */

static bool outbox_is_full(void *arg)
{
    const struct ti_relay *r = arg;

    return r->hold || ti_outbox_full(r->out);
}

struct ti_relay *ti_relay_new(struct ti_outbox *out, struct ti_err *err)
{
    static const struct ti_sessions_config config = {.remote.transport = TI_TRANSPORT_OPENSSH,
                                                     .queue_bytes = BOOT_QUEUED};
    struct ti_relay *r = calloc(1, sizeof *r);

    if (!r) {
        ti_err_errno(err, TI_ERR_IO, "cannot become a relay");
        return NULL;
    }
    r->out = out;
    if (ti_sessions_new(&config, &r->sessions, err) != TI_OK) {
        free(r);
        return NULL;
    }
    ti_remote_read_by_turns(ti_sessions_remote(r->sessions), outbox_is_full, r);
    ti_launch_share_children();
    return r;
}

void ti_relay_free(struct ti_relay *r)
{
    if (!r)
        return;
    ti_sessions_free(r->sessions);
    while (r->first) {
        struct child *c = r->first;

        r->first = c->next;
        child_free(c);
    }
    free(r);
}

static ti_status write_known(struct child *c, const json_t *lines, struct ti_err *err)
{
    const char *folder = ti_remote_folder(ti_sessions_remote(c->relay->sessions), err);
    const json_t *line;
    size_t i;
    int fd;
    bool ok;

    if (!folder[0])
        return TI_ERR_IO;
    snprintf(c->known, sizeof c->known, "%s/k%u", folder, c->stream);
    fd = open(c->known, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    ok = fd >= 0;
    json_array_foreach(lines, i, line)
    {
        ok = ok && ti_write_all(fd, json_string_value(line), json_string_length(line)) &&
             ti_write_all(fd, "\n", 1);
    }
    if (fd >= 0 && close(fd) < 0)
        ok = false;
    return ok ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", c->known);
}

static ti_status prepare(struct child *c, const struct ti_reach *reach, struct ti_err *err)
{
    ti_status st;

    c->stream = reach->stream;
    c->host = strdup(reach->host);
    c->tiara = reach->tiara ? strdup(reach->tiara) : NULL;
    c->options = (struct ti_channel_options){
        .forward_agent = reach->forward_agent,
        .connect_s = reach->connect_s > 0 ? reach->connect_s : TI_CONNECT_S,
        .answer_s = reach->answer_s,
        .silence_s = reach->silence_s > 0 ? reach->silence_s : TI_SILENCE_S};
    if (!c->host || (reach->tiara && !c->tiara))
        return ti_err_errno(err, TI_ERR_IO, "cannot reach '%s'", reach->host);
    st = c->tiara ? ti_bootstrap_check_folder(c->tiara, err)
                  : ti_sessions_prepare(c->relay->sessions, err);
    if (st == TI_OK && json_array_size(reach->known))
        st = write_known(c, reach->known, err);
    return st;
}

ti_status ti_relay_reach(struct ti_relay *r, const struct ti_reach *reach, struct ti_err *err)
{
    struct child *c, **at = &r->first;
    ti_status st;

    if (find(r, reach->stream))
        return ti_err_set(err, TI_ERR_INPUT, "there is a stream %u already", reach->stream);
    if (r->n == TI_RELAY_CHILDREN)
        return ti_err_set(err, TI_ERR_INPUT, "%d nodes are reached from here already",
                          TI_RELAY_CHILDREN);
    c = calloc(1, sizeof *c);
    if (!c)
        return ti_err_errno(err, TI_ERR_IO, "cannot reach '%s'", reach->host);
    c->relay = r;
    st = prepare(c, reach, err);
    if (st != TI_OK) {
        child_free(c);
        return st;
    }
    while (*at)
        at = &(*at)->next;
    *at = c;
    r->n++;
    r->queued++;
    return TI_OK;
}

static void start(struct child *c)
{
    static const struct ti_session_calls calls = {
        .connected = on_connected, .output = on_output, .ended = on_ended};
    const struct ti_channel_options *o = &c->options;
    const struct ti_session_target to = {.host = c->host,
                                         .tiara = c->tiara,
                                         .start_s = o->answer_s > 0 ? o->answer_s
                                                                    : o->connect_s + o->silence_s,
                                         .options = o};
    struct ti_err err;

    c->state = STARTED;
    c->relay->queued--;
    c->began = ti_now();
    c->options.known = c->known[0] ? c->known : NULL;
    if (ti_session_start(&c->session, c->relay->sessions, &to, &calls, c, &err) != TI_OK)
        ended(c, TI_CHANNEL_LOCAL, &err);
}

/* Until when a login counts as being in progress.  A host that takes far longer than others may be
 * dead; waiting for it costs nothing. */
static double dead_at(const struct child *c)
{
    double s = TI_LOGIN_DEAD_TIMES * c->relay->login_s;

    return c->began + (s > TI_LOGIN_DEAD_S ? s : TI_LOGIN_DEAD_S);
}

/* Number of logins in progress. */
static int logging_in(const struct ti_relay *r, double now)
{
    int n = 0;

    for (const struct child *c = r->first; c; c = c->next)
        n += c->state == STARTED && !ti_session_connected(&c->session) && now < dead_at(c);
    return n;
}

static void start_some(struct ti_relay *r)
{
    struct child *c, *next;
    int left = r->queued ? TI_RELAY_STARTING - logging_in(r, ti_now()) : 0;

    for (c = r->first; c && r->queued && left > 0; c = next) {
        next = c->next;
        if (c->state != QUEUED)
            continue;
        start(c);
        left--;
    }
}

/* When the next queued child may be started. */
static double start_due(const struct ti_relay *r)
{
    double now = ti_now(), due = 1e300;

    if (!r->queued || logging_in(r, now) < TI_RELAY_STARTING)
        return r->queued ? 0 : due;
    for (const struct child *c = r->first; c; c = c->next) {
        double dead = dead_at(c);

        if (c->state == STARTED && !ti_session_connected(&c->session) && dead > now && dead < due)
            due = dead;
    }
    return due;
}

/* Send "moved" about children that take Tiara's files, unless nobody reads what we send. */
static void note_progress(struct ti_relay *r)
{
    for (struct child *c = r->first; c && !ti_outbox_full(r->out); c = c->next) {
        double moved = ti_session_moved(&c->session);

        if (!ti_session_installing(&c->session) || moved < c->told + TI_MOVED_S)
            continue;
        c->told = moved;
        ti_outbox_json(r->out, TI_FRAME_MESSAGE,
                       json_pack("{s:s, s:I}", "is", "moved", "stream", (json_int_t)c->stream));
    }
}

/* --- what others see ----------------------------------------------------- */

bool ti_relay_has(const struct ti_relay *r, uint32_t stream)
{
    return r && find(r, stream);
}

/* Close a child's connection for a reason of ours. */
static void abandon(struct child *c, enum ti_channel_end end, const struct ti_err *why)
{
    if (ti_session_open(&c->session))
        ti_session_abandon(&c->session, end, why);
    else
        ended(c, end, why);
}

bool ti_relay_unreach(struct ti_relay *r, uint32_t stream)
{
    struct child *c = r ? find(r, stream) : NULL;
    struct ti_err err;

    if (!c)
        return false;
    ti_err_set(&err, TI_OK, "the connection to '%s' was closed", c->host);
    abandon(c, TI_CHANNEL_CLOSED, &err);
    return true;
}

/* The child with the longest input queue; *all is the sum of the queues. */
static struct child *longest_queue(const struct ti_relay *r, size_t *all)
{
    struct child *most = NULL;

    *all = 0;
    for (struct child *c = r->first; c; c = c->next) {
        size_t queued = ti_session_ready(&c->session) ? ti_session_queued(&c->session) : 0;

        *all += queued;
        if (queued && (!most || queued > ti_session_queued(&most->session)))
            most = c;
    }
    return most;
}

static void abandon_stuck(struct child *c)
{
    struct ti_err err;

    ti_err_set(&err, TI_ERR_REMOTE, "'%s' does not take what is sent to it: %zu KiB wait", c->host,
               ti_session_queued(&c->session) / 1024);
    ti_err_hint(&err, "is its ti-node frozen?");
    abandon(c, TI_CHANNEL_LOST, &err);
}

void ti_relay_input(struct ti_relay *r, uint32_t stream, const void *data, size_t bytes)
{
    struct child *c = r ? find(r, stream) : NULL, *most;
    struct ti_err err;
    size_t all;

    if (!c)
        return;
    if (!ti_session_ready(&c->session)) {
        ti_err_set(&err, TI_ERR_REMOTE, "something was sent to '%s' before it said HELLO", c->host);
        abandon(c, TI_CHANNEL_LOCAL, &err);
        return;
    }
    if (!bytes)
        ti_session_eof(&c->session);
    else
        ti_session_write(&c->session, data, bytes);
    if (ti_session_queued(&c->session) > TI_RELAY_INPUT_MAX)
        abandon_stuck(c);
    most = longest_queue(r, &all);
    if (most && all > TI_RELAY_INPUT_ALL)
        abandon_stuck(most);
}

int ti_relay_fd(const struct ti_relay *r)
{
    return ti_remote_fd(ti_sessions_remote(r->sessions));
}

double ti_relay_due_s(const struct ti_relay *r)
{
    double due = ti_sessions_due(r->sessions), start = start_due(r);

    return (start < due ? start : due) - ti_now();
}

void ti_relay_run(struct ti_relay *r)
{
    note_progress(r);
    start_some(r);
    ti_sessions_poll(r->sessions, 0);
}

void ti_relay_hold(struct ti_relay *r, bool hold)
{
    r->hold = hold;
}

uint64_t ti_relay_turned(const struct ti_relay *r)
{
    return ti_remote_turns(ti_sessions_remote(r->sessions));
}

int ti_relay_waiting(const struct ti_relay *r)
{
    return ti_remote_waiting(ti_sessions_remote(r->sessions));
}
