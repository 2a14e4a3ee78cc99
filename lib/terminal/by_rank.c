#include "terminal/internal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define LINES     6
#define EACH_MOST 8 /* characters of a rank */

/* Columns for groups of ranks. */
struct columns {
    int64_t group, n;
    int each; /* characters of a column */
    int label;
};

static struct columns columns_of(int64_t np, int width, int label)
{
    struct columns c = {.label = label};
    int room = (width ? width : TI__WIDTH) - label - 3;

    c.group = ti__group(np, room);
    c.n = (np + c.group - 1) / c.group;
    c.each = room / (int)c.n < EACH_MOST ? room / (int)c.n : EACH_MOST;
    c.each = c.each > 1 ? c.each : 1;
    return c;
}

/* Print the label of a line. */
static void put_label(FILE *out, const struct columns *c, const char *text)
{
    fprintf(out, "  %*s ", c->label, text);
}

/* Whether character `k` of each column is the gap to the next one. */
static bool has_gap(const struct columns *c, int k)
{
    return c->each > 2 && k == c->each - 1;
}

/* ---- volumes ---- */

/* The least and the largest value of a column. */
struct extent {
    uint64_t least, most;
    bool any;
};

static struct extent *extents(const struct columns *c, int64_t n, const int64_t *rank,
                              const uint64_t *value, uint64_t *most)
{
    size_t none = 0;
    struct extent *e = ti_grow(NULL, &none, (size_t)c->n, sizeof *e);

    *most = 0;
    for (int64_t i = 0; i < n; i++) {
        struct extent *at = &e[rank[i] / c->group];

        at->least = at->any && at->least < value[i] ? at->least : value[i];
        at->most = at->most > value[i] ? at->most : value[i];
        at->any = true;
        *most = value[i] > *most ? value[i] : *most;
    }
    return e;
}

/* Eighths of a line that a value fills, in a line whose bottom is at `below` eighths. */
static int eighths(uint64_t value, uint64_t most, int below)
{
    int all = (int)((double)value / (double)most * 8 * LINES + 0.5) - below;

    return all < 0 ? 0 : all > 8 ? 8 : all;
}

void ti_paint_volumes(FILE *out, int width, enum ti_ink ink, const char *what, int64_t np,
                      int64_t n, const int64_t *rank, const uint64_t *value)
{
    char top[TI_UNIT_BYTES_MOST];
    struct columns c = columns_of(np, width, 7);
    struct ti__pen pen = ti__pen(out, ink);
    uint64_t most;
    struct extent *e = extents(&c, n, rank, value, &most);

    if (most) {
        ti__put_title(out, width, what, c.group,
                      "character: up to the least of them, then shaded up to the largest");
        for (int line = LINES - 1; line >= 0; line--) {
            ti_unit_format((double)most, TI_UNIT_NUMBER, top, sizeof top);
            put_label(out, &c, line == LINES - 1 ? top : line ? "" : "0");
            ti__pen_set(&pen, ti__colour(ink, TI_KIND_COMPUTING), -1);
            for (int64_t i = 0; i < c.n; i++) {
                int full = eighths(e[i].least, most, 8 * line);
                int some = eighths(e[i].most, most, 8 * line);

                for (int k = 0; k < c.each; k++)
                    if (has_gap(&c, k) || (!full && some < 4))
                        fputc(' ', out);
                    else if (full)
                        ti__put_bottom(out, full);
                    else
                        fputs("░", out);
            }
            ti__pen_set(&pen, -1, -1);
            fputc('\n', out);
        }
        ti__put_ranks(out, c.label + 3, np, c.group, c.each);
    }
    free(e);
}

/* ---- shares ---- */

/* Print the character of a column between two heights, 0 to 1. */
static void put_share(struct ti__pen *pen, const double share[TI_KINDS], double low, double high)
{
    double part[TI_KINDS], from = 0, empty = high - low;

    for (int k = 0; k < TI_KINDS; k++) {
        double to = from + share[k];
        double first = from > low ? from : low, last = to < high ? to : high;

        part[k] = last > first ? last - first : 0;
        empty -= part[k];
        from = to;
    }
    ti__put_cell(pen, part, empty > 1e-9 ? empty : 0);
}

/* The shares of kinds in the times of all ranks of a column. */
static unsigned shares_of(const struct columns *c, int64_t np, const double *part, double *share)
{
    unsigned kinds = 0;

    for (int64_t rank = 0; rank < np; rank++)
        for (int k = 0; k < TI_KINDS; k++)
            share[TI_KINDS * (rank / c->group) + k] += part[TI_KINDS * rank + k];
    for (int64_t i = 0; i < c->n; i++) {
        double all = 0;

        for (int k = 0; k < TI_KINDS; k++)
            all += share[TI_KINDS * i + k];
        for (int k = 0; k < TI_KINDS; k++) {
            share[TI_KINDS * i + k] /= all > 0 ? all : 1;
            kinds |= share[TI_KINDS * i + k] > 0 ? 1u << k : 0;
        }
    }
    return kinds;
}

void ti_paint_shares(FILE *out, int width, enum ti_ink ink, const char *what, int64_t np,
                     const double *part)
{
    static const char *const names[TI_KINDS] = {"computing", "communicating", "collectives",
                                                "waiting"};
    struct columns c = columns_of(np, width, 5);
    struct ti__pen pen = ti__pen(out, ink);
    size_t none = 0;
    double *share = ti_grow(NULL, &none, (size_t)(TI_KINDS * c.n), sizeof *share);
    unsigned kinds = shares_of(&c, np, part, share);

    ti__put_title(out, width, what, c.group, "character");
    for (int line = LINES - 1; line >= 0; line--) {
        put_label(out, &c, line == LINES - 1 ? "100 %" : line ? "" : "0 %");
        for (int64_t i = 0; i < c.n; i++)
            for (int k = 0; k < c.each; k++)
                if (!has_gap(&c, k)) {
                    put_share(&pen, share + TI_KINDS * i, (double)line / LINES,
                              (double)(line + 1) / LINES);
                } else {
                    ti__pen_set(&pen, -1, -1);
                    fputc(' ', out);
                }
        ti__pen_set(&pen, -1, -1);
        fputc('\n', out);
    }
    ti__put_ranks(out, c.label + 3, np, c.group, c.each);
    ti__put_kinds(out, ink, c.label + 1, kinds, names);
    free(share);
}
