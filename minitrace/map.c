#include <sys/mman.h>
#include <unistd.h>

#include "minitrace/state.h"

static size_t pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

void ti_mapped(int64_t bytes)
{
    ti_state.mapped += bytes;
    if (ti_state.mapped > ti_state.memory_bytes)
        ti_state.memory_bytes = ti_state.mapped;
}

void *ti_map(size_t bytes)
{
    void *p = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    ti_mapped((int64_t)pages(bytes));
    return p;
}

void ti_unmap(void *p, size_t bytes)
{
    if (p && munmap(p, pages(bytes)) == 0)
        ti_mapped(-(int64_t)pages(bytes));
}

bool ti_reserve(void **p, size_t *room, size_t bytes)
{
    size_t want = *room ? *room : 1;
    void *grown;

    if (bytes <= *room)
        return true;
    while (want < bytes)
        want *= 2;
    want = pages(want);
    grown = *p ? mremap(*p, *room, want, MREMAP_MAYMOVE) : ti_map(want);
    if (!grown || grown == MAP_FAILED)
        return false;
    if (*p)
        ti_mapped((int64_t)(want - *room));
    *p = grown;
    *room = want;
    return true;
}
