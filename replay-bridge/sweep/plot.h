/*
 * Grouped bars, or lines where there are many, as SVG: panels side by side that share a scale.
 */
#ifndef TI_PLOT_H
#define TI_PLOT_H

#include <stddef.h>
#include <stdio.h>

/* Labels along one dimension. */
struct ti_plot_labels {
    const char *name; /* of what they are values of */
    char **text;
    int n;
};

/* What is drawn at a place: the median of `n` values, and how far they reach; n 0: nothing, which
 * is marked as failed. */
struct ti_plot_mark {
    double median, min, max; /* in seconds */
    int n;
};

struct ti_plot {
    const char *title, *note;               /* lines above */
    struct ti_plot_labels x, series, panel; /* n is 1 or more */
    struct ti_plot_mark *mark;              /* [panel][series][x] */
};

void ti_plot_draw(FILE *out, const struct ti_plot *plot);

/* Sort `n` values, 1 or more, and sum them up. */
struct ti_plot_mark ti_plot_sum_up(double *values, int n);

#endif
