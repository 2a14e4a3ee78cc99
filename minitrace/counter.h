/*
 * Counters: what a burst's volume is measured with.
 *
 * A back end counts, for the calling thread, something that grows with the
 * computation done (instructions, mostly).  It is opened once per process, in
 * MPI_Init, and read on entry to and on exit from every outermost MPI call;
 * what passes in between (MPI, the recorder, its flushes) is never counted.
 *
 *   papi       a PAPI preset or native event (default PAPI_TOT_INS), taken
 *              only if it counts when tried: add, start, and a non-zero
 *              difference over a loop of known length.  PAPI says "available"
 *              on machines where the event can't be started.  A thread has its
 *              own event set from its first read on.  An application that uses
 *              PAPI itself needs another counter: PAPI runs one event set per
 *              thread and component.
 *   valgrind   the instruction count that the `ticount` valgrind tool keeps;
 *              exact, needs no hardware counter; the process must run under
 *              valgrind --tool=ticount.
 *   cputime    the thread's CPU time in nanoseconds: an estimate, never
 *              chosen by itself and marked as inexact in the trace.
 *   auto       valgrind when running under ticount, else papi, else an error
 *              that lists the choices.
 */
#ifndef TI_COUNTER_H
#define TI_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct ti_counter {
    char backend[16]; /* "papi", "valgrind", "cputime" */
    char event[64];   /* "PAPI_TOT_INS", "guest instructions", ... */
    char unit[16];    /* "instructions", "nanoseconds", or "events" (PAPI's others) */
    bool exact;       /* same work, same count */
    bool sum;         /* for what all threads do, see ti_counter_open() */
    bool from_start;  /* a thread's count is 0 when it starts, not when it first reads */

    /*
     * How to read it.  `word` is never NULL.  If `read` is NULL, *word is the
     * calling thread's count and a plain load reads it; else call read().
     * Values grow by one per unit from any starting point, and wrap at 2^64.
     */
    const volatile uint64_t *word;
    uint64_t (*read)(void);

    /* If `sum`: the count of all other threads of the process; NULL if what is
     * read above has theirs in it and cannot tell them apart. */
    uint64_t (*others)(void);
};

/*
 * Open a back end for the calling thread.
 *
 *   choice  "auto", "papi", "papi:EVENT", "valgrind" or "cputime"; EVENT is
 *           PAPI's name of it, such as "perf::TASK-CLOCK" or
 *           "sde:::library::EVENT", of up to 63 characters
 *   sum     count what all threads of the process do, not the calling one
 *           alone.  With PAPI these are the thread that opens, and what it and
 *           its descendants start from then on; it alone may read.
 *   *out    set on success only
 *   err     why not, and as a hint what to do instead
 *
 * Returns TI_OK, TI_ERR_USAGE for an unknown choice, or TI_ERR_INPUT when that
 * counter does not count here, or not for all threads.  Writes nothing anywhere; leaves errno
 * alone.
 */
ti_status ti_counter_open(const char *choice, bool sum, struct ti_counter *out, struct ti_err *err);

/* Stop counting in the calling thread, release what ti_counter_open() took for
 * it, and clear *counter.  Leaves errno alone. */
void ti_counter_close(struct ti_counter *counter);

#endif
