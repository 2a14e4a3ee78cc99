/*
 * The nodes of a shape (fold/fold.h): their memory, and how lists of nodes become one.
 * For fold.c only.
 */
#ifndef TI_FOLD_FOLD_NODES_H
#define TI_FOLD_FOLD_NODES_H

#include "fold/fold.h"

/* All nodes of a shape.  Zeroed but for `nvolumes`, there are none. */
struct ti_node_store {
    struct ti_pool pool;
    uint32_t nvolumes;
    uint64_t n;
};

/* A leaf with `ncolumns` empty columns, or a loop; NULL when memory is short. */
struct ti_fold_node *ti__leaf_new(struct ti_node_store *all, uint32_t ncolumns);
struct ti_fold_node *ti__loop_new(struct ti_node_store *all);

/* Release a node, and what is below it. */
void ti__node_drop(struct ti_node_store *all, struct ti_fold_node *node);

/* Give the first leaf of a node another arrival: from the end of a loop around that node.  Its
 * columns are empty.  False when memory is short: the node is as before. */
bool ti__node_add_arrival(struct ti_node_store *all, struct ti_fold_node *node);

/*
 * Whether lists of that length can become one.  Their symbols must be equal, those of loops taken
 * once, and their loops must nest: a loop of one list stands for a loop, or for one trip of it, in
 * the other one.  `depth` is the number of loops around them.
 */
bool ti__nodes_nest(const struct ti_fold_node *to, const struct ti_fold_node *from, uint32_t length,
                    int depth);

/* Move the columns of a list to the end of those of the body of `loop`, as another trip
 * (ti__nodes_nest()).  The caller counts the trip, and drops the list.  When memory is short,
 * values are lost, and the nest has fewer loops; all->pool.no_memory is set. */
void ti__nodes_append(struct ti_node_store *all, struct ti_fold_node *loop,
                      struct ti_fold_node *from);

#endif
