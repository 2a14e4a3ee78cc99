#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cli.h"

static const char *talk_tool = "tiara";
static bool talk_quiet, progress_on, line_open;

void ti_talk_init(const char *tool, bool quiet, bool no_progress)
{
    talk_tool = tool;
    talk_quiet = quiet;
    progress_on = !quiet && !no_progress && isatty(STDERR_FILENO);
}

bool ti_progress_on(void)
{
    return progress_on;
}

void ti_progress_clear(void)
{
    if (line_open)
        fputs("\r\033[K", stderr);
    line_open = false;
}

/* Texts may contain words of a trace or of another machine. */
static int put_to(FILE *out, const char *fmt, va_list ap)
{
    char *text = NULL;
    int n = vasprintf(&text, fmt, ap);

    if (n < 0)
        return -1;
    ti_strip_controls(text);
    if (fputs(text, out) == EOF)
        n = -1;
    free(text);
    return n;
}

static void put(const char *fmt, va_list ap)
{
    put_to(stderr, fmt, ap);
}

int ti_print(FILE *out, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = put_to(out, fmt, ap);
    va_end(ap);
    return n;
}

void ti_progress(const char *fmt, ...)
{
    va_list ap;

    if (!progress_on)
        return;
    fputs("\r\033[K", stderr);
    va_start(ap, fmt);
    put(fmt, ap);
    va_end(ap);
    fflush(stderr);
    line_open = true;
}

static void say(const char *prefix, const char *fmt, va_list ap)
{
    ti_progress_clear();
    fprintf(stderr, "%s: %s", talk_tool, prefix);
    put(fmt, ap);
    fputc('\n', stderr);
}

void ti_say(const char *fmt, ...)
{
    va_list ap;

    if (talk_quiet)
        return;
    va_start(ap, fmt);
    say("", fmt, ap);
    va_end(ap);
}

void ti_warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say("warning: ", fmt, ap);
    va_end(ap);
}

void ti_hint(const char *fmt, ...)
{
    va_list ap;

    ti_progress_clear();
    fputs("hint: ", stderr);
    va_start(ap, fmt);
    put(fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}
