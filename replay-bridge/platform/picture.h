/*
 * A picture of a made platform, as SVG or as a graph for Graphviz.
 *
 * Up to TI_DRAWN_HOSTS_MAX hosts and TI_DRAWN_LINKS_MAX links are drawn one by one.  Larger
 * platforms, and the clusters of sites, are boxes that tell how many hosts they stand for; the
 * picture says so.
 */
#ifndef TI_PICTURE_H
#define TI_PICTURE_H

#include "replay-bridge/platform/shape.h"

#define TI_DRAWN_HOSTS_MAX 256
#define TI_DRAWN_LINKS_MAX 8000

/* Draw into a file that is named *.svg, *.dot or *.gv.  TI_ERR_USAGE for another name, else
 * TI_ERR_IO. */
ti_status ti_picture_check(const char *path, struct ti_err *err);
ti_status ti_picture_draw(const char *path, const struct ti_shown *p, struct ti_err *err);

/* ---- for picture_layout.c, which says what is where, and picture.c, which draws it ---- */

struct ti_vertex {
    char name[300]; /* unique */
    char *text;     /* lines of it; NULL: none */
    enum { TI_V_HOST, TI_V_SWITCH, TI_V_BOX, TI_V_PANEL } kind;
    double x, y, w, h; /* of the centre; in points, y grows downwards */
};

struct ti_edge {
    int a, b;      /* vertices */
    int kind;      /* index of struct ti_key */
    double bend;   /* how far it passes beside a straight line, to the left as seen from a */
    bool branches; /* from the right side of a to the left side of b */
};

/* A line of the legend. */
struct ti_key {
    char text[200];
};

struct ti_picture {
    char title[400], note[200];
    struct ti_vertex *v;
    size_t nv, cap_v;
    struct ti_edge *e;
    size_t ne, cap_e;
    struct ti_key key[TI_CLASSES_MAX];
    int nkeys;
};

/* `n` bytes of a text as XML has them. */
void ti__put_xml(FILE *out, const char *text, size_t n);

void ti__picture_lay_out(struct ti_picture *pic, const struct ti_shown *p);
void ti__picture_free(struct ti_picture *pic);

#endif
