#include "gather/fetch/senders.h"

static bool can_send(const struct ti__gathering *g, int64_t node, int64_t rank)
{
    return node >= 0 && !ti__abandoned(&g->peer[node]) &&
           ti_ranges_hold(&g->peer[node].have, rank) &&
           !ti_ranges_hold(&g->peer[node].refused, rank);
}

/* The node that RUN.json names, else any other that has a copy; -1: none, or not known yet. */
static int32_t choose_sender(const struct ti__gathering *g, int64_t rank)
{
    const struct ti__rank *r = &g->rank[rank];

    if (can_send(g, r->named, rank))
        return r->named;
    if (r->named >= 0 && ti__in_tree(&g->peer[r->named]) && !ti__abandoned(&g->peer[r->named]) &&
        g->peer[r->named].listing != TI__LISTED)
        return -1; /* it may still list it */
    if (can_send(g, r->reference, rank))
        return r->reference;
    if (can_send(g, r->second, rank))
        return r->second;
    for (int64_t i = 0; r->more_copies && i < g->nodes.n; i++)
        if (can_send(g, i, rank))
            return (int32_t)i;
    return -1;
}

bool ti__has_other_sender(const struct ti__gathering *g, int64_t rank)
{
    for (int64_t i = 0; i < g->nodes.n; i++) {
        const struct ti__peer *p = &g->peer[i];

        if (ti__in_tree(p) && !ti__abandoned(p) &&
            (p->listing != TI__LISTED || can_send(g, i, rank)))
            return true;
    }
    return false;
}

void ti__assign_sender(struct ti__gathering *g, int64_t rank)
{
    struct ti__rank *r = &g->rank[rank];
    struct ti__peer *p;
    int32_t sender = r->state == TI__WANTED && r->sender < 0 ? choose_sender(g, rank) : -1;

    if (sender < 0 || g->kind != TI__FETCH)
        return;
    p = &g->peer[sender];
    r->sender = sender;
    r->begun = 0;
    ti_ranges_add(&p->to_send, rank);
    p->result->wanted++;
    p->result->wanted_bytes += r->bytes;
    ti__wake(p);
}

static void release_rank(struct ti__peer *p, int64_t rank)
{
    struct ti__gathering *g = p->gathering;
    struct ti__rank *r = &g->rank[rank];

    if (r->sender == p->i) { /* it was the sender */
        r->sender = -1;
        p->result->wanted_bytes -= r->bytes;
    }
    ti__assign_sender(g, rank);
}

/* Only ranks of `list` that are wanted. */
static void for_each_wanted(struct ti__peer *p, const struct ti_ranges *list,
                            void (*call)(struct ti__peer *p, int64_t rank))
{
    ti_ranges_foreach (list, r)
        if (p->gathering->rank[r].state == TI__WANTED)
            call(p, r);
}

static void assign(struct ti__peer *p, int64_t rank)
{
    ti__assign_sender(p->gathering, rank);
}

void ti__release_ranks(struct ti__peer *p)
{
    for_each_wanted(p, &p->have, release_rank);
    for_each_wanted(p, &p->ranks, release_rank);
    ti_ranges_add_all(&p->not_compared, &p->to_checksum);
    ti_ranges_add_all(&p->not_compared, &p->checksumming);
    ti_ranges_clear(&p->to_send);
    ti_ranges_clear(&p->to_checksum);
    ti_ranges_clear(&p->checksumming);
}

void ti__assign_listed(struct ti__peer *p)
{
    for_each_wanted(p, &p->have, assign);
    for_each_wanted(p, &p->ranks, assign);
}
