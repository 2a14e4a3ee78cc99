/* `ti-node serve`: the loop that answers requests on a node, see session/messages.h. */
#ifndef TI_NODE_SERVE_H
#define TI_NODE_SERVE_H

#include <stdbool.h>

#include "common/err.h"

/*
 * Serve frames on standard input and output until the input ends, and then end the run.  `folder`
 * has ti-node's files, `self` is its path; `shipped`: they were sent just now.  Two processes: the
 * child serves.  The parent waits, and ends the run if the child is killed.
 */
ti_status ti_serve(const char *folder, const char *self, bool shipped, struct ti_err *err);

/* The same in this process alone, which returns afterwards; for tests. */
ti_status ti__serve_alone(const char *folder, const char *self, struct ti_err *err);

#endif
