#include "replay-bridge/look.h"

#include <stdio.h>
#include <stdlib.h>

#include "replay-bridge/scratch.h"

void ti__lint_report(struct ti_lint_state *st, struct ti_walk *w, int64_t rank,
                     const struct ti_step *step, const char *why)
{
    char call[160];

    if (ti_problems_room(st->ps))
        ti_call_text(ti_walk_reader(w), &step->ev, call, sizeof call);
    else
        call[0] = '\0';
    ti_problems_add(st->ps, rank, step->index, call, "%s", why);
}

/* ---- what collectives have in common ---- */

uint64_t ti__signature(const struct ti_event *ev)
{
    const int64_t *arg = ev->arg;
    uint64_t h = ti_hash_word(TI_HASH_START, ev->op);

    switch (ev->op) {
    case TI_OP_BCAST:
    case TI_OP_GATHER:
        h = ti_hash_word(h, (uint64_t)arg[TI_F_ROOT]);
        return ti_hash_word(h, (uint64_t)arg[TI_F_BYTES]);
    case TI_OP_SCATTER:
        h = ti_hash_word(h, (uint64_t)arg[TI_F_ROOT]);
        return ti_hash_word(h, (uint64_t)arg[TI_F_BYTES2]);
    case TI_OP_GATHERV:
    case TI_OP_SCATTERV:
        return ti_hash_word(h, (uint64_t)arg[TI_F_ROOT]);
    case TI_OP_REDUCE:
        h = ti_hash_word(h, (uint64_t)arg[TI_F_ROOT]);
        /* fall through */
    case TI_OP_ALLREDUCE:
    case TI_OP_SCAN:
    case TI_OP_EXSCAN:
    case TI_OP_REDUCE_SCATTER_BLOCK:
        h = ti_hash_word(h, (uint64_t)arg[TI_F_REDOP]);
        return ti_hash_word(h, (uint64_t)arg[TI_F_BYTES]);
    case TI_OP_ALLGATHER:
    case TI_OP_ALLTOALL:
        return ti_hash_word(h, (uint64_t)arg[TI_F_BYTES]);
    case TI_OP_REDUCE_SCATTER:
        h = ti_hash_word(h, (uint64_t)arg[TI_F_REDOP]);
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            h = ti_hash_word(h, (uint64_t)(ti_vec_at(&ev->vec[0], i) * arg[TI_F_ESIZE]));
        return h;
    default: /* barrier, and the making and freeing of communicators */
        return h;
    }
}

bool ti__joins_all(uint32_t op)
{
    return ti_op_collective(op) || (op >= TI_OP_COMM_DUP && op <= TI_OP_COMM_FREE);
}

static uint64_t block(uint64_t nth, int64_t from, int64_t to, int64_t bytes)
{
    uint64_t h = ti_hash_word(TI_HASH_START, nth);

    h = ti_hash_word(h, (uint64_t)from << 32 | (uint64_t)to);
    return ti_hash_word(h, (uint64_t)bytes);
}

static void give(const struct ti_sums *s, uint64_t nth, int64_t from, int64_t to, int64_t bytes)
{
    s->given[s->each ? from : 0] += block(nth, from, to, bytes);
}

static void expect(const struct ti_sums *s, uint64_t nth, int64_t from, int64_t to, int64_t bytes)
{
    s->expected[s->each ? from : 0] += block(nth, from, to, bytes);
}

void ti__add_blocks(const struct ti_sums *s, uint64_t nth, const struct ti_event *ev, int64_t me,
                    int64_t size)
{
    const int64_t *arg = ev->arg;
    const struct ti_vec *first = &ev->vec[0], *second = &ev->vec[1];
    int64_t root = arg[TI_F_ROOT];

    switch (ev->op) {
    case TI_OP_GATHERV:
        give(s, nth, me, root, arg[TI_F_BYTES]);
        for (int64_t i = 0; i < size && me == root; i++)
            expect(s, nth, i, me, ti_vec_at(first, i) * arg[TI_F_ESIZE2]);
        break;
    case TI_OP_SCATTERV:
        expect(s, nth, root, me, arg[TI_F_BYTES2]);
        for (int64_t i = 0; i < size && me == root; i++)
            give(s, nth, me, i, ti_vec_at(first, i) * arg[TI_F_ESIZE]);
        break;
    case TI_OP_ALLGATHERV:
        for (int64_t i = 0; i < size; i++) {
            give(s, nth, me, i, arg[TI_F_BYTES]);
            expect(s, nth, i, me, ti_vec_at(first, i) * arg[TI_F_ESIZE2]);
        }
        break;
    case TI_OP_ALLTOALLV:
        for (int64_t i = 0; i < size; i++) {
            give(s, nth, me, i, ti_vec_at(first, i) * arg[TI_F_ESIZE]);
            expect(s, nth, i, me, ti_vec_at(second, i) * arg[TI_F_ESIZE2]);
        }
        break;
    default:
        break;
    }
}

/* ---- reading again ---- */

/* Walk to the rank's next collective on gid; 1, 0 at the end, -1 on trouble. */
static int next_collective(struct ti_walk *w, int64_t gid, struct ti_step *step, struct ti_err *err)
{
    int got;

    while ((got = ti_walk_next(w, step, err)) == 1)
        if (step->gid == gid && ti__joins_all(step->ev.op))
            break;
    return got;
}

/* Walk to the rank's next message on a channel; the same. */
static int next_message(struct ti_walk *w, const int64_t key[4], bool recv, struct ti_step *step,
                        struct ti_msg *m, struct ti_err *err)
{
    int64_t peer = recv ? key[2] : key[3];
    int got;

    while ((got = ti_walk_next(w, step, err)) == 1)
        for (int i = 0; i < step->nposted; i++) {
            *m = step->posted[i];
            if (!m->null && m->recv == recv && m->gid == key[0] && m->tag == key[1] &&
                m->peer == peer)
                return 1;
        }
    return got;
}

/* Ranks a and b disagree about collectives on gid: find where. */
ti_status ti__look_at_sequences(struct ti_lint_state *st, int64_t gid, int64_t a, int64_t b,
                                struct ti_err *err)
{
    struct ti_walk *wa = NULL, *wb = NULL;
    struct ti_step sa, sb;
    char comm[96], call[160], where[200];
    int got_a, got_b;
    ti_status status;

    st->lint->unmatched = true;
    if (!ti_problems_room(st->ps)) {
        st->ps->n++;
        return TI_OK;
    }
    status = ti_walk_open(st->s, &st->lint->comms, a, &wa, err);
    if (!status)
        status = ti_walk_open(st->s, &st->lint->comms, b, &wb, err);
    if (status)
        goto out;
    ti_comms_text(&st->lint->comms, gid, comm, sizeof comm);
    do {
        got_a = next_collective(wa, gid, &sa, err);
        got_b = next_collective(wb, gid, &sb, err);
        status = ti_stop_check(err);
        if (status)
            goto out;
    } while (got_a == 1 && got_b == 1 && ti__signature(&sa.ev) == ti__signature(&sb.ev));
    if (got_a == 1)
        snprintf(where, sizeof where, "event %llu, %s", (unsigned long long)sa.index,
                 ti_call_text(ti_walk_reader(wa), &sa.ev, call, sizeof call));
    else
        snprintf(where, sizeof where, "no more collective on it");
    if (got_b == 1) {
        ti_problems_add(st->ps, b, sb.index,
                        ti_call_text(ti_walk_reader(wb), &sb.ev, call, sizeof call),
                        "on the communicator of %s, rank %lld has %s", comm, (long long)a, where);
    } else if (got_a == 1) {
        ti_problems_add(
            st->ps, a, sa.index, ti_call_text(ti_walk_reader(wa), &sa.ev, call, sizeof call),
            "on the communicator of %s, rank %lld has no more collective", comm, (long long)b);
    }
out:
    ti_walk_close(wa);
    ti_walk_close(wb);
    return status;
}

/* Members that have no collective on a communicator where others have. */
void ti__look_for_absent(struct ti_lint_state *st)
{
    char comm[96];

    for (size_t gid = 0; gid < st->nseq; gid++) {
        const struct sequence *q = &st->seq[gid];
        const struct ti_group *g = ti_comms_group(&st->lint->comms, (int64_t)gid);

        if (!q->any || q->bad || q->nmet == g->size)
            continue;
        st->lint->unmatched = true;
        ti_comms_text(&st->lint->comms, (int64_t)gid, comm, sizeof comm);
        for (int64_t i = 0; i < g->size; i++) {
            if (q->met[i / 8] & 1u << i % 8)
                continue;
            ti_problems_add(st->ps, g->member[i], TI_NO_EVENT, NULL,
                            "it has no collective on the communicator of %s, rank %lld has %llu",
                            comm, (long long)q->first_rank, (unsigned long long)q->n);
            break;
        }
    }
}

/* Walk to `member`'s collective number `nth` on gid. */
static ti_status walk_to(struct ti_lint_state *st, int64_t gid, int64_t member, uint64_t nth,
                         struct ti_walk **w, struct ti_step *step, struct ti_err *err)
{
    uint64_t at = 0;
    ti_status status = ti_walk_open(st->s, &st->lint->comms, member, w, err);

    if (status)
        return status;
    while (next_collective(*w, gid, step, err) == 1)
        if (at++ == nth)
            return TI_OK;
    TI_BUG("a collective is gone");
}

/* Sums over all members, collective by collective: the first that differs. */
static ti_status find_collective(struct ti_lint_state *st, int64_t gid, uint64_t *nth,
                                 struct ti_err *err)
{
    int64_t size = ti_comms_group(&st->lint->comms, gid)->size;
    size_t none = 0;
    uint64_t *sum = ti_more(NULL, &none, st->seq[gid].n, sizeof *sum);
    ti_status status = TI_OK;

    for (int64_t me = 0; me < size && !status; me++) {
        struct ti_walk *w;
        struct ti_step step;

        status = ti_walk_open(st->s, &st->lint->comms,
                              ti_comms_group(&st->lint->comms, gid)->member[me], &w, err);
        if (status)
            break;
        for (uint64_t k = 0; next_collective(w, gid, &step, err) == 1; k++) {
            uint64_t given = 0, expected = 0;

            ti__add_blocks(&(struct ti_sums){&given, &expected, false}, k, &step.ev, me, size);
            sum[k] += given - expected;
        }
        ti_walk_close(w);
        status = ti_stop_check(err);
    }
    for (*nth = 0; *nth + 1 < st->seq[gid].n && !sum[*nth];)
        ++*nth;
    free(sum);
    return status;
}

/* Whose blocks of collective `nth` are expected otherwise? */
static ti_status find_sender(struct ti_lint_state *st, int64_t gid, uint64_t nth,
                             struct ti_err *err)
{
    int64_t size = ti_comms_group(&st->lint->comms, gid)->size, sender = 0;
    size_t none = 0;
    uint64_t *sum = ti_more(NULL, &none, 2 * (size_t)size, sizeof *sum);
    struct ti_sums sums = {sum, sum + size, true};
    struct ti_walk *w;
    struct ti_step step;
    ti_status status = TI_OK;

    for (int64_t me = 0; me < size && !status; me++) {
        status = walk_to(st, gid, ti_comms_group(&st->lint->comms, gid)->member[me], nth, &w, &step,
                         err);
        if (!status) {
            ti__add_blocks(&sums, nth, &step.ev, me, size);
            ti_walk_close(w);
        }
    }
    while (sender + 1 < size && sum[sender] == sum[size + sender])
        sender++;
    free(sum);
    sender = ti_comms_group(&st->lint->comms, gid)->member[sender];
    if (!status)
        status = walk_to(st, gid, sender, nth, &w, &step, err);
    if (!status) {
        ti__lint_report(st, w, sender, &step,
                        "what this rank sends in it is not what the others expect");
        ti_walk_close(w);
    }
    return status;
}

ti_status ti__look_at_blocks(struct ti_lint_state *st, struct ti_err *err)
{
    ti_status status = TI_OK;
    uint64_t nth;

    for (size_t gid = 0; gid < st->nseq && !status; gid++) {
        const struct sequence *q = &st->seq[gid];

        if (!q->any || q->bad || q->given == q->expected ||
            q->nmet != ti_comms_group(&st->lint->comms, (int64_t)gid)->size)
            continue;
        status = find_collective(st, (int64_t)gid, &nth, err);
        if (!status)
            status = find_sender(st, (int64_t)gid, nth, err);
    }
    return status;
}

/* One side of a channel has more messages than the other: show its first. */
static ti_status find_unmatched(struct ti_lint_state *st, const int64_t key[4],
                                const struct channel *c, struct ti_err *err)
{
    bool recv = c->taken.n > c->sent.n;
    uint64_t want = recv ? c->sent.n : c->taken.n;
    uint64_t more = (recv ? c->taken.n : c->sent.n) - want;
    int64_t rank = recv ? key[3] : key[2], other = recv ? key[2] : key[3];
    struct ti_walk *w;
    struct ti_step step;
    struct ti_msg m;
    char call[160], also[64] = "";
    ti_status status;
    int got;

    st->lint->unmatched = true;
    if (!ti_problems_room(st->ps)) {
        st->ps->n++;
        return TI_OK;
    }
    status = ti_walk_open(st->s, &st->lint->comms, rank, &w, err);
    if (status)
        return status;
    while ((got = next_message(w, key, recv, &step, &m, err)) == 1 && m.seq != want)
        ;
    if (more > 1)
        snprintf(also, sizeof also, ", and %llu more like it", (unsigned long long)(more - 1));
    if (got == 1)
        ti_problems_add(st->ps, rank, step.index,
                        ti_call_text(ti_walk_reader(w), &step.ev, call, sizeof call),
                        recv ? "rank %lld sends nothing for it%s" : "rank %lld never receives it%s",
                        (long long)other, also);
    ti_walk_close(w);
    return TI_OK;
}

/* Some message of the channel may be larger than the receive it meets. */
static ti_status find_truncated(struct ti_lint_state *st, const int64_t key[4], struct ti_err *err)
{
    struct ti_walk *ws = NULL, *wr = NULL;
    struct ti_step ss, sr;
    struct ti_msg ms, mr;
    char call[160];
    ti_status status;

    if (!ti_problems_room(st->ps))
        return TI_OK; /* perhaps a problem, but none that would be shown */
    status = ti_walk_open(st->s, &st->lint->comms, key[2], &ws, err);
    if (!status)
        status = ti_walk_open(st->s, &st->lint->comms, key[3], &wr, err);
    while (!status && next_message(ws, key, false, &ss, &ms, err) == 1 &&
           next_message(wr, key, true, &sr, &mr, err) == 1) {
        if (ms.bytes > mr.bytes) {
            ti_problems_add(st->ps, key[3], sr.index,
                            ti_call_text(ti_walk_reader(wr), &sr.ev, call, sizeof call),
                            "its %lld bytes are too few for the %lld that rank %lld sends in its "
                            "event %llu",
                            (long long)mr.bytes, (long long)ms.bytes, (long long)key[2],
                            (unsigned long long)ss.index);
            break;
        }
        status = ti_stop_check(err);
    }
    ti_walk_close(ws);
    ti_walk_close(wr);
    return status;
}

ti_status ti__look_at_channels(struct ti_lint_state *st, struct ti_err *err)
{
    ti_status status = TI_OK;

    for (size_t i = 0; i < st->channels.n && !status; i++) {
        const struct channel *c = &st->channel[i];

        if (c->sent.n != c->taken.n)
            status = find_unmatched(st, st->channels.key[i], c, err);
        else if (c->max_sent > c->min_room && c->sent.hash != c->taken.hash)
            status = find_truncated(st, st->channels.key[i], err);
        if (!status)
            status = ti_stop_check(err);
    }
    return status;
}
