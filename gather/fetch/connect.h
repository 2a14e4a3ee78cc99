/* Opens connections, retries them through other nodes, and hands messages on. */
#ifndef TI_GATHER_FETCH_CONNECT_H
#define TI_GATHER_FETCH_CONNECT_H

#include "gather/fetch/gathering.h"

void ti__open_connections(struct ti__gathering *g); /* those that can be opened now */
void ti__count_bytes(struct ti__gathering *g);      /* of connections, into g->f */

#endif
