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

void ti__forget_lost_reference(struct ti__job *job, int64_t rank, bool shared)
{
    struct ti__rank *r = &job->rank[rank];

    if (r->reference < 0 || r->crc_known || !ti__abandoned(&job->peer[r->reference]))
        return;
    if (!shared)
        ti_ranges_add(&job->peer[r->reference].not_compared, rank);
    r->reference = -1;
}

static const char *name_of(const struct ti__job *job, int32_t node)
{
    return job->peer[node].result->name;
}

void ti__conflict(struct ti__job *job, int64_t rank, int32_t a, int32_t b)
{
    struct ti__rank *r = &job->rank[rank];
    struct ti__peer *sender = r->sender >= 0 ? &job->peer[r->sender] : NULL;
    char name[TI_RANK_NAME_BYTES], why[768];

    snprintf(why, sizeof why, "node '%.256s' and node '%.256s' have different traces of it",
             name_of(job, a), name_of(job, b));
    ti__add_finding(job, a, b, rank, why, "remove the wrong one there, and start again");
    if (r->state == TI__RECEIVED) {
        if (ti_node_traces_has(job->settings->from_nodes, rank, NULL)) {
            ti_node_traces_forget(job->settings->from_nodes, rank);
            job->f->merged--;
            job->f->merged_bytes -= r->bytes;
        } else {
            unlinkat(job->nodes.dir, ti_rank_name(rank, name), 0);
        }
        job->f->fetched--;
        if (sender)
            sender->result->ranks--;
    } else if (sender && ti_ranges_hold(&sender->to_send, rank)) { /* and will not be requested */
        sender->result->wanted_bytes -= r->bytes;
    }
    r->state = TI__CONFLICT;
}

void ti__conflict_with_local(struct ti__peer *p, int64_t rank)
{
    struct ti__rank *r = &p->job->rank[rank];
    char why[512];

    if (r->state == TI__CONFLICT)
        return;
    snprintf(why, sizeof why,
             "node '%.256s' has another trace of it than the one that was here, which is kept",
             name_of(p->job, p->i));
    ti__add_finding(p->job, p->i, TI__LOCAL_COPY, rank, why,
                    "remove the wrong one, here or there, and start again");
    r->state = TI__CONFLICT;
    p->job->f->conflicts++;
}
