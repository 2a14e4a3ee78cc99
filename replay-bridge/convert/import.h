/*
 * Conversion of SimGrid's action files to a trace.
 *
 *   list -> survey of all files -> events, rank by rank -> check of the trace
 *
 * The survey finds the number of ranks and the syntax of the files.  A receive may omit its size or
 * take any source; the survey collects the sends that tell both.  The survey reads each file twice.
 * The conversion reads it once more, or once for every 64 ranks of a file for all ranks.  Memory
 * grows with the number of ranks and of (source, destination, tag) triples.
 */
#ifndef TI_REPLAY_BRIDGE_CONVERT_IMPORT_H
#define TI_REPLAY_BRIDGE_CONVERT_IMPORT_H

#include "common/err.h"
#include "sound/problems.h"

enum ti_syntax {
    TI_SYNTAX_AUTO, /* detect it from the files */
    TI_SYNTAX_TAGS, /* SimGrid 3.20 and later */
    TI_SYNTAX_OLD   /* before 3.20: no tags, waits without arguments */
};

/* Which outstanding request a wait without arguments completes. */
enum ti_bare_wait {
    TI_WAIT_AUTO, /* the last request; the last receive if ranks are named p0, p1, ... */
    TI_WAIT_LAST,
    TI_WAIT_LAST_RECV,
    TI_WAIT_FIRST,
    TI_WAIT_FIRST_RECV
};

struct ti_import {
    enum ti_syntax syntax;
    enum ti_bare_wait wait;
    int64_t element; /* bytes of an element without a datatype; 0: as "init" says */
    double speed;    /* flops per second, to convert "sleep"; 0: "sleep" is an error */
};

/* Counts of a conversion. */
struct ti_imported {
    int64_t np;
    uint64_t lines, events;
};

/*
 * Read the action files of `list` (see ti_actions_list()) and write rank files into the scratch
 * directory.  Each kind of guess is reported once by ti_warn(), with file and line.
 *
 * TI_ERR_INPUT with file, line and cause.  If ranks contradict each other, the cause is that the
 * trace is not sound: `problems` lists why, and the `call` of each problem is "FILE:LINE".
 */
ti_status ti_import(const char *list, const struct ti_import *how, struct ti_imported *out,
                    struct ti_problems *problems, struct ti_err *err);

/* Check the rank files in the scratch directory, which come from `input`.  TI_ERR_INPUT if they are
 * not sound: `problems` lists why. */
ti_status ti_import_check(const char *input, struct ti_problems *problems, struct ti_err *err);

#endif
