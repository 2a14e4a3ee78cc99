/*
 * A private folder for sockets and fifos, with a short name, since a socket's path must be
 * short.  Who is killed leaves it behind: the next to make one removes it.
 */
#ifndef TI_REMOTE_FOLDER_H
#define TI_REMOTE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* "BASE/tiara-XXXXXX" into `dir`; false, and "": errno.  `*lock` is held as long as we live. */
bool ti__folder_make(const char *base, char *dir, size_t bytes, int *lock);

/* With all files in it; "": nothing. */
void ti__folder_remove(const char *dir, int lock);

#endif
