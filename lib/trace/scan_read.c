/* Reading a trace for a scan (trace/scan.h), and what is known at its end. */
#include "trace/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/sums.h"
#include "fold/values.h"
#include "trace/alike.h"

/* ------------------------------------------------------------------ the end -- */

/* Parse metadata "calibration": "8 spread 0 samples 64 ...". */
static void parse_calibration(struct ti_burst_overhead *c, const char *text)
{
    if (text && sscanf(text, "%" SCNu64 " spread %" SCNu64, &c->least, &c->spread) == 2)
        c->ranks = 1;
    c->most = c->least;
}

static bool add_volumes(void *arg, const struct ti_values *v)
{
    struct ti_scan *scan = arg;
    uint64_t sum_of;

    scan->overflow |= !ti_values_sum(v, 0, &sum_of) || !ti_sum_add(&scan->volume, sum_of, 1);
    return true;
}

/* Complete the sums of a trace of which events were left out. */
static ti_status add_left_out(struct ti_scan *scan, const struct ti_reader *r, struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(r);
    struct ti_totals totals = {.hash = 0};
    bool fine;

    errno = 0;
    fine = ti_folded_check(f);
    scan->volume = 0;
    for (uint32_t i = 0; fine && i < ti_shape_nodes(f); i++)
        if (!ti_shape_node(f, i).loop)
            fine = ti_shape_values(f, i, 1, add_volumes, scan);
    if (!fine)
        return ti_reader_malformed(r, err);
    scan->no_hash = !ti_reader_totals(r, &totals);
    scan->hash = totals.hash;
    return TI_OK;
}

ti_status ti_scan_end(struct ti_scan *scan, const struct ti_reader *r, struct ti_err *err)
{
    ti_status st = scan->left_out ? add_left_out(scan, r, err) : TI_OK;
    struct ti_totals totals;

    if (st)
        return st;
    scan->end = ti_reader_end(r);
    scan->whole_known = ti_reader_info_u64(r, "whole", &scan->whole);
    parse_calibration(&scan->calibration, ti_reader_info(r, "calibration"));
    if (!ti_reader_info_u64(r, "negative_bursts", &scan->negative))
        scan->negative = 0;
    scan->caveats = (struct ti_caveats){0};
    ti_caveats_add(&scan->caveats, r);
    scan->outside_known = ti_reader_info_u64(r, "outside", &scan->outside);
    ti_reader_info_u64(r, "blocks", &scan->blocks);
    ti_reader_info_u64(r, "blocks_own", &scan->blocks_own);
    if (scan->overflow)
        return ti_err_set(
            err, TI_ERR_INPUT,
            "rank %u's trace cannot be summed up: its volumes or bytes are more than 2^64 - 1",
            ti_reader_rank(r));
    if (ti_reader_totals(r, &totals) &&
        (totals.events != scan->events || totals.volume != scan->volume ||
         !ti_reader_hash_is(r, scan->hash)))
        return ti_err_set(err, TI_ERR_INPUT,
                          "rank %u's trace is damaged: its events do not add up to its totals",
                          ti_reader_rank(r));
    return TI_OK;
}

/* ------------------------------------------------- trips that are alike ---- */

/* A trace that was cut off has no hash.  Up to so many events are read to compute it. */
#define HASHED_MOST (UINT64_C(1) << 24)

#define STOP_EVERY 4096 /* events between questions whether to stop */

/* A scan, and what it remembers at the begin of trips of loops. */
struct scanning {
    struct ti_scan *scan;
    struct ti_reader *r;
    struct ti_scan *mark; /* by depth */
    size_t n, cap;
};

static size_t extent(void *arg)
{
    const struct ti_scan *scan = ((struct scanning *)arg)->scan;

    return scan->nstarts + scan->ndestinations + (size_t)scan->nuntraced + TI_OP_COUNT;
}

static bool remember_scan(void *arg, uint32_t depth)
{
    struct scanning *g = arg;

    if (!TI_ROOM(g->mark, &g->cap, depth + 1))
        return false;
    g->n = depth >= g->n ? depth + 1 : g->n;
    return ti_scan_remember(g->scan, &g->mark[depth]);
}

static bool is_steady(void *arg, uint32_t depth)
{
    const struct scanning *g = arg;

    return ti_scan_steady(g->scan, &g->mark[depth]);
}

static bool repeat_scan(void *arg, uint32_t depth, uint64_t times, const struct ti_trip_period *p)
{
    struct scanning *g = arg;

    ti_scan_repeat(g->scan, &g->mark[depth], times);
    return ti_reader_leave_out(g->r, times, p);
}

/* Whether all events must be read, because only they give the hash.  TI_ERR_IO: no memory. */
static ti_status needs_events(const struct ti_reader *r, bool *all, struct ti_err *err)
{
    struct ti_totals totals;
    struct ti_reader *again = NULL;
    ti_status st;

    *all = false;
    if (!ti_reader_folded(r) || ti_folded_events(ti_reader_folded(r)) > HASHED_MOST)
        return TI_OK;
    st = ti_reader_again(r, &again, err);
    if (!st)
        st = ti_reader_skip(again, err);
    *all = !st && !ti_reader_totals(again, &totals);
    ti_reader_close(again);
    return st == TI_ERR_IO ? st : TI_OK;
}

ti_status ti_scan_read_until(struct ti_reader *r, struct ti_scan *scan, bool (*stop)(void *arg),
                             void *arg, struct ti_err *err)
{
    static const struct ti_alike_user user = {extent, remember_scan, is_steady, repeat_scan};
    struct scanning g = {.scan = scan, .r = r};
    struct ti_alike alike = {.user = &user, .arg = &g};
    bool all, stopped = false;
    struct ti_event ev;
    ti_status st = needs_events(r, &all, err);
    int more = 0;

    ti_scan_begin(scan);
    ti_reader_want_extras(r); /* to check them, too */
    for (uint64_t n = 0; !st && !stopped; n++) {
        if (!all)
            st = ti_alike_leave_out(&alike, r, err);
        if (st || (more = ti_reader_next(r, &ev, err)) <= 0)
            break;
        st = ti_scan_event(scan, r, &ev, err);
        stopped = n % STOP_EVERY == 0 && stop && stop(arg);
    }
    for (size_t i = 0; i < g.n; i++)
        ti_scan_mark_free(&g.mark[i]);
    free(g.mark);
    ti_alike_free(&alike);
    if (st || stopped)
        return st;
    return more < 0 ? ti_reader_status(r) : ti_scan_end(scan, r, err);
}

ti_status ti_scan_read(struct ti_reader *r, struct ti_scan *scan, struct ti_err *err)
{
    return ti_scan_read_until(r, scan, NULL, NULL, err);
}
