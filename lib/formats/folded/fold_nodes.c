#include "formats/folded/fold_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define DEPTH 48 /* of loops; append_leaf() has a bit for each */

void *ti__new_array(size_t n, size_t size)
{
    size_t cap = 0;

    return ti_grow(NULL, &cap, n, size);
}

/* ------------------------------------------------------------------- nodes -- */

/* Memory is taken in blocks of so many nodes or columns, of which the first links the blocks. */
#define BLOCK 64

static void more_columns(struct ti_nodes *all, uint32_t n)
{
    struct ti_column *block = ti__new_array(BLOCK, sizeof *block);

    block->run = (struct ti_run *)(void *)all->column_blocks;
    all->column_blocks = block;
    for (uint32_t i = 1; i + n <= BLOCK; i += n) {
        block[i].run = (struct ti_run *)(void *)all->free_columns[n];
        all->free_columns[n] = &block[i];
    }
}

static struct ti_column *new_columns(struct ti_nodes *all, uint32_t n)
{
    struct ti_column *c;

    if (n > TI_POOLED)
        return ti__new_array(n, sizeof *c);
    if (!all->free_columns[n])
        more_columns(all, n);
    c = all->free_columns[n];
    all->free_columns[n] = (struct ti_column *)(void *)c->run;
    c->run = NULL;
    return c;
}

/* Release columns that are all empty. */
static void drop_columns(struct ti_nodes *all, struct ti_column *c, uint32_t n)
{
    if (n > TI_POOLED) {
        free(c);
        return;
    }
    c->run = (struct ti_run *)(void *)all->free_columns[n];
    all->free_columns[n] = c;
}

static void more_nodes(struct ti_nodes *all)
{
    struct ti_node *block = ti__new_array(BLOCK, sizeof *block);

    block->next = all->blocks;
    all->blocks = block;
    for (int i = 1; i < BLOCK; i++) {
        block[i].next = all->free_node;
        all->free_node = &block[i];
    }
}

struct ti_node *ti__node_new(struct ti_nodes *all, uint32_t ncolumns)
{
    struct ti_node *node;

    if (!all->free_node)
        more_nodes(all);
    node = all->free_node;
    all->free_node = node->next;
    *node = (struct ti_node){.ncolumns = ncolumns, .column = new_columns(all, ncolumns)};
    all->n++;
    return node;
}

void ti__node_drop(struct ti_nodes *all, struct ti_node *node)
{
    for (struct ti_node *child = node->child, *next; child; child = next) {
        next = child->next;
        ti__node_drop(all, child);
    }
    for (uint32_t i = 0; i < node->ncolumns; i++)
        ti_column_free(&node->column[i]);
    drop_columns(all, node->column, node->ncolumns);
    node->next = all->free_node;
    all->free_node = node;
    all->n--;
}

/* ----------------------------------------------------------------- merging -- */

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

void ti__node_add_arrival(struct ti_nodes *all, struct ti_node *node)
{
    uint32_t loops, n, before;
    struct ti_node *leaf = first_leaf(node, &loops);
    struct ti_column *more;

    n = leaf->ncolumns;
    before = loops * all->nvolumes;
    more = new_columns(all, n + all->nvolumes);
    memcpy(more, leaf->column, before * sizeof *more);
    memcpy(more + before + all->nvolumes, leaf->column + before, (n - before) * sizeof *more);
    memset(leaf->column, 0, n * sizeof *leaf->column);
    drop_columns(all, leaf->column, n);
    leaf->column = more;
    leaf->ncolumns += all->nvolumes;
    leaf->arrivals++;
}

/* Append trip counts of 1. */
static void append_ones(struct ti_column *c, uint64_t n)
{
    struct ti_column ones = {.open = {1, 0, n}};

    ti_column_append(c, &ones);
}

/* How many times the program passed a node. */
static uint64_t passes(const struct ti_nodes *all, const struct ti_node *node)
{
    uint32_t columns = node->child ? 1 : node->arrivals * all->nvolumes;
    uint64_t n = 0;

    for (uint32_t i = 0; i < columns; i += all->nvolumes) {
        const struct ti_column *c = &node->column[i];

        n += c->open.n;
        for (size_t k = 0; k < c->nruns; k++)
            n += c->run[k].n;
    }
    return n;
}

/* The nodes from *at on that are as long as `like`, in `parent`, become a loop that always had one
 * trip. */
static void wrap(struct ti_nodes *all, struct ti_node *parent, struct ti_node **at,
                 const struct ti_node *like)
{
    struct ti_node *loop = ti__node_new(all, 1), *first = *at, *last = first;
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
    append_ones(loop->column, passes(all, first));
    loop->next = last->next;
    last->next = NULL;
    *at = loop;
    parent->nchildren -= loop->nchildren - 1;
    if (parent->last == last)
        parent->last = loop;
    ti__node_add_arrival(all, first);
}

/* Lists are compared in steps, of which each is a node of one list, and one or several nodes of the
 * other one. */
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

bool ti__nodes_nest(const struct ti_node *to, const struct ti_node *from, uint64_t length,
                    int depth)
{
    while (length) {
        struct step s = next_step(to, from);

        if (s.length > length || depth > DEPTH)
            return false;
        if (s.to_loop || s.from_loop) {
            if (!ti__nodes_nest(s.to_loop ? to->child : to, s.from_loop ? from->child : from,
                                s.length, depth + 1))
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
static void append_leaf(struct ti_nodes *all, struct ti_node *to, const struct ti_node *from,
                        uint64_t loops)
{
    const struct ti_column *more = from->column;
    struct ti_column *c = to->column;

    for (; loops > 1; loops >>= 1, c += all->nvolumes) {
        if (loops & 1) {
            append_columns(c, more, all->nvolumes);
            more += all->nvolumes;
        }
    }
    append_columns(c, more, all->nvolumes);
    append_columns(to->column + to->arrivals * all->nvolumes, more + all->nvolumes,
                   to->ncolumns - to->arrivals * all->nvolumes);
}

/* Append the columns of the list `from` to those of *to, a list in `parent`. */
static void append_list(struct ti_nodes *all, struct ti_node *parent, struct ti_node **to,
                        const struct ti_node *from, uint64_t length, uint64_t loops)
{
    while (length) {
        struct step s = next_step(*to, from);

        if (s.from_loop && !s.to_loop)
            wrap(all, parent, to, from);
        if (s.from_loop)
            append_columns((*to)->column, from->column, 1);
        else if (s.to_loop)
            append_ones((*to)->column, passes(all, from));
        if (s.from_loop || s.to_loop)
            append_list(all, *to, &(*to)->child, s.from_loop ? from->child : from, s.length,
                        loops << 1 | s.from_loop);
        else
            append_leaf(all, *to, from, loops);
        to = &(*to)->next;
        from = skip(from, s.length);
        length -= s.length;
        loops = 1;
    }
}

void ti__nodes_append(struct ti_nodes *all, struct ti_node *loop, const struct ti_node *from)
{
    append_list(all, loop, &loop->child, from, loop->length, 1);
}

void ti__nodes_free(struct ti_nodes *all)
{
    for (struct ti_node *block = all->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    for (struct ti_column *block = all->column_blocks, *next; block; block = next) {
        next = (struct ti_column *)(void *)block->run;
        free(block);
    }
}
