#include "sound/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "sound/collectives.h"
#include "sound/locate.h"
#include "sound/series.h"
#include "sound/text.h"

#define CHECK_EVERY (1 << 14) /* events between calls of pause() */

/* A rank of which more events were left out is not read again to locate a problem. */
#define HUGE_EVENTS (UINT64_C(1) << 30)

void ti_check_free(struct ti_check *check)
{
    ti_comms_free(&check->comms);
    ti_pairs_free(&check->pairs);
    *check = (struct ti_check){0};
}

ti_status ti__check_memory(const struct ti_check_state *st, struct ti_err *err)
{
    return st->no_memory || st->check->pairs.no_memory ? ti_err_memory(err, "check the trace")
                                                       : TI_OK;
}

ti_status ti__pause(const struct ti_check_state *st, struct ti_err *err)
{
    ti_status status = ti__check_memory(st, err);

    if (status)
        return status;
    return st->visitor->pause ? st->visitor->pause(st->visitor->arg, err) : TI_OK;
}

void ti__event_text(struct ti_check_state *st, int64_t rank, uint64_t event,
                    char call[TI_CALL_BYTES])
{
    errno = 0;
    if (!ti_event_text(st->s, rank, event, call, TI_CALL_BYTES)[0] && errno == ENOMEM)
        st->no_memory = true;
}

void ti__report(struct ti_check_state *st, struct ti_walk *w, const struct ti_step *step,
                const char *why)
{
    char call[TI_CALL_BYTES];

    if (ti_problems_room(st->ps))
        ti_call_text(ti_walk_reader(w), &step->ev, call, sizeof call);
    else
        call[0] = '\0';
    ti_problems_add(st->ps, ti_walk_rank(w), step->index, call, "%s", why);
}

/* ---- messages ---- */

/* Count a receive of unknown source, which may have taken a message. */
static void note_open(struct ti_check_state *st, int64_t rank, int64_t gid)
{
    int64_t i = -1;

    if (TI_ROOM(st->nopen, &st->open_cap, st->open.n + 1))
        i = ti_map_put(&st->open, rank, gid, 0, 0);
    st->no_memory |= i < 0;
    if (i >= 0)
        st->nopen[i]++;
}

/* Whether any of its receives may have taken a message that is not known. */
static bool lost_any(const struct ti_check_state *st, int64_t rank)
{
    for (size_t i = 0; i < st->open.n; i++)
        if (st->open.key[i][0] == rank)
            return true;
    return false;
}

/* Add the messages of a step to the sums; returns how many were sent. */
static uint64_t add_messages(struct ti_check_state *st, int64_t rank, const struct ti_step *step)
{
    uint64_t sent = 0;

    for (size_t i = 0; i < step->nposted; i++) {
        const struct ti_msg *m = &step->posted[i];

        if (m->null)
            continue;
        sent += !m->recv;
        ti_pairs_add(&st->check->pairs, m);
    }
    for (size_t i = 0; i < step->ndone; i++) {
        const struct ti_msg *m = &step->done[i];

        if (m->null)
            continue;
        if (m->cancelled)
            ti_pairs_withdraw(&st->check->pairs, m);
        if (m->cancelled || ti_may_be_cancelled(m, step))
            st->cancels[rank] = 1;
        if (m->recv && step->ev.op == TI_OP_REQUEST_FREE)
            st->unfinished[rank] = 1;
    }
    if (step->lost)
        note_open(st, rank, step->gid);
    st->check->messages += sent;
    return sent;
}

/* ---- collectives ---- */

static struct sequence *sequence_at(struct ti_check_state *st, int64_t gid, int64_t rank)
{
    struct sequence *q;

    st->no_memory |= !TI_ROOM(st->seq, &st->seqs_cap, (size_t)gid + 1);
    if (st->no_memory)
        return &st->no_seq;
    for (; st->nseq <= (size_t)gid; st->nseq++)
        st->seq[st->nseq].now.rank = -1;
    q = &st->seq[gid];
    if (q->now.rank != rank) {
        memset(&q->now, 0, sizeof q->now);
        q->now.rank = rank;
        q->now.power = 1;
    }
    return q;
}

/* Add a value to a series. */
static void add_term(uint64_t *sum, uint64_t value, uint64_t power)
{
    *sum = ti_series_add(*sum, ti_series_multiply(ti_series_value(value), power));
}

/* Add a collective call to its sequence; false if the call itself is invalid. */
static bool add_call(struct ti_check_state *st, struct ti_walk *w, const struct ti_step *step,
                     const struct ti_coll_call *c)
{
    const struct ti_group *g = ti_comms_group(&st->check->comms, c->on.gid);
    uint64_t given = 0, expected = 0;
    const char *fault;
    struct sequence *q;

    if (g->shape == TI_COMM_ALONE)
        return true;
    fault = ti_call_fault(c, g);
    if (fault) {
        ti__report(st, w, step, fault);
        return false;
    }
    st->check->collectives += ti_op_collective(c->ev->op);
    q = sequence_at(st, c->on.gid, ti_walk_rank(w));
    ti_add_blocks(&(struct ti_sums){&given, &expected, false}, c, g);
    q->now.me = c->on.me;
    add_term(&q->now.given, given, q->now.power);
    add_term(&q->now.expected, expected, q->now.power);
    add_term(&q->now.hash, ti_signature(c, g), q->now.power);
    q->now.power = ti_series_multiply(q->now.power, TI_SERIES_BASE);
    q->now.n++;
    return true;
}

/* False: no memory. */
static bool mark_met(struct sequence *q, const struct ti_group *g)
{
    if (!q->met)
        q->met = calloc((size_t)g->size / 8 + 1, 1);
    if (!q->met)
        return false;
    q->met[q->now.me / 8] |= (uint8_t)(1u << q->now.me % 8);
    q->nmet++;
    return true;
}

/* Compare the rank's sequences of collectives with those of the ranks before it. */
static ti_status close_sequences(struct ti_check_state *st, int64_t rank, struct ti_err *err)
{
    for (size_t gid = 0; gid < st->nseq; gid++) {
        struct sequence *q = &st->seq[gid];
        ti_status status;

        if (q->now.rank != rank)
            continue;
        if (!mark_met(q, ti_comms_group(&st->check->comms, (int64_t)gid)))
            return ti_err_memory(err, "check the trace");
        q->given = ti_series_add(q->given, q->now.given);
        q->expected = ti_series_add(q->expected, q->now.expected);
        if (q->bad)
            continue;
        if (!q->any) {
            q->any = true;
            q->first_rank = rank;
            q->n = q->now.n;
            q->hash = q->now.hash;
        } else if (q->n != q->now.n || q->hash != q->now.hash) {
            q->bad = true;
            status = ti__locate_in_sequences(st, (int64_t)gid, q->first_rank, rank, err);
            if (status)
                return status;
        }
    }
    return TI_OK;
}

/* ---- one rank ---- */

static void check_identity(struct ti_check_state *st, int64_t rank, const struct ti_reader *r)
{
    if (ti_reader_nranks(r) != st->check->np)
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL,
                        "its trace is of a run of %u ranks, not %lld", ti_reader_nranks(r),
                        (long long)st->check->np);
    if (!st->have_run_id)
        memcpy(st->run_id, ti_reader_run_id(r), sizeof st->run_id);
    else if (memcmp(st->run_id, ti_reader_run_id(r), sizeof st->run_id) != 0)
        ti_problems_add(st->ps, rank, TI_NO_EVENT, NULL, "its trace comes from another run");
    st->have_run_id = true;
}

/* State of reading a rank. */
struct rank {
    int64_t number;
    bool sound; /* it can be compared with others, so far */
    bool finalized;
    uint64_t sent; /* messages */
};

static ti_status add_event(struct ti_check_state *st, struct ti_walk *w, struct rank *rank,
                           const struct ti_step *step, struct ti_err *err)
{
    bool sound = !step->why[0];

    st->check->events++;
    rank->sent += add_messages(st, rank->number, step);
    for (size_t i = 0; i < step->ncalls; i++)
        sound = add_call(st, w, step, &step->call[i]) && sound;
    if (step->why[0])
        ti__report(st, w, step, step->why);
    /* After one of these, other ranks lack partners anyway. */
    if (!sound || step->ev.op == TI_OP_UNTRACED || step->ev.op == TI_OP_ABORT)
        rank->sound = false;
    if ((step->index == 0) != (step->ev.op == TI_OP_INIT))
        ti__report(st, w, step,
                   step->index ? "MPI is initialized already"
                               : "the trace does not begin with MPI_Init");
    if (rank->finalized)
        ti__report(st, w, step, "it comes after MPI_Finalize");
    rank->finalized = rank->finalized || step->ev.op == TI_OP_FINALIZE;
    if (step->ev.op == TI_OP_PCONTROL && step->ev.arg[TI_F_LEVEL] == 0)
        st->check->interrupted = true;
    if (st->no_memory || st->check->pairs.no_memory)
        return ti__check_memory(st, err);
    return st->visitor->event ? st->visitor->event(st->visitor->arg, w, step, sound, err) : TI_OK;
}

/* A probed message counts as taken, though no receive has room for it. */
static void add_probed(struct ti_check_state *st, const struct ti_msg *m)
{
    struct ti_msg taken = *m;

    taken.bytes = INT64_MAX;
    if (!m->null)
        ti_pairs_add(&st->check->pairs, &taken);
}

static ti_status name_leak(struct ti_check_state *st, struct ti_walk *w,
                           const struct ti_pending *leak, struct ti_err *err)
{
    char *call;

    if (leak->probed)
        add_probed(st, leak->msg);
    for (int i = 0; i < leak->nmsgs; i++) {
        if (leak->msg[i].cancelling)
            st->cancels[ti_walk_rank(w)] = 1;
        if (leak->msg[i].recv && !leak->probed)
            st->unfinished[ti_walk_rank(w)] = 1;
    }
    call = ti_problems_add(&st->check->leaked, ti_walk_rank(w), leak->event, NULL,
                           leak->probed ? "its message is never received"
                                        : "its request never completes");
    if (call)
        ti__event_text(st, ti_walk_rank(w), leak->event, call);
    return st->visitor->leak ? st->visitor->leak(st->visitor->arg, w, leak, err) : TI_OK;
}

/* All messages of a sound trace are received.  So one that is found and never received is one that
 * never comes. */
static void name_found(struct ti_check_state *st, struct ti_walk *w, const struct ti_found *found)
{
    char call[TI_CALL_BYTES] = "";

    if (ti_problems_room(st->ps))
        ti__event_text(st, ti_walk_rank(w), found->event, call);
    ti_problems_add(st->ps, ti_walk_rank(w), found->event, call,
                    "it finds a message from rank %lld with tag %lld that is never received",
                    (long long)found->peer, (long long)found->tag);
    st->check->unmatched = true;
}

static ti_status check_end(struct ti_check_state *st, struct ti_walk *w, const struct rank *rank,
                           struct ti_err *err)
{
    struct ti_pending leak;
    struct ti_found found;
    size_t at = 0;
    ti_status status = TI_OK;

    if (!rank->finalized)
        ti_problems_add(st->ps, rank->number, TI_NO_EVENT, NULL,
                        "its trace does not end with MPI_Finalize");
    while (!status && ti_walk_pending(w, &at, &leak))
        status = name_leak(st, w, &leak, err);
    for (at = 0; !status && rank->sound && !lost_any(st, rank->number) &&
                 ti_walk_unreceived(w, &at, &found);)
        name_found(st, w, &found);
    return status;
}

/* Add the rank's sums to those of the others, if it can be compared. */
static ti_status close_rank(struct ti_check_state *st, const struct rank *rank, struct ti_err *err)
{
    for (size_t gid = 0; gid < st->nseq; gid++)
        if (st->seq[gid].now.rank == rank->number && st->seq[gid].now.n > st->seq[gid].most)
            st->seq[gid].most = st->seq[gid].now.n;
    if (!rank->sound) {
        st->check->unchecked.messages += rank->sent;
        ti_pairs_forget(&st->check->pairs);
        return TI_OK;
    }
    st->sound[rank->number] = 1;
    ti_pairs_keep(&st->check->pairs, rank->number);
    if (st->check->pairs.no_memory)
        return ti__check_memory(st, err);
    return close_sequences(st, rank->number, err);
}

static ti_status tell(const struct ti_check_state *st, int64_t rank, struct ti_walk *w,
                      enum ti_read_state state, ti_status why, struct ti_err *err)
{
    const struct ti_visitor *v = st->visitor;

    return v->rank ? v->rank(v->arg, rank, w, state, why, err) : TI_OK;
}

/* The next event that is not left out; returns as ti_walk_next(), and the cause in *why. */
static int next_event(struct ti_check_state *st, struct ti_walk *w, struct rank *rank,
                      struct ti_step *step, ti_status *why, struct ti_err *err)
{
    int got;

    if (st->visitor->repeat)
        *why = ti__leave_out_trips(st, w, &rank->sent, err);
    if (*why)
        return -1;
    got = ti_walk_next(w, step, err);
    if (got < 0)
        *why = ti_walk_status(w);
    return got;
}

static ti_status read_events(struct ti_check_state *st, struct ti_walk *w, struct rank *rank,
                             struct ti_err *err)
{
    struct ti_step step;
    uint64_t before = st->check->left_out.events, left_out;
    ti_status status = TI_OK, why = TI_OK;
    unsigned n = 0;
    int got;

    while ((got = next_event(st, w, rank, &step, &why, err)) == 1) {
        if (n++ % CHECK_EVERY == 0)
            status = ti__pause(st, err);
        if (!status)
            status = add_event(st, w, rank, &step, err);
        if (status)
            return status;
    }
    if (ti_err_was_memory(why))
        return why;
    left_out = st->check->left_out.events - before;
    st->check->left_out.ranks += left_out > 0;
    st->huge[rank->number] = left_out > HUGE_EVENTS;
    if (got < 0 || ti_reader_end(ti_walk_reader(w)) != TI_END_COMPLETE)
        rank->sound = false;
    else
        status = check_end(st, w, rank, err);
    if (!status)
        status = tell(st, rank->number, w,
                      got < 0                                               ? TI_READ_DAMAGED
                      : ti_reader_end(ti_walk_reader(w)) != TI_END_COMPLETE ? TI_READ_PART
                                                                            : TI_READ_WHOLE,
                      why, err);
    return status ? status : close_rank(st, rank, err);
}

static ti_status read_rank(struct ti_check_state *st, int64_t number, struct ti_err *err)
{
    struct rank rank = {.number = number, .sound = true};
    struct ti_walk *w;
    ti_status status;

    errno = 0;
    status = ti_walk_open(st->s, &st->check->comms, number, &w, err);
    if (ti_err_was_memory(status))
        return status;
    if (status)
        return tell(st, number, NULL, TI_READ_DAMAGED, status, err);
    check_identity(st, number, ti_walk_reader(w));
    if (st->visitor->extras)
        ti_reader_want_extras(ti_walk_reader(w));
    status = read_events(st, w, &rank, err);
    ti_walk_close(w);
    return status;
}

static ti_status read_all(struct ti_check_state *st, struct ti_err *err)
{
    ti_status status = TI_OK;

    for (int64_t rank = 0; rank < st->check->np && !status; rank++) {
        if (!ti_source_has(st->s, rank)) {
            status = tell(st, rank, NULL, TI_READ_MISSING, TI_OK, err);
            continue;
        }
        ti_progress("checking", "ranks", rank, st->check->np);
        status = read_rank(st, rank, err);
        if (!status)
            status = ti__pause(st, err);
    }
    return status;
}

/* ---- all ranks ---- */

static void count_collectives(struct ti_check_state *st)
{
    for (size_t gid = 0; gid < st->nseq; gid++) {
        const struct sequence *q = &st->seq[gid];

        if (q->any && q->nmet == ti_comms_group(&st->check->comms, (int64_t)gid)->size)
            st->check->conserved.collectives += q->bad ? 0 : q->n;
        else
            st->check->unchecked.collectives += q->most;
    }
}

static void free_state(struct ti_check_state *st)
{
    for (size_t gid = 0; gid < st->nseq; gid++)
        free(st->seq[gid].met);
    free(st->seq);
    free(st->sound);
    free(st->cancels);
    free(st->unfinished);
    free(st->huge);
    ti__levels_free(st->levels);
    ti_map_free(&st->open);
    free(st->nopen);
}

ti_status ti_check(struct ti_source *s, const struct ti_visitor *visitor, struct ti_check *out,
                   struct ti_problems *problems, struct ti_err *err)
{
    struct ti_check_state st = {.s = s, .ps = problems, .check = out, .visitor = visitor};
    ti_status status;

    *out = (struct ti_check){.np = ti_source_nranks(s)};
    st.sound = calloc((size_t)out->np + 1, 1);
    st.cancels = calloc((size_t)out->np + 1, 1);
    st.unfinished = calloc((size_t)out->np + 1, 1);
    st.huge = calloc((size_t)out->np + 1, 1);
    st.no_memory = !ti_comms_init(&out->comms, out->np) || !st.sound || !st.cancels ||
                   !st.unfinished || !st.huge;
    status = ti__check_memory(&st, err);
    if (!status)
        status = read_all(&st, err);
    if (!status)
        status = ti__close_pairs(&st, err);
    if (!status)
        ti__report_absent(&st);
    if (!status)
        status = ti__locate_in_blocks(&st, err);
    if (!status)
        status = ti__check_memory(&st, err);
    count_collectives(&st);
    free_state(&st);
    ti_progress_end(!status);
    return status;
}
