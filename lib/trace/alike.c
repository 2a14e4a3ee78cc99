#include "trace/alike.h"

#include <errno.h>
#include <stdlib.h>

#include "common/map.h"
#include "fold/trips.h"

#define TRIES 3 /* of trips after which the state may be steady */

/* A loop in which the present place is. */
struct ti_alike_level {
    bool marked;
    unsigned tries;
    uint64_t alike;  /* trips from the mark on; not marked: how many not to try */
    uint64_t events; /* of each of them */
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

/* How many trips from this one on are alike, and the events of each. */
static uint64_t count_alike(const struct ti_alike *a, struct ti_reader *r, uint64_t *events)
{
    struct ti_trip_period trip = {1, 0}, of_twin = {1, 0};
    uint64_t twins = UINT64_MAX, alike;

    alike = a->volumes ? ti_folded_alike_volumes(ti_reader_folded(r), &trip)
                       : ti_folded_alike(ti_reader_folded(r), &trip);
    *events = trip.events;
    if (a->twin)
        twins = a->volumes ? ti_folded_alike_volumes(ti_reader_folded(a->twin), &of_twin)
                           : ti_folded_alike(ti_reader_folded(a->twin), &of_twin);
    return twins < alike ? twins : alike;
}

/* Mark the begin of a trip, if enough trips are alike to be worth it.  Volumes of a first trip may
 * be those of another arrival (fold/fold.h), so it is not compared by volumes.  False: no memory.
 */
static bool consider(struct ti_alike *a, struct ti_reader *r, const struct ti_trip_start *trip,
                     struct ti_alike_level *l)
{
    uint64_t events, alike;

    if (a->volumes && trip->first)
        return true;
    alike = count_alike(a, r, &events);
    if ((alike - 1) * events <= a->user->extent(a->arg))
        return true;
    *l = (struct ti_alike_level){true, TRIES, alike, events};
    return a->user->remember(a->arg, trip->depth);
}

/* A trip begins, and the trip before is the one since the mark.  False if the record is malformed,
 * or memory is short. */
static bool end_marked(struct ti_alike *a, struct ti_reader *r, const struct ti_trip_start *trip,
                       struct ti_alike_level *l)
{
    uint64_t left = --l->alike;

    if (a->user->steady(a->arg, trip->depth)) {
        l->marked = false;
        l->alike = 0;
        if (!a->user->repeat(a->arg, trip->depth, left, l->events))
            return false;
        a->left_out += left * l->events;
        if (left < trip->left)
            return consider(a, r, trip, l);
    } else if (--l->tries && left > 1) {
        return a->user->remember(a->arg, trip->depth);
    } else {
        l->marked = false;
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
            if (!end_marked(a, r, &trip, l))
                return ti_reader_malformed(r, err);
        } else if (l->alike) {
            l->alike--;
        } else if (!consider(a, r, &trip, l)) {
            return ti_reader_malformed(r, err);
        }
    }
    return TI_OK;
}
