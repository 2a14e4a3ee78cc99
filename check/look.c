#include "check/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/collectives.h"

/* ---- reading again ---- */

/* Walk to the rank's next collective on gid; 1, 0 at the end, -1 on trouble. */
static int next_collective(struct ti_walk *w, int64_t gid, struct ti_step *step, struct ti_err *err)
{
    int got;

    while ((got = ti_walk_next(w, step, err)) == 1)
        if (step->gid == gid && ti_joins_all(step->ev.op))
            break;
    return got;
}

/* Ranks a and b disagree about collectives on gid: find where. */
ti_status ti__look_at_sequences(struct ti_check_state *st, int64_t gid, int64_t a, int64_t b,
                                struct ti_err *err)
{
    struct ti_walk *wa = NULL, *wb = NULL;
    struct ti_step sa, sb;
    char comm[96], call[160], where[200];
    int got_a, got_b;
    ti_status status;

    st->check->unmatched = true;
    if (!ti_problems_room(st->ps)) {
        st->ps->n++;
        return TI_OK;
    }
    status = ti_walk_open(st->s, &st->check->comms, a, &wa, err);
    if (!status)
        status = ti_walk_open(st->s, &st->check->comms, b, &wb, err);
    if (status)
        goto out;
    ti_comms_text(&st->check->comms, gid, comm, sizeof comm);
    do {
        got_a = next_collective(wa, gid, &sa, err);
        got_b = next_collective(wb, gid, &sb, err);
        status = ti__pause(st, err);
        if (status)
            goto out;
    } while (got_a == 1 && got_b == 1 && ti_signature(&sa.ev) == ti_signature(&sb.ev));
    if (got_a == 1)
        snprintf(where, sizeof where, "event %llu, %s", (unsigned long long)sa.index,
                 ti_call_text(ti_walk_reader(wa), &sa.ev, call, sizeof call));
    else
        snprintf(where, sizeof where, "no more collective on it");
    if (got_b == 1) {
        ti_problems_add(st->ps, b, sb.index,
                        ti_call_text(ti_walk_reader(wb), &sb.ev, call, sizeof call),
                        "on the communicator of %s, rank %lld has %s", comm, (long long)a, where);
    } else if (got_a == 1) {
        ti_problems_add(
            st->ps, a, sa.index, ti_call_text(ti_walk_reader(wa), &sa.ev, call, sizeof call),
            "on the communicator of %s, rank %lld has no more collective", comm, (long long)b);
    }
out:
    ti_walk_close(wa);
    ti_walk_close(wb);
    return status;
}

/* Members that have no collective on a communicator where others have. */
void ti__look_for_absent(struct ti_check_state *st)
{
    char comm[96];

    for (size_t gid = 0; gid < st->nseq; gid++) {
        const struct sequence *q = &st->seq[gid];
        const struct ti_group *g = ti_comms_group(&st->check->comms, (int64_t)gid);

        if (!q->any || q->bad || q->nmet == g->size)
            continue;
        st->check->unmatched = true;
        ti_comms_text(&st->check->comms, (int64_t)gid, comm, sizeof comm);
        for (int64_t i = 0; i < g->size; i++) {
            if (q->met[i / 8] & 1u << i % 8 || !st->sound[g->member[i]])
                continue;
            ti_problems_add(st->ps, g->member[i], TI_NO_EVENT, NULL,
                            "it has no collective on the communicator of %s, rank %lld has %llu",
                            comm, (long long)q->first_rank, (unsigned long long)q->n);
            break;
        }
    }
}

/* Walk to `member`'s collective number `nth` on gid. */
static ti_status walk_to(struct ti_check_state *st, int64_t gid, int64_t member, uint64_t nth,
                         struct ti_walk **w, struct ti_step *step, struct ti_err *err)
{
    uint64_t at = 0;
    ti_status status = ti_walk_open(st->s, &st->check->comms, member, w, err);

    if (status)
        return status;
    while (next_collective(*w, gid, step, err) == 1)
        if (at++ == nth)
            return TI_OK;
    TI_BUG("a collective is gone");
}

/* Sums over all members, collective by collective: the first that differs. */
static ti_status find_collective(struct ti_check_state *st, int64_t gid, uint64_t *nth,
                                 struct ti_err *err)
{
    int64_t size = ti_comms_group(&st->check->comms, gid)->size;
    size_t none = 0;
    uint64_t *sum = ti_more(NULL, &none, st->seq[gid].n, sizeof *sum);
    ti_status status = TI_OK;

    for (int64_t me = 0; me < size && !status; me++) {
        struct ti_walk *w;
        struct ti_step step;

        status = ti_walk_open(st->s, &st->check->comms,
                              ti_comms_group(&st->check->comms, gid)->member[me], &w, err);
        if (status)
            break;
        for (uint64_t k = 0; next_collective(w, gid, &step, err) == 1; k++) {
            uint64_t given = 0, expected = 0;

            ti_add_blocks(&(struct ti_sums){&given, &expected, false}, k, &step.ev, me, size);
            sum[k] += given - expected;
        }
        ti_walk_close(w);
        status = ti__pause(st, err);
    }
    for (*nth = 0; *nth + 1 < st->seq[gid].n && !sum[*nth];)
        ++*nth;
    free(sum);
    return status;
}

/* Whose blocks of collective `nth` are expected otherwise? */
static ti_status find_sender(struct ti_check_state *st, int64_t gid, uint64_t nth,
                             struct ti_err *err)
{
    int64_t size = ti_comms_group(&st->check->comms, gid)->size, sender = 0;
    size_t none = 0;
    uint64_t *sum = ti_more(NULL, &none, 2 * (size_t)size, sizeof *sum);
    struct ti_sums sums = {sum, sum + size, true};
    struct ti_walk *w;
    struct ti_step step;
    ti_status status = TI_OK;

    for (int64_t me = 0; me < size && !status; me++) {
        status = walk_to(st, gid, ti_comms_group(&st->check->comms, gid)->member[me], nth, &w,
                         &step, err);
        if (!status) {
            ti_add_blocks(&sums, nth, &step.ev, me, size);
            ti_walk_close(w);
        }
    }
    while (sender + 1 < size && sum[sender] == sum[size + sender])
        sender++;
    free(sum);
    sender = ti_comms_group(&st->check->comms, gid)->member[sender];
    if (!status)
        status = walk_to(st, gid, sender, nth, &w, &step, err);
    if (!status) {
        ti__report(st, w, &step, "what this rank sends in it is not what the others expect");
        ti_walk_close(w);
    }
    return status;
}

ti_status ti__look_at_blocks(struct ti_check_state *st, struct ti_err *err)
{
    ti_status status = TI_OK;
    uint64_t nth;

    for (size_t gid = 0; gid < st->nseq && !status; gid++) {
        const struct sequence *q = &st->seq[gid];

        if (!q->any || q->bad || q->given == q->expected ||
            q->nmet != ti_comms_group(&st->check->comms, (int64_t)gid)->size)
            continue;
        status = find_collective(st, (int64_t)gid, &nth, err);
        if (!status)
            status = find_sender(st, (int64_t)gid, nth, err);
    }
    return status;
}

/* ---- a pair of ranks ---- */

/* What is known of a place on a channel while its other side is being sought. */
struct place {
    int64_t bytes, room;
    uint64_t sent_at, taken_at; /* events */
    bool sent, taken;
    bool open; /* the receive need not have taken anything */
};

struct channel {
    int64_t gid, tag;
    struct place *place; /* from number `base` on, in a ring without an end */
    size_t first, n, cap;
    uint64_t base;
    uint64_t lacks[2]; /* messages without a receive, receives without a message */
    struct place lack[2];
    bool truncated;
};

struct pair_look {
    struct ti_check_state *st;
    int64_t rank[2]; /* source, destination */
    unsigned lanes;
    struct ti_walk *w[2];
    bool ended[2];
    uint64_t fed[2];    /* messages of this pair */
    struct ti_map keys; /* (gid, tag) */
    struct channel *channel;
    size_t cap;
    uint64_t *matched, *bytes;
};

static struct channel *channel_at(struct pair_look *l, int64_t gid, int64_t tag)
{
    size_t known = l->keys.n;
    int64_t c = ti_map_add(&l->keys, gid, tag, 0, 0);

    l->channel = ti_more(l->channel, &l->cap, l->keys.n, sizeof *l->channel);
    if ((size_t)c == known)
        l->channel[c] = (struct channel){.gid = gid, .tag = tag};
    return &l->channel[c];
}

/* Place `number`, or NULL once both its sides were seen. */
static struct place *place_at(struct channel *c, uint64_t number)
{
    size_t i;

    if (number < c->base)
        return NULL;
    i = (size_t)(number - c->base);
    if (c->first > 64 && c->first > c->n) { /* move down, now and then */
        memmove(c->place, c->place + c->first, c->n * sizeof *c->place);
        c->first = 0;
    }
    c->place = ti_more(c->place, &c->cap, c->first + i + 1, sizeof *c->place);
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

static void report_truncated(struct pair_look *l, const struct channel *c, const struct place *p)
{
    char call[160];
    uint64_t *open;

    if (has_open(l->st, l->rank[1], c->gid, &open))
        return; /* which message came here is not certain */
    if (ti_problems_room(l->st->ps))
        ti_event_text(l->st->s, l->rank[1], p->taken_at, call, sizeof call);
    else
        call[0] = '\0';
    ti_problems_add(l->st->ps, l->rank[1], p->taken_at, call,
                    "its %lld bytes are too few for the %lld that rank %lld sends in its event "
                    "%llu",
                    (long long)p->room, (long long)p->bytes, (long long)l->rank[0],
                    (unsigned long long)p->sent_at);
}

/* Both sides of a place are known. */
static void meet(struct pair_look *l, struct channel *c, const struct place *p)
{
    int64_t lane = ti_lane_of(c->gid, c->tag);

    l->matched[lane]++;
    l->bytes[lane] += (uint64_t)p->bytes;
    if (p->bytes > p->room && !c->truncated) {
        c->truncated = true;
        report_truncated(l, c, p);
    }
}

static void feed(struct pair_look *l, const struct ti_msg *m)
{
    struct channel *c = channel_at(l, m->gid, m->tag);
    struct place *p = place_at(c, m->seq);

    if (!p)
        TI_BUG("two messages have one place");
    if (m->recv) {
        p->taken = true;
        p->taken_at = m->event;
        p->room = m->bytes;
    } else {
        p->sent = true;
        p->sent_at = m->event;
        p->bytes = m->bytes;
    }
    if (p->sent && p->taken)
        meet(l, c, p);
    for (; c->n && c->place[c->first].sent && c->place[c->first].taken; c->n--) {
        c->first++;
        c->base++;
    }
}

static bool concerns(const struct pair_look *l, const struct ti_msg *m, bool recv)
{
    return !m->null && m->recv == recv && m->peer == l->rank[!recv] &&
           l->lanes & 1u << ti_lane_of(m->gid, m->tag);
}

/* The receive of `m` may never have taken anything. */
static void open_up(struct pair_look *l, const struct ti_msg *m)
{
    struct place *p = concerns(l, m, true) ? place_at(channel_at(l, m->gid, m->tag), m->seq) : NULL;

    if (p)
        p->open = true;
}

/* Read on one side to its next message of the pair. */
static ti_status advance(struct pair_look *l, int side, struct ti_err *err)
{
    const struct ti_msg *m;
    struct ti_step step;
    bool fed = false;
    ti_status status = TI_OK;

    while (!fed && !status) {
        if (ti_walk_next(l->w[side], &step, err) != 1) {
            l->ended[side] = true;
            for (size_t i = 0; side && (m = ti_walk_pending(l->w[side], i)); i = m->req + 1)
                open_up(l, m);
            return TI_OK;
        }
        for (int i = 0; i < step.nposted; i++)
            if (concerns(l, &step.posted[i], side)) {
                feed(l, &step.posted[i]);
                l->fed[side]++;
                fed = true;
            }
        for (size_t i = 0; side && step.ev.op == TI_OP_REQUEST_FREE && i < step.ndone; i++)
            open_up(l, &step.done[i]);
        if (step.index % (1 << 14) == 0)
            status = ti__pause(l->st, err);
    }
    return status;
}

static void count_lacks(struct pair_look *l, struct channel *c)
{
    uint64_t *open;

    for (size_t i = c->first; i < c->first + c->n; i++) {
        const struct place *p = &c->place[i];
        int side = !p->sent;

        if (p->sent == p->taken || (side && p->open))
            continue;
        if (!side && has_open(l->st, l->rank[1], c->gid, &open) && *open) {
            --*open; /* a receive with a wildcard may have taken it */
            continue;
        }
        if (!c->lacks[side]++)
            c->lack[side] = *p;
    }
}

/* The first channel on which receives wait in vain; NULL if there is none. */
static const struct channel *vain(const struct pair_look *l)
{
    for (size_t i = 0; i < l->keys.n; i++)
        if (l->channel[i].lacks[1])
            return &l->channel[i];
    return NULL;
}

/* Messages without a receive (side 0), or receives without a message. */
static void report_lack(struct pair_look *l, const struct channel *c, int side)
{
    struct ti_check_state *st = l->st;
    const struct channel *other = side ? NULL : vain(l);
    uint64_t event = side ? c->lack[1].taken_at : c->lack[0].sent_at;
    char call[160], comm[96], also[64] = "", instead[200] = "";

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
    ti_event_text(st->s, l->rank[side], event, call, sizeof call);
    ti_problems_add(st->ps, l->rank[side], event, call,
                    side ? "rank %lld sends nothing for it%s%s" : "rank %lld never receives it%s%s",
                    (long long)l->rank[!side], also, instead);
}

ti_status ti__look_at_pair(struct ti_check_state *st, int64_t src, int64_t dst, unsigned lanes,
                           uint64_t matched[TI_LANES], uint64_t bytes[TI_LANES], struct ti_err *err)
{
    struct pair_look l = {
        .st = st, .rank = {src, dst}, .lanes = lanes, .matched = matched, .bytes = bytes};
    ti_status status = ti_walk_open(st->s, &st->check->comms, src, &l.w[0], err);

    if (!status)
        status = ti_walk_open(st->s, &st->check->comms, dst, &l.w[1], err);
    while (!status && !(l.ended[0] && l.ended[1]))
        status = advance(&l, l.ended[0] || (!l.ended[1] && l.fed[1] < l.fed[0]), err);
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
    ti_walk_close(l.w[0]);
    ti_walk_close(l.w[1]);
    return status;
}
