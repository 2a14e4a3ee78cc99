/* Opens connections, retries them through other nodes, and hands messages on. */
#ifndef TI_GATHER_FETCH_CONNECT_H
#define TI_GATHER_FETCH_CONNECT_H

#include "gather/fetch/job.h"

void ti__open_connections(struct ti__job *job); /* those that can be opened now */
void ti__count_bytes(struct ti__job *job);      /* of connections, into job->f */

#endif
