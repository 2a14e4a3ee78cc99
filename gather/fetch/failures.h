/* Why ranks could not be fetched, or removed. */
#ifndef TI_GATHER_FETCH_FAILURES_H
#define TI_GATHER_FETCH_FAILURES_H

#include "gather/fetch/gathering.h"

/* Notes a reason.  `other`: the node with a different copy, TI__LOCAL_COPY, or -1. */
void ti__add_finding(struct ti__gathering *g, int32_t node, int32_t other, int64_t rank,
                     const char *why, const char *hint);

/* At the end: the failures, into g->f. */
ti_status ti__collect_failures(struct ti__gathering *g, struct ti_err *err);

#endif
