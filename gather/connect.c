#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "gather/fetch_job.h"
#include "node/launch.h"

#define FAILURES_MOST 3    /* of its own, nothing having come in between */
#define RETRIES_MOST  16   /* whatever came in between */
#define ANSWER_TIMES  10   /* as long as a node may be silent may it live and do nothing */
#define ANSWER_S      30.0 /* ... which without a timeout is this */
#define READ_RATE     1e6  /* bytes/s that it reads at least */
#define LOOK_RATE     400  /* files/s that it looks at, or removes */
#define BEAT_BYTES    256  /* of a frame that may be no more than a beat */
#define PAUSE_S       0.2  /* before the second try; then twice as long, and so on */

void ti__local_trouble(struct ti__fetching *g)
{
    int cause = errno;

    if (g->st != TI_OK)
        return;
    errno = cause;
    g->st = ti_err_errno(g->err, TI_ERR_IO, "cannot write to '%s'", g->nodes.path);
    if (cause == ENOSPC || cause == EDQUOT)
        ti_err_hint(g->err, "make room and start again: what is here is not fetched again");
}

void ti__wake(struct ti__member *m)
{
    m->g->dirty = true;
    if (m->out->state == TI_FETCH_FAILED || m->out->state == TI_FETCH_SENDING)
        return;
    if (m->way)
        m->out->state = m->ready ? TI_FETCH_READY : TI_FETCH_CONNECTING;
    else
        m->out->state = TI_FETCH_WAITING;
    m->out->done_s = 0;
}

void ti__give_up(struct ti__member *m, const struct ti_err *why)
{
    if (ti__given_up(m))
        return;
    m->why = *why;
    m->out->state = TI_FETCH_FAILED;
    m->out->done_s = ti_now() - m->g->started;
    m->g->dirty = true;
    ti__interrupted(m);
    ti__release(m);
}

void ti__nonsense(struct ti__member *m, const char *what)
{
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "what ti-node sends makes no sense: %s", what);
    m->end = TI_CHANNEL_CLOSED;
    ti__give_up(m, &why);
    if (m->way)
        ti_way_close(m->way);
}

/* --- who lives, and does nothing ------------------------------------------ */

void ti__moved(struct ti__member *m)
{
    m->moved = m->g->clock;
    m->moved_bytes = m->g->f->bytes;
}

static bool is_busy(const struct ti__member *m)
{
    return m->ready && !ti__given_up(m) &&
           (m->listing == TI__ASKED || m->asked || m->checked || m->removing);
}

/* Of all nodes: what they may send and did not come yet.  Who says something now that takes long to
 * come is doing it. */
static int64_t look_under_way(struct ti__fetching *g)
{
    int64_t owed = 0;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__member *m = &g->member[i];
        size_t begun = m->way ? ti_way_begun(m->way) : 0;

        if (begun > m->begun && begun > BEAT_BYTES) {
            ti__moved(m);
            g->arrived = g->clock;
        }
        m->begun = begun;
        owed += m->asked ? m->flow.owed : 0;
    }
    return owed;
}

/* What it has to read, and to look at; a directory may have the traces of all ranks. */
static double patience(const struct ti__member *m)
{
    double timeout_s = m->g->settings->timeout_s > 0 ? m->g->settings->timeout_s : ANSWER_S;
    int64_t files = m->listing == TI__ASKED || m->removing ? m->g->np : ti_ranges_count(m->checked);

    return ANSWER_TIMES * timeout_s + (double)(m->crc_bytes + m->from_bytes) / READ_RATE +
           (double)files / LOOK_RATE;
}

/* Its beats say that it lives; but a disk or a file system may hang, and it itself be malicious.
 * As a relay it may do well.  On a slow link, what it says may be behind what others were let send,
 * twice as much where they were let send more meanwhile: that is waited for while it comes. */
void ti__give_up_the_stuck(struct ti__fetching *g)
{
    int64_t owed = look_under_way(g);

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__member *m = &g->member[i];
        bool behind = g->arrived > m->moved && g->f->bytes - m->moved_bytes < 2 * owed;
        double patience_s;
        struct ti_err why;

        if (!is_busy(m))
            continue;
        patience_s = patience(m);
        if (g->clock - (behind ? g->arrived : m->moved) < patience_s)
            continue;
        ti_err_set(&why, TI_ERR_REMOTE,
                   "it lives, but did nothing of what it was asked for in %.0f s: is its disk, or "
                   "the file system of '%s', stuck?",
                   patience_s, m->node->directory);
        ti_err_hint(&why, "--timeout waits longer");
        m->end = TI_CHANNEL_SILENT;
        ti__give_up(m, &why);
    }
}

/* --- when a way ends ----------------------------------------------------- */

/* Nodes that wait for this one go to who connects it. */
static void pass_children_on(struct ti__member *m)
{
    struct ti__fetching *g = m->g;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__member *child = &g->member[i];

        if (!ti__takes_part(child) || child->out->parent != m->i || ti__idle(child))
            continue;
        child->out->parent = m->opened_parent;
        if (!m->told_lost)
            g->f->lost++;
        m->told_lost = true;
    }
}

/* LOCAL: the relay has no ssh, say. */
static bool cannot_log_in(enum ti_channel_end end)
{
    return end == TI_CHANNEL_LOCAL || end == TI_CHANNEL_NO_AUTH ||
           end == TI_CHANNEL_HOST_KEY_UNKNOWN || end == TI_CHANNEL_HOST_KEY_CHANGED ||
           end == TI_CHANNEL_NO_COMMAND || end == TI_CHANNEL_NO_METHOD || end == TI_CHANNEL_NO_NAME;
}

/* It may be this node alone, so two of them say it of their site. */
static void login_refused(struct ti__member *m, enum ti_channel_end end)
{
    struct ti__fetching *g = m->g;
    struct ti__site *site = &g->site[m->node->site];
    const char *name = m->out->site;

    site->refused++;
    if (g->f->closed[m->node->site] || site->logins ||
        site->refused < (site->inner < 2 ? site->inner : 2))
        return;
    g->f->closed[m->node->site] = true;
    ti_progress_clear();
    ti_warn("nodes%s%s cannot log in to each other (%s): all are reached from here",
            *name ? " of " : "", name, ti_channel_end_text(end));
    for (int64_t i = 0; i < g->nodes.n; i++)
        if (g->member[i].node->site == m->node->site && !g->member[i].way)
            g->member[i].out->parent = -1;
}

static bool is_not_there(enum ti_channel_end end)
{
    return end == TI_CHANNEL_TIMED_OUT || end == TI_CHANNEL_UNREACHABLE;
}

/* Whether it is tried again, when it is the node's own fault: by who connects its parent, at
 * last from here. */
static bool tries_again(struct ti__member *m, enum ti_channel_end end)
{
    int64_t parent = m->opened_parent;
    bool direct = parent < 0;

    m->failures = m->out->bytes > m->bytes_before ? 1 : m->failures + 1;
    if (m->out->retries >= RETRIES_MOST || m->failures >= FAILURES_MOST ||
        (direct && (!m->ready || end == TI_CHANNEL_LOCAL)))
        return false;
    if (!direct && !m->ready && cannot_log_in(end)) {
        m->out->parent = -1;
        login_refused(m, end);
    } else if (!direct) {
        /* the second time from here, whoever would be next: it is tried no third time; and at once
         * where its neighbours are not answered, with which it should have been quick */
        m->out->parent = !m->ready && (m->failures >= 2 || is_not_there(end))
                             ? -1
                             : m->g->member[parent].opened_parent;
    }
    return true;
}

static void pause_before(struct ti__member *m)
{
    double jitter = 0.5 + (double)random() / ((double)RAND_MAX + 1);
    int doubled = m->failures < 6 ? m->failures : 6;

    m->not_before = ti_now() + PAUSE_S * (double)(1 << doubled) * jitter;
}

static void on_ended(struct ti_way *w, enum ti_channel_end end, bool relay,
                     const struct ti_err *why, void *arg)
{
    struct ti__member *m = arg;
    struct ti__fetching *g = m->g;
    bool again = true;

    m->sent_before += ti_way_bytes(w);
    m->link_before += ti_way_link_bytes(w);
    m->way = NULL;
    g->dirty = true;
    ti__interrupted(m);
    if (!relay) {
        again = tries_again(m, end);
        pass_children_on(m);
    }
    m->ready = false;
    if (ti__idle(m))
        return;
    m->end = end;
    if (!again || m->out->retries >= RETRIES_MOST) {
        ti__give_up(m, why);
        return;
    }
    pause_before(m);
    ti__wake(m);
}

/* --- ways ---------------------------------------------------------------- */

static void on_ready(struct ti_way *w, void *arg)
{
    struct ti__member *m = arg;

    m->ready = true;
    m->told_lost = false;
    m->out->transport = ti_way_transport(w);
    m->g->f->adopted += m->adopted;
    m->adopted = false;
    if (m->out->ready_s == 0)
        m->out->ready_s = ti_now() - m->g->started;
    if (m->opened_parent >= 0)
        m->g->site[m->node->site].logins++;
    ti__wake(m);
    if (m->listing != TI__LISTED)
        ti__ask_list(m);
}

static void take_error(struct ti__member *m, const json_t *j)
{
    const char *text = json_string_value(json_object_get(j, "error")),
               *hint = json_string_value(json_object_get(j, "hint"));
    struct ti_err why;

    ti_err_set(&why, TI_ERR_REMOTE, "%s", text ? text : "?");
    if (hint)
        ti_err_hint(&why, "%s", hint);
    m->end = TI_CHANNEL_EXITED;
    ti__give_up(m, &why);
}

static void take_removed(struct ti__member *m, const json_t *j)
{
    json_int_t n = json_integer_value(json_object_get(j, "removed"));

    if (!m->removing || n < 0 || n > ti_ranges_count(m->going)) {
        ti__nonsense(m, "more traces removed than there were");
        return;
    }
    ti__moved(m);
    m->g->removed += n;
    m->removing = false;
    m->kept = m->kept || n < ti_ranges_count(m->going);
    ti__add_all(m->tried, m->going);
    json_decref(m->going);
    m->going = NULL;
    m->g->dirty = true;
    ti__ask_remove(m);
    if (!m->removing && m->kept) { /* who shares the directory may have removed them as well */
        m->kept = false;
        ti__ask_list(m);
    }
}

static void on_message(struct ti_way *w, const json_t *j, void *arg)
{
    struct ti__member *m = arg;
    const char *is = json_string_value(json_object_get(j, "is"));

    (void)w;
    if (!is || ti__given_up(m) || m->g->st != TI_OK)
        return;
    if (strcmp(is, "listed") == 0)
        ti__take_listed(m, j);
    else if (strcmp(is, "list") == 0)
        ti__list_done(m, j);
    else if (strcmp(is, "crc") == 0)
        ti__take_crc(m, j);
    else if (strcmp(is, "sending") == 0)
        ti__take_sending(m, j);
    else if (strcmp(is, "sent") == 0)
        ti__take_sent(m, j);
    else if (strcmp(is, "send") == 0)
        ti__send_done(m);
    else if (strcmp(is, "remove") == 0)
        take_removed(m, j);
    else if (strcmp(is, "error") == 0)
        take_error(m, j);
}

static void on_data(struct ti_way *w, uint32_t rank, const void *data, size_t bytes, void *arg)
{
    struct ti__member *m = arg;

    (void)w;
    if (!ti__given_up(m) && m->g->st == TI_OK)
        ti__take_data(m, rank, data, bytes);
}

static const char *host_of(const struct ti__member *m)
{
    return m->node->local || m->node->host ? m->node->host : m->node->name;
}

static void open_way(struct ti__member *m, struct ti_way *through)
{
    static const struct ti_way_calls calls = {
        .ready = on_ready, .message = on_message, .data = on_data, .ended = on_ended};
    struct ti__fetching *g = m->g;
    const struct ti_source_node *node = m->node;
    bool before = m->out->transport != NULL || m->out->retries || m->failures;

    m->way = ti_way_open(g->ways, through, host_of(m), node->gateway, node->tiara, node->local,
                         &calls, m);
    if (!m->way) {
        errno = ENOMEM;
        ti__local_trouble(g);
        return;
    }
    m->out->retries += before;
    m->adopted = m->adopted || m->opened_parent != m->out->parent;
    m->opened_parent = m->out->parent;
    m->flow.trip = 0; /* it is another way */
    m->out->depth = 1 + (through ? g->member[m->out->parent].out->depth : 0);
    m->bytes_before = m->out->bytes;
    m->out->state = TI_FETCH_CONNECTING;
}

/* Its relay, if that will be there: *wait if it is not yet.  Who has no more to do is not
 * connected again for others. */
static struct ti_way *relay_of(struct ti__member *m, bool *wait)
{
    struct ti__fetching *g = m->g;

    *wait = false;
    while (m->out->parent >= 0) {
        struct ti__member *p = &g->member[m->out->parent];

        *wait = !p->ready && (p->way || p->out->state == TI_FETCH_WAITING);
        if (p->ready && p->way)
            return p->way;
        if (*wait)
            return NULL;
        m->out->parent = p->out->parent;
    }
    return NULL;
}

/* Those that relays are to reach, in that order. */
static void foresee(struct ti__fetching *g)
{
    bool deeper = true;

    for (int depth = 2; deeper; depth++) {
        deeper = false;
        for (int64_t i = 0; i < g->nodes.n; i++) {
            const struct ti__member *m = &g->member[i];

            if (m->out->depth == depth && host_of(m))
                ti_way_foresee(g->ways, host_of(m));
            deeper = deeper || m->out->depth > depth;
        }
    }
}

void ti__reach(struct ti__fetching *g)
{
    double now = ti_now();

    for (int64_t i = 0; i < g->nodes.n && g->st == TI_OK; i++) {
        struct ti__member *m = &g->member[i];
        struct ti_way *through;
        bool wait;

        if (m->out->state != TI_FETCH_WAITING || m->way || now < m->not_before)
            continue;
        if (g->f->closed[m->node->site])
            m->out->parent = -1;
        through = relay_of(m, &wait);
        if (!wait)
            open_way(m, through);
    }
    if (!g->foreseen)
        foresee(g); /* after those that are connected at once */
    g->foreseen = true;
}

void ti__count_ways(struct ti__fetching *g)
{
    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__member *m = &g->member[i];

        m->out->sent = m->sent_before + (m->way ? ti_way_bytes(m->way) : 0);
        m->out->link = m->link_before + (m->way ? ti_way_link_bytes(m->way) : 0);
    }
}
