#include "extrapolate/rule_internal.h"

#define TRIPS_MOST 30 /* the largest t of 2^t */

typedef ti__wide wide;

static int64_t log2_of(int64_t v)
{
    return v > 0 ? 63 - __builtin_clzll((uint64_t)v) : 0;
}

static int64_t stride_of(const struct ti_spot *s, int axis)
{
    int64_t stride = 1;

    for (int i = 0; i < axis; i++)
        stride *= s->p[i];
    return stride;
}

static int64_t log2_up(int64_t v)
{
    return v > 1 ? log2_of(v - 1) + 1 : 0;
}

int64_t ti__term_value(struct ti_term t, const struct ti_spot *s)
{
    int64_t power = INT64_C(1) << (s->t < TRIPS_MOST ? s->t : TRIPS_MOST);

    switch (t.kind) {
    case TI_TERM_NP:
        return s->np;
    case TI_TERM_LOG_NP:
    case TI_TERM_FLOOR_LOG_NP:
        return log2_of(s->np);
    case TI_TERM_CEIL_LOG_NP:
        return log2_up(s->np);
    case TI_TERM_RANK:
        return s->rank;
    case TI_TERM_TRIP:
        return s->t;
    case TI_TERM_POW_TRIP:
        return power;
    case TI_TERM_P:
        return s->p[t.axis];
    case TI_TERM_LOG_P:
    case TI_TERM_FLOOR_LOG_P:
        return log2_of(s->p[t.axis]);
    case TI_TERM_CEIL_LOG_P:
        return log2_up(s->p[t.axis]);
    case TI_TERM_COORDINATE:
        return s->x[t.axis];
    case TI_TERM_STRIDE:
        return stride_of(s, t.axis);
    case TI_TERM_STRIDE_POW_TRIP:
        return stride_of(s, t.axis) * power;
    case TI_TERM_COUNT:
        break;
    }
    return 0;
}

int64_t ti_block(int64_t n, int64_t p, int64_t x)
{
    int64_t rest = (n % p + p) % p;

    return (n - rest) / p + (x < rest);
}

int64_t ti_block_dealt(enum ti_deal deal, int64_t n, int64_t p, int64_t x)
{
    int64_t part;

    switch (deal) {
    case TI_DEAL_LAST:
        return ti_block(n, p, p - 1 - x);
    case TI_DEAL_CEIL:
        part = ti_block(n, p, 0);
        return n - x * part < 0 ? 0 : n - x * part < part ? n - x * part : part;
    case TI_DEAL_EVEN:
        return (int64_t)((wide)n * (x + 1) / p - (wide)n * x / p);
    case TI_DEAL_FIRST:
    case TI_DEAL_COUNT:
        break;
    }
    return ti_block(n, p, x);
}

bool ti__is_power(int64_t v)
{
    return !(v & (v - 1));
}

bool ti__term_has_no_value(struct ti_term t, const struct ti_spot *at)
{
    switch (t.kind) {
    case TI_TERM_LOG_NP:
        return !ti__is_power(at->np);
    case TI_TERM_LOG_P:
        return !ti__is_power(at->p[t.axis]);
    case TI_TERM_POW_TRIP:
    case TI_TERM_STRIDE_POW_TRIP:
        return at->t > TRIPS_MOST;
    default:
        return false;
    }
}

static bool sum_value(const struct ti_rule *r, const struct ti_spot *at, int64_t *out)
{
    wide sum = r->c0;

    for (int i = 0; i < r->terms; i++) {
        if (ti__term_has_no_value(r->term[i], at))
            return false;
        sum += (wide)r->c[i] * ti__term_value(r->term[i], at);
    }
    if (sum % r->d || sum / r->d >= TI_RULE_HUGE || sum / r->d <= -TI_RULE_HUGE)
        return false;
    *out = (int64_t)(sum / r->d);
    return true;
}

bool ti_rule_value(const struct ti_rule *r, const struct ti_spot *at, int64_t *out)
{
    wide v;

    switch (r->kind) {
    case TI_RULE_SUM:
        return sum_value(r, at, out);
    case TI_RULE_PARTNER:
        if (!sum_value(r, at, out) || *out < 0)
            return false;
        *out ^= at->x[r->axis];
        return true;
    case TI_RULE_BLOCK:
        v = r->c0 +
            (wide)r->c[0] * ti_block_dealt(r->deal, r->cells, at->p[r->axis], at->x[r->axis]);
        *out = (int64_t)v;
        return v < TI_RULE_HUGE && v > -TI_RULE_HUGE;
    case TI_RULE_PRODUCT:
        v = (wide)r->c[0] * (r->pad[0] + ti_block(r->cells, at->p[r->axis], at->x[r->axis]));
        if (__builtin_mul_overflow(
                v, r->pad[1] + ti_block(r->cells2, at->p[r->axis2], at->x[r->axis2]), &v))
            return false;
        *out = (int64_t)v;
        return v < TI_RULE_HUGE && v > -TI_RULE_HUGE;
    }
    return false;
}

int64_t ti_rule_each(const struct ti_rule *r)
{
    int64_t each = r->c0 % r->c[0] ? 0 : r->c0 / r->c[0];

    return each > 0 && r->cells < each ? each : 0;
}
