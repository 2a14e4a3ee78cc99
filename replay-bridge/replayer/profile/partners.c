#include "replay-bridge/replayer/profile/partners.h"

#include <stdlib.h>

#include "common/map.h"

/* A message of which one side or both sides are registered. */
struct ti_message {
    struct ti_arrival sent, received; /* `when` 0: not yet */
    int64_t bytes;
    int tag;
    bool waits;  /* its sender waits for the receiver */
    int holders; /* reference count: tickets, and 1 while the message is in a list */
    struct ti_message *next;
};

/* A collective that at least one rank has entered and not all ranks have left. */
struct ti_meeting {
    uint64_t comm, call;
    int64_t size, left;             /* number of ranks; number of released tickets */
    struct ti_arrival latest, root; /* `when` 0: not yet */
    int64_t first;                  /* rank that came first */
    struct ti_meeting *next;
};

struct ti_partners {
    struct ti_path_set *paths;
    struct ti_map pairs; /* (comm, from, to) -> index into `unmatched`, lists of messages */
    struct ti_message **unmatched;
    size_t unmatched_room;
    struct ti_map comms; /* comm -> index into `open`, lists of collectives, oldest first */
    struct ti_meeting **open;
    size_t open_room;
};

struct ti_partners *ti_partners_new(struct ti_path_set *paths)
{
    size_t none = 0;
    struct ti_partners *p = ti_grow(NULL, &none, 1, sizeof *p);

    p->paths = paths;
    return p;
}

void ti_partners_free(struct ti_partners *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->pairs.n; i++)
        for (struct ti_message *m = p->unmatched[i], *next; m; m = next) {
            next = m->next;
            free(m);
        }
    for (size_t i = 0; i < p->comms.n; i++)
        for (struct ti_meeting *m = p->open[i], *next; m; m = next) {
            next = m->next;
            free(m);
        }
    ti_map_free(&p->pairs);
    ti_map_free(&p->comms);
    free(p->unmatched);
    free(p->open);
    free(p);
}

/* ---- arrivals ---- */

/* Time 0 means "not yet", so an arrival at time 0 gets a slightly later time. */
static double above_zero(double now)
{
    return now > 0 ? now : 1e-300;
}

/* Replaces an arrival, and takes the reference in `me`. */
static void set(struct ti_partners *p, struct ti_arrival *at, const struct ti_arrival *me)
{
    ti_path_release(p->paths, at->path);
    *at = *me;
    at->when = above_zero(me->when);
}

static struct ti_arrival copy(const struct ti_arrival *a)
{
    ti_path_hold(a->path);
    return *a;
}

/* ---- messages ---- */

static void release(struct ti_partners *p, struct ti_message *m)
{
    if (--m->holders > 0)
        return;
    ti_path_release(p->paths, m->sent.path);
    ti_path_release(p->paths, m->received.path);
    free(m);
}

static struct ti_message **list_of(struct ti_partners *p, const struct ti_message_key *key)
{
    int64_t pair = ti_map_add(&p->pairs, (int64_t)key->comm, key->from, key->to, 0);

    p->unmatched =
        ti_grow(p->unmatched, &p->unmatched_room, p->pairs.n, sizeof(struct ti_message *));
    return &p->unmatched[pair];
}

/* The link to the first message with this tag, or to the end of the list. */
static struct ti_message **first_of(struct ti_message **list, int tag)
{
    while (*list && (*list)->tag != tag)
        list = &(*list)->next;
    return list;
}

/* Removes from the list the first message that has only the other side; if there is none, appends a
 * new message. */
static struct ti_message *match(struct ti_partners *p, const struct ti_message_key *key, bool send)
{
    struct ti_message **at = first_of(list_of(p, key), key->tag), *m = *at;
    size_t none = 0;

    if (m && (send ? m->sent.when : m->received.when) == 0) {
        *at = m->next;
        return m; /* the list's reference passes to the ticket */
    }
    while (*at)
        at = &(*at)->next;
    *at = m = ti_grow(NULL, &none, 1, sizeof *m);
    m->tag = key->tag;
    m->holders = 2;
    return m;
}

struct ti_ticket ti_partners_send(struct ti_partners *p, const struct ti_message_key *key,
                                  int64_t bytes, bool waits, const struct ti_arrival *me)
{
    struct ti_message *m = match(p, key, true);

    set(p, &m->sent, me);
    m->bytes = bytes;
    m->waits = waits;
    return (struct ti_ticket){.sent = m, .waits = waits};
}

struct ti_ticket ti_partners_receive(struct ti_partners *p, const struct ti_message_key *key,
                                     const struct ti_arrival *me)
{
    struct ti_message *m = match(p, key, false);

    set(p, &m->received, me);
    return (struct ti_ticket){.received = m, .waits = true};
}

void ti_partners_handed_over(struct ti_partners *p, const struct ti_ticket *ticket,
                             struct ti_path *path)
{
    ti_path_release(p->paths, ticket->sent->sent.path);
    ticket->sent->sent.path = path;
}

const struct ti_arrival *ti_partners_sent(struct ti_partners *p, const struct ti_message_key *key)
{
    const struct ti_message *m = *first_of(list_of(p, key), key->tag);

    return m && m->sent.when > 0 ? &m->sent : NULL;
}

/* ---- collective operations ---- */

struct ti_ticket ti_partners_meet(struct ti_partners *p, uint64_t comm, uint64_t call, int64_t size,
                                  int64_t bytes, bool root, bool waits_for_root, bool waits,
                                  const struct ti_arrival *me)
{
    int64_t number = ti_map_add(&p->comms, (int64_t)comm, 0, 0, 0);
    struct ti_meeting **at;
    struct ti_arrival again;
    size_t none = 0;

    p->open = ti_grow(p->open, &p->open_room, p->comms.n, sizeof(struct ti_meeting *));
    for (at = &p->open[number]; *at && (*at)->call != call;)
        at = &(*at)->next;
    if (!*at) {
        *at = ti_grow(NULL, &none, 1, sizeof **at);
        **at = (struct ti_meeting){.comm = comm, .call = call, .size = size, .first = me->rank};
    }
    if (me->when > (*at)->latest.when || !((*at)->latest.when > 0)) {
        again = copy(me);
        set(p, &(*at)->latest, &again);
    }
    if (root) {
        again = copy(me);
        set(p, &(*at)->root, &again);
    }
    return (struct ti_ticket){.meeting = *at,
                              .own = *me,
                              .bytes = bytes,
                              .waits_for_root = waits_for_root,
                              .waits = waits};
}

static void leave(struct ti_partners *p, struct ti_meeting *m)
{
    struct ti_meeting **at = &p->open[ti_map_find(&p->comms, (int64_t)m->comm, 0, 0, 0)];

    if (++m->left < m->size)
        return;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    ti_path_release(p->paths, m->latest.path);
    ti_path_release(p->paths, m->root.path);
    free(m);
}

/* ---- tickets ---- */

static void came_message(const struct ti_message *m, bool receives, struct ti_came *came)
{
    came->own = copy(receives ? &m->received : &m->sent);
    came->other = copy(receives ? &m->sent : &m->received);
    came->bytes = m->bytes;
    came->receives = receives;
    came->eager = !m->waits;
}

static void came_meeting(const struct ti_ticket *ticket, struct ti_came *came)
{
    const struct ti_meeting *m = ticket->meeting;

    came->own = ticket->own;
    came->other = copy(ticket->waits_for_root ? &m->root : &m->latest);
    came->bytes = ticket->bytes;
    came->collective = true;
    came->far = m->latest.rank != ticket->own.rank ? m->latest.rank : m->first;
}

void ti_partners_came(struct ti_partners *p, struct ti_ticket *ticket, struct ti_came *came)
{
    *came = (struct ti_came){.waits = ticket->waits, .done = ticket->done};
    if (ticket->sent) {
        came_message(ticket->sent, false, came);
        release(p, ticket->sent);
    } else if (ticket->received) {
        came_message(ticket->received, true, came);
        release(p, ticket->received);
    } else if (ticket->meeting) {
        came_meeting(ticket, came);
        leave(p, ticket->meeting);
    }
    *ticket = (struct ti_ticket){0};
}
