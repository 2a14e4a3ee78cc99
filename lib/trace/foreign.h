/* Names that another user made, where everybody may make names, such as in /tmp. */
#ifndef TI_TRACE_FOREIGN_H
#define TI_TRACE_FOREIGN_H

/*
 * The first component of `path` that belongs to neither us nor root, in a folder in which everybody
 * may make names; NULL if there is none.  A link counts by its own owner.  Such a name may be a
 * trap: its owner can read and replace what is written there, or below it.  Components that do not
 * exist, and folders above a relative path, do not count.
 *
 * The result is a part of `path`, valid until the next call.  Not for two threads at a time.
 */
const char *ti_foreign(const char *path);

#endif
