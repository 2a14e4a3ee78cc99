/* The list of a node's traces: each is compared with the copy that is known already. */
#ifndef TI_GATHER_FETCH_LISTING_H
#define TI_GATHER_FETCH_LISTING_H

#include "gather/fetch/gathering.h"

void ti__ask_list(struct ti__peer *p);
void ti__on_listed(struct ti__peer *p, const json_t *j); /* a piece of the list */
void ti__on_list_end(struct ti__peer *p, const json_t *j);

#endif
