#include "extrapolate/volumes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/scratch.h"
#include "extrapolate/making.h"
#include "fold/record_layout.h"

#define DEPTH_MOST 64
#define TRIPS_MOST ((double)TI_RECORD_EVENTS)
#define RANK_MOST  0x1p62 /* volume of a rank */
#define ALL_MOST   0x1p64 /* volume of all ranks, which tools add up as an integer */

/* How often the calls of a rank are executed: in each loop around the place that is looked at. */
struct counting {
    struct ti_making r;
    struct ti_target_volumes *to;
    double executed[DEPTH_MOST]; /* of the body of each; [0]: of the program */
    int depth, begun;            /* loops; those of them that begin with the next call */
};

static struct ti_volume *site_of(struct ti_target_volumes *v, const char *site)
{
    for (size_t i = 0; i < v->nsites; i++)
        if (strcmp(v->site[i].site, site) == 0)
            return &v->site[i];
    v->site = ti_grow(v->site, &v->cap, v->nsites + 1, sizeof *v->site);
    v->site[v->nsites] = (struct ti_volume){.site = site};
    return &v->site[v->nsites++];
}

static void add_share(struct ti_volume *to, double volume, double low, double high)
{
    to->is += volume;
    to->low += volume * low;
    to->high += volume * high;
}

/* Add the volumes of an arrival of a call (fold/fold.h): the 0th is from the call itself, in the
 * trip before; the last one from what was before all loops that it begins. */
static void count_volume(struct counting *c)
{
    struct ti_making *r = &c->r;
    const struct ti_model *model = ti_model_at(r->m, r->class, r->slot, &r->at);
    int arrival = r->c->slot[r->slot].is.arrival, at = c->depth - arrival;
    struct ti_volume *site = site_of(c->to, ti_slot_site(r->c, r->slot));
    double times = at < 0                ? 0
                   : arrival == c->begun ? c->executed[at]
                                         : c->executed[at] - c->executed[at - 1];
    double low = 1, high = 1, volume = times * (double)ti_making_next(r);

    if (model->kind == TI_MODEL_FIT) {
        low = model->fit.low;
        high = model->fit.high;
        if (model->fit.decides && high - low > site->widest) {
            site->widest = high - low;
            site->decides = model->fit.decides;
        }
    }
    add_share(site, volume, low, high);
    add_share(&c->to->all, volume, low, high);
}

static void count_call(struct counting *c, uint32_t node)
{
    struct ti_making *r = &c->r;

    while (r->slot < r->c->n && r->c->slot[r->slot].is.of == node) {
        uint8_t kind = r->c->slot[r->slot].is.kind;

        if (kind == TI_NUMBER_VOLUME)
            count_volume(c);
        else if (kind == TI_NUMBER_FIELD || kind == TI_NUMBER_ELEMENT)
            r->slot++;
        else
            break;
    }
    c->begun = 0;
}

/* The trips of a loop, all passes together. */
static double count_trips(struct counting *c, uint32_t node)
{
    struct ti_shape_column column = ti_shape_column(c->r.t->f, node, 0);
    struct ti_buffer blob = {.data = NULL};
    struct ti_column_stats stats = {.n = 0};
    double passes = c->executed[c->depth], trips;
    int64_t each = ti_making_next(&c->r);

    ti_making_blob(&c->r, &column.blob, &blob);
    trips = (double)each * passes;
    if (blob.n && ti_column_stats((uint64_t)each, blob.data, blob.n, (uint64_t)passes, &stats)) {
        trips = (double)stats.sum;
        if ((double)stats.max * passes >= 0x1p64) /* the sum is not known */
            trips = 2 * TRIPS_MOST;
        each = stats.min;
    }
    free(blob.data);
    if (each < 1)
        ti_making_refuse(&c->r, "a loop would have a pass without trips");
    else if (!(trips <= TRIPS_MOST))
        ti_making_refuse(&c->r, "its loops would have more than 2^44 events");
    return c->r.why ? 1 : trips;
}

/* Count the steps from `step` to the end of their loop; returns the step behind it. */
static size_t count_steps(struct counting *c, size_t step)
{
    struct ti_making *r = &c->r;

    for (; step < r->c->nsteps && !r->why; step++) {
        const struct ti_form_step *s = &r->c->step[step];
        size_t body = step + 1, slot;
        int64_t times;

        switch (s->kind) {
        case TI_STEP_CALL:
            count_call(c, s->node);
            break;
        case TI_STEP_LOOP:
            if (c->depth + 1 == DEPTH_MOST) {
                ti_making_refuse(r, "it has too many nested loops");
                break;
            }
            c->executed[c->depth + 1] = count_trips(c, s->node);
            c->depth++;
            c->begun++;
            step = count_steps(c, body);
            c->depth--;
            break;
        case TI_STEP_UNROLLED:
            times = ti_making_next(r);
            slot = r->slot;
            if (times < 1)
                ti_making_refuse(r, "calls would repeat less than once");
            for (int64_t t = 0; t < times && !r->why; t++) {
                r->slot = slot;
                r->at.t = t;
                step = count_steps(c, body);
            }
            r->at.t = 0;
            break;
        case TI_STEP_END:
            return step;
        }
    }
    return step;
}

static ti_status count_rank(const struct ti_models *m, const struct ti_template *templates,
                            int64_t rank, struct ti_target_volumes *to, struct ti_err *err)
{
    struct counting c = {.to = to, .executed = {1}};
    double before = to->all.is;

    ti_making_start(&c.r, m, templates, rank);
    while (c.r.slot < c.r.c->n && c.r.c->slot[c.r.slot].is.kind >= TI_NUMBER_COMM_RANK)
        c.r.slot++;
    count_steps(&c, 0);
    if (!c.r.why && !(to->all.is - before <= RANK_MOST))
        return ti_err_set(err, TI_ERR_INPUT,
                          "%" PRId64 " ranks cannot be extrapolated: the volume of rank %" PRId64
                          " would be more than 2^62",
                          m->np, rank);
    if (!c.r.why && !(to->all.is < ALL_MOST))
        return ti_err_set(err, TI_ERR_INPUT,
                          "%" PRId64 " ranks cannot be extrapolated: their volumes would add up to "
                          "2^64 or more",
                          m->np);
    return c.r.why ? ti_making_fails(&c.r, err) : TI_OK;
}

ti_status ti_target_volumes_find(const struct ti_models *m, struct ti_target_volumes *out,
                                 struct ti_err *err)
{
    struct ti_template *t;
    ti_status st = ti_templates_open(m->in, &t, err);

    *out = (struct ti_target_volumes){.nsites = 0};
    for (int64_t rank = 0; rank < m->np && !st; rank++) {
        st = ti_stop_check(err);
        if (!st)
            st = count_rank(m, t, rank, out, err);
    }
    ti_templates_close(m->in, t);
    return st;
}

void ti_target_volumes_free(struct ti_target_volumes *v)
{
    free(v->site);
    *v = (struct ti_target_volumes){.nsites = 0};
}
