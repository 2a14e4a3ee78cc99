/* Beginning to record: how, and whether at all. */
#ifndef TI_MINITRACE_BEGIN_H
#define TI_MINITRACE_BEGIN_H

#include "minitrace/core/state.h"

/* Begin the recording, once.  `start`: ti_seconds() before MPI_Init.  `provided`: the thread level
 * in the event.  `level`: the thread level that the application keeps to. */
void ti_recording_begin(double start, int provided, int level);

/* metadata.c: write the metadata for the start of the trace. */
void ti_write_metadata(void);

/* Sleep for TIARA_LINGER seconds.  Called at the end of MPI_Finalize: a launcher may report a rank
 * as failed if its process ends before the launcher has read that the rank finished. */
void ti_linger(void);

/*
 * agree.c: check that all ranks count alike, or that none counts.  Collective over
 * MPI_COMM_WORLD.
 *
 * `dir` is the absolute name of the trace directory.  `why` says why this rank does
 * not count, or is NULL if it does.  On rank 0, `id` is the run id and `go_on` says
 * whether a trace can be written at all; if not, `err` is already filled.  The other
 * ranks receive both.
 *
 * Returns false, and fills `err`, if nothing must be recorded.  err->text is empty on
 * a rank that has nothing to add to the message of another one.
 */
bool ti_agree(const char *dir, const struct ti_err *why, bool go_on, uint8_t id[TI_RUN_ID_BYTES],
              struct ti_err *err);

/* nodes.c: ti_nodes_read() reads TIARA_RANKS_PER_NODE; false and `err` if it is not a number.
 * ti_nodes_begin() is called once; from then on the library answers the application's questions
 * for nodes. */
bool ti_nodes_read(struct ti_err *err);
void ti_nodes_begin(void);

#endif
