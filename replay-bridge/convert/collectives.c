#include "replay-bridge/convert/collectives.h"

#include "sound/collectives.h"

#define NOBODY (-1)

static void exchange(const struct ti_expansion *p, int64_t to, int64_t bytes, int64_t from,
                     int64_t bytes_from)
{
    p->exchange(p->arg, to, bytes, from, bytes_from);
}

static void send(const struct ti_expansion *p, int64_t to, int64_t bytes)
{
    exchange(p, to, bytes, NOBODY, 0);
}

static void receive(const struct ti_expansion *p, int64_t from, int64_t bytes)
{
    exchange(p, NOBODY, 0, from, bytes);
}

/* Bytes of the block that this rank sends to rank `to`, or receives from rank `from`. */
static int64_t given(const struct ti_event *ev, int64_t to)
{
    if (ti_op_is(ev->op, TI_T_COUNTS_GIVEN))
        return ti_vec_at(&ev->vec[0], to) * ev->arg[ti_counts_in(ev->op, 0)];
    return ev->arg[ti_op_is(ev->op, TI_T_FROM_ROOT) ? TI_F_BYTES2 : TI_F_BYTES];
}

static int64_t taken(const struct ti_event *ev, int64_t from)
{
    int last = ti_op_last_vec(ev->op);

    if (ti_op_is(ev->op, TI_T_COUNTS_TAKEN))
        return ti_vec_at(&ev->vec[last], from) * ev->arg[ti_counts_in(ev->op, last)];
    return ev->arg[ti_op_is(ev->op, TI_T_BLOCKS) && !ti_op_is(ev->op, TI_T_TO_ROOT) &&
                           (ev->mask & TI_M_BYTES2)
                       ? TI_F_BYTES2
                       : TI_F_BYTES];
}

static void barrier(const struct ti_expansion *p)
{
    for (int64_t far = 1; far < p->n; far *= 2)
        exchange(p, (p->me + far) % p->n, 0, (p->me - far + p->n) % p->n, 0);
}

/* Binomial trees of bcast and reduce: ranks are numbered from the root, and the parent of r is r
 * without its lowest bit. */
static int64_t from_root(const struct ti_expansion *p)
{
    return (p->me - p->ev->arg[TI_F_ROOT] + p->n) % p->n;
}

static int64_t rank_at(const struct ti_expansion *p, int64_t r)
{
    return (r + p->ev->arg[TI_F_ROOT]) % p->n;
}

static void bcast(const struct ti_expansion *p)
{
    int64_t r = from_root(p), bytes = p->ev->arg[TI_F_BYTES], bit = 1;

    while (bit < p->n && !(r & bit))
        bit *= 2;
    if (r)
        receive(p, rank_at(p, r - bit), bytes);
    for (bit /= 2; bit; bit /= 2)
        if (r + bit < p->n)
            send(p, rank_at(p, r + bit), bytes);
}

static void reduce(const struct ti_expansion *p)
{
    int64_t r = from_root(p), bytes = p->ev->arg[TI_F_BYTES], bit = 1;

    for (; bit < p->n && !(r & bit); bit *= 2)
        if (r + bit < p->n)
            receive(p, rank_at(p, r + bit), bytes);
    if (r)
        send(p, rank_at(p, r - bit), bytes);
}

/* Recursive doubling needs a power of two.  The first 2 * `extra` ranks form pairs: the even rank
 * hands its data to the odd one, which takes part for both. */
static void allreduce(const struct ti_expansion *p)
{
    int64_t bytes = p->ev->arg[TI_F_BYTES], power = 1, extra, r;
    bool paired, idle;

    while (power * 2 <= p->n)
        power *= 2;
    extra = p->n - power;
    paired = p->me < 2 * extra;
    idle = paired && p->me % 2 == 0;
    if (idle) {
        send(p, p->me + 1, bytes);
        receive(p, p->me + 1, bytes);
        return;
    }
    if (paired)
        receive(p, p->me - 1, bytes);
    r = paired ? p->me / 2 : p->me - extra;
    for (int64_t bit = 1; bit < power; bit *= 2) {
        int64_t other = r ^ bit, rank = other < extra ? 2 * other + 1 : other + extra;

        exchange(p, rank, bytes, rank, bytes);
    }
    if (paired)
        send(p, p->me - 1, bytes);
}

static void scatter(const struct ti_expansion *p)
{
    int64_t root = p->ev->arg[TI_F_ROOT];

    if (p->me != root) {
        receive(p, root, p->ev->arg[TI_F_BYTES2]);
        return;
    }
    for (int64_t i = 0; i < p->n; i++)
        if (i != root)
            send(p, i, given(p->ev, i));
}

static void gather(const struct ti_expansion *p)
{
    int64_t root = p->ev->arg[TI_F_ROOT];

    if (p->me != root) {
        send(p, root, p->ev->arg[TI_F_BYTES]);
        return;
    }
    for (int64_t i = 0; i < p->n; i++)
        if (i != root)
            receive(p, i, taken(p->ev, i));
}

static void allgather(const struct ti_expansion *p)
{
    int64_t right = (p->me + 1) % p->n, left = (p->me + p->n - 1) % p->n, block = p->me;

    for (int64_t k = 1; k < p->n; k++) {
        int64_t next = (block + p->n - 1) % p->n;

        exchange(p, right, taken(p->ev, block), left, taken(p->ev, next));
        block = next;
    }
}

/* A reduce_scatter receives from each rank as many bytes as its own block has. */
static void pairwise(const struct ti_expansion *p)
{
    bool reduces = (p->ev->mask & TI_M_REDOP) != 0;

    for (int64_t k = 1; k < p->n; k++) {
        int64_t to = (p->me + k) % p->n, from = (p->me - k + p->n) % p->n;

        exchange(p, to, given(p->ev, to), from, reduces ? given(p->ev, p->me) : taken(p->ev, from));
    }
}

static void chain(const struct ti_expansion *p)
{
    int64_t bytes = p->ev->arg[TI_F_BYTES];

    if (p->me > 0)
        receive(p, p->me - 1, bytes);
    if (p->me + 1 < p->n)
        send(p, p->me + 1, bytes);
}

void ti_expand(const struct ti_expansion *p)
{
    uint32_t op = p->ev->op;
    bool reduces = (p->ev->mask & TI_M_REDOP) != 0;
    bool blocks = ti_op_is(op, TI_T_BLOCKS) || ti_op_is(op, TI_T_COUNTS_GIVEN);

    if (ti_op_is(op, TI_T_FROM_ROOT))
        (blocks ? scatter : bcast)(p);
    else if (ti_op_is(op, TI_T_TO_ROOT))
        (reduces ? reduce : gather)(p);
    else if (ti_op_base(op) == TI_OP_SCAN || ti_op_base(op) == TI_OP_EXSCAN)
        chain(p);
    else if (blocks)
        pairwise(p);
    else if (reduces)
        allreduce(p);
    else if (p->ev->mask & TI_M_BYTES)
        allgather(p);
    else
        barrier(p);
}
