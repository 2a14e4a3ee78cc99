/* Receives merged traces of nodes ("send" with "merge", session/messages.h). */
#ifndef TI_GATHER_FETCH_MERGED_H
#define TI_GATHER_FETCH_MERGED_H

#include "gather/fetch/gathering.h"

/* Whether a rank that is to be sent is to be merged: not one that arrived damaged. */
bool ti__may_merge(const struct ti__peer *p, int64_t rank);

/* "sending" of a merged trace of `bytes` bytes, whose list of ranks is `merged`. */
void ti__begin_merged(struct ti__peer *p, const json_t *merged, int64_t bytes);

/* "sent" of the merged trace.  Its ranks are received; or they are damaged, and *damaged is the
 * list of them: the caller takes it. */
void ti__end_merged(struct ti__peer *p, const json_t *sent, struct ti_ranges *damaged);

#endif
