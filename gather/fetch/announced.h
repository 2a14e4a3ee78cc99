/* Holds a node to what it announced: no trace longer than was listed, and none begun without end.
 */
#ifndef TI_GATHER_FETCH_ANNOUNCED_H
#define TI_GATHER_FETCH_ANNOUNCED_H

#include "gather/fetch/gathering.h"

/* A node announced that its trace of `rank` has `bytes` bytes, in a list or with a CRC. */
void ti__announced(struct ti__gathering *g, int64_t rank, int64_t bytes);

/* Whether the node may send the rank, of `bytes` bytes, from byte `from` on.  If not, the
 * connection is closed: to list once more, if the trace is longer than was announced; or for good.
 */
bool ti__may_begin(struct ti__peer *p, int64_t rank, int64_t from, int64_t bytes);

/* The same for the merged trace of p->merged, of `bytes` bytes. */
bool ti__may_begin_merged(struct ti__peer *p, int64_t bytes);

#endif
