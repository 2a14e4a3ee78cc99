/* Declarations that counter.c and the counter back ends share. */
#ifndef TI_MINITRACE_COUNTERS_COUNTER_IMPL_H
#define TI_MINITRACE_COUNTERS_COUNTER_IMPL_H

#include <time.h>

#include "minitrace/counters/counter.h"

extern const struct ti_counter_backend ti__counter_papi, ti__counter_blocks, ti__counter_valgrind,
    ti__counter_cputime;

/* Count the PAPI events `also` beside *counter, which another back end has opened.  *counter is
 * unchanged on failure. */
ti_status ti__counter_add_papi(const char *also, struct ti_counter *counter, struct ti_err *err);

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
