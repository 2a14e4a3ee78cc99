/*
 * Generated platforms: a description in SimGrid's XML (DTD 4.1), made from a topology and speeds.
 * Hosts are named node-0, node-1, ...
 *
 * A plain cluster, a fat tree, a torus and a dragonfly are written as SimGrid's <cluster>. Networks
 * that <cluster> cannot express are written link by link and route by route: fat trees whose levels
 * differ in bandwidth or latency, hierarchical direct networks, and clusters and fat trees whose
 * hosts have a limit for all messages within a host.  For platforms of several sites see
 * platform_sites.h.
 */
#ifndef TI_REPLAY_BRIDGE_PLATFORM_PLATFORM_H
#define TI_REPLAY_BRIDGE_PLATFORM_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/units.h"
#include "config/host_values.h"

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
    const char *params; /* text after the colon; "" for a cluster */
    int64_t hosts;      /* number of hosts; 0 for a cluster: any number */
    /*
     * Parameters:
     *   fat tree      n levels, from the hosts up: `down`, `up` and `cables` of each
     *   torus         n dimensions: `down`
     *   dragonfly     `down`: groups, chassis, routers, hosts; `cables`: between two of these
     *   hierarchical  `down`: nodes of a group, groups of a supergroup, supergroups
     */
    int n;
    int64_t down[TI_LEVELS_MAX], up[TI_LEVELS_MAX], cables[TI_LEVELS_MAX];
};

/* Bandwidths, or latencies, with SimGrid's units: one for all links, or one for each level. */
struct ti_link_values {
    int n;
    char text[TI_LEVELS_MAX][32];
};

/* Parses "10GBps" or "10GBps,2.5GBps".  TI_ERR_USAGE names `option`. */
ti_status ti_link_values_parse(const char *text, enum ti_unit kind, const char *option,
                               struct ti_link_values *out, struct ti_err *err);
const char *ti_link_value(const struct ti_link_values *values, int level);

/* Speeds with SimGrid's units: "8Gf", "125MBps", "50us". */
struct ti_speeds {
    const char *speed;
    struct ti_link_values bandwidth, latency;
    const char *loopback_bandwidth, *loopback_latency; /* between ranks of a host */
    const char *loopback_shared; /* bandwidth of all messages within a host; NULL: no limit */
    int64_t cores;               /* of a host */
    const char *contention; /* shares of `speed` by the number of ranks of a host that compute, see
                             * ti_ranks_value(); NULL: always all of it */
    int64_t most_ranks;     /* of a host, for `contention` */
    struct ti_watts watts;
    struct ti_disk disk;
};

#define TI_SPEED_DEFAULT     "1Gf"
#define TI_BANDWIDTH_DEFAULT "125MBps"
#define TI_LATENCY_DEFAULT   "50us"

/* Values of SimGrid's own loopback link, which not every kind of platform has. */
#define TI_LOOPBACK_BANDWIDTH_DEFAULT "498MBps"
#define TI_LOOPBACK_LATENCY_DEFAULT   "15us"

/* Maximum hosts of a fat tree whose levels differ and that has several paths between hosts: each
 * pair of hosts needs a route in the XML. */
#define TI_ROUTED_HOSTS_MAX 1024
/* Maximum links of a hierarchical network: each link is in the XML. */
#define TI_DIRECT_LINKS_MAX (1 << 20)

/*
 * Parses "cluster", "fat-tree:2;4,4;1,2;1,2", "torus:4,4", "dragonfly:3,4;4,3;5,1;2" or
 * "hierarchical:8,4,16".  Parameters are in SimGrid's syntax, except for hierarchical networks.
 * out->params points into `text`.  TI_ERR_USAGE: unknown kind, or parameters that do not fit
 * together.
 */
ti_status ti_topology_parse(const char *text, struct ti_topology *out, struct ti_err *err);

/* Checks that the links of the topology can have these bandwidths and latencies.  TI_ERR_USAGE. */
ti_status ti_platform_check(const struct ti_topology *topology, const struct ti_speeds *speeds,
                            struct ti_err *err);

/* Writes the XML for `hosts` hosts, which must be topology->hosts unless that is 0. */
void ti_platform_write(FILE *out, const struct ti_topology *topology, int64_t hosts,
                       const struct ti_speeds *speeds);

/* ---- private to the sources that write or describe platforms ---- */

void ti__platform_begin(FILE *out);
void ti__platform_end(FILE *out);

/* Writes a host's speed: one, or one for each number of ranks that compute.  SimGrid calls these
 * pstates. */
void ti__put_speed(FILE *out, const char *speed, const struct ti_speeds *speeds);

/* Writes a link or two for messages within a host, or their part of a route.  `host` ends the names
 * of these links. */
void ti__put_loopback(FILE *out, const char *host, const struct ti_speeds *speeds);
void ti__put_loopback_route(FILE *out, const char *host, const struct ti_speeds *speeds);

/* Writes the end of the tag `element`, <host> or <cluster>, of a host with this power, and with its
 * properties the end of the element.  `disk` is the name of the disk that it shares with others;
 * NULL: none. */
void ti__platform_end_host(FILE *out, const char *element, const struct ti_speeds *speeds,
                           const struct ti_watts *watts, const char *disk);

/* Writes the zone of disks, which no route leads to, in front of all links; and one of them, which
 * belongs to `owner`. */
void ti__platform_begin_disks(FILE *out);
void ti__platform_disk(FILE *out, const char *owner, const struct ti_disk *disk, bool watts);
void ti__platform_end_disks(FILE *out);

/* The name of the disk of all hosts, of which disk->shared is true; else NULL. */
const char *ti__platform_shared_disk(const struct ti_disk *disk);

/* Write the zone of the whole network (platform_levels.c). */
void ti__write_cluster(FILE *out, int64_t hosts, const struct ti_speeds *speeds);
void ti__write_fat_tree(FILE *out, const struct ti_topology *topology,
                        const struct ti_speeds *speeds);
void ti__write_hierarchical(FILE *out, const struct ti_topology *topology,
                            const struct ti_speeds *speeds);

/* Whether a fat tree has a single path between any two hosts. */
bool ti__one_path(const struct ti_topology *topology);

/* Numbers of links of a hierarchical network: within groups, between groups, between supergroups.
 */
void ti__hierarchical_links(const struct ti_topology *topology, int64_t links[3]);

/* Number, within a supergroup, of the node that has the link to supergroup `to`. */
int64_t ti__hub(const struct ti_topology *topology, int64_t to);

/* Number of switches at a level of a fat tree (level 0: hosts), and of links between level - 1 and
 * this level. */
int64_t ti__fat_tree_nodes(const struct ti_topology *topology, int level);
int64_t ti__fat_tree_links(const struct ti_topology *topology, int level);

/* Position in level + 1 of parent `which` (0 to up - 1) of node `position` of `level`. */
int64_t ti__fat_tree_parent(const struct ti_topology *topology, int level, int64_t position,
                            int64_t which);

#endif
