/* The description of a node: the answer to "facts" (session/messages.h). */
#ifndef TI_NODE_FACTS_H
#define TI_NODE_FACTS_H

#include <jansson.h>

#include "common/err.h"

/*
 * The answer to `request`; `folder` has ti-node's files.  A new object; NULL when memory is short.
 * Runs mpirun --version, getconf and a trial of a counter.  So it takes up to some seconds, and may
 * hang when a file server is down: call it in a task (task.h).
 */
json_t *ti_facts(const json_t *request, const char *folder);

/* {"error", "hint"}, a new object. */
json_t *ti_facts_error(const struct ti_err *err);

#endif
