/*
 * The run directory: the ranks' traces and RUN.json, and while the run lasts
 * the places where Open MPI keeps its session and its shared memory, so that
 * nothing of it stays behind elsewhere.
 */
#ifndef TI_RUNDIR_H
#define TI_RUNDIR_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define TI_RUN_JSON "RUN.json"
#define TI_RUN_LOG  "run.log" /* alone, it does not make a directory a run's */

struct ti_rundir {
    char given[PATH_MAX];   /* as the user calls it */
    char path[PATH_MAX];    /* absolute */
    int fd;                 /* holds the lock; -1: not open */
    bool created;           /* by us */
    char tmp[PATH_MAX];     /* "": none */
    char shm[PATH_MAX];     /* "": none */
    int tmp_lock, shm_lock; /* see common/folder.h; -1: none */
};

/*
 * Create or take `path`, and lock it against other ti-acquire.  One that is not
 * empty is refused, or with `force` rid of what a run leaves: rank files and
 * RUN.json; other files are left alone.  What is only named like these, by its
 * content, is refused even then.  TI_ERR_INPUT or TI_ERR_IO.
 */
ti_status ti_rundir_open(const char *path, bool force, struct ti_rundir *d, struct ti_err *err);

/* Would ti_rundir_open() refuse `path` for what is in it?  Changes nothing. */
ti_status ti_rundir_peek(const char *path, bool force, struct ti_err *err);

/*
 * Make the places for Open MPI: in the run directory, unless that is remote,
 * nearly full or its name too long for sockets; then below TMPDIR.  Shared
 * memory goes to a directory of our own in /dev/shm, where there is room.  Such
 * directories outside, of runs that were killed, are removed.
 */
ti_status ti_rundir_scratch(struct ti_rundir *d, int64_t np, struct ti_err *err);

/* Remove them, with all that is in them. */
void ti_rundir_unscratch(struct ti_rundir *d);

/* Write RUN.json: as a whole or not at all. */
ti_status ti_rundir_write(struct ti_rundir *d, const json_t *json, struct ti_err *err);

/* Remove RUN.json, and the directory if nothing else is in it and we made it
 * or `always`. */
void ti_rundir_discard(struct ti_rundir *d, bool always);

/* Remove what a run left in `path`, and the directory if nothing else is in it. */
void ti_rundir_remove(const char *path);

/* Give the lock back. */
void ti_rundir_close(struct ti_rundir *d);

#endif
