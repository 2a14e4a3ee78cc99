#include "extrapolate/proof.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/compare.h"
#include "analysis/pass.h"
#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "common/scratch.h"
#include "extrapolate/decide.h"
#include "extrapolate/make.h"
#include "extrapolate/search.h"

void ti_proof_free(struct ti_proof *p)
{
    for (size_t i = 0; i < p->nsites; i++)
        free(p->site[i].site);
    free(p->site);
    *p = (struct ti_proof){.tried = false};
}

double ti_proof_off(double was, double made)
{
    return was > 0 ? fabs(made - was) / was : made > 0 ? 1 : 0;
}

static double difference(const struct ti_proof_site *s)
{
    return fabs(s->made - s->was);
}

double ti_proof_worst(const struct ti_proof *p)
{
    double worst = 0;

    for (size_t i = 0; i < p->nsites; i++)
        if (p->site[i].was >= TI_PROOF_RELEVANT * p->was)
            worst = fmax(worst, ti_proof_off(p->site[i].was, p->site[i].made));
    return worst;
}

/* --------------------------------------------------------------------- volumes -- */

/* A pass over one of the two traces. */
struct volumes {
    struct ti_proof *p;
    bool made;
};

static void add_bursts(void *arg, const struct ti_reader *r, uint32_t site,
                       const struct ti_values *v, bool has_extras)
{
    struct volumes *to = arg;
    struct ti_proof *p = to->p;
    const char *text = ti_reader_string(r, TI_STRING_SITE, site);
    uint64_t sum;
    double volume;
    size_t i = 0;

    (void)has_extras;
    text = text ? text : "?";
    volume = ti_values_sum(v, 0, &sum) ? (double)sum
                                       : (double)v->first[0] * (double)v->n * (double)v->times;
    while (i < p->nsites && strcmp(p->site[i].site, text) != 0)
        i++;
    if (i == p->nsites) {
        p->site = ti_grow(p->site, &p->cap, p->nsites + 1, sizeof *p->site);
        p->site[p->nsites++] = (struct ti_proof_site){.site = strdup(text)};
        if (!p->site[i].site)
            ti_no_memory(1, strlen(text) + 1);
    }
    *(to->made ? &p->site[i].made : &p->site[i].was) += volume;
    *(to->made ? &p->made : &p->was) += volume;
}

static ti_status add_volumes(struct ti_source *s, bool made, struct ti_proof *p, struct ti_err *err)
{
    struct volumes to = {p, made};
    const struct ti_pass_visitor visitor = {.arg = &to, .bursts = add_bursts};
    struct ti_pass pass;
    ti_status st = ti_pass(s, -1, &visitor, &pass, err);

    ti_pass_free(&pass);
    return st;
}

static int by_difference(const void *a, const void *b)
{
    double x = difference(a), y = difference(b);

    return x > y ? -1 : x < y;
}

/* ---------------------------------------------------------------------- events -- */

static ti_status compare_rank(struct ti_source *was, struct ti_source *made, int64_t rank,
                              struct ti_proof *p, struct ti_err *err)
{
    static const struct ti_compare_style style = {.no_volumes = true};
    struct ti_reader *r[2];
    struct ti_compared found;
    struct ti_totals totals;
    ti_status st = ti_source_reader(was, rank, &r[0], err);

    if (st)
        return st;
    st = ti_source_reader(made, rank, &r[1], err);
    if (!st) {
        st = ti_compare_rank(r, &style, &found, err);
        if (!st)
            st = ti_reader_skip(r[0], err);
        if (!st && ti_reader_totals(r[0], &totals))
            p->events += totals.events;
        p->equal_events += st ? 0 : found.events;
        p->equal_ranks += !st && found.differs == TI_DIFFERS_NOT;
        ti_reader_close(r[1]);
    }
    ti_reader_close(r[0]);
    return st;
}

static ti_status compare(struct ti_source *was, const char *path, struct ti_proof *p,
                         struct ti_err *err)
{
    struct ti_source *made;
    ti_status st = ti_source_open(path, &made, err);

    if (st)
        return st;
    for (int64_t rank = 0; rank < p->np && !st; rank++) {
        st = ti_stop_check(err);
        if (!st)
            st = compare_rank(was, made, rank, p, err);
    }
    if (!st)
        st = add_volumes(was, false, p, err);
    if (!st)
        st = add_volumes(made, true, p, err);
    if (p->nsites)
        qsort(p->site, p->nsites, sizeof *p->site, by_difference);
    ti_source_close(made);
    return st;
}

/* ------------------------------------------------------------------------- all -- */

__attribute__((format(printf, 2, 3))) static void refuse(struct ti_proof *p, const char *fmt, ...)
{
    va_list args;

    if (p->why[0])
        return;
    va_start(args, fmt);
    vsnprintf(p->why, sizeof p->why, fmt, args);
    va_end(args);
}

/* Add which trace would help. */
static void name_trace(struct ti_proof *p, int64_t np, const char *how)
{
    size_t n = strlen(p->why);

    if (np)
        snprintf(p->why + n, sizeof p->why - n, "; a trace of %" PRId64 " ranks%s", np, how);
}

static void judge(struct ti_proof *p, const struct ti_models *m)
{
    double off = ti_proof_off(p->was, p->made), worst = ti_proof_worst(p);

    if (p->equal_ranks < p->np)
        refuse(p,
               "extrapolated to the largest input, %" PRId64 " of %" PRId64
               " ranks have other events",
               p->np - p->equal_ranks, p->np);
    if (!(off <= TI_PROOF_VOLUME))
        refuse(p,
               "extrapolated to the largest input, the volume is off by %.3g %%, and %g %% is "
               "the most",
               100 * off, 100 * TI_PROOF_VOLUME);
    if (!(worst <= TI_PROOF_SITE))
        refuse(p,
               "extrapolated to the largest input, the volume of a call site is off by %.3g %%, "
               "and %g %% is the most",
               100 * worst, 100 * TI_PROOF_SITE);
    p->holds = !p->why[0];
    if (!p->holds)
        name_trace(p, ti_decides_any(m, false), " may help");
}

/* By how much an interval is wider than the volume, as a share. */
static double width(const struct ti_volume *v)
{
    return v->is > 0 ? fmax(v->high - v->is, v->is - v->low) / v->is : v->high > 0;
}

void ti_proof_limit(struct ti_proof *p, const struct ti_target_volumes *v)
{
    const struct ti_volume *widest = NULL;

    if (!p->holds)
        return;
    for (size_t i = 0; i < v->nsites; i++)
        if (v->site[i].is >= TI_PROOF_RELEVANT * v->all.is &&
            (!widest || v->site[i].high - v->site[i].low > widest->high - widest->low))
            widest = &v->site[i];
    if (!(width(&v->all) <= TI_PROOF_VOLUME))
        refuse(p, "the inputs determine the volume to %+.3g to %+.3g %%, and %g %% is the most",
               100 * (v->all.low / v->all.is - 1), 100 * (v->all.high / v->all.is - 1),
               100 * TI_PROOF_VOLUME);
    else if (widest && !(width(widest) <= TI_PROOF_SITE))
        refuse(
            p,
            "the inputs determine the volume before %s to %+.3g to %+.3g %%, and %g %% is the most",
            widest->site, 100 * (widest->low / widest->is - 1),
            100 * (widest->high / widest->is - 1), 100 * TI_PROOF_SITE);
    p->holds = !p->why[0];
    if (!p->holds)
        name_trace(p, widest ? widest->decides : 0, " would decide");
}

/* Make the largest input from the others.  TI_ERR_INPUT: it cannot be made. */
static ti_status make(const struct ti_inputs *in, const int64_t *dims, const char *path,
                      struct ti_volume *volume, struct ti_err *err)
{
    const struct ti_origin origin = {.text = "for a proof", .from = ""};
    struct ti_source *source[TI_INPUTS_MOST];
    struct ti_target_volumes volumes = {.nsites = 0};
    struct ti_models models = {.np = 0};
    struct ti_inputs fewer;
    ti_status st;

    for (int i = 0; i + 1 < in->n; i++)
        source[i] = in->input[i].source;
    st = ti_inputs_read(source, in->n - 1, &fewer, err);
    if (!st)
        st = ti_models_search(&fewer, in->input[in->n - 1].np, dims, &models, err);
    if (!st)
        st = ti_target_volumes_find(&models, &volumes, err);
    *volume = volumes.all;
    ti_target_volumes_free(&volumes);
    if (!st)
        st = ti_extrapolation_write(&models, &origin, path, err);
    if (models.np)
        ti_models_free(&models);
    ti_inputs_free(&fewer);
    return st;
}

ti_status ti_proof_find(const struct ti_models *m, const int64_t *dims, const char *scratch,
                        struct ti_proof *out, struct ti_err *err)
{
    const struct ti_inputs *in = m->in;
    const struct ti_input *largest = &in->input[in->n - 1];
    struct ti_volume volume = {.is = 0};
    struct ti_err why = {.text = ""};
    ti_status st;

    *out = (struct ti_proof){.np = largest->np};
    if (in->n < 3) {
        refuse(out, "a proof takes three traces or more");
        name_trace(out, ti_decides_any(m, true), " may be one");
        return TI_OK;
    }
    st = make(in, dims, scratch, &volume, &why);
    if (st == TI_ERR_INPUT) {
        refuse(out, "without the largest input: %.550s%s%.*s", why.text, why.hint[0] ? "; " : "",
               (int)strcspn(why.hint, ";"), why.hint);
        unlink(scratch);
        return ti_stop_check(err);
    }
    if (st) {
        *err = why;
        return st;
    }
    out->tried = true;
    out->low = volume.low;
    out->high = volume.high;
    st = compare(largest->source, scratch, out, err);
    unlink(scratch);
    if (!st)
        judge(out, m);
    return st;
}

const char *ti_proof_text(const struct ti_proof *p, char *buf, size_t room)
{
    double off = ti_proof_off(p->was, p->made), worst = ti_proof_worst(p);
    char events[32];

    ti_format_count(p->events, events, sizeof events);
    if (p->holds && !off && !worst)
        snprintf(buf, room,
                 "proof: from the others, %" PRId64 " ranks come out with all %s events and the "
                 "volume of each call site equal",
                 p->np, events);
    else if (p->holds)
        snprintf(buf, room,
                 "proof: from the others, %" PRId64 " ranks come out with all %s events equal, the "
                 "volume within %.2g %%, and that of each call site within %.2g %%",
                 p->np, events, 100 * off, 100 * worst);
    else
        snprintf(buf, room, "unproven: %s", p->why);
    return buf;
}

json_t *ti_proof_json(const struct ti_proof *p)
{
    json_t *out = json_pack("{s:b, s:o}", "holds", p->holds, "reason",
                            p->holds ? json_null() : ti_json_text(p->why));
    json_t *sites = json_array();

    if (!p->tried) {
        json_decref(sites);
        return out;
    }
    for (size_t i = 0; i < p->nsites; i++)
        json_array_append_new(sites,
                              json_pack("{s:o, s:f, s:f}", "site", ti_json_text(p->site[i].site),
                                        "volume", p->site[i].was, "extrapolated", p->site[i].made));
    json_object_set_new(out, "np", json_integer(p->np));
    json_object_set_new(out, "equal_ranks", json_integer(p->equal_ranks));
    json_object_set_new(out, "events", ti_json_u64(p->events));
    json_object_set_new(out, "equal_events", ti_json_u64(p->equal_events));
    json_object_set_new(out, "volume", json_real(p->was));
    json_object_set_new(out, "extrapolated_volume", json_real(p->made));
    json_object_set_new(out, "low", json_real(p->low));
    json_object_set_new(out, "high", json_real(p->high));
    json_object_set_new(out, "volume_off", json_real(ti_proof_off(p->was, p->made)));
    json_object_set_new(out, "worst_site_off", json_real(ti_proof_worst(p)));
    json_object_set_new(out, "sites", sites);
    return out;
}
