/* Why ranks could not be fetched, or removed. */
#ifndef TI_GATHER_FETCH_FAILURES_H
#define TI_GATHER_FETCH_FAILURES_H

#include "gather/fetch/job.h"

/* Notes a reason.  `other`: the node with a different copy, TI__LOCAL_COPY, or -1. */
void ti__add_finding(struct ti__job *job, int32_t node, int32_t other, int64_t rank,
                     const char *why, const char *hint);

/* At the end of the job: the failures, into job->f. */
ti_status ti__collect_failures(struct ti__job *job, struct ti_err *err);

#endif
