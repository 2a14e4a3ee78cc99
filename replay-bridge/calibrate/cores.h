/*
 * How much the times of one and the same loop differ: from burst to burst on one core, from core to
 * core of one node, and from node to node.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_CORES_H
#define TI_REPLAY_BRIDGE_CALIBRATE_CORES_H

#include <jansson.h>
#include <stdio.h>

#include "config/calibration.h"

/*
 * Read the lines "core NODE CORE SECONDS" that ti-calibrate-mpi prints (time_cores.h), and fill in
 * c->noise.  Other lines are skipped.
 *
 * The times are taken as a random effect of the node, plus one of the core, plus one of the burst.
 * The variance of each is estimated without bias from the sums of squares: the means of cores vary
 * because of bursts, too, and those of nodes because of cores.  An estimate below 0 is 0.  Standard
 * deviations are relative to the mean of all times.  `core` and `node` are -1 if no node has two
 * cores, or if there is one node; all are -1 if no core has two times.
 *
 * TI_ERR_INPUT: a malformed line, or no times.
 */
ti_status ti_cores_read(FILE *in, struct ti_calibration *c, struct ti_err *err);

/* Print c->noise in words, or return it as JSON, a new reference. */
void ti_cores_print(const struct ti_calibration *c, FILE *out);
json_t *ti_cores_json(const struct ti_calibration *c);

#endif
