/*
 * The nodes of a shape (formats/folded/fold.h): their memory, and how lists of nodes become one.
 * For fold.c only.
 */
#ifndef TI_FOLD_NODES_H
#define TI_FOLD_NODES_H

#include "formats/folded/fold.h"

#define TI_POOLED 8 /* columns of nodes with up to so many are kept for the next node */

/* All nodes of a shape.  Zeroed but for `nvolumes`, there are none. */
struct ti_nodes {
    uint32_t nvolumes;
    uint64_t n;
    struct ti_node *free_node, *blocks;            /* linked by `next` */
    struct ti_column *free_columns[TI_POOLED + 1]; /* linked by `run` */
    struct ti_column *column_blocks;
};

/* `n` zeroed elements. */
void *ti__new_array(size_t n, size_t size);

/* A node with `ncolumns` empty columns. */
struct ti_node *ti__node_new(struct ti_nodes *all, uint32_t ncolumns);

/* Release a node, and what is below it. */
void ti__node_drop(struct ti_nodes *all, struct ti_node *node);

/* Release the memory of nodes that were all dropped. */
void ti__nodes_free(struct ti_nodes *all);

/* Give the first leaf of a node another arrival: from the end of a loop around that node.  Its
 * columns are empty. */
void ti__node_add_arrival(struct ti_nodes *all, struct ti_node *node);

/*
 * Whether lists of that length can become one.  Their symbols must be equal, those of loops taken
 * once, and their loops must nest: a loop of one list stands for a loop, or for one trip of it, in
 * the other one.  `depth` is the number of loops around them.
 */
bool ti__nodes_nest(const struct ti_node *to, const struct ti_node *from, uint64_t length,
                    int depth);

/* Append the columns of a list to those of the body of `loop`, as another trip (ti__nodes_nest()).
 * The caller counts the trip, and drops the list. */
void ti__nodes_append(struct ti_nodes *all, struct ti_node *loop, const struct ti_node *from);

#endif
