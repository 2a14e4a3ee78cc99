#include "terminal/internal.h"

#include <math.h>
#include <string.h>

#define TICK 16 /* characters between two of the time axis, at least */

/* Add up what the ranks of a line spend from `from` to `to`, in seconds. */
static void add_up(const struct ti_paint_timeline *t, int64_t line, double from, double to,
                   double part[TI_KINDS])
{
    const double *spent = t->spent + TI_KINDS * t->bins * line;

    memset(part, 0, TI_KINDS * sizeof *part);
    for (int bin = (int)(from / t->bin_s); bin < t->bins && bin * t->bin_s < to; bin++) {
        double begin = bin * t->bin_s, end = begin + t->bin_s;
        double share = ((end < to ? end : to) - (begin > from ? begin : from)) / t->bin_s;

        for (int k = 0; share > 0 && k < TI_KINDS; k++)
            part[k] += share * spent[TI_KINDS * bin + k];
    }
}

/* Print a line of ranks.  Returns bits of the kinds in it. */
static unsigned put_line(struct ti__pen *pen, const struct ti_paint_timeline *t, int64_t line,
                         int chars)
{
    int64_t ranks = t->np - line * t->group < t->group ? t->np - line * t->group : t->group;
    double each = t->end_s / chars, part[TI_KINDS];
    unsigned kinds = 0;

    for (int c = 0; c < chars; c++) {
        double empty = (double)ranks * each;

        add_up(t, line, c * each, (c + 1) * each, part);
        for (int k = 0; k < TI_KINDS; k++) {
            empty -= part[k];
            kinds |= part[k] > 0 ? 1u << k : 0;
        }
        ti__put_cell(pen, part, empty > 1e-6 * (double)ranks * each ? empty : 0);
    }
    ti__pen_set(pen, -1, -1);
    fputc('\n', pen->out);
    return kinds;
}

/* The least of 1, 2, 5, 10, 20, ... that is not below `least`. */
static double round_up(double least)
{
    double unit = pow(10, floor(log10(least)));
    double times = least / unit;

    return unit * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void put_times(FILE *out, const struct ti_paint_timeline *t, int indent, int chars)
{
    double each = t->end_s / chars, step = round_up(TICK * each);
    char text[TI_UNIT_BYTES_MOST];
    int at = 0;

    fprintf(out, "%*s", indent, "");
    for (int i = 0; i * step < t->end_s; i++) {
        int c = (int)(i * step / each + 0.5);

        ti_unit_format(i * step, TI_UNIT_LATENCY, text, sizeof text);
        if (c + (int)strlen(text) + 1 > chars)
            break;
        fprintf(out, "%*s", c - at, "");
        at = c + fprintf(out, "╵%s", i ? text : "0 s") - 2; /* the tick has three bytes */
    }
    fputc('\n', out);
}

void ti_paint_timeline(FILE *out, int width, enum ti_ink ink, const struct ti_paint_timeline *t)
{
    static const char *const names[TI_KINDS] = {"computing", "messages", "collectives", "waiting"};
    int label = ti__label(t->np), chars = (width ? width : TI__WIDTH) - label - 3;
    int64_t lines = (t->np + t->group - 1) / t->group, every = lines <= 8 ? 1 : 4;
    struct ti__pen pen = ti__pen(out, ink);
    char what[96], each[TI_UNIT_BYTES_MOST];
    unsigned kinds = 0;

    if (!(t->end_s > 0) || chars < 1)
        return;
    snprintf(what, sizeof what, "timeline: %s a character",
             ti_unit_format(t->end_s / chars, TI_UNIT_LATENCY, each, sizeof each));
    ti__put_title(out, width, what, t->group, "line");
    for (int64_t line = 0; line < lines; line++) {
        if (line % every == 0)
            fprintf(out, "  %*lld ", label, (long long)(line * t->group));
        else
            fprintf(out, "  %*s ", label, "");
        kinds |= put_line(&pen, t, line, chars);
    }
    put_times(out, t, label + 3, chars);
    ti__put_kinds(out, ink, label + 1, kinds, names);
}
