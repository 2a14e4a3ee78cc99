/*
 * A table of texts, which are numbered 0, 1, 2, ... in the order in which they are added.  A zeroed
 * struct is an empty table.
 */
#ifndef TI_INFO_NAMES_H
#define TI_INFO_NAMES_H

#include "common/map.h"

struct info_names {
    struct ti_map map; /* (hash of a text, attempt) -> number; map.n is the number of texts */
    char **text;       /* by number */
    size_t cap;
};

/* Number of a text.  A text that is new is added: its number is then the former map.n.  Ends the
 * program when memory is short, as ti_grow() does. */
size_t info_names_add(struct info_names *names, const char *text);
void info_names_free(struct info_names *names);

#endif
