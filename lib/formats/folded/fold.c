#include "formats/folded/fold.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

/* Hashes of three nodes are compared with so many earlier ones at most. */
#define TRIES 128

#define BASE UINT64_C(0x9e3779b97f4a7c15) /* of hashes of lists */

#define POOLED 8 /* columns of nodes with up to so many are kept for the next node */

/* A place in the window, in a chain of places with the same hash of three nodes. */
struct link {
    uint32_t place, slot;
    uint32_t before; /* number of a link + 1; 0: none */
};

/* Chains of places.  Those of the last place are removed first. */
struct chains {
    uint32_t *head; /* by slot: the last link + 1; 0: none */
    struct link *link;
    size_t n, cap;
};

#define NO_SLOT UINT32_MAX

struct ti_fold {
    uint32_t window, nvolumes;
    struct ti_node **list; /* the window */
    uint32_t n;
    uint64_t *prefix;                 /* hash of the list before each place, and of all of it */
    uint64_t *power;                  /* of BASE; up to the window */
    struct ti_node *done, **done_end; /* nodes before it */
    uint64_t ndone;
    uint32_t slots;       /* power of two */
    struct chains parts;  /* three nodes of the list */
    struct chains bodies; /* a loop that ends there, by the last three nodes of its body */
    uint64_t nodes;
    struct ti_node *free_node;
    struct ti_column *free_columns[POOLED + 1]; /* linked by `run` */
};

static void *new_array(size_t n, size_t size)
{
    size_t cap = 0;

    return ti_grow(NULL, &cap, n, size);
}

/* ------------------------------------------------------------------- nodes -- */

static struct ti_column *new_columns(struct ti_fold *f, uint32_t n)
{
    struct ti_column *c = n <= POOLED ? f->free_columns[n] : NULL;
    size_t cap = 0;

    if (!c)
        return ti_grow(NULL, &cap, n, sizeof *c);
    f->free_columns[n] = (struct ti_column *)(void *)c->run;
    c->run = NULL;
    return c;
}

/* Release columns that are all empty. */
static void drop_columns(struct ti_fold *f, struct ti_column *c, uint32_t n)
{
    if (n > POOLED || n == 0) {
        free(c);
        return;
    }
    c->run = (struct ti_run *)(void *)f->free_columns[n];
    f->free_columns[n] = c;
}

static struct ti_node *new_node(struct ti_fold *f, uint32_t ncolumns)
{
    struct ti_node *node = f->free_node;
    size_t cap = 0;

    if (node)
        f->free_node = node->next;
    else
        node = ti_grow(NULL, &cap, 1, sizeof *node);
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

/* ------------------------------------------------------------------ chains -- */

static void chains_add(struct chains *c, uint32_t place, uint32_t slot)
{
    if (slot == NO_SLOT)
        return;
    c->link = ti_grow(c->link, &c->cap, c->n + 1, sizeof *c->link);
    c->link[c->n] = (struct link){place, slot, c->head[slot]};
    c->head[slot] = (uint32_t)++c->n;
}

/* Remove the last place. */
static void chains_remove(struct chains *c, uint32_t place)
{
    while (c->n > 0 && c->link[c->n - 1].place == place) {
        c->n--;
        c->head[c->link[c->n].slot] = c->link[c->n].before;
    }
}

/* The hash of the list between two places: a polynomial in BASE. */
static uint64_t part_hash(const struct ti_fold *f, uint32_t from, uint32_t end)
{
    return f->prefix[end] - f->prefix[from] * f->power[end - from];
}

/* The hash of a loop, from that of its body. */
static uint64_t loop_hash(uint64_t body, uint32_t n)
{
    return mix(mix(0x10, body), n);
}

/* The slot of three hashes. */
static uint32_t slot_of(const struct ti_fold *f, uint64_t a, uint64_t b, uint64_t c)
{
    return (uint32_t)(mix(mix(mix(1, a), b), c) >> 20) & (f->slots - 1);
}

static uint32_t part_slot(const struct ti_fold *f, uint32_t place)
{
    struct ti_node *const *l = f->list + place;

    return place < 2 ? NO_SLOT : slot_of(f, l[-2]->hash, l[-1]->hash, l[0]->hash);
}

static uint32_t body_slot(const struct ti_fold *f, const struct ti_node *node)
{
    const struct ti_node *child = node->child;

    if (node->nchildren < 3)
        return NO_SLOT;
    for (uint32_t i = node->nchildren; i > 3; i--)
        child = child->next;
    return slot_of(f, child->hash, child->next->hash, child->next->next->hash);
}

static void push(struct ti_fold *f, struct ti_node *node)
{
    uint32_t place = f->n++;

    f->list[place] = node;
    f->prefix[f->n] = f->prefix[place] * BASE + node->hash;
    chains_add(&f->parts, place, part_slot(f, place));
    for (; node->child; node = node->last)
        chains_add(&f->bodies, place, body_slot(f, node));
}

static struct ti_node *pop(struct ti_fold *f)
{
    uint32_t place = --f->n;

    chains_remove(&f->parts, place);
    chains_remove(&f->bodies, place);
    return f->list[place];
}

/* Move the older half of the window to the nodes that are done. */
static void make_room(struct ti_fold *f)
{
    uint32_t half = f->n / 2, rest = f->n - half;

    for (uint32_t i = 0; i < half; i++) {
        *f->done_end = f->list[i];
        f->done_end = &f->list[i]->next;
    }
    f->ndone += half;
    while (f->n > 0)
        pop(f);
    memmove(f->list, f->list + half, rest * sizeof *f->list);
    for (uint32_t i = 0; i < rest; i++)
        push(f, f->list[i]);
}

/* ----------------------------------------------------------------- folding -- */

/* The leaf that a node begins with. */
static struct ti_node *first_leaf(struct ti_node *node)
{
    while (node->child)
        node = node->child;
    return node;
}

static void append_columns(struct ti_column *to, const struct ti_column *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ti_column_append(&to[i], &from[i]);
}

/* Give a leaf another arrival, before the last one: its columns are empty. */
static void add_arrival(struct ti_fold *f, struct ti_node *leaf)
{
    uint32_t n = leaf->ncolumns, before = (leaf->arrivals - 1) * f->nvolumes;
    struct ti_column *more = new_columns(f, n + f->nvolumes);

    memcpy(more, leaf->column, before * sizeof *more);
    memcpy(more + before + f->nvolumes, leaf->column + before, (n - before) * sizeof *more);
    memset(leaf->column, 0, n * sizeof *leaf->column);
    drop_columns(f, leaf->column, n);
    leaf->column = more;
    leaf->ncolumns += f->nvolumes;
    leaf->arrivals++;
}

/*
 * Append the columns of `from` to those of `to`, which has the same structure.  If `to` begins the
 * body of a loop, its first leaf has one arrival more: that from the node before the loop, which is
 * the last one.  So the arrivals of `from` are always the first ones of `to`.
 */
static void append_node(struct ti_fold *f, struct ti_node *to, const struct ti_node *from)
{
    const struct ti_node *child = from->child;

    if (!from->child) {
        uint32_t volumes = from->arrivals * f->nvolumes;
        uint32_t fields = to->arrivals * f->nvolumes;

        append_columns(to->column, from->column, volumes);
        append_columns(to->column + fields, from->column + volumes, from->ncolumns - volumes);
        return;
    }
    append_columns(to->column, from->column, 1);
    for (struct ti_node *c = to->child; c; c = c->next, child = child->next)
        append_node(f, c, child);
}

/* Remove the last `n` nodes of the list, and append them to the body of `loop` as a trip. */
static void add_trip(struct ti_fold *f, struct ti_node *loop, uint32_t n)
{
    struct ti_node *child = loop->child;

    for (uint32_t i = f->n - n; i < f->n; i++, child = child->next)
        append_node(f, child, f->list[i]);
    while (n--)
        drop_node(f, pop(f));
    ti_column_add(&loop->column[0], ti_column_pop(&loop->column[0]) + 1);
}

/* Replace the last 2 * n nodes, of which one half equals the other, by a loop. */
static void new_loop(struct ti_fold *f, uint32_t n)
{
    struct ti_node *loop = new_node(f, 1), **end = &loop->child;

    for (uint32_t i = f->n - 2 * n; i < f->n - n; i++) {
        *end = loop->last = f->list[i];
        end = &f->list[i]->next;
    }
    *end = NULL;
    loop->nchildren = n;
    loop->hash = loop_hash(part_hash(f, f->n - n, f->n), n);
    ti_column_add(&loop->column[0], 1);
    add_arrival(f, first_leaf(loop));
    add_trip(f, loop, n);
    for (uint32_t i = 0; i < n; i++)
        pop(f);
    push(f, loop);
}

/* The loop of which the last `n` nodes are another trip, NULL if there is none.  It is the node
 * before them, or a loop that ends that one. */
static struct ti_node *loop_before(const struct ti_fold *f, uint32_t n)
{
    struct ti_node *loop, *child;
    uint64_t hash;

    if (f->n <= n)
        return NULL;
    loop = f->list[f->n - n - 1];
    hash = loop_hash(part_hash(f, f->n - n, f->n), n);
    while (loop->child && (loop->nchildren != n || loop->hash != hash))
        loop = loop->last;
    child = loop->child;
    for (uint32_t i = f->n - n; child; i++, child = child->next)
        if (f->list[i]->hash != child->hash)
            return NULL;
    return loop->child ? loop : NULL;
}

/* Whether the last `n` nodes equal the `n` before them. */
static bool is_pair(const struct ti_fold *f, uint32_t n)
{
    uint32_t b = f->n - n, a = b - n;

    if (f->n < 2 * n || part_hash(f, a, b) != part_hash(f, b, f->n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (f->list[a + i]->hash != f->list[b + i]->hash)
            return false;
    return true;
}

static bool try_fold(struct ti_fold *f, uint32_t n)
{
    struct ti_node *loop = loop_before(f, n);

    if (loop)
        add_trip(f, loop, n);
    else if (is_pair(f, n))
        new_loop(f, n);
    else
        return false;
    return true;
}

/* Fold the end of the list once, by the shortest part; false if nothing is to be folded. */
static bool fold_once(struct ti_fold *f)
{
    uint32_t last = f->n - 1, slot, part, body;

    if (try_fold(f, 1) || try_fold(f, 2))
        return true;
    slot = f->n < 4 ? NO_SLOT : part_slot(f, last);
    if (slot == NO_SLOT)
        return false;
    part = f->parts.link[f->parts.n - 1].before;
    body = f->bodies.head[slot];
    for (int tries = 0; tries < TRIES && (part || body); tries++) {
        const struct link *p = part ? &f->parts.link[part - 1] : NULL;
        const struct link *b = body ? &f->bodies.link[body - 1] : NULL;
        uint32_t place = p && (!b || p->place > b->place) ? p->place : b->place;

        if (place < last && try_fold(f, last - place))
            return true;
        if (p && p->place == place)
            part = p->before;
        if (b && b->place == place)
            body = b->before;
    }
    return false;
}

void ti_fold_add(struct ti_fold *f, uint32_t symbol, const int64_t *volumes, const int64_t *fields,
                 uint32_t nfields)
{
    struct ti_node *leaf = new_node(f, f->nvolumes + nfields);

    leaf->symbol = symbol;
    leaf->hash = mix(0x20, symbol);
    leaf->arrivals = 1;
    for (uint32_t i = 0; i < f->nvolumes; i++)
        ti_column_add(&leaf->column[i], (uint64_t)volumes[i]);
    for (uint32_t i = 0; i < nfields; i++)
        ti_column_add(&leaf->column[f->nvolumes + i], (uint64_t)fields[i]);
    if (f->n == f->window)
        make_room(f);
    push(f, leaf);
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
    f->list = new_array(f->window, sizeof(struct ti_node *));
    f->prefix = new_array(f->window + 1, sizeof *f->prefix);
    f->power = new_array(f->window + 1, sizeof *f->power);
    f->power[0] = 1;
    for (uint32_t i = 1; i <= f->window; i++)
        f->power[i] = f->power[i - 1] * BASE;
    f->parts.head = new_array(f->slots, sizeof *f->parts.head);
    f->bodies.head = new_array(f->slots, sizeof *f->bodies.head);
    return f;
}

const struct ti_node *ti_fold_shape(struct ti_fold *f, uint64_t *n)
{
    for (uint32_t i = 0; i < f->n; i++) {
        *f->done_end = f->list[i];
        f->done_end = &f->list[i]->next;
    }
    *f->done_end = NULL;
    f->ndone += f->n;
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
    for (struct ti_node *node = f->free_node, *next; node; node = next) {
        next = node->next;
        free(node);
    }
    for (int i = 0; i <= POOLED; i++) {
        for (struct ti_column *c = f->free_columns[i], *next; c; c = next) {
            next = (struct ti_column *)(void *)c->run;
            free(c);
        }
    }
    free(f->list);
    free(f->prefix);
    free(f->power);
    free(f->parts.head);
    free(f->parts.link);
    free(f->bodies.head);
    free(f->bodies.link);
    free(f);
}
