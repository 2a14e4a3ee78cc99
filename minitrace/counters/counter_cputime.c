/* The counter cputime: the thread's CPU time.  Works everywhere, but is an estimate. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "minitrace/counters/counter_impl.h"

static uint64_t cputime_read(void)
{
    return ti__clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Includes threads that have ended, because the process's time does. */
static uint64_t cputime_others(void)
{
    uint64_t all = ti__clock(CLOCK_PROCESS_CPUTIME_ID);

    return all - cputime_read();
}

ti_status ti__counter_open_cputime(bool sum, struct ti_counter *out, struct ti_err *err)
{
    struct timespec ts;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) != 0)
        return ti_err_errno(err, TI_ERR_INPUT, "cannot read the thread's CPU time");
    *out = (struct ti_counter){
        .backend = "cputime",
        .unit = "nanoseconds",
        .exact = false,
        .estimate = true,
        .read_method = "system call",
        .from_start = true,
        .word = &ti__counter_no_word,
        .read = cputime_read,
        .sum = sum,
        .others = sum ? cputime_others : NULL,
    };
    strcpy(out->event, sum ? "CLOCK_PROCESS_CPUTIME_ID" : "CLOCK_THREAD_CPUTIME_ID");
    return TI_OK;
}
