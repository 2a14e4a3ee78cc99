/*
 * The memory that ranks of a node share: the bandwidth of their messages, and that of copies.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_MEMORY_H
#define TI_REPLAY_BRIDGE_CALIBRATE_MEMORY_H

#include <stdio.h>

#include "config/calibration.h"

/*
 * Read the lines "exchange RANKS SIZE SECONDS" and "copy RANKS SIZE SECONDS" that ti-calibrate-mpi
 * prints (time_memory.h), and fill in c->network.shared and c->network.copy.  Other lines are
 * skipped.  The bandwidth of a size is the size over the median of its times, and that of a number
 * of ranks the median of its sizes; copies are those of the most ranks.
 *
 * TI_ERR_INPUT: a malformed line, or no times.
 */
ti_status ti_memory_read(FILE *in, struct ti_calibration *c, struct ti_err *err);

/* Print both in words. */
void ti_memory_print(const struct ti_calibration *c, FILE *out);

#endif
