/*
 * Leaving out trips of loops, for those who need only one of many that are alike.
 *
 * Trips are alike if they have the same events but for volumes and extra values.  Where columns are
 * constant, or repeat in a circle, this follows from the columns, without reading the events.
 */
#ifndef TI_FOLD_TRIPS_H
#define TI_FOLD_TRIPS_H

#include "fold/decode.h"

/* A trip of a loop that begins. */
struct ti_trip_start {
    uint32_t depth; /* loops around the loop */
    bool first;     /* of this pass of the loop */
    uint64_t left;  /* trips of this pass that are to come, this one included */
};

/* Before ti_folded_next(): whether a trip begins here.  Call it again until it is false, since
 * inner loops may begin there, too.  It is false where the record is malformed; ti_folded_next()
 * then says so. */
bool ti_folded_trip(struct ti_folded *f, struct ti_trip_start *out);

/* A stretch of trips of a loop: one, or several that differ but come again and again. */
struct ti_trip_period {
    uint64_t trips;
    uint64_t events; /* of all these trips */
};

/* From the trip on that ti_folded_trip() reported last, before its first event: how many stretches
 * of p->trips trips are known to be alike, this one included; at least 1.  p->events is set. */
uint64_t ti_folded_alike(struct ti_folded *f, struct ti_trip_period *p);

/* The same for trips whose volumes are alike, too; it is no first trip. */
uint64_t ti_folded_alike_volumes(struct ti_folded *f, struct ti_trip_period *p);

/*
 * Find the stretch, from the same trip on, that columns in circles repeat, for instance where an
 * inner loop has other trips every tenth time.  It is a multiple of p->trips trips, which is
 * replaced.  Returns how many stretches are alike, as above; 0 if there are not two.  *runs becomes
 * the runs of columns that were read, which may be thousands.
 */
uint64_t ti_folded_find_period(struct ti_folded *f, struct ti_trip_period *p, uint64_t *runs);

/*
 * Leave out `n` times *p, from this trip on, which must be alike and have no first trip.  Values
 * that are drawn from histograms (event/quality.h) are others afterwards than sequential reading
 * gives.  False if the record is malformed, or memory is short.
 */
bool ti_folded_leave_out(struct ti_folded *f, uint64_t n, const struct ti_trip_period *p);

#endif
