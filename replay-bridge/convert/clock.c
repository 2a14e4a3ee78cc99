#include "replay-bridge/convert/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1e9
#define NS_MOST  9e18

double ti_speed_number(const char *text)
{
    static const char prefixes[] = "kMGTPEZY";
    char *unit;
    double value = strtod(text, &unit);
    const char *prefix = unit[0] && unit[1] ? strchr(prefixes, unit[0]) : NULL;

    return prefix ? value * pow(1e3, (double)(prefix - prefixes + 1)) : value;
}

void ti_clock_start(struct ti_clock *c, const struct ti_pace *pace, const struct ti_source *s,
                    int64_t rank, struct ti_reader *r)
{
    *c = (struct ti_clock){.pace = pace};
    ti_bursts_begin(&c->bursts, &pace->bursts, s, rank, r);
}

ti_status ti_clock_add(struct ti_clock *c, const struct ti_event *ev, uint64_t index,
                       struct ti_err *err)
{
    uint64_t burst;
    double ns, whole;
    ti_status st = ti_bursts_next(&c->bursts, ev, index, &burst, err);

    if (st)
        return st;
    if (c->pace->bursts.as == TI_BURSTS_TIMES) {
        c->ns += burst;
        return TI_OK;
    }
    ns = (double)burst * NS_PER_S / c->pace->speed + c->rest;
    if (ns > NS_MOST - (double)c->ns)
        return ti_err_set(err, TI_ERR_INPUT,
                          "rank %" PRId64 ", event %" PRIu64 ": a burst of %" PRIu64
                          " takes more nanoseconds at that speed than 64 bits count",
                          c->bursts.rank, index, burst);
    whole = floor(ns);
    c->rest = ns - whole;
    c->ns += (uint64_t)whole;
    return TI_OK;
}

uint64_t ti_clock_next(struct ti_clock *c)
{
    uint64_t ns = c->ns;

    c->ns = 0;
    return ns;
}
