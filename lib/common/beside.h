/*
 * The parts of Tiara, found relative to the program that runs: in the build tree, or where `make
 * install` puts them.  So an installation can be moved.
 */
#ifndef TI_COMMON_BESIDE_H
#define TI_COMMON_BESIDE_H

#include <limits.h>
#include <stdbool.h>

#include "common/err.h"

/* The folder of the running program, or "cannot tell where Tiara is". */
ti_status ti_beside_here(char out[PATH_MAX], struct ti_err *err);

/* Find `name` in the first of `folders` that has it, as a canonical path.  Folders are relative to
 * that of the running program, or absolute; the list ends with NULL.  False, and "", if none has. */
bool ti_beside_find(const char *const *folders, const char *name, char out[PATH_MAX]);

/* Find a program that only other programs start. */
bool ti_beside_helper(const char *name, char out[PATH_MAX]);

/* Find the file that execvp() would execute for `name`; buf has PATH_MAX bytes. */
bool ti_find_on_path(const char *name, char *buf);

#endif
