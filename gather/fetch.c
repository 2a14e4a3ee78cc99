#include "gather/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/crc32c.h"
#include "common/write.h"
#include "formats/rankname.h"
#include "node/bootstrap.h"
#include "node/frame.h"
#include "node/launch.h"
#include "node/messages.h"
#include "node/paths.h"

#define PART_SUFFIX ".part"
#define TICK_MS     250
#define SILENCE_S   30.0 /* keepalives are not sent more often for a short --timeout */
#define REPORT_MAX  20   /* nodes in trouble that get a line each */

enum work { FETCH, REMOVE };
enum state { WAITING, BUSY, DONE, FAILED };

struct job;

/* One node. */
struct member {
    struct job *job;
    const char *name, *host, *gateway, *tiara, *directory; /* of RUN.json */
    bool local;                                            /* on this machine */
    json_t *todo;                                          /* ranks: [[FIRST, LAST]...] */
    int64_t ntodo;
    enum state state;
    struct ti_channel *channel;
    struct ti_bootstrap bootstrap;
    struct ti_frame_reader in;
    double heard;
    struct ti_err why;

    int64_t rank; /* being received; -1 */
    int fd;       /* its .part; -1 */
    int64_t bytes;
    uint32_t crc;
    json_t *missing; /* ranks it could not send: [[N, N]...] */
};

struct job {
    enum work work;
    const struct ti_fetch_settings *settings;
    struct ti_fetch *f;
    const char *path;
    int dir;
    json_t *run; /* RUN.json */
    char run_id[2 * TI_RUN_ID_BYTES + 1];
    struct member *member;
    int64_t n, left;
    struct ti_payload *payload;
    struct ti_remote *remote;
    const char **via;
    int64_t removed;
    bool others;  /* could have written RUN.json */
    bool ssh;     /* some nodes are reached without `via` */
    ti_status st; /* a local problem, which ends all of it */
    struct ti_err *err;
};

/* --- ranks --------------------------------------------------------------- */

static void add_rank(json_t *list, int64_t rank)
{
    size_t n = json_array_size(list);
    json_t *last = n ? json_array_get(list, n - 1) : NULL;

    if (last && json_integer_value(json_array_get(last, 1)) == rank - 1)
        json_integer_set(json_array_get(last, 1), rank);
    else
        json_array_append_new(list, json_pack("[I, I]", (json_int_t)rank, (json_int_t)rank));
}

static int64_t count_ranks(const json_t *list)
{
    const json_t *range;
    int64_t n = 0;
    size_t i;

    json_array_foreach(list, i, range) n += json_integer_value(json_array_get(range, 1)) -
                                            json_integer_value(json_array_get(range, 0)) + 1;
    return n;
}

static bool holds_rank(const json_t *list, int64_t rank)
{
    const json_t *range;
    size_t i;

    json_array_foreach(list, i,
                       range) if (rank >= json_integer_value(json_array_get(range, 0)) &&
                                  rank <= json_integer_value(json_array_get(range, 1))) return true;
    return false;
}

/* "8-11, 14" */
static void ranks_text(const json_t *list, char *buf, size_t room)
{
    const json_t *range;
    size_t i, n = 0;

    buf[0] = '\0';
    json_array_foreach(list, i, range)
    {
        json_int_t first = json_integer_value(json_array_get(range, 0)),
                   last = json_integer_value(json_array_get(range, 1));

        if (n + 48 > room) {
            snprintf(buf + n, room - n, ", ...");
            return;
        }
        n += (size_t)snprintf(buf + n, room - n, "%s%" JSON_INTEGER_FORMAT, n ? ", " : "", first);
        if (last > first)
            n += (size_t)snprintf(buf + n, room - n, "-%" JSON_INTEGER_FORMAT, last);
    }
}

/* --- what RUN.json says -------------------------------------------------- */

static ti_status bad_node(const struct job *j, size_t i, const char *what, struct ti_err *err)
{
    return ti_err_set(err, TI_ERR_INPUT, "'%s/RUN.json': node %zu: %s", j->path, i + 1, what);
}

/* A string, or null. */
static bool text_or_null(const json_t *node, const char *key, const char **out)
{
    const json_t *v = json_object_get(node, key);

    *out = json_string_value(v);
    return !v || json_is_null(v) || json_is_string(v);
}

static bool ranks_make_sense(const json_t *list)
{
    const json_t *range;
    size_t i;

    json_array_foreach(list, i, range)
    {
        json_int_t first = json_integer_value(json_array_get(range, 0)),
                   last = json_integer_value(json_array_get(range, 1));

        if (json_array_size(range) != 2 || first < 0 || first > last || last >= TI_RANKS_MAX)
            return false;
    }
    return json_is_array(list);
}

/* All that are not of this machine are reached in one way. */
static ti_status read_via(struct job *j, struct member *m, const json_t *via, size_t i,
                          struct ti_err *err)
{
    size_t n = json_array_size(via);
    bool first = !j->via;

    if (!via || json_is_null(via)) {
        m->local = !m->host;
        j->ssh = j->ssh || m->host;
    } else if (!n) {
        return bad_node(j, i, "\"via\" is no command", err);
    } else if (first && !(j->via = calloc(n + 1, sizeof *j->via))) {
        return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
    }
    for (size_t k = 0; k < n; k++) {
        const char *word = json_string_value(json_array_get(via, k));

        if (!word || (!first && (!j->via[k] || strcmp(j->via[k], word) != 0)))
            return bad_node(j, i, "\"via\" differs from that of others", err);
        j->via[k] = word;
    }
    if (j->via && (j->ssh || (n && j->via[n])))
        return bad_node(j, i, "\"via\" differs from that of others", err);
    return TI_OK;
}

static ti_status read_node(struct job *j, const json_t *node, size_t i, struct ti_err *err)
{
    struct member *m = &j->member[i];
    const json_t *ranks = json_object_get(node, "ranks");

    m->todo = json_array();
    m->missing = json_array();
    if (!m->todo || !m->missing)
        return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
    if (!text_or_null(node, "name", &m->name) || !m->name)
        return bad_node(j, i, "it has no \"name\"", err);
    if (!text_or_null(node, "host", &m->host) || !text_or_null(node, "gateway", &m->gateway) ||
        !text_or_null(node, "tiara", &m->tiara))
        return bad_node(j, i, "\"host\", \"gateway\" and \"tiara\" are strings or null", err);
    if (!text_or_null(node, "directory", &m->directory) || !m->directory)
        return bad_node(j, i, "it has no \"directory\"", err);
    if (!ranks_make_sense(ranks))
        return bad_node(j, i, "\"ranks\" is no list of [FIRST, LAST]", err);
    return read_via(j, m, json_object_get(node, "via"), i, err);
}

static ti_status read_run(struct job *j, const char *path, struct ti_err *err)
{
    const json_t *nodes, *node;
    const char *id;
    json_error_t why;
    struct stat sb;
    ti_status st = TI_OK;
    size_t i;
    int fd;

    j->path = path;
    j->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = j->dir < 0 ? -1 : openat(j->dir, "RUN.json", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return TI_OK; /* whoever checks the run says it */
    j->run = json_loadfd(fd, 0, &why);
    j->others = fstat(fd, &sb) < 0 || (sb.st_uid != geteuid() && sb.st_uid != 0) ||
                (sb.st_mode & S_IWOTH) != 0;
    close(fd);
    nodes = json_object_get(j->run, "nodes");
    if (!nodes || json_is_null(nodes) || json_array_size(nodes) == 0)
        return TI_OK;
    id = json_string_value(json_object_get(j->run, "run_id"));
    if (!id || strlen(id) >= sizeof j->run_id)
        return ti_err_set(err, TI_ERR_INPUT, "'%s/RUN.json' has \"nodes\", and no \"run_id\"",
                          path);
    strcpy(j->run_id, id);
    j->member = calloc(json_array_size(nodes), sizeof *j->member);
    if (!j->member)
        return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
    j->n = (int64_t)json_array_size(nodes);
    for (int64_t k = 0; k < j->n; k++) {
        j->member[k].job = j;
        j->member[k].fd = -1;
        j->member[k].rank = -1;
    }
    json_array_foreach(nodes, i, node) if (st == TI_OK) st = read_node(j, node, i, err);
    return st;
}

/* The same directory, seen by this machine. */
static bool is_here(const struct job *j, const struct member *m)
{
    struct stat here, there;

    return m->local && fstat(j->dir, &here) == 0 && stat(m->directory, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static bool rank_is_here(const struct job *j, int64_t rank)
{
    char name[TI_RANK_NAME_BYTES];
    struct stat sb;

    return fstatat(j->dir, ti_rank_name(rank, name), &sb, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(sb.st_mode) && sb.st_size >= TI_HEADER_BYTES;
}

static void choose_ranks(struct job *j, const struct ti_run *run)
{
    json_t *nodes = json_object_get(j->run, "nodes");

    for (int64_t i = 0; i < j->n; i++) {
        struct member *m = &j->member[i];
        const json_t *range;
        size_t k;

        json_array_foreach(json_object_get(json_array_get(nodes, (size_t)i), "ranks"), k,
                           range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                       r <= json_integer_value(json_array_get(range, 1));
                                       r++) if (run ? r < run->nranks &&
                                                          run->rank[r].state == TI_RANK_OK
                                                    : !rank_is_here(j, r)) add_rank(m->todo, r);
        m->ntodo = is_here(j, m) ? 0 : count_ranks(m->todo);
        if (!m->ntodo) {
            m->state = DONE;
            continue;
        }
        j->left++;
        j->f->nodes++;
        j->f->wanted += m->ntodo;
    }
}

/* --- receiving ----------------------------------------------------------- */

static void member_failed(struct member *m, const struct ti_err *why)
{
    if (m->state != DONE && m->state != FAILED) {
        m->state = FAILED;
        m->why = *why;
        m->job->left--;
    }
    if (m->channel)
        ti_channel_close(m->channel);
}

static const char *part_name(const struct member *m, char buf[64])
{
    char name[TI_RANK_NAME_BYTES];

    snprintf(buf, 64, "%s" PART_SUFFIX, ti_rank_name(m->rank, name));
    return buf;
}

static void drop_part(struct member *m)
{
    char name[64];

    if (m->fd < 0)
        return;
    close(m->fd);
    m->fd = -1;
    unlinkat(m->job->dir, part_name(m, name), 0);
}

/* Nothing more can be written here: that ends all of it. */
static void local_trouble(struct member *m)
{
    struct job *j = m->job;
    int cause = errno;

    if (j->st != TI_OK)
        return;
    errno = cause;
    j->st = ti_err_errno(j->err, TI_ERR_IO, "cannot write to '%s'", j->path);
    if (cause == ENOSPC || cause == EDQUOT)
        ti_err_hint(j->err, "make room and start again: what is here is not fetched again");
}

static bool begin_rank(struct member *m, int64_t rank)
{
    char name[64];

    drop_part(m);
    m->rank = rank;
    m->bytes = 0;
    m->crc = 0;
    part_name(m, name);
    unlinkat(m->job->dir, name, 0); /* of one that was interrupted */
    m->fd = openat(m->job->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (m->fd < 0)
        local_trouble(m);
    return m->fd >= 0;
}

static void protocol_error(struct member *m, const char *what)
{
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "what ti-node sends makes no sense: %s", what);
    member_failed(m, &why);
}

static void take_data(struct member *m, const struct ti_frame *f)
{
    if (m->job->work != FETCH || !holds_rank(m->todo, f->stream)) {
        protocol_error(m, "traces nobody asked for");
        return;
    }
    if ((m->fd < 0 || m->rank != f->stream) && !begin_rank(m, f->stream))
        return;
    if (!ti_write_all(m->fd, f->payload, f->bytes)) {
        local_trouble(m);
        return;
    }
    m->bytes += f->bytes;
    m->crc = ti_crc32c(m->crc, f->payload, f->bytes);
    m->job->f->bytes += f->bytes;
}

/* The end of a rank's file: it gets its name if it is what was sent. */
static void take_sent(struct member *m, const json_t *j)
{
    int64_t rank = json_integer_value(json_object_get(j, "rank"));
    const char *error = json_string_value(json_object_get(j, "error"));
    char part[64], name[TI_RANK_NAME_BYTES];
    int closed;

    if (!holds_rank(m->todo, rank) || (!error && (m->fd < 0 || m->rank != rank))) {
        protocol_error(m, "the end of a trace that was not sent");
        return;
    }
    if (error) {
        drop_part(m);
        add_rank(m->missing, rank);
        if (!m->why.text[0])
            ti_err_set(&m->why, TI_ERR_REMOTE, "%s", error);
        return;
    }
    if (m->bytes != json_integer_value(json_object_get(j, "bytes")) ||
        m->crc != (uint32_t)json_integer_value(json_object_get(j, "crc32c"))) {
        drop_part(m);
        add_rank(m->missing, rank);
        ti_err_set(&m->why, TI_ERR_REMOTE, "it was damaged on its way: start again");
        return;
    }
    closed = close(m->fd);
    m->fd = -1;
    if (closed < 0 ||
        renameat(m->job->dir, part_name(m, part), m->job->dir, ti_rank_name(rank, name)) < 0) {
        local_trouble(m);
        unlinkat(m->job->dir, part, 0);
        return;
    }
    m->job->f->fetched++;
}

static void finish(struct member *m)
{
    m->state = DONE;
    m->job->left--;
    ti_channel_eof(m->channel);
}

static void take_message(struct member *m, const struct ti_frame *f)
{
    json_t *j = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *is = json_string_value(json_object_get(j, "is"));

    if (is && strcmp(is, "sent") == 0) {
        take_sent(m, j);
    } else if (is && strcmp(is, "error") == 0) {
        const char *text = json_string_value(json_object_get(j, "error")),
                   *hint = json_string_value(json_object_get(j, "hint"));
        struct ti_err why;

        ti_err_set(&why, TI_ERR_REMOTE, "%s", text ? text : "?");
        if (hint)
            ti_err_hint(&why, "%s", hint);
        member_failed(m, &why);
    } else if (is && strcmp(is, "send") == 0) {
        finish(m);
    } else if (is && strcmp(is, "remove") == 0) {
        m->job->removed += json_integer_value(json_object_get(j, "removed"));
        finish(m);
    }
    json_decref(j);
}

/* Now the node can be asked. */
static void take_hello(struct member *m, const struct ti_frame *f)
{
    json_t *hello = json_loadb((const char *)f->payload, f->bytes, 0, NULL), *request;
    const char *version = json_string_value(json_object_get(hello, "tiara"));
    unsigned char header[TI_FRAME_HEADER];
    char *text;

    if (json_integer_value(json_object_get(hello, "protocol")) != TI_PROTOCOL) {
        struct ti_err why;

        ti_err_set(&why, TI_ERR_REMOTE, "ti-node there is of Tiara %s, this is %s",
                   version ? version : "?", ti_version());
        member_failed(m, &why);
        json_decref(hello);
        return;
    }
    json_decref(hello);
    request =
        json_pack("{s:s, s:i, s:O, s:s, s:s}", "do", m->job->work == FETCH ? "send" : "remove",
                  "id", 1, "ranks", m->todo, "directory", m->directory, "run_id", m->job->run_id);
    text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (!text || strlen(text) > TI_FRAME_MAX) {
        protocol_error(m, "too many ranges of ranks");
    } else {
        ti_frame_header(TI_FRAME_MESSAGE, 0, text, (uint32_t)strlen(text), header);
        ti_channel_write(m->channel, header, sizeof header);
        ti_channel_write(m->channel, text, strlen(text));
    }
    free(text);
}

static void on_output(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct member *m = arg;
    const char *p = data;

    m->heard = ti_now();
    if (m->state == FAILED || m->state == DONE || m->job->st != TI_OK)
        return;
    if (!m->in.started) {
        ti_bootstrap_output(&m->bootstrap, data, bytes);
        ti_bootstrap_pump(&m->bootstrap, c);
    }
    while (m->state == BUSY && m->job->st == TI_OK) {
        struct ti_frame f;
        struct ti_err why;
        size_t used;
        int got;

        if (ti_frame_feed(&m->in, p, bytes, &used, &f, &got, &why) != TI_OK) {
            member_failed(m, &why);
            return;
        }
        if (!got)
            return;
        p += used;
        bytes -= used;
        if (f.type == TI_FRAME_HELLO)
            take_hello(m, &f);
        else if (f.type == TI_FRAME_MESSAGE)
            take_message(m, &f);
        else if (f.type == TI_FRAME_DATA)
            take_data(m, &f);
    }
}

static void on_ready(struct ti_channel *c, void *arg)
{
    struct member *m = arg;

    (void)c;
    m->heard = ti_now();
}

static void on_errput(struct ti_channel *c, const void *data, size_t bytes, void *arg)
{
    struct member *m = arg;

    (void)c;
    m->heard = ti_now();
    ti_bootstrap_errput(&m->bootstrap, data, bytes);
}

static void on_drained(struct ti_channel *c, void *arg)
{
    struct member *m = arg;

    m->heard = ti_now(); /* it took something */
    if (!m->in.started)
        ti_bootstrap_pump(&m->bootstrap, c);
}

static void on_ended(struct ti_channel *c, const struct ti_channel_result *r, void *arg)
{
    struct member *m = arg;
    struct ti_err why = {"", ""};

    (void)c;
    m->channel = NULL;
    drop_part(m);
    if (m->state == DONE || m->state == FAILED) {
        ti_frame_reader_free(&m->in); /* there are many */
        return;
    }
    if (!m->in.started)
        ti_bootstrap_why(&m->bootstrap, NULL, m->in.noise, r, &why);
    else if (r->err.text[0] && !r->cause[0])
        why = r->err;
    else
        ti_err_set(&why, TI_ERR_REMOTE, "%s%s%s", ti_channel_end_text(r->end),
                   r->cause[0] ? ": " : "", r->cause);
    member_failed(m, &why);
}

/* --- all of them --------------------------------------------------------- */

static ti_status start(struct job *j, struct ti_err *err)
{
    static const struct ti_channel_calls calls = {.ready = on_ready,
                                                  .output = on_output,
                                                  .errput = on_errput,
                                                  .drained = on_drained,
                                                  .ended = on_ended};

    for (int64_t i = 0; i < j->n; i++) {
        struct member *m = &j->member[i];
        char *command;
        ti_status st;

        if (m->state != WAITING)
            continue;
        st = ti_bootstrap_command(j->payload, m->tiara, &command, err);
        if (st != TI_OK)
            return st;
        m->bootstrap.payload = j->payload;
        m->state = BUSY;
        m->channel = !m->local ? ti_remote_run(j->remote, m->host ? m->host : m->name, m->gateway,
                                               command, &calls, m)
                               : ti_remote_local(j->remote, command, &calls, m);
        free(command);
        if (!m->channel)
            return ti_err_set(err, TI_ERR_IO, "cannot reach the nodes: out of memory");
    }
    return TI_OK;
}

static void show(const struct job *j)
{
    char size[32];

    if (j->work == REMOVE)
        ti_progress("removing traces: %" PRId64 " of %" PRId64 " nodes", j->f->nodes - j->left,
                    j->f->nodes);
    else
        ti_progress("fetching: %" PRId64 " of %" PRId64 " ranks, %s, %" PRId64 " of %" PRId64
                    " nodes done",
                    j->f->fetched, j->f->wanted, ti_format_size(j->f->bytes, size, sizeof size),
                    j->f->nodes - j->left, j->f->nodes);
}

/* Nodes that are connected and say nothing.  Before that, the transport has its own limits. */
static void give_up_the_silent(struct job *j)
{
    double now = ti_now();

    for (int64_t i = 0; i < j->n; i++) {
        struct member *m = &j->member[i];
        struct ti_err why;

        if (m->state != BUSY || m->heard == 0 || now - m->heard < j->settings->timeout_s)
            continue;
        ti_err_set(&why, TI_ERR_REMOTE, "it said nothing for %.0f s", j->settings->timeout_s);
        ti_err_hint(&why, "--timeout waits longer");
        member_failed(m, &why);
    }
}

static ti_status go(struct job *j, struct ti_err *err)
{
    struct ti_remote_config config = {
        .transport = j->settings->transport,
        .ssh_config = j->settings->ssh_config,
        .via = j->via,
        .silence_s = j->settings->timeout_s < SILENCE_S ? SILENCE_S : j->settings->timeout_s};
    const char *transport = json_string_value(json_object_get(j->run, "transport"));
    static struct ti_paths paths;
    ti_status st = ti_paths_find(&paths, err);

    /* as the run was started, unless told otherwise */
    if (config.transport == TI_TRANSPORT_AUTO && transport && strcmp(transport, "openssh") == 0)
        config.transport = TI_TRANSPORT_OPENSSH;
    if (config.transport == TI_TRANSPORT_AUTO && transport && strcmp(transport, "libssh2") == 0)
        config.transport = TI_TRANSPORT_LIBSSH2;
    if (st == TI_OK)
        st = ti_payload_new(&paths, &j->payload, err);
    if (st == TI_OK)
        st = ti_remote_new(&config, &j->remote, err);
    if (st == TI_OK)
        st = start(j, err);
    j->err = err;
    while (st == TI_OK && j->left > 0) {
        ti_remote_poll(j->remote, TICK_MS);
        give_up_the_silent(j);
        show(j);
        st = j->st;
        if (ti_gather_stop)
            st = ti_err_set(err, TI_ERR_IO, "interrupted");
    }
    /* let those that are done end by themselves, a moment */
    for (double until = ti_now() + 1; st == TI_OK && ti_now() < until && !ti_gather_stop;)
        if (ti_remote_poll(j->remote, 50) == 0)
            break;
    ti_progress_clear();
    ti_remote_free(j->remote);
    ti_payload_free(j->payload);
    return st;
}

/* --- what could not be had ----------------------------------------------- */

static ti_status add_failure(struct job *j, struct member *m, struct ti_err *err)
{
    struct ti_fetch *f = j->f;
    struct ti_fetch_failure *more, *new;
    json_t *ranks = m->state == FAILED ? json_array() : json_incref(m->missing);
    const json_t *range;
    size_t i;

    if (m->state == FAILED)
        json_array_foreach(m->todo, i,
                           range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                       r <= json_integer_value(json_array_get(range, 1));
                                       r++) if (j->work == REMOVE || !rank_is_here(j, r))
            add_rank(ranks, r);
    if (json_array_size(ranks) == 0) {
        json_decref(ranks);
        return TI_OK;
    }
    f->worst = TI_ERR_PARTIAL;
    more = realloc(f->failure, (size_t)(f->nfailures + 1) * sizeof *more);
    if (!more) {
        json_decref(ranks);
        return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
    }
    f->failure = more;
    new = &f->failure[f->nfailures++];
    *new = (struct ti_fetch_failure){.node = strdup(m->name),
                                     .ranks = ranks,
                                     .why = strdup(m->why.text),
                                     .hint = m->why.hint[0] ? strdup(m->why.hint) : NULL};
    return new->node &&new->why ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot fetch");
}

static void job_free(struct job *j)
{
    for (int64_t i = 0; i < j->n; i++) {
        drop_part(&j->member[i]);
        ti_frame_reader_free(&j->member[i].in);
        json_decref(j->member[i].todo);
        json_decref(j->member[i].missing);
    }
    free(j->member);
    free(j->via);
    json_decref(j->run);
    if (j->dir >= 0)
        close(j->dir);
}

/* RUN.json names what is executed here ("via") and whom we log in to: not on anybody's word. */
static ti_status refuse_others(const struct job *j, struct ti_err *err)
{
    if (!j->others)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s/RUN.json' could have been written by others, and says how traces are fetched",
               j->path);
    ti_err_hint(err, "look what \"nodes\" in it says; then make a copy of it yours");
    return TI_ERR_INPUT;
}

/* One ti-gather at a time fetches into a directory. */
static ti_status lock(const struct job *j, int *fd, struct ti_err *err)
{
    *fd = openat(j->dir, "RUN.json", O_RDONLY | O_CLOEXEC);
    if (*fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        close(*fd);
        *fd = -1;
        return ti_err_set(err, TI_ERR_IO, "another ti-gather is fetching into '%s'", j->path);
    }
    return TI_OK;
}

static ti_status work(struct job *j, const char *path, const struct ti_run *run, bool look,
                      struct ti_err *err)
{
    double start_s = ti_now();
    int locked = -1;
    ti_status st = read_run(j, path, err);

    if (st == TI_OK && j->n)
        choose_ranks(j, run);
    if (st == TI_OK && j->left && !look) {
        st = refuse_others(j, err);
        if (st == TI_OK)
            st = lock(j, &locked, err);
        if (st == TI_OK)
            st = go(j, err);
        for (int64_t i = 0; st == TI_OK && i < j->n; i++)
            st = add_failure(j, &j->member[i], err);
        if (locked >= 0)
            close(locked);
    }
    j->f->seconds = ti_now() - start_s;
    return st;
}

ti_status ti_fetch(const char *run, const struct ti_fetch_settings *s, bool look,
                   struct ti_fetch *f, struct ti_err *err)
{
    struct job j = {.work = FETCH, .settings = s, .f = f, .dir = -1};
    ti_status st;

    memset(f, 0, sizeof *f);
    st = work(&j, run, NULL, look, err);
    job_free(&j);
    return st;
}

ti_status ti_fetch_remove(const struct ti_run *run, const struct ti_fetch_settings *s,
                          int64_t *removed, struct ti_fetch *f, struct ti_err *err)
{
    struct job j = {.work = REMOVE, .settings = s, .f = f, .dir = -1};
    ti_status st;

    memset(f, 0, sizeof *f);
    st = work(&j, run->path, run, false, err);
    *removed = j.removed;
    job_free(&j);
    return st;
}

void ti_fetch_free(struct ti_fetch *f)
{
    for (int i = 0; i < f->nfailures; i++) {
        free(f->failure[i].node);
        free(f->failure[i].why);
        free(f->failure[i].hint);
        json_decref(f->failure[i].ranks);
    }
    free(f->failure);
    memset(f, 0, sizeof *f);
}

void ti_fetch_report(const struct ti_fetch *f)
{
    const char *said = "";

    for (int i = 0; i < f->nfailures; i++) {
        const struct ti_fetch_failure *x = &f->failure[i];
        char ranks[256];

        if (i == REPORT_MAX) {
            ti_warn("... and %d more nodes", f->nfailures - i);
            return;
        }
        ranks_text(x->ranks, ranks, sizeof ranks);
        ti_warn("node '%s', %s %s: %s", x->node, count_ranks(x->ranks) == 1 ? "rank" : "ranks",
                ranks, x->why);
        if (x->hint && strcmp(x->hint, said) != 0)
            ti_warn("hint: %s", x->hint);
        said = x->hint ? x->hint : said;
    }
}

json_t *ti_fetch_json(const struct ti_fetch *f)
{
    json_t *list = json_array();

    for (int i = 0; list && i < f->nfailures; i++) {
        const struct ti_fetch_failure *x = &f->failure[i];
        json_t *item =
            json_pack("{s:s, s:O, s:s}", "node", x->node, "ranks", x->ranks, "error", x->why);

        json_array_append_new(list, item ? item : json_null());
    }
    return list;
}
