#include "analysis/traffic.h"

#include <math.h>
#include <stdlib.h>

#include "common/map.h"
#include "common/sums.h"

/* Add a size that occurs `times` times. */
static void add_size(struct ti_traffic *t, struct ti_size_sums *s, uint64_t bytes, uint64_t times)
{
    double off = (double)bytes - s->mean;

    s->least = s->n == 0 || bytes < s->least ? bytes : s->least;
    s->most = bytes > s->most ? bytes : s->most;
    t->overflow |= !ti_sum_add(&s->n, 1, times) || !ti_sum_add(&s->bytes, bytes, times);
    s->mean += off * (double)times / (double)s->n;
    s->squares += (double)times * off * ((double)bytes - s->mean);
}

double ti_sizes_mean(const struct ti_size_sums *s)
{
    return s->n ? (double)s->bytes / (double)s->n : 0;
}

double ti_sizes_deviation(const struct ti_size_sums *s)
{
    return s->n ? sqrt(s->squares / (double)s->n) : 0;
}

static struct ti_traffic_pair *pair_of(struct ti_traffic *t, int64_t from, int64_t to)
{
    int64_t i = -1;

    if (TI_ROOM(t->pair, &t->pairs_cap, t->keys.n + 1))
        i = ti_map_put(&t->keys, from, to, 0, 0);
    t->no_memory |= i < 0;
    return i < 0 ? &t->no_pair : &t->pair[i];
}

static void add_message(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    struct ti_traffic *t = arg;
    struct ti_traffic_pair *p = pair_of(t, from, to);

    t->talking += p->messages.n == 0;
    add_size(t, &p->messages, bytes, times);
    add_size(t, &t->messages, bytes, times);
}

static void add_one_sided(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    struct ti_traffic *t = arg;

    add_size(t, &pair_of(t, from, to)->one_sided, bytes, times);
    add_size(t, &t->one_sided, bytes, times);
}

static void add_collective(void *arg, uint32_t op, uint64_t bytes, uint64_t times)
{
    struct ti_traffic *t = arg;

    add_size(t, &t->collective[ti_op_base(op)], bytes, times);
}

ti_status ti_traffic_read(struct ti_source *s, int64_t only, struct ti_traffic *out,
                          struct ti_err *err)
{
    const struct ti_pass_visitor visitor = {.arg = out,
                                            .message = add_message,
                                            .one_sided = add_one_sided,
                                            .collective = add_collective};
    ti_status st;

    *out = (struct ti_traffic){.pair = NULL};
    st = ti_pass(s, only, &visitor, &out->pass, err);
    if (st == TI_OK && out->no_memory)
        return ti_err_memory(err, "sum up the traffic");
    out->overflow |= !ti_sum_add(&(uint64_t){out->messages.bytes}, out->one_sided.bytes, 1);
    return st == TI_OK && out->overflow ? ti_pass_too_large(s, "bytes", err) : st;
}

void ti_traffic_free(struct ti_traffic *t)
{
    ti_pass_free(&t->pass);
    ti_map_free(&t->keys);
    free(t->pair);
    *t = (struct ti_traffic){.pair = NULL};
}
