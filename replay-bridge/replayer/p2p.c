/*
 * Messages from one rank to another.
 */
#include "common/map.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/functions.h"
#include "replay-bridge/replayer/profile.h"

/* Arguments of MPI functions for a message. */
struct message {
    MPI_Comm comm;
    int peer, tag, count;
    MPI_Datatype type;
    size_t bytes;
    bool own; /* to or from this rank */
};

/* An empty message for MPI_PROC_NULL: the recorded size may exceed the limits of counts. */
static struct message nothing(struct message m)
{
    m.bytes = 0;
    m.count = 0;
    m.type = MPI_BYTE;
    return m;
}

/* The message that `ev` sends. */
static struct message sent(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    struct message m = {.comm = c->handle,
                        .peer = ti_replay_peer(p, c, ev->arg[TI_F_PEER]),
                        .tag = (int)ev->arg[TI_F_TAG],
                        .bytes = (size_t)ev->arg[TI_F_BYTES]};

    m.own = m.peer == c->rank + c->offset;
    if (m.peer == MPI_PROC_NULL)
        m.bytes = 0; /* it may be larger than any memory */
    if (SIMULATED && m.peer == MPI_PROC_NULL)
        return nothing(m);
    m.count =
        ti_replay_count(p, TI_ELEMENTS_DATA, ev->arg[TI_F_BYTES], ev->arg[TI_F_ESIZE], &m.type);
    ti_profile_send(p, c, m.peer, m.tag, m.bytes, ti_profile_waits(p, ev->op, m.bytes));
    return m;
}

/* Replaces wildcards of `ev` by the source and the tag that matched.  A blocking receive has them
 * in its own event, a request in the event that completes it.  In a simulation, a receive that
 * completes as cancelled gets MPI_PROC_NULL as source.  Messages may arrive earlier there, and the
 * receive must not take a message that another one received. */
static void matched(struct ti_replayer *p, const struct ti_event *ev, int64_t req, int64_t *peer,
                    int64_t *tag)
{
    int64_t from = ev->arg[TI_F_FROM], from_tag = ev->arg[TI_F_FROMTAG];
    struct ti_match match;
    struct ti_err err;
    ti_status st;

    if (req >= 0) {
        st = ti_wildcards_ask(&p->ahead, p->source, p->rank, p->index, req, &match, &err);
        if (st)
            ti_replay_fail(p, st, "%s", err.text);
        if (SIMULATED && match.state == TI_MATCH_KNOWN && match.from == TI_NULL)
            *peer = TI_NULL;
        if (match.state != TI_MATCH_KNOWN || match.from == TI_NULL)
            return; /* the receive never matches, so the wildcard may stay */
        from = match.from;
        from_tag = match.tag;
    } else if (!(ev->mask & TI_M_FROM)) {
        return; /* a persistent receive, whose starts may match different messages */
    }
    if (*peer == TI_ANY)
        *peer = from;
    if (*tag == TI_ANY)
        *tag = from_tag;
}

/* The message that `ev` receives, with request `req` (-1: none). */
static struct message received(struct ti_replayer *p, const struct ti_event *ev, int64_t req)
{
    bool second = ti_op_is(ev->op, TI_T_SENDS | TI_T_RECEIVES);
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    int64_t peer = ev->arg[second ? TI_F_PEER2 : TI_F_PEER];
    int64_t tag = ev->arg[second ? TI_F_TAG2 : TI_F_TAG];
    int64_t bytes = ev->arg[second ? TI_F_BYTES2 : TI_F_BYTES];
    struct message m = {.comm = c->handle, .bytes = (size_t)bytes};

    if (peer != TI_NULL && (peer == TI_ANY || tag == TI_ANY ? !p->setup->any : p->ahead.all))
        matched(p, ev, req, &peer, &tag);
    m.peer = ti_replay_peer(p, c, peer);
    m.own = m.peer == c->rank + c->offset;
    m.tag = tag == TI_ANY ? MPI_ANY_TAG : (int)tag;
    if (m.peer == MPI_PROC_NULL)
        m.bytes = 0; /* it may be larger than any memory */
    if (SIMULATED && m.peer == MPI_PROC_NULL)
        return nothing(m);
    m.count = ti_replay_count(p, TI_ELEMENTS_ROOM, bytes,
                              ev->arg[second ? TI_F_ESIZE2 : TI_F_ESIZE], &m.type);
    ti_profile_receive(p, c, m.peer, m.tag);
    return m;
}

/* ---- blocking ---- */

void replay_send(struct ti_replayer *p, const struct ti_event *ev)
{
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) =
        ev->op == TI_OP_BSEND   ? MPI_Bsend
        : ev->op == TI_OP_SSEND ? MPI_Ssend
        : ev->op == TI_OP_RSEND ? MPI_Rsend
                                : MPI_Send;
    struct message m = sent(p, ev);

    if (ev->op == TI_OP_BSEND)
        ti_engine_buffer_sends(p);
    ti_replay_must(p, send(ti_engine_sent(p, m.bytes), m.count, m.type, m.peer, m.tag, m.comm));
}

void replay_recv(struct ti_replayer *p, const struct ti_event *ev)
{
    struct message m = received(p, ev, -1);

    ti_replay_must(p, MPI_Recv(ti_engine_received(p, m.bytes), m.count, m.type, m.peer, m.tag,
                               m.comm, MPI_STATUS_IGNORE));
}

void replay_sendrecv(struct ti_replayer *p, const struct ti_event *ev)
{
    struct message s = sent(p, ev), r = received(p, ev, -1);
    size_t most = s.bytes > r.bytes ? s.bytes : r.bytes;
    void *in = ti_engine_received(p, most);

    /* SMPI copies messages to oneself, so there are buffers for the message */
    if (SIMULATED && s.own && r.own)
        ti_replay_must(p, MPI_Sendrecv(ti_engine_send_buffer(p, s.bytes), s.count, s.type, s.peer,
                                       s.tag, ti_engine_recv_buffer(p, s.bytes), r.count, r.type,
                                       r.peer, r.tag, s.comm, MPI_STATUS_IGNORE));
    else if (!SIMULATED && ev->op == TI_OP_SENDRECV_REPLACE)
        ti_replay_must(p, MPI_Sendrecv_replace(in, s.count, s.type, s.peer, s.tag, r.peer, r.tag,
                                               s.comm, MPI_STATUS_IGNORE));
    else
        ti_replay_must(p,
                       MPI_Sendrecv(ti_engine_sent(p, s.bytes), s.count, s.type, s.peer, s.tag, in,
                                    r.count, r.type, r.peer, r.tag, s.comm, MPI_STATUS_IGNORE));
}

/* ---- with a request ---- */

/* Requests of SMPI to or from MPI_PROC_NULL crash its MPI_Waitany, which request.c calls to learn
 * when each request is complete. */
static bool is_left_out(const struct ti_replayer *p, const struct message *m)
{
    return SIMULATED && m->peer == MPI_PROC_NULL && ti_profile_wants_done(p);
}

static void post_send(struct ti_replayer *p, const struct ti_event *ev, MPI_Request *request)
{
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        ti_op_is(ev->op, TI_T_BUFFERED)                        ? MPI_Ibsend
        : ti_op_is(ev->op, TI_T_SYNCHRONOUS)                   ? MPI_Issend
        : ev->op == TI_OP_IRSEND || ev->op == TI_OP_RSEND_INIT ? MPI_Irsend
                                                               : MPI_Isend;
    struct message m = sent(p, ev);

    *request = MPI_REQUEST_NULL;
    if (is_left_out(p, &m))
        return;
    if (ti_op_is(ev->op, TI_T_BUFFERED))
        ti_engine_buffer_sends(p);
    ti_replay_must(
        p, send(ti_engine_sent(p, m.bytes), m.count, m.type, m.peer, m.tag, m.comm, request));
}

static void post_recv(struct ti_replayer *p, const struct ti_event *ev, int64_t req,
                      MPI_Request *request)
{
    struct message m = received(p, ev, req);

    *request = MPI_REQUEST_NULL;
    if (is_left_out(p, &m))
        return;
    ti_replay_must(p, MPI_Irecv(ti_engine_received(p, m.bytes), m.count, m.type, m.peer, m.tag,
                                m.comm, request));
}

static void post_both(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q,
                      int64_t req)
{
#if MPI_VERSION >= 4
    struct message s = sent(p, ev), r = received(p, ev, req);
    void *in = ti_engine_received(p, s.bytes > r.bytes ? s.bytes : r.bytes);

    if (ev->op == TI_OP_ISENDRECV_REPLACE)
        ti_replay_must(p, MPI_Isendrecv_replace(in, s.count, s.type, s.peer, s.tag, r.peer, r.tag,
                                                s.comm, q->handle));
    else
        ti_replay_must(p, MPI_Isendrecv(ti_engine_sent(p, s.bytes), s.count, s.type, s.peer, s.tag,
                                        in, r.count, r.type, r.peer, r.tag, s.comm, q->handle));
#else
    post_recv(p, ev, req, ti_replay_part(q));
    post_send(p, ev, ti_replay_part(q));
#endif
}

void ti_replay_post(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q,
                    int64_t req)
{
    if (ti_op_is(ev->op, TI_T_SENDS | TI_T_RECEIVES))
        post_both(p, ev, q, req);
    else if (ti_op_is(ev->op, TI_T_SENDS))
        post_send(p, ev, q->handle);
    else
        post_recv(p, ev, req, q->handle);
}

void ti_replay_prepare(struct ti_replayer *p, const struct ti_event *ev,
                       struct ti_replay_request *q)
{
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
        ev->op == TI_OP_BSEND_INIT   ? MPI_Bsend_init
        : ev->op == TI_OP_SSEND_INIT ? MPI_Ssend_init
        : ev->op == TI_OP_RSEND_INIT ? MPI_Rsend_init
                                     : MPI_Send_init;
    struct message m;

    if (ti_op_is(ev->op, TI_T_SENDS)) {
        m = sent(p, ev);
        if (ti_op_is(ev->op, TI_T_BUFFERED))
            ti_engine_buffer_sends(p);
        ti_replay_must(
            p, send(ti_engine_sent(p, m.bytes), m.count, m.type, m.peer, m.tag, m.comm, q->handle));
    } else {
        m = received(p, ev, -1);
        ti_replay_must(p, MPI_Recv_init(ti_engine_received(p, m.bytes), m.count, m.type, m.peer,
                                        m.tag, m.comm, q->handle));
    }
}

/* ---- partitioned messages ---- */

#if MPI_VERSION >= 4

void ti_replay_prepare_partitioned(struct ti_replayer *p, const struct ti_event *ev,
                                   struct ti_replay_request *q)
{
    int parts = (int)ev->arg[TI_F_PART];
    struct message m = ti_op_is(ev->op, TI_T_SENDS) ? sent(p, ev) : received(p, ev, -1);
    MPI_Count count = parts ? m.count / parts : 0;

    if (ti_op_is(ev->op, TI_T_SENDS))
        ti_replay_must(p, MPI_Psend_init(ti_engine_sent(p, m.bytes), parts, count, m.type, m.peer,
                                         m.tag, m.comm, MPI_INFO_NULL, q->handle));
    else
        ti_replay_must(p, MPI_Precv_init(ti_engine_received(p, m.bytes), parts, count, m.type,
                                         m.peer, m.tag, m.comm, MPI_INFO_NULL, q->handle));
}

void ti_replay_ready(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q)
{
    int64_t n = ev->vec[0].len;

    if (ev->op == TI_OP_PREADY) {
        ti_replay_must(p, MPI_Pready((int)ev->arg[TI_F_PART], *q->handle));
    } else if (ev->op == TI_OP_PREADY_RANGE && n == 2) {
        ti_replay_must(p, MPI_Pready_range((int)ti_vec_at(&ev->vec[0], 0),
                                           (int)ti_vec_at(&ev->vec[0], 1), *q->handle));
    } else {
        p->numbers = ti_grow(p->numbers, &p->numbers_room, (size_t)n, sizeof *p->numbers);
        for (int64_t i = 0; i < n; i++)
            p->numbers[i] = (int)ti_vec_at(&ev->vec[0], i);
        ti_replay_must(p, MPI_Pready_list((int)n, p->numbers, *q->handle));
    }
}

void ti_replay_arrived(struct ti_replayer *p, const struct ti_event *ev,
                       struct ti_replay_request *q)
{
    for (int arrived = 0; !arrived;)
        ti_replay_must(p, MPI_Parrived(*q->handle, (int)ev->arg[TI_F_PART], &arrived));
}

#else /* request.c keeps the event, and sends or receives all partitions at once */

void ti_replay_prepare_partitioned(struct ti_replayer *p, const struct ti_event *ev,
                                   struct ti_replay_request *q)
{
    (void)ev;
    (void)q;
    ti_replay_fail(p, TI_ERR_IO, "the MPI library has no partitioned messages");
}

void ti_replay_ready(struct ti_replayer *p, const struct ti_event *ev, struct ti_replay_request *q)
{
    ti_replay_prepare_partitioned(p, ev, q);
}

void ti_replay_arrived(struct ti_replayer *p, const struct ti_event *ev,
                       struct ti_replay_request *q)
{
    ti_replay_prepare_partitioned(p, ev, q);
}

#endif

/* ---- probes ---- */

/* Simulated seconds after which a probe that finds nothing is in a deadlock, if no other rank
 * computes or ends a call meanwhile.  No transfer takes three years: the largest message that
 * SimGrid can count, 34 GB, takes that time at 344 bytes a second. */
#define DEADLOCK_S 1e8

/* MPI_Probe, as a loop of MPI_Iprobe.  SMPI's own is such a loop, too, in which SimGrid does not
 * see a deadlock: its clock goes on for ever. */
static void poll(struct ti_replayer *p, int peer, int tag, MPI_Comm comm)
{
    uint64_t replayed = p->setup->replayed;
    double since = ti_engine_clock();
    int found = 0;

    for (;;) {
        ti_replay_must(p, MPI_Iprobe(peer, tag, comm, &found, MPI_STATUS_IGNORE));
        if (found)
            return;
        if (!SIMULATED || p->setup->computing || p->setup->replayed != replayed) {
            replayed = p->setup->replayed;
            since = ti_engine_clock();
        } else if (ti_engine_clock() - since > DEADLOCK_S) {
            ti_replay_fail(p, TI_ERR_INPUT, "deadlock: the message never comes");
        }
    }
}

void replay_probe(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    int64_t peer = ev->arg[TI_F_PEER], tag = ev->arg[TI_F_TAG];

    if (!p->setup->any && (peer == TI_ANY || tag == TI_ANY))
        matched(p, ev, -1, &peer, &tag);
    tag = tag == TI_ANY ? MPI_ANY_TAG : tag;
    if (SIMULATED || ev->op == TI_OP_IPROBE)
        poll(p, ti_replay_peer(p, c, peer), (int)tag, c->handle);
    else
        ti_replay_must(
            p, MPI_Probe(ti_replay_peer(p, c, peer), (int)tag, c->handle, MPI_STATUS_IGNORE));
    ti_profile_probed(p, c, ti_replay_peer(p, c, peer), (int)tag);
}

#if SIMULATED

/* SMPI has no matched probes, so the message is received at the probe. */
void replay_mprobe(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    int64_t peer = ev->arg[TI_F_PEER], tag = ev->arg[TI_F_TAG];
    MPI_Datatype type;
    int count = ti_replay_count(p, TI_ELEMENTS_ROOM, INT64_MAX, 1, &type); /* any message */

    if (!p->setup->any && (peer == TI_ANY || tag == TI_ANY))
        matched(p, ev, -1, &peer, &tag);
    tag = tag == TI_ANY ? MPI_ANY_TAG : tag;
    ti_profile_receive(p, c, ti_replay_peer(p, c, peer), (int)tag);
    ti_replay_must(p, MPI_Recv(ti_engine_received(p, 1), count, type, ti_replay_peer(p, c, peer),
                               (int)tag, c->handle, MPI_STATUS_IGNORE));
}

void replay_mrecv(struct ti_replayer *p, const struct ti_event *ev)
{
    (void)p;
    (void)ev;
}

void replay_imrecv(struct ti_replayer *p, const struct ti_event *ev)
{
    (void)ev;
    ti_replay_new_request(p)->active = true; /* its handle is null: complete */
}

#else

void replay_mprobe(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    int64_t peer = ev->arg[TI_F_PEER], tag = ev->arg[TI_F_TAG], number = ev->arg[TI_F_MSG];
    MPI_Message none, *message = &none;
    int found = 0;

    if (number >= 0)
        message = TI_REPLAY_AT(p, message, nmessages, messages_room, number);
    if (!p->setup->any && (peer == TI_ANY || tag == TI_ANY))
        matched(p, ev, -1, &peer, &tag);
    tag = tag == TI_ANY ? MPI_ANY_TAG : tag;
    if (ev->op == TI_OP_MPROBE)
        ti_replay_must(p, MPI_Mprobe(ti_replay_peer(p, c, peer), (int)tag, c->handle, message,
                                     MPI_STATUS_IGNORE));
    else
        while (!found)
            ti_replay_must(p, MPI_Improbe(ti_replay_peer(p, c, peer), (int)tag, c->handle, &found,
                                          message, MPI_STATUS_IGNORE));
}

static MPI_Message *probed(struct ti_replayer *p, const struct ti_event *ev, MPI_Message *none)
{
    int64_t number = ev->arg[TI_F_MSG];

    *none = MPI_MESSAGE_NO_PROC;
    if (number < 0)
        return none;
    if ((size_t)number >= p->nmessages)
        ti_replay_fail(p, TI_ERR_INPUT, "message %lld was not probed", (long long)number);
    return &p->message[number];
}

void replay_mrecv(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Message none, *message = probed(p, ev, &none);
    MPI_Datatype type;
    int count =
        ti_replay_count(p, TI_ELEMENTS_ROOM, ev->arg[TI_F_BYTES], ev->arg[TI_F_ESIZE], &type);

    ti_replay_must(p, MPI_Mrecv(ti_engine_received(p, (size_t)ev->arg[TI_F_BYTES]), count, type,
                                message, MPI_STATUS_IGNORE));
}

void replay_imrecv(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_request *q = ti_replay_new_request(p);
    MPI_Message none, *message = probed(p, ev, &none);
    MPI_Datatype type;
    int count =
        ti_replay_count(p, TI_ELEMENTS_ROOM, ev->arg[TI_F_BYTES], ev->arg[TI_F_ESIZE], &type);

    q->active = true;
    ti_replay_must(p, MPI_Imrecv(ti_engine_received(p, (size_t)ev->arg[TI_F_BYTES]), count, type,
                                 message, q->handle));
}

#endif
