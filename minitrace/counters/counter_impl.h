/*
 * Declarations that counter.c and the counter back ends share.  Each open function fills *out and
 * returns TI_OK; or leaves *out alone, fills err and returns TI_ERR_INPUT, or TI_ERR_USAGE if
 * `event` cannot be an event's name.  They may change errno; ti_counter_open() restores it.
 */
#ifndef TI_MINITRACE_COUNTERS_COUNTER_IMPL_H
#define TI_MINITRACE_COUNTERS_COUNTER_IMPL_H

#include <stdbool.h>
#include <time.h>

#include "minitrace/counters/counter.h"

/* The default event of the counter papi. */
#define TI__PAPI_DEFAULT "PAPI_TOT_INS"

ti_status ti__counter_open_valgrind(bool sum, struct ti_counter *out, struct ti_err *err);
ti_status ti__counter_open_papi(const char *event, const char *also, bool sum,
                                struct ti_counter *out, struct ti_err *err);
ti_status ti__counter_open_blocks(bool sum, struct ti_counter *out, struct ti_err *err);
ti_status ti__counter_open_cputime(bool sum, struct ti_counter *out, struct ti_err *err);

/* Count the PAPI events `also` beside *counter, which another back end has opened.  *counter is
 * unchanged on failure. */
ti_status ti__counter_add_papi(const char *also, struct ti_counter *counter, struct ti_err *err);

/* Release the calling thread's PAPI event sets, if there are any. */
void ti__counter_close_papi(void);

/* Whether this process runs under a ticount with the same protocol version. */
bool ti__counter_under_ticount(void);

/* A clock in nanoseconds. */
static inline uint64_t ti__clock(clockid_t clock)
{
    struct timespec ts = {0, 0};

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The target of `word` where `word` has no meaning. */
extern const volatile uint64_t ti__counter_no_word;

#endif
