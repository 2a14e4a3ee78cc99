/* The first reading of a rank: what its non-blocking operations turn out to be, and its shares in
 * collectives. */
#include "replay-bridge/otf2/internal.h"

static void share(struct ti__otf2_rank *r, const struct ti__otf2_record *record)
{
    r->shared = ti_grow(r->shared, &r->shared_cap, r->nshared + 1, sizeof *r->shared);
    r->shared[r->nshared++] = *record;
}

static ti_status post(struct ti__otf2_rank *r, const struct ti__otf2_record *record)
{
    struct ti__otf2_posted *p;
    int64_t number;

    r->posted = ti_grow(r->posted, &r->posted_cap, r->nposted + 1, sizeof *r->posted);
    p = &r->posted[r->nposted];
    *p = (struct ti__otf2_posted){.record = *record};
    if (record->kind == TI__OTF2_ICOLL) {
        struct ti__otf2_record later = {.op = TI_OP_COUNT}; /* its completion replaces it */

        share(r, &later);
        p->share = r->nshared;
    }
    return ti__otf2_request_new(r, record->id, r->nposted++, &number);
}

static ti_status complete(struct ti__otf2_rank *r, const struct ti__otf2_record *record)
{
    enum ti__otf2_kind starts = record->kind == TI__OTF2_IRECVED ? TI__OTF2_IRECV : TI__OTF2_ICOLL;
    int64_t n = ti__otf2_request_find(r, record->id);
    struct ti__otf2_posted *p = n < 0 ? NULL : &r->posted[r->request[n].about];

    if (!p || p->record.kind != starts)
        return ti__otf2_wrong(r, "request %llu is complete, but it was never made",
                              (unsigned long long)record->id);
    p->record = *record;
    p->state = TI__OTF2_COMPLETE;
    r->request[n].live = false;
    if (p->share && ti__otf2_is_shared(record->op))
        r->shared[p->share - 1] = *record;
    return TI_OK;
}

ti_status ti__otf2_survey(struct ti__otf2_rank *r, const struct ti__otf2_record *record)
{
    int64_t n;

    switch (record->kind) {
    case TI__OTF2_IRECV:
    case TI__OTF2_ICOLL:
        return post(r, record);
    case TI__OTF2_IRECVED:
    case TI__OTF2_ICOLL_DONE:
        return complete(r, record);
    case TI__OTF2_CANCEL:
        n = ti__otf2_request_find(r, record->id);
        if (n >= 0) {
            r->posted[r->request[n].about].state = TI__OTF2_GONE;
            r->request[n].live = false;
        }
        return TI_OK;
    case TI__OTF2_COLL:
        if (ti__otf2_is_shared(record->op))
            share(r, record);
        return TI_OK;
    case TI__OTF2_SEND:
    case TI__OTF2_RECV:
    case TI__OTF2_ISEND:
    case TI__OTF2_ISENT:
        return TI_OK;
    }
    TI_BUG("a record without a case");
}

ti_status ti__otf2_survey_end(struct ti__otf2_rank *r)
{
    for (size_t i = 0; i < r->nshared; i++) {
        const struct ti__otf2_record *s = &r->shared[i];
        struct ti__otf2_comm *c = &r->im->comm[s->comm];
        int64_t call;

        if (s->op == TI_OP_COUNT || !c->member)
            continue;
        if (r->number[s->comm] < 0)
            return ti__otf2_wrong(r, "a collective of a communicator that the rank is not in");
        call = r->calls[s->comm]++;
        if (call == c->ncalls) {
            c->op = ti_grow(c->op, &c->ops_cap, (size_t)call + 1, sizeof *c->op);
            c->op[call] = s->op;
            c->share = ti_grow(c->share, &c->shares_cap, (size_t)(++c->ncalls * c->size),
                               sizeof *c->share);
        }
        if (c->op[call] != s->op)
            return ti__otf2_wrong(
                r,
                "call %lld with counts or scan on a communicator is %s, but %s on "
                "other ranks",
                (long long)call + 1, ti_op_info(s->op)->text, ti_op_info(c->op[call])->text);
        c->share[call * c->size + r->me[s->comm]] = (struct ti__otf2_share){s->sent, s->received};
    }
    return TI_OK;
}
