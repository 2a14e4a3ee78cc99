/* Counts from the end of MPI_Init to the entry of MPI_Finalize. */
#include "minitrace/core/thread.h"

static bool span_ended;

static uint64_t whole_count(void)
{
    return ti_own_count() + (ti_state.counter.others ? ti_state.counter.others() : 0);
}

static uint64_t outside_count(void)
{
    return ti_state.counter.outside ? ti_state.counter.outside() : 0;
}

void ti_span_begin(void)
{
    /* first, because it looks up symbols */
    ti_counter_blocks(&ti_state.blocks.from, &ti_state.blocks_own.from);
    ti_state.outside.from = outside_count();
    ti_state.whole.from = whole_count();
}

void ti_span_end(void)
{
    if (span_ended || !ti_thread.first)
        return;
    ti_state.whole.count = whole_count() - ti_state.whole.from;
    ti_state.outside.count = outside_count() - ti_state.outside.from;
    ti_counter_blocks(&ti_state.blocks.count, &ti_state.blocks_own.count);
    ti_state.blocks.count -= ti_state.blocks.from;
    ti_state.blocks_own.count -= ti_state.blocks_own.from;
    span_ended = true;
}

bool ti_span_known(void)
{
    return span_ended;
}
