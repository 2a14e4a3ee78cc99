#include "gather/fetch/requests.h"

json_t *ti__unanswered_ranks(const struct ti__peer *p)
{
    json_t *list = json_array();
    const json_t *range;
    size_t i;

    json_array_foreach(p->requested, i,
                       range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                   r <= json_integer_value(json_array_get(range, 1)); r++)
    {
        if (p->job->rank[r].state == TI__WANTED && p->job->rank[r].sender == p->i &&
            !ti_ranges_hold(p->to_send, r))
            ti_ranges_add(list, r);
    }
    return list;
}

void ti__end_send(struct ti__peer *p)
{
    struct ti_part part;

    if (p->in.fd >= 0) {
        ti_receive_keep(&p->in, &part);
        ti_parts_keep(&p->job->parts, &part);
    }
    p->resume_bytes = 0;
    if (!p->requested)
        return;
    json_decref(p->requested);
    p->requested = NULL;
    p->job->sending--;
    p->job->dirty = true;
    if (p->result->state == TI_FETCH_SENDING)
        p->result->state = TI_FETCH_READY;
}

void ti__requeue(struct ti__peer *p)
{
    json_t *left = ti__unanswered_ranks(p);

    ti__end_send(p);
    ti__ranges_add_all(p->to_send, left);
    json_decref(left);
    ti__ranges_add_all(p->to_checksum, p->checksumming);
    json_decref(p->checksumming);
    p->checksumming = NULL;
    p->crc_bytes = 0;
    if (p->job->kind == TI__REMOVE) { /* list again what is left */
        if (p->removing || json_array_size(p->to_checksum) || json_array_size(p->to_send) ||
            p->listing == TI__ASKED)
            p->listing = TI__UNASKED;
        p->removing = false;
        json_decref(p->being_removed);
        p->being_removed = NULL;
        json_array_clear(p->to_checksum);
        json_array_clear(p->to_send);
    }
}
