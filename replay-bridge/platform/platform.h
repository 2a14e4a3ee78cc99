/*
 * Platforms for SimGrid: a description in its XML (DTD 4.1) made from a
 * topology and some numbers.  Hosts are node-0, node-1, ...
 *
 * A plain cluster, a fat tree, a torus and a dragonfly are SimGrid's own <cluster>.  What that
 * has no words for is written link by link and route by route: fat trees whose levels differ in
 * bandwidth or latency, and hierarchical direct networks.  platform_sites.h makes platforms of
 * several sites.
 */
#ifndef TI_PLATFORM_H
#define TI_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/units.h"

#define TI_HOST_PREFIX "node-"

#define TI_LEVELS_MAX 16

struct ti_topology {
    enum {
        TI_TOPO_CLUSTER,
        TI_TOPO_FAT_TREE,
        TI_TOPO_TORUS,
        TI_TOPO_DRAGONFLY,
        TI_TOPO_HIERARCHICAL
    } kind;
    const char *params; /* what is behind the colon, "" for a cluster */
    int64_t hosts;      /* that it has; 0 for a cluster: as many as wanted */
    /*
     * Its numbers:
     *   fat tree      n levels, from the hosts up: `down`, `up` and `cables` of each
     *   torus         n dimensions: `down`
     *   dragonfly     `down`: groups, chassis, routers, hosts; `cables`: between two of these
     *   hierarchical  `down`: nodes of a group, groups of a supergroup, supergroups
     */
    int n;
    int64_t down[TI_LEVELS_MAX], up[TI_LEVELS_MAX], cables[TI_LEVELS_MAX];
};

/* How many levels of links it has that may differ, from the hosts up; 1 where they may not. */
int ti_topology_levels(const struct ti_topology *topology);

/* Bandwidths, or latencies, as SimGrid writes them: one for all links, or one for each level. */
struct ti_link_values {
    int n;
    char text[TI_LEVELS_MAX][32];
};

/* "10GBps" or "10GBps,2.5GBps"; TI_ERR_USAGE names the option. */
ti_status ti_link_values_parse(const char *text, enum ti_unit kind, const char *option,
                               struct ti_link_values *out, struct ti_err *err);
const char *ti_link_value(const struct ti_link_values *values, int level);

/* Speeds as SimGrid writes them: "8Gf", "125MBps", "50us". */
struct ti_speeds {
    const char *speed;
    struct ti_link_values bandwidth, latency;
    const char *loopback_bandwidth, *loopback_latency; /* between ranks of a host */
    int64_t cores;                                     /* of a host */
};

#define TI_SPEED_DEFAULT     "1Gf"
#define TI_BANDWIDTH_DEFAULT "125MBps"
#define TI_LATENCY_DEFAULT   "50us"

/* Those of SimGrid's own loopback, which not every kind of platform has. */
#define TI_LOOPBACK_BANDWIDTH_DEFAULT "498MBps"
#define TI_LOOPBACK_LATENCY_DEFAULT   "15us"

/* Largest fat tree with several paths between hosts whose levels differ: a route for each pair. */
#define TI_ROUTED_HOSTS_MAX 1024
/* Largest hierarchical network, for the same reason: links. */
#define TI_DIRECT_LINKS_MAX (1 << 20)

/*
 * "cluster", "fat-tree:2;4,4;1,2;1,2", "torus:4,4", "dragonfly:3,4;4,3;5,1;2",
 * "hierarchical:8,4,16"; what is behind the colon is SimGrid's but for the last.  out->params
 * points into `text`.  TI_ERR_USAGE if it is none of these or its numbers do not fit together.
 */
ti_status ti_topology_parse(const char *text, struct ti_topology *out, struct ti_err *err);

/* Whether links of the topology can have these bandwidths and latencies: TI_ERR_USAGE if not. */
ti_status ti_platform_check(const struct ti_topology *topology, const struct ti_speeds *speeds,
                            struct ti_err *err);

/* Write the XML for `hosts` hosts (what the topology has, if it says). */
void ti_platform_write(FILE *out, const struct ti_topology *topology, int64_t hosts,
                       const struct ti_speeds *speeds);

/* ---- for what else writes platforms ---- */

void ti__platform_begin(FILE *out);
void ti__platform_end(FILE *out);

/* In platform_levels.c: the zone of the whole network. */
void ti__write_fat_tree(FILE *out, const struct ti_topology *topology,
                        const struct ti_speeds *speeds);
void ti__write_hierarchical(FILE *out, const struct ti_topology *topology,
                            const struct ti_speeds *speeds);

/* Whether some level differs from the first. */
bool ti__levels_differ(const struct ti_topology *topology, const struct ti_speeds *speeds);

/* Whether a fat tree has one path between two hosts. */
bool ti__one_path(const struct ti_topology *topology);

/* Links of a hierarchical network: within a group, between groups, between supergroups. */
void ti__hierarchical_links(const struct ti_topology *topology, int64_t links[3]);

/* Node of a supergroup, by its number in there, that has the link to supergroup `to`. */
int64_t ti__hub(const struct ti_topology *topology, int64_t to);

/* Switches of a level of a fat tree, from 1; hosts at level 0.  Links between level - 1 and it. */
int64_t ti__fat_tree_nodes(const struct ti_topology *topology, int level);
int64_t ti__fat_tree_links(const struct ti_topology *topology, int level);

/* Parent number `which` (0 to up - 1) of node `position` of `level`: its position in level + 1. */
int64_t ti__fat_tree_parent(const struct ti_topology *topology, int level, int64_t position,
                            int64_t which);

#endif
