#include "sound/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sound/collectives.h"
#include "sound/series.h"
#include "sound/text.h"

/* ---- reading again ---- */

/* A walk from one call on a communicator to the next. */
struct caller {
    struct ti_walk *w;
    struct ti_step step;
    size_t at; /* index in the step's calls */
    int64_t gid;
    const struct ti_coll_call *call; /* the current one */
};

static ti_status open_caller(struct ti_check_state *st, int64_t gid, int64_t rank, struct caller *c,
                             struct ti_err *err)
{
    *c = (struct caller){.gid = gid};
    return ti_walk_open(st->s, &st->check->comms, rank, &c->w, err);
}

/* Advance to the next call; *got: there is one. */
static ti_status next_call(struct caller *c, bool *got, struct ti_err *err)
{
    for (;;) {
        int more;

        for (; c->at < c->step.ncalls; c->at++)
            if (c->step.call[c->at].on.gid == c->gid) {
                c->call = &c->step.call[c->at++];
                *got = true;
                return TI_OK;
            }
        more = ti_walk_next(c->w, &c->step, err);
        *got = false;
        if (more != 1)
            return more < 0 ? ti_walk_status(c->w) : TI_OK;
        c->at = 0;
    }
}

ti_status ti__changed(const struct ti_check_state *st, struct ti_err *err)
{
    return ti_err_set(err, TI_ERR_INPUT, "'%s' was changed while it was checked",
                      ti_source_path(st->s));
}

static const char *text_of(struct caller *c, char *buf)
{
    return ti_call_text(ti_walk_reader(c->w), &c->step.ev, buf, TI_CALL_BYTES);
}

static void report_parting(struct ti_check_state *st, struct caller *a, bool got_a,
                           struct caller *b, bool got_b)
{
    char comm[96], call[TI_CALL_BYTES], where[TI_CALL_BYTES + 40];

    ti_comms_text(&st->check->comms, a->gid, comm, sizeof comm);
    if (got_a)
        snprintf(where, sizeof where, "event %llu, %s", (unsigned long long)a->step.index,
                 text_of(a, call));
    else
        snprintf(where, sizeof where, "no more collective on it");
    if (got_b)
        ti_problems_add(st->ps, ti_walk_rank(b->w), b->step.index, text_of(b, call),
                        "on the communicator of %s, rank %lld has %s", comm,
                        (long long)ti_walk_rank(a->w), where);
    else if (got_a)
        ti_problems_add(st->ps, ti_walk_rank(a->w), a->step.index, text_of(a, call),
                        "on the communicator of %s, rank %lld has no more collective", comm,
                        (long long)ti_walk_rank(b->w));
}

ti_status ti__locate_in_sequences(struct ti_check_state *st, int64_t gid, int64_t a, int64_t b,
                                  struct ti_err *err)
{
    const struct ti_group *g = ti_comms_group(&st->check->comms, gid);
    struct caller ca = {0}, cb = {0};
    char comm[96];
    bool got_a, got_b;
    ti_status status;

    st->check->unmatched = true;
    if (!ti_problems_room(st->ps)) {
        st->ps->n++;
        return TI_OK;
    }
    if (st->huge[a] || st->huge[b]) {
        ti_problems_add(
            st->ps, b, TI_NO_EVENT, NULL,
            "on the communicator of %s, its collectives are not those of rank %lld; the "
            "traces are too long to find the first difference",
            ti_comms_text(&st->check->comms, gid, comm, sizeof comm), (long long)a);
        return TI_OK;
    }
    status = open_caller(st, gid, a, &ca, err);
    if (!status)
        status = open_caller(st, gid, b, &cb, err);
    if (status)
        goto out;
    do {
        status = next_call(&ca, &got_a, err);
        if (!status)
            status = next_call(&cb, &got_b, err);
        if (!status)
            status = ti__pause(st, err);
        if (status)
            goto out;
    } while (got_a && got_b && ti_signature(ca.call, g) == ti_signature(cb.call, g));
    report_parting(st, &ca, got_a, &cb, got_b);
out:
    ti_walk_close(ca.w);
    ti_walk_close(cb.w);
    return status;
}

void ti__report_absent(struct ti_check_state *st)
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

/* Walk to `member`'s call number `nth` on gid.  On failure, nothing is open. */
static ti_status walk_to(struct ti_check_state *st, int64_t gid, int64_t member, uint64_t nth,
                         struct caller *c, struct ti_err *err)
{
    ti_status status = open_caller(st, gid, member, c, err);
    bool got = true;

    for (uint64_t at = 0; !status && got && at <= nth; at++)
        status = next_call(c, &got, err);
    if (!status && !got)
        status = ti__changed(st, err);
    if (status) {
        ti_walk_close(c->w);
        c->w = NULL;
    }
    return status;
}

/* The first call whose sums over all members differ. */
static ti_status find_call(struct ti_check_state *st, int64_t gid, uint64_t *nth,
                           struct ti_err *err)
{
    const struct ti_group *g = ti_comms_group(&st->check->comms, gid);
    uint64_t *sum = calloc(st->seq[gid].n + 1, sizeof *sum);
    ti_status status = sum ? TI_OK : ti_err_memory(err, "check the trace");

    for (int64_t i = 0; i < g->size && !status; i++) {
        struct caller c;

        status = open_caller(st, gid, g->member[i], &c, err);
        if (status)
            break;
        for (uint64_t k = 0; !status; k++) {
            uint64_t given = 0, expected = 0;
            bool got;

            status = next_call(&c, &got, err);
            if (status || !got)
                break;
            if (k == st->seq[gid].n) {
                status = ti__changed(st, err);
                break;
            }
            ti_add_blocks(&(struct ti_sums){&given, &expected, false}, c.call, g);
            sum[k] = ti_series_add(sum[k], ti_series_subtract(given, expected));
        }
        ti_walk_close(c.w);
        if (!status)
            status = ti__pause(st, err);
        g = ti_comms_group(&st->check->comms, gid); /* the walk may have moved the array */
    }
    for (*nth = 0; sum && *nth + 1 < st->seq[gid].n && !sum[*nth];)
        ++*nth;
    free(sum);
    return status;
}

/* The sender whose blocks in call `nth` differ from what their receivers expect. */
static ti_status find_sender(struct ti_check_state *st, int64_t gid, uint64_t nth,
                             struct ti_err *err)
{
    int64_t size = ti_comms_group(&st->check->comms, gid)->size, sender = 0;
    uint64_t *sum = calloc(2 * (size_t)size, sizeof *sum);
    struct ti_sums sums = {sum, sum + size, true};
    struct caller c;
    ti_status status = TI_OK;

    if (!sum)
        return ti_err_memory(err, "check the trace");

    for (int64_t i = 0; i < size && !status; i++) {
        status = walk_to(st, gid, ti_comms_group(&st->check->comms, gid)->member[i], nth, &c, err);
        if (!status) {
            ti_add_blocks(&sums, c.call, ti_comms_group(&st->check->comms, gid));
            ti_walk_close(c.w);
        }
    }
    while (sender + 1 < size && sum[sender] == sum[size + sender])
        sender++;
    free(sum);
    sender = ti_comms_group(&st->check->comms, gid)->member[sender];
    if (!status)
        status = walk_to(st, gid, sender, nth, &c, err);
    if (!status) {
        ti__report(st, c.w, &c.step, "what this rank sends in it is not what the others expect");
        ti_walk_close(c.w);
    }
    return status;
}

/* If a member is too long to be read again, report that blocks differ; else false. */
static bool report_huge_blocks(struct ti_check_state *st, int64_t gid)
{
    const struct ti_group *g = ti_comms_group(&st->check->comms, gid);
    char comm[96];
    int64_t i = 0;

    while (i < g->size && !st->huge[g->member[i]])
        i++;
    if (i == g->size)
        return false;
    ti_problems_add(st->ps, g->member[0], TI_NO_EVENT, NULL,
                    "on the communicator of %s, what ranks send in collectives is not what the "
                    "others expect; the traces are too long to find the call",
                    ti_comms_text(&st->check->comms, gid, comm, sizeof comm));
    return true;
}

ti_status ti__locate_in_blocks(struct ti_check_state *st, struct ti_err *err)
{
    ti_status status = TI_OK;
    uint64_t nth;

    for (size_t gid = 0; gid < st->nseq && !status; gid++) {
        const struct sequence *q = &st->seq[gid];

        if (!q->any || q->bad || q->given == q->expected ||
            q->nmet != ti_comms_group(&st->check->comms, (int64_t)gid)->size)
            continue;
        if (report_huge_blocks(st, (int64_t)gid))
            continue;
        status = find_call(st, (int64_t)gid, &nth, err);
        if (!status)
            status = find_sender(st, (int64_t)gid, nth, err);
    }
    return status;
}
