/*
 * Platforms for SimGrid: a description in its XML (DTD 4.1) made from a
 * topology and three numbers.  Hosts are node-0, node-1, ...
 */
#ifndef TI_PLATFORM_H
#define TI_PLATFORM_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/units.h"

#define TI_HOST_PREFIX "node-"

struct ti_topology {
    enum { TI_TOPO_CLUSTER, TI_TOPO_FAT_TREE, TI_TOPO_TORUS, TI_TOPO_DRAGONFLY } kind;
    const char *params; /* SimGrid's topo_parameters, "" for a cluster */
    int64_t hosts;      /* that it has; 0 for a cluster: as many as wanted */
};

/* Speeds as SimGrid writes them: "8Gf", "125MBps", "50us". */
struct ti_speeds {
    const char *speed, *bandwidth, *latency;
    const char *loopback_bandwidth, *loopback_latency; /* NULL: SimGrid's own */
    int64_t cores;                                     /* of a host */
};

#define TI_SPEED_DEFAULT     "1Gf"
#define TI_BANDWIDTH_DEFAULT "125MBps"
#define TI_LATENCY_DEFAULT   "50us"

/*
 * "cluster", "fat-tree:2;4,4;1,2;1,2", "torus:4,4", "dragonfly:3,4;4,3;5,1;2";
 * what is behind the colon is SimGrid's.  out->params points into `text`.
 * TI_ERR_USAGE if it is none of these or its numbers do not fit together.
 */
ti_status ti_topology_parse(const char *text, struct ti_topology *out, struct ti_err *err);

/* Write the XML for `hosts` hosts (what the topology has, if it says). */
void ti_platform_write(FILE *out, const struct ti_topology *topology, int64_t hosts,
                       const struct ti_speeds *speeds);

#endif
