/*
 * Writer of GOAL, the schedules of LogGOPSim: for each rank, labelled operations and their
 * dependencies.
 *
 * Blocking operations form a chain: each requires the one before it.  A non-blocking operation
 * requires the last operation of the chain, and only its wait requires it.  A wait is a "calc 0"
 * that requires the chain and the requests.  "irequires" keeps the order in which operations begin.
 *
 * A non-blocking collective is a chain of its own, from its call to its wait.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/cli.h"
#include "common/map.h"
#include "common/scratch.h"
#include "replay-bridge/convert/collectives.h"
#include "replay-bridge/convert/target.h"

#define TAG_MOST (UINT32_MAX - 1) /* UINT32_MAX is the wildcard */
#define TURNS    1024             /* tags for the collectives of a communicator, reused in turn */

/* ---- refusals ---- */

static const char *collective_refusal(const struct ti_comms *comms, const struct ti_step *step)
{
    enum ti_comm_shape shape = ti_comms_group(comms, step->gid)->shape;

    if (shape == TI_COMM_ALONE)
        return NULL;
    if (ti_op_is(step->ev.op, TI_T_NEIGHBOURS))
        return "collectives among neighbours are not written as messages for GOAL, which has none";
    if (shape == TI_COMM_INTER)
        return "collectives between two groups are not written as messages for GOAL, which has "
               "none";
    return NULL;
}

const char *ti_goal_refusal(const struct ti_comms *comms, const struct ti_step *step, int64_t eager,
                            char *buf, size_t bytes)
{
    const char *why = ti_target_refusal(step);

    (void)eager;
    (void)buf;
    (void)bytes;
    if (why)
        return why;
    for (size_t i = 0; i < step->nposted; i++)
        if (!step->posted[i].null && step->posted[i].mode == TI_SEND_SYNCHRONOUS)
            return "GOAL has no synchronous send: the simulator decides by the size";
    if (ti_op_collective(step->ev.op) && step->gid >= 0)
        return collective_refusal(comms, step);
    return NULL;
}

/* ---- operations ---- */

struct goal {
    struct ti_conversion *conv;
    FILE *out;
    int64_t rank;
    struct ti_clock clock;
    uint64_t last;      /* the last label given; labels count from 1 */
    uint64_t chain;     /* label of the last blocking operation; 0: none */
    uint64_t begun;     /* label of the last non-blocking one after it; 0: none */
    uint64_t (*req)[2]; /* by request number: labels of the send and of the receive */
    size_t req_cap;
    uint64_t
        *coll_req; /* by request number: label of the last operation of a collective; 0: none */
    size_t coll_req_cap;
    size_t outstanding; /* non-blocking collectives before their wait */
    uint64_t *calls;    /* number of collective calls so far, by communicator */
    size_t calls_cap;
    int64_t coll_tag; /* tag of the current collective */
    const struct ti_group *group;
};

static void put_dependency(struct goal *g, const char *how, uint64_t label)
{
    if (label)
        fprintf(g->out, "l%" PRIu64 " %s l%" PRIu64 "\n", g->last, how, label);
}

/* End the operation that open_op() began, and write its dependencies.  Returns its label. */
static uint64_t close_op(struct goal *g, bool blocks)
{
    fputc('\n', g->out);
    put_dependency(g, "requires", g->chain);
    put_dependency(g, "irequires", g->begun);
    g->begun = blocks ? 0 : g->last;
    if (blocks)
        g->chain = g->last;
    g->conv->actions++;
    return g->last;
}

static void open_op(struct goal *g)
{
    fprintf(g->out, "l%" PRIu64 ": ", ++g->last);
}

static void put_burst(struct goal *g)
{
    uint64_t ns = ti_clock_next(&g->clock);

    if (!ns)
        return;
    open_op(g);
    fprintf(g->out, "calc %" PRIu64, ns);
    close_op(g, true);
}

static uint64_t put_message(struct goal *g, bool recv, int64_t bytes, int64_t peer, int64_t tag,
                            bool blocks)
{
    put_burst(g);
    open_op(g);
    fprintf(g->out, "%s %" PRId64 "b %s %" PRId64 " tag %" PRId64, recv ? "recv" : "send", bytes,
            recv ? "from" : "to", peer, tag);
    return close_op(g, blocks);
}

/* Write a wait for the operations with these labels (0: none).  The wait is the new end of the
 * chain; `begun` is kept, as later operations still begin after it. */
static void put_join(struct goal *g, const uint64_t *label, size_t n)
{
    uint64_t begun = g->begun;

    put_burst(g);
    open_op(g);
    fprintf(g->out, "calc 0");
    g->begun = 0;
    close_op(g, true);
    for (size_t i = 0; i < n; i++)
        put_dependency(g, "requires", label[i]);
    g->begun = begun;
}

/* ---- steps ---- */

static uint64_t *request(struct goal *g, const struct ti_msg *m)
{
    g->req = ti_grow(g->req, &g->req_cap, (size_t)m->req + 1, sizeof g->req[0]);
    return &g->req[m->req][m->recv];
}

static ti_status post(struct goal *g, const struct ti_msg *m, bool blocks, uint64_t *label,
                      struct ti_err *err)
{
    int64_t bytes;
    ti_status st;

    *label = 0;
    if (m->null)
        return TI_OK;
    st = ti_conversion_bytes(g->conv, g->rank, m, &bytes, err);
    if (!st)
        *label = put_message(g, m->recv, bytes, m->peer, ti_lint_tag(&g->conv->lint, g->rank, m),
                             blocks && !ti_msg_unwaited(m));
    return st;
}

static ti_status post_all(struct goal *g, const struct ti_step *step, struct ti_err *err)
{
    bool both = ti_op_is(step->ev.op, TI_T_SENDS | TI_T_RECEIVES);
    uint64_t label[2] = {0, 0};
    size_t n = 0;

    for (size_t i = 0; i < step->nposted; i++) {
        const struct ti_msg *m = &step->posted[i];
        uint64_t made;
        ti_status st = post(g, m, m->req < 0 && !both, &made, err);

        if (st)
            return st;
        if (m->req >= 0)
            *request(g, m) = made;
        else if (both && n < 2)
            label[n++] = made;
    }
    if (label[0] || label[1])
        put_join(g, label, n);
    return TI_OK;
}

static void end_collective(struct goal *g, int64_t req, uint64_t *label, size_t *n)
{
    if (req < 0 || (size_t)req >= g->coll_req_cap || !g->coll_req[req])
        return;
    label[(*n)++] = g->coll_req[req];
    g->coll_req[req] = 0;
    g->outstanding--;
}

/* Append the labels of the collectives that the call completed. */
static void end_collectives(struct goal *g, const struct ti_event *ev, uint64_t *label, size_t *n)
{
    if (ev->mask & TI_M_REQ)
        end_collective(g, ev->arg[TI_F_REQ], label, n);
    for (int64_t i = 0; i < ev->vec[0].len; i++)
        end_collective(g, ti_vec_at(&ev->vec[0], i), label, n);
    for (size_t i = 0; (ev->mask & TI_M_ALL) && g->outstanding && i < g->coll_req_cap; i++)
        end_collective(g, (int64_t)i, label, n);
}

static void wait_all(struct goal *g, const struct ti_step *step)
{
    size_t cap = 0, n = 0;
    uint64_t *label = ti_grow(NULL, &cap, step->ndone + g->outstanding + 1, sizeof *label);

    for (size_t i = 0; i < step->ndone; i++)
        if (!step->done[i].null && !ti_msg_unwaited(&step->done[i]))
            label[n++] = *request(g, &step->done[i]);
    if (g->outstanding)
        end_collectives(g, &step->ev, label, &n);
    if (n)
        put_join(g, label, n);
    free(label);
}

static void exchange(void *arg, int64_t to, int64_t bytes, int64_t from, int64_t bytes_from)
{
    struct goal *g = arg;
    const int32_t *member = g->group->member;
    uint64_t label[2];

    if (to >= 0 && from >= 0) {
        label[0] = put_message(g, false, bytes, member[to], g->coll_tag, false);
        label[1] = put_message(g, true, bytes_from, member[from], g->coll_tag, false);
        put_join(g, label, 2);
    } else if (to >= 0) {
        put_message(g, false, bytes, member[to], g->coll_tag, true);
    } else {
        put_message(g, true, bytes_from, member[from], g->coll_tag, true);
    }
}

/* Append the operations of a collective to the chain. */
static void expand(struct goal *g, const struct ti_coll_call *call)
{
    struct ti_expansion part = {.ev = call->ev, .exchange = exchange, .arg = g, .me = call->on.me};
    int64_t comm = ti_conversion_comm(g->conv, call->on.gid);

    g->calls = ti_grow(g->calls, &g->calls_cap, (size_t)comm + 1, sizeof g->calls[0]);
    g->coll_tag =
        ti_conversion_unused_tag(g->conv) + comm * TURNS + (int64_t)(g->calls[comm]++ % TURNS);
    part.n = g->group->size;
    ti_expand(&part);
}

/* Write a non-blocking collective as a chain of its own.  Its request has the label of the last
 * operation. */
static ti_status expand_beside(struct goal *g, const struct ti_coll_call *call, struct ti_err *err)
{
    uint64_t chain = g->chain, begun = g->begun;
    size_t req = (size_t)call->ev->arg[TI_F_REQ];

    expand(g, call);
    g->coll_req = ti_grow(g->coll_req, &g->coll_req_cap, req + 1, sizeof g->coll_req[0]);
    if (g->chain != chain) {
        g->coll_req[req] = g->chain;
        g->outstanding++;
    }
    g->chain = chain;
    g->begun = begun;
    if (g->outstanding < TURNS)
        return TI_OK;
    return ti_err_set(
        err, TI_ERR_INPUT,
        "rank %" PRId64
        " has %d non-blocking collectives at once: their messages could not be told apart",
        g->rank, TURNS);
}

static ti_status put_collective(struct goal *g, const struct ti_coll_call *call, struct ti_err *err)
{
    if (!ti_op_collective(call->ev->op))
        return TI_OK;
    g->group = ti_comms_group(&g->conv->lint.check.comms, call->on.gid);
    if (g->group->shape == TI_COMM_ALONE)
        return TI_OK;
    put_burst(g);
    if (ti_op_form(call->ev->op) != TI_FORM_BLOCKING)
        return expand_beside(g, call, err);
    expand(g, call);
    return TI_OK;
}

static ti_status put_step(void *arg, const struct ti_step *step, struct ti_err *err)
{
    struct goal *g = arg;
    ti_status st = post_all(g, step, err);

    if (st)
        return st;
    if (ti_op_is(step->ev.op, TI_T_COMPLETES) && step->ev.op != TI_OP_REQUEST_FREE)
        wait_all(g, step);
    for (size_t i = 0; i < step->ncalls && !st; i++)
        st = put_collective(g, &step->call[i], err);
    return st;
}

static ti_status write_rank(struct ti_conversion *conv, int64_t rank, FILE *out, struct ti_err *err)
{
    struct goal g = {.conv = conv, .out = out, .rank = rank};
    ti_status st;

    fprintf(out, "rank %" PRId64 " {\n", rank);
    st = ti_conversion_walk(conv, rank, &g.clock, put_step, &g, err);
    put_burst(&g);
    if (!g.last) { /* LogGOPSim rejects a rank without an operation */
        open_op(&g);
        fprintf(out, "calc 0");
        close_op(&g, true);
    }
    fprintf(out, "}\n");
    free(g.req);
    free(g.coll_req);
    free(g.calls);
    return st;
}

ti_status ti_goal_write(struct ti_conversion *conv, const char *name, struct ti_err *err)
{
    FILE *f;
    ti_status st;

    if (ti_conversion_unused_tag(conv) + conv->ncomms * TURNS > (int64_t)TAG_MOST)
        return ti_err_set(err, TI_ERR_INPUT, "the trace needs more tags than GOAL has");
    st = ti_scratch_create(name, &f, err);
    if (st)
        return st;
    fprintf(f, "num_ranks %" PRId64 "\n", conv->lint.np);
    for (int64_t rank = 0; rank < conv->lint.np && !st; rank++)
        st = write_rank(conv, rank, f, err);
    return ti_scratch_finish(f, name, st, err);
}
