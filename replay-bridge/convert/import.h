/*
 * From SimGrid's action files to a trace.
 *
 *   list -> survey of all files -> events, rank by rank -> check of what was written
 *
 * The survey finds out the number of ranks, which of two syntaxes the files have, and what a
 * receive does not say for itself: its size, and the sender where it takes any.  Files are read
 * twice, and more often where many ranks share one; memory grows with ranks and channels.
 */
#ifndef TI_IMPORT_H
#define TI_IMPORT_H

#include "common/err.h"
#include "sound/problems.h"

enum ti_syntax {
    TI_SYNTAX_AUTO, /* by the files */
    TI_SYNTAX_TAGS, /* SimGrid 3.20 and later */
    TI_SYNTAX_OLD   /* before: no tags, waits without arguments */
};

/* What a wait without arguments is for. */
enum ti_bare_wait {
    TI_WAIT_AUTO, /* the last request; with ranks as p0, the last receive */
    TI_WAIT_LAST,
    TI_WAIT_LAST_RECV,
    TI_WAIT_FIRST,
    TI_WAIT_FIRST_RECV
};

struct ti_import {
    enum ti_syntax syntax;
    enum ti_bare_wait wait;
    int64_t element; /* bytes of one where no datatype is given; 0: as "init" says */
    double speed;    /* flops a second, for "sleep"; 0: it is refused */
};

/* What was read. */
struct ti_imported {
    int64_t np;
    uint64_t lines, events;
};

/*
 * Read `list`, as smpirun -replay takes it (a directory is taken for its traces.txt, and a trace of
 * all ranks for itself), and write rank files into the scratch directory.  What had to be decided
 * is told by ti_warn(), once for each kind of decision, with file and line.  TI_ERR_INPUT with
 * file, line and cause; where lines do not fit those of other ranks, these are `problems`, whose
 * `call` has file and line.
 */
ti_status ti_import(const char *list, const struct ti_import *how, struct ti_imported *out,
                    struct ti_problems *problems, struct ti_err *err);

#endif
