/*
 * Networks that are written link by link: fat trees whose levels differ, hierarchical networks, and
 * clusters and fat trees whose hosts have a limit for all messages within a host.
 */
#include "replay-bridge/platform/platform.h"

static void put_host(FILE *out, int64_t host, const struct ti_speeds *speeds)
{
    fprintf(out, "      <host id=\"" TI_HOST_PREFIX "%lld\" speed=\"", (long long)host);
    ti__put_speed(out, speeds->speed, speeds);
    fprintf(out, "\" core=\"%lld\"", (long long)speeds->cores);
    ti__platform_end_host(out, "host", speeds, &speeds->watts,
                          ti__platform_shared_disk(&speeds->disk));
}

static void put_loopback_link(FILE *out, int64_t host, const struct ti_speeds *speeds)
{
    char name[32];

    snprintf(name, sizeof name, "-%lld", (long long)host);
    ti__put_loopback(out, name, speeds);
}

static void put_loopback_route(FILE *out, int64_t host, const struct ti_speeds *speeds)
{
    char name[32];

    snprintf(name, sizeof name, "-%lld", (long long)host);
    fprintf(out,
            "      <route src=\"" TI_HOST_PREFIX "%lld\" dst=\"" TI_HOST_PREFIX
            "%lld\" symmetrical=\"NO\">",
            (long long)host, (long long)host);
    ti__put_loopback_route(out, name, speeds);
    fprintf(out, "</route>\n");
}

/* ---- clusters ---- */

/* The zone that SimGrid makes of <cluster>, with its names, but other loopback links. */
void ti__write_cluster(FILE *out, int64_t hosts, const struct ti_speeds *speeds)
{
    fprintf(out, "    <zone id=\"nodes\" routing=\"Cluster\">\n"
                 "      <router id=\"nodes_router\"/>\n");
    for (int64_t i = 0; i < hosts; i++) {
        put_host(out, i, speeds);
        fprintf(out,
                "      <link id=\"nodes_link_%lld\" bandwidth=\"%s\" latency=\"%s\" "
                "sharing_policy=\"SPLITDUPLEX\"/>\n"
                "      <host_link id=\"" TI_HOST_PREFIX "%lld\" up=\"nodes_link_%lld_UP\" "
                "down=\"nodes_link_%lld_DOWN\"/>\n",
                (long long)i, ti_link_value(&speeds->bandwidth, 0),
                ti_link_value(&speeds->latency, 0), (long long)i, (long long)i, (long long)i);
        put_loopback_link(out, i, speeds);
    }
    for (int64_t i = 0; i < hosts; i++)
        put_loopback_route(out, i, speeds);
    fprintf(out, "    </zone>\n");
}

/* ---- fat trees ---- */

/*
 * The position of a node in its level is a number of mixed radix, lowest digit first.  At level L,
 * digit i has the radix of the parents (`up`) for i < L, else of the children (`down`).  A node and
 * its parents differ in one digit.
 */
static int64_t radix(const struct ti_topology *t, int level, int digit)
{
    return digit < level ? t->up[digit] : t->down[digit];
}

static void to_digits(const struct ti_topology *t, int level, int64_t position,
                      int64_t digit[TI_LEVELS_MAX])
{
    for (int i = 0; i < t->n; i++) {
        digit[i] = position % radix(t, level, i);
        position /= radix(t, level, i);
    }
}

static int64_t from_digits(const struct ti_topology *t, int level,
                           const int64_t digit[TI_LEVELS_MAX])
{
    int64_t position = 0;

    for (int i = t->n - 1; i >= 0; i--)
        position = position * radix(t, level, i) + digit[i];
    return position;
}

int64_t ti__fat_tree_parent(const struct ti_topology *topology, int level, int64_t position,
                            int64_t which)
{
    int64_t digit[TI_LEVELS_MAX];

    to_digits(topology, level, position, digit);
    digit[level] = which;
    return from_digits(topology, level + 1, digit);
}

/* Number of the link of node `position` of `level` to a parent. */
static int64_t link_number(const struct ti_topology *t, int level, int64_t position, int64_t parent,
                           int64_t cable)
{
    int64_t before = 0;

    for (int i = 1; i <= level; i++)
        before += ti__fat_tree_links(t, i);
    return before + (position * t->up[level] + parent) * t->cables[level] + cable;
}

static void put_tree_links(FILE *out, const struct ti_topology *t, const struct ti_speeds *speeds)
{
    int64_t number = 0;

    for (int level = 0; level < t->n; level++)
        for (int64_t i = ti__fat_tree_links(t, level + 1); i > 0; i--)
            fprintf(out,
                    "      <link id=\"l%lld\" bandwidth=\"%s\" latency=\"%s\" "
                    "sharing_policy=\"SPLITDUPLEX\"/>\n",
                    (long long)number++, ti_link_value(&speeds->bandwidth, level),
                    ti_link_value(&speeds->latency, level));
}

static void put_hop(FILE *out, int64_t link, const char *direction)
{
    fprintf(out, "<link_ctn id=\"l%lld\" direction=\"%s\"/>", (long long)link, direction);
}

/* Whether `host` is below `node`, both given by their digits. */
static bool is_above(const struct ti_topology *t, int level, const int64_t node[TI_LEVELS_MAX],
                     const int64_t host[TI_LEVELS_MAX])
{
    for (int i = level; i < t->n; i++)
        if (node[i] != host[i])
            return false;
    return true;
}

/* The parent on the way up is chosen by the number of the destination, as in SimGrid (D-mod-k). The
 * way down is determined, except for the cable, which is chosen by the number of the source. */
static void put_tree_route(FILE *out, const struct ti_topology *t, int64_t from, int64_t to)
{
    int64_t node[TI_LEVELS_MAX], goal[TI_LEVELS_MAX], rest = to;
    int level = 0;

    fprintf(out,
            "      <route src=\"" TI_HOST_PREFIX "%lld\" dst=\"" TI_HOST_PREFIX
            "%lld\" symmetrical=\"NO\">",
            (long long)from, (long long)to);
    to_digits(t, 0, from, node);
    to_digits(t, 0, to, goal);
    for (; !is_above(t, level, node, goal); level++) {
        int64_t port = rest % (t->up[level] * t->cables[level]);
        int64_t parent = port % t->up[level], cable = port / t->up[level];

        put_hop(out, link_number(t, level, from_digits(t, level, node), parent, cable), "UP");
        node[level] = parent;
        rest /= t->up[level];
    }
    while (level-- > 0) {
        int64_t parent = node[level], cable = from % t->cables[level];

        node[level] = goal[level];
        put_hop(out, link_number(t, level, from_digits(t, level, node), parent, cable), "DOWN");
    }
    fprintf(out, "</route>\n");
}

/* Name of a node: hosts as in all platforms, switches by level and position. */
static const char *node_name(int level, int64_t position, char buf[48])
{
    if (level)
        snprintf(buf, 48, "switch-%d-%lld", level, (long long)position);
    else
        snprintf(buf, 48, TI_HOST_PREFIX "%lld", (long long)position);
    return buf;
}

/* Writes routes between adjacent nodes only.  In a tree with a single path between hosts, SimGrid
 * finds the rest. */
static void put_tree_edges(FILE *out, const struct ti_topology *t)
{
    char low[48], high[48];

    for (int level = 0; level < t->n; level++)
        for (int64_t i = 0; i < ti__fat_tree_nodes(t, level); i++) {
            fprintf(out, "      <route src=\"%s\" dst=\"%s\">", node_name(level, i, low),
                    node_name(level + 1, ti__fat_tree_parent(t, level, i, 0), high));
            put_hop(out, link_number(t, level, i, 0, 0), "UP");
            fprintf(out, "</route>\n");
        }
}

void ti__write_fat_tree(FILE *out, const struct ti_topology *topology,
                        const struct ti_speeds *speeds)
{
    bool one_path = ti__one_path(topology);
    int64_t hosts = topology->hosts;
    char name[48];

    fprintf(out, "    <zone id=\"nodes\" routing=\"%s\">\n", one_path ? "DijkstraCache" : "Full");
    for (int64_t i = 0; i < hosts; i++)
        put_host(out, i, speeds);
    for (int level = 1; one_path && level <= topology->n; level++)
        for (int64_t i = 0; i < ti__fat_tree_nodes(topology, level); i++)
            fprintf(out, "      <router id=\"%s\"/>\n", node_name(level, i, name));
    put_tree_links(out, topology, speeds);
    for (int64_t i = 0; i < hosts; i++)
        put_loopback_link(out, i, speeds);
    if (one_path)
        put_tree_edges(out, topology);
    for (int64_t i = 0; i < hosts && !one_path; i++)
        for (int64_t j = 0; j < hosts; j++)
            if (i != j)
                put_tree_route(out, topology, i, j);
    for (int64_t i = 0; i < hosts; i++)
        put_loopback_route(out, i, speeds);
    fprintf(out, "    </zone>\n");
}

/* ---- hierarchical direct networks ---- */

static void put_direct_links(FILE *out, const struct ti_topology *t, const struct ti_speeds *speeds,
                             int64_t first)
{
    int64_t nodes = t->down[0] * t->down[1];

    for (int64_t i = 0; i < nodes; i++)
        for (int64_t j = i + 1; j < nodes; j++) {
            int level = i / t->down[0] == j / t->down[0] ? 0 : 1;

            fprintf(out,
                    "      <link id=\"%lld:%lld\" bandwidth=\"%s\" latency=\"%s\" "
                    "sharing_policy=\"SPLITDUPLEX\"/>\n",
                    (long long)(first + i), (long long)(first + j),
                    ti_link_value(&speeds->bandwidth, level),
                    ti_link_value(&speeds->latency, level));
        }
}

static void put_direct_routes(FILE *out, int64_t first, int64_t nodes)
{
    for (int64_t i = first; i < first + nodes; i++)
        for (int64_t j = i + 1; j < first + nodes; j++)
            fprintf(out,
                    "      <route src=\"" TI_HOST_PREFIX "%lld\" dst=\"" TI_HOST_PREFIX
                    "%lld\"><link_ctn id=\"%lld:%lld\" direction=\"UP\"/></route>\n",
                    (long long)i, (long long)j, (long long)i, (long long)j);
}

/* A link for each pair of nodes; the order is the DTD's: hosts and links, then routes. */
static void put_supergroup(FILE *out, const struct ti_topology *t, const struct ti_speeds *speeds,
                           int64_t number)
{
    int64_t nodes = t->down[0] * t->down[1], first = number * nodes;

    fprintf(out, "    <zone id=\"supergroup-%lld\" routing=\"Full\">\n", (long long)number);
    for (int64_t i = first; i < first + nodes; i++)
        put_host(out, i, speeds);
    put_direct_links(out, t, speeds, first);
    for (int64_t i = first; i < first + nodes; i++)
        put_loopback_link(out, i, speeds);
    put_direct_routes(out, first, nodes);
    for (int64_t i = first; i < first + nodes; i++)
        put_loopback_route(out, i, speeds);
    fprintf(out, "    </zone>\n");
}

/* A route between two supergroups passes the two nodes that have the link between them. */
static void put_remote_route(FILE *out, const struct ti_topology *t, int64_t a, int64_t b)
{
    int64_t nodes = t->down[0] * t->down[1];

    fprintf(out,
            "    <zoneRoute src=\"supergroup-%lld\" dst=\"supergroup-%lld\" "
            "gw_src=\"" TI_HOST_PREFIX "%lld\" gw_dst=\"" TI_HOST_PREFIX "%lld\">"
            "<link_ctn id=\"remote-%lld:%lld\" direction=\"UP\"/></zoneRoute>\n",
            (long long)a, (long long)b, (long long)(a * nodes + ti__hub(t, b)),
            (long long)(b * nodes + ti__hub(t, a)), (long long)a, (long long)b);
}

void ti__write_hierarchical(FILE *out, const struct ti_topology *topology,
                            const struct ti_speeds *speeds)
{
    int64_t supergroups = topology->down[2];

    for (int64_t a = 0; a < supergroups; a++)
        put_supergroup(out, topology, speeds, a);
    for (int64_t a = 0; a < supergroups; a++)
        for (int64_t b = a + 1; b < supergroups; b++)
            fprintf(out,
                    "    <link id=\"remote-%lld:%lld\" bandwidth=\"%s\" latency=\"%s\" "
                    "sharing_policy=\"SPLITDUPLEX\"/>\n",
                    (long long)a, (long long)b, ti_link_value(&speeds->bandwidth, 2),
                    ti_link_value(&speeds->latency, 2));
    for (int64_t a = 0; a < supergroups; a++)
        for (int64_t b = a + 1; b < supergroups; b++)
            put_remote_route(out, topology, a, b);
}
