#include "wrap/assembler/blocks.h"

#include <stdlib.h>

void ti_blocks_out_of_memory(void)
{
    fprintf(stderr, "as: out of memory\n");
    exit(TI_ERR_IO);
}

void *ti_blocks_grow(void *p, size_t n, size_t size)
{
    if (n && size > SIZE_MAX / n)
        ti_blocks_out_of_memory();
    p = realloc(p, n > 0 ? n * size : 1);
    if (!p)
        ti_blocks_out_of_memory();
    return p;
}

void *ti_blocks_zero(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p)
        ti_blocks_out_of_memory();
    return p;
}
