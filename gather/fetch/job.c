#include "gather/fetch/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ti_status ti__no_memory(struct ti_err *err)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot fetch");
}

ti_status ti__interrupted(const struct ti__job *job, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_IO, "interrupted");
    if (job->kind == TI__REMOVE)
        ti_err_hint(
            err, "the bundle is whole; nodes may still have traces that are in it: --remove with "
                 "another bundle's name (-o) fetches and removes these");
    else if (!job->plan_only)
        ti_err_hint(err, "the same command resumes");
    return TI_ERR_IO;
}

/* --- tables -------------------------------------------------------------- */

/* Number of ranks, by RUN.json. */
static int64_t count_ranks(const struct ti__job *job)
{
    int64_t np = json_integer_value(json_object_get(job->nodes.run, "np"));

    np = np < 0 || np > TI_RANKS_MAX ? 0 : np;
    for (int64_t i = 0; i < job->nodes.n; i++) {
        const struct ti_ranges *ranks = &job->nodes.node[i].ranks;

        if (ranks->n && ranks->range[ranks->n - 1].last >= np)
            np = ranks->range[ranks->n - 1].last + 1;
    }
    return np;
}

static ti_status init_peer(struct ti__job *job, int64_t i, struct ti_err *err)
{
    const struct ti_source_node *node = &job->nodes.node[i];
    struct ti_fetch_node *out = &job->f->node[i];
    struct ti__peer *p = &job->peer[i];

    *p = (struct ti__peer){
        .job = job, .i = (int32_t)i, .node = node, .result = out, .in = {.fd = -1}};
    out->name = strdup(node->name);
    out->site = strdup(job->nodes.site[node->site]);
    out->site_number = node->site;
    out->parent = out->first_parent = p->conn_parent = -1;
    return out->name && out->site ? TI_OK : ti__no_memory(err);
}

ti_status ti__job_begin(struct ti__job *job, struct ti_err *err)
{
    ti_status st = TI_OK;

    job->np = count_ranks(job);
    job->rank = calloc((size_t)job->np + 1, sizeof *job->rank);
    job->site = calloc((size_t)job->nodes.nsites + 1, sizeof *job->site);
    job->peer = calloc((size_t)job->nodes.n, sizeof *job->peer);
    job->f->node = calloc((size_t)job->nodes.n, sizeof *job->f->node);
    job->f->closed = calloc((size_t)job->nodes.nsites + 1, sizeof *job->f->closed);
    if (!job->rank || !job->site || !job->peer || !job->f->node || !job->f->closed)
        return ti__no_memory(err);
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

void ti__job_free(struct ti__job *job)
{
    for (int64_t i = 0; job->peer && i < job->nodes.n; i++) {
        struct ti__peer *p = &job->peer[i];

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
    ti_ranges_free(&job->local_queue);
    if (job->local.fd >= 0)
        close(job->local.fd);
    for (int64_t i = 0; i < job->nfindings; i++) {
        free(job->finding[i].why);
        free(job->finding[i].hint);
        ti_ranges_free(&job->finding[i].ranks);
    }
    free(job->finding);
    free(job->peer);
    free(job->rank);
    free(job->site);
    ti_parts_free(&job->parts);
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
    p->job->dirty = true;
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
    p->progress_at = p->job->clock;
    p->progress_bytes = p->job->f->bytes;
}

void ti__request(struct ti__peer *p, json_t *request)
{
    if (request && p->conn)
        ti_conn_request(p->conn, request);
    else
        json_decref(request);
}

void ti__local_error(struct ti__job *job)
{
    int cause = errno;

    if (job->st != TI_OK)
        return;
    errno = cause;
    job->st = ti_err_errno(job->err, TI_ERR_IO, "cannot write to '%s'", job->nodes.path);
    if (cause == ENOSPC || cause == EDQUOT)
        ti_err_hint(job->err, "make room and start again: what is here is not fetched again");
}
