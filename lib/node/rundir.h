/*
 * The run directory: the ranks' traces and RUN.json; on a node, NODE.json instead.  During the run
 * there are also folders for Open MPI's session and its shared memory, so that it leaves nothing
 * behind elsewhere.
 */
#ifndef TI_NODE_RUNDIR_H
#define TI_NODE_RUNDIR_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define TI_RUN_JSON  "RUN.json"  /* of the run, in its run directory */
#define TI_NODE_JSON "NODE.json" /* of a node, in its run directory: what its ranks need */
#define TI_RUN_LOG   "run.log"   /* alone, it does not make a directory a run's */

#define TI_RUNDIR_NAME_MAX (PATH_MAX / 2) /* bytes of the path of a run directory */

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
 * Create or open directory `path`, and lock it against other ti-acquire processes.  A directory
 * that is not empty is refused.  With `force`, the rank files and RUN.json of a run are removed
 * from it, and other files stay; files that only have such names, but other contents, cause an
 * error. TI_ERR_INPUT or TI_ERR_IO.
 */
ti_status ti_rundir_open(const char *path, bool force, struct ti_rundir *d, struct ti_err *err);

/* Whether ti_rundir_open() would refuse `path` for its contents; changes nothing. */
ti_status ti_rundir_peek(const char *path, bool force, struct ti_err *err);

/*
 * Make the folders for Open MPI.  The session is in the run directory, or below TMPDIR if the run
 * directory is remote, nearly full, or has a path too long for sockets.  Shared memory is in a
 * folder of ours in /dev/shm if there is room.  Such folders of killed runs are removed.  The locks
 * of the folders hold the run id.
 */
ti_status ti_rundir_scratch(struct ti_rundir *d, const char *run_id, int64_t np,
                            struct ti_err *err);

/* Remove them, with all that is in them. */
void ti_rundir_unscratch(struct ti_rundir *d);

/* Write RUN.json or NODE.json, which `name` says: as a whole or not at all. */
ti_status ti_rundir_write(struct ti_rundir *d, const char *name, const json_t *json,
                          struct ti_err *err);

/* Remove that file, and the directory if nothing else is in it and we made it
 * or `always`. */
void ti_rundir_discard(struct ti_rundir *d, bool always);

/* Remove what a run left in `path`, and the directory if nothing else is in it. */
void ti_rundir_remove(const char *path);

/*
 * List the directories, folders and processes that runs left on this machine:
 *
 *   {"directories": [{"path", "run_id", "np", "state", "bytes", "nodes", "busy"}],
 *    "folders":     [{"path", "run_id", "bytes", "busy"}],
 *    "processes":   [{"pid", "run_id", "command", "busy"}]}
 *
 * Directories are run directories, the entries of the folders in `bases` (which ends with NULL)
 * that have a RUN.json or NODE.json of ours; "nodes": the run was on several.  Folders are those
 * for Open MPI, in /dev/shm, /tmp and TMPDIR; the run id is "" if it is not known, and may be its
 * first 12 digits.  "busy": it belongs to a run that goes on.  `run_id`: 12 digits or more of
 * the only run to look for; NULL: all runs.  NULL: no memory.
 */
json_t *ti_left_find(const char *const *bases, const char *run_id);

/* End the processes of such an object, remove its directories and folders, and add "left": what
 * could not be ended or removed, and why, as sentences.  What is busy stays, and is no failure.
 * Files of others stay, with their directory. */
void ti_left_remove(json_t *left);

/* Release the lock. */
void ti_rundir_close(struct ti_rundir *d);

#endif
