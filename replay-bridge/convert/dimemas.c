/*
 * Writer of Dimemas traces.  A file has a header, the communicators, the records of each task, and
 * the offset in the file at which each task begins.
 *
 *   #DIMEMAS:"name":1,OFFSET:TASKS(THREADS,...),COMMUNICATORS   OFFSET: of the first s record
 *   d:1:COMM:N:TASK:...                                  communicator; tasks count from 0
 *   1:TASK:THREAD:SECONDS                                burst
 *   2:TASK:THREAD:TO:-1:BYTES:TAG:COMM:HOW               send: 1 waits for the receive, 2 does
 *                                                        not block
 *   3:TASK:THREAD:FROM:-1:BYTES:TAG:COMM:HOW             receive: 0 blocks, 1 does not, 2 waits
 *   10:TASK:THREAD:OP:COMM:ROOT:0:SENT:RECEIVED:1        collective
 *   s:TASK:OFFSET
 *
 * Dimemas has no wait for a non-blocking send.  It treats such a send as complete once the message
 * is buffered, as MPI permits for standard sends.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/scratch.h"
#include "replay-bridge/convert/target.h"
#include "sound/collectives.h"

#define NS_PER_S UINT64_C(1000000000)

enum { SEND_STANDARD = 0, SEND_WAITS = 1, SEND_AT_ONCE = 2 };
enum { RECV_BLOCKS = 0, RECV_AT_ONCE = 1, RECV_WAIT = 2 };

/* Collectives by their numbers in Dimemas. */
static const char *const operations[] = {
    "barrier",        "bcast",
    "gather",         "gatherv",
    "scatter",        "scatterv",
    "allgather",      "allgatherv",
    "alltoall",       "alltoallv",
    "reduce",         "allreduce",
    "reduce_scatter", "reduce_scatter_block",
    "scan",
};
#define NOPERATIONS ((int)(sizeof operations / sizeof operations[0]))
#define REDUCE      10 /* its ROOT is a task; that of the others is 1 on the root, else 0 */

static int operation(uint32_t op)
{
    for (int i = 0; i < NOPERATIONS; i++)
        if (!strcmp(operations[i], ti_op_info(op)->text))
            return i;
    return -1;
}

/* ---- refusals ---- */

static const char *collective_refusal(const struct ti_comms *comms, const struct ti_step *step,
                                      char *buf, size_t bytes)
{
    enum ti_comm_shape shape = ti_comms_group(comms, step->gid)->shape;

    if (shape == TI_COMM_ALONE)
        return NULL;
    if (shape == TI_COMM_INTER)
        return "Dimemas has no collectives between two groups";
    if (operation(step->ev.op) >= 0)
        return NULL;
    if (ti_op_form(step->ev.op) != TI_FORM_BLOCKING)
        return "collectives that do not block, or are persistent, are not written for Dimemas";
    if (ti_op_is(step->ev.op, TI_T_NEIGHBOURS))
        return "Dimemas has no collectives among neighbours";
    snprintf(buf, bytes, "Dimemas has no %s", ti_op_info(step->ev.op)->text);
    return buf;
}

const char *ti_dimemas_refusal(const struct ti_comms *comms, const struct ti_step *step,
                               int64_t eager, char *buf, size_t bytes)
{
    const char *why = ti_target_refusal(step);

    (void)eager;
    if (why)
        return why;
    for (size_t i = 0; i < step->nposted; i++) {
        const struct ti_msg *m = &step->posted[i];

        if (!m->null && m->mode == TI_SEND_SYNCHRONOUS && m->req >= 0)
            return "Dimemas cannot wait for a synchronous send that does not block";
    }
    if (ti_op_collective(step->ev.op) && step->gid >= 0)
        return collective_refusal(comms, step, buf, bytes);
    return NULL;
}

/* ---- records ---- */

struct dimemas {
    struct ti_conversion *conv;
    FILE *out;
    int64_t rank;
    struct ti_clock clock;
    int64_t *size; /* of the messages of receive requests, by request number */
    size_t size_cap;
};

static void put_burst(struct dimemas *d)
{
    uint64_t ns = ti_clock_next(&d->clock);

    if (!ns)
        return;
    fprintf(d->out, "1:%" PRId64 ":0:%" PRIu64 ".%09" PRIu64 "\n", d->rank, ns / NS_PER_S,
            ns % NS_PER_S);
    d->conv->actions++;
}

/* Dimemas numbers communicators from 1. */
static int64_t comm_of(const struct dimemas *d, int64_t gid)
{
    return ti_conversion_comm(d->conv, gid) + 1;
}

static void put_message(struct dimemas *d, const struct ti_msg *m, int64_t bytes, int how)
{
    put_burst(d);
    fprintf(d->out, "%d:%" PRId64 ":0:%" PRId64 ":-1:%" PRId64 ":%" PRId64 ":%" PRId64 ":%d\n",
            m->recv ? 3 : 2, d->rank, m->peer, bytes, ti_lint_tag(&d->conv->lint, d->rank, m),
            comm_of(d, m->gid), how);
    d->conv->actions++;
}

static int how(const struct ti_msg *m, bool blocks)
{
    if (m->recv)
        return blocks ? RECV_BLOCKS : RECV_AT_ONCE;
    if (!blocks || ti_msg_unwaited(m))
        return SEND_AT_ONCE;
    return m->mode == TI_SEND_SYNCHRONOUS ? SEND_WAITS : SEND_STANDARD;
}

static ti_status post(struct dimemas *d, const struct ti_msg *m, bool blocks, int64_t *bytes,
                      struct ti_err *err)
{
    ti_status st;

    if (m->null)
        return TI_OK;
    st = ti_conversion_bytes(d->conv, d->rank, m, bytes, err);
    if (st)
        return st;
    if (m->recv && m->req >= 0) {
        d->size = ti_grow(d->size, &d->size_cap, (size_t)m->req + 1, sizeof d->size[0]);
        d->size[m->req] = *bytes;
    }
    put_message(d, m, *bytes, how(m, blocks));
    return TI_OK;
}

/* A send-receive becomes a non-blocking send and receive, and a wait for the receive. */
static ti_status post_all(struct dimemas *d, const struct ti_step *step, struct ti_err *err)
{
    bool both = ti_op_is(step->ev.op, TI_T_SENDS | TI_T_RECEIVES);
    int64_t bytes = 0;
    ti_status st = TI_OK;

    for (size_t i = 0; i < step->nposted && !st; i++)
        st = post(d, &step->posted[i], step->posted[i].req < 0 && !both, &bytes, err);
    for (size_t i = 0; i < step->nposted && !st && both; i++)
        if (step->posted[i].req < 0 && step->posted[i].recv && !step->posted[i].null)
            put_message(d, &step->posted[i], bytes, RECV_WAIT);
    return st;
}

static int64_t sum(const struct ti_event *ev, int v)
{
    int64_t n = 0;

    for (int64_t i = 0; i < ev->vec[v].len; i++)
        n += ti_vec_at(&ev->vec[v], i);
    return n * ev->arg[ti_counts_in(ev->op, v)];
}

/*
 * SENT and RECEIVED of a collective are the sum of the rank's blocks in the vector forms, else the
 * size of one block, or of the vector of a reduction.  A side that the rank does not have is 0.
 */
static void put_collective(struct dimemas *d, const struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    const struct ti_group *g = ti_comms_group(&d->conv->lint.check.comms, step->gid);
    int64_t root = ev->mask & TI_M_ROOT ? ev->arg[TI_F_ROOT] : -1, sent, received;
    bool is_root = root == step->call->on.me, from = ti_op_is(ev->op, TI_T_FROM_ROOT);
    bool to = ti_op_is(ev->op, TI_T_TO_ROOT);
    bool copies =
        from && is_root && !(ev->mask & TI_M_BYTES2); /* bcast: the root receives nothing */

    sent = ti_op_is(ev->op, TI_T_COUNTS_GIVEN) ? sum(ev, 0)
           : ev->mask & TI_M_BYTES             ? ev->arg[TI_F_BYTES]
                                               : 0;
    received = ti_op_is(ev->op, TI_T_COUNTS_TAKEN) ? sum(ev, ti_op_last_vec(ev->op))
               : ev->mask & TI_M_BYTES2            ? ev->arg[TI_F_BYTES2]
               : ev->mask & TI_M_BYTES             ? ev->arg[TI_F_BYTES]
                                                   : sent;
    put_burst(d);
    fprintf(d->out, "10:%" PRId64 ":0:%d:%" PRId64 ":%" PRId64 ":0:%" PRId64 ":%" PRId64 ":1\n",
            d->rank, operation(ev->op), comm_of(d, step->gid),
            operation(ev->op) == REDUCE ? (int64_t)g->member[root] : (int64_t)is_root,
            from && !is_root ? 0 : sent, (to && !is_root) || copies ? 0 : received);
    d->conv->actions++;
}

static ti_status put_step(void *arg, const struct ti_step *step, struct ti_err *err)
{
    struct dimemas *d = arg;
    ti_status st = post_all(d, step, err);

    if (st)
        return st;
    if (step->ev.op != TI_OP_REQUEST_FREE)
        for (size_t i = 0; i < step->ndone; i++)
            if (step->done[i].recv && !step->done[i].null)
                put_message(d, &step->done[i], d->size[step->done[i].req], RECV_WAIT);
    if (ti_op_collective(step->ev.op) && step->ncalls && step->gid >= 0 &&
        ti_comms_group(&d->conv->lint.check.comms, step->gid)->shape != TI_COMM_ALONE)
        put_collective(d, step);
    return TI_OK;
}

/* Dimemas requires at least one record of each task: the first one is an empty burst. */
static ti_status write_rank(struct ti_conversion *conv, int64_t rank, FILE *out, struct ti_err *err)
{
    struct dimemas d = {.conv = conv, .out = out, .rank = rank};
    ti_status st;

    fprintf(out, "1:%" PRId64 ":0:0.000000000\n", rank);
    conv->actions++;
    st = ti_conversion_walk(conv, rank, &d.clock, put_step, &d, err);
    put_burst(&d);
    free(d.size);
    return st;
}

/* ---- the file ---- */

/* Returns the position of the header's OFFSET, which write_all() fills in at the end. */
static long write_header(const struct ti_conversion *conv, FILE *f)
{
    long at;

    fprintf(f, "#DIMEMAS:\"tiara\":1,");
    at = ftell(f);
    fprintf(f, "%020d:%" PRId64 "(", 0, conv->lint.np);
    for (int64_t rank = 0; rank < conv->lint.np; rank++)
        fprintf(f, rank ? ",1" : "1");
    fprintf(f, "),%" PRId64 "\n", conv->ncomms);
    return at;
}

static void write_comms(const struct ti_conversion *conv, FILE *f)
{
    for (int64_t gid = 0; gid < (int64_t)conv->comm_cap; gid++) {
        const struct ti_group *g;

        if (!conv->comm[gid])
            continue;
        g = ti_comms_group(&conv->lint.check.comms, gid);
        fprintf(f, "d:1:%" PRId64 ":%" PRId64, ti_conversion_comm(conv, gid) + 1, g->size);
        for (int64_t i = 0; i < g->size; i++)
            fprintf(f, ":%d", (int)g->member[i]);
        fputc('\n', f);
    }
}

static ti_status write_all(struct ti_conversion *conv, FILE *f, long *offset, struct ti_err *err)
{
    long header = write_header(conv, f), offsets;
    ti_status st = TI_OK;

    write_comms(conv, f);
    for (int64_t rank = 0; rank < conv->lint.np && !st; rank++) {
        offset[rank] = ftell(f);
        st = write_rank(conv, rank, f, err);
    }
    offsets = ftell(f);
    for (int64_t rank = 0; rank < conv->lint.np; rank++)
        fprintf(f, "s:%" PRId64 ":%ld\n", rank, offset[rank]);
    if (fseek(f, header, SEEK_SET) == 0)
        fprintf(f, "%020ld", offsets);
    return st;
}

ti_status ti_dimemas_write(struct ti_conversion *conv, const char *name, struct ti_err *err)
{
    size_t cap = 0;
    long *offset;
    FILE *f;
    ti_status st = ti_scratch_create(name, &f, err);

    if (st)
        return st;
    offset = ti_grow(NULL, &cap, (size_t)conv->lint.np, sizeof *offset);
    st = write_all(conv, f, offset, err);
    free(offset);
    return ti_scratch_finish(f, name, st, err);
}
