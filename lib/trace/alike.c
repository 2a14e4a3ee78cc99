#include "trace/alike.h"

#include <errno.h>
#include <stdlib.h>

#include "common/map.h"
#include "fold/trips.h"

#define TRIES     3  /* of trips after which the state may be steady */
#define RUNS_TRIP 16 /* of columns: these take about as long to read as a trip */

/* A loop in which the present place is. */
struct ti_alike_level {
    bool marked;
    unsigned tries;
    uint64_t alike; /* periods from the mark on; not marked: how many trips not to try */
    struct ti_trip_period period; /* one trip, or several that differ */
    uint64_t pending;             /* trips of a period that have not begun yet, and one */
};

void ti_alike_free(struct ti_alike *a)
{
    free(a->level);
    a->level = NULL;
    a->n = a->cap = 0;
}

bool ti_alike_marked(const struct ti_alike *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->level[i].marked)
            return true;
    return false;
}

void ti_alike_forget(struct ti_alike *a)
{
    for (size_t i = 0; i < a->n; i++)
        a->level[i] = (struct ti_alike_level){.marked = false};
}

/* The level of a depth; NULL: no memory. */
static struct ti_alike_level *level_at(struct ti_alike *a, uint32_t depth)
{
    if (!TI_ROOM(a->level, &a->cap, depth + 1))
        return NULL;
    a->n = depth >= a->n ? depth + 1 : a->n;
    return &a->level[depth];
}

/* How many stretches of p->trips trips from this one on are alike; p->events is set. */
static uint64_t count_alike(const struct ti_alike *a, struct ti_reader *r, struct ti_trip_period *p)
{
    struct ti_trip_period of_twin = {p->trips, 0};
    uint64_t twins = UINT64_MAX, alike;

    alike = a->volumes ? ti_folded_alike_volumes(ti_reader_folded(r), p)
                       : ti_folded_alike(ti_reader_folded(r), p);
    if (a->twin)
        twins = a->volumes ? ti_folded_alike_volumes(ti_reader_folded(a->twin), &of_twin)
                           : ti_folded_alike(ti_reader_folded(a->twin), &of_twin);
    return twins < alike ? twins : alike;
}

/* Find the stretch of trips that covers most trips when it is repeated; returns how many are alike.
 */
static uint64_t find_period(struct ti_alike *a, struct ti_reader *r,
                            const struct ti_trip_start *trip, struct ti_trip_period *p)
{
    struct ti_trip_period longer = {1, 0};
    uint64_t alike, n, runs;

    *p = longer;
    alike = count_alike(a, r, p);
    if (alike == trip->left)
        return alike;
    if (a->wait) {
        a->wait--;
        return alike;
    }
    n = ti_folded_find_period(ti_reader_folded(r), &longer, &runs);
    a->wait = runs / RUNS_TRIP;
    if (n && (a->volumes || a->twin))
        n = count_alike(a, r, &longer);
    if (n < 2 || n * longer.trips <= alike)
        return alike;
    *p = longer;
    return n;
}

/* Mark the begin of a trip, if enough trips are alike to be worth it.  Volumes of a first trip may
 * be those of another arrival (fold/fold.h), so it is not compared by volumes.  False: no memory.
 */
static bool consider(struct ti_alike *a, struct ti_reader *r, const struct ti_trip_start *trip,
                     struct ti_alike_level *l)
{
    struct ti_trip_period p;
    uint64_t alike;

    if (a->volumes && trip->first)
        return true;
    alike = find_period(a, r, trip, &p);
    if ((alike - 1) * p.events <= a->user->extent(a->arg))
        return true;
    *l = (struct ti_alike_level){true, TRIES, alike, p, p.trips};
    return a->user->remember(a->arg, trip->depth);
}

/* A trip begins, and the trips before are the period since the mark.  False if the record is
 * malformed, or memory is short. */
static bool end_marked(struct ti_alike *a, struct ti_reader *r, const struct ti_trip_start *trip,
                       struct ti_alike_level *l)
{
    uint64_t left = --l->alike;

    l->pending = l->period.trips;
    if (a->user->steady(a->arg, trip->depth)) {
        l->marked = false;
        l->alike = 0;
        if (!a->user->repeat(a->arg, trip->depth, left, &l->period))
            return false;
        a->left_out += left * l->period.events;
        if (left * l->period.trips < trip->left)
            return consider(a, r, trip, l);
    } else if (--l->tries && left > 1) {
        return a->user->remember(a->arg, trip->depth);
    } else {
        l->marked = false;
        l->alike = left * l->period.trips;
    }
    return true;
}

ti_status ti_alike_leave_out(struct ti_alike *a, struct ti_reader *r, struct ti_err *err)
{
    struct ti_trip_start trip, other;

    while (ti_reader_trip(r, &trip)) {
        struct ti_alike_level *l = level_at(a, trip.depth);

        errno = l ? 0 : ENOMEM;
        if (!l)
            return ti_reader_malformed(r, err);
        if (a->twin && (!ti_reader_trip(a->twin, &other) || other.left != trip.left))
            return ti_reader_malformed(a->twin, err);
        if (trip.first) {
            l->marked = false;
            l->alike = 0;
        }
        if (l->marked) {
            if (--l->pending == 0 && !end_marked(a, r, &trip, l))
                return ti_reader_malformed(r, err);
        } else if (l->alike) {
            l->alike--;
        } else if (!consider(a, r, &trip, l)) {
            return ti_reader_malformed(r, err);
        }
    }
    return TI_OK;
}
