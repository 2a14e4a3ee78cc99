/*
 * A growing list of strings: an argv in the making.
 *
 * A failed allocation is remembered: later additions have no effect, and ti_args_ok() is false.
 * So callers check once, before they use the list.  The strings are copies.
 */
#ifndef TI_COMMON_ARGS_H
#define TI_COMMON_ARGS_H

#include <stdbool.h>
#include <stddef.h>

struct ti_args {
    char **v; /* NULL until something is added; then NULL-terminated */
    int n;
    size_t cap;
    bool failed;
};

/* Add one or more words; _list: up to a NULL; _all: those of `more` from index `first` on. */
#define ti_args_add(a, ...) ti_args_add_list(a, (const char *const[]){__VA_ARGS__, NULL})
void ti_args_add_list(struct ti_args *a, const char *const *words);
void ti_args_add_all(struct ti_args *a, const struct ti_args *more, int first);
void ti_args_addf(struct ti_args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool ti_args_ok(const struct ti_args *a);
void ti_args_free(struct ti_args *a);

/* The list as a shell command, quoted where needed; free() it.  NULL when memory is short. */
char *ti_args_shell(const struct ti_args *a);

/* The same on lines of up to `width` columns, if words are not longer, each but the last with a
 * backslash at its end.  The second and further lines begin with `indent` blanks, which do not count
 * as columns. */
char *ti_args_shell_lines(const struct ti_args *a, size_t width, size_t indent);

#endif
