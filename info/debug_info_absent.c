/* In place of debug_info.c where there is no libdw. */
#include <stddef.h>

#include "info/debug_info.h"

struct info_debug *info_debug_open(const char *path, const char *build_id, bool *other_build)
{
    (void)path;
    (void)build_id;
    (void)other_build;
    return NULL;
}

void info_debug_close(struct info_debug *d)
{
    (void)d;
}

enum info_debug_detail info_debug_detail(const struct info_debug *d)
{
    (void)d;
    return INFO_DEBUG_NOTHING;
}

bool info_debug_find(struct info_debug *d, uint64_t address, struct info_source_line *out)
{
    (void)d;
    (void)address;
    *out = (struct info_source_line){0};
    return false;
}
