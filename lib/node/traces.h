/*
 * The traces of a run that lie in a directory of this node: what there is, their checksums,
 * and their removal once they are safe elsewhere.  Requests are ti-gather's (node/messages.h).
 */
#ifndef TI_TRACES_H
#define TI_TRACES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/err.h"
#include "formats/ranges.h"

/*
 * What takes its time, for a process of its own: {"exists", "traces": [[RANK, BYTES, INODE,
 * MTIME_NS, END]...]} of "list" and the answer to "crc".  NULL is no answer: err.  A request
 * may name a "directory" and a "run_id" instead of these.
 */
json_t *ti_traces_list(const json_t *request, const char *directory, const char *run_id,
                       struct ti_err *err);
json_t *ti_traces_crc(const json_t *request, const char *directory, const char *run_id,
                      struct ti_err *err);

/* Delete traces of the run; *removed is their number.  What is of another run, or is no
 * trace, is left alone. */
ti_status ti_traces_remove(const json_t *request, const char *directory, const char *run_id,
                           int64_t *removed, struct ti_err *err);

/* Whether `list` is [[FIRST, LAST]...] of ranks, TI_RANKS_MAX of them at most. */
bool ti_ranges_ok(const json_t *list);

/* The directory of the request, or else `directory`; *dir is -1 and errno ENOENT if it is not
 * there.  Ranges that the request has under "ranks" are good ones then. */
ti_status ti__traces_folder(const json_t *request, const char *directory, const char *run_id,
                            int *dir, char id[40], struct ti_err *err);

/* The ranks that have a file in it, ascending, for who looks for many: *rank, to be freed; NULL if
 * the directory cannot be read. */
void ti__traces_there(int dir, int64_t **rank, size_t *n);

/* A rank's trace in it, if it is of this run; *fd is the caller's to close, -1 or not,
 * whatever the answer is. */
ti_status ti__trace_open(int dir, int64_t rank, const char *run_id, int *fd, struct stat *sb,
                         struct ti_err *err);

#endif
