/*
 * Pictures of numbers on a terminal: bars, a matrix of ranks, shares and volumes by rank, and a
 * timeline.  Each is drawn from numbers that a tool already has, with Unicode blocks, in the width
 * of the terminal; ranks are aggregated so that the picture fits.
 *
 * A tool draws where ti_ink_of(stdout) is not TI_INK_NONE, and prints only its tables elsewhere.
 * All functions take the width of lines (ti_width()); 0, which is no limit, stands for 80.  They
 * end the tool if memory is short.
 */
#ifndef TI_TERMINAL_PICTURES_H
#define TI_TERMINAL_PICTURES_H

#include <stdint.h>
#include <stdio.h>

#include "common/table.h"
#include "common/units.h"

/* How a picture can be drawn. */
enum ti_ink {
    TI_INK_NONE,    /* not at all */
    TI_INK_BLOCKS,  /* without colours: kinds are told apart by their blocks */
    TI_INK_COLOURS, /* with the eight colours of any terminal */
    TI_INK_PALETTE  /* with 256 colours */
};

/* The ink for a stream.  None unless it is a terminal whose character set (LC_ALL, LC_CTYPE, LANG)
 * is UTF-8 and whose TERM is not "dumb"; blocks only where NO_COLOR is set and not empty. */
enum ti_ink ti_ink_of(FILE *out);

/* Kinds of what ranks do, in the order in which they are drawn: left to right, bottom to top. */
enum ti_kind {
    TI_KIND_COMPUTING,
    TI_KIND_MESSAGES,
    TI_KIND_COLLECTIVES,
    TI_KIND_WAITING,
    TI_KINDS
};

/* Print a table (common/table.h) with its bars: of one part, or of TI_KINDS parts with a block or
 * colour for each kind. */
void ti_paint_table(struct ti_text_table *t, FILE *out, int width, enum ti_ink ink);

/* Print a bar of one kind, `share` of `width` characters, and blanks after it. */
void ti_paint_bar(FILE *out, int width, enum ti_ink ink, enum ti_kind kind, double share);

/*
 * A matrix of ranks: ti_matrix_new(), ti_matrix_add() for each pair that has something, and
 * ti_matrix_print(), which frees it.
 *
 *   what   of which the matrix is, "bytes from ranks (left) to ranks (above)"; ends in what a
 *          character stands for, and the legend below has the values by `unit`
 *
 * Values of pairs in one character are added up.  Each shade is a factor above the one before it;
 * the smallest value has the lightest shade, unless it is below 1/10,000 of the largest.
 */
struct ti_matrix;
struct ti_matrix *ti_matrix_new(int64_t np, int width, enum ti_ink ink);
void ti_matrix_add(struct ti_matrix *m, int64_t row, int64_t column, double value);
void ti_matrix_print(struct ti_matrix *m, FILE *out, const char *what, enum ti_unit unit);

/*
 * Columns for ranks, side by side.
 *
 * ti_paint_volumes() draws a value of each rank, up to the least of the ranks in one character as a
 * block, and up to the largest as a shade.  `value[i]` is that of rank `rank[i]`; ranks ascend.
 *
 * ti_paint_shares() draws the shares of kinds in the sum of TI_KINDS parts of each rank, which
 * stand at part[TI_KINDS * rank].
 */
void ti_paint_volumes(FILE *out, int width, enum ti_ink ink, const char *what, int64_t np,
                      int64_t n, const int64_t *rank, const uint64_t *value);
void ti_paint_shares(FILE *out, int width, enum ti_ink ink, const char *what, int64_t np,
                     const double *part);

/* A timeline: for each line of `group` ranks, and each of `bins` pieces of the time, how many
 * seconds these ranks spend with each kind, at [TI_KINDS * (bins * line + bin)]. */
struct ti_paint_timeline {
    int64_t np, group;
    int bins;
    double bin_s; /* length of a piece */
    double end_s; /* of the timeline, at most bins * bin_s */
    const double *spent;
};
void ti_paint_timeline(FILE *out, int width, enum ti_ink ink, const struct ti_paint_timeline *t);

#endif
