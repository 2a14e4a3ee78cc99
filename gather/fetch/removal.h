/* --remove: traces are removed on nodes if length and CRC are those in the bundle. */
#ifndef TI_GATHER_FETCH_REMOVAL_H
#define TI_GATHER_FETCH_REMOVAL_H

#include "gather/fetch/gathering.h"

/* The node listed the rank: has its CRC requested if its length is that of the bundle.  Of a rank
 * that another node merged, nothing here proves that the copy is the same: that is kept, and is
 * reported in the second round, unless it was the same file and is gone. */
void ti__check_removable(struct ti__peer *p, int64_t rank, int64_t bytes);

/* The node told length and CRC: queues the rank for "remove" if they are those of the bundle. */
void ti__remove_if_equal(struct ti__peer *p, int64_t rank, int64_t bytes, uint32_t crc);

/* Requests the removal of the queued ranks, once all copies on the node were compared. */
void ti__ask_remove(struct ti__peer *p);

/* The answer.  Returns true if the node is to be asked for its list once more: some were not there,
 * perhaps because another node that shares the directory has removed them. */
bool ti__on_removed(struct ti__peer *p, const json_t *j);

#endif
