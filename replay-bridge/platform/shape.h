/*
 * Shape: a description of a generated platform: hosts, links by class, diameter, bisection.
 */
#ifndef TI_REPLAY_BRIDGE_PLATFORM_SHAPE_H
#define TI_REPLAY_BRIDGE_PLATFORM_SHAPE_H

#include <jansson.h>
#include <stdio.h>

#include "replay-bridge/platform/platform.h"
#include "replay-bridge/platform/platform_sites.h"

#define TI_CLASSES_MAX (TI_LEVELS_MAX + 1)

/* The platform to describe: of `sites` unless that is NULL, else of `topology`. */
struct ti_shown {
    const char *name; /* from the command line */
    const struct ti_topology *topology;
    int64_t hosts;
    const struct ti_speeds *speeds;
    const struct ti_sites *sites;
    const struct ti_sites_speeds *wan;
};

/* Links of one kind. */
struct ti_link_class {
    char name[48]; /* "level 1 to level 2" */
    int64_t count;
    int64_t cables; /* cables that form one link to SimGrid, with the sum of their bandwidths */
    const char *bandwidth, *latency;
    int64_t hops; /* links of this class on the longest route */
};

struct ti_shape {
    int64_t switches;
    struct ti_link_class link[TI_CLASSES_MAX];
    int nlinks;
    int64_t hops;         /* links on the longest route */
    double latency_s;     /* sum of the latencies on that route */
    double bisection_Bps; /* in each direction; 0: not known */
};

/* Computes the shape of p->topology; p->sites must be NULL. */
void ti_shape_of(const struct ti_shown *p, struct ti_shape *out);

/* Print the description of a platform, or return it as JSON (a new reference). */
void ti_shape_print(FILE *out, const struct ti_shown *p);
json_t *ti_shape_json(const struct ti_shown *p);

/* The same for a platform file of the user, of which only the hosts are known.  `sure` is false if
 * there may be more hosts. */
void ti_shape_print_hosts(FILE *out, const char *name, const struct ti_hosts *hosts, bool sure);
json_t *ti_shape_hosts_json(const char *name, const struct ti_hosts *hosts);

/* Adds watts (idle, full) and disk (bandwidth_bytes_per_s, latency_s, shared) to an object, if they
 * are given. */
void ti_shape_add_values(json_t *j, const struct ti_watts *watts, const struct ti_disk *disk);

#endif
