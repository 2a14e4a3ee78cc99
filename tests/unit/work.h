/*
 * Pieces of work with a trace, for tests that let them fail.
 */
#ifndef TI_TESTS_UNIT_WORK_H
#define TI_TESTS_UNIT_WORK_H

#include <stdint.h>

#include "common/err.h"

/* Do it with the trace at `path`.  *hash, which is 0 before, becomes a hash of what was found out;
 * it is valid if the result is TI_OK. */
typedef ti_status work(const char *path, uint64_t *hash, struct ti_err *err);

work work_read_source; /* all events and more of each rank, with shared lists of ranks */
work work_read_alone;  /* of the first rank, without */
work work_read_views;  /* of a merged trace: the values of all parts of all groups */
work work_scan_all;    /* the sums of each rank */
work work_check;       /* whether the trace is sound */
work work_pass_over;   /* the pass over all ranks */
work work_read_shapes; /* ranks with equal loops, added up */
work work_use_library; /* the functions of libtiara */

/* Of a rank file: its record, exact and in other qualities, or only its shape; and its folded
 * record made again by a builder. */
work work_encode, work_encode_bounded, work_encode_statistics, work_encode_shape, work_rebuild;

/* How many of these records so far were copies of the file. */
extern unsigned work_copies;

/* The events that the last work_check() left out, because trips of loops are alike. */
extern uint64_t work_left_out;

#endif
