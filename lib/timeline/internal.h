/*
 * The parts of a timeline.  Private to this room.
 *
 *   timeline.c  names of files; the order of events
 *   track.c     the events of a rank with their times
 *   about.c     what a call is about: partner, bytes
 *   csv.c, paje.c, chrome.c, otf2.c   the formats
 *   otf2_definitions.c   what the events of OTF2 refer to
 *   otf2_absent.c        in place of both, where the library is missing
 */
#ifndef TI_TIMELINE_INTERNAL_H
#define TI_TIMELINE_INTERNAL_H

#include <stdio.h>

#include "callsite/symbolizer.h"
#include "sound/walk.h"
#include "timeline/intervals.h"
#include "timeline/timeline.h"

/* An event of a rank, with its times. */
struct ti__timed {
    int64_t rank; /* in the timeline */
    int job;
    struct ti_event_times when;
    bool waits; /* when.waiting is known */
    const struct ti_step *step;
    struct ti_reader *r;
    const char *site;         /* "": not known */
    struct ti_site_line line; /* zeroed: not known */
};

/* ---- track.c: a rank ---- */

struct ti__track {
    struct ti_walk *walk;
    struct ti_step step;
    struct ti__timed now;
    struct ti_interval_place place; /* in the file of intervals */
    double clock, gap;              /* by durations: where the next event begins */
    int burst, call;                /* indices of the extra columns */
    bool incomplete;
};

/* The clock of a rank by its durations, in seconds. */
struct ti__start {
    double at;  /* its begin */
    double gap; /* between events: the time of the library, which is in no duration */
};

/* The clocks of all ranks: an array of show->np; free() it. */
ti_status ti__track_starts(const struct ti_timeline_show *show, struct ti__start **starts,
                           bool *aligned, struct ti_err *err);

ti_status ti__track_open(struct ti__track *s, const struct ti_timeline *t, int64_t rank,
                         struct ti_err *err);
/* 1 and s->now; 0 at the end; -1: an error. */
int ti__track_next(struct ti__track *s, const struct ti_timeline *t, struct ti_err *err);
void ti__track_close(struct ti__track *s);

/* ---- about.c: a call ---- */

/* Nanoseconds; a time that has no such number gets the nearest that has. */
uint64_t ti__ns(double seconds);

/* The partner and the bytes of a call, and the messages that it sends or has received. */
struct ti__about {
    int64_t peer;  /* in the timeline; -1: none, or several */
    int64_t bytes; /* -1: none */
    int64_t tag;   /* of its only message; TI_NULL: none */
};
void ti__about(const struct ti_timeline_show *show, const struct ti__timed *e,
               struct ti__about *out);

/* Call `each` for each message that the call sends, and each whose receipt it ends. */
void ti__messages(const struct ti__timed *e, void (*each)(void *arg, const struct ti_msg *m),
                  void *arg);

/* Bytes of a collective that a rank gives in all and takes in all, as Score-P counts: of `n`
 * members, the rank is number `me`. */
void ti__totals(const struct ti_event *ev, int64_t n, int64_t me, uint64_t *given, uint64_t *taken);

/* ---- the formats ---- */

/* The functions of a format, each with the state that `begin` has made.  Those that are NULL are
 * not needed.  Errors of t->file are found at the end. */
struct ti__format {
    const char *endings; /* ".paje.trace" */
    bool by_rank;        /* one rank after the other, else in the order of time */
    ti_status (*open)(struct ti_timeline *t, struct ti_err *err); /* NULL: t->file is a file */
    ti_status (*begin)(struct ti_timeline *t, struct ti_err *err);
    void (*rank_starts)(struct ti_timeline *t, int64_t rank, double when);
    void (*enters)(struct ti_timeline *t, const struct ti__timed *e); /* its burst has ended */
    void (*leaves)(struct ti_timeline *t, const struct ti__timed *e); /* its call has ended */
    void (*rank_ends)(struct ti_timeline *t, int64_t rank, double when);
    ti_status (*end)(struct ti_timeline *t, struct ti_err *err);
    void (*close)(struct ti_timeline *t);
};
extern const struct ti__format ti__csv, ti__paje, ti__chrome, ti__otf2;

struct ti_timeline {
    const struct ti__format *format;
    char *path, *real; /* as given; the file behind links, or the path itself */
    char *part;        /* the file or folder that is written; NULL: `path` itself */
    int lock;          /* of a folder */
    bool made;         /* `real` is an empty file of ours */
    bool done;
    FILE *file;
    void *state; /* of the format */
    const struct ti_timeline_show *show;
    struct ti_comms *comms; /* of each job */
    struct ti_intervals *intervals;
    struct ti__start *starts; /* of the ranks; NULL with `intervals` */
};

/* The job of a rank. */
int ti__job_of(const struct ti_timeline_show *show, int64_t rank);

#endif
