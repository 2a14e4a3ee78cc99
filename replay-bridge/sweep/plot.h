/*
 * Plots as SVG: grouped bars, or lines if there are many; panels share one scale.
 */
#ifndef TI_REPLAY_BRIDGE_SWEEP_PLOT_H
#define TI_REPLAY_BRIDGE_SWEEP_PLOT_H

#include <stdio.h>

/* Labels along one dimension. */
struct ti_plot_labels {
    const char *name; /* name of the dimension */
    char **text;
    int n;
};

/* One bar or dot: the median of `n` values and their range.  n == 0: drawn as failed. */
struct ti_plot_mark {
    double median, min, max; /* in seconds */
    int n;
};

struct ti_plot {
    const char *title, *note;               /* lines above the panels */
    struct ti_plot_labels x, series, panel; /* n is 1 or more */
    struct ti_plot_mark *mark;              /* [panel][series][x] */
};

void ti_plot_draw(FILE *out, const struct ti_plot *plot);

/* Median and range of `n` values, n >= 1.  Sorts `values`. */
struct ti_plot_mark ti_plot_sum_up(double *values, int n);

#endif
