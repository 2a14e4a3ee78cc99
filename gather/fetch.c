#include "gather/fetch.h"

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
#include "gather/fetch_job.h"
#include "node/launch.h"

#define TICK_S        0.1 /* between two looks, and calls of `progress` */
#define COUNT_S       0.5 /* how often descriptors are counted */
#define ROUND_PAUSE_S 0.5 /* before what could not be had is asked for once more */
#define STEP_S        0.5 /* that one round of the loop may count as time in which we listened */

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

static ti_status interrupted(const struct ti__fetching *g, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "interrupted");
    if (g->work == TI__REMOVE)
        ti_err_hint(
            err, "the bundle is whole; nodes may still have traces that are in it: --remove with "
                 "another bundle's name (-o) fetches and removes these");
    else if (!g->look)
        ti_err_hint(err, "the same command goes on where this one was");
    return TI_ERR_IO;
}

/* Of traces that are here: whether one is of the run, else what the first is and of which. */
struct whose {
    bool ours;
    char name[256], id[2 * TI_RUN_ID_BYTES + 1];
};

static void look_whose(const struct ti__fetching *g, const char *file, struct whose *w)
{
    int fd = w->ours ? -1 : openat(g->nodes.dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    unsigned char header[TI_HEADER_BYTES];
    char id[sizeof w->id];

    if (fd < 0)
        return;
    if (pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header, TI_MAGIC, strlen(TI_MAGIC)) == 0) {
        for (int i = 0; i < TI_RUN_ID_BYTES; i++)
            snprintf(id + 2 * i, 3, "%02x", header[AT_RUN_ID + i]);
        w->ours = strcmp(id, g->nodes.run_id) == 0;
        if (!w->ours && !*w->id) {
            memcpy(w->id, id, sizeof id);
            snprintf(w->name, sizeof w->name, "%s", file);
        }
    }
    close(fd);
}

/* A file that had its name, and not its contents, when this machine crashed. */
static bool is_hollow(const struct ti__fetching *g, const char *file)
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

static void look_at_file(struct ti__fetching *g, const char *file)
{
    int64_t rank = ti_rank_of_name(file);
    char name[TI_RANK_NAME_BYTES];
    struct stat sb;

    if (rank < 0 || rank >= g->np || strcmp(ti_rank_name(rank, name), file) != 0 ||
        fstatat(g->nodes.dir, file, &sb, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(sb.st_mode) ||
        sb.st_size < TI_HEADER_BYTES || is_hollow(g, file))
        return;
    g->rank[rank].holder = TI__HERE;
    g->rank[rank].bytes = sb.st_size;
}

/* What is here already: of the files that there are, not of the ranks that RUN.json names. */
static ti_status look_here(struct ti__fetching *g, struct ti_err *err)
{
    int fd = openat(g->nodes.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e = NULL;
    struct whose whose = {.ours = false};
    int cause;

    while (d && !ti_gather_stop && (errno = 0, e = readdir(d)) != NULL) {
        look_at_file(g, e->d_name);
        if (ti_rank_of_name(e->d_name) >= 0)
            look_whose(g, e->d_name, &whose);
    }
    cause = e || ti_gather_stop ? 0 : errno;
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    if (ti_gather_stop)
        return interrupted(g, err);
    errno = cause;
    if (cause)
        return ti_err_errno(err, TI_ERR_IO, "cannot read the run directory '%s'", g->nodes.path);
    if (whose.ours || !*whose.id)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s/RUN.json' is of another run than the traces that are here: its \"run_id\" is "
               "%s, that of '%s' is %s",
               g->nodes.path, g->nodes.run_id, whose.name, whose.id);
    ti_err_hint(err, TI_NODES_HINT);
    return TI_ERR_INPUT;
}

static bool is_wanted(const struct ti__fetching *g, int64_t rank)
{
    if (g->work == TI__REMOVE)
        return rank < g->run->nranks && g->run->rank[rank].state == TI_RANK_OK;
    return g->rank[rank].holder != TI__HERE;
}

/* How many ranks there are, as far as RUN.json knows. */
static int64_t count_ranks(const struct ti__fetching *g)
{
    int64_t np = json_integer_value(json_object_get(g->nodes.run, "np"));

    np = np < 0 || np > TI_RANKS_MAX ? 0 : np;
    for (int64_t i = 0; i < g->nodes.n; i++) {
        const json_t *ranks = g->nodes.node[i].ranks;
        size_t n = json_array_size(ranks);
        int64_t last = n ? json_integer_value(json_array_get(json_array_get(ranks, n - 1), 1)) : -1;

        np = last >= np ? last + 1 : np;
    }
    return np;
}

static ti_status name_node(struct ti__fetching *g, int64_t i, struct ti_err *err)
{
    const struct ti_source_node *node = &g->nodes.node[i];
    struct ti_fetch_node *out = &g->f->node[i];
    struct ti__member *m = &g->member[i];

    *m = (struct ti__member){.g = g,
                             .i = (int32_t)i,
                             .node = node,
                             .out = out,
                             .ranks = node->ranks ? json_array() : NULL,
                             .have = json_array(),
                             .refused = json_array(),
                             .check = json_array(),
                             .todo = json_array(),
                             .sent = json_array(),
                             .alone = json_array(),
                             .tried = json_array(),
                             .in = {.fd = -1}};
    out->name = strdup(node->name);
    out->site = strdup(g->nodes.site[node->site]);
    out->site_number = node->site;
    out->parent = out->first_parent = m->opened_parent = -1;
    return out->name && out->site && m->have && m->refused && m->check && m->todo && m->sent &&
                   m->alone && m->tried
               ? TI_OK
               : no_memory(err);
}

static ti_status make_tables(struct ti__fetching *g, struct ti_err *err)
{
    ti_status st = TI_OK;

    g->np = count_ranks(g);
    g->rank = calloc((size_t)g->np + 1, sizeof *g->rank);
    g->site = calloc((size_t)g->nodes.nsites + 1, sizeof *g->site);
    g->member = calloc((size_t)g->nodes.n, sizeof *g->member);
    g->f->node = calloc((size_t)g->nodes.n, sizeof *g->f->node);
    g->compare = json_array();
    g->f->closed = calloc((size_t)g->nodes.nsites + 1, sizeof *g->f->closed);
    if (!g->rank || !g->site || !g->member || !g->f->node || !g->compare || !g->f->closed)
        return no_memory(err);
    for (int64_t r = 0; r < g->np; r++)
        g->rank[r] = (struct ti__rank){.named = -1, .holder = -1, .second = -1, .sender = -1};
    g->f->nnodes = g->nodes.n;
    g->f->nsites = g->nodes.nsites;
    for (int i = 0; g->settings->before && i < g->settings->before->nsites; i++)
        if (i < g->f->nsites)
            g->f->closed[i] = g->settings->before->closed[i];
    for (int64_t i = 0; i < g->nodes.n && st == TI_OK; i++)
        st = name_node(g, i, err);
    return st;
}

static void want(struct ti__fetching *g, int64_t rank)
{
    if (g->rank[rank].state != TI__WANTED)
        g->f->wanted++;
    g->rank[rank].state = TI__WANTED;
}

/* The first rank from `rank` on that no node before was found to name.  What is followed
 * becomes shorter, so that a rank costs next to nothing however many nodes name it. */
static int64_t first_unnamed(int32_t *next, int64_t rank)
{
    while (next[rank] != rank) {
        next[rank] = next[next[rank]];
        rank = next[rank];
    }
    return rank;
}

/* Ranks that RUN.json says are on this node, and that no node before it has. */
static void want_named(struct ti__fetching *g, struct ti__member *m, int32_t *next)
{
    const json_t *range;
    size_t k;

    json_array_foreach(m->node->ranks, k, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1)),
                r = first_unnamed(next, json_integer_value(json_array_get(range, 0)));

        for (; r <= last; r = first_unnamed(next, r + 1)) {
            next[r] = (int32_t)r + 1;
            if (!is_wanted(g, r))
                continue;
            ti_ranges_add(m->ranks, r);
            g->rank[r].named = m->i;
            want(g, r);
        }
    }
}

/* How many that are wanted there are before each rank: `before` has np + 1. */
static void count_wanted(const struct ti__fetching *g, int32_t *before)
{
    before[0] = 0;
    for (int64_t r = 0; r < g->np; r++)
        before[r + 1] = before[r] + (g->rank[r].state == TI__WANTED);
}

/* Of those that RUN.json says are on this node, whoever else has them. */
static int64_t wanted_of(const struct ti__member *m, const int32_t *before)
{
    const json_t *range;
    int64_t n = 0;
    size_t k;

    json_array_foreach(m->node->ranks, k, range) n +=
        before[json_integer_value(json_array_get(range, 1)) + 1] -
        before[json_integer_value(json_array_get(range, 0))];
    return n;
}

/* By ranges: each of thousands of nodes may name a million ranks.  `table` has np + 1.  A state
 * other than NOTHING: the node takes part. */
static void choose_with(struct ti__fetching *g, int32_t *table)
{
    bool unknown = false;

    for (int64_t r = 0; r <= g->np; r++)
        table[r] = (int32_t)r;
    for (int64_t i = 0; i < g->nodes.n && !ti_gather_stop; i++) {
        if (ti_node_is_here(&g->nodes, &g->nodes.node[i]))
            continue;
        if (g->nodes.node[i].ranks)
            want_named(g, &g->member[i], table);
        unknown = unknown || !g->nodes.node[i].ranks;
    }
    for (int64_t r = 0; unknown && r < g->np; r++)
        if (g->rank[r].state != TI__WANTED && is_wanted(g, r))
            want(g, r);
    for (int64_t r = 0; g->f->away && r < g->np; r++)
        if (g->rank[r].state == TI__WANTED)
            ti_ranges_add(g->f->away, r);
    count_wanted(g, table);
    for (int64_t i = 0; i < g->nodes.n && !ti_gather_stop; i++) {
        struct ti__member *m = &g->member[i];
        int64_t wanted = m->ranks ? wanted_of(m, table) : 0;

        if (ti_node_is_here(&g->nodes, m->node) || (m->ranks ? wanted == 0 : g->f->wanted == 0))
            continue;
        m->out->state = TI_FETCH_WAITING;
        m->out->wanted = g->look ? wanted : 0; /* else nodes are asked */
        g->f->nodes++;
    }
}

static ti_status choose_ranks(struct ti__fetching *g, struct ti_err *err)
{
    ti_status st = g->work == TI__FETCH ? look_here(g, err) : TI_OK;
    int32_t *table = calloc((size_t)g->np + 1, sizeof *table);

    g->f->away = g->look ? json_array() : NULL;
    if (st == TI_OK && (!table || (g->look && !g->f->away)))
        st = no_memory(err);
    if (st == TI_OK)
        choose_with(g, table);
    free(table);
    return st == TI_OK && ti_gather_stop ? interrupted(g, err) : st;
}

/* --- the tree ------------------------------------------------------------ */

/* What a node has to send, by RUN.json; 0: not known. */
static int64_t foreseen_bytes(const struct ti__member *m)
{
    int64_t all = ti_ranges_count(m->node->ranks);

    if (m->node->local || !m->node->ranks)
        return m->node->local ? 0 : m->node->bytes;
    return all ? (int64_t)((double)m->node->bytes * (double)ti_ranges_count(m->ranks) / (double)all)
               : 0;
}

static ti_status make_tree(struct ti__fetching *g, struct ti_err *err)
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
    ti_status st = index && bytes && site && direct && gateway ? TI_OK : no_memory(err);

    for (int64_t i = 0; st == TI_OK && i < g->nodes.n; i++) {
        const struct ti_source_node *node = &g->nodes.node[i];

        if (g->f->node[i].state == TI_FETCH_NOTHING)
            continue;
        index[k] = i;
        bytes[k] = foreseen_bytes(&g->member[i]);
        if (bytes[k])
            in.bytes = bytes;
        if (g->look)
            g->f->node[i].wanted_bytes = bytes[k];
        site[k] = node->site;
        direct[k++] = node->local || g->nodes.via;
        gateway[node->site] = gateway[node->site] || node->gateway;
    }
    ti_tree_costs_default(&costs);
    if (st == TI_OK)
        st = ti_tree_make(&in, g->settings->costs ? g->settings->costs : &costs, &tree, err);
    for (k = 0; st == TI_OK && k < n; k++) {
        struct ti__member *m = &g->member[index[k]];

        m->out->parent = tree.parent[k] < 0 ? -1 : index[tree.parent[k]];
        m->out->first_parent = m->opened_parent = m->out->parent;
        m->out->depth = tree.depth[k];
        g->site[m->node->site].inner += m->out->parent >= 0;
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

/* --- all of them --------------------------------------------------------- */

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

static void count(struct ti__fetching *g, bool all)
{
    struct ti_fetch *f = g->f;
    struct rusage usage;
    int64_t n;

    f->seconds = ti_now() - g->started;
    f->total = 0;
    for (int64_t i = 0; i < g->nodes.n; i++)
        f->total += f->node[i].wanted_bytes;
    ti__count_ways(g);
    if (!all)
        return;
    n = count_descriptors();
    f->descriptors = n > f->descriptors ? n : f->descriptors;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        f->memory_bytes = (int64_t)usage.ru_maxrss * 1024;
}

static void tell_progress(struct ti__fetching *g)
{
    if (g->settings->progress)
        g->settings->progress(g->f, g->settings->arg);
}

/* What is done, and whether that is all; when it came to what. */
static bool settle(struct ti__fetching *g)
{
    double now = ti_now() - g->started;
    bool connected = true, listed = true, over = true;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__member *m = &g->member[i];

        if (!ti__takes_part(m) || ti__given_up(m))
            continue;
        if (m->out->state != TI_FETCH_DONE && ti__idle(m)) {
            m->out->state = TI_FETCH_DONE;
            m->out->done_s = now;
        }
        connected = connected && m->out->ready_s > 0;
        listed = listed && m->listing == TI__LISTED;
        over = over && m->out->state == TI_FETCH_DONE;
    }
    if (connected && g->f->connected_s == 0)
        g->f->connected_s = now;
    if (listed && g->f->listed_s == 0)
        g->f->listed_s = now;
    return over;
}

/* Once more, of those that live, what they should have or could not send: a file may have
 * been written late, or be seen late through a network file system.  What they say now is
 * what the findings tell. */
static bool second_round(struct ti__fetching *g)
{
    bool any = false;

    if (g->work != TI__FETCH || g->round++ > 0)
        return false;
    for (int64_t i = 0; i < g->nodes.n; i++)
        json_array_clear(g->member[i].refused);
    for (int64_t r = 0; r < g->np; r++) {
        struct ti__rank *rank = &g->rank[r];
        struct ti__member *m = rank->named >= 0 ? &g->member[rank->named] : NULL;

        if (rank->state == TI__WANTED && rank->damaged && rank->sender < 0)
            rank->state = TI__SPOILT; /* and none of the others had it */
        if (rank->state != TI__WANTED)
            continue;
        ti__assign(g, r);
        if (rank->sender < 0 && m && ti__takes_part(m) && !ti__given_up(m) && !m->no_folder) {
            rank->sender = m->i;
            ti_ranges_add(m->todo, r);
            m->out->wanted++;
            ti__wake(m);
        }
        any = any || rank->sender >= 0;
    }
    return any;
}

static void pause_all(struct ti__fetching *g)
{
    for (double until = ti_now() + ROUND_PAUSE_S; ti_now() < until && !ti_gather_stop;)
        ti_ways_poll(g->ways, 50);
}

/* Whatever can go on goes on. */
static void go_on(struct ti__fetching *g)
{
    g->dirty = false;
    ti__give_up_the_stuck(g);
    for (int64_t i = 0; i < g->nodes.n; i++)
        ti__ask_crc(&g->member[i]);
    ti__send_some(g);
    ti__reach(g);
}

static void tick(struct ti__fetching *g)
{
    double now = ti_now(), passed = now - g->ticked;

    g->clock += passed < STEP_S ? passed : STEP_S;
    g->ticked = now;
}

static ti_status loop(struct ti__fetching *g, struct ti_err *err)
{
    double looked = 0, counted = 0;
    bool busy;

    g->dirty = true;
    g->ticked = ti_now();
    for (;;) {
        double now = ti_now();

        tick(g);
        if (g->dirty || now - looked >= TICK_S) {
            go_on(g);
            if (settle(g) && !g->dirty) {
                if (!second_round(g))
                    break;
                pause_all(g);
            }
        }
        if (now - looked >= TICK_S) {
            looked = now;
            count(g, now - counted >= COUNT_S);
            counted = now - counted >= COUNT_S ? now : counted;
            tell_progress(g);
        }
        busy = ti_parts_read(&g->parts);
        busy = ti__read_here(g) || busy;
        ti_ways_poll(g->ways, busy || g->dirty ? 0 : (int)(TICK_S * 1000));
        if (ti_gather_stop)
            return interrupted(g, err);
        if (g->st != TI_OK)
            return g->st;
    }
    return TI_OK;
}

static ti_status go(struct ti__fetching *g, struct ti_err *err)
{
    struct ti_ways_config config = {.transport = g->settings->transport,
                                    .ssh_config = g->settings->ssh_config,
                                    .via = g->nodes.via,
                                    .silence_s = g->settings->timeout_s,
                                    .forward_agent = g->settings->forward_agent};
    ti_status st;

    /* as the run was started, unless told otherwise */
    if (config.transport == TI_TRANSPORT_AUTO)
        config.transport = g->nodes.transport;
    g->err = err;
    if (!ti_parts_find(&g->parts, g->nodes.dir))
        return no_memory(err);
    st = ti_ways_new(&config, &g->ways, err);
    if (st == TI_OK)
        st = loop(g, err);
    count(g, true);
    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti_part part;

        ti_receive_keep(&g->member[i].in, &part);
    }
    tell_progress(g);
    ti_progress_clear();
    ti_ways_free(g->ways);
    return st;
}

static void fetching_free(struct ti__fetching *g)
{
    for (int64_t i = 0; g->member && i < g->nodes.n; i++) {
        struct ti__member *m = &g->member[i];

        json_decref(m->ranks);
        json_decref(m->have);
        json_decref(m->refused);
        json_decref(m->check);
        json_decref(m->checked);
        json_decref(m->todo);
        json_decref(m->asked);
        json_decref(m->sent);
        json_decref(m->going);
        json_decref(m->alone);
        json_decref(m->tried);
    }
    json_decref(g->compare);
    if (g->comparing.fd >= 0)
        close(g->comparing.fd);
    for (int64_t i = 0; i < g->nfindings; i++) {
        free(g->finding[i].why);
        free(g->finding[i].hint);
        json_decref(g->finding[i].ranks);
    }
    free(g->finding);
    free(g->member);
    free(g->rank);
    free(g->site);
    ti_parts_free(&g->parts);
}

/* RUN.json names what is executed here ("via") and whom we log in to: not on anybody's word. */
static ti_status refuse_others(const struct ti__fetching *g, struct ti_err *err)
{
    if (!g->nodes.others)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s/RUN.json' could have been written by others, and says how traces are fetched",
               g->nodes.path);
    ti_err_hint(err, "look what \"nodes\" in it says; then make a copy of it yours");
    return TI_ERR_INPUT;
}

/* A RUN.json may be ours and yet come from others, in an archive. */
static ti_status refuse_commands(const struct ti__fetching *g, struct ti_err *err)
{
    struct ti_args words = {.n = 0};
    char *text;

    if (g->settings->trust)
        return TI_OK;
    if (g->nodes.via && !ti_via_is_known(g->nodes.via)) {
        for (const char *const *w = g->nodes.via; *w; w++)
            ti_args_add(&words, *w);
        text = ti_args_ok(&words) ? ti_args_shell(&words) : NULL;
        ti_args_free(&words);
        ti_err_set(err, TI_ERR_INPUT, "'%s/RUN.json' has nodes reached by a command of its own: %.600s",
                   g->nodes.path, text ? text : "?");
        free(text);
    } else if (g->nodes.tiara) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s/RUN.json' has nodes execute what is in a folder of theirs: '%.600s'",
                   g->nodes.path, g->nodes.tiara);
    } else {
        return TI_OK;
    }
    ti_err_hint(err, "if that is a run of yours, --trust allows it");
    return TI_ERR_INPUT;
}

/* One ti-gather at a time fetches into a directory. */
static ti_status lock(const struct ti__fetching *g, int *fd, struct ti_err *err)
{
    *fd = openat(g->nodes.dir, "RUN.json", O_RDONLY | O_CLOEXEC);
    if (*fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        close(*fd);
        *fd = -1;
        return ti_err_set(err, TI_ERR_IO, "another ti-gather is fetching into '%s'", g->nodes.path);
    }
    return TI_OK;
}

static ti_status work(struct ti__fetching *g, struct ti_err *err)
{
    ti_status st = TI_OK;
    int locked = -1;

    if (g->nodes.n) {
        st = make_tables(g, err);
        if (st == TI_OK)
            st = choose_ranks(g, err);
        if (st == TI_OK)
            st = make_tree(g, err);
    }
    if (st == TI_OK && g->f->nodes && !g->look) {
        st = refuse_others(g, err);
        if (st == TI_OK)
            st = refuse_commands(g, err);
        if (st == TI_OK)
            st = lock(g, &locked, err);
        if (st == TI_OK)
            st = go(g, err);
        if (st == TI_OK)
            st = ti__tell_failures(g, err);
        if (locked >= 0)
            close(locked);
    }
    g->f->seconds = ti_now() - g->started;
    return st;
}

ti_status ti_fetch(const struct ti_nodes *nodes, const struct ti_fetch_settings *s, bool look,
                   struct ti_fetch *f, struct ti_err *err)
{
    struct ti__fetching g = {.work = TI__FETCH,
                             .look = look,
                             .nodes = *nodes,
                             .settings = s,
                             .f = f,
                             .started = ti_now()};
    ti_status st;

    *f = (struct ti_fetch){0};
    g.parts.fd = g.comparing.fd = -1;
    st = work(&g, err);
    fetching_free(&g);
    return st;
}

ti_status ti_fetch_remove(const struct ti_run *run, const struct ti_nodes *nodes,
                          const struct ti_fetch_settings *s, int64_t *removed, struct ti_fetch *f,
                          struct ti_err *err)
{
    struct ti__fetching g = {.work = TI__REMOVE,
                             .nodes = *nodes,
                             .settings = s,
                             .f = f,
                             .run = run,
                             .started = ti_now()};
    ti_status st;

    *f = (struct ti_fetch){0};
    g.parts.fd = g.comparing.fd = -1;
    st = work(&g, err);
    *removed = g.removed;
    fetching_free(&g);
    return st;
}

int64_t ti_fetch_tidy(const struct ti_run *run)
{
    struct ti__fetching g = {.nodes = {.dir = run->fd, .path = run->path}};
    struct ti_parts parts;
    int64_t removed = 0;
    int locked = -1;

    if (!ti_parts_find(&parts, run->fd) || parts.n == 0 || lock(&g, &locked, NULL) != TI_OK)
        parts.n = 0; /* who fetches into it now has parts of its own */
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
        json_decref(f->node[i].alone);
    }
    free(f->node);
    free(f->closed);
    json_decref(f->away);
    *f = (struct ti_fetch){0};
}
