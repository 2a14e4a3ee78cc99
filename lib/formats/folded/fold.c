#include "formats/folded/fold.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

/* Hashes of three nodes are compared with so many earlier ones at most. */
#define TRIES 128

#define POOLED 8 /* columns of nodes with up to so many are kept for the next node */

/* A place in a chain of places with the same hash of three nodes. */
struct link {
    uint32_t slot;
    int32_t before; /* place in the window, -1: none */
};

/* Places in the window, by the hash of three nodes that end there. */
struct chains {
    int32_t *head;     /* by slot: the last place */
    struct link *link; /* by place; slot NO_SLOT: it is in no chain */
};

#define NO_SLOT UINT32_MAX

struct ti_fold {
    uint32_t window, nvolumes;
    struct ti_node **list; /* the window */
    uint32_t n;
    struct ti_node *done, **done_end; /* nodes before it */
    uint64_t ndone;
    uint32_t slots;       /* power of two */
    struct chains parts;  /* three nodes of the list */
    struct chains bodies; /* a loop, by the last three nodes of its body */
    uint64_t nodes;
    struct ti_node *free_node;
    struct ti_column *free_columns[POOLED + 1]; /* linked by `run` */
};

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

static void chains_new(struct chains *c, uint32_t slots, uint32_t places)
{
    size_t cap = 0;

    c->head = ti_grow(NULL, &cap, slots, sizeof *c->head);
    memset(c->head, 0xff, slots * sizeof *c->head);
    cap = 0;
    c->link = ti_grow(NULL, &cap, places, sizeof *c->link);
}

static void chains_add(struct chains *c, uint32_t place, uint32_t slot)
{
    c->link[place] = (struct link){slot, slot == NO_SLOT ? -1 : c->head[slot]};
    if (slot != NO_SLOT)
        c->head[slot] = (int32_t)place;
}

/* Remove the last place. */
static void chains_remove(struct chains *c, uint32_t place)
{
    if (c->link[place].slot != NO_SLOT)
        c->head[c->link[place].slot] = c->link[place].before;
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
    chains_add(&f->parts, place, part_slot(f, place));
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
    loop->column[0].open.first++;
}

/* Replace the last 2 * n nodes, of which one half equals the other, by a loop. */
static void new_loop(struct ti_fold *f, uint32_t n)
{
    struct ti_node *loop = new_node(f, 1), **end = &loop->child;
    uint64_t hash = 0x10;

    for (uint32_t i = f->n - 2 * n; i < f->n - n; i++) {
        *end = f->list[i];
        end = &f->list[i]->next;
        hash = mix(hash, f->list[i]->hash);
    }
    *end = NULL;
    loop->nchildren = n;
    loop->hash = mix(hash, n);
    ti_column_add(&loop->column[0], 1);
    add_arrival(f, first_leaf(loop));
    add_trip(f, loop, n);
    for (uint32_t i = 0; i < n; i++)
        pop(f);
    push(f, loop);
}

/* Whether the last `n` nodes equal the body of the loop before them. */
static bool is_trip(const struct ti_fold *f, uint32_t n)
{
    const struct ti_node *loop, *child;

    if (f->n <= n)
        return false;
    loop = f->list[f->n - n - 1];
    if (loop->nchildren != n)
        return false;
    child = loop->child;
    for (uint32_t i = f->n - n; i < f->n; i++, child = child->next)
        if (f->list[i]->hash != child->hash)
            return false;
    return true;
}

/* Whether the last `n` nodes equal the `n` before them. */
static bool is_pair(const struct ti_fold *f, uint32_t n)
{
    struct ti_node *const *a = f->list + f->n - 1, *const *b = a - n;

    if (f->n < 2 * n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (a[-(int64_t)i]->hash != b[-(int64_t)i]->hash)
            return false;
    return true;
}

static bool try_fold(struct ti_fold *f, uint32_t n)
{
    if (is_trip(f, n))
        add_trip(f, f->list[f->n - n - 1], n);
    else if (is_pair(f, n))
        new_loop(f, n);
    else
        return false;
    return true;
}

/* Fold the end of the list once, by the shortest part; false if nothing is to be folded. */
static bool fold_once(struct ti_fold *f)
{
    uint32_t last = f->n - 1, slot;
    int32_t part, body;

    if (try_fold(f, 1) || try_fold(f, 2))
        return true;
    slot = f->n < 4 ? NO_SLOT : part_slot(f, last);
    if (slot == NO_SLOT)
        return false;
    part = f->parts.link[last].before;
    body = f->bodies.head[slot];
    for (int tries = 0; tries < TRIES && (part >= 0 || body >= 0); tries++) {
        int32_t place = part > body ? part : body;

        if (place < (int32_t)last && try_fold(f, last - (uint32_t)place))
            return true;
        if (part == place)
            part = f->parts.link[place].before;
        if (body == place)
            body = f->bodies.link[place].before;
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
    size_t cap = 0, places;
    struct ti_fold *f = ti_grow(NULL, &cap, 1, sizeof *f);

    f->window = window < 8 ? 8 : window;
    f->nvolumes = nvolumes;
    f->done_end = &f->done;
    f->slots = 64;
    while (f->slots < 2 * f->window)
        f->slots *= 2;
    places = f->window;
    cap = 0;
    f->list = ti_grow(NULL, &cap, places, sizeof(struct ti_node *));
    chains_new(&f->parts, f->slots, (uint32_t)places);
    chains_new(&f->bodies, f->slots, (uint32_t)places);
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
    free(f->parts.head);
    free(f->parts.link);
    free(f->bodies.head);
    free(f->bodies.link);
    free(f);
}
