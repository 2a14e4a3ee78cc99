/*
 * A tree of ranks 0 to n - 1.  Below a rank is a block of ranks that follow it.  The block is cut
 * into at most TI_TREE_ARITY parts, and the first rank of each part is a child.
 */
#ifndef TI_MINITRACE_RANKTREE_H
#define TI_MINITRACE_RANKTREE_H

#define TI_TREE_ARITY 32

struct ti_subtree {
    int first, end; /* ranks first .. end - 1 */
};

static inline int ti_child_count(struct ti_subtree b)
{
    int below = b.end - b.first - 1;

    return below < TI_TREE_ARITY ? below : TI_TREE_ARITY;
}

/* The subtree of child `i` of b.first.  The first child's is the largest. */
static inline struct ti_subtree ti_child(struct ti_subtree b, int i)
{
    int below = b.end - b.first - 1, parts = ti_child_count(b);
    int least = below / parts, longer = below % parts;
    int first = b.first + 1 + i * least + (i < longer ? i : longer);

    return (struct ti_subtree){first, first + least + (i < longer)};
}

/* Levels below b.first. */
static inline int ti_height(struct ti_subtree b)
{
    int height = 0;

    for (; ti_child_count(b); b = ti_child(b, 0))
        height++;
    return height;
}

/* The subtree of `rank`; *parent is -1 for rank 0. */
static inline struct ti_subtree ti_subtree_of(int rank, int n, int *parent)
{
    struct ti_subtree b = {0, n};

    *parent = -1;
    while (b.first != rank) {
        int i = 0;

        while (ti_child(b, i).end <= rank)
            i++;
        *parent = b.first;
        b = ti_child(b, i);
    }
    return b;
}

#endif
