/*
 * Tables for people: columns as wide as what they hold, which give way where a terminal is narrow.
 *
 * Cells are added in the order of the columns, row by row, and kept until the table is printed.
 * Texts stand at the left of their column, numbers at the right.  If the table is wider than the
 * lines may be, it gets narrower by these steps, until it fits:
 *
 *   - one blank between columns in place of two,
 *   - long texts lose their middle ("exchange...multigrid.c:227"), down to the column's `least`,
 *   - the numbers of a column, the widest first, are rounded to four digits of one unit ("12.34M"),
 *   - texts get what is left.
 */
#ifndef TI_COMMON_TABLE_H
#define TI_COMMON_TABLE_H

#include <stdint.h>
#include <stdio.h>

enum ti_cells {
    TI_CELLS_TEXT,
    TI_CELLS_WORDS,   /* short texts, at the right: numbers as the caller writes them */
    TI_CELLS_RANKS,   /* whole numbers that are names: 16383; never rounded */
    TI_CELLS_COUNTS,  /* whole numbers: 1,234,567 */
    TI_CELLS_MEANS,   /* numbers with one decimal */
    TI_CELLS_SECONDS, /* times; all of a table have one unit, see ti_table_time_unit() */
    TI_CELLS_BARS     /* pictures of numbers, see ti_table_bars() */
};

struct ti_table_column {
    const char *title; /* borrowed */
    enum ti_cells cells;
    int least; /* of texts: the width to keep while numbers can be rounded.  Of bars: the width */
};

struct ti_text_table;

/* Begin a table; `columns` are copied.  It ends with ti_table_print(). */
struct ti_text_table *ti_table_new(const struct ti_table_column *columns, int n);

/* Add the next cell of a row, by the kind of its column: a text or words; a rank or count; a mean
 * or seconds; or an empty cell of any kind. */
void ti_table_text(struct ti_text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void ti_table_count(struct ti_text_table *t, uint64_t n);
void ti_table_value(struct ti_text_table *t, double v);
void ti_table_skip(struct ti_text_table *t);

/* Add the next cell of a row, a bar: of `n` parts side by side, as many as in other bars of the
 * table.  The longest bar of a column fills the column. */
void ti_table_bar(struct ti_text_table *t, int n, const double *part);

/*
 * Draw the bars of a table by `put`.  Without this call, columns of bars are not there.  Bars are
 * at least as wide as their column's `least`, and get what other columns leave over, up to 40
 * characters.  The last text of the table makes room for them; if that is not enough, there are no
 * bars.
 *
 *   put   prints a bar to `out`, `width` characters for a sum of the parts of `whole`; returns how
 *         many characters that were
 *   arg   is passed on
 */
typedef int ti_bar_put(FILE *out, int width, double whole, int n, const double *part,
                       const void *arg);
void ti_table_bars(struct ti_text_table *t, ti_bar_put *put, const void *arg);

/* Add the line of titles; a table without one has none. */
void ti_table_titles(struct ti_text_table *t);

/* Add a line that is no row, and has no columns.  A long one is broken at blanks. */
void ti_table_line(struct ti_text_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The unit of all seconds so far: "s", "ms" or "us", whichever the largest needs. */
const char *ti_table_time_unit(const struct ti_text_table *t);

/* Give a column another title, which is borrowed: one with that unit. */
void ti_table_title(struct ti_text_table *t, int column, const char *title);

/* Print the table to `out` and free it.  `width`: of lines, 0: no limit. */
void ti_table_print(struct ti_text_table *t, FILE *out, int width);

/* Print a text to `out`, broken at blanks into lines of at most `width`, 0: not broken. */
void ti_print_wide(FILE *out, int width, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of a line with a label of `indent` characters: further lines begin with as many blanks,
 * and a word that is too long for a line loses its middle. */
void ti_print_labelled(FILE *out, int width, int indent, const char *text);

/* Print a line to `out`, without its middle if it is longer than `width`. */
void ti_print_short(FILE *out, int width, const char *text);

#endif
