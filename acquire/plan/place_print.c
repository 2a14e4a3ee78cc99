/* A placement as a table and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/plan/place.h"
#include "common/cli.h"
#include "common/json.h"
#include "common/table.h"

/* Names of unused clusters that are printed. */
#define UNUSED_TOLD 20

#define GIB (INT64_C(1) << 30)

/* Sums over the nodes of a cluster, or over all nodes. */
struct group {
    int64_t nodes, used;
    int64_t ranks, ranks_min, ranks_max;
    int cores_min, cores_max;
    double fold_min, fold_max;
    int64_t node_bytes, node_room; /* of the fullest node; node_room 0: its memory is not known */
    int64_t bytes, room;           /* of the used nodes; room: of those whose memory is known */
    bool room_unknown;
    int64_t reserve_min, reserve_max;
};

/* a/b > c/d, without overflow */
static bool fuller(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (__extension__(__int128) a) * d > (__extension__(__int128) c) * b;
}

static void add_node(struct group *g, const struct ti_place_request *in, int64_t i, int64_t ranks)
{
    struct ti_node_resources res = ti_node_resources(in, i);
    int64_t bytes = ranks * in->rank_bytes;
    double fold = (double)ranks / res.cores;
    bool first = g->used == 0;

    g->nodes++;
    if (!ranks)
        return;
    g->used++;
    g->ranks += ranks;
    g->bytes += bytes;
    if (first || ranks < g->ranks_min)
        g->ranks_min = ranks;
    if (first || ranks > g->ranks_max)
        g->ranks_max = ranks;
    if (first || res.cores < g->cores_min)
        g->cores_min = res.cores;
    if (first || res.cores > g->cores_max)
        g->cores_max = res.cores;
    if (first || fold < g->fold_min)
        g->fold_min = fold;
    if (first || fold > g->fold_max)
        g->fold_max = fold;
    if (!res.memory_bytes) {
        g->room_unknown = true;
        if (!g->node_room && bytes > g->node_bytes)
            g->node_bytes = bytes;
        return;
    }
    if (!g->room || res.reserve_bytes < g->reserve_min)
        g->reserve_min = res.reserve_bytes;
    if (!g->room || res.reserve_bytes > g->reserve_max)
        g->reserve_max = res.reserve_bytes;
    g->room += res.available_bytes;
    if (!g->node_room || fuller(bytes, res.available_bytes, g->node_bytes, g->node_room)) {
        g->node_bytes = bytes;
        g->node_room = res.available_bytes;
    }
}

/* One group per cluster, then one for all nodes; NULL when out of memory. */
static struct group *make_groups(const struct ti_place_request *in,
                                 const struct ti_rank_placement *p)
{
    struct group *g = calloc((size_t)in->sites->nclusters + 1, sizeof *g);

    for (int64_t i = 0; g && i < p->nnodes; i++) {
        add_node(&g[in->sites->node[i].cluster], in, i, p->ranks[i]);
        add_node(&g[in->sites->nclusters], in, i, p->ranks[i]);
    }
    return g;
}

/* --- table --------------------------------------------------------------- */

#define CELL 32

static const char *range_text(char *text, int64_t least, int64_t most)
{
    if (least == most)
        snprintf(text, CELL, "%" PRId64, least);
    else
        snprintf(text, CELL, "%" PRId64 "-%" PRId64, least, most);
    return text;
}

static const char *fold_text(char *text, double least, double most)
{
    char a[CELL / 2], b[CELL / 2];

    snprintf(a, sizeof a, "%.1f", least);
    snprintf(b, sizeof b, "%.1f", most);
    snprintf(text, CELL, strcmp(a, b) == 0 ? "%s" : "%s-%s", a, b);
    return text;
}

static const char *gib_text(char *text, int64_t bytes)
{
    snprintf(text, CELL, bytes < 1000 * GIB ? "%.1f" : "%.0f", (double)bytes / (double)GIB);
    return text;
}

/* room: 0 if it is not known */
static void add_row(const struct ti_place_request *in, struct ti_text_table *t, const char *site,
                    const char *cluster, const struct group *g, int64_t bytes, int64_t room)
{
    char text[CELL];

    ti_table_text(t, "  %s", site);
    ti_table_text(t, "%s", cluster);
    ti_table_text(t, "%" PRId64 "/%" PRId64, g->used, g->nodes);
    ti_table_text(t, "%s", range_text(text, g->cores_min, g->cores_max));
    ti_table_text(t, "%s", range_text(text, g->ranks_min, g->ranks_max));
    ti_table_text(t, "%s", fold_text(text, g->fold_min, g->fold_max));
    ti_table_text(t, "%s of", in->rank_bytes ? gib_text(text, bytes) : "-");
    ti_table_text(t, "%s", room ? gib_text(text, room) : "?");
    if (in->rank_bytes && room)
        ti_table_text(t, "%.0f%%", 100.0 * (double)bytes / (double)room);
    else
        ti_table_text(t, "-");
}

static void print_table(const struct ti_place_request *in, const struct group *g, FILE *out)
{
    static const struct ti_table_column columns[] = {
        {"  site", TI_CELLS_TEXT, 0},  {"cluster", TI_CELLS_TEXT, 0},
        {"nodes", TI_CELLS_WORDS, 0},  {"cores", TI_CELLS_WORDS, 0},
        {"ranks", TI_CELLS_WORDS, 0},  {"folding", TI_CELLS_WORDS, 0},
        {"GiB of", TI_CELLS_WORDS, 0}, {"GiB", TI_CELLS_WORDS, 0},
        {"full", TI_CELLS_WORDS, 0}};
    struct ti_text_table *t = ti_table_new(columns, sizeof columns / sizeof *columns);
    const struct ti_sites *s = in->sites;
    const struct group *all = &g[s->nclusters];
    int before = -1;

    ti_table_titles(t);
    for (int c = 0; c < s->nclusters; c++)
        if (g[c].used) {
            int site = s->cluster[c].site;

            add_row(in, t, site == before ? "" : s->site[site].name, s->cluster[c].name, &g[c],
                    g[c].node_bytes, g[c].node_room);
            before = site;
        }
    add_row(in, t, "all", "", all, all->bytes, all->room_unknown ? 0 : all->room);
    ti_table_print(t, out, 0);
}

/* --- what is around the table -------------------------------------------- */

static char *count(int64_t n, char *buf)
{
    return ti_format_count((uint64_t)n, buf, CELL);
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* "CF-(9,x): 16,384 ranks on 778 nodes of 18 clusters at 9 sites," */
static void print_mode(const struct ti_rank_placement *p, FILE *out)
{
    char ranks[CELL], nodes[CELL], cores[CELL], fold[CELL];

    fold_text(fold, p->fold_min, p->fold_max);
    ti_print(out,
             "  mode      %s: %s rank%s on %s node%s of %d cluster%s at %d site%s,\n"
             "            %s core%s, folding factor ",
             p->mode, count(p->np, ranks), plural(p->np), count(p->used_nodes, nodes),
             plural(p->used_nodes), p->used_clusters, plural(p->used_clusters), p->used_sites,
             plural(p->used_sites), count(p->used_cores, cores), plural(p->used_cores));
    if (strchr(fold, '-'))
        ti_print(out, "%.1f to %.1f\n", p->fold_min, p->fold_max);
    else
        ti_print(out, "%s\n", fold);
}

struct unknown {
    int64_t memory, cores, speed,
        speeds; /* usable nodes without a known value; speeds: those with a known speed */
};

static struct unknown find_unknown(const struct ti_place_request *in,
                                   const struct ti_rank_placement *p)
{
    struct unknown u = {0, 0, 0, 0};

    for (int64_t i = 0; i < p->nnodes; i++) {
        struct ti_node_resources res = ti_node_resources(in, i);
        bool known = in->sites->cluster[in->sites->node[i].cluster].speed > 0;

        if (!res.usable)
            continue;
        u.memory += !res.memory_bytes;
        u.cores += !res.cores_known;
        u.speed += !known;
        u.speeds += known;
    }
    return u;
}

static void print_policy(const struct ti_place_request *in, const struct unknown *u, FILE *out)
{
    static const char *const means[] = {
#define MEANING(name, text, meaning) meaning,
        TI_POLICIES(MEANING)
#undef MEANING
    };

    ti_print(out, "  policy    %s: %s", ti_policy_names[in->policy], means[in->policy]);
    if (in->fold)
        ti_print(out, ", with %" PRId64 " ranks a core", in->fold);
    else if (in->regular)
        ti_print(out, ", with one rank a core at most");
    else if (in->max_fold)
        ti_print(out, ", with %" PRId64 " ranks a core at most", in->max_fold);
    if (in->policy == TI_POLICY_MEMORY && u->memory)
        ti_print(out, "; here by cores, see below");
    if (in->family)
        ti_print(out, "; %s only", in->family);
    fputc('\n', out);
}

static void print_memory(const struct ti_place_request *in, const struct group *all, FILE *out)
{
    char rank[CELL], least[CELL], most[CELL];

    if (in->rank_bytes)
        ti_print(out, "  memory    %s a rank, traced",
                 ti_format_size(in->rank_bytes, rank, sizeof rank));
    else
        ti_print(out, "  memory    of a rank: not known (--mem-per-rank, --pilot), and no limit");
    ti_format_size(all->reserve_min, least, sizeof least);
    ti_format_size(all->reserve_max, most, sizeof most);
    if (in->rank_bytes && all->room && strcmp(least, most) == 0)
        ti_print(out, "; %s a node reserved", least);
    else if (in->rank_bytes && all->room)
        ti_print(out, "; %s to %s a node reserved", least, most);
    fputc('\n', out);
}

static void print_unused(const struct ti_place_request *in, const struct group *g, FILE *out)
{
    int n = 0, told = 0, column = 0;

    for (int c = 0; c < in->sites->nclusters; c++)
        n += g[c].nodes && !g[c].used;
    if (!n)
        return;
    column = ti_print(out, "  unused    %d cluster%s:", n, plural(n));
    for (int c = 0; c < in->sites->nclusters && told < UNUSED_TOLD; c++)
        if (g[c].nodes && !g[c].used) {
            const char *name = in->sites->cluster[c].name;

            if (column + (int)strlen(name) + 2 > 79)
                column = ti_print(out, "\n           ") - 1;
            column += ti_print(out, " %s%s", name, ++told < n ? "," : "");
        }
    fputs(told < n ? " ...\n" : "\n", out);
}

static void print_unknown(const struct ti_place_request *in, const struct unknown *u, FILE *out)
{
    char nodes[CELL];

    if (u->memory)
        ti_print(out, "  note      the memory of %s node%s is not known: no limit is known there\n",
                 count(u->memory, nodes), plural(u->memory));
    if (u->cores)
        ti_print(out, "  note      the cores of %s node%s are not known: counted as one each\n",
                 count(u->cores, nodes), plural(u->cores));
    if (in->policy == TI_POLICY_SPEED && u->speed)
        ti_print(out, "  note      the speed of %s node%s is not known: taken as %s\n",
                 count(u->speed, nodes), plural(u->speed),
                 u->speeds ? "the slowest that is" : "all the same");
}

void ti_rank_placement_print(const struct ti_place_request *in, const struct ti_rank_placement *p,
                             FILE *out)
{
    struct group *g = make_groups(in, p);
    struct unknown u = find_unknown(in, p);

    print_mode(p, out);
    print_policy(in, &u, out);
    if (g) {
        print_memory(in, &g[in->sites->nclusters], out);
        print_table(in, g, out);
        print_unused(in, g, out);
    }
    print_unknown(in, &u, out);
    if (p->fold_full < in->fold)
        ti_print(out, "  note      too few ranks to fill a node with %" PRId64 " a core\n",
                 in->fold);
    free(g);
}

/* --- JSON ---------------------------------------------------------------- */

static json_t *limit(int64_t n)
{
    return n == INT64_MAX ? json_null() : json_integer(n);
}

static json_t *json_node(const struct ti_place_request *in, const struct ti_rank_placement *p,
                         int64_t i)
{
    const struct ti_sites *s = in->sites;
    const struct ti_cluster *c = &s->cluster[s->node[i].cluster];
    struct ti_node_resources res = ti_node_resources(in, i);

    return json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:i, s:o, s:I, s:o}", "name", ti_json_text(s->node[i].name),
        "site", ti_json_text(s->site[c->site].name), "cluster", ti_json_text(c->name), "first_rank",
        (json_int_t)p->first[i], "ranks", (json_int_t)p->ranks[i], "cores", res.cores,
        "memory_bytes", res.memory_bytes ? json_integer(res.memory_bytes) : json_null(),
        "reserve_bytes", (json_int_t)res.reserve_bytes, "capacity", limit(p->capacity[i]));
}

static json_t *json_nodes(const struct ti_place_request *in, const struct ti_rank_placement *p)
{
    json_t *list = json_array();

    for (int64_t i = 0; list && i < p->nnodes; i++)
        if (p->ranks[i])
            json_array_append_new(list, json_node(in, p, i));
    return list;
}

static json_t *json_clusters(const struct ti_place_request *in, const struct group *g)
{
    const struct ti_sites *s = in->sites;
    json_t *list = json_array();

    for (int c = 0; list && g && c < s->nclusters; c++) {
        json_t *j = json_pack("{s:o, s:o, s:I, s:I, s:I}", "name", ti_json_text(s->cluster[c].name),
                              "site", ti_json_text(s->site[s->cluster[c].site].name), "nodes",
                              (json_int_t)g[c].nodes, "nodes_used", (json_int_t)g[c].used, "ranks",
                              (json_int_t)g[c].ranks);

        if (j && g[c].used)
            json_object_update_new(
                j, json_pack("{s:I, s:I, s:f, s:f, s:I, s:o}", "ranks_least",
                             (json_int_t)g[c].ranks_min, "ranks_most", (json_int_t)g[c].ranks_max,
                             "folding_least", g[c].fold_min, "folding_most", g[c].fold_max,
                             "used_bytes", (json_int_t)g[c].bytes, "room_bytes",
                             g[c].room_unknown ? json_null() : json_integer(g[c].room)));
        json_array_append_new(list, j);
    }
    return list;
}

json_t *ti_rank_placement_json(const struct ti_place_request *in, const struct ti_rank_placement *p)
{
    struct group *g = make_groups(in, p);
    json_t *j = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:i, s:i, s:f, s:f, s:I, s:o, s:o, s:o, s:o}", "mode", p->mode,
        "policy", ti_policy_names[in->policy], "np", (json_int_t)p->np, "nodes_used",
        (json_int_t)p->used_nodes, "cores", (json_int_t)p->used_cores, "clusters_used",
        p->used_clusters, "sites_used", p->used_sites, "folding_least", p->fold_min, "folding_most",
        p->fold_max, "folding", (json_int_t)p->fold_full, "bytes_per_rank",
        in->rank_bytes ? json_integer(in->rank_bytes) : json_null(), "largest_np",
        limit(p->largest_np), "clusters", json_clusters(in, g), "nodes", json_nodes(in, p));

    free(g);
    return j;
}
