#include "gather/fetch/copies.h"

#include <stdio.h>
#include <unistd.h>

#include "bundle/node_traces.h"
#include "gather/fetch/failures.h"
#include "trace/rankname.h"

void ti__queue_checksum(struct ti__peer *p, int64_t rank)
{
    ti_ranges_add(&p->to_checksum, rank);
    p->blocked = false;
}

void ti__forget_lost_reference(struct ti__gathering *g, int64_t rank, bool shared)
{
    struct ti__rank *r = &g->rank[rank];

    if (r->reference < 0 || r->crc_known || !ti__abandoned(&g->peer[r->reference]))
        return;
    if (!shared)
        ti_ranges_add(&g->peer[r->reference].not_compared, rank);
    r->reference = -1;
}

static const char *name_of(const struct ti__gathering *g, int32_t node)
{
    return g->peer[node].result->name;
}

void ti__conflict(struct ti__gathering *g, int64_t rank, int32_t a, int32_t b)
{
    struct ti__rank *r = &g->rank[rank];
    struct ti__peer *sender = r->sender >= 0 ? &g->peer[r->sender] : NULL;
    char name[TI_RANK_NAME_BYTES], why[768];

    snprintf(why, sizeof why, "node '%.256s' and node '%.256s' have different traces of it",
             name_of(g, a), name_of(g, b));
    ti__add_finding(g, a, b, rank, why, "remove the wrong one there, and start again");
    if (r->state == TI__RECEIVED) {
        if (ti_node_traces_has(g->settings->from_nodes, rank, NULL)) {
            ti_node_traces_forget(g->settings->from_nodes, rank);
            g->f->merged--;
            g->f->merged_bytes -= r->bytes;
        } else {
            unlinkat(g->nodes.dir, ti_rank_name(rank, name), 0);
        }
        g->f->fetched--;
        if (sender)
            sender->result->ranks--;
    } else if (sender && ti_ranges_hold(&sender->to_send, rank)) { /* and will not be requested */
        sender->result->wanted_bytes -= r->bytes;
    }
    r->state = TI__CONFLICT;
}

void ti__conflict_with_local(struct ti__peer *p, int64_t rank)
{
    struct ti__rank *r = &p->gathering->rank[rank];
    char why[512];

    if (r->state == TI__CONFLICT)
        return;
    snprintf(why, sizeof why,
             "node '%.256s' has another trace of it than the one that was here, which is kept",
             name_of(p->gathering, p->i));
    ti__add_finding(p->gathering, p->i, TI__LOCAL_COPY, rank, why,
                    "remove the wrong one, here or there, and start again");
    r->state = TI__CONFLICT;
    p->gathering->f->conflicts++;
}
