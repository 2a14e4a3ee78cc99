/*
 * Ranks 0 to n - 1 as a tree: below each rank is a block of ranks that follow it, and that
 * block is cut into TI_BRANCHES parts or fewer, whose first ranks are its children.
 */
#ifndef TI_RANKTREE_H
#define TI_RANKTREE_H

#define TI_BRANCHES 32

struct ti_block {
    int first, end; /* ranks from `first` up to, not including, `end` */
};

static inline int ti_children(struct ti_block b)
{
    int below = b.end - b.first - 1;

    return below < TI_BRANCHES ? below : TI_BRANCHES;
}

/* Child `i` of b.first, with what is below it.  The first one's is the largest. */
static inline struct ti_block ti_child(struct ti_block b, int i)
{
    int below = b.end - b.first - 1, parts = ti_children(b);
    int least = below / parts, longer = below % parts;
    int first = b.first + 1 + i * least + (i < longer ? i : longer);

    return (struct ti_block){first, first + least + (i < longer)};
}

/* Levels below b.first. */
static inline int ti_height(struct ti_block b)
{
    int height = 0;

    for (; ti_children(b); b = ti_child(b, 0))
        height++;
    return height;
}

/* The rank and what is below it; *parent is -1 for rank 0. */
static inline struct ti_block ti_block_of(int rank, int n, int *parent)
{
    struct ti_block b = {0, n};

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
