#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ti_strip_controls(char *text)
{
    unsigned char before = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (before == 0xc2 && c >= 0x80 && c < 0xa0) /* U+0080 to U+009F */
            text[-1] = *text = '?';
        else if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
            *text = '?';
        before = c;
    }
}

ti_status ti_err_set(struct ti_err *err, ti_status st, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return st;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    ti_strip_controls(err->text);
    err->hint[0] = '\0';
    return st;
}

ti_status ti_err_errno(struct ti_err *err, ti_status st, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;
    size_t n;

    if (!err)
        return st;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    ti_strip_controls(err->text);
    n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, ": %s", strerror(saved));
    err->hint[0] = '\0';
    errno = saved;
    return st;
}

ti_status ti_err_prefix(struct ti_err *err, ti_status st, const char *fmt, ...)
{
    char was[sizeof err->text];
    va_list ap;
    size_t n;

    if (!err)
        return st;
    memcpy(was, err->text, sizeof was);
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    ti_strip_controls(err->text);
    n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, ": %s", was);
    return st;
}

void ti_err_hint(struct ti_err *err, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return;
    va_start(ap, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, ap);
    va_end(ap);
    ti_strip_controls(err->hint);
}

ti_status ti_err_memory(struct ti_err *err, const char *what)
{
    errno = ENOMEM;
    return ti_err_errno(err, TI_ERR_IO, "cannot %s", what);
}

bool ti_err_was_memory(ti_status st)
{
    return st == TI_ERR_IO && errno == ENOMEM;
}

void ti_err_one_line(struct ti_err *err)
{
    for (int i = 0; i < 2; i++)
        for (char *p = i ? err->hint : err->text; (p = strpbrk(p, "\n\t")) != NULL;)
            *p = '?';
}

_Noreturn void ti_bug(const char *file, int line, const char *what)
{
    fprintf(stderr, "bug at %s:%d: %s\n", file, line, what);
    abort();
}
