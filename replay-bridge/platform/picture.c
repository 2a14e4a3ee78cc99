#include "replay-bridge/platform/picture.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MARGIN 30

static const char *const colours[] = {"#4a5560", "#2f7ed8", "#d9822b", "#b8352a",
                                      "#3c8d40", "#7b4fa3", "#0f8b8d", "#a3712a"};
static const char *const fills[] = {[TI_V_HOST] = "#e3f1e1",
                                    [TI_V_SWITCH] = "#dce8f7",
                                    [TI_V_BOX] = "#ffffff",
                                    [TI_V_PANEL] = "#f6f6f3"};

static const char *colour(int kind)
{
    return colours[(size_t)kind % (sizeof colours / sizeof colours[0])];
}

void ti__put_xml(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (text[i]) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc((unsigned char)text[i] < ' ' ? '?' : text[i], out);
        }
}

static void put_dot_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

/* ---- SVG ---- */

struct frame {
    double left, top, width, height;
};

/* Bounding box of all vertices, with room for bends, and for title and legend above. */
static struct frame frame_of(const struct ti_picture *pic)
{
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0, head = 46 + 18 * pic->nkeys;

    for (size_t i = 0; i < pic->nv; i++) {
        const struct ti_vertex *v = &pic->v[i];

        x0 = i ? fmin(x0, v->x - v->w / 2) : v->x - v->w / 2;
        x1 = i ? fmax(x1, v->x + v->w / 2) : v->x + v->w / 2;
        y0 = i ? fmin(y0, v->y - v->h / 2) : v->y - v->h / 2;
        y1 = i ? fmax(y1, v->y + v->h / 2) : v->y + v->h / 2;
    }
    if (x1 - x0 < 480) { /* the legend's */
        double more = (480 - (x1 - x0)) / 2;

        x0 -= more;
        x1 += more;
    }
    return (struct frame){x0 - MARGIN, y0 - MARGIN - head, x1 - x0 + 2 * MARGIN,
                          y1 - y0 + 2 * MARGIN + head};
}

static void svg_edge(FILE *out, const struct ti_picture *pic, const struct ti_edge *e)
{
    const struct ti_vertex *a = &pic->v[e->a], *b = &pic->v[e->b];
    double dx = b->x - a->x, dy = b->y - a->y, length = hypot(dx, dy);

    if (e->branches) {
        double from = a->x + a->w / 2, to = b->x - b->w / 2, middle = (from + to) / 2;

        fprintf(out, "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", from, a->y, middle,
                a->y, middle, b->y, to, b->y);
    } else if (e->bend != 0 && length > 0) { /* the curve goes half as far as its control point */
        fprintf(out, "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>\n", a->x, a->y,
                (a->x + b->x) / 2 + dy / length * 2 * e->bend,
                (a->y + b->y) / 2 - dx / length * 2 * e->bend, b->x, b->y);
    } else {
        fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\"/>\n", a->x, a->y, b->x, b->y);
    }
}

static size_t edges_of_kind(const struct ti_picture *pic, int kind)
{
    size_t n = 0;

    for (size_t i = 0; i < pic->ne; i++)
        n += pic->e[i].kind == kind;
    return n;
}

/* Draws links of the largest classes first and fainter, so that others remain visible. */
static void svg_edges(FILE *out, const struct ti_picture *pic)
{
    size_t below = SIZE_MAX, n;

    do {
        n = 0; /* the largest number below the last */
        for (int kind = 0; kind < pic->nkeys; kind++)
            if (edges_of_kind(pic, kind) < below && edges_of_kind(pic, kind) > n)
                n = edges_of_kind(pic, kind);
        for (int kind = 0; kind < pic->nkeys && n; kind++) {
            if (edges_of_kind(pic, kind) != n)
                continue;
            fprintf(out, "<g stroke=\"%s\" stroke-opacity=\"%s\">\n", colour(kind),
                    n > 1000  ? "0.3"
                    : n > 300 ? "0.5"
                              : "0.9");
            for (size_t i = 0; i < pic->ne; i++)
                if (pic->e[i].kind == kind)
                    svg_edge(out, pic, &pic->e[i]);
            fprintf(out, "</g>\n");
        }
        below = n;
    } while (n);
}

static void svg_text(FILE *out, double x, double y, const char *attributes, const char *text,
                     size_t n)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    ti__put_xml(out, text, n);
    fprintf(out, "</text>\n");
}

static void svg_lines(FILE *out, const struct ti_vertex *v)
{
    double y = v->y, size = v->kind == TI_V_HOST ? 9 : 11;
    char attributes[80];

    snprintf(attributes, sizeof attributes, "text-anchor=\"middle\" font-size=\"%.0f\"", size);
    for (const char *p = v->text; (p = strchr(p, '\n')); p++)
        y -= (size + 3) / 2;
    if (v->kind == TI_V_PANEL)
        y = v->y - v->h / 2 + 14;
    for (const char *p = v->text;; p++) {
        size_t n = strcspn(p, "\n");

        svg_text(out, v->x, y + size * 0.35, attributes, p, n);
        y += size + 3;
        p += n;
        if (!*p)
            break;
    }
}

static void svg_vertex(FILE *out, const struct ti_vertex *v)
{
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\" fill=\"%s\" "
            "stroke=\"%s\"><title>",
            v->x - v->w / 2, v->y - v->h / 2, v->w, v->h, v->kind == TI_V_SWITCH ? 7 : 2,
            fills[v->kind], v->kind == TI_V_PANEL ? "#d8d8d2" : "#5b6670");
    ti__put_xml(out, v->name, strlen(v->name));
    fprintf(out, "</title></rect>\n");
    if (v->text)
        svg_lines(out, v);
}

static void svg_legend(FILE *out, const struct ti_picture *pic, const struct frame *f)
{
    double x = f->left + MARGIN, y = f->top + MARGIN;

    svg_text(out, x, y, "font-size=\"15\" font-weight=\"bold\"", pic->title, strlen(pic->title));
    y += 18;
    if (pic->note[0])
        svg_text(out, x, y, "font-size=\"11\" font-style=\"italic\"", pic->note, strlen(pic->note));
    for (int i = 0; i < pic->nkeys; i++) {
        y += 18;
        fprintf(out, "<path d=\"M%.1f %.1fh26\" stroke=\"%s\" stroke-width=\"3\"/>\n", x, y - 4,
                colour(i));
        svg_text(out, x + 34, y, "font-size=\"11\"", pic->key[i].text, strlen(pic->key[i].text));
    }
}

static void draw_svg(FILE *out, const struct ti_picture *pic)
{
    struct frame f = frame_of(pic);

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%.0f %.0f %.0f %.0f\" "
            "width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" fill=\"none\">\n"
            "<rect x=\"%.0f\" y=\"%.0f\" width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            f.left, f.top, f.width, f.height, f.width, f.height, f.left, f.top);
    fprintf(out, "<g fill=\"#1f2933\">\n");
    for (size_t i = 0; i < pic->nv; i++)
        if (pic->v[i].kind == TI_V_PANEL)
            svg_vertex(out, &pic->v[i]);
    fprintf(out, "</g>\n");
    svg_edges(out, pic);
    fprintf(out, "<g fill=\"#1f2933\">\n");
    for (size_t i = 0; i < pic->nv; i++)
        if (pic->v[i].kind != TI_V_PANEL)
            svg_vertex(out, &pic->v[i]);
    svg_legend(out, pic, &f);
    fprintf(out, "</g>\n</svg>\n");
}

/* ---- Graphviz ---- */

/* The graph has fixed positions, without bends: draw it with `dot -Tpdf FILE.dot`. */
static void draw_dot(FILE *out, const struct ti_picture *pic)
{
    fprintf(out, "graph platform {\n  label=");
    put_dot_text(out, pic->title);
    fprintf(out, ";\n  layout=neato; inputscale=72; outputorder=edgesfirst;\n"
                 "  node [shape=box, style=filled, fontsize=9, fixedsize=true, margin=0];\n");
    for (int i = 0; i < pic->nkeys; i++)
        fprintf(out, "  // %s: %s\n", colour(i), pic->key[i].text);
    if (pic->note[0])
        fprintf(out, "  // %s\n", pic->note);
    for (size_t i = 0; i < pic->nv; i++) {
        const struct ti_vertex *v = &pic->v[i];

        if (v->kind == TI_V_PANEL)
            continue;
        fprintf(out, "  ");
        put_dot_text(out, v->name);
        fprintf(out,
                " [pos=\"%.1f,%.1f!\", width=%.2f, height=%.2f, fillcolor=\"%s\", label=", v->x,
                0 - v->y, v->w / 72, v->h / 72, fills[v->kind]);
        put_dot_text(out, v->text ? v->text : v->name);
        fprintf(out, "];\n");
    }
    for (size_t i = 0; i < pic->ne; i++) {
        fprintf(out, "  ");
        put_dot_text(out, pic->v[pic->e[i].a].name);
        fprintf(out, " -- ");
        put_dot_text(out, pic->v[pic->e[i].b].name);
        fprintf(out, " [color=\"%s\"];\n", colour(pic->e[i].kind));
    }
    fprintf(out, "}\n");
}

/* ---- a file ---- */

static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);

    return n > m && !strcmp(path + n - m, ending);
}

ti_status ti_picture_check(const char *path, struct ti_err *err)
{
    if (has_ending(path, ".svg") || has_ending(path, ".dot") || has_ending(path, ".gv"))
        return TI_OK;
    return ti_err_set(err, TI_ERR_USAGE, "--show-platform: '%s' is not named *.svg, *.dot or *.gv",
                      path);
}

ti_status ti_picture_draw(const char *path, const struct ti_shown *p, struct ti_err *err)
{
    struct ti_picture pic;
    FILE *out = fopen(path, "we");
    bool bad;

    if (!out)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    ti__picture_lay_out(&pic, p);
    if (has_ending(path, ".svg"))
        draw_svg(out, &pic);
    else
        draw_dot(out, &pic);
    ti__picture_free(&pic);
    bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", path);
    return TI_OK;
}
