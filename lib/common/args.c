#include "common/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

static void append(struct ti_args *a, char *text)
{
    a->v = ti_grow(a->v, &a->cap, (size_t)a->n + 2, sizeof *a->v);
    if (!text)
        a->failed = true;
    else
        a->v[a->n++] = text;
    a->v[a->n] = NULL;
}

void ti_args_add(struct ti_args *a, const char *text)
{
    append(a, strdup(text));
}

void ti_args_addf(struct ti_args *a, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    append(a, text);
}

bool ti_args_ok(const struct ti_args *a)
{
    return a->v && !a->failed;
}

void ti_args_free(struct ti_args *a)
{
    for (int i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
    memset(a, 0, sizeof *a);
}

static bool is_plain(const char *text)
{
    return text[0] && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789%+,-./:=@_^")] == '\0';
}

char *ti_args_shell(const struct ti_args *a)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return NULL;
    for (int i = 0; i < a->n; i++) {
        if (i)
            fputc(' ', f);
        if (is_plain(a->v[i])) {
            fputs(a->v[i], f);
            continue;
        }
        fputc('\'', f);
        for (const char *p = a->v[i]; *p; p++) {
            if (*p == '\'')
                fputs("'\\''", f);
            else
                fputc(*p, f);
        }
        fputc('\'', f);
    }
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
