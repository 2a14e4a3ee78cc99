#include "check/collectives.h"

#define BLOCK_MAX (INT64_C(1) << 38) /* bytes of a block: sums of blocks stay sums */

enum ti_field ti_counts_in(uint32_t op, int v)
{
    bool sent = op == TI_OP_SCATTERV || op == TI_OP_ALLTOALLV || op == TI_OP_REDUCE_SCATTER;

    return v == 0 && sent ? TI_F_ESIZE : TI_F_ESIZE2;
}

const char *ti_collective_fault(const struct ti_event *ev, const struct ti_group *g, int64_t me)
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

uint64_t ti_signature(const struct ti_event *ev)
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

bool ti_joins_all(uint32_t op)
{
    return ti_op_collective(op) || (op >= TI_OP_COMM_DUP && op <= TI_OP_COMM_FREE);
}

static uint64_t block(uint64_t nth, int64_t from, int64_t to, int64_t bytes)
{
    uint64_t h = ti_hash_word(TI_HASH_START, nth);

    h = ti_hash_word(h, (uint64_t)from << 32 | (uint64_t)to);
    h = ti_hash_word(h, (uint64_t)bytes);
    return ti_hash_word(ti_hash_word(h, 0), 0); /* it is added up: mix it well */
}

static void give(const struct ti_sums *s, uint64_t nth, int64_t from, int64_t to, int64_t bytes)
{
    s->given[s->each ? from : 0] += block(nth, from, to, bytes);
}

static void expect(const struct ti_sums *s, uint64_t nth, int64_t from, int64_t to, int64_t bytes)
{
    s->expected[s->each ? from : 0] += block(nth, from, to, bytes);
}

void ti_add_blocks(const struct ti_sums *s, uint64_t nth, const struct ti_event *ev, int64_t me,
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
