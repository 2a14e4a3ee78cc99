/*
 * Common to the pictures: colours, cells, legends and axes of ranks, in cell.c.
 */
#ifndef TI_TERMINAL_INTERNAL_H
#define TI_TERMINAL_INTERNAL_H

#include "terminal/pictures.h"

#define TI__WIDTH 80 /* where there is no limit */

/* Sets the colours of what is printed: numbers of the palette, or of the eight colours; -1: the
 * terminal's own.  Nothing is written if they are set already, or if the ink has no colours. */
struct ti__pen {
    FILE *out;
    enum ti_ink ink;
    int front, back; /* as set */
};
struct ti__pen ti__pen(FILE *out, enum ti_ink ink);
void ti__pen_set(struct ti__pen *pen, int front, int back);

/* The colour of a kind, and its block where there are no colours. */
int ti__colour(enum ti_ink ink, enum ti_kind kind);
const char *ti__block(enum ti_kind kind);

/* Print a block of `eighths` of a character, 0 to 8: from the left, or from the bottom. */
void ti__put_left(FILE *out, int eighths);
void ti__put_bottom(FILE *out, int eighths);

/* Print a character that has parts of kinds, in any unit, and `empty` of none.  With colours it
 * shows the two largest of them in proportion, without colours the largest. */
void ti__put_cell(struct ti__pen *pen, const double part[TI_KINDS], double empty);

/* Print the line that says which block or colour stands for which kind.  `kinds`: has a bit for
 * each kind that occurs. */
void ti__put_kinds(FILE *out, enum ti_ink ink, int indent, unsigned kinds,
                   const char *const names[TI_KINDS]);

/* How many ranks a character stands for, so that `np` ranks fit in `room` characters: 1, 2,
 * 3, 4, 6, 8, 12, 16, ... */
int64_t ti__group(int64_t np, int64_t room);

/* The width of labels: digits of a rank below `np`, or more. */
int ti__label(int64_t np);

/* Print a line of ranks: the first rank of a column, every few columns, after `indent` blanks.  A
 * column stands for `group` ranks and is `each` characters wide. */
void ti__put_ranks(FILE *out, int indent, int64_t np, int64_t group, int each);

/* Print "WHAT, 16 ranks a line", as in `unit`; or "WHAT". */
void ti__put_title(FILE *out, int width, const char *what, int64_t group, const char *unit);

#endif
