/* The times of the ranks of one run, counted from a common start. */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_ALIGN_H
#define TI_REPLAY_BRIDGE_CALIBRATE_ALIGN_H

#include <stdint.h>

/* One rank of a run. */
struct ti_rank_span {
    double from;      /* when the rank left MPI_Init, in seconds of its machine's clock */
    double seconds;   /* from then to its entry of MPI_Finalize */
    char machine[64]; /* boot id; "" if the trace does not tell */
};

/* Read the metadata `begin` of a trace: microseconds and boot id.  NULL, and text of another form,
 * give no machine. */
void ti_rank_span_begin(struct ti_rank_span *span, const char *text);

/*
 * Count the seconds of all ranks from when the last one left MPI_Init.  So does a replay, in which
 * all ranks start at once.  A rank that leaves MPI_Init early waits in its first calls for the
 * others.  That wait is a part of starting the program.
 *
 * Returns the seconds between the first and the last rank that left MPI_Init.  Returns -1, and
 * changes nothing, if ranks are on several machines, whose clocks differ, or if one of them ended
 * before another one left MPI_Init: such ranks do not wait for each other.
 */
double ti_rank_spans_align(struct ti_rank_span *span, int64_t np);

#endif
