/* The smallest counter, the time stamp counter, and its row: for tests/mpi/counter.sh. */
#include "minitrace/counters/counter_impl.h"

static uint64_t tsc_read(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static ti_status tsc_open(const char *event, const struct ti_counter_request *wish,
                          struct ti_counter *out, struct ti_err *err)
{
    (void)event;
    (void)wish;
    (void)err;
    out->read = tsc_read;
    return TI_OK;
}

static const struct ti_counter_backend tsc = {
    .name = "tsc",
    .event = "time stamps",
    .unit = "ticks",
    .read_method = "rdtsc",
    .estimate = true,
    .open = tsc_open,
};

const struct ti_counter_backend *const ti_counter_table[] = {
    &ti__counter_papi, &ti__counter_blocks, &ti__counter_valgrind, &ti__counter_cputime, &tsc, NULL,
};
