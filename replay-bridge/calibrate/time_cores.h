/*
 * A part of ti-calibrate-mpi: the times of one and the same loop on each core of each node.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_TIME_CORES_H
#define TI_REPLAY_BRIDGE_CALIBRATE_TIME_CORES_H

#include <mpi.h>
#include <stdint.h>

/*
 * On each node, the rank with the lowest number there executes the loop `repeats` times on each
 * core that it may use, one core after the other; the other ranks of the node sleep meanwhile. Rank
 * 0 prints a line for each time:
 *
 *   core NODE CORE SECONDS     CPU time of the loop; nodes and cores are numbered from 0
 *
 * Collective over MPI_COMM_WORLD, of any number of ranks.  Without memory the program is aborted.
 */
void ti_time_cores(int64_t repeats);

/* Waits for all ranks of `comm` without keeping a core busy. */
void ti_meet(MPI_Comm comm);

#endif
