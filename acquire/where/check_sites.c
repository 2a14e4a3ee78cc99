#include "acquire/where/check_sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/where/where.h"
#include "common/hostlist.h"
#include "common/json.h"

/* Sums over the nodes of a cluster, or over all nodes. */
struct sum {
    int64_t nodes, cores, slots, memory_bytes;
    int cores_min, cores_max; /* of a node */
    int64_t bytes_min, bytes_max;
    bool no_cores, no_memory; /* unknown for some node */
};

static struct sum add_up(const struct ti_sites *s, int cluster)
{
    struct sum t = {0};

    for (int64_t i = 0; i < s->nnodes; i++) {
        const struct ti_node *n = &s->node[i];
        const struct ti_cluster *c = &s->cluster[n->cluster];
        int cores = n->cores ? n->cores : c->cores;
        int64_t bytes = n->memory_bytes ? n->memory_bytes : c->memory_bytes;

        if (cluster >= 0 && n->cluster != cluster)
            continue;
        if (!t.nodes || cores < t.cores_min)
            t.cores_min = cores;
        if (cores > t.cores_max)
            t.cores_max = cores;
        if (!t.nodes || bytes < t.bytes_min)
            t.bytes_min = bytes;
        if (bytes > t.bytes_max)
            t.bytes_max = bytes;
        t.nodes++;
        t.cores += cores;
        t.slots += n->slots;
        t.memory_bytes += bytes;
        t.no_cores |= !cores;
        t.no_memory |= !bytes;
    }
    return t;
}

static const char *range(int least, int most, char buf[32])
{
    if (!least)
        strcpy(buf, "?");
    else if (least == most)
        snprintf(buf, 32, "%d", most);
    else
        snprintf(buf, 32, "%d-%d", least, most);
    return buf;
}

static const char *size(int64_t bytes, char buf[32])
{
    return bytes ? ti_format_size(bytes, buf, 32) : strcpy(buf, "?");
}

static const char *speed(double v, char buf[32])
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    int u = 0;

    if (!v)
        return strcpy(buf, "?");
    for (; v >= 999.95 && u < 5; u++)
        v /= 1000;
    snprintf(buf, 32, "%.4g%s", v, units[u]);
    return buf;
}

/* Widths of the first two columns. */
static void widths(const struct ti_sites *s, int *site, int *cluster)
{
    *site = (int)strlen("site");
    *cluster = (int)strlen("cluster");
    for (int i = 0; i < s->nsites; i++)
        if ((int)strlen(s->site[i].name) > *site)
            *site = (int)strlen(s->site[i].name);
    for (int i = 0; i < s->nclusters; i++)
        if ((int)strlen(s->cluster[i].name) > *cluster)
            *cluster = (int)strlen(s->cluster[i].name);
}

static void print_total(const struct ti_sites *s, FILE *out)
{
    struct sum all = add_up(s, -1);
    char a[32], b[32], c[32];
    const char *before = "";

    ti_print(out, "in total %d site%s, %d cluster%s, %s node%s, ", s->nsites,
             s->nsites == 1 ? "" : "s", s->nclusters, s->nclusters == 1 ? "" : "s",
             ti_format_count((uint64_t)all.nodes, a, sizeof a), all.nodes == 1 ? "" : "s");
    ti_print(out, "%s%s cores, ", all.cores && all.no_cores ? "at least " : "",
             all.cores ? ti_format_count((uint64_t)all.cores, b, sizeof b) : "?");
    ti_print(out, "%s%s", all.memory_bytes && all.no_memory ? "at least " : "",
             all.memory_bytes ? ti_format_size(all.memory_bytes, c, sizeof c) : "? GiB");
    if (all.slots)
        ti_print(out, ", %s slots", ti_format_count((uint64_t)all.slots, a, sizeof a));
    fputs("\nfamily: ", out);
    for (int i = 0; i < s->nclusters; i++) {
        const char *family = s->cluster[i].family ? s->cluster[i].family : "?";
        bool told = false;

        for (int k = 0; k < i && !told; k++)
            told = strcmp(family, s->cluster[k].family ? s->cluster[k].family : "?") == 0;
        if (told)
            continue;
        ti_print(out, "%s%s", before, family);
        before = ", ";
    }
    fputc('\n', out);
    if (s->target_ranks_per_node)
        ti_print(out, "target: %" PRId64 " rank%s a node\n", s->target_ranks_per_node,
                 s->target_ranks_per_node == 1 ? "" : "s");
}

/* The table. */
static void print_sites(const struct ti_sites *s, FILE *out)
{
    int w, v, before = -1;

    widths(s, &w, &v);
    ti_print(out, "%-*s  %-*s  nodes  cores     memory  speed   family   isa        cpu\n", w,
             "site", v, "cluster");
    for (int i = 0; i < s->nclusters; i++) {
        const struct ti_cluster *c = &s->cluster[i];
        struct sum t = add_up(s, i);
        char cores[32], memory[32], rate[32];

        ti_print(out, "%-*s  %-*s  %5" PRId64 "  %5s  %9s  %-6s  %-7s  %-9s  %s\n", w,
                 c->site == before ? "" : s->site[c->site].name, v, c->name, t.nodes,
                 range(t.cores_min, t.cores_max, cores), size(t.bytes_min, memory),
                 speed(c->speed, rate), c->family ? c->family : "?", c->isa ? c->isa : "?",
                 c->cpu ? c->cpu : "?");
        before = c->site;
    }
    print_total(s, out);
}

/* ------------------------------------------------------------------ JSON -- */

static void set_number(json_t *j, const char *key, int64_t v, bool known)
{
    json_object_set_new(j, key, known ? json_integer(v) : json_null());
}

static json_t *nodes_json(const struct ti_sites *s, int cluster)
{
    const char **name = calloc((size_t)s->nnodes + 1, sizeof *name);
    char *list = NULL;
    int64_t n = 0;
    json_t *j;

    for (int64_t i = 0; name && i < s->nnodes; i++)
        if (s->node[i].cluster == cluster)
            name[n++] = s->node[i].name;
    if (name)
        list = ti_hostlist_fold(name, n);
    j = ti_json_text(list);
    free(list);
    free(name);
    return j;
}

static json_t *cluster_json(const struct ti_sites *s, int cluster)
{
    const struct ti_cluster *c = &s->cluster[cluster];
    struct sum t = add_up(s, cluster);
    json_t *j = json_object(), *env = json_array();

    json_object_set_new(j, "name", ti_json_text(c->name));
    set_number(j, "line", c->line, c->line > 0);
    json_object_set_new(j, "nodes", nodes_json(s, cluster));
    json_object_set_new(j, "nnodes", json_integer(t.nodes));
    set_number(j, "cores", t.cores_min, t.cores_min > 0);
    set_number(j, "cpus", c->cpus, c->cpus > 0);
    set_number(j, "memory_bytes", t.bytes_min, t.bytes_min > 0);
    set_number(j, "reserve_bytes", c->reserve_bytes, c->reserve_bytes >= 0);
    set_number(j, "slots", t.slots, t.slots > 0);
    json_object_set_new(j, "cpu", ti_json_text(c->cpu));
    json_object_set_new(j, "family", ti_json_text(c->family));
    json_object_set_new(j, "isa", ti_json_text(c->isa));
    json_object_set_new(j, "speed", c->speed > 0 ? json_real(c->speed) : json_null());
    json_object_set_new(j, "bandwidth", ti_json_text(c->bandwidth));
    json_object_set_new(j, "latency", ti_json_text(c->latency));
    json_object_set_new(j, "watts",
                        c->watts.given
                            ? json_pack("{s:f, s:f}", "idle", c->watts.idle, "full", c->watts.full)
                            : json_null());
    json_object_set_new(j, "disk",
                        c->disk.bandwidth > 0
                            ? json_pack("{s:f, s:f, s:b}", "bandwidth_bytes_per_s",
                                        c->disk.bandwidth, "latency_s", c->disk.latency_s, "shared",
                                        c->disk.shared)
                            : json_null());
    json_object_set_new(j, "program", ti_json_text(c->program));
    json_object_set_new(j, "trace_dir", ti_json_text(c->trace_dir));
    json_object_set_new(j, "tiara", ti_json_text(c->tiara));
    for (int i = 0; i < c->nenv; i++)
        json_array_append_new(env, ti_json_text(c->env[i]));
    json_object_set_new(j, "env", env);
    return j;
}

static json_t *site_json(const struct ti_sites *s, int site)
{
    json_t *j = json_object(), *clusters = json_array();

    json_object_set_new(j, "name", ti_json_text(s->site[site].name));
    json_object_set_new(j, "gateway", ti_json_text(s->site[site].gateway));
    json_object_set_new(j, "domain", ti_json_text(s->site[site].domain));
    json_object_set_new(j, "network", ti_json_text(s->site[site].network));
    json_object_set_new(j, "wan_bandwidth", ti_json_text(s->site[site].wan_bandwidth));
    json_object_set_new(j, "wan_latency", ti_json_text(s->site[site].wan_latency));
    for (int i = 0; i < s->nclusters; i++)
        if (s->cluster[i].site == site)
            json_array_append_new(clusters, cluster_json(s, i));
    json_object_set_new(j, "clusters", clusters);
    return j;
}

/* The table as JSON, a new object; NULL when out of memory. */
static json_t *sites_json(const struct ti_sites *s)
{
    struct sum all = add_up(s, -1);
    json_t *j = json_object(), *sites = json_array();

    if (!j || !sites) {
        json_decref(j);
        json_decref(sites);
        return NULL;
    }
    json_object_set_new(j, "path", ti_json_text(s->path));
    for (int i = 0; i < s->nsites; i++)
        json_array_append_new(sites, site_json(s, i));
    json_object_set_new(j, "sites", sites);
    json_object_set_new(j, "nsites", json_integer(s->nsites));
    json_object_set_new(j, "nclusters", json_integer(s->nclusters));
    json_object_set_new(j, "nnodes", json_integer(all.nodes));
    set_number(j, "cores", all.cores, !all.no_cores);
    set_number(j, "memory_bytes", all.memory_bytes, !all.no_memory);
    set_number(j, "target_ranks_per_node", s->target_ranks_per_node, s->target_ranks_per_node > 0);
    return j;
}

static void print_json(const struct ti_sites *s, const char *more, ti_status st,
                       const struct ti_err *err)
{
    json_t *j = s ? sites_json(s) : json_object(), *findings = json_array();

    if (st != TI_OK)
        json_object_set_new(j, "error", ti_json_text(err->text));
    while (more && *more) {
        size_t bytes = strcspn(more, "\n");
        char *line = strndup(more, bytes);

        if (line)
            json_array_append_new(findings, ti_json_text(line));
        free(line);
        more += bytes + (more[bytes] != '\0');
    }
    json_object_set_new(j, "findings", findings);
    json_object_set_new(j, "status", json_integer(st));
    json_dumpf(j, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(j);
}

ti_status ti_check_sites(const struct ti_options *o, struct ti_err *err)
{
    char what[TI_WHERE_BYTES], *more = NULL;
    struct ti_sites *s = NULL;
    ti_status st = ti_where_find(o, &s, what, &more, err);

    if (st == TI_OK && !s) {
        st = ti_err_set(err, TI_ERR_USAGE,
                        "--check-sites: there is nothing to check: there is this machine alone");
        ti_err_hint(err, "--sites FILE or --hostfile FILE says where the nodes are, or a job does");
    }
    if (st == TI_OK && !o->json)
        print_sites(s, stdout);
    if (o->json)
        print_json(s, more, st, err);
    ti_where_say(more);
    free(more);
    ti_sites_free(s);
    return st;
}
