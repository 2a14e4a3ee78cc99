#include <math.h>

#include "timeline/internal.h"

uint64_t ti__ns(double seconds)
{
    return seconds > 9e9 ? UINT64_C(9000000000000000000)
           : seconds > 0 ? (uint64_t)llround(seconds * 1e9)
                         : 0;
}

/* ---- messages ---- */

static bool is_message(const struct ti_msg *m)
{
    return !m->null && !m->unknown && !m->cancelled;
}

void ti__messages(const struct ti__timed *e, void (*each)(void *arg, const struct ti_msg *m),
                  void *arg)
{
    const struct ti_step *step = e->step;

    for (size_t i = 0; i < step->nposted; i++)
        if (is_message(&step->posted[i]) && (!step->posted[i].recv || step->posted[i].req < 0))
            each(arg, &step->posted[i]);
    for (size_t i = 0; i < step->ndone; i++)
        if (is_message(&step->done[i]) && step->done[i].recv)
            each(arg, &step->done[i]);
}

/* Describe the messages that a call posts, else those that it completes.  Of a send-receive that
 * is the send.  False: there is none. */
static bool about_messages(const struct ti_step *step, struct ti__about *out)
{
    const struct ti_msg *m = step->nposted ? step->posted : step->done;
    size_t n = step->nposted ? step->nposted : step->ndone, found = 0;

    if (ti_op_is(step->ev.op, TI_T_SENDS | TI_T_RECEIVES) && n == 2)
        n = is_message(&m[0]) ? 1 : 2;
    for (size_t i = 0; i < n; i++) {
        if (!is_message(&m[i]))
            continue;
        out->peer = !found || out->peer == m[i].peer ? m[i].peer : -1;
        out->tag = !found ? m[i].tag : TI_NULL;
        out->bytes = (int64_t)((uint64_t)(found ? out->bytes : 0) + (uint64_t)m[i].bytes);
        found++;
    }
    return found;
}

/* ---- collectives ---- */

/* Sizes in a trace may be anything, so sums of products are wider. */
typedef __int128 wide;

static int64_t narrow(wide n)
{
    return n < 0 ? 0 : n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static wide sum_of(const struct ti_vec *vec, int64_t esize)
{
    wide sum = 0;

    for (int64_t i = 0; i < vec->len; i++)
        sum += ti_vec_at(vec, i);
    return (wide)narrow(sum) * esize;
}

static int64_t field(const struct ti_event *ev, enum ti_field f)
{
    return ev->mask >> f & 1 && ev->arg[f] > 0 ? ev->arg[f] : 0;
}

void ti__totals(const struct ti_event *ev, int64_t n, int64_t me, uint64_t *given, uint64_t *taken)
{
    uint32_t op = ti_op_base(ev->op);
    bool root = (ev->mask & TI_M_ROOT) && ev->arg[TI_F_ROOT] == me;
    wide one = field(ev, TI_F_BYTES), two = ev->mask & TI_M_BYTES2 ? field(ev, TI_F_BYTES2) : one;
    wide counts = sum_of(&ev->vec[0], field(ev, TI_F_ESIZE));
    wide last = sum_of(&ev->vec[ti_op_last_vec(op)], field(ev, TI_F_ESIZE2));
    wide give = n * one, take = n * two;

    switch (op) {
    case TI_OP_BARRIER:
        give = take = 0;
        break;
    case TI_OP_BCAST:
        give = root ? n * one : 0;
        take = one;
        break;
    case TI_OP_REDUCE:
    case TI_OP_GATHER:
        give = one;
        take = root ? n * two : 0;
        break;
    case TI_OP_SCATTER:
        give = root ? n * one : 0;
        take = two;
        break;
    case TI_OP_GATHERV:
        give = one;
        take = root ? last : 0;
        break;
    case TI_OP_SCATTERV:
        give = root ? counts : 0;
        take = two;
        break;
    case TI_OP_SCAN: /* to those after it and itself, from those before it and itself */
        give = (n - me) * one;
        take = (me + 1) * one;
        break;
    case TI_OP_EXSCAN:
        give = (n - me - 1) * one;
        take = me * one;
        break;
    case TI_OP_ALLGATHERV:
        take = last;
        break;
    case TI_OP_ALLTOALLV:
    case TI_OP_ALLTOALLW:
        give = counts;
        take = last;
        break;
    case TI_OP_REDUCE_SCATTER:
        give = counts;
        one = me < ev->vec[0].len ? ti_vec_at(&ev->vec[0], me) : 0;
        take = (wide)narrow(one * field(ev, TI_F_ESIZE)) * n;
        break;
    default:
        break;
    }
    *given = (uint64_t)narrow(give);
    *taken = (uint64_t)narrow(take);
}

/* Bytes of a call that is no message: its field, else what its vector gives. */
static int64_t other_bytes(const struct ti_event *ev)
{
    if (ev->mask & TI_M_BYTES)
        return ev->arg[TI_F_BYTES];
    if (ev->mask & TI_M_BYTES2)
        return ev->arg[TI_F_BYTES2];
    return ti_op_is(ev->op, TI_T_COUNTS_GIVEN) ? narrow(sum_of(&ev->vec[0], field(ev, TI_F_ESIZE)))
                                               : -1;
}

void ti__about(const struct ti_timeline_show *show, const struct ti__timed *e,
               struct ti__about *out)
{
    const struct ti_event *ev = &e->step->ev;
    int64_t first = show->job[e->job].first, comm;

    *out = (struct ti__about){-1, -1, TI_NULL};
    if (about_messages(e->step, out)) {
        out->peer += out->peer >= 0 ? first : 0;
        return;
    }
    out->bytes = other_bytes(ev);
    if (!(ev->mask & TI_M_PEER) || ev->arg[TI_F_PEER] <= TI_SELF)
        return;
    comm = ti_reader_event_comm(e->r, ev);
    out->peer = comm < 0 ? -1 : ti_reader_world(e->r, comm, ev->arg[TI_F_PEER]);
    out->peer += out->peer >= 0 ? first : 0;
}
