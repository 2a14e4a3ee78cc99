/* The library prints nothing: these stand in for common/talk.c. */
#include "common/cli.h"

bool ti_progress_on(void)
{
    return false;
}

void ti_progress_clear(void)
{
}

void ti_progress(const char *fmt, ...)
{
    (void)fmt;
}

void ti_say(const char *fmt, ...)
{
    (void)fmt;
}

void ti_warn(const char *fmt, ...)
{
    (void)fmt;
}

void ti_hint(const char *fmt, ...)
{
    (void)fmt;
}
