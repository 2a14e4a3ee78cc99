#include "gather/fetch/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/rankname.h"

enum { AT_RUN_ID = 24 }; /* in a trace's header, see trace/trace.h */

/* Whether a local trace is of the run; else name and run id of the first that is not. */
struct run_id_match {
    bool ours;
    char name[256], id[2 * TI_RUN_ID_BYTES + 1];
};

static void check_run_id(const struct ti__job *job, const char *file, struct run_id_match *w)
{
    int fd = w->ours ? -1 : openat(job->nodes.dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    unsigned char header[TI_HEADER_BYTES];
    char id[sizeof w->id];

    if (fd < 0)
        return;
    if (pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header, TI_MAGIC, strlen(TI_MAGIC)) == 0) {
        for (int i = 0; i < TI_RUN_ID_BYTES; i++)
            snprintf(id + 2 * i, 3, "%02x", header[AT_RUN_ID + i]);
        w->ours = strcmp(id, job->nodes.run_id) == 0;
        if (!w->ours && !*w->id) {
            memcpy(w->id, id, sizeof id);
            snprintf(w->name, sizeof w->name, "%s", file);
        }
    }
    close(fd);
}

/* True if the file starts with zeros: it had its name, but no contents, when this machine crashed.
 */
static bool is_zeroed(const struct ti__job *job, const char *file)
{
    static const char nothing[TI_MAGIC_BYTES];
    char begin[TI_MAGIC_BYTES];
    int fd = openat(job->nodes.dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool hollow = fd >= 0 && pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
                  memcmp(begin, nothing, sizeof begin) == 0;

    if (fd >= 0)
        close(fd);
    return hollow;
}

static void note_local_file(struct ti__job *job, const char *file)
{
    int64_t rank = ti_rank_of_name(file);
    char name[TI_RANK_NAME_BYTES];
    struct stat sb;

    if (rank < 0 || rank >= job->np || strcmp(ti_rank_name(rank, name), file) != 0 ||
        fstatat(job->nodes.dir, file, &sb, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(sb.st_mode) ||
        sb.st_size < TI_HEADER_BYTES || is_zeroed(job, file))
        return;
    job->rank[rank].reference = TI__LOCAL_COPY;
    job->rank[rank].bytes = sb.st_size;
}

/* Finds the local traces: by listing the directory, not by looking for each rank. */
static ti_status find_local_files(struct ti__job *job, struct ti_err *err)
{
    int fd = openat(job->nodes.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e = NULL;
    struct run_id_match match = {.ours = false};
    int cause;

    while (d && !ti_gather_stop && (errno = 0, e = readdir(d)) != NULL) {
        note_local_file(job, e->d_name);
        if (ti_rank_of_name(e->d_name) >= 0)
            check_run_id(job, e->d_name, &match);
    }
    cause = e || ti_gather_stop ? 0 : errno;
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    if (ti_gather_stop)
        return ti__interrupted(job, err);
    errno = cause;
    if (cause)
        return ti_err_errno(err, TI_ERR_IO, "cannot read the run directory '%s'", job->nodes.path);
    if (match.ours || !*match.id)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s/RUN.json' is of another run than the traces that are here: its \"run_id\" is "
               "%s, that of '%s' is %s",
               job->nodes.path, job->nodes.run_id, match.name, match.id);
    ti_err_hint(err, TI_RUN_JSON_HINT);
    return TI_ERR_INPUT;
}

static bool is_wanted(const struct ti__job *job, int64_t rank)
{
    if (job->kind == TI__REMOVE)
        return rank < job->run->nranks && job->run->rank[rank].state == TI_RANK_OK;
    return job->rank[rank].reference != TI__LOCAL_COPY;
}

static void want(struct ti__job *job, int64_t rank)
{
    if (job->rank[rank].state != TI__WANTED)
        job->f->wanted++;
    job->rank[rank].state = TI__WANTED;
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
static void want_named(struct ti__job *job, struct ti__peer *p, int32_t *next)
{
    for (size_t k = 0; k < p->node->ranks.n; k++) {
        const struct ti_range *range = &p->node->ranks.range[k];

        for (int64_t r = first_unnamed(next, range->first); r <= range->last;
             r = first_unnamed(next, r + 1)) {
            next[r] = (int32_t)r + 1;
            if (!is_wanted(job, r))
                continue;
            ti_ranges_add(&p->ranks, r);
            job->rank[r].named = p->i;
            want(job, r);
        }
    }
}

/* Prefix sums: before[r] is how many ranks below r are wanted.  `before` has np + 1 entries. */
static void count_wanted(const struct ti__job *job, int32_t *before)
{
    before[0] = 0;
    for (int64_t r = 0; r < job->np; r++)
        before[r + 1] = before[r] + (job->rank[r].state == TI__WANTED);
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
static void choose_by_ranges(struct ti__job *job, int32_t *table)
{
    bool unknown = false;

    for (int64_t r = 0; r <= job->np; r++)
        table[r] = (int32_t)r;
    for (int64_t i = 0; i < job->nodes.n && !ti_gather_stop; i++) {
        if (ti_node_is_here(&job->nodes, &job->nodes.node[i]))
            continue;
        want_named(job, &job->peer[i], table);
        unknown = unknown || !job->nodes.node[i].ranks_known;
    }
    for (int64_t r = 0; unknown && r < job->np; r++)
        if (job->rank[r].state != TI__WANTED && is_wanted(job, r))
            want(job, r);
    for (int64_t r = 0; job->plan_only && r < job->np; r++)
        if (job->rank[r].state == TI__WANTED)
            ti_ranges_add(&job->f->away, r);
    count_wanted(job, table);
    for (int64_t i = 0; i < job->nodes.n && !ti_gather_stop; i++) {
        struct ti__peer *p = &job->peer[i];
        int64_t wanted = wanted_of(p, table);

        if (ti_node_is_here(&job->nodes, p->node) ||
            (p->node->ranks_known ? wanted : job->f->wanted) == 0)
            continue;
        p->result->state = TI_FETCH_WAITING;
        p->result->wanted = job->plan_only ? wanted : 0; /* else it counts what is assigned */
        job->f->nodes++;
    }
}

ti_status ti__choose_ranks(struct ti__job *job, struct ti_err *err)
{
    ti_status st = job->kind == TI__FETCH ? find_local_files(job, err) : TI_OK;
    int32_t *table = calloc((size_t)job->np + 1, sizeof *table);

    if (st == TI_OK && !table)
        st = ti__no_memory(err);
    if (st == TI_OK)
        choose_by_ranges(job, table);
    free(table);
    return st == TI_OK && ti_gather_stop ? ti__interrupted(job, err) : st;
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

ti_status ti__plan_tree(struct ti__job *job, struct ti_err *err)
{
    int64_t n = job->f->nodes, k = 0;
    int64_t *index = calloc((size_t)n + 1, sizeof *index),
            *bytes = calloc((size_t)n + 1, sizeof *bytes);
    int *site = calloc((size_t)n + 1, sizeof *site);
    bool *direct = calloc((size_t)n + 1, sizeof *direct),
         *gateway = calloc((size_t)job->nodes.nsites + 1, sizeof *gateway);
    struct ti_tree_in in = {.n = n,
                            .nsites = job->nodes.nsites,
                            .site = site,
                            .gateway = gateway,
                            .direct = direct,
                            .arity = job->settings->arity};
    struct ti_tree_costs costs;
    struct ti_tree tree = {0};
    ti_status st = index && bytes && site && direct && gateway ? TI_OK : ti__no_memory(err);

    for (int64_t i = 0; st == TI_OK && i < job->nodes.n; i++) {
        const struct ti_source_node *node = &job->nodes.node[i];

        if (job->f->node[i].state == TI_FETCH_NOTHING)
            continue;
        index[k] = i;
        bytes[k] = planned_bytes(&job->peer[i]);
        if (bytes[k])
            in.bytes = bytes;
        if (job->plan_only)
            job->f->node[i].wanted_bytes = bytes[k];
        site[k] = node->site;
        direct[k++] = node->local || job->nodes.via;
        gateway[node->site] = gateway[node->site] || node->gateway;
    }
    ti_tree_costs_default(&costs);
    if (st == TI_OK)
        st = ti_tree_make(&in, job->settings->costs ? job->settings->costs : &costs, &tree, err);
    for (k = 0; st == TI_OK && k < n; k++) {
        struct ti__peer *p = &job->peer[index[k]];

        p->result->parent = tree.parent[k] < 0 ? -1 : index[tree.parent[k]];
        p->result->first_parent = p->conn_parent = p->result->parent;
        p->result->depth = tree.depth[k];
        job->site[p->node->site].inner += p->result->parent >= 0;
    }
    job->f->arity = tree.arity;
    job->f->cost = tree.cost;
    ti_tree_free(&tree);
    free(index);
    free(bytes);
    free(site);
    free(direct);
    free(gateway);
    return st;
}
