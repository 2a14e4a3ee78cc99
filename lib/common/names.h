/*
 * A table of texts, which are numbered 0, 1, 2, ... in the order in which they are added.  A zeroed
 * struct is an empty table.
 */
#ifndef TI_COMMON_NAMES_H
#define TI_COMMON_NAMES_H

#include "common/map.h"

struct ti_names {
    struct ti_map map; /* (hash of a text, attempt) -> number; map.n is the number of texts */
    char **text;       /* by number */
    size_t cap;
};

/* Number of a text.  A text that is new is added: its number is then the former map.n.  -1 when
 * memory is short; ti_names_add() ends the program instead, as ti_grow() does. */
int64_t ti_names_put(struct ti_names *names, const char *text);
size_t ti_names_add(struct ti_names *names, const char *text);
void ti_names_free(struct ti_names *names);

#endif
