#include "acquire/fleet/fleet_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/fleet/here.h"
#include "common/cli.h"
#include "node/launch.h"
#include "session/bootstrap.h"
#include "session/paths.h"
#include "session/times.h"

#define STDERR_LOG_MAX (64 * 1024) /* bytes of a node's standard error output */

/* Nodes of one site that are connected through the first of them, if that had to be sent Tiara.
 * Groups of fewer than GROUP_MIN are not worth it. */
#define GROUP_MAX 64
#define GROUP_MIN 4

#define LOG(f, ...)                                                                                \
    do {                                                                                           \
        if ((f)->callbacks.log)                                                                    \
            (f)->callbacks.log((f)->callbacks.arg, __VA_ARGS__);                                   \
    } while (0)

/* --- lost nodes ---------------------------------------------------------- */

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
    ti__fleet_no_answers(f, node);
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
    if (m->priv->conn)
        ti_conn_close(m->priv->conn);
    is_gone(f, node, end);
}

struct ti_conn *ti_fleet_take(struct ti_fleet *f, const char *name)
{
    int64_t node = ti_fleet_find(f, name);
    struct ti_conn *conn;

    f->closing = true;
    if (node < 0 || f->member[node].state != TI_NODE_READY)
        return NULL;
    conn = f->member[node].priv->conn;
    f->member[node].priv->conn = NULL;
    return conn;
}

/* --- what connections call ------------------------------------------------- */

static void connect_group(struct ti_fleet *f, int64_t scout);

static void on_ready(struct ti_conn *conn, void *arg)
{
    struct ti_fleet_node_priv *p = arg;
    struct ti_fleet *f = p->fleet;
    struct ti_fleet_node *m = &f->member[p->node];
    bool shipped;

    m->hello = json_incref((json_t *)ti_conn_hello(conn));
    m->state = TI_NODE_READY;
    m->ready_s = ti_now() - f->begun;
    m->doing = "waiting";
    f->ready++;
    shipped = json_is_true(json_object_get(m->hello, "shipped"));
    f->shipped += shipped;
    LOG(f, "node %s is ready%s%s%s", f->sites->node[p->node].name, p->relayed ? ", by way of " : "",
        p->relayed ? f->sites->node[p->scout].name : "", shipped ? ", our files were sent" : "");
    connect_group(f, p->node);
}

static void on_message(struct ti_conn *conn, const json_t *message, void *arg)
{
    struct ti_fleet_node_priv *p = arg;

    (void)conn;
    if (p->fleet->member[p->node].state == TI_NODE_READY)
        ti__fleet_message(p->fleet, p->node, message);
}

static void on_process(struct ti_conn *conn, const struct ti_frame *frame, void *arg)
{
    struct ti_fleet_node_priv *p = arg;

    (void)conn;
    if (p->fleet->callbacks.on_data)
        p->fleet->callbacks.on_data(p->fleet, p->node, frame, p->fleet->callbacks.arg);
}

static void on_err_output(struct ti_conn *conn, const void *data, size_t bytes, void *arg)
{
    struct ti_fleet_node_priv *p = arg;
    struct ti_fleet_node *m = &p->fleet->member[p->node];

    (void)conn;
    if (m->stderr_logged < STDERR_LOG_MAX)
        LOG(p->fleet, "%s says: %.*s", p->fleet->sites->node[p->node].name, (int)bytes,
            (const char *)data);
    m->stderr_logged += (int64_t)bytes;
}

static ti_status connect_to(struct ti_fleet *f, int64_t node, struct ti_conn *through);

/* A node that cannot be reached through its scout is connected directly. */
static bool connect_directly(struct ti_fleet *f, int64_t node, const struct ti_err *why)
{
    struct ti_fleet_node_priv *p = f->member[node].priv;

    if (!p->relayed || f->closing || f->member[node].state != TI_NODE_CONNECTING)
        return false;
    LOG(f, "%s; trying from here", why->text);
    return connect_to(f, node, NULL) == TI_OK;
}

static void on_ended(struct ti_conn *conn, enum ti_channel_end end, bool relay,
                     const struct ti_err *why, void *arg)
{
    struct ti_fleet_node_priv *p = arg;
    struct ti_fleet *f = p->fleet;
    struct ti_fleet_node *m = &f->member[p->node];
    char name[512], quoted[300];

    (void)conn;
    (void)relay;
    p->conn = NULL;
    if (m->state != TI_NODE_LOST && !connect_directly(f, p->node, why)) {
        m->why = *why;
        snprintf(quoted, sizeof quoted, "'%s'", f->sites->node[p->node].name);
        if (!strstr(why->text, quoted))
            ti_err_prefix(&m->why, TI_ERR_REMOTE, "node %s",
                          ti_fleet_name(f, p->node, name, sizeof name));
        if (end == TI_CHANNEL_SILENT && m->state == TI_NODE_READY)
            ti_err_hint(&m->why, "--silence waits longer for nodes that have much to do; --exclude "
                                 "leaves it out, --retry N does so by itself");
        is_gone(f, p->node, end);
    }
    if (!p->conn)
        connect_group(f, p->node);
}

/* --- connecting ---------------------------------------------------------- */

/* Folder of Tiara on the node; NULL: it is sent there.  On this machine it need not be sent, unless
 * a shell would change the name of our folder. */
static const char *folder_on(const struct ti_fleet *f, int64_t node)
{
    const char *tiara = ti__cluster_of(f, node)->tiara;

    if (tiara || !f->member[node].is_local || ti_bootstrap_check_folder(f->folder, NULL) != TI_OK)
        return tiara;
    return f->folder;
}

static ti_status connect_to(struct ti_fleet *f, int64_t node, struct ti_conn *through)
{
    static const struct ti_conn_callbacks calls = {.ready = on_ready,
                                                   .message = on_message,
                                                   .ended = on_ended,
                                                   .process = on_process,
                                                   .err_output = on_err_output};
    struct ti_fleet_node *m = &f->member[node];

    m->doing = "connecting";
    m->priv->relayed = through != NULL;
    m->priv->conn =
        ti_conn_open(f->conns, through, f->sites->node[node].name, ti__site_of(f, node)->gateway,
                     folder_on(f, node), m->is_local, &calls, m->priv);
    if (m->priv->conn)
        return TI_OK;
    errno = ENOMEM;
    return TI_ERR_IO;
}

/* The scout is ready or lost: connect the nodes that wait for it.  Through the scout if Tiara had
 * to be sent to it: then it is sent on from there, within the site.  Otherwise the others probably
 * have it, too. */
static void connect_group(struct ti_fleet *f, int64_t scout)
{
    struct ti_fleet_node_priv *s = f->member[scout].priv;
    bool relay = f->member[scout].state == TI_NODE_READY &&
                 json_is_true(json_object_get(f->member[scout].hello, "shipped"));

    if (s->scout != scout || f->closing)
        return;
    s->scout = -1;
    for (int64_t i = 0; i < f->n; i++) {
        struct ti_fleet_node_priv *p = f->member[i].priv;

        if (p->scout == scout && !p->conn && f->member[i].state == TI_NODE_CONNECTING &&
            connect_to(f, i, relay ? s->conn : NULL) != TI_OK)
            ti_fleet_abandon(f, i, TI_CHANNEL_LOCAL, "out of memory");
    }
}

/* Whether a node can take part in a group: it is another machine, which needs our files and has an
 * SSH client. */
static bool can_be_grouped(const struct ti_fleet *f, int64_t node)
{
    return f->member[node].state == TI_NODE_CONNECTING && !f->member[node].is_local &&
           !ti__cluster_of(f, node)->tiara && !f->sites->via;
}

/* Divide the nodes of each site into groups, each with a scout. */
static void make_groups(struct ti_fleet *f)
{
    for (int64_t i = 0; i < f->n; i++) {
        int64_t n = 0;

        if (!can_be_grouped(f, i) || f->member[i].priv->scout >= 0)
            continue;
        for (int64_t k = i; k < f->n && n < GROUP_MAX; k++)
            if (can_be_grouped(f, k) && f->member[k].priv->scout < 0 &&
                ti__site_of(f, k) == ti__site_of(f, i)) {
                f->member[k].priv->scout = i;
                n++;
            }
        for (int64_t k = i; n < GROUP_MIN && k < f->n; k++)
            if (f->member[k].priv->scout == i)
                f->member[k].priv->scout = k; /* each for itself */
    }
}

static bool is_connecting(const struct ti_fleet *f, int64_t node, const void *arg)
{
    (void)arg;
    return f->member[node].state == TI_NODE_CONNECTING;
}

ti_status ti_fleet_connect(struct ti_fleet *f, struct ti_err *err)
{
    char note[800], waiting[700];
    struct ti_here here;

    f->begun = ti_now();
    ti_here_begin(&here);
    for (int64_t i = 0; i < f->n; i++)
        f->member[i].is_local =
            f->member[i].state == TI_NODE_CONNECTING &&
            ti_here_is(&here, f->sites->node[i].name, !ti__site_of(f, i)->gateway);
    make_groups(f);
    for (int64_t i = 0; i < f->n; i++) {
        struct ti_fleet_node_priv *p = f->member[i].priv;

        if (f->member[i].state == TI_NODE_CONNECTING && (p->scout < 0 || p->scout == i) &&
            connect_to(f, i, NULL) != TI_OK)
            return ti_err_errno(err, TI_ERR_IO, "cannot connect to '%s'", f->sites->node[i].name);
    }
    while (f->ready + f->gone < f->n && !f->sig) {
        ti_fleet_poll(f, TI__FLEET_POLL_MS);
        ti__fleet_waiting_text(f, is_connecting, NULL, waiting, sizeof waiting);
        snprintf(note, sizeof note, "%s%s%s", waiting, *waiting && f->gone ? ", " : "",
                 f->gone ? "some cannot be used" : "");
        ti_progress_show(&(struct ti_progress){
            .step = "connecting", .unit = "nodes", .done = f->ready, .of = f->n, .note = note});
    }
    ti_progress_end(f->ready == f->n);
    return TI_OK;
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

void ti_fleet_announce_pause(struct ti_fleet *f, double seconds)
{
    ti_conns_announce_pause(f->conns, seconds);
}

void ti_fleet_poll(struct ti_fleet *f, int timeout_ms)
{
    ti_conns_poll(f->conns, timeout_ms);
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
        p->scout = -1;
        f->member[i].priv = p;
        if (use && !use[i]) {
            f->member[i].state = TI_NODE_LOST;
            f->member[i].end = TI_CHANNEL_CLOSED;
            f->gone++;
        }
    }
    return f->member != NULL;
}

enum ti_transport ti_fleet_transport(const char *name)
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
    const struct ti_conns_config config = {.transport = ti_fleet_transport(transport),
                                           .via = (const char *const *)sites->via,
                                           .silence_s = silence_s,
                                           .listen_s = TI_LISTEN_ACQUIRE_S,
                                           .named = true,
                                           .patient = "--silence"};
    struct ti_fleet *f = calloc(1, sizeof *f);
    ti_status st = TI_OK;

    if (!f)
        return ti_err_errno(err, TI_ERR_IO, "cannot connect to the nodes");
    f->sites = sites;
    f->callbacks = *callbacks;
    f->n = sites->nnodes;
    snprintf(f->folder, sizeof f->folder, "%s", paths->node);
    if (strrchr(f->folder, '/'))
        *strrchr(f->folder, '/') = '\0';
    f->sigfd = ti_launch_signal_fd();
    if (!make_members(f, use) || f->sigfd < 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot connect to the nodes");
    if (st == TI_OK)
        st = ti_conns_new(&config, &f->conns, err);
    if (st == TI_OK) {
        f->remote = ti_conns_remote(f->conns);
        if (!ti_remote_add_fd(f->remote, f->sigfd, on_signal, f)) {
            errno = ENOMEM;
            st = ti_err_errno(err, TI_ERR_IO, "cannot connect to the nodes");
        }
    }
    if (st != TI_OK)
        ti_fleet_free(f);
    else
        *out = f;
    return st;
}

/* Let the ti-nodes end their processes and themselves.  A signal shortens that. */
static void leave(struct ti_fleet *f)
{
    double until = ti_now() + TI_END_RUN_S;

    f->closing = true;
    f->sig = 0;
    ti_conns_leave(f->conns);
    while (ti_conns_poll(f->conns, TI__FLEET_POLL_MS) > 0 && ti_now() < until && !f->sig)
        ;
}

void ti_fleet_free(struct ti_fleet *f)
{
    if (!f)
        return;
    f->closing = true;
    if (f->conns)
        leave(f);
    for (int64_t i = 0; f->member && i < f->n; i++) {
        struct ti_fleet_node *m = &f->member[i];

        if (m->priv)
            ti__fleet_no_answers(f, i);
        json_decref(m->hello);
        json_decref(m->answer);
    }
    ti_conns_free(f->conns);
    for (int64_t i = 0; f->member && i < f->n; i++)
        free(f->member[i].priv);
    if (f->sigfd >= 0)
        close(f->sigfd);
    free(f->member);
    free(f);
}
