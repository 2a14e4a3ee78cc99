#include "analysis/histogram.h"

#include <stdio.h>

#include "common/sums.h"

/* Add values of a class: how many, and their sum. */
static void add(struct ti_histogram *h, enum ti_histogram_kind kind, int class, uint64_t n,
                uint64_t sum)
{
    struct ti_class_counts *c = &h->of[kind];

    h->overflow |= !ti_sum_add(&c->n, n, 1) || !ti_sum_add(&c->total, sum, 1);
    c->count[class] += n;
    c->sum[class] += sum;
}

/* Add a value that occurs `times` times. */
static void add_value(struct ti_histogram *h, enum ti_histogram_kind kind, uint64_t value,
                      uint64_t times)
{
    uint64_t sum = 0;

    h->overflow |= !ti_sum_add(&sum, value, times);
    add(h, kind, ti_class(value), times, sum);
}

/* Add volumes that grow by a stride, class by class. */
static void add_growing(struct ti_histogram *h, const struct ti_values *v)
{
    int64_t stride = (int64_t)v->stride[0];
    struct ti_values rest = {.n = v->n, .times = v->times, .first = {v->first[0]}};
    uint64_t step = stride < 0 ? -(uint64_t)stride : (uint64_t)stride, sum;

    if (!ti_values_sum(v, 0, &sum)) {
        h->overflow = true;
        return;
    }
    if (stride < 0)
        rest.first[0] -= (v->n - 1) * step;
    rest.stride[0] = step;
    while (rest.n) {
        struct ti_values some = rest;
        int class = ti_class(rest.first[0]);
        uint64_t last = class == TI_CLASSES - 1 ? UINT64_MAX : ti_class_from(class + 1) - 1;

        some.n = (last - rest.first[0]) / step + 1;
        some.n = some.n < rest.n ? some.n : rest.n;
        ti_values_sum(&some, 0, &sum);
        add(h, TI_HISTOGRAM_bursts, class, some.n * some.times, sum);
        rest.n -= some.n;
        rest.first[0] += some.n * step;
    }
}

static ti_status add_rank(void *arg, const struct ti_reader *r, struct ti_err *err)
{
    struct ti_histogram *h = arg;
    const char *unit = ti_reader_info(r, "unit");

    (void)err;
    if (!h->unit[0] && unit)
        snprintf(h->unit, sizeof h->unit, "%s", unit);
    ti_caveats_add_quality(&h->quality, r, false);
    return TI_OK;
}

static void add_bursts(void *arg, const struct ti_reader *r, uint32_t site,
                       const struct ti_values *v, bool has_extras)
{
    (void)r;
    (void)site;
    (void)has_extras;
    if (v->n == 1 || v->stride[0] == 0)
        add_value(arg, TI_HISTOGRAM_bursts, v->first[0], v->n * v->times);
    else
        add_growing(arg, v);
}

static void add_message(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    (void)from;
    (void)to;
    add_value(arg, TI_HISTOGRAM_messages, bytes, times);
}

static void add_one_sided(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    (void)from;
    (void)to;
    add_value(arg, TI_HISTOGRAM_one_sided, bytes, times);
}

static void add_collective(void *arg, uint32_t op, uint64_t bytes, uint64_t times)
{
    (void)op;
    add_value(arg, TI_HISTOGRAM_collectives, bytes, times);
}

ti_status ti_histogram_read(struct ti_source *s, int64_t only, struct ti_histogram *out,
                            struct ti_err *err)
{
    const struct ti_pass_visitor visitor = {.arg = out,
                                            .rank = add_rank,
                                            .bursts = add_bursts,
                                            .message = add_message,
                                            .one_sided = add_one_sided,
                                            .collective = add_collective};
    ti_status st;

    *out = (struct ti_histogram){.overflow = false};
    st = ti_pass(s, only, &visitor, &out->pass, err);
    return st == TI_OK && out->overflow ? ti_pass_too_large(s, "bytes or volumes", err) : st;
}

void ti_histogram_free(struct ti_histogram *h)
{
    ti_pass_free(&h->pass);
}
