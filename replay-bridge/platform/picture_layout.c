/*
 * Layout: positions of hosts, switches and links in the picture of a platform.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "replay-bridge/platform/picture.h"

#define HOST_W   24
#define HOST_H   16
#define STEP     32 /* distance between neighbouring hosts */
#define TAU      6.283185307179586
#define RING_MAX 64 /* groups that a summary draws as boxes in a ring */

/* ---- vertices and edges ---- */

static struct ti_vertex *vertex(struct ti_picture *pic, int kind, double x, double y)
{
    struct ti_vertex *v;

    pic->v = ti_grow(pic->v, &pic->cap_v, pic->nv + 1, sizeof *pic->v);
    v = &pic->v[pic->nv++];
    *v = (struct ti_vertex){.kind = kind, .x = x, .y = y, .w = HOST_W, .h = HOST_H};
    return v;
}

static void label(struct ti_vertex *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void label(struct ti_vertex *v, const char *fmt, ...)
{
    char text[400];
    size_t none = 0, n;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    n = strlen(text) + 1;
    v->text = memcpy(ti_grow(NULL, &none, n, 1), text, n);
}

/* Index of the vertex of a host. */
static int host(struct ti_picture *pic, int64_t number, double x, double y)
{
    struct ti_vertex *v = vertex(pic, TI_V_HOST, x, y);

    snprintf(v->name, sizeof v->name, TI_HOST_PREFIX "%" PRId64, number);
    label(v, "%" PRId64, number);
    return (int)pic->nv - 1;
}

static int box(struct ti_picture *pic, int kind, const char *name, double x, double y, double w,
               double h)
{
    struct ti_vertex *v = vertex(pic, kind, x, y);

    snprintf(v->name, sizeof v->name, "%s", name);
    v->w = w;
    v->h = h;
    return (int)pic->nv - 1;
}

static void edge(struct ti_picture *pic, int a, int b, int kind, double bend)
{
    pic->e = ti_grow(pic->e, &pic->cap_e, pic->ne + 1, sizeof *pic->e);
    pic->e[pic->ne++] = (struct ti_edge){a, b, kind, bend, false};
}

/* An edge from the right side of a to the left side of b. */
static void branch(struct ti_picture *pic, int a, int b, int kind)
{
    edge(pic, a, b, kind, 0);
    pic->e[pic->ne - 1].branches = true;
}

/* Point on a circle around (x, y), `turn` (0 to 1) clockwise from the top. */
static double on_x(double x, double r, double turn)
{
    return x + r * sin(TAU * turn);
}

static double on_y(double y, double r, double turn)
{
    return y - r * cos(TAU * turn);
}

/* Radius of a ring of n things, each `size` wide. */
static double ring_radius(int64_t n, double size)
{
    return n == 1 ? 0 : n == 2 ? 0.75 * size : (double)n * size / TAU * 1.1 + 0.12 * size;
}

/* ---- host by host ---- */

static void draw_cluster(struct ti_picture *pic, const struct ti_shown *p)
{
    double r = fmax(90, (double)p->hosts * STEP / TAU);
    int hub = box(pic, TI_V_SWITCH, "switch", 0, 0, 52, 20);

    label(&pic->v[hub], "switch");
    for (int64_t i = 0; i < p->hosts; i++) {
        double turn = (double)i / (double)p->hosts;

        edge(pic, host(pic, i, on_x(0, r, turn), on_y(0, r, turn)), hub, 0, 0);
    }
}

static void draw_fat_tree(struct ti_picture *pic, const struct ti_shown *p)
{
    const struct ti_topology *t = p->topology;
    double width = (double)t->hosts * STEP, gap = fmin(fmax(90, width / 10), 240);
    int first[TI_LEVELS_MAX + 1];
    char name[64];

    for (int level = 0; level <= t->n; level++) {
        int64_t n = ti__fat_tree_nodes(t, level);
        double y = (t->n - level) * gap;

        first[level] = (int)pic->nv;
        for (int64_t i = 0; i < n; i++) {
            double x = ((double)i + 0.5) / (double)n * width;

            snprintf(name, sizeof name, "switch-%d-%" PRId64, level, i);
            if (level)
                box(pic, TI_V_SWITCH, name, x, y, HOST_W, HOST_H);
            else
                host(pic, i, x, y);
        }
    }
    for (int level = 0; level < t->n; level++)
        for (int64_t i = 0; i < ti__fat_tree_nodes(t, level); i++)
            for (int64_t up = 0; up < t->up[level]; up++)
                for (int64_t cable = 0; cable < t->cables[level]; cable++)
                    edge(pic, first[level] + (int)i,
                         first[level + 1] + (int)ti__fat_tree_parent(t, level, i, up), level,
                         ((double)cable - (double)(t->cables[level] - 1) / 2) * 6);
}

/* Odd dimensions (the first, third, ...) run to the right, even dimensions down.  Each pair of
 * dimensions is a grid, whose cells are the grids of later pairs.  In a torus of three dimensions
 * the third runs into the depth. */
static void torus_place(const struct ti_topology *t, int64_t number, double at[2])
{
    double step[2] = {STEP + 16, STEP + 16};
    int64_t where[TI_LEVELS_MAX];

    at[0] = at[1] = 0;
    for (int i = 0; i < t->n; i++) {
        where[i] = number % t->down[i];
        number /= t->down[i];
    }
    if (t->n == 3) {
        at[0] = (double)where[0] * (30 * (double)t->down[2] + 36) + (double)where[2] * 30;
        at[1] = (double)where[1] * (24 * (double)t->down[2] + 20) - (double)where[2] * 24;
        return;
    }
    for (int i = t->n - 1; i >= 0; i--) {
        at[i % 2] += (double)where[i] * step[i % 2];
        step[i % 2] = step[i % 2] * (double)t->down[i] + STEP;
    }
}

static void draw_torus(struct ti_picture *pic, const struct ti_shown *p)
{
    const struct ti_topology *t = p->topology;
    double r = fmax(60, (double)t->hosts * STEP / TAU);
    int64_t stride = 1;
    int kind = 0;

    for (int64_t i = 0; i < t->hosts; i++) {
        double at[2], turn = (double)i / (double)t->hosts;

        torus_place(t, i, at);
        if (t->n == 1)
            host(pic, i, on_x(0, r, turn), on_y(0, r, turn));
        else
            host(pic, i, at[0], at[1]);
    }
    for (int d = 0; d < t->n; stride *= t->down[d++]) {
        int64_t n = t->down[d];
        double side = d % 2 ? -1 : 1;

        for (int64_t i = 0; i < t->hosts && n > 1; i++) {
            int64_t at = i / stride % n;
            bool wraps = at == n - 1;

            if (wraps && n == 2)
                continue;
            edge(pic, (int)i, (int)(wraps ? i - at * stride : i + stride), kind,
                 t->n == 1 ? 0
                 : wraps   ? -side * 20
                           : 0);
        }
        kind += n > 1;
    }
}

/* The routers of a group: chassis are rows. */
static void dragonfly_group(struct ti_picture *pic, const struct ti_topology *t, int64_t group,
                            const double at[2], int *router)
{
    int64_t chassis = t->down[1], routers = t->down[2], hosts = t->down[3];
    double w = fmax(60, (double)hosts * (HOST_W + 4) + 12), h = 62;
    double left = at[0] - w * (double)routers / 2, top = at[1] - h * (double)chassis / 2;
    char name[96];
    int panel;

    snprintf(name, sizeof name, "group-%" PRId64, group);
    panel = box(pic, TI_V_PANEL, name, at[0], at[1], w * (double)routers + 20,
                h * (double)chassis + 36);
    label(&pic->v[panel], "group %" PRId64, group);
    for (int64_t c = 0; c < chassis; c++)
        for (int64_t r = 0; r < routers; r++) {
            int64_t number = c * routers + r;
            double x = left + w * ((double)r + 0.5), y = top + h * (double)c + 22;

            snprintf(name, sizeof name, "router-%" PRId64 "-%" PRId64 "-%" PRId64, group, c, r);
            router[number] = box(pic, TI_V_SWITCH, name, x, y, HOST_W, HOST_H);
            for (int64_t i = 0; i < hosts; i++)
                edge(pic, router[number],
                     host(pic, ((group * chassis + c) * routers + r) * hosts + i,
                          x + ((double)i - (double)(hosts - 1) / 2) * (HOST_W + 4), y + 26),
                     0, 0);
        }
}

static void dragonfly_local(struct ti_picture *pic, const struct ti_topology *t, const int *router)
{
    int64_t chassis = t->down[1], routers = t->down[2];

    for (int64_t c = 0; c < chassis; c++)
        for (int64_t a = 0; a < routers; a++)
            for (int64_t b = a + 1; b < routers; b++)
                edge(pic, router[c * routers + a], router[c * routers + b], 1,
                     b == a + 1 ? 0 : 6 + 3 * (double)(b - a));
    for (int64_t r = 0; r < routers; r++)
        for (int64_t a = 0; a < chassis; a++)
            for (int64_t b = a + 1; b < chassis; b++)
                edge(pic, router[a * routers + r], router[b * routers + r], 2,
                     -14 - 4 * (double)(b - a));
}

static void draw_dragonfly(struct ti_picture *pic, const struct ti_shown *p)
{
    const struct ti_topology *t = p->topology;
    int64_t groups = t->down[0], local = t->down[1] * t->down[2];
    double w = fmax(60, (double)t->down[3] * (HOST_W + 4) + 12) * (double)t->down[2];
    double radius = ring_radius(groups, hypot(w, 62 * (double)t->down[1]) + 60);
    size_t none = 0;
    int *router = ti_grow(NULL, &none, (size_t)(groups * local), sizeof *router);

    for (int64_t g = 0; g < groups; g++) {
        double turn = (double)g / (double)groups;
        double at[2] = {on_x(0, radius, turn), on_y(0, radius, turn)};

        dragonfly_group(pic, t, g, at, router + g * local);
        dragonfly_local(pic, t, router + g * local);
    }
    for (int64_t a = 0; a < groups; a++)
        for (int64_t b = a + 1; b < groups; b++)
            edge(pic, router[a * local + b], router[b * local + a], 3, 0);
    free(router);
}

static void draw_hierarchical(struct ti_picture *pic, const struct ti_shown *p)
{
    const struct ti_topology *t = p->topology;
    int64_t groups = t->down[1], nodes = t->down[0] * groups, supergroups = t->down[2];
    int64_t places = nodes + (groups > 1 ? groups : 0); /* one is left free behind each group */
    double r = nodes == 1 ? 0 : fmax(50, (double)places * (STEP + 8) / TAU);
    double radius = ring_radius(supergroups, 2 * r + 70);

    for (int64_t s = 0; s < supergroups; s++) {
        double turn = (double)s / (double)supergroups;
        double x = on_x(0, radius, turn), y = on_y(0, radius, turn);

        for (int64_t i = 0; i < nodes; i++) {
            double place = (double)(i + (groups > 1 ? i / t->down[0] : 0)) / (double)places;

            host(pic, s * nodes + i, on_x(x, r, place), on_y(y, r, place));
        }
        for (int64_t i = 0; i < nodes; i++)
            for (int64_t j = i + 1; j < nodes; j++)
                edge(pic, (int)(s * nodes + i), (int)(s * nodes + j),
                     i / t->down[0] == j / t->down[0] ? 0 : 1, 0);
    }
    for (int64_t a = 0; a < supergroups; a++)
        for (int64_t b = a + 1; b < supergroups; b++)
            edge(pic, (int)(a * nodes + ti__hub(t, b)), (int)(b * nodes + ti__hub(t, a)), 2, 0);
}

/* ---- in summary ---- */

static void stack_box(struct ti_picture *pic, int level, int64_t n, double y)
{
    char name[32], count[32];
    int at;

    snprintf(name, sizeof name, "level-%d", level);
    at = box(pic, TI_V_BOX, name, 0, y, 240, 40);
    ti_format_count((uint64_t)n, count, sizeof count);
    if (level)
        label(&pic->v[at], "%s switch%s at level %d", count, n == 1 ? "" : "es", level);
    else
        label(&pic->v[at], "%s hosts", count);
    if (level)
        edge(pic, at - 1, at, level - 1, 0);
}

static void sum_tree(struct ti_picture *pic, const struct ti_shown *p)
{
    const struct ti_topology *t = p->topology;
    int levels = t->kind == TI_TOPO_FAT_TREE ? t->n : 1;

    for (int level = 0; level <= levels; level++)
        stack_box(pic, level,
                  level == 0                    ? p->hosts
                  : t->kind == TI_TOPO_FAT_TREE ? ti__fat_tree_nodes(t, level)
                                                : 1,
                  (double)(levels - level) * 90);
}

/* Summary of at most RING_MAX groups: a ring of boxes, each linked with each. */
static void sum_groups(struct ti_picture *pic, const struct ti_shown *p, int64_t groups,
                       const char *word, int kind)
{
    double r = ring_radius(groups, 140);
    char name[48], count[32];

    ti_format_count((uint64_t)(p->hosts / groups), count, sizeof count);
    for (int64_t g = 0; g < groups; g++) {
        double turn = (double)g / (double)groups;

        int at;

        snprintf(name, sizeof name, "%s-%" PRId64, word, g);
        at = box(pic, TI_V_BOX, name, on_x(0, r, turn), on_y(0, r, turn), 110, 40);
        label(&pic->v[at], "%s %" PRId64 "\n%s hosts", word, g, count);
    }
    for (int64_t a = 0; a < groups; a++)
        for (int64_t b = a + 1; b < groups; b++)
            edge(pic, (int)a, (int)b, kind, 0);
}

static void sum_box(struct ti_picture *pic, const struct ti_shown *p)
{
    char count[32];
    int at = box(pic, TI_V_BOX, "hosts", 0, 0, 320, 44);

    label(&pic->v[at], "%s hosts\n%s", ti_format_count((uint64_t)p->hosts, count, sizeof count),
          p->name);
}

static void sum_up(struct ti_picture *pic, const struct ti_shown *p)
{
    const struct ti_topology *t = p->topology;
    char count[32];

    snprintf(pic->note, sizeof pic->note,
             "summary: %s hosts and their links are too many to be drawn one by one",
             ti_format_count((uint64_t)p->hosts, count, sizeof count));
    if (t->kind == TI_TOPO_CLUSTER || t->kind == TI_TOPO_FAT_TREE)
        sum_tree(pic, p);
    else if (t->kind == TI_TOPO_DRAGONFLY && t->down[0] <= RING_MAX)
        sum_groups(pic, p, t->down[0], "group", 3);
    else if (t->kind == TI_TOPO_HIERARCHICAL && t->down[2] <= RING_MAX)
        sum_groups(pic, p, t->down[2], "supergroup", 2);
    else
        sum_box(pic, p);
}

/* ---- sites ---- */

static void draw_clusters(struct ti_picture *pic, const struct ti_shown *p, int site, int at,
                          double *y)
{
    const struct ti_sites *sites = p->sites;
    char name[300], speed[32], count[32];

    for (int i = 0; i < sites->nclusters; i++) {
        const struct ti_cluster *c = &sites->cluster[i];
        int64_t n = 0;
        int cluster;

        if (c->site != site)
            continue;
        for (int64_t k = 0; k < sites->nnodes; k++)
            n += sites->node[k].cluster == i;
        snprintf(name, sizeof name, "cluster:%.250s", c->name);
        cluster = box(pic, TI_V_BOX, name, 520, *y, 300, 38);
        label(&pic->v[cluster], "%.60s: %s host%s\n%" PRId64 " core%s, %s; %s, %s", c->name,
              ti_format_count((uint64_t)n, count, sizeof count), n == 1 ? "" : "s",
              ti_cluster_cores(c, p->wan), ti_cluster_cores(c, p->wan) == 1 ? "" : "s",
              ti_cluster_speed(c, p->wan, speed), ti_cluster_bandwidth(c, p->wan),
              ti_cluster_latency(c, p->wan));
        branch(pic, at, cluster, 0);
        *y += 46;
    }
}

static void draw_sites(struct ti_picture *pic, const struct ti_shown *p)
{
    int wan = box(pic, TI_V_SWITCH, "WAN", 0, 0, 90, 40);
    double y = 0;

    label(&pic->v[wan], "WAN");
    snprintf(pic->key[0].text, sizeof pic->key[0].text, "one link a host, as its cluster says");
    snprintf(pic->key[1].text, sizeof pic->key[1].text, "one link a site, as the site says");
    pic->nkeys = 2;
    snprintf(pic->note, sizeof pic->note, "the hosts of a cluster are one box");
    for (int s = 0; s < p->sites->nsites; s++) {
        double top = y;
        char name[300];
        int at;

        snprintf(name, sizeof name, "site:%.250s", p->sites->site[s].name);
        at = box(pic, TI_V_SWITCH, name, 230, 0, 170, 38);
        label(&pic->v[at], "%.60s\n%s, %s", p->sites->site[s].name,
              ti_site_bandwidth(&p->sites->site[s], p->wan),
              ti_site_latency(&p->sites->site[s], p->wan));
        branch(pic, wan, at, 1);
        draw_clusters(pic, p, s, at, &y);
        if (y == top)
            y += 46;
        pic->v[at].y = (top + y - 46) / 2;
        y += 14;
    }
    pic->v[wan].y = (y - 14 - 46) / 2;
}

/* ---- whole picture ---- */

static void add_keys(struct ti_picture *pic, const struct ti_shape *s)
{
    char count[32], cables[32] = "";

    for (int i = 0; i < s->nlinks; i++) {
        const struct ti_link_class *c = &s->link[i];

        if (c->cables > 1)
            snprintf(cables, sizeof cables, "%" PRId64 " x ", c->cables);
        else
            cables[0] = '\0';
        snprintf(pic->key[pic->nkeys++].text, sizeof pic->key[0].text, "%s: %s link%s, %s%s, %s",
                 c->name, ti_format_count((uint64_t)c->count, count, sizeof count),
                 c->count == 1 ? "" : "s", cables, c->bandwidth, c->latency);
    }
}

static void draw_each_host(struct ti_picture *pic, const struct ti_shown *p)
{
    switch (p->topology->kind) {
    case TI_TOPO_CLUSTER:
        draw_cluster(pic, p);
        break;
    case TI_TOPO_FAT_TREE:
        draw_fat_tree(pic, p);
        break;
    case TI_TOPO_TORUS:
        draw_torus(pic, p);
        break;
    case TI_TOPO_DRAGONFLY:
        draw_dragonfly(pic, p);
        break;
    case TI_TOPO_HIERARCHICAL:
        draw_hierarchical(pic, p);
        break;
    }
}

static void draw_topology(struct ti_picture *pic, const struct ti_shown *p)
{
    struct ti_shape s;
    int64_t links = 0;

    ti_shape_of(p, &s);
    for (int i = 0; i < s.nlinks; i++)
        links += s.link[i].count;
    add_keys(pic, &s);
    if (p->hosts <= TI_DRAWN_HOSTS_MAX && links <= TI_DRAWN_LINKS_MAX)
        draw_each_host(pic, p);
    else
        sum_up(pic, p);
}

void ti__picture_lay_out(struct ti_picture *pic, const struct ti_shown *p)
{
    char count[32];

    *pic = (struct ti_picture){0};
    snprintf(pic->title, sizeof pic->title, "%.300s: %s hosts", p->name,
             ti_format_count((uint64_t)p->hosts, count, sizeof count));
    if (p->sites)
        draw_sites(pic, p);
    else
        draw_topology(pic, p);
}

void ti__picture_free(struct ti_picture *pic)
{
    for (size_t i = 0; i < pic->nv; i++)
        free(pic->v[i].text);
    free(pic->v);
    free(pic->e);
}
