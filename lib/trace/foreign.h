/* Names for traces that another user made, where everybody may make names, such as in /tmp. */
#ifndef TI_TRACE_FOREIGN_H
#define TI_TRACE_FOREIGN_H

#include <stdbool.h>

/* Whether `path` is there, belongs to neither us nor root, and everybody may make names in the
 * folder where it is.  A link counts by its own owner.  Such a name may be a trap: its owner can
 * read and replace what is written there. */
bool ti_is_foreign(const char *path);

#endif
