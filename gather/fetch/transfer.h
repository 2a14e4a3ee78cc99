/* Requests traces and receives them. */
#ifndef TI_GATHER_FETCH_TRANSFER_H
#define TI_GATHER_FETCH_TRANSFER_H

#include "gather/fetch/gathering.h"

/* Requests ranks from nodes that are to send some, for a limited number of nodes at a time. */
void ti__start_sends(struct ti__gathering *g);

/* The node is at work on a merged trace: that is progress, for a limited time. */
void ti__on_merging(struct ti__peer *p);

void ti__on_sending(struct ti__peer *p, const json_t *j); /* a trace begins */
void ti__on_data(struct ti__peer *p, uint32_t rank, const void *data, size_t bytes);
void ti__on_sent(struct ti__peer *p, const json_t *j); /* it ends */
void ti__on_send_end(struct ti__peer *p, const json_t *j); /* the request ends */

#endif
