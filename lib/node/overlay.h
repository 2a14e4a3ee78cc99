/*
 * A working directory that can be written to without consequences: an overlay of it in a
 * mount namespace of the calling process and its children.  What they write there is kept in
 * memory, and gone with the last of them; files elsewhere are the real ones.
 */
#ifndef TI_OVERLAY_H
#define TI_OVERLAY_H

#include <stdbool.h>

/* Put the overlay on the working directory of this process, which must have one thread.
 * False, and some of it may have been done: there is none.  It takes a privileged process, or
 * a kernel that gives user namespaces to others, and a directory without mounts below. */
bool ti_overlay_enter(void);

/* Whether ti_overlay_enter() succeeds, found out in a child process. */
bool ti_overlay_works(void);

#endif
