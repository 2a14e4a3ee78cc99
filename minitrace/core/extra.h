/*
 * Extra columns of the trace (trace/trace.h): durations of bursts and calls; with counts
 * of all threads, the count of the thread that did most; and the events that are counted
 * beside the volume.
 *
 * The columns follow the rules that enter.c has for the volume: pass-through calls are
 * taken out, the time between unsuccessful polls is judged by the volume between them, and
 * the measured cost of entering and leaving is subtracted.  Time that belongs to no burst
 * belongs to the calls, so nothing is lost:
 *
 *   sum of burst_ns + sum of call_ns + own = elapsed
 *
 * from the end of MPI_Init to MPI_Finalize, less what MPI_Pcontrol(0) dropped; `own` is the
 * library's time.  The time from the end of MPI's function to the writing of the event is
 * the call's.
 *
 * Each thread has an account; with counts of all threads there is one.  Only the owner of
 * ti_state, or the thread that the account belongs to, uses it.
 */
#ifndef TI_MINITRACE_CORE_EXTRA_H
#define TI_MINITRACE_CORE_EXTRA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "event/event.h"
#include "minitrace/counters/counter.h"

/* Readings, taken together: the clock in nanoseconds, then the events beside the volume. */
enum { TI_READINGS = 1 + TI_ALSO_MAX };
_Static_assert(TI_READINGS + 2 <= TI_EXTRAS_MAX, "burst_ns, call_ns, longest and the counters");

/* The treatment of a burst when the next call is entered. */
enum ti_fate {
    TI_FATE_COUNTS,
    TI_FATE_WAITS,  /* undecided until the next poll or event */
    TI_FATE_DROPPED /* part of a polling loop */
};

struct ti_account {
    bool known;  /* `last` is valid */
    bool inside; /* in a call: */
    bool taken;  /* the event of that call was written */
    uint64_t entered;
    uint64_t last[TI_READINGS], burst[TI_READINGS], since_poll[TI_READINGS];
    uint64_t call_ns; /* time in calls since the last event */

    /* of the recorded span: its start, its last event, the library's own time in it, and the time
     * that MPI_Pcontrol(0) dropped */
    uint64_t begin, end, own, stopped;
};

/* Sets *columns to the number of columns that environment and counter ask for.  `alone`: all
 * recorded calls come from one thread.  TI_ERR_USAGE for a name that cannot be a column's. */
ti_status ti_extra_open(const struct ti_counter *counter, bool alone, int *columns,
                        struct ti_err *err);

/* Whether durations are recorded; whether the longest thread of each burst is. */
bool ti_extra_has_times(void);
bool ti_extra_has_longest(void);

/* Metadata: names and units; what is subtracted from each burst; and, of durations, "elapsed 9 own
 * 1 stopped 0" in nanoseconds, into `text`.  "" where there are none. */
const char *ti_extra_names(void);
const char *ti_extra_calibration(void);
const char *ti_extra_times(const struct ti_account *a, char *text, size_t bytes);

/* The clock in nanoseconds if durations are recorded; else 0. */
uint64_t ti_extra_clock(void);

/*
 * The three steps of a call.  ti_extra_enter(): the call is entered, at these readings;
 * if the call before was left by longjmp() or an exception, the time up to now is that
 * call's.  ti_extra_read(): MPI's function has returned; *values are the columns of the
 * event.  ti_extra_leave(): the call is left; the caller reads the counters into
 * a->last[1..].
 */
void ti_extra_enter(struct ti_account *a, const uint64_t *at, enum ti_fate fate);
void ti_extra_read(struct ti_account *a, bool stopped, uint64_t longest, uint64_t *values);
void ti_extra_leave(struct ti_account *a);

/* Calibration, see ti_calibrate(): begin; the first or second call of a pair was entered; end. */
void ti_extra_calibrate_begin(struct ti_account *a);
void ti_extra_calibrate_pair(struct ti_account *a, bool second);
void ti_extra_calibrate_end(struct ti_account *a);

#endif
