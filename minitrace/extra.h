/*
 * Extra columns of the trace (formats/trace.h): how long bursts and calls are; of volumes of
 * all threads, the share of the thread that did most; and what the counter counts beside the
 * volume.
 *
 * What record.c does with the volume of a burst is done with these, too: noted
 * calls are taken out, failed polls are judged by the volume between them, what
 * entering and leaving cost is measured and subtracted.  The time of all that is no
 * burst is the calls', so that nothing is lost:
 *
 *   sum of burst_ns + sum of call_ns + own = elapsed
 *
 * from the end of MPI_Init to MPI_Finalize, less what MPI_Pcontrol(0) dropped;
 * `own` is the library's.  What a recorder does between the end of MPI's function
 * and the writing of the event is the call's.
 *
 * A thread has an account; there is one for all where volumes are summed up.  It
 * is only touched by the thread that holds ti_state, or whose own it is.
 */
#ifndef TI_EXTRA_H
#define TI_EXTRA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "formats/event.h"
#include "minitrace/counter.h"

/* Readings, taken together: the clock in nanoseconds, then the further counters. */
enum { TI_READINGS = 1 + TI_ALSO_MAX };
_Static_assert(TI_READINGS + 2 <= TI_EXTRAS_MAX, "burst_ns, call_ns, longest and the counters");

/* What becomes of a burst when a call is entered. */
enum ti_fate {
    TI_FATE_COUNTS,
    TI_FATE_WAITS,  /* for the next poll's, or what else comes, to be judged with it */
    TI_FATE_DROPPED /* it is a polling loop's own */
};

struct ti_account {
    bool known;  /* `last` is good */
    bool inside; /* in a call: */
    bool taken;  /* whose event was written */
    uint64_t entered;
    uint64_t last[TI_READINGS], burst[TI_READINGS], since_poll[TI_READINGS];
    uint64_t call_ns; /* in calls since the last event */

    /* of the recorded span: where it began and its last event was, time in it that was
     * ours, and that was dropped by MPI_Pcontrol(0) */
    uint64_t begin, end, own, stopped;
};

/* Columns that the environment and the counter ask for, in *columns: 0 if none.  `alone`: one
 * thread makes all calls that are recorded.  TI_ERR_USAGE for a name that cannot be a column's. */
ti_status ti_extra_open(const struct ti_counter *counter, bool alone, int *columns,
                        struct ti_err *err);

/* Whether the longest thread of each burst is recorded. */
bool ti_extra_has_longest(void);

/* Metadata: names and units; what is subtracted from each burst; and of durations,
 * into `text`, "elapsed 9 own 1 stopped 0" in nanoseconds.  "" where there are none. */
const char *ti_extra_names(void);
const char *ti_extra_calibration(void);
const char *ti_extra_times(const struct ti_account *a, char *text, size_t bytes);

/* The clock, if durations are wanted; else 0. */
uint64_t ti_extra_clock(void);

/*
 * A call is entered, at these readings; it is over and its event has these values;
 * it is left, now: the counters are read into a->last[1..] by the caller.  If one
 * was left by longjmp() or an exception, then the time up to the next is the call's.
 */
void ti_extra_enter(struct ti_account *a, const uint64_t *at, enum ti_fate fate);
void ti_extra_take(struct ti_account *a, bool stopped, uint64_t longest, uint64_t *values);
void ti_extra_leave(struct ti_account *a);

/* Calibration, see ti_calibrate(): it begins; the second call of each pair was
 * entered; it ends. */
void ti_extra_calibrate_begin(struct ti_account *a);
void ti_extra_calibrate_pair(struct ti_account *a, bool second);
void ti_extra_calibrate_end(struct ti_account *a);

#endif
