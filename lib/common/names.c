#include "common/names.h"

#include <stdlib.h>
#include <string.h>

/* Add a text that is new; returns its number, or -1. */
static int64_t put_new(struct ti_names *names, const char *text, int64_t hash, int64_t attempt)
{
    char *copy = strdup(text);
    int64_t i = -1;

    if (copy && TI_ROOM(names->text, &names->cap, names->map.n + 1))
        i = ti_map_put(&names->map, hash, attempt, 0, 0);
    if (i >= 0)
        names->text[i] = copy;
    else
        free(copy);
    return i;
}

int64_t ti_names_put(struct ti_names *names, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *p = text; *p; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    for (int64_t attempt = 0;; attempt++) {
        int64_t i = ti_map_find(&names->map, (int64_t)hash, attempt, 0, 0);

        if (i < 0)
            return put_new(names, text, (int64_t)hash, attempt);
        if (strcmp(names->text[i], text) == 0)
            return i;
    }
}

size_t ti_names_add(struct ti_names *names, const char *text)
{
    int64_t i = ti_names_put(names, text);

    if (i < 0)
        ti_no_memory(names->map.n + 1, sizeof *names->text);
    return (size_t)i;
}

void ti_names_free(struct ti_names *names)
{
    for (size_t i = 0; i < names->map.n; i++)
        free(names->text[i]);
    ti_map_free(&names->map);
    free(names->text);
    *names = (struct ti_names){0};
}
