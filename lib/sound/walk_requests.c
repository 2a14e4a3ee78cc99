#include "sound/walk_internal.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX (INT64_C(1) << 25) /* elements of vectors kept for persistent requests */

static void forget_init(struct ti_walk *w, struct request *q)
{
    for (int v = 0; q->init && v < TI_VECS; v++) {
        w->kept -= q->init->vec[v].len;
        free((void *)(uintptr_t)q->init->vec[v].data);
    }
    free(q->init);
    q->init = NULL;
}

/* Keep the event that made a persistent request, since each start repeats it. */
static void keep_init(struct ti_walk *w, struct ti_step *step, struct request *q)
{
    struct ti_event *init = malloc(sizeof *init);

    w->no_memory |= !init;
    if (!init)
        return;
    *init = step->ev;
    for (int v = 0; v < TI_VECS; v++) {
        struct ti_vec *vec = &init->vec[v];
        size_t bytes = (size_t)vec->len * (size_t)vec->width;
        void *data = NULL;

        if (vec->len > KEPT_MAX - w->kept) {
            ti__walk_wrong(step, "the counts of all persistent requests are too many to keep");
            vec->len = 0;
        } else if (vec->len) {
            data = malloc(bytes);
            w->no_memory |= !data;
            if (data)
                memcpy(data, vec->data, bytes);
        }
        vec->data = data;
        w->kept += vec->len;
    }
    q->init = init;
}

static struct request *new_request(struct ti_walk *w, struct ti_step *step)
{
    int64_t req = step->ev.arg[TI_F_REQ];
    struct request *q;

    if (req < 0 || (size_t)req > w->nlive) { /* a new number is the lowest free one */
        ti__walk_wrong(step, "request number %lld is out of range", (long long)req);
        return NULL;
    }
    w->no_memory |= !TI_ROOM(w->live, &w->live_cap, (size_t)req + 1);
    if (w->no_memory)
        return NULL;
    if (w->nlive == (size_t)req)
        w->nlive++;
    q = &w->live[req];
    if (q->used)
        ti__walk_wrong(step, "request %lld is in use since event %llu", (long long)req,
                       (unsigned long long)q->event);
    forget_init(w, q);
    *q = (struct request){.used = true, .event = step->index, .op = step->ev.op};
    return q;
}

ti_status ti__walk_make_request(struct ti_walk *w, struct ti_step *step, struct ti_err *err)
{
    struct request *q = new_request(w, step);

    if (!q)
        return TI_OK;
    if (ti_op_is(step->ev.op, TI_T_PERSISTENT)) {
        q->persistent = true;
        if (ti_op_is(step->ev.op, TI_T_PARTITIONED))
            ti__walk_lot(w, step, q);
        keep_init(w, step, q);
        return TI_OK;
    }
    q->active = true;
    q->left = step->ev.op == TI_OP_GREQUEST_START;
    if (ti_op_is(step->ev.op, TI_T_PROBED))
        ti__walk_receive_probed(w, step, q);
    return ti__walk_post(w, step, &step->ev, step->ev.arg[TI_F_REQ], q, err);
}

/* Request `req`; NULL if there is none. */
static struct request *request_at(const struct ti_walk *w, int64_t req)
{
    return req >= 0 && (size_t)req < w->nlive && w->live[req].used ? &w->live[req] : NULL;
}

ti_status ti__walk_start(struct ti_walk *w, struct ti_step *step, int64_t req, struct ti_err *err)
{
    struct request *q = request_at(w, req);

    if (!q || !q->persistent) {
        ti__walk_wrong(step, "request %lld is not persistent", (long long)req);
        return TI_OK;
    }
    if (q->active) {
        ti__walk_wrong(step, "request %lld is active since event %llu", (long long)req,
                       (unsigned long long)q->event);
        return TI_OK;
    }
    q->active = true;
    q->left = q->init->arg[TI_F_PART];
    q->event = step->index;
    q->nmsgs = 0;
    if (ti_op_collective(q->op))
        ti__walk_call(w, step, q->init);
    return ti__walk_post(w, step, q->init, req, q, err);
}

static void finish(struct ti_walk *w, struct ti_step *step, int64_t req)
{
    struct request *q = request_at(w, req);
    bool freed = step->ev.op == TI_OP_REQUEST_FREE;

    if (!q) {
        ti__walk_wrong(step, "request %lld is not outstanding", (long long)req);
        return;
    }
    for (int i = 0; i < q->nmsgs && q->active; i++) {
        struct ti_msg *m;

        w->no_memory |= !TI_ROOM(w->done, &w->done_cap, w->ndone + 1);
        if (w->no_memory)
            return;
        m = &w->done[w->ndone++];
        *m = q->msg[i];
        if (m->null)
            continue;
        if (q->cancelled)
            ti__walk_withdraw(w, m);
        else
            m->posted_after = ti_walk_posted(w, m) - 1 - m->seq;
    }
    q->active = q->cancelled = false;
    q->nmsgs = 0;
    if (freed || !q->persistent) {
        forget_init(w, q);
        q->used = false;
    }
}

/* Request `req` completes as cancelled. */
static void mark_cancelled(struct ti_walk *w, struct ti_step *step, int64_t req)
{
    struct request *q = request_at(w, req);

    if (!q || !q->active)
        return; /* reported where it completes */
    for (int i = 0; i < q->nmsgs; i++)
        if (!q->msg[i].cancelling)
            ti__walk_wrong(
                step, "request %lld completes as cancelled, but MPI_Cancel was not called for it",
                (long long)req);
    q->cancelled = true;
}

void ti__walk_complete(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    const struct ti_vec *matched = &ev->vec[1];

    if (ev->mask & TI_M_REQ) {
        if ((ev->mask & TI_M_FROM) && ev->arg[TI_F_FROM] == TI_NULL)
            mark_cancelled(w, step, ev->arg[TI_F_REQ]);
        finish(w, step, ev->arg[TI_F_REQ]);
        return;
    }
    for (int64_t i = 0; i + 2 < matched->len; i += 3)
        if (ti_vec_at(matched, i + 1) == TI_NULL)
            mark_cancelled(w, step, ti_vec_at(matched, i));
    if ((ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL]) {
        for (size_t i = 0; i < w->nlive; i++)
            if (w->live[i].used && w->live[i].active)
                finish(w, step, (int64_t)i);
    } else {
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            finish(w, step, ti_vec_at(&ev->vec[0], i));
    }
}

void ti__walk_cancel(struct ti_walk *w, struct ti_step *step)
{
    struct request *q = request_at(w, step->ev.arg[TI_F_REQ]);

    if (!q || !q->active) {
        ti__walk_wrong(step, "request %lld is not outstanding", (long long)step->ev.arg[TI_F_REQ]);
        return;
    }
    for (int i = 0; i < q->nmsgs; i++)
        q->msg[i].cancelling = true;
}

/* How many partitions the event makes ready; INT64_MAX if it is more than there can be. */
static int64_t made_ready(const struct ti_event *ev)
{
    const struct ti_vec *v = &ev->vec[0];
    int64_t first, last;

    if (ev->op == TI_OP_PREADY_LIST)
        return v->len;
    if (ev->op != TI_OP_PREADY_RANGE)
        return ev->op == TI_OP_PREADY;
    first = v->len == 2 ? ti_vec_at(v, 0) : -1;
    last = v->len == 2 ? ti_vec_at(v, 1) : -1;
    return first < 0 || last < first || last == INT64_MAX ? INT64_MAX : last - first + 1;
}

void ti__walk_use(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    struct request *q = request_at(w, ev->arg[TI_F_REQ]);
    bool general = ev->op == TI_OP_GREQUEST_COMPLETE;
    int64_t n = general ? 1 : made_ready(ev);

    if (!q || (!q->active && ev->op != TI_OP_PARRIVED) ||
        (general ? q->op != TI_OP_GREQUEST_START : !ti_op_is(q->op, TI_T_PARTITIONED)))
        ti__walk_wrong(step, "request %lld is no %s request that is active",
                       (long long)ev->arg[TI_F_REQ], general ? "generalized" : "partitioned");
    else if (n > q->left)
        ti__walk_wrong(step,
                       general ? "request %lld is complete already"
                               : "request %lld has fewer partitions that are not ready",
                       (long long)ev->arg[TI_F_REQ]);
    else
        q->left -= n;
}

void ti__walk_free_requests(struct ti_walk *w)
{
    for (size_t i = 0; i < w->nlive; i++)
        forget_init(w, &w->live[i]);
    free(w->live);
}

bool ti_walk_pending(const struct ti_walk *w, size_t *at, struct ti_pending *out)
{
    for (; *at < w->nlive + w->nprobed; ++*at) {
        if (*at < w->nlive) {
            const struct request *q = &w->live[*at];

            if (!q->used || !q->active)
                continue;
            *out = (struct ti_pending){.number = (int64_t)*at,
                                       .event = q->event,
                                       .op = q->op,
                                       .msg = q->msg,
                                       .nmsgs = q->nmsgs};
        } else {
            const struct probed *p = &w->probed[*at - w->nlive];

            if (!p->used)
                continue;
            *out = (struct ti_pending){.number = (int64_t)(*at - w->nlive),
                                       .probed = true,
                                       .event = p->msg.event,
                                       .op = p->msg.op,
                                       .msg = &p->msg,
                                       .nmsgs = 1};
        }
        ++*at;
        return true;
    }
    return false;
}
