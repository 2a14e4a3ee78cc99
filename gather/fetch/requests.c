#include "gather/fetch/requests.h"

struct ti_ranges ti__unanswered_ranks(const struct ti__peer *p)
{
    struct ti_ranges left = {0};

    ti_ranges_foreach (&p->requested, r)
        if (p->gathering->rank[r].state == TI__WANTED && p->gathering->rank[r].sender == p->i &&
            !ti_ranges_hold(&p->to_send, r))
            ti_ranges_add(&left, r);
    return left;
}

bool ti__is_expected(const struct ti__peer *p, int64_t rank)
{
    return rank >= 0 && rank < p->gathering->np && ti_ranges_hold(&p->requested, rank) &&
           !ti_ranges_hold(&p->answered, rank) && p->gathering->rank[rank].sender == p->i;
}

void ti__received(struct ti__peer *p, int64_t rank)
{
    struct ti__gathering *g = p->gathering;

    g->rank[rank].state = TI__RECEIVED;
    g->f->fetched++;
    p->result->ranks++;
    p->gained++;
    if (g->settings->arrived)
        g->settings->arrived(rank, g->settings->arg);
}

void ti__drop_merged(struct ti__peer *p)
{
    struct ti_partial none;

    if (!p->nmerged)
        return;
    p->result->wanted_bytes += p->merged_bytes + p->in.at - p->in.size;
    p->nmerged = 0;
    ti_receive_keep(&p->in, &none);
    ti_node_traces_give_back(p->gathering->settings->from_nodes, p->in.start, p->in.size);
}

void ti__end_send(struct ti__peer *p)
{
    struct ti_partial part;

    ti__drop_merged(p);
    if (p->in.fd >= 0) {
        ti_receive_keep(&p->in, &part);
        ti_parts_keep(&p->gathering->parts, &part);
    }
    p->read_bytes = 0;
    if (!p->requested.n)
        return;
    ti_ranges_clear(&p->requested);
    p->gathering->sending--;
    p->gathering->dirty = true;
    if (p->result->state == TI_FETCH_SENDING)
        p->result->state = TI_FETCH_READY;
}

void ti__requeue(struct ti__peer *p)
{
    struct ti_ranges left = ti__unanswered_ranks(p);

    ti__end_send(p);
    ti_ranges_add_all(&p->to_send, &left);
    ti_ranges_free(&left);
    ti_ranges_add_all(&p->to_checksum, &p->checksumming);
    ti_ranges_clear(&p->checksumming);
    p->crc_bytes = 0;
    if (p->gathering->kind == TI__REMOVE) { /* list again what is left */
        if (p->removing || p->to_checksum.n || p->to_send.n || p->listing == TI__ASKED)
            p->listing = TI__UNASKED;
        p->removing = false;
        ti_ranges_clear(&p->being_removed);
        ti_ranges_clear(&p->to_checksum);
        ti_ranges_clear(&p->to_send);
    }
}
