/* The second reading of a rank: calls with their records become events, the rest is bursts. */
#include <string.h>

#include "replay-bridge/otf2/internal.h"

static struct ti_event event(uint32_t op)
{
    return (struct ti_event){.op = op, .vec = {{NULL, 8, 0}, {NULL, 8, 0}}};
}

/* Write an event; the first one of a call has the burst before it and the duration of the call. */
static void emit(struct ti__otf2_rank *r, struct ti_event *ev)
{
    uint64_t extra[] = {r->burst_ns, r->call_ns};

    ev->volume = r->im->counts ? r->volume : r->burst_ns;
    r->burst_ns = r->call_ns = r->volume = 0;
    ti_writer_event_extra(r->w, ev, extra);
    r->events++;
}

/* ---- begin and end ---- */

void ti__otf2_begin(struct ti__otf2_rank *r, bool said)
{
    struct ti_event ev = event(TI_OP_INIT);

    if (!said)
        ti__otf2_note(r->im, TI__OTF2_NO_INIT,
                      "rank %lld does not begin with MPI_Init; it is added", (long long)r->rank);
    r->begun = true;
    r->burst_ns = r->volume = 0; /* the time before MPI_Init is no burst */
    emit(r, &ev);
    for (size_t i = 0; i < r->nof; i++) {
        if (r->im->comm[r->of[i].comm].kind != TI__OTF2_SUB)
            continue;
        ev = event(TI_OP_COMM_CREATE_GROUP);
        ti__otf2_put(&ev, TI_F_COMM, 0);
        ti__otf2_put(&ev, TI_F_NEWCOMM, r->number[r->of[i].comm]);
        ti__otf2_put(&ev, TI_F_TAG, 0);
        emit(r, &ev);
    }
}

void ti__otf2_end(struct ti__otf2_rank *r)
{
    struct ti_event ev;

    if (!r->begun)
        ti__otf2_begin(r, false);
    for (size_t n = 0; n < r->nrequests; n++) {
        if (!r->request[n].live)
            continue;
        ti__otf2_note(r->im, TI__OTF2_UNFINISHED,
                      "rank %lld has requests that never complete; sends are freed at the end, and "
                      "receives are left out",
                      (long long)r->rank);
        ev = event(TI_OP_REQUEST_FREE);
        ti__otf2_put(&ev, TI_F_REQ, (int64_t)n);
        emit(r, &ev);
    }
    ev = event(TI_OP_FINALIZE);
    emit(r, &ev);
    r->ended = true;
}

/* ---- messages ---- */

/* Set the communicator of a record; it must be one that the rank is in. */
static ti_status check_comm(struct ti__otf2_rank *r, const struct ti__otf2_record *m)
{
    if (r->im->comm[m->comm].kind == TI__OTF2_INTER)
        return ti__otf2_wrong(r, "communication between two groups is not converted");
    if (r->number[m->comm] < 0)
        return ti__otf2_wrong(r, "the rank is not in the communicator that it uses");
    return TI_OK;
}

static ti_status put_message(struct ti__otf2_rank *r, const struct ti__otf2_record *m,
                             struct ti_event *ev, bool second)
{
    int64_t size = r->im->comm[m->comm].size;
    ti_status st = check_comm(r, m);

    if (st)
        return st;
    if (m->peer >= size)
        return ti__otf2_wrong(r, "there is no rank %lld in a communicator of %lld",
                              (long long)m->peer, (long long)size);
    ti__otf2_put(ev, TI_F_COMM, r->number[m->comm]);
    ti__otf2_put(ev, second ? TI_F_PEER2 : TI_F_PEER, m->peer - r->me[m->comm]);
    ti__otf2_put(ev, second ? TI_F_TAG2 : TI_F_TAG, m->tag);
    ti__otf2_put(ev, second ? TI_F_BYTES2 : TI_F_BYTES, m->bytes);
    ti__otf2_put(ev, second ? TI_F_ESIZE2 : TI_F_ESIZE, 1);
    return TI_OK;
}

/* The operation of a send: that of the call, if it is one, which tells a synchronous send. */
static uint32_t send_op(const struct ti__otf2_rank *r, bool request)
{
    uint32_t op = r->call->op;
    bool usable = ti_op_is(op, TI_T_SENDS) && !ti_op_is(op, TI_T_RECEIVES) &&
                  !ti_op_is(op, TI_T_PERSISTENT) && ti_op_is(op, TI_T_REQUEST) == request;

    return usable ? op : request ? TI_OP_ISEND : TI_OP_SEND;
}

/* Write an event that may make request `id`. */
static ti_status emit_request(struct ti__otf2_rank *r, struct ti_event *ev, uint64_t id)
{
    int64_t number = 0;
    ti_status st = TI_OK;

    if (ti_op_is(ev->op, TI_T_REQUEST)) {
        st = ti__otf2_request_new(r, id, 0, &number);
        ti__otf2_put(ev, TI_F_REQ, number);
    }
    if (!st)
        emit(r, ev);
    return st;
}

static ti_status message(struct ti__otf2_rank *r, const struct ti__otf2_record *m, uint32_t op,
                         uint64_t id)
{
    struct ti_event ev = event(op);
    ti_status st = put_message(r, m, &ev, false);

    return st ? st : emit_request(r, &ev, id);
}

/* Score-P can be told to record non-blocking calls as blocking ones: sends where they are posted,
 * receives where they complete. */
static ti_status blocking(struct ti__otf2_rank *r, const struct ti__otf2_record *m, uint32_t op)
{
    if (!ti_op_is(r->call->op, op == TI_OP_RECV ? TI_T_COMPLETES : TI_T_REQUEST))
        return message(r, m, op, 0);
    ti__otf2_wrong(r, "%s is recorded like a blocking call", r->call->name);
    ti_err_hint(r->im->err, "record the trace with xnonblock in SCOREP_MPI_ENABLE_GROUPS");
    return TI_ERR_INPUT;
}

/* MPI_Sendrecv: a half without a record has no partner (MPI_PROC_NULL). */
static ti_status sendrecv(struct ti__otf2_rank *r)
{
    struct ti_event ev = event(r->call->op);
    bool sends = false, receives = false;
    ti_status st = TI_OK;

    for (int half = 0; half < 2; half++) {
        ti__otf2_put(&ev, half ? TI_F_PEER2 : TI_F_PEER, TI_NULL);
        ti__otf2_put(&ev, half ? TI_F_TAG2 : TI_F_TAG, 0);
        ti__otf2_put(&ev, half ? TI_F_BYTES2 : TI_F_BYTES, 0);
        ti__otf2_put(&ev, half ? TI_F_ESIZE2 : TI_F_ESIZE, 1);
    }
    for (size_t i = 0; i < r->ndone && !st; i++) {
        const struct ti__otf2_record *m = &r->done[i];
        bool send = m->kind == TI__OTF2_SEND;

        if ((!send && m->kind != TI__OTF2_RECV) || (send ? sends : receives) ||
            m->comm != r->done[0].comm)
            return ti__otf2_wrong(r, "the records do not belong to %s", r->call->name);
        st = put_message(r, m, &ev, !send);
        sends = sends || send;
        receives = receives || !send;
    }
    if (!st)
        emit(r, &ev);
    return st;
}

/* ---- non-blocking operations, collectives ---- */

static ti_status collective(struct ti__otf2_rank *r, const struct ti__otf2_record *c, bool request,
                            uint64_t id)
{
    struct ti_event ev = event(request ? c->op + TI_FORM_NONBLOCKING : c->op);
    ti_status st;

    if (c->makes && r->im->comm[c->comm].kind != TI__OTF2_WORLD &&
        r->im->comm[c->comm].kind != TI__OTF2_SUB && !request)
        return TI_OK;
    st = check_comm(r, c);
    if (!st)
        st = ti__otf2_collective(r, c, &ev);
    return st ? st : emit_request(r, &ev, id);
}

/* A non-blocking receive or collective, as the survey found it. */
static ti_status posted(struct ti__otf2_rank *r, const struct ti__otf2_record *m)
{
    size_t at = r->next_posted++;
    const struct ti__otf2_posted *p = &r->posted[at];

    if (at >= r->nposted)
        return ti__otf2_wrong(r, "the file changed while it was read");
    if (p->state == TI__OTF2_GONE) {
        ti__otf2_note(r->im, TI__OTF2_CANCELLED, "receives that were cancelled are left out");
        return TI_OK;
    }
    if (p->state == TI__OTF2_COMPLETE && m->kind == TI__OTF2_ICOLL)
        return collective(r, &p->record, true, m->id);
    if (p->state == TI__OTF2_COMPLETE)
        return message(r, &p->record, TI_OP_IRECV, m->id);
    if (m->kind == TI__OTF2_ICOLL)
        return ti__otf2_wrong(r, "a non-blocking collective never completes, so it is not known");
    ti__otf2_note(r->im, TI__OTF2_UNFINISHED,
                  "rank %lld has requests that never complete; sends are freed at the end, and "
                  "receives are left out",
                  (long long)r->rank);
    return TI_OK;
}

/* Add a request that the call completes to vector 1. */
static ti_status complete(struct ti__otf2_rank *r, const struct ti__otf2_record *m, size_t *n)
{
    int64_t number = ti__otf2_request_find(r, m->id);

    if (number < 0)
        return ti__otf2_wrong(r, "request %llu is complete, but it was never made",
                              (unsigned long long)m->id);
    r->request[number].live = false;
    r->vec[0] = ti_grow(r->vec[0], &r->vec_cap[0], *n + 1, sizeof *r->vec[0]);
    r->vec[0][(*n)++] = number;
    return TI_OK;
}

static void completions(struct ti__otf2_rank *r, size_t n)
{
    uint32_t op = ti_op_is(r->call->op, TI_T_COMPLETES) ? r->call->op : (uint32_t)TI_OP_WAIT;
    struct ti_event ev = event(op);

    if (ti_op_info(op)->vec[0][0]) {
        ev.vec[0] = (struct ti_vec){r->vec[0], 8, (int64_t)n};
        emit(r, &ev);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        ev = event(op);
        ti__otf2_put(&ev, TI_F_REQ, r->vec[0][i]);
        emit(r, &ev);
    }
}

static ti_status records(struct ti__otf2_rank *r)
{
    ti_status st = TI_OK;
    size_t completed = 0;

    if (r->call->op == TI_OP_SENDRECV || r->call->op == TI_OP_SENDRECV_REPLACE)
        return sendrecv(r);
    for (size_t i = 0; i < r->ndone && !st; i++) {
        const struct ti__otf2_record *m = &r->done[i];

        switch (m->kind) {
        case TI__OTF2_SEND:
            st = blocking(r, m, send_op(r, false));
            break;
        case TI__OTF2_RECV:
            st = blocking(r, m, TI_OP_RECV);
            break;
        case TI__OTF2_ISEND:
            st = message(r, m, send_op(r, true), m->id);
            break;
        case TI__OTF2_COLL:
            st = collective(r, m, false, 0);
            break;
        case TI__OTF2_IRECV:
        case TI__OTF2_ICOLL:
            st = posted(r, m);
            break;
        case TI__OTF2_CANCEL:
            if (ti__otf2_request_find(r, m->id) >= 0)
                st = ti__otf2_wrong(r, "a cancelled send is not converted");
            break;
        case TI__OTF2_ISENT:
        case TI__OTF2_IRECVED:
        case TI__OTF2_ICOLL_DONE:
            break;
        }
    }
    /* The completions come last: a collective above uses vector 1, too. */
    for (size_t i = 0; i < r->ndone && !st; i++)
        if (r->done[i].kind == TI__OTF2_ISENT || r->done[i].kind == TI__OTF2_IRECVED ||
            r->done[i].kind == TI__OTF2_ICOLL_DONE)
            st = complete(r, &r->done[i], &completed);
    if (!st && completed)
        completions(r, completed);
    return st;
}

/* ---- calls ---- */

/* Whether a call is one of those that the records which we read do not describe. */
static bool is_untraced(const struct ti__otf2_rank *r)
{
    static const char *const others[] = {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple",
                                         "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"};
    uint32_t op = r->call->op;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!strcmp(r->call->name, others[i]))
            return true;
    if (op >= TI_OP_WIN_CREATE && op < TI_OP_COUNT) /* windows and files */
        return true;
    return !r->ndone &&
           (ti_op_is(op, TI_T_COLLECTIVE) || ti_op_is(op, TI_T_PROBED) ||
            ti_op_is(op, TI_T_PARTITIONED) || ti_op_is(op, TI_T_USES) ||
            op == TI_OP_GREQUEST_START || op == TI_OP_ISENDRECV || op == TI_OP_ISENDRECV_REPLACE);
}

static void untraced(struct ti__otf2_rank *r)
{
    struct ti_event ev = event(TI_OP_UNTRACED);
    int64_t region = r->call - r->im->region;
    int64_t n = ti_map_find(&r->untraced, region, 0, 0, 0);

    ti__otf2_note(
        r->im, TI__OTF2_UNTRACED,
        "%s is not converted: only its name is in the rank file, which cannot be replayed",
        r->call->name);
    if (n < 0) {
        n = ti_map_add(&r->untraced, region, 0, 0, 0);
        ti_writer_string(r->w, TI_STRING_CALL, r->call->name);
    }
    ti__otf2_put(&ev, TI_F_CALL, n + 1);
    emit(r, &ev);
}

/* The call is complete: write its events. */
static ti_status call(struct ti__otf2_rank *r)
{
    bool begins = r->call->op == TI_OP_INIT, ends = r->call->op == TI_OP_FINALIZE;

    if (begins && !r->begun) {
        ti__otf2_begin(r, true);
        return TI_OK;
    }
    if (begins || (r->ended && (ends || r->ndone)))
        return ti__otf2_wrong(r, "%s after %s", r->call->name, begins ? "others" : "MPI_Finalize");
    if (r->ended)
        return TI_OK; /* MPI_Finalized and its like */
    if (ends) {
        ti__otf2_end(r);
        return TI_OK;
    }
    if (!r->ndone && !is_untraced(r))
        return TI_OK; /* the burst goes on */
    if (!r->begun)
        ti__otf2_begin(r, false);
    if (!is_untraced(r))
        return records(r);
    untraced(r);
    return TI_OK;
}

ti_status ti__otf2_enter(struct ti__otf2_rank *r, const struct ti__otf2_region *region)
{
    if (r->surveys || r->foreign || r->depth++)
        return TI_OK;
    if (r->im->counts && !r->has_count)
        return ti__otf2_wrong(r, "%s is entered without a value of %s", region->name,
                              r->im->counter);
    r->burst_ns += r->now - r->left;
    r->volume += r->count - r->counted;
    r->entered = r->now;
    r->call = region;
    r->ndone = 0;
    return TI_OK;
}

ti_status ti__otf2_leave(struct ti__otf2_rank *r, const struct ti__otf2_region *region)
{
    ti_status st;

    if (r->surveys || r->foreign)
        return TI_OK;
    if (!r->depth)
        return ti__otf2_wrong(r, "%s is left, but it was not entered", region->name);
    if (--r->depth)
        return TI_OK;
    r->call_ns += r->now - r->entered;
    st = call(r);
    r->left = r->now;
    r->counted = r->count;
    return st;
}

ti_status ti__otf2_record(struct ti__otf2_rank *r, const struct ti__otf2_record *record)
{
    if (r->foreign)
        return ti__otf2_wrong(r, "a thread that is not the first of its process communicates; "
                                 "only calls of the first one are converted");
    if (r->surveys)
        return ti__otf2_survey(r, record);
    if (!r->depth)
        return ti__otf2_wrong(r,
                              "communication outside of MPI calls: the trace lacks their regions");
    r->done = ti_grow(r->done, &r->done_cap, r->ndone + 1, sizeof *r->done);
    r->done[r->ndone++] = *record;
    return TI_OK;
}

void ti__otf2_pause(struct ti__otf2_rank *r, uint64_t ns)
{
    if (r->depth)
        r->entered += ns;
    else
        r->left += ns;
}
