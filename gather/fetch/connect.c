#include "gather/fetch/connect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/clock.h"
#include "gather/fetch/abandon.h"
#include "gather/fetch/checksums.h"
#include "gather/fetch/kept.h"
#include "gather/fetch/listing.h"
#include "gather/fetch/removal.h"
#include "gather/fetch/requests.h"
#include "gather/fetch/transfer.h"

#define FAILURES_MAX 3   /* failures of a node itself with nothing gained in between */
#define RETRIES_MAX  16  /* of a node in all */
#define BACKOFF_S    0.2 /* before the second attempt; then doubled each time */

/* --- when a connection ends ----------------------------------------------- */

/* Nodes behind this one are connected through its parent instead. */
static void reparent_children(struct ti__peer *p)
{
    struct ti__gathering *g = p->gathering;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *child = &g->peer[i];

        if (!ti__in_tree(child) || child->result->parent != p->i || ti__idle(child))
            continue;
        child->result->parent = p->conn_parent;
        if (!p->loss_counted)
            g->f->lost++;
        p->loss_counted = true;
    }
}

/* LOCAL: for instance the relay has no ssh. */
static bool cannot_log_in(enum ti_channel_end end)
{
    return end == TI_CHANNEL_LOCAL || end == TI_CHANNEL_NO_AUTH ||
           end == TI_CHANNEL_HOST_KEY_UNKNOWN || end == TI_CHANNEL_HOST_KEY_CHANGED ||
           end == TI_CHANNEL_NO_COMMAND || end == TI_CHANNEL_NO_METHOD || end == TI_CHANNEL_NO_NAME;
}

/* A site where no login succeeded counts as closed after two refused logins, or one if only one is
 * to be made: one may be the fault of that node.  Its nodes are then connected from here. */
static void count_refused_login(struct ti__peer *p, enum ti_channel_end end)
{
    struct ti__gathering *g = p->gathering;
    struct ti__site *site = &g->site[p->node->site];
    const char *name = p->result->site;

    site->refused++;
    if (g->f->closed[p->node->site] || site->logins ||
        site->refused < (site->inner < 2 ? site->inner : 2))
        return;
    g->f->closed[p->node->site] = true;
    ti_progress_clear();
    ti_warn("nodes%s%s cannot log in to each other (%s): all are reached from here",
            *name ? " of " : "", name, ti_channel_end_text(end));
    for (int64_t i = 0; i < g->nodes.n; i++)
        if (g->peer[i].node->site == p->node->site && !g->peer[i].conn)
            g->peer[i].result->parent = -1;
}

static bool is_unreachable(enum ti_channel_end end)
{
    return end == TI_CHANNEL_TIMED_OUT || end == TI_CHANNEL_UNREACHABLE;
}

/* After a failure of the node itself: whether to connect it again, then through the parent of its
 * parent, at last from here. */
static bool may_retry(struct ti__peer *p, enum ti_channel_end end)
{
    int64_t parent = p->conn_parent;
    bool direct = parent < 0;

    p->failures = p->gained ? 1 : p->failures + 1;
    if (p->result->retries >= RETRIES_MAX || p->failures >= FAILURES_MAX ||
        (direct && (!p->ready || end == TI_CHANNEL_LOCAL)))
        return false;
    if (!direct && !p->ready && cannot_log_in(end)) {
        p->result->parent = -1;
        count_refused_login(p, end);
    } else if (!direct) {
        /* The last attempt is made from here.  So is the next one if the parent, on the same
         * site, got no answer at all. */
        p->result->parent = !p->ready && (p->failures >= 2 || is_unreachable(end))
                                ? -1
                                : p->gathering->peer[parent].conn_parent;
    }
    return true;
}

static void back_off(struct ti__peer *p)
{
    double jitter = 0.5 + (double)random() / ((double)RAND_MAX + 1);
    int doubled = p->failures < 6 ? p->failures : 6;

    p->retry_at = ti_now() + BACKOFF_S * (double)(1 << doubled) * jitter;
}

static void on_ended(struct ti_conn *w, enum ti_channel_end end, bool relay,
                     const struct ti_err *why, void *arg)
{
    struct ti__peer *p = arg;
    struct ti__gathering *g = p->gathering;
    const struct ti_kept *kept = g->settings->kept;
    bool again = true;

    if (kept && kept->lost)
        kept->lost(p->result->name, kept->arg);
    p->sent_before += ti_conn_bytes(w);
    p->link_before += ti_conn_link_bytes(w);
    p->conn = NULL;
    g->dirty = true;
    ti__requeue(p);
    if (!relay) {
        again = may_retry(p, end);
        reparent_children(p);
    }
    p->ready = false;
    if (ti__idle(p))
        return;
    p->end = end;
    if (!again || p->result->retries >= RETRIES_MAX) {
        ti__abandon(p, why);
        return;
    }
    back_off(p);
    ti__wake(p);
}

/* --- connections --------------------------------------------------------- */

void ti__begin_ready(struct ti__peer *p)
{
    p->ready = true;
    p->loss_counted = false;
    p->result->transport = ti_conn_transport(p->conn);
    p->gathering->f->adopted += p->adopted;
    p->adopted = false;
    if (p->result->ready_s == 0)
        p->result->ready_s = ti_now() - p->gathering->started;
    if (p->conn_parent >= 0)
        p->gathering->site[p->node->site].logins++;
    ti__wake(p);
    if (p->listing != TI__LISTED)
        ti__ask_list(p);
}

static void on_ready(struct ti_conn *w, void *arg)
{
    (void)w;
    ti__begin_ready(arg);
}

static void on_error(struct ti__peer *p, const json_t *j)
{
    const char *text = json_string_value(json_object_get(j, "error")),
               *hint = json_string_value(json_object_get(j, "hint"));
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s", text ? text : "?");
    if (hint)
        ti_err_hint(&why, "%s", hint);
    p->end = TI_CHANNEL_EXITED;
    ti__abandon(p, &why);
}

static void on_message(struct ti_conn *w, const json_t *j, void *arg)
{
    struct ti__peer *p = arg;
    const char *is = json_string_value(json_object_get(j, "is"));
    bool list_again = false;

    (void)w;
    if (!is || ti__abandoned(p) || p->gathering->st != TI_OK)
        return;
    if (strcmp(is, "listed") == 0)
        ti__on_listed(p, j);
    else if (strcmp(is, "list") == 0)
        ti__on_list_end(p, j);
    else if (strcmp(is, "crc") == 0)
        ti__on_crc(p, j);
    else if (strcmp(is, "sending") == 0)
        ti__on_sending(p, j);
    else if (strcmp(is, "merging") == 0)
        ti__on_merging(p);
    else if (strcmp(is, "sent") == 0)
        ti__on_sent(p, j);
    else if (strcmp(is, "send") == 0)
        ti__on_send_end(p, j);
    else if (strcmp(is, "remove") == 0)
        list_again = ti__on_removed(p, j);
    else if (strcmp(is, "error") == 0)
        on_error(p, j);
    if (list_again)
        ti__ask_list(p);
}

static void on_data(struct ti_conn *w, uint32_t rank, const void *data, size_t bytes, void *arg)
{
    struct ti__peer *p = arg;

    (void)w;
    if (!ti__abandoned(p) && p->gathering->st == TI_OK)
        ti__on_data(p, rank, data, bytes);
}

static const char *host_of(const struct ti__peer *p)
{
    return p->node->local || p->node->host ? p->node->host : p->node->name;
}

static const struct ti_conn_callbacks calls = {
    .ready = on_ready, .message = on_message, .data = on_data, .ended = on_ended};

bool ti__use_conn(struct ti__peer *p, struct ti_conn *conn)
{
    if (!ti_conn_hand_over(conn, &calls, p)) {
        ti_conn_hand_over(conn, &(struct ti_conn_callbacks){.ended = NULL}, NULL);
        return false;
    }
    p->conn = conn;
    p->sent_before = -ti_conn_bytes(conn);
    p->link_before = -ti_conn_link_bytes(conn);
    return true;
}

static void open_conn(struct ti__peer *p, struct ti_conn *through)
{
    struct ti__gathering *g = p->gathering;
    const struct ti_source_node *node = p->node;
    bool before = p->result->transport != NULL || p->result->retries || p->failures;

    p->conn = ti_conn_open(g->conns, through, host_of(p), node->gateway, node->tiara, node->local,
                           &calls, p);
    if (!p->conn) {
        errno = ENOMEM;
        ti__local_error(g);
        return;
    }
    p->result->retries += before;
    p->adopted = p->adopted || p->conn_parent != p->result->parent;
    p->conn_parent = p->result->parent;
    p->window.trip = 0; /* measured on another path */
    p->result->depth = 1 + (through ? g->peer[p->result->parent].result->depth : 0);
    p->gained = 0;
    p->result->state = TI_FETCH_CONNECTING;
}

/* The relay for a node; NULL: connect from here, or *wait: the relay is not connected yet.  A
 * parent without work of its own is not reconnected just to relay. */
static struct ti_conn *relay_of(struct ti__peer *p, bool *wait)
{
    struct ti__gathering *g = p->gathering;

    *wait = false;
    while (p->result->parent >= 0) {
        struct ti__peer *above = &g->peer[p->result->parent];

        *wait = !above->ready && (above->conn || above->result->state == TI_FETCH_WAITING);
        if (above->ready && above->conn)
            return above->conn;
        if (*wait)
            return NULL;
        p->result->parent = above->result->parent;
    }
    return NULL;
}

/* Looks up host keys of the nodes behind relays, by depth. */
static void prefetch_relayed(struct ti__gathering *g)
{
    bool deeper = true;

    for (int depth = 2; deeper; depth++) {
        deeper = false;
        for (int64_t i = 0; i < g->nodes.n; i++) {
            const struct ti__peer *p = &g->peer[i];

            if (p->result->depth == depth && host_of(p))
                ti_conn_prefetch(g->conns, host_of(p));
            deeper = deeper || p->result->depth > depth;
        }
    }
}

void ti__open_connections(struct ti__gathering *g)
{
    double now = ti_now();

    for (int64_t i = 0; i < g->nodes.n && g->st == TI_OK; i++) {
        struct ti__peer *p = &g->peer[i];
        struct ti_conn *through;
        bool wait;

        if (p->result->state != TI_FETCH_WAITING || p->conn || now < p->retry_at)
            continue;
        if (g->f->closed[p->node->site])
            p->result->parent = -1;
        through = relay_of(p, &wait);
        if (!wait)
            open_conn(p, through);
    }
    if (!g->prefetched)
        prefetch_relayed(g); /* after the direct connections have begun */
    g->prefetched = true;
}

void ti__count_bytes(struct ti__gathering *g)
{
    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];

        p->result->sent = p->sent_before + (p->conn ? ti_conn_bytes(p->conn) : 0);
        p->result->link = p->link_before + (p->conn ? ti_conn_link_bytes(p->conn) : 0);
    }
}
