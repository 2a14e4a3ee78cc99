/* The end of a node's requests: answered, or lost with the connection. */
#ifndef TI_GATHER_FETCH_REQUESTS_H
#define TI_GATHER_FETCH_REQUESTS_H

#include "gather/fetch/gathering.h"

/* Requested ranks that were neither received nor queued again; release with ti_ranges_free(). */
struct ti_ranges ti__unanswered_ranks(const struct ti__peer *p);

/* True if the rank was requested from this node and its end was not reported yet. */
bool ti__is_expected(const struct ti__peer *p, int64_t rank);

/* The rank's trace is complete here. */
void ti__received(struct ti__peer *p, int64_t rank);

/* The merged trace that is being received will not be complete: forget what came of it. */
void ti__drop_merged(struct ti__peer *p);

/* The request "send" is over.  Of a file that came in part, the part is kept. */
void ti__end_send(struct ti__peer *p);

/* The node will answer nothing more: what was requested of it is to be requested again. */
void ti__requeue(struct ti__peer *p);

#endif
