#include "sound/collectives.h"

#include "sound/series.h"

#define BLOCK_MAX (INT64_C(1) << 38) /* bytes of a block, so that sums do not overflow */

/* ---- who takes part ---- */

static int64_t arg(const struct ti_coll_call *c, enum ti_field f)
{
    return c->ev->arg[f];
}

static bool is_inter(const struct ti_group *g)
{
    return g->first > 0;
}

static bool is(const struct ti_coll_call *c, uint32_t traits)
{
    return ti_op_is(c->ev->op, traits);
}

/* Whether the call is a reduction of which all ranks get the result, or a share of it. */
static bool reduces_for_all(const struct ti_coll_call *c)
{
    return (ti_op_info(c->ev->op)->fields & TI_M_REDOP) && !is(c, TI_T_TO_ROOT);
}

static bool is_rooted(const struct ti_coll_call *c)
{
    return is(c, TI_T_TO_ROOT) || is(c, TI_T_FROM_ROOT);
}

/* Size of this rank's own group. */
static int64_t own_size(const struct ti_coll_call *c, const struct ti_group *g)
{
    return g->size - (is_inter(g) ? c->on.npeers : 0);
}

static bool is_root(const struct ti_coll_call *c, const struct ti_group *g)
{
    return is_inter(g) ? arg(c, TI_F_ROOT) == TI_SELF : arg(c, TI_F_ROOT) == c->on.me;
}

/* Whether this rank exchanges data with the root. */
static bool has_root(const struct ti_coll_call *c)
{
    return arg(c, TI_F_ROOT) >= 0;
}

static int64_t root_of(const struct ti_coll_call *c)
{
    return c->on.peers + arg(c, TI_F_ROOT);
}

/* The members that a rank sends blocks to, or receives blocks from. */
struct partners {
    int64_t n, base;
    const int64_t *rank; /* NULL: all members from `base` on */
};

static int64_t partner(const struct partners *p, int64_t i)
{
    return p->rank ? p->rank[i] : p->base + i;
}

static struct partners sources(const struct ti_coll_call *c)
{
    if (is(c, TI_T_NEIGHBOURS))
        return (struct partners){c->topology->nsources, 0, c->topology->source};
    return (struct partners){c->on.npeers, c->on.peers, NULL};
}

static struct partners destinations(const struct ti_coll_call *c)
{
    if (is(c, TI_T_NEIGHBOURS))
        return (struct partners){c->topology->ndestinations, 0, c->topology->destination};
    return (struct partners){c->on.npeers, c->on.peers, NULL};
}

/* ---- the signature ---- */

static uint64_t add(uint64_t h, const struct ti_coll_call *c, enum ti_field f)
{
    return ti_hash_word(h, (uint64_t)arg(c, f));
}

static int64_t total(const struct ti_coll_call *c)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < c->ev->vec[0].len; i++)
        sum += ti_vec_at(&c->ev->vec[0], i);
    return sum * arg(c, TI_F_ESIZE);
}

static uint64_t add_vector(uint64_t h, const struct ti_vec *vec, int64_t unit)
{
    for (int64_t i = 0; i < vec->len; i++)
        h = ti_hash_word(h, (uint64_t)(ti_vec_at(vec, i) * unit));
    return h;
}

/* In an intercommunicator, the calls of the two groups mirror each other.  In a reduction, the
 * total is equal for both groups. */
static uint64_t inter_signature(uint64_t h, const struct ti_coll_call *c, const struct ti_group *g)
{
    bool first = c->on.peers > 0;
    uint64_t bytes = (uint64_t)arg(c, TI_F_BYTES);

    if (is(c, TI_T_MIRRORED)) {
        h = add(h, c, first ? TI_F_BYTES : TI_F_BYTES2);
        return add(h, c, first ? TI_F_BYTES2 : TI_F_BYTES);
    }
    if (!reduces_for_all(c))
        return h;
    if (is(c, TI_T_COUNTS_GIVEN))
        bytes = (uint64_t)total(c);
    else if (is(c, TI_T_BLOCKS))
        bytes *= (uint64_t)own_size(c, g);
    return ti_hash_word(add(h, c, TI_F_REDOP), bytes);
}

/* The fields and vectors that must be equal on all members. */
static uint64_t same_signature(uint64_t h, const struct ti_coll_call *c)
{
    int64_t unit = is(c, TI_T_COUNTS_GIVEN) ? arg(c, TI_F_ESIZE) : 1;

    for (uint32_t same = ti_op_info(c->ev->op)->same; same; same &= same - 1)
        h = add(h, c, (enum ti_field)__builtin_ctz(same));
    for (int v = 0; v < TI_VECS && is(c, TI_T_SAME_VECTORS); v++)
        h = add_vector(h, &c->ev->vec[v], unit);
    return h;
}

uint64_t ti_signature(const struct ti_coll_call *c, const struct ti_group *g)
{
    uint64_t h = ti_hash_word(TI_HASH_START, c->ev->op);

    return ti_op_collective(c->ev->op) && is_inter(g) ? inter_signature(h, c, g)
                                                      : same_signature(h, c);
}

/* ---- faults ---- */

enum ti_field ti_counts_in(uint32_t op, int v)
{
    return v == 0 && ti_op_is(op, TI_T_COUNTS_GIVEN) ? TI_F_ESIZE : TI_F_ESIZE2;
}

static const char *root_fault(const struct ti_coll_call *c, const struct ti_group *g)
{
    int64_t root = arg(c, TI_F_ROOT);

    if (!(c->ev->mask & TI_M_ROOT) || (is_inter(g) && (root == TI_SELF || root == TI_NULL)))
        return NULL;
    return root < 0 || root >= c->on.npeers ? "its root is no rank of the communicator" : NULL;
}

static const char *size_fault(const struct ti_coll_call *c, const struct ti_group *g)
{
    uint32_t mask = c->ev->mask;

    if (((mask & TI_M_BYTES) && arg(c, TI_F_BYTES) < 0) ||
        ((mask & TI_M_BYTES2) && arg(c, TI_F_BYTES2) < 0) ||
        ((mask & TI_M_ESIZE) && arg(c, TI_F_ESIZE) < 0) ||
        ((mask & TI_M_ESIZE2) && arg(c, TI_F_ESIZE2) < 0))
        return "its size is negative";
    if (is_inter(g))
        return NULL;
    if (is(c, TI_T_NEIGHBOURS) || !(mask & TI_M_BYTES) || !(mask & TI_M_BYTES2))
        return NULL;
    return arg(c, TI_F_BYTES) != arg(c, TI_F_BYTES2) ? "its send and receive sizes differ" : NULL;
}

/* The number of counts that vector `v` must have. */
static int64_t counts_wanted(const struct ti_coll_call *c, const struct ti_group *g, int v)
{
    if (reduces_for_all(c))
        return own_size(c, g);
    if (v == 0 && is(c, TI_T_COUNTS_GIVEN))
        return destinations(c).n;
    return sources(c).n;
}

static const char *vector_fault(const struct ti_coll_call *c, const struct ti_group *g, int v)
{
    const struct ti_vec *vec = &c->ev->vec[v];
    enum ti_field unit = ti_counts_in(c->ev->op, v);
    int64_t most = arg(c, unit) ? BLOCK_MAX / arg(c, unit) : BLOCK_MAX;
    bool wanted = !is_rooted(c) || is_root(c, g);

    if (wanted && vec->len != counts_wanted(c, g, v))
        return "its counts are not one for each rank";
    if (wanted && !(c->ev->mask & 1u << unit))
        return "the size of what it counts is not in the trace";
    for (int64_t i = 0; i < vec->len; i++)
        if (ti_vec_at(vec, i) < 0 || ti_vec_at(vec, i) > most)
            return "one of its counts is out of range";
    return NULL;
}

const char *ti_call_fault(const struct ti_coll_call *c, const struct ti_group *g)
{
    const char *why;

    if (!ti_op_collective(c->ev->op))
        return NULL;
    if (is(c, TI_T_NEIGHBOURS) && !c->topology)
        return "the trace does not say who its neighbours are";
    why = root_fault(c, g);
    if (!why)
        why = size_fault(c, g);
    for (int v = 0; v < TI_VECS && !why; v++)
        if (ti_op_info(c->ev->op)->vec[v][0])
            why = vector_fault(c, g, v);
    return why;
}

/* ---- blocks ---- */

/* One call, and the sums for its blocks. */
struct blocks {
    const struct ti_sums *sums;
    const struct ti_coll_call *c;
};

static uint64_t block(int64_t from, int64_t to, int64_t bytes)
{
    uint64_t h = ti_hash_word(TI_HASH_START, (uint64_t)from << 32 | (uint64_t)to);

    h = ti_hash_word(h, (uint64_t)bytes);
    return ti_series_value(ti_hash_word(ti_hash_word(h, 0), 0)); /* more mixing for the sums */
}

static void give(const struct blocks *b, int64_t to, int64_t bytes)
{
    int64_t me = b->c->on.me;
    uint64_t *sum = &b->sums->given[b->sums->each ? me : 0];

    *sum = ti_series_add(*sum, block(me, to, bytes));
}

static void expect(const struct blocks *b, int64_t from, int64_t bytes)
{
    uint64_t *sum = &b->sums->expected[b->sums->each ? from : 0];

    *sum = ti_series_add(*sum, block(from, b->c->on.me, bytes));
}

/* Bytes of block i: count i of vector `v` times field `f`, or just field `f`. */
static int64_t block_bytes(const struct ti_coll_call *c, int v, enum ti_field f, int64_t i)
{
    return v < 0 ? arg(c, f) : ti_vec_at(&c->ev->vec[v], i) * arg(c, f);
}

static void give_all(const struct blocks *b, int v, enum ti_field f)
{
    struct partners to = destinations(b->c);

    for (int64_t i = 0; i < to.n; i++)
        if (partner(&to, i) >= 0)
            give(b, partner(&to, i), block_bytes(b->c, v, f, i));
}

static void expect_all(const struct blocks *b, int v, enum ti_field f)
{
    struct partners from = sources(b->c);

    for (int64_t i = 0; i < from.n; i++)
        if (partner(&from, i) >= 0)
            expect(b, partner(&from, i), block_bytes(b->c, v, f, i));
}

/* Each rank sends the root field BYTES of its call.  The root expects from each rank field `f` of
 * its own call or, with v >= 0, `f` times that rank's count in vector `v`. */
static void to_root(const struct blocks *b, const struct ti_group *g, int v, enum ti_field f)
{
    if (has_root(b->c))
        give(b, root_of(b->c), arg(b->c, TI_F_BYTES));
    if (is_root(b->c, g))
        expect_all(b, v, f);
}

/* The root sends each rank field `f` of its call or, with v >= 0, `f` times the count in vector `v`.
 * Each rank expects field `mine` of its own call. */
static void from_root(const struct blocks *b, const struct ti_group *g, int v, enum ti_field f,
                      enum ti_field mine)
{
    if (has_root(b->c))
        expect(b, root_of(b->c), arg(b->c, mine));
    if (is_root(b->c, g))
        give_all(b, v, f);
}

void ti_add_blocks(const struct ti_sums *s, const struct ti_coll_call *c, const struct ti_group *g)
{
    const struct blocks b = {s, c};
    bool given = is(c, TI_T_COUNTS_GIVEN), taken = is(c, TI_T_COUNTS_TAKEN);
    enum ti_field gives = given ? TI_F_ESIZE : TI_F_BYTES;
    enum ti_field takes = taken                              ? TI_F_ESIZE2
                          : (c->ev->mask & TI_M_BYTES2) != 0 ? TI_F_BYTES2
                                                             : TI_F_BYTES;
    bool each = given || taken || is(c, TI_T_NEIGHBOURS);

    /* The signature has the sizes of reductions, and of equal blocks within one group. */
    if (reduces_for_all(c) || (!each && !is_inter(g)))
        return;
    if (is(c, TI_T_FROM_ROOT)) {
        from_root(&b, g, given ? 0 : -1, gives, takes);
    } else if (is(c, TI_T_TO_ROOT)) {
        to_root(&b, g, taken ? 0 : -1, takes);
    } else if (each) {
        give_all(&b, given ? 0 : -1, gives);
        expect_all(&b, taken ? ti_op_last_vec(c->ev->op) : -1, takes);
    }
}
