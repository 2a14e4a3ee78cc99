/*
 * A growing list of strings: an argv in the making.
 *
 * Running out of memory is remembered instead of returned: adding goes on
 * without effect, and ti_args_ok() tells once, when the list is used.
 */
#ifndef TI_ARGS_H
#define TI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

struct ti_args {
    char **v; /* NULL until something is added; ends with NULL then */
    int n;
    int room;
    bool failed;
};

void ti_args_add(struct ti_args *a, const char *text);
void ti_args_addf(struct ti_args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool ti_args_ok(const struct ti_args *a);
void ti_args_free(struct ti_args *a);

/* The list as a shell would read it, quoted where needed; free() it.  NULL when
 * out of memory. */
char *ti_args_shell(const struct ti_args *a);

#endif
