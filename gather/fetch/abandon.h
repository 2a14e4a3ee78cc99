/* Abandons nodes: after an error or nonsense, or because they make no progress. */
#ifndef TI_GATHER_FETCH_ABANDON_H
#define TI_GATHER_FETCH_ABANDON_H

#include "gather/fetch/gathering.h"

/* Expects nothing more from the node: its ranks go to others.  Its connection stays if there is
 * one, since the node may still relay others. */
void ti__abandon(struct ti__peer *p, const struct ti_err *why);

/* The node sent `what`, which makes no sense: abandons and disconnects it. */
void ti__protocol_error(struct ti__peer *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Abandons nodes that answer but make no progress on a request. */
void ti__abandon_stuck(struct ti__gathering *g);

#endif
