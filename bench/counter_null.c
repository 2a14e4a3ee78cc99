/* In place of minitrace's counters, in the benchmarks' build of the library: a
 * word that never changes, so that what remains is the library's own cost. */
#include <stddef.h>

#include "minitrace/counters/counter.h"

static const volatile uint64_t word;
static const struct ti_counter_backend null = {.name = "null", .exact = true};

static uint64_t others(void)
{
    return word;
}

ti_status ti_counter_open(const struct ti_counter_request *wish, struct ti_counter *out,
                          struct ti_err *err)
{
    bool sum = wish->sum;

    (void)err;
    *out = (struct ti_counter){.backend = &null,
                               .event = "nothing",
                               .unit = "events",
                               .exact = true,
                               .read_method = "load",
                               .word = &word,
                               .sum = sum,
                               .others = sum ? others : NULL};
    return TI_OK;
}

void ti_counter_close(struct ti_counter *counter)
{
    (void)counter;
}

bool ti_counter_blocks(uint64_t *count, uint64_t *own)
{
    (void)count;
    (void)own;
    return false;
}
