#include "check/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The reader that runs ahead.  `wild` is a queue: what the wildcard receives
 * from number `first` on matched, in the order in which they were posted.
 */
struct ahead {
    struct ti_reader *r;
    struct match {
        int64_t from, tag;
        enum { OPEN, KNOWN, NEVER } state;
    } * wild;
    size_t first, n, cap;
    struct {
        size_t number; /* of the wildcard receive + 1, 0: not one */
    } * live;
    size_t nlive, live_cap;
    bool ended;
};

struct ti_walk {
    struct ti_source *source;
    struct ti_reader *r;
    struct ti_comm_view comms;
    int64_t rank;
    uint64_t index;
    struct ahead ahead;
    size_t nwild; /* wildcard receives posted so far */
    struct {
        bool used;
        struct ti_msg msg;
    } * live; /* by request number */
    size_t nlive, live_cap;
    struct ti_msg *done;
    size_t ndone, done_cap;
    struct ti_map channels; /* (gid, tag, peer, receiving) */
    uint64_t *next;         /* sequence number, by channel */
    size_t next_cap;
};

static bool is_completion(uint32_t op)
{
    switch (op) {
    case TI_OP_WAIT:
    case TI_OP_WAITALL:
    case TI_OP_WAITANY:
    case TI_OP_WAITSOME:
    case TI_OP_TEST:
    case TI_OP_TESTALL:
    case TI_OP_TESTANY:
    case TI_OP_TESTSOME:
    case TI_OP_REQUEST_FREE:
        return true;
    default:
        return false;
    }
}

static bool is_post(uint32_t op)
{
    return op == TI_OP_ISEND || op == TI_OP_IBSEND || op == TI_OP_ISSEND || op == TI_OP_IRSEND ||
           op == TI_OP_IRECV;
}

static bool is_wild(const struct ti_event *ev)
{
    return ev->arg[TI_F_PEER] != TI_NULL &&
           (ev->arg[TI_F_PEER] == TI_ANY || ev->arg[TI_F_TAG] == TI_ANY);
}

/* ---- the reader ahead ---- */

static size_t *ahead_live(struct ahead *a, int64_t req)
{
    if (req < 0 || (size_t)req > a->nlive) /* the lowest free one is at most that */
        return NULL;
    a->live = ti_more(a->live, &a->live_cap, (size_t)req + 1, sizeof a->live[0]);
    if (a->nlive <= (size_t)req)
        a->nlive = (size_t)req + 1;
    return &a->live[req].number;
}

static void settle(struct ahead *a, int64_t req, bool known, int64_t from, int64_t tag)
{
    size_t *number = ahead_live(a, req);

    if (!number || !*number)
        return;
    a->wild[*number - 1 - a->first] = (struct match){from, tag, known ? KNOWN : NEVER};
    *number = 0;
}

static void ahead_take(struct ahead *a, const struct ti_event *ev)
{
    const struct ti_vec *reqs = &ev->vec[0], *matched = &ev->vec[1];

    if (is_post(ev->op)) {
        size_t *number = ahead_live(a, ev->arg[TI_F_REQ]);

        if (number && *number) /* in use: that one never completed */
            settle(a, ev->arg[TI_F_REQ], false, 0, 0);
        if (ev->op == TI_OP_IRECV && is_wild(ev)) {
            a->wild = ti_more(a->wild, &a->cap, a->n + 1, sizeof a->wild[0]);
            a->wild[a->n++] = (struct match){.state = number ? OPEN : NEVER};
            if (number)
                *number = a->first + a->n;
        }
        return;
    }
    if (!is_completion(ev->op))
        return;
    if (ev->mask & TI_M_REQ) {
        settle(a, ev->arg[TI_F_REQ], ev->mask & TI_M_FROM, ev->arg[TI_F_FROM],
               ev->arg[TI_F_FROMTAG]);
        return;
    }
    for (int64_t i = 0; i + 2 < matched->len; i += 3)
        settle(a, ti_vec_at(matched, i), true, ti_vec_at(matched, i + 1),
               ti_vec_at(matched, i + 2));
    for (int64_t i = 0; i < reqs->len; i++)
        settle(a, ti_vec_at(reqs, i), false, 0, 0);
    if ((ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL])
        for (size_t i = 0; i < a->nlive; i++)
            settle(a, (int64_t)i, false, 0, 0);
}

/* What wildcard receive `number` matched.  Asked for in order, each once. */
static ti_status ahead_ask(struct ti_walk *w, size_t number, struct match *out, struct ti_err *err)
{
    struct ahead *a = &w->ahead;
    ti_status st;

    if (!a->r) {
        st = ti_source_reader(w->source, w->rank, &a->r, err);
        if (st)
            return st;
    }
    while (a->n <= number - a->first || (a->wild[number - a->first].state == OPEN && !a->ended)) {
        struct ti_event ev = {0};
        struct ti_err ignored;

        if (ti_reader_next(a->r, &ev, &ignored) == 1)
            ahead_take(a, &ev);
        else
            a->ended = true;
        if (a->ended && a->n <= number - a->first)
            TI_BUG("the reader ahead missed a wildcard receive");
    }
    *out = a->wild[number - a->first];
    /* Drop what was asked for, now and then. */
    if (number + 1 - a->first > 1024 && 2 * (number + 1 - a->first) > a->n) {
        size_t drop = number + 1 - a->first;

        memmove(a->wild, a->wild + drop, (a->n - drop) * sizeof a->wild[0]);
        a->first += drop;
        a->n -= drop;
    }
    return TI_OK;
}

/* ---- the walk ---- */

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

void ti_walk_close(struct ti_walk *w)
{
    if (!w)
        return;
    ti_reader_close(w->r);
    ti_reader_close(w->ahead.r);
    free(w->ahead.wild);
    free(w->ahead.live);
    ti_comm_view_free(&w->comms);
    ti_map_free(&w->channels);
    free(w->next);
    free(w->live);
    free(w->done);
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

static int64_t channel_of(const struct ti_walk *w, const struct ti_msg *m)
{
    return ti_map_find(&w->channels, m->gid, m->tag, m->peer, m->recv);
}

uint64_t ti_walk_posted(const struct ti_walk *w, const struct ti_msg *msg)
{
    int64_t c = channel_of(w, msg);

    return c < 0 ? 0 : w->next[c];
}

const struct ti_msg *ti_walk_pending(const struct ti_walk *w, size_t i)
{
    for (; i < w->nlive; i++)
        if (w->live[i].used)
            return &w->live[i].msg;
    return NULL;
}

/* Fill in a message of the event and give it its number; false when it cannot be. */
static bool post(struct ti_walk *w, struct ti_step *step, struct ti_msg m, int64_t peer,
                 int64_t tag)
{
    const struct ti_local_comm *comm = ti_comm_view_get(&w->comms, w->r, step->ev.arg[TI_F_COMM]);
    int64_t c;

    m.event = step->index;
    m.op = step->ev.op;
    if (peer == TI_NULL) {
        m.null = true;
        step->posted[step->nposted++] = m;
        return true;
    }
    if (!comm) {
        wrong(step, "the trace does not say what communicator %lld is",
              (long long)step->ev.arg[TI_F_COMM]);
        return false;
    }
    if (peer == TI_ANY || tag == TI_ANY) {
        wrong(step, "what the wildcard matched is not in the trace");
        return false;
    }
    m.gid = comm->gid;
    m.tag = tag;
    m.peer = ti_comm_view_world(&w->comms, comm, peer);
    if (m.peer < 0) {
        wrong(step, "its partner is no rank of the communicator");
        return false;
    }
    if (m.bytes < 0 || tag < 0) {
        wrong(step, "%s is negative", tag < 0 ? "its tag" : "its size");
        return false;
    }
    c = ti_map_add(&w->channels, m.gid, m.tag, m.peer, m.recv);
    w->next = ti_more(w->next, &w->next_cap, w->channels.n, sizeof w->next[0]);
    m.seq = w->next[c]++;
    step->posted[step->nposted++] = m;
    return true;
}

static void post_send(struct ti_walk *w, struct ti_step *step, enum ti_send_mode mode)
{
    const struct ti_event *ev = &step->ev;

    post(w, step, (struct ti_msg){.mode = mode, .bytes = ev->arg[TI_F_BYTES], .req = -1},
         ev->arg[TI_F_PEER], ev->arg[TI_F_TAG]);
}

/* A receive whose own event says what its wildcards matched. */
static void post_recv(struct ti_walk *w, struct ti_step *step, enum ti_field peer,
                      enum ti_field tag, enum ti_field bytes)
{
    const struct ti_event *ev = &step->ev;
    bool matched = ev->mask & TI_M_FROM, tagged = ev->mask & TI_M_FROMTAG;

    post(w, step, (struct ti_msg){.recv = true, .bytes = ev->arg[bytes], .req = -1},
         matched && ev->arg[peer] == TI_ANY ? ev->arg[TI_F_FROM] : ev->arg[peer],
         tagged && ev->arg[tag] == TI_ANY ? ev->arg[TI_F_FROMTAG] : ev->arg[tag]);
}

static ti_status post_request(struct ti_walk *w, struct ti_step *step, struct ti_err *err)
{
    const struct ti_event *ev = &step->ev;
    int64_t req = ev->arg[TI_F_REQ], peer = ev->arg[TI_F_PEER], tag = ev->arg[TI_F_TAG];
    struct ti_msg m = {.recv = ev->op == TI_OP_IRECV,
                       .mode = ev->op == TI_OP_IBSEND   ? TI_SEND_BUFFERED
                               : ev->op == TI_OP_ISSEND ? TI_SEND_SYNCHRONOUS
                                                        : TI_SEND_STANDARD,
                       .bytes = ev->arg[TI_F_BYTES],
                       .req = req};
    bool known = true;

    if (m.recv && is_wild(ev)) {
        struct match match;
        ti_status st = ahead_ask(w, w->nwild++, &match, err);

        if (st)
            return st;
        known = match.state == KNOWN;
        peer = peer == TI_ANY ? match.from : peer;
        tag = tag == TI_ANY ? match.tag : tag;
    }
    if (req < 0 || (size_t)req > w->nlive) { /* the lowest free one is at most that */
        wrong(step, "request number %lld is out of range", (long long)req);
        return TI_OK;
    }
    w->live = ti_more(w->live, &w->live_cap, (size_t)req + 1, sizeof w->live[0]);
    if (w->nlive <= (size_t)req)
        w->nlive = (size_t)req + 1;
    if (w->live[req].used)
        wrong(step, "request %lld is in use since event %llu", (long long)req,
              (unsigned long long)w->live[req].msg.event);
    m.event = step->index;
    m.op = ev->op;
    if (!known) {
        step->lost = true;
        m.null = m.unknown = true;
    } else if (!post(w, step, m, peer, tag)) {
        m.null = m.unknown = true;
    } else {
        m = step->posted[0];
    }
    w->live[req].used = true;
    w->live[req].msg = m;
    return TI_OK;
}

static void complete(struct ti_walk *w, struct ti_step *step, int64_t req)
{
    struct ti_msg *m;

    if (req < 0 || (size_t)req >= w->nlive || !w->live[req].used) {
        wrong(step, "request %lld is not outstanding", (long long)req);
        return;
    }
    w->live[req].used = false;
    w->done = ti_more(w->done, &w->done_cap, w->ndone + 1, sizeof w->done[0]);
    m = &w->done[w->ndone++];
    *m = w->live[req].msg;
    if (!m->null)
        m->posted_after = w->next[channel_of(w, m)] - 1 - m->seq;
}

static void complete_all(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;

    if (ev->mask & TI_M_REQ) {
        complete(w, step, ev->arg[TI_F_REQ]);
    } else if ((ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL]) {
        for (size_t i = 0; i < w->nlive; i++)
            if (w->live[i].used)
                complete(w, step, (int64_t)i);
    } else {
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            complete(w, step, ti_vec_at(&ev->vec[0], i));
    }
    step->done = w->done;
    step->ndone = w->ndone;
}

/* The communicators of the event, the new one included, get their numbers. */
static void meet(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    const struct ti_local_comm *comm;

    if (ev->mask & TI_M_COMM) {
        comm = ti_comm_view_get(&w->comms, w->r, ev->arg[TI_F_COMM]);
        if (comm) {
            step->gid = comm->gid;
            step->me = comm->rank;
        } else {
            wrong(step, "the trace does not say what communicator %lld is",
                  (long long)ev->arg[TI_F_COMM]);
        }
    }
    if ((ev->mask & TI_M_NEWCOMM) && ev->arg[TI_F_NEWCOMM] != TI_NULL &&
        !ti_comm_view_get(&w->comms, w->r, ev->arg[TI_F_NEWCOMM]))
        wrong(step, "the trace does not say what communicator %lld is",
              (long long)ev->arg[TI_F_NEWCOMM]);
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
    step->gid = step->me = -1;
    step->nposted = 0;
    step->done = NULL;
    step->ndone = w->ndone = 0;
    step->lost = false;
    step->why[0] = '\0';
    meet(w, step);
    switch (step->ev.op) {
    case TI_OP_SEND:
    case TI_OP_RSEND:
        post_send(w, step, TI_SEND_STANDARD);
        break;
    case TI_OP_BSEND:
        post_send(w, step, TI_SEND_BUFFERED);
        break;
    case TI_OP_SSEND:
        post_send(w, step, TI_SEND_SYNCHRONOUS);
        break;
    case TI_OP_RECV:
        post_recv(w, step, TI_F_PEER, TI_F_TAG, TI_F_BYTES);
        break;
    case TI_OP_SENDRECV:
    case TI_OP_SENDRECV_REPLACE:
        post_send(w, step, TI_SEND_STANDARD);
        post_recv(w, step, TI_F_PEER2, TI_F_TAG2, TI_F_BYTES2);
        break;
    default:
        if (is_post(step->ev.op) && post_request(w, step, err) != TI_OK)
            return -1;
        if (is_completion(step->ev.op))
            complete_all(w, step);
    }
    return 1;
}

/* ---- text ---- */

struct text {
    char *at;
    size_t left;
};

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->at, t->left, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= t->left)
        n = t->left ? (int)t->left - 1 : 0;
    t->at += n;
    t->left -= (size_t)n;
}

static void put_field(struct text *t, struct ti_reader *r, unsigned f, int64_t value)
{
    const char *name = ti_field_text(f);

    if (f == TI_F_CALL) {
        const char *call = ti_reader_string(r, TI_STRING_CALL, value);

        put(t, "%s", call ? call : "?");
    } else if (value == TI_ANY) {
        put(t, "%s any", name);
    } else if (value == TI_NULL) {
        put(t, "%s null", name);
    } else if (f == TI_F_REDOP) {
        put(t, "%s %s", name, ti_redop_text(value));
    } else if (f == TI_F_PEER || f == TI_F_PEER2 || f == TI_F_FROM) {
        put(t, "%s %+lld", name, (long long)value);
    } else {
        put(t, "%s %lld", name, (long long)value);
    }
}

const char *ti_call_text(struct ti_reader *r, const struct ti_event *ev, char *buf, size_t bytes)
{
    const struct ti_op_info *info = ti_op_info(ev->op);
    struct text t = {buf, bytes};
    const char *sep = "";

    put(&t, "%s(", info->text);
    for (unsigned f = 0; f < TI_F_COUNT; f++) {
        if (!(ev->mask & 1u << f))
            continue;
        put(&t, "%s", sep);
        put_field(&t, r, f, ev->arg[f]);
        sep = ", ";
    }
    for (int v = 0; v < TI_VECS; v++) {
        if (!ev->vec[v].len)
            continue;
        put(&t, "%s%s", sep, info->vec[v]);
        for (int64_t i = 0; i < ev->vec[v].len && i < 6; i++)
            put(&t, " %lld", (long long)ti_vec_at(&ev->vec[v], i));
        if (ev->vec[v].len > 6)
            put(&t, " ... (%lld)", (long long)ev->vec[v].len);
        sep = ", ";
    }
    put(&t, ")");
    return buf;
}

const char *ti_event_text(struct ti_source *s, int64_t rank, uint64_t index, char *buf,
                          size_t bytes)
{
    struct ti_reader *r;
    struct ti_event ev;
    struct ti_err ignored;
    int got = 1;

    buf[0] = '\0';
    if (ti_source_reader(s, rank, &r, &ignored) != TI_OK)
        return buf;
    for (uint64_t i = 0; i <= index && got == 1; i++)
        got = ti_reader_next(r, &ev, &ignored);
    if (got == 1)
        ti_call_text(r, &ev, buf, bytes);
    ti_reader_close(r);
    return buf;
}
