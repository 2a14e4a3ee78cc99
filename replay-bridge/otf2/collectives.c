/*
 * The sizes of a collective.  A record has what the rank gives and takes in all: a member of an
 * allreduce of b bytes on n ranks gives and takes n * b, or (n - 1) * b with MPI_IN_PLACE.
 */
#include "replay-bridge/otf2/internal.h"

/* A collective while its event is made. */
struct coll {
    struct ti__otf2_rank *r;
    const struct ti__otf2_record *c;
    struct ti_event *ev;
    int64_t n, me; /* size of the communicator, and our rank in it */
    bool root;     /* we are the root */
};

static ti_status odd(const struct coll *k)
{
    return ti__otf2_wrong(k->r, "%s on %lld ranks cannot give %lld bytes and take %lld",
                          k->r->call->name, (long long)k->n, (long long)k->c->sent,
                          (long long)k->c->received);
}

static void vector(const struct coll *k, int v)
{
    struct ti__otf2_rank *r = k->r;

    r->vec[v] = ti_grow(r->vec[v], &r->vec_cap[v], (size_t)k->n, sizeof *r->vec[v]);
    k->ev->vec[v] = (struct ti_vec){r->vec[v], 8, k->n};
}

/* Set a side of the event: its bytes, and an unknown element size. */
static void put_side(const struct coll *k, int64_t bytes, bool second)
{
    ti__otf2_put(k->ev, second ? TI_F_BYTES2 : TI_F_BYTES, bytes);
    ti__otf2_put(k->ev, second ? TI_F_ESIZE2 : TI_F_ESIZE, 1);
}

/* The block of a total: one for each member, or with MPI_IN_PLACE, for each other one.  False if
 * the total has no such block. */
static bool block(const struct coll *k, int64_t total, int64_t *out)
{
    int64_t parts = total % k->n == 0 ? k->n : k->n - 1;

    *out = parts ? total / parts : 0;
    return *out * parts == total;
}

/* ---- with one block size ---- */

/* The block of a collective with a root; `own` of this rank, `all` of all ranks, at the root.  With
 * MPI_IN_PLACE the root has nothing of its own. */
static ti_status rooted(const struct coll *k, int64_t own, int64_t all, int64_t *mine,
                        int64_t *of_all)
{
    int64_t parts = own ? k->n : k->n - 1;

    *mine = *of_all = own;
    if (!k->root || !all)
        return TI_OK;
    if (!parts || all % parts)
        return odd(k);
    *of_all = all / parts;
    if (!own)
        *mine = *of_all;
    return TI_OK;
}

/* A rank gives its block to those after it and takes those of ranks before it; `own`: its own block
 * counts as given and taken, too. */
static ti_status scan(const struct coll *k, bool own)
{
    int64_t parts = own ? k->n + 1 : k->n - 1;
    int64_t all = k->c->sent + k->c->received;

    put_side(k, parts ? all / parts : 0, false);
    return (parts ? all % parts : all) ? odd(k) : TI_OK;
}

/* Collectives in which all blocks have one size. */
static ti_status uniform(const struct coll *k)
{
    const struct ti__otf2_record *c = k->c;
    int64_t one = 0, two = 0;
    ti_status st = TI_OK;

    switch (c->op) {
    case TI_OP_BARRIER:
        return TI_OK;
    case TI_OP_BCAST:
        one = c->received;
        if (!one && !block(k, c->sent, &one))
            return odd(k);
        break;
    case TI_OP_REDUCE:
    case TI_OP_GATHER:
        st = rooted(k, c->sent, c->received, &one, &two);
        break;
    case TI_OP_SCATTER:
        st = rooted(k, c->received, c->sent, &two, &one);
        break;
    case TI_OP_EXSCAN:
        return scan(k, false);
    default:
        if (!block(k, c->sent, &one) || !block(k, c->received, &two))
            return odd(k);
    }
    put_side(k, one, false);
    if (ti_op_info(c->op)->fields & TI_M_BYTES2)
        put_side(k, two, true);
    return st;
}

/* ---- with counts ---- */

bool ti__otf2_is_shared(uint32_t op)
{
    return ti_op_is(op, TI_T_COLLECTIVE) &&
           (ti_op_is(op, TI_T_COUNTS_GIVEN) || ti_op_is(op, TI_T_COUNTS_TAKEN) || op == TI_OP_SCAN);
}

static int64_t side(const struct ti__otf2_share *s, bool sent)
{
    return sent ? s->sent : s->received;
}

/* Set vector 1 to the shares of all members, if the totals on one side (`sent`) are `parts` times
 * these shares.  The other side of this rank has the sum of the shares.  If `parts` is not n, its
 * own share is not in that sum. */
static bool spread(const struct coll *k, const struct ti__otf2_share *s, bool sent, int64_t parts)
{
    int64_t *counts = k->r->vec[0];
    __int128 sum = 0;

    for (int64_t i = 0; i < k->n; i++) {
        int64_t total = side(&s[i], sent);

        if (parts ? total % parts : total)
            return false;
        counts[i] = parts ? total / parts : 0;
        sum += counts[i];
    }
    return sum - (parts == k->n ? 0 : counts[k->me]) == side(&s[k->me], !sent);
}

/* Gatherv and scatterv: the share of each rank is known from its own record. */
static ti_status rooted_counts(const struct coll *k, const struct ti__otf2_share *s, bool gather)
{
    __int128 sum = 0;

    put_side(k, side(&s[k->me], gather), !gather);
    if (!k->root)
        return TI_OK;
    ti__otf2_put(k->ev, gather ? TI_F_ESIZE2 : TI_F_ESIZE, 1);
    vector(k, 0);
    for (int64_t i = 0; i < k->n; i++)
        sum += k->r->vec[0][i] = side(&s[i], gather);
    return sum == side(&s[k->me], !gather) ? TI_OK : odd(k);
}

/* An alltoallv: the bytes between two members are in proportion to all that the one gives and all
 * that the other takes, rounded so that sums stay. */
static ti_status apportion(const struct coll *k, const struct ti__otf2_share *s)
{
    unsigned __int128 given = 0, taken = 0, all = 0, check = 0, from, to;

    vector(k, 0);
    vector(k, 1);
    ti__otf2_put(k->ev, TI_F_ESIZE, 1);
    ti__otf2_put(k->ev, TI_F_ESIZE2, 1);
    for (int64_t i = 0; i < k->n; i++) {
        all += (uint64_t)s[i].sent;
        check += (uint64_t)s[i].received;
        given += i < k->me ? (uint64_t)s[i].sent : 0;
        taken += i < k->me ? (uint64_t)s[i].received : 0;
    }
    if (all != check || all >= (unsigned __int128)1 << 63)
        return odd(k);
    if (all)
        ti__otf2_note(k->r->im, TI__OTF2_APPORTIONED,
                      "the trace does not say how many bytes ranks exchange in MPI_Alltoallv; they "
                      "are estimated by what each rank sends and receives in all");
    from = to = 0;
    for (int64_t i = 0; i < k->n; i++) {
        unsigned __int128 more_to = to + (uint64_t)s[i].received, d = all ? all : 1;
        unsigned __int128 more_from = from + (uint64_t)s[i].sent;
        unsigned __int128 mine = given + (uint64_t)s[k->me].sent;
        unsigned __int128 ours = taken + (uint64_t)s[k->me].received;
        int64_t out = (int64_t)(mine * more_to / d - given * more_to / d) -
                      (int64_t)(mine * to / d - given * to / d);
        int64_t in = (int64_t)(more_from * ours / d - from * ours / d) -
                     (int64_t)(more_from * taken / d - from * taken / d);

        k->r->vec[0][i] = out > 0 ? out : 0; /* below 0 where less than a byte is expected */
        k->r->vec[1][i] = in > 0 ? in : 0;
        to = more_to;
        from = more_from;
    }
    return TI_OK;
}

/* Collectives for which the records of all members are needed. */
static ti_status shared(const struct coll *k)
{
    const struct ti__otf2_comm *comm = &k->r->im->comm[k->c->comm];
    const struct ti__otf2_share self = {k->c->sent, k->c->received}, *s = &self;
    bool sent = k->c->op == TI_OP_ALLGATHERV;

    if (comm->member && k->r->calls[k->c->comm] >= comm->ncalls)
        return odd(k); /* the file changed since the survey */
    if (comm->member)
        s = &comm->share[k->r->calls[k->c->comm]++ * comm->size];
    switch (k->c->op) {
    case TI_OP_GATHERV:
    case TI_OP_SCATTERV:
        return rooted_counts(k, s, k->c->op == TI_OP_GATHERV);
    case TI_OP_ALLTOALLV:
    case TI_OP_ALLTOALLW:
        return apportion(k, s);
    case TI_OP_SCAN: /* with MPI_IN_PLACE, the first rank takes nothing */
        return scan(k, s->received > 0);
    default: /* allgatherv, reduce_scatter */
        vector(k, 0);
        if (!spread(k, s, sent, k->n) && !spread(k, s, sent, k->n - 1))
            return odd(k);
        ti__otf2_put(k->ev, TI_F_ESIZE, 1);
        if (sent) {
            ti__otf2_put(k->ev, TI_F_BYTES, k->r->vec[0][k->me]);
            ti__otf2_put(k->ev, TI_F_ESIZE2, 1);
        }
        return TI_OK;
    }
}

ti_status ti__otf2_collective(struct ti__otf2_rank *r, const struct ti__otf2_record *c,
                              struct ti_event *ev)
{
    struct coll k = {r, c, ev, r->im->comm[c->comm].size, r->me[c->comm], false};
    uint32_t fields = ti_op_info(c->op)->fields;

    ti__otf2_put(ev, TI_F_COMM, r->number[c->comm]);
    if (fields & TI_M_REDOP)
        ti__otf2_put(ev, TI_F_REDOP, TI_REDOP_NULL);
    if (fields & TI_M_ROOT) {
        if (c->root < 0 || c->root >= k.n)
            return ti__otf2_wrong(r, "%s on %lld ranks has root %lld", r->call->name,
                                  (long long)k.n, (long long)c->root);
        ti__otf2_put(ev, TI_F_ROOT, c->root);
        k.root = c->root == k.me;
    }
    return ti__otf2_is_shared(c->op) ? shared(&k) : uniform(&k);
}
