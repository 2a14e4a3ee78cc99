/*
 * The traces of a run in a directory of this node: their list, their checksums, and their removal.
 * The requests come from ti-gather (session/messages.h).
 */
#ifndef TI_NODE_TRACES_H
#define TI_NODE_TRACES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/ranges.h"

/*
 * For a task (task.h), since they take time.  _list: {"exists", "traces": [[RANK, BYTES, INODE,
 * MTIME_NS, END]...]}; _crc: the answer to "crc".  New objects; NULL on failure, see err.
 * `directory` and `run_id` are those of "open"; `request` may name others.
 */
json_t *ti_traces_list(const json_t *request, const char *directory, const char *run_id,
                       struct ti_err *err);
json_t *ti_traces_crc(const json_t *request, const char *directory, const char *run_id,
                      struct ti_err *err);

/* Delete traces of the run; *removed is their number.  Files of other runs, and files that are no
 * traces, are kept. */
ti_status ti_traces_remove(const json_t *request, const char *directory, const char *run_id,
                           int64_t *removed, struct ti_err *err);

/* Whether `list` is [[FIRST, LAST]...] with at most `most` ranks, those that are there twice
 * counted twice. */
bool ti__ranks_ok(const json_t *list, int64_t most);

/* Check the request's "ranks" and open its directory, or else `directory`.  The run's id goes to
 * `id`. On failure *dir is -1, and errno is ENOENT if the directory does not exist. */
ti_status ti__traces_folder(const json_t *request, const char *directory, const char *run_id,
                            int *dir, char id[40], struct ti_err *err);

/* List the ranks with a file in `dir`, ascending, for callers that look for many: free() *rank.  It
 * is NULL if the directory cannot be read. */
void ti__traces_there(int dir, int64_t **rank, size_t *n);

/* Compute the CRC-32C of the first `bytes` bytes of a file; false if it cannot be read or is
 * shorter. */
bool ti__trace_crc(int fd, int64_t bytes, uint32_t *crc);

/* Open a rank's trace in `dir`; an error if it is of another run.  The caller closes *fd, also
 * after an error; it may be -1. */
ti_status ti__trace_open(int dir, int64_t rank, const char *run_id, int *fd, struct stat *sb,
                         struct ti_err *err);

/* Whether the open file was written to since `was`, or is out of reach. */
bool ti__trace_changed(int fd, const struct stat *was);

#endif
