#include <string.h>

#include "replay-bridge/replayer/profile_internal.h"
#include "replay-bridge/replayer/steady.h"

/* ---- the start of messages ---- */

bool ti__profile_posts_only(uint32_t op)
{
    return ti_op_is(op, TI_T_REQUEST) || ti_op_is(op, TI_T_STARTS) || ti_op_is(op, TI_T_USES);
}

void ti__profile_handed_over(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;

    if (mine->sending.sent && mine->all->critical)
        ti_partners_handed_over(
            mine->all->partners, &mine->sending,
            ti_critical_here(mine->all->critical, &mine->now_at, ti__profile_clock(p)));
    mine->sending.sent = NULL;
}

/* ---- numbers of communicators and windows ---- */

/* Whether nobody asks with whom the rank communicates. */
static bool is_alone(const struct ti_replayer *p)
{
    return !p->profile && !p->steady;
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const int32_t *member, int64_t n)
{
    uint64_t hash = (uint64_t)n;

    for (int64_t i = 0; i < n; i++)
        hash = mix(hash, (uint64_t)member[i]);
    return hash;
}

/* Counts the communicators that this rank has made with these members.  All members make them in
 * the same order, so the count is the same on all of them. */
static uint64_t times_made(struct ti_replayer *p, uint64_t members)
{
    size_t i = 0;

    while (i < p->nmade && p->made[i].members != members)
        i++;
    TI_REPLAY_AT(p, made, nmade, made_room, i)->members = members;
    return ++p->made[i].n;
}

void ti_profile_comm(struct ti_replayer *p, struct ti_replay_comm *c, const struct ti_comm *made)
{
    uint64_t members;

    if (is_alone(p))
        return;
    if (made->member) /* the order of the two groups depends on the rank */
        members = hash_of(made->member, made->size) + hash_of(made->remote, made->remote_size);
    else /* the world, or the rank itself */
        members = made->size == p->np ? 1 : mix(2, (uint64_t)p->rank);
    members = mix(members, (uint64_t)p->job);
    c->members = made->size + made->remote_size;
    c->id = mix(members, times_made(p, members));
}

void ti_profile_window(struct ti_replayer *p, struct ti_replay_window *w)
{
    if (!p->profile)
        return;
    w->of.id =
        mix(w->of.id, w->of.calls); /* the creation was a collective call, so this is unique */
    w->of.calls = 0;
}

/* ---- partners ---- */

/* Own rank in the handle, which may have both groups of an intercommunicator. */
static int own_rank(const struct ti_replay_comm *c)
{
    return (int)(c->rank + (c->one_for_two && !c->offset ? c->peers : 0));
}

static void hold(struct ti_profile_rank *mine, struct ti_ticket ticket)
{
    mine->ticket =
        ti_grow(mine->ticket, &mine->tickets_room, mine->ntickets + 1, sizeof *mine->ticket);
    mine->ticket[mine->ntickets++] = ticket;
}

/* This rank now, with its path. */
static struct ti_arrival arrival(struct ti_replayer *p)
{
    struct ti_critical *critical = p->profile->all->critical;
    struct ti_arrival me = {.when = ti__profile_clock(p), .rank = p->all_rank};

    ti__profile_handed_over(p);
    if (critical)
        me.path = ti_critical_here(critical, &p->profile->now_at, me.when);
    return me;
}

bool ti_profile_waits(const struct ti_replayer *p, uint32_t op, size_t bytes)
{
    return p->profile && !ti_op_is(op, TI_T_BUFFERED) &&
           (ti_op_is(op, TI_T_SYNCHRONOUS) || bytes >= p->profile->all->eager_bytes);
}

void ti_profile_send(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag,
                     size_t bytes, bool waits)
{
    struct ti_message_key key = {.comm = c->id, .from = own_rank(c), .to = peer, .tag = tag};
    struct ti_profile_rank *mine = p->profile;
    struct ti_arrival me;

    if (is_alone(p) || peer == MPI_PROC_NULL)
        return;
    ti_steady_message(p, &key, true);
    if (!mine)
        return;
    me = arrival(p);
    hold(mine, ti_partners_send(mine->all->partners, &key, (int64_t)bytes, waits, &me));
    if (!waits || ti__profile_posts_only(p->ev->op))
        mine->sending = mine->ticket[mine->ntickets - 1];
}

static bool is_wild(int peer, int tag)
{
    return peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG || peer == MPI_PROC_NULL;
}

void ti_profile_receive(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag)
{
    struct ti_message_key key = {.comm = c->id, .from = peer, .to = own_rank(c), .tag = tag};
    struct ti_arrival me;

    if (is_alone(p))
        return;
    if (peer != MPI_PROC_NULL && is_wild(peer, tag))
        ti_steady_wild(p);
    if (is_wild(peer, tag)) /* remaining wildcards never match */
        return;
    ti_steady_message(p, &key, false);
    if (!p->profile)
        return;
    me = arrival(p);
    hold(p->profile, ti_partners_receive(p->profile->all->partners, &key, &me));
}

void ti_profile_probed(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag)
{
    struct ti_message_key key = {.comm = c->id, .from = peer, .to = own_rank(c), .tag = tag};
    const struct ti_arrival *sent;

    if (!p->profile || is_wild(peer, tag) ||
        !(sent = ti_partners_sent(p->profile->all->partners, &key)))
        return;
    p->profile->late = sent->when;
    p->profile->late_rank = sent->rank;
    if (p->profile->all->critical)
        ti_critical_probed(p->profile->all->critical, p->all_rank, sent->path);
}

void ti_profile_collective(struct ti_replayer *p, struct ti_replay_comm *c,
                           const struct ti_event *ev, int64_t bytes)
{
    bool root = (ev->mask & TI_M_ROOT) && ev->arg[TI_F_ROOT] == c->rank;
    bool from_root = ti_op_is(ev->op, TI_T_FROM_ROOT);
    bool waits = from_root ? !root : ti_op_is(ev->op, TI_T_TO_ROOT) ? root : true;
    struct ti_arrival me;

    if (is_alone(p))
        return;
    ti_steady_collective(p, c->id, ev->op, own_rank(c), c->members);
    if (!p->profile)
        return;
    me = arrival(p);
    hold(p->profile, ti_partners_meet(p->profile->all->partners, c->id, c->calls++, c->members,
                                      bytes, root, from_root, waits, &me));
}

void ti_profile_posted(struct ti_replayer *p, struct ti_replay_request *q)
{
    struct ti_profile_rank *mine = p->profile;

    if (!mine)
        return;
    q->ticket = ti_grow(q->ticket, &q->tickets_room, mine->ntickets, sizeof *q->ticket);
    memcpy(q->ticket, mine->ticket, mine->ntickets * sizeof *q->ticket);
    q->ntickets = mine->ntickets;
    mine->ntickets = 0;
}

void ti_profile_completed(struct ti_replayer *p, struct ti_replay_request *q)
{
    for (size_t i = 0; p->profile && i < q->ntickets; i++) {
        q->ticket[i].done = q->done;
        hold(p->profile, q->ticket[i]);
    }
    q->ntickets = 0;
    q->done = 0;
}

bool ti_profile_wants_done(const struct ti_replayer *p)
{
    return p->profile && p->profile->all->critical;
}

void ti_profile_done(struct ti_replayer *p, struct ti_replay_request *q)
{
    q->done = ti__profile_clock(p);
}
