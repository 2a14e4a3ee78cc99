/* Copies of one rank's trace: the reference, and copies that differ from it. */
#ifndef TI_GATHER_FETCH_COPIES_H
#define TI_GATHER_FETCH_COPIES_H

#include "gather/fetch/gathering.h"

/* The CRC of the node's copy is to be requested. */
void ti__queue_checksum(struct ti__peer *p, int64_t rank);

/* Drops the reference if its node was abandoned before the CRC was known.  `shared`: another node
 * sees the same file. */
void ti__forget_lost_reference(struct ti__gathering *g, int64_t rank, bool shared);

/* Nodes a and b have different traces of the rank.  Removes the file if it was received; if it is
 * being received, it is dropped at its end. */
void ti__conflict(struct ti__gathering *g, int64_t rank, int32_t a, int32_t b);

/* The node's trace differs from the one that was here before the fetch, which is kept. */
void ti__conflict_with_local(struct ti__peer *p, int64_t rank);

#endif
