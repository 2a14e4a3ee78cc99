/*
 * Names in folders, and private temporary folders: for sockets and FIFOs, whose paths must be
 * short, for Open MPI's session files, and for scratch.h.  The owner holds a lock as long as it
 * lives.  A killed process leaves its folder behind; the next ti_folder_make() in the same place
 * removes it.
 */
#ifndef TI_COMMON_FOLDER_H
#define TI_COMMON_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file in each folder that its owner locks (flock). */
#define TI_FOLDER_LOCK "lock"

/* Make "BASE/tiara-XXXXXX" with mode 0700; its path goes to `dir`, of `bytes` bytes.  *lock is the
 * descriptor of the lock: keep it open as long as the folder is in use.  False: errno says why, and
 * `dir` is "". */
bool ti_folder_make(const char *base, char *dir, size_t bytes, int *lock);

/* Remove the folder and its contents, and close `lock`.  Does nothing if `dir` is "". */
void ti_folder_remove(const char *dir, int lock);

/* Read the names in the open directory `fd`, which stays open.  NULL: errno says why. */
DIR *ti_names_in(int fd);

/* Bytes on disk of `name` in directory `at` and everything below it; 0 if it is no directory. */
int64_t ti_tree_bytes(int at, const char *name);

/* Remove `name` in directory `at` (or AT_FDCWD) and everything below it.  Follows no links. */
void ti_tree_remove(int at, const char *name);

#endif
