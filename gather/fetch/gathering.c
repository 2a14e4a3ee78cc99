#include "gather/fetch/gathering.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ti_status ti__no_memory(struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
}

ti_status ti__interrupted(const struct ti__gathering *g, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "interrupted");
    if (g->kind == TI__REMOVE)
        ti_err_hint(
            err, "the bundle is whole; nodes may still have traces that are in it: --remove with "
                 "another bundle's name (-o) fetches and removes these");
    else if (!g->plan_only)
        ti_err_hint(err, "the same command resumes");
    return TI_ERR_IO;
}

/* --- tables -------------------------------------------------------------- */

/* Number of ranks, by RUN.json. */
static int64_t count_ranks(const struct ti__gathering *g)
{
    int64_t np = json_integer_value(json_object_get(g->nodes.run, "np"));

    np = np < 0 || np > TI_RANKS_MAX ? 0 : np;
    for (int64_t i = 0; i < g->nodes.n; i++) {
        const struct ti_ranges *ranks = &g->nodes.node[i].ranks;

        if (ranks->n && ranks->range[ranks->n - 1].last >= np)
            np = ranks->range[ranks->n - 1].last + 1;
    }
    return np;
}

static ti_status init_peer(struct ti__gathering *g, int64_t i, struct ti_err *err)
{
    const struct ti_source_node *node = &g->nodes.node[i];
    struct ti_fetch_node *out = &g->f->node[i];
    struct ti__peer *p = &g->peer[i];

    *p = (struct ti__peer){
        .gathering = g, .i = (int32_t)i, .node = node, .result = out, .in = {.fd = -1}};
    out->name = strdup(node->name);
    out->site = strdup(g->nodes.site[node->site]);
    out->site_number = node->site;
    out->parent = out->first_parent = p->conn_parent = -1;
    return out->name && out->site ? TI_OK : ti__no_memory(err);
}

ti_status ti__gathering_begin(struct ti__gathering *g, struct ti_err *err)
{
    ti_status st = TI_OK;

    g->np = count_ranks(g);
    g->rank = calloc((size_t)g->np + 1, sizeof *g->rank);
    g->site = calloc((size_t)g->nodes.nsites + 1, sizeof *g->site);
    g->peer = calloc((size_t)g->nodes.n, sizeof *g->peer);
    g->f->node = calloc((size_t)g->nodes.n, sizeof *g->f->node);
    g->f->closed = calloc((size_t)g->nodes.nsites + 1, sizeof *g->f->closed);
    if (!g->rank || !g->site || !g->peer || !g->f->node || !g->f->closed)
        return ti__no_memory(err);
    for (int64_t r = 0; r < g->np; r++)
        g->rank[r] = (struct ti__rank){.named = -1, .reference = -1, .second = -1, .sender = -1};
    g->f->nnodes = g->nodes.n;
    g->f->nsites = g->nodes.nsites;
    for (int i = 0; g->settings->before && i < g->settings->before->nsites; i++)
        if (i < g->f->nsites)
            g->f->closed[i] = g->settings->before->closed[i];
    for (int64_t i = 0; i < g->nodes.n && st == TI_OK; i++)
        st = init_peer(g, i, err);
    return st;
}

void ti__gathering_free(struct ti__gathering *g)
{
    for (int64_t i = 0; g->peer && i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];

        ti_ranges_free(&p->ranks);
        ti_ranges_free(&p->have);
        ti_ranges_free(&p->refused);
        ti_ranges_free(&p->to_checksum);
        ti_ranges_free(&p->checksumming);
        ti_ranges_free(&p->to_send);
        ti_ranges_free(&p->requested);
        ti_ranges_free(&p->answered);
        ti_ranges_free(&p->being_removed);
        ti_ranges_free(&p->not_compared);
        ti_ranges_free(&p->remove_answered);
        free(p->merged);
    }
    ti_ranges_free(&g->local_queue);
    if (g->local.fd >= 0)
        close(g->local.fd);
    for (int64_t i = 0; i < g->nfindings; i++) {
        free(g->finding[i].why);
        free(g->finding[i].hint);
        ti_ranges_free(&g->finding[i].ranks);
    }
    free(g->finding);
    free(g->peer);
    free(g->rank);
    free(g->site);
    ti_parts_free(&g->parts);
}

/* --- nodes --------------------------------------------------------------- */

bool ti__idle(const struct ti__peer *p)
{
    if (ti__abandoned(p))
        return true;
    return p->listing == TI__LISTED && !p->requested.n && !p->checksumming.n && !p->removing &&
           !p->to_send.n && !p->to_checksum.n;
}

void ti__wake(struct ti__peer *p)
{
    p->gathering->dirty = true;
    if (p->result->state == TI_FETCH_FAILED || p->result->state == TI_FETCH_SENDING)
        return;
    if (p->conn)
        p->result->state = p->ready ? TI_FETCH_READY : TI_FETCH_CONNECTING;
    else
        p->result->state = TI_FETCH_WAITING;
    p->result->done_s = 0;
}

void ti__made_progress(struct ti__peer *p)
{
    p->progress_at = p->gathering->clock;
    p->progress_bytes = p->gathering->f->bytes;
}

void ti__request(struct ti__peer *p, json_t *request)
{
    if (request && p->conn)
        ti_conn_request(p->conn, request);
    else
        json_decref(request);
}

void ti__local_error(struct ti__gathering *g)
{
    int cause = errno;

    if (g->st != TI_OK)
        return;
    errno = cause;
    g->st = ti_err_errno(g->err, TI_ERR_IO, "cannot write to '%s'", g->nodes.path);
    if (cause == ENOSPC || cause == EDQUOT)
        ti_err_hint(g->err, "make room and start again: what is here is not fetched again");
}
