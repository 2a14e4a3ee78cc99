#include "gather/fetch/failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "session/messages.h"

#define FINDINGS_MAX 8 /* different ones for one node */

/* --- findings during a gathering --------------------------------------------- */

static bool is_same(const struct ti__finding *x, int32_t other, const char *why)
{
    return x->other == other && strcmp(x->why, why) == 0;
}

void ti__add_finding(struct ti__gathering *g, int32_t node, int32_t other, int64_t rank,
                     const char *why, const char *hint)
{
    struct ti__peer *p = &g->peer[node];
    struct ti__finding *last = NULL;
    int alike = 0;

    for (int64_t i = p->findings; i > 0; i = g->finding[i - 1].before) {
        struct ti__finding *x = &g->finding[i - 1];

        if (is_same(x, other, why)) {
            ti_ranges_add(&x->ranks, rank);
            return;
        }
        last = last ? last : x;
        alike++;
    }
    if (alike < FINDINGS_MAX) {
        g->finding =
            ti_grow(g->finding, &g->finding_room, (size_t)g->nfindings + 1, sizeof *g->finding);
        g->finding[g->nfindings++] = (struct ti__finding){.node = node,
                                                          .other = other,
                                                          .why = strdup(why),
                                                          .hint = hint ? strdup(hint) : NULL,
                                                          .before = p->findings};
        last = &g->finding[g->nfindings - 1];
        if (!last->why) { /* the ranks are still reported, without this reason */
            g->nfindings--;
            return;
        }
        p->findings = g->nfindings;
    }
    if (last)
        ti_ranges_add(&last->ranks, rank);
}

/* --- failures at its end ------------------------------------------------- */

static char *copy(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

/* Takes `ranks`. */
static ti_status add_failure(struct ti__gathering *g, int32_t node, struct ti_ranges ranks,
                             const char *why, const char *hint, struct ti_err *err)
{
    struct ti_fetch *f = g->f;
    const struct ti__peer *p = node >= 0 ? &g->peer[node] : NULL;
    struct ti_fetch_failure *more;

    f->worst = TI_ERR_PARTIAL;
    f->failure =
        ti_grow(f->failure, &f->failure_room, (size_t)f->nfailures + 1, sizeof *f->failure);
    more = &f->failure[f->nfailures++];
    *more = (struct ti_fetch_failure){.ranks = ranks, .why = strdup(why), .hint = copy(hint)};
    if (p) {
        more->node = strdup(p->result->name);
        more->site = copy(p->result->site);
        if (p->conn_parent >= 0)
            more->through = copy(g->peer[p->conn_parent].result->name);
        g->f->node[node].missing += ti_ranges_count(&ranks);
        if (!p->result->why)
            p->result->why = strdup(why);
        if (!p->result->hint)
            p->result->hint = copy(hint);
    }
    return more->why && (more->node || !p) ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot fetch");
}

/* The same for traces that another fetch cannot get either. */
static ti_status add_gone(struct ti__gathering *g, int32_t node, struct ti_ranges ranks,
                          const char *why, struct ti_err *err)
{
    ti_status st = add_failure(g, node, ranks, why, NULL, err);

    if (st == TI_OK)
        g->f->failure[g->f->nfailures - 1].gone = true;
    return st;
}

static bool is_missing(const struct ti__gathering *g, int64_t rank)
{
    return g->rank[rank].state != TI__NOT_WANTED && g->rank[rank].state != TI__RECEIVED;
}

/* Findings, the latest first: each rank is reported once. */
static ti_status report_findings(struct ti__gathering *g, struct ti_err *err)
{
    ti_status st = TI_OK;

    for (int64_t k = g->nfindings - 1; k >= 0 && st == TI_OK; k--) {
        const struct ti__finding *x = &g->finding[k];
        struct ti_ranges ranks = {0};

        ti_ranges_foreach (&x->ranks, r) {
            if (!is_missing(g, r) || g->rank[r].reported)
                continue;
            ti_ranges_add(&ranks, r);
            g->rank[r].reported = true;
        }
        if (ranks.n && strcmp(x->why, TI_MSG_NO_TRACE) == 0)
            st = add_gone(g, x->node, ranks, x->why, err);
        else if (ranks.n)
            st = add_failure(g, x->other != -1 ? -1 : x->node, ranks, x->why, x->hint, err);
    }
    return st;
}

/* Ranks that the node should have, or might have if it was abandoned. */
static ti_status report_node(struct ti__gathering *g, const struct ti__peer *p,
                             struct ti_ranges ranks, struct ti_err *err)
{
    char why[1200];

    if (ti__abandoned(p))
        return add_failure(g, p->i, ranks, p->why.text, p->why.hint, err);
    if (!p->no_directory)
        return add_gone(g, p->i, ranks, TI_MSG_NO_TRACE, err);
    snprintf(why, sizeof why, "there is no directory '%.1024s'", p->node->directory);
    return add_gone(g, p->i, ranks, why, err);
}

static ti_status report_rest(struct ti__gathering *g, struct ti_err *err)
{
    struct ti_ranges *of = calloc((size_t)g->nodes.n + 1, sizeof *of);
    ti_status st = TI_OK;
    bool missing = false;

    for (int64_t r = 0; of && r < g->np; r++) {
        int64_t i = g->rank[r].named >= 0 ? g->rank[r].named : g->nodes.n;

        missing = missing || is_missing(g, r);
        if (is_missing(g, r) && !g->rank[r].reported)
            ti_ranges_add(&of[i], r);
    }
    for (int64_t i = 0; of && i < g->nodes.n; i++) {
        const struct ti__peer *p = &g->peer[i];

        /* an abandoned node whose ranks are not known may have the missing ones */
        if (st == TI_OK && (of[i].n || (missing && ti__abandoned(p) && !p->node->ranks_known)))
            st = report_node(g, p, of[i], err);
        else
            ti_ranges_free(&of[i]);
    }
    if (of && of[g->nodes.n].n)
        st = st == TI_OK ? add_gone(g, -1, of[g->nodes.n],
                                    "none of the nodes that could be asked has it", err)
                         : st;
    free(of);
    return of ? st : ti_err_errno(err, TI_ERR_IO, "cannot fetch");
}

/* An abandoned node was to send all that RUN.json says it has, even if it was never asked. */
static void count_wanted(struct ti__gathering *g)
{
    for (int64_t i = 0; i < g->nodes.n; i++) {
        const struct ti__peer *p = &g->peer[i];
        int64_t least = p->result->ranks + p->result->missing;

        if (ti__abandoned(p) && ti_ranges_count(&p->ranks) > least)
            least = ti_ranges_count(&p->ranks);
        if (least > p->result->wanted)
            p->result->wanted = least;
    }
}

static int64_t first_rank(const struct ti_fetch_failure *x)
{
    return x->ranks.n ? x->ranks.range[0].first : 0;
}

static int by_rank(const void *a, const void *b)
{
    int64_t x = first_rank(a), y = first_rank(b);

    return (x > y) - (x < y);
}

ti_status ti__collect_failures(struct ti__gathering *g, struct ti_err *err)
{
    ti_status st = report_findings(g, err);

    if (st == TI_OK && g->kind == TI__FETCH)
        st = report_rest(g, err);
    count_wanted(g);
    for (int64_t i = 0; g->kind == TI__REMOVE && i < g->nodes.n && st == TI_OK; i++) {
        const struct ti__peer *p = &g->peer[i];
        struct ti_ranges ranks = {0};

        if (!ti__in_tree(p) || !ti__abandoned(p))
            continue;
        ti_ranges_add_all(&ranks, &p->node->ranks);
        st = add_failure(g, p->i, ranks, p->why.text, p->why.hint, err);
    }
    for (int64_t i = 0; i < g->nodes.n; i++)
        ti_ranges_add_all(&g->f->node[i].not_compared, &g->peer[i].not_compared);
    if (g->f->nfailures)
        qsort(g->f->failure, (size_t)g->f->nfailures, sizeof *g->f->failure, by_rank);
    return st;
}
