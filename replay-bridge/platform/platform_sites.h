/*
 * Platforms of several sites, from a sites file (tiara-sites(5)).
 *
 * A site is a crossbar: each node has a link to it, with the bandwidth and latency of the node's
 * cluster.  One link connects a site to the wide-area network, which itself has no limit.  A
 * message to another site crosses the links of both sites.  All links are full duplex.
 */
#ifndef TI_REPLAY_BRIDGE_PLATFORM_PLATFORM_SITES_H
#define TI_REPLAY_BRIDGE_PLATFORM_PLATFORM_SITES_H

#include "config/sites.h"
#include "replay-bridge/platform/hosts.h"
#include "replay-bridge/platform/platform.h"

#define TI_WAN_BANDWIDTH_DEFAULT "10Gbps"
#define TI_WAN_LATENCY_DEFAULT   "2.5ms"

/* Defaults for values that the sites file lacks. */
struct ti_sites_speeds {
    const struct ti_speeds *nodes;
    const char *wan_bandwidth, *wan_latency;
};

/* Value of a node of the cluster, or of the site's link to the wide-area network: from the sites
 * file, else the default.  ti_cluster_speed() may use `buf`. */
const char *ti_cluster_bandwidth(const struct ti_cluster *c, const struct ti_sites_speeds *s);
const char *ti_cluster_latency(const struct ti_cluster *c, const struct ti_sites_speeds *s);
const char *ti_site_bandwidth(const struct ti_site *site, const struct ti_sites_speeds *s);
const char *ti_site_latency(const struct ti_site *site, const struct ti_sites_speeds *s);
int64_t ti_cluster_cores(const struct ti_cluster *c, const struct ti_sites_speeds *s);
const char *ti_cluster_speed(const struct ti_cluster *c, const struct ti_sites_speeds *s,
                             char buf[32]);

const struct ti_watts *ti_cluster_watts(const struct ti_cluster *c,
                                        const struct ti_sites_speeds *s);
const struct ti_disk *ti_cluster_disk(const struct ti_cluster *c, const struct ti_sites_speeds *s);

/* Checks that all clusters have watts, or none, and the same for disks.  TI_ERR_INPUT names the
 * line of a cluster. */
ti_status ti_sites_check(const struct ti_sites *sites, const struct ti_sites_speeds *s,
                         struct ti_err *err);

/* Whether they have; call ti_sites_check() before. */
bool ti_sites_have_watts(const struct ti_sites *sites, const struct ti_sites_speeds *s);
bool ti_sites_have_disks(const struct ti_sites *sites, const struct ti_sites_speeds *s);

/* Adds the nodes of all sites to `hosts`, in the order of the file, one slot each. */
void ti_hosts_of_sites(struct ti_hosts *hosts, const struct ti_sites *sites,
                       const struct ti_sites_speeds *speeds);

void ti_platform_write_sites(FILE *out, const struct ti_sites *sites,
                             const struct ti_sites_speeds *speeds);

#endif
