/*
 * Grids: where the ranks of each input are, and those of the target.
 *
 * Ranks with different forms are at different places: corners, edges, the interior.  A grid fits if
 * the form of a rank follows from its cell, in all inputs alike.  A cell is, for each axis, whether
 * the rank is the first one, the last one, or between them.  Where that does not do, cells also
 * tell ranks on the diagonal from others, or even coordinates from odd ones.
 */
#ifndef TI_EXTRAPOLATE_GRID_H
#define TI_EXTRAPOLATE_GRID_H

#include "extrapolate/differ.h"
#include "extrapolate/inputs.h"
#include "extrapolate/rule.h"

#define TI_CELLS 1024 /* cells have numbers below that */

enum { TI_CELL_DIAGONAL = 1, TI_CELL_PARITY = 2 };

struct ti_grid {
    int axes;
    int64_t p[TI_INPUTS_MOST + 1][TI_AXES]; /* of each input, then of the target */
    int64_t
        rival[TI_AXES]; /* another one of the target that continues the inputs; [0] is 0: none */
    int cells;          /* TI_CELL_ flags: what else a cell tells */
    int32_t class[TI_CELLS]; /* of each cell; -1: no input has it */
};

/* The place of a rank; its `t` is 0. */
struct ti_spot ti_grid_spot(const struct ti_grid *g, int input, int64_t np, int64_t rank);

/* How many cells a grid tells apart, at most TI_CELLS. */
static inline int64_t ti_grid_cells(const struct ti_grid *g)
{
    int64_t n = g->cells & TI_CELL_DIAGONAL ? 2 : 1;

    for (int i = 0; i < g->axes; i++)
        n *= g->cells & TI_CELL_PARITY && i < 2 ? 6 : 3;
    return n;
}

/* The cell of a place, below ti_grid_cells(). */
uint32_t ti_grid_cell(const struct ti_grid *g, const struct ti_spot *at);

/* All grids that fit: those with the fewest axes first, and of these those with the simplest cells.
 * `np` ranks are asked for, in a grid of `dims` if these are not NULL, which end with 0.  Calls
 * `each` until it returns true.  False: it never did.
 *
 *   *out  two ranks at the same place of the grid that went furthest, but with different forms; all
 *         0 if there are none */
typedef bool ti_grid_fn(void *arg, const struct ti_grid *g);
bool ti_grids_try(const struct ti_inputs *in, int64_t np, const int64_t *dims, ti_grid_fn *each,
                  void *arg, struct ti_differing *out);

/* The grid of `np` ranks by the laws that those of all inputs and of the target follow, into p;
 * false if there is none, or several. */
bool ti_grid_of(const struct ti_inputs *in, const struct ti_grid *g, int64_t np,
                int64_t p[TI_AXES]);

#endif
