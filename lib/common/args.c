#include "common/args.h"

#include <stdarg.h>
#include <stdint.h>
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

void ti_args_add_list(struct ti_args *a, const char *const *words)
{
    for (; *words; words++)
        append(a, strdup(*words));
}

void ti_args_add_all(struct ti_args *a, const struct ti_args *more, int first)
{
    for (int i = first; i < more->n; i++)
        ti_args_add(a, more->v[i]);
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

/* Write a word, quoted where needed. */
static void put_word(FILE *f, const char *word)
{
    if (is_plain(word)) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", f);
        else
            fputc(*word, f);
    }
    fputc('\'', f);
}

/* The same word's length. */
static size_t width_of(const char *word)
{
    size_t quotes = 0;

    for (const char *p = word; *p; p++)
        quotes += *p == '\'';
    return strlen(word) + (is_plain(word) ? 0 : 2 + 3 * quotes);
}

char *ti_args_shell(const struct ti_args *a)
{
    return ti_args_shell_lines(a, SIZE_MAX, 0);
}

char *ti_args_shell_lines(const struct ti_args *a, size_t width, size_t indent)
{
    char *text = NULL;
    size_t bytes = 0, column = 0, room = width > 2 ? width - 2 : 0;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return NULL;
    for (int i = 0; i < a->n; i++) {
        size_t word = width_of(a->v[i]), whole = word;

        /* an option stays with its arguments, as far as they fit */
        for (int k = i + 1; a->v[i][0] == '-' && k < a->n && a->v[k][0] != '-'; k++)
            whole += 1 + width_of(a->v[k]);
        if (i && column && column + (whole < room ? whole : word) > room) {
            fprintf(f, " \\\n%*s", (int)indent, "");
            column = 0;
        } else if (i) {
            fputc(' ', f);
            column++;
        }
        put_word(f, a->v[i]);
        column += word;
    }
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
