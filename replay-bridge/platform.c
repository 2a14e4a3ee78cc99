#include "replay-bridge/platform.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX  (1 << 24)
#define LEVELS_MAX 16

static const struct {
    const char *name, *simgrid;
} kinds[] = {
    {"cluster", NULL}, {"fat-tree", "FAT_TREE"}, {"torus", "TORUS"}, {"dragonfly", "DRAGONFLY"}};

/* "4,4,2" up to a character of `ends` (or the end): how many numbers, -1 if it
 * is not that.  *p is left on what ended it. */
static int numbers(const char **p, const char *ends, int64_t out[LEVELS_MAX])
{
    for (int n = 0; n < LEVELS_MAX; n++) {
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

/* Step over the ';' between two lists. */
static bool next_list(const char **p)
{
    return *(*p)++ == ';';
}

/* "levels;down links;up links;cables": a host for each way down. */
static int64_t fat_tree(const char *p)
{
    int64_t levels[LEVELS_MAX], down[LEVELS_MAX], other[LEVELS_MAX];

    if (numbers(&p, ";", levels) != 1 || levels[0] > LEVELS_MAX || !next_list(&p) ||
        numbers(&p, ";", down) != levels[0] || !next_list(&p) ||
        numbers(&p, ";", other) != levels[0] || !next_list(&p) ||
        numbers(&p, "", other) != levels[0] || *p)
        return -1;
    return product(down, (int)levels[0]);
}

static int64_t torus(const char *p)
{
    int64_t dims[LEVELS_MAX];
    int n = numbers(&p, "", dims);

    return n < 1 || *p ? -1 : product(dims, n);
}

/* "groups,links;chassis,links;routers,links;hosts a router" */
static int64_t dragonfly(const char *p)
{
    int64_t pair[LEVELS_MAX], counts[4];

    for (int i = 0; i < 3; i++) {
        if (numbers(&p, ";", pair) != 2 || !next_list(&p))
            return -1;
        counts[i] = pair[0];
    }
    if (numbers(&p, "", pair) != 1 || *p)
        return -1;
    counts[3] = pair[0];
    return product(counts, 4);
}

ti_status ti_topology_parse(const char *text, struct ti_topology *out, struct ti_err *err)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);

    *out = (struct ti_topology){.params = ""};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strlen(kinds[k].name) != n || strncmp(kinds[k].name, text, n) != 0)
            continue;
        out->kind = k;
        if (!kinds[k].simgrid && !colon)
            return TI_OK;
        if (!kinds[k].simgrid || !colon)
            break;
        out->params = colon + 1;
        out->hosts = k == TI_TOPO_FAT_TREE ? fat_tree(out->params)
                     : k == TI_TOPO_TORUS  ? torus(out->params)
                                           : dragonfly(out->params);
        if (out->hosts > 0)
            return TI_OK;
        break;
    }
    ti_err_set(err, TI_ERR_USAGE, "'%s' is no topology", text);
    ti_err_hint(err, "cluster, fat-tree:2;4,4;1,2;1,2, torus:4,4 or dragonfly:3,4;4,3;5,1;2 "
                     "(with quotes around what holds a semicolon)");
    return TI_ERR_USAGE;
}

void ti_platform_write(FILE *out, const struct ti_topology *topology, int64_t hosts,
                       const struct ti_speeds *speeds)
{
    fprintf(out,
            "<?xml version='1.0'?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            "  <zone id=\"world\" routing=\"Full\">\n"
            "    <cluster id=\"nodes\" prefix=\"" TI_HOST_PREFIX "\" suffix=\"\" "
            "radical=\"0-%lld\"\n"
            "             speed=\"%s\" bw=\"%s\" lat=\"%s\"",
            (long long)hosts - 1, speeds->speed, speeds->bandwidth, speeds->latency);
    if (speeds->cores > 1)
        fprintf(out, " core=\"%lld\"", (long long)speeds->cores);
    if (speeds->loopback_bandwidth)
        fprintf(out, "\n             loopback_bw=\"%s\" loopback_lat=\"%s\"",
                speeds->loopback_bandwidth, speeds->loopback_latency);
    if (kinds[topology->kind].simgrid)
        fprintf(out, "\n             topology=\"%s\" topo_parameters=\"%s\"",
                kinds[topology->kind].simgrid, topology->params);
    fprintf(out, "/>\n  </zone>\n</platform>\n");
}
