#include "common/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"

size_t ti_names_add(struct ti_names *names, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *p = text; *p; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    for (int64_t attempt = 0;; attempt++) {
        size_t known = names->map.n;
        size_t i = (size_t)ti_map_add(&names->map, (int64_t)hash, attempt, 0, 0);

        if (i < known && strcmp(names->text[i], text) != 0)
            continue;
        if (i == known) {
            names->text = ti_grow(names->text, &names->cap, names->map.n, sizeof *names->text);
            names->text[i] = strdup(text);
            if (!names->text[i])
                TI_BUG("no memory for one name");
        }
        return i;
    }
}

void ti_names_free(struct ti_names *names)
{
    for (size_t i = 0; i < names->map.n; i++)
        free(names->text[i]);
    ti_map_free(&names->map);
    free(names->text);
    *names = (struct ti_names){0};
}
