/*
 * A picture of a generated platform, as SVG or as a graph for Graphviz.
 *
 * Up to TI_DRAWN_HOSTS_MAX hosts and TI_DRAWN_LINKS_MAX links are drawn individually.  Larger
 * platforms, and the clusters of sites, are drawn as boxes labelled with their numbers of hosts; a
 * note in the picture says so.
 */
#ifndef TI_REPLAY_BRIDGE_PLATFORM_PICTURE_H
#define TI_REPLAY_BRIDGE_PLATFORM_PICTURE_H

#include "replay-bridge/platform/shape.h"

#define TI_DRAWN_HOSTS_MAX 256
#define TI_DRAWN_LINKS_MAX 8000

/* Check the name of the file, and draw into it: *.svg, *.dot or *.gv.  TI_ERR_USAGE for another
 * name; TI_ERR_IO if the file cannot be written. */
ti_status ti_picture_check(const char *path, struct ti_err *err);
ti_status ti_picture_draw(const char *path, const struct ti_shown *p, struct ti_err *err);

/* ---- private to picture_layout.c, which computes positions, and picture.c, which draws ---- */

struct ti_vertex {
    char name[300]; /* unique */
    char *text;     /* label, of one line or more; NULL: none */
    enum { TI_V_HOST, TI_V_SWITCH, TI_V_BOX, TI_V_PANEL } kind;
    double x, y, w, h; /* x, y: centre; in points; y grows downwards */
};

struct ti_edge {
    int a, b;      /* indices of vertices */
    int kind;      /* index into the legend, ti_picture.key */
    double bend;   /* distance of the curve from the straight line, to the left as seen from a */
    bool branches; /* drawn from the right side of a to the left side of b */
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

/* Writes `n` bytes of a text, escaped for XML. */
void ti__put_xml(FILE *out, const char *text, size_t n);

void ti__picture_lay_out(struct ti_picture *pic, const struct ti_shown *p);
void ti__picture_free(struct ti_picture *pic);

#endif
