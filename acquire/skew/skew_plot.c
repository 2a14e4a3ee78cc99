/* Draws the figures with gnuplot. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/skew/skew.h"
#include "common/beside.h"

ti_status ti_skew_plot_check(const char *path, struct ti_err *err)
{
    char found[PATH_MAX], dir[PATH_MAX];
    const char *dot = strrchr(path, '.');
    char *slash;

    if (!dot || strcmp(dot, ".svg") != 0)
        return ti_err_set(err, TI_ERR_USAGE, "--plot draws SVG: '%s' should end in .svg", path);
    if (!ti_find_on_path("gnuplot", found)) {
        ti_err_set(err, TI_ERR_INPUT, "cannot draw '%s': gnuplot is not there", path);
        ti_err_hint(err, "install gnuplot, or leave out --plot: --json has all figures");
        return TI_ERR_INPUT;
    }
    if (snprintf(dir, sizeof dir, "%s", path) >= (int)sizeof dir)
        return ti_err_set(err, TI_ERR_USAGE, "the plot's name is too long");
    slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    if (access(slash ? dir : ".", W_OK | X_OK) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    return TI_OK;
}

/* Write a gnuplot string in single quotes, where only the quote is special.  Control characters
 * are dropped. */
static void quoted(FILE *g, const char *text)
{
    fputc('\'', g);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', g);
        if ((unsigned char)*text >= ' ')
            fputc(*text, g);
    }
    fputc('\'', g);
}

/* One plot of a figure over np. */
struct panel {
    const char *title;
    struct ti_spread (*of)(const struct ti_skew_figures *f);
};

static struct ti_spread whole(const struct ti_skew_figures *f)
{
    return f->whole;
}

static struct ti_spread bursts(const struct ti_skew_figures *f)
{
    return f->own;
}

static struct ti_spread overhead(const struct ti_skew_figures *f)
{
    return f->overhead;
}

static const struct panel panels[] = {{"(a) skew of the whole run, %", whole},
                                      {"(b) skew of bursts, %", bursts},
                                      {"overhead in time, %", overhead}};
#define PANELS ((int)(sizeof panels / sizeof *panels))

/* Medians, with bars from minimum to maximum. */
static void draw_np(FILE *g, const struct ti_skew *s, const struct panel *panel)
{
    bool any = false, zero = true;

    fputs("$np << END\n", g);
    for (int i = 0; i < s->nnp; i++) {
        struct ti_skew_figures f;
        struct ti_spread v;

        ti_skew_figures(s, &s->np[i], &f);
        v = panel->of(&f);
        if (v.n)
            fprintf(g, "%d %.9g %.9g %.9g\n", i, v.median, v.min, v.max);
        any = any || v.n;
        zero = zero && (!v.n || (v.min == 0 && v.max == 0));
    }
    fprintf(g, "END\nset title '%s'\nset xrange [-0.5:%d.5]\nset xtics (", panel->title,
            s->nnp - 1);
    for (int i = 0; i < s->nnp; i++)
        fprintf(g, "%s'%" PRId64 "' %d", i ? ", " : "", s->np[i].np, i);
    fputs(")\n", g);
    if (any)
        fprintf(g, "plot [] %s $np using 1:2:3:4 with yerrorbars pt 7 lw 1.5, 0 lc 'gray'\n",
                zero ? "[-1:1]" : "[*:*]"); /* gnuplot finds no range if all values are 0 */
    else
        fputs("set label 1 'not known' at graph 0.5, 0.5 center\nplot [] [0:1] -1\nunset label 1\n",
              g);
}

/* All foldings side by side: boxes for quartiles, whiskers to the extremes, a line at the median.
 * Extremes are often a thousand times the quartiles, so the axis is logarithmic away from 0. */
static void draw_fold(FILE *g, const struct ti_skew_np *np)
{
    double width = 0.8 / np->nfold, least = -0.1, most = 0.1;

    for (int i = 0; i < np->nfold; i++) {
        fprintf(g, "$fold%d << END\n", i);
        for (int length = 0; length < TI_SKEW_CLASSES; length++) {
            const struct ti_deviations *d = &np->fold[i].bursts->length[length];

            if (!d->n)
                continue;
            least = 100 * d->min < least ? 100 * d->min : least;
            most = 100 * d->max > most ? 100 * d->max : most;
            fprintf(g, "%d", length + 1);
            for (int q = 0; q <= 4; q++)
                fprintf(g, " %.9g", 100 * ti_deviations_quantile(d, q / 4.0));
            fputc('\n', g);
        }
        fputs("NaN NaN NaN NaN NaN NaN\nEND\n", g); /* gnuplot needs at least one line */
    }
    fprintf(g,
            "set title 'bursts of %" PRId64 " ranks folded, %% off those at %" PRId64
            " a core: minimum, quartiles, maximum'\n"
            "set xlabel 'length of the burst, at least'\nset xrange [0.5:%d.5]\n"
            "set xtics ('10' 1, '100' 2, '1,000' 3, '10^4' 4, '10^5' 5, '10^6' 6, '10^7' 7)\n"
            "set nonlinear y via asinh(y / 0.02) inverse 0.02 * sinh(y)\n"
            "set ytics (-100, -10, -1, -0.1, 0, 0.1, 1, 10, 100, 1000, '10^4' 10000, "
            "'10^5' 100000, '10^6' 1000000)\n"
            "set yrange [%.9g:%.9g]\n"
            "set boxwidth %.4g\nset key top right\nplot 0 lc 'gray' notitle",
            np->np, np->fold[0].factor, TI_SKEW_CLASSES, 1.5 * least, 1.5 * most, 0.9 * width);
    for (int i = 0; i < np->nfold; i++) {
        double off = (i + 0.5) * width - 0.4;

        fprintf(g,
                ", $fold%d using ($1+%.4g):3:2:6:5 with candlesticks lc %d title "
                "'%" PRId64 " a core' whiskerbars 0.5, "
                "$fold%d using ($1+%.4g):4:4:4:4 with candlesticks lc %d lw 2 notitle",
                i, off, i + 1, np->fold[i].factor, i, off, i + 1);
    }
    fputs("\nunset nonlinear y\nset ytics auto\nset yrange [*:*]\n", g);
}

ti_status ti_skew_plot(const struct ti_skew *s, const char *path, struct ti_err *err)
{
    char *program = ti_args_shell(&s->o->run.program);
    int rows = 1, row = 0;
    double height;
    FILE *g = popen("exec gnuplot", "we");

    for (int i = 0; i < s->nnp; i++)
        rows += s->np[i].nfold > 0;
    height = 0.96 / rows;
    if (!g) {
        free(program);
        return ti_err_errno(err, TI_ERR_IO, "cannot draw '%s'", path);
    }
    fprintf(g, "set terminal svg size 1000,%d dynamic background rgb 'white'\nset output ",
            30 + 350 * rows);
    quoted(g, path);
    fputs("\nset multiplot title ", g);
    quoted(g, program ? program : s->facts.program.given);
    fprintf(g, ".', counted with %s' noenhanced\nset grid y\nset style fill solid 0.3\nunset key\n",
            s->facts.choice.of->name);
    free(program);
    fprintf(g, "set size %.4f,%.4f\nset xlabel 'ranks'\n", 1.0 / PANELS, height);
    for (int i = 0; i < PANELS; i++) {
        fprintf(g, "set origin %.4f,%.4f\n", (double)i / PANELS, (rows - 1) * height);
        draw_np(g, s, &panels[i]);
    }
    fprintf(g, "set size 1,%.4f\n", height);
    for (int i = 0; i < s->nnp; i++)
        if (s->np[i].nfold) {
            fprintf(g, "set origin 0,%.4f\n", (rows - 2 - row++) * height);
            draw_fold(g, &s->np[i]);
        }
    fputs("unset multiplot\n", g);
    if (pclose(g) != 0)
        return ti_err_set(err, TI_ERR_IO, "gnuplot could not draw '%s': see above", path);
    return TI_OK;
}
