/*
 * The picture of a study.  The first choice with several values is along the axis, the second gives
 * the series, the product of the others gives the panels.  Random placements that differ only in
 * the seed count as one value, drawn as median and range.  So do the runs of a point.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "replay-bridge/sweep/plot.h"
#include "replay-bridge/sweep/study.h"

#define RANDOM     "random:"
#define PANELS_MAX 48

/* A choice as it is drawn: values in groups. */
struct axis {
    size_t choice;
    int *group;           /* of each value */
    struct ti_args label; /* of each group */
};

static bool is_random(const char *value)
{
    return !strncmp(value, RANDOM, strlen(RANDOM));
}

/* Whether a choice is the seed of runs. */
static bool is_runs(const struct ti_study *study, size_t choice)
{
    return study->runs && choice == study->sweep->n - 1;
}

static struct axis make_axis(const struct ti_study *study, size_t choice)
{
    const struct ti_sweep *sweep = study->sweep;
    const struct ti_args *value = &sweep->choice[choice].value;
    struct axis axis = {.choice = choice};
    size_t none = 0;
    int seeds = 0, random = -1;

    axis.group = ti_grow(NULL, &none, (size_t)value->n, sizeof *axis.group);
    if (is_runs(study, choice)) {
        ti_args_addf(&axis.label, "%d runs", value->n);
        return axis;
    }
    for (int v = 0; v < value->n; v++)
        seeds += is_random(value->v[v]);
    for (int v = 0; v < value->n; v++) {
        bool one_of_many = seeds > 1 && is_random(value->v[v]);

        if (one_of_many && random >= 0) {
            axis.group[v] = random;
            continue;
        }
        axis.group[v] = axis.label.n;
        if (one_of_many) {
            random = axis.label.n;
            ti_args_addf(&axis.label, "random, %d seeds", seeds);
        } else {
            ti_args_add(&axis.label, value->v[v]);
        }
    }
    return axis;
}

struct drawing {
    const struct ti_study *study;
    struct axis *axis;
    size_t x, series; /* of the axes; series SIZE_MAX: none */
    struct ti_args panel;
};

/* Chooses the axes: choices with several values come first. */
static void choose(struct drawing *d)
{
    size_t n = d->study->sweep->n;

    d->x = d->series = SIZE_MAX;
    for (size_t c = 0; c < n; c++)
        if (d->axis[c].label.n > 1) {
            if (d->x == SIZE_MAX)
                d->x = c;
            else if (d->series == SIZE_MAX)
                d->series = c;
        }
    if (d->x == SIZE_MAX)
        d->x = 0;
}

static bool is_panel_axis(const struct drawing *d, size_t c)
{
    return c != d->x && c != d->series && d->axis[c].label.n > 1;
}

static int group_of(const struct drawing *d, int64_t point, size_t c)
{
    return d->axis[c].group[ti_sweep_index(d->study->sweep, point, c)];
}

static int panel_of(const struct drawing *d, int64_t point)
{
    int panel = 0;

    for (size_t c = 0; c < d->study->sweep->n; c++)
        if (is_panel_axis(d, c))
            panel = panel * d->axis[c].label.n + group_of(d, point, c);
    return panel;
}

/* The name of each panel, as the first point in it has it. */
static void name_panels(struct drawing *d)
{
    for (int64_t i = 0; i < d->study->n; i++) {
        char text[400] = "";
        FILE *f;

        if (panel_of(d, i) != d->panel.n || !(f = fmemopen(text, sizeof text, "w")))
            continue;
        for (size_t c = 0; c < d->study->sweep->n; c++)
            if (is_panel_axis(d, c))
                fprintf(f, "%s%s %s", ftell(f) ? ", " : "", d->study->sweep->choice[c].opt->name,
                        d->axis[c].label.v[group_of(d, i, c)]);
        fclose(f);
        ti_args_add(&d->panel, text);
    }
}

static struct ti_plot_labels labels_of(const struct drawing *d, size_t c)
{
    static char *none[] = {""};

    if (c == SIZE_MAX)
        return (struct ti_plot_labels){"", none, 1};
    return (struct ti_plot_labels){d->study->sweep->choice[c].opt->name, d->axis[c].label.v,
                                   d->axis[c].label.n};
}

/* Where a point is drawn, or SIZE_MAX if its panel is not. */
static size_t place_of(const struct drawing *d, const struct ti_plot *plot, int64_t point)
{
    int panel = panel_of(d, point);
    int series = d->series == SIZE_MAX ? 0 : group_of(d, point, d->series);

    if (panel >= plot->panel.n)
        return SIZE_MAX;
    return ((size_t)panel * (size_t)plot->series.n + (size_t)series) * (size_t)plot->x.n +
           (size_t)group_of(d, point, d->x);
}

/* Sums up the values at each place, without points that failed. */
static void sum_up(const struct drawing *d, struct ti_plot *plot)
{
    size_t places = (size_t)plot->panel.n * (size_t)plot->series.n * (size_t)plot->x.n, none = 0;
    size_t *cap = ti_grow(NULL, &none, places, sizeof *cap), mark_cap = 0, value_cap = 0;
    double **values;

    plot->mark = ti_grow(NULL, &mark_cap, places, sizeof *plot->mark);
    values = ti_grow(NULL, &value_cap, places, sizeof *values);
    for (int64_t i = 0; i < d->study->n; i++) {
        size_t at = place_of(d, plot, i);
        double time = ti_study_point_time(&d->study->point[i]);

        if (at == SIZE_MAX || isnan(time))
            continue;
        values[at] = ti_grow(values[at], &cap[at], (size_t)plot->mark[at].n + 1, sizeof **values);
        values[at][plot->mark[at].n++] = time;
    }
    for (size_t at = 0; at < places; at++) {
        if (plot->mark[at].n)
            plot->mark[at] = ti_plot_sum_up(values[at], plot->mark[at].n);
        free(values[at]);
    }
    free(values);
    free(cap);
}

/* Writes the note: the options that are the same for all points. */
static void put_note(const struct drawing *d, const struct ti_plot *plot, char *text, size_t room)
{
    const struct ti_args *args = &d->study->point[0].args;
    FILE *f = fmemopen(text, room, "w");

    if (!f)
        return;
    for (int a = 0; a < args->n; a++) {
        bool varies = false;

        for (size_t c = 0; c < d->study->sweep->n; c++) {
            const char *name = d->study->sweep->choice[c].opt->name;

            varies = varies || (!strncmp(args->v[a] + 2, name, strlen(name)) &&
                                args->v[a][2 + strlen(name)] == '=' &&
                                (d->axis[c].label.n > 1 || is_runs(d->study, c)));
        }
        if (!varies)
            fprintf(f, "%s%s", ftell(f) ? "  " : "", args->v[a] + 2);
    }
    if (d->study->runs)
        fprintf(f, "%smedian and range of %lld runs", ftell(f) ? "; " : "",
                (long long)d->study->runs);
    if (plot->panel.n < d->panel.n)
        fprintf(f, "%sthe first %d of %d panels", ftell(f) ? "; " : "", plot->panel.n, d->panel.n);
    fclose(f);
}

void ti__study_plot(FILE *out, const void *what)
{
    struct drawing d = {.study = what};
    const struct ti_sweep *sweep = d.study->sweep;
    size_t none = 0;
    struct ti_plot plot = {0};
    char note[400] = "", title[400];

    d.axis = ti_grow(NULL, &none, sweep->n, sizeof *d.axis);
    for (size_t c = 0; c < sweep->n; c++)
        d.axis[c] = make_axis(d.study, c);
    choose(&d);
    name_panels(&d);
    plot.x = labels_of(&d, d.x);
    plot.series = labels_of(&d, d.series);
    plot.panel =
        (struct ti_plot_labels){"", d.panel.v, d.panel.n < PANELS_MAX ? d.panel.n : PANELS_MAX};
    put_note(&d, &plot, note, sizeof note);
    snprintf(title, sizeof title, "Simulated time of %s", d.study->only);
    plot.title = title;
    plot.note = note;
    sum_up(&d, &plot);
    ti_plot_draw(out, &plot);
    free(plot.mark);
    for (size_t c = 0; c < sweep->n; c++) {
        free(d.axis[c].group);
        ti_args_free(&d.axis[c].label);
    }
    free(d.axis);
    ti_args_free(&d.panel);
}
