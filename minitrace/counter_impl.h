/*
 * What counter.c and its back ends share.  Each open function fills *out and
 * returns TI_OK, or leaves *out alone, fills err and returns TI_ERR_INPUT
 * (TI_ERR_USAGE if `event` cannot be an event's name).  They may change errno:
 * ti_counter_open() restores it.
 */
#ifndef TI_COUNTER_IMPL_H
#define TI_COUNTER_IMPL_H

#include <stdbool.h>
#include <time.h>

#include "minitrace/counter.h"

/* What PAPI counts when the choice names no event. */
#define TI__PAPI_DEFAULT "PAPI_TOT_INS"

ti_status ti__counter_open_valgrind(bool sum, struct ti_counter *out, struct ti_err *err);
ti_status ti__counter_open_papi(const char *event, const char *also, bool sum,
                                struct ti_counter *out, struct ti_err *err);
ti_status ti__counter_open_blocks(bool sum, struct ti_counter *out, struct ti_err *err);
ti_status ti__counter_open_cputime(bool sum, struct ti_counter *out, struct ti_err *err);

/* Count the PAPI events `also` beside what another back end has opened as *counter,
 * which is left alone on failure. */
ti_status ti__counter_add_papi(const char *also, struct ti_counter *counter, struct ti_err *err);

/* Stop the calling thread's PAPI events, if there are any. */
void ti__counter_close_papi(void);

/* Does this process run under a ticount that speaks our version? */
bool ti__counter_under_ticount(void);

/* A clock, in nanoseconds. */
static inline uint64_t ti__clock(clockid_t clock)
{
    struct timespec ts = {0, 0};

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What `word` points to where it says nothing. */
extern const volatile uint64_t ti__counter_no_word;

#endif
