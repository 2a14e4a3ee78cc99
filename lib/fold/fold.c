#include "fold/fold.h"

#include <string.h>

#include "common/order.h"
#include "fold/fold_nodes.h"

/*
 * Limits of the search.  A comparison of parts costs a credit.  Each symbol gives a few, and so
 * does each node that is folded away, so that what does not fold is soon given up.
 */
#define TRIES         128 /* comparisons for one symbol */
#define SYMBOL_CREDIT 4
#define FOLD_CREDIT   8
#define MOST_CREDIT   (1 << 16)

#define BASE UINT64_C(0x9e3779b97f4a7c15) /* of hashes of lists */

/* A node of the window.  Places are numbered from 1. */
struct place {
    struct ti_fold_node *node;
    uint64_t hash;   /* of the window up to here, as of a node */
    uint32_t length; /* the same */
    uint32_t symbol[TI_TAIL];
    uint32_t slot, before; /* chain of places with the same symbols; before: 0 is none */
};

#define NO_SLOT UINT32_MAX
#define POWERS  64

struct ti_fold {
    uint32_t window;
    struct place *list; /* the window; list[0] is no place, and all 0 */
    uint32_t n;
    uint64_t low[POWERS], high[POWERS]; /* powers i and POWERS * i of BASE */
    struct ti_fold_node *done, **done_end; /* nodes before it */
    uint64_t ndone;
    uint32_t *chain; /* by slot: the last place; 0: none */
    uint32_t slots;  /* power of two */
    uint64_t credit;
    struct ti_node_store nodes;
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/* ------------------------------------------------------------------ window -- */

static void make_powers(struct ti_fold *f)
{
    f->low[0] = f->high[0] = 1;
    for (int i = 1; i < POWERS; i++)
        f->low[i] = f->low[i - 1] * BASE;
    for (int i = 1; i < POWERS; i++)
        f->high[i] = f->high[i - 1] * f->low[POWERS - 1] * BASE;
}

static uint64_t large_power(const struct ti_fold *f, uint32_t n)
{
    uint64_t result = f->low[n % POWERS], square = f->high[POWERS - 1] * f->high[1];

    n /= POWERS;
    for (result *= f->high[n % POWERS], n /= POWERS; n; n /= 2, square *= square)
        if (n & 1)
            result *= square;
    return result;
}

static inline uint64_t power(const struct ti_fold *f, uint32_t n)
{
    return __builtin_expect(n < POWERS, 1) ? f->low[n] : large_power(f, n);
}

/* The length and the hash of the nodes after a place. */
static uint32_t tail_length(const struct ti_fold *f, uint32_t place)
{
    return f->list[f->n].length - f->list[place].length;
}

static uint64_t part_hash(const struct ti_fold *f, uint32_t place, uint32_t last)
{
    const struct place *a = &f->list[place], *b = &f->list[last];

    return b->hash - a->hash * power(f, b->length - a->length);
}

static void push(struct ti_fold *f, struct ti_fold_node *node)
{
    struct place *p = &f->list[++f->n], *before = p - 1;
    uint32_t own = node->length < TI_TAIL ? node->length : TI_TAIL;
    uint64_t hash = 1;

    p->node = node;
    p->length = before->length + node->length;
    p->hash = before->hash * power(f, node->length) + node->hash;
    for (uint32_t i = 0; i < TI_TAIL; i++) {
        p->symbol[i] = i + own < TI_TAIL ? before->symbol[i + own] : node->tail[i];
        hash = mix(hash, p->symbol[i]);
    }
    p->slot = p->length < TI_TAIL ? NO_SLOT : (uint32_t)(hash >> 20) & (f->slots - 1);
    if (p->slot != NO_SLOT) {
        p->before = f->chain[p->slot];
        f->chain[p->slot] = f->n;
    }
}

static struct ti_fold_node *pop(struct ti_fold *f)
{
    const struct place *p = &f->list[f->n--];

    if (p->slot != NO_SLOT)
        f->chain[p->slot] = p->before;
    return p->node;
}

/* Link the nodes of places after `place` up to `last`; returns the first one. */
static struct ti_fold_node *link_nodes(struct ti_fold *f, uint32_t place, uint32_t last)
{
    for (uint32_t i = place + 1; i < last; i++)
        f->list[i].node->next = f->list[i + 1].node;
    f->list[last].node->next = NULL;
    return f->list[place + 1].node;
}

/* Append the first nodes of the window to those that are done. */
static void finish_nodes(struct ti_fold *f, uint32_t n)
{
    if (n == 0)
        return;
    *f->done_end = link_nodes(f, 0, n);
    f->done_end = &f->list[n].node->next;
    f->ndone += n;
}

/* Move the older half of the window to the nodes that are done. */
static void make_room(struct ti_fold *f)
{
    uint32_t n = f->n, half = n / 2;

    finish_nodes(f, half);
    while (f->n > 0)
        pop(f);
    for (uint32_t i = half + 1; i <= n; i++)
        push(f, f->list[i].node);
}

/* ----------------------------------------------------------------- folding -- */

/* Remove the nodes after a place, and append them to the body of `loop` as a trip. */
static void add_trip(struct ti_fold *f, struct ti_fold_node *loop, uint32_t place)
{
    ti__nodes_append(&f->nodes, loop, link_nodes(f, place, f->n));
    for (; f->n > place; f->credit += FOLD_CREDIT)
        ti__node_drop(&f->nodes, pop(f));
    loop->trips++;
}

/* Replace the nodes after place `a` by a loop: those after place `b` are its second trip.  False,
 * and nothing changes, when memory is short. */
static bool new_loop(struct ti_fold *f, uint32_t a, uint32_t b)
{
    struct ti_fold_node *loop = ti__loop_new(&f->nodes);

    if (!loop || !ti__node_add_arrival(&f->nodes, f->list[a + 1].node))
        return false;
    loop->hash = part_hash(f, a, b);
    loop->length = f->list[b].length - f->list[a].length;
    memcpy(loop->tail, f->list[b].symbol, sizeof loop->tail);
    loop->child = link_nodes(f, a, b);
    loop->last = f->list[b].node;
    loop->nchildren = b - a;
    loop->trips = 1;
    add_trip(f, loop, b);
    while (f->n > a)
        pop(f);
    push(f, loop);
    return true;
}

/* Whether lists can become one.  What was compared in vain costs credits, too. */
static bool nests(struct ti_fold *f, const struct ti_fold_node *to, const struct ti_fold_node *from,
                  uint32_t length, int depth)
{
    if (ti__nodes_nest(to, from, length, depth))
        return true;
    f->credit -= length < f->credit ? length : f->credit;
    return false;
}

/* The innermost loop that ends with a place and of which the nodes after that are a trip. */
static struct ti_fold_node *loop_before(struct ti_fold *f, uint32_t place)
{
    uint32_t length = tail_length(f, place);
    struct ti_fold_node *found = NULL;
    int depth = 1, at = 0;

    for (struct ti_fold_node *loop = f->list[place].node; loop->child; loop = loop->last, depth++) {
        if (loop->length == length && loop->hash == part_hash(f, place, f->n)) {
            found = loop;
            at = depth;
        }
    }
    if (found && !nests(f, found->child, link_nodes(f, place, f->n), length, at))
        return NULL;
    return found;
}

/* The place before the part up to `b` that equals the nodes after `b`; `b` if there is none. */
static uint32_t pair_before(struct ti_fold *f, uint32_t b)
{
    uint32_t length = tail_length(f, b), before;
    uint32_t a;

    if (f->list[b].length < length)
        return b;
    before = f->list[b].length - length;
    if (f->n - b <= b && f->list[b - (f->n - b)].length == before)
        a = b - (f->n - b);
    else
        TI_FIRST(a, 0, b, f->list[a].length < before);
    if (f->list[a].length != before || part_hash(f, a, b) != part_hash(f, b, f->n) ||
        !nests(f, link_nodes(f, a, b), link_nodes(f, b, f->n), length, 1))
        return b;
    return a;
}

/* Fold the nodes after a place, if they equal what ends there. */
static bool try_fold(struct ti_fold *f, uint32_t place)
{
    struct ti_fold_node *loop;
    uint32_t before;

    if (f->list[place].symbol[TI_TAIL - 1] != f->list[f->n].symbol[TI_TAIL - 1])
        return false;
    loop = loop_before(f, place);
    if (loop) {
        add_trip(f, loop, place);
        return true;
    }
    before = pair_before(f, place);
    return before < place && new_loop(f, before, place);
}

/* Fold the end of the list once, by the shortest part; false if nothing is to be folded. */
static bool fold_once(struct ti_fold *f)
{
    uint32_t place = f->n;

    if ((f->n > 1 && try_fold(f, f->n - 1)) || (f->n > 2 && try_fold(f, f->n - 2)))
        return true;
    if (f->list[place].slot == NO_SLOT)
        return false;
    for (int tries = 0; tries < TRIES && f->credit > 0; tries++) {
        place = f->list[place].before;
        if (place == 0)
            return false;
        f->credit--;
        if (place + 2 < f->n && try_fold(f, place))
            return true;
    }
    return false;
}

void ti_fold_add(struct ti_fold *f, uint32_t symbol, const int64_t *volumes, const int64_t *fields,
                 uint32_t nfields)
{
    struct ti_fold_node *leaf = NULL;

    if (!ti_fold_no_memory(f))
        leaf = ti__leaf_new(&f->nodes, f->nodes.nvolumes + nfields);
    if (!leaf)
        return;
    leaf->symbol = leaf->tail[TI_TAIL - 1] = symbol;
    leaf->hash = mix(1, symbol);
    leaf->length = 1;
    leaf->arrivals = 1;
    for (uint32_t i = 0; i < f->nodes.nvolumes; i++)
        ti_column_add(&f->nodes.pool, &leaf->column[i], (uint64_t)volumes[i]);
    for (uint32_t i = 0; i < nfields; i++)
        ti_column_add(&f->nodes.pool, &leaf->column[f->nodes.nvolumes + i], (uint64_t)fields[i]);
    if (f->n == f->window)
        make_room(f);
    push(f, leaf);
    f->credit += SYMBOL_CREDIT;
    if (f->credit > MOST_CREDIT)
        f->credit = MOST_CREDIT;
    while (fold_once(f))
        ;
}

/* -------------------------------------------------------------------- ends -- */

static uint32_t slots_of(uint32_t window)
{
    uint32_t slots = 64;

    while (slots < 2 * window)
        slots *= 2;
    return slots;
}

struct ti_fold *ti_fold_new(uint32_t window, uint32_t nvolumes)
{
    struct ti_pool pool = {.at = NULL};
    uint32_t most = window < 8 ? 8 : window, slots = slots_of(most);
    struct ti_fold *f = ti_pool_take(&pool, sizeof *f);
    struct place *list = ti_pool_take(&pool, (most + 1) * sizeof *list);
    uint32_t *chain = ti_pool_take(&pool, slots * sizeof *chain);

    if (pool.no_memory) {
        ti_pool_free(&pool);
        return NULL;
    }
    f->window = most;
    f->slots = slots;
    f->list = list;
    f->chain = chain;
    f->nodes.nvolumes = nvolumes;
    f->nodes.pool = pool;
    f->done_end = &f->done;
    make_powers(f);
    return f;
}

bool ti_fold_no_memory(const struct ti_fold *f)
{
    return f->nodes.pool.no_memory;
}

/* Of the window, only links are set, which folding sets anew. */
const struct ti_fold_node *ti_fold_shape(struct ti_fold *f, uint64_t *n)
{
    *n = f->ndone + f->n;
    if (f->n)
        *f->done_end = link_nodes(f, 0, f->n);
    return f->done;
}

static void end_passes(struct ti_fold *f, struct ti_fold_node *node)
{
    for (; node; node = node->next) {
        if (node->child) {
            ti_column_add(&f->nodes.pool, node->column, node->trips);
            node->trips = 0;
            end_passes(f, node->child);
        }
    }
}

void ti_fold_end(struct ti_fold *f)
{
    finish_nodes(f, f->n);
    f->n = 0;
    end_passes(f, f->done);
}

uint64_t ti_fold_nodes(const struct ti_fold *f)
{
    return f->nodes.n;
}

void ti_fold_free(struct ti_fold *f)
{
    struct ti_pool own;

    if (!f)
        return;
    own = f->nodes.pool; /* which `f` is in */
    ti_pool_free(&own);
}
