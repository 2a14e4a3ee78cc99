/* write(2) and read(2) in loops, until everything is written or read. */
#ifndef TI_COMMON_WRITE_H
#define TI_COMMON_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* `fd` must be blocking.  False: errno says why; ENOSPC if write(2) returned 0. */
bool ti_write_all(int fd, const void *data, size_t bytes);

/* Read to the end.  Returns what was read, of *bytes bytes (NULL: not told) with a NUL behind them,
 * for free().  NULL: errno says why; EFBIG if there are more than `most` bytes. */
char *ti_read_all(int fd, size_t most, size_t *bytes);

/* The same of a file. */
char *ti_read_file(const char *path, size_t most, size_t *bytes);

/*
 * Run a program, found on PATH, and read what it writes to `from`: STDOUT_FILENO, or STDERR_FILENO,
 * when its standard output goes to /dev/null.  `variable`, unless it is NULL, has `value` in its
 * environment.  Returns the wait status, as if it had exited with 127 where it could not be
 * executed (*text says why).  *text is for free().  -1 and NULL: errno says why.
 */
int ti_read_output(char *const *argv, int from, const char *variable, const char *value,
                   char **text);

#endif
