/* The library prints nothing: these stand in for common/talk.c. */
#include "common/talk.h"

void ti_progress_show(const struct ti_progress *p)
{
    (void)p;
}

void ti_progress(const char *step, const char *unit, int64_t done, int64_t of)
{
    (void)step;
    (void)unit;
    (void)done;
    (void)of;
}

bool ti_progress_due(const char *step)
{
    (void)step;
    return false;
}

void ti_progress_clear(void)
{
}

void ti_progress_end(bool complete)
{
    (void)complete;
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
