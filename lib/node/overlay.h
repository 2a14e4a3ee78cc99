/*
 * An overlay over the working directory, in a mount namespace of the calling process and its
 * children. What they write there is kept in memory and discarded when the last of them ends. Other
 * directories are not affected.
 */
#ifndef TI_NODE_OVERLAY_H
#define TI_NODE_OVERLAY_H

#include <stdbool.h>

/* Put the overlay over the working directory of this process, which must have one thread.  Needs a
 * privileged process or user namespaces, and a directory without mounts below it.  False: there is
 * no overlay, but the process may be in new namespaces. */
bool ti_overlay_enter(void);

/* Whether ti_overlay_enter() succeeds; tried in a child process. */
bool ti_overlay_works(void);

#endif
