#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostlist_internal.h"
#include "common/map.h"

/*
 * Adjacent names that differ in one number become one name with brackets.  This is repeated on the
 * result as long as it changes.  New brackets are made only to the left of existing ones, since the
 * last bracket varies fastest.
 */

/* Whether `a` and `b` differ in exactly one number.  It begins at *from in both, and ends before
 * *a_end and *b_end. */
static bool one_number(const char *a, const char *b, size_t *from, size_t *a_end, size_t *b_end)
{
    size_t i = 0, bracket = strcspn(a, "[");

    while (a[i] && a[i] == b[i])
        i++;
    while (i > 0 && isdigit((unsigned char)a[i - 1]))
        i--;
    *from = *a_end = *b_end = i;
    while (isdigit((unsigned char)a[*a_end]))
        ++*a_end;
    while (isdigit((unsigned char)b[*b_end]))
        ++*b_end;
    return *a_end > i && *b_end > i && *a_end <= bracket && *a_end - i <= DIGITS_MAX &&
           *b_end - i <= DIGITS_MAX && strcmp(a + *a_end, b + *b_end) == 0;
}

struct folding {
    char *text; /* the output */
    size_t used, cap;
};

static void put(struct folding *f, const char *text, size_t bytes)
{
    f->text = ti_grow(f->text, &f->cap, f->used + bytes + 1, 1);
    memcpy(f->text + f->used, text, bytes);
    f->used += bytes;
    f->text[f->used] = '\0';
}

/* Whether the number at `b` is `value`, written as in a range whose first number has `width`
 * digits. */
static bool follows(int64_t value, size_t width, const char *b, size_t digits)
{
    char text[32];
    int bytes = snprintf(text, sizeof text, "%0*" PRId64, (int)width, value);

    return (size_t)bytes == digits && memcmp(text, b, digits) == 0;
}

/* Write the numbers that the names have at `from`, as ranges. */
static void put_numbers(struct folding *f, char *const *name, int64_t n, size_t from)
{
    int64_t i = 0;

    put(f, "[", 1);
    while (i < n) {
        const char *lo = name[i] + from, *hi = lo;
        size_t lo_digits = strspn(lo, "0123456789"), hi_digits = lo_digits;
        int64_t value = ti__hostlist_number(lo, (int)lo_digits), last = i;

        while (last + 1 < n) {
            const char *next = name[last + 1] + from;
            size_t digits = strspn(next, "0123456789");

            if (!follows(value + 1, lo_digits, next, digits) || digits > DIGITS_MAX)
                break;
            value++;
            hi = next;
            hi_digits = digits;
            last++;
        }
        if (i)
            put(f, ",", 1);
        put(f, lo, lo_digits);
        if (last > i) {
            put(f, "-", 1);
            put(f, hi, hi_digits);
        }
        i = last + 1;
    }
    put(f, "]", 1);
}

/* Length of the run of names, from the first on, that differ in the same one number. */
static int64_t group(char *const *name, int64_t n, size_t *from)
{
    size_t a_end, b_end, f, e;
    int64_t m;

    if (n < 2 || !one_number(name[0], name[1], from, &a_end, &b_end))
        return 1;
    for (m = 2; m < n; m++)
        if (!one_number(name[0], name[m], &f, &e, &b_end) || f != *from || e != a_end)
            break;
    return m;
}

/* One pass over the names, in place.  Whether names were merged. */
static bool fold_once(char **name, int64_t *n)
{
    int64_t out = 0;
    bool changed = false;

    for (int64_t i = 0; i < *n;) {
        struct folding f = {0};
        size_t from = 0;
        int64_t m = group(name + i, *n - i, &from);

        if (m == 1) {
            name[out++] = name[i++];
            continue;
        }
        put(&f, name[i], from);
        put_numbers(&f, name + i, m, from);
        put(&f, name[i] + from + strspn(name[i] + from, "0123456789"),
            strlen(name[i] + from + strspn(name[i] + from, "0123456789")));
        for (int64_t k = i; k < i + m; k++) {
            free(name[k]);
            name[k] = NULL;
        }
        changed = true;
        name[out++] = f.text;
        i += m;
    }
    for (int64_t i = out; i < *n; i++)
        name[i] = NULL;
    *n = out;
    return changed;
}

char *ti_hostlist_fold(const char *const *names, int64_t n)
{
    char **name = calloc((size_t)(n > 0 ? n : 1), sizeof *name);
    struct folding all = {0};
    int64_t left = n;
    bool ok = name != NULL;

    for (int64_t i = 0; ok && i < n; i++)
        ok = (name[i] = strdup(names[i])) != NULL;
    while (ok && fold_once(name, &left))
        ;
    put(&all, "", 0);
    for (int64_t i = 0; ok && i < left; i++) {
        if (i)
            put(&all, ",", 1);
        put(&all, name[i], strlen(name[i]));
    }
    for (int64_t i = 0; name && i < n; i++)
        free(name[i]);
    free(name);
    if (ok)
        return all.text;
    free(all.text);
    return NULL;
}
