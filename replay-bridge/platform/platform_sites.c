#include "replay-bridge/platform/platform_sites.h"

#include "common/hostlist.h"

#define HOST_BYTES (2 * TI_HOST_NAME_MAX + 4) /* of ":NAME.DOMAIN" */

const char *ti_cluster_bandwidth(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    return c->bandwidth ? c->bandwidth : ti_link_value(&s->nodes->bandwidth, 0);
}

const char *ti_cluster_latency(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    return c->latency ? c->latency : ti_link_value(&s->nodes->latency, 0);
}

const char *ti_site_bandwidth(const struct ti_site *site, const struct ti_sites_speeds *s)
{
    return site->wan_bandwidth ? site->wan_bandwidth : s->wan_bandwidth;
}

const char *ti_site_latency(const struct ti_site *site, const struct ti_sites_speeds *s)
{
    return site->wan_latency ? site->wan_latency : s->wan_latency;
}

int64_t ti_cluster_cores(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    return c->cores ? c->cores : s->nodes->cores;
}

const char *ti_cluster_speed(const struct ti_cluster *c, const struct ti_sites_speeds *s,
                             char buf[32])
{
    if (c->speed > 0)
        snprintf(buf, 32, "%.6gGf", c->speed / 1e9);
    else
        snprintf(buf, 32, "%s", s->nodes->speed);
    return buf;
}

const struct ti_watts *ti_cluster_watts(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    return c->watts.given ? &c->watts : &s->nodes->watts;
}

const struct ti_disk *ti_cluster_disk(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    return c->disk.bandwidth > 0 ? &c->disk : &s->nodes->disk;
}

/* Checks that all clusters have a value if one has; has(c) tells whether one does. */
static ti_status check_all(const struct ti_sites *sites, const struct ti_sites_speeds *s,
                           bool (*has)(const struct ti_cluster *c, const struct ti_sites_speeds *s),
                           const char *key, struct ti_err *err)
{
    const struct ti_cluster *with = NULL, *without = NULL;

    for (int i = 0; i < sites->nclusters; i++)
        if (has(&sites->cluster[i], s))
            with = &sites->cluster[i];
        else
            without = without ? without : &sites->cluster[i];
    if (!with || !without)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "%s:%d: cluster '%s' has no %s, but cluster '%s' has",
               sites->path, without->line, without->name, key, with->name);
    ti_err_hint(err, "give '%s' to each cluster, to [defaults], or as --%s for those that lack it",
                key, key);
    return TI_ERR_INPUT;
}

static bool has_watts(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    return ti_cluster_watts(c, s)->given;
}

static bool has_disk(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    return ti_cluster_disk(c, s)->bandwidth > 0;
}

ti_status ti_sites_check(const struct ti_sites *sites, const struct ti_sites_speeds *s,
                         struct ti_err *err)
{
    ti_status st = check_all(sites, s, has_watts, "watts", err);

    return st ? st : check_all(sites, s, has_disk, "disk", err);
}

bool ti_sites_have_watts(const struct ti_sites *sites, const struct ti_sites_speeds *s)
{
    return sites->nclusters && has_watts(&sites->cluster[0], s);
}

bool ti_sites_have_disks(const struct ti_sites *sites, const struct ti_sites_speeds *s)
{
    return sites->nclusters && has_disk(&sites->cluster[0], s);
}

void ti_hosts_of_sites(struct ti_hosts *hosts, const struct ti_sites *sites,
                       const struct ti_sites_speeds *speeds)
{
    for (int64_t i = 0; i < sites->nnodes; i++) {
        const struct ti_cluster *cluster = &sites->cluster[sites->node[i].cluster];

        ti_hosts_add(hosts, sites->node[i].name, ti_cluster_cores(cluster, speeds));
        hosts->list[hosts->n - 1].site = cluster->site;
    }
}

/* The owner of the disk that the nodes of the cluster share; NULL: they share none.  The prefix
 * keeps it apart from a node with the name of the cluster. */
static const char *shared_disk(const struct ti_cluster *c, const struct ti_sites_speeds *s)
{
    static char owner[512];

    snprintf(owner, sizeof owner, "cluster:%s", c->name);
    return has_disk(c, s) && ti_cluster_disk(c, s)->shared ? owner : NULL;
}

static void put_disks(FILE *out, const struct ti_sites *sites, const struct ti_sites_speeds *s)
{
    bool watts = ti_sites_have_watts(sites, s);

    ti__platform_begin_disks(out);
    for (int i = 0; i < sites->nclusters; i++) {
        const struct ti_cluster *c = &sites->cluster[i];

        if (shared_disk(c, s))
            ti__platform_disk(out, shared_disk(c, s), ti_cluster_disk(c, s), watts);
    }
    for (int64_t i = 0; i < sites->nnodes; i++) {
        const struct ti_cluster *c = &sites->cluster[sites->node[i].cluster];

        if (!shared_disk(c, s))
            ti__platform_disk(out, sites->node[i].name, ti_cluster_disk(c, s), watts);
    }
    ti__platform_end_disks(out);
}

/* Names of nodes have no colon, so they cannot equal the name of a zone or a router.  Names of
 * sites and nodes have only letters, digits, '.', '_' and '-', so they need no escaping in XML. */
static void put_node(FILE *out, const char *name, const struct ti_cluster *c,
                     const struct ti_sites_speeds *s)
{
    char speed[32], loopback[HOST_BYTES];

    fprintf(out, "      <host id=\"%s\" speed=\"", name);
    ti__put_speed(out, ti_cluster_speed(c, s, speed), s->nodes);
    fprintf(out, "\" core=\"%lld\"", (long long)ti_cluster_cores(c, s));
    ti__platform_end_host(out, "host", s->nodes, ti_cluster_watts(c, s), shared_disk(c, s));
    fprintf(out,
            "      <link id=\"link:%s\" bandwidth=\"%s\" latency=\"%s\" "
            "sharing_policy=\"SPLITDUPLEX\"/>\n"
            "      <host_link id=\"%s\" up=\"link:%s_UP\" down=\"link:%s_DOWN\"/>\n",
            name, ti_cluster_bandwidth(c, s), ti_cluster_latency(c, s), name, name, name);
    snprintf(loopback, sizeof loopback, ":%s", name);
    ti__put_loopback(out, loopback, s->nodes);
}

static void put_site(FILE *out, const struct ti_sites *sites, int site,
                     const struct ti_sites_speeds *s)
{
    fprintf(out,
            "    <zone id=\"site:%s\" routing=\"Cluster\">\n"
            "      <router id=\"router:%s\"/>\n",
            sites->site[site].name, sites->site[site].name);
    for (int64_t i = 0; i < sites->nnodes; i++) {
        const struct ti_node *node = &sites->node[i];

        if (sites->cluster[node->cluster].site == site)
            put_node(out, node->name, &sites->cluster[node->cluster], s);
    }
    for (int64_t i = 0; i < sites->nnodes; i++) {
        const struct ti_node *node = &sites->node[i];

        char loopback[HOST_BYTES];

        if (sites->cluster[node->cluster].site != site)
            continue;
        fprintf(out, "      <route src=\"%s\" dst=\"%s\" symmetrical=\"NO\">", node->name,
                node->name);
        snprintf(loopback, sizeof loopback, ":%s", node->name);
        ti__put_loopback_route(out, loopback, s->nodes);
        fprintf(out, "</route>\n");
    }
    fprintf(out, "    </zone>\n");
}

static void put_wan(FILE *out, const struct ti_sites *sites, const struct ti_sites_speeds *s)
{
    for (int a = 0; a < sites->nsites; a++)
        fprintf(out,
                "    <link id=\"wan:%s\" bandwidth=\"%s\" latency=\"%s\" "
                "sharing_policy=\"SPLITDUPLEX\"/>\n",
                sites->site[a].name, ti_site_bandwidth(&sites->site[a], s),
                ti_site_latency(&sites->site[a], s));
    for (int a = 0; a < sites->nsites; a++)
        for (int b = a + 1; b < sites->nsites; b++) {
            const char *from = sites->site[a].name, *to = sites->site[b].name;

            fprintf(out,
                    "    <zoneRoute src=\"site:%s\" dst=\"site:%s\" "
                    "gw_src=\"router:%s\" gw_dst=\"router:%s\">"
                    "<link_ctn id=\"wan:%s\" direction=\"UP\"/>"
                    "<link_ctn id=\"wan:%s\" direction=\"DOWN\"/></zoneRoute>\n",
                    from, to, from, to, from, to);
        }
}

void ti_platform_write_sites(FILE *out, const struct ti_sites *sites,
                             const struct ti_sites_speeds *speeds)
{
    ti__platform_begin(out);
    if (ti_sites_have_disks(sites, speeds))
        put_disks(out, sites, speeds);
    for (int site = 0; site < sites->nsites; site++)
        put_site(out, sites, site, speeds);
    put_wan(out, sites, speeds);
    ti__platform_end(out);
}
