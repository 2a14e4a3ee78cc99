/* What ti-node tells of its node: the answer to "facts" (node/messages.h). */
#ifndef TI_FACTS_H
#define TI_FACTS_H

#include <jansson.h>

#include "common/err.h"

/*
 * The answer to `request`; `folder` is where ti-node and its files are.  Runs mpirun
 * --version, getconf and a counter's trial, so it takes up to seconds, or for
 * ever where a file server is down.  A new object; NULL when memory is short.
 */
json_t *ti_facts(const json_t *request, const char *folder);

/* What `argv` printed, at most bytes - 1 of it, into `buf`.  -1 when it cannot be run, else
 * its wait status. */
int ti_facts_ask(char *const *argv, int input, char *buf, size_t bytes);

/* {"error", "hint"} */
json_t *ti_facts_error(const struct ti_err *err);

#endif
