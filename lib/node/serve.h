/* `ti-node serve`: the loop at the node's end of a channel, see node/messages.h. */
#ifndef TI_SERVE_H
#define TI_SERVE_H

#include <stdbool.h>

#include "common/err.h"

/*
 * Serve frames on standard input and output until the first ends.  `folder` is where
 * ti-node and its files are, `self` ti-node itself.  The run is ended then, also when this
 * process is killed: a second one, its parent, sees to that.
 */
ti_status ti_serve(const char *folder, const char *self, bool shipped, struct ti_err *err);

/* The same by this process alone, after which it goes on; for tests. */
ti_status ti__serve_alone(const char *folder, const char *self, struct ti_err *err);

#endif
