/*
 * Merging the ranks of this node into one trace before they are sent ("send" with "merge",
 * session/messages.h).
 */
#ifndef TI_NODE_MERGE_H
#define TI_NODE_MERGE_H

#include <jansson.h>
#include <stdbool.h>

/* Whether `ranks` is [[FIRST, LAST]...] in ascending order, of at most TI_MSG_MERGE_RANKS ranks. */
bool ti_merge_ranks_ok(const json_t *ranks);

/* A file without a name in the run directory `dir`, for the merged trace; -1, with errno. */
int ti_merge_file(int dir);

/*
 * For a task (task.h): merge the traces of these ranks in `dir`, all values exact, into the file
 * `fd`.  The answer is {"bytes": N, "merged": [[RANK, BYTES, CRC32C]...]}: the size of the merged
 * trace, the ranks in it, and the files they were.  Ranks without a sound trace of the run are left
 * out; if none is left, the file is empty.  If temporary files cannot be written, the answer is
 * {"error": TEXT}.
 *
 * Priority: 10 below that of ti-node.  Memory: that of a merger (merged/merger.h), and some
 * 12 times that of one rank's trace.
 */
json_t *ti_merge_ranks(const json_t *ranks, int dir, const char *run_id, int fd);

#endif
