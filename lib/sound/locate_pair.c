/* Messages between two ranks that differ: the second pass of the check for a pair (locate.h). */
#include "sound/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sound/text.h"

/* A place on a channel of which one side was seen so far. */
struct place {
    int64_t bytes, room;
    uint64_t sent_at, taken_at; /* indices of the events */
    bool sent, taken;
    bool open; /* the receive may not have taken a message */
};

struct channel {
    int64_t gid, tag, lane;
    struct place *place; /* a queue of places from number `base` on */
    size_t first, n, cap;
    uint64_t base;
    uint64_t maybe[2]; /* messages of either side without a place: they may have been
                          cancelled */
    uint64_t lacks[2]; /* messages without a receive, receives without a message */
    struct place lack[2];
    bool truncated;
};

struct pair_search {
    struct ti_check_state *st;
    int64_t rank[2]; /* source, destination */
    unsigned lanes;
    struct ti_walk *w[2];
    bool ended[2];
    uint64_t fed[2];    /* messages of this pair */
    struct ti_map keys; /* (gid, tag, partitioned) */
    /* of either side: messages that were cancelled, for certain or perhaps (event,
     * request), and the holes they left on their channels (gid, tag, partitioned, number) */
    struct ti_map cancelled[2], holes[2];
    struct channel *channel;
    size_t cap;
    bool changed;              /* a rank is not what it was when it was read before */
    struct channel no_channel; /* takes the place of one for which there is no memory */
    uint64_t *matched, *bytes;
};

static struct channel *channel_at(struct pair_search *l, const struct ti_msg *m)
{
    size_t known = l->keys.n;
    int64_t c = -1;

    if (TI_ROOM(l->channel, &l->cap, known + 1))
        c = ti_map_put(&l->keys, m->gid, m->tag, m->partitioned, 0);
    l->st->no_memory |= c < 0;
    if (c < 0)
        return &l->no_channel;
    if ((size_t)c == known)
        l->channel[c] = (struct channel){.gid = m->gid, .tag = m->tag, .lane = ti_lane_of(m)};
    return &l->channel[c];
}

/* Place `number`; NULL if both its sides were seen already, or memory is short. */
static struct place *place_at(struct pair_search *l, struct channel *c, uint64_t number)
{
    size_t i;

    if (number < c->base)
        return NULL;
    i = (size_t)(number - c->base);
    if (c->first > 64 && c->first > c->n) { /* now and then, move the places to the front */
        memmove(c->place, c->place + c->first, c->n * sizeof *c->place);
        c->first = 0;
    }
    if (l->st->no_memory || !TI_ROOM(c->place, &c->cap, c->first + i + 1)) {
        l->st->no_memory = true;
        return NULL;
    }
    for (; c->n <= i; c->n++)
        c->place[c->first + c->n] = (struct place){0};
    return &c->place[c->first + i];
}

static bool has_open(const struct ti_check_state *st, int64_t rank, int64_t gid, uint64_t **n)
{
    int64_t i = ti_map_find(&st->open, rank, gid, 0, 0);

    *n = i < 0 ? NULL : &st->nopen[i];
    return i >= 0;
}

static void report_truncated(struct pair_search *l, const struct channel *c, const struct place *p)
{
    uint64_t *open;
    char *call;

    if (has_open(l->st, l->rank[1], c->gid, &open) || c->maybe[0] || c->maybe[1])
        return; /* it is not certain that these two belong together */
    call =
        ti_problems_add(l->st->ps, l->rank[1], p->taken_at, NULL,
                        "its %lld bytes are too few for the %lld that rank %lld sends in its event "
                        "%llu",
                        (long long)p->room, (long long)p->bytes, (long long)l->rank[0],
                        (unsigned long long)p->sent_at);
    if (call)
        ti__event_text(l->st, l->rank[1], p->taken_at, call);
}

/* Compare the two sides of a place. */
static void meet(struct pair_search *l, struct channel *c, const struct place *p)
{
    l->matched[c->lane]++;
    l->bytes[c->lane] += (uint64_t)p->bytes;
    if (p->bytes > p->room && !c->truncated) {
        c->truncated = true;
        report_truncated(l, c, p);
    }
}

static bool concerns(const struct pair_search *l, const struct ti_msg *m, bool recv)
{
    return !m->null && m->recv == recv && m->peer == l->rank[!recv] &&
           l->lanes & 1u << ti_lane_of(m);
}

static bool was_cancelled(const struct pair_search *l, const struct ti_msg *m)
{
    return ti_map_find(&l->cancelled[m->recv], (int64_t)m->event, m->req, 0, 0) >= 0;
}

/* The message's number on its channel, had nothing been cancelled. */
static uint64_t number_of(const struct pair_search *l, const struct ti_msg *m)
{
    const struct ti_map *holes = &l->holes[m->recv];
    uint64_t below = 0;

    for (size_t i = 0; i < holes->n; i++)
        below += holes->key[i][0] == m->gid && holes->key[i][1] == m->tag &&
                 holes->key[i][2] == m->partitioned && (uint64_t)holes->key[i][3] < m->seq;
    return m->seq - below;
}

/* Enter a message of the pair.  A probed message that was not received has unlimited room. */
static void feed(struct pair_search *l, const struct ti_msg *m, int64_t bytes)
{
    struct channel *c = channel_at(l, m);
    struct place *p;

    if (was_cancelled(l, m))
        return;
    p = place_at(l, c, number_of(l, m));
    if (!p) {
        l->changed = true; /* two messages have one place; or memory is short */
        return;
    }
    if (m->recv) {
        p->taken = true;
        p->taken_at = m->event;
        p->room = bytes;
    } else {
        p->sent = true;
        p->sent_at = m->event;
        p->bytes = bytes;
    }
    if (p->sent && p->taken)
        meet(l, c, p);
    for (; c->n && c->place[c->first].sent && c->place[c->first].taken; c->n--) {
        c->first++;
        c->base++;
    }
}

/* Mark the place of receive `m` as open: it was never completed, so it may not have taken a
 * message. */
static void open_up(struct pair_search *l, int side, const struct ti_msg *m)
{
    struct place *p;

    if (!concerns(l, m, side) || was_cancelled(l, m) || !m->recv)
        return;
    p = place_at(l, channel_at(l, m), number_of(l, m));
    if (p)
        p->open = true;
}

/* Process what is outstanding at the end of a side. */
static void end_side(struct pair_search *l, int side)
{
    struct ti_pending leak;
    size_t at = 0;

    l->ended[side] = true;
    while (ti_walk_pending(l->w[side], &at, &leak)) {
        if (leak.probed && concerns(l, leak.msg, side))
            feed(l, leak.msg, INT64_MAX);
        for (int i = 0; i < leak.nmsgs && !leak.probed; i++)
            open_up(l, side, &leak.msg[i]);
    }
}

/* Read on one side to its next message of the pair. */
static ti_status advance(struct pair_search *l, int side, struct ti_err *err)
{
    struct ti_step step;
    bool fed = false;
    ti_status status = TI_OK;

    while (!fed && !status) {
        int got = ti_walk_next(l->w[side], &step, err);

        if (got < 0)
            return ti_walk_status(l->w[side]);
        if (got == 0) {
            end_side(l, side);
            return ti__check_memory(l->st, err);
        }
        for (size_t i = 0; i < step.nposted; i++)
            if (concerns(l, &step.posted[i], side)) {
                feed(l, &step.posted[i], step.posted[i].bytes);
                l->fed[side]++;
                fed = true;
            }
        for (size_t i = 0; step.ev.op == TI_OP_REQUEST_FREE && i < step.ndone; i++)
            open_up(l, side, &step.done[i]);
        if (step.index % (1 << 14) == 0)
            status = ti__pause(l->st, err);
    }
    return status ? status : ti__check_memory(l->st, err);
}

/* `m` was cancelled, or may have been: the messages after it on its channel move up. */
static void cancel(struct pair_search *l, const struct ti_msg *m, bool certain)
{
    if (m->null)
        return;
    if (ti_map_put(&l->cancelled[m->recv], (int64_t)m->event, m->req, 0, 0) < 0 ||
        ((m->hole || !certain) &&
         ti_map_put(&l->holes[m->recv], m->gid, m->tag, m->partitioned, (int64_t)m->seq) < 0))
        l->st->no_memory = true;
    if (!certain)
        channel_at(l, m)->maybe[m->recv]++;
}

/* Find the messages that one side cancels, in a pass of its own. */
static ti_status find_cancelled(struct pair_search *l, int side, struct ti_err *err)
{
    struct ti_walk *w;
    struct ti_step step;
    struct ti_pending leak;
    size_t at = 0;
    int got = 1;
    ti_status status = ti_walk_open(l->st->s, &l->st->check->comms, l->rank[side], &w, err);

    if (status)
        return status;
    while (!status && (got = ti_walk_next(w, &step, err)) == 1) {
        for (size_t i = 0; i < step.ndone; i++) {
            const struct ti_msg *m = &step.done[i];

            if (concerns(l, m, side) && (m->cancelled || ti_may_be_cancelled(m, &step)))
                cancel(l, m, m->cancelled);
        }
        if (step.index % (1 << 14) == 0)
            status = ti__pause(l->st, err);
    }
    if (got < 0)
        status = ti_walk_status(w);
    while (!status && ti_walk_pending(w, &at, &leak))
        for (int i = 0; i < leak.nmsgs; i++)
            if (leak.msg[i].cancelling && concerns(l, &leak.msg[i], side))
                cancel(l, &leak.msg[i], false);
    ti_walk_close(w);
    return status ? status : ti__check_memory(l->st, err);
}

static void count_lacks(struct pair_search *l, struct channel *c)
{
    uint64_t *open;

    for (size_t i = c->first; i < c->first + c->n; i++) {
        const struct place *p = &c->place[i];
        int side = !p->sent;

        if (p->sent == p->taken || p->open)
            continue;
        if (c->maybe[!side]) { /* then a doubtful message of the other side was not cancelled */
            c->maybe[!side]--;
            l->matched[c->lane]++;
            l->bytes[c->lane] += (uint64_t)p->bytes;
            continue;
        }
        if (!side && has_open(l->st, l->rank[1], c->gid, &open) && *open) {
            --*open; /* a receive with a wildcard may have taken it */
            continue;
        }
        if (!c->lacks[side]++)
            c->lack[side] = *p;
    }
}

/* The first channel with a receive that gets no message; NULL if there is none. */
static const struct channel *vain(const struct pair_search *l)
{
    for (size_t i = 0; i < l->keys.n; i++)
        if (l->channel[i].lacks[1])
            return &l->channel[i];
    return NULL;
}

/* Messages without a receive (side 0), or receives without a message. */
static void report_lack(struct pair_search *l, const struct channel *c, int side)
{
    struct ti_check_state *st = l->st;
    const struct channel *other = side ? NULL : vain(l);
    uint64_t event = side ? c->lack[1].taken_at : c->lack[0].sent_at;
    char *call, comm[96], also[64] = "", instead[200] = "";

    st->check->unmatched = true;
    if (!ti_problems_room(st->ps)) {
        st->ps->n++;
        return;
    }
    if (c->lacks[side] > 1)
        snprintf(also, sizeof also, ", and %llu more like it",
                 (unsigned long long)(c->lacks[side] - 1));
    if (other)
        snprintf(instead, sizeof instead, "; it waits for tag %lld on the communicator of %s",
                 (long long)other->tag,
                 ti_comms_text(&st->check->comms, other->gid, comm, sizeof comm));
    call = ti_problems_add(st->ps, l->rank[side], event, NULL,
                           side ? "rank %lld sends nothing for it%s%s"
                                : "rank %lld never receives it%s%s",
                           (long long)l->rank[!side], also, instead);
    if (call)
        ti__event_text(st, l->rank[side], event, call);
}

ti_status ti__locate_in_pair(struct ti_check_state *st, int64_t src, int64_t dst, unsigned lanes,
                             uint64_t matched[TI_LANES], uint64_t bytes[TI_LANES],
                             struct ti_err *err)
{
    struct pair_search l = {
        .st = st, .rank = {src, dst}, .lanes = lanes, .matched = matched, .bytes = bytes};
    ti_status status = TI_OK;

    for (int side = 0; side < 2 && !status; side++) {
        if (st->cancels[l.rank[side]])
            status = find_cancelled(&l, side, err);
        if (!status)
            status = ti_walk_open(st->s, &st->check->comms, l.rank[side], &l.w[side], err);
    }
    while (!status && !(l.ended[0] && l.ended[1]))
        status = advance(&l, l.ended[0] || (!l.ended[1] && l.fed[1] < l.fed[0]), err);
    if (!status && l.changed)
        status = ti__changed(st, err);
    for (size_t i = 0; i < l.keys.n; i++)
        count_lacks(&l, &l.channel[i]);
    for (size_t i = 0; i < l.keys.n && !status; i++)
        for (int side = 0; side < 2; side++)
            if (l.channel[i].lacks[side])
                report_lack(&l, &l.channel[i], side);
    for (size_t i = 0; i < l.keys.n; i++)
        free(l.channel[i].place);
    free(l.channel);
    ti_map_free(&l.keys);
    for (int side = 0; side < 2; side++) {
        ti_map_free(&l.cancelled[side]);
        ti_map_free(&l.holes[side]);
        ti_walk_close(l.w[side]);
    }
    return status;
}
