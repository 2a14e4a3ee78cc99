/*
 * The state of a conversion of action files.  Private to import.c, import_survey.c and
 * import_events.c.
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_IMPORT_INTERNAL_H
#define TI_REPLAY_BRIDGE_CONVERT_IMPORT_INTERNAL_H

#include <limits.h>

#include "common/map.h"
#include "replay-bridge/convert/syntax.h"
#include "trace/writer.h"

/* Kinds of guesses; each is reported once. */
enum ti__note {
    TI__NOTE_NO_NEWLINE,
    TI__NOTE_NO_INIT,
    TI__NOTE_NO_FINALIZE,
    TI__NOTE_NO_DATATYPE,
    TI__NOTE_NO_SIZE,
    TI__NOTE_NO_TAG,
    TI__NOTE_ANY,
    TI__NOTE_BARE_WAIT,
    TI__NOTE_UNWAITED,
    TI__NOTE_TEST,
    TI__NOTE_FRACTION,
    TI__NOTE_FLOPS,
    TI__NOTE_SLEEP,
    TI__NOTE_COMM,
    TI__NOTE_COUNT
};

/* A line of a file. */
struct ti__place {
    const char *path;
    int64_t line; /* 0: unset */
};

/* A request that has not completed. */
struct ti__pending {
    int64_t peer, tag, req;
    bool recv, any;
};

struct ti__import_rank {
    struct ti_writer *w; /* NULL: write nothing, find the line of event import.find */
    char path[PATH_MAX];
    struct ti_grammar grammar;
    uint64_t volume; /* of the current burst */
    double rest;     /* fraction of a flop that is carried over, below 1 */
    bool begun, ended;
    struct ti__place sub; /* line of a comm_size other than np; collectives after it are an error */
    uint64_t events;
    struct ti__pending *pending; /* in the order they were posted */
    size_t npending, pending_cap;
    uint8_t *used; /* by request number */
    size_t used_cap;
    uint32_t site; /* call site of the next event; 0: none */
    struct ti_map sites;
};

struct ti__import {
    const struct ti_import *how;
    struct ti_actions files;
    int64_t np;
    enum ti_syntax syntax;
    struct ti__place tags, old, differ; /* first line of each syntax, and of ambiguous lines */
    struct ti_map ranks;                /* ranks that have lines */
    struct ti__place init;              /* the first "init" */
    bool doubles, p;                    /* "init" chooses doubles; ranks are named p0, p1, ... */
    struct ti_map channels;             /* (source, destination, tag) -> index in `largest` */
    int64_t *largest;                   /* bytes of the largest message */
    size_t largest_cap;
    struct ti_map takers; /* (destination, tag) -> index in `sender` */
    int64_t *sender;      /* the only rank that sends these messages; -1: there are several */
    size_t sender_cap;
    bool noted[TI__NOTE_COUNT];
    uint8_t run_id[TI_RUN_ID_BYTES];
    struct ti_imported *out;
    uint64_t find;          /* index of the event whose line locate() looks for */
    struct ti__place found; /* its line */
};

static inline struct ti__place ti__here(const struct ti_lines *l)
{
    return (struct ti__place){l->path, l->number};
}

/* Bytes of an element without a datatype. */
static inline int64_t ti__import_element(const struct ti__import *im)
{
    return im->how->element ? im->how->element : im->doubles ? 8 : 1;
}

/* Warn of a guess, with the place of line `l`; once for each kind. */
void ti__import_note(struct ti__import *im, enum ti__note which, const struct ti_lines *l,
                     const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Read all files, and set the number of ranks, the syntax, and what is known of messages. */
ti_status ti__import_survey(struct ti__import *im, struct ti_err *err);

/* Convert one action of a rank.  ti_action_begin() has begun to parse it. */
ti_status ti__import_line(struct ti__import *im, struct ti__import_rank *r,
                          const struct ti_lines *l, struct ti_action *a, struct ti_err *err);

/* The last event of a rank.  `said`: the line is "finalize", which is missing otherwise. */
void ti__import_end(struct ti__import *im, struct ti__import_rank *r, const struct ti_lines *l,
                    bool said);

#endif
