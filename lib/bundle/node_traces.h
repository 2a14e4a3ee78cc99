/*
 * Merged traces that nodes sent ("send" with "merge", session/messages.h).  They wait for the
 * bundle in one file without a name, in the run directory.
 *
 * One thread receives and adds traces, several may look for ranks.
 */
#ifndef TI_BUNDLE_NODE_TRACES_H
#define TI_BUNDLE_NODE_TRACES_H

#include <stdbool.h>

#include "common/err.h"
#include "event/quality.h"
#include "fold/record.h"
#include "trace/reader.h"

struct ti_node_traces;

/* A rank, and its file on the node, as the node told it. */
struct ti_node_rank {
    int64_t rank, bytes;
    uint32_t crc32c;
    int32_t from_node; /* the index of the node in RUN.json, + 1 */
};

/* The file is made in `folder`, a string that must outlive it, when it is needed.  Release the
 * result by ti_node_traces_free(). */
struct ti_node_traces *ti_node_traces_new(const char *folder);
void ti_node_traces_free(struct ti_node_traces *t); /* NULL is fine */

/* Room for a merged trace of `bytes` bytes: where it is to be written in *fd, which stays ours. -1,
 * with errno: there is no file. */
int64_t ti_node_traces_room(struct ti_node_traces *t, int64_t bytes, int *fd);

/* Give back room in which no trace is: its bytes on the disk, if the file system can do that. */
void ti_node_traces_give_back(struct ti_node_traces *t, int64_t at, int64_t bytes);

/* A merged trace was written at `at`; it has at least these `n` ranks, in ascending order.
 * Messages call it `name`.  TI_ERR_INPUT if it does not have them; TI_ERR_IO. */
ti_status ti_node_traces_add(struct ti_node_traces *t, const char *name, int64_t at, int64_t bytes,
                             const struct ti_node_rank *rank, int64_t n, struct ti_err *err);

/* Forget a rank, which is not wanted any more. */
void ti_node_traces_forget(struct ti_node_traces *t, int64_t rank);

/* Whether a rank is there; *out, unless NULL, is filled then.  False also if `t` is NULL. */
bool ti_node_traces_has(struct ti_node_traces *t, int64_t rank, struct ti_node_rank *out);

/* The first rank not below `rank`; -1: there is none, or `t` is NULL. */
int64_t ti_node_traces_next(struct ti_node_traces *t, int64_t rank);

/* Open a reader of a rank that is there, or give its record with the quality `q`: close it by
 * ti_reader_close(), or ti_record_free().  TI_ERR_INPUT if it is damaged, or was forgotten;
 * TI_ERR_IO. */
ti_status ti_node_traces_reader(struct ti_node_traces *t, int64_t rank, struct ti_reader **out,
                                struct ti_err *err);
ti_status ti_node_traces_record(struct ti_node_traces *t, int64_t rank,
                                const struct ti_qualities *q, struct ti_record *out,
                                struct ti_err *err);

#endif
