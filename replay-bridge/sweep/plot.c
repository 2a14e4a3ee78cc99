#include "replay-bridge/sweep/plot.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/spread.h"
#include "replay-bridge/platform/picture.h"

#define MARGIN    24
#define LETTER    6.1 /* approximate width of a letter of 11 points */
#define HEIGHT    240 /* of the area of a panel */
#define AXIS      58  /* width left of it, at least */
#define HEAD      22  /* height above it */
#define GAP       28  /* between panels */
#define ACROSS    1100
#define BARS_MAX  60 /* in a panel; more are lines */
#define SHORT     60 /* labels up to this width are left out rather than tilted */
#define TEXT_TILT 35 /* degrees, of labels too long for their place */

/* Palette of Okabe and Ito, for colour-blind readers. */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#d55e00", "#8c8c8c", "#3b3b3b"};

static const char *colour(int series)
{
    return colours[(size_t)series % (sizeof colours / sizeof colours[0])];
}

struct ti_plot_mark ti_plot_sum_up(double *values, int n)
{
    struct ti_spread s = ti_spread_of(values, n);

    return (struct ti_plot_mark){.median = s.median, .min = s.min, .max = s.max, .n = n};
}

/* ---- measures ---- */

struct layout {
    bool lines, tilted;
    double bar, group;        /* widths: a bar, and all bars at a label with their gap */
    double width;             /* of the area of a panel */
    double axis, foot;        /* width left of it and height below it, for labels */
    int columns, rows, every; /* of panels; each so many labels are written */
    double top;               /* of the first panel */
    double unit, step, high;  /* seconds in a unit; from tick to tick and to the top, in units */
    const char *unit_name;
};

static double text_width(const char *text)
{
    return LETTER * (double)strlen(text);
}

static double widest(const struct ti_plot_labels *labels)
{
    double width = 0;

    for (int i = 0; i < labels->n; i++)
        width = fmax(width, text_width(labels->text[i]));
    return width;
}

static const struct ti_plot_mark *mark_at(const struct ti_plot *p, int panel, int series, int x)
{
    return &p->mark[((size_t)panel * (size_t)p->series.n + (size_t)series) * (size_t)p->x.n +
                    (size_t)x];
}

/* Chooses the scale: from 0 to above all marks, in a suitable unit, with about 5 round steps. */
static void scale(const struct ti_plot *p, struct layout *l)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "\xc2\xb5s"}, {1e-9, "ns"}};
    double max = 0, raw, power;
    size_t u = 0;

    for (int i = 0; i < p->panel.n * p->series.n * p->x.n; i++)
        max = p->mark[i].n ? fmax(max, p->mark[i].max) : max;
    while (max < 1.5 * units[u].seconds && u + 1 < sizeof units / sizeof units[0] && max > 0)
        u++;
    l->unit = units[u].seconds;
    l->unit_name = units[u].name;
    max = max > 0 ? max / l->unit : 1;
    raw = max / 5;
    power = pow(10, floor(log10(raw)));
    l->step = power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 : raw / power <= 5 ? 5 : 10);
    l->high = l->step * ceil(max * 1.04 / l->step);
}

static void lay_out_labels(const struct ti_plot *p, struct layout *l)
{
    double longest = widest(&p->x);

    if (!l->lines && longest + 10 > l->group && longest <= 150 && (longest + 10) * p->x.n <= 520)
        l->group = longest + 10;
    l->axis = AXIS;
    l->foot = 40;
    l->every = (int)ceil((longest + 8) / l->group);
    l->tilted = l->every > 1 && longest > SHORT;
    if (!l->tilted)
        return;
    l->every = (int)ceil(22 / l->group);
    l->foot = 34 + longest * sin(TEXT_TILT * M_PI / 180);
    l->axis = fmax(AXIS, longest * cos(TEXT_TILT * M_PI / 180) - l->group / 2 - MARGIN + 8);
}

static struct layout lay_out(const struct ti_plot *p)
{
    struct layout l = {.lines = p->x.n * p->series.n > BARS_MAX};
    double whole;

    scale(p, &l);
    l.bar = fmin(34, fmax(7, 420.0 / (p->x.n * p->series.n + p->x.n)));
    l.group = l.lines ? fmax(6, 520.0 / p->x.n) : l.bar * p->series.n + fmax(10, 0.7 * l.bar);
    lay_out_labels(p, &l);
    l.width = fmax(220, l.group * p->x.n);
    l.group = l.width / p->x.n;
    whole = l.axis + l.width + GAP;
    l.columns = (int)fmax(1, fmin(p->panel.n, floor((ACROSS + GAP) / whole)));
    if (p->panel.n > l.columns) /* spread the panels evenly over the rows */
        l.columns = (p->panel.n + (p->panel.n + l.columns - 1) / l.columns - 1) /
                    ((p->panel.n + l.columns - 1) / l.columns);
    l.rows = (p->panel.n + l.columns - 1) / l.columns;
    return l;
}

/* ---- text ---- */

static void text_at(FILE *out, double x, double y, const char *attributes, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    ti__put_xml(out, text, strlen(text));
    fprintf(out, "</text>\n");
}

static void titled(FILE *out, const struct ti_plot *p, int panel, int series, int x)
{
    const struct ti_plot_mark *m = mark_at(p, panel, series, x);
    char value[120] = "failed";

    if (m->n > 1)
        snprintf(value, sizeof value, "median %.6g s, %.6g to %.6g s, %d points", m->median, m->min,
                 m->max, m->n);
    else if (m->n)
        snprintf(value, sizeof value, "%.6g s", m->median);
    fprintf(out, "<title>");
    ti__put_xml(out, p->x.text[x], strlen(p->x.text[x]));
    if (p->series.n > 1) {
        fprintf(out, ", ");
        ti__put_xml(out, p->series.text[series], strlen(p->series.text[series]));
    }
    fprintf(out, ": %s</title>", value);
}

/* Draws the legend from `y` on, in as many lines as needed; returns its lower end. */
static double legend(FILE *out, const struct ti_plot *p, double width, double y)
{
    double x = MARGIN;

    if (p->series.n < 2)
        return y;
    text_at(out, x, y + 9, "fill=\"#555\"", p->series.name);
    x += text_width(p->series.name) + 14;
    for (int s = 0; s < p->series.n; s++) {
        double needs = 16 + text_width(p->series.text[s]) + 18;

        if (x + needs > width && x > MARGIN) {
            x = MARGIN;
            y += 18;
        }
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"1.5\" fill=\"%s\"/>\n",
                x, y, colour(s));
        text_at(out, x + 16, y + 9, "", p->series.text[s]);
        x += needs;
    }
    return y + 22;
}

/* ---- a panel, whose area has its lower left corner at 0, 0 ---- */

static double height_of(const struct layout *l, double seconds)
{
    return -HEIGHT * seconds / l->unit / l->high;
}

static void grid(FILE *out, const struct ti_plot *p, const struct layout *l, bool first)
{
    for (int i = 0; i * l->step <= l->high * 1.0001; i++) {
        double y = -HEIGHT * i * l->step / l->high;
        char number[32];

        snprintf(number, sizeof number, "%.6g", i * l->step);
        fprintf(out, "<path d=\"M0 %.1fH%.1f\" stroke=\"%s\"/>\n", y, l->width,
                i ? "#e4e4e0" : "#555");
        text_at(out, -7, y + 4, "text-anchor=\"end\" fill=\"#444\"", number);
    }
    if (first)
        fprintf(out,
                "<text transform=\"translate(-42 %d) rotate(-90)\" text-anchor=\"middle\" "
                "fill=\"#444\">simulated time, %s</text>\n",
                -HEIGHT / 2, l->unit_name);
    for (int x = 0; x < p->x.n; x += l->every) {
        double at = (x + 0.5) * l->group;

        if (l->tilted) {
            char attributes[120];

            snprintf(attributes, sizeof attributes,
                     "text-anchor=\"end\" transform=\"rotate(-%d %.1f 14)\"", TEXT_TILT, at + 4);
            text_at(out, at + 4, 14, attributes, p->x.text[x]);
        } else {
            text_at(out, at, 16, "text-anchor=\"middle\"", p->x.text[x]);
        }
    }
    text_at(out, l->width / 2, l->foot - 6, "text-anchor=\"middle\" fill=\"#555\"", p->x.name);
}

/* Draws the range from minimum to maximum. */
static void whisker(FILE *out, const struct layout *l, const struct ti_plot_mark *m, double x,
                    double half)
{
    double low = height_of(l, m->min), high = height_of(l, m->max);

    if (m->n > 1)
        fprintf(out,
                "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1fM%.1f %.1fH%.1f\" stroke=\"#222\" "
                "stroke-width=\"1.2\"/>",
                x - half, high, x + half, x, high, low, x - half, low, x + half);
}

static void cross(FILE *out, double x)
{
    fprintf(out, "<path d=\"M%.1f -10l6 6m0 -6l-6 6\" stroke=\"#c22\" stroke-width=\"1.6\"/>",
            x - 3);
}

static void bars(FILE *out, const struct ti_plot *p, const struct layout *l, int panel)
{
    double width = fmin(l->bar, (l->group - 6) / p->series.n);

    for (int x = 0; x < p->x.n; x++)
        for (int s = 0; s < p->series.n; s++) {
            const struct ti_plot_mark *m = mark_at(p, panel, s, x);
            double left = (x + 0.5) * l->group + (s - p->series.n / 2.0) * width;

            fprintf(out, "<g>");
            titled(out, p, panel, s, x);
            if (m->n)
                fprintf(out,
                        "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" "
                        "fill=\"%s\"/>",
                        left + 0.5, height_of(l, m->median), fmax(1, width - 1),
                        -height_of(l, m->median), colour(s));
            else
                cross(out, left + width / 2);
            if (m->n > 1) /* a band of the range */
                fprintf(out,
                        "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"#222\" "
                        "fill-opacity=\"0.2\"/>",
                        left + 0.5, height_of(l, m->max), fmax(1, width - 1),
                        height_of(l, m->min) - height_of(l, m->max));
            whisker(out, l, m, left + width / 2, fmin(5, width / 4));
            fprintf(out, "</g>\n");
        }
}

/* Draws the area between the minima and the maxima of neighbours along the axis. */
static void band(FILE *out, const struct ti_plot *p, const struct layout *l, int panel, int series)
{
    for (int x = 0; x + 1 < p->x.n; x++) {
        const struct ti_plot_mark *m = mark_at(p, panel, series, x), *n = m + 1;

        if (m->n > 1 && n->n > 1)
            fprintf(out,
                    "<path d=\"M%.1f %.2fL%.1f %.2fL%.1f %.2fL%.1f %.2fZ\" fill=\"%s\" "
                    "fill-opacity=\"0.2\"/>\n",
                    (x + 0.5) * l->group, height_of(l, m->max), (x + 1.5) * l->group,
                    height_of(l, n->max), (x + 1.5) * l->group, height_of(l, n->min),
                    (x + 0.5) * l->group, height_of(l, m->min), colour(series));
    }
}

static void lines(FILE *out, const struct ti_plot *p, const struct layout *l, int panel)
{
    for (int s = 0; s < p->series.n; s++) {
        bool drawn = false;

        band(out, p, l, panel, s);
        fprintf(out, "<path d=\"");
        for (int x = 0; x < p->x.n; x++) {
            const struct ti_plot_mark *m = mark_at(p, panel, s, x);

            if (m->n)
                fprintf(out, "%c%.1f %.2f", drawn ? 'L' : 'M', (x + 0.5) * l->group,
                        height_of(l, m->median));
            drawn = m->n > 0;
        }
        fprintf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"/>\n", colour(s));
        for (int x = 0; x < p->x.n; x++) {
            const struct ti_plot_mark *m = mark_at(p, panel, s, x);
            double at = (x + 0.5) * l->group;

            fprintf(out, "<g>");
            titled(out, p, panel, s, x);
            whisker(out, l, m, at, 3);
            if (m->n)
                fprintf(out, "<circle cx=\"%.1f\" cy=\"%.2f\" r=\"2.6\" fill=\"%s\"/>", at,
                        height_of(l, m->median), colour(s));
            else
                cross(out, at);
            fprintf(out, "</g>\n");
        }
    }
}

static void draw_panel(FILE *out, const struct ti_plot *p, const struct layout *l, int panel)
{
    double x = MARGIN + l->axis + panel % l->columns * (l->axis + l->width + GAP),
           y = l->top + panel / l->columns * (HEAD + HEIGHT + l->foot + 14) + HEAD + HEIGHT;

    fprintf(out, "<g transform=\"translate(%.1f %.1f)\">\n", x, y);
    if (p->panel.n > 1)
        text_at(out, 0, -HEIGHT - 9, "font-weight=\"bold\"", p->panel.text[panel]);
    grid(out, p, l, panel % l->columns == 0);
    if (l->lines)
        lines(out, p, l, panel);
    else
        bars(out, p, l, panel);
    fprintf(out, "</g>\n");
}

void ti_plot_draw(FILE *out, const struct ti_plot *p)
{
    struct layout l = lay_out(p);
    double width = 2 * MARGIN + l.columns * (l.axis + l.width + GAP) - GAP, height;
    char *body = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&body, &bytes);

    if (!f)
        return;
    width = fmax(width, 2 * MARGIN + fmax(1.3 * text_width(p->title), text_width(p->note)));
    text_at(f, MARGIN, 34, "font-size=\"15\" font-weight=\"bold\"", p->title);
    if (p->note[0])
        text_at(f, MARGIN, 52, "fill=\"#555\"", p->note);
    l.top = legend(f, p, width - MARGIN, p->note[0] ? 66 : 50);
    for (int panel = 0; panel < p->panel.n; panel++)
        draw_panel(f, p, &l, panel);
    fclose(f);
    height = l.top + l.rows * (HEAD + HEIGHT + l.foot + 14) + 4;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
            "font-size=\"11\" fill=\"#222\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    fwrite(body, 1, bytes, out);
    fprintf(out, "</svg>\n");
    free(body);
}
