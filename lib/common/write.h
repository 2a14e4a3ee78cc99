/* write(2) in a loop, until everything is written. */
#ifndef TI_COMMON_WRITE_H
#define TI_COMMON_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* `fd` must be blocking.  False: errno says why; ENOSPC if write(2) returned 0. */
bool ti_write_all(int fd, const void *data, size_t bytes);

#endif
