#include "analysis/compare.h"

#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "fold/shape.h"
#include "trace/alike.h"

#define PROGRESS_EVERY (1u << 20) /* events */

static bool same(struct ti_reader *const r[2], const struct ti_event ev[2],
                 const struct ti_compare_style *style)
{
    uint64_t a = ev[0].volume, b = ev[1].volume;

    return (style->no_volumes || (a > b ? a - b : b - a) <= style->tolerance) &&
           ti_reader_same_call(r[0], &ev[0], r[1], &ev[1]);
}

bool ti_compare_comms(const struct ti_reader *a, const struct ti_reader *b, int64_t *which)
{
    const struct ti_comm *x, *y;

    for (*which = 0;; ++*which) {
        x = ti_reader_comm(a, *which);
        y = ti_reader_comm(b, *which);
        if (!x && !y)
            return true;
        if (!x || !y || x->rank != y->rank || x->size != y->size ||
            memcmp(x->member, y->member, (size_t)x->size * sizeof *x->member) != 0)
            return false;
    }
}

/* ------------------------------------------------------- trips that are alike -- */

/* Two traces with the same loops are read in step.  As no difference was found in a trip, there is
 * none in those that are alike. */

static size_t extent(void *arg)
{
    (void)arg;
    return 0;
}

static bool remember(void *arg, uint32_t depth)
{
    (void)arg;
    (void)depth;
    return true;
}

static bool steady(void *arg, uint32_t depth)
{
    (void)arg;
    (void)depth;
    return true;
}

static bool leave_out(void *arg, uint32_t depth, uint64_t times, const struct ti_trip_period *p)
{
    struct ti_reader *const *r = arg;

    (void)depth;
    return ti_reader_leave_out(r[0], times, p) && ti_reader_leave_out(r[1], times, p);
}

static bool same_loops(struct ti_reader *const r[2])
{
    const struct ti_folded *a = ti_reader_folded(r[0]), *b = ti_reader_folded(r[1]);

    return a && b && ti_shape_same_loops(a, b);
}

/* Say how far long traces are compared. */
static void tell_progress(const struct ti_reader *r)
{
    char at[32], all[32], note[96];

    if (!ti_reader_folded(r) || !ti_progress_due("comparing"))
        return;
    snprintf(note, sizeof note, "event %s of %s",
             ti_format_count(ti_reader_events(r), at, sizeof at),
             ti_format_count(ti_folded_events(ti_reader_folded(r)), all, sizeof all));
    ti_progress_show(&(struct ti_progress){.step = "comparing",
                                           .unit = "ranks",
                                           .done = ti_reader_rank(r),
                                           .of = ti_reader_nranks(r),
                                           .note = note});
}

/* Compare event by event, up to the first difference. */
static ti_status compare_events(struct ti_reader *const r[2], struct ti_alike *alike,
                                const struct ti_compare_style *style, struct ti_compared *out,
                                struct ti_err *err)
{
    for (uint64_t n = 1; out->more[0]; n++) {
        ti_status st = alike->twin ? ti_alike_leave_out(alike, r[0], err) : TI_OK;

        if (st)
            return st;
        out->events = ti_reader_events(r[0]);
        for (int i = 0; i < 2; i++) {
            out->more[i] = ti_reader_next(r[i], &out->ev[i], err);
            if (out->more[i] < 0)
                return ti_reader_status(r[i]);
        }
        if (out->more[0] != out->more[1] || (out->more[0] && !same(r, out->ev, style))) {
            out->differs = TI_DIFFERS_EVENT;
            return TI_OK;
        }
        if (n % PROGRESS_EVERY == 0)
            tell_progress(r[0]);
    }
    return TI_OK;
}

ti_status ti_compare_rank(struct ti_reader *const r[2], const struct ti_compare_style *style,
                          struct ti_compared *out, struct ti_err *err)
{
    static const struct ti_alike_user user = {extent, remember, steady, leave_out};
    struct ti_alike alike = {.user = &user,
                             .arg = (void *)(uintptr_t)r,
                             .twin = same_loops(r) ? r[1] : NULL,
                             .volumes = !style->no_volumes};
    ti_status st;

    *out = (struct ti_compared){.more = {1, 1}};
    st = compare_events(r, &alike, style, out, err);
    ti_alike_free(&alike);
    if (!st && out->differs == TI_DIFFERS_NOT && !ti_compare_comms(r[0], r[1], &out->comm))
        out->differs = TI_DIFFERS_COMM;
    return st;
}
