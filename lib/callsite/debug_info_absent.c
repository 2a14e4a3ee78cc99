/* In place of debug_info.c where there is no libdw. */
#include <stddef.h>

#include "callsite/debug_info.h"

const bool ti_debug_available = false;

struct ti_debug *ti_debug_open(const char *path, const char *build_id, bool *other_build)
{
    (void)path;
    (void)build_id;
    (void)other_build;
    return NULL;
}

void ti_debug_close(struct ti_debug *d)
{
    (void)d;
}

enum ti_debug_detail ti_debug_detail(const struct ti_debug *d)
{
    (void)d;
    return TI_DEBUG_NOTHING;
}

bool ti_debug_find(struct ti_debug *d, uint64_t address, struct ti_site_line *out)
{
    (void)d;
    (void)address;
    *out = (struct ti_site_line){0};
    return false;
}
