#include "replay-bridge/platform/platform.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "config/calibration.h"

#define HOSTS_MAX (1 << 24)

/* ---- topologies ---- */

/* "4,4,2" up to a character of `ends` (or the end): how many numbers, -1 if it
 * is not that.  *p is left on what ended it. */
static int numbers(const char **p, const char *ends, int64_t out[TI_LEVELS_MAX])
{
    for (int n = 0; n < TI_LEVELS_MAX; n++) {
        char *end;

        errno = 0;
        if (**p < '0' || **p > '9')
            return -1;
        out[n] = strtoll(*p, &end, 10);
        if (errno || out[n] < 1 || out[n] > HOSTS_MAX)
            return -1;
        *p = end;
        if (!*end || strchr(ends, *end))
            return n + 1;
        if (*end != ',')
            return -1;
        ++*p;
    }
    return -1;
}

static int64_t product(const int64_t *n, int count)
{
    int64_t all = 1;

    for (int i = 0; i < count; i++) {
        all *= n[i];
        if (all > HOSTS_MAX)
            return -1;
    }
    return all;
}

/* Skips the ';' between two lists. */
static bool next_list(const char **p)
{
    return *(*p)++ == ';';
}

/* Parses "levels;down links;up links;cables".  The number of hosts is the product of down links. */
static bool fat_tree(const char *p, struct ti_topology *t)
{
    int64_t levels[TI_LEVELS_MAX];

    if (numbers(&p, ";", levels) != 1 || levels[0] > TI_LEVELS_MAX || !next_list(&p) ||
        numbers(&p, ";", t->down) != levels[0] || !next_list(&p) ||
        numbers(&p, ";", t->up) != levels[0] || !next_list(&p) ||
        numbers(&p, "", t->cables) != levels[0] || *p)
        return false;
    t->n = (int)levels[0];
    return true;
}

/* Numbers with commas between them. */
static bool one_list(const char *p, struct ti_topology *t)
{
    t->n = numbers(&p, "", t->down);
    return t->n >= 1 && !*p;
}

/* Parses "groups,links;chassis,links;routers,links;hosts per router". */
static bool dragonfly(const char *p, struct ti_topology *t)
{
    int64_t pair[TI_LEVELS_MAX];

    for (int i = 0; i < 3; i++) {
        if (numbers(&p, ";", pair) != 2 || !next_list(&p))
            return false;
        t->down[i] = pair[0];
        t->cables[i] = pair[1];
    }
    if (numbers(&p, "", pair) != 1 || *p)
        return false;
    t->down[3] = pair[0];
    t->n = 4;
    return true;
}

static bool hierarchical(const char *p, struct ti_topology *t)
{
    return one_list(p, t) && t->n == 3;
}

static const struct {
    const char *name, *simgrid;
    bool (*parse)(const char *p, struct ti_topology *t);
} kinds[] = {[TI_TOPO_CLUSTER] = {"cluster", NULL, NULL},
             [TI_TOPO_FAT_TREE] = {"fat-tree", "FAT_TREE", fat_tree},
             [TI_TOPO_TORUS] = {"torus", "TORUS", one_list},
             [TI_TOPO_DRAGONFLY] = {"dragonfly", "DRAGONFLY", dragonfly},
             [TI_TOPO_HIERARCHICAL] = {"hierarchical", NULL, hierarchical}};

/* Whether the numbers of nodes and links of each level of a fat tree are within limits. */
static bool tree_fits(const struct ti_topology *t)
{
    for (int level = 0; level <= t->n; level++) {
        int64_t up = product(t->up, level), down = product(t->down + level, t->n - level);

        if (up < 0 || up * down > HOSTS_MAX)
            return false;
        if (level < t->n && (up * down * t->up[level] > HOSTS_MAX ||
                             up * down * t->up[level] * t->cables[level] > HOSTS_MAX))
            return false;
    }
    return true;
}

/* Constraints on numbers that are well-formed. */
static ti_status check_numbers(const char *text, const struct ti_topology *t, struct ti_err *err)
{
    int64_t links[3];

    if (t->kind == TI_TOPO_FAT_TREE && !tree_fits(t))
        return ti_err_set(err, TI_ERR_USAGE, "'%s' has more than %d switches or links in a level",
                          text, HOSTS_MAX);
    /* router j of a group's first chassis has the link to group j */
    if (t->kind == TI_TOPO_DRAGONFLY && t->down[0] > t->down[2]) {
        ti_err_set(err, TI_ERR_USAGE, "'%s' has %lld groups, but %lld routers in a chassis", text,
                   (long long)t->down[0], (long long)t->down[2]);
        ti_err_hint(err, "SimGrid connects group j through router j of a chassis, so there must be "
                         "as many routers in a chassis as there are groups, or more");
        return TI_ERR_USAGE;
    }
    if (t->kind != TI_TOPO_HIERARCHICAL)
        return TI_OK;
    ti__hierarchical_links(t, links);
    if (links[0] > TI_DIRECT_LINKS_MAX || links[1] > TI_DIRECT_LINKS_MAX ||
        links[2] > TI_DIRECT_LINKS_MAX || links[0] + links[1] + links[2] > TI_DIRECT_LINKS_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "'%s' has more than %d links", text,
                          TI_DIRECT_LINKS_MAX);
    return TI_OK;
}

ti_status ti_topology_parse(const char *text, struct ti_topology *out, struct ti_err *err)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    char kind[TI_NEAREST_BYTES];
    struct ti_nearest near = {.to = kind};

    *out = (struct ti_topology){.params = ""};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strlen(kinds[k].name) != n || strncmp(kinds[k].name, text, n) != 0)
            continue;
        out->kind = k;
        if (!kinds[k].parse && !colon)
            return TI_OK;
        if (!kinds[k].parse || !colon || !kinds[k].parse(colon + 1, out))
            break;
        out->params = colon + 1;
        out->hosts = product(out->down, out->n);
        if (out->hosts > 0)
            return check_numbers(text, out, err);
        break;
    }
    snprintf(kind, sizeof kind, "%.*s", (int)n, text);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        ti_nearest_try(&near, kinds[k].name);
    ti_err_set(err, TI_ERR_USAGE, "'%s' is no topology%s%s%s", text,
               near.text[0] ? "; did you mean '" : "", near.text, near.text[0] ? "'?" : "");
    ti_err_hint(err, "cluster, fat-tree:2;4,4;1,2;1,2, torus:4,4, dragonfly:3,4;4,3;5,1;2 or "
                     "hierarchical:8,4,16 (quote a text that has semicolons)");
    return TI_ERR_USAGE;
}

/* Number of levels of links, from the hosts up, that may differ in speed; 1 if none may. */
static int levels_of(const struct ti_topology *topology)
{
    return topology->kind == TI_TOPO_FAT_TREE || topology->kind == TI_TOPO_HIERARCHICAL
               ? topology->n
               : 1;
}

int64_t ti__fat_tree_nodes(const struct ti_topology *topology, int level)
{
    return product(topology->up, level) * product(topology->down + level, topology->n - level);
}

int64_t ti__fat_tree_links(const struct ti_topology *topology, int level)
{
    return ti__fat_tree_nodes(topology, level - 1) * topology->up[level - 1] *
           topology->cables[level - 1];
}

bool ti__one_path(const struct ti_topology *topology)
{
    return product(topology->up, topology->n) == 1 && product(topology->cables, topology->n) == 1;
}

void ti__hierarchical_links(const struct ti_topology *topology, int64_t links[3])
{
    int64_t a = topology->down[0], b = topology->down[1], c = topology->down[2];

    /* no product overflows: a * b * c is at most HOSTS_MAX */
    links[0] = c * b * (a * (a - 1) / 2);
    links[1] = c * (b * (b - 1) / 2) * a * a;
    links[2] = c * (c - 1) / 2;
}

int64_t ti__hub(const struct ti_topology *topology, int64_t to)
{
    return to % (topology->down[0] * topology->down[1]);
}

/* ---- bandwidths and latencies ---- */

ti_status ti_link_values_parse(const char *text, enum ti_unit kind, const char *option,
                               struct ti_link_values *out, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (out->n = 0; !st; text++) {
        size_t n = strcspn(text, ",");

        if (out->n == TI_LEVELS_MAX || n >= sizeof out->text[0])
            return ti_err_set(err, TI_ERR_USAGE, "%s: too many values, or one is too long", option);
        memcpy(out->text[out->n], text, n);
        out->text[out->n][n] = '\0';
        st = ti_unit_check(out->text[out->n++], kind, option, err);
        text += n;
        if (!*text)
            break;
    }
    return st;
}

const char *ti_link_value(const struct ti_link_values *values, int level)
{
    return values->text[values->n > 1 ? level : 0];
}

static ti_status check_values(const struct ti_topology *topology,
                              const struct ti_link_values *values, const char *option,
                              struct ti_err *err)
{
    int levels = levels_of(topology);

    if (values->n == 1 || values->n == levels)
        return TI_OK;
    if (topology->kind != TI_TOPO_FAT_TREE && topology->kind != TI_TOPO_HIERARCHICAL)
        return ti_err_set(err, TI_ERR_USAGE,
                          "%s: %d values, but all links of a %s are equal; only a fat-tree and a "
                          "hierarchical network have levels",
                          option, values->n, kinds[topology->kind].name);
    return ti_err_set(err, TI_ERR_USAGE, "%s: %d values for the %d levels of %s:%s", option,
                      values->n, levels, kinds[topology->kind].name, topology->params);
}

static bool one_differs(const struct ti_link_values *values, int levels, enum ti_unit kind)
{
    double first = ti_unit_value(ti_link_value(values, 0), kind);

    for (int i = 1; i < levels; i++) {
        double more = ti_unit_value(ti_link_value(values, i), kind) - first;

        if (more > first * 1e-12 || more < -first * 1e-12) /* 50us is not quite 0.05ms */
            return true;
    }
    return false;
}

/* Whether any level differs from the first in bandwidth or latency. */
static bool levels_differ(const struct ti_topology *topology, const struct ti_speeds *speeds)
{
    int levels = levels_of(topology);

    return one_differs(&speeds->bandwidth, levels, TI_UNIT_BANDWIDTH) ||
           one_differs(&speeds->latency, levels, TI_UNIT_LATENCY);
}

ti_status ti_platform_check(const struct ti_topology *topology, const struct ti_speeds *speeds,
                            struct ti_err *err)
{
    ti_status st = check_values(topology, &speeds->bandwidth, "--bandwidth", err);

    if (!st)
        st = check_values(topology, &speeds->latency, "--latency", err);
    if (!st && speeds->loopback_shared &&
        (topology->kind == TI_TOPO_TORUS || topology->kind == TI_TOPO_DRAGONFLY))
        return ti_err_set(err, TI_ERR_USAGE,
                          "--loopback: SimGrid's %s has no link for all messages within a host, so "
                          "there can be no third value",
                          kinds[topology->kind].name);
    if (st || topology->kind != TI_TOPO_FAT_TREE || topology->hosts <= TI_ROUTED_HOSTS_MAX ||
        !(levels_differ(topology, speeds) || speeds->loopback_shared) || ti__one_path(topology))
        return st;
    ti_err_set(err, TI_ERR_USAGE,
               "fat-tree:%s has %lld hosts: if %s and there are several paths, the limit is %d",
               topology->params, (long long)topology->hosts,
               levels_differ(topology, speeds) ? "its levels differ"
                                               : "--loopback has a third value",
               TI_ROUTED_HOSTS_MAX);
    ti_err_hint(err, "one bandwidth with fewer up links reduces the upper levels as well; a tree "
                     "with one up link and one cable everywhere may have any size");
    return TI_ERR_USAGE;
}

/* ---- XML ---- */

void ti__platform_begin(FILE *out)
{
    fprintf(out, "<?xml version='1.0'?>\n"
                 "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                 "<platform version=\"4.1\">\n"
                 "  <zone id=\"world\" routing=\"Full\">\n");
}

void ti__platform_end(FILE *out)
{
    fprintf(out, "  </zone>\n</platform>\n");
}

void ti__put_speed(FILE *out, const char *speed, const struct ti_speeds *speeds)
{
    double full = ti_unit_value(speed, TI_UNIT_SPEED);

    if (!speeds->contention)
        fputs(speed, out);
    for (int64_t n = 1; speeds->contention && n <= (speeds->most_ranks ? speeds->most_ranks : 1);
         n++)
        fprintf(out, "%s%.17gf", n > 1 ? "," : "", full * ti_ranks_value(speeds->contention, n));
}

void ti__put_loopback(FILE *out, const char *host, const struct ti_speeds *speeds)
{
    fprintf(out,
            "      <link id=\"loopback%s\" bandwidth=\"%s\" latency=\"%s\" "
            "sharing_policy=\"FATPIPE\"/>\n",
            host, speeds->loopback_bandwidth, speeds->loopback_latency);
    if (speeds->loopback_shared)
        fprintf(out,
                "      <link id=\"memory%s\" bandwidth=\"%s\" latency=\"0s\" "
                "sharing_policy=\"SHARED\"/>\n",
                host, speeds->loopback_shared);
}

void ti__put_loopback_route(FILE *out, const char *host, const struct ti_speeds *speeds)
{
    fprintf(out, "<link_ctn id=\"loopback%s\"/>", host);
    if (speeds->loopback_shared)
        fprintf(out, "<link_ctn id=\"memory%s\"/>", host);
}

/* The plugin wants the power of each pstate, see ti__put_speed(). */
static void put_watts(FILE *out, const struct ti_speeds *speeds, const struct ti_watts *watts)
{
    int64_t states = speeds->contention && speeds->most_ranks ? speeds->most_ranks : 1;

    fprintf(out, "<prop id=\"" TI_WATTS_PROPERTY "\" value=\"");
    for (int64_t i = 0; i < states; i++)
        fprintf(out, "%s%.17g:%.17g", i ? "," : "", watts->idle, watts->full);
    fprintf(out, "\"/>");
}

void ti__platform_end_host(FILE *out, const char *element, const struct ti_speeds *speeds,
                           const struct ti_watts *watts, const char *disk)
{
    if (!watts->given && !disk) {
        fprintf(out, "/>\n");
        return;
    }
    fprintf(out, ">");
    if (watts->given)
        put_watts(out, speeds, watts);
    if (disk)
        fprintf(out, "<prop id=\"" TI_DISK_PROPERTY "\" value=\"" TI_DISK_PREFIX "%s\"/>", disk);
    fprintf(out, "</%s>\n", element);
}

void ti__platform_begin_disks(FILE *out)
{
    fprintf(out, "    <zone id=\"disks:\" routing=\"None\">\n");
}

/* A disk takes no power; the plugin warns of hosts without the property. */
void ti__platform_disk(FILE *out, const char *owner, const struct ti_disk *disk, bool watts)
{
    fprintf(out,
            "      <host id=\"" TI_DISK_PREFIX "%s\" speed=\"%.17gf\">"
            "<prop id=\"" TI_LATENCY_PROPERTY "\" value=\"%.17g\"/>",
            owner, disk->bandwidth, disk->latency_s);
    if (watts)
        fprintf(out, "<prop id=\"" TI_WATTS_PROPERTY "\" value=\"0:0\"/>");
    fprintf(out, "</host>\n");
}

void ti__platform_end_disks(FILE *out)
{
    fprintf(out, "    </zone>\n");
}

const char *ti__platform_shared_disk(const struct ti_disk *disk)
{
    return disk->bandwidth > 0 && disk->shared ? "all" : NULL;
}

static void write_disks(FILE *out, int64_t hosts, const struct ti_speeds *speeds)
{
    const char *shared = ti__platform_shared_disk(&speeds->disk);
    char name[32];

    if (!(speeds->disk.bandwidth > 0))
        return;
    ti__platform_begin_disks(out);
    if (shared)
        ti__platform_disk(out, shared, &speeds->disk, speeds->watts.given);
    for (int64_t i = 0; !shared && i < hosts; i++) {
        snprintf(name, sizeof name, TI_HOST_PREFIX "%lld", (long long)i);
        ti__platform_disk(out, name, &speeds->disk, speeds->watts.given);
    }
    ti__platform_end_disks(out);
}

static void write_cluster(FILE *out, const struct ti_topology *topology, int64_t hosts,
                          const struct ti_speeds *speeds)
{
    fprintf(out,
            "    <cluster id=\"nodes\" prefix=\"" TI_HOST_PREFIX "\" suffix=\"\" "
            "radical=\"0-%lld\"\n"
            "             speed=\"",
            (long long)hosts - 1);
    ti__put_speed(out, speeds->speed, speeds);
    fprintf(out, "\" bw=\"%s\" lat=\"%s\"", ti_link_value(&speeds->bandwidth, 0),
            ti_link_value(&speeds->latency, 0));
    if (speeds->cores > 1)
        fprintf(out, " core=\"%lld\"", (long long)speeds->cores);
    fprintf(out, "\n             loopback_bw=\"%s\" loopback_lat=\"%s\"",
            speeds->loopback_bandwidth, speeds->loopback_latency);
    if (kinds[topology->kind].simgrid)
        fprintf(out, "\n             topology=\"%s\" topo_parameters=\"%s\"",
                kinds[topology->kind].simgrid, topology->params);
    ti__platform_end_host(out, "cluster", speeds, &speeds->watts,
                          ti__platform_shared_disk(&speeds->disk));
}

void ti_platform_write(FILE *out, const struct ti_topology *topology, int64_t hosts,
                       const struct ti_speeds *speeds)
{
    ti__platform_begin(out);
    write_disks(out, hosts, speeds);
    switch (topology->kind) {
    case TI_TOPO_HIERARCHICAL:
        ti__write_hierarchical(out, topology, speeds);
        break;
    case TI_TOPO_FAT_TREE:
        if (levels_differ(topology, speeds) || speeds->loopback_shared)
            ti__write_fat_tree(out, topology, speeds);
        else
            write_cluster(out, topology, hosts, speeds);
        break;
    case TI_TOPO_CLUSTER:
        if (speeds->loopback_shared)
            ti__write_cluster(out, hosts, speeds);
        else
            write_cluster(out, topology, hosts, speeds);
        break;
    case TI_TOPO_TORUS:
    case TI_TOPO_DRAGONFLY:
        write_cluster(out, topology, hosts, speeds);
        break;
    }
    ti__platform_end(out);
}
