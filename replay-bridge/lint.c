#include "replay-bridge/lint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "replay-bridge/look.h"
#include "replay-bridge/lower.h"
#include "replay-bridge/scratch.h"

#define CHECK_EVERY (1 << 14)          /* events between looks at signals and progress */
#define BLOCK_MAX   (INT64_C(1) << 38) /* bytes of a block: sums of blocks stay sums */

/* ---- what lint.h offers to the others ---- */

bool ti_never_waited(const struct ti_msg *msg, int64_t eager_bytes)
{
    return !msg->recv && msg->mode == TI_SEND_BUFFERED && !ti_is_eager(msg->bytes, eager_bytes);
}

int64_t ti_lint_tag(const struct ti_lint *lint, int64_t rank, const struct ti_msg *msg)
{
    int64_t c = ti_map_find(&lint->classes, msg->gid, msg->tag, msg->peer == rank, 0);

    if (c < 0)
        TI_BUG("a message was not linted");
    return lint->tags[c].first + (int64_t)(msg->seq % lint->tags[c].window);
}

void ti_lint_free(struct ti_lint *lint)
{
    ti_comms_free(&lint->comms);
    ti_map_free(&lint->classes);
    free(lint->tags);
    *lint = (struct ti_lint){0};
}

static ti_status pause_look(uint64_t index, struct ti_err *err)
{
    return index % CHECK_EVERY ? TI_OK : ti_stop_check(err);
}

/* ---- messages ---- */

static struct channel *channel_at(struct ti_lint_state *st, int64_t gid, int64_t tag, int64_t src,
                                  int64_t dst)
{
    size_t known = st->channels.n;
    int64_t c = ti_map_add(&st->channels, gid, tag, src, dst);

    st->channel = ti_more(st->channel, &st->channels_cap, st->channels.n, sizeof *st->channel);
    if ((size_t)c == known)
        st->channel[c] = (struct channel){.min_room = INT64_MAX};
    return &st->channel[c];
}

static void count_message(struct ti_lint_state *st, int64_t rank, const struct ti_msg *m)
{
    struct channel *c =
        channel_at(st, m->gid, m->tag, m->recv ? m->peer : rank, m->recv ? rank : m->peer);
    struct side *side = m->recv ? &c->taken : &c->sent;

    side->n++;
    side->hash = ti_hash_word(side->hash, (uint64_t)m->bytes);
    if (m->recv && m->bytes < c->min_room)
        c->min_room = m->bytes;
    if (!m->recv && m->bytes > c->max_sent)
        c->max_sent = m->bytes;
    st->lint->messages += !m->recv;
}

/* `span` tags in turn are needed for the channel's class. */
static void widen(struct ti_lint *lint, int64_t rank, const struct ti_msg *m, uint64_t span)
{
    int64_t c = ti_map_add(&lint->classes, m->gid, m->tag, m->peer == rank, 0);

    lint->tags = ti_more(lint->tags, &lint->tags_cap, lint->classes.n, sizeof lint->tags[0]);
    if (lint->tags[c].window < span)
        lint->tags[c].window = span;
}

/* A request that stock replay keeps to the end. */
static void hold(struct ti_lint_state *st, const struct ti_msg *m)
{
    size_t known = st->held.n;
    int64_t h = ti_map_add(&st->held, m->gid, m->tag, m->peer, m->recv);

    st->held_msg = ti_more(st->held_msg, &st->held_cap, st->held.n, sizeof st->held_msg[0]);
    if ((size_t)h == known || m->seq < st->held_msg[h].seq)
        st->held_msg[h] = *m;
}

static void take_messages(struct ti_lint_state *st, int64_t rank, const struct ti_step *step)
{
    int64_t eager = st->lint->eager_bytes;

    for (int i = 0; i < step->nposted; i++) {
        const struct ti_msg *m = &step->posted[i];

        if (m->null)
            continue;
        count_message(st, rank, m);
        widen(st->lint, rank, m, 1);
        if (m->req < 0 && ti_never_waited(m, eager))
            hold(st, m);
    }
    for (size_t i = 0; i < step->ndone; i++) {
        const struct ti_msg *m = &step->done[i];

        if (m->null)
            continue;
        if (step->ev.op == TI_OP_REQUEST_FREE || ti_never_waited(m, eager))
            hold(st, m);
        else
            widen(st->lint, rank, m, m->posted_after + 1);
    }
}

/* ---- collectives ---- */

static struct sequence *sequence_at(struct ti_lint_state *st, int64_t gid, int64_t rank)
{
    struct sequence *q;

    st->seq = ti_more(st->seq, &st->seqs_cap, (size_t)gid + 1, sizeof st->seq[0]);
    for (; st->nseq <= (size_t)gid; st->nseq++)
        st->seq[st->nseq] = (struct sequence){.now = -1};
    q = &st->seq[gid];
    if (q->now != rank) {
        q->now = rank;
        q->now_n = 0;
        q->now_hash = TI_HASH_START;
    }
    return q;
}

static bool is_collective(uint32_t op)
{
    return ti_op_collective(op);
}

/* What is wrong with a collective seen from one rank alone; NULL if nothing. */
static const char *collective_fault(const struct ti_event *ev, const struct ti_group *g, int64_t me)
{
    const int64_t *arg = ev->arg;
    bool root_only = ev->op == TI_OP_GATHERV || ev->op == TI_OP_SCATTERV;

    if ((ev->mask & TI_M_ROOT) && (arg[TI_F_ROOT] < 0 || arg[TI_F_ROOT] >= g->size))
        return "its root is no rank of the communicator";
    if (((ev->mask & TI_M_BYTES) && arg[TI_F_BYTES] < 0) ||
        ((ev->mask & TI_M_BYTES2) && arg[TI_F_BYTES2] < 0) ||
        ((ev->mask & TI_M_ESIZE) && arg[TI_F_ESIZE] < 0) ||
        ((ev->mask & TI_M_ESIZE2) && arg[TI_F_ESIZE2] < 0))
        return "its size is negative";
    if ((ev->op == TI_OP_ALLGATHER || ev->op == TI_OP_ALLTOALL || ev->op == TI_OP_GATHER ||
         ev->op == TI_OP_SCATTER) &&
        arg[TI_F_BYTES] != arg[TI_F_BYTES2])
        return "its send and receive sizes differ";
    for (int v = 0; v < TI_VECS; v++) {
        const struct ti_vec *vec = &ev->vec[v];
        bool wanted = ti_op_info(ev->op)->vec[v][0] && (!root_only || me == arg[TI_F_ROOT]);
        int64_t esize = arg[ti_counts_in(ev->op, v)];
        int64_t most = esize ? BLOCK_MAX / esize : BLOCK_MAX;

        if (wanted && vec->len != g->size)
            return "its counts are not one for each rank";
        if (wanted && root_only &&
            !(ev->mask & (ev->op == TI_OP_GATHERV ? TI_M_ESIZE2 : TI_M_ESIZE)))
            return "the size of what it counts is not in the trace";
        for (int64_t i = 0; i < vec->len; i++)
            if (ti_vec_at(vec, i) < 0 || ti_vec_at(vec, i) > most)
                return "one of its counts is out of range";
    }
    return NULL;
}

/* False if it is wrong in itself. */
static bool take_collective(struct ti_lint_state *st, struct ti_walk *w, int64_t rank,
                            struct ti_step *step)
{
    const struct ti_group *g;
    struct sequence *q;
    int64_t me = step->me;
    const char *fault;

    if (step->gid < 0)
        return true; /* reported by the walk */
    g = ti_comms_group(&st->lint->comms, step->gid);
    if (g->shape == TI_COMM_ALONE)
        return true;
    if (is_collective(step->ev.op)) {
        fault = collective_fault(&step->ev, g, me);
        if (fault) {
            ti__lint_report(st, w, rank, step, fault);
            st->whole = false;
            return false;
        }
        st->lint->collectives++;
    }
    q = sequence_at(st, step->gid, rank);
    if (!q->met) {
        size_t cap = 0;

        q->met = ti_more(NULL, &cap, (size_t)g->size / 8 + 1, 1);
    }
    if (!q->now_n) {
        q->met[me / 8] |= (uint8_t)(1u << me % 8);
        q->nmet++;
    }
    ti__add_blocks(&(struct ti_sums){&q->given, &q->expected, false}, q->now_n, &step->ev, me,
                   g->size);
    q->now_hash = ti_hash_word(q->now_hash, ti__signature(&step->ev));
    q->now_n++;
    return true;
}

/* ---- one rank ---- */

static void check_identity(struct ti_lint_state *st, int64_t rank, const struct ti_reader *r)
{
    if (ti_reader_nranks(r) != st->lint->np)
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL,
                        "its trace is of a run of %u ranks, not %lld", ti_reader_nranks(r),
                        (long long)st->lint->np);
    if (!st->have_run_id)
        memcpy(st->run_id, ti_reader_run_id(r), sizeof st->run_id);
    else if (memcmp(st->run_id, ti_reader_run_id(r), sizeof st->run_id) != 0)
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "its trace comes from another run");
    st->have_run_id = true;
}

static void take_text(char *at, size_t bytes, const char *text, bool first)
{
    if (first)
        snprintf(at, bytes, "%s", text ? text : "");
    else if (strcmp(at, text ? text : "") != 0)
        snprintf(at, bytes, "mixed");
}

/* What the rank's volumes count. */
static void take_volumes(struct ti_lint_state *st, const struct ti_reader *r)
{
    struct ti_volumes *v = &st->lint->volumes;
    const char *exact = ti_reader_info(r, "exact");
    bool first = !st->have_volumes;

    take_text(v->counter, sizeof v->counter, ti_reader_info(r, "counter"), first);
    take_text(v->unit, sizeof v->unit, ti_reader_info(r, "unit"), first);
    v->inexact = v->inexact || (exact && !strcmp(exact, "no"));
    st->have_volumes = true;
}

/* Named one by one, so that each kind of call is a problem of its own. */
static void report_untraced(struct ti_lint_state *st, struct ti_walk *w, int64_t rank,
                            const struct ti_step *step)
{
    const char *call = ti_reader_string(ti_walk_reader(w), TI_STRING_CALL, step->ev.arg[TI_F_CALL]);
    char why[TI_WHY_BYTES];

    snprintf(why, sizeof why, "%.100s is not traced, so what it did is not known",
             call ? call : "this call");
    ti__lint_report(st, w, rank, step, why);
}

/* Problems of one event that show in this rank alone. */
static void check_event(struct ti_lint_state *st, struct ti_walk *w, int64_t rank,
                        const struct ti_step *step, bool sound, bool *finalized)
{
    char buf[TI_WHY_BYTES];
    const char *why;

    if (step->why[0])
        ti__lint_report(st, w, rank, step, step->why);
    /* What other ranks do not find after one of these is no news. */
    if (step->why[0] || step->ev.op == TI_OP_UNTRACED || step->ev.op == TI_OP_ABORT)
        st->whole = false;
    if ((step->index == 0) != (step->ev.op == TI_OP_INIT))
        ti__lint_report(st, w, rank, step,
                        step->index ? "MPI is initialized already"
                                    : "the trace does not begin with MPI_Init");
    if (*finalized)
        ti__lint_report(st, w, rank, step, "it comes after MPI_Finalize");
    *finalized = *finalized || step->ev.op == TI_OP_FINALIZE;
    if (step->ev.op == TI_OP_PCONTROL && step->ev.arg[TI_F_LEVEL] == 0)
        st->lint->interrupted = true;
    if (step->why[0] || !sound)
        return;
    if (step->ev.op == TI_OP_UNTRACED) {
        report_untraced(st, w, rank, step);
        return;
    }
    why = ti_lower_refusal(&st->lint->comms, step, st->lint->eager_bytes, buf, sizeof buf);
    if (why)
        ti__lint_report(st, w, rank, step, why);
}

static void check_end(struct ti_lint_state *st, struct ti_walk *w, int64_t rank, bool finalized)
{
    enum ti_end end = ti_reader_end(ti_walk_reader(w));
    const struct ti_msg *m;

    if (end != TI_END_COMPLETE) {
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "its trace is not complete: %s",
                        ti_end_text(end));
        st->whole = false;
        return;
    }
    if (!finalized)
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL,
                        "its trace does not end with MPI_Finalize");
    for (size_t i = 0; (m = ti_walk_pending(w, i)); i++) {
        if (m->unknown)
            continue; /* reported where it was posted */
        ti_problems_add(st->ps, rank, m->event, m->recv ? "irecv" : "isend",
                        "its request %lld is neither completed nor freed", (long long)m->req);
        if (!ti_problems_room(st->ps))
            break;
    }
}

/* The rank's sequences of collectives against those of the ranks before it. */
static ti_status close_sequences(struct ti_lint_state *st, int64_t rank, struct ti_err *err)
{
    for (size_t gid = 0; gid < st->nseq; gid++) {
        struct sequence *q = &st->seq[gid];
        ti_status status;

        if (q->now != rank || q->bad)
            continue;
        if (!q->any) {
            q->any = true;
            q->first_rank = rank;
            q->n = q->now_n;
            q->hash = q->now_hash;
        } else if (q->n != q->now_n || q->hash != q->now_hash) {
            q->bad = true;
            status = ti__look_at_sequences(st, (int64_t)gid, q->first_rank, rank, err);
            if (status)
                return status;
        }
    }
    return TI_OK;
}

static void close_held(struct ti_lint_state *st, struct ti_walk *w, int64_t rank)
{
    for (size_t h = 0; h < st->held.n; h++) {
        const struct ti_msg *m = &st->held_msg[h];

        widen(st->lint, rank, m, ti_walk_posted(w, m) - m->seq);
    }
    ti_map_clear(&st->held);
}

static ti_status read_rank(struct ti_lint_state *st, int64_t rank, struct ti_err *err)
{
    struct ti_step step;
    struct ti_walk *w;
    bool finalized = false;
    ti_status status = ti_walk_open(st->s, &st->lint->comms, rank, &w, err);
    int got;

    if (status == TI_ERR_INPUT) {
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "%s", err->text);
        st->whole = false;
        return TI_OK;
    }
    if (status)
        return status;
    check_identity(st, rank, ti_walk_reader(w));
    while ((got = ti_walk_next(w, &step, err)) == 1) {
        status = pause_look(step.index, err);
        if (status)
            goto out;
        take_messages(st, rank, &step);
        check_event(st, w, rank, &step,
                    !ti__joins_all(step.ev.op) || take_collective(st, w, rank, &step), &finalized);
        st->lint->events++;
    }
    take_volumes(st, ti_walk_reader(w));
    if (got < 0) {
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "%s", err->text);
        st->whole = false;
    } else {
        check_end(st, w, rank, finalized);
        close_held(st, w, rank);
        if (st->whole)
            status = close_sequences(st, rank, err);
    }
out:
    ti_walk_close(w);
    return status;
}

/* ---- all ranks ---- */

static void give_tags(struct ti_lint *lint, struct ti_problems *ps)
{
    int64_t next = 0;

    for (size_t c = 0; c < lint->classes.n; c++) {
        lint->tags[c].first = next;
        if (lint->tags[c].window > (uint64_t)(INT_MAX - next)) {
            ti_problems_add(ps, 0, TI_NO_EVENT, NULL,
                            "the trace needs more than the %d tags that SimGrid has", INT_MAX);
            return;
        }
        next += (int64_t)lint->tags[c].window;
    }
}

static ti_status read_all(struct ti_lint_state *st, struct ti_err *err)
{
    ti_status status = TI_OK;

    for (int64_t rank = 0; rank < st->lint->np; rank++)
        if (!ti_source_has(st->s, rank)) {
            ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "its trace is missing");
            st->whole = false;
        }
    for (int64_t rank = 0; rank < st->lint->np && !status; rank++) {
        ti_progress("checking rank %lld of %lld", (long long)rank, (long long)st->lint->np);
        if (ti_source_has(st->s, rank))
            status = read_rank(st, rank, err);
        if (!status)
            status = ti_stop_check(err);
    }
    return status;
}

ti_status ti_lint(struct ti_source *s, int64_t eager_bytes, struct ti_lint *out,
                  struct ti_problems *problems, struct ti_err *err)
{
    struct ti_lint_state st = {.s = s, .ps = problems, .lint = out, .whole = true};
    ti_status status;

    *out = (struct ti_lint){.np = ti_source_nranks(s), .eager_bytes = eager_bytes};
    *problems = (struct ti_problems){0};
    ti_comms_init(&out->comms, out->np);
    status = read_all(&st, err);
    if (!status && st.whole) {
        status = ti__look_at_channels(&st, err);
        if (!status)
            ti__look_for_absent(&st);
        if (!status)
            status = ti__look_at_blocks(&st, err);
    }
    give_tags(out, problems);
    for (size_t gid = 0; gid < st.nseq; gid++)
        free(st.seq[gid].met);
    free(st.seq);
    free(st.channel);
    free(st.held_msg);
    ti_map_free(&st.channels);
    ti_map_free(&st.held);
    ti_progress_clear();
    return status;
}
