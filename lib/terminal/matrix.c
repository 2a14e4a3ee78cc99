#include "terminal/internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/map.h"

#define LINES  32
#define LEVELS 10   /* of colours */
#define SHADES 4    /* of blocks */
#define SPAN   1e4  /* from the lightest to the darkest shade, at most, */
#define LEAST  16.0 /* and at least, so that equal values look equal */

struct ti_matrix {
    int64_t np, group, n; /* ranks, ranks of a row, rows */
    int label, width;
    bool halves; /* two rows a line, a character each; else two characters for one row */
    enum ti_ink ink;
    double *cell;
};

struct ti_matrix *ti_matrix_new(int64_t np, int width, enum ti_ink ink)
{
    size_t none = 0;
    struct ti_matrix *m = ti_grow(NULL, &none, 1, sizeof *m);
    int room;

    m->np = np;
    m->ink = ink;
    m->width = width;
    m->label = ti__label(np);
    room = (width ? width : TI__WIDTH) - m->label - 4;
    m->halves = ink == TI_INK_PALETTE && np > LINES;
    m->group = m->halves ? ti__group(np, room < 2 * LINES ? room : 2 * LINES)
                         : ti__group(np, room / 2 < LINES ? room / 2 : LINES);
    m->n = (np + m->group - 1) / m->group;
    none = 0;
    m->cell = ti_grow(NULL, &none, (size_t)(m->n * m->n), sizeof *m->cell);
    return m;
}

void ti_matrix_add(struct ti_matrix *m, int64_t row, int64_t column, double value)
{
    if (row >= 0 && row < m->np && column >= 0 && column < m->np)
        m->cell[row / m->group * m->n + column / m->group] += value;
}

/* ---- shades ---- */

struct scale {
    int levels;
    double least, most; /* values */
    double factor;      /* between one level and the next */
};

static struct scale scale_of(const struct ti_matrix *m)
{
    struct scale s = {.levels = m->ink == TI_INK_PALETTE ? LEVELS : SHADES};
    double span;

    for (int64_t i = 0; i < m->n * m->n; i++) {
        double v = m->cell[i];

        s.most = v > s.most ? v : s.most;
        s.least = v > 0 && (v < s.least || !(s.least > 0)) ? v : s.least;
    }
    span = s.least > 0 ? s.most / s.least : 1;
    s.factor = pow(span < LEAST ? LEAST : span > SPAN ? SPAN : span, 1.0 / s.levels);
    return s;
}

/* The level of a value, from 1 on; 0: of none. */
static int level_of(const struct scale *s, double v)
{
    int level = v > 0 ? s->levels - (int)floor(log(s->most / v) / log(s->factor)) : 0;

    return v > 0 && level < 1 ? 1 : level > s->levels ? s->levels : level;
}

/* The largest value of a level. */
static double end_of(const struct scale *s, int level)
{
    return s->most * pow(s->factor, level - s->levels);
}

/* ---- printing ---- */

/* Set the colours of a level or two, and print a block. */
static void put(struct ti__pen *pen, int upper, int lower)
{
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    static const int colours[LEVELS + 1] = {-1, 53, 54, 60, 24, 30, 36, 35, 77, 149, 220};

    if (pen->ink != TI_INK_PALETTE) {
        fputs(shades[upper], pen->out);
    } else if (upper == lower) {
        ti__pen_set(pen, colours[upper], -1);
        fputs(upper ? "█" : " ", pen->out);
    } else {
        ti__pen_set(pen, colours[upper ? upper : lower], upper ? colours[lower] : -1);
        fputs(upper ? "▀" : "▄", pen->out);
    }
}

static void put_line(const struct ti_matrix *m, const struct scale *s, int64_t row, bool named,
                     FILE *out)
{
    struct ti__pen pen = ti__pen(out, m->ink);

    if (named)
        fprintf(out, "  %*lld│", m->label, (long long)(row * m->group));
    else
        fprintf(out, "  %*s│", m->label, "");
    for (int64_t c = 0; c < m->n; c++) {
        int upper = level_of(s, m->cell[row * m->n + c]), lower = upper;

        if (m->halves)
            lower = row + 1 < m->n ? level_of(s, m->cell[(row + 1) * m->n + c]) : 0;
        put(&pen, upper, lower);
        if (!m->halves)
            put(&pen, upper, lower);
    }
    ti__pen_set(&pen, -1, -1);
    fputs("│\n", out);
}

static void put_edge(const struct ti_matrix *m, const char *left, const char *right, FILE *out)
{
    fprintf(out, "  %*s%s", m->label, "", left);
    for (int64_t c = 0; c < m->n * (m->halves ? 1 : 2); c++)
        fputs("─", out);
    fprintf(out, "%s\n", right);
}

static void put_legend(const struct ti_matrix *m, const struct scale *s, enum ti_unit unit,
                       FILE *out)
{
    struct ti__pen pen = ti__pen(out, m->ink);
    char text[TI_UNIT_BYTES_MOST];

    fprintf(out, "  %*s ", m->label, "");
    if (m->ink == TI_INK_PALETTE)
        fprintf(out, "%s ", ti_unit_format(s->least, unit, text, sizeof text));
    for (int level = 1; level <= s->levels; level++) {
        put(&pen, level, level);
        if (m->ink != TI_INK_PALETTE)
            fprintf(out, " up to %s%s", ti_unit_format(end_of(s, level), unit, text, sizeof text),
                    level < s->levels ? "  " : "");
    }
    ti__pen_set(&pen, -1, -1);
    if (m->ink == TI_INK_PALETTE)
        fprintf(out, " %s", ti_unit_format(s->most, unit, text, sizeof text));
    fputc('\n', out);
}

void ti_matrix_print(struct ti_matrix *m, FILE *out, const char *what, enum ti_unit unit)
{
    struct scale s = scale_of(m);
    int64_t lines = m->halves ? (m->n + 1) / 2 : m->n, every = lines <= 8 ? 1 : 4;

    if (s.most > 0) {
        ti__put_title(out, m->width, what, m->group, m->halves ? "character" : "line");
        ti__put_ranks(out, m->label + 3, m->np, m->group, m->halves ? 1 : 2);
        put_edge(m, "┌", "┐", out);
        for (int64_t line = 0; line < lines; line++)
            put_line(m, &s, m->halves ? 2 * line : line, line % every == 0, out);
        put_edge(m, "└", "┘", out);
        put_legend(m, &s, unit, out);
    }
    free(m->cell);
    free(m);
}
