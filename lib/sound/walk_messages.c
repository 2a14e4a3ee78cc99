#include "sound/walk_internal.h"

/* ----------------------------------------------------------------- channels -- */

/* Keys of counters: of a channel's messages or, with PARTITIONED, of its partitioned requests. */
enum { PARTITIONED = 2, CHANNEL_KINDS = 4 };

static struct count *counter(struct ti_walk *w, const struct ti_msg *m, int64_t which)
{
    int64_t c = -1;

    if (TI_ROOM(w->count, &w->counts_cap, w->channels.n + 1))
        c = ti_map_put(&w->channels, m->gid, m->tag, m->peer, which);
    w->no_memory |= c < 0;
    return c < 0 ? &w->no_count : &w->count[c];
}

static struct count *channel_of(struct ti_walk *w, const struct ti_msg *m)
{
    return counter(w, m, (m->recv ? 1 : 0) + m->partitioned * CHANNEL_KINDS);
}

int64_t ti__walk_channel(const struct ti_walk *w, const struct ti_msg *m)
{
    return ti_map_find(&w->channels, m->gid, m->tag, m->peer,
                       (m->recv ? 1 : 0) + m->partitioned * CHANNEL_KINDS);
}

uint64_t ti_walk_posted(const struct ti_walk *w, const struct ti_msg *m)
{
    int64_t c = ti__walk_channel(w, m);

    return c < 0 ? 0 : w->count[c].next;
}

/* ----------------------------------------------------------------- messages -- */

static void put_posted(struct ti_walk *w, struct ti_msg *m)
{
    if (!m->null)
        m->astray = channel_of(w, m)->placed++ != m->seq;
    w->no_memory |= !TI_ROOM(w->posted, &w->posted_cap, w->nposted + 1);
    if (!w->no_memory)
        w->posted[w->nposted++] = *m;
}

/* Fill in channel and partner of a message on communicator `index`; false if they are invalid. */
static bool address(struct ti_walk *w, struct ti_step *step, struct ti_msg *m, int64_t index,
                    int64_t peer, int64_t tag)
{
    const struct ti_local_comm *comm = ti__walk_comm(w, step, index);

    if (!comm)
        return false;
    if (peer == TI_ANY || tag == TI_ANY) {
        ti__walk_wrong(step, "what the wildcard matched is not in the trace");
        return false;
    }
    m->gid = comm->gid;
    m->tag = tag;
    m->peer = ti_comm_view_world(&w->comms, comm, peer);
    if (m->peer < 0) {
        ti__walk_wrong(step, "its partner is no rank of the communicator");
        return false;
    }
    if (m->bytes < 0 || tag < 0) {
        ti__walk_wrong(step, "%s is negative", tag < 0 ? "its tag" : "its size");
        return false;
    }
    return true;
}

/* Open the second reader where trips were left out before. */
static ti_status begin_ahead(struct ti_walk *w, uint64_t index, struct ti_err *err)
{
    ti_status st = ti_wildcards_begin(&w->ahead, w->source, w->rank, index, w->nlive, err);

    for (size_t i = 0; i < w->nlive && w->ahead.r; i++)
        w->ahead.live[i].persistent =
            w->live[i].used && w->live[i].init && ti_is_wild(w->live[i].init);
    return st;
}

/* Find out what a non-blocking receive with a wildcard matched; sets step->lost if the trace does
 * not tell. */
static ti_status match(struct ti_walk *w, struct ti_step *step, struct ti_msg *m, int64_t *peer,
                       int64_t *tag, struct ti_err *err)
{
    struct ti_match match = {.state = TI_MATCH_NEVER};
    ti_status st = TI_OK;

    if (!w->sends_only && !w->ahead.r && w->left_out)
        st = begin_ahead(w, step->index, err);
    if (!st && !w->sends_only)
        st = ti_wildcards_ask(&w->ahead, w->source, w->rank, step->index, m->req, &match, err);
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
 * req and partitioned of *m are set; the other members are filled in.
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

ti_status ti__walk_post(struct ti_walk *w, struct ti_step *step, const struct ti_event *ev,
                        int64_t req, struct request *q, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int recv = 0; recv < 2 && !st; recv++) {
        struct ti_msg m = {.recv = recv, .req = req, .partitioned = q ? q->partitioned : 0};

        if (!ti_op_is(ev->op, recv ? TI_T_RECEIVES : TI_T_SENDS))
            continue;
        st = post_half(w, step, ev, &m, err);
        if (q)
            q->msg[q->nmsgs++] = m;
    }
    return st;
}

void ti__walk_withdraw(struct ti_walk *w, struct ti_msg *m)
{
    struct count *count = channel_of(w, m);

    m->cancelled = true;
    m->hole = m->seq + 1 != count->next;
    if (!m->hole) {
        count->next--;
        count->placed--;
    }
}

void ti__walk_lot(struct ti_walk *w, struct ti_step *step, struct request *q)
{
    const struct ti_event *ev = &step->ev;
    struct ti_msg m = {.recv = ti_op_is(ev->op, TI_T_RECEIVES), .bytes = ev->arg[TI_F_BYTES]};

    if (ev->arg[TI_F_PEER] != TI_NULL &&
        address(w, step, &m, ev->arg[TI_F_COMM], ev->arg[TI_F_PEER], ev->arg[TI_F_TAG]))
        q->partitioned = 1 + (int64_t)counter(w, &m, PARTITIONED + (m.recv ? 1 : 0))->next++;
}

/* ------------------------------------------------------------------- probes -- */

/* Receives that are posted take earlier messages, so the probe found the next one. */
void ti__walk_look(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    int64_t peer = ev->arg[TI_F_PEER], tag = ev->arg[TI_F_TAG];
    struct ti_msg m = {.recv = true, .req = -1};
    struct count *count;

    if (peer == TI_NULL)
        return;
    if (peer == TI_ANY && (ev->mask & TI_M_FROM))
        peer = ev->arg[TI_F_FROM];
    if (tag == TI_ANY && (ev->mask & TI_M_FROMTAG))
        tag = ev->arg[TI_F_FROMTAG];
    if (!address(w, step, &m, ev->arg[TI_F_COMM], peer, tag))
        return;
    count = channel_of(w, &m);
    if (count->next < count->found)
        return;
    count->found = count->next + 1;
    count->found_by = step->index;
}

bool ti_walk_unreceived(const struct ti_walk *w, size_t *at, struct ti_found *out)
{
    for (; *at < w->channels.n; ++*at) {
        const struct count *count = &w->count[*at];

        if (count->found <= count->next)
            continue;
        *out = (struct ti_found){.event = count->found_by,
                                 .tag = w->channels.key[*at][1],
                                 .peer = w->channels.key[*at][2]};
        ++*at;
        return true;
    }
    return false;
}

/* ----------------------------------------------------------- matched probes -- */

void ti__walk_probe(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    int64_t number = ev->arg[TI_F_MSG], peer = ev->arg[TI_F_PEER], tag = ev->arg[TI_F_TAG];
    struct ti_msg m = {.recv = true, .req = -1, .event = step->index, .op = ev->op};

    if (number == -1)
        return;                                      /* from MPI_PROC_NULL */
    if (number < 0 || (size_t)number > w->nprobed) { /* a new number is the lowest free one */
        ti__walk_wrong(step, "message number %lld is out of range", (long long)number);
        return;
    }
    w->no_memory |= !TI_ROOM(w->probed, &w->probed_cap, (size_t)number + 1);
    if (w->no_memory)
        return;
    if (w->nprobed == (size_t)number)
        w->nprobed++;
    if (w->probed[number].used)
        ti__walk_wrong(step, "message %lld is in use since event %llu", (long long)number,
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

void ti__walk_receive_probed(struct ti_walk *w, struct ti_step *step, struct request *q)
{
    const struct ti_event *ev = &step->ev;
    int64_t number = ev->arg[TI_F_MSG];
    struct ti_msg m = {.recv = true, .null = true};

    if (number >= 0 && (size_t)number < w->nprobed && w->probed[number].used) {
        m = w->probed[number].msg;
        w->probed[number].used = false;
    } else if (number != -1) {
        ti__walk_wrong(step, "message %lld was not probed", (long long)number);
        m.unknown = true;
    }
    m.event = step->index;
    m.op = ev->op;
    m.bytes = ev->arg[TI_F_BYTES];
    m.req = q ? ev->arg[TI_F_REQ] : -1;
    if (m.bytes < 0) {
        ti__walk_wrong(step, "its size is negative");
        m.bytes = 0;
    }
    if (!m.unknown)
        put_posted(w, &m);
    if (q)
        q->msg[q->nmsgs++] = m;
}
