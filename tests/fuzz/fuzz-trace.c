/* The reader of traces, over any bytes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

/* The trace does not start where the file does, as in a bundle. */
#define BEFORE 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + BEFORE);
    int fd;

    if (!copy)
        return 0;
    memset(copy, 0xa5, BEFORE);
    if (bytes)
        memcpy(copy + BEFORE, data, bytes);
    ti_fuzz_repair(copy + BEFORE, bytes);
    fd = ti_fuzz_file(copy, bytes + BEFORE);
    free(copy);
    ti_fuzz_read(fd, BEFORE, (int64_t)bytes);
    close(fd);
    return 0;
}
