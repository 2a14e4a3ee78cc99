#include "gather/fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/args.h"
#include "common/clock.h"
#include "config/sites.h"
#include "gather/fetch/failures.h"
#include "gather/fetch/loop.h"
#include "gather/fetch/plan.h"
#include "trace/rankname.h"

/* RUN.json names commands to execute ("via") and hosts to log in to, so other users must not be
 * able to write it. */
static ti_status check_owner(const struct ti__gathering *g, struct ti_err *err)
{
    if (!g->nodes.others)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s/RUN.json' could have been written by others, and says how traces are fetched",
               g->nodes.path);
    ti_err_hint(err, "look what \"nodes\" in it says; then make a copy of it yours");
    return TI_ERR_INPUT;
}

/* A RUN.json of ours may come from somebody else, in an archive. */
static ti_status check_commands(const struct ti__gathering *g, struct ti_err *err)
{
    struct ti_args words = {.n = 0};
    char *text;

    if (g->settings->trust)
        return TI_OK;
    if (g->nodes.via && !ti_via_is_known(g->nodes.via)) {
        ti_args_add_list(&words, g->nodes.via);
        text = ti_args_ok(&words) ? ti_args_shell(&words) : NULL;
        ti_args_free(&words);
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s/RUN.json' has nodes reached by a command of its own: %.600s", g->nodes.path,
                   text ? text : "?");
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

/* Only one ti-gather at a time may fetch into a directory. */
static ti_status lock(const struct ti__gathering *g, int *fd, struct ti_err *err)
{
    *fd = openat(g->nodes.dir, "RUN.json", O_RDONLY | O_CLOEXEC);
    if (*fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        close(*fd);
        *fd = -1;
        return ti_err_set(err, TI_ERR_IO, "another ti-gather is fetching into '%s'", g->nodes.path);
    }
    return TI_OK;
}

static ti_status carry_out(struct ti__gathering *g, struct ti_err *err)
{
    ti_status st = TI_OK;
    int locked = -1;

    *g->f = (struct ti_fetch){0};
    g->started = ti_now();
    g->parts.fd = g->local.fd = -1;
    if (g->nodes.n) {
        st = ti__gathering_begin(g, err);
        if (st == TI_OK)
            st = ti__choose_ranks(g, err);
        if (st == TI_OK)
            st = ti__plan_tree(g, err);
    }
    if (st == TI_OK && g->f->nodes && !g->plan_only) {
        st = check_owner(g, err);
        if (st == TI_OK)
            st = check_commands(g, err);
        if (st == TI_OK)
            st = lock(g, &locked, err);
        if (st == TI_OK)
            st = ti__run_gathering(g, err);
        if (st == TI_OK)
            st = ti__collect_failures(g, err);
        if (locked >= 0)
            close(locked);
    }
    g->f->seconds = ti_now() - g->started;
    ti__gathering_free(g);
    return st;
}

ti_status ti_fetch(const struct ti_nodes *nodes, const struct ti_fetch_settings *s, bool plan_only,
                   struct ti_fetch *f, struct ti_err *err)
{
    struct ti__gathering g = {
        .kind = TI__FETCH, .plan_only = plan_only, .nodes = *nodes, .settings = s, .f = f};

    return carry_out(&g, err);
}

ti_status ti_fetch_remove(const struct ti_run *run, const struct ti_nodes *nodes,
                          const struct ti_fetch_settings *s, int64_t *removed, struct ti_fetch *f,
                          struct ti_err *err)
{
    struct ti__gathering g = {
        .kind = TI__REMOVE, .nodes = *nodes, .settings = s, .f = f, .run = run};
    ti_status st = carry_out(&g, err);

    *removed = g.removed;
    return st;
}

int64_t ti_fetch_tidy(const struct ti_run *run)
{
    struct ti__gathering g = {.nodes = {.dir = run->fd, .path = run->path}};
    struct ti_parts parts;
    int64_t removed = 0;
    int locked = -1;

    ti_parts_find(&parts, run->fd);
    if (parts.n == 0 || lock(&g, &locked, NULL) != TI_OK)
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
