/*
 * The file of a replay's times: when each rank computed, called MPI, and returned.
 *
 * The replayer writes it, because only the simulation knows these times; what the rank did then is
 * in the trace, at the number of the event.  timeline.h makes timelines of both.  The file is read
 * on the machine that wrote it.
 */
#ifndef TI_TIMELINE_INTERVALS_H
#define TI_TIMELINE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* One event of a rank.  Times are in seconds. */
struct ti_event_times {
    uint64_t index;   /* number of the event in the rank's trace */
    double start;     /* the burst before the call begins */
    double call, end; /* the call begins and ends */
    double waiting;   /* of the call: until its partners came */
};

/* Create the file for `np` ranks, add the events of each rank in their order, and complete it.  The
 * writer keeps some 2 KB for each rank.  _close frees `w`.  TI_ERR_IO. */
struct ti_interval_writer;
ti_status ti_interval_writer_open(const char *path, int64_t np, struct ti_interval_writer **out,
                                  struct ti_err *err);
void ti_interval_add(struct ti_interval_writer *w, int64_t rank,
                     const struct ti_event_times *interval);
ti_status ti_interval_writer_close(struct ti_interval_writer *w, struct ti_err *err);

/* Open a complete file; TI_ERR_IO if it is none. */
struct ti_intervals;
ti_status ti_intervals_open(const char *path, struct ti_intervals **out, struct ti_err *err);
void ti_intervals_close(struct ti_intervals *file); /* NULL is fine */

/* The next event of a rank: true, or false at the end.  `at` is where the reader of the rank is;
 * zeroed at the start. */
struct ti_interval_place {
    uint64_t block; /* how many of the rank's blocks were read */
    uint32_t next;  /* in the block after these */
};
bool ti_interval_next(const struct ti_intervals *file, int64_t rank, struct ti_interval_place *at,
                      struct ti_event_times *out);

#endif
