/* The counter cputime: the thread's CPU time.  Works everywhere, but is an estimate. */
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

static ti_status cputime_open(const char *event, const struct ti_counter_request *wish,
                              struct ti_counter *out, struct ti_err *err)
{
    struct timespec ts;

    (void)event;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) != 0)
        return ti_err_errno(err, TI_ERR_INPUT, "cannot read the thread's CPU time");
    out->read = cputime_read;
    if (wish->sum) {
        out->event = "CLOCK_PROCESS_CPUTIME_ID";
        out->others = cputime_others;
    }
    return TI_OK;
}

const struct ti_counter_backend ti__counter_cputime = {
    .name = "cputime",
    .event = "CLOCK_THREAD_CPUTIME_ID",
    .unit = "nanoseconds",
    .read_method = "system call",
    .advice = "cputime is an estimate",
    .estimate = true,
    .sums = true,
    .from_start = true,
    .open = cputime_open,
};
