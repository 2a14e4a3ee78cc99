#include "sound/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sound/wildcards.h"

#define KEPT_MAX (INT64_C(1) << 25) /* elements of vectors kept for persistent requests */

struct request {
    bool used, active; /* persistent and not started: used, but not active */
    bool persistent, cancelled;
    uint64_t event; /* that made it, or started it last */
    uint32_t op;
    int64_t lot;           /* partitioned: as in struct ti_msg */
    struct ti_event *init; /* persistent: the event that made it */
    struct ti_msg msg[2];
    int nmsgs;
};

struct probed {
    bool used;
    struct ti_msg msg;
};

struct ti_walk {
    struct ti_source *source;
    struct ti_reader *r;
    struct ti_comm_view comms;
    struct ti_neighbourhoods topologies;
    int64_t rank;
    uint64_t index;
    struct ti_wildcards ahead;
    struct request *live; /* by number */
    size_t nlive, live_cap;
    int64_t kept; /* elements of vectors in all `init` */
    struct probed *probed;
    size_t nprobed, probed_cap;
    struct ti_msg *posted, *done;
    size_t nposted, posted_cap, ndone, done_cap;
    struct ti_coll_call *call;
    size_t ncalls, calls_cap;
    struct ti_map channels; /* (gid, tag, peer, which: see channel_of) */
    struct count {
        uint64_t next;   /* number of the next message */
        uint64_t placed; /* messages posted; fewer than `next` while some are only probed */
    } * count;           /* by channel */
    size_t counts_cap;
};

/* ---- opening and closing ---- */

ti_status ti_walk_open(struct ti_source *s, struct ti_comms *comms, int64_t rank,
                       struct ti_walk **out, struct ti_err *err)
{
    struct ti_walk *w = calloc(1, sizeof *w);
    ti_status st;

    if (!w)
        return ti_err_errno(err, TI_ERR_IO, "cannot walk through rank %lld", (long long)rank);
    w->source = s;
    w->rank = rank;
    st = ti_source_reader(s, rank, &w->r, err);
    if (st) {
        free(w);
        return st;
    }
    ti_comm_view_start(&w->comms, comms, rank);
    *out = w;
    return TI_OK;
}

static void forget_init(struct ti_walk *w, struct request *q)
{
    for (int v = 0; q->init && v < TI_VECS; v++) {
        w->kept -= q->init->vec[v].len;
        free((void *)(uintptr_t)q->init->vec[v].data);
    }
    free(q->init);
    q->init = NULL;
}

void ti_walk_close(struct ti_walk *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->nlive; i++)
        forget_init(w, &w->live[i]);
    ti_reader_close(w->r);
    ti_wildcards_free(&w->ahead);
    ti_comm_view_free(&w->comms);
    ti_neighbourhoods_free(&w->topologies);
    ti_map_free(&w->channels);
    free(w->count);
    free(w->live);
    free(w->probed);
    free(w->posted);
    free(w->done);
    free(w->call);
    free(w);
}

struct ti_reader *ti_walk_reader(struct ti_walk *w)
{
    return w->r;
}

int64_t ti_walk_rank(const struct ti_walk *w)
{
    return w->rank;
}

static void wrong(struct ti_step *step, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct ti_step *step, const char *fmt, ...)
{
    va_list ap;

    if (step->why[0])
        return;
    va_start(ap, fmt);
    vsnprintf(step->why, sizeof step->why, fmt, ap);
    va_end(ap);
}

static const struct ti_local_comm *comm_at(struct ti_walk *w, struct ti_step *step, int64_t index)
{
    const struct ti_local_comm *comm = ti_comm_view_get(&w->comms, w->r, index);

    if (!comm)
        wrong(step, "the trace does not say what communicator %lld is", (long long)index);
    return comm;
}

/* ---- channels ---- */

/* Keys of counters: of a channel's messages or, with PARTITIONED, of its partitioned requests. */
enum { PARTITIONED = 2, LOTS = 4 };

static struct count *counter(struct ti_walk *w, const struct ti_msg *m, int64_t which)
{
    int64_t c = ti_map_add(&w->channels, m->gid, m->tag, m->peer, which);

    w->count = ti_grow(w->count, &w->counts_cap, w->channels.n, sizeof w->count[0]);
    return &w->count[c];
}

static struct count *channel_of(struct ti_walk *w, const struct ti_msg *m)
{
    return counter(w, m, (m->recv ? 1 : 0) + m->lot * LOTS);
}

uint64_t ti_walk_posted(const struct ti_walk *w, const struct ti_msg *m)
{
    int64_t c =
        ti_map_find(&w->channels, m->gid, m->tag, m->peer, (m->recv ? 1 : 0) + m->lot * LOTS);

    return c < 0 ? 0 : w->count[c].next;
}

/* ---- messages ---- */

static void put_posted(struct ti_walk *w, struct ti_msg *m)
{
    if (!m->null)
        m->astray = channel_of(w, m)->placed++ != m->seq;
    w->posted = ti_grow(w->posted, &w->posted_cap, w->nposted + 1, sizeof w->posted[0]);
    w->posted[w->nposted++] = *m;
}

/* Fill in channel and partner of a message on communicator `index`; false if they are invalid. */
static bool address(struct ti_walk *w, struct ti_step *step, struct ti_msg *m, int64_t index,
                    int64_t peer, int64_t tag)
{
    const struct ti_local_comm *comm = comm_at(w, step, index);

    if (!comm)
        return false;
    if (peer == TI_ANY || tag == TI_ANY) {
        wrong(step, "what the wildcard matched is not in the trace");
        return false;
    }
    m->gid = comm->gid;
    m->tag = tag;
    m->peer = ti_comm_view_world(&w->comms, comm, peer);
    if (m->peer < 0) {
        wrong(step, "its partner is no rank of the communicator");
        return false;
    }
    if (m->bytes < 0 || tag < 0) {
        wrong(step, "%s is negative", tag < 0 ? "its tag" : "its size");
        return false;
    }
    return true;
}

/* Find out what a non-blocking receive with a wildcard matched; sets step->lost if the trace does
 * not tell. */
static ti_status match(struct ti_walk *w, struct ti_step *step, struct ti_msg *m, int64_t *peer,
                       int64_t *tag, struct ti_err *err)
{
    struct ti_match match;
    ti_status st =
        ti_wildcards_ask(&w->ahead, w->source, w->rank, step->index, m->req, &match, err);

    if (st)
        return st;
    if (match.state != TI_MATCH_KNOWN) {
        step->lost = true;
        m->null = m->unknown = true;
    } else if (match.from == TI_NULL) {
        m->null = m->cancelled = true;
    }
    if (*peer == TI_ANY)
        *peer = match.from;
    if (*tag == TI_ANY)
        *tag = match.tag;
    return TI_OK;
}

/*
 * Post one half of `ev`, which is the event of the step or the init of a persistent request.  recv,
 * req and lot of *m are set; the other members are filled in.
 */
static ti_status post_half(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev,
                           struct ti_msg *m, struct ti_err *err)
{
    bool second = m->recv && ti_op_is(ev->op, TI_T_SENDS | TI_T_RECEIVES);
    int64_t peer = ev->arg[second ? TI_F_PEER2 : TI_F_PEER];
    int64_t tag = ev->arg[second ? TI_F_TAG2 : TI_F_TAG];
    ti_status st = TI_OK;

    m->mode = ti_op_is(ev->op, TI_T_BUFFERED)      ? TI_SEND_BUFFERED
              : ti_op_is(ev->op, TI_T_SYNCHRONOUS) ? TI_SEND_SYNCHRONOUS
                                                   : TI_SEND_STANDARD;
    m->bytes = ev->arg[second ? TI_F_BYTES2 : TI_F_BYTES];
    m->event = step->index;
    m->op = ev->op;
    if (peer == TI_NULL)
        m->null = true;
    else if (m->recv && m->req >= 0 && ti_is_wild(ev))
        st = match(w, step, m, &peer, &tag, err);
    else if (m->recv && peer == TI_ANY && (ev->mask & TI_M_FROM))
        peer = ev->arg[TI_F_FROM];
    if (m->recv && m->req < 0 && tag == TI_ANY && (ev->mask & TI_M_FROMTAG))
        tag = ev->arg[TI_F_FROMTAG];
    if (st || m->unknown)
        return st;
    if (!m->null && !address(w, step, m, ev->arg[TI_F_COMM], peer, tag)) {
        m->null = m->unknown = true;
        return TI_OK;
    }
    if (!m->null)
        m->seq = channel_of(w, m)->next++;
    put_posted(w, m);
    return TI_OK;
}

/* Post the messages of `ev`, with request number `req` (-1: none). */
static ti_status post(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev,
                      int64_t req, struct request *q, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int recv = 0; recv < 2 && !st; recv++) {
        struct ti_msg m = {.recv = recv, .req = req, .lot = q ? q->lot : 0};

        if (!ti_op_is(ev->op, recv ? TI_T_RECEIVES : TI_T_SENDS))
            continue;
        st = post_half(w, step, ev, &m, err);
        if (q)
            q->msg[q->nmsgs++] = m;
    }
    return st;
}

/* ---- matched probes ---- */

static void take_probe(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    int64_t number = ev->arg[TI_F_MSG], peer = ev->arg[TI_F_PEER], tag = ev->arg[TI_F_TAG];
    struct ti_msg m = {.recv = true, .req = -1, .event = step->index, .op = ev->op};

    if (number == -1)
        return;                                      /* from MPI_PROC_NULL */
    if (number < 0 || (size_t)number > w->nprobed) { /* a new number is the lowest free one */
        wrong(step, "message number %lld is out of range", (long long)number);
        return;
    }
    w->probed = ti_grow(w->probed, &w->probed_cap, (size_t)number + 1, sizeof w->probed[0]);
    if (w->nprobed == (size_t)number)
        w->nprobed++;
    if (w->probed[number].used)
        wrong(step, "message %lld is in use since event %llu", (long long)number,
              (unsigned long long)w->probed[number].msg.event);
    if (peer == TI_ANY && (ev->mask & TI_M_FROM))
        peer = ev->arg[TI_F_FROM];
    if (tag == TI_ANY && (ev->mask & TI_M_FROMTAG))
        tag = ev->arg[TI_F_FROMTAG];
    if (!address(w, step, &m, ev->arg[TI_F_COMM], peer, tag))
        m.null = m.unknown = true;
    else
        m.seq = channel_of(w, &m)->next++;
    w->probed[number].used = true;
    w->probed[number].msg = m;
}

/* The receive of a probed message, with or without a request. */
static void receive_probed(struct ti_walk *w, struct ti_step *step, struct request *q)
{
    const struct ti_event *ev = &step->ev;
    int64_t number = ev->arg[TI_F_MSG];
    struct ti_msg m = {.recv = true, .null = true};

    if (number >= 0 && (size_t)number < w->nprobed && w->probed[number].used) {
        m = w->probed[number].msg;
        w->probed[number].used = false;
    } else if (number != -1) {
        wrong(step, "message %lld was not probed", (long long)number);
        m.unknown = true;
    }
    m.event = step->index;
    m.op = ev->op;
    m.bytes = ev->arg[TI_F_BYTES];
    m.req = q ? ev->arg[TI_F_REQ] : -1;
    if (m.bytes < 0) {
        wrong(step, "its size is negative");
        m.bytes = 0;
    }
    if (!m.unknown)
        put_posted(w, &m);
    if (q)
        q->msg[q->nmsgs++] = m;
}

/* ---- requests ---- */

/* Keep the event that made a persistent request, since each start repeats it. */
static void keep_init(struct ti_walk *w, struct ti_step *step, struct request *q)
{
    size_t none = 0;
    struct ti_event *init = ti_grow(NULL, &none, 1, sizeof *init);

    *init = step->ev;
    for (int v = 0; v < TI_VECS; v++) {
        struct ti_vec *vec = &init->vec[v];
        size_t bytes = (size_t)vec->len * (size_t)vec->width;
        void *data = NULL;

        if (vec->len > KEPT_MAX - w->kept) {
            wrong(step, "the counts of all persistent requests are too many to keep");
            vec->len = 0;
        } else if (vec->len) {
            none = 0;
            data = ti_grow(NULL, &none, bytes, 1);
            memcpy(data, vec->data, bytes);
        }
        vec->data = data;
        w->kept += vec->len;
    }
    q->init = init;
}

/* Number a partitioned request, which is matched where it is made. */
static void deal_lot(struct ti_walk *w, struct ti_step *step, struct request *q)
{
    const struct ti_event *ev = &step->ev;
    struct ti_msg m = {.recv = ti_op_is(ev->op, TI_T_RECEIVES), .bytes = ev->arg[TI_F_BYTES]};

    if (ev->arg[TI_F_PEER] != TI_NULL &&
        address(w, step, &m, ev->arg[TI_F_COMM], ev->arg[TI_F_PEER], ev->arg[TI_F_TAG]))
        q->lot = 1 + (int64_t)counter(w, &m, PARTITIONED + (m.recv ? 1 : 0))->next++;
}

static struct request *new_request(struct ti_walk *w, struct ti_step *step)
{
    int64_t req = step->ev.arg[TI_F_REQ];
    struct request *q;

    if (req < 0 || (size_t)req > w->nlive) { /* a new number is the lowest free one */
        wrong(step, "request number %lld is out of range", (long long)req);
        return NULL;
    }
    w->live = ti_grow(w->live, &w->live_cap, (size_t)req + 1, sizeof w->live[0]);
    if (w->nlive == (size_t)req)
        w->nlive++;
    q = &w->live[req];
    if (q->used)
        wrong(step, "request %lld is in use since event %llu", (long long)req,
              (unsigned long long)q->event);
    forget_init(w, q);
    *q = (struct request){.used = true, .event = step->index, .op = step->ev.op};
    return q;
}

static ti_status make_request(struct ti_walk *w, struct ti_step *step, struct ti_err *err)
{
    struct request *q = new_request(w, step);

    if (!q)
        return TI_OK;
    if (ti_op_is(step->ev.op, TI_T_PERSISTENT)) {
        q->persistent = true;
        if (ti_op_is(step->ev.op, TI_T_PARTITIONED))
            deal_lot(w, step, q);
        keep_init(w, step, q);
        return TI_OK;
    }
    q->active = true;
    if (ti_op_is(step->ev.op, TI_T_PROBED))
        receive_probed(w, step, q);
    return post(w, step, &step->ev, step->ev.arg[TI_F_REQ], q, err);
}

/* Request `req`; NULL if there is none. */
static struct request *request_at(const struct ti_walk *w, int64_t req)
{
    return req >= 0 && (size_t)req < w->nlive && w->live[req].used ? &w->live[req] : NULL;
}

static void call(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev);

static ti_status start(struct ti_walk *w, struct ti_step *step, int64_t req, struct ti_err *err)
{
    struct request *q = request_at(w, req);

    if (!q || !q->persistent) {
        wrong(step, "request %lld is not persistent", (long long)req);
        return TI_OK;
    }
    if (q->active) {
        wrong(step, "request %lld is active since event %llu", (long long)req,
              (unsigned long long)q->event);
        return TI_OK;
    }
    q->active = true;
    q->event = step->index;
    q->nmsgs = 0;
    if (ti_op_collective(q->op))
        call(w, step, q->init);
    return post(w, step, q->init, req, q, err);
}

/* Remove a cancelled message from its channel, or mark it as a hole. */
static void withdraw(struct ti_walk *w, struct ti_msg *m)
{
    struct count *count = channel_of(w, m);

    m->cancelled = true;
    m->hole = m->seq + 1 != count->next;
    if (!m->hole) {
        count->next--;
        count->placed--;
    }
}

static void finish(struct ti_walk *w, struct ti_step *step, int64_t req)
{
    struct request *q = request_at(w, req);
    bool freed = step->ev.op == TI_OP_REQUEST_FREE;

    if (!q) {
        wrong(step, "request %lld is not outstanding", (long long)req);
        return;
    }
    for (int i = 0; i < q->nmsgs && q->active; i++) {
        struct ti_msg *m;

        w->done = ti_grow(w->done, &w->done_cap, w->ndone + 1, sizeof w->done[0]);
        m = &w->done[w->ndone++];
        *m = q->msg[i];
        if (m->null)
            continue;
        if (q->cancelled)
            withdraw(w, m);
        else
            m->posted_after = ti_walk_posted(w, m) - 1 - m->seq;
    }
    q->active = q->cancelled = false;
    q->nmsgs = 0;
    if (freed || !q->persistent) {
        forget_init(w, q);
        q->used = false;
    }
}

/* Request `req` completes as cancelled. */
static void mark_cancelled(struct ti_walk *w, struct ti_step *step, int64_t req)
{
    struct request *q = request_at(w, req);

    if (!q || !q->active)
        return; /* reported where it completes */
    for (int i = 0; i < q->nmsgs; i++)
        if (!q->msg[i].cancelling)
            wrong(step, "request %lld completes as cancelled, but MPI_Cancel was not called for it",
                  (long long)req);
    q->cancelled = true;
}

static void complete(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    const struct ti_vec *matched = &ev->vec[1];

    if (ev->mask & TI_M_REQ) {
        if ((ev->mask & TI_M_FROM) && ev->arg[TI_F_FROM] == TI_NULL)
            mark_cancelled(w, step, ev->arg[TI_F_REQ]);
        finish(w, step, ev->arg[TI_F_REQ]);
        return;
    }
    for (int64_t i = 0; i + 2 < matched->len; i += 3)
        if (ti_vec_at(matched, i + 1) == TI_NULL)
            mark_cancelled(w, step, ti_vec_at(matched, i));
    if ((ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL]) {
        for (size_t i = 0; i < w->nlive; i++)
            if (w->live[i].used && w->live[i].active)
                finish(w, step, (int64_t)i);
    } else {
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            finish(w, step, ti_vec_at(&ev->vec[0], i));
    }
}

static void cancel(struct ti_walk *w, struct ti_step *step)
{
    struct request *q = request_at(w, step->ev.arg[TI_F_REQ]);

    if (!q || !q->active) {
        wrong(step, "request %lld is not outstanding", (long long)step->ev.arg[TI_F_REQ]);
        return;
    }
    for (int i = 0; i < q->nmsgs; i++)
        q->msg[i].cancelling = true;
}

/* A call for a partitioned or generalized request. */
static void use(struct ti_walk *w, struct ti_step *step)
{
    const struct request *q = request_at(w, step->ev.arg[TI_F_REQ]);
    bool general = step->ev.op == TI_OP_GREQUEST_COMPLETE;

    if (!q || (!q->active && step->ev.op != TI_OP_PARRIVED) ||
        (general ? q->op != TI_OP_GREQUEST_START : !ti_op_is(q->op, TI_T_PARTITIONED)))
        wrong(step, "request %lld is no %s request that is active",
              (long long)step->ev.arg[TI_F_REQ], general ? "generalized" : "partitioned");
}

bool ti_walk_pending(const struct ti_walk *w, size_t *at, struct ti_pending *out)
{
    for (; *at < w->nlive + w->nprobed; ++*at) {
        if (*at < w->nlive) {
            const struct request *q = &w->live[*at];

            if (!q->used || !q->active)
                continue;
            *out = (struct ti_pending){.number = (int64_t)*at,
                                       .event = q->event,
                                       .op = q->op,
                                       .msg = q->msg,
                                       .nmsgs = q->nmsgs};
        } else {
            const struct probed *p = &w->probed[*at - w->nlive];

            if (!p->used)
                continue;
            *out = (struct ti_pending){.number = (int64_t)(*at - w->nlive),
                                       .probed = true,
                                       .event = p->msg.event,
                                       .op = p->msg.op,
                                       .msg = &p->msg,
                                       .nmsgs = 1};
        }
        ++*at;
        return true;
    }
    return false;
}

/* ---- communicators, windows, files; and who is called on them ---- */

static enum ti_object object_of(const struct ti_event *ev, int64_t *number)
{
    if (ev->mask & TI_M_WIN) {
        *number = ev->arg[TI_F_WIN];
        return TI_OBJECT_WIN;
    }
    if (ev->mask & TI_M_FILE) {
        *number = ev->arg[TI_F_FILE];
        return TI_OBJECT_FILE;
    }
    return TI_OBJECT_COMM;
}

/* Number the communicator that the event makes, even if the trace has its members only later. */
static void meet_new(struct ti_walk *w, struct ti_step *step, const struct ti_local_comm *comm)
{
    const struct ti_event *ev = &step->ev;
    int64_t index = ev->arg[TI_F_NEWCOMM];
    bool later = ti_op_is(ev->op, TI_T_REQUEST);
    const struct ti_local_comm *made;

    if (index == TI_NULL || !comm)
        return;
    if (later) {
        struct ti_local_comm of = *comm; /* a copy, because the array may move */

        made = ti_comm_view_copy(&w->comms, index, &of);
    } else {
        made = comm_at(w, step, index);
    }
    if (made)
        ti_neighbours_learn(&w->topologies, ev, index, made);
}

/* Number the communicators, windows and files of the event, including new ones. */
static void meet(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    const struct ti_local_comm *comm = NULL;
    int64_t number = 0;
    enum ti_object kind = object_of(ev, &number);

    if (ev->mask & TI_M_COMM)
        comm = comm_at(w, step, ev->arg[TI_F_COMM]);
    if (comm)
        step->gid = comm->gid;
    if (ev->mask & TI_M_NEWCOMM)
        meet_new(w, step, comm);
    if (kind == TI_OBJECT_COMM)
        return;
    if (comm && !ti_comm_view_make(&w->comms, kind, number, comm))
        wrong(step, "there was a %s %lld before", kind == TI_OBJECT_WIN ? "window" : "file",
              (long long)number);
    else if (!(ev->mask & TI_M_COMM) && !ti_comm_view_object(&w->comms, kind, number))
        wrong(step, "the trace does not say what %s %lld is",
              kind == TI_OBJECT_WIN ? "window" : "file", (long long)number);
}

/* The communicator, window or file that collective call `ev` is made on; NULL if it is not known,
 * or if this rank is no member. */
static const struct ti_local_comm *called_on(struct ti_walk *w, struct ti_step *step,
                                             const struct ti_event *ev)
{
    int64_t number = 0;
    enum ti_object kind = object_of(ev, &number);

    if (ev->op == TI_OP_COMM_CREATE_GROUP) /* only members of the new communicator call it */
        return ev->arg[TI_F_NEWCOMM] == TI_NULL ? NULL : comm_at(w, step, ev->arg[TI_F_NEWCOMM]);
    return ev->mask & TI_M_COMM ? comm_at(w, step, ev->arg[TI_F_COMM])
                                : ti_comm_view_object(&w->comms, kind, number);
}

/* Add a collective call to the step. */
static void call(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev)
{
    const struct ti_local_comm *on = called_on(w, step, ev);

    if (!on)
        return;
    w->call = ti_grow(w->call, &w->calls_cap, w->ncalls + 1, sizeof w->call[0]);
    w->call[w->ncalls++] = (struct ti_coll_call){
        .ev = ev, .on = *on, .topology = ti_neighbours_of(&w->topologies, ev->arg[TI_F_COMM])};
}

/* ---- the walk ---- */

static ti_status take(struct ti_walk *w, struct ti_step *step, struct ti_err *err)
{
    const struct ti_event *ev = &step->ev;
    ti_status st = TI_OK;

    if (ti_op_is(ev->op, TI_T_COMPLETES)) {
        complete(w, step);
    } else if (ti_op_is(ev->op, TI_T_REQUEST)) {
        st = make_request(w, step, err);
    } else if (ti_op_is(ev->op, TI_T_STARTS)) {
        if (ev->mask & TI_M_REQ)
            st = start(w, step, ev->arg[TI_F_REQ], err);
        for (int64_t i = 0; i < ev->vec[0].len && !st; i++)
            st = start(w, step, ti_vec_at(&ev->vec[0], i), err);
    } else if (ti_op_is(ev->op, TI_T_CANCELS)) {
        cancel(w, step);
    } else if (ti_op_is(ev->op, TI_T_USES)) {
        use(w, step);
    } else if (ti_op_is(ev->op, TI_T_PROBES)) {
        take_probe(w, step);
    } else if (ti_op_is(ev->op, TI_T_PROBED)) {
        receive_probed(w, step, NULL);
    } else {
        st = post(w, step, ev, -1, NULL, err);
    }
    return st;
}

int ti_walk_next(struct ti_walk *w, struct ti_step *step, struct ti_err *err)
{
    int got = ti_reader_next(w->r, &step->ev, err);

    if (got != 1)
        return got;
    for (unsigned f = 0; f < TI_F_COUNT; f++)
        if (!(step->ev.mask & 1u << f))
            step->ev.arg[f] = 0;
    step->index = w->index++;
    step->gid = -1;
    step->lost = false;
    step->why[0] = '\0';
    w->nposted = w->ndone = w->ncalls = 0;
    meet(w, step);
    if (ti_op_is(step->ev.op, TI_T_BY_ALL))
        call(w, step, &step->ev);
    if (take(w, step, err) != TI_OK)
        return -1;
    step->posted = w->posted;
    step->nposted = w->nposted;
    step->done = w->done;
    step->ndone = w->ndone;
    step->call = w->call;
    step->ncalls = w->ncalls;
    return 1;
}
