/*
 * Timelines: what each rank does when, for viewers and scripts.  The times are those of a replay
 * (intervals.h), or the durations that a trace has.
 *
 *   .paje, .trace   Paje, for viewers such as pajeng and vite.  Each rank is a container, whose
 *                   state is "computing" or the name of an operation.
 *   .csv            A header, then a line for each burst and each call, in the order in which they
 *                   end.
 *   .json           Trace events of Chrome, for Perfetto: a slice for each burst and each call, an
 *                   arrow for each message.
 *   .otf2           OTF2, written by its library, for Vampir and the tools of Score-P.  The name is
 *                   that of the anchor file; NAME.def and the folder NAME stand beside it.
 *
 * Sends are matched with receives by their numbers on their channels (sound/walk.h).  A timeline
 * appears when it is complete, unless its name stands for no regular file, such as a pipe.
 *
 * Memory: for OTF2 and JSON one rank is read after the other.  Lines of the other formats are in
 * the order of time, so all ranks are read at once.
 */
#ifndef TI_TIMELINE_TIMELINE_H
#define TI_TIMELINE_TIMELINE_H

#include "bundle/source.h"
#include "common/ranges.h"

struct ti_symbolizer;

/* A program whose ranks are shown. */
struct ti_timeline_job {
    const char *name;
    struct ti_source *source;
    int64_t first; /* number of its rank 0 in the timeline */
};

struct ti_timeline_show {
    const struct ti_timeline_job *job; /* in the order of `first` */
    int njobs;
    int64_t np;                       /* ranks of all jobs */
    const char *intervals;            /* file with the times of a replay; NULL: durations */
    struct ti_symbolizer *symbolizer; /* of call sites */
    const char *(*host)(const void *of, int64_t rank); /* "": not known.  NULL: of none */
    const void *of;
};

/* The result: ranks of the timeline that are missing or incomplete, and whose clock it has. */
struct ti_timeline_told {
    uint64_t events;
    struct ti_ranges missing, incomplete;
    bool aligned; /* durations: ranks are placed by their machine's clock.  Else all of them leave
                     MPI_Init at the same time. */
};

struct ti_timeline;

/* Whether the ending of the name stands for a format.  TI_ERR_USAGE. */
ti_status ti_timeline_check(const char *path, struct ti_err *err);

/* Begin the timeline `path`, whose name was checked, so that errors show before a replay.  An OTF2
 * trace must not exist.  TI_ERR_IO, TI_ERR_USAGE; TI_ERR_USAGE also without the OTF2 library. */
ti_status ti_timeline_open(const char *path, struct ti_timeline **out, struct ti_err *err);

/* Write it, and give it its name.  Release *told with ti_timeline_told_free().  TI_ERR_IO, also if
 * the user stopped it; TI_ERR_INPUT: a trace is damaged, or has no durations. */
ti_status ti_timeline_write(struct ti_timeline *t, const struct ti_timeline_show *show,
                            struct ti_timeline_told *told, struct ti_err *err);
void ti_timeline_told_free(struct ti_timeline_told *told);

/* Release it; one that is not written is removed.  NULL is fine. */
void ti_timeline_close(struct ti_timeline *t);

#endif
