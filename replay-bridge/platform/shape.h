/*
 * What a made platform is like, in words and numbers: hosts, links by class, diameter, bisection.
 */
#ifndef TI_SHAPE_H
#define TI_SHAPE_H

#include <jansson.h>
#include <stdio.h>

#include "replay-bridge/platform/platform.h"
#include "replay-bridge/platform/platform_sites.h"

#define TI_CLASSES_MAX (TI_LEVELS_MAX + 1)

/* A platform that is described: of a topology, or of sites, where `sites` is not NULL. */
struct ti_shown {
    const char *name; /* as the command line has it */
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
    int64_t cables; /* that are one link to SimGrid, with their bandwidth together */
    const char *bandwidth, *latency;
    int64_t hops; /* how many of them the longest route has */
};

struct ti_shape {
    int64_t switches;
    struct ti_link_class link[TI_CLASSES_MAX];
    int nlinks;
    int64_t hops;         /* links of the longest route */
    double latency_s;     /* of that route */
    double bisection_Bps; /* in each direction; 0: not known */
};

/* Of a topology; not of sites. */
void ti_shape_of(const struct ti_shown *p, struct ti_shape *out);

/* Print all about a platform; the same as JSON, a new reference. */
void ti_shape_print(FILE *out, const struct ti_shown *p);
json_t *ti_shape_json(const struct ti_shown *p);

/* Of a platform of the user's, only the hosts are known; unless `sure`, there may be more. */
void ti_shape_print_hosts(FILE *out, const char *name, const struct ti_hosts *hosts, bool sure);
json_t *ti_shape_hosts_json(const char *name, const struct ti_hosts *hosts);

/* "2.5 GB/s" into buf; returns buf. */
char *ti_format_rate(double bytes_a_second, char *buf, int buf_bytes);

#endif
