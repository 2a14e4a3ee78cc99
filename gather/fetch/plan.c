#include "gather/fetch/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/folder.h"
#include "trace/rankname.h"

/* Whether a local trace is of the run; else name and run id of the first that is not. */
struct run_id_match {
    bool ours;
    char name[256], id[TI_RUN_ID_TEXT];
};

static void check_run_id(const struct ti__gathering *g, const char *file, struct run_id_match *w)
{
    int fd = w->ours ? -1 : openat(g->nodes.dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char id[TI_RUN_ID_TEXT];

    if (fd < 0)
        return;
    if (ti_rank_file_run(fd, id)) {
        w->ours = strcmp(id, g->nodes.run_id) == 0;
        if (!w->ours && !*w->id) {
            memcpy(w->id, id, sizeof id);
            snprintf(w->name, sizeof w->name, "%s", file);
        }
    }
    close(fd);
}

/* True if the file starts with zeros: it had its name, but no contents, when this machine crashed.
 */
static bool is_zeroed(const struct ti__gathering *g, const char *file)
{
    static const char nothing[TI_MAGIC_BYTES];
    char begin[TI_MAGIC_BYTES];
    int fd = openat(g->nodes.dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool hollow = fd >= 0 && pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
                  memcmp(begin, nothing, sizeof begin) == 0;

    if (fd >= 0)
        close(fd);
    return hollow;
}

static void note_local_file(struct ti__gathering *g, const char *file)
{
    int64_t rank = ti_rank_of_own_name(file);
    struct stat sb;

    if (rank < 0 || rank >= g->np || fstatat(g->nodes.dir, file, &sb, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(sb.st_mode) || sb.st_size < TI_HEADER_BYTES || is_zeroed(g, file))
        return;
    g->rank[rank].reference = TI__LOCAL_COPY;
    g->rank[rank].bytes = sb.st_size;
}

/* Finds the local traces: by listing the directory, not by looking for each rank. */
static ti_status find_local_files(struct ti__gathering *g, struct ti_err *err)
{
    DIR *d = ti_names_in(g->nodes.dir);
    const struct dirent *e = NULL;
    struct run_id_match match = {.ours = false};
    int cause;

    while (d && !ti_gather_stop && (errno = 0, e = readdir(d)) != NULL) {
        note_local_file(g, e->d_name);
        if (ti_rank_of_name(e->d_name) >= 0)
            check_run_id(g, e->d_name, &match);
    }
    cause = e || ti_gather_stop ? 0 : errno;
    if (d)
        closedir(d);
    if (ti_gather_stop)
        return ti__interrupted(g, err);
    errno = cause;
    if (cause)
        return ti_err_errno(err, TI_ERR_IO, "cannot read the run directory '%s'", g->nodes.path);
    if (match.ours || !*match.id)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s/RUN.json' is of another run than the traces that are here: its \"run_id\" is "
               "%s, that of '%s' is %s",
               g->nodes.path, g->nodes.run_id, match.name, match.id);
    ti_err_hint(err, TI_RUN_JSON_HINT);
    return TI_ERR_INPUT;
}

static bool is_wanted(const struct ti__gathering *g, int64_t rank)
{
    if (g->kind == TI__REMOVE)
        return rank < g->run->nranks && g->run->rank[rank].state == TI_RANK_OK;
    return g->rank[rank].reference != TI__LOCAL_COPY;
}

static void want(struct ti__gathering *g, int64_t rank)
{
    if (g->rank[rank].state != TI__WANTED)
        g->f->wanted++;
    g->rank[rank].state = TI__WANTED;
}

/* The first rank >= `rank` that no earlier node names.  `next` is a union-find forest with path
 * halving, so a rank costs little however many nodes name it. */
static int64_t first_unnamed(int32_t *next, int64_t rank)
{
    while (next[rank] != rank) {
        next[rank] = next[next[rank]];
        rank = next[rank];
    }
    return rank;
}

/* Marks the ranks that RUN.json names for this node and for no earlier node. */
static void want_named(struct ti__gathering *g, struct ti__peer *p, int32_t *next)
{
    for (size_t k = 0; k < p->node->ranks.n; k++) {
        const struct ti_range *range = &p->node->ranks.range[k];

        for (int64_t r = first_unnamed(next, range->first); r <= range->last;
             r = first_unnamed(next, r + 1)) {
            next[r] = (int32_t)r + 1;
            if (!is_wanted(g, r))
                continue;
            ti_ranges_add(&p->ranks, r);
            g->rank[r].named = p->i;
            want(g, r);
        }
    }
}

/* Prefix sums: before[r] is how many ranks below r are wanted.  `before` has np + 1 entries. */
static void count_wanted(const struct ti__gathering *g, int32_t *before)
{
    before[0] = 0;
    for (int64_t r = 0; r < g->np; r++)
        before[r + 1] = before[r] + (g->rank[r].state == TI__WANTED);
}

/* Wanted ranks that RUN.json names for this node, even if other nodes have them too. */
static int64_t wanted_of(const struct ti__peer *p, const int32_t *before)
{
    int64_t n = 0;

    for (size_t k = 0; k < p->node->ranks.n; k++)
        n += before[p->node->ranks.range[k].last + 1] - before[p->node->ranks.range[k].first];
    return n;
}

/* Works on ranges: each of thousands of nodes may name a million ranks.  `table` has np + 1
 * entries. Nodes that take part get a state other than NOTHING. */
static void choose_by_ranges(struct ti__gathering *g, int32_t *table)
{
    bool unknown = false;

    for (int64_t r = 0; r <= g->np; r++)
        table[r] = (int32_t)r;
    for (int64_t i = 0; i < g->nodes.n && !ti_gather_stop; i++) {
        if (ti_node_is_here(&g->nodes, &g->nodes.node[i]))
            continue;
        want_named(g, &g->peer[i], table);
        unknown = unknown || !g->nodes.node[i].ranks_known;
    }
    for (int64_t r = 0; unknown && r < g->np; r++)
        if (g->rank[r].state != TI__WANTED && is_wanted(g, r))
            want(g, r);
    for (int64_t r = 0; g->plan_only && r < g->np; r++)
        if (g->rank[r].state == TI__WANTED)
            ti_ranges_add(&g->f->away, r);
    count_wanted(g, table);
    for (int64_t i = 0; i < g->nodes.n && !ti_gather_stop; i++) {
        struct ti__peer *p = &g->peer[i];
        int64_t wanted = wanted_of(p, table);

        if (ti_node_is_here(&g->nodes, p->node) ||
            (p->node->ranks_known ? wanted : g->f->wanted) == 0)
            continue;
        p->result->state = TI_FETCH_WAITING;
        p->result->wanted = g->plan_only ? wanted : 0; /* else it counts what is assigned */
        g->f->nodes++;
    }
}

ti_status ti__choose_ranks(struct ti__gathering *g, struct ti_err *err)
{
    ti_status st = g->kind == TI__FETCH ? find_local_files(g, err) : TI_OK;
    int32_t *table = calloc((size_t)g->np + 1, sizeof *table);

    if (st == TI_OK && !table)
        st = ti__no_memory(err);
    if (st == TI_OK)
        choose_by_ranges(g, table);
    free(table);
    return st == TI_OK && ti_gather_stop ? ti__interrupted(g, err) : st;
}

/* --- the tree ------------------------------------------------------------ */

/* Bytes that a node has to send, by RUN.json; 0: not known. */
static int64_t planned_bytes(const struct ti__peer *p)
{
    int64_t all = ti_ranges_count(&p->node->ranks);

    if (p->node->local || !p->node->ranks_known)
        return p->node->local ? 0 : p->node->bytes;
    return all ? (int64_t)((double)p->node->bytes * (double)ti_ranges_count(&p->ranks) /
                           (double)all)
               : 0;
}

ti_status ti__plan_tree(struct ti__gathering *g, struct ti_err *err)
{
    int64_t n = g->f->nodes, k = 0;
    int64_t *index = calloc((size_t)n + 1, sizeof *index),
            *bytes = calloc((size_t)n + 1, sizeof *bytes);
    int *site = calloc((size_t)n + 1, sizeof *site);
    bool *direct = calloc((size_t)n + 1, sizeof *direct),
         *gateway = calloc((size_t)g->nodes.nsites + 1, sizeof *gateway);
    struct ti_tree_in in = {.n = n,
                            .nsites = g->nodes.nsites,
                            .site = site,
                            .gateway = gateway,
                            .direct = direct,
                            .arity = g->settings->arity};
    struct ti_tree_costs costs;
    struct ti_tree tree = {0};
    ti_status st = index && bytes && site && direct && gateway ? TI_OK : ti__no_memory(err);

    for (int64_t i = 0; st == TI_OK && i < g->nodes.n; i++) {
        const struct ti_source_node *node = &g->nodes.node[i];

        if (g->f->node[i].state == TI_FETCH_NOTHING)
            continue;
        index[k] = i;
        bytes[k] = planned_bytes(&g->peer[i]);
        if (bytes[k])
            in.bytes = bytes;
        if (g->plan_only)
            g->f->node[i].wanted_bytes = bytes[k];
        site[k] = node->site;
        direct[k++] = node->local || g->nodes.via;
        gateway[node->site] = gateway[node->site] || node->gateway;
    }
    ti_tree_costs_default(&costs);
    if (st == TI_OK)
        st = ti_tree_make(&in, g->settings->costs ? g->settings->costs : &costs, &tree, err);
    for (k = 0; st == TI_OK && k < n; k++) {
        struct ti__peer *p = &g->peer[index[k]];

        p->result->parent = tree.parent[k] < 0 ? -1 : index[tree.parent[k]];
        p->result->first_parent = p->conn_parent = p->result->parent;
        p->result->depth = tree.depth[k];
        g->site[p->node->site].inner += p->result->parent >= 0;
    }
    g->f->arity = tree.arity;
    g->f->cost = tree.cost;
    ti_tree_free(&tree);
    free(index);
    free(bytes);
    free(site);
    free(direct);
    free(gateway);
    return st;
}
