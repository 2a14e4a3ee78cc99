#include "formats/folded/fold.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

/*
 * Limits of the search.  A comparison of parts costs a credit.  Each symbol gives a few, and so
 * does each node that is folded away, so that what does not fold is soon given up.
 */
#define TRIES         128 /* comparisons for one symbol */
#define SYMBOL_CREDIT 4
#define FOLD_CREDIT   8
#define MOST_CREDIT   (1 << 16)

#define DEPTH 48 /* of loops */

#define BASE UINT64_C(0x9e3779b97f4a7c15) /* of hashes of lists */

#define POOLED 8 /* columns of nodes with up to so many are kept for the next node */

/* A node of the window.  Places are numbered from 1. */
struct place {
    struct ti_node *node;
    uint64_t hash, length; /* of the window up to here, as of a node */
    uint32_t symbol[TI_TAIL];
    uint32_t slot, before; /* chain of places with the same symbols; before: 0 is none */
};

#define NO_SLOT UINT32_MAX

struct ti_fold {
    uint32_t window, nvolumes;
    struct place *list; /* the window; list[0] is no place, and all 0 */
    uint32_t n;
    uint64_t *power; /* of BASE */
    size_t npowers, powers_cap;
    struct ti_node *done, **done_end; /* nodes before it */
    uint64_t ndone;
    uint32_t *chain; /* by slot: the last place; 0: none */
    uint32_t slots;  /* power of two */
    uint64_t credit;
    uint64_t nodes;
    struct ti_node *free_node, *blocks;         /* linked by `next` */
    struct ti_column *free_columns[POOLED + 1]; /* linked by `run` */
    struct ti_column *column_blocks;
};

static void *new_array(size_t n, size_t size)
{
    size_t cap = 0;

    return ti_grow(NULL, &cap, n, size);
}

/* ------------------------------------------------------------------- nodes -- */

/* Memory is taken in blocks of so many nodes or columns, of which the first links the blocks. */
#define BLOCK 64

static void more_columns(struct ti_fold *f, uint32_t n)
{
    struct ti_column *block = new_array(BLOCK, sizeof *block);

    block->run = (struct ti_run *)(void *)f->column_blocks;
    f->column_blocks = block;
    for (uint32_t i = 1; i + n <= BLOCK; i += n) {
        block[i].run = (struct ti_run *)(void *)f->free_columns[n];
        f->free_columns[n] = &block[i];
    }
}

static struct ti_column *new_columns(struct ti_fold *f, uint32_t n)
{
    struct ti_column *c;

    if (n > POOLED)
        return new_array(n, sizeof *c);
    if (!f->free_columns[n])
        more_columns(f, n);
    c = f->free_columns[n];
    f->free_columns[n] = (struct ti_column *)(void *)c->run;
    c->run = NULL;
    return c;
}

/* Release columns that are all empty. */
static void drop_columns(struct ti_fold *f, struct ti_column *c, uint32_t n)
{
    if (n > POOLED) {
        free(c);
        return;
    }
    c->run = (struct ti_run *)(void *)f->free_columns[n];
    f->free_columns[n] = c;
}

static void more_nodes(struct ti_fold *f)
{
    struct ti_node *block = new_array(BLOCK, sizeof *block);

    block->next = f->blocks;
    f->blocks = block;
    for (int i = 1; i < BLOCK; i++) {
        block[i].next = f->free_node;
        f->free_node = &block[i];
    }
}

static struct ti_node *new_node(struct ti_fold *f, uint32_t ncolumns)
{
    struct ti_node *node;

    if (!f->free_node)
        more_nodes(f);
    node = f->free_node;
    f->free_node = node->next;
    *node = (struct ti_node){.ncolumns = ncolumns, .column = new_columns(f, ncolumns)};
    f->nodes++;
    return node;
}

/* Release a node, and what is below it. */
static void drop_node(struct ti_fold *f, struct ti_node *node)
{
    for (struct ti_node *child = node->child, *next; child; child = next) {
        next = child->next;
        drop_node(f, child);
    }
    for (uint32_t i = 0; i < node->ncolumns; i++)
        ti_column_free(&node->column[i]);
    drop_columns(f, node->column, node->ncolumns);
    node->next = f->free_node;
    f->free_node = node;
    f->nodes--;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/* ------------------------------------------------------------------ window -- */

static uint64_t power(struct ti_fold *f, uint64_t n)
{
    if (n < f->npowers)
        return f->power[n];
    f->power = ti_grow(f->power, &f->powers_cap, n + 1, sizeof *f->power);
    for (; f->npowers < f->powers_cap; f->npowers++)
        f->power[f->npowers] = f->npowers ? f->power[f->npowers - 1] * BASE : 1;
    return f->power[n];
}

/* The length and the hash of the nodes after a place. */
static uint64_t tail_length(const struct ti_fold *f, uint32_t place)
{
    return f->list[f->n].length - f->list[place].length;
}

static uint64_t part_hash(struct ti_fold *f, uint32_t place, uint32_t last)
{
    const struct place *a = &f->list[place], *b = &f->list[last];

    return b->hash - a->hash * power(f, b->length - a->length);
}

static void push(struct ti_fold *f, struct ti_node *node)
{
    struct place *p = &f->list[++f->n], *before = p - 1;
    uint32_t own = node->length < TI_TAIL ? (uint32_t)node->length : TI_TAIL;
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

static struct ti_node *pop(struct ti_fold *f)
{
    const struct place *p = &f->list[f->n--];

    if (p->slot != NO_SLOT)
        f->chain[p->slot] = p->before;
    return p->node;
}

/* Link the nodes of places after `place` up to `last`; returns the first one. */
static struct ti_node *link_nodes(struct ti_fold *f, uint32_t place, uint32_t last)
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

/* The leaf that a node begins with; *loops is the number of loops around it. */
static struct ti_node *first_leaf(struct ti_node *node, uint32_t *loops)
{
    for (*loops = 0; node->child; ++*loops)
        node = node->child;
    return node;
}

static void append_columns(struct ti_column *to, const struct ti_column *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ti_column_append(&to[i], &from[i]);
}

/* Give the first leaf of a node another arrival: from the end of a loop around that node.  Its
 * columns are empty. */
static void add_arrival(struct ti_fold *f, struct ti_node *node)
{
    uint32_t loops, n, before;
    struct ti_node *leaf = first_leaf(node, &loops);
    struct ti_column *more;

    n = leaf->ncolumns;
    before = loops * f->nvolumes;
    more = new_columns(f, n + f->nvolumes);
    memcpy(more, leaf->column, before * sizeof *more);
    memcpy(more + before + f->nvolumes, leaf->column + before, (n - before) * sizeof *more);
    memset(leaf->column, 0, n * sizeof *leaf->column);
    drop_columns(f, leaf->column, n);
    leaf->column = more;
    leaf->ncolumns += f->nvolumes;
    leaf->arrivals++;
}

/* Append trip counts of 1. */
static void append_ones(struct ti_column *c, uint64_t n)
{
    struct ti_column ones = {.open = {1, 0, n}};

    ti_column_append(c, &ones);
}

/* How many times the program passed a node. */
static uint64_t passes(const struct ti_fold *f, const struct ti_node *node)
{
    uint32_t columns = node->child ? 1 : node->arrivals * f->nvolumes;
    uint64_t n = 0;

    for (uint32_t i = 0; i < columns; i += f->nvolumes) {
        const struct ti_column *c = &node->column[i];

        n += c->open.n;
        for (size_t k = 0; k < c->nruns; k++)
            n += c->run[k].n;
    }
    return n;
}

/* The nodes from *at on that are as long as `like`, in `parent`, become a loop that always had one
 * trip. */
static void wrap(struct ti_fold *f, struct ti_node *parent, struct ti_node **at,
                 const struct ti_node *like)
{
    struct ti_node *loop = new_node(f, 1), *first = *at, *last = first;
    uint64_t length = first->length;

    loop->nchildren = 1;
    for (; length < like->length; length += last->length) {
        last = last->next;
        loop->nchildren++;
    }
    loop->hash = like->hash;
    loop->length = like->length;
    memcpy(loop->tail, like->tail, sizeof loop->tail);
    loop->child = first;
    loop->last = last;
    append_ones(loop->column, passes(f, first));
    loop->next = last->next;
    last->next = NULL;
    *at = loop;
    parent->nchildren -= loop->nchildren - 1;
    if (parent->last == last)
        parent->last = loop;
    add_arrival(f, first);
}

/*
 * Lists of equal symbols can become one if their loops nest: a loop of one list stands for a loop
 * or for one trip of it in the other one.  Both lists are compared in steps, of which each is a
 * node of one list, and one or several nodes of the other one.
 */
struct step {
    uint64_t length;
    bool to_loop, from_loop; /* the step is a loop of this list */
};

static struct step next_step(const struct ti_node *to, const struct ti_node *from)
{
    uint64_t length = to->length > from->length ? to->length : from->length;

    return (struct step){length, to->child && to->length == length,
                         from->child && from->length == length};
}

static const struct ti_node *skip(const struct ti_node *node, uint64_t length)
{
    for (; length; node = node->next)
        length -= node->length;
    return node;
}

/* Whether lists of that length and of equal symbols can become one, at this depth. */
static bool nests(const struct ti_node *to, const struct ti_node *from, uint64_t length, int depth)
{
    while (length) {
        struct step s = next_step(to, from);

        if (s.length > length || depth > DEPTH)
            return false;
        if (s.to_loop || s.from_loop) {
            if (!nests(s.to_loop ? to->child : to, s.from_loop ? from->child : from, s.length,
                       depth + 1))
                return false;
        } else if (to->symbol != from->symbol) {
            return false;
        }
        to = skip(to, s.length);
        from = skip(from, s.length);
        length -= s.length;
    }
    return true;
}

/*
 * Append the columns of a leaf.  `loops` has a bit for each loop of `to` that begins here, the
 * innermost one in bit 0, and a 1 above: whether it is a loop of `from`, too.  The last arrival of
 * `from` is from the node before: it is that from the node before these loops, or from the end of
 * the next loop around them.
 */
static void append_leaf(struct ti_fold *f, struct ti_node *to, const struct ti_node *from,
                        uint64_t loops)
{
    const struct ti_column *more = from->column;
    struct ti_column *c = to->column;

    for (; loops > 1; loops >>= 1, c += f->nvolumes) {
        if (loops & 1) {
            append_columns(c, more, f->nvolumes);
            more += f->nvolumes;
        }
    }
    append_columns(c, more, f->nvolumes);
    append_columns(to->column + to->arrivals * f->nvolumes, more + f->nvolumes,
                   to->ncolumns - to->arrivals * f->nvolumes);
}

/* Append the columns of the list `from` to those of *to, a list in `parent` (nests()). */
static void append_list(struct ti_fold *f, struct ti_node *parent, struct ti_node **to,
                        const struct ti_node *from, uint64_t length, uint64_t loops)
{
    while (length) {
        struct step s = next_step(*to, from);

        if (s.from_loop && !s.to_loop)
            wrap(f, parent, to, from);
        if (s.from_loop)
            append_columns((*to)->column, from->column, 1);
        else if (s.to_loop)
            append_ones((*to)->column, passes(f, from));
        if (s.from_loop || s.to_loop)
            append_list(f, *to, &(*to)->child, s.from_loop ? from->child : from, s.length,
                        loops << 1 | s.from_loop);
        else
            append_leaf(f, *to, from, loops);
        to = &(*to)->next;
        from = skip(from, s.length);
        length -= s.length;
        loops = 1;
    }
}

/* Remove the nodes after a place, and append them to the body of `loop` as a trip. */
static void add_trip(struct ti_fold *f, struct ti_node *loop, uint32_t place)
{
    struct ti_node *from = link_nodes(f, place, f->n);

    append_list(f, loop, &loop->child, from, loop->length, 1);
    for (; f->n > place; f->credit += FOLD_CREDIT)
        drop_node(f, pop(f));
    ti_column_add(loop->column, ti_column_pop(loop->column) + 1);
}

/* Replace the nodes after place `a` by a loop: those after place `b` are its second trip. */
static void new_loop(struct ti_fold *f, uint32_t a, uint32_t b)
{
    struct ti_node *loop = new_node(f, 1);

    loop->hash = part_hash(f, a, b);
    loop->length = f->list[b].length - f->list[a].length;
    memcpy(loop->tail, f->list[b].symbol, sizeof loop->tail);
    loop->child = link_nodes(f, a, b);
    loop->last = f->list[b].node;
    loop->nchildren = b - a;
    ti_column_add(loop->column, 1);
    add_arrival(f, loop->child);
    add_trip(f, loop, b);
    while (f->n > a)
        pop(f);
    push(f, loop);
}

/* The innermost loop that ends with a place and of which the nodes after that are a trip. */
static struct ti_node *loop_before(struct ti_fold *f, uint32_t place)
{
    uint64_t length = tail_length(f, place), hash = part_hash(f, place, f->n);
    struct ti_node *found = NULL;
    int depth = 1, at = 0;

    for (struct ti_node *loop = f->list[place].node; loop->child; loop = loop->last, depth++) {
        if (loop->length == length && loop->hash == hash) {
            found = loop;
            at = depth;
        }
    }
    if (found && !nests(found->child, link_nodes(f, place, f->n), length, at))
        return NULL;
    return found;
}

/* The place before the part up to `b` that equals the nodes after `b`; `b` if there is none. */
static uint32_t pair_before(struct ti_fold *f, uint32_t b)
{
    uint64_t length = tail_length(f, b), before;
    uint32_t low = 0, high = b;

    if (f->list[b].length < length)
        return b;
    before = f->list[b].length - length;
    if (f->n - b <= b && f->list[b - (f->n - b)].length == before)
        low = high = b - (f->n - b);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (f->list[middle].length < before)
            low = middle + 1;
        else
            high = middle;
    }
    if (f->list[low].length != before || part_hash(f, low, b) != part_hash(f, b, f->n) ||
        !nests(link_nodes(f, low, b), link_nodes(f, b, f->n), length, 1))
        return b;
    return low;
}

/* Fold the nodes after a place, if they equal what ends there. */
static bool try_fold(struct ti_fold *f, uint32_t place)
{
    struct ti_node *loop = loop_before(f, place);
    uint32_t before;

    if (loop) {
        add_trip(f, loop, place);
        return true;
    }
    before = pair_before(f, place);
    if (before < place)
        new_loop(f, before, place);
    return before < place;
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
    struct ti_node *leaf = new_node(f, f->nvolumes + nfields);

    leaf->symbol = leaf->tail[TI_TAIL - 1] = symbol;
    leaf->hash = mix(1, symbol);
    leaf->length = 1;
    leaf->arrivals = 1;
    for (uint32_t i = 0; i < f->nvolumes; i++)
        ti_column_add(&leaf->column[i], (uint64_t)volumes[i]);
    for (uint32_t i = 0; i < nfields; i++)
        ti_column_add(&leaf->column[f->nvolumes + i], (uint64_t)fields[i]);
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

struct ti_fold *ti_fold_new(uint32_t window, uint32_t nvolumes)
{
    struct ti_fold *f = new_array(1, sizeof *f);

    f->window = window < 8 ? 8 : window;
    f->nvolumes = nvolumes;
    f->done_end = &f->done;
    f->slots = 64;
    while (f->slots < 2 * f->window)
        f->slots *= 2;
    f->list = new_array(f->window + 1, sizeof *f->list);
    f->chain = new_array(f->slots, sizeof *f->chain);
    return f;
}

const struct ti_node *ti_fold_shape(struct ti_fold *f, uint64_t *n)
{
    finish_nodes(f, f->n);
    f->n = 0;
    *n = f->ndone;
    return f->done;
}

uint64_t ti_fold_nodes(const struct ti_fold *f)
{
    return f->nodes;
}

void ti_fold_free(struct ti_fold *f)
{
    uint64_t n;

    if (!f)
        return;
    ti_fold_shape(f, &n);
    for (struct ti_node *node = f->done, *next; node; node = next) {
        next = node->next;
        drop_node(f, node);
    }
    for (struct ti_node *block = f->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    for (struct ti_column *block = f->column_blocks, *next; block; block = next) {
        next = (struct ti_column *)(void *)block->run;
        free(block);
    }
    free(f->list);
    free(f->power);
    free(f->chain);
    free(f);
}
