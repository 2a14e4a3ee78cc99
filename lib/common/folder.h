/*
 * Private folders that last as long as their owner: for sockets and fifos, whose paths must be
 * short, and for what Open MPI keeps.  Who is killed leaves his behind: the next to make one at
 * the same place removes it.
 */
#ifndef TI_FOLDER_H
#define TI_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* A file in each of them, locked (flock) by its owner. */
#define TI_FOLDER_LOCK "lock"

/* "BASE/tiara-XXXXXX" into `dir`, of mode 0700; false, and "": errno.  `*lock` is held as long
 * as we live. */
bool ti_folder_make(const char *base, char *dir, size_t bytes, int *lock);

/* With all that is in it; "": nothing. */
void ti_folder_remove(const char *dir, int lock);

/* Remove `name` in directory `at` (AT_FDCWD) and all below it, following no links. */
void ti_tree_remove(int at, const char *name);

#endif
