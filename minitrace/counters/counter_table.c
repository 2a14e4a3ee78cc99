/*
 * The table of counter back ends.  `auto` tries first what costs least: the processor counts at no
 * cost, a program compiled for it at little, and valgrind makes it several times slower.
 */
#include "minitrace/counters/counter_impl.h"

const struct ti_counter_backend *const ti_counter_table[] = {
    &ti__counter_papi, &ti__counter_blocks, &ti__counter_valgrind, &ti__counter_cputime, NULL,
};
