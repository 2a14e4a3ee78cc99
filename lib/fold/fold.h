/*
 * Folding: a list of symbols becomes a nest of loops while it arrives.
 *
 * The result is a shape: a list of nodes.  A leaf is a symbol, a loop has a body, which is a list
 * of nodes.  Trip counts are no part of the shape.  They are values, as volumes are: each node has
 * columns (fold/column.h) with one value for each time that the program passed it.
 *
 * A column of volumes belongs to a position in the shape and to the way that led there.  A leaf
 * that begins loops is reached in several ways: from the node before, or from the end of one of
 * these loops.  Bursts differ by that.  So a leaf has a set of volumes for each way; `arrivals` of
 * them.  Arrival number `a` is from the end of the loop around the `a` innermost of these loops;
 * the last arrival is from the node before.
 *
 * The last `window` nodes of the list may still be folded.  A part that equals the part before it
 * becomes a loop with two trips.  A part that equals the body of a loop that ends before it becomes
 * another trip of that loop.  The shortest part comes first.  A loop ends where its last node does,
 * so an inner loop goes on after its first two trips have become a part of another trip around it.
 * This is the scheme of RSDs and PRSDs (Noeth et al., ScalaTrace, JPDC 69, 2009, section 3.1), with
 * hashes in place of the search.
 *
 * Parts are equal if their symbols are, those of a loop taken once, and their loops nest.  So
 * `a b` equals a loop of `a`, then `b`: what passes the body once is a trip of its own, and what
 * was no loop so far becomes a loop whose trip counts were 1.  Otherwise each loop that is passed
 * once now and then, as in codes with adaptive solvers, would multiply the shapes around it.
 *
 * Example: the symbols a b b a b b b c, with volumes 10 to 17.  The shape after each symbol, where
 * {body}t is a loop with t trips in its last pass, and behind a leaf are its columns of volumes,
 * one for each arrival:
 *
 *   a 10   a[10]
 *   b 11   a[10] b[11]
 *   b 12   a[10] {b[12][11]}2
 *   a 13   a[10] {b[12][11]}2 a[13]
 *   b 14   {a[13][10] {b[12][11 14]}1}2
 *   b 15   {a[13][10] {b[12 15][11 14]}2}2
 *   b 16   {a[13][10] {b[12 15 16][11 14]}3}2
 *   c 17   {a[13][10] {b[12 15 16][11 14]}3}2 c[17]
 *
 * With the second b, a loop begins.  So b has two arrivals: from the end of the loop (12), and from
 * the node before (11).  With the third b, the last part `a b` equals the part `a {b}2` before it,
 * which becomes a loop around it, and the inner loop has one trip in its second pass.
 *
 * After ti_fold_end(), the trip counts of the inner loop are the column [2 3], those of the outer
 * one [2].  A reader passes the nodes in order and takes the next value of a column each time: 10,
 * 11, 12, 13, 14, 15, 16, 17.
 */
#ifndef TI_FOLD_FOLD_H
#define TI_FOLD_FOLD_H

#include "fold/runs.h"

#define TI_TAIL 3 /* fewer symbols are compared without a search */

struct ti_fold_node {
    uint64_t hash;          /* of its symbols, those of a loop's body once */
    uint32_t length;        /* how many */
    uint32_t tail[TI_TAIL]; /* the last of these symbols */
    struct ti_fold_node *child; /* first node of a loop's body; NULL: a leaf */
    struct ti_fold_node *last;  /* the body's last node */
    struct ti_fold_node *next;  /* in the body or list */
    union {
        uint32_t symbol;    /* of a leaf */
        uint32_t nchildren; /* of a loop */
    };
    uint32_t arrivals; /* of a leaf: 1 + the loops that begin with it */
    uint32_t ncolumns;
    uint64_t trips;           /* of a loop: those of the last pass, until ti_fold_end() */
    struct ti_column *column; /* of a loop: its trip counts.  Of a leaf: for each arrival its
                               * volumes, then its fields */
};

struct ti_fold;

/* `nvolumes`: how many values each leaf has that belong to the burst before it, at least 1.  A
 * window of less than 8 nodes is made 8.  NULL when memory is short. */
struct ti_fold *ti_fold_new(uint32_t window, uint32_t nvolumes);

/* Append a symbol with its volumes and `nfields` further values.  A symbol has the same number of
 * fields each time. */
void ti_fold_add(struct ti_fold *f, uint32_t symbol, const int64_t *volumes, const int64_t *fields,
                 uint32_t nfields);

/* Whether memory was short: the shape is not valid, and nothing is added any more. */
bool ti_fold_no_memory(const struct ti_fold *f);

/* The shape so far: the first of a list of *n nodes, which belong to `f`. */
const struct ti_fold_node *ti_fold_shape(struct ti_fold *f, uint64_t *n);

/* End the last pass of each loop: its trips are in the column then, and node->trips is 0.  Nothing
 * may be added afterwards. */
void ti_fold_end(struct ti_fold *f);

/* Nodes in memory, for a caller that gives up where nothing folds. */
uint64_t ti_fold_nodes(const struct ti_fold *f);

void ti_fold_free(struct ti_fold *f); /* NULL is fine */

#endif
