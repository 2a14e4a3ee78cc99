#include "replay-bridge/replayer/partners.h"

#include <stdlib.h>

#include "common/map.h"

/* A message of which one side or both sides are registered. */
struct ti_message {
    double sent, received; /* when; 0: not yet */
    int tag;
    int holders; /* reference count: tickets, and 1 while the message is in a list */
    struct ti_message *next;
};

/* A collective that at least one rank has entered and not all ranks have left. */
struct ti_meeting {
    uint64_t comm, call;
    int64_t size, left;       /* number of ranks; number of released tickets */
    double latest, root_came; /* 0: not yet */
    struct ti_meeting *next;
};

struct ti_partners {
    struct ti_map pairs; /* (comm, from, to) -> index into `unmatched`, lists of messages */
    struct ti_message **unmatched;
    size_t unmatched_room;
    struct ti_map comms; /* comm -> index into `open`, lists of collectives, oldest first */
    struct ti_meeting **open;
    size_t open_room;
};

struct ti_partners *ti_partners_new(void)
{
    size_t none = 0;

    return ti_grow(NULL, &none, 1, sizeof(struct ti_partners));
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

/* ---- messages ---- */

static void release(struct ti_message *m)
{
    if (--m->holders == 0)
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

    if (m && (send ? m->sent : m->received) == 0) {
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

/* Time 0 means "not yet", so a message at time 0 gets a slightly later time. */
static double above_zero(double now)
{
    return now > 0 ? now : 1e-300;
}

struct ti_ticket ti_partners_send(struct ti_partners *p, const struct ti_message_key *key,
                                  bool waits, double now)
{
    struct ti_message *m = match(p, key, true);

    m->sent = above_zero(now);
    return (struct ti_ticket){.sent = m, .waits = waits};
}

struct ti_ticket ti_partners_receive(struct ti_partners *p, const struct ti_message_key *key,
                                     double now)
{
    struct ti_message *m = match(p, key, false);

    m->received = above_zero(now);
    return (struct ti_ticket){.received = m, .waits = true};
}

double ti_partners_sent(struct ti_partners *p, const struct ti_message_key *key)
{
    const struct ti_message *m = *first_of(list_of(p, key), key->tag);

    return m ? m->sent : 0;
}

/* ---- collective operations ---- */

struct ti_ticket ti_partners_meet(struct ti_partners *p, uint64_t comm, uint64_t call, int64_t size,
                                  bool root, bool waits_for_root, bool waits, double now)
{
    int64_t number = ti_map_add(&p->comms, (int64_t)comm, 0, 0, 0);
    struct ti_meeting **at;
    size_t none = 0;

    p->open = ti_grow(p->open, &p->open_room, p->comms.n, sizeof(struct ti_meeting *));
    for (at = &p->open[number]; *at && (*at)->call != call;)
        at = &(*at)->next;
    if (!*at) {
        *at = ti_grow(NULL, &none, 1, sizeof **at);
        **at = (struct ti_meeting){.comm = comm, .call = call, .size = size};
    }
    (*at)->latest = now > (*at)->latest ? now : (*at)->latest;
    if (root)
        (*at)->root_came = above_zero(now);
    return (struct ti_ticket){.meeting = *at, .waits_for_root = waits_for_root, .waits = waits};
}

static void leave(struct ti_partners *p, struct ti_meeting *m)
{
    struct ti_meeting **at = &p->open[ti_map_find(&p->comms, (int64_t)m->comm, 0, 0, 0)];

    if (++m->left < m->size)
        return;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    free(m);
}

/* ---- tickets ---- */

double ti_partners_came(struct ti_partners *p, struct ti_ticket *ticket)
{
    double came = 0;

    if (ticket->sent) {
        came = ticket->sent->received;
        release(ticket->sent);
    } else if (ticket->received) {
        came = ticket->received->sent;
        release(ticket->received);
    } else if (ticket->meeting) {
        came = ticket->waits_for_root ? ticket->meeting->root_came : ticket->meeting->latest;
        leave(p, ticket->meeting);
    }
    came = ticket->waits ? came : 0;
    *ticket = (struct ti_ticket){0};
    return came;
}
