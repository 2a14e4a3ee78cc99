/* Opens connections, retries them through other nodes, and hands messages on. */
#ifndef TI_GATHER_FETCH_CONNECT_H
#define TI_GATHER_FETCH_CONNECT_H

#include "gather/fetch/gathering.h"

void ti__open_connections(struct ti__gathering *g); /* those that can be opened now */

/* Uses a connection that there was before the fetch; false: it has ended. */
bool ti__use_conn(struct ti__peer *p, struct ti_conn *conn);
void ti__begin_ready(struct ti__peer *p); /* its connection is ready */

void ti__count_bytes(struct ti__gathering *g);      /* of connections, into g->f */

#endif
