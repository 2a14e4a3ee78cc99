/* Which node sends a rank that several have. */
#ifndef TI_GATHER_FETCH_SENDERS_H
#define TI_GATHER_FETCH_SENDERS_H

#include "gather/fetch/gathering.h"

/* If the rank is wanted and has no sender, chooses one: the node that RUN.json names, else any
 * other that listed it.  Does nothing while the named node may still list it. */
void ti__assign_sender(struct ti__gathering *g, int64_t rank);

/* Does so for the ranks that the node listed, and for those that it was expected to list. */
void ti__assign_listed(struct ti__peer *p);

/* True if some node may still list the rank, or has it and did not fail to send it. */
bool ti__has_other_sender(const struct ti__gathering *g, int64_t rank);

/* Of an abandoned node: ranks that it was to send go to other nodes, and its copies are not
 * compared any more. */
void ti__release_ranks(struct ti__peer *p);

#endif
