#include "node/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/write.h"
#include "formats/json.h"
#include "session/bootstrap.h"
#include "node/facts.h"
#include "node/launch.h"
#include "session/messages.h"
#include "session/paths.h"
#include "remote/embed.h"

#define KNOWN_LINES 256
#define KNOWN_BYTES (16 * 1024)
#define HOST_BYTES  512
#define SECONDS_MAX 86400.0
#define CONNECT_S   20.0
#define SILENCE_S   30.0
#define DEAD_S      3.0 /* a login that takes longer no longer counts against TI_RELAY_STARTING */
#define TELL_S      2.0 /* interval of "moved" messages */
/* Queued bytes per child before its HELLO.  Small, because files may go to all children at once. */
#define BOOT_QUEUED (32 * 1024)

enum state { QUEUED, STARTING, SPEAKING };

struct child {
    struct ti_relay *relay;
    struct child *next;
    uint32_t stream;
    enum state state;
    char *host, *tiara, *command;
    bool forward_agent;
    double connect_s, answer_s, silence_s;
    double began; /* when it became STARTING */
    double moved; /* STARTING: the last time that bytes went in either direction */
    double told;  /* STARTING: the time of the last "moved" */
    bool connected, commanded;
    char known[128]; /* file of host keys; "": none */
    struct ti_channel *channel;
    struct ti_bootstrap boot;
    struct ti_frame_reader reader; /* until the HELLO */
    enum ti_channel_end why;       /* with err: why we closed the channel */
    struct ti_err err;
};

struct ti_relay {
    struct ti_outbox *out;
    struct ti_remote *remote;
    struct ti_remote_config config;
    struct ti_payload *payload; /* NULL until a child needs it */
    int payload_fd;             /* of ti_payload_begin() */
    struct child *first;
    int n, starting, queued;
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
    ti_frame_reader_free(&c->reader);
    free(c->host);
    free(c->tiara);
    free(c->command);
    free(c);
}

static void drop_payload(struct ti_relay *r)
{
    if (r->starting || r->queued)
        return;
    if (r->payload)
        ti_payload_drop(r->payload);
}

static void set_state(struct child *c, enum state state)
{
    c->relay->starting += (state == STARTING) - (c->state == STARTING);
    c->relay->queued += (state == QUEUED) - (c->state == QUEUED);
    c->state = state;
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
    set_state(c, SPEAKING);
    child_free(c);
    drop_payload(r);
}

/* Close the channel for a reason of ours; on_ended() reports it. */
static void abandon(struct child *c, enum ti_channel_end why, const struct ti_err *err)
{
    if (c->err.text[0])
        return;
    c->why = why;
    c->err = *err;
    ti_channel_close(c->channel);
}

/* --- what channels call -------------------------------------------------- */

static void on_ready(struct ti_channel *channel, void *arg)
{
    struct child *c = arg;

    (void)channel;
    c->connected = true;
    c->moved = ti_now();
    forget_known(c); /* ssh has read it */
}

/* Queue a little of the files for a child. */
static void pump(struct child *c)
{
    const void *data;
    size_t bytes;

    while (ti_channel_queued(c->channel) < BOOT_QUEUED &&
           (data = ti_bootstrap_next(&c->boot, &bytes)) != NULL)
        if (!ti_channel_write(c->channel, data, bytes))
            break;
    if (c->boot.err.text[0])
        abandon(c, TI_CHANNEL_LOCAL, &c->boot.err);
}

static void on_drained(struct ti_channel *channel, void *arg)
{
    struct child *c = arg;

    (void)channel;
    c->moved = ti_now();
    if (c->state == STARTING)
        pump(c);
}

static void on_errput(struct ti_channel *channel, const void *data, size_t bytes, void *arg)
{
    struct child *c = arg;
    struct ti_err err = {"", ""};

    (void)channel;
    c->moved = ti_now();
    ti_bootstrap_errput(&c->boot, data, bytes);
    if (c->state == STARTING && ti_bootstrap_noisy(&c->boot, &err)) {
        ti_err_prefix(&err, TI_ERR_REMOTE, "'%s' does not start ti-node", c->host);
        abandon(c, TI_CHANNEL_NO_COMMAND, &err);
    }
}

static void pass_on(struct child *c, const void *data, size_t bytes)
{
    const char *p = data;

    while (bytes) {
        size_t piece = bytes < TI_FRAME_MAX ? bytes : TI_FRAME_MAX;

        ti_outbox_frame(c->relay->out, TI_FRAME_OUTPUT, c->stream, p, piece);
        p += piece;
        bytes -= piece;
    }
}

/* Output of a child up to its HELLO.  From HELLO on, everything is passed on. */
static void listen_for_hello(struct child *c, const char *data, size_t bytes)
{
    struct ti_frame frame;
    struct ti_err err = {"", ""};
    size_t used;
    int got;

    if (c->boot.payload)
        ti_bootstrap_output(&c->boot, data, bytes);
    if (ti_frame_feed(&c->reader, data, bytes, &used, &frame, &got, &err) != TI_OK) {
        ti_err_prefix(&err, TI_ERR_REMOTE, "'%s' does not start ti-node", c->host);
        abandon(c, TI_CHANNEL_NO_COMMAND, &err);
        return;
    }
    if (!got) {
        pump(c);
        return;
    }
    pass_on(c, c->reader.buf, c->reader.used);
    ti_frame_reader_free(&c->reader);
    set_state(c, SPEAKING);
    drop_payload(c->relay);
    pass_on(c, data + used, bytes - used);
}

static void on_output(struct ti_channel *channel, const void *data, size_t bytes, void *arg)
{
    struct child *c = arg;

    (void)channel;
    c->moved = ti_now();
    if (c->err.text[0])
        return;
    if (c->state == SPEAKING)
        pass_on(c, data, bytes);
    else
        listen_for_hello(c, data, bytes);
}

/* The last line of its standard error. */
static const char *last_error_line(struct child *c)
{
    char *text = c->boot.said, *line;
    size_t n = strlen(text);

    while (n && strchr("\n\r ", text[n - 1]))
        text[--n] = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static void why_it_ended(struct child *c, const struct ti_channel_result *r, struct ti_err *err)
{
    const char *words = last_error_line(c);

    if (c->state != SPEAKING) {
        ti_bootstrap_why(&c->boot, c->host, c->reader.noise, r, err);
    } else if (r->end == TI_CHANNEL_EXITED) {
        ti_err_set(err, TI_ERR_REMOTE, "the ti-node on '%s' ended with status %d%s%s", c->host,
                   r->status, *words ? ": " : "", words);
    } else if (r->end == TI_CHANNEL_SIGNALLED) {
        ti_err_set(err, TI_ERR_REMOTE, "the ti-node on '%s' was ended by a signal", c->host);
    } else {
        ti_err_set(err, TI_ERR_REMOTE, "'%s': %s%s%s", c->host, ti_channel_end_text(r->end),
                   r->cause[0] ? ": " : "", r->cause);
        if (r->err.hint[0])
            ti_err_hint(err, "%s", r->err.hint);
    }
    /* The hint names our file of host keys, which is removed before a person reads the hint. */
    if (r->end == TI_CHANNEL_HOST_KEY_CHANGED && c->known[0] && strstr(err->hint, c->known))
        ti_err_hint(err, "another key of it is known where ti-gather runs: if it was installed "
                         "anew, remove its old key there; else someone may be in between");
}

static void on_ended(struct ti_channel *channel, const struct ti_channel_result *r, void *arg)
{
    struct child *c = arg;
    struct ti_err err = c->err;
    enum ti_channel_end end = c->why;

    (void)channel;
    if (!err.text[0]) {
        end = r->end;
        why_it_ended(c, r, &err);
    }
    ended(c, end, &err);
}

static const struct ti_channel_callbacks calls = {on_ready, on_output, on_errput, on_drained,
                                                  on_ended};

/* --- start --------------------------------------------------------------- */

static bool outbox_is_full(void *arg)
{
    const struct ti_relay *r = arg;

    return r->hold || ti_outbox_full(r->out);
}

/* --- what is sent to them ------------------------------------------------- */

static void give_command(struct child *c)
{
    struct ti_err err = {"", ""};
    char *command;

    c->commanded = true;
    if (ti_bootstrap_command(c->relay->payload, NULL, &command, &err) != TI_OK) {
        abandon(c, TI_CHANNEL_LOCAL, &err);
        return;
    }
    if (!ti_channel_command(c->channel, command)) {
        ti_err_set(&err, TI_ERR_IO, "cannot reach '%s': out of memory", c->host);
        abandon(c, TI_CHANNEL_LOCAL, &err);
    }
    free(command);
}

/* The checksum is known, or the files are packed: serve the children that wait for it. */
static void payload_done(int fd, void *arg)
{
    struct ti_relay *r = arg;

    (void)fd;
    ti_payload_collect(r->payload);
    for (struct child *c = r->first; c; c = c->next) {
        if (c->state != STARTING || !c->channel || c->err.text[0])
            continue;
        if (!c->commanded)
            give_command(c);
        else if (c->boot.part)
            pump(c);
    }
    drop_payload(r);
}

struct ti_relay *ti_relay_new(struct ti_outbox *out, struct ti_err *err)
{
    struct ti_relay *r = calloc(1, sizeof *r);

    if (!r) {
        ti_err_errno(err, TI_ERR_IO, "cannot become a relay");
        return NULL;
    }
    r->out = out;
    r->config.transport = TI_TRANSPORT_OPENSSH;
    if (ti_remote_new(&r->config, &r->remote, err) != TI_OK) {
        free(r);
        return NULL;
    }
    ti_remote_read_by_turns(r->remote, outbox_is_full, r);
    ti_launch_share_children();
    return r;
}

void ti_relay_free(struct ti_relay *r)
{
    if (!r)
        return;
    while (r->first) {
        struct child *c = r->first;

        r->first = c->next;
        child_free(c);
    }
    if (r->payload)
        ti_remote_drop_fd(r->remote, r->payload_fd);
    ti_remote_free(r->remote);
    ti_payload_free(r->payload);
    free(r);
}

/* Make the payload if there is none.  Usually our files were sent to this node, and the name of
 * their folder is their checksum. */
static ti_status find_payload(struct ti_relay *r, struct ti_err *err)
{
    static struct ti_paths paths;
    ti_status st;

    if (r->payload)
        return TI_OK;
    st = ti_paths_find(&paths, err);
    if (st == TI_OK)
        st = ti_payload_new(&paths, &r->payload, err);
    if (st != TI_OK)
        return st;
    ti_payload_trust_folder(r->payload);
    r->payload_fd = ti_payload_begin(r->payload);
    if (r->payload_fd >= 0 && ti_remote_add_fd(r->remote, r->payload_fd, payload_done, r))
        return TI_OK;
    ti_payload_free(r->payload);
    r->payload = NULL;
    return ti_err_errno(err, TI_ERR_IO, "cannot prepare what nodes are sent");
}

static ti_status write_known(struct child *c, const json_t *lines, struct ti_err *err)
{
    const char *folder = ti_remote_folder(c->relay->remote, err);
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
    struct ti_relay *r = c->relay;
    ti_status st = TI_OK;

    c->stream = reach->stream;
    c->host = strdup(reach->host);
    c->tiara = reach->tiara ? strdup(reach->tiara) : NULL;
    c->forward_agent = reach->forward_agent;
    c->connect_s = reach->connect_s > 0 ? reach->connect_s : CONNECT_S;
    c->answer_s = reach->answer_s;
    c->silence_s = reach->silence_s > 0 ? reach->silence_s : SILENCE_S;
    if (!c->host || (reach->tiara && !c->tiara))
        return ti_err_errno(err, TI_ERR_IO, "cannot reach '%s'", reach->host);
    if (c->tiara)
        st = ti_bootstrap_command(NULL, c->tiara, &c->command, err);
    else
        st = find_payload(r, err);
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
        drop_payload(r);
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
    struct ti_channel_options wants = {.known = c->known[0] ? c->known : NULL,
                                       .forward_agent = c->forward_agent,
                                       .connect_s = c->connect_s,
                                       .answer_s = c->answer_s,
                                       .silence_s = c->silence_s};
    struct ti_relay *r = c->relay;

    set_state(c, STARTING);
    c->began = ti_now();
    c->boot.payload = c->tiara ? NULL : r->payload;
    c->channel = ti_remote_run(r->remote, c->host, NULL, c->command, &calls, c);
    if (!c->channel) {
        ti_err_set(&c->err, TI_ERR_IO, "cannot reach '%s': out of memory", c->host);
        ended(c, TI_CHANNEL_LOCAL, &c->err);
        return;
    }
    ti_channel_set_options(c->channel, &wants);
    c->commanded = c->command != NULL;
    free(c->command);
    c->command = NULL;
    if (!c->commanded && ti_payload_known(r->payload))
        give_command(c);
}

/* Number of logins in progress.  A host that did not answer at once may be dead; waiting for it
 * costs nothing, so it does not count. */
static int logging_in(const struct ti_relay *r, double now)
{
    int n = 0;

    for (const struct child *c = r->first; c; c = c->next)
        n += c->state == STARTING && !c->connected && now < c->began + DEAD_S;
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
    for (const struct child *c = r->first; c; c = c->next)
        if (c->state == STARTING && !c->connected && c->began + DEAD_S > now &&
            c->began + DEAD_S < due)
            due = c->began + DEAD_S;
    return due;
}

static bool is_being_sent(const struct child *c)
{
    return c->state == STARTING && c->boot.part && !c->err.text[0];
}

/* Update `moved` of the children that are sent files, and send "moved".  When one child takes
 * bytes, this counts for all of them: the others may wait for the link that they share.  A child
 * that waits for our packing counts as moving. */
static void note_progress(struct ti_relay *r)
{
    double taken = 0;

    for (struct child *c = r->first; c && r->starting; c = c->next)
        if (is_being_sent(c)) {
            double at = ti_bootstrap_waits(&c->boot) ? ti_now() : ti_channel_taken_at(c->channel);

            taken = at > taken ? at : taken;
        }
    for (struct child *c = r->first; c && r->starting; c = c->next) {
        if (!is_being_sent(c))
            continue;
        c->moved = taken > c->moved ? taken : c->moved;
        if (c->moved < c->told + TELL_S)
            continue;
        c->told = ti_now();
        ti_outbox_json(r->out, TI_FRAME_MESSAGE,
                       json_pack("{s:s, s:I}", "is", "moved", "stream", (json_int_t)c->stream));
    }
}

/* Time that a child may be silent between login and HELLO. */
static double start_timeout(const struct child *c)
{
    return c->answer_s > 0 ? c->answer_s : c->connect_s + c->silence_s;
}

/* When this timeout expires; 0: it does not run. */
static double start_deadline(const struct child *c)
{
    return c->state == STARTING && c->connected && !c->err.text[0] ? c->moved + start_timeout(c)
                                                                   : 0;
}

static void abandon_silent(struct ti_relay *r)
{
    double now = ti_now();

    for (struct child *c = r->first; c && r->starting; c = c->next) {
        double until = start_deadline(c);
        struct ti_err err;

        if (until <= 0 || until > now)
            continue;
        ti_err_set(&err, TI_ERR_REMOTE, "'%s' lets us in, but ti-node does not start in %.3g s",
                   c->host, start_timeout(c));
        ti_err_hint(&err, "does 'ssh %s true' come back? Its file system may hang", c->host);
        abandon(c, TI_CHANNEL_TIMED_OUT, &err);
    }
}

/* --- what others see ----------------------------------------------------- */

bool ti_relay_has(const struct ti_relay *r, uint32_t stream)
{
    return r && find(r, stream);
}

bool ti_relay_unreach(struct ti_relay *r, uint32_t stream)
{
    struct child *c = r ? find(r, stream) : NULL;
    struct ti_err err;

    if (!c)
        return false;
    ti_err_set(&err, TI_OK, "the connection to '%s' was closed", c->host);
    if (c->channel)
        abandon(c, TI_CHANNEL_CLOSED, &err);
    else
        ended(c, TI_CHANNEL_CLOSED, &err);
    return true;
}

/* The child with the longest input queue; *all is the sum of the queues. */
static struct child *longest_queue(const struct ti_relay *r, size_t *all)
{
    struct child *most = NULL;

    *all = 0;
    for (struct child *c = r->first; c; c = c->next) {
        size_t queued = c->state == SPEAKING && !c->err.text[0] ? ti_channel_queued(c->channel) : 0;

        *all += queued;
        if (queued && (!most || queued > ti_channel_queued(most->channel)))
            most = c;
    }
    return most;
}

static void abandon_stuck(struct child *c)
{
    struct ti_err err;

    ti_err_set(&err, TI_ERR_REMOTE, "'%s' does not take what is sent to it: %zu KiB wait", c->host,
               ti_channel_queued(c->channel) / 1024);
    ti_err_hint(&err, "is its ti-node frozen?");
    abandon(c, TI_CHANNEL_LOST, &err);
}

void ti_relay_input(struct ti_relay *r, uint32_t stream, const void *data, size_t bytes)
{
    struct child *c = r ? find(r, stream) : NULL, *most;
    struct ti_err err;
    size_t all;

    if (!c || c->err.text[0])
        return;
    if (c->state != SPEAKING) {
        ti_err_set(&err, TI_ERR_REMOTE, "something was sent to '%s' before it said HELLO", c->host);
        if (c->channel)
            abandon(c, TI_CHANNEL_LOCAL, &err);
        else
            ended(c, TI_CHANNEL_LOCAL, &err);
        return;
    }
    if (!bytes)
        ti_channel_eof(c->channel);
    else
        ti_channel_write(c->channel, data, bytes);
    if (ti_channel_queued(c->channel) > TI_RELAY_INPUT_MAX)
        abandon_stuck(c);
    most = longest_queue(r, &all);
    if (most && all > TI_RELAY_INPUT_ALL)
        abandon_stuck(most);
}

int ti_relay_fd(const struct ti_relay *r)
{
    return ti_remote_fd(r->remote);
}

double ti_relay_due_s(const struct ti_relay *r)
{
    double due = ti_remote_due(r->remote), start = start_due(r);

    due = start < due ? start : due;
    for (const struct child *c = r->first; c && r->starting; c = c->next) {
        double until = start_deadline(c);

        if (until > 0 && until < due)
            due = until;
    }
    return due - ti_now();
}

void ti_relay_run(struct ti_relay *r)
{
    note_progress(r);
    abandon_silent(r);
    start_some(r);
    ti_remote_poll(r->remote, 0);
}

void ti_relay_hold(struct ti_relay *r, bool hold)
{
    r->hold = hold;
}

uint64_t ti_relay_turned(const struct ti_relay *r)
{
    return ti_remote_turns(r->remote);
}

int ti_relay_waiting(const struct ti_relay *r)
{
    return ti_remote_waiting(r->remote);
}
