#include "fold/fold_nodes.h"

#include <string.h>

#define DEPTH 48 /* of loops; move_leaf() has a bit for each */

/* ------------------------------------------------------------------- nodes -- */

static struct ti_column *new_columns(struct ti_node_store *all, uint32_t n)
{
    return ti_pool_take(&all->pool, n * sizeof(struct ti_column));
}

static void drop_columns(struct ti_node_store *all, struct ti_column *c, uint32_t n)
{
    ti_pool_give(&all->pool, c, n * sizeof *c);
}

struct ti_fold_node *ti__leaf_new(struct ti_node_store *all, uint32_t ncolumns)
{
    struct ti_fold_node *node = ti_pool_take_any(&all->pool, sizeof *node);
    struct ti_column *column = new_columns(all, ncolumns);

    if (!node || !column)
        return NULL;
    *node = (struct ti_fold_node){.ncolumns = ncolumns, .column = column};
    all->n++;
    return node;
}

struct ti_fold_node *ti__loop_new(struct ti_node_store *all)
{
    return ti__leaf_new(all, 1);
}

void ti__node_drop(struct ti_node_store *all, struct ti_fold_node *node)
{
    for (struct ti_fold_node *child = node->child, *next; child; child = next) {
        next = child->next;
        ti__node_drop(all, child);
    }
    for (uint32_t i = 0; i < node->ncolumns; i++)
        ti_column_free(&all->pool, &node->column[i]);
    drop_columns(all, node->column, node->ncolumns);
    ti_pool_give(&all->pool, node, sizeof *node);
    all->n--;
}

/* ----------------------------------------------------------------- merging -- */

/* The leaf that a node begins with; *loops is the number of loops around it. */
static struct ti_fold_node *first_leaf(struct ti_fold_node *node, uint32_t *loops)
{
    for (*loops = 0; node->child; ++*loops)
        node = node->child;
    return node;
}

static void move_columns(struct ti_node_store *all, struct ti_column *to, struct ti_column *from,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ti_column_move(&all->pool, &to[i], &from[i]);
}

bool ti__node_add_arrival(struct ti_node_store *all, struct ti_fold_node *node)
{
    uint32_t loops, n, before;
    struct ti_fold_node *leaf = first_leaf(node, &loops);
    struct ti_column *more;

    n = leaf->ncolumns;
    before = loops * all->nvolumes;
    more = new_columns(all, n + all->nvolumes);
    if (!more)
        return false;
    memcpy(more, leaf->column, before * sizeof *more);
    memcpy(more + before + all->nvolumes, leaf->column + before, (n - before) * sizeof *more);
    drop_columns(all, leaf->column, n);
    leaf->column = more;
    leaf->ncolumns += all->nvolumes;
    leaf->arrivals++;
    return true;
}

/* How many times the program passed a node. */
static uint64_t passes(const struct ti_node_store *all, const struct ti_fold_node *node)
{
    uint64_t n = 0;

    if (node->child)
        return ti_column_values(node->column) + 1;
    for (uint32_t i = 0; i < node->arrivals; i++)
        n += ti_column_values(&node->column[i * all->nvolumes]);
    return n;
}

/* Add passes of a loop, `n` with one trip each. */
static void add_single_trips(struct ti_node_store *all, struct ti_fold_node *loop, uint64_t n)
{
    ti_column_add(&all->pool, loop->column, loop->trips);
    ti_column_add_run(&all->pool, loop->column, &(struct ti_column_run){1, 0, n - 1});
    loop->trips = 1;
}

/* Add the passes of another loop. */
static void move_trips(struct ti_node_store *all, struct ti_fold_node *to,
                       struct ti_fold_node *from)
{
    ti_column_add(&all->pool, to->column, to->trips);
    ti_column_move(&all->pool, to->column, from->column);
    to->trips = from->trips;
}

/* The nodes from *at on that are as long as `like`, in `parent`, become a loop that always had one
 * trip.  False, and nothing changes, when memory is short. */
static bool wrap(struct ti_node_store *all, struct ti_fold_node *parent, struct ti_fold_node **at,
                 const struct ti_fold_node *like)
{
    struct ti_fold_node *loop = ti__loop_new(all), *first = *at, *last = first;
    uint32_t length = first->length;

    if (!loop || !ti__node_add_arrival(all, first))
        return false;
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
    ti_column_add_run(&all->pool, loop->column,
                      &(struct ti_column_run){1, 0, passes(all, first) - 1});
    loop->trips = 1;
    loop->next = last->next;
    last->next = NULL;
    *at = loop;
    parent->nchildren -= loop->nchildren - 1;
    if (parent->last == last)
        parent->last = loop;
    return true;
}

/* Lists are compared in steps, of which each is a node of one list, and one or several nodes of the
 * other one. */
struct step {
    uint32_t length;
    bool to_loop, from_loop; /* the step is a loop of this list */
};

static struct step next_step(const struct ti_fold_node *to, const struct ti_fold_node *from)
{
    uint32_t length = to->length > from->length ? to->length : from->length;

    return (struct step){length, to->child && to->length == length,
                         from->child && from->length == length};
}

static const struct ti_fold_node *skip(const struct ti_fold_node *node, uint32_t length)
{
    for (; length; node = node->next)
        length -= node->length;
    return node;
}

bool ti__nodes_nest(const struct ti_fold_node *to, const struct ti_fold_node *from, uint32_t length,
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
 * Move the columns of a leaf.  `loops` has a bit for each loop of `to` that begins here, the
 * innermost one in bit 0, and a 1 above: whether it is a loop of `from`, too.  The last arrival of
 * `from` is from the node before: it is that from the node before these loops, or from the end of
 * the next loop around them.
 */
static void move_leaf(struct ti_node_store *all, struct ti_fold_node *to, struct ti_fold_node *from,
                      uint64_t loops)
{
    struct ti_column *more = from->column;
    struct ti_column *c = to->column;

    for (; loops > 1; loops >>= 1, c += all->nvolumes) {
        if (loops & 1) {
            move_columns(all, c, more, all->nvolumes);
            more += all->nvolumes;
        }
    }
    move_columns(all, c, more, all->nvolumes);
    move_columns(all, to->column + to->arrivals * all->nvolumes, more + all->nvolumes,
                 to->ncolumns - to->arrivals * all->nvolumes);
}

/* Move the columns of the list `from` to those of *to, a list in `parent`. */
static void move_list(struct ti_node_store *all, struct ti_fold_node *parent,
                      struct ti_fold_node **to, struct ti_fold_node *from, uint32_t length,
                      uint64_t loops)
{
    while (length) {
        struct step s = next_step(*to, from);

        if (s.from_loop && !s.to_loop && !wrap(all, parent, to, from))
            return;
        if (s.from_loop)
            move_trips(all, *to, from);
        else if (s.to_loop)
            add_single_trips(all, *to, passes(all, from));
        if (s.from_loop || s.to_loop)
            move_list(all, *to, &(*to)->child, s.from_loop ? from->child : from, s.length,
                      loops << 1 | s.from_loop);
        else
            move_leaf(all, *to, from, loops);
        to = &(*to)->next;
        from = (struct ti_fold_node *)(uintptr_t)skip(from, s.length);
        length -= s.length;
        loops = 1;
    }
}

void ti__nodes_append(struct ti_node_store *all, struct ti_fold_node *loop,
                      struct ti_fold_node *from)
{
    move_list(all, loop, &loop->child, from, loop->length, 1);
}
