#include "gather/fetch/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/args.h"
#include "common/cli.h"
#include "formats/rankname.h"
#include "formats/sites.h"
#include "gather/fetch/job.h"
#include "node/launch.h"

#define TICK_S        0.1 /* interval of step() and of `progress` */
#define COUNT_S       0.5 /* how often descriptors are counted */
#define ROUND_PAUSE_S 0.5 /* before the second round */
#define STEP_S        0.5 /* most that one round of the loop adds to job->clock */

const char *ti_fetch_state_text(enum ti_fetch_state state)
{
    static const char *const text[] = {
#define TEXT(name, words) words,
        TI_FETCH_STATES(TEXT)
#undef TEXT
    };

    return text[state];
}

static ti_status no_memory(struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
}

enum { AT_RUN_ID = 24 }; /* in a trace's header, see formats/trace.h */

/* --- what is wanted ------------------------------------------------------ */

static ti_status interrupted(const struct ti__job *job, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "interrupted");
    if (job->kind == TI__REMOVE)
        ti_err_hint(
            err, "the bundle is whole; nodes may still have traces that are in it: --remove with "
                 "another bundle's name (-o) fetches and removes these");
    else if (!job->plan_only)
        ti_err_hint(err, "the same command goes on where this one was");
    return TI_ERR_IO;
}

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
        return interrupted(job, err);
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

/* Number of ranks, by RUN.json. */
static int64_t count_ranks(const struct ti__job *job)
{
    int64_t np = json_integer_value(json_object_get(job->nodes.run, "np"));

    np = np < 0 || np > TI_RANKS_MAX ? 0 : np;
    for (int64_t i = 0; i < job->nodes.n; i++) {
        const json_t *ranks = job->nodes.node[i].ranks;
        size_t n = json_array_size(ranks);
        int64_t last = n ? json_integer_value(json_array_get(json_array_get(ranks, n - 1), 1)) : -1;

        np = last >= np ? last + 1 : np;
    }
    return np;
}

static ti_status init_peer(struct ti__job *job, int64_t i, struct ti_err *err)
{
    const struct ti_source_node *node = &job->nodes.node[i];
    struct ti_fetch_node *out = &job->f->node[i];
    struct ti__peer *p = &job->peer[i];

    *p = (struct ti__peer){.job = job,
                           .i = (int32_t)i,
                           .node = node,
                           .result = out,
                           .ranks = node->ranks ? json_array() : NULL,
                           .have = json_array(),
                           .refused = json_array(),
                           .to_checksum = json_array(),
                           .to_send = json_array(),
                           .answered = json_array(),
                           .not_compared = json_array(),
                           .remove_answered = json_array(),
                           .in = {.fd = -1}};
    out->name = strdup(node->name);
    out->site = strdup(job->nodes.site[node->site]);
    out->site_number = node->site;
    out->parent = out->first_parent = p->conn_parent = -1;
    return out->name && out->site && p->have && p->refused && p->to_checksum && p->to_send &&
                   p->answered && p->not_compared && p->remove_answered
               ? TI_OK
               : no_memory(err);
}

static ti_status make_tables(struct ti__job *job, struct ti_err *err)
{
    ti_status st = TI_OK;

    job->np = count_ranks(job);
    job->rank = calloc((size_t)job->np + 1, sizeof *job->rank);
    job->site = calloc((size_t)job->nodes.nsites + 1, sizeof *job->site);
    job->peer = calloc((size_t)job->nodes.n, sizeof *job->peer);
    job->f->node = calloc((size_t)job->nodes.n, sizeof *job->f->node);
    job->local_queue = json_array();
    job->f->closed = calloc((size_t)job->nodes.nsites + 1, sizeof *job->f->closed);
    if (!job->rank || !job->site || !job->peer || !job->f->node || !job->local_queue ||
        !job->f->closed)
        return no_memory(err);
    for (int64_t r = 0; r < job->np; r++)
        job->rank[r] = (struct ti__rank){.named = -1, .reference = -1, .second = -1, .sender = -1};
    job->f->nnodes = job->nodes.n;
    job->f->nsites = job->nodes.nsites;
    for (int i = 0; job->settings->before && i < job->settings->before->nsites; i++)
        if (i < job->f->nsites)
            job->f->closed[i] = job->settings->before->closed[i];
    for (int64_t i = 0; i < job->nodes.n && st == TI_OK; i++)
        st = init_peer(job, i, err);
    return st;
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
    const json_t *range;
    size_t k;

    json_array_foreach(p->node->ranks, k, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1)),
                r = first_unnamed(next, json_integer_value(json_array_get(range, 0)));

        for (; r <= last; r = first_unnamed(next, r + 1)) {
            next[r] = (int32_t)r + 1;
            if (!is_wanted(job, r))
                continue;
            ti_ranges_add(p->ranks, r);
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
    const json_t *range;
    int64_t n = 0;
    size_t k;

    json_array_foreach(p->node->ranks, k, range) n +=
        before[json_integer_value(json_array_get(range, 1)) + 1] -
        before[json_integer_value(json_array_get(range, 0))];
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
        if (job->nodes.node[i].ranks)
            want_named(job, &job->peer[i], table);
        unknown = unknown || !job->nodes.node[i].ranks;
    }
    for (int64_t r = 0; unknown && r < job->np; r++)
        if (job->rank[r].state != TI__WANTED && is_wanted(job, r))
            want(job, r);
    for (int64_t r = 0; job->f->away && r < job->np; r++)
        if (job->rank[r].state == TI__WANTED)
            ti_ranges_add(job->f->away, r);
    count_wanted(job, table);
    for (int64_t i = 0; i < job->nodes.n && !ti_gather_stop; i++) {
        struct ti__peer *p = &job->peer[i];
        int64_t wanted = p->ranks ? wanted_of(p, table) : 0;

        if (ti_node_is_here(&job->nodes, p->node) || (p->ranks ? wanted == 0 : job->f->wanted == 0))
            continue;
        p->result->state = TI_FETCH_WAITING;
        p->result->wanted = job->plan_only ? wanted : 0; /* else it counts what is assigned */
        job->f->nodes++;
    }
}

static ti_status choose_ranks(struct ti__job *job, struct ti_err *err)
{
    ti_status st = job->kind == TI__FETCH ? find_local_files(job, err) : TI_OK;
    int32_t *table = calloc((size_t)job->np + 1, sizeof *table);

    job->f->away = job->plan_only ? json_array() : NULL;
    if (st == TI_OK && (!table || (job->plan_only && !job->f->away)))
        st = no_memory(err);
    if (st == TI_OK)
        choose_by_ranges(job, table);
    free(table);
    return st == TI_OK && ti_gather_stop ? interrupted(job, err) : st;
}

/* --- the tree ------------------------------------------------------------ */

/* Bytes that a node has to send, by RUN.json; 0: not known. */
static int64_t planned_bytes(const struct ti__peer *p)
{
    int64_t all = ti_ranges_count(p->node->ranks);

    if (p->node->local || !p->node->ranks)
        return p->node->local ? 0 : p->node->bytes;
    return all ? (int64_t)((double)p->node->bytes * (double)ti_ranges_count(p->ranks) / (double)all)
               : 0;
}

static ti_status make_tree(struct ti__job *job, struct ti_err *err)
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
    ti_status st = index && bytes && site && direct && gateway ? TI_OK : no_memory(err);

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

/* --- main loop ----------------------------------------------------------- */

static int64_t count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int64_t n = -3; /* ".", ".." and this one */

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void count(struct ti__job *job, bool all)
{
    struct ti_fetch *f = job->f;
    struct rusage usage;
    int64_t n;

    f->seconds = ti_now() - job->started;
    f->total = 0;
    for (int64_t i = 0; i < job->nodes.n; i++)
        f->total += f->node[i].wanted_bytes;
    ti__count_bytes(job);
    if (!all)
        return;
    n = count_descriptors();
    f->descriptors = n > f->descriptors ? n : f->descriptors;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        f->memory_bytes = (int64_t)usage.ru_maxrss * 1024;
}

static void report_progress(struct ti__job *job)
{
    if (job->settings->progress)
        job->settings->progress(job->f, job->settings->arg);
}

/* Marks nodes that are done, and notes when each phase ended.  Returns whether all are done. */
static bool update_states(struct ti__job *job)
{
    double now = ti_now() - job->started;
    bool connected = true, listed = true, over = true;

    for (int64_t i = 0; i < job->nodes.n; i++) {
        struct ti__peer *p = &job->peer[i];

        if (!ti__in_tree(p) || ti__abandoned(p))
            continue;
        if (p->result->state != TI_FETCH_DONE && ti__idle(p)) {
            p->result->state = TI_FETCH_DONE;
            p->result->done_s = now;
        }
        connected = connected && p->result->ready_s > 0;
        listed = listed && p->listing == TI__LISTED;
        over = over && p->result->state == TI_FETCH_DONE;
    }
    if (connected && job->f->connected_s == 0)
        job->f->connected_s = now;
    if (listed && job->f->listed_s == 0)
        job->f->listed_s = now;
    return over;
}

/* Requests missing ranks once more from nodes that are not abandoned: a file may be written late,
 * or appear late on a network file system.  Returns whether there is anything to request. */
static bool second_round(struct ti__job *job)
{
    bool any = false;

    if (job->kind != TI__FETCH || job->round++ > 0)
        return false;
    for (int64_t i = 0; i < job->nodes.n; i++)
        json_array_clear(job->peer[i].refused);
    for (int64_t r = 0; r < job->np; r++) {
        struct ti__rank *rank = &job->rank[r];
        struct ti__peer *p = rank->named >= 0 ? &job->peer[rank->named] : NULL;

        if (rank->state == TI__WANTED && rank->damaged && rank->sender < 0)
            rank->state = TI__DAMAGED; /* no other node had it */
        if (rank->state != TI__WANTED)
            continue;
        ti__assign_sender(job, r);
        if (rank->sender < 0 && p && ti__in_tree(p) && !ti__abandoned(p) && !p->no_directory) {
            rank->sender = p->i;
            ti_ranges_add(p->to_send, r);
            p->result->wanted++;
            ti__wake(p);
        }
        any = any || rank->sender >= 0;
    }
    return any;
}

static void poll_for_pause(struct ti__job *job)
{
    for (double until = ti_now() + ROUND_PAUSE_S; ti_now() < until && !ti_gather_stop;)
        ti_conns_poll(job->conns, 50);
}

/* Starts everything that can be started. */
static void step(struct ti__job *job)
{
    job->dirty = false;
    ti__abandon_stuck(job);
    for (int64_t i = 0; i < job->nodes.n; i++)
        ti__ask_crc(&job->peer[i]);
    ti__start_sends(job);
    ti__open_connections(job);
}

static void tick(struct ti__job *job)
{
    double now = ti_now(), passed = now - job->ticked;

    job->clock += passed < STEP_S ? passed : STEP_S;
    job->ticked = now;
}

static ti_status run_loop(struct ti__job *job, struct ti_err *err)
{
    double looked = 0, counted = 0;
    bool busy;

    job->dirty = true;
    job->ticked = ti_now();
    for (;;) {
        double now = ti_now();

        tick(job);
        if (job->dirty || now - looked >= TICK_S) {
            step(job);
            if (update_states(job) && !job->dirty) {
                if (!second_round(job))
                    break;
                poll_for_pause(job);
            }
        }
        if (now - looked >= TICK_S) {
            looked = now;
            count(job, now - counted >= COUNT_S);
            counted = now - counted >= COUNT_S ? now : counted;
            report_progress(job);
        }
        busy = ti_parts_read(&job->parts);
        busy = ti__checksum_local(job) || busy;
        ti_conns_poll(job->conns, busy || job->dirty ? 0 : (int)(TICK_S * 1000));
        if (ti_gather_stop)
            return interrupted(job, err);
        if (job->st != TI_OK)
            return job->st;
    }
    return TI_OK;
}

static ti_status run_job(struct ti__job *job, struct ti_err *err)
{
    struct ti_conns_config config = {.transport = job->settings->transport,
                                     .ssh_config = job->settings->ssh_config,
                                     .via = job->nodes.via,
                                     .silence_s = job->settings->timeout_s,
                                     .forward_agent = job->settings->forward_agent};
    ti_status st;

    /* as the run was started, unless told otherwise */
    if (config.transport == TI_TRANSPORT_AUTO)
        config.transport = job->nodes.transport;
    job->err = err;
    ti_parts_find(&job->parts, job->nodes.dir);
    st = ti_conns_new(&config, &job->conns, err);
    if (st == TI_OK)
        st = run_loop(job, err);
    count(job, true);
    for (int64_t i = 0; i < job->nodes.n; i++) {
        struct ti_part part;

        ti_receive_keep(&job->peer[i].in, &part);
    }
    report_progress(job);
    ti_progress_clear();
    ti_conns_free(job->conns);
    return st;
}

static void fetching_free(struct ti__job *job)
{
    for (int64_t i = 0; job->peer && i < job->nodes.n; i++) {
        struct ti__peer *p = &job->peer[i];

        json_decref(p->ranks);
        json_decref(p->have);
        json_decref(p->refused);
        json_decref(p->to_checksum);
        json_decref(p->checksumming);
        json_decref(p->to_send);
        json_decref(p->requested);
        json_decref(p->answered);
        json_decref(p->being_removed);
        json_decref(p->not_compared);
        json_decref(p->remove_answered);
    }
    json_decref(job->local_queue);
    if (job->local.fd >= 0)
        close(job->local.fd);
    for (int64_t i = 0; i < job->nfindings; i++) {
        free(job->finding[i].why);
        free(job->finding[i].hint);
        json_decref(job->finding[i].ranks);
    }
    free(job->finding);
    free(job->peer);
    free(job->rank);
    free(job->site);
    ti_parts_free(&job->parts);
}

/* RUN.json names commands to execute ("via") and hosts to log in to, so other users must not be
 * able to write it. */
static ti_status check_owner(const struct ti__job *job, struct ti_err *err)
{
    if (!job->nodes.others)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s/RUN.json' could have been written by others, and says how traces are fetched",
               job->nodes.path);
    ti_err_hint(err, "look what \"nodes\" in it says; then make a copy of it yours");
    return TI_ERR_INPUT;
}

/* A RUN.json of ours may come from somebody else, in an archive. */
static ti_status check_commands(const struct ti__job *job, struct ti_err *err)
{
    struct ti_args words = {.n = 0};
    char *text;

    if (job->settings->trust)
        return TI_OK;
    if (job->nodes.via && !ti_via_is_known(job->nodes.via)) {
        for (const char *const *w = job->nodes.via; *w; w++)
            ti_args_add(&words, *w);
        text = ti_args_ok(&words) ? ti_args_shell(&words) : NULL;
        ti_args_free(&words);
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s/RUN.json' has nodes reached by a command of its own: %.600s",
                   job->nodes.path, text ? text : "?");
        free(text);
    } else if (job->nodes.tiara) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s/RUN.json' has nodes execute what is in a folder of theirs: '%.600s'",
                   job->nodes.path, job->nodes.tiara);
    } else {
        return TI_OK;
    }
    ti_err_hint(err, "if that is a run of yours, --trust allows it");
    return TI_ERR_INPUT;
}

/* Only one ti-gather at a time may fetch into a directory. */
static ti_status lock(const struct ti__job *job, int *fd, struct ti_err *err)
{
    *fd = openat(job->nodes.dir, "RUN.json", O_RDONLY | O_CLOEXEC);
    if (*fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        close(*fd);
        *fd = -1;
        return ti_err_set(err, TI_ERR_IO, "another ti-gather is fetching into '%s'",
                          job->nodes.path);
    }
    return TI_OK;
}

static ti_status carry_out(struct ti__job *job, struct ti_err *err)
{
    ti_status st = TI_OK;
    int locked = -1;

    if (job->nodes.n) {
        st = make_tables(job, err);
        if (st == TI_OK)
            st = choose_ranks(job, err);
        if (st == TI_OK)
            st = make_tree(job, err);
    }
    if (st == TI_OK && job->f->nodes && !job->plan_only) {
        st = check_owner(job, err);
        if (st == TI_OK)
            st = check_commands(job, err);
        if (st == TI_OK)
            st = lock(job, &locked, err);
        if (st == TI_OK)
            st = run_job(job, err);
        if (st == TI_OK)
            st = ti__collect_failures(job, err);
        if (locked >= 0)
            close(locked);
    }
    job->f->seconds = ti_now() - job->started;
    return st;
}

ti_status ti_fetch(const struct ti_nodes *nodes, const struct ti_fetch_settings *s, bool plan_only,
                   struct ti_fetch *f, struct ti_err *err)
{
    struct ti__job job = {.kind = TI__FETCH,
                          .plan_only = plan_only,
                          .nodes = *nodes,
                          .settings = s,
                          .f = f,
                          .started = ti_now()};
    ti_status st;

    *f = (struct ti_fetch){0};
    job.parts.fd = job.local.fd = -1;
    st = carry_out(&job, err);
    fetching_free(&job);
    return st;
}

ti_status ti_fetch_remove(const struct ti_run *run, const struct ti_nodes *nodes,
                          const struct ti_fetch_settings *s, int64_t *removed, struct ti_fetch *f,
                          struct ti_err *err)
{
    struct ti__job job = {.kind = TI__REMOVE,
                          .nodes = *nodes,
                          .settings = s,
                          .f = f,
                          .run = run,
                          .started = ti_now()};
    ti_status st;

    *f = (struct ti_fetch){0};
    job.parts.fd = job.local.fd = -1;
    st = carry_out(&job, err);
    *removed = job.removed;
    fetching_free(&job);
    return st;
}

int64_t ti_fetch_tidy(const struct ti_run *run)
{
    struct ti__job job = {.nodes = {.dir = run->fd, .path = run->path}};
    struct ti_parts parts;
    int64_t removed = 0;
    int locked = -1;

    ti_parts_find(&parts, run->fd);
    if (parts.n == 0 || lock(&job, &locked, NULL) != TI_OK)
        parts.n = 0; /* the parts may belong to another ti-gather */
    for (int64_t i = 0; i < parts.n; i++) {
        int64_t rank = parts.part[i].rank;
        char name[TI_RANK_NAME_BYTES];

        if (rank < run->nranks && run->rank[rank].state == TI_RANK_OK &&
            strcmp(run->rank[rank].name, ti_rank_name(rank, name)) == 0)
            removed += ti_parts_remove(&parts, rank);
    }
    ti_parts_free(&parts);
    if (locked >= 0)
        close(locked);
    return removed;
}

void ti_fetch_free(struct ti_fetch *f)
{
    for (int i = 0; i < f->nfailures; i++) {
        free(f->failure[i].node);
        free(f->failure[i].site);
        free(f->failure[i].through);
        free(f->failure[i].why);
        free(f->failure[i].hint);
        json_decref(f->failure[i].ranks);
    }
    free(f->failure);
    for (int64_t i = 0; i < f->nnodes; i++) {
        free(f->node[i].name);
        free(f->node[i].site);
        free(f->node[i].why);
        free(f->node[i].hint);
        json_decref(f->node[i].not_compared);
    }
    free(f->node);
    free(f->closed);
    json_decref(f->away);
    *f = (struct ti_fetch){0};
}
