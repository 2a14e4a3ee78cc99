/*
 * More or fewer trips of loops: makes a trace of what would have run if a loop had other trips.
 *
 * Each pass of a loop gets the same new number of trips.  Fewer trips are the first ones of the
 * pass.  More trips are those that it had, and then these again and again, in their order:
 *
 *   - If trips, from some trip on, repeat others as to calls, fields and inner loops, and perhaps
 *     as to volumes, then as many whole periods are repeated as the pass has.  Trips before the
 *     first period are not among them; if there are none, the first period is not either.  These
 *     trips often begin something.  Up to 16 trips after the last period are a tail, which often
 *     ends something: it stays at the end, and new trips come before it.  It also stays where there
 *     are fewer trips, if those before the first period, and at least one, have room before it.
 *   - Else, the whole pass is repeated.  The burst before each repetition is then that before the
 *     last trip, because the burst before the first trip is also that before the loop.
 *
 * A trip keeps its volumes, fields, inner loops and extra values.  Values that the trace has
 * statistics of get the same shares; values within a bound are repeated.  Number of events, volume
 * and hash are those of the new events; where these are many, the hash is that of the record
 * (ti_record_hash()).  Metadata "changed" says what was done; metadata that was measured of the
 * whole run, such as "whole", is left out.
 *
 * All ranks that have the loop are changed; it must have the same trips on them.  What cannot be
 * expressed is refused: loops that make communicators, windows or files, which have numbers of
 * their own; and a result that is not sound (sound/check.h), for instance since requests that the
 * loop makes are completed behind it.
 *
 * Time and memory depend on the record, not on the new number of trips, unless fields or inner
 * loops differ from trip to trip: then the check of the result reads all of them.
 */
#ifndef TI_TRIPS_TRIPS_H
#define TI_TRIPS_TRIPS_H

#include "bundle/source.h"
#include "callsite/symbolizer.h"
#include "common/ranges.h"
#include "trips/names.h"

/* The most loops that one call changes. */
#define TI_TRIPS_MOST 16

/* A loop that is asked for; and, after ti_trips_write(), what it had. */
struct ti_trips_loop {
    char loop[TI_LOOP_NAME_BYTES]; /* its name */
    uint64_t trips;                /* of each pass */

    struct ti_ranges ranks; /* that have it */
    uint64_t passes;        /* of the first of these ranks */
    uint64_t least, most;   /* trips that a pass had */
    bool same;  /* the trips that are repeated have the same calls with the same fields, and the
                 * same inner loops */
    bool alike; /* and the same volumes */
    bool drawn; /* some volumes are statistics */
    /* of a pass of `most` trips: trips from + 1 to from + length are repeated; length 0: none,
     * since there are no more trips than before */
    uint64_t from, length;
    uint64_t tail; /* trips that stay at the end */
};

struct ti_trips {
    struct ti_trips_loop loop[TI_TRIPS_MOST];
    int n;
};

/* Add what "LOOP=TRIPS" asks for.  TI_ERR_USAGE. */
ti_status ti_trips_add(struct ti_trips *t, const char *text, struct ti_err *err);
void ti_trips_free(struct ti_trips *t);

/*
 * Write the changed trace of `s` into the new file `path`, as a merged trace, and check it.
 *
 *   tool  is named in the metadata
 *   z     source lines for the names of loops; NULL: there are none
 *
 * TI_ERR_INPUT: a loop is not there, or cannot have these trips; a rank is missing, incomplete or
 * damaged; or the result is not sound.  TI_ERR_IO.
 */
ti_status ti_trips_write(struct ti_trips *t, struct ti_source *s, const char *tool,
                         struct ti_symbolizer *z, const char *path, struct ti_err *err);

/* Write in a few words which trips a loop has now into buf, cut if it does not fit; "" if it has
 * only the first ones that it had.  Returns buf. */
const char *ti_trips_short_text(const struct ti_trips_loop *loop, char *buf, size_t bytes);

/* Write in words what became of a loop into buf, cut if it does not fit.  Returns buf. */
const char *ti_trips_text(const struct ti_trips_loop *loop, char *buf, size_t bytes);

/* The same as JSON: a new list of all loops. */
json_t *ti_trips_json(const struct ti_trips *t);

#endif
