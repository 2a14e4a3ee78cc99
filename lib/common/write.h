/* Writing all of it, whatever a write(2) takes at a time. */
#ifndef TI_WRITE_H
#define TI_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* To a blocking descriptor.  False: errno; ENOSPC where nothing more is taken without one. */
bool ti_write_all(int fd, const void *data, size_t bytes);

#endif
