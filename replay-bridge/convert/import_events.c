/* The events of a rank, from its actions. */
#include "replay-bridge/convert/import_internal.h"

#include <math.h>
#include <string.h>

static void emit(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                 struct ti_event *ev)
{
    ev->volume = r->volume;
    ev->site = r->site;
    r->volume = 0;
    r->site = 0;
    if (r->w)
        ti_writer_event(r->w, ev);
    else if (r->events == im->find)
        im->found = ti__here(l);
    r->events++;
}

static struct ti_event event(uint32_t op)
{
    return (struct ti_event){.op = op, .vec = {{NULL, 8, 0}, {NULL, 8, 0}}};
}

static void put(struct ti_event *ev, enum ti_field f, int64_t value)
{
    ev->mask |= 1u << f;
    ev->arg[f] = value;
}

/* Add flops to the burst.  Volumes are whole numbers, so a fraction is carried over. */
static ti_status compute(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                         double flops, struct ti_err *err)
{
    double whole = floor(flops + r->rest);

    if (flops != floor(flops))
        ti__import_note(
            im, TI__NOTE_FRACTION, l,
            "flops that are not whole numbers are rounded; each rank loses less than one flop");
    if (whole >= 1e18 || r->volume > UINT64_MAX - (uint64_t)whole)
        return ti_lines_wrong(l, err, "more flops in a burst than a trace can count");
    r->rest = flops + r->rest - whole;
    r->volume += (uint64_t)whole;
    return TI_OK;
}

static ti_status rest(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                      double seconds, struct ti_err *err)
{
    if (im->how->speed <= 0) {
        ti_lines_wrong(l, err, "a trace has volumes, not times: it cannot express a sleep");
        ti_err_hint(
            err,
            "--speed SPEED makes it the volume that a host of that speed computes in that time");
        return TI_ERR_INPUT;
    }
    ti__import_note(im, TI__NOTE_SLEEP, l,
                    "sleep becomes a burst that takes that time at the given --speed");
    return compute(im, r, l, rint(seconds * im->how->speed), err);
}

static void begin(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                  bool said)
{
    struct ti_event ev = event(TI_OP_INIT);
    uint64_t volume = r->volume;

    if (!said)
        ti__import_note(
            im, TI__NOTE_NO_INIT, l,
            "the rank does not begin with \"init\"; it is added, and sizes without a datatype "
            "are %s",
            ti__import_element(im) == 1 ? "bytes" : "doubles");
    r->begun = true;
    r->volume = 0;
    emit(im, r, l, &ev);
    r->volume = volume;
}

/* ---- requests ---- */

static int64_t lowest_free(struct ti__import_rank *r)
{
    int64_t n = 0;

    while ((size_t)n < r->used_cap && r->used[n])
        n++;
    r->used = ti_grow(r->used, &r->used_cap, (size_t)n + 1, 1);
    r->used[n] = 1;
    return n;
}

static void add_pending(struct ti__import_rank *r, const struct ti__pending *p)
{
    r->pending = ti_grow(r->pending, &r->pending_cap, r->npending + 1, sizeof *r->pending);
    r->pending[r->npending++] = *p;
}

static void complete(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                     uint32_t op, size_t i)
{
    struct ti_event ev = event(op);

    put(&ev, TI_F_REQ, r->pending[i].req);
    emit(im, r, l, &ev);
    r->used[r->pending[i].req] = 0;
    memmove(&r->pending[i], &r->pending[i + 1], (--r->npending - i) * sizeof *r->pending);
}

/* Complete the request of "wait SOURCE DESTINATION TAG": as in SimGrid, the first match posted. */
static ti_status wait_for(struct ti__import *im, struct ti__import_rank *r,
                          const struct ti_lines *l, const struct ti_action *a, struct ti_err *err)
{
    /* SimGrid stores the request of a receive from any source under this number minus 1. */
    bool any = a->src == TI_SG_ANY_SOURCE || a->src == TI_SG_ANY_SOURCE - 1;

    for (size_t i = 0; i < r->npending; i++) {
        const struct ti__pending *p = &r->pending[i];
        int64_t src = p->recv ? p->peer : a->rank, dst = p->recv ? a->rank : p->peer;

        if (p->tag == a->tag && dst == a->dst && (src == a->src || (p->any && any))) {
            complete(im, r, l, TI_OP_WAIT, i);
            return TI_OK;
        }
    }
    return ti_lines_wrong(l, err, "no request from %lld to %lld with tag %lld is outstanding",
                          (long long)a->src, (long long)a->dst, (long long)a->tag);
}

static ti_status wait_bare(struct ti__import *im, struct ti__import_rank *r,
                           const struct ti_lines *l, struct ti_err *err)
{
    enum ti_bare_wait how = im->how->wait ? im->how->wait
                            : im->p       ? TI_WAIT_LAST_RECV
                                          : TI_WAIT_LAST;
    bool recv_only = how == TI_WAIT_LAST_RECV || how == TI_WAIT_FIRST_RECV;
    bool first = how == TI_WAIT_FIRST || how == TI_WAIT_FIRST_RECV;
    size_t n = 0, which = 0;

    for (size_t i = 0; i < r->npending; i++)
        if (r->pending[i].recv || !recv_only) {
            which = n && first ? which : i;
            n++;
        }
    if (!n)
        return ti_lines_wrong(l, err, "there is no %s to wait for",
                              recv_only ? "outstanding receive" : "outstanding request");
    if (n > 1)
        ti__import_note(im, TI__NOTE_BARE_WAIT, l,
                        "the wait does not name one of %zu requests; it completes the one posted "
                        "%s, %s (--wait)",
                        n, first ? "first" : "last",
                        im->how->wait ? "as --wait says" : "as in SimGrid at that time");
    complete(im, r, l, TI_OP_WAIT, which);
    return TI_OK;
}

static void wait_all(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l)
{
    struct ti_event ev = event(TI_OP_WAITALL);

    if (!r->npending)
        return; /* no event, so the burst continues */
    put(&ev, TI_F_ALL, 1);
    emit(im, r, l, &ev);
    for (size_t i = 0; i < r->npending; i++)
        r->used[r->pending[i].req] = 0;
    r->npending = 0;
}

/* ---- messages ---- */

static ti_status find_peer(struct ti__import *im, const struct ti_lines *l,
                           const struct ti_action *a, struct ti_message_side *m, struct ti_err *err)
{
    int64_t t;

    if (m->peer == TI_SG_ANY_SOURCE && a->recv) {
        t = ti_map_find(&im->takers, a->rank, m->tag, 0, 0);
        if (t < 0 || im->sender[t] < 0)
            return ti_lines_wrong(
                l, err,
                t < 0 ? "the receive takes any source, but no rank sends to rank %lld with tag %lld"
                      : "the receive takes any source, and several ranks send to rank %lld with "
                        "tag %lld: the file does not say which one it was",
                (long long)a->rank, (long long)m->tag);
        m->peer = im->sender[t];
        ti__import_note(
            im, TI__NOTE_ANY, l,
            "the receive takes any source; rank %lld is the only rank that sends this tag to it",
            (long long)m->peer);
    }
    if (m->tag == TI_SG_ANY_TAG)
        return ti_lines_wrong(l, err,
                              "the receive takes any tag: the file does not say which one it was");
    if (m->peer != TI_SG_NULL && (m->peer < 0 || m->peer >= im->np))
        return ti_lines_wrong(l, err, "there is no rank %lld of %lld", (long long)m->peer,
                              (long long)im->np);
    return TI_OK;
}

static ti_status find_size(struct ti__import *im, const struct ti_lines *l, int64_t rank,
                           struct ti_message_side *m, struct ti_err *err)
{
    int64_t c = ti_map_find(&im->channels, m->peer, rank, m->tag, 0);

    if (m->bytes >= 0)
        return TI_OK;
    if (m->peer == TI_SG_NULL) {
        m->bytes = 0;
        return TI_OK;
    }
    if (c < 0)
        return ti_lines_wrong(l, err,
                              "the receive has no size, and rank %lld sends no such message",
                              (long long)m->peer);
    m->bytes = im->largest[c];
    ti__import_note(
        im, TI__NOTE_NO_SIZE, l,
        "a receive without a size gets room for the largest message that it could take");
    return TI_OK;
}

static void put_side(struct ti_event *ev, const struct ti_message_side *m, int64_t rank,
                     bool second)
{
    put(ev, second ? TI_F_PEER2 : TI_F_PEER, m->peer == TI_SG_NULL ? TI_NULL : m->peer - rank);
    put(ev, second ? TI_F_TAG2 : TI_F_TAG, m->tag);
    put(ev, second ? TI_F_BYTES2 : TI_F_BYTES, m->bytes);
    put(ev, second ? TI_F_ESIZE2 : TI_F_ESIZE, m->esize);
}

static ti_status message(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                         struct ti_action *a, struct ti_err *err)
{
    struct ti_message_side *m = &a->side[0];
    struct ti_event ev = event(a->op);
    struct ti__pending p = {.recv = a->recv, .tag = m->tag, .any = m->peer == TI_SG_ANY_SOURCE};
    ti_status st;

    if (im->syntax == TI_SYNTAX_OLD)
        ti__import_note(im, TI__NOTE_NO_TAG, l,
                        "messages have no tags in this syntax; all have tag 0");
    if ((st = find_peer(im, l, a, m, err)) || (a->recv && (st = find_size(im, l, a->rank, m, err))))
        return st;
    put(&ev, TI_F_COMM, 0);
    put_side(&ev, m, a->rank, false);
    if (ti_op_is(a->op, TI_T_REQUEST)) {
        p.peer = m->peer;
        p.req = lowest_free(r);
        put(&ev, TI_F_REQ, p.req);
        add_pending(r, &p);
    }
    emit(im, r, l, &ev);
    /* The oldest traces never wait for sends.  Freeing each request keeps their number small. */
    if (im->p && !a->recv && ti_op_is(a->op, TI_T_REQUEST))
        complete(im, r, l, TI_OP_REQUEST_FREE, r->npending - 1);
    return TI_OK;
}

static ti_status sendrecv(struct ti__import *im, struct ti__import_rank *r,
                          const struct ti_lines *l, struct ti_action *a, struct ti_err *err)
{
    struct ti_event ev = event(a->op);
    ti_status st = find_peer(im, l, a, &a->side[0], err);

    a->recv = true;
    if (st || (st = find_peer(im, l, a, &a->side[1], err)) ||
        (st = find_size(im, l, a->rank, &a->side[1], err)))
        return st;
    put(&ev, TI_F_COMM, 0);
    put_side(&ev, &a->side[0], a->rank, false);
    put_side(&ev, &a->side[1], a->rank, true);
    emit(im, r, l, &ev);
    return TI_OK;
}

/* ---- the other actions ---- */

static ti_status collective(struct ti__import *im, struct ti__import_rank *r,
                            const struct ti_lines *l, struct ti_action *a, struct ti_err *err)
{
    if (r->sub.line)
        return ti_lines_wrong(l, err, "%s:%lld says that only some ranks take part, but not which",
                              r->sub.path, (long long)r->sub.line);
    emit(im, r, l, &a->ev);
    if (a->amount > 0)
        ti__import_note(im, TI__NOTE_FLOPS, l,
                        "the flops of a reduction are a burst after it, as SimGrid replays them");
    return compute(im, r, l, a->amount, err);
}

static void communicator(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                         const struct ti_action *a)
{
    r->sub = (struct ti__place){NULL, 0};
    if (a->nargs == 1 && a->amount == (double)im->np)
        return;
    if (a->amount > 0)
        r->sub = ti__here(l);
    else
        ti__import_note(im, TI__NOTE_COMM, l,
                        "the file does not say which ranks the communicator has, or which calls "
                        "use it; all ranks take part in all collectives, as in SimGrid");
}

static void location(struct ti__import_rank *r, const struct ti_action *a)
{
    char text[TI_STRING_BYTES];
    uint64_t one = TI_HASH_START, two = 0;
    int64_t s;

    if (!r->w)
        return;
    snprintf(text, sizeof text, "%s:%s", a->arg[0], a->arg[1]);
    for (const char *c = text; *c; c++) {
        one = ti_hash_word(one, (uint8_t)*c);
        two = two * 31 + (uint8_t)*c;
    }
    s = ti_map_find(&r->sites, (int64_t)one, (int64_t)two, 0, 0);
    if (s < 0) { /* the writer numbers strings from 1, in the order of its calls */
        s = ti_map_add(&r->sites, (int64_t)one, (int64_t)two, 0, 0);
        ti_writer_string(r->w, TI_STRING_SITE, text);
    }
    r->site = (uint32_t)s + 1;
}

void ti__import_end(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                    bool said)
{
    struct ti_event ev = event(TI_OP_FINALIZE);

    if (!r->begun)
        begin(im, r, l, false);
    if (r->npending)
        ti__import_note(im, TI__NOTE_UNWAITED, l,
                        "%zu request%s of this rank %s never waited for; MPI_Request_free ends %s",
                        r->npending, r->npending > 1 ? "s" : "", r->npending > 1 ? "are" : "is",
                        r->npending > 1 ? "them" : "it");
    while (r->npending)
        complete(im, r, l, TI_OP_REQUEST_FREE, 0);
    if (!said)
        ti__import_note(im, TI__NOTE_NO_FINALIZE, l,
                        "a rank does not end with \"finalize\"; it is added");
    r->ended = true;
    emit(im, r, l, &ev);
}

static ti_status act(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                     struct ti_action *a, struct ti_err *err)
{
    switch (a->act) {
    case TI_ACT_INIT:
        if (r->begun)
            return ti_lines_wrong(l, err, "\"init\" is not the first action of the rank");
        begin(im, r, l, true);
        return TI_OK;
    case TI_ACT_FINALIZE:
        ti__import_end(im, r, l, true);
        return TI_OK;
    case TI_ACT_COMPUTE:
        return compute(im, r, l, a->amount, err);
    case TI_ACT_SLEEP:
        return rest(im, r, l, a->amount, err);
    case TI_ACT_LOCATION:
        location(r, a);
        return TI_OK;
    case TI_ACT_COMM:
        communicator(im, r, l, a);
        return TI_OK;
    case TI_ACT_MESSAGE:
        return message(im, r, l, a, err);
    case TI_ACT_SENDRECV:
        return sendrecv(im, r, l, a, err);
    case TI_ACT_WAIT:
        return a->bare ? wait_bare(im, r, l, err) : wait_for(im, r, l, a, err);
    case TI_ACT_TEST:
        ti__import_note(im, TI__NOTE_TEST, l,
                        "the file does not say whether the test is successful; it is treated as "
                        "unsuccessful, which is no event");
        return TI_OK;
    case TI_ACT_WAITALL:
        wait_all(im, r, l);
        return TI_OK;
    case TI_ACT_COLLECTIVE:
        return collective(im, r, l, a, err);
    }
    TI_BUG("an action without a case");
}

ti_status ti__import_line(struct ti__import *im, struct ti__import_rank *r,
                          const struct ti_lines *l, struct ti_action *a, struct ti_err *err)
{
    ti_status st;

    if (r->ended)
        return ti_lines_wrong(l, err, "an action after \"finalize\"");
    if ((st = ti_action_read(l, &r->grammar, a, err)))
        return st;
    if (!r->begun && a->act != TI_ACT_INIT)
        begin(im, r, l, false);
    if (a->no_datatype && !im->how->element && !im->init.line)
        ti__import_note(im, TI__NOTE_NO_DATATYPE, l,
                        "the size has no datatype; it is in bytes (--datatype)");
    return act(im, r, l, a, err);
}
