#include <stdlib.h>
#include <string.h>

#include "analysis/histogram.h"
#include "analysis/shapes.h"
#include "analysis/traffic.h"
#include "api/internal.h"
#include "sound/check.h"

/* --- traffic ------------------------------------------------------------------- */

#define COLUMNS 6

API enum tiara_status tiara_traffic(struct tiara_trace *t, struct tiara_traffic **out,
                                    struct tiara_error *err)
{
    struct ti_traffic sums;
    struct ti_err why;
    ti_status st = ti_traffic_read(t->source, -1, &sums, &why);
    struct tiara_traffic *to = NULL;
    uint64_t *column = NULL;
    size_t n = sums.keys.n;

    *out = NULL;
    if (st)
        goto out;
    to = calloc(1, sizeof *to);
    column = calloc(n ? n : 1, COLUMNS * sizeof *column);
    if (!to || !column) {
        free(to);
        free(column);
        ti_traffic_free(&sums);
        return ti__api_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        const struct ti_traffic_pair *p = &sums.pair[i];
        const uint64_t values[COLUMNS] = {(uint64_t)sums.keys.key[i][0],
                                          (uint64_t)sums.keys.key[i][1],
                                          p->messages.n,
                                          p->messages.bytes,
                                          p->one_sided.n,
                                          p->one_sided.bytes};

        for (size_t k = 0; k < COLUMNS; k++)
            column[k * n + i] = values[k];
    }
    *to = (struct tiara_traffic){.n = n,
                                 .from = (int64_t *)column,
                                 .to = (int64_t *)column + n,
                                 .messages = column + 2 * n,
                                 .bytes = column + 3 * n,
                                 .one_sided = column + 4 * n,
                                 .one_sided_bytes = column + 5 * n};
    ti__api_coverage(&sums.pass, &to->of);
    *out = to;
out:
    ti_traffic_free(&sums);
    return ti__api_result(err, st, &why);
}

API void tiara_traffic_free(struct tiara_traffic *traffic)
{
    if (traffic)
        free((void *)traffic->from);
    free(traffic);
}

/* --- histograms ----------------------------------------------------------------- */

_Static_assert(sizeof(struct tiara_classes) == sizeof(struct ti_class_counts),
               "classes of tiara.h are ours");

API enum tiara_status tiara_histogram(struct tiara_trace *t, struct tiara_histogram *out,
                                      struct tiara_error *err)
{
    struct ti_histogram h;
    struct ti_err why;
    ti_status st = ti_histogram_read(t->source, -1, &h, &why);

    memset(out, 0, sizeof *out);
    memcpy(&out->messages, &h.of[TI_HISTOGRAM_messages], sizeof out->messages);
    memcpy(&out->one_sided, &h.of[TI_HISTOGRAM_one_sided], sizeof out->one_sided);
    memcpy(&out->collectives, &h.of[TI_HISTOGRAM_collectives], sizeof out->collectives);
    memcpy(&out->bursts, &h.of[TI_HISTOGRAM_bursts], sizeof out->bursts);
    memcpy(out->unit, h.unit, sizeof out->unit);
    ti__api_coverage(&h.pass, &out->of);
    ti_histogram_free(&h);
    return ti__api_result(err, st, &why);
}

/* --- loops of all ranks ----------------------------------------------------------- */

struct tiara_phases {
    struct ti_shapes shapes;
    char **source; /* call sites for people, by their number in shapes.sites */
    struct tiara_coverage of;
};

static bool find_sources(struct tiara_trace *t, struct tiara_phases *p)
{
    size_t n = p->shapes.sites.map.n;
    char text[600];

    p->source = calloc(n ? n : 1, sizeof *p->source);
    for (size_t i = 0; p->source && i < n; i++) {
        ti__api_source(t, p->shapes.sites.text[i], text, sizeof text);
        p->source[i] = strdup(text);
        if (!p->source[i])
            return false;
    }
    return p->source != NULL;
}

API enum tiara_status tiara_phases(struct tiara_trace *t, struct tiara_phases **out,
                                   struct tiara_error *err)
{
    struct tiara_phases *p = calloc(1, sizeof *p);
    const struct ti_folded_ranks *ranks;
    struct ti_err why = {.text = ""};
    ti_status st;

    *out = NULL;
    if (!p)
        return ti__api_no_memory(err);
    st = ti_shapes_read(t->source, -1, t->symbolizer, &p->shapes, &why);
    if (st && why.text[0]) {
        tiara_phases_free(p);
        return ti__api_result(err, st, &why);
    }
    if (!find_sources(t, p)) {
        tiara_phases_free(p);
        return ti__api_no_memory(err);
    }
    ranks = &p->shapes.ranks;
    p->of = (struct tiara_coverage){.ranks = ranks->np,
                                    .read = ranks->taken,
                                    .missing = ti_ranges_count(&ranks->missing),
                                    .incomplete = ti_ranges_count(&ranks->incomplete),
                                    .damaged = ti_ranges_count(&ranks->damaged)};
    if (p->of.damaged)
        memcpy(p->of.why, ranks->first_damaged, sizeof p->of.why - 1);
    else if (p->of.incomplete || p->of.missing)
        snprintf(
            p->of.why, sizeof p->of.why, "rank %lld is %s",
            (long long)(p->of.incomplete ? &ranks->incomplete : &ranks->missing)->range[0].first,
            p->of.incomplete ? "incomplete" : "missing");
    *out = p;
    return ti__api_result(err, TI_OK, NULL);
}

API void tiara_phases_free(struct tiara_phases *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->source && i < p->shapes.sites.map.n; i++)
        free(p->source[i]);
    free(p->source);
    ti_shapes_free(&p->shapes);
    free(p);
}

API const struct tiara_coverage *tiara_phases_coverage(const struct tiara_phases *p)
{
    return &p->of;
}

API size_t tiara_phases_shapes(const struct tiara_phases *p)
{
    return p->shapes.n;
}

API const struct tiara_range *tiara_phases_ranges(const struct tiara_phases *p, size_t shape,
                                                  size_t *n)
{
    *n = 0;
    if (shape >= p->shapes.n)
        return NULL;
    *n = p->shapes.shape[shape].ranks.n;
    return (const struct tiara_range *)p->shapes.shape[shape].ranks.range;
}

API uint32_t tiara_phases_nodes(const struct tiara_phases *p, size_t shape)
{
    return shape < p->shapes.n ? p->shapes.shape[shape].nnodes : 0;
}

API bool tiara_phases_node(const struct tiara_phases *p, size_t shape, uint32_t i,
                           struct tiara_phase *out)
{
    const struct ti_ranks_node *node;

    if (i >= tiara_phases_nodes(p, shape))
        return false;
    node = &p->shapes.shape[shape].node[i];
    *out = (struct tiara_phase){.end = node->end,
                                .is_loop = node->loop,
                                .op = node->op,
                                .name = node->loop ? node->name : p->source[node->site],
                                .events = node->events,
                                .bytes = node->bytes,
                                .values = ti__api_stats(&node->values),
                                .volume = node->volume.sum,
                                .least = node->volume.least,
                                .most = node->volume.most,
                                .least_rank = node->volume.least_rank,
                                .most_rank = node->volume.most_rank};
    return true;
}

/* --- verification ----------------------------------------------------------------- */

struct verifying {
    struct ti_pass pass; /* the ranks, for the coverage */
};

static ti_status end_of_rank(void *arg, int64_t rank, struct ti_walk *w, enum ti_read_state state,
                             ti_status st, struct ti_err *err)
{
    struct verifying *v = arg;
    struct ti_pass *p = &v->pass;
    char *why = state == TI_READ_PART ? p->first_incomplete : p->first_damaged;
    size_t room = state == TI_READ_PART ? sizeof p->first_incomplete : sizeof p->first_damaged;
    struct ti_ranges *to = state == TI_READ_MISSING ? &p->missing
                           : state == TI_READ_PART  ? &p->incomplete
                                                    : &p->damaged;

    (void)w;
    (void)st;
    p->ranks += state != TI_READ_MISSING;
    if ((state == TI_READ_PART || state == TI_READ_DAMAGED) && !why[0])
        snprintf(why, room, "%s", state == TI_READ_PART ? "a trace is incomplete" : err->text);
    if (state != TI_READ_WHOLE && !ti_ranges_put(to, rank, rank))
        return ti_err_memory(err, "check the trace");
    return TI_OK;
}

/* The problems as those of tiara.h, with their texts behind them. */
static struct tiara_problem *copy_problems(const struct ti_problems *from)
{
    size_t n = (size_t)from->shown, bytes = n * sizeof(struct tiara_problem);
    struct tiara_problem *to;
    char *text;

    for (size_t i = 0; i < n; i++)
        bytes += strlen(from->list[i].call) + strlen(from->list[i].why) + 2;
    to = malloc(bytes ? bytes : 1);
    if (!to)
        return NULL;
    text = (char *)(to + n);
    for (size_t i = 0; i < n; i++) {
        const struct ti_problem *p = &from->list[i];
        char *call = text, *why = stpcpy(call, p->call) + 1;

        text = stpcpy(why, p->why) + 1;
        to[i] = (struct tiara_problem){.rank = p->rank,
                                       .event = p->event == TI_NO_EVENT ? -1 : (int64_t)p->event,
                                       .call = call,
                                       .why = why,
                                       .more = p->more};
    }
    return to;
}

API enum tiara_status tiara_verify(struct tiara_trace *t, struct tiara_verdict **out,
                                   struct tiara_error *err)
{
    struct ti_problems problems = {.n = 0};
    struct verifying v = {.pass = {.np = ti_source_nranks(t->source)}};
    const struct ti_visitor visitor = {.arg = &v, .rank = end_of_rank, .extras = true};
    struct tiara_verdict *to = NULL;
    struct ti_check check = {.np = 0};
    struct ti_err why;
    ti_status st = ti_source_verify(t->source, &why);

    *out = NULL;
    if (!st)
        st = ti_check(t->source, &visitor, &check, &problems, &why);
    if (!st)
        to = calloc(1, sizeof *to);
    if (to) {
        *to = (struct tiara_verdict){.problems = problems.n,
                                     .n = (size_t)problems.shown,
                                     .problem = copy_problems(&problems),
                                     .events = check.events,
                                     .messages = check.conserved.messages,
                                     .bytes = check.conserved.bytes,
                                     .collectives = check.conserved.collectives};
        ti__api_coverage(&v.pass, &to->of);
        if (!to->problem) {
            free(to);
            to = NULL;
        }
    }
    if (check.np)
        ti_check_free(&check);
    ti_pass_free(&v.pass);
    *out = to;
    return !st && !to ? ti__api_no_memory(err) : ti__api_result(err, st, &why);
}

API void tiara_verdict_free(struct tiara_verdict *v)
{
    if (v)
        free((void *)v->problem);
    free(v);
}
