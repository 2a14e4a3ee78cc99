#include "replay-bridge/platform/shape.h"

#include <inttypes.h>
#include <string.h>

#include "common/cli.h"

/* ---- links, by class ---- */

static struct ti_link_class *add(struct ti_shape *s, const struct ti_shown *p, int level,
                                 int64_t count, int64_t hops)
{
    struct ti_link_class *c = &s->link[s->nlinks++];

    *c = (struct ti_link_class){.count = count,
                                .cables = 1,
                                .bandwidth = ti_link_value(&p->speeds->bandwidth, level),
                                .latency = ti_link_value(&p->speeds->latency, level),
                                .hops = hops};
    return c;
}

static double rate_of(const struct ti_link_class *c)
{
    return (double)c->cables * ti_unit_value(c->bandwidth, TI_UNIT_BANDWIDTH);
}

static bool is_even(int64_t n)
{
    return n % 2 == 0;
}

static void cluster(const struct ti_shown *p, struct ti_shape *s)
{
    struct ti_link_class *c = add(s, p, 0, p->hosts, p->hosts > 1 ? 2 : 0);

    s->switches = 1;
    strcpy(c->name, "host to switch");
    if (is_even(p->hosts))
        s->bisection_Bps = (double)p->hosts / 2 * rate_of(c);
}

/* Bisection of a fat tree: half of the links of the narrowest level. */
static void fat_tree(const struct ti_shown *p, struct ti_shape *s)
{
    const struct ti_topology *t = p->topology;

    for (int level = 1; level <= t->n; level++) {
        struct ti_link_class *c = add(s, p, level - 1, ti__fat_tree_links(t, level), 2);
        double half = (double)c->count / 2 * rate_of(c);

        if (level == 1)
            strcpy(c->name, "host to level 1");
        else
            snprintf(c->name, sizeof c->name, "level %d to level %d", level - 1, level);
        s->switches += ti__fat_tree_nodes(t, level);
        if (is_even(t->down[t->n - 1]) && (level == 1 || half < s->bisection_Bps))
            s->bisection_Bps = half;
    }
}

/* Bisection of a torus: cut through the longest dimension.  Each ring crosses the cut twice; a ring
 * of two hosts is a single link. */
static void torus(const struct ti_shown *p, struct ti_shape *s)
{
    const struct ti_topology *t = p->topology;
    int64_t longest = 0;

    for (int i = 0; i < t->n; i++) {
        int64_t n = t->down[i];
        struct ti_link_class *c;

        if (n == 1)
            continue;
        c = add(s, p, 0, n == 2 ? t->hosts / 2 : t->hosts, n / 2);
        snprintf(c->name, sizeof c->name, "dimension %d", i + 1);
        if (n > longest) {
            longest = n;
            s->bisection_Bps =
                is_even(n) ? (double)(n == 2 ? 1 : 2) * (double)(t->hosts / n) * rate_of(c) : 0;
        }
    }
}

static void dragonfly(const struct ti_shown *p, struct ti_shape *s)
{
    const struct ti_topology *t = p->topology;
    int64_t groups = t->down[0], chassis = t->down[1], routers = t->down[2];
    int64_t sides = groups > 1 ? 2 : 1; /* a route is in one group or in two */
    struct ti_link_class *c = add(s, p, 0, t->hosts, t->hosts > 1 ? 2 : 0);
    double half = (double)t->hosts / 2 * rate_of(c);

    s->switches = groups * chassis * routers;
    strcpy(c->name, "host to router");
    c = add(s, p, 0, groups * chassis * (routers * (routers - 1) / 2), routers > 1 ? sides : 0);
    strcpy(c->name, "routers of a chassis");
    c->cables = t->cables[2];
    c = add(s, p, 0, groups * routers * (chassis * (chassis - 1) / 2), chassis > 1 ? sides : 0);
    strcpy(c->name, "chassis of a group");
    c->cables = t->cables[1];
    c = add(s, p, 0, groups * (groups - 1) / 2, groups > 1);
    strcpy(c->name, "groups");
    c->cables = t->cables[0];
    if (is_even(groups))
        s->bisection_Bps = (double)(groups / 2 * (groups / 2)) * rate_of(c);
    if (half < s->bisection_Bps)
        s->bisection_Bps = half;
}

/* Bisection: the cut halves the highest level that has more than one element. */
static void hierarchical(const struct ti_shown *p, struct ti_shape *s)
{
    static const char *const names[] = {"within a group", "groups of a supergroup", "supergroups"};
    const int64_t *n = p->topology->down;
    int64_t links[3], nodes = n[0] * n[1];
    struct ti_link_class *c[3];

    ti__hierarchical_links(p->topology, links);
    for (int i = 0; i < 3; i++) {
        c[i] = add(s, p, i, links[i], 0);
        strcpy(c[i]->name, names[i]);
    }
    if (n[2] > 1) {
        c[2]->hops = 1;
        c[n[1] > 1 ? 1 : 0]->hops = nodes > 1 ? 2 : 0;
        if (is_even(n[2]))
            s->bisection_Bps = (double)(n[2] / 2 * (n[2] / 2)) * rate_of(c[2]);
    } else if (n[1] > 1) {
        c[1]->hops = 1;
        if (is_even(n[1]))
            s->bisection_Bps = (double)(n[1] / 2 * (n[1] / 2) * n[0] * n[0]) * rate_of(c[1]);
    } else if (n[0] > 1) {
        c[0]->hops = 1;
        if (is_even(n[0]))
            s->bisection_Bps = (double)(n[0] / 2 * (n[0] / 2)) * rate_of(c[0]);
    }
}

void ti_shape_of(const struct ti_shown *p, struct ti_shape *out)
{
    *out = (struct ti_shape){0};
    switch (p->topology->kind) {
    case TI_TOPO_CLUSTER:
        cluster(p, out);
        break;
    case TI_TOPO_FAT_TREE:
        fat_tree(p, out);
        break;
    case TI_TOPO_TORUS:
        torus(p, out);
        break;
    case TI_TOPO_DRAGONFLY:
        dragonfly(p, out);
        break;
    case TI_TOPO_HIERARCHICAL:
        hierarchical(p, out);
        break;
    }
    for (int i = 0; i < out->nlinks; i++) {
        out->hops += out->link[i].hops;
        out->latency_s +=
            (double)out->link[i].hops * ti_unit_value(out->link[i].latency, TI_UNIT_LATENCY);
    }
}

/* ---- in words ---- */

/* Texts of the three quantities for people. */
struct words {
    char speed[TI_UNIT_BYTES_MOST], bandwidth[TI_UNIT_BYTES_MOST], latency[TI_UNIT_BYTES_MOST];
};

static const char *speed_text(struct words *w, const char *text)
{
    return ti_unit_format_text(text, TI_UNIT_SPEED, w->speed, sizeof w->speed);
}

static const char *bandwidth_text(struct words *w, const char *text)
{
    return ti_unit_format_text(text, TI_UNIT_BANDWIDTH, w->bandwidth, sizeof w->bandwidth);
}

static const char *latency_text(struct words *w, const char *text)
{
    return ti_unit_format_text(text, TI_UNIT_LATENCY, w->latency, sizeof w->latency);
}

static void print_loopback(FILE *out, const struct ti_speeds *speeds)
{
    struct words w;

    fprintf(out, "loopback:   %s, %s", bandwidth_text(&w, speeds->loopback_bandwidth),
            latency_text(&w, speeds->loopback_latency));
    if (speeds->loopback_shared)
        fprintf(out, "; %s for all messages of a host",
                bandwidth_text(&w, speeds->loopback_shared));
    fputc('\n', out);
}

/* Power and disk of hosts; `name` is a cluster, or "". */
static void print_values(FILE *out, const char *name, const struct ti_watts *watts,
                         const struct ti_disk *disk)
{
    char text[TI_VALUES_TEXT_BYTES];

    if (watts->given)
        fprintf(out, "power:      %s%s%s a host\n", name, *name ? ", " : "",
                ti_watts_text(watts, text));
    if (disk->bandwidth > 0)
        fprintf(out, "disk:       %s%s%s%s\n", name, *name ? ", " : "", ti_disk_text(disk, text),
                disk->shared ? "" : " a host");
}

static void print_switches(FILE *out, const struct ti_shown *p, const struct ti_shape *s)
{
    char n[32];

    if (!s->switches)
        return;
    fprintf(out, "switches:   %s", ti_format_count((uint64_t)s->switches, n, sizeof n));
    for (int level = 1; p->topology->kind == TI_TOPO_FAT_TREE && level <= p->topology->n; level++)
        fprintf(out, "%s%s at level %d", level == 1 ? ": " : ", ",
                ti_format_count((uint64_t)ti__fat_tree_nodes(p->topology, level), n, sizeof n),
                level);
    fputc('\n', out);
}

static void print_topology(FILE *out, const struct ti_shown *p)
{
    struct ti_shape s;
    struct words w;
    char n[32], text[64];

    ti_shape_of(p, &s);
    fprintf(out, "hosts:      %s, of %" PRId64 " core%s, %s\n",
            ti_format_count((uint64_t)p->hosts, n, sizeof n), p->speeds->cores,
            p->speeds->cores == 1 ? "" : "s", speed_text(&w, p->speeds->speed));
    print_switches(out, p, &s);
    fprintf(out, "links:      %-24s %10s  %-14s %s\n", "", "number", "bandwidth", "latency");
    for (int i = 0; i < s.nlinks; i++) {
        const struct ti_link_class *c = &s.link[i];

        if (!c->count)
            continue;
        bandwidth_text(&w, c->bandwidth);
        if (c->cables > 1)
            snprintf(text, sizeof text, "%" PRId64 " x %s", c->cables, w.bandwidth);
        else
            snprintf(text, sizeof text, "%s", w.bandwidth);
        fprintf(out, "  %-34s %10s  %-14s %s\n", c->name,
                ti_format_count((uint64_t)c->count, n, sizeof n), text,
                latency_text(&w, c->latency));
    }
    print_loopback(out, p->speeds);
    print_values(out, "", &p->speeds->watts, &p->speeds->disk);
    ti_unit_format(s.latency_s, TI_UNIT_LATENCY, text, sizeof text);
    fprintf(out, "diameter:   %" PRId64 " link%s, %s\n", s.hops, s.hops == 1 ? "" : "s", text);
    if (s.bisection_Bps > 0)
        fprintf(out, "bisection:  %s in each direction\n",
                ti_unit_format(s.bisection_Bps, TI_UNIT_BANDWIDTH, text, sizeof text));
}

static int64_t nodes_of(const struct ti_sites *sites, int cluster)
{
    int64_t n = 0;

    for (int64_t i = 0; i < sites->nnodes; i++)
        n += sites->node[i].cluster == cluster;
    return n;
}

static void print_sites(FILE *out, const struct ti_shown *p)
{
    const struct ti_sites *sites = p->sites;
    struct words w;
    char n[32], speed[32];

    fprintf(out, "hosts:      %s, in %d cluster%s at %d site%s\n",
            ti_format_count((uint64_t)sites->nnodes, n, sizeof n), sites->nclusters,
            sites->nclusters == 1 ? "" : "s", sites->nsites, sites->nsites == 1 ? "" : "s");
    fprintf(out, "  %-12s %-14s %7s %6s  %-10s %-10s %s\n", "site", "cluster", "hosts", "cores",
            "speed", "bandwidth", "latency");
    for (int i = 0; i < sites->nclusters; i++) {
        const struct ti_cluster *c = &sites->cluster[i];

        fprintf(out, "  %-12s %-14s %7s %6" PRId64 "  %-10s %-10s %s\n", sites->site[c->site].name,
                c->name, ti_format_count((uint64_t)nodes_of(sites, i), n, sizeof n),
                ti_cluster_cores(c, p->wan), speed_text(&w, ti_cluster_speed(c, p->wan, speed)),
                bandwidth_text(&w, ti_cluster_bandwidth(c, p->wan)),
                latency_text(&w, ti_cluster_latency(c, p->wan)));
    }
    if (sites->nsites > 1)
        fprintf(out, "WAN:        one link a site, to a network without a limit\n");
    for (int i = 0; sites->nsites > 1 && i < sites->nsites; i++)
        fprintf(out, "  %-12s %41s  %-10s %s\n", sites->site[i].name, "",
                bandwidth_text(&w, ti_site_bandwidth(&sites->site[i], p->wan)),
                latency_text(&w, ti_site_latency(&sites->site[i], p->wan)));
    print_loopback(out, p->speeds);
    for (int i = 0; i < sites->nclusters; i++)
        print_values(out, sites->cluster[i].name, ti_cluster_watts(&sites->cluster[i], p->wan),
                     ti_cluster_disk(&sites->cluster[i], p->wan));
    fprintf(out, "diameter:   %d links\n", sites->nsites > 1 ? 4 : sites->nnodes > 1 ? 2 : 0);
}

void ti_shape_print(FILE *out, const struct ti_shown *p)
{
    fprintf(out, "platform:   %s\n", p->name);
    if (p->sites)
        print_sites(out, p);
    else
        print_topology(out, p);
}

/* Minimum and maximum number of cores of a host. */
static void range_of_cores(const struct ti_hosts *hosts, int64_t *least, int64_t *most)
{
    *least = *most = hosts->list[0].cores;
    for (size_t i = 1; i < hosts->n; i++) {
        int64_t cores = hosts->list[i].cores;

        *least = cores < *least ? cores : *least;
        *most = cores > *most ? cores : *most;
    }
}

void ti_shape_print_hosts(FILE *out, const char *name, const struct ti_hosts *hosts, bool sure)
{
    char n[32];
    int64_t least, most;

    range_of_cores(hosts, &least, &most);
    fprintf(out, "platform:   %s\nhosts:      %s%s, of ", name, sure ? "" : "at least ",
            ti_format_count(hosts->n, n, sizeof n));
    if (least < most)
        fprintf(out, "%" PRId64 " to %" PRId64 " cores", least, most);
    else
        fprintf(out, "%" PRId64 " core%s", most, most == 1 ? "" : "s");
    ti_print(out, ", %s to %s\n", hosts->list[0].name, hosts->list[hosts->n - 1].name);
    fprintf(out, "links:      as the file says; they are not read\n");
}

/* ---- as JSON ---- */

json_t *ti_shape_hosts_json(const char *name, const struct ti_hosts *hosts)
{
    json_t *j = json_pack("{s:i, s:I}", "status", 0, "hosts", (json_int_t)hosts->n);
    int64_t least, most;

    range_of_cores(hosts, &least, &most);
    json_object_set_new(j, "platform", json_string(name));
    json_object_set_new(j, "cores", json_integer((json_int_t)most));
    json_object_set_new(j, "cores_least", json_integer((json_int_t)least));
    return j;
}

void ti_shape_add_values(json_t *j, const struct ti_watts *watts, const struct ti_disk *disk)
{
    if (watts->given)
        json_object_set_new(j, "watts",
                            json_pack("{s:f, s:f}", "idle", watts->idle, "full", watts->full));
    if (disk->bandwidth > 0)
        json_object_set_new(j, "disk",
                            json_pack("{s:f, s:f, s:b}", "bandwidth_bytes_per_s", disk->bandwidth,
                                      "latency_s", disk->latency_s, "shared", disk->shared));
}

static void topology_json(json_t *j, const struct ti_shown *p)
{
    json_t *links = json_array();
    struct ti_shape s;

    ti_shape_of(p, &s);
    for (int i = 0; i < s.nlinks; i++)
        json_array_append_new(links, json_pack("{s:s, s:I, s:I, s:s, s:s}", "name", s.link[i].name,
                                               "count", (json_int_t)s.link[i].count, "cables",
                                               (json_int_t)s.link[i].cables, "bandwidth",
                                               s.link[i].bandwidth, "latency", s.link[i].latency));
    json_object_set_new(j, "cores", json_integer((json_int_t)p->speeds->cores));
    json_object_set_new(j, "speed", json_string(p->speeds->speed));
    json_object_set_new(j, "switches", json_integer((json_int_t)s.switches));
    json_object_set_new(j, "links", links);
    json_object_set_new(j, "diameter_links", json_integer((json_int_t)s.hops));
    json_object_set_new(j, "diameter_latency_s", json_real(s.latency_s));
    if (s.bisection_Bps > 0)
        json_object_set_new(j, "bisection_bytes_per_s", json_real(s.bisection_Bps));
    ti_shape_add_values(j, &p->speeds->watts, &p->speeds->disk);
}

static void sites_json(json_t *j, const struct ti_shown *p)
{
    json_t *sites = json_array(), *clusters = json_array(), *one;
    char speed[32];

    for (int i = 0; i < p->sites->nsites; i++)
        json_array_append_new(
            sites, json_pack("{s:s, s:s, s:s}", "site", p->sites->site[i].name, "wan_bandwidth",
                             ti_site_bandwidth(&p->sites->site[i], p->wan), "wan_latency",
                             ti_site_latency(&p->sites->site[i], p->wan)));
    for (int i = 0; i < p->sites->nclusters; i++) {
        const struct ti_cluster *c = &p->sites->cluster[i];

        one = json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s}", "cluster", c->name, "site",
                        p->sites->site[c->site].name, "hosts", (json_int_t)nodes_of(p->sites, i),
                        "cores", (json_int_t)ti_cluster_cores(c, p->wan), "speed",
                        ti_cluster_speed(c, p->wan, speed), "bandwidth",
                        ti_cluster_bandwidth(c, p->wan), "latency", ti_cluster_latency(c, p->wan));
        ti_shape_add_values(one, ti_cluster_watts(c, p->wan), ti_cluster_disk(c, p->wan));
        json_array_append_new(clusters, one);
    }
    json_object_set_new(j, "sites", sites);
    json_object_set_new(j, "clusters", clusters);
}

json_t *ti_shape_json(const struct ti_shown *p)
{
    json_t *j = json_pack("{s:i, s:I}", "status", 0, "hosts", (json_int_t)p->hosts);

    json_object_set_new(j, "platform", json_string(p->name));
    if (p->sites)
        sites_json(j, p);
    else
        topology_json(j, p);
    return j;
}
